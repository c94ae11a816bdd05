package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
)

// A foldedTable has aliases only after somebody has asked for them.
type foldedTable struct {
	file    *symbols.File
	aliases []string
}

func (t *foldedTable) Lookup(rva uint64) (symbols.Symbol, error) {
	return symbols.Symbol{Frames: []symbols.Frame{{Function: "shown"}}, Start: rva, Size: 1, Aliases: t.aliases, Kind: symbols.Procedure}, nil
}

func (t *foldedTable) Procedures(func(uint64, string) bool) error { return nil }
func (t *foldedTable) Identity() modules.Identity                 { return modules.Identity{} }
func (t *foldedTable) Describe() string                           { return "a large PDB" }
func (t *foldedTable) Close() error                               { return t.file.Close() }

func (t *foldedTable) ReadAliases() error {
	t.aliases = []string{"folded"}
	return nil
}

// TestAliasesWhenAsked opens a symbol file without reading all of it, which
// aliases may need, until they are asked for.
func TestAliasesWhenAsked(t *testing.T) {
	formats := symbolFormats
	defer func() { symbolFormats = formats }()
	symbolFormats = []symbols.Format{{
		Name:   "PDB",
		Detect: func([]byte) bool { return true },
		Open:   func(f *symbols.File) (symbols.Table, error) { return &foldedTable{file: f}, nil },
	}}
	path := filepath.Join(t.TempDir(), "large.pdb")
	if err := os.WriteFile(path, make([]byte, 64), 0o666); err != nil {
		t.Fatal(err)
	}
	img, err := OpenImage(context.Background(), path, Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if sym, err := img.Lookup(1); err != nil || sym.Frames[0].Function != "shown" || len(sym.Aliases) > 0 {
		t.Errorf("the first name: %+v, %v", sym, err)
	}
	if err := img.ReadAliases(); err != nil {
		t.Fatal(err)
	}
	if sym, err := img.Lookup(1); err != nil || len(sym.Aliases) != 1 {
		t.Errorf("when asked: %+v, %v", sym, err)
	}
}

// dwarfFolder has libraries and objects with debug information, and what llvm-symbolizer says of them.
const dwarfFolder = "../symbols/dwarf/testdata"

// TestImagePlace finds what people write of an address: an RVA, one of the addresses that the image is linked to, or an offset in
// a section. An object has many sections that begin at 0, so that one must be named.
func TestImagePlace(t *testing.T) {
	for _, test := range []struct {
		file, section string
		address       uint64
		want          string // the function there, or what is wrong
	}{
		{"gcc5.so", "", 0x7e3, "app::(anonymous namespace)::Square::area"},
		{"gcc5.so", ".text", 3, "app::(anonymous namespace)::Square::area"},
		{"count.o", "", 0x20, "counted"},
		{"count.o", ".text", 0x20, "counted"},
		{"count.o", ".data", 0, "no code at 0x0 of a section .data"},
		{"count.o", "", 0x7fffffff, symbols.ErrNotFound.Error()},
		{"gcc5.o", "", 2, "sections of code have this offset: say which, such as .text+0x2"},
		{"gcc5.o", ".text._ZN3app5twiceIiEET_S1_", 2, "app::twice<int>"},
	} {
		img, err := OpenImage(t.Context(), filepath.Join(dwarfFolder, test.file), Inputs{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		rva, err := img.Place(test.section, test.address)
		if err != nil {
			got = err.Error()
		} else if sym, err := img.Lookup(rva); err != nil {
			t.Errorf("%s: %#x has no name: %v", test.file, rva, err)
		} else {
			got = sym.Outermost().Function
			if want := test.address; img.linked.Relocatable && img.Offset(rva) != want {
				t.Errorf("%s: %#x is shown as %#x, want %#x", test.file, rva, img.Offset(rva), want)
			}
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s+%#x is %q, want %q", test.file, test.section, test.address, got, test.want)
		}
		img.Close()
	}
	pdb, err := OpenImage(t.Context(), filepath.Join(clangFolder, "logtest.pdb"), Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	defer pdb.Close()
	if _, err := pdb.Place(".text", 0); err == nil || pdb.Offset(0x1000) != 0x1000 {
		t.Errorf("a symbol file has sections: %v", err)
	}
}

// TestImageNames looks many addresses up at once: what is found is what single look-ups find, and the names alone are those of
// the procedures, without lines, also where debug information is compressed. Those of another build are marked.
func TestImageNames(t *testing.T) {
	other := t.TempDir()
	copyFiles(t, clangFolder, other, "logtest.exe")
	copyFiles(t, logtest(t, "windows-x86-clang"), other, "logtest.pdb")
	for _, test := range []struct {
		file string
		in   Inputs
		rva  uint64 // of code
		tag  bool
	}{
		{filepath.Join(dwarfFolder, "gcc5.so"), Inputs{}, 0x7ea, false},
		{filepath.Join(dwarfFolder, "gcc5-zlib.so"), Inputs{}, 0x7ea, false},
		{filepath.Join(other, "logtest.exe"), Inputs{LoadMismatched: true}, procedureAt(t, filepath.Join(other, "logtest.pdb"), "main"), true},
	} {
		img, err := OpenImage(t.Context(), test.file, test.in)
		if err != nil {
			t.Fatal(err)
		}
		defer img.Close()
		rvas := []uint64{test.rva, 0x7fffffff, test.rva}
		names, all := make([]Symbol, len(rvas)), make([]Symbol, len(rvas))
		err = img.NamesAll(t.Context(), rvas, func(i int, sym Symbol, err error) {
			if names[i] = sym; (err == nil) != (i != 1) {
				t.Errorf("%s: %#x: %v", test.file, rvas[i], err)
			}
		})
		if err == nil {
			err = img.LookupAll(t.Context(), rvas, func(i int, sym Symbol, _ error) { all[i] = sym })
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(rvas); i += 2 {
			one, err := img.Lookup(rvas[i])
			if err != nil || !reflect.DeepEqual(one, all[i]) {
				t.Errorf("%s: %+v, want %+v (%v)", test.file, all[i], one, err)
			}
			name := names[i].Outermost()
			if len(names[i].Frames) != 1 || name.Line != 0 || name.File != "" || name.Function != one.Outermost().Function || one.Outermost().Line == 0 ||
				strings.Contains(name.Function, "[mismatched]") != test.tag {
				t.Errorf("%s: %+v, want the name of %+v", test.file, names[i], one)
			}
		}
		if err := img.NamesAll(cancelledContext(t), rvas, func(int, Symbol, error) {}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}
