package index

import (
	"fmt"
	"io"
	"math"
	"sync"

	"logparser/calls"
	"logparser/parser"
)

// A replay fills blocks. It is the memory for that.
type replay struct {
	events  []parser.Event
	threads []rethread
	byID    hash
	ordinal []int64
	inner   []int64 // time spent in the calls that an open call made
	recent  [1 << 8]struct {
		address uint64
		space   uint16
		run     int32 // + 1
		number  uint32
	}
}

// A rethread is a thread in a replay.
type rethread struct {
	id, slot uint32
	top      uint32
	depth    int32
	records  int64
	frames   []int32 // rows in the block, -1 for calls without a row
}

var replays = sync.Pool{New: func() any { return &replay{byID: newHash()} }}

// Fill implements [Source].
func (x *Index) Fill(b *Block, k int, want Columns) error {
	c := x.core.Load()
	return x.fill(c, b, k, want)
}

func (x *Index) fill(c *core, b *Block, k int, want Columns) error {
	r := replays.Get().(*replay)
	defer replays.Put(r)
	c.mu.RLock()
	row := c.row
	c.mu.RUnlock()
	first := int64(k) * blockLen
	n := int(min(blockLen, row-first))
	if k < 0 || n <= 0 {
		return fmt.Errorf("there is no block %d: %w", k, io.EOF)
	}
	b.First, b.N = first, n
	if cap(r.events) < n {
		r.events = make([]parser.Event, blockLen)
	}
	events := r.events[:n]
	l := c.layout()
	if err := read(c.log, l, events, first); err != nil {
		return err
	}
	if want&Times != 0 {
		b.Time = sized(b.Time, n)
		for i := range events {
			b.Time[i] = events[i].Time
		}
	}
	if want&Kinds != 0 {
		b.Kind = sized(b.Kind, n)
		for i := range events {
			b.Kind[i] = events[i].Kind
		}
	}
	if want&Addresses != 0 {
		b.Address = sized(b.Address, n)
		r.number(c.addresses, l, first, events, b.Address)
	}
	if want&(Threads|Depths|Pairs|Insides|Selves) != 0 {
		e := x.ends(c)
		c.mu.RLock()
		defer c.mu.RUnlock()
		r.replay(c, l, b, k, events, want, e)
	}
	return nil
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, int(blockLen)))
	}
	return s[:n]
}

// read reads the events of rows that are all there.
func read(log parser.Log, l *layout, dst []parser.Event, row int64) error {
	for len(dst) > 0 {
		run, record := l.position(row)
		n := min(int64(len(dst)), l.starts[run+1]-row)
		got, err := log.ReadEvents(dst[:n], record)
		if int64(got) < n {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("record %d: %w", record+int64(got), err)
		}
		dst, row = dst[n:], row+n
	}
	return nil
}

// number fills dst with the numbers of the events' addresses.
func (r *replay) number(a *calls.Addresses, l *layout, row int64, events []parser.Event, dst []uint32) {
	for i := range r.recent {
		r.recent[i].run = 0
	}
	run, _ := l.position(row)
	for i := range events {
		for row+int64(i) >= l.starts[run+1] {
			run++
		}
		e := &events[i]
		m := &r.recent[e.Address*0x9e3779b97f4a7c15>>56]
		if m.address != e.Address || m.space != e.Space || m.run != int32(run)+1 {
			n, ok := a.Find(run, e.Space, e.Address)
			if !ok {
				n = 0 // of a damaged record
			}
			m.address, m.space, m.run, m.number = e.Address, e.Space, int32(run)+1, uint32(n)
		}
		dst[i] = m.number
	}
}

// thread returns the thread of an id in the block, or nil.
func (r *replay) thread(id uint32) *rethread {
	h := &r.byID
	for s := h.start(uint64(id), 0); ; s++ {
		i := h.slots[s&h.mask]
		if i == 0 {
			return nil
		}
		if th := &r.threads[i-1]; th.id == id {
			return th
		}
	}
}

// begin takes over the states of the threads that are active in a block.
func (r *replay) begin(c *core, k int) {
	clear(r.byID.slots)
	old := r.threads[:cap(r.threads)]
	r.threads = r.threads[:0]
	from, to := c.visitsOf(k)
	for r.byID.full(to - from) {
		r.byID.grow()
	}
	for i := from; i < to; i++ {
		v := c.visits.at(i)
		th := rethread{id: c.threads[v.thread].id, slot: v.thread, top: v.top, records: v.records}
		if n := len(r.threads); n < len(old) {
			th.frames = old[n].frames[:0]
		}
		if v.top != NoNode {
			th.depth = c.nodes.at(int(v.top)).depth + 1
		}
		r.threads = append(r.threads, th)
		r.byID.put(r.byID.start(uint64(th.id), 0), uint32(len(r.threads)-1))
	}
}

// replay fills the columns that the pairs are needed for.
func (r *replay) replay(c *core, l *layout, b *Block, k int, events []parser.Event, want Columns, e ends) {
	n := len(events)
	r.begin(c, k)
	if want&Threads != 0 {
		b.Thread = sized(b.Thread, n)
	}
	b.Depth, b.Partner, b.Duration, b.Mark = sized(b.Depth, n), sized(b.Partner, n), sized(b.Duration, n), sized(b.Mark, n)
	b.Inside, b.Self = sized(b.Inside, n), sized(b.Self, n)
	r.ordinal, r.inner = sized(r.ordinal, n), sized(r.inner, n)
	exceptions := c.exceptionsOf(k)
	run, _ := l.position(b.First)
	next := int32(math.MaxInt32)
	if len(exceptions) > 0 {
		next = int32(exceptions[0].row)
	}
	began := false // a run began in the block
	var th *rethread
	for i := range events {
		ev := &events[i]
		row := b.First + int64(i)
		for row >= l.starts[run+1] {
			run++
			began = true
			for t := range r.threads {
				th := &r.threads[t]
				th.top, th.depth, th.frames = NoNode, 0, th.frames[:0]
			}
		}
		b.Partner[i], b.Duration[i], b.Inside[i], b.Self[i] = calls.NoPartner, calls.NoDuration, -1, calls.NoDuration
		if th == nil || th.id != ev.Thread {
			th = r.thread(ev.Thread)
		}
		if ev.Kind == parser.Damaged || th == nil {
			r.damaged(c, b, i, ev, th, k, want, began)
			continue
		}
		if want&Threads != 0 {
			b.Thread[i] = th.slot
		}
		th.records++
		odd := false
		var x exception
		if int32(i) == next {
			for len(exceptions) > 0 && int32(exceptions[0].row) == int32(i) {
				x, exceptions = exceptions[0], exceptions[1:]
				if odd = x.kind != resumed; !odd {
					r.resume(c, b, th, &x)
				}
			}
			if next = math.MaxInt32; len(exceptions) > 0 {
				next = int32(exceptions[0].row)
			}
		}
		if ev.Kind == parser.Enter {
			b.Depth[i] = th.depth + int32(len(th.frames))
			b.Mark[i] = e.mark(row)
			r.ordinal[i], r.inner[i] = th.records, 0
			th.frames = append(th.frames, int32(i))
			continue
		}
		m := calls.None
		if odd {
			switch x.kind {
			case stray:
				b.Depth[i], b.Mark[i] = 0, calls.Stray
				continue
			case unwound:
				r.forget(c, b, th, x.n)
			case tailed:
				m = calls.Tail
			}
		}
		r.close(c, b, th, i, ev.Time, m, events)
	}
	from, to := c.nodesOf(k)
	for j := from; j < to; j++ {
		r.node(c, b, j, e)
	}
}

// damaged fills the row of a damaged record.
func (r *replay) damaged(c *core, b *Block, i int, ev *parser.Event, th *rethread, k int, want Columns, began bool) {
	b.Mark[i], b.Depth[i] = calls.Damaged, 0
	slot := uint32(NoThread)
	if th != nil {
		b.Depth[i] = th.depth + int32(len(th.frames))
		if t := c.threads[th.slot]; t.first <= b.First+int64(i) {
			slot = th.slot
		}
	} else if t := c.findThread(ev.Thread); t != nil && t.first <= b.First+int64(i) {
		slot = t.slot
		if top := c.topOf(k, t); top != NoNode && !began {
			b.Depth[i] = c.nodes.at(int(top)).depth + 1
		}
	}
	if want&Threads != 0 {
		b.Thread[i] = slot
	}
}

// forget takes n calls that were left without a leave from a stack.
func (r *replay) forget(c *core, b *Block, th *rethread, n uint32) {
	for ; n > 0; n-- {
		if k := len(th.frames) - 1; k >= 0 {
			if f := th.frames[k]; f >= 0 {
				b.Mark[f] = calls.NoLeave
			}
			th.frames = th.frames[:k]
		} else if th.top != NoNode {
			th.top = c.nodes.at(int(th.top)).parent
			th.depth--
		} else {
			return
		}
	}
}

func (r *replay) resume(c *core, b *Block, th *rethread, x *exception) {
	r.forget(c, b, th, x.n)
	for _, p := range x.pushed {
		for range p.n {
			th.frames = append(th.frames, -1)
		}
	}
}

// close fills the rows of a leave that closes the top call, and of its enter
// if that is in the block.
func (r *replay) close(c *core, b *Block, th *rethread, i int, at int64, m calls.Mark, events []parser.Event) {
	if k := len(th.frames) - 1; k >= 0 {
		f := th.frames[k]
		th.frames = th.frames[:k]
		b.Depth[i] = th.depth + int32(k)
		if f < 0 {
			b.Mark[i] = calls.NoEnter
			return
		}
		d := elapsed(events[f].Time, at)
		own := self(d, r.inner[f])
		inside := th.records - r.ordinal[f] - 1
		b.Partner[i], b.Duration[i], b.Mark[i], b.Inside[i], b.Self[i] = b.First+int64(f), d, m, inside, own
		b.Partner[f], b.Duration[f], b.Mark[f], b.Inside[f], b.Self[f] = b.First+int64(i), d, calls.None, inside, own
		if k > 0 {
			if o := th.frames[k-1]; o >= 0 {
				r.inner[o] += d
			}
		}
		return
	}
	if th.top == NoNode {
		// No index that was built says so.
		b.Depth[i], b.Mark[i] = 0, calls.Stray
		return
	}
	n := c.nodes.at(int(th.top))
	th.top = n.parent
	th.depth--
	b.Depth[i] = n.depth
	if n.rowless {
		b.Mark[i] = calls.NoEnter
		return
	}
	d := elapsed(n.enterTime, at)
	b.Partner[i], b.Duration[i], b.Mark[i], b.Inside[i], b.Self[i] = n.enter, d, m, th.records-n.ordinal-1, self(d, n.children)
}

// node fills the row of an enter whose call goes on after the block.
func (r *replay) node(c *core, b *Block, j int, e ends) {
	n := c.nodes.at(j)
	i := n.enter - b.First
	if n.rowless || i < 0 || i >= int64(b.N) {
		return
	}
	switch {
	case n.leave < 0:
		b.Mark[i] = e.mark(n.enter)
	case n.timed():
		d := n.duration()
		b.Partner[i], b.Duration[i], b.Mark[i], b.Inside[i], b.Self[i] = n.leave, d, calls.None, n.inside, self(d, n.children)
	case n.mark == calls.NoLeave:
		b.Mark[i] = calls.NoLeave
	}
}
