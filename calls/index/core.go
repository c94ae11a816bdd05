package index

import (
	"math"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A core is what one Build makes, and Extend goes on with. Its lock is held by
// whoever adds to it, and shared by readers.
type core struct {
	mu   sync.RWMutex
	log  parser.Log
	can  parser.Capabilities
	rows atomic.Pointer[calls.Layout]
	// steady is an index of this core.
	steady *Index
	memory
	addresses *calls.Addresses
	// counted is how many rows the addresses' counts have from an earlier
	// build.
	counted int64
	// version changes with anything that a reader may see.
	version atomic.Uint64

	pairer

	nodes  array[node]
	levels levels
	// groups has the summaries of the blocks, then those of groups of 4
	// blocks, of 16 and so on; longs the longest calls of each.
	groups []array[Summary]
	longs  []array[longs]
	places array[place]
	visits array[checkpoint]
	// texts are the exceptions of all blocks but one that is not complete;
	// see exceptionsOf.
	texts  array[byte]
	text   []byte
	totals totals
	// live are the threads that may have a stack in this run.
	live []*thread
	// leaveless are the nodes of calls that have ended without a leave, and it is
	// known when: with their run or their thread.
	leaveless []uint32
	knownOpen atomic.Pointer[knownOpen]
}

// A place says where what belongs to a block begins: in core.nodes the calls
// that were entered in it, in core.visits and in core.texts.
type place struct {
	text, visit int64
	node        uint32
	_           uint32
}

// A checkpoint is the state of a thread that is active in a block before the
// block's first row.
type checkpoint struct {
	records int64
	thread  uint32
	top     uint32
}

func newCore(log parser.Log, l *calls.Layout, addresses *calls.Addresses, counted int64, n *names) *core {
	c := &core{log: log, can: log.Capabilities(), addresses: addresses, counted: counted, totals: newTotals()}
	c.rows.Store(l)
	c.pairer = newPairer(c, NoNode, n, log.ExactLeaves(), c.can.Stacker)
	c.giveBack()
	return c
}

func (c *core) layout() *calls.Layout { return c.rows.Load() }

func (c *core) blockCount() int { return c.places.len() }

// openBlock adds a block, and the groups that begin with it.
func (c *core) openBlock() {
	k := c.blockCount()
	*c.places.add(&c.memory) = place{text: int64(c.texts.len()), visit: int64(c.visits.len()), node: uint32(c.nodes.len())}
	for level := 0; ; level++ {
		if level == len(c.groups) {
			// One more level, whose first group begins with what there is.
			c.groups, c.longs = append(c.groups, array[Summary]{}), append(c.longs, array[longs]{})
			c.addGroup(level)
			if level > 0 {
				c.join(level)
			}
		} else if k&(1<<(2*level)-1) == 0 {
			c.addGroup(level)
		}
		if k>>(2*level) == 0 {
			return
		}
	}
}

func (c *core) addGroup(level int) {
	*c.groups[level].add(&c.memory) = emptySummary()
	c.longs[level].add(&c.memory)
}

// join makes the first group of a level of those below, of which the second
// has just begun.
func (c *core) join(level int) {
	merge(c.groups[level].at(0), c.groups[level-1].at(0))
	*c.longs[level].at(0) = *c.longs[level-1].at(0)
}

func (n *node) long() Long {
	return Long{Enter: n.enter, Leave: n.leave, EnterTime: n.enterTime, LeaveTime: n.leaveTime,
		Address: n.address, Thread: n.thread, Depth: n.depth}
}

func emptySummary() Summary {
	return Summary{FirstTime: math.MaxInt64, LastTime: math.MinInt64}
}

// merge adds a summary to another but for the rows.
func merge(to, from *Summary) {
	to.FirstTime, to.LastTime = min(to.FirstTime, from.FirstTime), max(to.LastTime, from.LastTime)
	to.MaxDuration, to.MaxDepth = max(to.MaxDuration, from.MaxDuration), max(to.MaxDepth, from.MaxDepth)
	to.Anomalies |= from.Anomalies
	for i := range to.Addresses {
		to.Addresses[i] |= from.Addresses[i]
	}
	to.Threads |= from.Threads
	to.Owners |= from.Owners
}

// summarize adds a summary to a block and its groups.
func (c *core) summarize(block int, s *Summary) {
	for level := range c.groups {
		merge(c.groups[level].at(block>>(2*level)), s)
	}
}

// lengthen adds calls that end in a block to it and its groups.
func (c *core) lengthen(block int, l *longs) {
	for level := range c.groups {
		to := c.longs[level].at(block >> (2 * level))
		for _, x := range l {
			if d := x.Duration(); d > 0 && d >= to[longCount-1].Duration() {
				to.add(x)
			}
		}
	}
}

// visit notes the state of a thread that becomes active in the last block.
func (c *core) visit(th *thread) {
	if th.first == math.MaxInt64 {
		th.first = int64(c.blockCount()-1) * sizes.Block
	}
	th.visits = append(th.visits, uint32(c.visits.len()))
	*c.visits.add(&c.memory) = checkpoint{th.records, th.slot, th.top}
	if !th.live {
		th.live = true
		c.live = append(c.live, th)
	}
}

func (c *core) keepNode(n node) uint32 {
	i := uint32(c.nodes.len())
	*c.nodes.add(&c.memory) = n
	c.levels.add(&c.memory, n.level())
	return i
}

// ended takes in the end of a node's call.
func (c *core) ended(i uint32, n *node) {
	c.levels.set(int(i), n.level())
	c.note(n)
}

// note takes what a call that has ended is into the groups that it is in.
func (c *core) note(n *node) {
	enter, leave, level := int(n.enter/sizes.Block), int(n.leave/sizes.Block), n.level()
	switch {
	case n.rowless:
	case n.timed():
		d := n.duration()
		for l := range c.groups {
			g := c.groups[l].at(enter >> (2 * l))
			if g.MaxDuration >= d {
				break
			}
			g.MaxDuration = d
		}
		if d == 0 {
			return
		}
		for l := int(level) + 1; l < len(c.longs); l++ {
			if to := c.longs[l].at(leave >> (2 * l)); d >= to[longCount-1].Duration() {
				to.add(n.long())
			}
		}
	default:
		for l := range c.groups {
			g := c.groups[l].at(enter >> (2 * l))
			if g.Anomalies>>n.anomaly&1 != 0 {
				break
			}
			g.Anomalies |= 1 << n.anomaly
		}
	}
}

// closeBlock takes in the block that the pairer has completed.
func (c *core) closeBlock() {
	c.publish()
	c.lengthen(c.blockCount()-1, &c.longest)
	c.write(c.exceptions)
	c.prune()
}

// publish takes in what there is of the block.
func (c *core) publish() {
	s := c.summary
	for _, i := range c.inBlock {
		n := c.stats[i].number
		s.Addresses[n/64%4] |= 1 << (n % 64)
	}
	c.settle()
	for k := range c.active {
		s.MaxDepth = max(s.MaxDepth, c.active[k].most)
		s.Threads |= 1 << (c.active[k].th.slot % 64)
	}
	for _, owner := range c.owners {
		s.Owners |= 1 << (owner % 64)
	}
	for _, d := range c.damaged {
		if d.th != nil {
			s.MaxDepth = max(s.MaxDepth, d.depth)
			s.Threads |= 1 << (d.th.slot % 64)
		}
	}
	s.Owners |= s.Threads
	c.summarize(c.blockCount()-1, &s)
}

// write appends the exceptions of a block.
func (c *core) write(list []exception) {
	c.text = appendExceptions(c.text[:0], list)
	for _, v := range c.text {
		*c.texts.add(&c.memory) = v
	}
}

// exceptionsOf returns the exceptions of a block by rising rows.
func (c *core) exceptionsOf(k int) []exception {
	if k == c.blockCount()-1 && c.begun {
		return c.exceptions
	}
	from, to := c.places.at(k).text, int64(c.texts.len())
	if k+1 < c.blockCount() {
		to = c.places.at(k + 1).text
	}
	return parseExceptions(int(to-from), func(i int) byte { return *c.texts.at(int(from) + i) })
}

// visitsOf returns where the checkpoints of a block lie in c.visits.
func (c *core) visitsOf(k int) (from, to int) {
	to = c.visits.len()
	if k+1 < c.blockCount() {
		to = int(c.places.at(k + 1).visit)
	}
	return int(c.places.at(k).visit), to
}

// nodesOf returns the numbers of the nodes that were entered in a block.
func (c *core) nodesOf(k int) (from, to int) {
	to = c.nodes.len()
	if k+1 < c.blockCount() {
		to = int(c.places.at(k + 1).node)
	}
	return int(c.places.at(k).node), to
}

// topOf returns the top of a thread's stack before the first row of a block.
func (c *core) topOf(k int, th *thread) uint32 {
	if k >= c.blockCount() {
		return th.top
	}
	from, _ := c.visitsOf(k)
	i := sort.Search(len(th.visits), func(i int) bool { return int(th.visits[i]) >= from })
	if i == len(th.visits) {
		return th.top
	}
	return c.visits.at(int(th.visits[i])).top
}

// addTotals adds to the totals what they lack.
func (c *core) addTotals() {
	kept := c.dirty[:0]
	for _, i := range c.dirty {
		l := &c.stats[i]
		c.addSum(l.number, l, c.octaves)
		l.calls, l.timed, l.zeros, l.other, l.octaves = 0, 0, 0, 0, noOctave
		l.near = [nearOctaves]uint32{}
		l.time, l.self, l.recursive, l.max, l.min = 0, 0, 0, 0, math.MaxInt64
		// An address that is on a stack may be added to without being touched.
		// The others are seen anew.
		if l.open > 0 {
			kept = append(kept, i)
		} else {
			l.touched, l.block = false, 0
		}
	}
	c.dirty = kept
	c.octaves = c.octaves[:1]
}

// addSum adds the statistics of an address to its totals and counts.
func (c *core) addSum(number uint32, l *addressStats, octaves []segmentCounts) {
	if n := int64(l.calls) + int64(l.timed) + int64(l.zeros) + int64(l.other); n != 0 && c.row > c.counted {
		c.addresses.Count(int(number), n)
	}
	if s := c.totals.at(number); s != nil {
		s.calls += int64(l.calls)
		s.timed += int64(l.timed) + int64(l.zeros)
		s.time += l.time
		s.self += l.self
		s.recursive += l.recursive
		s.min, s.max = min(s.min, l.min), max(s.max, l.max)
		c.totals.merge(number, octaves, l.octaves)
		if l.zeros > 0 {
			s.min = 0
			c.totals.zeros(number, l.zeros)
		}
	}
}

// endRun empties the stacks of a run that has ended. It comes before the
// first block that has a row of the next.
func (c *core) endRun() {
	p := &c.pairer
	if c.begun {
		c.makeNodes()
		c.publish()
	}
	c.inBlock = c.inBlock[:0]
	for _, th := range c.live {
		th.live = false
		th.functions = nil
		p.anomalies[calls.Open] += int64(th.depth) - int64(th.rowless)
		th.rowless = 0
		if th.top != NoNode && th.block != c.block {
			// The stack it had is found by its next visit.
			th.live = true
			c.activate(th)
			th.live = false
		}
		if th.top != NoNode {
			c.nodes.at(int(th.top)).children += th.below
		}
		for i := th.top; i != NoNode; {
			n := c.nodes.at(int(i))
			n.anomaly, n.leave, n.leaveTime = calls.Open, c.row-1, c.lastTime
			n.inside = th.records - n.ordinal
			c.ended(i, n)
			c.leaveless = append(c.leaveless, i)
			i = n.parent
		}
		th.top, th.depth, th.below = NoNode, 0, 0
	}
	c.live = c.live[:0]
	if c.begun {
		// These will not be activated again in this block.
		for k := range c.active {
			c.active[k].th.live = true
			c.live = append(c.live, c.active[k].th)
		}
	}
	for i := range c.stats {
		c.stats[i].open = 0
	}
	c.addTotals()
	c.stats, c.dirty, c.functions = c.stats[:0], c.dirty[:0], c.functions[:0]
	c.byAddress = newHash()
	c.number++
}
