package calls

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

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

	b := &builder{t: t, namer: namer, addresses: t.Addresses(), none: noFrame}
	if b.addresses == nil {
		b.counting = true
		b.addresses = &Addresses{hash: newHash()}
	}
	t.mu.Lock()
	t.pass = pass{threads: threads{hash: newHash()}}
	t.done = false
	t.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	reader := newReadAhead(ctx, t.log, t.runs)
	defer reader.wait()
	defer cancel()

	var row int64
	var told time.Time
	for {
		batch := reader.next()
		if batch == nil {
			break
		}
		t.mu.Lock()
		b.add(batch, row)
		row += int64(len(batch.events))
		t.rows = max(t.rows, row)
		t.mu.Unlock()
		err := batch.err
		reader.recycle(batch)
		if err != nil {
			return err
		}
		if progress != nil && time.Since(told) >= progressEvery {
			told = time.Now()
			progress(row, t.Total())
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	b.endRun()
	t.addresses = b.addresses
	t.done = true
	t.mu.Unlock()
	if progress != nil {
		progress(row, t.Total())
	}
	return nil
}

// A batch is a block of events of one run, as long as err is nil.
type batch struct {
	events []parser.Event
	run    int
	err    error
}

// A readAhead reads the next block while the last one is being paired.
type readAhead struct {
	full, free chan *batch
	done       chan struct{}
}

func newReadAhead(ctx context.Context, log parser.Log, runs []parser.Run) *readAhead {
	longest := int64(0)
	for _, run := range runs {
		longest = max(longest, run.Count)
	}
	r := &readAhead{make(chan *batch, 2), make(chan *batch, 2), make(chan struct{})}
	for range cap(r.free) {
		r.free <- &batch{events: make([]parser.Event, 0, min(blockLen, longest))}
	}
	go r.read(ctx, log, runs)
	return r
}

func (r *readAhead) read(ctx context.Context, log parser.Log, runs []parser.Run) {
	defer close(r.done)
	defer close(r.full)
	for k, run := range runs {
		for first, end := run.First, run.First+run.Count; first < end; {
			var b *batch
			select {
			case b = <-r.free:
			case <-ctx.Done():
				return
			}
			n := int(min(blockLen, end-first))
			got, err := log.ReadEvents(b.events[:n], first)
			b.events, b.run, b.err = b.events[:got], k, nil
			if got < n {
				if err == nil || err == io.EOF {
					err = io.ErrUnexpectedEOF
				}
				b.err = fmt.Errorf("record %d: %w", first+int64(got), err)
			}
			first += int64(got)
			select {
			case r.full <- b:
			case <-ctx.Done():
				return
			}
			if b.err != nil {
				return
			}
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

// A builder is the state of one Build. The table's lock is held while it
// works.
type builder struct {
	t         *Table
	namer     Namer
	addresses *Addresses
	counting  bool // the addresses are not known from an earlier build
	// functions caches the Namer's answers by address number: 0 for not yet
	// asked, otherwise the answer + 1.
	functions []uint64
	run       int32
	frames    store[frame]
	none      uint32    // head of the list of free frames
	live      []*thread // those that have a stack in this run
	// recentThreads and recentAddresses spare most events the hash tables.
	// An unused entry of recentAddresses has no entry.
	recentThreads   [1 << recentBits]*thread
	recentAddresses [1 << recentBits]struct {
		value uint64
		entry *Address
		id    uint32
	}
	// deep has the index of deep stacks: how often a key is on the stack.
	deep map[*thread]map[key]uint32
}

// A key is an address number, or a function with the bit functionKey.
type key uint64

const functionKey = 1 << 32

func (b *builder) add(batch *batch, row int64) {
	for int32(batch.run) != b.run {
		b.endRun()
		b.run++
	}
	t := b.t
	var chunk []entry
	for k := range batch.events {
		e := &batch.events[k]
		if chunk == nil || row%entryChunk == 0 {
			if int(row/entryChunk) == len(t.chunks) {
				t.chunks = append(t.chunks, make([]entry, min(entryChunk, t.Total()-row)))
			}
			chunk = t.chunks[row/entryChunk]
		}
		switch e.Kind {
		case parser.Enter:
			th := b.thread(e.Thread)
			th.records++
			chunk[row%entryChunk] = entry{0, min(th.depth, maxDepth) << markBits}
			b.push(th, row, e)
		case parser.Leave:
			th := b.thread(e.Thread)
			th.records++
			b.leave(th, row, e)
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
}

func (b *builder) thread(id uint32) *thread {
	recent := &b.recentThreads[id*0x9e3779b1>>(32-recentBits)]
	if th := *recent; th != nil && th.id == id {
		return th
	}
	*recent = b.t.threads.add(id)
	return *recent
}

// address returns the number of an event's address and counts it.
func (b *builder) address(address uint64) (uint32, *Address) {
	recent := &b.recentAddresses[address*0x9e3779b97f4a7c15>>(64-recentBits)]
	if recent.value != address || recent.entry == nil {
		id := b.addresses.add(b.run, address)
		recent.value, recent.entry, recent.id = address, b.addresses.list.at(id), id
	}
	if b.counting {
		recent.entry.Records++
	}
	return recent.id, recent.entry
}

func (b *builder) push(th *thread, row int64, e *parser.Event) {
	id, a := b.address(e.Address)
	if !a.entered {
		a.entered = true
	}
	i := b.none
	if i == noFrame {
		i = b.frames.add()
	} else {
		b.none = b.frames.at(i).below
	}
	*b.frames.at(i) = frame{row, e.Time, id, th.top}
	th.top = i
	th.depth++
	if !th.live {
		th.live = true
		b.live = append(b.live, th)
	}
	if th.indexed {
		b.index(b.deep[th], id)
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
		b.address(e.Address)
		b.t.marks[Stray]++
		*b.t.entry(row) = entry{0, uint32(Stray)}
		return
	}
	top := b.frames.at(th.top).address
	if a := b.addresses.list.at(top); a.Value == e.Address {
		if b.counting {
			a.Records++
		}
		b.closeTop(th, row, e.Time, None)
		return
	}
	id, a := b.address(e.Address)
	// An address that no enter has is on no stack: so it is with all leaves
	// of recorders that do not write the enter's address again.
	if a.entered {
		if above := b.above(th, key(id)); above >= 0 {
			b.closeDownTo(th, above, row, e.Time)
			return
		}
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
		b.functions[id] = 1 + uint64(b.namer(int(b.run), b.addresses.list.at(id).Value))
	}
	return Function(b.functions[id] - 1)
}

func (b *builder) closeDownTo(th *thread, above int, row, at int64) {
	for range above {
		f := b.pop(th)
		b.mark(f.row, NoLeave)
	}
	b.closeTop(th, row, at, None)
}

func (b *builder) mark(row int64, m Mark) {
	b.t.marks[m]++
	b.t.entry(row).bits |= uint32(m)
}

// closeTop pairs the leave at row, of time at, with the top call.
func (b *builder) closeTop(th *thread, row, at int64, m Mark) {
	f := b.pop(th)
	t := b.t
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
	packed, ok := packDuration(elapsed(f.time, at))
	if !ok {
		t.long = append(t.long, longCall{row, elapsed(f.time, at)})
	}
	leave.bits = packed<<markBits | uint32(m)
	if m != None {
		t.marks[m]++
	}
}

// elapsed returns the nanoseconds from start to end, within 0 and the
// greatest int64.
func elapsed(start, end int64) int64 {
	if end <= start {
		return 0
	}
	if d := end - start; d > 0 {
		return d
	}
	return math.MaxInt64
}

// endRun closes the stacks of a run that has ended.
func (b *builder) endRun() {
	for _, th := range b.live {
		if th.indexed {
			th.indexed = false
			delete(b.deep, th)
		}
		for th.depth > 0 {
			f := b.pop(th)
			b.mark(f.row, Open)
		}
		th.live = false
	}
	b.live = b.live[:0]
	clear(b.recentAddresses[:])
}
