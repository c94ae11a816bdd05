package trace

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Reading calls of which few are wanted.
//
// If few calls are within the limits of a reader, it processes records without a branch on their kind. For each record it
// writes an enter above the top of the stack, which has no effect if the record is a leave. For each record it computes what a
// leave would add, which is 0 if the record is an enter. So the processor fails to predict a branch only at a call that is
// wanted.

// wanted is the state of a reader that is asked for some calls only.
type wanted struct {
	parser.CallLimits
	// limited says that there are limits besides those of time.
	limited bool
	// callers is the depth of the innermost open call that has made a returned call. It is -1 if there is none, or if callers
	// are not wanted.
	callers int
	// seen counts the calls of the current sample, and found those of them that were returned. all is the number of events for
	// which all calls are returned, because a sample has shown that many are wanted.
	seen, found int
	all         int64
	// skimFrom is the offset in the file from which skim may be tried again. tried counts the events of the stretches in which
	// skim was tried, and skimmed those that it has skipped. deep says that these were too few.
	skimFrom       int64
	skimmed, tried int64
	deep           bool
	// mostSkimmed is the number of records after which skim gives up. Where no call is wanted because of its time those deeper than
	// outsideOf are skipped; outsideGood is the number of stretches since one of them was too long.
	mostSkimmed            int64
	outsideOf, outsideGood int
	// passes is how often events were passed over up to a call with a mark, and passed how many these were.
	passes, passed int
	// longs says that a sample has shown that many calls have at least the shortest wanted duration.
	longs bool
}

// Limit implements [parser.CallReader].
func (r *callReader) Limit(l parser.CallLimits) {
	none := parser.NoCallLimits()
	none.Callers = l.Callers
	none.First, none.Last = l.First, l.Last
	r.wanted = wanted{CallLimits: l, limited: l != none}
	r.wanted.begin()
	r.address = nil
	if l.Counted {
		r.address = &addressLimit{CallLimits: &r.wanted.CallLimits}
	}
}

const (
	// deepestWanted bounds the stack: while more calls are open, all calls are returned.
	deepestWanted = 256
	// If fewer than one call in manyWanted is wanted, few calls are wanted.
	manyWanted = 6
	// wantedPause is the number of samples for which all calls are returned after a sample with many wanted ones.
	wantedPause = 32
)

// wantedSample is the number of calls in a sample, after which the reader decides whether few calls are wanted. Each part
// begins with a new sample, so that the calls returned for a part do not depend on earlier parts. It is a variable for tests.
var wantedSample = 1 << 10

// begin begins a part.
func (w *wanted) begin() {
	*w = wanted{CallLimits: w.CallLimits, limited: w.limited, callers: -1, mostSkimmed: math.MaxInt32, outsideOf: -1}
}

// shortest returns the least duration of a call, or, if all bits of ofSelf are set, what it does not spend in calls that it makes at least.
func (w *wanted) shortest() (ns, ofSelf int64) {
	if w.ShortestSelf > 0 {
		return w.ShortestSelf, -1
	}
	return w.Shortest, 0
}

// asksMarks reports whether all calls are wanted that have a mark that is asked for.
func (w *wanted) asksMarks() bool {
	return w.Marks != 0 && !w.Callers && !w.Counted && w.Shortest <= 0 && w.ShortestSelf <= 0 && w.Deepest == parser.NoCallLimits().Deepest
}

// given notes that a call was returned. frames is the length of the stack at that time.
func (w *wanted) given(frames int) {
	if w.Callers {
		w.callers = frames - 2
	}
}

// giveShorts is shorts, and notes that calls were returned.
func (r *callReader) giveShorts(s *stretch, calls []parser.Call, deepest int) (n int, stopped bool) {
	if n, stopped = r.shorts(s, calls, deepest); n > 0 {
		r.wanted.given(len(r.frames))
	}
	return n, stopped
}

// stretches reads the next stretch by the method that suits the number of wanted calls. It returns what shorts does.
func (r *callReader) stretches(calls []parser.Call) (n int, stopped bool) {
	s, ok := r.d.stretch(r.v.clock, &r.segment, int(min(mostShorts, r.to-r.d.ordinal)))
	if !ok {
		return 0, true
	}
	w := &r.wanted
	if r.outside(&s) && !r.d.broken() {
		return r.skipOutside(&s, calls)
	}
	before := r.d.ordinal
	if w.Deepest != parser.NoCallLimits().Deepest && !w.deep && !r.d.broken() {
		n, stopped = r.giveShorts(&s, calls, int(w.Deepest))
		if w.tried += r.d.ordinal - before; w.tried >= int64(2*wantedSample) {
			w.deep = w.skimmed*2 < w.tried
			w.skimmed, w.tried = 0, 0
		}
		return n, stopped
	}
	if r.folding() {
		return r.foldShorts(&s, calls)
	}
	deep := len(r.frames) >= deepestWanted
	marked := r.frames[len(r.frames)-1].Marks&w.Marks != 0
	if w.Marks != 0 && !marked && !w.Callers && !deep && w.all <= 0 {
		r.passUnmarked(&s)
		w.passedOver(int(r.d.ordinal - before))
		if r.d.p >= s.last {
			return 0, false
		}
		return r.fewAddressed(&s, calls)
	}
	if !w.limited || w.all > 0 || deep || marked && w.asksMarks() {
		n, stopped = r.giveShorts(&s, calls, math.MaxInt)
		w.all -= r.d.ordinal - before
		return n, stopped
	}
	// What few returns may have more calls than asked for, but it is faster.
	addressed := w.Marks != 0 || w.Counted && (w.Shortest <= 0 && w.ShortestSelf <= 0 || w.longs)
	if addressed {
		n, stopped = r.fewAddressed(&s, calls)
	} else {
		n, stopped = r.few(&s, calls)
	}
	w.found += n
	if w.seen += int(r.d.ordinal-before) / 2; w.seen >= wantedSample {
		if w.found*manyWanted > w.seen {
			if addressed || !w.Counted {
				w.all = int64(wantedPause * wantedSample)
			}
			w.longs = true
		}
		w.seen, w.found = 0, 0
	}
	return n, stopped
}

const (
	// To pass over events up to the next call with a mark takes as long as to read some passWorth events. If fewer are passed over, calls are
	// read one by one for some time.
	passWorth = 64
	// passSample is how often events are passed over until that is decided.
	passSample = 64
)

// passedOver notes how many events passUnmarked has passed over.
func (w *wanted) passedOver(events int) {
	w.passed += events
	if w.passes++; w.passes == passSample {
		if w.passed < passWorth*passSample {
			w.all = int64(wantedPause * wantedSample)
		}
		w.passes, w.passed = 0, 0
	}
}

// stepOutside is how many units a stretch before the first wanted time may be long, where it would otherwise reach into the wanted
// ones. It is a variable for tests.
var stepOutside = uint64(1 << 20)

// outside reports whether no call is wanted that begins in a stretch, because of its time. It may shorten the stretch, so that this is so.
func (r *callReader) outside(s *stretch) bool {
	w, from := &r.wanted, r.d.time-s.units
	switch {
	case s.at(from) > w.Last, s.at(s.limit-1) < w.First:
		return true
	case s.limit-from > stepOutside && s.at(from+stepOutside-1) < w.First:
		s.limit = from + stepOutside
		return true
	}
	return false
}

// outsideSkim is how many records of a call are skipped at most where no call is wanted. A call that has more is read in vain up to there. It is a
// variable for tests.
var outsideSkim = int64(1 << 12)

// After outsideTry stretches calls of the level above are tried, too.
const outsideTry = 16

// skipOutside does what shorts does, where no call is wanted because of its time: it skips calls, with all that they make, but for those that
// are open before or behind, which are returned in any case, and for those that are too long.
func (r *callReader) skipOutside(s *stretch, calls []parser.Call) (n int, stopped bool) {
	w := &r.wanted
	skimmed := w.skimmed
	w.skimFrom, w.mostSkimmed = 0, outsideSkim
	n, stopped = r.giveShorts(s, calls, min(w.outsideOf, int(w.Deepest)))
	if w.skimFrom > r.d.bufAt {
		w.outsideOf, w.outsideGood = w.outsideOf+1, 0 // one was too long
	} else if w.outsideGood++; w.outsideGood == outsideTry {
		w.outsideOf, w.outsideGood = max(w.outsideOf-1, -1), 0
	}
	w.skimFrom, w.mostSkimmed, w.skimmed = 0, math.MaxInt32, skimmed
	return n, stopped
}

// broken reports whether the chunk cannot be read to its end.
func (d *decoder) broken() bool {
	_, broken := slices.BinarySearch(d.s.broken, int32(d.chunk))
	return broken
}

// sparseFrames are open calls, stored in columns. Element 0 stands for no call.
type sparseFrames struct {
	enter, children [sparseMask + 1]int64
	// record has the first four bytes of an enter in the stretch. It is 0 for calls that were open before.
	record [sparseMask + 1]uint32
}

// sparseMask is one less than the length of the columns, which is a power of two, so that masking an index replaces the check
// of its bounds. The columns have room for the calls that may be open and for those that a stretch may add.
const sparseMask = 1<<10 - 1

// few does what shorts does, if few calls are wanted.
func (r *callReader) few(s *stretch, calls []parser.Call) (n int, stopped bool) {
	d, w := r.d, &r.wanted
	if r.sparse == nil {
		r.sparse = new(sparseFrames)
	}
	f, zero := r.sparse, s.zero
	for i := range r.frames {
		g, k := &r.frames[i], i&sparseMask
		f.enter[k], f.children[k], f.record[k] = g.Enter-zero, g.Children, 0
		if i > 0 {
			r.open[g.Group+1]--
		}
	}
	top, base := len(r.frames)-1, r.base
	before := top
	b, last, limit, rate, up := s.b, s.last, s.limit, s.rate, s.up&63
	shortest, ofSelf := w.shortest()
	deepest, callers := int64(w.Deepest)+2, int64(w.callers)+2
	known := d.knownRecords()
	p, time := d.p, d.time-s.units
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		enters := leave - 1 // all bits are set for an enter, none for a leave
		t := time + wire.EnterDelta(v)&enters + wire.LeaveDelta(v)&^enters
		if known&(1<<(v&31)) == 0 || top-int(leave) < base || t >= limit {
			break
		}
		time = t
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		high, _ := bits.Mul64(t<<up, rate)
		duration := (int64(high) - f.enter[top&sparseMask]) &^ int64(enters)
		f.children[(top-int(leave))&sparseMask] += duration
		// Each factor is negative if the call is within a limit; the first one never is for an enter.
		within := (shortest + f.children[top&sparseMask]&ofSelf - duration - int64(leave)) & (int64(top) - deepest)
		if within|(int64(top)-callers)&^int64(enters) < 0 {
			r.give(&calls[n], top, duration, zero)
			if n++; n == len(calls) {
				last = 0
			}
			if w.Callers {
				callers = int64(top)
			}
		}
		k := (top + 1) & sparseMask
		f.enter[k], f.children[k], f.record[k] = int64(high), 0, uint32(v)
		top += 1 - 2*int(leave)
	}
	stopped = p < last
	d.countShorts(p, top-before)
	d.time = time + s.units
	w.callers = int(callers) - 2
	r.takeFrames(top, zero)
	return n, stopped
}

// knownRecords returns a set of the lowest five bits of records. It contains those of all short leaves, and those of short
// enters whose window is set.
func (d *decoder) knownRecords() uint64 {
	const leaves = 0xaaaaaaaa
	known := uint64(leaves)
	for i := range d.windows {
		if d.windows[i].set {
			known |= 4 << (4 * i)
		}
	}
	return known
}

// cached returns the decoded form of the short enter in v's first bytes. Its window must be set.
func (r *callReader) cached(v uint64) *cachedCall {
	enter := &r.cache[uint32(v)*0x9e3779b1>>(32-callCacheBits)]
	if enter.record != uint32(v) {
		r.remember(enter, v)
	}
	return enter
}

// sparseNumber returns the number of the address of call i of the sparse frames.
func (r *callReader) sparseNumber(i int) uint32 {
	if record := r.sparse.record[i&sparseMask]; record != 0 {
		return r.cached(uint64(record)).number
	}
	return r.frames[i].Number
}

// give fills in the call at the top of the sparse frames. Times in these count from zero.
func (r *callReader) give(c *parser.Call, top int, duration, zero int64) {
	f := r.sparse
	a := &r.addresses[r.sparseNumber(top)]
	i := top & sparseMask
	marks, recursive := a.Marks, false
	for k := 1; k < top; k++ {
		below := &r.addresses[r.sparseNumber(k)]
		marks |= below.Marks
		recursive = recursive || below.Group == a.Group
	}
	*c = parser.Call{Enter: f.enter[i] + zero, Duration: duration, Self: max(duration-f.children[i], 0), ID: a.ID, Depth: int32(top - 1),
		Marks: marks, Recursive: recursive && a.Group != parser.NoCallGroup}
}

// takeFrames sets the stack after a stretch from the sparse frames. Times in these count from zero.
func (r *callReader) takeFrames(top int, zero int64) {
	f := r.sparse
	frames := slices.Grow(r.frames, max(top+1-len(r.frames), 0))[:top+1]
	lowest := top
	for i := range frames {
		g := &frames[i]
		if f.record[i&sparseMask] != 0 {
			lowest = min(lowest, i-1)
			number := r.sparseNumber(i)
			a := &r.addresses[number]
			*g = parser.OpenFrame{Enter: f.enter[i&sparseMask] + zero, ID: a.ID, Group: a.Group, Number: number, Marks: a.Marks | frames[i-1].Marks}
		}
		g.Children = f.children[i&sparseMask]
		if i > 0 {
			o := &r.open[g.Group+1]
			g.Recursive = *o > 0 && g.Group != parser.NoCallGroup
			*o++
		}
	}
	r.settle(frames, lowest)
}

// Bits of cachedCall.limit and of addressLimit.states.
const (
	// A call that is or was made in a call with one of the marks of CallLimits.Inside, or of CallLimits.Marks, has bit inside, or marked.
	addressInside = 1 << iota
	addressMarked
	// The address of an enter counts outside or inside.
	addressOutsideCounts
	addressInsideCounts
)

// An addressLimit is the limits that depend on a call's address and marks, where CallLimits.Counted asks for both.
type addressLimit struct {
	*parser.CallLimits
	// states are those of the open calls, with the bits inside and marked. One whose address and marks are within the limits is negative.
	states [sparseMask + 1]int8
}

// bits returns those of an enter. Marks are those of its address, or of its callers, too.
func (l *addressLimit) bits(marks uint8, counts parser.FoldCounts) (b uint8) {
	if marks&l.Inside != 0 {
		b = addressInside
	}
	if l.Marks == 0 || marks&l.Marks != 0 {
		b |= addressMarked
	}
	if counts&parser.CountsOutside != 0 {
		b |= addressOutsideCounts
	}
	if counts&parser.CountsInside != 0 {
		b |= addressInsideCounts
	}
	return b
}

// addressState returns the state of a call, by its enter's bits and its caller's state.
func addressState(enter uint8, caller int8) int8 {
	state := (enter | uint8(caller)) & (addressInside | addressMarked)
	return int8(state | enter>>2>>(state&addressInside)&(state>>1)<<7)
}

// fewAddressed does what few does, for limits that depend on the addresses of open calls. It has to look up that of each enter.
func (r *callReader) fewAddressed(s *stretch, calls []parser.Call) (n int, stopped bool) {
	d, w := r.d, &r.wanted
	r.frames = slices.Grow(r.frames, mostShorts+1)
	address, marks := r.address, w.Marks
	for i := range r.frames[1:] {
		f := &r.frames[i+1]
		r.open[f.Group+1]--
		if address != nil {
			address.states[(i+1)&sparseMask] = addressState(address.bits(f.Marks, r.addresses[f.Number].Counts), 0)
		}
	}
	frames := r.frames[:cap(r.frames)]
	top, base := len(r.frames)-1, r.base
	before, lowest := top, top
	b, last, limit, rate, zero, up := s.b, s.last, s.limit, s.rate, s.zero, s.up&63
	shortest, deepest, callers := w.Shortest, int64(w.Deepest)+2, int64(w.callers)+2
	// Behind the outermost call with a mark passUnmarked may go on.
	marked := 0
	if marks != 0 && !w.Callers {
		for marked = 1; marked <= top && frames[marked].Marks&marks == 0; marked++ {
		}
	}
	p, time := d.p, d.time-s.units
	for p < last && n < len(calls) {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		enters := leave - 1
		entry := &r.cache[uint32(v)*0x9e3779b1>>(32-callCacheBits)&uint32(enters)]
		t := time + wire.EnterDelta(v)&enters + wire.LeaveDelta(v)&^enters
		if (entry.record^uint32(v))&uint32(enters) != 0 && !r.remember(entry, v) || top-int(leave) < base || t >= limit {
			break
		}
		time = t
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		high, _ := bits.Mul64(t<<up, rate)
		at := zero + int64(high)
		f := &frames[top]
		duration := (at - f.Enter) &^ int64(enters)
		frames[top-int(leave)].Children += duration
		asked := -int64(f.Marks & marks) // negative if the call is within the limits by its address and marks
		if address != nil {
			asked = int64(address.states[top&sparseMask])
		}
		within := (shortest - duration - int64(leave)) & (int64(top) - deepest) & asked
		if within|(int64(top)-callers)&^int64(enters) < 0 {
			c := &calls[n]
			n++
			c.Enter, c.Duration, c.Self = f.Enter, duration, max(duration-f.Children, 0)
			c.ID, c.Depth, c.Marks = r.addresses[f.Number].ID, int32(top-1), f.Marks
			c.Recursive = inGroup(frames[1:top], f.Group)
			if w.Callers {
				callers = int64(top)
			}
		}
		g := &frames[top+1]
		g.Enter, g.Children, g.Group, g.Number, g.Marks = at, 0, entry.group, entry.number, f.Marks|entry.marks
		if address != nil {
			address.states[(top+1)&sparseMask] = addressState(entry.limit, address.states[top&sparseMask])
		}
		top += 1 - 2*int(leave)
		lowest = min(lowest, top)
		if top < marked {
			last = 0
		}
	}
	stopped = p < last && n < len(calls)
	d.countShorts(p, top-before)
	d.time = time + s.units
	w.callers = int(callers) - 2
	for i := range frames[1 : top+1] {
		f := &frames[i+1]
		f.ID = r.addresses[f.Number].ID
		o := &r.open[f.Group+1]
		f.Recursive = *o > 0 && f.Group != parser.NoCallGroup
		*o++
	}
	r.settle(frames[:top+1], lowest)
	return n, stopped
}

// passUnmarked does what fewAddressed does, up to the first enter of a call with a mark that is asked for, where no such call is open: it gives none.
// Of calls without a mark nobody asks what time they spent in others.
func (r *callReader) passUnmarked(s *stretch) {
	d := r.d
	r.frames = slices.Grow(r.frames, mostShorts+1)
	frames := r.frames[:cap(r.frames)]
	top, base := len(r.frames)-1, r.base
	before, lowest := top, top
	b, last, limit, marks := s.b, s.last, s.limit, r.wanted.Marks
	p, time := d.p, d.time-s.units
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		enters := leave - 1
		entry := &r.cache[uint32(v)*0x9e3779b1>>(32-callCacheBits)&uint32(enters)]
		t := time + wire.EnterDelta(v)&enters + wire.LeaveDelta(v)&^enters
		if (entry.record^uint32(v))&uint32(enters) != 0 && !r.remember(entry, v) || entry.marks&marks&uint8(enters) != 0 || top-int(leave) < base || t >= limit {
			break
		}
		time = t
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		g := &frames[top+1]
		g.Enter, g.Number = int64(t), entry.number
		top += 1 - 2*int(leave)
		lowest = min(lowest, top)
	}
	d.countShorts(p, top-before)
	d.time = time + s.units
	for i := before; i > lowest; i-- {
		r.open[r.frames[i].Group+1]--
	}
	r.frames = frames[:lowest+1]
	for i := lowest + 1; i <= top; i++ {
		r.enter(frames[i].Number, s.at(uint64(frames[i].Enter)))
	}
	r.settle(frames[:top+1], lowest)
}

// inGroup reports whether an open call belongs to a group.
func inGroup(open []parser.OpenFrame, group uint32) bool {
	for i := range open {
		if open[i].Group == group {
			return group != parser.NoCallGroup
		}
	}
	return false
}

// countShorts counts the short records up to offset p of the buffer. more is the number of additional open calls there. This
// number and the number of bytes give the numbers of enters and leaves.
func (d *decoder) countShorts(p, more int) {
	left := (p - d.p - wire.ShortEnterSize*more) / (wire.ShortEnterSize + wire.ShortLeaveSize)
	d.ordinal += int64(2*left + more)
	d.p = p
}
