package index

import (
	"io"
	"math"
	"sync"

	"logparser/calls"
	"logparser/calls/internal/hash"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/message"
	"logparser/parser"
)

// A replay fills blocks by reading their events again. It keeps its memory from one block to the next.
type replay struct {
	events  []parser.Event
	threads []replayThread
	byID    hash.Table // by key
	// stacks is nil if there are no other stacks than the threads' own.
	stacks *pairing.Sequential
	// pairs, insides and selves are the columns that are filled.
	pairs, insides, selves bool

	ordinal []int64
	inner   []int64 // time spent in the calls that an open call made
	// recent are numbers of addresses of owner.
	owner  *calls.Addresses
	recent []recentAddress
	// changed says that the log has other records than the index was made of.
	changed bool
	lanes   [maxLanes]lane
}

// A replayThread is a thread in a replay.
type replayThread struct {
	// id is what its last event had as its thread, key the id, or the slot where a stack
	// may be on several threads.
	id, slot, key uint32
	top           uint32
	depth         int32
	records       int64
	frames        []int32 // rows in the block, -1 for calls without a row
}

var replays = sync.Pool{New: func() any { return &replay{byID: hash.New()} }}

// Fill reads block k into b, with the columns wanted. While the index is built, or
// the log grows, there may be more blocks each time; what is said of one other than
// the last changes only in that open calls end.
func (x *Index) Fill(b *Block, k int, want Columns) error {
	r := replays.Get().(*replay)
	defer replays.Put(r)
	return r.fill(x, x.core.Load(), b, k, want)
}

// fill reads a block's events into r.events, and fills the columns wanted.
func (r *replay) fill(x *Index, c *core, b *Block, k int, want Columns) error {
	c.mu.RLock()
	row := c.pairs.Row()
	c.mu.RUnlock()
	first := int64(k) * sizes.Block
	n := int(min(sizes.Block, row-first))
	if k < 0 || n <= 0 {
		return message.Errorf("there is no block %d: %w", k, io.EOF)
	}
	b.First, b.N, b.OpenRuns = first, n, b.OpenRuns[:0]
	if cap(r.events) < n {
		r.events = make([]parser.Event, sizes.Block)
	}
	r.changed = false
	if want&Owners != 0 {
		want |= Threads
	}
	events := r.events[:n]
	l := c.layout()
	stacks := want&(Durations|Pairs|Insides|Selves) != 0
	if err := c.read(l, events, first, stacks || want&Times != 0); err != nil {
		return err
	}
	if want&Times != 0 {
		b.Time = sized(b.Time, n)
		for i := range events {
			b.Time[i] = events[i].Time
		}
	}
	if want&Kinds != 0 && (stacks || want&Depths == 0) {
		b.Kind = sized(b.Kind, n)
		for i := range events {
			b.Kind[i] = events[i].Kind
		}
	}
	if want&Addresses != 0 {
		b.Address = sized(b.Address, n)
		r.number(c.addresses, l, first, events, b.Address)
	}
	switch {
	case !stacks && want&Depths != 0:
		c.mu.RLock()
		defer c.mu.RUnlock()
		r.depths(c, l, b, k, events, want)
	case !stacks && want&Threads != 0:
		c.mu.RLock()
		defer c.mu.RUnlock()
		r.slots(c, b, k, events)
	case stacks:
		e := x.ends(c)
		e.calls = x.openCallsOf(c)
		c.mu.RLock()
		defer c.mu.RUnlock()
		r.replay(c, l, b, k, events, want, e)
	}
	if want&Owners != 0 {
		r.owners(c, b, events)
	}
	if r.changed {
		return message.Errorf("rows %d to %d: %w", b.First, b.First+int64(n)-1, parser.ErrShrunk)
	}
	return nil
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, int(sizes.Block)))
	}
	return s[:n]
}

// thread returns the thread of an id in the block, or nil.
func (r *replay) thread(id uint32) *replayThread {
	key := id
	if r.stacks != nil {
		stack, _, ok := r.stacks.Strand(id)
		if !ok {
			return nil
		}
		key = stack
	}
	h := &r.byID
	for s := h.Start(uint64(key), 0); ; s++ {
		i := h.At(s)
		if i == 0 {
			return nil
		}
		if th := &r.threads[i-1]; th.key == key {
			th.id = id
			return th
		}
	}
}

// begin takes over the states of the threads that are active in a block.
func (r *replay) begin(c *core, k int) {
	clear(r.byID.Slots)
	if r.stacks = nil; c.pairs.HasStacks() {
		r.stacks = c.pairs
	}
	old := r.threads[:cap(r.threads)]
	r.threads = r.threads[:0]
	from, to := c.visitsOf(k)
	for r.byID.Full(to - from) {
		r.byID.Grow()
	}
	for i := from; i < to; i++ {
		v := c.visits.at(i)
		th := replayThread{id: c.pairs.Stack(v.thread).ID(), slot: v.thread, top: v.top, records: v.records}
		if th.key = th.id; r.stacks != nil {
			th.key = v.thread
		}
		if n := len(r.threads); n < len(old) {
			th.frames = old[n].frames[:0]
		}
		if v.top != NoNode {
			th.depth = c.nodes.at(int(v.top)).Depth + 1
		}
		r.threads = append(r.threads, th)
		r.byID.Put(r.byID.Start(uint64(th.key), 0), uint32(len(r.threads)-1))
	}
}

// slots fills the column of threads.
func (r *replay) slots(c *core, b *Block, k int, events []parser.Event) {
	r.begin(c, k)
	b.Thread = sized(b.Thread, len(events))
	id, slot := uint32(0), uint32(0)
	known := false
	for i := range events {
		ev := &events[i]
		if !known || ev.Thread != id || ev.Kind == parser.Damaged {
			th := r.thread(ev.Thread)
			if ev.Kind == parser.Damaged || th == nil {
				b.Thread[i], _ = r.damaged(c, b, k, ev, th, true)
				continue
			}
			id, slot, known = ev.Thread, th.slot, true
		}
		b.Thread[i] = slot
	}
}

// depths fills the columns of depths and kinds, and that of threads if it is
// wanted. How deep a thread is takes no stack.
func (r *replay) depths(c *core, l *calls.Layout, b *Block, k int, events []parser.Event, want Columns) {
	n := len(events)
	r.begin(c, k)
	b.Depth, b.Kind = sized(b.Depth, n), sized(b.Kind, n)
	if want&Threads != 0 {
		b.Thread = sized(b.Thread, n)
	}
	exceptions := c.exceptionsOf(k)
	run, _ := l.Position(b.First)
	ends := l.Starts[run+1] - b.First
	began := false
	var th *replayThread
	for i := 0; i < n; {
		for int64(i) >= ends {
			run++
			ends = l.Starts[run+1] - b.First
			began = true
			for t := range r.threads {
				r.threads[t].depth = 0
			}
		}
		ev := &events[i]
		if th == nil || th.id != ev.Thread {
			th = r.thread(ev.Thread)
		}
		if ev.Kind == parser.Damaged || th == nil {
			slot, depth := r.damaged(c, b, k, ev, th, began)
			b.Depth[i], b.Kind[i] = depth, ev.Kind
			if want&Threads != 0 {
				b.Thread[i] = slot
			}
			i++
			continue
		}
		isStray := false
		for len(exceptions) > 0 && int(exceptions[0].Row) <= i {
			switch x := &exceptions[0]; x.Kind {
			case pairing.Stray:
				isStray = true
			case pairing.Unwound:
				th.depth -= min(int32(x.N), th.depth)
			case pairing.Resumed:
				th.depth -= min(int32(x.N), th.depth)
				for _, p := range x.Pushed {
					b.OpenRuns = append(b.OpenRuns, OpenRun{int32(i), th.depth, int32(p.N), th.slot, p.Address})
					th.depth += int32(p.N)
				}
			}
			exceptions = exceptions[1:]
		}
		start := i
		if isStray {
			b.Depth[i], b.Kind[i] = 0, ev.Kind
			i++
		} else {
			stop := int(min(int64(n), ends))
			if len(exceptions) > 0 {
				stop = min(stop, int(exceptions[0].Row))
			}
			i, th.depth = stretch(b, events, i, stop, th.id, th.depth)
		}
		if want&Threads != 0 {
			slots := b.Thread[start:i]
			for j := range slots {
				slots[j] = th.slot
			}
		}
	}
}

// stretch fills depths and kinds from element i on, while the events are whole
// ones of a thread. Enters and leaves follow each other in no order that a
// processor could predict, so there are no branches on them.
func stretch(b *Block, events []parser.Event, i, stop int, id uint32, depth int32) (int, int32) {
	depths, kinds, events := b.Depth[:stop], b.Kind[:stop], events[:stop]
	first, before, least := i, depth, int32(0)
	for ; i < len(events); i++ {
		e := &events[i]
		if e.Thread != id || e.Kind > parser.Leave {
			break
		}
		leave := int32(e.Kind)
		kinds[i] = e.Kind
		depths[i] = depth - leave
		least |= depth - leave
		depth += 1 - 2*leave
	}
	if least < 0 {
		// No index that was built has leaves without a call that are not known
		// as such; the log has been changed.
		depth = before
		for j := first; j < i; j++ {
			leave := int32(events[j].Kind)
			depth = max(depth-leave, 0)
			depths[j] = depth
			depth += 1 - leave
		}
	}
	return i, depth
}

// pair fills durations, and the other columns of pairs if they are wanted, from
// element i on, while the events are whole ones of a thread and the calls that
// are left are of this block. open is the anomaly of an enter without a leave. Its differences of times must not
// overflow. It may end early, so that a stack has room for few more calls than it had: a block may have thousands of stacks.
func (r *replay) pair(b *Block, th *replayThread, events []parser.Event, i, stop int, open calls.Anomaly) int {
	const least = 256
	sp := len(th.frames)
	stop = min(stop, i+max(sp, least))
	if need := sp + stop - i; cap(th.frames) < need {
		th.frames = append(make([]int32, 0, need), th.frames...)
	}
	stack := th.frames[:sp+stop-i]
	events = events[:stop]
	depths, durations := b.Depth[:stop], b.Duration[:stop]
	var partners []int64
	var anomalies []calls.Anomaly
	if r.pairs {
		partners, anomalies = b.Partner[:stop], b.Anomaly[:stop]
	}
	start := i
	for ; i < len(events); i++ {
		e := &events[i]
		leave := int(e.Kind)
		p := sp - leave
		if e.Thread != th.id || leave > 1 || p < 0 {
			break
		}
		none := int64(leave) - 1 // all bits of an enter
		// An enter is a pair with itself until its leave comes.
		f := stack[p]&^int32(none) | int32(i)&int32(none)
		if f < 0 {
			break
		}
		stack[p] = f
		sp = p + 1 - leave
		depths[i] = th.depth + int32(p)
		d := e.Time - events[f].Time
		if d < 0 {
			d = calls.Elapsed(events[f].Time, e.Time)
		}
		d |= none
		durations[i], durations[f] = d, d
		if partners != nil {
			partners[i], partners[f] = (b.First+int64(f))|none, (b.First+int64(i))|none
			m := open & calls.Anomaly(none)
			anomalies[i], anomalies[f] = m, m
		}
	}
	th.records += int64(i - start)
	th.frames = stack[:sp]
	return i
}

// replay fills the columns that the stacks are needed for.
func (r *replay) replay(c *core, l *calls.Layout, b *Block, k int, events []parser.Event, want Columns, e ends) {
	n := len(events)
	r.begin(c, k)
	r.columns(b, n, want)
	s := c.groups[0].at(k)
	// Differences of times that do not fit are not for pair.
	fits := s.FirstTime > s.LastTime || uint64(s.LastTime)-uint64(s.FirstTime) <= math.MaxInt64
	fast := fits && !r.insides && !r.selves
	lanes := fast && r.pairs && r.stacks == nil && want&Threads == 0 && r.haveLanes()
	exceptions := c.exceptionsOf(k)
	run, _ := l.Position(b.First)
	next := firstRow(exceptions)
	// ends is the element with which the run ends.
	ends := l.Starts[run+1] - b.First
	open := e.anomaly(b.First)
	began := false // a run began in the block
	var th *replayThread
	for i := 0; i < n; i++ {
		ev := &events[i]
		if next < int32(i) {
			// The log has changed: the record of the exception is another one now.
			for firstRow(exceptions) < int32(i) {
				exceptions = exceptions[1:]
			}
			next = firstRow(exceptions)
		}
		for int64(i) >= ends {
			run++
			ends = l.Starts[run+1] - b.First
			open = e.anomaly(b.First + int64(i))
			began = true
			r.beginRun()
		}
		if th == nil || th.id != ev.Thread {
			th = r.thread(ev.Thread)
		}
		if ev.Kind == parser.Damaged || th == nil {
			slot, depth := r.damaged(c, b, k, ev, th, began)
			b.Depth[i] = depth
			if want&Threads != 0 {
				b.Thread[i] = slot
			}
			r.unpaired(b, i, calls.Damaged)
			continue
		}
		if lanes && int32(i) != next {
			if stop := r.pairLanes(b, events, i, int(min(int64(n), ends, int64(next))), open); stop > i {
				i = stop - 1
				continue
			}
		} else if fast && int32(i) != next {
			stop := r.pair(b, th, events, i, int(min(int64(n), ends, int64(next))), open)
			if want&Threads != 0 {
				slots := b.Thread[i:stop]
				for j := range slots {
					slots[j] = th.slot
				}
			}
			if stop > i {
				i = stop - 1
				continue
			}
		}
		if want&Threads != 0 {
			b.Thread[i] = th.slot
		}
		th.records++
		m := calls.None
		if int32(i) == next {
			for firstRow(exceptions) == int32(i) {
				if x := r.except(c, b, th, &exceptions[0], int32(i)); x != calls.None {
					m = x
				}
				exceptions = exceptions[1:]
			}
			if next = firstRow(exceptions); m == calls.Stray {
				b.Depth[i] = 0
				r.unpaired(b, i, calls.Stray)
				continue
			}
		}
		if ev.Kind == parser.Enter {
			r.enter(b, th, i, open)
		} else if n := len(th.frames); n > 0 && th.frames[n-1] >= 0 {
			r.leave(b, th, events, i, m)
		} else {
			r.close(c, b, th, i, ev.Time, m)
		}
	}
	from, to := c.nodesOf(k)
	for j := from; j < to; j++ {
		r.node(c, b, j, e)
	}
	for _, o := range e.calls.inBlock(b.First, int64(n)) {
		r.leaveless(b, o)
	}
}

// enter fills the row of an enter, whose call is open as far as is known yet.
func (r *replay) enter(b *Block, th *replayThread, i int, open calls.Anomaly) {
	b.Depth[i], b.Duration[i] = th.depth+int32(len(th.frames)), calls.NoDuration
	th.frames = append(th.frames, int32(i))
	if !r.pairs {
		return
	}
	b.Partner[i], b.Anomaly[i] = calls.NoPartner, open
	if r.insides {
		b.Inside[i], r.ordinal[i] = -1, th.records
	}
	if r.selves {
		b.Self[i], r.inner[i] = calls.NoDuration, 0
	}
}

// leave fills the row of a leave that closes a call of the block, and that of its enter.
func (r *replay) leave(b *Block, th *replayThread, events []parser.Event, i int, m calls.Anomaly) {
	k := len(th.frames) - 1
	f := th.frames[k]
	th.frames = th.frames[:k]
	b.Depth[i] = th.depth + int32(k)
	d := calls.Elapsed(events[f].Time, events[i].Time)
	b.Duration[i], b.Duration[f] = d, d
	if !r.pairs {
		return
	}
	b.Partner[i], b.Anomaly[i] = b.First+int64(f), m
	b.Partner[f], b.Anomaly[f] = b.First+int64(i), calls.None
	if r.insides {
		inside := th.records - r.ordinal[f] - 1
		b.Inside[i], b.Inside[f] = inside, inside
	}
	if r.selves {
		own := calls.SelfTime(d, r.inner[f])
		b.Self[i], b.Self[f] = own, own
		if k > 0 {
			if o := th.frames[k-1]; o >= 0 {
				r.inner[o] += d
			}
		}
	}
}

// columns makes room for n rows in the columns that are filled. Those that are not
// wanted are not; inside and self go with the pairs, and cost more.
func (r *replay) columns(b *Block, n int, want Columns) {
	r.pairs, r.insides, r.selves = want&(Pairs|Insides|Selves) != 0, want&Insides != 0, want&Selves != 0
	b.Duration = sized(b.Duration, n)
	b.Depth = sized(b.Depth, n)
	if want&Threads != 0 {
		b.Thread = sized(b.Thread, n)
	}
	if r.pairs {
		b.Partner, b.Anomaly = sized(b.Partner, n), sized(b.Anomaly, n)
	}
	if r.insides {
		b.Inside, r.ordinal = sized(b.Inside, n), sized(r.ordinal, n)
	}
	if r.selves {
		b.Self, r.inner = sized(b.Self, n), sized(r.inner, n)
	}
}

// firstRow returns the row of the first of the exceptions, one behind all where there is
// none.
func firstRow(list []pairing.Exception) int32 {
	if len(list) == 0 {
		return math.MaxInt32
	}
	return int32(list[0].Row)
}

// beginRun empties the stacks: a run has stacks of its own.
func (r *replay) beginRun() {
	for t := range r.threads {
		th := &r.threads[t]
		th.top, th.depth, th.frames = NoNode, 0, th.frames[:0]
	}
}

// except does what an exception of a row says, and returns the anomaly that the row has by
// it.
func (r *replay) except(c *core, b *Block, th *replayThread, x *pairing.Exception, row int32) calls.Anomaly {
	switch x.Kind {
	case pairing.Stray:
		return calls.Stray
	case pairing.Unwound:
		r.forget(c, b, th, x.N)
	case pairing.Tailed:
		return calls.Tail
	case pairing.Resumed:
		r.resume(c, b, th, x, row)
	}
	return calls.None
}

// leaveless fills the row of an enter that no leave has closed with what is known
// nevertheless. How long it has lasted while the program may still be writing is
// not said of a row, because it would be another time at every look.
func (r *replay) leaveless(b *Block, o *OpenCall) {
	if i := o.Enter - b.First; o.Anomaly != calls.Running {
		b.Duration[i] = o.Duration
		if r.insides {
			b.Inside[i] = o.Inside
		}
		if r.selves {
			b.Self[i] = o.Self
		}
	}
	if r.pairs {
		b.Anomaly[o.Enter-b.First] = o.Anomaly
	}
}

// unpaired fills a row that has no partner.
func (r *replay) unpaired(b *Block, i int, m calls.Anomaly) {
	b.Duration[i] = calls.NoDuration
	if r.pairs {
		b.Partner[i], b.Anomaly[i] = calls.NoPartner, m
		if r.insides {
			b.Inside[i] = -1
		}
		if r.selves {
			b.Self[i] = calls.NoDuration
		}
	}
}

// damaged returns the slot and depth of a damaged record. th is its thread if
// that is active in the block; began says that a run began in the block before.
// Any other record of a thread that is not active there, or a damaged one that
// the index does not know of, was written after the index was made.
func (r *replay) damaged(c *core, b *Block, k int, ev *parser.Event, th *replayThread, began bool) (slot uint32, depth int32) {
	if ev.Kind != parser.Damaged || c.groups[0].at(k).Anomalies&(1<<calls.Damaged) == 0 {
		r.changed = true
	}
	slot = NoThread
	if th != nil {
		if c.stacks[th.slot].first <= b.First {
			slot = th.slot
		}
		return slot, th.depth + int32(len(th.frames))
	}
	if stack, _, ok := c.pairs.Strand(ev.Thread); ok && int(stack) < len(c.stacks) && c.stacks[stack].first <= b.First {
		slot = stack
		if top := c.topOf(k, stack); top != NoNode && !began {
			depth = c.nodes.at(int(top)).Depth + 1
		}
	}
	return slot, depth
}

// forget takes n calls that were left without a leave from a stack.
func (r *replay) forget(c *core, b *Block, th *replayThread, n uint32) {
	for ; n > 0; n-- {
		if k := len(th.frames) - 1; k >= 0 {
			if f := th.frames[k]; f >= 0 && r.pairs {
				b.Anomaly[f] = calls.NoLeave
			}
			th.frames = th.frames[:k]
		} else if th.top != NoNode {
			th.top = c.nodes.at(int(th.top)).Parent
			th.depth--
		} else {
			return
		}
	}
}

func (r *replay) resume(c *core, b *Block, th *replayThread, x *pairing.Exception, row int32) {
	r.forget(c, b, th, x.N)
	for _, p := range x.Pushed {
		b.OpenRuns = append(b.OpenRuns, OpenRun{row, th.depth + int32(len(th.frames)), int32(p.N), th.slot, p.Address})
		for range p.N {
			th.frames = append(th.frames, -1)
		}
	}
}

// close fills the row of a leave whose enter is not in the block.
func (r *replay) close(c *core, b *Block, th *replayThread, i int, at int64, m calls.Anomaly) {
	if k := len(th.frames) - 1; k >= 0 {
		th.frames = th.frames[:k]
		b.Depth[i] = th.depth + int32(k)
		r.unpaired(b, i, calls.NoEnter)
		return
	}
	if th.top == NoNode {
		// No index that was built says so.
		b.Depth[i] = 0
		r.unpaired(b, i, calls.Stray)
		return
	}
	n := c.nodes.at(int(th.top))
	th.top = n.Parent
	th.depth--
	b.Depth[i] = n.Depth
	if n.Rowless {
		r.unpaired(b, i, calls.NoEnter)
		return
	}
	d := calls.Elapsed(n.EnterTime, at)
	b.Duration[i] = d
	if r.pairs {
		b.Partner[i], b.Anomaly[i] = n.Enter, m
	}
	if r.insides {
		b.Inside[i] = th.records - n.Ordinal - 1
	}
	if r.selves {
		b.Self[i] = calls.SelfTime(d, n.Children)
	}
}

// node fills the row of an enter whose call goes on after the block.
func (r *replay) node(c *core, b *Block, j int, e ends) {
	n := c.nodes.at(j)
	i := n.Enter - b.First
	if n.Rowless || i < 0 || i >= int64(b.N) {
		return
	}
	if n.Timed() && n.Leave >= 0 {
		b.Duration[i] = n.Duration()
	}
	if !r.pairs {
		return
	}
	switch {
	case n.Leave < 0:
		b.Anomaly[i] = e.anomaly(n.Enter)
	case n.Timed():
		d := n.Duration()
		b.Partner[i], b.Anomaly[i] = n.Leave, calls.None
		if r.insides {
			b.Inside[i] = n.Inside
		}
		if r.selves {
			b.Self[i] = calls.SelfTime(d, n.Children)
		}
	case n.Anomaly == calls.NoLeave:
		b.Anomaly[i] = calls.NoLeave
	}
}
