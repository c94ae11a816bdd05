package trace

import (
	"math/bits"
	"slices"
)

// An intervalMap tells which load has an address. Loads are added in order of time; a later one takes addresses from earlier
// ones. It is fast even for a hundred thousand modules: all addresses at which one of them begins or ends are known in advance
// and sorted, so that a range is a pair of indexes.
type intervalMap struct {
	bounds []uint64 // addresses, rising
	// starts has a bit for each bound. A set bit says that a range with one owner begins at the bound and extends to the next
	// set bit. load has the owner of the range, or -1.
	starts []uint64
	load   []int32
}

func newIntervalMap(list []load) *intervalMap {
	o := &intervalMap{}
	for i := range list {
		m := &list[i].module
		o.bounds = append(o.bounds, m.Base, m.Base+m.Size)
	}
	slices.Sort(o.bounds)
	o.bounds = slices.Compact(o.bounds)
	o.starts = make([]uint64, len(o.bounds)/64+1)
	o.load = make([]int32, len(o.bounds))
	if len(o.bounds) > 0 {
		o.set(0, -1)
	}
	return o
}

// take gives the addresses from base up to end to a load. It calls lost for each owner that loses addresses.
func (o *intervalMap) take(load int, base, end uint64, lost func(load int)) {
	if base == end {
		return
	}
	from, _ := slices.BinarySearch(o.bounds, base)
	to, _ := slices.BinarySearch(o.bounds, end)
	last := int32(-1)
	for i := o.before(from); i < to; i = o.after(i) {
		if last = o.load[i]; last >= 0 {
			lost(int(last))
		}
		if i >= from {
			o.starts[i/64] &^= 1 << (i % 64)
		}
	}
	if o.starts[to/64]>>(to%64)&1 == 0 {
		o.set(to, last)
	}
	o.set(from, int32(load))
}

func (o *intervalMap) set(i int, load int32) {
	o.starts[i/64] |= 1 << (i % 64)
	o.load[i] = load
}

// before returns the last start at or before i. There always is one.
func (o *intervalMap) before(i int) int {
	k := i / 64
	w := o.starts[k] << (63 - i%64) >> (63 - i%64)
	for w == 0 {
		k--
		w = o.starts[k]
	}
	return k*64 + bits.Len64(w) - 1
}

// after returns the first start after i, or a number beyond all bounds if there is none.
func (o *intervalMap) after(i int) int {
	i++
	k := i / 64
	w := o.starts[k] >> (i % 64) << (i % 64)
	for w == 0 {
		if k++; k == len(o.starts) {
			return k * 64
		}
		w = o.starts[k]
	}
	return k*64 + bits.TrailingZeros64(w)
}
