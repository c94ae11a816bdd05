package store

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
)

// encodedSymbols encodes the symbols of a module as they are found beside it, and returns an RVA with the function
// that lies there.
func encodedSymbols(t *testing.T, mod *modules.Module) (e *attached.Encoded, rva uint64, function string) {
	t.Helper()
	b, _, _ := find(t, t.TempDir(), mod, linux)
	if b.Status != symbols.Embedded {
		t.Fatalf("%s: %s", b.Status, b.Reason)
	}
	ranges, err := attached.CodeOfTable(b.Table)
	if err != nil {
		t.Fatal(err)
	}
	if e, err = attached.Encode(context.Background(), b.Table, ranges, nil); err != nil {
		t.Fatal(err)
	}
	for rva = ranges[0].Lo; ; rva++ {
		sym, err := b.Table.Lookup(rva)
		if err != nil {
			t.Fatal(err)
		}
		if len(sym.Frames) > 0 && sym.Start == rva {
			return e, rva, sym.Outermost().Function
		}
	}
}

// keptSymbols makes a container with the symbols of a module that was recorded so; damaged is the kind of part that
// holds nothing that can be read, 0 for none.
func keptSymbols(t *testing.T, e *attached.Encoded, mod *modules.Module, damaged attached.Kind) *attached.Container {
	t.Helper()
	m := &attached.Module{Name: mod.Name(), Path: mod.Path, Identity: mod.Identity, Size: mod.Size, Source: "DWARF 5", File: "logtest", Status: string(symbols.Matched)}
	parts := e.Parts(m, 0)
	for i := range parts {
		if n := parts[i].Length; parts[i].Kind == damaged {
			parts[i].Write = func(w io.Writer) error {
				_, err := w.Write(bytes.Repeat([]byte{0xff}, int(n)))
				return err
			}
		}
	}
	var out bytes.Buffer
	if err := attached.Write(&out, parts); err != nil {
		t.Fatal(err)
	}
	c, err := attached.OpenContainer(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestKept finds symbols in containers that belong to a log: of the same build only, and of a packed log
// nothing else.
func TestKept(t *testing.T) {
	mod := recorded(t, linux, "logtest")
	e, rva, want := encodedSymbols(t, mod)
	other, moved, unknown := *mod, *mod, *mod
	other.Identity.BuildID = "another build of it "
	moved.Path = "/elsewhere/other"
	unknown.Identity = modules.Identity{}
	unknownMoved := unknown
	unknownMoved.Path = moved.Path
	whole, damaged := keptSymbols(t, e, mod, 0), keptSymbols(t, e, mod, attached.KindRuns)
	unchecked := keptSymbols(t, e, &unknown, 0)
	for _, test := range []struct {
		name   string
		mod    *modules.Module
		kept   *attached.Container
		packed bool
		change func(*Finder)
		status symbols.Status
		named  bool
		reason string
	}{
		{"beside the log", mod, whole, false, nil, symbols.Matched, true, "its identity"},
		{"beside the log, under another name", &moved, whole, false, nil, symbols.Matched, true, "its identity"},
		{"packed", mod, whole, true, nil, symbols.Matched, true, "DWARF 5, as it was when the log was packed"},
		{"another build", &other, whole, false, nil, symbols.NotFound, false, "no symbol file and no image was found"},
		{"another build, packed", &other, whole, true, nil, symbols.NotFound, false, "packed without this module's symbols"},
		{"another path, packed", &moved, whole, true, nil, symbols.NotFound, false, "packed without this module's symbols"},
		{"not wanted", mod, whole, false, func(f *Finder) { f.NoAttached = true }, symbols.NotFound, false, ""},
		{"no identity", &unknown, unchecked, false, nil, symbols.Unverified, true, "no identity was recorded to check it by"},
		{"no identity, another path", &unknownMoved, unchecked, false, nil, symbols.NotFound, false, ""},
		{"damaged", mod, damaged, false, nil, symbols.NotFound, false, "no symbol file and no image was found"},
		{"damaged, packed", mod, damaged, true, nil, symbols.NotFound, false, "$/a.lpsym: "},
	} {
		dir := t.TempDir()
		f := NewFinder(formats, []string{dir}, "", false)
		f.Kept = []Kept{{Container: test.kept, Path: filepath.Join(dir, "a.lpsym"), Packed: test.packed}}
		if test.change != nil {
			test.change(f)
		}
		b, file, attempts := run(t, dir, f, test.mod)
		reason := filepath.ToSlash(strings.ReplaceAll(b.Reason.String(), dir, "$"))
		if b.Status != test.status || (b.Table != nil) != test.named || !strings.Contains(reason, test.reason) {
			t.Errorf("%s: %s, %s", test.name, b.Status, reason)
			continue
		}
		if damaged := test.kept == damaged && !test.packed; damaged && !slices.ContainsFunc(attempts, func(a string) bool { return strings.HasPrefix(a, "$/a.lpsym: ") }) {
			t.Errorf("%s: that is not told of: %q", test.name, attempts)
		}
		if !test.named {
			continue
		}
		if sym, err := b.Table.Lookup(rva); err != nil || len(sym.Frames) == 0 || sym.Outermost().Function != want {
			t.Errorf("%s: %#x is %+v, want %s; %v", test.name, rva, sym, want, err)
		}
		if file != "logtest" && file != "$/a.lpsym" {
			t.Errorf("%s: the symbols are of %s", test.name, file)
		}
	}
}

// TestCarried finds symbols that an executable carries for itself and that another carries for it, if they are of the
// recorded build.
func TestCarried(t *testing.T) {
	const program, shapes, exe = linux + "logtest", linux + "liblogtest_shapes.so", clang + "logtest.exe"
	mod, library, windows := recorded(t, linux, "logtest"), recorded(t, linux, "liblogtest_shapes.so"), recorded(t, clang, "logtest.exe")
	e, rva, want := encodedSymbols(t, mod)
	other := modules.Identity{BuildID: "another build of it "}
	otherPDB := windows.Identity
	otherPDB.Age++
	const ofOther = "the symbols attached to it are of another build"
	for _, test := range []struct {
		name     string
		mod      *modules.Module
		carrier  string // what carries the symbols
		as       attached.Module
		without  bool // they are not wanted
		want     symbols.Status
		attempts string // what is told of what was looked at
		reason   string
	}{
		{"another's", mod, shapes, attached.Module{Name: "logtest", Identity: mod.Identity}, false, symbols.Attached, "attached to it: ", ", attached to liblogtest_shapes.so"},
		{"another's, under another name", mod, shapes, attached.Module{Name: "renamed", Identity: mod.Identity}, false, symbols.Attached, "attached to it: ", ""},
		{"another's of another build", mod, shapes, attached.Module{Name: "logtest", Identity: other}, false, symbols.NotFound, ofOther, ""},
		{"another's of another module", mod, shapes, attached.Module{Name: "else", Identity: other}, false, symbols.NotFound, "", ""},
		{"another's that did not say its build", mod, shapes, attached.Module{Name: "logtest", Identity: mod.Identity, Unchecked: true}, false, symbols.Attached,
			"attached to it: ", "did not say which build it belongs to"},
		{"not wanted", mod, shapes, attached.Module{Name: "logtest", Identity: mod.Identity}, true, symbols.NotFound, "", ""},
		{"its own, which need nothing attached", mod, program, attached.Module{Name: "logtest", Identity: mod.Identity, Carrier: true}, false, symbols.Embedded, "", "DWARF 5"},
		{"its own", windows, exe, attached.Module{Name: "logtest.exe", Identity: windows.Identity, Carrier: true}, false, symbols.Attached, "attached to it: ", ", attached to logtest.exe"},
		{"its own that say no build", windows, exe, attached.Module{Name: "logtest.exe", Carrier: true}, false, symbols.Attached, "attached to it: ", ", attached to logtest.exe"},
		{"its own of another build", windows, exe, attached.Module{Name: "logtest.exe", Identity: otherPDB, Carrier: true}, false, symbols.NotFound, ofOther, ""},
	} {
		data := read(t, test.carrier)
		var out bytes.Buffer
		if err := attached.Attach(&out, bytes.NewReader(data), int64(len(data)), e.Parts(&test.as, 0)); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		write(t, dir, filepath.Base(test.carrier), out.Bytes())
		f := NewFinder(formats, []string{dir}, "", false)
		f.Program, f.NoAttached = []*modules.Module{library, mod, windows}, test.without
		got, _, attempts := run(t, dir, f, test.mod)
		if text := strings.Join(attempts, "\n"); got.Status != test.want || !strings.Contains(text, test.attempts) || !strings.Contains(got.Reason.String(), test.reason) {
			t.Errorf("%s: %s, %s\n%s", test.name, got.Status, got.Reason, text)
			continue
		}
		if test.want != symbols.Attached {
			continue
		}
		if sym, err := got.Table.Lookup(rva); err != nil || len(sym.Frames) == 0 || sym.Outermost().Function != want {
			t.Errorf("%s: %#x is %+v, want %s; %v", test.name, rva, sym, want, err)
		}
	}
}
