package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/image"
	"logparser/symbols/unwind"
)

// TestCandidates chooses among files of which none is certainly the module's, and says why.
func TestCandidates(t *testing.T) {
	exe := recorded(t, clang, "logtest.exe")
	unrecorded := *exe
	unrecorded.Identity, unrecorded.Size = modules.Identity{}, 0
	sized := unrecorded
	sized.Size = 0x1000
	byStamp := *exe
	byStamp.Identity, byStamp.Size = modules.Identity{Timestamp: 1, ImageSize: 0x1000}, 0x1000
	dll := recorded(t, clang, "logtest_shapes.dll")
	const linkerMap = " logtest\n\n Timestamp is 6b018f19\n\n Preferred load address is 00007ff6a0000000\n\n" +
		" Start         Length     Name                   Class\n 0001:00000000 00001000H .text                   CODE\n\n" +
		"  Address         Publics by Value              Rva+Base               Lib:Object\n\n" +
		" 0001:00000000       f                          00007ff6a0001000 f   a.obj\n"

	for _, test := range []struct {
		name       string
		mod        *modules.Module
		files      []string
		mismatched bool // names of other builds are asked for
		want       symbols.Status
		file       string
		named      bool
		reason     string
	}{
		{"an image of another build alone", exe, []string{"logtest.exe=" + mingw + "logtest.exe"}, false,
			symbols.Mismatched, "$/logtest.exe", false, "the image at $/logtest.exe is of another build"},
		{"an image of another build alone, asked for", exe, []string{"logtest.exe=" + mingw + "logtest.exe"}, true,
			symbols.Mismatched, "$/logtest.exe", true, "each marked"},
		{"an image of another build without names, asked for", exe, []string{"logtest.exe=" + clangCL + "logtest.exe"}, true,
			symbols.Mismatched, "$/logtest.exe", true, "each marked"},
		{"an image of another size", &sized, []string{"logtest.exe=" + clang + "logtest.exe"}, false,
			symbols.Mismatched, "$/logtest.exe", false, "bytes in memory, recorded are 0x1000"},
		{"a text", exe, []string{"logtest.exe:text"}, false,
			symbols.NotFound, "", false, "no symbol file and no image was found"},
		{"a map of an image of another base", exe, []string{"logtest.exe=" + clang + "logtest.exe", "logtest.map:" + strings.NewReplacer("6b018f19", "0", "00007ff6a", "000000014").Replace(linkerMap)}, false,
			symbols.Mismatched, "$/logtest.map", false, "it is linked for base 0x140000000, recorded is an image, $/logtest.exe, of base 0x7ff6a0000000"},
		{"the starts of functions alone", exe, []string{"logtest.exe=" + clang + "logtest.exe"}, false,
			symbols.StartsOnly, "$/logtest.exe", true, "its identity"},
		{"a debug file without names", exe, []string{"logtest.debug=" + clang + "logtest.exe"}, false,
			symbols.NotFound, "", false, "no symbol file and no image was found"},
		{"exports", dll, []string{"logtest_shapes.dll=" + clang + "logtest_shapes.dll", "logtest_shapes.pdb=" + clangCL + "logtest_shapes.pdb"}, false,
			symbols.ExportsOnly, "$/logtest_shapes.dll", true, "logtest_shapes.pdb is of another build"},
		{"more than exports, asked for", dll, []string{"logtest_shapes.dll=" + clang + "logtest_shapes.dll", "logtest_shapes.pdb=" + clangCL + "logtest_shapes.pdb"}, true,
			symbols.Mismatched, "$/logtest_shapes.pdb", true, "each marked"},
		{"a PDB of an image of another build", &byStamp, []string{"logtest.exe=" + clang + "logtest.exe", "logtest.pdb=" + clang + "logtest.pdb"}, false,
			symbols.Mismatched, "$/logtest.pdb", false, "it belongs to the image $/logtest.exe, which is of another build"},
		{"a PDB of another build than the image", &unrecorded, []string{"logtest.exe=" + clang + "logtest.exe", "logtest.pdb=" + clangCL + "logtest.pdb"}, false,
			symbols.Mismatched, "$/logtest.pdb", false, "the image $/logtest.exe is 8EAC50EB"},
		{"a PDB of an unverified image", &unrecorded, []string{"logtest.exe=" + clang + "logtest.exe", "logtest.pdb=" + clang + "logtest.pdb"}, false,
			symbols.Unverified, "$/logtest.pdb", true, "no identity was recorded to check it by"},
		{"a map rather than an image without names", &unrecorded, []string{"logtest.exe=" + clang + "logtest.exe", "logtest.map:" + linkerMap}, false,
			symbols.Unverified, "$/logtest.map", true, "no identity was recorded to check it by"},
		{"an image with debug information rather than a map", &unrecorded, []string{"logtest.exe=" + mingw + "logtest.exe", "logtest.map:" + linkerMap}, false,
			symbols.Unverified, "$/logtest.exe", true, "no identity was recorded to check it by"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, test.files...)
			f := NewFinder(append(slices.Clone(formats), unwind.Format), []string{dir}, "", false)
			f.LoadMismatched = test.mismatched
			b, file, attempts := run(t, dir, f, test.mod)
			reason := filepath.ToSlash(strings.ReplaceAll(b.Reason.String(), dir, "$"))
			if b.Status != test.want || file != test.file || (b.Table != nil) != test.named || !strings.Contains(reason, test.reason) {
				t.Errorf("%s, %q, %v: %s\n%s", b.Status, file, b.Table, reason, strings.Join(attempts, "\n"))
			}
		})
	}
}

// TestDebugFileOfOtherImage has a debug file without an identity. Its checksum is the one that an image of another build names, so
// it is of that build, too.
func TestDebugFileOfOtherImage(t *testing.T) {
	img, debug := read(t, dwarfData+"gcc5-stripped.so"), unnamed(t, read(t, dwarfData+"gcc5.debug"))
	const link = "gcc5.debug\x00\x00"
	binary.LittleEndian.PutUint32(img[bytes.Index(img, []byte(link))+len(link):], crc32.ChecksumIEEE(debug))
	mod := &modules.Module{Path: "/opt/gcc5", Size: 0x1000, Identity: modules.Identity{BuildID: "another build of it "}}
	dir := t.TempDir()
	write(t, dir, "gcc5", img)
	write(t, dir, "gcc5.debug", debug)
	b, file, attempts := find(t, dir, mod, "$")
	if b.Status != symbols.Mismatched || file != "$/gcc5.debug" || !strings.Contains(b.Reason.String(), "it belongs to the image") {
		t.Errorf("%s, %s: %s\n%s", b.Status, file, b.Reason, strings.Join(attempts, "\n"))
	}
	// Another file of this name tells nothing of its build.
	write(t, dir, "gcc5.debug", append(debug, 0))
	if b, _, _ := find(t, dir, mod, "$"); b.Status != symbols.Unverified {
		t.Errorf("another file: %s: %s", b.Status, b.Reason)
	}
}

// TestImageBesideSymbols finds the image of a module with its symbols: for crashes with what it contains, for texts with its headers.
func TestImageBesideSymbols(t *testing.T) {
	mod := recorded(t, linux, "logtest")
	encoded, rva, function := encodedSymbols(t, mod)
	kept := keptSymbols(t, encoded, mod, 0)
	other := *mod
	other.Identity.BuildID = "another build of it "
	unrecorded := *mod
	unrecorded.Identity = modules.Identity{}
	const own = "logtest=" + linux + "logtest"
	for _, test := range []struct {
		name   string
		mod    *modules.Module
		files  []string
		packed bool
		want   symbols.Status
		found  bool
	}{
		{"the image", mod, []string{own}, false, symbols.Embedded, true},
		{"of another build", &other, []string{own}, false, symbols.Mismatched, false},
		{"of no known build", &unrecorded, []string{own}, false, symbols.Unverified, true},
		{"none", mod, nil, false, symbols.NotFound, false},
		{"of a packed log", mod, []string{own}, true, symbols.Matched, true},
		{"of a packed log, not here", mod, nil, true, symbols.Matched, false},
		{"of a packed log, of another build", mod, []string{"logtest=" + linux + "liblogtest_shapes.so"}, true, symbols.Matched, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			plant(t, dir, test.files...)
			f := NewFinder(formats, []string{dir}, "", false)
			if test.packed {
				f.Kept = []Kept{{Container: kept, Path: filepath.Join(dir, "a.lpack"), Packed: true}}
			}
			b, img := f.FindAndOpen(context.Background(), test.mod)
			if b.Table != nil {
				defer b.Table.Close()
			}
			if b.Status != test.want || (img != nil) != test.found {
				t.Fatalf("%s, image %v: %s", b.Status, img != nil, b.Reason)
			}
			if img != nil {
				defer img.File().Close()
				head := make([]byte, 4)
				if _, err := img.File().ReadAt(head, 0); err != nil || !image.Detect(head) || img.Identity != mod.Identity {
					t.Errorf("the image of %s begins with %q: %v", img.Identity, head, err)
				}
			}
			if test.packed {
				if sym, err := b.Table.Lookup(rva); err != nil || sym.Outermost().Function != function {
					t.Errorf("%#x is %+v, want %s; %v", rva, sym, function, err)
				}
				return
			}
			b, headers := f.FindWithImage(context.Background(), test.mod)
			if b.Table != nil {
				defer b.Table.Close()
			}
			if b.Status != test.want || (headers != nil) != test.found || headers != nil && headers.Identity != mod.Identity {
				t.Errorf("with its headers: %s, %v", b.Status, headers)
			}
		})
	}
}

// keptRules makes a container with the unwind rules of a module and STACK records, but no names. It returns the RVA at which the
// first rule begins, too.
func keptRules(t *testing.T, mod *modules.Module, path string) (c *attached.Container, start uint64) {
	t.Helper()
	file, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	img, err := image.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := attached.EncodeUnwind(context.Background(), img, nil)
	if err != nil {
		t.Fatal(err)
	}
	errFirst := errors.New("the first is enough")
	err = unwind.Collect(unwind.RulesOf(img), func(e *unwind.Entry) error {
		start = e.Start
		return errFirst
	})
	if err != errFirst {
		t.Fatal(err)
	}
	text := breakpadOf(t, hex.EncodeToString([]byte(mod.Identity.BuildID)), mod.Name()) + "STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n"
	stack, err := attached.EncodeStack(context.Background(), &symbols.File{ReaderAt: strings.NewReader(text), Size: int64(len(text))})
	if err != nil {
		t.Fatal(err)
	}
	m := &attached.Module{Name: mod.Name(), Path: mod.Path, Identity: mod.Identity, Size: mod.Size}
	parts := append((*attached.Encoded)(nil).Parts(m, 0), append(rules.Parts(0), stack.Parts(0)...)...)
	var out bytes.Buffer
	if err := attached.Write(&out, parts); err != nil {
		t.Fatal(err)
	}
	if c, err = attached.OpenContainer(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
		t.Fatal(err)
	}
	return c, start
}

// TestKeptUnwindRules finds the unwind rules that were kept of a module, of the same build only.
func TestKeptUnwindRules(t *testing.T) {
	mod := recorded(t, linux, "logtest")
	rules, start := keptRules(t, mod, linux+"logtest")
	encoded, _, _ := encodedSymbols(t, mod)
	names := keptSymbols(t, encoded, mod, 0)
	moved, renamed, other := *mod, *mod, *mod
	moved.Path = "/elsewhere/logtest"
	renamed.Path = "/opt/another"
	other.Identity.BuildID = "another build of it "
	own := symbols.Binding{Status: symbols.NotFound}
	for _, test := range []struct {
		name   string
		mod    *modules.Module
		kept   *attached.Container
		packed bool
		found  bool
	}{
		{"beside the log", mod, rules, false, true},
		{"packed", mod, rules, true, true},
		{"from elsewhere", &moved, rules, false, true},
		{"from elsewhere, packed", &moved, rules, true, false},
		{"of another name", &renamed, rules, false, false},
		{"of another build", &other, rules, false, false},
		{"without rules", mod, names, false, false},
		{"none", mod, nil, false, false},
	} {
		f := NewFinder(formats, nil, "", false)
		if test.kept != nil {
			f.Kept = []Kept{{Container: test.kept, Path: "a.lpsym", Packed: test.packed}}
		}
		u, stack := f.Unwind(test.mod, &own), f.Stack(test.mod, &own)
		if (u != nil) != test.found || (stack != nil) != test.found {
			t.Errorf("%s: rules %v, STACK records %v", test.name, u != nil, stack != nil)
			continue
		}
		if !test.found {
			continue
		}
		if p, err := u.Rule(start); err != nil || p.Start != start {
			t.Errorf("%s: the rule at %#x begins at %#x: %v", test.name, start, p.Start, err)
		}
		text := make([]byte, stack.File().Size)
		if n, _ := stack.ReadAt(text, 0); !bytes.Contains(text[:n], []byte("STACK CFI INIT 1000 10")) {
			t.Errorf("%s: %q", test.name, text)
		}
	}

	// Symbols that were attached bring their rules along, unless they are of another build.
	if _, err := rules.Modules()[0].Open(); err == nil {
		t.Fatal("a container without names has a table")
	}
	table, err := names.Modules()[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	f := NewFinder(formats, nil, "", false)
	for _, status := range []symbols.Status{symbols.Attached, symbols.Mismatched} {
		b := symbols.Binding{Status: status, Table: table}
		if from := f.withUnwind(mod, &b); (len(from) == 1) != (status == symbols.Attached) {
			t.Errorf("%s: %d containers", status, len(from))
		}
	}
}
