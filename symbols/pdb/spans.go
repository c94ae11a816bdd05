package pdb

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"
)

// span is a range of addresses or offsets and the number of what covers it.
type span struct {
	start, end uint64
	owner      int32
}

// ranked is a span that may lie over others. The higher rank is seen; among
// equals the lower owner.
type ranked struct {
	span
	rank uint64
}

// flatten turns ranges that may overlap into spans that do not, ordered by
// start: what is seen from above. Neighbours of one owner are joined.
func flatten(ranges []ranked) []span {
	slices.SortStableFunc(ranges, func(a, b ranked) int { return cmp.Compare(a.start, b.start) })
	edges := make([]uint64, 0, 2*len(ranges))
	for i := range ranges {
		edges = append(edges, ranges[i].start, ranges[i].end)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var out []span
	var live byRank
	next := 0
	for i := 0; i+1 < len(edges); i++ {
		from, to := edges[i], edges[i+1]
		for ; next < len(ranges) && ranges[next].start <= from; next++ {
			heap.Push(&live, &ranges[next])
		}
		for len(live) > 0 && live[0].end <= from {
			heap.Pop(&live)
		}
		if len(live) == 0 {
			continue
		}
		owner := live[0].owner
		if n := len(out); n > 0 && out[n-1].owner == owner && out[n-1].end == from {
			out[n-1].end = to
			continue
		}
		out = append(out, span{from, to, owner})
	}
	return slices.Clip(out)
}

// findSpan returns the owner of the span that holds a position, or -1.
func findSpan(spans []span, pos uint64) int32 {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].start > pos })
	if i == 0 || pos >= spans[i-1].end {
		return -1
	}
	return spans[i-1].owner
}

// byRank has what is seen on top.
type byRank []*ranked

func (h byRank) Len() int { return len(h) }
func (h byRank) Less(i, j int) bool {
	if h[i].rank != h[j].rank {
		return h[i].rank > h[j].rank
	}
	return h[i].owner < h[j].owner
}
func (h byRank) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byRank) Push(x any)   { *h = append(*h, x.(*ranked)) }
func (h *byRank) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
