package query

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// Folded returns how many events of its thread a call has after its enter, with
// its leave, that is folded in the view and whose enter is a row. It is not ok
// for a row at which no folded call begins.
func (v *View) Folded(row int64) (hidden int64, ok bool, err error) {
	if !slices.Contains(v.folded, row) {
		return 0, false, nil
	}
	var b index.Block
	src := v.of().src
	i, err := FillAt(src, &b, row, index.Kinds|index.Pairs|index.Insides)
	if err != nil || i < 0 || b.Kind[i] != parser.Enter {
		return 0, false, err
	}
	if b.Partner[i] != calls.NoPartner {
		return b.Inside[i] + 1, true, nil
	}
	c, err := CallAt(src, row)
	if err != nil || c.Enter != row {
		return 0, false, err
	}
	n, _, err := Count(context.Background(), src, InsideCall(row), 0, nil)
	return n - 1, err == nil, err
}

// Repeats returns the repeats that the view hides and that begin at a row, the
// outer first.
func (v *View) Repeats(row int64) []Repeat {
	if v.repeats == nil {
		return nil
	}
	return v.repeats.At(row)
}

// hidden is the rows that folded calls and repeats hide. It is immutable.
type hidden struct {
	// ranges are sorted by thread and row; those of a thread are disjoint.
	ranges []threadRange
	// threads has where the ranges of each thread begin, and the end.
	threads []threadStart
	// open says that some reach to the end of the log.
	open bool
}

type threadRange struct {
	thread uint32
	rowRange
}

type threadStart struct {
	thread uint32
	start  int
}

func newHidden(src *index.Index, folded []int64, repeats *Repeats) (*hidden, error) {
	h := &hidden{}
	end := src.Len()
	for _, row := range folded {
		c, err := CallAt(src, row)
		if err != nil {
			return nil, err
		}
		if c.Enter != row || row < 0 {
			continue
		}
		last := c.End - 1
		if c.End >= end {
			last, h.open = math.MaxInt64, true
		}
		h.ranges = append(h.ranges, threadRange{c.Thread, rowRange{c.Enter + 1, last}})
	}
	if repeats != nil {
		for _, r := range repeats.List {
			h.ranges = append(h.ranges, threadRange{r.Thread, rowRange{r.Second, r.End - 1}})
		}
	}
	slices.SortFunc(h.ranges, func(a, b threadRange) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.first, b.first))
	})
	merged := h.ranges[:0]
	for _, r := range h.ranges {
		if n := len(merged); n > 0 && merged[n-1].thread == r.thread && r.first <= merged[n-1].last {
			merged[n-1].last = max(merged[n-1].last, r.last)
			continue
		}
		merged = append(merged, r)
	}
	h.ranges = merged
	for i, r := range h.ranges {
		if i == 0 || h.ranges[i-1].thread != r.thread {
			h.threads = append(h.threads, threadStart{r.thread, i})
		}
	}
	h.threads = append(h.threads, threadStart{index.NoThread, len(h.ranges)})
	return h, nil
}

// within calls f with the ranges that overlap the rows first to last, of
// threads that a Bloom filter has, until it returns false.
func (h *hidden) within(first, last int64, threads uint64, f func(r threadRange) bool) {
	for i, t := range h.threads[:len(h.threads)-1] {
		if threads>>(t.thread%64)&1 == 0 {
			continue
		}
		list := h.ranges[t.start:h.threads[i+1].start]
		for at := sort.Search(len(list), func(i int) bool { return list[i].last >= first }); at < len(list) && list[at].first <= last; at++ {
			if !f(list[at]) {
				return
			}
		}
	}
}

// touches reports whether rows of a block may be hidden.
func (h *hidden) touches(src *index.Index, k int) bool {
	s := src.Summary(0, k)
	touched := false
	first := int64(k) * sizes.Block
	h.within(first, first+s.Rows-1, s.Threads, func(threadRange) bool {
		touched = true
		return false
	})
	return touched
}

// clear clears the bits of the rows of a block that are hidden. The worker's
// block is filled anew.
func (h *hidden) clear(w *Worker, k int, pass []uint64) error {
	s := w.src.Summary(0, k)
	first := int64(k) * sizes.Block
	last := first + int64(w.RowsOf(k)) - 1
	broken := s.Anomalies&(1<<calls.Damaged|1<<calls.Stray) != 0
	filled := false
	var err error
	h.within(first, last, s.Threads, func(r threadRange) bool {
		if !filled {
			filled = true
			want := index.Threads
			if broken {
				want |= index.Kinds | index.Pairs
			}
			if err = w.fill(k, want); err != nil {
				return false
			}
		}
		b := &w.Block
		for i := max(r.first, first) - first; i <= min(r.last, last)-first && i < int64(b.N); i++ {
			if b.Thread[i] == r.thread && (!broken || b.Kind[i] != parser.Damaged && b.Anomaly[i] != calls.Stray) {
				pass[i/64] &^= 1 << (i % 64)
			}
		}
		return true
	})
	return err
}
