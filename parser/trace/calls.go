package trace

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Reading calls without events.
//
// A decoder follows the open calls anyway, because a short leave does not say which call it ends. So it can pair enters with
// leaves while it decodes. That is faster than decoding events first and pairing them afterwards: a record costs one branch
// that the processor cannot predict instead of two, and no stream has to wait for another.

// A part has at most mostPartSamples samples of a stream. It has fewer if the log would otherwise have fewer than leastParts
// parts.
const (
	mostPartSamples = 32
	leastParts      = 128
)

// A callSource implements [parser.CallSource].
type callSource struct {
	l       *Log
	v       *view
	streams []*stream
	parts   []parser.CallPart
}

// Calls implements [parser.CalledLog].
func (l *Log) Calls(records int64) parser.CallSource {
	v := l.view.Load()
	if records != v.index.total || l.HasStacks() {
		return nil
	}
	c := &callSource{l: l, v: v}
	for _, s := range v.index.streams {
		if s.count == 0 {
			continue
		}
		if s.level > 0 || len(s.earliest) > 0 {
			return nil
		}
		c.streams = append(c.streams, s)
	}
	// Several streams with the same thread id are threads that ran one after the other.
	byThread := slices.Clone(c.streams)
	slices.SortStableFunc(byThread, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(uint32(a.thread), uint32(b.thread)), cmp.Compare(a.first, b.first))
	})
	for i, s := range byThread {
		if i > 0 && uint32(byThread[i-1].thread) == uint32(s.thread) && byThread[i-1].last >= s.first {
			return nil
		}
	}
	length := sampleEvery * min(max(v.index.total/sampleEvery/leastParts, 1), mostPartSamples)
	for i, s := range c.streams {
		part := parser.CallPart{Stream: i, Thread: s.strands.of(strand{uint32(s.thread), 0}), Last: v.clock.at(s.first)}
		for part.To < s.count {
			part.From, part.To = part.To, min(part.To+length, s.count)
			last := s.last
			if part.To < s.count {
				last = s.samples[part.To/sampleEvery].time
			}
			part.First, part.Last = part.Last, v.clock.at(last)
			c.parts = append(c.parts, part)
		}
	}
	return c
}

// Parts implements [parser.CallSource].
func (c *callSource) Parts() []parser.CallPart { return c.parts }

// Reader implements [parser.CallSource].
func (c *callSource) Reader(describe func(address uint64, space uint16) parser.CallAddress) parser.CallReader {
	r := &callReader{callSource: c, describe: describe, byFrame: make(map[frame]uint32)}
	r.d = newDecoder(c.l.r, 64<<10)
	r.d.mapped = &r.bytes
	r.size = c.l.mapped.Size()
	r.renew()
	r.Limit(parser.NoCallLimits())
	return r
}

// A calledAddress is the address of a function, as records have it and as the caller describes it.
type calledAddress struct {
	frame
	parser.CallAddress
}

// callCacheBits is larger than cacheBits, because here a second address with the same place in the cache costs a map lookup.
const callCacheBits = 12

// A cachedCall is a decoded short enter. record is the first four bytes of the enter, which are never 0.
type cachedCall struct {
	record uint32
	counts parser.FoldCounts
	_      [11]byte
	// What a frame has in the same order.
	id, group, number uint32
	marks             uint8
}

// A callReader implements [parser.CallReader].
type callReader struct {
	*callSource
	describe  func(address uint64, space uint16) parser.CallAddress
	addresses []calledAddress
	byFrame   map[frame]uint32

	d     *decoder
	bytes []byte // the mapped file, during a read
	size  int64  // of the mapped file, 0 if it is not mapped
	to    int64  // number of the first event after the part
	// cache has decoded short enters. It is valid as long as the decoder's windows and epoch equal windows and epoch.
	cache   [1 << callCacheBits]cachedCall
	windows [wire.Windows]window
	epoch   int
	segment int // index of the clock's segment that was used last
	// frames are the open calls. Element 0 stands for no call. base is the number of those that were open when the part began.
	// kept is the number of those that stayed open during the last Next.
	frames     []parser.OpenFrame
	base, kept int
	open       []int32 // element g+1 is the number of open calls of group g
	// The event that other has decoded: at time at, pops calls end. closes says that the last of these ends by its leave. push
	// says that then a call begins, of the address with the number pushed.
	pops         int
	at           int64
	closes, push bool
	pushed       uint32
	ended        parser.EndedFrame
	wanted       wanted
	fold         *callFold // nil if no calls are summed up
}

// Begin implements [parser.CallReader].
func (r *callReader) Begin(part *parser.CallPart) bool {
	s := r.streams[part.Stream]
	d := r.d
	d.restore(s, r.v.epochs.times, int(part.From/sampleEvery))
	for d.base != 0 {
		n := &s.nodes[d.base-1]
		d.frames = append(d.frames, n.frame)
		d.base = n.parent
	}
	slices.Reverse(d.frames)
	r.to, r.pops, r.push = part.To, 0, false
	if !r.upToDate() {
		r.renew()
	}
	r.frames = append(r.frames[:0], parser.OpenFrame{})
	clear(r.open)
	for _, f := range d.frames {
		if f == (frame{}) {
			return false // the address of an open call is not known
		}
		r.enter(r.number(f), 0)
	}
	r.base, r.kept = len(d.frames), len(d.frames)
	r.wanted.begin()
	if r.fold != nil {
		r.fold.begin()
	}
	return true
}

// upToDate reports whether the cache is valid.
func (r *callReader) upToDate() bool { return r.windows == r.d.windows && r.epoch == r.d.epoch }

func (r *callReader) renew() {
	r.windows, r.epoch = r.d.windows, r.d.epoch
	clear(r.cache[:])
	r.cache[0].record = 1 // not a short enter, so that padding, whose bytes are 0, does not match this element
	if r.fold != nil {
		r.fold.forget()
	}
}

func (r *callReader) number(f frame) uint32 {
	n, ok := r.byFrame[f]
	if !ok {
		n = uint32(len(r.addresses))
		r.byFrame[f] = n
		a := calledAddress{f, r.describe(f.address, f.space)}
		r.addresses = append(r.addresses, a)
		for uint64(len(r.open)) <= uint64(a.Group+1) {
			r.open = append(r.open, make([]int32, len(r.open)+64)...)
		}
	}
	return n
}

func (r *callReader) enter(number uint32, at int64) {
	a := &r.addresses[number]
	n := &r.open[a.Group+1]
	r.frames = append(r.frames, parser.OpenFrame{Enter: at, ID: a.ID, Group: a.Group, Number: number,
		Marks: a.Marks | r.frames[len(r.frames)-1].Marks, Recursive: *n > 0 && a.Group != parser.NoCallGroup})
	*n++
}

// Open implements [parser.CallReader].
func (r *callReader) Open() ([]parser.OpenFrame, int) { return r.frames[1:], r.kept }

// Next implements [parser.CallReader].
func (r *callReader) Next(calls []parser.Call) (n int, ended *parser.EndedFrame, ok bool) {
	r.kept = len(r.frames) - 1
	read := func() bool {
		n, ended, ok = r.read(calls)
		r.d.detach()
		return ok
	}
	if r.size == 0 {
		read()
		return n, ended, ok
	}
	fault := r.l.mapped.Use(0, r.size, func(b []byte) {
		r.bytes = b
		read()
		r.bytes = nil
	})
	return n, ended, ok && fault == nil
}

// read does what Next does, while the file is mapped.
func (r *callReader) read(calls []parser.Call) (n int, ended *parser.EndedFrame, ok bool) {
	for n < len(calls) {
		if r.pops > 0 {
			if len(r.frames)-1 > r.base {
				calls[n] = r.pop()
				n++
				continue
			}
			if n > 0 {
				return n, nil, true
			}
			f := &r.frames[len(r.frames)-1]
			r.ended = parser.EndedFrame{Children: f.Children, Leave: r.at, Left: r.pops > 1 || !r.closes}
			r.pop()
			r.base--
			return 0, &r.ended, true
		}
		if r.push {
			r.push = false
			r.enter(r.pushed, r.at)
		}
		if r.d.ordinal == r.to {
			return n, nil, true
		}
		k, stopped := r.stretches(calls[n:])
		n += k
		if n == len(calls) || r.d.ordinal == r.to {
			break
		}
		if !stopped {
			continue
		}
		if !r.other() {
			return n, nil, false
		}
	}
	return n, nil, true
}

// pop removes the innermost call from the stack and returns it. If other calls end with it, pop returns it without its
// duration.
func (r *callReader) pop() parser.Call {
	top := len(r.frames) - 1
	f := &r.frames[top]
	r.frames = r.frames[:top]
	r.keep(top - 1)
	r.open[f.Group+1]--
	r.pops--
	c := parser.Call{Enter: f.Enter, Duration: -1, Self: -1, ID: f.ID, Depth: int32(top - 1), Marks: f.Marks, Recursive: f.Recursive}
	if r.pops == 0 && r.closes && top > r.base {
		c.Duration = max(0, r.at-f.Enter)
		c.Self = max(0, c.Duration-f.Children)
		r.frames[top-1].Children += c.Duration
	}
	return c
}

// mostShorts is the largest number of short records in a stretch.
const mostShorts = 1024

// A stretch is a part of the decoder's buffer that can be read in a tight loop, because all times in it belong to one segment
// of the clock and are not changed by the segment's bound.
type stretch struct {
	b []byte // the decoder's buffer and overread bytes after its end
	// Records of the stretch begin before last.
	last int
	// Times in the stretch count from units, the beginning of the clock's segment, and are below limit.
	units, limit uint64
	// The numbers of segment.linear, which convert these times to nanoseconds from zero on.
	rate uint64
	zero int64
	up   uint
}

// shortsUpTo returns where at most most short records end that can be read in a tight loop: records begin before last. ok is
// false if the next record needs special treatment.
func (d *decoder) shortsUpTo(most int) (last int, ok bool) {
	if d.gap != parser.NoGap || d.chunk < 0 || d.time >= d.nextEpoch {
		return 0, false
	}
	if d.p >= d.stop() {
		if d.bufAt+int64(d.p) >= d.end || d.fill() != nil {
			return 0, false
		}
	}
	// An event has at least two bytes, which bounds the number of events.
	last = min(d.stop(), len(d.buf)-longestShort+1, d.p+most*wire.ShortLeaveSize)
	return last, d.p < last
}

// stretch returns the next stretch, with at most most events. segment is the index of the clock's segment that was used last,
// which stretch updates. ok is false if the next record needs special treatment.
func (d *decoder) stretch(clock *clock, segment *int, most int) (s stretch, ok bool) {
	last, ok := d.shortsUpTo(min(mostShorts, most))
	if !ok {
		return s, false
	}
	list := clock.segments
	*segment = clock.near(*segment, d.time)
	c := &list[*segment]
	limit := d.nextEpoch
	if *segment+1 < len(list) {
		limit = min(limit, list[*segment+1].units)
	}
	if limit = min(limit, d.time+mostShorts*wire.MaxWordDelta+1); !c.linear(d.time, limit-1) {
		return s, false
	}
	s.b = d.buf[:len(d.buf)+overread]
	s.last = last
	s.units, s.limit = c.units, limit-c.units
	s.rate, s.zero, s.up = c.rate, c.ns, c.up()
	return s, true
}

// shorts reads short enters and leaves of a stretch. It ends when calls is full, or at a record that other has to decode;
// stopped reports the second. Where it can, it skips calls deeper than deepest with all that they call, using skim; these are
// not returned.
func (r *callReader) shorts(s *stretch, calls []parser.Call, deepest int) (n int, stopped bool) {
	d := r.d
	r.frames = slices.Grow(r.frames, mostShorts)
	frames, open := r.frames[:cap(r.frames)], r.open
	top, base := len(r.frames)-1, r.base
	before, lowest := top, top
	b, last, limit, rate, zero, up := s.b, s.last, s.limit, s.rate, s.zero, s.up&63
	p, time := d.p, d.time-s.units
	skimFrom, skimmed := int(max(r.wanted.skimFrom-d.bufAt, 0)), 0
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		if v&1 != 0 {
			t := time + wire.LeaveDelta(v)
			if top <= base || t >= limit || n >= len(calls) {
				break
			}
			f := &frames[top]
			top--
			lowest = min(lowest, top)
			p += wire.ShortLeaveSize
			time = t
			hi, _ := bits.Mul64(t<<up, rate)
			duration := zero + int64(hi) - f.Enter
			frames[top].Children += duration
			open[f.Group+1]--
			c := &calls[n]
			n++
			c.Enter, c.Duration, c.Self = f.Enter, duration, max(duration-f.Children, 0)
			c.ID, c.Depth, c.Marks, c.Recursive = f.ID, int32(top), f.Marks, f.Recursive
			continue
		}
		t := time + wire.EnterDelta(v)
		if t >= limit {
			break
		}
		if top > deepest && p >= skimFrom {
			if d.knownRecords()&(1<<(v&31)) == 0 {
				break
			}
			most := int(min(r.to-d.ordinal-int64(2*n+top-before+skimmed)-1, r.wanted.mostSkimmed))
			end, ended, k, ok := skim(d.buf, p+wire.ShortEnterSize, t, most)
			if ok && ended < limit {
				skimmed += k + 1
				p, time = end, ended
				frames[top].Children += s.at(ended) - s.at(t)
				continue
			}
			skimFrom = end
		}
		enter := r.entry(v)
		if enter.record != uint32(v) {
			if !r.remember(enter, v) {
				break
			}
			open = r.open
		}
		p += wire.ShortEnterSize
		time = t
		hi, _ := bits.Mul64(t<<up, rate)
		at := zero + int64(hi)
		marks := frames[top].Marks | enter.marks
		o := &open[enter.group+1]
		if v>>(8*wire.ShortEnterSize)&1 != 0 && p < last && n < len(calls) {
			// The next record ends this call, as it does for most calls: then the call need not be pushed.
			if t := time + wire.LeaveDelta(v>>(8*wire.ShortEnterSize)); t < limit {
				p += wire.ShortLeaveSize
				time = t
				hi, _ := bits.Mul64(t<<up, rate)
				duration := zero + int64(hi) - at
				frames[top].Children += duration
				c := &calls[n]
				n++
				c.Enter, c.Duration, c.Self = at, duration, duration
				c.ID, c.Depth, c.Marks, c.Recursive = enter.id, int32(top), marks, *o > 0
				continue
			}
		}
		top++
		f := &frames[top]
		f.Enter, f.Children = at, 0
		f.ID, f.Group, f.Number = enter.id, enter.group, enter.number
		f.Marks, f.Recursive, f.New = marks, *o > 0, false
		*o++
	}
	stopped = p < last && n < len(calls)
	// The returned calls have two events each, and the top-before additional open calls have one event each.
	d.ordinal += int64(2*n + top - before + skimmed)
	d.p, d.time = p, time+s.units
	r.wanted.skimFrom = int64(skimFrom) + d.bufAt
	r.wanted.skimmed += int64(skimmed)
	r.settle(frames[:top+1], lowest)
	return n, stopped
}

// keep notes that no more than so many calls stayed open.
func (r *callReader) keep(calls int) {
	r.kept = min(r.kept, calls)
	if r.fold != nil {
		r.fold.known = min(r.fold.known, calls+1)
	}
}

// settle sets the stack after a stretch. lowest is the number of calls that stayed open during the stretch.
func (r *callReader) settle(frames []parser.OpenFrame, lowest int) {
	d := r.d
	r.frames = frames
	r.keep(lowest)
	// The decoder's own stack is only needed between stretches, so it is brought up to date here.
	d.frames = d.frames[:min(lowest, len(d.frames))]
	for i := 1 + len(d.frames); i < len(frames); i++ {
		d.frames = append(d.frames, r.addresses[frames[i].Number].frame)
	}
}

// remember decodes the short enter in v's first bytes into enter. It returns false if they are no enter, or if its window is
// not set.
func (r *callReader) remember(enter *cachedCall, v uint64) bool {
	w := &r.d.windows[wire.EnterWindow(v)]
	if v&2 == 0 || !w.set {
		return false
	}
	number := r.number(frame{w.base + wire.EnterOffset(v), uint16(r.d.epoch)<<1 | w.kind})
	a := &r.addresses[number]
	*enter = cachedCall{record: uint32(v), counts: a.Counts, id: a.ID, group: a.Group, number: number, marks: a.Marks}
	return true
}

// other lets the decoder decode records up to one event. It returns false if a callReader cannot handle that event.
func (r *callReader) other() bool {
	d := r.d
	first := d.ordinal == 0
	before := len(r.frames) - 1
	var e [1]parser.Event
	n, err := d.decode(e[:])
	d.ordinal += int64(n)
	if more, err := d.goOn(err); err != nil || !more && d.ordinal < r.to {
		return false
	}
	if !r.upToDate() {
		r.renew()
	}
	if d.base != 0 {
		return false // the stack was stated
	}
	if n == 0 {
		return d.gap != parser.EventsMissing
	}
	if g := e[0].Gap; g == parser.EventsMissing || g == parser.ThreadBegins && (!first || before > 0) {
		return false
	}
	r.at = r.v.clock.at(uint64(e[0].Time))
	after := len(d.frames)
	if e[0].Kind == parser.Enter {
		after--
		r.push, r.pushed = true, r.number(d.frames[after])
		r.pops, r.closes = before-after, false
		return after >= 0 && after <= before
	}
	left := 0
	if g := e[0].Gap; g >= parser.CallsLeft {
		left = int(g-parser.CallsLeft) + 1
	}
	r.pops, r.closes = before-after, true
	return r.pops > left && e[0].Kind == parser.Leave
}
