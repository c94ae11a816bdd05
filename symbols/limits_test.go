package symbols_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/breakpad"
	"logparser/symbols/demangle"
	"logparser/symbols/dwarf"
	"logparser/symbols/gosym"
	"logparser/symbols/image"
	"logparser/symbols/mapfile"
	"logparser/symbols/pdb"
	"logparser/symbols/store"
	"logparser/symbols/symtab"
	"logparser/symbols/symtest"
)

// formats are all readers, and for each the files that are damaged.
var formats = []struct {
	format symbols.Format
	files  []string
}{
	{pdb.Format, []string{"pdb/testdata/shapes-*.pdb"}},
	{dwarf.Format, []string{"dwarf/testdata/gcc[45].so", "dwarf/testdata/clang5.so", "dwarf/testdata/clang5-z*.so",
		"dwarf/testdata/gcc5-dwz.so", "dwarf/testdata/clang4-split.so", "dwarf/testdata/x86_64.dll",
		"dwarf/testdata/gcc5-zlib.o", "dwarf/testdata/i386.o", "dwarf/testdata/cold2.so"}},
	{symtab.Format, []string{"dwarf/testdata/*-mini.so", "dwarf/testdata/armv7.so", "dwarf/testdata/i686.dll", "symtab/testdata/*.*o"}},
	{mapfile.Format, []string{"mapfile/testdata/*.map", "mapfile/testdata/*.lldmap"}},
}

func read(t testing.TB, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	files := make(map[string][]byte)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
	}
	return files
}

func open(format symbols.Format, path string, data []byte) (symbols.Table, error) {
	return format.Open(&symbols.File{Path: path, ReaderAt: bytes.NewReader(data), Size: int64(len(data)),
		Sibling: func(string, func(*symbols.File) bool) (*symbols.File, error) { return nil, os.ErrNotExist }})
}

// ask asks a table for some of what it has, and for what it may not have.
func ask(table symbols.Table) {
	defer table.Close()
	table.Describe()
	table.Identity()
	n := 0
	table.Procedures(func(rva uint64, _ string) bool {
		table.Lookup(rva)
		table.Lookup(rva + 5)
		n++
		return n < 50
	})
	for rva := uint64(0); rva < 0x3000; rva += 97 {
		table.Lookup(rva)
	}
	for shift := range 64 {
		table.Lookup(1<<shift - 1)
	}
}

// TestLimits damages files of every format: whatever is in a file, no reader
// allocates more than 64 MB beyond its size, or takes long.
func TestLimits(t *testing.T) {
	for _, f := range formats {
		t.Run(f.format.Name, func(t *testing.T) {
			for _, pattern := range f.files {
				for path, data := range read(t, pattern) {
					table, err := open(f.format, path, data)
					if err != nil {
						t.Fatal(err)
					}
					ask(table)
					symtest.Hostile(t, path, data, symtest.Rounds(60), func(data []byte) {
						if table, err := open(f.format, path, data); err == nil {
							ask(table)
						}
					})
				}
			}
		})
	}
}

// TestImageLimits does so for what is read of images beside their tables.
func TestImageLimits(t *testing.T) {
	for _, pattern := range []string{"dwarf/testdata/*.so", "dwarf/testdata/*.dll", "dwarf/testdata/*.o", "symtab/testdata/*.o"} {
		for path, data := range read(t, pattern) {
			symtest.Hostile(t, path, data, symtest.Rounds(20), func(data []byte) {
				im, err := image.Open(&symbols.File{Path: path, ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
				if err != nil {
					return
				}
				defer im.FreeScratch()
				im.Exports()
				im.MiniDebugInfo()
				for _, s := range im.Sections {
					if c, err := s.Content(); err == nil {
						c.Upto(0, 1<<20)
						c.String(1)
					}
				}
			})
		}
	}
}

// TestNameLimits does so for names, which any of the files may hold.
func TestNameLimits(t *testing.T) {
	for _, name := range []string{
		"_ZN3app3runINS_1AISt4pairIS1_S1_EEEEvT_RKT0_PFvS3_S4_E",
		"_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc",
		"_RINvNtC3std3mem8align_ofINtC4core6optionpEAhj3_E",
		"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
		"??$f@V?$A@V?$A@H@@V01@@@V?$A@V?$A@H@@V01@@@@ns@@YAXV?$A@H@@0@Z",
		"?f@?1??g@@YAHXZ@4HA", "_f@12",
		strings.Repeat("_ZN1a", 3000), strings.Repeat("?", 1<<14), "_Z" + strings.Repeat("N", 1<<14), "_R" + strings.Repeat("I", 1<<14),
	} {
		symtest.Hostile(t, name[:min(len(name), 60)], []byte(name), symtest.Rounds(200), func(data []byte) {
			demangle.Forms(string(data))
			demangle.Name(string(data))
			demangle.CName(string(data), true)
		})
	}
}

// TestStoreLimits does so for the text of a search path, and for recorded
// paths.
func TestStoreLimits(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{
		`srv*` + dir + `*https://127.0.0.1:1/s;cache*` + dir + `;` + dir,
		`symsrv*symsrv.dll*` + dir + `*` + dir, `debuginfod:http://127.0.0.1:1`, strings.Repeat(`srv*`, 5000), strings.Repeat(`;`, 20000),
	} {
		symtest.Hostile(t, text[:min(len(text), 40)], []byte(text), symtest.Rounds(25), func(data []byte) {
			// Only what is inside the test's own folder may be met.
			if !bytes.Contains(data, []byte(dir)) && !bytes.HasPrefix(data, []byte("srv*srv*")) && !bytes.HasPrefix(data, []byte(";;")) {
				return
			}
			f := store.NewFinder(nil, []string{string(data)}, dir, true)
			f.Find(context.Background(), &modules.Module{Path: string(data), Size: 0x1000})
		})
	}
}

// TestOrder opens what several formats could: debug information comes before
// the symbol tables.
func TestOrder(t *testing.T) {
	list := []symbols.Format{pdb.Format, dwarf.Format, breakpad.Format, gosym.Format, symtab.Format, mapfile.Format}
	for _, c := range []struct{ file, want string }{
		{"gcc5.so", "DWARF 5"}, {"gcc5-stripped.so", "ELF dynamic symbols"}, {"gcc5-mini.so", "MiniDebugInfo"},
	} {
		path := filepath.Join(t.TempDir(), c.file) // away from other files of its build
		if err := os.WriteFile(path, read(t, "dwarf/testdata/"+c.file)["dwarf/testdata/"+c.file], 0o600); err != nil {
			t.Fatal(err)
		}
		b, _, err := store.NewFinder(list, nil, "", false).FindFor(context.Background(), path)
		if err != nil {
			t.Fatal(err)
		}
		if b.Table == nil || b.Table.Describe() != c.want {
			t.Errorf("%s: %+v, want %s", c.file, b, c.want)
		}
		if b.Table != nil {
			b.Table.Close()
		}
	}
	// A file of C code is none of Go's.
	for path, data := range read(t, "dwarf/testdata/*.so") {
		if _, err := open(gosym.Format, path, data); !errors.Is(err, symbols.ErrNoSymbols) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
