package index

import "sort"

// NextActive returns the first block from number k on in which the stack of a slot has events,
// or -1.
func (x *Index) NextActive(k int, slot uint32) int {
	c := x.core.Load()
	c.mu.RLock()
	defer c.mu.RUnlock()
	if k = max(k, 0); k >= c.blockCount() || int(slot) >= len(c.stacks) {
		return -1
	}
	from, _ := c.visitsOf(k)
	visits := c.stacks[slot].visits
	i := sort.Search(len(visits), func(i int) bool { return int(visits[i]) >= from })
	if i == len(visits) {
		return -1
	}
	visit := int64(visits[i])
	return k + sort.Search(c.blockCount()-k-1, func(i int) bool { return c.places.at(k+i+1).visit > visit })
}
