package index

import (
	"cmp"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"

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
	// bottom is the top of a stack of which nothing is known: NoNode, or floorBit.
	// The numbers of nodes are less.
	bottom uint32
	names  *names
	exact  bool // the log's ExactLeaves

	// row is the next row, number that of its run.
	row    int64
	number int

	// threads are the stacks, by slot; strands what events have as their threads.
	threads []*thread
	strands []pairedStrand
	byID    hash // of strands
	byStack map[uint32]*thread
	stacker parser.Stacker // nil if the log is none
	cells   []cell
	byCell  hash
	// functions has the functions of cells + 1, 0 for not asked yet.
	functions []uint64
	dirty     []uint32 // cells with something that the totals lack, in a core
	slabs     []tally
	recent    [recentLen]*thread
	marks     [calls.NoEnter + 1]int64
	position  bool // a leave was matched by position alone

	// The current block, if begun, and its number counted from 1.
	begun      bool
	block      uint32
	first      int64
	active     []visit
	exceptions []exception
	inBlock    []uint32 // its cells
	owners     []uint32 // slots of threads with events on other stacks than their own
	damaged    []damagedRow
	summary    Summary
	longest    longs
	longer     int64 // a duration must exceed it to be among the longest
	left       []leftFrame
	stacks     [][]frame // those of no thread
	events     []parser.Event
	// lastTime is that of the last event that is not damaged, if timed.
	lastTime int64
	timed    bool
	// limit is the number of cells at which those of no use are forgotten.
	limit int

	// failed says that an event could not be judged by what is known, and floors are
	// sums that depend on what is not; a core has neither.
	failed bool
	floors []floorSum
}

const recentLen = 256

// A storage is where a pairer puts what it finds, and what it asks of the stacks.
type storage interface {
	// openBlock and closeBlock begin and end the current block.
	openBlock()
	closeBlock()
	// activated notes that a thread is active in the block, with its state before it.
	activated(th *thread)
	// cellAdded notes a new cell, and nodeAddress returns what nodes have as the
	// address of one.
	cellAdded(i uint32)
	nodeAddress(i uint32) uint32
	// node returns a node of a stack, and cellOf the cell of its address.
	node(i uint32) *node
	cellOf(th *thread, n *node) uint32
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
	// top is the innermost node of the stack; frames lie above it. Of a
	// speculation it may be floorBit with the number of calls that were taken
	// from the floor.
	top uint32
	// depth is how many calls there are below the frames, in a speculation
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

	// Of a speculation.
	ops  []op
	rest int64 // time in calls made by the floor's top since the last op
	// fresh says that it begins with the thread, at the row and time began and
	// beganAt.
	fresh          bool
	began, beganAt int64
	// tops are the floor's top at the beginning and after each op.
	tops []uint32
	// absent are the functions that must not be on the floor.
	absent []calls.Function
}

const floorBit = 1 << 31

// A frame is an open call that was entered in the current block.
type frame struct {
	address        uint64
	time, children int64
	ordinal        int64
	row            uint32 // in the block
	cell           uint32
	// space has noRow set where the enter is missing.
	space uint32
}

// noRow is in no event's space.
const noRow = 1 << 16

func (f *frame) rowless() bool { return f.space&noRow != 0 }

// push puts a call on the stack.
func (p *pairer) push(th *thread, f frame) {
	if len(th.frames) == cap(th.frames) {
		p.grow(th)
	}
	th.frames = append(th.frames, f)
}

// grow makes room for more frames. Inlined it would slow down plain.
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

// A cell is an address on a thread, with what its calls come to.
type cell struct {
	address uint64
	// key is the thread and the space.
	key          uint64
	calls, timed uint32
	// zeros are further timed calls, which took no time.
	zeros uint32
	// open is how often it is on the stack, in a speculation above the floor.
	open  uint32
	block uint32 // the last in which it was seen
	slab  uint32
	// floor is how many calls had been taken from the floor when time was
	// last added but for recursive.
	floor      uint32
	time, self int64
	max, min   int64
	recursive  int64
	// near are the tallies of the first octaves, noSlab for none.
	near   [nearOctaves]uint32
	number uint32
	// other is the number of its records besides calls, timed and zeros.
	other   int32
	touched bool
	// absent says that the address must not be on the floor.
	absent bool
}

// A visit is a block's first event of a thread, with the state before it.
type visit struct {
	th      *thread
	top     uint32
	records int64
	most    int32
}

// An exception is an event that does not just enter a call or close the top.
type exception struct {
	row  uint32 // in the block
	kind uint8
	// n is how many calls were left without a leave.
	n uint32
	// pushed are calls that were found to be open, outermost first.
	pushed []pushed
}

const (
	// stray closes no call.
	stray = iota
	// unwound closes a call below the top.
	unwound
	// tailed closes the top, and is marked as a tail.
	tailed
	// resumed comes before what else the event does: calls end, and others
	// are open whose enters are missing.
	resumed
	exceptionBits = 2
)

// A pushed is so many calls of one address whose enters are missing.
type pushed struct{ n, address uint32 }

// A damagedRow is a damaged record: its thread id, and the depth on that
// thread if th is not nil.
type damagedRow struct {
	th    *thread
	id    uint32
	depth int32
}

// longCount is how many of the longest calls are kept.
const longCount = 4

// longs are the longest calls of a block or group, the longest first; one
// without any duration is none.
type longs [longCount]Long

func (l *Long) Duration() int64 { return calls.Elapsed(l.EnterTime, l.LeaveTime) }

// add takes a call in if it is long enough and not there.
func (l *longs) add(c Long) {
	d := c.Duration()
	i := longCount
	for i > 0 && l[i-1].Duration() < d {
		i--
	}
	for k := range i {
		if l[k] == c {
			return
		}
	}
	if i < longCount {
		copy(l[i+1:], l[i:])
		l[i] = c
	}
}

// A guess is a block of a speculation. Exceptions lack what the floor decides.
type guess struct {
	firstNode  uint32
	owners     []uint32
	active     []visit
	exceptions []exception
	cells      []uint32
	damaged    []damagedRow
	summary    Summary
	longest    longs
	unsorted   bool
}

// An op is a leave for which the floor's top is the innermost open call.
type op struct {
	row, time int64
	// children is the time in calls made by that call during the speculation.
	children int64
	ordinal  int64
	cell     uint32
	// left says that it is no leave, but that the call was left without one.
	left bool
	// Of the core's judgement.
	mark       calls.Mark
	byPosition bool
}

// A floorSum is what time without recursive was of a cell until more than
// floor calls had been taken from its thread's floor.
type floorSum struct {
	cell, floor uint32
	time        int64
}

// A hash is the slots of an open-addressing table: 0, or 1 plus an index of
// what holds the keys. Its seed is random, so that no log can be made whose
// keys collide.
type hash struct {
	slots []uint32
	mask  uint32
	seed  [2]uint64
}

func newHash() hash {
	return hash{slots: make([]uint32, 256), mask: 255, seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

func (h *hash) start(a, b uint64) uint32 {
	hi, lo := bits.Mul64(a^h.seed[0], b^h.seed[1])
	return uint32(hi ^ lo)
}

// full reports whether the slots are too few for n keys. A small table is kept
// sparse: a key that is not in its first slot costs a wrong guess of the
// processor.
func (h *hash) full(n int) bool {
	return n*8 > len(h.slots) && (n*2 > len(h.slots) || len(h.slots) < 1<<16)
}

func (h *hash) grow() {
	h.slots = make([]uint32, 2*len(h.slots))
	h.mask = uint32(len(h.slots) - 1)
}

func (h *hash) put(s, index uint32) {
	for ; h.slots[s&h.mask] != 0; s++ {
	}
	h.slots[s&h.mask] = index + 1
}

func newPairer(s storage, bottom uint32, names *names, exact bool, stacker parser.Stacker) pairer {
	return pairer{storage: s, bottom: bottom, names: names, exact: exact, stacker: stacker, byID: newHash(), byCell: newHash(), slabs: make([]tally, 1)}
}

// A names asks a Namer, which need not be safe for concurrent use.
type names struct {
	mu    sync.Mutex
	namer calls.Namer
	known map[nameKey]calls.Function
}

type nameKey struct {
	run     int
	space   uint16
	address uint64
}

func (n *names) function(run int, space uint16, address uint64) calls.Function {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := nameKey{run, space, address}
	f, ok := n.known[k]
	if !ok {
		f = n.namer(run, space, address)
		n.known[k] = f
	}
	return f
}

// function returns the function of a cell's address.
func (p *pairer) function(i uint32) calls.Function {
	for int(i) >= len(p.functions) {
		p.functions = append(p.functions, 0)
	}
	if p.functions[i] == 0 {
		c := &p.cells[i]
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

// cell returns the number of the cell of an event's address.
func (p *pairer) cell(th *thread, space uint16, address uint64) uint32 {
	key := uint64(th.slot)<<16 | uint64(space)
	h := &p.byCell
	for s := h.start(address, key); ; s++ {
		i := h.slots[s&h.mask]
		if i == 0 {
			return p.addCell(key, address)
		}
		if c := &p.cells[i-1]; c.address == address && c.key == key {
			return i - 1
		}
	}
}

func (p *pairer) findCell(th *thread, space uint16, address uint64) (uint32, bool) {
	key := uint64(th.slot)<<16 | uint64(space)
	h := &p.byCell
	for s := h.start(address, key); ; s++ {
		i := h.slots[s&h.mask]
		if i == 0 {
			return 0, false
		}
		if c := &p.cells[i-1]; c.address == address && c.key == key {
			return i - 1, true
		}
	}
}

func (p *pairer) addCell(key, address uint64) uint32 {
	i := uint32(len(p.cells))
	p.cells = append(p.cells, cell{address: address, key: key, min: math.MaxInt64})
	h := &p.byCell
	if h.full(len(p.cells)) {
		h.grow()
		for k := range p.cells[:i] {
			h.put(h.start(p.cells[k].address, p.cells[k].key), uint32(k))
		}
	}
	h.put(h.start(address, key), i)
	p.storage.cellAdded(i)
	return i
}

// touch notes that the totals lack something of a cell.
func (p *pairer) touch(i uint32) {
	if c := &p.cells[i]; !c.touched {
		c.touched = true
		p.dirty = append(p.dirty, i)
	}
}

// see notes that a cell's address is in the block.
func (p *pairer) see(i uint32) {
	if c := &p.cells[i]; c.block != p.block {
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
	p.active, p.exceptions, p.inBlock, p.damaged, p.owners = p.active[:0], p.exceptions[:0], p.inBlock[:0], p.damaged[:0], p.owners[:0]
	p.summary = Summary{FirstTime: math.MaxInt64, LastTime: math.MinInt64}
	p.longest, p.longer = longs{}, 0
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
		if n := p.plain(th, events[k:], base+uint32(k)); n > 0 {
			k += n
			continue
		}
		p.odd(th, e, base+uint32(k))
		if p.failed {
			return
		}
		k++
	}
	p.row += int64(len(events))
}

// plain takes in the events of a thread from the first on, whose row in the
// block is row, as long as each enters a call or closes the top without more
// ado, and returns how many those are. Nearly all are such, so it keeps what it
// needs at hand, and calls nothing but for what is rare. That the processor
// often guesses wrongly which kind comes next costs no more than to do for every
// event what either kind needs.
func (p *pairer) plain(th *thread, events []parser.Event, row uint32) int {
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
		cells   = p.cells
		slots   = p.byCell.slots
		first   = p.summary.FirstTime
		last    = p.summary.LastTime
		k       int
	)
	// No leave fits it, and the calls of the frame above take their time from
	// the one below.
	stack[0] = frame{space: noRow}
	for k = 0; k < len(events); k++ {
		e := &events[k]
		if e.Thread != id || e.Gap != parser.NoGap {
			break
		}
		if e.Kind == parser.Enter {
			key := uint64(th.slot)<<16 | uint64(e.Space)
			i := slots[int(p.byCell.start(e.Address, key))&(len(slots)-1)] - 1
			if int(i) >= len(cells) || cells[i].address != e.Address || cells[i].key != key {
				i = p.cell(th, e.Space, e.Address)
				cells, slots = p.cells, p.byCell.slots
			}
			c := &cells[i]
			if c.block != p.block {
				p.see(i)
			}
			c.calls++
			c.open++
			if sp == len(stack) {
				th.frames = stack[1:sp]
				below := stack[0].children
				p.grow(th)
				stack = th.stack
				stack[0] = frame{space: noRow, children: below}
			}
			f := &stack[sp]
			f.address, f.time, f.children, f.ordinal = e.Address, e.Time, 0, records+int64(k)
			f.row, f.cell, f.space = row+uint32(k), i, uint32(e.Space)
			sp++
			deepest = max(deepest, sp)
		} else {
			f := &stack[sp-1]
			if f.address != e.Address || f.space != uint32(e.Space) || e.Kind != parser.Leave {
				break
			}
			sp--
			c := &cells[f.cell]
			c.open--
			// Most calls of a log whose clock is coarse take no time.
			if e.Time <= f.time {
				c.zeros++
			} else {
				c.timed++
				d := calls.Elapsed(f.time, e.Time)
				c.time += d
				c.self += calls.SelfTime(d, f.children)
				c.max, c.min = max(c.max, d), min(c.min, d)
				if c.open > 0 {
					c.recursive += d
				} else if c.floor != uint32(len(th.ops)) {
					p.newFloor(th, f.cell, d)
				}
				if o, step := calls.BucketOf(d); o < nearOctaves && c.near[o] != noSlab {
					p.slabs[c.near[o]].counts[step]++
				} else {
					c.count(&p.slabs, d)
				}
				stack[sp-1].children += d
				if d > p.longer {
					p.long(th, f, p.row0(row+uint32(k)), e.Time, th.depth+int32(sp)-1)
				}
				if d > p.summary.MaxDuration {
					p.summary.MaxDuration = d
				}
			}
		}
		first, last = min(first, e.Time), max(last, e.Time)
	}
	th.below += stack[0].children
	if deepest > len(th.frames)+1 {
		th.most = max(th.most, th.depth+int32(deepest)-2)
	}
	th.frames = stack[1:sp]
	th.records += int64(k)
	p.summary.FirstTime, p.summary.LastTime = first, last
	return k
}

// odd takes in an event that is not plain.
func (p *pairer) odd(th *thread, e *parser.Event, row uint32) {
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
	i := p.cell(th, e.Space, e.Address)
	p.see(i)
	c := &p.cells[i]
	c.calls++
	c.open++
	p.push(th, frame{address: e.Address, time: e.Time, ordinal: th.records, row: row, cell: i, space: uint32(e.Space)})
	if th.functions != nil {
		th.functions[p.function(i)]++
	}
	th.most = max(th.most, th.depth+int32(len(th.frames))-1)
}

// newFloor notes what a cell's time without recursive was before d was added,
// when calls have been taken from the floor since it last grew.
func (p *pairer) newFloor(th *thread, i uint32, d int64) {
	c := &p.cells[i]
	p.floors = append(p.floors, floorSum{i, c.floor, c.time - d - c.recursive})
	c.floor = uint32(len(th.ops))
}

// long takes a call that has ended into the block's longest.
func (p *pairer) long(th *thread, f *frame, row, at int64, depth int32) {
	p.longest.add(Long{Enter: p.first + int64(f.row), Leave: row, EnterTime: f.time, LeaveTime: at,
		Address: p.storage.nodeAddress(f.cell), Thread: th.slot, Depth: depth})
	p.longer = p.longest[longCount-1].Duration()
}

// damage takes in a damaged record.
func (p *pairer) damage(e *parser.Event, row uint32) {
	th := p.findThread(e.Thread)
	d := damagedRow{th: th, id: e.Thread}
	if th != nil {
		d.depth = th.depth + int32(len(th.frames))
	}
	p.damaged = append(p.damaged, d)
	p.mark(calls.Damaged)
}

// mark counts a mark of a row of the block.
func (p *pairer) mark(m calls.Mark) {
	p.marks[m]++
	p.summary.Marks |= 1 << m
}

func (p *pairer) except(e exception) { p.exceptions = append(p.exceptions, e) }

// leave closes what a leave closes.
func (p *pairer) leave(th *thread, e *parser.Event, row uint32) {
	i := p.cell(th, e.Space, e.Address)
	p.see(i)
	p.touch(i)
	c := &p.cells[i]
	c.other++
	empty := len(th.frames) == 0
	if empty && th.top == NoNode {
		p.stray(row)
		return
	}
	if empty && !p.onNode(th) {
		th.ops = append(th.ops, op{row: p.row0(row), time: e.Time, children: th.rest + th.below, ordinal: th.records, cell: i})
		th.rest, th.below = 0, 0
		th.depth--
		th.most = max(th.most, th.depth)
		th.top = floorBit | uint32(len(th.ops))
		return
	}
	top := p.topCell(th)
	if top == i {
		p.closeTop(th, e.Time, row, calls.None)
		return
	}
	if c.open > 0 {
		p.closeDownTo(th, p.above(th, func(k uint32) bool { return k == i }), e.Time, row)
		return
	}
	c.absent = c.absent || !th.fresh
	if p.exact {
		p.stray(row)
		return
	}
	p.position = true
	if p.names == nil {
		p.closeTop(th, e.Time, row, calls.None)
		return
	}
	f, topf := p.function(i), p.function(top)
	if f == 0 || topf == 0 || f == topf {
		p.closeTop(th, e.Time, row, calls.None)
		return
	}
	above := p.aboveFunction(th, f)
	if p.failed {
		return
	}
	if above > 1 {
		p.closeDownTo(th, above, e.Time, row)
		return
	}
	p.except(exception{row: row, kind: tailed})
	p.closeTop(th, e.Time, row, calls.Tail)
}

func (p *pairer) row0(row uint32) int64 { return p.first + int64(row) }

// onNode reports whether the innermost call below the frames is a node that
// the pairer has.
func (p *pairer) onNode(th *thread) bool {
	return th.top < p.bottom
}

func (p *pairer) stray(row uint32) {
	p.mark(calls.Stray)
	p.except(exception{row: row, kind: stray})
}

// topCell returns the cell of the top call, which the pairer knows.
func (p *pairer) topCell(th *thread) uint32 {
	if n := len(th.frames); n > 0 {
		return th.frames[n-1].cell
	}
	return p.storage.cellOf(th, p.storage.node(th.top))
}

// nearCalls is how far a stack is searched for a function; beyond it the
// functions of the whole stack are counted first, so that leaves that match
// nothing cannot make the time quadratic. The counts are dropped at dropCalls.
const (
	nearCalls = 64
	dropCalls = nearCalls / 2
)

// above returns how many calls are above the nearest one that fits, or -1
// where there is none among those that the pairer knows.
func (p *pairer) above(th *thread, fits func(cell uint32) bool) int {
	for k := len(th.frames) - 1; k >= 0; k-- {
		if fits(th.frames[k].cell) {
			return len(th.frames) - 1 - k
		}
	}
	n := len(th.frames)
	for i := th.top; i < p.bottom; n++ {
		nd := p.storage.node(i)
		if fits(p.storage.cellOf(th, nd)) {
			return n
		}
		i = nd.parent
	}
	return -1
}

// aboveFunction returns how many calls are above the nearest one of a
// function, or -1.
func (p *pairer) aboveFunction(th *thread, f calls.Function) int {
	near := 0
	found := p.above(th, func(cell uint32) bool {
		near++
		return near > nearCalls || p.function(cell) == f
	})
	if found >= 0 && near <= nearCalls {
		return found
	}
	return p.storage.aboveFar(th, f, found >= 0)
}

// gone takes a call from the counts.
func (p *pairer) gone(th *thread, cell uint32) {
	p.cells[cell].open--
	if th.functions == nil {
		return
	}
	f := p.function(cell)
	if th.functions[f]--; th.functions[f] == 0 {
		delete(th.functions, f)
	}
	if th.depth+int32(len(th.frames)) <= dropCalls {
		th.functions = nil
	}
}

func (p *pairer) closeDownTo(th *thread, above int, at int64, row uint32) {
	p.except(exception{row: row, kind: unwound, n: uint32(above)})
	for range above {
		p.forget(th, at, row)
	}
	p.closeTop(th, at, row, calls.None)
}

// forget takes the top call, which was left without a leave, from the stack.
func (p *pairer) forget(th *thread, at int64, row uint32) {
	if n := len(th.frames) - 1; n >= 0 {
		f := th.frames[n]
		th.frames = th.frames[:n]
		if f.rowless() {
			th.rowless--
		} else {
			p.mark(calls.NoLeave)
		}
		p.gone(th, f.cell)
		return
	}
	i := th.top
	n := p.pop(th)
	if n.rowless {
		th.rowless--
	} else {
		p.marks[calls.NoLeave]++
	}
	n.mark = calls.NoLeave
	p.end(i, n, th, p.row0(row), at)
}

// pop takes a node from the top of a stack.
func (p *pairer) pop(th *thread) *node {
	n := p.storage.node(th.top)
	n.children += th.below
	th.below = 0
	th.top = n.parent
	th.depth--
	p.gone(th, p.storage.cellOf(th, n))
	return n
}

// end notes the end of a node's call.
func (p *pairer) end(i uint32, n *node, th *thread, row, at int64) {
	if n.leave = row; !n.ended {
		n.leaveTime, n.inside = at, th.records-n.ordinal-1
	}
	p.storage.ended(i, n)
}

// closeTop pairs the leave at row of the block, of time at, with the top call.
func (p *pairer) closeTop(th *thread, at int64, row uint32, m calls.Mark) {
	var d, children int64
	var i uint32
	rowless := false
	if n := len(th.frames) - 1; n >= 0 {
		f := th.frames[n]
		th.frames = th.frames[:n]
		if rowless = f.rowless(); !rowless {
			if d = calls.Elapsed(f.time, at); d > p.longer {
				p.long(th, &f, p.row0(row), at, th.depth+int32(n))
			}
		}
		i, children = f.cell, f.children
		p.gone(th, i)
		if n > 0 {
			th.frames[n-1].children += d
		} else {
			th.below += d
		}
	} else {
		id := th.top
		n := p.pop(th)
		i = p.storage.cellOf(th, n)
		n.mark = m
		p.end(id, n, th, p.row0(row), at)
		if rowless = n.rowless; !rowless {
			d = n.duration()
		}
		th.below = d
		children = n.children
	}
	th.most = max(th.most, th.depth+int32(len(th.frames)))
	if rowless {
		th.rowless--
		p.mark(calls.NoEnter)
		return
	}
	if m != calls.None {
		p.mark(m)
	}
	p.summary.MaxDuration = max(p.summary.MaxDuration, d)
	p.touch(i)
	c := &p.cells[i]
	c.close(&p.slabs, d, children)
	if c.open == 0 && c.floor != uint32(len(th.ops)) {
		p.newFloor(th, i, d)
	}
}

// close counts a call of the cell that was closed by another event than one
// that counts for it.
func (c *cell) close(slabs *[]tally, d, children int64) {
	c.timed++
	c.other--
	c.time += d
	c.self += calls.SelfTime(d, children)
	c.max, c.min = max(c.max, d), min(c.min, d)
	if c.open > 0 {
		c.recursive += d
	}
	c.count(slabs, d)
}

// resume makes a thread's stack what the log says is open before an event.
func (p *pairer) resume(th *thread, e *parser.Event, row uint32) {
	if e.Gap >= parser.CallsLeft {
		p.leftBefore(th, e, row)
	} else {
		p.storage.resume(th, e, row)
	}
}

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
			p.left = append(p.left, leftFrame{th, i, th.frames[i].row})
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
		enter: p.first + int64(f.row), leave: -1, enterTime: f.time, children: f.children, ordinal: f.ordinal,
		address: p.storage.nodeAddress(f.cell), thread: th.slot, parent: th.top, depth: th.depth, rowless: f.rowless(),
	}
	th.top = p.storage.keepNode(n)
	th.depth++
	// The calls of the frame above are not yet known to it.
}

func (p *pairer) rehash() {
	h := newHash()
	for h.full(len(p.cells)) {
		h.grow()
	}
	for k := range p.cells {
		h.put(h.start(p.cells[k].address, p.cells[k].key), uint32(k))
	}
	p.byCell = h
}
