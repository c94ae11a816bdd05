package modules

import (
	"math/rand/v2"
	"testing"
)

func TestGUID(t *testing.T) {
	const text = "0123ABCD-4567-89AB-CDEF-0123456789AB"
	g := GUID{0xCD, 0xAB, 0x23, 0x01, 0x67, 0x45, 0xAB, 0x89, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67, 0x89, 0xAB}
	if g.String() != text || g.Key() != "0123ABCD456789ABCDEF0123456789AB" {
		t.Errorf("got %s, key %s", g, g.Key())
	}
	for _, s := range []string{text, "{" + text + "}", g.Key(), "0123abcd456789abcdef0123456789ab"} {
		if got, err := ParseGUID(s); err != nil || got != g {
			t.Errorf("ParseGUID(%q) = %s, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0123", text + "00", "g" + text[1:]} {
		if got, err := ParseGUID(s); err == nil {
			t.Errorf("ParseGUID(%q) = %s", s, got)
		}
	}
	if g.IsZero() || !(GUID{}).IsZero() {
		t.Error("IsZero")
	}
}

func TestIdentity(t *testing.T) {
	g, h := GUID{1}, GUID{2}
	for _, test := range []struct {
		name string
		a, b Identity
		want Match
	}{
		{"nothing known", Identity{}, Identity{PDB: g}, Unknown},
		{"same PDB", Identity{PDB: g, Age: 1}, Identity{PDB: g, Age: 1}, Same},
		{"another age", Identity{PDB: g, Age: 1}, Identity{PDB: g, Age: 2}, Different},
		{"another PDB, same timestamp", Identity{PDB: g, Timestamp: 5}, Identity{PDB: h, Timestamp: 5}, Different},
		{"same build-id", Identity{BuildID: "ab"}, Identity{BuildID: "ab"}, Same},
		{"another build-id", Identity{BuildID: "ab"}, Identity{BuildID: "abc"}, Different},
		{"PDB against build-id", Identity{PDB: g}, Identity{BuildID: "ab"}, Unknown},
		{"timestamp and size", Identity{Timestamp: 5, ImageSize: 9}, Identity{Timestamp: 5, ImageSize: 9}, Same},
		{"timestamp, one size unknown", Identity{Timestamp: 5}, Identity{Timestamp: 5, ImageSize: 9}, Same},
		{"timestamp and another size", Identity{Timestamp: 5, ImageSize: 8}, Identity{Timestamp: 5, ImageSize: 9}, Different},
		{"PDB against timestamp in common", Identity{PDB: g, Timestamp: 5}, Identity{Timestamp: 6}, Different},
	} {
		if got := test.a.Compare(test.b); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
		if got := test.b.Compare(test.a); got != test.want {
			t.Errorf("%s, the other way: got %d, want %d", test.name, got, test.want)
		}
	}
	for _, s := range []string{"-", "pdb:0123ABCD-4567-89AB-CDEF-0123456789AB:1", "build-id:0a1b2c", "pe:5F000001:1c000"} {
		id, err := ParseIdentity(s)
		if err != nil || id.String() != s || id.IsZero() != (s == "-") {
			t.Errorf("%q read as %s, %v", s, id, err)
		}
	}
	long := make([]byte, 2*MaxBuildID+2)
	for i := range long {
		long[i] = 'a'
	}
	for _, s := range []string{"", "-:", "pdb:1:1", "pdb:0123ABCD-4567-89AB-CDEF-0123456789AB", "build-id:", "build-id:0", "build-id:" + string(long), "pe:1", "x:1"} {
		if id, err := ParseIdentity(s); err == nil {
			t.Errorf("%q read as %s", s, id)
		}
	}
}

func TestFind(t *testing.T) {
	m := NewMap([]Module{
		{Base: 0x5000, Size: 0x1000, Path: "b", Unloaded: 100},
		{Base: 0x1000, Size: 0x1000, Path: "a", Unloaded: Always},
		{Base: 0x5000, Size: 0x800, Path: "c", Loaded: 100, Unloaded: Always},
		{Base: 0x10000, Size: 0x10000, Path: "wide", Unloaded: Always},
		{Base: 0x11000, Size: 0x100, Path: "inner", Unloaded: Always},
		{Base: ^uint64(0) - 0xf, Size: 0x10, Path: "top", Unloaded: Always},
	})
	for _, test := range []struct {
		address uint64
		at      int64
		want    string
	}{
		{0xfff, 0, ""}, {0x1000, 0, "a"}, {0x1fff, 0, "a"}, {0x2000, 0, ""},
		{0x1000, -1, ""},
		{0x5000, 99, "b"}, {0x5000, 100, "c"}, {0x5900, 99, "b"}, {0x5900, 100, ""},
		{0x11080, 0, "inner"}, {0x11100, 0, "wide"}, {0x1ffff, 0, "wide"}, {0x20000, 0, ""},
		{^uint64(0) - 0xf, 0, "top"}, {^uint64(0) - 1, 0, "top"}, {0, 0, ""},
	} {
		got := ""
		if i, ok := m.Find(test.address, test.at); ok {
			got = m.At(i).Path
		}
		if got != test.want {
			t.Errorf("Find(%#x, %d) = %q, want %q", test.address, test.at, got, test.want)
		}
	}
}

// TestFindAgainstScan compares the search with the plainest one.
func TestFindAgainstScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		list := make([]Module, r.IntN(20))
		for i := range list {
			from := r.Int64N(100)
			list[i] = Module{Base: r.Uint64N(1000), Size: r.Uint64N(300), Loaded: from, Unloaded: from + r.Int64N(100)}
		}
		m := NewMap(list)
		for range 100 {
			address, at := r.Uint64N(1400), r.Int64N(220)
			want, base := false, uint64(0)
			for i := range list {
				if mod := &list[i]; mod.Contains(address) && at >= mod.Loaded && at < mod.Unloaded {
					want, base = true, max(base, mod.Base)
				}
			}
			i, ok := m.Find(address, at)
			if ok != want || ok && m.At(i).Base != base {
				t.Fatalf("Find(%d, %d) in %v = %d, %v", address, at, list, i, ok)
			}
		}
	}
}

func TestFindTruncated(t *testing.T) {
	m := NewMap([]Module{
		{Base: 0x7ff6_a000_0000, Size: 0x1000, Path: "a", Unloaded: Always},
		{Base: 0x7ff8_ffff_f000, Size: 0x2000, Path: "across", Unloaded: Always},
		{Base: 0x7ff9_5000_0000, Size: 0x1000, Path: "x", Unloaded: Always},
		{Base: 0x7ffa_5000_0800, Size: 0x1000, Path: "y", Unloaded: Always},
	})
	for _, test := range []struct {
		low       uint32
		want      string
		address   uint64
		ambiguous bool
	}{
		{0xa0000010, "a", 0x7ff6_a000_0010, false},
		{0xa0001000, "", 0, false},
		{0xfffff004, "across", 0x7ff8_ffff_f004, false},
		{0x00000ffc, "across", 0x7ff9_0000_0ffc, false},
		{0x50000000, "x", 0x7ff9_5000_0000, false},
		{0x50000900, "", 0, true},
		{0x50001700, "y", 0x7ffa_5000_1700, false},
	} {
		i, address, ok, ambiguous := m.FindTruncated(test.low, 0)
		got := ""
		if ok {
			got = m.At(i).Path
		}
		if got != test.want || address != test.address || ambiguous != test.ambiguous {
			t.Errorf("%#x: got %q %#x ambiguous %v", test.low, got, address, ambiguous)
		}
	}
}

func TestBaseName(t *testing.T) {
	for path, want := range map[string]string{
		`C:\a b\c.exe`: "c.exe", "/usr/lib/libc.so.6": "libc.so.6", `C:\a/b`: "b", "x": "x", "": "", `a\`: "",
	} {
		if got := BaseName(path); got != want {
			t.Errorf("BaseName(%q) = %q", path, got)
		}
	}
}
