package indexcache

import (
	"testing"

	"logparser/calls"
)

// TestKeyOfNames makes keys of what a namer says: which addresses have one function counts, and which have
// none, not the functions' numbers.
func TestKeyOfNames(t *testing.T) {
	a := calls.NewAddresses()
	for i := range uint64(6) {
		a.Add(0, 0, 0x1000+i)
	}
	by := func(functions ...calls.Function) calls.Namer {
		return func(_ int, _ uint16, address uint64) calls.Function { return functions[address-0x1000] }
	}
	k := Key{1}
	if k.Of(nil, a, a.Len()) != k {
		t.Error("without names the key is another one")
	}
	base := k.Of(by(1, 1, 2, 0, 2, 3), a, 6)
	if base == k || base == (Key{2}).Of(by(1, 1, 2, 0, 2, 3), a, 6) {
		t.Error("keys of different indexes are equal")
	}
	for _, c := range []struct {
		what  string
		namer calls.Namer
		n     int
		same  bool
	}{
		{"other numbers", by(7, 7, 5, 0, 5, 9), 6, true},
		{"one more function", by(1, 4, 2, 0, 2, 3), 6, false},
		{"one function less", by(1, 1, 2, 0, 2, 2), 6, false},
		{"one that was not known", by(1, 1, 2, 8, 2, 3), 6, false},
		{"one that is not known", by(1, 1, 2, 0, 2, 0), 6, false},
		{"fewer addresses", by(1, 1, 2, 0, 2, 3), 5, false},
	} {
		if got := k.Of(c.namer, a, c.n); (got == base) != c.same {
			t.Errorf("%s: the key is the same: %t", c.what, got == base)
		}
	}
}
