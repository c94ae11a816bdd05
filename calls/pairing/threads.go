package pairing

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// Segments of a log that is a [parser.ThreadedLog] are paired block by block, thread by
// thread: a thread's stack and its statistics stay at hand, and nobody has to put the events
// of several threads in order. What needs a row (a call that is open at the block's end, one
// of the longest, an address that is new) asks for it.

// pairThreads pairs the next block if it is a whole one and its events are ordinary, and
// reports whether it is done. Such a block has no exceptions.
func (p *Segment) pairThreads(r parser.ThreadReader) bool {
	threads, ok := r.Next(int(sizes.Block))
	if !ok {
		return false
	}
	p.beginBlock()
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for k := range threads {
		events := threads[k].Events
		first, last = min(first, events[0].Time), max(last, events[len(events)-1].Time)
		p.pairThread(r, k, &threads[k])
		if p.failed {
			break
		}
	}
	p.lastTime, p.timed = last, true
	p.summary.FirstTime, p.summary.LastTime = min(p.summary.FirstTime, first), max(p.summary.LastTime, last)
	for _, w := range p.words {
		for set := p.seen[w]; set != 0; set &= set - 1 {
			p.see(w*64 + uint32(bits.TrailingZeros64(set)))
		}
		p.seen[w] = 0
	}
	p.words = p.words[:0]
	p.row += sizes.Block
	p.endBlock()
	return true
}

// pairThread pairs the events that a thread has in the block.
func (p *Segment) pairThread(r parser.ThreadReader, k int, t *parser.ThreadEvents) {
	th := p.thread(t.Thread)
	for i := 0; ; i++ {
		i += p.threadPath(th, r, k, t.Events, i)
		if i == len(t.Events) {
			break
		}
		e := &t.Events[i]
		address, space := r.Address(e.Address)
		row := uint32(r.Row(k, i))
		p.appears = p.row0(row)
		if e.Kind == parser.Enter {
			// Its address is new on the thread.
			if n := int(e.Address) + 1; n > len(th.numbered) {
				th.numbered = append(th.numbered, make([]uint32, n-len(th.numbered))...)
			}
			th.numbered[e.Address] = 1 + p.statsOf(th, space, address)
			for len(p.seen)*64 < len(p.stats) {
				p.seen = append(p.seen, 0)
			}
			i--
			continue
		}
		p.slowPath(th, &parser.Event{Address: address, Time: e.Time, Thread: t.Thread, Space: space, Kind: e.Kind}, row)
		if p.failed {
			return
		}
	}
	for i := range th.frames {
		th.frames[i].row = uint32(r.Row(k, int(th.frames[i].row)))
	}
}

// threadPath is fastPath for the events of the block's thread k from number from on, which
// are those of its stack alone: a leave closes its top. The rows of frames are numbers of
// events until the thread is done.
func (p *Segment) threadPath(th *Thread, r parser.ThreadReader, thread int, events []parser.ThreadEvent, from int) int {
	if len(th.stack) == 0 {
		p.grow(th)
	}
	var (
		numbered = th.numbered
		stack    = th.stack
		sp       = len(th.frames) + 1
		deepest  = sp
		records  = th.records + 1 - int64(from)
		stats    = p.stats
		seen     = p.seen
		pending  = uint32(len(th.pending))
		longest  = p.summary.MaxDuration
		longer   = p.longer
		octaves  = p.octaves
		k        int
	)
	stack[0] = frame{row: noRow}
	for k = from; k < len(events); k++ {
		e := &events[k]
		if e.Kind == parser.Enter {
			if int(e.Address) >= len(numbered) {
				break
			}
			i := numbered[e.Address] - 1
			if int(i) >= len(stats) {
				break
			}
			// Whether it was seen in the block before cannot be predicted.
			w := &seen[i/64]
			if *w == 0 {
				p.words = append(p.words, i/64)
			}
			*w |= 1 << (i % 64)
			c := &stats[i]
			c.calls++
			c.open++
			if sp == len(stack) {
				stack = p.growPath(th, stack)
			}
			f := &stack[sp]
			f.time, f.children, f.ordinal, f.row, f.stats = e.Time, 0, records+int64(k), uint32(k), i
			sp++
			deepest = max(deepest, sp)
			continue
		}
		f := &stack[sp-1]
		if f.row >= noRow {
			break
		}
		sp--
		c := &stats[f.stats]
		c.open--
		if e.Time <= f.time {
			c.zeros++
			continue
		}
		d := calls.Elapsed(f.time, e.Time)
		c.add(d, f.children)
		if c.open > 0 {
			c.recursive += d
		} else if c.pending != pending {
			p.addBoundaryTime(th, f.stats, d)
		}
		if o, step := calls.BucketOf(d); o < nearOctaves && c.near[o] != noOctave {
			octaves[c.near[o]].counts[step]++
		} else {
			c.count(&p.octaves, d)
			octaves = p.octaves
		}
		stack[sp-1].children += d
		if d >= longer {
			call := *f
			call.row = uint32(r.Row(thread, int(f.row)))
			p.long(th, &call, uint32(r.Row(thread, k)), e.Time, th.depth+int32(sp)-1)
			longer = p.longer
		}
		longest = max(longest, d)
	}
	th.endPath(stack, sp, deepest, k-from)
	p.summary.MaxDuration = longest
	return k - from
}

// byAppearance returns the statistics in the order in which their addresses appear.
func (p *Segment) byAppearance() []uint32 {
	p.order = p.order[:0]
	for i := range p.stats {
		p.order = append(p.order, uint32(i))
	}
	slices.SortStableFunc(p.order, func(a, b uint32) int { return cmp.Compare(p.appeared[a], p.appeared[b]) })
	return p.order
}
