package dwarf

import (
	"errors"
	"os"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
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

// openImage opens an image and closes it with the test.
func openImage(t testing.TB, path string) *image.Image {
	t.Helper()
	im, err := image.Open(openFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

// The causes of the differences.
const (
	// The table of the 32-bit PE was made from the COFF symbols with one
	// underscore taken off: C functions keep the decoration that LogParser
	// drops, C++ names have lost too much.
	causeDecoration = "COFF name with one underscore less, not undecorated by the table"
	causeSection    = "section of stubs in the table; here the stub's own name"
	causeHeader     = "head of the section of stubs, which is none and has no name"
	causeUnknown    = "no name in the table, none here"
)

func explain(_ *symtest.Table, d *symtest.Difference) string {
	switch {
	case d.Subject == symtest.PublicName && d.Want == "<unknown>" && errors.Is(d.Err, symbols.ErrNotFound):
		return causeUnknown
	case d.Subject == symtest.PublicName && strings.HasPrefix(d.Want, "<.plt") && d.Err == nil && d.Symbol.Kind == symbols.PLT:
		return causeSection
	case d.Subject == symtest.PublicName && strings.HasPrefix(d.Want, "<.plt ") && errors.Is(d.Err, symbols.ErrNotFound):
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

// TestConformance holds look-ups against tables that another tool made from
// the same files, by the rules of [symtest.Compare].
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		file, table []string
		// image has the stubs of a debug file, which has none.
		image []string
	}{
		{[]string{"elf", "basic.full"}, []string{"elf", "basic.full.sym"}, nil},
		{[]string{"elf", "basic.full"}, []string{"elf", "basic.full.inlines.sym"}, nil},
		{[]string{"elf", "basic.dbg"}, []string{"elf", "basic.dbg.sym"}, []string{"elf", "basic.stripped"}},
		{[]string{"elf", "basic.dwz"}, []string{"elf", "basic.dwz.inlines.sym"}, []string{"elf", "basic.stripped"}},
		{[]string{"pe-dwarf", "basic32-dwarf.dll"}, []string{"pe-dwarf", "basic32-dwarf.sym"}, nil},
	} {
		name := c.table[len(c.table)-1]
		t.Run(name, func(t *testing.T) {
			var table symbols.Table = openTable(t, symtest.Path(t, c.file...))
			if c.image != nil {
				table = symtab.Complete(table, openImage(t, symtest.Path(t, c.image...)))
			}
			want := symtest.Load(t, c.table...)
			symtest.Compare(want, table.Lookup, symtest.Rules{Explain: explain}).
				Report(t, "DWARF "+strings.TrimSuffix(name, ".sym"), symtest.DefaultBars)
		})
	}
}
