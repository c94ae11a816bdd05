package modules

import (
	"fmt"
	"math"
	"math/bits"
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
		{"build-id that a GUID had room for", Identity{BuildID: "0123456789abcdefghij"}, Identity{BuildID: "0123456789abcdef"}, Same},
		{"another build-id that a GUID had room for", Identity{BuildID: "0123456789abcdefghij"}, Identity{BuildID: "0123456789abcdeX"}, Different},
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
		if i, owners := m.Find(test.address, test.at); owners > 0 {
			got = m.At(i).Path
		}
		if got != test.want {
			t.Errorf("Find(%#x, %d) = %q, want %q", test.address, test.at, got, test.want)
		}
	}
}

// TestFindAgainstScan compares both searches with the plainest ones.
func TestFindAgainstScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		list := make([]Module, r.IntN(20))
		for i := range list {
			from := r.Int64N(100)
			list[i] = Module{Base: r.Uint64N(1000), Size: r.Uint64N(300), Loaded: from, Unloaded: from + r.Int64N(100)}
			switch round % 4 {
			case 1: // all the time
				list[i].Loaded, list[i].Unloaded = math.MinInt64, Always
			case 2: // around 2^32, above and at the end
				list[i].Base += []uint64{1<<32 - 500, 5<<32 - 200, math.MaxUint64 - 1100}[r.IntN(3)]
			case 3:
				list[i].Base += r.Uint64N(3) << 32
				if r.IntN(10) == 0 {
					list[i].Size = 1<<32 - 2 + r.Uint64N(4)
				}
			}
		}
		m := NewMap(list)
		for range 100 {
			address, at := r.Uint64N(1400), r.Int64N(220)
			if k := r.IntN(len(list) + 1); k < len(list) {
				address = list[k].Base + list[k].Size + r.Uint64N(5) - 2
			}
			want, lows := -1, []int(nil)
			for i := range list {
				mod := &list[i]
				if at < mod.Loaded || at >= mod.Unloaded {
					continue
				}
				if mod.Contains(address) && (want < 0 || mod.Base >= list[want].Base) {
					want = i
				}
				if uint64(uint32(address)-uint32(mod.Base)) < mod.Size {
					lows = append(lows, i)
				}
			}
			if i, owners := m.Find(address, at); owners > 0 != (want >= 0) || want >= 0 && i != want {
				t.Fatalf("Find(%d, %d) in %v = %d, %d owners, want %d", address, at, list, i, owners, want)
			}
			i, whole, ok, ambiguous := m.FindTruncated(uint32(address), at)
			if ok != (len(lows) == 1) || ambiguous != (len(lows) > 1) || ok && (i != lows[0] || uint32(whole) != uint32(address) || whole-list[i].Base >= list[i].Size) {
				t.Fatalf("FindTruncated(%#x, %d) in %v = %d, %#x, %v, %v, want %v", uint32(address), at, list, i, whole, ok, ambiguous, lows)
			}
		}
	}
}

// TestNested has many modules below one huge one, and many of the same place one
// after the other: what a look-up looks at is bounded.
func TestNested(t *testing.T) {
	const n = 100_000
	list := []Module{{Base: 0x1000, Size: 1 << 40, Path: "huge", Unloaded: Always}}
	for i := range uint64(n) {
		list = append(list, Module{Base: 0x10000 + i*16, Size: 8, Unloaded: Always},
			Module{Base: 1 << 30, Size: 0x1000, Loaded: int64(i), Unloaded: int64(i + 1)})
	}
	m := NewMap(list)
	for _, ranges := range []*ranges{m.whole, func() *ranges { m.FindTruncated(0, 0); return m.low }()} {
		// What find goes through: the way to the root, halving the steps there.
		most := 0
		for node := len(ranges.bounds); node < 2*len(ranges.bounds); node++ {
			looked := 0
			for k := node; k > 0; k >>= 1 {
				looked += bits.Len(uint(ranges.first[k+1] - ranges.first[k]))
			}
			most = max(most, looked)
		}
		if most > 40 || len(ranges.steps) > 60*n {
			t.Errorf("a look-up looks at %d steps, of %d in all", most, len(ranges.steps))
		}
	}
	for range 10 {
		if i, owners := m.Find(1<<39, 0); owners == 0 || m.At(i).Path != "huge" {
			t.Fatal(i, owners)
		}
		if i, owners := m.Find(1<<30+5, n/2); owners == 0 || i != 2+2*(n/2) {
			t.Fatal(i, owners)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{50, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			list := make([]Module, n)
			for i := range list {
				list[i] = Module{Base: uint64(i) << 20, Size: 1 << 19, Loaded: math.MinInt64, Unloaded: Always}
			}
			list[0].Size = 1 << 40
			m := NewMap(list)
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				m.Find(r.Uint64N(uint64(n)<<20), 0)
			}
		})
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
