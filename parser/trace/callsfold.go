package trace

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Summing up calls.
//
// If only the sums of the calls within a call are wanted, these need no stack of times: the time between two records belongs
// to the innermost open call, so it counts if that call does. Which of the open calls count fits into a word, with a bit for each.

// mostFolded bounds the calls that are open one in the other while calls are summed up.
const mostFolded = 60

// A callFold is the state of a reader that sums up calls.
type callFold struct {
	*parser.CallFold
	// nodes are those of the reader's frames, of which the first known are up to date. Element 0 stands for no call.
	nodes []int32
	known int
	// looked counts look-ups of nodes, and folded the events that were summed up. rest is for how many parts none are, this one included, and
	// pause how many these were last.
	looked, folded, rest, pause int
	// enters has decoded short enters, as callReader.cache has, which is larger: the first four bytes and, from bit 32 on, the bits of
	// sumRecords.kind. It is valid as long as that.
	enters  [1 << callCacheBits]uint64
	records sumRecords
}

// Fold implements [parser.CallReader].
func (r *callReader) Fold(f *parser.CallFold) {
	switch {
	case f == nil:
		r.fold = nil
	case r.fold == nil || r.fold.CallFold != f:
		r.fold = &callFold{CallFold: f}
		r.fold.forget()
	}
}

// forget forgets decoded enters.
func (f *callFold) forget() {
	clear(f.enters[:])
	f.enters[0] = 1 // not a short enter, so that padding, whose bytes are 0, does not match this element
}

// folding reports whether the reader sums up calls of the next stretch.
func (r *callReader) folding() bool {
	return r.fold != nil && r.fold.rest == 0 && !r.d.broken()
}

const (
	// To look up a node takes as long as to read some foldWorth events. If fewer are summed up for each look-up, none are for the rest of
	// the part, and then for some more parts, up to mostFoldRest.
	foldWorth    = 8
	mostFoldRest = 16
)

// foldSample is the number of look-ups after which that is decided. It is a variable for tests.
var foldSample = 1 << 10

// begin begins a part.
func (f *callFold) begin() {
	f.known, f.looked, f.folded = 0, 0, 0
	f.rest = max(f.rest-1, 0)
}

// assess decides whether to go on, after events were summed up in a stretch.
func (f *callFold) assess(events int) {
	if f.folded += events; f.looked < foldSample {
		return
	}
	if f.folded >= foldWorth*f.looked {
		f.pause = 0
	} else {
		f.pause = min(2*f.pause+1, mostFoldRest)
		f.rest = f.pause
	}
	f.looked, f.folded = 0, 0
}

// extend finds the nodes of the frames up to top, and makes room for those of a stretch.
func (f *callFold) extend(frames []parser.OpenFrame, top int) {
	if more := len(frames) - len(f.nodes); more > 0 {
		f.nodes = append(f.nodes, make([]int32, more)...)
	}
	if f.known == 0 {
		f.nodes[0], f.known = parser.NoCallNode, 1
	}
	for ; f.known <= top; f.known++ {
		f.folds(f.known-1, frames[f.known].ID)
	}
}

// folds finds the node of a call that frame top makes, and reports whether the call is to be summed up with those that it makes.
func (f *callFold) folds(top int, id uint32) bool {
	f.looked++
	node, folds := f.Nodes.Node(top, f.nodes[top], id)
	f.nodes[top+1] = node
	return folds
}

// foldShorts does what shorts does, and returns calls that are to be folded as one.
func (r *callReader) foldShorts(s *stretch, calls []parser.Call) (n int, stopped bool) {
	d, f := r.d, r.fold
	r.frames = slices.Grow(r.frames, mostShorts)
	frames := r.frames[:cap(r.frames)]
	top, base := len(r.frames)-1, r.base
	before, lowest := top, top
	f.extend(frames, top)
	p, time, from, folded := d.p, d.time-s.units, int(max(r.wanted.skimFrom-d.bufAt, 0)), 0
	for p < s.last && n < len(calls) {
		v := binary.LittleEndian.Uint64(s.b[p : p+8 : p+8])
		c := &calls[n]
		if v&1 != 0 {
			t := time + wire.LeaveDelta(v)
			if top <= base || t >= s.limit {
				break
			}
			p, time = p+wire.ShortLeaveSize, t
			g := &frames[top]
			top--
			lowest = min(lowest, top)
			r.open[g.Group+1]--
			duration := s.at(t) - g.Enter
			frames[top].Children += duration
			*c = parser.Call{Enter: g.Enter, Duration: duration, Self: max(duration-g.Children, 0), ID: g.ID, Depth: int32(top), Marks: g.Marks, Recursive: g.Recursive}
			n++
			continue
		}
		t := time + wire.EnterDelta(v)
		enter := r.entry(v)
		if t >= s.limit || enter.record != uint32(v) && !r.remember(enter, v) {
			break
		}
		if f.folds(top, enter.id) && p >= from {
			*c = parser.Call{Enter: s.at(t), ID: enter.id, Depth: int32(top)}
			most := int(min(r.to-d.ordinal-int64(2*n+top-before+folded)-1, math.MaxInt32))
			end, ended, events, ok := r.sum(s, c, frames[top].Marks&f.Marks != 0, enter, p+wire.ShortEnterSize, t, most)
			if !ok {
				*c, from = parser.Call{}, end
				continue // the cache may have changed
			}
			p, time = end, ended
			frames[top].Children += s.at(ended) - c.Enter
			folded += events + 1
			if c.Folded > 0 {
				n++
				folded -= 2 // which the returned call stands for
			} else {
				*c = parser.Call{}
			}
			continue
		}
		p, time = p+wire.ShortEnterSize, t
		o := &r.open[enter.group+1]
		frames[top+1] = parser.OpenFrame{Enter: s.at(t), ID: enter.id, Group: enter.group, Number: enter.number, Marks: frames[top].Marks | enter.marks, Recursive: *o > 0}
		*o++
		top++
	}
	d.ordinal += int64(2*n + top - before + folded)
	d.p, d.time = p, time+s.units
	r.wanted.skimFrom = int64(from) + d.bufAt
	r.settle(frames[:top+1], lowest)
	f.known = top + 1
	f.assess(folded)
	return n, p < s.last && n < len(calls)
}

// sum completes c, of which the address, the enter and the depth are known, so that it stands for a call and all that are made in it. enter is
// the decoded enter, which ends at offset p of the decoder's buffer and has time t; inside says whether its caller has one of the
// marks. sum returns the offset and the time after the call's leave and the number of events after the enter, which is most at
// most. ok is false if the calls cannot be summed up; end is then the offset reached.
func (r *callReader) sum(s *stretch, c *parser.Call, inside bool, enter *cachedCall, p int, t uint64, most int) (end int, ended uint64, events int, ok bool) {
	f := r.fold
	switch {
	case c.Enter < f.First:
		return p, 0, 0, false
	case c.Depth >= f.Shallowest && (f.All || f.AllInside && (inside || enter.marks&f.Marks != 0)):
		end, ended, events, ok = skim(r.d.buf, p, t, most)
		c.Duration = s.at(ended) - c.Enter
		c.Self, c.Folded, c.OutermostCounts = c.Duration, uint32(events+1)/2, true
	case f.All:
		end, ended, events, ok = r.sumDeep(s, c, p, t, most)
	default:
		end, ended, events, ok = r.sumCounted(s, c, inside, enter, p, t, most)
	}
	return end, ended, events, ok && ended < s.limit && s.at(ended) <= f.Last
}

// sumDeep is sum where all calls count that are deep enough.
func (r *callReader) sumDeep(s *stretch, c *parser.Call, p int, t uint64, most int) (end int, ended uint64, events int, ok bool) {
	b, above := r.d.buf, int(r.fold.Shallowest-c.Depth)-1 // how many calls are open within the first where one begins that counts
	calls, took := 0, int64(0)
	for open := 0; events < most && p+8 <= len(b); {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		events++
		switch {
		case v&1 != 0:
			p, t = p+wire.ShortLeaveSize, t+wire.LeaveDelta(v)
			if open--; open < 0 {
				c.Duration, c.Self, c.Folded = took, took, uint32(calls)
				return p, t, events, true
			}
		case v&2 == 0:
			return p, 0, 0, false
		default:
			p, t = p+wire.ShortEnterSize, t+wire.EnterDelta(v)
			if open < above {
				open++
				continue
			}
			end, ended, n, ok := skim(b, p, t, most-events)
			if !ok {
				return end, 0, 0, false
			}
			calls, took = calls+(n+1)/2, took+s.at(ended)-s.at(t)
			p, t, events = end, ended, events+n
		}
	}
	return p, 0, 0, false
}

// sumBatch is how many records are decoded before they are summed up. What is decoded behind the end of the calls is lost.
const sumBatch = 32

// A sumRecords is decoded short records. To decode them and to sum them up are loops of their own, because the values of both do
// not fit into the processor's registers.
type sumRecords struct {
	time [sumBatch]uint64 // in units
	at   [sumBatch]uint64 // in nanoseconds of the stretch
	kind [sumBatch]uint8
}

// Bits of sumRecords.kind. Those above the lowest are of an enter's address, as callFold.kinds has them.
const (
	sumLeave = 1 << iota
	sumOutside
	sumInside
	sumMarked
)

// sumCounted is sum where not all calls count.
func (r *callReader) sumCounted(s *stretch, c *parser.Call, inside bool, enter *cachedCall, p int, t uint64, most int) (end int, ended uint64, events int, ok bool) {
	f := r.fold
	sum := foldSum{open: 1, before: uint64(c.Enter - s.zero), shallowest: int(f.Shallowest - c.Depth)}
	sum.first(kindOf(f.CallFold, enter), inside)
	c.OutermostCounts = sum.calls > 0
	b := r.d.buf
	if most < len(b)/wire.ShortLeaveSize {
		b = b[:min(len(b), p+most*wire.ShortLeaveSize)] // there are not more events in it
	}
	for {
		n, to, at, kinds := r.decodeSum(b, p, t, s.rate, s.up)
		before := sum.open
		add := sum.add
		switch {
		case sum.counted|sum.inside == 0 && kinds&(sumOutside|sumMarked) == 0:
			add = sum.passOver
		case f.Marks != 0 || sum.shallowest > 0:
			add = sum.addSome
		}
		i, ended := add(&f.records, n)
		if ended {
			c.Duration, c.Self, c.Folded = int64(sum.outermost), int64(sum.self), uint32(sum.calls)
			enters := (i - before) / 2
			return p + enters*wire.ShortEnterSize + (i-enters)*wire.ShortLeaveSize, f.records.time[i-1], events + i, true
		}
		if p, t, events = to, at, events+n; n < sumBatch || i < n {
			return p, 0, 0, false
		}
	}
}

// kindOf returns the bits of sumRecords.kind for an address.
func kindOf(f *parser.CallFold, enter *cachedCall) uint8 {
	k := uint8(enter.counts) << 1
	if f.All {
		k = sumOutside | sumInside
	} else if f.AllInside {
		k |= sumInside
	}
	if enter.marks&f.Marks != 0 {
		k |= sumMarked
	}
	return k
}

// decodeSum decodes up to sumBatch short records from offset p of b on, and returns how many these are, the offset and the time
// behind them, and the bits that any of them has.
func (r *callReader) decodeSum(b []byte, p int, t, rate uint64, up uint) (n, end int, at uint64, kinds uint8) {
	list, known := &r.fold.records, &r.fold.enters
	scale := uint64(1) << (up & 63)
	for n < sumBatch && p+8 <= len(b) {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		enters := leave - 1
		i := uint32(v) * 0x9e3779b1 >> (32 - callCacheBits) & uint32(enters)
		enter := known[i]
		if uint32(enter^v)&uint32(enters) != 0 {
			if !r.rememberKind(i, v) {
				break
			}
			enter = known[i]
		}
		t += wire.EnterDelta(v)&enters + wire.LeaveDelta(v)&^enters
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		ns, _ := bits.Mul64(t*scale, rate)
		kind := uint8(enter>>32) | uint8(leave)
		kinds |= kind
		list.time[n], list.at[n], list.kind[n] = t, ns, kind
		n++
	}
	return n, p, t, kinds
}

// rememberKind decodes the short enter in v's first bytes for element i of enters. It returns false if they are no enter, or
// if its window is not set.
func (r *callReader) rememberKind(i uint32, v uint64) bool {
	var enter cachedCall
	if !r.remember(&enter, v) {
		return false
	}
	r.fold.enters[i] = uint64(uint32(v)) | uint64(kindOf(r.fold.CallFold, &enter))<<32
	return true
}

// A foldSum sums up records.
type foldSum struct {
	calls, self, outermost uint64
	// counted and inside have a bit for each open call, the lowest for the innermost: whether it counts, and whether it has a mark.
	counted, inside uint64
	open            int
	before          uint64 // the time of the last record
	// shallowest is how many calls have to be open around one that counts, from the first on.
	shallowest int
}

// first begins with a call.
func (s *foldSum) first(kind uint8, inside bool) {
	k := uint64(kind)
	if s.inside = k >> 3; inside {
		s.inside = 1
	}
	if s.shallowest <= 0 {
		s.counted = k >> 1 >> s.inside & 1
	}
	s.calls = s.counted
}

// add adds the first n records, up to the one that ends the first call. It returns how many it has added, and whether that
// one came.
func (s *foldSum) add(r *sumRecords, n int) (added int, ended bool) {
	calls, self, outermost, counted, open, before := s.calls, s.self, s.outermost, s.counted, s.open, s.before
	for ; added < n && uint(open-1) < mostFolded; added++ {
		took := r.at[added] - before
		before += took
		self += took & -(counted & 1)
		outermost += took &^ uint64(int64(counted-1)>>63)
		kind := uint64(r.kind[added])
		enters := kind&sumLeave - 1 // all bits are set for an enter, none for a leave
		counts := kind >> 1 & 1 & enters
		calls += counts
		// A leave takes away its call's bit.
		fewer := counted >> 1
		counted = fewer ^ (fewer^(counted<<1|counts))&enters
		open += int(enters)<<1&2 - 1
	}
	s.calls, s.self, s.outermost, s.counted, s.open, s.before = calls, self, outermost, counted, open, before
	return added, open == 0
}

// passOver is add where none of the open calls counts, nor of the records.
func (s *foldSum) passOver(r *sumRecords, n int) (added int, ended bool) {
	for ; added < n && uint(s.open-1) < mostFolded; added++ {
		s.open += 1 - int(r.kind[added]&sumLeave)<<1
		s.before = r.at[added]
	}
	return added, s.open == 0
}

// addSome is add where marks or the depth matter.
func (s *foldSum) addSome(r *sumRecords, n int) (added int, ended bool) {
	shallowest := s.shallowest
	calls, self, outermost, counted, inside, open, before := s.calls, s.self, s.outermost, s.counted, s.inside, s.open, s.before
	for ; added < n && uint(open-1) < mostFolded; added++ {
		took := r.at[added] - before
		before += took
		self += took & -(counted & 1)
		outermost += took &^ uint64(int64(counted-1)>>63)
		kind := uint64(r.kind[added])
		enters := kind&sumLeave - 1
		in := inside&1 | kind>>3
		counts := kind >> 1 >> (in & 1) & 1 & enters &^ uint64((open-shallowest)>>63)
		calls += counts
		fewer := counted >> 1
		counted = fewer ^ (fewer^(counted<<1|counts))&enters
		fewer = inside >> 1
		inside = fewer ^ (fewer^(inside<<1|in))&enters
		open += int(enters)<<1&2 - 1
	}
	s.calls, s.self, s.outermost, s.counted, s.inside, s.open, s.before = calls, self, outermost, counted, inside, open, before
	return added, open == 0
}
