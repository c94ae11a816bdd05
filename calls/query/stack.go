package query

import (
	"context"
	"math/bits"
	"slices"
	"sort"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// MaxStack bounds the calls that [Stack] returns.
const MaxStack = 1 << 16

// Stack returns the calls that are open at a row, outermost first. The call
// that the row enters or leaves is the last. A damaged row and a stray have
// none. The End of the calls is not set. At most MaxStack innermost calls are returned. Calls whose
// enter is missing are there only if they were open at the start of the row's
// block.
func Stack(src *index.Index, row int64) ([]index.Call, error) {
	src = src.Steady()
	var b index.Block
	i, err := FillAt(src, &b, row, index.Threads|index.Kinds|index.Depths|index.Addresses|index.Times|index.Pairs)
	if err != nil || i < 0 {
		return nil, err
	}
	return stackIn(src, &b, i, MaxStack), nil
}

// FillAt fills the block of a row and returns the row's element, or -1 where
// there is no such row.
func FillAt(src *index.Index, b *index.Block, row int64, want index.Columns) (int, error) {
	if row < 0 || row >= src.Len() {
		return -1, nil
	}
	if err := src.Fill(b, int(row/sizes.Block), want); err != nil {
		return -1, err
	}
	if i := row - b.First; i < int64(b.N) {
		return int(i), nil
	}
	return -1, nil
}

// stackIn returns the innermost calls, at most n, that are open at element i
// of a block, outermost first.
func stackIn(src *index.Index, b *index.Block, i, n int) []index.Call {
	if b.Kind[i] == parser.Damaged || b.Anomaly[i] == calls.Stray {
		return nil
	}
	thread := b.Thread[i]
	var list []index.Call
	// The block is read backwards. Calls of depth need and deeper are in the list or have ended; each call that is found
	// lowers need. A call has no enter here where it was entered before the block or its enter is missing.
	need := b.Depth[i] + 1
	at := i
	if b.Kind[i] == parser.Leave {
		at--
	}
	for ; at >= 0 && need != 0 && len(list) < n; at-- {
		if b.Thread[at] != thread || b.Kind[at] == parser.Damaged || b.Anomaly[at] == calls.Stray {
			continue
		}
		d := b.Depth[at]
		if b.Kind[at] == parser.Leave {
			if d < need {
				need = d
			}
		} else if d < need {
			need = d
			list = append(list, index.Call{Enter: b.First + int64(at), Address: b.Address[at], Thread: thread, Depth: d, Time: b.Time[at]})
		}
	}
	node := index.NoNode
	if at < 0 && need != 0 {
		node = src.Top(int(b.First/sizes.Block), thread)
	}
	for node != index.NoNode && len(list) < n {
		c := src.Node(node)
		if c.Depth < need {
			list = append(list, index.Call{Enter: c.Enter, Address: c.Address, Thread: thread, Depth: c.Depth, Time: c.EnterTime})
		}
		node = c.Parent
	}
	slices.Reverse(list)
	return list
}

// CallAt returns the call that a row enters or leaves. Of a leave whose enter
// is missing, a stray and a damaged row it has Enter -1.
func CallAt(src *index.Index, row int64) (index.Call, error) {
	src = src.Steady()
	missing := index.Call{Enter: -1, Thread: index.NoThread}
	var b index.Block
	const want = index.Threads | index.Kinds | index.Depths | index.Addresses | index.Times | index.Pairs
	i, err := FillAt(src, &b, row, want)
	if err != nil || i < 0 {
		return missing, err
	}
	if b.Kind[i] == parser.Leave && b.Partner[i] != calls.NoPartner {
		if i, err = FillAt(src, &b, b.Partner[i], want); err != nil || i < 0 {
			return missing, err
		}
	}
	if b.Kind[i] != parser.Enter {
		return missing, nil
	}
	c := index.Call{Enter: b.First + int64(i), Address: b.Address[i], Thread: b.Thread[i], Depth: b.Depth[i], Time: b.Time[i]}
	if p := b.Partner[i]; p != calls.NoPartner {
		c.End = p + 1
		return c, nil
	}
	c.End, err = endOf(src, &b, c)
	return c, err
}

// endOf finds the end of a call without a leave. Block b has its enter.
func endOf(src *index.Index, b *index.Block, c index.Call) (int64, error) {
	end := func(from int64) int64 {
		for i := from - b.First; i < int64(b.N); i++ {
			if b.Thread[i] == c.Thread && b.Depth[i] <= c.Depth && b.Kind[i] != parser.Damaged && b.Anomaly[i] != calls.Stray {
				return b.First + i
			}
		}
		return b.First + int64(b.N)
	}
	k := int(b.First / sizes.Block)
	last := sizes.Blocks(src.Len()) - 1
	// The blocks at whose start it is open follow each other.
	open := sort.Search(last-k, func(i int) bool { return !openAt(src, k+1+i, c) })
	if open == 0 {
		return end(c.Enter + 1), nil
	}
	if k += open; k == last {
		// It may have ended there; if not, the end is that of the log.
		n := src.Len()
		if err := src.Fill(b, k, index.Threads|index.Kinds|index.Depths|index.Pairs); err != nil {
			return 0, err
		}
		return min(end(b.First), n), nil
	}
	if err := src.Fill(b, k, index.Threads|index.Kinds|index.Depths|index.Pairs); err != nil {
		return 0, err
	}
	return end(b.First), nil
}

// openAt reports whether a call is open at the start of a block.
func openAt(src *index.Index, k int, c index.Call) bool {
	for node := src.Top(k, c.Thread); node != index.NoNode; {
		n := src.Node(node)
		if n.Enter == c.Enter {
			return true
		}
		if n.Depth <= c.Depth {
			return false
		}
		node = n.Parent
	}
	return false
}

// Caller returns the call that made the call of a row. It is not ok for
// outermost calls, strays and damaged rows.
func Caller(src *index.Index, row int64) (c index.Call, ok bool, err error) {
	src = src.Steady()
	var b index.Block
	i, err := FillAt(src, &b, row, index.Threads|index.Kinds|index.Depths|index.Addresses|index.Times|index.Pairs)
	if err != nil || i < 0 || b.Kind[i] == parser.Damaged {
		return index.Call{}, false, err
	}
	list := stackIn(src, &b, i, 2)
	if n := len(list); n > 0 && list[n-1].Depth == b.Depth[i] {
		list = list[:n-1]
	}
	if len(list) == 0 {
		return index.Call{}, false, nil
	}
	return list[len(list)-1], true, nil
}

// NextCall returns the nearest enter after a row, or before it, of an address
// of a set.
func NextCall(ctx context.Context, src *index.Index, row int64, set *Set, back bool) (enter int64, ok bool, err error) {
	return Next(ctx, src, And(InAddresses(set), OfKind(parser.Enter)), row, back)
}

// Next returns the nearest row after a row, or before it, that a predicate
// passes. A row of -1 stands before the first, and [Index.Len] after the last.
func Next(ctx context.Context, src *index.Index, p Predicate, row int64, back bool) (next int64, ok bool, err error) {
	return nearest(ctx, NewScan(src, p, 0, nil), row, back, nil)
}

// nearest finds the nearest row after a row, or before it, that a scan's
// matcher passes and that is in the bitmap that rows returns for a block,
// which is nil where all are and empty where none is. A nil rows has all.
func nearest(ctx context.Context, s *Scan, row int64, back bool, rows func(k int) ([]uint64, error)) (int64, bool, error) {
	w := &Worker{Scan: s, ctx: ctx}
	step := int64(1)
	if back {
		step = -1
	}
	row += step
	for row >= 0 && row < s.rows {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		k := int(row / sizes.Block)
		if from, to := w.skip(k); from <= to {
			if row = from*sizes.Block - 1; !back {
				row = (to + 1) * sizes.Block
			}
			continue
		}
		first := int64(k) * sizes.Block
		n := s.RowsOf(k)
		candidates := fullBitmap(&w.full, n)
		if rows != nil {
			in, err := rows(k)
			if err != nil {
				return 0, false, err
			}
			if in != nil {
				clear(candidates[min(len(in), len(candidates)):])
				for i := range min(len(in), len(candidates)) {
					candidates[i] &= in[i]
				}
			}
		}
		var keep [bitmapWords]uint64
		if back {
			setRange(keep[:], 0, int(row-first)+1)
		} else {
			setRange(keep[:], int(row-first), n)
		}
		any := uint64(0)
		for i := range candidates {
			candidates[i] &= keep[i]
			any |= candidates[i]
		}
		if any != 0 {
			pass := w.pass[:len(candidates)]
			sum := s.src.Summary(0, k)
			if err := w.evaluate(k, &sum, candidates, pass); err != nil {
				return 0, false, err
			}
			if i := firstBit(pass, back); i >= 0 {
				return first + int64(i), true, nil
			}
		}
		if row = first - 1; !back {
			row = first + sizes.Block
		}
	}
	return 0, false, nil
}

// skip returns the blocks from to to around a block of which the summaries
// say that none of their rows pass; from is greater than to if they do not.
func (w *Worker) skip(k int) (from, to int64) {
	from, to = 1, 0
	for level := 0; ; level++ {
		first := k >> (2 * level) << (2 * level)
		s := w.src.Summary(level, k>>(2*level))
		if w.match.decide(&s, int64(first)*sizes.Block) != none {
			return from, to
		}
		from, to = int64(first), int64(first)+1<<(2*level)-1
		if from == 0 && to >= int64(sizes.Blocks(w.rows))-1 {
			return from, to
		}
	}
}

// firstBit returns the lowest bit that is set, or the highest, and -1 if there
// is none.
func firstBit(words []uint64, highest bool) int {
	if highest {
		for i := len(words) - 1; i >= 0; i-- {
			if words[i] != 0 {
				return i*64 + 63 - bits.LeadingZeros64(words[i])
			}
		}
		return -1
	}
	for i, w := range words {
		if w != 0 {
			return i*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}
