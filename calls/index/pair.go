package index

import (
	"cmp"
	"math"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A pairer goes over events and pairs them by the rules of package calls. It is part of
// the two types that pair: the core, which goes on from the log's first row and knows
// all stacks, and the segmentPairer, which begins in the middle and knows of no open
// calls. What they do differently is their storage.
//
// The calls of a thread's stack that were entered in the current block are
// frames. At the block's end those that are left become nodes.
type pairer struct {
	storage storage
	// bottom is the top of a stack of which nothing is known: NoNode, or outsideBit.
	// The numbers of nodes are less.
	bottom uint32
	names  *names
	exact  bool // the log's ExactLeaves

	// row is the next row, number that of its run.
	row    int64
	number int

	// threads are the stacks, by slot; strands what events have as their threads.
	threads   []*thread
	strands   []pairedStrand
	byID      hash // of strands
	byStack   map[uint32]*thread
	stacker   parser.Stacker // nil if the log is none
	stats     []addressStats
	byAddress hash
	// functions has the functions of stats + 1, 0 for not asked yet.
	functions []uint64
	dirty     []uint32 // stats with something that the totals lack, in a core
	octaves   []segmentCounts
	recent    [recentLen]*thread
	anomalies [calls.NoEnter + 1]int64
	position  bool // a leave was matched by position alone

	// The current block, if begun, and its number counted from 1.
	begun      bool
	block      uint32
	first      int64
	appears    int64 // what statsAdded takes as the row with which an address appears
	active     []visit
	exceptions []exception
	inBlock    []uint32 // the stats of its addresses
	owners     []uint32 // slots of threads with events on other stacks than their own
	damaged    []damagedRow
	summary    Summary
	longest    longs
	longer     int64 // the least duration of one of the longest
	left       []leftFrame
	stacks     [][]frame // those of no thread
	events     []parser.Event
	// lastTime is that of the last event that is not damaged, if timed.
	lastTime int64
	timed    bool
	// limit is the number of stats at which those of no use are forgotten.
	limit int

	// failed says that what an event does depends on more than is known, and
	// boundaryTimes are sums that do; a core has neither.
	failed        bool
	boundaryTimes []boundaryTime
}

const recentLen = 256

// A storage is where a pairer puts what it finds, and what it asks of the stacks.
type storage interface {
	// openBlock and closeBlock begin and end the current block.
	openBlock()
	closeBlock()
	// activated notes that a thread is active in the block, with its state before it.
	activated(th *thread)
	// statsAdded notes new statistics of an address, and nodeAddress returns what nodes
	// have as the address.
	statsAdded(i uint32)
	nodeAddress(i uint32) uint32
	// node returns a node of a stack, and statsOfNode the statistics of its address.
	node(i uint32) *node
	statsOfNode(th *thread, n *node) uint32
	// keepNode adds a node and returns its number, and ended notes that its call has
	// ended.
	keepNode(n node) uint32
	ended(i uint32, n *node)
	// aboveFar is aboveFunction where no call of the function is near; found says
	// that there may be one.
	aboveFar(th *thread, f calls.Function, found bool) int
	// resume makes a thread's stack what the log says is open before an event that
	// begins a thread or before which others are missing.
	resume(th *thread, e *parser.Event, row uint32)
}

// A thread is a stack: a thread's own, or another with a number.
type thread struct {
	// id is what its last event has as its thread, of the strand that is strand, and home
	// the slot of the own stack of the thread that was on it first.
	id           uint32
	slot         uint32
	number       uint32 // of the stack, 0 for a thread's own
	strand, home uint32
	settled      int64 // records that are counted in the strands
	// top is the innermost node of the stack; frames lie above it. In a
	// segment it may be outsideBit with the number of calls that were open at its
	// start and are closed.
	top uint32
	// depth is how many calls there are below the frames, in a segment
	// more than at its beginning.
	depth int32
	// most is the greatest depth in the current block, which is the one whose
	// number is block.
	most    int32
	block   uint32
	records int64
	frames  []frame
	// stack is the memory of frames: they begin at its element 1. It is nil in
	// blocks in which the thread is not active.
	stack []frame
	// below is time spent in calls made by the call below the frames, which
	// it does not know of yet.
	below int64
	// rowless is how many calls of the stack have no row.
	rowless uint32
	// functions says how often a function is on a deep stack; nil where that
	// has not been needed.
	functions map[calls.Function]uint32

	// Of a core: the first row of the first block in which it was active, and
	// where the checkpoints of all those blocks lie in core.visits.
	first  int64
	visits []uint32
	live   bool // it is in the core's list

	// In a segment.
	// numbered has the statistics + 1 by the numbers that a parser.ThreadReader has for addresses.
	numbered []uint32
	pending  []pendingLeave
	rest     int64 // time in calls made by the innermost call of before the segment since the last pending leave
	// fresh says that it begins with the thread, at the row and time began and
	// beganAt.
	fresh          bool
	began, beganAt int64
	// tops are the innermost calls of before the segment, at its start and after each
	// pending leave.
	tops []uint32
	// absent are the functions that must not be open at the segment's start.
	absent []calls.Function
}

const outsideBit = 1 << 31

// A frame is an open call that was entered in the current block.
type frame struct {
	time, children int64
	ordinal        int64
	// row is that in the block; with noRow it is where the call was found to be open,
	// because its enter is missing.
	row   uint32
	stats uint32
}

// noRow is in no row of a block.
const noRow = 1 << 31

func (f *frame) rowless() bool { return f.row&noRow != 0 }

// push puts a call on the stack.
func (p *pairer) push(th *thread, f frame) {
	if len(th.frames) == cap(th.frames) {
		p.grow(th)
	}
	th.frames = append(th.frames, f)
}

// grow makes room for more frames. Inlined it would slow down fastPath.
//
//go:noinline
func (p *pairer) grow(th *thread) {
	if n := len(p.stacks) - 1; th.stack == nil && n >= 0 {
		th.stack, p.stacks = p.stacks[n], p.stacks[:n]
	} else {
		th.stack = make([]frame, max(16, 2*len(th.stack)))
	}
	n := len(th.frames)
	copy(th.stack[1:], th.frames)
	th.frames = th.stack[1 : 1+n]
}

// An addressStats is an address on a thread, with the sums of its calls: three cache lines of
// 64 bytes, of which a call needs two.
type addressStats struct {
	address uint64
	// key is the thread and the space.
	key          uint64
	calls, timed uint32
	// open is how often it is on the stack, in a segment of the calls entered in it.
	open       uint32
	block      uint32 // the last in which it was seen
	time, self int64
	max, min   int64

	// pending is how many pending leaves the thread had when time was
	// last added but for recursive.
	pending uint32
	// zeros are further timed calls, which took no time.
	zeros   uint32
	octaves uint32
	// near are the counts of the first octaves, noOctave for none.
	near [nearOctaves]uint32

	recursive int64
	number    uint32
	// other is the number of its records besides calls, timed and zeros.
	other   int32
	touched bool
	// absent says that the address must not be open at the segment's start.
	absent bool
	_      [46]byte
}

// add counts a call that took some time.
func (c *addressStats) add(d, children int64) {
	c.timed++
	c.time += d
	c.self += calls.SelfTime(d, children)
	c.max, c.min = max(c.max, d), min(c.min, d)
}

// A visit is a block's first event of a thread, with the state before it.
type visit struct {
	th      *thread
	top     uint32
	records int64
	most    int32
}

// A damagedRow is a damaged record: its thread id, and the depth on that
// thread if th is not nil.
type damagedRow struct {
	th    *thread
	id    uint32
	depth int32
}

func newPairer(s storage, bottom uint32, names *names, exact bool, stacker parser.Stacker) pairer {
	return pairer{storage: s, bottom: bottom, names: names, exact: exact, stacker: stacker, byID: newHash(), byAddress: newHash(), octaves: make([]segmentCounts, 1)}
}

// function returns the function of an address.
func (p *pairer) function(i uint32) calls.Function {
	for int(i) >= len(p.functions) {
		p.functions = append(p.functions, 0)
	}
	if p.functions[i] == 0 {
		c := &p.stats[i]
		p.functions[i] = 1 + uint64(p.names.function(p.number, uint16(c.key), c.address))
	}
	return calls.Function(p.functions[i] - 1)
}

// thread returns the thread of an id, which it adds if it is new, and sees to
// it that it is active in the block.
func (p *pairer) thread(id uint32) *thread {
	r := &p.recent[id*0x9e3779b1>>24]
	th := *r
	if th == nil || th.id != id {
		th = p.addThread(id)
		*r = th
	}
	if th.block != p.block {
		p.activate(th)
	}
	return th
}

// activate notes that a thread is active in the block.
func (p *pairer) activate(th *thread) {
	th.block = p.block
	p.active = append(p.active, visit{th: th, top: th.top, records: th.records})
	if th.number != 0 {
		p.noteOwner(p.strands[th.strand].owner)
	}
	p.storage.activated(th)
}

// statsOf returns the index in stats of an event's address.
func (p *pairer) statsOf(th *thread, space uint16, address uint64) uint32 {
	key := uint64(th.slot)<<16 | uint64(space)
	h := &p.byAddress
	for s := h.start(address, key); ; s++ {
		i := h.slots[s&h.mask]
		if i == 0 {
			return p.addStats(key, address)
		}
		if c := &p.stats[i-1]; c.address == address && c.key == key {
			return i - 1
		}
	}
}

func (p *pairer) findStats(th *thread, space uint16, address uint64) (uint32, bool) {
	key := uint64(th.slot)<<16 | uint64(space)
	h := &p.byAddress
	for s := h.start(address, key); ; s++ {
		i := h.slots[s&h.mask]
		if i == 0 {
			return 0, false
		}
		if c := &p.stats[i-1]; c.address == address && c.key == key {
			return i - 1, true
		}
	}
}

func (p *pairer) addStats(key, address uint64) uint32 {
	i := uint32(len(p.stats))
	p.stats = append(p.stats, addressStats{address: address, key: key, min: math.MaxInt64})
	h := &p.byAddress
	if h.full(len(p.stats)) {
		h.grow()
		for k := range p.stats[:i] {
			h.put(h.start(p.stats[k].address, p.stats[k].key), uint32(k))
		}
	}
	h.put(h.start(address, key), i)
	p.storage.statsAdded(i)
	return i
}

// touch notes that the totals lack something of an address.
func (p *pairer) touch(i uint32) {
	if c := &p.stats[i]; !c.touched {
		c.touched = true
		p.dirty = append(p.dirty, i)
	}
}

// see notes that an address is in the block.
func (p *pairer) see(i uint32) {
	if c := &p.stats[i]; c.block != p.block {
		c.block = p.block
		p.inBlock = append(p.inBlock, i)
		p.touch(i)
	}
}

// add pairs the next events, which are of the current run.
func (p *pairer) add(events []parser.Event) {
	for len(events) > 0 && !p.failed {
		if !p.begun {
			p.beginBlock()
		}
		n := int(min(int64(len(events)), p.first+sizes.Block-p.row))
		p.pair(events[:n])
		events = events[n:]
		if p.row == p.first+sizes.Block {
			p.endBlock()
		}
	}
}

func (p *pairer) beginBlock() {
	p.begun = true
	p.block++
	p.first = p.row
	p.appears = p.row
	p.active, p.exceptions, p.inBlock, p.damaged, p.owners = p.active[:0], p.exceptions[:0], p.inBlock[:0], p.damaged[:0], p.owners[:0]
	p.summary = Summary{FirstTime: math.MaxInt64, LastTime: math.MinInt64}
	p.longest, p.longer = longs{}, 1
	p.storage.openBlock()
}

// pair pairs events that are all of the current block.
func (p *pairer) pair(events []parser.Event) {
	base := uint32(p.row - p.first)
	for k := 0; k < len(events); {
		e := &events[k]
		if e.Kind == parser.Damaged {
			p.damage(e, base+uint32(k))
			k++
			continue
		}
		th := p.thread(e.Thread)
		if n := p.fastPath(th, events[k:], base+uint32(k)); n > 0 {
			k += n
			continue
		}
		p.slowPath(th, e, base+uint32(k))
		if p.failed {
			return
		}
		k++
	}
	p.row += int64(len(events))
}

// fastPath takes in the events of a thread from the first on, whose row in the
// block is row, as long as each enters a call or closes the top without more
// ado, and returns how many those are. Nearly all are such, so it keeps what it
// needs at hand, and calls nothing but for what is rare. That the processor
// often predicts wrongly which kind comes next costs no more than to do for every
// event what either kind needs.
func (p *pairer) fastPath(th *thread, events []parser.Event, row uint32) int {
	if th.functions != nil {
		return 0
	}
	if len(th.stack) == 0 {
		p.grow(th)
	}
	var (
		id      = th.id
		stack   = th.stack
		sp      = len(th.frames) + 1
		deepest = sp
		records = th.records + 1
		stats   = p.stats
		slots   = p.byAddress.slots
		first   = p.summary.FirstTime
		last    = p.summary.LastTime
		k       int
	)
	// No leave fits it, and the calls of the frame above take their time from
	// the one below.
	stack[0] = frame{row: noRow}
	for k = 0; k < len(events); k++ {
		e := &events[k]
		if e.Thread != id || e.Gap != parser.NoGap {
			break
		}
		if e.Kind == parser.Enter {
			key := uint64(th.slot)<<16 | uint64(e.Space)
			i := slots[int(p.byAddress.start(e.Address, key))&(len(slots)-1)] - 1
			if int(i) >= len(stats) || stats[i].address != e.Address || stats[i].key != key {
				i = p.statsOf(th, e.Space, e.Address)
				stats, slots = p.stats, p.byAddress.slots
			}
			c := &stats[i]
			if c.block != p.block {
				p.see(i)
			}
			c.calls++
			c.open++
			if sp == len(stack) {
				stack = p.growPath(th, stack)
			}
			f := &stack[sp]
			f.time, f.children, f.ordinal, f.row, f.stats = e.Time, 0, records+int64(k), row+uint32(k), i
			sp++
			deepest = max(deepest, sp)
		} else {
			f := &stack[sp-1]
			if f.row >= noRow || e.Kind != parser.Leave {
				break
			}
			c := &stats[f.stats]
			if c.address != e.Address || uint16(c.key) != e.Space {
				break
			}
			sp--
			c.open--
			// Most calls of a log whose clock is coarse take no time.
			if e.Time <= f.time {
				c.zeros++
			} else {
				d := calls.Elapsed(f.time, e.Time)
				c.add(d, f.children)
				if c.open > 0 {
					c.recursive += d
				} else if c.pending != uint32(len(th.pending)) {
					p.addBoundaryTime(th, f.stats, d)
				}
				if o, step := calls.BucketOf(d); o < nearOctaves && c.near[o] != noOctave {
					p.octaves[c.near[o]].counts[step]++
				} else {
					c.count(&p.octaves, d)
				}
				stack[sp-1].children += d
				if d >= p.longer {
					p.long(th, f, row+uint32(k), e.Time, th.depth+int32(sp)-1)
				}
				if d > p.summary.MaxDuration {
					p.summary.MaxDuration = d
				}
			}
		}
		first, last = min(first, e.Time), max(last, e.Time)
	}
	th.endPath(stack, sp, deepest, k)
	p.summary.FirstTime, p.summary.LastTime = first, last
	return k
}

// growPath makes room for more frames on the stack of a fast path, which is full, and
// returns it.
func (p *pairer) growPath(th *thread, stack []frame) []frame {
	th.frames = stack[1:]
	below := stack[0].children
	p.grow(th)
	th.stack[0] = frame{row: noRow, children: below}
	return th.stack
}

// endPath notes what a fast path has done: it took n events, its stack has frames up to sp,
// and had them up to deepest.
func (th *thread) endPath(stack []frame, sp, deepest, n int) {
	th.below += stack[0].children
	if deepest > len(th.frames)+1 {
		th.most = max(th.most, th.depth+int32(deepest)-2)
	}
	th.frames = stack[1:sp]
	th.records += int64(n)
}

// slowPath takes in an event that fastPath does not.
func (p *pairer) slowPath(th *thread, e *parser.Event, row uint32) {
	th.records++
	if e.Gap != parser.NoGap {
		p.resume(th, e, row)
		if p.failed {
			return
		}
	}
	p.summary.FirstTime, p.summary.LastTime = min(p.summary.FirstTime, e.Time), max(p.summary.LastTime, e.Time)
	if e.Kind == parser.Leave {
		p.leave(th, e, row)
		return
	}
	i := p.statsOf(th, e.Space, e.Address)
	p.see(i)
	c := &p.stats[i]
	c.calls++
	c.open++
	p.push(th, frame{time: e.Time, ordinal: th.records, row: row, stats: i})
	if th.functions != nil {
		th.functions[p.function(i)]++
	}
	th.most = max(th.most, th.depth+int32(len(th.frames))-1)
}

// long takes a call that a row has ended into the block's longest, if it is one of them.
func (p *pairer) long(th *thread, f *frame, row uint32, at int64, depth int32) {
	p.longest.add(Long{Enter: p.row0(f.row), Leave: p.row0(row), EnterTime: f.time, LeaveTime: at,
		Address: p.storage.nodeAddress(f.stats), Thread: th.slot, Depth: depth})
	p.longer = max(1, p.longest[longCount-1].Duration())
}

// damage takes in a damaged record.
func (p *pairer) damage(e *parser.Event, row uint32) {
	th := p.findThread(e.Thread)
	d := damagedRow{th: th, id: e.Thread}
	if th != nil {
		d.depth = th.depth + int32(len(th.frames))
	}
	p.damaged = append(p.damaged, d)
	p.anomaly(calls.Damaged)
}

// anomaly counts an anomaly of a row of the block.
func (p *pairer) anomaly(m calls.Anomaly) {
	p.anomalies[m]++
	p.summary.Anomalies |= 1 << m
}

func (p *pairer) except(e exception) { p.exceptions = append(p.exceptions, e) }

func (p *pairer) row0(row uint32) int64 { return p.first + int64(row) }

// endBlock ends the block: frames that are left become nodes.
func (p *pairer) endBlock() {
	p.makeNodes()
	p.settle()
	p.storage.closeBlock()
	p.begun = false
}

// settle completes the depths of the block's visits.
func (p *pairer) settle() {
	for k := range p.active {
		p.active[k].most = p.active[k].th.most
	}
}

// makeNodes makes nodes of all frames, by rising rows: at the end of a block,
// and wherever a reader should find them.
func (p *pairer) makeNodes() {
	p.left = p.left[:0]
	threads := 0
	for k := range p.active {
		th := p.active[k].th
		for i := range th.frames {
			p.left = append(p.left, leftFrame{th, i, th.frames[i].row &^ noRow})
		}
		if len(th.frames) > 0 {
			threads++
		}
	}
	if threads > 1 {
		slices.SortStableFunc(p.left, func(a, b leftFrame) int { return cmp.Compare(a.row, b.row) })
	}
	for _, l := range p.left {
		p.addNode(l.th, &l.th.frames[l.frame])
	}
	for k := range p.active {
		if th := p.active[k].th; th.stack != nil {
			p.stacks = append(p.stacks, th.stack)
			th.stack, th.frames = nil, nil
		}
	}
}

// A leftFrame is a frame that is open at the end of a block.
type leftFrame struct {
	th    *thread
	frame int
	row   uint32
}

func (p *pairer) addNode(th *thread, f *frame) {
	if p.onNode(th) {
		p.storage.node(th.top).children += th.below
	} else {
		th.rest += th.below
	}
	th.below = 0
	n := node{
		enter: p.row0(f.row &^ noRow), leave: -1, enterTime: f.time, children: f.children, ordinal: f.ordinal,
		address: p.storage.nodeAddress(f.stats), thread: th.slot, parent: th.top, depth: th.depth, rowless: f.rowless(),
	}
	th.top = p.storage.keepNode(n)
	th.depth++
	// The calls of the frame above are not yet known to it.
}

func (p *pairer) rehash() {
	h := newHash()
	for h.full(len(p.stats)) {
		h.grow()
	}
	for k := range p.stats {
		h.put(h.start(p.stats[k].address, p.stats[k].key), uint32(k))
	}
	p.byAddress = h
}
