package pairing

import (
	"cmp"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/sizes"
)

// nearStack is how deep a stack is gone through call by call.
const nearStack = 256

// CanMerge reports whether what a segment took for granted is so, and finds what its
// pending leaves close.
func (s *Sequential) CanMerge(p *Segment) bool {
	for _, i := range p.byAppearance() {
		l := &p.stats[i]
		if n, ok := s.addresses.Find(p.number, uint16(l.key), l.address); ok {
			l.number = uint32(n)
		} else {
			l.number = uint32(s.addresses.Add(p.number, uint16(l.key), l.address))
		}
	}
	var deep []bool // threads whose stacks are too deep to go through
	for _, th := range p.threads {
		m := s.find(th)
		if m == nil {
			m = &Thread{top: NoNode}
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
			for i := m.top; i != NoNode; i = s.node(i).Parent {
				a := s.addresses.At(int(s.node(i).Address))
				if k, ok := p.findStats(th, a.Space, a.Value); ok && p.stats[k].absent {
					return false
				}
				if len(th.absent) > 0 && slices.Contains(th.absent, s.names.function(p.number, a.Space, a.Value)) {
					return false
				}
			}
		}
		if !s.resolvePending(p, th, m) {
			return false
		}
	}
	if deep != nil {
		for i := range p.stats {
			l := &p.stats[i]
			if th := p.threads[l.key>>16]; l.absent && deep[th.slot] && s.openCount(s.find(th), l) > 0 {
				return false
			}
		}
	}
	return true
}

// openCount returns how often an address of a segment is on a stack of the Sequential.
func (s *Sequential) openCount(m *Thread, l *addressStats) uint32 {
	if k, ok := s.findStats(m, uint16(l.key), l.address); ok {
		return s.stats[k].open
	}
	return 0
}

// resolvePending finds what the pending leaves of a thread close: each must close the top.
func (s *Sequential) resolvePending(p *Segment, th, m *Thread) bool {
	top := m.top
	for k := range th.pending {
		if top == NoNode {
			return false
		}
		o := &th.pending[k]
		o.anomaly = calls.None
		n := s.node(top)
		if o.left {
			o.anomaly, top = calls.NoLeave, n.Parent
			th.tops = append(th.tops, top)
			continue
		}
		if l := &p.stats[o.stats]; l.number != n.Address {
			if s.exact || s.openCount(m, l) > 0 {
				return false
			}
			o.byPosition = true
			if s.names != nil {
				f, topf := s.names.function(p.number, uint16(l.key), l.address), s.functionOf(n)
				if f != 0 && topf != 0 && f != topf {
					above := 0
					for i := n.Parent; i != NoNode; i = s.node(i).Parent {
						if above++; above > nearCalls {
							return false
						}
						if s.functionOf(s.node(i)) == f {
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
		top = n.Parent
		th.tops = append(th.tops, top)
	}
	return true
}

func (s *Sequential) functionOf(n *Node) calls.Function {
	a := s.addresses.At(int(n.Address))
	return s.names.function(int(a.Run), a.Space, a.Value)
}

// A merge is what merging a segment needs to know.
type merge struct {
	into *Sequential
	p    *Segment
	from int64 // the segment's first row
	// to has the Sequential's threads by the segment's, records how many events they had at its
	// beginning, and depth how deep they were.
	to      []*Thread
	records []int64
	depth   []int32
	// firstNode is the number that the segment's first node gets.
	firstNode uint32
}

// Merge takes a segment over of which CanMerge holds.
func (s *Sequential) Merge(p *Segment, from int64) {
	m := merge{
		into: s, p: p, from: from, to: make([]*Thread, len(p.threads)), records: make([]int64, len(p.threads)), depth: make([]int32, len(p.threads)),
		firstNode: uint32(s.store.Nodes()),
	}
	for i := range p.strands {
		s.addThread(p.strands[i].id)
	}
	for i, th := range p.threads {
		to := s.find(th)
		p.settleRecords(th)
		s.settleRecords(to)
		to.functions = nil
		m.to[i], m.records[i] = to, to.records
		if !th.fresh {
			m.depth[i] = to.depth
		}
	}
	s.correctRecursion(p, m.to)
	m.closePending()
	for i := range p.blocks {
		m.block(i)
	}
	m.finish()
}

// node returns the number in the Sequential of a node of a segment's thread, or of a call
// that was open at the segment's start.
func (m *merge) node(th *Thread, i uint32) uint32 {
	switch {
	case i == NoNode:
		return NoNode
	case i&outsideBit != 0:
		return th.tops[i&^outsideBit]
	}
	return m.firstNode + i
}

// blockOf returns the block of a row of the segment.
func (m *merge) blockOf(row int64) *segmentBlock {
	return &m.p.blocks[(row-m.from)/sizes.Block]
}

// except adds an exception that the segment could not know of.
func (m *merge) except(row int64, x Exception) {
	b := m.blockOf(row)
	x.Row = uint32((row - m.from) % sizes.Block)
	b.exceptions = append(b.exceptions, x)
	b.unsorted = true
}

// closePending tells the blocks what the pending leaves close.
func (m *merge) closePending() {
	c := m.into
	for i, th := range m.p.threads {
		if to := m.to[i]; th.fresh && to.depth > 0 {
			m.except(th.began, Exception{Kind: Resumed, N: uint32(to.depth)})
		}
		top := th.tops[0]
		for k := range th.pending {
			o := &th.pending[k]
			b := m.blockOf(o.row)
			n := c.node(top)
			if o.left {
				if top = n.Parent; !n.Rowless {
					c.anomalies[calls.NoLeave]++
				}
				continue
			}
			if o.byPosition {
				c.position = true
			}
			if o.anomaly == calls.Tail {
				m.except(o.row, Exception{Kind: Tailed})
			}
			if n.Rowless {
				o.anomaly = calls.NoEnter
			} else {
				b.summary.MaxDuration = max(b.summary.MaxDuration, calls.Elapsed(n.EnterTime, o.time))
			}
			if o.anomaly != calls.None {
				b.summary.Anomalies |= 1 << o.anomaly
				c.anomalies[o.anomaly]++
			}
			top = n.Parent
		}
	}
}

// block takes over a block of the segment.
func (m *merge) block(i int) {
	c, p := m.into, m.p
	b := &p.blocks[i]
	c.store.BeginBlock()
	s := &b.summary
	for _, k := range b.stats {
		n := p.stats[k].number
		s.Addresses[n/64%4] |= 1 << (n % 64)
	}
	m.checkpoints(b)
	for _, owner := range b.owners {
		s.Owners |= 1 << (m.to[owner].slot % 64)
	}
	m.damagedRows(b)
	s.Owners |= s.Threads
	c.store.Summarize(s)
	for k := range b.longest {
		if l := &b.longest[k]; l.Duration() > 0 {
			l.Depth += m.depth[l.Thread]
			l.Address, l.Thread = p.stats[l.Address].number, m.to[l.Thread].slot
		}
	}
	if b.unsorted {
		slices.SortStableFunc(b.exceptions, func(x, y Exception) int {
			return cmp.Or(cmp.Compare(x.Row, y.Row), -cmp.Compare(x.Kind, y.Kind))
		})
	}
	c.store.EndBlock(&b.longest, b.exceptions)
	end := len(p.nodes)
	if i+1 < len(p.blocks) {
		end = int(p.blocks[i+1].firstNode)
	}
	for k := int(b.firstNode); k < end; k++ {
		n := p.nodes[k]
		th := p.threads[n.Thread]
		n.Parent = m.node(th, n.Parent)
		n.Depth += m.depth[n.Thread]
		n.Ordinal += m.records[n.Thread]
		n.Address = p.stats[n.Address].number
		n.Thread = m.to[n.Thread].slot
		c.store.AddNode(n)
	}
}

// checkpoints adds the checkpoints of a block.
func (m *merge) checkpoints(b *segmentBlock) {
	s := &b.summary
	for k := range b.active {
		v := &b.active[k]
		to := m.to[v.th.slot]
		m.into.checkpoint(to, m.records[v.th.slot]+v.records, m.node(v.th, v.top))
		s.MaxDepth = max(s.MaxDepth, v.most+m.depth[v.th.slot])
		s.Threads |= 1 << (to.slot % 64)
	}
}

// damagedRows adds the damaged records of a block to its summary.
func (m *merge) damagedRows(b *segmentBlock) {
	c, p, s := m.into, m.p, &b.summary
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
func (m *merge) finish() {
	c, p := m.into, m.p
	for _, i := range p.closed {
		c.ended(m.firstNode+i, c.node(m.firstNode+i))
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
	for number, sum := range p.Sums() {
		c.store.AddSum(number, sum)
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
	c.AddSums()
}

// restack makes a thread's stack what it is after a segment.
func (s *Sequential) restack(p *Segment, th, m *Thread, records int64, resolve func(*Thread, uint32) uint32) {
	if th.fresh {
		s.endThread(m, th.beganAt, m.records)
		m.records++ // that begins the thread
		for m.top != NoNode {
			i := m.top
			n := s.pop(m)
			if n.Anomaly = calls.NoLeave; !n.Rowless {
				s.anomalies[calls.NoLeave]++
			}
			s.end(i, n, m, th.began, th.beganAt)
		}
		m.rowless = 0
	}
	for k := range th.pending {
		o := &th.pending[k]
		i := m.top
		m.below += o.children
		n := s.pop(m)
		m.records = records + o.ordinal
		if o.left {
			n.Anomaly = calls.NoLeave
		} else if n.Rowless {
			n.Anomaly = calls.None
		} else {
			n.Anomaly = o.anomaly
		}
		s.end(i, n, m, o.row, o.time)
		if n.Rowless {
			m.rowless--
		}
		if n.Rowless || o.left {
			continue
		}
		d := n.Duration()
		m.below = d
		ci := s.statsOfNode(m, n)
		s.touch(ci)
		s.stats[ci].close(&s.histograms, d, n.Children)
	}
	if th.top&outsideBit != 0 {
		m.below += th.rest + th.below
	} else {
		if m.top != NoNode {
			s.node(m.top).Children += m.below + th.rest
		}
		m.below = th.below
	}
	for i := th.top; i&outsideBit == 0; i = p.nodes[i].Parent {
		l := &p.stats[p.nodes[i].Address]
		s.stats[s.statsOf(m, uint16(l.key), l.address)].open++
	}
	m.top = resolve(th, th.top)
	m.depth += th.depth + int32(len(th.pending))
	m.records = records + th.records
}

// correctRecursion moves to recursive time what a segment could not know to be: time in
// calls made while another call of their address was open since before the segment.
// to has the Sequential's threads by the segment's.
func (s *Sequential) correctRecursion(p *Segment, to []*Thread) {
	var deep []map[uint32]uint32 // of threads whose stacks are too deep to go through
	for i, th := range p.threads {
		m := to[i]
		if th.fresh || m.depth == 0 {
			continue
		}
		full := s.lastPending(th, m)
		if m.depth > nearStack {
			if deep == nil {
				deep = make([]map[uint32]uint32, len(p.threads))
			}
			deep[i] = full
			continue
		}
		seen := make(map[uint32]bool)
		for i := m.top; i != NoNode; i = s.node(i).Parent {
			a := s.addresses.At(int(s.node(i).Address))
			if k, ok := p.findStats(th, a.Space, a.Value); ok && !seen[k] {
				seen[k] = true
				p.correctRecursion(k, full)
			}
		}
	}
	if deep != nil {
		for k := range p.stats {
			l := &p.stats[k]
			if i := l.key >> 16; deep[i] != nil && s.openCount(to[i], l) > 0 {
				p.correctRecursion(uint32(k), deep[i])
			}
		}
	}
}

// lastPending returns, for the addresses on a thread's stack at the segment's start, the number of the pending leave that
// ends the last open call of each.
func (s *Sequential) lastPending(th, m *Thread) map[uint32]uint32 {
	popped, full := make(map[uint32]uint32), make(map[uint32]uint32)
	i := m.top
	for k := range th.pending {
		n := s.node(i)
		popped[n.Address]++
		if popped[n.Address] == s.stats[s.statsOfNode(m, n)].open {
			full[n.Address] = uint32(k)
		}
		i = n.Parent
	}
	return full
}

// correctRecursion corrects the statistics of an address that was open at the segment's start.
func (p *Segment) correctRecursion(k uint32, full map[uint32]uint32) {
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
	i := l.boundary
	for i != 0 && p.boundaryTimes[i-1].pending > until {
		i = p.boundaryTimes[i-1].before
	}
	if i != 0 {
		l.recursive += p.boundaryTimes[i-1].time
	}
}
