package index

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"logparser/calls"
	"logparser/calls/internal/sizes"
)

// canMerge reports whether what a segment took for granted is so, and finds what its
// pending leaves close.
func (c *core) canMerge(p *segmentPairer) bool {
	for _, i := range p.byAppearance() {
		l := &p.stats[i]
		if n, ok := c.addresses.Find(p.number, uint16(l.key), l.address); ok {
			l.number = uint32(n)
		} else {
			l.number = uint32(c.addresses.Add(p.number, uint16(l.key), l.address))
		}
	}
	var deep []bool // threads whose stacks are too deep to go through
	for _, th := range p.threads {
		m := c.find(th)
		if m == nil {
			m = &thread{top: NoNode}
		}
		th.tops = append(th.tops[:0], m.top)
		if th.fresh || m.depth == 0 {
			if len(th.pending) > 0 {
				return false
			}
			continue
		}
		if m.depth > nearStack {
			if len(th.absent) > 0 {
				return false
			}
			if deep == nil {
				deep = make([]bool, len(p.threads))
			}
			deep[th.slot] = true
		} else {
			for i := m.top; i != NoNode; i = c.nodes.at(int(i)).parent {
				a := c.addresses.At(int(c.nodes.at(int(i)).address))
				if k, ok := p.findStats(th, a.Space, a.Value); ok && p.stats[k].absent {
					return false
				}
				if len(th.absent) > 0 && slices.Contains(th.absent, c.names.function(p.number, a.Space, a.Value)) {
					return false
				}
			}
		}
		if !c.resolvePending(p, th, m) {
			return false
		}
	}
	if deep != nil {
		for i := range p.stats {
			l := &p.stats[i]
			if th := p.threads[l.key>>16]; l.absent && deep[th.slot] && c.openCount(c.find(th), l) > 0 {
				return false
			}
		}
	}
	return true
}

// openCount returns how often an address of a segment is on a stack of the core.
func (c *core) openCount(m *thread, l *addressStats) uint32 {
	if k, ok := c.findStats(m, uint16(l.key), l.address); ok {
		return c.stats[k].open
	}
	return 0
}

// resolvePending finds what the pending leaves of a thread close: each must close the top.
func (c *core) resolvePending(p *segmentPairer, th, m *thread) bool {
	top := m.top
	for k := range th.pending {
		if top == NoNode {
			return false
		}
		o := &th.pending[k]
		o.anomaly = calls.None
		n := c.nodes.at(int(top))
		if o.left {
			o.anomaly, top = calls.NoLeave, n.parent
			th.tops = append(th.tops, top)
			continue
		}
		if l := &p.stats[o.stats]; l.number != n.address {
			if c.exact || c.openCount(m, l) > 0 {
				return false
			}
			o.byPosition = true
			if c.names != nil {
				f, topf := c.names.function(p.number, uint16(l.key), l.address), c.functionOf(n)
				if f != 0 && topf != 0 && f != topf {
					above := 0
					for i := n.parent; i != NoNode; i = c.nodes.at(int(i)).parent {
						if above++; above > nearCalls {
							return false
						}
						if c.functionOf(c.nodes.at(int(i))) == f {
							if above > 1 {
								return false
							}
							break
						}
					}
					o.anomaly = calls.Tail
				}
			}
		}
		top = n.parent
		th.tops = append(th.tops, top)
	}
	return true
}

func (c *core) functionOf(n *node) calls.Function {
	a := c.addresses.At(int(n.address))
	return c.names.function(int(a.Run), a.Space, a.Value)
}

// A segmentMerge is what merging a segment needs to know.
type segmentMerge struct {
	core *core
	p    *segmentPairer
	from int64 // the segment's first row
	// to has the core's threads by the segment's, records how many events they had at its
	// beginning, and depth how deep they were.
	to      []*thread
	records []int64
	depth   []int32
	// firstNode is the number that the segment's first node gets.
	firstNode uint32
}

// mergeSegment takes a segment over of which canMerge holds.
func (c *core) mergeSegment(p *segmentPairer, from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := segmentMerge{
		core: c, p: p, from: from, to: make([]*thread, len(p.threads)), records: make([]int64, len(p.threads)), depth: make([]int32, len(p.threads)),
		firstNode: uint32(c.nodes.len()),
	}
	for i := range p.strands {
		c.addThread(p.strands[i].id)
	}
	for i, th := range p.threads {
		to := c.find(th)
		p.settleRecords(th)
		c.settleRecords(to)
		to.functions = nil
		m.to[i], m.records[i] = to, to.records
		if !th.fresh {
			m.depth[i] = to.depth
		}
	}
	c.correctRecursion(p, m.to)
	m.closePending()
	for i := range p.blocks {
		m.block(i)
	}
	m.finish()
}

// node returns the number in the core of a node of a segment's thread, or of a call
// that was open at the segment's start.
func (m *segmentMerge) node(th *thread, i uint32) uint32 {
	switch {
	case i == NoNode:
		return NoNode
	case i&outsideBit != 0:
		return th.tops[i&^outsideBit]
	}
	return m.firstNode + i
}

// blockOf returns the block of a row of the segment.
func (m *segmentMerge) blockOf(row int64) *segmentBlock {
	return &m.p.blocks[(row-m.from)/sizes.Block]
}

// except adds an exception that the segment could not know of.
func (m *segmentMerge) except(row int64, x exception) {
	b := m.blockOf(row)
	x.row = uint32((row - m.from) % sizes.Block)
	b.exceptions = append(b.exceptions, x)
	b.unsorted = true
}

// closePending tells the blocks what the pending leaves close.
func (m *segmentMerge) closePending() {
	c := m.core
	for i, th := range m.p.threads {
		if to := m.to[i]; th.fresh && to.depth > 0 {
			m.except(th.began, exception{kind: resumed, n: uint32(to.depth)})
		}
		top := th.tops[0]
		for k := range th.pending {
			o := &th.pending[k]
			b := m.blockOf(o.row)
			n := c.nodes.at(int(top))
			if o.left {
				if top = n.parent; !n.rowless {
					c.anomalies[calls.NoLeave]++
				}
				continue
			}
			if o.byPosition {
				c.position = true
			}
			if o.anomaly == calls.Tail {
				m.except(o.row, exception{kind: tailed})
			}
			if n.rowless {
				o.anomaly = calls.NoEnter
			} else {
				b.summary.MaxDuration = max(b.summary.MaxDuration, calls.Elapsed(n.enterTime, o.time))
			}
			if o.anomaly != calls.None {
				b.summary.Anomalies |= 1 << o.anomaly
				c.anomalies[o.anomaly]++
			}
			top = n.parent
		}
	}
}

// block takes over a block of the segment.
func (m *segmentMerge) block(i int) {
	c, p := m.core, m.p
	b := &p.blocks[i]
	c.openBlock()
	last := c.blockCount() - 1
	s := &b.summary
	for _, k := range b.stats {
		n := p.stats[k].number
		s.Addresses[n/64%4] |= 1 << (n % 64)
	}
	m.checkpoints(b, int64(last)*sizes.Block)
	for _, owner := range b.owners {
		s.Owners |= 1 << (m.to[owner].slot % 64)
	}
	m.damagedRows(b)
	s.Owners |= s.Threads
	c.summarize(last, s)
	for k := range b.longest {
		if l := &b.longest[k]; l.Duration() > 0 {
			l.Depth += m.depth[l.Thread]
			l.Address, l.Thread = p.stats[l.Address].number, m.to[l.Thread].slot
		}
	}
	c.lengthen(last, &b.longest)
	if b.unsorted {
		slices.SortStableFunc(b.exceptions, func(x, y exception) int {
			return cmp.Or(cmp.Compare(x.row, y.row), -cmp.Compare(x.kind, y.kind))
		})
	}
	c.write(b.exceptions)
	end := len(p.nodes)
	if i+1 < len(p.blocks) {
		end = int(p.blocks[i+1].firstNode)
	}
	for k := int(b.firstNode); k < end; k++ {
		n := p.nodes[k]
		th := p.threads[n.thread]
		n.parent = m.node(th, n.parent)
		n.depth += m.depth[n.thread]
		n.ordinal += m.records[n.thread]
		n.address = p.stats[n.address].number
		n.thread = m.to[n.thread].slot
		c.keepNode(n)
	}
}

// checkpoints adds the checkpoints of a block whose first row is first.
func (m *segmentMerge) checkpoints(b *segmentBlock, first int64) {
	c, s := m.core, &b.summary
	for k := range b.active {
		v := &b.active[k]
		to := m.to[v.th.slot]
		if to.first == math.MaxInt64 {
			to.first = first
		}
		to.visits = append(to.visits, uint32(c.visits.len()))
		*c.visits.add(&c.memory) = checkpoint{m.records[v.th.slot] + v.records, to.slot, m.node(v.th, v.top)}
		if !to.live {
			to.live = true
			c.live = append(c.live, to)
		}
		s.MaxDepth = max(s.MaxDepth, v.most+m.depth[v.th.slot])
		s.Threads |= 1 << (to.slot % 64)
	}
}

// damagedRows adds the damaged records of a block to its summary.
func (m *segmentMerge) damagedRows(b *segmentBlock) {
	c, p, s := m.core, m.p, &b.summary
	for _, d := range b.damaged {
		th := d.th
		if th == nil {
			th = p.findThread(d.id)
		}
		switch known := c.findThread(d.id); {
		case th != nil:
			base := m.depth[th.slot]
			if d.th == nil && th.fresh {
				base = m.to[th.slot].depth
			}
			s.MaxDepth = max(s.MaxDepth, base+d.depth)
			s.Threads |= 1 << (m.to[th.slot].slot % 64)
		case known != nil:
			s.MaxDepth = max(s.MaxDepth, known.depth)
			s.Threads |= 1 << (known.slot % 64)
		}
	}
}

// finish takes over what belongs to no block.
func (m *segmentMerge) finish() {
	c, p := m.core, m.p
	for _, i := range p.closed {
		c.note(c.nodes.at(int(m.firstNode + i)))
	}
	c.row = p.row
	for i, th := range p.threads {
		c.restack(p, th, m.to[i], m.records[i], m.node)
	}
	for i := range p.strands {
		c.strands[c.lookup(p.strands[i].id)].records += p.strands[i].records
	}
	for i, th := range p.threads {
		to := m.to[i]
		to.settled, to.id = to.records, th.id
		to.strand = uint32(c.lookup(th.id))
	}
	for i := range p.stats {
		c.addSum(p.stats[i].number, &p.stats[i], p.octaves)
	}
	for anomaly, n := range p.anomalies {
		c.anomalies[anomaly] += n
	}
	c.position = c.position || p.position
	if p.timed {
		c.lastTime = p.lastTime
	}
	c.block++
	for _, v := range p.blocks[len(p.blocks)-1].active {
		m.to[v.th.slot].block = c.block
	}
	c.addTotals()
	c.version.Add(1)
}

// restack makes a thread's stack what it is after a segment.
func (c *core) restack(p *segmentPairer, th, m *thread, records int64, resolve func(*thread, uint32) uint32) {
	if th.fresh {
		c.endThread(m, th.beganAt, m.records)
		for m.top != NoNode {
			i := m.top
			n := c.pop(m)
			if n.anomaly = calls.NoLeave; !n.rowless {
				c.anomalies[calls.NoLeave]++
			}
			c.end(i, n, m, th.began, th.beganAt)
		}
		m.rowless = 0
	}
	for k := range th.pending {
		o := &th.pending[k]
		i := m.top
		m.below += o.children
		n := c.pop(m)
		m.records = records + o.ordinal
		if o.left {
			n.anomaly = calls.NoLeave
		} else if n.rowless {
			n.anomaly = calls.None
		} else {
			n.anomaly = o.anomaly
		}
		c.end(i, n, m, o.row, o.time)
		if n.rowless {
			m.rowless--
		}
		if n.rowless || o.left {
			continue
		}
		d := n.duration()
		m.below = d
		ci := c.statsOfNode(m, n)
		c.touch(ci)
		c.stats[ci].close(&c.octaves, d, n.children)
	}
	if th.top&outsideBit != 0 {
		m.below += th.rest + th.below
	} else {
		if m.top != NoNode {
			c.nodes.at(int(m.top)).children += m.below + th.rest
		}
		m.below = th.below
	}
	for i := th.top; i&outsideBit == 0; i = p.nodes[i].parent {
		l := &p.stats[p.nodes[i].address]
		c.stats[c.statsOf(m, uint16(l.key), l.address)].open++
	}
	m.top = resolve(th, th.top)
	m.depth += th.depth + int32(len(th.pending))
	m.records = records + th.records
}

// correctRecursion moves to recursive time what a segment could not know to be: time in
// calls made while another call of their address was open since before the segment.
// to has the core's threads by the segment's.
func (c *core) correctRecursion(p *segmentPairer, to []*thread) {
	var deep []map[uint32]uint32 // of threads whose stacks are too deep to go through
	for i, th := range p.threads {
		m := to[i]
		if th.fresh || m.depth == 0 {
			continue
		}
		full := c.lastPending(th, m)
		if m.depth > nearStack {
			if deep == nil {
				deep = make([]map[uint32]uint32, len(p.threads))
			}
			deep[i] = full
			continue
		}
		seen := make(map[uint32]bool)
		for i := m.top; i != NoNode; i = c.nodes.at(int(i)).parent {
			a := c.addresses.At(int(c.nodes.at(int(i)).address))
			if k, ok := p.findStats(th, a.Space, a.Value); ok && !seen[k] {
				seen[k] = true
				p.correctRecursion(k, full)
			}
		}
	}
	if deep != nil {
		for k := range p.stats {
			l := &p.stats[k]
			if i := l.key >> 16; deep[i] != nil && c.openCount(to[i], l) > 0 {
				p.correctRecursion(uint32(k), deep[i])
			}
		}
	}
}

// lastPending returns, for an address, with which pending leave its last call ends that was
// open on the stack of a
// thread ends.
func (c *core) lastPending(th, m *thread) map[uint32]uint32 {
	popped, full := make(map[uint32]uint32), make(map[uint32]uint32)
	i := m.top
	for k := range th.pending {
		n := c.nodes.at(int(i))
		popped[n.address]++
		if popped[n.address] == c.stats[c.statsOfNode(m, n)].open {
			full[n.address] = uint32(k)
		}
		i = n.parent
	}
	return full
}

// correctRecursion corrects the statistics of an address that was open at the segment's start.
func (p *segmentPairer) correctRecursion(k uint32, full map[uint32]uint32) {
	l := &p.stats[k]
	if l.time == l.recursive {
		return
	}
	until, ok := full[l.number]
	if !ok || l.pending <= until {
		l.recursive = l.time
		return
	}
	// The last one of the address that began no later.
	i := sort.Search(len(p.boundaryTimes), func(i int) bool {
		f := &p.boundaryTimes[i]
		return f.stats > k || f.stats == k && f.pending > until
	})
	if i > 0 && p.boundaryTimes[i-1].stats == k {
		l.recursive += p.boundaryTimes[i-1].time
	}
}
