package index

import (
	"cmp"
	"context"
	"io"
	"math"
	"runtime"
	"slices"
	"sort"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/message"
	"logparser/parser"
)

// How a log is gone over in parallel.
//
// Pairing goes from the first event to the last, because what a leave closes
// depends on what is open. But nearly always it is the innermost call of the
// thread, and its address says so. So segments of the log are paired by
// speculation, each without knowing what was open before it, and then taken
// over one after the other: the leaves that closed nothing that the segment
// knew of close what is open then. Where an event has to be judged by more
// than that, the segment is paired again, by the core. The result is the same.

// segmentBlocks is the number of blocks that are speculated on at a time: a
// million rows, so that what is done for each address once is little.
var segmentBlocks = 256

// A segment is a range of rows, whole blocks of one run.
type segment struct {
	from, to int64
	// p is nil where nothing was speculated.
	p    *segmentPairer
	err  error
	done chan struct{}
}

const (
	// patience is how many segments in a row may have to be paired again
	// before no more is speculated for a while, and longestRest the most
	// segments that is.
	patience    = 3
	longestRest = 64
)

// parallel goes on as far as there are whole segments of one run. It does
// nothing, and says so, where that is not worth it.
func (c *core) parallel(ctx context.Context, to int64, tell func()) (done bool, err error) {
	length := sizes.Block * int64(segmentBlocks)
	l := c.layout()
	run, _ := l.Position(c.row)
	to = min(to, l.Starts[run+1])
	to -= (to - c.row) % sizes.Block
	if to-c.row < 2*length || c.begun {
		return false, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan *segment, 2*workers)
	// A worker takes a pairer only when it begins, so that few are made: each
	// has the sums of all addresses of a segment.
	free := make(chan *segmentPairer, 2*workers)
	ended := make(chan struct{})
	for range workers {
		go func() {
			for s := range jobs {
				select {
				case s.p = <-free:
				default:
					s.p = newSegmentPairer(c.names, c.exact, c.stacker)
				}
				s.err = c.speculate(ctx, s, l, run)
				close(s.done)
			}
			ended <- struct{}{}
		}()
	}
	defer func() {
		cancel()
		close(jobs)
		for range workers {
			<-ended
		}
	}()
	var queue []*segment
	failures, rest, resting := 0, patience, 0
	for next := c.row; next < to || len(queue) > 0; {
		for next < to && len(queue) < 2*workers {
			s := &segment{from: next, to: min(next+length, to), done: make(chan struct{})}
			next = s.to
			queue = append(queue, s)
			if resting > 0 {
				resting--
				close(s.done)
				continue
			}
			jobs <- s
		}
		s := queue[0]
		queue = queue[1:]
		<-s.done
		if s.err != nil {
			return true, s.err
		}
		switch {
		case s.p != nil && !s.p.failed && c.accepts(s.p):
			c.adopt(s.p, s.from)
			failures = 0
			rest = patience
		default:
			if s.p != nil {
				if failures++; failures%patience == 0 {
					resting = rest
					rest = min(2*rest, longestRest)
				}
			}
			if err := c.again(ctx, s.from, s.to); err != nil {
				return true, err
			}
		}
		if s.p != nil {
			free <- s.p
		}
		tell()
	}
	return true, nil
}

// speculate pairs a segment.
func (c *core) speculate(ctx context.Context, s *segment, l *calls.Layout, run int) error {
	p := s.p
	p.reset()
	p.row, p.number = s.from, run
	_, record := l.Position(s.from)
	if p.events == nil {
		p.events = make([]parser.Event, readLen)
	}
	for p.row < s.to && !p.failed {
		if err := ctx.Err(); err != nil {
			return err
		}
		events := p.events[:min(readLen, s.to-p.row)]
		if err := readAll(c.log, events, record+p.row-s.from); err != nil {
			return err
		}
		p.add(events)
		p.last(events)
	}
	// Those of a cell stay in the order of the ops.
	slices.SortStableFunc(p.floors, func(a, b floorSum) int { return cmp.Compare(a.cell, b.cell) })
	return nil
}

// last notes the time of the last event that is not damaged.
func (p *pairer) last(events []parser.Event) {
	for k := len(events) - 1; k >= 0; k-- {
		if events[k].Kind != parser.Damaged {
			p.lastTime, p.timed = events[k].Time, true
			return
		}
	}
}

func readAll(log parser.Log, events []parser.Event, record int64) error {
	got, err := log.ReadEvents(events, record)
	if got < len(events) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return message.Errorf("record %d: %w", record+int64(got), err)
	}
	return nil
}

// reset empties the slots; n is how many keys there were.
func (h *hash) reset(n int) {
	if len(h.slots) > 1<<12 && n*32 < len(h.slots) {
		*h = newHash()
		return
	}
	clear(h.slots)
}

// again pairs a segment with all that is known.
func (c *core) again(ctx context.Context, from, to int64) error {
	if c.events == nil {
		c.events = make([]parser.Event, readLen)
	}
	_, record := c.layout().Position(from)
	for c.row < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		events := c.events[:min(readLen, to-c.row)]
		if err := readAll(c.log, events, record+c.row-from); err != nil {
			return err
		}
		c.mu.Lock()
		c.add(events)
		c.last(events)
		c.version.Add(1)
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.addTotals()
	c.mu.Unlock()
	return nil
}

// nearStack is how deep a stack is gone through call by call.
const nearStack = 256

// accepts reports whether what a speculation took for granted is so, and
// judges its ops.
func (c *core) accepts(p *segmentPairer) bool {
	for i := range p.cells {
		l := &p.cells[i]
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
			if len(th.ops) > 0 {
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
				if k, ok := p.findCell(th, a.Space, a.Value); ok && p.cells[k].absent {
					return false
				}
				if len(th.absent) > 0 && slices.Contains(th.absent, c.names.function(p.number, a.Space, a.Value)) {
					return false
				}
			}
		}
		if !c.acceptsOps(p, th, m) {
			return false
		}
	}
	if deep != nil {
		for i := range p.cells {
			l := &p.cells[i]
			if th := p.threads[l.key>>16]; l.absent && deep[th.slot] && c.openCount(c.find(th), l) > 0 {
				return false
			}
		}
	}
	return true
}

// openCount returns how often the address of a speculation's cell is on a
// stack of the core.
func (c *core) openCount(m *thread, l *cell) uint32 {
	if k, ok := c.findCell(m, uint16(l.key), l.address); ok {
		return c.cells[k].open
	}
	return 0
}

// acceptsOps judges the ops of a thread: each must close the top.
func (c *core) acceptsOps(p *segmentPairer, th, m *thread) bool {
	top := m.top
	for k := range th.ops {
		if top == NoNode {
			return false
		}
		o := &th.ops[k]
		o.mark = calls.None
		n := c.nodes.at(int(top))
		if o.left {
			o.mark, top = calls.NoLeave, n.parent
			th.tops = append(th.tops, top)
			continue
		}
		if l := &p.cells[o.cell]; l.number != n.address {
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
					o.mark = calls.Tail
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

// adopt takes over a segment that was accepted.
func (c *core) adopt(p *segmentPairer, from int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// to has the core's threads by the speculation's, base and depth what they
	// were at the segment's beginning.
	to := make([]*thread, len(p.threads))
	records, depth := make([]int64, len(to)), make([]int32, len(to))
	nodes := uint32(c.nodes.len())
	for i := range p.strands {
		c.addThread(p.strands[i].id)
	}
	for i, th := range p.threads {
		m := c.find(th)
		p.settleRecords(th)
		c.settleRecords(m)
		m.functions = nil
		to[i], records[i] = m, m.records
		if !th.fresh {
			depth[i] = m.depth
		}
	}
	c.correct(p, to)
	resolve := func(th *thread, i uint32) uint32 {
		switch {
		case i == NoNode:
			return NoNode
		case i&floorBit != 0:
			return th.tops[i&^floorBit]
		}
		return nodes + i
	}
	block := func(row int64) *guess { return &p.blocks[(row-from)/sizes.Block] }
	except := func(row int64, x exception) {
		b := block(row)
		x.row = uint32((row - from) % sizes.Block)
		b.exceptions = append(b.exceptions, x)
		b.unsorted = true
	}
	for i, th := range p.threads {
		if m := to[i]; th.fresh && m.depth > 0 {
			except(th.began, exception{kind: resumed, n: uint32(m.depth)})
		}
		top := th.tops[0]
		for k := range th.ops {
			o := &th.ops[k]
			b := block(o.row)
			n := c.nodes.at(int(top))
			if o.left {
				if top = n.parent; !n.rowless {
					c.marks[calls.NoLeave]++
				}
				continue
			}
			if o.byPosition {
				c.position = true
			}
			if o.mark == calls.Tail {
				except(o.row, exception{kind: tailed})
			}
			if n.rowless {
				o.mark = calls.NoEnter
			} else {
				b.summary.MaxDuration = max(b.summary.MaxDuration, calls.Elapsed(n.enterTime, o.time))
			}
			if o.mark != calls.None {
				b.summary.Marks |= 1 << o.mark
				c.marks[o.mark]++
			}
			top = n.parent
		}
	}
	for i := range p.blocks {
		b := &p.blocks[i]
		c.openBlock()
		last := c.blockCount() - 1
		s := &b.summary
		for _, k := range b.cells {
			n := p.cells[k].number
			s.Addresses[n/64%4] |= 1 << (n % 64)
		}
		for k := range b.active {
			v := &b.active[k]
			m := to[v.th.slot]
			if m.first == math.MaxInt64 {
				m.first = int64(last) * sizes.Block
			}
			m.visits = append(m.visits, uint32(c.visits.len()))
			*c.visits.add(&c.memory) = checkpoint{records[v.th.slot] + v.records, m.slot, resolve(v.th, v.top)}
			if !m.live {
				m.live = true
				c.live = append(c.live, m)
			}
			s.MaxDepth = max(s.MaxDepth, v.most+depth[v.th.slot])
			s.Threads |= 1 << (m.slot % 64)
		}
		for _, owner := range b.owners {
			s.Owners |= 1 << (to[owner].slot % 64)
		}
		for _, d := range b.damaged {
			th := d.th
			if th == nil {
				th = p.findThread(d.id)
			}
			switch m := c.findThread(d.id); {
			case th != nil:
				base := depth[th.slot]
				if d.th == nil && th.fresh {
					base = to[th.slot].depth
				}
				s.MaxDepth = max(s.MaxDepth, base+d.depth)
				s.Threads |= 1 << (to[th.slot].slot % 64)
			case m != nil:
				s.MaxDepth = max(s.MaxDepth, m.depth)
				s.Threads |= 1 << (m.slot % 64)
			}
		}
		s.Owners |= s.Threads
		c.summarize(last, s)
		for k := range b.longest {
			if l := &b.longest[k]; l.Duration() > 0 {
				l.Depth += depth[l.Thread]
				l.Address, l.Thread = p.cells[l.Address].number, to[l.Thread].slot
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
			n.parent = resolve(th, n.parent)
			n.depth += depth[n.thread]
			n.ordinal += records[n.thread]
			n.address = p.cells[n.address].number
			n.thread = to[n.thread].slot
			c.keepNode(n)
		}
	}
	for _, i := range p.closed {
		c.note(c.nodes.at(int(nodes + i)))
	}
	c.row = p.row
	for i, th := range p.threads {
		c.restack(p, th, to[i], records[i], resolve)
	}
	for i := range p.strands {
		c.strands[c.lookup(p.strands[i].id)].records += p.strands[i].records
	}
	for i, th := range p.threads {
		m := to[i]
		m.settled, m.id = m.records, th.id
		m.strand = uint32(c.lookup(th.id))
	}
	for i := range p.cells {
		c.addSum(p.cells[i].number, &p.cells[i], p.slabs)
	}
	for m, n := range p.marks {
		c.marks[m] += n
	}
	c.position = c.position || p.position
	if p.timed {
		c.lastTime = p.lastTime
	}
	c.block++
	for _, v := range p.blocks[len(p.blocks)-1].active {
		to[v.th.slot].block = c.block
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
			if n.mark = calls.NoLeave; !n.rowless {
				c.marks[calls.NoLeave]++
			}
			c.end(i, n, m, th.began, th.beganAt)
		}
		m.rowless = 0
	}
	for k := range th.ops {
		o := &th.ops[k]
		i := m.top
		m.below += o.children
		n := c.pop(m)
		m.records = records + o.ordinal
		if o.left {
			n.mark = calls.NoLeave
		} else if n.rowless {
			n.mark = calls.None
		} else {
			n.mark = o.mark
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
		ci := c.cellOf(m, n)
		c.touch(ci)
		c.cells[ci].close(&c.slabs, d, n.children)
	}
	if th.top&floorBit != 0 {
		m.below += th.rest + th.below
	} else {
		if m.top != NoNode {
			c.nodes.at(int(m.top)).children += m.below + th.rest
		}
		m.below = th.below
	}
	for i := th.top; i&floorBit == 0; i = p.nodes[i].parent {
		l := &p.cells[p.nodes[i].address]
		c.cells[c.cell(m, uint16(l.key), l.address)].open++
	}
	m.top = resolve(th, th.top)
	m.depth += th.depth + int32(len(th.ops))
	m.records = records + th.records
}

// correct moves to recursive what a speculation did not know to be: time in
// calls made while another call of their address was open on the floor.
// to has the core's threads by the speculation's.
func (c *core) correct(p *segmentPairer, to []*thread) {
	var deep []map[uint32]uint32 // of threads whose stacks are too deep to go through
	for i, th := range p.threads {
		m := to[i]
		if th.fresh || m.depth == 0 {
			continue
		}
		full := c.lastOps(th, m)
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
			if k, ok := p.findCell(th, a.Space, a.Value); ok && !seen[k] {
				seen[k] = true
				p.correct(k, full)
			}
		}
	}
	if deep != nil {
		for k := range p.cells {
			l := &p.cells[k]
			if i := l.key >> 16; deep[i] != nil && c.openCount(to[i], l) > 0 {
				p.correct(uint32(k), deep[i])
			}
		}
	}
}

// lastOps returns, for an address, with which op its last call on the floor of a
// thread ends.
func (c *core) lastOps(th, m *thread) map[uint32]uint32 {
	popped, full := make(map[uint32]uint32), make(map[uint32]uint32)
	i := m.top
	for k := range th.ops {
		n := c.nodes.at(int(i))
		popped[n.address]++
		if popped[n.address] == c.cells[c.cellOf(m, n)].open {
			full[n.address] = uint32(k)
		}
		i = n.parent
	}
	return full
}

// correct corrects a cell whose address is on the floor.
func (p *segmentPairer) correct(k uint32, full map[uint32]uint32) {
	l := &p.cells[k]
	if l.time == l.recursive {
		return
	}
	until, ok := full[l.number]
	if !ok || l.floor <= until {
		l.recursive = l.time
		return
	}
	// The last sum of the cell that began no later.
	i := sort.Search(len(p.floors), func(i int) bool {
		f := &p.floors[i]
		return f.cell > k || f.cell == k && f.floor > until
	})
	if i > 0 && p.floors[i-1].cell == k {
		l.recursive += p.floors[i-1].time
	}
}
