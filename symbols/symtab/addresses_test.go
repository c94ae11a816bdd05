package symtab

import (
	"debug/elf"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAddresses holds the functions of chosen names against what Go's own reader finds, in an image with
// a symbol table, in one with dynamic symbols alone, and in files that have none of both.
func TestAddresses(t *testing.T) {
	const path = "../../testdata/logtest/linux-gcc-O2/logtest"
	f, all := openELF(t, path)
	im := openImage(t, path)
	defer im.Close()
	chosen := func(name string) bool { return strings.HasPrefix(name, "_Z") || name == "main" }
	want := map[string]uint64{}
	for _, s := range all {
		if typ := elf.ST_TYPE(s.Info); s.Section != elf.SHN_UNDEF && (typ == elf.STT_FUNC || typ == elf.STT_NOTYPE) && chosen(s.Name) {
			want[s.Name] = s.Value - im.Base
		}
	}
	got, err := Addresses(im, chosen)
	if err != nil || !maps.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d functions, %v, want %d", len(got), err, len(want))
	}
	got, err = Addresses(im, func(string) bool { return false })
	if err != nil || len(got) != 0 {
		t.Errorf("none is chosen: %v, %v", got, err)
	}
	// Without its symbol table the image has its dynamic symbols.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(f.Sections, func(s *elf.Section) bool { return s.Type == elf.SHT_SYMTAB })
	if i < 0 || f.Class != elf.ELFCLASS64 {
		t.Fatal("the sample has no symbol table of 64 bits")
	}
	at := f.ByteOrder.Uint64(data[0x28:]) + uint64(i)*64
	f.ByteOrder.PutUint32(data[at+4:], uint32(elf.SHT_PROGBITS))
	stripped := filepath.Join(t.TempDir(), "stripped")
	if err := os.WriteFile(stripped, data, 0o600); err != nil {
		t.Fatal(err)
	}
	dynamic, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	clear(want)
	for _, s := range dynamic {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			want[s.Name] = s.Value - im.Base
		}
	}
	im = openImage(t, stripped)
	defer im.Close()
	got, err = Addresses(im, func(name string) bool { _, ok := want[name]; return ok })
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v of dynamic symbols, %v, want %v", got, err, want)
	}
	if list, err := Clones(im); list != nil || err != nil {
		t.Errorf("clones without a symbol table: %v, %v", list, err)
	}
	pe := openImage(t, "../dwarf/testdata/x86_64.dll")
	defer pe.Close()
	// What nm says of the COFF symbols of code.
	want = map[string]uint64{"DllMainCRTStartup": 0x13c0, "_Z3runi": 0x1210, "_ZN3appL5localEi": 0x1050, "third": 0x12f0}
	got, err = Addresses(pe, func(name string) bool { _, ok := want[name]; return ok || strings.HasPrefix(name, ".") })
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("functions of a PE: %#x, %v, want %#x", got, err, want)
	}
	// An object ends where the next symbol is, be it that of an input section only.
	objects := []Object{{0x2050, 48, "vtable for app::Shape"}, {0x6000, 16, "__bss_start__"}}
	if list, err := Objects(pe); !slices.Equal(list, objects) || err != nil {
		t.Errorf("objects of a PE: %v, %v, want %v", list, err, objects)
	}
}

// TestFunctionsOfResolvers leaves out functions that only choose those by whose names they go.
func TestFunctionsOfResolvers(t *testing.T) {
	const path = "../../testdata/logtest/linux-gcc-O2/logtest"
	f, all := openELF(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == "main" })
	table := f.SectionByType(elf.SHT_SYMTAB)
	if i < 0 || table == nil {
		t.Fatal("the sample has no main")
	}
	data[table.Offset+uint64(i+1)*elf.Sym64Size+4] = elf.ST_INFO(elf.STB_GLOBAL, elf.STT_GNU_IFUNC)
	changed := filepath.Join(t.TempDir(), "changed")
	if err := os.WriteFile(changed, data, 0o600); err != nil {
		t.Fatal(err)
	}
	has := func(path string) bool {
		im := openImage(t, path)
		defer im.Close()
		list, err := Functions(im)
		if err != nil || len(list) < 2 {
			t.Fatalf("%d functions, %v", len(list), err)
		}
		return slices.ContainsFunc(list, func(n Named) bool { return n.RVA == all[i].Value-im.Base })
	}
	if !has(path) || has(changed) {
		t.Errorf("main is among the functions: %v, and if it only chooses one: %v", has(path), has(changed))
	}
}

// openELF opens an image with Go's own reader, and reads its symbol table.
func openELF(t *testing.T, path string) (*elf.File, []elf.Symbol) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	return f, all
}
