package pairing

import (
	"cmp"
	"encoding/binary"
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
	if !ok || p.threaded == nil && !p.closesInOrder(r, threads) {
		return false
	}
	p.beginBlock()
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for k := range threads {
		t := &threads[k]
		first, last = min(first, t.Times[0]), max(last, t.Times[len(t.Times)-1])
		p.pairThread(r, k, t)
		if p.failed {
			break
		}
	}
	p.lastTime, p.timed = last, true
	p.summary.FirstTime, p.summary.LastTime = min(p.summary.FirstTime, first), max(p.summary.LastTime, last)
	p.seeAll()
	p.row += sizes.Block
	p.endBlock()
	return true
}

// closesInOrder reports whether the leaves of calls that were entered before the block close them one after the other, as far
// as the Segment knows these. A [splitter] does not know.
func (p *Segment) closesInOrder(r parser.ThreadReader, threads []parser.ThreadCalls) bool {
	for k := range threads {
		t := &threads[k]
		th := p.findThread(t.Thread)
		if th == nil {
			continue // it knows none
		}
		if th.functions != nil {
			return false
		}
		top := th.top
		for i := range t.Ended {
			c := &t.Ended[i]
			if c.Enter >= t.First {
				continue
			}
			if top == NoNode {
				return false // a leave without an enter
			}
			if top >= p.bottom {
				break
			}
			n := &p.nodes[top]
			address, space := r.Address(c.Address)
			if of := &p.stats[n.Address]; of.address != address || uint16(of.key) != space {
				return false
			}
			top = n.Parent
		}
	}
	return true
}

// seeAll notes which addresses calls of the block have that were summed up.
func (p *Segment) seeAll() {
	for w := 0; w < len(p.seen); w += 8 {
		set := p.seen[w:][:8]
		for v := binary.LittleEndian.Uint64(set); v != 0; v &= v - 1 {
			p.see(p.sums[w+bits.TrailingZeros64(v)/8].stats)
		}
		clear(set)
	}
}

// A numberSum is what calls come to of an address that a reader has a number for, on whatever threads: so a log of many threads
// needs one cache line of an address, and one of its histogram. What depends on what is open on a thread is in its addressStats.
type numberSum struct {
	timed, zeros    uint32
	self, recursive int64
	max, min        int64
	stats           uint32 // of the address, on some thread
	near            uint32 // 1 + where its counts of the first octaves are, 0 for nowhere
	_               [16]byte
}

// addNumbered adds to the statistics what is known by numbers.
func (p *Segment) addNumbered() {
	for k := range p.sums {
		s := &p.sums[k]
		if s.stats == noStats {
			continue
		}
		c := &p.stats[s.stats]
		c.calls += s.timed + s.zeros
		c.timed += s.timed
		c.zeros += s.zeros
		c.time += s.recursive
		c.recursive += s.recursive
		c.self += s.self
		c.max, c.min = max(c.max, s.max), min(c.min, s.min)
		p.histograms.merge(c, s.near)
	}
}

// noStats is the index of no statistics.
const noStats = math.MaxUint32

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
		th.records = before + 1 + int64(c.Leave-t.First)
		p.leave(th, p.numbered(&b, c.Address), &parser.Event{Time: t.Times[c.Leave-t.First]}, b.row(c.Leave))
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
		p.push(th, frame{time: t.Times[c.Enter-t.First], children: p.takeInner(c.Depth + 1), ordinal: before + 1 + int64(c.Enter-t.First), row: b.row(c.Enter), stats: s})
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
		for len(p.sums) <= int(number) {
			p.sums = append(p.sums, numberSum{stats: noStats, min: math.MaxInt64})
		}
		for len(p.seen) < len(p.sums) {
			p.seen = append(p.seen, make([]byte, (len(p.seen)+64)&^7)...)
		}
		s, c := &p.sums[number], &p.stats[*i-1]
		if s.stats == noStats {
			s.stats, s.near = *i-1, p.histograms.addNear()
		}
		if c.near == 0 {
			c.near, c.shared = s.near, s.near != 0
		}
	}
	return *i - 1
}

// sumCalls adds calls to the statistics until one was entered before the block, and returns how many.
func (p *Segment) sumCalls(b *threadBlock, ended []parser.ThreadCall) (n int) {
	// A call is no deeper than all that were open and have been entered.
	if most := int(b.Depth) + len(b.Times) + 2; most > len(p.inner) {
		p.inner = append(p.inner, make([]int64, most-len(p.inner))...)
	}
	for {
		n += p.sumKnown(b, ended[n:])
		if n == len(ended) || ended[n].Enter < b.First {
			return n
		}
		p.numbered(b, ended[n].Address)
	}
}

// sumKnown is sumCalls up to a call whose address has no statistics yet.
func (p *Segment) sumKnown(b *threadBlock, ended []parser.ThreadCall) int {
	// Of one length, so that one comparison is enough.
	known := min(len(b.th.numbered), len(p.sums))
	var (
		numbered = b.th.numbered[:known]
		sums     = p.sums[:known]
		seen     = p.seen[:known]
		first    = b.First
		times    = b.Times
		stats    = p.stats
		pending  = uint32(len(b.th.pending))
		inner    = p.inner
		longer   = max(p.longer, b.longest.Least())
		deepest  = int32(math.MinInt32)
		k        int
	)
	for k = 0; k < len(ended); k++ {
		c := &ended[k]
		// Of a call that was entered before the block the difference is no index, and no statistics are none either.
		enter, leave, number := uint(c.Enter-first), c.Leave-first, uint(c.Address)
		if enter >= uint(len(times)) || number >= uint(len(numbered)) {
			break
		}
		i := numbered[number] - 1
		if uint(i) >= uint(len(stats)) {
			break
		}
		seen[number] = 1
		s, u := &sums[number], &stats[i]
		deepest = max(deepest, c.Depth)
		depth := uint(uint32(c.Depth))
		children := inner[depth+1]
		inner[depth+1] = 0
		d := times[leave] - times[enter]
		if d <= 0 {
			// Most calls of a log whose clock is coarse take no time.
			if d = calls.Elapsed(times[enter], times[leave]); d == 0 {
				s.zeros++
				continue
			}
		}
		inner[depth] += d
		s.timed++
		s.self += calls.SelfTime(d, children)
		if d > s.max {
			s.max = d
		}
		if d < s.min {
			s.min = d
		}
		if c.Recursive || u.open > 0 {
			s.recursive += d
		} else {
			if u.pending != pending {
				p.addBoundaryTime(b.th, i, 0)
			}
			u.time += d
		}
		if bucket := calls.BucketOf(d); bucket < nearBuckets && s.near != 0 {
			p.histograms.near[s.near-1][bucket]++
		} else {
			p.histograms.count(u, d)
		}
		if d >= longer {
			longer = p.sumLong(b, c, i, d)
		}
	}
	if k > 0 {
		b.th.most = max(b.th.most, deepest-b.base)
	}
	return k
}

// sumLong takes in a call that may be one of the longest of the block, of the statistics i, and returns how long others have to
// be for that.
func (p *Segment) sumLong(b *threadBlock, c *parser.ThreadCall, i uint32, d int64) int64 {
	p.summary.MaxDuration = max(p.summary.MaxDuration, d)
	b.longest.Add(Long{Enter: int64(c.Enter), Leave: int64(c.Leave), EnterTime: b.Times[c.Enter-b.First], LeaveTime: b.Times[c.Leave-b.First],
		Address: i, Depth: c.Depth - b.base})
	return max(p.longer, b.longest.Least())
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
