package trace

import (
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/modules"
)

// TestOwners compares an intervalMap with a list of the owners of all addresses.
func TestOwners(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		space := 1 + r.IntN(300)
		list := make([]load, r.IntN(200))
		for i := range list {
			base := r.IntN(space)
			list[i].module = modules.Module{Base: uint64(base), Size: uint64(r.IntN(1 + min(space-base, 1+r.IntN(space))))}
		}
		byAddress := newIntervalMap(list)
		plain := slices.Repeat([]int{-1}, space)
		for i := range list {
			m := &list[i].module
			var want, got []int
			for a := m.Base; a < m.Base+m.Size; a++ {
				want = append(want, plain[a])
				plain[a] = i
			}
			byAddress.take(i, m.Base, m.Base+m.Size, func(load int) { got = append(got, load) })
			// take does not call lost for addresses without an owner.
			want = slices.DeleteFunc(slices.Compact(want), func(k int) bool { return k < 0 })
			if !slices.Equal(slices.Compact(want), slices.Compact(got)) {
				t.Fatalf("seed %d, load %d of %d at %d: %v lose addresses, want %v", seed, i, m.Size, m.Base, got, want)
			}
		}
	}
}
