package symtab

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/symtest"
)

// The causes of the differences.
const (
	// The table of the 32-bit PE keeps the decoration of C names and has taken
	// one underscore too much off C++ names.
	causeDecoration = "COFF name with one underscore less, not undecorated by the table"
	causeSection    = "section of stubs in the table; here the stub's own name"
	causeHeader     = "head of the section of stubs, which is none and has no name"
	causeUnknown    = "no name in the table, none here"
	causePadding    = "COFF symbols have no sizes: padding counts to the function before"
)

func explain(_ *symtest.Table, d *symtest.Difference) string {
	none := errors.Is(d.Err, symbols.ErrNotFound)
	switch {
	case d.Subject == symtest.PublicName && d.Want == "<unknown>" && d.Err == nil && d.Symbol.Start < d.Address:
		return causePadding
	case d.Subject == symtest.PublicName && d.Want == "<unknown>" && none:
		return causeUnknown
	case d.Subject == symtest.PublicName && strings.HasPrefix(d.Want, "<.plt") && d.Err == nil && d.Symbol.Kind == symbols.PLT:
		return causeSection
	case d.Subject == symtest.PublicName && strings.HasPrefix(d.Want, "<.plt ") && none:
		return causeHeader
	case (d.Subject == symtest.Name || d.Subject == symtest.PublicName) && d.Err == nil:
		f := d.Symbol.Outermost()
		for _, w := range []string{demangle.CName("_"+d.Want, true), demangle.Short("_" + d.Want)} {
			if symtest.SameAs(w, f.Function, append(d.Symbol.Aliases, f.Signature)) {
				return causeDecoration
			}
		}
	}
	return ""
}

// TestConformance holds names and sizes of functions against tables that
// another tool made from the same files.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		file, table string
		// noSizes says that the symbol table has none.
		noSizes bool
		// image has the stubs of a debug file, which has none.
		image string
	}{
		{"elf/basic.full", "elf/basic.full.sym", false, ""},
		{"elf/basic.dbg", "elf/basic.dbg.sym", false, "elf/basic.stripped"},
		{"elf/basic.minidebuginfo", "elf/basic.minidebuginfo.sym", false, ""},
		{"pe-dwarf/basic32-dwarf.dll", "pe-dwarf/basic32-dwarf.sym", true, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			var table symbols.Table = openTable(t, symtest.Path(t, strings.Split(c.file, "/")...))
			if c.image != "" {
				im := openImage(t, symtest.Path(t, strings.Split(c.image, "/")...))
				defer im.Close()
				table = Complete(table, im)
			}
			want := symtest.Load(t, strings.Split(c.table, "/")...)
			rules := symtest.Rules{Explain: explain, NoLines: true, NoSizes: c.noSizes}
			_, name, _ := strings.Cut(strings.TrimSuffix(c.table, ".sym"), "/")
			symtest.Compare(want, table.Lookup, rules).Report(t, "symbols "+name, symtest.DefaultBars)
		})
	}
}

// TestConformanceMiniDebugInfo names every function of a stripped file as its
// full twin does, over the whole of the function.
func TestConformanceMiniDebugInfo(t *testing.T) {
	for _, name := range []string{"gcc5", "clang5"} {
		t.Run(name, func(t *testing.T) {
			mini, full := openTable(t, filepath.Join(dwarfData, name+"-mini.so")), openTable(t, filepath.Join(dwarfData, name+".so"))
			if mini.ExportsOnly() || mini.Describe() != "MiniDebugInfo" {
				t.Errorf("%s, exports only: %v", mini.Describe(), mini.ExportsOnly())
			}
			var c symtest.Comparison
			full.Procedures(func(rva uint64, name string) bool {
				want, err := full.Lookup(rva)
				if err != nil {
					t.Errorf("%#x: %v", rva, err)
				}
				c.Names.All++
				same := true
				for at := rva; at < rva+max(want.Size, 1); at++ {
					got, err := mini.Lookup(at)
					want, err2 := full.Lookup(at)
					if fmt.Sprint(got, err) != fmt.Sprint(want, err2) {
						t.Errorf("%#x: %v, %v, want %v, %v", at, got, err, want, err2)
						same = false
						break
					}
				}
				if same {
					c.Names.Same++
				}
				return true
			})
			if c.Names.All < 10 {
				t.Errorf("only %d functions", c.Names.All)
			}
			c.Report(t, "MiniDebugInfo "+name+" and its twin, every function", symtest.Bars{})
		})
	}
}
