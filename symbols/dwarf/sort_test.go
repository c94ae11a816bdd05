package dwarf

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortByKeys has areas in the same order as the general sort, or refused.
func TestSortByKeys(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name     string
		distance uint64
		depth    int32
		reverse  bool
		want     bool
	}{
		{"a function", 1 << 10, 8, false, true},
		{"few addresses", 4, 2, false, true},
		{"far apart", 1 << 40, 8, false, false},
		{"very deep", 1 << 10, 1 << 13, false, false},
		{"nodes in another order", 1 << 10, 8, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list []area
			for i := range int32(300) {
				list = append(list, area{lo: 1<<50 + random.Uint64N(c.distance), size: 7, node: i, depth: random.Int32N(c.depth)})
			}
			if c.reverse {
				slices.Reverse(list)
			}
			want := slices.Clone(list)
			if c.want {
				slices.SortFunc(want, compareAreas)
			}
			w := walker{workspace: &workspace{}}
			if got := w.sortByKeys(list); got != c.want || !slices.Equal(list, want) {
				t.Errorf("sorted: %v, or in another order", got)
			}
		})
	}
}

// TestSortedQueries sorts addresses that leave room for their places, and others.
func TestSortedQueries(t *testing.T) {
	for _, rvas := range [][]uint64{nil, {7}, {9, 3, 3, 0, 1 << 40, 5}, {1 << 63, 2, ^uint64(0), 2, 1}} {
		list := sortedQueries(rvas)
		places := make(map[int]bool)
		for i, q := range list {
			if places[q.i] = true; rvas[q.i] != q.rva || i > 0 && list[i-1].rva > q.rva {
				t.Errorf("%#x: %v", rvas, list)
			}
		}
		if len(places) != len(rvas) {
			t.Errorf("%#x: %v", rvas, list)
		}
	}
}
