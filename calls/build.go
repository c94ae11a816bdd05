package calls

import (
	"context"
	"io"
	"math"
	"time"

	"logparser/message"
	"logparser/parser"
)

const (
	// blockLen is how many events are read and paired at a time.
	blockLen = 8192
	// nearFrames is how far a stack is searched frame by frame; beyond it an
	// index of the stack says first whether there is anything to be found, so
	// that leaves that match nothing cannot make the time quadratic. The
	// index is dropped at dropIndex calls.
	nearFrames = 64
	dropIndex  = nearFrames / 2
	// recentBits is the size of the builder's caches: 1,024 entries.
	recentBits = 10
	// progressEvery is the least time between two calls of a Progress.
	progressEvery = 50 * time.Millisecond
)

// Build makes a table of runs of a log; see [Table.Build].
func Build(ctx context.Context, log parser.Log, runs []parser.Run, namer Namer, progress parser.Progress) (*Table, error) {
	t := NewTable(log, runs)
	if err := t.Build(ctx, namer, progress); err != nil {
		return nil, err
	}
	return t, nil
}

// Build reads the events and pairs them. Progress, if not nil, is told the
// rows done, at most some twenty times a second. Called again, with a Namer
// that knows more, it goes over all rows anew in the same memory; rows can be
// read meanwhile and change as it goes. Cancelled or stopped by an error it
// leaves what is done.
func (t *Table) Build(ctx context.Context, namer Namer, progress parser.Progress) error {
	t.building.Lock()
	defer t.building.Unlock()

	t.builder = nil
	b := &builder{t: t, namer: namer, exact: t.log.ExactLeaves(), addresses: t.Addresses(), none: noFrame}
	if b.addresses == nil {
		t.counted = 0
		b.addresses = newAddresses(&t.mu)
	}
	t.mu.Lock()
	t.pass = pass{threads: threads{hash: newHash()}, ended: make(map[int64]endedCall), stacks: make(map[uint32]*thread), perThread: make(map[uint32]int64)}
	t.done = false
	t.mu.Unlock()
	if err := b.pair(ctx, progress); err != nil {
		return err
	}
	t.mu.Lock()
	t.addresses = b.addresses
	t.done = true
	t.mu.Unlock()
	t.builder = b
	return nil
}

// Extend goes on where Build, or the last Extend, ended, after the log has
// grown: runs are those of the table, of which the last may have become
// longer, and new ones behind them. Rows are there at once and are paired as
// it goes; an open call gets its partner and duration when its leave comes.
// The table is then the same as if it had been built from all the rows at
// once, provided that namer answers as the one of the last Build did or that
// NeedsNames was false. The namer is called while the table is locked: it must
// call none of its methods, but may call Addresses.Find.
//
// Before Build has ended, Extend only makes the table longer.
func (t *Table) Extend(ctx context.Context, runs []parser.Run, namer Namer, progress parser.Progress) error {
	t.building.Lock()
	defer t.building.Unlock()

	old := t.layout.Load()
	for i, r := range old.Runs {
		last := i == len(old.Runs)-1
		if i >= len(runs) || runs[i].First != r.First || runs[i].Count < r.Count || runs[i].Count > r.Count && !last {
			return message.Errorf("run %d is not what it was", i)
		}
	}
	t.layout.Store(NewLayout(runs))
	b := t.builder
	if b == nil {
		return nil
	}
	b.namer = namer
	b.functions = b.functions[:0]
	for th := range b.deep {
		th.indexed = false
	}
	clear(b.deep)
	return b.pair(ctx, progress)
}

// pair goes on to the end of the table.
func (b *builder) pair(ctx context.Context, progress parser.Progress) error {
	t := b.t
	layout := t.layout.Load()
	total := layout.Total()
	next, stop := b.blocks(ctx, layout)
	defer stop()
	var told time.Time
	for {
		batch := next()
		if batch == nil {
			break
		}
		t.mu.Lock()
		// A block may be known to the addresses in part.
		events := batch.events
		if known := t.counted - b.row; known > 0 {
			b.counting = false
			n := min(known, int64(len(events)))
			b.add(batch.run, events[:n])
			events = events[n:]
		}
		b.counting = true
		b.add(batch.run, events)
		t.counted = max(t.counted, b.row)
		t.rows = max(t.rows, b.row)
		t.mu.Unlock()
		if batch.err != nil {
			return batch.err
		}
		if progress != nil && time.Since(told) >= progressEvery {
			told = time.Now()
			progress(b.row, total)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	t.open = b.openCalls()
	t.mu.Unlock()
	if progress != nil {
		progress(b.row, total)
	}
	return nil
}

// blocks returns what hands out the events from the builder's row on, block by
// block and nil at the end; a block is valid until the next. stop must be
// called when no more are wanted.
func (b *builder) blocks(ctx context.Context, l *Layout) (next func() *batch, stop func()) {
	row := b.row
	if l.Total()-row > blockLen {
		ctx, cancel := context.WithCancel(ctx)
		reader := newReadAhead(ctx, b.t.log, l, row)
		var last *batch
		next = func() *batch {
			if last != nil {
				reader.recycle(last)
			}
			last = reader.next()
			return last
		}
		return next, func() { cancel(); reader.wait() }
	}
	next = func() *batch {
		if row == l.Total() || ctx.Err() != nil || b.short.err != nil {
			return nil
		}
		b.short.read(b.t.log, l, row)
		row += int64(len(b.short.events))
		return &b.short
	}
	b.short.err = nil
	return next, func() {}
}

// A batch is a block of events of one run, as long as err is nil.
type batch struct {
	events []parser.Event
	run    int
	err    error
}

// read fills the batch with the events from a row on that lie in its run.
func (b *batch) read(log parser.Log, l *Layout, row int64) {
	run, record := l.Position(row)
	n := int(min(blockLen, l.Starts[run+1]-row))
	if cap(b.events) < n {
		b.events = make([]parser.Event, n)
	}
	got, err := log.ReadEvents(b.events[:n], record)
	b.events, b.run, b.err = b.events[:got], run, nil
	if got < n {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		b.err = message.Errorf("record %d: %w", record+int64(got), err)
	}
}

// A readAhead reads the next block while the last one is being paired.
type readAhead struct {
	full, free chan *batch
	done       chan struct{}
}

func newReadAhead(ctx context.Context, log parser.Log, l *Layout, row int64) *readAhead {
	r := &readAhead{make(chan *batch, 2), make(chan *batch, 2), make(chan struct{})}
	for range cap(r.free) {
		r.free <- &batch{}
	}
	go r.read(ctx, log, l, row)
	return r
}

func (r *readAhead) read(ctx context.Context, log parser.Log, l *Layout, row int64) {
	defer close(r.done)
	defer close(r.full)
	for row < l.Total() {
		var b *batch
		select {
		case b = <-r.free:
		case <-ctx.Done():
			return
		}
		b.read(log, l, row)
		row += int64(len(b.events))
		// What was read is for the receiver alone from here on.
		failed := b.err != nil
		select {
		case r.full <- b:
		case <-ctx.Done():
			return
		}
		if failed {
			return
		}
	}
}

// next returns the next block, or nil at the end or when cancelled.
func (r *readAhead) next() *batch { return <-r.full }

func (r *readAhead) recycle(b *batch) { r.free <- b }

// wait waits until the log is no longer used.
func (r *readAhead) wait() { <-r.done }

// A frame is an open call. Frames of all threads lie in one store, linked
// from the innermost outwards, so that a thread costs nothing but its frames.
type frame struct {
	row, time int64
	address   uint32 // number in the builder's addresses
	below     uint32 // the frame of the caller, or the next free frame
}

const noFrame = math.MaxUint32

// A builder is the state of a Build, from which Extend goes on. The table's
// lock is held while it works.
type builder struct {
	t *Table
	// row is the next row to be paired.
	row       int64
	short     batch
	namer     Namer
	exact     bool // the log's ExactLeaves
	addresses *Addresses
	counting  bool // the rows are not counted yet from an earlier build
	// functions caches the Namer's answers by address number: 0 for not yet
	// asked, otherwise the answer + 1.
	functions []uint64
	run       int32
	// lastTime is that of the last event that is not damaged.
	lastTime int64
	frames   store[frame]
	none     uint32 // head of the list of free frames
	// ordinals has for each frame the number of its enter among its thread's
	// events, if the table counts inside.
	ordinals []int64
	live     []*thread // those that have a stack in this run
	// recentThreads and recentAddresses spare most events the hash tables.
	// An unused entry of recentAddresses has no entry.
	recentThreads   [1 << recentBits]*thread
	recentAddresses [1 << recentBits]struct {
		value uint64
		entry *Address
		id    uint32
		space uint16
	}
	// deep has the index of deep stacks: how often a key is on the stack.
	deep map[*thread]map[key]uint32
}

// A key is an address number, or a function with the bit functionKey.
type key uint64

const functionKey = 1 << 32

// add pairs the next events, which are of one run.
func (b *builder) add(run int, events []parser.Event) {
	for int32(run) != b.run {
		b.endRun()
		b.run++
	}
	t, row := b.t, b.row
	stacks, _ := t.log.(parser.Stacker)
	var chunk []entry
	for k := range events {
		e := &events[k]
		if stacks != nil && e.Kind != parser.Damaged {
			thread, _ := stacks.Strand(e.Thread)
			t.perThread[thread]++
		}
		if chunk == nil || row%entryChunk == 0 {
			chunk = t.chunk(row)
		}
		switch e.Kind {
		case parser.Enter:
			th := b.thread(e.Thread)
			th.records++
			if e.Gap != parser.NoGap {
				b.resume(th, e, row)
			}
			chunk[row%entryChunk] = entry{0, min(th.depth, maxDepth) << markBits}
			b.push(th, row, e)
			b.lastTime = e.Time
		case parser.Leave:
			th := b.thread(e.Thread)
			th.records++
			if e.Gap != parser.NoGap {
				b.resume(th, e, row)
			}
			b.leave(th, row, e)
			b.lastTime = e.Time
		default:
			var depth uint32
			if th := t.threads.find(e.Thread); th != nil {
				depth = min(th.depth, maxDepth)
			}
			t.marks[Damaged]++
			*t.entry(row) = entry{0, depth<<markBits | uint32(Damaged)}
		}
		row++
	}
	b.row = row
}

// thread returns the stack that the events of an id are on: a thread's own, or that of a
// coroutine, which is known by the first id that it had.
func (b *builder) thread(id uint32) *thread {
	recent := &b.recentThreads[id*0x9e3779b1>>(32-recentBits)]
	if th := *recent; th != nil && th.id == id {
		return th
	}
	if log, ok := b.t.log.(parser.Stacker); ok {
		if _, stack := log.Strand(id); stack != 0 {
			th := b.t.stacks[stack]
			if th == nil {
				th = b.t.threads.add(id)
				th.stack = stack
				b.t.stacks[stack] = th
			}
			return th
		}
	}
	*recent = b.t.threads.add(id)
	return *recent
}

// address returns the number of an event's address and counts it.
func (b *builder) address(e *parser.Event) (uint32, *Address) {
	recent := &b.recentAddresses[e.Address*0x9e3779b97f4a7c15>>(64-recentBits)]
	if recent.value != e.Address || recent.space != e.Space || recent.entry == nil {
		id := b.addresses.add(b.run, e.Space, e.Address)
		recent.value, recent.space, recent.entry, recent.id = e.Address, e.Space, b.addresses.list.at(id), id
	}
	if b.counting {
		recent.entry.Records++
	}
	return recent.id, recent.entry
}

func (b *builder) push(th *thread, row int64, e *parser.Event) {
	id, a := b.address(e)
	if !a.entered {
		a.entered = true
	}
	b.pushFrame(th, frame{row, e.Time, id, th.top})
}

func (b *builder) pushFrame(th *thread, f frame) {
	i := b.none
	if i == noFrame {
		i = b.frames.add()
	} else {
		b.none = b.frames.at(i).below
	}
	*b.frames.at(i) = f
	if b.t.countInside {
		for int(i) >= len(b.ordinals) {
			b.ordinals = append(b.ordinals, 0)
		}
		b.ordinals[i] = th.records
	}
	th.top = i
	th.depth++
	if !th.live {
		th.live = true
		b.live = append(b.live, th)
	}
	if th.indexed {
		b.index(b.deep[th], f.address)
	}
}

// maxOuter bounds the calls of which nothing is known that are put on a stack.
const maxOuter = 1 << 16

// noRow is the row of a call whose enter is missing.
const noRow = -1

// resume makes a thread's stack what the log says is open before an event.
// Calls that are not open any more were left without a leave that is known.
func (b *builder) resume(th *thread, e *parser.Event, row int64) {
	if e.Gap >= parser.CallsLeft {
		for n := int(e.Gap-parser.CallsLeft) + 1; n > 0 && th.depth > 0; n-- {
			b.forget(th)
		}
		return
	}
	if e.Gap == parser.ThreadBegins {
		b.endThread(th, e.Time)
	}
	var open []parser.OpenCall
	outer := 0
	if log, ok := b.t.log.(parser.Resumer); ok && e.Gap == parser.EventsMissing {
		_, record := b.t.Position(row)
		var err error
		if open, outer, err = log.OpenCalls(record); err != nil {
			// The leaves of these calls will be strays.
			open, outer = nil, 0
		}
	}
	outer = min(outer, maxOuter)
	for th.depth > 0 {
		i := int(th.depth) - 1 - outer
		if i < 0 {
			break
		}
		if i < len(open) {
			if a := b.addresses.list.at(b.frames.at(th.top).address); a.Value == open[i].Address && (a.Space^open[i].Space)&1 == 0 {
				break
			}
		}
		b.forget(th)
	}
	for i := int(th.depth) - outer; i < len(open); i++ {
		var c parser.OpenCall
		if i >= 0 {
			c = open[i]
		}
		id := b.addresses.add(b.run, c.Space, c.Address)
		b.addresses.list.at(id).entered = true
		b.pushFrame(th, frame{noRow, e.Time, id, th.top})
		th.rowless++
	}
}

// pop takes the top call from a stack that is not empty.
func (b *builder) pop(th *thread) frame {
	i := th.top
	p := b.frames.at(i)
	f := *p
	p.below = b.none
	b.none = i
	th.top = f.below
	th.depth--
	if th.indexed {
		if th.depth <= dropIndex {
			th.indexed = false
			delete(b.deep, th)
		} else {
			b.unindex(b.deep[th], f.address)
		}
	}
	return f
}

func (b *builder) leave(th *thread, row int64, e *parser.Event) {
	if th.depth == 0 {
		b.address(e)
		b.stray(row)
		return
	}
	top := b.frames.at(th.top).address
	if a := b.addresses.list.at(top); a.Value == e.Address && a.Space == e.Space {
		if b.counting {
			a.Records++
		}
		b.closeTop(th, row, e.Time, None)
		return
	}
	id, a := b.address(e)
	// An address that no enter has is on no stack: so it is with all leaves
	// of recorders that do not write the enter's address again.
	if a.entered {
		if above := b.above(th, key(id)); above >= 0 {
			b.closeDownTo(th, above, row, e.Time)
			return
		}
	}
	if b.exact {
		b.stray(row)
		return
	}
	b.t.byPosition = true
	if b.namer == nil {
		b.closeTop(th, row, e.Time, None)
		return
	}
	f, topf := b.function(id), b.function(top)
	if f == 0 || topf == 0 || f == topf {
		b.closeTop(th, row, e.Time, None)
		return
	}
	if above := b.above(th, functionKey|key(f)); above > 1 {
		b.closeDownTo(th, above, row, e.Time)
		return
	}
	b.closeTop(th, row, e.Time, Tail)
}

func (b *builder) stray(row int64) {
	b.t.marks[Stray]++
	*b.t.entry(row) = entry{0, uint32(Stray)}
}

// above returns how many calls are above the nearest one with the key on the
// stack, or -1 where there is none.
func (b *builder) above(th *thread, k key) int {
	near := min(th.depth, nearFrames)
	i := th.top
	for n := range near {
		f := b.frames.at(i)
		if b.has(f.address, k) {
			return int(n)
		}
		i = f.below
	}
	if near == th.depth {
		return -1
	}
	if !th.indexed {
		th.indexed = true
		if b.deep == nil {
			b.deep = make(map[*thread]map[key]uint32)
		}
		index := make(map[key]uint32)
		b.deep[th] = index
		for i, n := th.top, th.depth; n > 0; n-- {
			f := b.frames.at(i)
			b.index(index, f.address)
			i = f.below
		}
	}
	if b.deep[th][k] == 0 {
		return -1
	}
	// The calls walked over here are closed, so each is walked over once.
	n := int(near)
	for ; !b.has(b.frames.at(i).address, k); n++ {
		i = b.frames.at(i).below
	}
	return n
}

func (b *builder) has(address uint32, k key) bool {
	if k&functionKey == 0 {
		return key(address) == k
	}
	return functionKey|key(b.function(address)) == k
}

func (b *builder) index(index map[key]uint32, address uint32) {
	index[key(address)]++
	if f := b.function(address); f != 0 {
		index[functionKey|key(f)]++
	}
}

func (b *builder) unindex(index map[key]uint32, address uint32) {
	forget := func(k key) {
		if n := index[k]; n > 1 {
			index[k] = n - 1
		} else {
			delete(index, k)
		}
	}
	forget(key(address))
	if f := b.function(address); f != 0 {
		forget(functionKey | key(f))
	}
}

// function returns the function of an address by number.
func (b *builder) function(id uint32) Function {
	if b.namer == nil {
		return 0
	}
	for uint32(len(b.functions)) <= id {
		b.functions = append(b.functions, 0)
	}
	if b.functions[id] == 0 {
		a := b.addresses.list.at(id)
		b.functions[id] = 1 + uint64(b.namer(int(b.run), a.Space, a.Value))
	}
	return Function(b.functions[id] - 1)
}

func (b *builder) closeDownTo(th *thread, above int, row, at int64) {
	for range above {
		b.forget(th)
	}
	b.closeTop(th, row, at, None)
}

// forget takes the top call, which was left without a leave, from the stack.
func (b *builder) forget(th *thread) {
	if f := b.pop(th); f.row == noRow {
		th.rowless--
	} else {
		b.mark(f.row, NoLeave)
	}
}

func (b *builder) mark(row int64, m Mark) {
	b.t.marks[m]++
	b.t.entry(row).bits |= uint32(m)
}

// closeTop pairs the leave at row, of time at, with the top call.
func (b *builder) closeTop(th *thread, row, at int64, m Mark) {
	i := th.top
	f := b.pop(th)
	t := b.t
	if f.row == noRow {
		th.rowless--
		t.marks[NoEnter]++
		*t.entry(row) = entry{0, min(th.depth, maxDepth)<<markBits | uint32(NoEnter)}
		return
	}
	if t.countInside {
		t.inside[row/entryChunk][row%entryChunk] = uint32(min(th.records-b.ordinals[i]-1, math.MaxUint32))
	}
	enter, leave := t.entry(f.row), t.entry(row)
	if delta := row - f.row; delta < farFrom {
		enter.partner, leave.partner = int32(delta), int32(-delta)
	} else {
		if t.far == nil {
			t.far = make(map[int64]int64)
		}
		t.far[f.row], t.far[row] = row, f.row
		enter.partner, leave.partner = farAfter, farBefore
	}
	packed, ok := packDuration(Elapsed(f.time, at))
	if !ok {
		t.long = append(t.long, longCall{row, Elapsed(f.time, at)})
	}
	leave.bits = packed<<markBits | uint32(m)
	if m != None {
		t.marks[m]++
	}
}

// endThread notes how long the calls of a thread lasted that has ended before a
// time, if the log knows.
func (b *builder) endThread(th *thread, before int64) {
	log, ok := b.t.log.(parser.Ender)
	if !ok || th.depth == 0 || th.stack != 0 {
		return
	}
	if at, ok := log.ThreadEnd(th.id, b.frames.at(th.top).time, before); ok {
		b.endCalls(b.t.ended, th, at, th.records-1)
		b.withThread(b.t.ended, th)
	}
}

// withThread notes that the calls of a thread ended with it.
func (b *builder) withThread(list map[int64]endedCall, th *thread) {
	for i, n := th.top, th.depth; n > 0; n-- {
		f := b.frames.at(i)
		if c, ok := list[f.row]; ok {
			c.withThread = true
			list[f.row] = c
		}
		i = f.below
	}
}

// endCalls notes how long the open calls of a thread, which had so many events, last
// if they end at a time.
func (b *builder) endCalls(list map[int64]endedCall, th *thread, at, records int64) {
	for i, n := th.top, th.depth; n > 0; n-- {
		f := b.frames.at(i)
		if f.row != noRow {
			c := endedCall{duration: Elapsed(f.time, at)}
			if b.t.countInside {
				c.inside = records - b.ordinals[i]
			}
			list[f.row] = c
		}
		i = f.below
	}
}

// openCalls returns how long the open calls of the last run have lasted, and
// whether they have ended with their thread.
func (b *builder) openCalls() map[int64]endedCall {
	list := make(map[int64]endedCall)
	end := b.lastTime
	log, ends := b.t.log.(parser.Ender)
	if ends {
		at, _ := log.End()
		end = max(end, at)
	}
	for _, th := range b.live {
		if th.depth == 0 {
			continue
		}
		b.endCalls(list, th, end, th.records)
		if !ends || th.stack != 0 {
			continue
		}
		if at, ok := log.ThreadEnd(th.id, b.frames.at(th.top).time, math.MaxInt64); ok {
			b.endCalls(list, th, at, th.records)
			b.withThread(list, th)
		}
	}
	return list
}

// endRun empties the stacks of a run that has ended.
func (b *builder) endRun() {
	for _, th := range b.live {
		b.endCalls(b.t.ended, th, b.lastTime, th.records)
		if th.indexed {
			th.indexed = false
			delete(b.deep, th)
		}
		b.t.marks[Open] += int64(th.depth - th.rowless)
		for th.depth > 0 {
			b.pop(th)
		}
		th.live, th.rowless = false, 0
	}
	b.live = b.live[:0]
	clear(b.recentAddresses[:])
}
