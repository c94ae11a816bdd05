package dwarf

import "slices"

// sortFunction orders the areas of one function. Most functions have few, for
// which a sort by insertion is several times faster than the general one.
func (w *walker) sortFunction(list []area) {
	const few = 40
	if len(list) > few {
		if !w.sortByKeys(list) {
			slices.SortFunc(list, compareAreas)
		}
		return
	}
	for i := 1; i < len(list); i++ {
		a := list[i]
		k := i
		for ; k > 0 && a.before(&list[k-1]); k-- {
			list[k] = list[k-1]
		}
		list[k] = a
	}
}

// sortByKeys sorts the areas of one function by numbers that are made of address, depth and place, which are
// sorted several times as fast as areas. It reports false where they do not fit, and then has changed
// nothing. Calls come in the order of their nodes.
func (w *walker) sortByKeys(list []area) bool {
	const placeBits, depthBits = 20, 12
	least := list[0].lo
	for i := range list {
		least = min(least, list[i].lo)
	}
	keys := w.keys[:0]
	for i := range list {
		a := &list[i]
		if len(list) > 1<<placeBits || a.lo-least >= 1<<(64-placeBits-depthBits) || uint32(a.depth) >= 1<<depthBits || i > 0 && a.node < list[i-1].node {
			return false
		}
		keys = append(keys, (a.lo-least)<<(placeBits+depthBits)|uint64(a.depth)<<placeBits|uint64(i))
	}
	slices.Sort(keys)
	w.sorted = w.sorted[:0]
	for _, key := range keys {
		w.sorted = append(w.sorted, list[key&(1<<placeBits-1)])
	}
	copy(list, w.sorted)
	w.keys = keys
	return true
}

// groupAreas brings the areas of each function together. Those of a function with another in it, such as a local class's,
// do not follow each other.
func (w *walker) groupAreas() {
	at := make([]int32, len(w.tree.functions)+1)
	for i := range w.areas {
		at[w.areas[i].fn+1]++
	}
	for i := 1; i < len(at); i++ {
		at[i] += at[i-1]
	}
	grouped := slices.Grow(w.grouped[:0], len(w.areas))[:len(w.areas)]
	for i := range w.areas {
		a := &w.areas[i]
		grouped[at[a.fn]] = *a
		at[a.fn]++
	}
	w.areas, w.grouped = grouped, w.areas
}
