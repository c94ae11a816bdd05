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
// thread, and the log says which call a leave ends: calls that are entered and left in the block are only summed up.
// A thread's statistics stay at hand, and nobody has to put the events
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
		t := &threads[k]
		first, last = min(first, t.FirstTime), max(last, t.LastTime)
		p.pairThread(r, k, t)
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

// A threadBlock is what a thread has in a block.
type threadBlock struct {
	*parser.ThreadCalls
	th *Thread
	r  parser.ThreadReader
	k  int // of the thread in the reader
	// base is what the depths of calls are more than those of the Segment.
	base int32
	// longest has numbers of events as rows.
	longest Longest
}

// row returns the row in the block of the event of a number.
func (b *threadBlock) row(number uint32) uint32 { return uint32(b.r.Row(b.k, number)) }

// pairThread pairs the calls that a thread has in the block.
func (p *Segment) pairThread(r parser.ThreadReader, k int, t *parser.ThreadCalls) {
	th := p.thread(t.Thread)
	b := threadBlock{ThreadCalls: t, th: th, r: r, k: k, base: t.Depth - th.depth}
	for _, n := range t.New {
		p.appears = p.row0(b.row(n.Enter))
		p.numbered(&b, n.Address)
	}
	p.appears = p.first
	before, depth := th.records, t.Depth
	for i := 0; ; i++ {
		i += p.sumCalls(&b, t.Ended[i:])
		if i == len(t.Ended) {
			break
		}
		// The call was entered before the block.
		c := &t.Ended[i]
		th.below += p.takeInner(c.Depth + 1)
		depth = c.Depth
		th.records = before + int64(c.Leave-t.First)
		address, space := r.Address(c.Address)
		p.slowPath(th, &parser.Event{Address: address, Time: c.LeaveTime, Thread: t.Thread, Space: space, Kind: parser.Leave}, b.row(c.Leave))
		if p.failed {
			return
		}
	}
	th.below += p.takeInner(depth)
	for i := range t.Open {
		c := &t.Open[i]
		s := p.numbered(&b, c.Address)
		p.see(s)
		u := &p.stats[s]
		u.calls++
		u.open++
		p.push(th, frame{time: c.EnterTime, children: p.takeInner(c.Depth + 1), ordinal: before + 1 + int64(c.Enter-t.First), row: b.row(c.Enter), stats: s})
		th.most = max(th.most, c.Depth-b.base)
	}
	th.records = before + int64(t.End-t.First)
	for i := range b.longest {
		if l := &b.longest[i]; l.Duration() >= p.longer {
			f := frame{time: l.EnterTime, row: b.row(uint32(l.Enter)), stats: l.Address}
			p.long(th, &f, b.row(uint32(l.Leave)), l.LeaveTime, l.Depth)
		}
	}
}

// takeInner returns the time that was spent in calls of a depth since it was asked for last, or their caller was entered.
func (p *Segment) takeInner(depth int32) (ns int64) {
	if int(depth) < len(p.inner) {
		ns, p.inner[depth] = p.inner[depth], 0
	}
	return ns
}

// numbered returns the statistics of an address that a reader has a number for.
func (p *Segment) numbered(b *threadBlock, number uint16) uint32 {
	th := b.th
	if n := int(number) + 1; n > len(th.numbered) {
		th.numbered = append(th.numbered, make([]uint32, n-len(th.numbered))...)
	}
	i := &th.numbered[number]
	if *i == 0 {
		address, space := b.r.Address(number)
		*i = 1 + p.statsOf(th, space, address)
		for len(p.seen)*64 < len(p.stats) {
			p.seen = append(p.seen, 0)
		}
	}
	return *i - 1
}

// sumCalls adds calls to the statistics until one was entered before the block, and returns how many.
func (p *Segment) sumCalls(b *threadBlock, ended []parser.ThreadCall) int {
	var (
		th       = b.th
		first    = b.First
		numbered = th.numbered
		stats    = p.stats
		pending  = uint32(len(th.pending))
		inner    = p.inner
		seen     = p.seen
		near     = p.histograms.near
		longer   = max(p.longer, b.longest.Least())
		longest  = p.summary.MaxDuration
		deepest  = int32(math.MinInt32)
		k        int
	)
	for k = 0; k < len(ended); k++ {
		c := &ended[k]
		if c.Enter < first {
			break
		}
		i := uint32(0)
		if int(c.Address) < len(numbered) {
			i = numbered[c.Address]
		}
		if i--; int(i) >= len(stats) {
			i = p.numbered(b, c.Address)
			numbered, stats, seen = th.numbered, p.stats, p.seen
		}
		// Whether it was seen in the block before cannot be predicted.
		w := &seen[i/64]
		if *w == 0 {
			p.words = append(p.words, i/64)
		}
		*w |= 1 << (i % 64)
		u := &stats[i]
		u.calls++
		deepest = max(deepest, c.Depth)
		if int(c.Depth)+2 > len(inner) {
			inner = append(inner, make([]int64, int(c.Depth)+2)...)
			p.inner = inner
		}
		at := inner[c.Depth:][:2]
		children := at[1]
		at[1] = 0
		// Most calls of a log whose clock is coarse take no time.
		if c.LeaveTime <= c.EnterTime {
			u.zeros++
			continue
		}
		d := calls.Elapsed(c.EnterTime, c.LeaveTime)
		at[0] += d
		u.add(d, children)
		if c.Recursive || u.open > 0 {
			u.recursive += d
		} else if u.pending != pending {
			p.addBoundaryTime(th, i, d)
		}
		if o, step := calls.BucketOf(d); o < nearOctaves && u.near != 0 {
			near[u.near-1][o][step]++
		} else {
			p.histograms.count(u, d)
			near = p.histograms.near
		}
		if d >= longer {
			b.longest.Add(Long{Enter: int64(c.Enter), Leave: int64(c.Leave), EnterTime: c.EnterTime, LeaveTime: c.LeaveTime,
				Address: i, Depth: c.Depth - b.base})
			longer = max(longer, b.longest.Least())
		}
		longest = max(longest, d)
	}
	if k > 0 {
		th.most = max(th.most, deepest-b.base)
	}
	p.summary.MaxDuration = longest
	return k
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
