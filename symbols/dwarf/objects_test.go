package dwarf

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"logparser/symbols"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
	"logparser/symbols/symtest"
)

// functionsOf returns the functions of an ELF file by name, with the numbers
// of their sections.
func functionsOf(t testing.TB, path string) map[string]elf.Symbol {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]elf.Symbol{}
	for _, s := range list {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Section != elf.SHN_UNDEF && s.Size > 0 {
			if f.Machine == elf.EM_ARM {
				s.Value &^= 1
			}
			out[s.Name] = s
		}
	}
	return out
}

// TestConformanceObjects holds every byte of every function of objects, each in
// the section that has it, against the file that they were linked into.
func TestConformanceObjects(t *testing.T) {
	for _, c := range []struct{ object, linked string }{
		{"gcc5.o", "gcc5.so"},
		{"gcc5-zlib.o", "gcc5.so"},
		{"clang5.o", "clang5.so"},
		{"count.o", "clang5.so"},
		{"i386.o", "i386.so"},
		{"mips.o", "mips.so"},
		{"s390x.o", "s390x.so"},
		{"armv7.o", "armv7.so"},
		{"aarch64.o", "aarch64.so"},
	} {
		t.Run(c.object, func(t *testing.T) {
			object, linked := openPair(t, c.object), openPair(t, c.linked)
			places := functionsOf(t, filepath.Join("testdata", c.linked))
			var score symtest.Comparison
			sections := map[elf.SectionIndex]bool{}
			for name, s := range functionsOf(t, filepath.Join("testdata", c.object)) {
				to, ok := places[name]
				if !ok {
					t.Errorf("%s is not in %s", name, c.linked)
					continue
				}
				sections[s.Section] = true
				from := object.im.Sections[s.Section].Addr - object.im.Base + s.Value
				for at := range min(s.Size, to.Size) {
					score.Names.All++
					a, err := object.Lookup(from + at)
					b, err2 := linked.Lookup(to.Value - linked.im.Base + at)
					a.Start, b.Start = a.Start-from, b.Start-(to.Value-linked.im.Base)
					if err == nil && err2 == nil && fmt.Sprint(a) == fmt.Sprint(b) {
						score.Names.Same++
					} else {
						t.Errorf("%s+%#x: %v, %v\n\twant %v, %v", name, at, a, err, b, err2)
					}
				}
			}
			if score.Names.All < 50 || len(sections) < 4 && c.object != "count.o" {
				t.Errorf("%d bytes of code in %d sections", score.Names.All, len(sections))
			}
			score.Report(t, "DWARF "+c.object+" and what it is linked into, "+c.linked+", every byte of functions", symtest.Bars{})
		})
	}
}

// TestUnknownRelocations names code of an object for a processor whose
// relocations are not known by its symbol table, without lines.
func TestUnknownRelocations(t *testing.T) {
	data, err := os.ReadFile("testdata/count.o")
	if err != nil {
		t.Fatal(err)
	}
	const machineAt = 18
	data[machineAt] = byte(elf.EM_RISCV)
	file := &symbols.File{Path: "count.o", ReaderAt: bytes.NewReader(data), Size: int64(len(data))}
	if table, err := Open(file); !errors.Is(err, image.ErrRelocation) {
		t.Errorf("opened: %v, %v", table, err)
	}
	table, err := symtab.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if sym, err := table.Lookup(4); err != nil || sym.Frames[0].Function != "counted" || sym.Frames[0].Line != 0 {
		t.Errorf("%+v, %v", sym, err)
	}
}
