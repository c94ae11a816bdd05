package store

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
)

// keptSymbols makes a container with the symbols of a module as they are found beside it, and returns an RVA
// with the function that lies there.
func keptSymbols(t *testing.T, mod *modules.Module) (c *attached.Container, rva uint64, function string) {
	t.Helper()
	b, _, _ := find(t, t.TempDir(), mod, linux)
	if b.Status != symbols.Embedded {
		t.Fatalf("%s: %s", b.Status, b.Reason)
	}
	ranges, err := attached.CodeOfTable(b.Table)
	if err != nil {
		t.Fatal(err)
	}
	e, err := attached.Encode(context.Background(), b.Table, ranges, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &attached.Module{Name: mod.Name(), Path: mod.Path, Identity: mod.Identity, Size: mod.Size, Source: "DWARF 5", File: "logtest", Status: string(symbols.Matched)}
	var out bytes.Buffer
	if err := attached.Write(&out, e.Parts(m, 0)); err != nil {
		t.Fatal(err)
	}
	if c, err = attached.OpenContainer(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
		t.Fatal(err)
	}
	for rva = ranges[0].Lo; ; rva++ {
		sym, err := b.Table.Lookup(rva)
		if err != nil {
			t.Fatal(err)
		}
		if len(sym.Frames) > 0 && sym.Start == rva {
			return c, rva, sym.Outermost().Function
		}
	}
}

// TestKept finds symbols in containers that belong to a log: of the same build only, and of a packed log
// nothing else.
func TestKept(t *testing.T) {
	mod := recorded(t, linux, "logtest")
	c, rva, want := keptSymbols(t, mod)
	other := *mod
	other.Identity.BuildID = "another build of it "
	moved := *mod
	moved.Path = "/elsewhere/other"
	for _, test := range []struct {
		name   string
		mod    *modules.Module
		packed bool
		change func(*Finder)
		status symbols.Status
		named  bool
	}{
		{"beside the log", mod, false, nil, symbols.Matched, true},
		{"packed", mod, true, nil, symbols.Matched, true},
		{"another build", &other, false, nil, symbols.NotFound, false},
		{"another build, packed", &other, true, nil, symbols.NotFound, false},
		{"another path, packed", &moved, true, nil, symbols.NotFound, false},
		{"not wanted", mod, false, func(f *Finder) { f.NoAttached = true }, symbols.NotFound, false},
	} {
		dir := t.TempDir()
		f := NewFinder(formats, []string{dir}, "", false)
		f.Kept = []Kept{{Container: c, Path: filepath.Join(dir, "a.lpsym"), Packed: test.packed}}
		if test.change != nil {
			test.change(f)
		}
		b, file, _ := run(t, dir, f, test.mod)
		if b.Status != test.status || (b.Table != nil) != test.named {
			t.Errorf("%s: %s, %s", test.name, b.Status, b.Reason)
			continue
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

// TestCarried finds symbols that an executable carries for itself and that another carries for it.
func TestCarried(t *testing.T) {
	mod := recorded(t, linux, "logtest")
	_, rva, want := keptSymbols(t, mod)
	b, _, _ := find(t, t.TempDir(), mod, linux)
	ranges, err := attached.CodeOfTable(b.Table)
	if err != nil {
		t.Fatal(err)
	}
	e, err := attached.Encode(context.Background(), b.Table, ranges, nil)
	if err != nil {
		t.Fatal(err)
	}
	library := recorded(t, linux, "liblogtest_shapes.so")
	data := read(t, filepath.Join(linux, "liblogtest_shapes.so"))
	var out bytes.Buffer
	if err := attached.Attach(&out, bytes.NewReader(data), int64(len(data)), e.Parts(&attached.Module{Name: mod.Name(), Identity: mod.Identity}, 0)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "liblogtest_shapes.so", out.Bytes())
	f := NewFinder(formats, []string{dir}, "", false)
	f.Program = []*modules.Module{library, mod}
	got, _, attempts := run(t, dir, f, mod)
	if got.Status != symbols.Attached || got.Table == nil {
		t.Fatalf("%s, %s: %q", got.Status, got.Reason, attempts)
	}
	if sym, err := got.Table.Lookup(rva); err != nil || len(sym.Frames) == 0 || sym.Outermost().Function != want {
		t.Errorf("%#x is %+v, want %s; %v", rva, sym, want, err)
	}
	f.NoAttached = true
	if got, _, _ := run(t, dir, f, mod); got.Status != symbols.NotFound {
		t.Errorf("not wanted: %s, %s", got.Status, got.Reason)
	}
}
