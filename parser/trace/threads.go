package trace

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Reading events thread by thread.
//
// Merging events of streams that were recorded at the same time costs more than decoding them. A caller that goes over many
// events can do without: it takes the next n events of the log, as a list for each stream, and asks for the record numbers
// of only a few. A binary search over times finds which events of each stream belong to the next n.

const (
	// maxSources is the largest number of active streams that a threadReader handles.
	maxSources = 64
	// sourceBatch is the number of events of a stream that are decoded at a time.
	sourceBatch = 1024
	cacheBits   = 10
	// maxNumbers bounds the number of addresses.
	maxNumbers = 1 << 16
	// unusual marks an event that a threadReader cannot give.
	unusual = parser.Damaged
)

// A threadReader implements [parser.ThreadReader].
type threadReader struct {
	l *Log
	c *cursor // for its clock and what is mapped
	// slice is the slice of the next event. All its streams are in sources.
	slice   int
	sources []*threadSource // in the order of events with equal times
	columns []*threadSource // sources that have events in the last result
	out     []parser.ThreadEvents
	// addresses has the addresses by their numbers, and byFrame the numbers by addresses.
	addresses []frame
	byFrame   map[frame]uint32
	failed    bool
}

// A threadSource is a stream of a threadReader.
type threadSource struct {
	d *decoder
	s *stream
	// events are the decoded events, with times in units. Those between begin and next belong
	// to the last result, and out is their form for the caller. Those behind were not read yet.
	events      []parser.ThreadEvent
	begin, next int
	out         []parser.ThreadEvent
	low, high   int // bounds of the binary search for next
	// numbers are the address numbers of the decoder's frames. cache has the address numbers of
	// short enters; it is valid while the decoder's windows and epoch equal windows and epoch.
	numbers []uint32
	cache   [1 << cacheBits]cachedEnter
	windows [wire.Windows]window
	epoch   int
}

// A cachedEnter is the address number of a short enter, of which record is the first four bytes. These are never 0.
type cachedEnter struct{ record, number uint32 }

// ReadThreads implements [parser.ThreadedLog].
func (l *Log) ReadThreads(from int64) parser.ThreadReader {
	v := l.view.Load()
	if from < 0 || from >= v.index.total || l.HasStacks() {
		return nil
	}
	r := &threadReader{l: l, c: &cursor{v: v, r: l.r, x: v.index, next: -1}, byFrame: make(map[frame]uint32)}
	if !r.mapped(func() bool { return r.begin(from) }) {
		return nil
	}
	return r
}

// mapped calls read. If the file is mapped, read can use the mapped bytes.
func (r *threadReader) mapped(read func() bool) (ok bool) {
	size := r.l.mapped.Size()
	if size == 0 {
		return read()
	}
	fault := r.l.mapped.Use(0, size, func(b []byte) {
		r.c.mapped = b
		ok = read()
		r.c.mapped = nil
	})
	return ok && fault == nil
}

// begin puts the reader before a record.
func (r *threadReader) begin(from int64) bool {
	c := r.c
	if c.goTo(from) != nil || len(c.heap) > maxSources {
		return false
	}
	r.slice = c.i
	for _, h := range c.heap {
		if !r.add(h.of.s, h.of.d.ordinal-int64(len(h.of.events))) {
			return false
		}
	}
	c.heap, c.idle = nil, nil
	return true
}

// add adds a source for a stream, at one of its events.
func (r *threadReader) add(s *stream, ordinal int64) bool {
	if len(r.sources) == maxSources || s.level > 0 || len(s.earliest) > 0 {
		return false
	}
	a := &threadSource{d: newDecoder(r.c.r, cursorBytes/maxSources), s: s}
	a.d.mapped = &r.c.mapped
	a.d.restore(s, r.c.v.epochs.times, int(ordinal/sampleEvery))
	a.renew()
	for _, f := range a.d.frames {
		a.numbers = append(a.numbers, r.number(f))
	}
	for a.d.ordinal < ordinal {
		if !r.decode(a, int(min(sourceBatch, ordinal-a.d.ordinal))) {
			return false
		}
		a.events = a.events[:0]
	}
	i, _ := slices.BinarySearchFunc(r.sources, s, func(b *threadSource, s *stream) int {
		if b.s.earlier(s) {
			return -1
		}
		return 1
	})
	r.sources = slices.Insert(r.sources, i, a)
	return true
}

// number returns the number of an address and space.
func (r *threadReader) number(f frame) uint32 {
	n, ok := r.byFrame[f]
	if !ok {
		n = uint32(len(r.addresses))
		r.byFrame[f] = n
		r.addresses = append(r.addresses, f)
	}
	return n
}

// Address implements [parser.ThreadReader].
func (r *threadReader) Address(number uint32) (address uint64, space uint16) {
	f := &r.addresses[number]
	return f.address, f.space
}

// decode decodes n more events of a source. It must have as many.
func (r *threadReader) decode(a *threadSource, n int) bool {
	if cap(a.events)-len(a.events) < n {
		if a.next > 0 {
			a.events = a.events[:copy(a.events, a.events[a.next:])]
			a.begin, a.next = 0, 0
		}
		a.events = slices.Grow(a.events, n)
	}
	d := a.d
	defer d.detach()
	for n > 0 {
		k := r.shorts(a, a.events[len(a.events):len(a.events)+n])
		a.events = a.events[:len(a.events)+k]
		d.ordinal += int64(k)
		if n -= k; n == 0 {
			break
		}
		k, ok := r.other(a)
		if !ok {
			return false
		}
		n -= k
	}
	return true
}

// shorts decodes short enters and leaves into dst, up to the first record that needs special treatment, and returns their number.
func (r *threadReader) shorts(a *threadSource, dst []parser.ThreadEvent) int {
	d := a.d
	if d.gap != parser.NoGap || d.chunk < 0 {
		return 0
	}
	last := min(d.stop(), len(d.buf)-longestShort+1)
	b := d.buf[:len(d.buf)+overread]
	top := len(a.numbers)
	if cap(a.numbers)-top < len(dst) {
		a.numbers = slices.Grow(a.numbers, len(dst))
	}
	stack, lowest := a.numbers[:cap(a.numbers)], top
	p, time := d.p, d.time
	n := 0
	for ; n < len(dst) && p < last; n++ {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		e := &dst[n]
		if v&1 != 0 {
			if top == 0 {
				break
			}
			top--
			lowest = min(lowest, top)
			p += wire.ShortLeaveSize
			time += wire.LeaveDelta(v)
			e.Time, e.Address, e.Kind = int64(time), stack[top], parser.Leave
			continue
		}
		record := uint32(v)
		t := time + wire.EnterDelta(v)
		if t >= d.nextEpoch {
			break
		}
		enter := &a.cache[record*0x9e3779b1>>(32-cacheBits)]
		if enter.record != record && !r.remember(a, enter, v) {
			break
		}
		p += wire.ShortEnterSize
		time = t
		stack[top] = enter.number
		top++
		e.Time, e.Address, e.Kind = int64(t), enter.number, parser.Enter
	}
	d.p, d.time = p, time
	a.numbers = stack[:top]
	// The decoder's own stack is only needed when this loop has ended, so it is brought up to date here.
	d.frames = d.frames[:min(lowest, len(d.frames))]
	for _, number := range stack[len(d.frames):top] {
		d.frames = append(d.frames, r.addresses[number])
	}
	return n
}

// remember decodes the short enter in v's first bytes into enter. It returns false if they are no enter, or if its window is not
// set.
func (r *threadReader) remember(a *threadSource, enter *cachedEnter, v uint64) bool {
	w := &a.d.windows[wire.EnterWindow(v)]
	if v&2 == 0 || !w.set {
		return false
	}
	f := frame{w.base + wire.EnterOffset(v), uint16(a.d.epoch)<<1 | w.kind}
	enter.record, enter.number = uint32(v), r.number(f)
	return true
}

// renew empties the cache.
func (a *threadSource) renew() {
	a.windows, a.epoch = a.d.windows, a.d.epoch
	clear(a.cache[:])
	a.cache[0].record = 1 // for padding; see callReader.renew
}

// other has the decoder decode the next records, up to one event.
func (r *threadReader) other(a *threadSource) (n int, ok bool) {
	d := a.d
	empty, unwinds := len(d.frames) == 0 && d.base == 0, d.unwinds
	var e [1]parser.Event
	n, err := d.decode(e[:])
	d.ordinal += int64(n)
	if more, _ := d.goOn(err); !more {
		return n, false
	}
	if d.windows != a.windows || d.epoch != a.epoch {
		a.renew()
	}
	// The event can have changed nothing of the stack below its top.
	a.numbers = a.numbers[:min(len(a.numbers), max(len(d.frames)-1, 0))]
	for _, f := range d.frames[len(a.numbers):] {
		a.numbers = append(a.numbers, r.number(f))
	}
	if n > 0 {
		to := parser.ThreadEvent{Time: e[0].Time, Address: r.number(frame{e[0].Address, e[0].Space}), Kind: e[0].Kind}
		if e[0].Gap != parser.NoGap || d.unwinds != unwinds || empty && e[0].Kind == parser.Leave {
			to.Kind = unusual
		}
		a.events = append(a.events, to)
	}
	return n, true
}

// Next implements [parser.ThreadReader].
func (r *threadReader) Next(n int) (threads []parser.ThreadEvents, ok bool) {
	for _, a := range r.sources {
		a.begin = a.next
	}
	r.columns, r.out = r.columns[:0], r.out[:0]
	if r.failed = r.failed || len(r.addresses) > maxNumbers; r.failed || !r.mapped(func() bool { return r.find(n) }) {
		r.failed = true
		return nil, false
	}
	ok = true
	for _, a := range r.sources {
		if a.next > a.begin {
			ok = r.convert(a) && ok
			r.columns = append(r.columns, a)
		}
	}
	// Columns whose first events have equal times stay in the order of the sources.
	slices.SortStableFunc(r.columns, func(a, b *threadSource) int {
		return int(min(max(a.events[a.begin].Time-b.events[b.begin].Time, -1), 1))
	})
	for i, a := range r.columns {
		for _, b := range r.columns[:i] {
			ok = ok && b.d.thread != a.d.thread
		}
		r.out = append(r.out, parser.ThreadEvents{Thread: a.d.thread, Events: a.out})
	}
	if !ok {
		return nil, false
	}
	return r.out, true
}

// find decodes enough events and finds for each source which of them belong to the next n.
func (r *threadReader) find(n int) bool {
	x := r.c.x
	for {
		end := x.end(r.slice)
		// All events before limit are decoded.
		limit := end
		for _, a := range r.sources {
			if a.left() > 0 && len(a.events)-a.next < sourceBatch/2 && !r.decode(a, int(min(sourceBatch, a.left()))) {
				return false
			}
			if a.left() > 0 {
				limit = min(limit, uint64(a.events[len(a.events)-1].Time))
			}
		}
		count := 0
		for _, a := range r.sources {
			a.low = a.next
			a.high = a.before(limit, a.next, len(a.events))
			count += a.high - a.low
		}
		switch {
		case count >= n:
			r.divide(n)
			return true
		case limit == end:
			if r.slice+1 == len(x.slices) || !r.enter(r.slice+1) {
				return false
			}
		default:
			for _, a := range r.sources {
				if a.left() > 0 && uint64(a.events[len(a.events)-1].Time) == limit && !r.decode(a, int(min(sourceBatch, a.left()))) {
					return false
				}
			}
		}
	}
}

// left returns the number of events of the stream that are not decoded yet.
func (a *threadSource) left() int64 { return a.s.count - a.d.ordinal }

// before returns the index of the first event between low and high that is not before a time, or high.
func (a *threadSource) before(time uint64, low, high int) int {
	events := a.events
	for low < high {
		if m := int(uint(low+high) >> 1); uint64(events[m].Time) < time {
			low = m + 1
		} else {
			high = m
		}
	}
	return low
}

// divide sets next in each source so that the first n of all events between low and high lie before it.
func (r *threadReader) divide(n int) {
	first, limit := uint64(math.MaxUint64), uint64(0)
	for _, a := range r.sources {
		if a.low < a.high {
			first, limit = min(first, uint64(a.events[a.low].Time)), max(limit, uint64(a.events[a.high-1].Time)+1)
		}
	}
	// At most n events are before first, and at least n before limit.
	for limit-first > 1 {
		time := first + (limit-first)/2
		count := 0
		for _, a := range r.sources {
			a.next = a.before(time, a.low, a.high)
			count += a.next - a.begin
		}
		if count <= n {
			first = time
			for _, a := range r.sources {
				a.low = a.next
			}
		} else {
			limit = time
			for _, a := range r.sources {
				a.high = a.next
			}
		}
	}
	// All events between low and high now have the time first.
	rest := n
	for _, a := range r.sources {
		rest -= a.low - a.begin
	}
	for _, a := range r.sources {
		a.next = a.low + min(rest, a.high-a.low)
		rest -= a.next - a.low
	}
}

// enter goes to a slice and adds the streams that begin in it.
func (r *threadReader) enter(i int) bool {
	r.slice = i
	x := r.c.x
	for _, active := range x.streamsOf(i) {
		if s := x.streams[active.stream]; s.first >= x.slices[i].from && !r.add(s, 0) {
			return false
		}
	}
	r.sources = slices.DeleteFunc(r.sources, func(a *threadSource) bool {
		return a.left() == 0 && a.next == len(a.events) && a.begin == a.next
	})
	return true
}

// Row implements [parser.ThreadReader].
func (r *threadReader) Row(thread, i int) int {
	of := r.columns[thread]
	time := uint64(of.events[of.begin+i].Time)
	row := i
	earlier := true // a's events come before those of of if times are equal
	for _, a := range r.sources {
		if a == of {
			earlier = false
			continue
		}
		at := time
		if earlier {
			at++
		}
		row += a.before(at, a.begin, a.next) - a.begin
	}
	return row
}

// convert makes the events for the caller, with times in nanoseconds. It returns false if one of them cannot be given.
func (r *threadReader) convert(a *threadSource) bool {
	events := a.events[a.begin:a.next]
	a.out = slices.Grow(a.out[:0], len(events))[:len(events)]
	list := r.c.v.clock.segments
	k := r.c.v.clock.find(uint64(events[0].Time))
	kinds := parser.Kind(0)
	for done := 0; done < len(events); k++ {
		part := events[done:]
		if k+1 < len(list) {
			part = events[done : a.before(list[k+1].units, a.begin+done, a.next)-a.begin]
		}
		if len(part) == 0 {
			continue
		}
		s, out := &list[k], a.out[done:done+len(part)]
		done += len(part)
		exact := !s.linear(uint64(part[0].Time), uint64(part[len(part)-1].Time))
		up, down := (64-s.shift)&63, s.shift&63 // with a shift of 0, hi is 0, so up does not matter
		for i := range part {
			e, to := &part[i], &out[i]
			if exact {
				to.Time = s.at(uint64(e.Time))
			} else {
				hi, lo := bits.Mul64(uint64(e.Time)-s.units, s.rate)
				to.Time = s.ns + int64(hi<<up|lo>>down)
			}
			to.Address, to.Kind = e.Address, e.Kind
			kinds |= e.Kind
		}
	}
	return kinds < unusual
}
