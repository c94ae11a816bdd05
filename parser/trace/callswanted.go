package trace

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Calls of which few are wanted.
//
// Where the limits of a reader leave few calls, going over records need not depend on which kind comes
// next: what an enter does is done for every record above the top of the stack, where it is of no use, and what a leave
// does comes to 0 for an enter. The only branch that a processor cannot predict is the one for a call that is wanted.

// wanted is which calls a reader is asked for.
type wanted struct {
	parser.CallLimits
	limited bool
	// callers is the depth of the innermost open call that a call which was given was made in, -1 for none
	// and where callers are not asked for.
	callers int
	// seen are the calls that were gone over, found those of them that were given, until as many were seen as
	// tell whether few are wanted; all is of how many events all calls are given, since too many were.
	seen, found int
	all         int64
}

// Limit implements [parser.CallReader].
func (r *callReader) Limit(l parser.CallLimits) {
	none := parser.NoCallLimits()
	none.Callers = l.Callers
	r.wanted = wanted{CallLimits: l, limited: l != none, callers: -1}
}

const (
	// deepestWanted is how many calls may be open: of a deep stack all calls are given.
	deepestWanted = 256
	// Few are wanted where less than one call of manyWanted is.
	manyWanted = 6
	// Where more are, all calls of as many events are given as wantedPause samples have calls.
	wantedPause = 32
)

// wantedSample is how many calls of a part are gone over before it is asked whether few were wanted. It is asked for each
// part, so that which calls are given does not depend on the parts that a reader had before. A variable for tests.
var wantedSample = 1 << 10

// begin begins a part.
func (w *wanted) begin() { w.callers, w.seen, w.found, w.all = -1, 0, 0, 0 }

// given notes that a call was given with so many frames left.
func (w *wanted) given(frames int) {
	if w.Callers {
		w.callers = frames - 2
	}
}

// stretches reads the next stretch, as shorts does.
func (r *callReader) stretches(calls []parser.Call) (n int, stopped bool) {
	s, ok := r.d.stretch(r.v.clock, &r.segment, int(min(mostShorts, r.to-r.d.ordinal)))
	if !ok {
		return 0, true
	}
	w := &r.wanted
	// Where a time has room for them the bits that span takes of a product are its high ones.
	high := s.down > 0 && (s.limit-1)<<s.up>>s.up == s.limit-1
	before := r.d.ordinal
	if !w.limited || w.all > 0 || len(r.frames) >= deepestWanted || !high {
		if n, stopped = r.shorts(&s, calls); n > 0 {
			w.given(len(r.frames))
		}
		w.all -= r.d.ordinal - before
		return n, stopped
	}
	if w.Marks != 0 {
		n, stopped = r.fewMarked(&s, calls)
	} else {
		n, stopped = r.few(&s, calls)
	}
	w.found += n
	if w.seen += int(r.d.ordinal-before) / 2; w.seen >= wantedSample {
		if w.found*manyWanted > w.seen {
			w.all = int64(wantedPause * wantedSample)
		}
		w.seen, w.found = 0, 0
	}
	return n, stopped
}

// A sparseFrames is open calls in columns, of which element 0 stands for none.
type sparseFrames struct {
	enter, children [sparseMask + 1]int64
	// record has the first four bytes of enters in the stretch, 0 for calls of before.
	record [sparseMask + 1]uint32
}

// sparseMask has all bits, so that no place has to be checked, and room for the calls that may be open and those that a stretch may
// enter besides.
const sparseMask = 1<<10 - 1

// few is shorts where few calls are wanted.
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
	shortest, deepest, callers := w.Shortest, int64(w.Deepest)+2, int64(w.callers)+2
	known := d.knownRecords()
	p, time := d.p, d.time-s.units
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		enters := leave - 1 // all bits for an enter
		t := time + wire.EnterDelta(v)&enters + wire.LeaveDelta(v)&^enters
		if known&(1<<(v&31)) == 0 || top-int(leave) < base || t >= limit {
			break
		}
		time = t
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		high, _ := bits.Mul64(t<<up, rate)
		duration := (int64(high) - f.enter[top&sparseMask]) &^ int64(enters)
		f.children[(top-int(leave))&sparseMask] += duration
		// Each of these is negative where the call is within a limit, the first for leaves alone.
		within := (shortest - duration - int64(leave)) & (int64(top) - deepest)
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

// knownRecords has bits for the lowest five of enters in windows that are set, and of leaves.
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

// cached returns what an enter means that v begins with, whose window is set.
func (r *callReader) cached(v uint64) *cachedCall {
	enter := &r.cache[uint32(v)*0x9e3779b1>>(32-callCacheBits)]
	if enter.record != uint32(v) {
		r.remember(enter, v)
	}
	return enter
}

// sparseNumber returns the number of the address of the call that is element i of the sparse frames.
func (r *callReader) sparseNumber(i int) uint32 {
	if record := r.sparse.record[i&sparseMask]; record != 0 {
		return r.cached(uint64(record)).number
	}
	return r.frames[i].Number
}

// give makes a call of the top of the sparse frames, whose times count from zero.
func (r *callReader) give(c *parser.Call, top int, duration, zero int64) {
	f := r.sparse
	a := &r.addresses[r.sparseNumber(top)]
	i := top & sparseMask
	*c = parser.Call{Enter: f.enter[i] + zero, Duration: duration, Self: max(duration-f.children[i], 0), ID: a.ID, Depth: int32(top - 1), Marks: a.Marks}
	for k := 1; k < top; k++ {
		below := &r.addresses[r.sparseNumber(k)]
		c.Marks |= below.Marks
		c.Recursive = c.Recursive || below.Group == a.Group && a.Group != parser.NoCallGroup
	}
}

// takeFrames makes the stack what a stretch has left in the sparse frames, whose times count from zero.
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

// fewMarked is few where calls are wanted by what they were made in, so that the address of each enter matters.
func (r *callReader) fewMarked(s *stretch, calls []parser.Call) (n int, stopped bool) {
	d, w := r.d, &r.wanted
	r.frames = slices.Grow(r.frames, mostShorts+1)
	for i := range r.frames[1:] {
		r.open[r.frames[i+1].Group+1]--
	}
	frames := r.frames[:cap(r.frames)]
	top, base := len(r.frames)-1, r.base
	before, lowest := top, top
	b, last, limit, rate, zero, up := s.b, s.last, s.limit, s.rate, s.zero, s.up&63
	shortest, deepest, callers, marks := w.Shortest, int64(w.Deepest)+2, int64(w.callers)+2, w.Marks
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
		within := (shortest - duration - int64(leave)) & (int64(top) - deepest) & -int64(f.Marks&marks)
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
		top += 1 - 2*int(leave)
		lowest = min(lowest, top)
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

// inGroup reports whether one of some open calls is of a group.
func inGroup(open []parser.OpenFrame, group uint32) bool {
	for i := range open {
		if open[i].Group == group {
			return group != parser.NoCallGroup
		}
	}
	return false
}

// countShorts counts the short records up to place p in the buffer, after which so many calls more are open. The bytes
// and the calls say how many leaves there were.
func (d *decoder) countShorts(p, more int) {
	left := (p - d.p - wire.ShortEnterSize*more) / (wire.ShortEnterSize + wire.ShortLeaveSize)
	d.ordinal += int64(2*left + more)
	d.p = p
}
