package export

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"logparser/rows"
)

// TestPutDurations compares the text of durations with that of package rows.
func TestPutDurations(t *testing.T) {
	list := []int64{0, 1, 9, 10, 99, 100, 999, 1000, 1001, 1010, 1100, 9999, 10000, 99999, 100000, 999999, 1e6, 1000001, 999999999}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		list = append(list, r.Int64N(1e9)>>r.IntN(30))
	}
	for _, ns := range list {
		var column [durationWidth + 2]byte
		putDuration(&column, uint32(ns))
		if got, want := string(column[:]), fmt.Sprintf("%*s  ", durationWidth, rows.AppendDuration(nil, ns, 9)); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
	for _, ns := range append(list, 1e9, 1e12+1, 1<<63-1) {
		var room [pieceLen]byte
		if got, want := string(room[:putMicroseconds(room[:], uint64(ns))]), string(rows.AppendMicroseconds(nil, ns)); got != want {
			t.Errorf("%d: %q, want %q", ns, got, want)
		}
	}
}

// TestPlaces has more addresses than are kept, some of which repeat.
func TestPlaces(t *testing.T) {
	var p places[uint64]
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for i := range uint64(20000) {
		address := i * 64
		if i%2 == 0 {
			address = r.Uint64N(100) << 40
		}
		if k := p.at(address); *k == address+1 {
			found++
		} else {
			*k = address + 1
		}
		if k := p.at(address); *k != address+1 {
			t.Fatalf("%#x has what belongs to %#x", address, *k-1)
		}
	}
	if found < 8000 {
		t.Errorf("%d of 10000 addresses that come again were found", found)
	}
}
