package pdb

import (
	"os"
	"strings"
	"testing"
)

// openLogtest opens a PDB of the program that logs of tests were recorded of.
func openLogtest(t *testing.T, name string) *Table {
	t.Helper()
	data, err := os.ReadFile("../../testdata/logtest/windows-x64-clang/" + name)
	if err != nil {
		t.Fatal(err)
	}
	table, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// TestEachProcedure holds what modules say of procedures against what is found at their addresses.
func TestEachProcedure(t *testing.T) {
	table := openLogtest(t, "logtest.pdb")
	var open *Procedure
	names := make(map[string]bool)
	left, records := 0, 0
	err := table.EachProcedure(t.Context(), func(p *Procedure) bool {
		if open != nil {
			t.Fatalf("%s begins in %s", p.Name, open.Name)
		}
		sym, err := table.Lookup(p.RVA)
		if err != nil || sym.Start != p.RVA || sym.Size != p.Size {
			t.Errorf("%s at %#x, %d bytes, is found as %+v, %v", p.Name, p.RVA, p.Size, sym, err)
		}
		if begin, end := table.Types(); p.Type >= end || p.Type != 0 && (p.Type < begin || len(table.Type(p.Type)) < 2) {
			t.Errorf("%s has the type %#x, of %#x to %#x", p.Name, p.Type, begin, end)
		}
		if p.Name == "main" && (!strings.Contains(p.Compiler, "clang") || p.Local) {
			t.Errorf("main is of %q, local: %t", p.Compiler, p.Local)
		}
		names[p.Name] = true
		if left++; left%2 == 0 {
			return false
		}
		open = p
		return true
	}, func(_ uint16, body []byte) {
		if open == nil {
			t.Error("a record of a procedure that was not wanted")
		}
		records++
	}, func() {
		if open == nil {
			t.Error("the end of a procedure that was not wanted")
		}
		open = nil
	})
	if err != nil || open != nil || records == 0 || !names["main"] || !names["app::factorial"] {
		t.Errorf("%d records of %d procedures, %v", records, len(names), err)
	}
	if _, end := table.Types(); table.Type(end) != nil || table.Type(0) != nil {
		t.Error("a type that is not there has a record")
	}
}

// TestData names tables of virtual methods, whatever address in them is asked for, and no data in code.
func TestData(t *testing.T) {
	table := openLogtest(t, "logtest_shapes.pdb")
	tables := make(map[string]bool)
	for rva := uint64(0); rva < 1<<20; rva += 8 {
		name, offset, ok := table.Data(rva)
		if !ok {
			continue
		}
		if again, at, ok := table.Data(rva - offset); !ok || again != name || at != 0 {
			t.Fatalf("%#x is %s+%#x, and its beginning %s+%#x", rva, name, offset, again, at)
		}
		if strings.HasPrefix(name, "vtable for ") {
			tables[name] = true
		}
	}
	if len(tables) == 0 {
		t.Error("no table of virtual methods was found")
	}
	var code uint64
	if err := table.Procedures(func(rva uint64, _ string) bool { code = rva; return false }); err != nil || code == 0 {
		t.Fatal(err)
	}
	for _, rva := range []uint64{code, 1 << 40} {
		if name, _, ok := table.Data(rva); ok {
			t.Errorf("%#x is the data %s", rva, name)
		}
	}
}

// TestNumber reads numbers of records, which have their sign.
func TestNumber(t *testing.T) {
	for _, test := range []struct {
		bytes string
		want  int64
		ok    bool
	}{
		{"\x05\x00", 5, true},
		{"\xff\x7f", 0x7fff, true},
		{"\x00\x80\xff", -1, true},
		{"\x01\x80\xfe\xff", -2, true},
		{"\x02\x80\xfe\xff", 0xfffe, true},
		{"\x03\x80\xfd\xff\xff\xff", -3, true},
		{"\x04\x80\xfd\xff\xff\xff", 0xfffffffd, true},
		{"\x09\x80\xfc\xff\xff\xff\xff\xff\xff\xff", -4, true},
		{"\x0a\x80\x00\x00\x00\x00\x01\x00\x00\x00", 1 << 32, true},
		{"\x05\x80\x00\x00\x00\x00", 0, false}, // a floating-point number
		{"\x03\x80\xfd", 0, false},
		{"\x05", 0, false},
	} {
		v, rest, ok := Number([]byte(test.bytes + strings.Repeat("r", map[bool]int{true: 2}[test.ok])))
		if v != test.want || ok != test.ok || ok && string(rest) != "rr" {
			t.Errorf("% x: %d, %q, %t; want %d, %t", test.bytes, v, rest, ok, test.want, test.ok)
		}
	}
}

// TestBuiltInTypes names types without a record as people write them.
func TestBuiltInTypes(t *testing.T) {
	for index, want := range map[uint32]struct {
		name string
		size int
		ok   bool
	}{0x74: {"int", 4, true}, 0x30: {"bool", 1, true}, 0x41: {"double", 8, true}, 0x03: {"void", 0, true}, 0xFE: {"", 0, false}} {
		if name, size, ok := BuiltInType(index); name != want.name || size != want.size || ok != want.ok {
			t.Errorf("%#x: %q, %d bytes, %t", index, name, size, ok)
		}
	}
	for name, want := range map[string]string{"`anonymous namespace'::f": "(anonymous namespace)::f", "a::`anonymous-namespace'::g": "a::(anonymous namespace)::g", "plain": "plain"} {
		if got := ReadableName(name); got != want {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
}
