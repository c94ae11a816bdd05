package dwarf

import (
	"errors"
	"os"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/symtest"
)

// openFile opens a file for a table, which closes it.
func openFile(t testing.TB, path string) *symbols.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return &symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f}
}

// openTable opens the DWARF table of a file and closes it with the test.
func openTable(t testing.TB, path string) *Table {
	t.Helper()
	f := openFile(t, path)
	table, err := Open(f)
	if err != nil {
		f.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table.(*Table)
}

// sameName compares names by the rule of conformance. The table of the 32-bit
// PE was made from the COFF symbols with one underscore taken off: C functions
// keep the decoration that LogParser drops, C++ names have lost too much, and
// one name that only DWARF has is unknown.
func sameName(want string, s *symbols.Symbol) bool {
	f := s.Outermost()
	names := append([]string{f.Function, f.Signature}, s.Aliases...)
	for _, w := range []string{want, demangle.CName("_"+want, true), demangle.Short("_" + want)} {
		if symtest.SameAs(w, f.Function, names) {
			return true
		}
	}
	return false
}

// checkTable holds a table against one that another tool made.
func checkTable(t *testing.T, table symbols.Table, want *symtest.Table) {
	t.Helper()
	rows := 0
	for _, fn := range want.Funcs {
		sym, err := table.Lookup(fn.Address)
		if err != nil {
			t.Errorf("%#x: %v, want %s", fn.Address, err, fn.Name)
			continue
		}
		if !sameName(fn.Name, &sym) {
			t.Errorf("%#x: %q, want %s", fn.Address, sym.Outermost().Function, fn.Name)
		}
		if sym.Start != fn.Address || sym.Size != fn.Size {
			t.Errorf("%#x: start %#x, size %#x, want size %#x of %s", fn.Address, sym.Start, sym.Size, fn.Size, fn.Name)
		}
		for _, l := range fn.Lines {
			rows++
			for _, at := range []uint64{l.Address, l.Address + l.Size - 1} {
				sym, err := table.Lookup(at)
				if err != nil {
					t.Errorf("%#x: %v, want %s:%d", at, err, l.File, l.Line)
					continue
				}
				f := sym.Frames[0]
				if len(fn.Inlines) == 0 {
					// A table without inlined calls has the call's line.
					f = *sym.Outermost()
				}
				if f.Line != l.Line || f.File != l.File {
					t.Errorf("%#x in %s: %s:%d, want %s:%d", at, fn.Name, f.File, f.Line, l.File, l.Line)
				}
			}
		}
		for _, in := range fn.Inlines {
			for _, r := range in.Ranges {
				for _, at := range []uint64{r.Address, r.Address + r.Size - 1} {
					sym, err := table.Lookup(at)
					if err != nil {
						t.Errorf("%#x: %v", at, err)
						continue
					}
					// Depth counts from the outside in.
					i := len(sym.Frames) - 2 - in.Depth
					if i < 0 {
						t.Errorf("%#x in %s: %d frames, want an inlined call at depth %d", at, fn.Name, len(sym.Frames), in.Depth)
						continue
					}
					inner, outer := sym.Frames[i], sym.Frames[i+1]
					if in.Origin != "<name omitted>" && !symtest.Same(in.Origin, inner.Function) {
						t.Errorf("%#x in %s: inlined %q, want %s", at, fn.Name, inner.Function, in.Origin)
					}
					if outer.Line != in.CallLine || outer.File != in.CallFile {
						t.Errorf("%#x in %s: called at %s:%d, want %s:%d", at, fn.Name, outer.File, outer.Line, in.CallFile, in.CallLine)
					}
				}
			}
		}
	}
	for _, p := range want.Publics {
		if strings.HasPrefix(p.Name, "<.plt") {
			continue // dump_syms names a section here, this reader its stubs
		}
		if p.Name == "<unknown>" {
			if sym, err := table.Lookup(p.Address); !errors.Is(err, symbols.ErrNotFound) {
				t.Errorf("%#x: %v, %v, want no name", p.Address, sym, err)
			}
			continue
		}
		sym, err := table.Lookup(p.Address)
		if err != nil {
			t.Errorf("%#x: %v, want %s", p.Address, err, p.Name)
			continue
		}
		if !sameName(p.Name, &sym) {
			t.Errorf("%#x: %q, want %s", p.Address, sym.Outermost().Function, p.Name)
		}
	}
	t.Logf("%d functions, %d line rows, %d publics", len(want.Funcs), rows, len(want.Publics))
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		file, table []string
	}{
		{[]string{"elf", "basic.full"}, []string{"elf", "basic.full.sym"}},
		{[]string{"elf", "basic.full"}, []string{"elf", "basic.full.inlines.sym"}},
		{[]string{"elf", "basic.dbg"}, []string{"elf", "basic.dbg.sym"}},
		{[]string{"elf", "basic.dwz"}, []string{"elf", "basic.dwz.inlines.sym"}},
		{[]string{"pe-dwarf", "basic32-dwarf.dll"}, []string{"pe-dwarf", "basic32-dwarf.sym"}},
	} {
		t.Run(c.table[len(c.table)-1], func(t *testing.T) {
			checkTable(t, openTable(t, symtest.Path(t, c.file...)), symtest.Load(t, c.table...))
		})
	}
}
