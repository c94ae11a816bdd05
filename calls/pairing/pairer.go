package pairing

import (
	"cmp"
	"math"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/hash"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// A pairer goes over events and pairs them by the rules of package calls. It is part of
// the two types that pair: the [Sequential], which goes on from the log's first row and knows
// all stacks, and the [Segment], which begins in the middle and knows of no open
// calls. What they do differently is their storage.
//
// The calls of a thread's stack that were entered in the current block are
// frames. At the block's end those that are left become nodes.
type pairer struct {
	storage storage
	// bottom is the top of a stack without known calls: NoNode in a Sequential, outsideBit in a Segment. The numbers of nodes
	// are less.
	bottom uint32
	names  *Names
	exact  bool // the log's ExactLeaves

	// row is the next row, number that of its run.
	row    int64
	number int

	// threads are the stacks, by slot; strands what events have as their threads.
	threads   []*Thread
	strands   []pairedStrand
	byID      hash.Table // of strands
	byStack   map[uint32]*Thread
	stacker   parser.Stacker // nil if the log is none
	stats     []addressStats
	byAddress hash.Table
	// functions has the functions of stats + 1, 0 for not asked yet.
	functions  []uint64
	dirty      []uint32 // stats with something that the store lacks, in a Sequential
	histograms histograms
	recent     [recentLen]*Thread
	anomalies  [calls.NoEnter + 1]int64
	position   bool // a leave was matched by position alone

	// The current block, if begun, and its number counted from 1.
	begun      bool
	block      uint32
	first      int64
	appears    int64 // what statsAdded takes as the row with which an address appears
	active     []visit
	exceptions []Exception
	inBlock    []uint32 // the stats of its addresses
	owners     []uint32 // slots of threads with events on other stacks than their own
	damaged    []damagedRow
	summary    Summary
	longest    Longest
	longer     int64 // the least duration of one of the longest
	left       []leftFrame
	stacks     [][]frame // those of no thread
	events     []parser.Event
	// lastTime is that of the last event that is not damaged, if timed.
	lastTime int64
	timed    bool
	// limit is the number of stats at which those of no use are forgotten.
	limit int

	// These are a Segment's. failed: an event could not be paired without the calls that were open before the segment.
	// boundaryTimes: sums that depend on them, corrected when the segment is taken over.
	failed        bool
	boundaryTimes []boundaryTime
}

const recentLen = 256

// recentOf is the place of an id among recentLen threads that were asked for last.
func recentOf(id uint32) uint32 { return id * 0x9e3779b1 >> 24 }

// A storage is where a pairer puts what it finds, and what it asks of the stacks.
type storage interface {
	// openBlock and closeBlock begin and end the current block.
	openBlock()
	closeBlock()
	// activated notes that a thread is active in the block, with its state before it.
	activated(th *Thread)
	// statsAdded notes new statistics of an address, and nodeAddress returns what nodes
	// have as the address.
	statsAdded(i uint32)
	nodeAddress(i uint32) uint32
	// node returns a node of a stack, and statsOfNode the statistics of its address.
	node(i uint32) *Node
	statsOfNode(th *Thread, n *Node) uint32
	// keepNode adds a node and returns its number, and ended notes that its call has
	// ended.
	keepNode(n Node) uint32
	ended(i uint32, n *Node)
	// aboveFar is aboveFunction where no call of the function is near; found says
	// that there may be one.
	aboveFar(th *Thread, f calls.Function, found bool) int
	// resume makes a thread's stack what the log says is open before an event that
	// begins a thread or before which others are missing.
	resume(th *Thread, e *parser.Event, row uint32)
}

// A Thread is a stack: a thread's own, or another with a number.
type Thread struct {
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

	// In a Sequential: live says that the stack is in its list, seen that it has been active.
	live, seen bool

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

// ID returns what the last event of the stack has as its thread.
func (th *Thread) ID() uint32 { return th.id }

// Home returns the slot of the own stack of the thread that was on it first. Number is the
// stack's, 0 for a thread's own.
func (th *Thread) Home() uint32   { return th.home }
func (th *Thread) Number() uint32 { return th.number }

// Top returns the innermost node, or NoNode, and Below the time that was spent in calls made
// by it which it does not know of yet.
func (th *Thread) Top() uint32  { return th.top }
func (th *Thread) Below() int64 { return th.below }

// Records returns how many events the stack has had.
func (th *Thread) Records() int64 { return th.records }

// Open returns how many calls are open of which the enters are in the log.
func (th *Thread) Open() int64 { return int64(th.depth) + int64(len(th.frames)) - int64(th.rowless) }

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
func (p *pairer) push(th *Thread, f frame) {
	if len(th.frames) == cap(th.frames) {
		p.grow(th)
	}
	th.frames = append(th.frames, f)
}

// grow makes room for more frames. Inlined it would slow down fastPath.
//
//go:noinline
func (p *pairer) grow(th *Thread) {
	if n := len(p.stacks) - 1; th.stack == nil && n >= 0 {
		th.stack, p.stacks = p.stacks[n], p.stacks[:n]
	} else {
		th.stack = make([]frame, max(16, 2*len(th.stack)))
	}
	n := len(th.frames)
	copy(th.stack[1:], th.frames)
	th.frames = th.stack[1 : 1+n]
}

// A visit is a block's first event of a thread, with the state before it.
type visit struct {
	th      *Thread
	top     uint32
	records int64
	most    int32
}

// A damagedRow is a damaged record: its thread id, and the depth on that
// thread if th is not nil.
type damagedRow struct {
	th    *Thread
	id    uint32
	depth int32
}

func newPairer(s storage, bottom uint32, names *Names, exact bool, stacker parser.Stacker) pairer {
	return pairer{storage: s, bottom: bottom, names: names, exact: exact, stacker: stacker, byID: hash.New(), byAddress: hash.New(), histograms: newHistograms()}
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
func (p *pairer) thread(id uint32) *Thread {
	r := &p.recent[recentOf(id)]
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
func (p *pairer) activate(th *Thread) {
	th.block = p.block
	p.active = append(p.active, visit{th: th, top: th.top, records: th.records})
	if th.number != 0 {
		p.noteOwner(p.strands[th.strand].owner)
	}
	p.storage.activated(th)
}

// statsOf returns the index in stats of an event's address.
func (p *pairer) statsOf(th *Thread, space uint16, address uint64) uint32 {
	key := uint64(th.slot)<<16 | uint64(space)
	h := &p.byAddress
	for s := h.Start(address, key); ; s++ {
		i := h.At(s)
		if i == 0 {
			return p.addStats(key, address)
		}
		if c := &p.stats[i-1]; c.address == address && c.key == key {
			return i - 1
		}
	}
}

func (p *pairer) findStats(th *Thread, space uint16, address uint64) (uint32, bool) {
	key := uint64(th.slot)<<16 | uint64(space)
	h := &p.byAddress
	for s := h.Start(address, key); ; s++ {
		i := h.At(s)
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
	if h.Full(len(p.stats)) {
		h.Grow()
		for k := range p.stats[:i] {
			h.Put(h.Start(p.stats[k].address, p.stats[k].key), uint32(k))
		}
	}
	h.Put(h.Start(address, key), i)
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
	p.last(events)
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

// last notes the time of the last event.
func (p *pairer) last(events []parser.Event) {
	for k := len(events) - 1; k >= 0; k-- {
		if events[k].Kind != parser.Damaged {
			p.lastTime, p.timed = events[k].Time, true
			return
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
	p.longest, p.longer = Longest{}, 1
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
func (p *pairer) fastPath(th *Thread, events []parser.Event, row uint32) int {
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
		slots   = p.byAddress.Slots
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
			i := slots[int(p.byAddress.Start(e.Address, key))&(len(slots)-1)] - 1
			if uint(i) >= uint(len(stats)) || stats[i].address != e.Address || stats[i].key != key {
				i = p.statsOf(th, e.Space, e.Address)
				stats, slots = p.stats, p.byAddress.Slots
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
				if bucket := calls.BucketOf(d); bucket < nearBuckets && c.near != 0 {
					p.histograms.near[c.near-1][bucket]++
				} else {
					p.histograms.count(c, d)
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
func (p *pairer) growPath(th *Thread, stack []frame) []frame {
	th.frames = stack[1:]
	below := stack[0].children
	p.grow(th)
	th.stack[0] = frame{row: noRow, children: below}
	return th.stack
}

// endPath notes what a fast path has done: it took n events, its stack has frames up to sp,
// and had them up to deepest.
func (th *Thread) endPath(stack []frame, sp, deepest, n int) {
	th.below += stack[0].children
	if deepest > len(th.frames)+1 {
		th.most = max(th.most, th.depth+int32(deepest)-2)
	}
	th.frames = stack[1:sp]
	th.records += int64(n)
}

// slowPath takes in an event that fastPath does not.
func (p *pairer) slowPath(th *Thread, e *parser.Event, row uint32) {
	th.records++
	if e.Gap != parser.NoGap {
		p.resume(th, e, row)
		if p.failed {
			return
		}
	}
	p.summary.FirstTime, p.summary.LastTime = min(p.summary.FirstTime, e.Time), max(p.summary.LastTime, e.Time)
	i := p.statsOf(th, e.Space, e.Address)
	if e.Kind == parser.Leave {
		p.leave(th, i, e, row)
		return
	}
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
func (p *pairer) long(th *Thread, f *frame, row uint32, at int64, depth int32) {
	p.longest.Add(Long{Enter: p.row0(f.row), Leave: p.row0(row), EnterTime: f.time, LeaveTime: at,
		Address: p.storage.nodeAddress(f.stats), Thread: th.slot, Depth: depth})
	p.longer = max(1, p.longest.Least())
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

func (p *pairer) except(e Exception) { p.exceptions = append(p.exceptions, e) }

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
	th    *Thread
	frame int
	row   uint32
}

func (p *pairer) addNode(th *Thread, f *frame) {
	if p.onNode(th) {
		p.storage.node(th.top).Children += th.below
	} else {
		th.rest += th.below
	}
	th.below = 0
	n := Node{
		Enter: p.row0(f.row &^ noRow), Leave: -1, EnterTime: f.time, Children: f.children, Ordinal: f.ordinal,
		Address: p.storage.nodeAddress(f.stats), Thread: th.slot, Parent: th.top, Depth: th.depth, Rowless: f.rowless(),
	}
	th.top = p.storage.keepNode(n)
	th.depth++
	// The calls of the frame above are not yet known to it.
}

func (p *pairer) rehash() {
	h := hash.New()
	for h.Full(len(p.stats)) {
		h.Grow()
	}
	for k := range p.stats {
		h.Put(h.Start(p.stats[k].address, p.stats[k].key), uint32(k))
	}
	p.byAddress = h
}
