package trace

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sort"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Reading calls thread by thread.
//
// Merging the events of streams that were recorded at the same time costs more than decoding them. A caller that processes many
// events can do without it. A threadReader divides the log into groups of n events. For each stream, it returns the calls that
// end in a group and those that are open at its end. The caller asks for the record numbers of only a few events. A binary
// search over times finds which events of each stream belong to the group. Streams are decoded further than that; afterwards,
// the numbers of events tell which calls belong to the group.

const (
	// maxSources is the largest number of active streams that a threadReader supports.
	maxSources = 64
	// sourceBatch is the largest number of events of a stream that are decoded at a time.
	sourceBatch = 2048
	cacheBits   = 11
	// mostNumbered bounds the number of events of a stream.
	mostNumbered = 1 << 31
	// If the stack changes in another way than by an enter or a leave, a threadReader looks up the open calls again. It may
	// look up mostRestacked calls at a time, and in the long run restackedPerEvent for each event. Beyond that it fails, and
	// the caller uses ReadEvents.
	mostRestacked     = 1 << 18
	restackedPerEvent = 8
)

// maxNumbers bounds the number of distinct addresses. It is a variable for tests.
var maxNumbers = 1 << 16

// A threadReader implements [parser.ThreadReader].
type threadReader struct {
	l *Log
	c *cursor // for its view, its clock and the mapped bytes
	// slice is the index of the slice that contains the next event. All streams of the slice are in sources.
	slice   int
	sources []*threadSource // in the order in which events with equal times come
	active  []*threadSource // those of sources that may have events in the last result
	columns []*threadSource // the sources with events in the last result
	out     []parser.ThreadCalls
	// addresses has the addresses by their numbers, and byFrame the numbers by their addresses.
	addresses []frame
	byFrame   map[frame]uint16
	// spare is how many open calls may still be looked up again.
	spare  int
	failed bool
}

// A threadSource is the state of a threadReader for one stream.
type threadSource struct {
	d *decoder
	s *stream
	// times are the times of decoded events, in units. The first of them has the number first. The events from index begin to
	// index next belong to the last result; those from next on come later.
	times       []uint64
	first       uint32
	begin, next int
	low, high   int // bounds of next for the binary search
	// frames are the open calls after the last decoded event. depth is the number of open calls before event next. changed says
	// that records which are not events have changed the stack since the last event.
	frames  []threadFrame
	depth   int32
	changed bool
	// ended are the calls that have ended. The first given of them belong to earlier results. open is a buffer for a result.
	ended []parser.ThreadCall
	given int
	open  []parser.ThreadCall
	// unusual has the numbers of events that a threadReader cannot return. fresh has the first call of each address.
	unusual []uint32
	fresh   []parser.NewAddress
	// counts has, for each address, the number of open calls whose enters were decoded. seen says whether there ever was one.
	counts []int32
	seen   []bool
	// cache has the addresses of short enters. It is valid as long as the decoder's windows and epoch equal windows and epoch.
	cache   [1 << cacheBits]cachedEnter
	windows [wire.Windows]window
	epoch   int
	segment int // of the clock
	// calls is the stream's part of the result, ns the memory of its times.
	calls   parser.ThreadCalls
	ns      []int64
	guesser guesser
}

// A threadFrame is an open call. If its enter was decoded, counted is 1 and number is the number of the enter. Otherwise
// counted is 0.
type threadFrame struct {
	number    uint32
	counted   int32
	address   uint16
	recursive bool
	_         uint32 // for readThread
}

// A cachedEnter is the number of the address of a short enter. record is the first four bytes of the enter, which are never 0.
type cachedEnter struct {
	record  uint32
	address uint16
}

// ReadThreads implements [parser.ThreadedLog].
func (l *Log) ReadThreads(from int64) parser.ThreadReader {
	v := l.view.Load()
	if from < 0 || from >= v.index.total || l.HasStacks() {
		return nil
	}
	r := &threadReader{l: l, c: &cursor{v: v, r: l.r, x: v.index, next: -1}, byFrame: make(map[frame]uint16), spare: mostRestacked}
	if !r.mapped(func() bool { return r.begin(from) }) {
		return nil
	}
	return r
}

// mapped calls read, during which the mapped bytes of the file are available if it is mapped.
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

// begin moves the reader before a record.
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

// add adds a stream as a source, beginning with one of its events.
func (r *threadReader) add(s *stream, ordinal int64) bool {
	if len(r.sources) == maxSources || s.level > 0 || len(s.earliest) > 0 {
		return false
	}
	a := &threadSource{d: newDecoder(r.c.r, cursorBytes/maxSources), s: s, first: 1}
	d := a.d
	d.mapped = &r.c.mapped
	d.restore(s, r.c.v.epochs.times, int(ordinal/sampleEvery))
	if n := int(ordinal - d.ordinal); n > 0 {
		if t, err := d.pass(n); err != nil || t.n < n {
			return false
		}
	}
	a.renew()
	a.changed = d.gap != parser.NoGap
	if r.restack(a, 0, 0); r.failed {
		return false
	}
	a.depth = int32(len(a.frames))
	i, _ := slices.BinarySearchFunc(r.sources, s, func(b *threadSource, s *stream) int {
		if b.s.earlier(s) {
			return -1
		}
		return 1
	})
	r.sources = slices.Insert(r.sources, i, a)
	return true
}

// restack replaces the open calls from index from on by those of the decoder. number is the number of the event after which
// they are open.
func (r *threadReader) restack(a *threadSource, from int, number uint32) {
	if a.d.base != 0 {
		a.d.unroll()
		from = 0
	}
	a.frames = a.frames[:min(from, len(a.frames))]
	for _, f := range a.d.frames[len(a.frames):] {
		a.frames = append(a.frames, threadFrame{number: number, address: r.number(a, f, 0)})
	}
}

// number returns the number of an address and space, which a may not have had before. enter is the number of the event that
// enters it, or 0. If there are too many addresses, the reader fails, and the result has no meaning.
func (r *threadReader) number(a *threadSource, f frame, enter uint32) uint16 {
	n, ok := r.byFrame[f]
	if !ok {
		if len(r.addresses) == maxNumbers {
			r.failed = true
			return 0
		}
		n = uint16(len(r.addresses))
		r.byFrame[f] = n
		r.addresses = append(r.addresses, f)
	}
	if more := int(n) + 1 - len(a.counts); more > 0 {
		a.counts, a.seen = append(a.counts, make([]int32, more)...), append(a.seen, make([]bool, more)...)
	}
	if enter != 0 && !a.seen[n] {
		a.seen[n] = true
		a.fresh = append(a.fresh, parser.NewAddress{Address: n, Enter: enter})
	}
	return n
}

// Address implements [parser.ThreadReader].
func (r *threadReader) Address(number uint16) (address uint64, space uint16) {
	f := &r.addresses[number]
	return f.address, f.space
}

// decode decodes between a third of n and n more events of a source, which must have as many. To get n exactly, it would have to
// call shorts for fewer and fewer events.
func (r *threadReader) decode(a *threadSource, n int) bool {
	if cap(a.times)-len(a.times) < n {
		a.first += uint32(a.next)
		a.times = slices.Grow(a.times[:copy(a.times, a.times[a.next:])], n)
		a.begin, a.next = 0, 0
	}
	if a.given > sourceBatch {
		a.ended = a.ended[:copy(a.ended, a.ended[a.given:])]
		a.given = 0
	}
	defer a.d.detach()
	for rest, enough := n, n-(n+2)/3; rest > enough; {
		k := r.shorts(a, rest)
		if k == 0 && !r.failed {
			var ok bool
			if k, ok = r.other(a); !ok {
				return false
			}
		}
		if r.failed {
			return false
		}
		r.spare = min(r.spare+k*restackedPerEvent, mostRestacked)
		rest -= k
	}
	return a.end() < mostNumbered
}

// end returns the number of the first event that was not decoded.
func (a *threadSource) end() uint32 { return a.first + uint32(len(a.times)) }

// shorts decodes at most most short enters and leaves, up to the first record that needs special treatment. It returns their
// number.
func (r *threadReader) shorts(a *threadSource, most int) (n int) {
	d := a.d
	if d.time < d.nextEpoch {
		// None of so few comes to the next epoch.
		most = int(min(uint64(most), (d.nextEpoch-1-d.time)/wire.MaxWordDelta))
	}
	last, ok := d.shortsUpTo(most)
	if !ok || a.changed {
		return 0
	}
	if loops && !a.guesser.look(d.buf, d.p, last) {
		return r.loopShorts(a, most, last)
	}
	// The leave behind an enter is among them, too.
	last -= wire.ShortEnterSize
	a.frames, a.ended = slices.Grow(a.frames, most), slices.Grow(a.ended, most)
	frames, counts := a.frames[:cap(a.frames)], a.counts
	top := len(a.frames)
	times, ended := a.times[len(a.times):cap(a.times)], a.ended[len(a.ended):cap(a.ended)]
	number, left := a.end(), 0
	b, p, time := d.buf[:len(d.buf)+overread], d.p, d.time
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		if v&1 != 0 {
			if top == 0 {
				break
			}
			top--
			p += wire.ShortLeaveSize
			time += wire.LeaveDelta(v)
			times[n] = time
			f, c := &frames[top], &ended[left]
			c.Enter, c.Leave, c.Depth, c.Address, c.Recursive = f.number, number+uint32(n), int32(top), f.address, f.recursive
			counts[f.address] -= f.counted
			n++
			left++
			continue
		}
		enter := &a.cache[enterPlace(v)]
		if enter.record != uint32(v) {
			if enter = r.remember(a, v, number+uint32(n)); enter == nil {
				break
			}
			counts = a.counts
		}
		p += wire.ShortEnterSize
		time += wire.EnterDelta(v)
		times[n] = time
		count := &counts[enter.address]
		if v>>(8*wire.ShortEnterSize)&1 != 0 {
			// The call makes no calls, as most do not, so it need not be pushed on the stack.
			p += wire.ShortLeaveSize
			time += wire.LeaveDelta(v >> (8 * wire.ShortEnterSize))
			times[n+1] = time
			c := &ended[left]
			c.Enter, c.Leave, c.Depth, c.Address, c.Recursive = number+uint32(n), number+uint32(n)+1, int32(top), enter.address, *count > 0
			n += 2
			left++
			continue
		}
		f := &frames[top]
		top++
		f.number, f.counted, f.address, f.recursive = number+uint32(n), 1, enter.address, *count > 0
		*count++
		n++
	}
	r.settle(a, p, time, n, left, top)
	return n
}

// settle notes that the decoder is at offset p and at time, after n events, that left calls have ended, and that the stack has so many.
func (r *threadReader) settle(a *threadSource, p int, time uint64, n, left, open int) {
	d, number := a.d, a.end()
	d.p, d.time = p, time
	d.ordinal += int64(n)
	a.times, a.ended, a.frames = a.times[:len(a.times)+n], a.ended[:len(a.ended)+left], a.frames[:open]
	// The decoder's own stack is needed only between calls of this function, so it is updated here: calls that were entered
	// before are still below.
	lowest := open
	for lowest > 0 && a.frames[lowest-1].number >= number {
		lowest--
	}
	d.frames = d.frames[:min(lowest, len(d.frames))]
	for _, f := range a.frames[len(d.frames):] {
		d.frames = append(d.frames, r.addresses[f.address])
	}
}

// remember returns the cache entry for the short enter in v's first bytes. It returns nil if these are no enter, or if its
// window is not set. Two enters with the same place in the cache share that place and its neighbour. number is the number of
// the enter.
func (r *threadReader) remember(a *threadSource, v uint64, number uint32) *cachedEnter {
	w := &a.d.windows[wire.EnterWindow(v)]
	if v&2 == 0 || !w.set {
		return nil
	}
	at := enterPlace(v)
	second := &a.cache[at^1]
	if second.record == uint32(v) {
		return second
	}
	address := r.number(a, frame{w.base + wire.EnterOffset(v), uint16(a.d.epoch)<<1 | w.kind}, number)
	if r.failed {
		return nil
	}
	enter := &a.cache[at]
	if second.record == 0 {
		*second = *enter
	}
	*enter = cachedEnter{uint32(v), address}
	return enter
}

func (a *threadSource) renew() {
	a.windows, a.epoch = a.d.windows, a.d.epoch
	clear(a.cache[:])
	a.cache[0].record = 1 // for padding; see callReader.renew
}

// other lets the decoder decode records up to one event. n is the number of events.
func (r *threadReader) other(a *threadSource) (n int, ok bool) {
	d := a.d
	before, unwinds := len(a.frames), d.unwinds
	var e [1]parser.Event
	n, err := d.decode(e[:])
	d.ordinal += int64(n)
	if more, _ := d.goOn(err); !more {
		return n, false
	}
	if d.windows != a.windows || d.epoch != a.epoch {
		a.renew()
	}
	if n == 0 {
		// The next event finds the changed stack.
		a.changed = a.changed || d.gap != parser.NoGap || d.base != 0 || len(d.frames) != before
		return 0, true
	}
	number := a.end()
	a.times = append(a.times, uint64(e[0].Time))
	usual := !a.changed && e[0].Gap == parser.NoGap && d.unwinds == unwinds && d.base == 0
	switch after := len(d.frames); {
	case usual && e[0].Kind == parser.Enter && after == before+1:
		address := r.number(a, d.frames[before], number)
		if r.failed {
			return n, false
		}
		a.frames = append(a.frames, threadFrame{number: number, counted: 1, address: address, recursive: a.counts[address] > 0})
		a.counts[address]++
	case usual && e[0].Kind == parser.Leave && after == before-1:
		a.leave(number)
	default:
		a.unusual = append(a.unusual, number)
		// Unless the file has listed another stack, since the last event calls were only popped, and this event may have pushed
		// one. So the calls below that one are unchanged.
		kept := 0
		if e[0].Gap != parser.EventsMissing && d.base == 0 {
			kept = max(after-1, 0)
		}
		for len(a.frames) > kept {
			a.leave(number)
		}
		r.restack(a, kept, number)
		r.spare -= len(a.frames) - kept
		r.failed = r.failed || r.spare < 0
	}
	a.changed = false
	return n, !r.failed
}

// leave ends the innermost call.
func (a *threadSource) leave(number uint32) {
	top := len(a.frames) - 1
	f := &a.frames[top]
	a.ended = append(a.ended, parser.ThreadCall{Enter: f.number, Leave: number, Depth: int32(top), Address: f.address, Recursive: f.recursive})
	a.counts[f.address] -= f.counted
	a.frames = a.frames[:top]
}

// Next implements [parser.ThreadReader].
func (r *threadReader) Next(n int) (threads []parser.ThreadCalls, ok bool) {
	for _, a := range r.sources {
		a.begin = a.next
	}
	r.columns, r.out = r.columns[:0], r.out[:0]
	if r.failed || !r.mapped(func() bool { return r.find(n) }) {
		r.failed = true
		return nil, false
	}
	ok = true
	for _, a := range r.active {
		if a.next > a.begin {
			ok = r.take(a) && ok
			r.columns = append(r.columns, a)
		}
	}
	// If first times are equal, the order is that of the sources.
	slices.SortStableFunc(r.columns, func(a, b *threadSource) int { return cmp.Compare(a.times[a.begin], b.times[b.begin]) })
	for i, a := range r.columns {
		for _, b := range r.columns[:i] {
			ok = ok && b.d.thread != a.d.thread
		}
		r.out = append(r.out, a.calls)
	}
	if !ok {
		return nil, false
	}
	return r.out, true
}

// take fills in a.calls for the events from begin to next. It returns false if some of them are unusual.
func (r *threadReader) take(a *threadSource) bool {
	first, end := a.first+uint32(a.begin), a.first+uint32(a.next)
	a.ns = slices.Grow(a.ns[:0], int(end-first))[:end-first]
	a.segment = r.c.v.clock.times(a.ns, a.times[a.begin:a.next], a.segment)
	t := parser.ThreadCalls{Thread: a.d.thread, First: first, End: end, Times: a.ns, Depth: a.depth}
	rest := a.ended[a.given:]
	n := sort.Search(len(rest), func(i int) bool { return rest[i].Leave >= end })
	t.Ended, rest = rest[:n], rest[n:]
	a.given += n
	a.open, a.depth = a.open[:0], -1
	// Calls that are still open end in the order from the innermost one outwards.
	earlier := false
	for i := range rest {
		c := &rest[i]
		if c.Enter >= end {
			continue
		}
		if a.depth < 0 {
			a.depth = c.Depth + 1
		}
		if earlier = c.Enter < first; earlier {
			break
		}
		a.open = append(a.open, *c)
	}
	for i := len(a.frames) - 1; i >= 0 && !earlier; i-- {
		f := &a.frames[i]
		if f.number >= end {
			continue
		}
		if a.depth < 0 {
			a.depth = int32(i) + 1
		}
		if earlier = f.number < first; !earlier {
			a.open = append(a.open, parser.ThreadCall{Enter: f.number, Depth: int32(i), Address: f.address, Recursive: f.recursive})
		}
	}
	a.depth = max(a.depth, 0)
	slices.Reverse(a.open)
	t.Open = a.open
	n = sort.Search(len(a.fresh), func(i int) bool { return a.fresh[i].Enter >= end })
	t.New, a.fresh = a.fresh[:n], a.fresh[n:]
	n = sort.Search(len(a.unusual), func(i int) bool { return a.unusual[i] >= end })
	a.unusual = a.unusual[n:]
	a.calls = t
	return n == 0
}

// find sets next in each source so that the next n events of the log lie before it.
func (r *threadReader) find(n int) bool {
	x := r.c.x
	for {
		end := x.end(r.slice)
		// All events before limit are decoded.
		limit := end
		for _, a := range r.sources {
			if a.left() > 0 && len(a.times)-a.next < sourceBatch/2 && !r.decode(a, int(min(sourceBatch, a.left()))) {
				return false
			}
			if a.left() > 0 {
				limit = min(limit, a.times[len(a.times)-1])
			}
		}
		r.active = r.active[:0]
		count := 0
		for _, a := range r.sources {
			if a.next < len(a.times) && a.times[a.next] < limit {
				count += len(a.times) - a.next
				r.active = append(r.active, a)
			}
		}
		if count >= n {
			// Those that are decoded may be enough.
			count = 0
			for _, a := range r.active {
				a.low, a.high = a.next, a.before(limit, a.next, len(a.times))
				count += a.high - a.low
			}
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
				if a.left() > 0 && a.times[len(a.times)-1] == limit && !r.decode(a, int(min(sourceBatch, a.left()))) {
					return false
				}
			}
		}
	}
}

// left returns the number of events of the stream that were not decoded yet.
func (a *threadSource) left() int64 { return a.s.count - a.d.ordinal }

// before returns the index, from low to high, of the first event that is not before a time.
func (a *threadSource) before(time uint64, low, high int) int {
	times := a.times[low:high]
	if len(times) == 0 {
		return low
	}
	// Where an event lies cannot be predicted, so the loop has no branch on it.
	from := 0
	for n := len(times); n > 1; {
		half := n / 2
		_, less := bits.Sub64(times[from+half-1], time, 0)
		from += half & -int(less)
		n -= half
	}
	_, less := bits.Sub64(times[from], time, 0)
	return low + from + int(less)
}

// divide sets next in each source so that the first n of all events between low and high lie before it.
func (r *threadReader) divide(n int) {
	first, limit := uint64(math.MaxUint64), uint64(0)
	for _, a := range r.active {
		first, limit = min(first, a.times[a.low]), max(limit, a.times[a.high-1]+1)
	}
	// At most n events are before first, and at least n before limit.
	for limit-first > 1 {
		time := first + (limit-first)/2
		count := 0
		for _, a := range r.active {
			a.next = a.before(time, a.low, a.high)
			count += a.next - a.begin
		}
		if count <= n {
			first = time
			for _, a := range r.active {
				a.low = a.next
			}
		} else {
			limit = time
			for _, a := range r.active {
				a.high = a.next
			}
		}
	}
	// All events between low and high now have the time first.
	rest := n
	for _, a := range r.active {
		rest -= a.low - a.begin
	}
	for _, a := range r.active {
		a.next = a.low + min(rest, a.high-a.low)
		rest -= a.next - a.low
	}
}

// enter moves to a slice and adds the streams that begin in it.
func (r *threadReader) enter(i int) bool {
	r.slice = i
	x := r.c.x
	for _, active := range x.streamsOf(i) {
		if s := x.streams[active.stream]; s.first >= x.slices[i].from && !r.add(s, 0) {
			return false
		}
	}
	r.sources = slices.DeleteFunc(r.sources, func(a *threadSource) bool {
		return a.left() == 0 && a.next == len(a.times) && a.begin == a.next
	})
	return true
}

// Row implements [parser.ThreadReader].
func (r *threadReader) Row(thread int, number uint32) int {
	of := r.columns[thread]
	time := of.times[number-of.first]
	row := int(number-of.first) - of.begin
	earlier := true // events of a come before those of of if times are equal
	for _, a := range r.active {
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
