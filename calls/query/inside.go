package query

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

type withinTest struct{ set *Set }

func (t withinTest) compile(src *index.Index) matcher {
	c := &compiledWithinTest{src: src, set: t.set, table: t.set.table()}
	c.known = src.Len()
	c.slots = src.Slots()
	c.grow(src.Nodes())
	// The nodes of the last block are not what they were when it has grown.
	settled := 0
	if last := int(c.known-1) / int(sizes.Block); c.known > 0 {
		for thread := range uint32(src.Slots()) {
			if top := src.Top(last, thread); top != index.NoNode {
				settled = max(settled, int(top)+1)
			}
		}
	}
	for _, o := range c.calls {
		c.reach = append(c.reach, o.rows)
	}
	c.outermost = c.outermost[:min(settled, len(c.outermost))]
	slices.SortFunc(c.reach, func(a, b rowRange) int { return cmp.Compare(a.first, b.first) })
	merged := c.reach[:0]
	for _, r := range c.reach {
		if n := len(merged); n > 0 && r.first <= merged[n-1].last {
			merged[n-1].last = max(merged[n-1].last, r.last)
			continue
		}
		merged = append(merged, r)
	}
	c.reach = merged
	return c
}

// A rowRange is the rows first to last, both included.
type rowRange struct{ first, last int64 }

// A compiledWithinTest knows for each node whether it is in a call of the
// set, so that each block can be tested alone.
type compiledWithinTest struct {
	cheap
	src   *index.Index
	set   *Set
	table []uint8
	// reach has the rows that the calls of the set reach that have a node,
	// sorted and disjoint, as far as the index had rows when it was asked:
	// known.
	reach []rowRange
	known int64
	slots int

	mu sync.RWMutex
	// outermost has for each node the outermost call of the set among it and
	// its callers: an index into calls, or -1.
	outermost []int32
	calls     []outermostCall
	states    sync.Pool
}

// An outermostCall is a call of the set with no other around it.
type outermostCall struct {
	rows  rowRange
	depth int32
}

const outside = int32(math.MaxInt32 - 1)

func (t *compiledWithinTest) columns(s *index.Summary) index.Columns {
	c := index.Threads | index.Addresses | index.Kinds | index.Depths
	if s.Anomalies>>calls.Stray&1 != 0 {
		c |= index.Pairs
	}
	return c
}

func (t *compiledWithinTest) decide(s *index.Summary, first int64) verdict {
	if first+s.Rows > t.known {
		return maybe
	}
	i, found := slices.BinarySearchFunc(t.reach, first, func(r rowRange, row int64) int { return cmp.Compare(r.first, row) })
	before := i > 0 && t.reach[i-1].last >= first
	within := i < len(t.reach) && t.reach[i].first < first+s.Rows
	if before && t.covers(s, first) {
		return all
	}
	for i, w := range s.Addresses {
		if w&t.set.bloom[i] != 0 {
			return maybe
		}
	}
	return verdictOf(!found && !before && !within, false)
}

// coverThreads is the most slots of threads that a summary tells apart.
const coverThreads = 64

// covers reports whether all rows of a block or a group lie inside calls of the
// set: on each of the threads that it has, the same call is open before its
// first row and after its last.
func (t *compiledWithinTest) covers(s *index.Summary, first int64) bool {
	if first+s.Rows >= t.known || t.slots > coverThreads || s.Anomalies&(1<<calls.Stray|1<<calls.Damaged) != 0 {
		return false
	}
	for w := s.Threads; w != 0; w &= w - 1 {
		thread := uint32(bits.TrailingZeros64(w))
		call := t.atTop(t.src.Top(int(first/sizes.Block), thread))
		if call < 0 || call != t.atTop(t.src.Top(int((first+s.Rows)/sizes.Block), thread)) {
			return false
		}
	}
	return true
}

// grow makes outermost n long.
func (t *compiledWithinTest) grow(n int) {
	for i := len(t.outermost); i < n; i++ {
		c := t.src.Node(uint32(i))
		o := int32(-1)
		if c.Parent != index.NoNode {
			o = t.outermost[c.Parent]
		}
		if o < 0 && t.set.Has(c.Address) {
			r := rowRange{max(c.Enter, 0), c.Leave}
			if c.Leave < 0 {
				r.last = math.MaxInt64
			}
			o = int32(len(t.calls))
			t.calls = append(t.calls, outermostCall{r, c.Depth})
		}
		t.outermost = append(t.outermost, o)
	}
}

// atTop returns the outermost call of the set among a node and its callers: an
// index into calls, or -1.
func (t *compiledWithinTest) atTop(node uint32) int32 {
	if node == index.NoNode {
		return -1
	}
	t.mu.RLock()
	if int(node) < len(t.outermost) {
		defer t.mu.RUnlock()
		return t.outermost[node]
	}
	t.mu.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grow(int(node) + 1)
	return t.outermost[node]
}

// depthOf returns the depth of a call that atTop returned, or outside.
func (t *compiledWithinTest) depthOf(call int32) int32 {
	if call < 0 {
		return outside
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.calls[call].depth
}

// A withinState has for each thread the depth of the outermost call of the
// set, or outside.
type withinState struct {
	depth []int32
	// known says in which test the depth was set, of those counted by tests.
	known []uint32
	tests uint32
}

// depthAt returns a thread's depth in st, in the test of block k.
func (t *compiledWithinTest) depthAt(st *withinState, k int, thread uint32) int32 {
	for int(thread) >= len(st.depth) {
		st.depth = append(st.depth, outside)
		st.known = append(st.known, 0)
	}
	if st.known[thread] != st.tests {
		st.known[thread] = st.tests
		st.depth[thread] = t.depthOf(t.atTop(t.src.Top(k, thread)))
	}
	return st.depth[thread]
}

func (t *compiledWithinTest) test(_ context.Context, k int, b *index.Block, s *index.Summary, _, pass []uint64) error {
	st, _ := t.states.Get().(*withinState)
	if st == nil {
		st = &withinState{}
	}
	defer t.states.Put(st)
	if st.tests++; st.tests == 0 {
		clear(st.known)
		st.tests = 1
	}
	if s.Anomalies&(1<<calls.Stray|1<<calls.Damaged) == 0 && len(b.OpenRuns) == 0 {
		t.even(k, b, s, st, pass)
		return nil
	}
	table := t.table
	thread, depth, found := index.NoThread, outside, b.OpenRuns
	n := b.N
	threads, addresses, kinds, depths := b.Thread[:n], b.Address[:n], b.Kind[:n], b.Depth[:n]
	for w := range pass {
		var word uint64
		for i := w * 64; i < min(w*64+64, n); i++ {
			for ; len(found) > 0 && int(found[0].Row) == i; found = found[1:] {
				o := &found[0]
				if thread != o.Thread {
					if thread != index.NoThread {
						st.depth[thread] = depth
					}
					thread = o.Thread
					depth = t.depthAt(st, k, thread)
				}
				if o.Depth <= depth {
					if depth = outside; t.set.Has(o.Address) {
						depth = o.Depth
					}
				}
			}
			kind := kinds[i]
			if kind == parser.Damaged || s.Anomalies>>calls.Stray&1 != 0 && b.Anomaly[i] == calls.Stray {
				continue
			}
			if threads[i] != thread {
				if thread != index.NoThread {
					st.depth[thread] = depth
				}
				thread = threads[i]
				depth = t.depthAt(st, k, thread)
			}
			// Enters and leaves follow each other in no order that a processor
			// could predict, so there are no branches on them.
			d, a := depths[i], addresses[i]
			var hit uint8
			if int(a) < len(table) {
				hit = table[a]
			} else {
				hit = t.set.in(table, a)
			}
			begins := outside
			if hit&^uint8(kind) != 0 {
				begins = d
			}
			after := depth
			if d <= depth {
				after = begins
			}
			in := after
			if kind == parser.Leave {
				in = depth
			}
			word |= uint64(uint32(in-d-1)>>31) << (i & 63)
			depth = after
		}
		pass[w] = word
	}
	return nil
}

// even is test for a block without strays and damaged records. Only the enters
// of the set are looked at, and what follows them.
func (t *compiledWithinTest) even(k int, b *index.Block, s *index.Summary, st *withinState, pass []uint64) {
	n := b.N
	threads, addresses, kinds, depths := b.Thread[:n], b.Address[:n], b.Kind[:n], b.Depth[:n]
	clear(pass)
	var begin [bitmapWords]uint64 // what has an address of the set
	t.set.test(t.table, addresses, begin[:len(pass)])
	alone := t.src.Slots() <= coverThreads && bits.OnesCount64(s.Threads) == 1
	for i := 0; i < n; {
		thread, end := threads[i], i+1
		if alone {
			end = n
		}
		for end < n && threads[end] == thread {
			end++
		}
		depth := t.depthAt(st, k, thread)
		for i < end {
			from := i
			if depth == outside {
				if i = nextBit(begin[:], i, end); i == end {
					break
				}
				if kinds[i] == parser.Leave {
					i++
					continue
				}
				depth = depths[i]
				i++
				from = i - 1
			}
			for i < end && depths[i] > depth {
				i++
			}
			if i < end {
				// The call's leave, or what comes after a call without one.
				if depths[i] == depth && kinds[i] == parser.Leave {
					i++
				}
				depth = outside
			}
			setBits(pass, from, i)
		}
		st.depth[thread] = depth
	}
}

// nextBit returns the first bit that is set of from to end-1, or end.
func nextBit(words []uint64, from, end int) int {
	for from < end {
		if w := words[from>>6] >> (from & 63); w != 0 {
			return min(from+bits.TrailingZeros64(w), end)
		}
		from = from&^63 + 64
	}
	return end
}

// setBits sets the bits from to end-1.
func setBits(words []uint64, from, end int) {
	for from < end {
		stop := min(end, from&^63+64)
		words[from>>6] |= ^uint64(0) >> (64 - (stop - from)) << (from & 63)
		from = stop
	}
}

type callTest struct{ enter int64 }

func (t callTest) compile(src *index.Index) matcher {
	c, err := CallAt(src, t.enter)
	if err != nil {
		return failure{err}
	}
	return t.rowsOf(src, c).compile(src)
}

// rows returns the predicate by rows and thread. It is not ok where the log cannot be read.
func (t callTest) rows(src *index.Index) (p Predicate, ok bool) {
	c, err := CallAt(src, t.enter)
	return t.rowsOf(src, c), err == nil
}

func (t callTest) rowsOf(src *index.Index, c index.Call) Predicate {
	if c.Enter != t.enter || t.enter < 0 {
		return rowTest{0, -1}
	}
	slots := NewSet(0)
	slots.Add(c.Thread)
	last := c.End - 1
	if c.End >= src.Len() {
		last = math.MaxInt64
	}
	return And(InRows(c.Enter, last), OnThreads(slots), Not(WithAnomaly(calls.Stray)))
}

// A failure is a predicate that could not be compiled.
type failure struct{ err error }

func (f failure) cost() int                            { return 0 }
func (f failure) columns(*index.Summary) index.Columns { return 0 }
func (f failure) decide(*index.Summary, int64) verdict { return maybe }
func (f failure) test(context.Context, int, *index.Block, *index.Summary, []uint64, []uint64) error {
	return f.err
}
