package trace

import (
	"encoding/binary"
	"io"
	"math"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Stacks of coroutines.
//
// A SWITCH record says to which stack the events after it belong. Stack 0 is the thread's own; a decoder keeps it from chunk to
// chunk. The other stacks are those of coroutines. Of these, a decoder knows only what the current chunk tells, because between
// two chunks they may have run in other threads.

// firstStrand is the smallest value of Event.Thread that is not the id of a thread.
const firstStrand = 1 << 31

// maxStrands bounds the number of strands. It is a variable for tests.
var maxStrands = 1 << 20

// A strand is a pair of a thread and a stack that was used in it.
type strand struct{ thread, stack uint32 }

// strands assigns numbers to the strands of a log. Such a number is the Thread of events that do not belong to the thread's own
// stack, and of events of threads whose id is not below firstStrand.
type strands struct {
	mu   sync.RWMutex
	ids  map[strand]uint32
	list []strand
	many bool
	// lossFrom is a time in units from which on events may be missing, so that a STACK may differ from the stack that the
	// events before it give.
	lossFrom atomic.Uint64
}

func newStrands() *strands {
	s := &strands{ids: make(map[strand]uint32)}
	s.lossFrom.Store(noLimit)
	return s
}

// add gives a strand a number.
func (t *strands) add(s strand) {
	if s.stack == 0 && s.thread < firstStrand {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.ids[s]; ok {
		return
	}
	if len(t.list) >= maxStrands {
		t.many = true
		return
	}
	t.ids[s] = firstStrand + uint32(len(t.list))
	t.list = append(t.list, s)
}

// of returns Event.Thread for the events of a strand. If the strand has no number because there were too many, its events
// appear on the thread's own stack.
func (t *strands) of(s strand) uint32 {
	if s.stack != 0 || s.thread >= firstStrand {
		t.mu.RLock()
		defer t.mu.RUnlock()
		if id, ok := t.ids[s]; ok {
			return id
		}
	}
	return s.thread
}

// Strand implements [parser.Stacker].
func (l *Log) Strand(id uint32) (thread, stack uint32) {
	if id < firstStrand {
		return id, 0
	}
	t := l.growth.w.strands
	t.mu.RLock()
	defer t.mu.RUnlock()
	if i := int(id - firstStrand); i < len(t.list) {
		return t.list[i].thread, t.list[i].stack
	}
	return id, 0
}

// HasStacks implements [parser.Stacker].
func (l *Log) HasStacks() bool {
	t := l.growth.w.strands
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.list) > 0
}

// numberStrands assigns numbers to the strands that scanning has found, in the same order at each opening. If events are
// missing, it stores at, a time in units, as the time of that.
func (w *walker) numberStrands(at uint64) {
	loss := w.head.Flags&wire.FlagRing != 0 || w.damageBytes > 0 || len(w.damage) > 0
	for _, s := range w.all {
		w.strands.add(strand{uint32(s.thread), 0})
		for _, k := range s.stackNumbers[s.numbered:] {
			w.strands.add(strand{uint32(s.thread), k})
		}
		s.numbered = len(s.stackNumbers)
		loss = loss || s.lost > 0 || len(s.damage) > 0 || s.inherited != "" || s.inheritedStack
	}
	if loss && w.strands.lossFrom.Load() > at {
		w.strands.lossFrom.Store(at)
	}
}

// A parkedStack is the state of a stack that is not the current one.
type parkedStack struct {
	frames []frame
	base   uint32
	gap    parser.Gap
}

// savedStacks are the stacks of a sample: the current stack with the gap of its next event, and the other known stacks.
type savedStacks struct {
	stack  uint32
	gap    parser.Gap
	parked []savedStack
}

type savedStack struct {
	number, node uint32
	gap          parser.Gap
}

// switchTo makes another stack the current one.
func (d *decoder) switchTo(k uint32) {
	if d.scanning {
		d.s.found(k)
	}
	if k == d.on {
		return
	}
	if d.parked == nil {
		d.parked = make(map[uint32]*parkedStack)
	}
	p := d.parked[d.on]
	if p == nil {
		p = &parkedStack{}
		d.parked[d.on] = p
	}
	// The calls of a small stack are copied, so that it does not keep the room that is there for more of them.
	const small = 256
	if p.base, p.gap = d.base, d.gap; len(d.frames) <= small {
		p.frames, d.frames = append(p.frames[:0], d.frames...), d.frames[:0]
	} else {
		p.frames, d.frames = d.frames, nil
	}
	d.base, d.gap, d.deep = 0, parser.NoGap, nil
	if p := d.parked[k]; p != nil {
		if d.base, d.gap = p.base, p.gap; len(p.frames) <= small {
			d.frames = append(d.frames, p.frames...)
		} else {
			d.frames, p.frames = p.frames, nil
		}
	}
	d.on, d.thread = k, d.s.strands.of(strand{uint32(d.s.thread), k})
}

// forgetStacks makes the thread's own stack the current one and forgets the others. It is called at the beginning of a chunk,
// which lists them again.
func (d *decoder) forgetStacks() {
	d.switchTo(0)
	d.parked = nil
}

// found records that the stream uses a stack.
func (s *stream) found(k uint32) {
	if k == 0 || s.known[k] || len(s.stackNumbers) >= maxStrands {
		return
	}
	if s.known == nil {
		s.known = make(map[uint32]bool)
	}
	s.known[k] = true
	s.stackNumbers = append(s.stackNumbers, k)
}

// saveStacks saves the decoder's stacks in the stream and returns their index, counted from 1. It returns 0 if the decoder has
// only the thread's own stack.
func (d *decoder) saveStacks() int32 {
	if d.on == 0 && len(d.parked) == 0 {
		return 0
	}
	s := d.s
	saved := savedStacks{stack: d.on, gap: d.gap}
	frames, base := d.frames, d.base
	for k, p := range d.parked {
		if k == d.on {
			continue
		}
		d.frames, d.base = p.frames, p.base
		d.deep = nil
		if p.base = d.keep(); p.base != 0 || p.gap != parser.NoGap {
			saved.parked = append(saved.parked, savedStack{k, p.base, p.gap})
		}
		p.frames = d.frames
	}
	d.frames, d.base = frames, base
	s.saved = append(s.saved, saved)
	return int32(len(s.saved))
}

// restoreStacks restores what saveStacks has saved. The calls of the current stack must have been restored before.
func (d *decoder) restoreStacks(i int32) {
	if i == 0 {
		return
	}
	saved := &d.s.saved[i-1]
	d.on, d.gap = saved.stack, saved.gap
	d.thread = d.s.strands.of(strand{uint32(d.s.thread), d.on})
	if len(saved.parked) > 0 {
		d.parked = make(map[uint32]*parkedStack, len(saved.parked))
		for _, p := range saved.parked {
			d.parked[p.number] = &parkedStack{base: p.node, gap: p.gap}
		}
	}
}

// maxDescribed bounds the calls that are read from the STACK of a coroutine.
const maxDescribed = 1 << 16

// describe processes a STACK record for a stack that is not the thread's own.
func (d *decoder) describe(offset, head, length int64) error {
	le := binary.LittleEndian
	b := d.buf[d.p:]
	info := wire.ParseStack(b[head:])
	if info.Size() > length-head-wire.StackHead {
		return d.bad(errLength)
	}
	times, k := info.Flags&wire.StackTimes != 0, int64(info.Calls)
	at := offset + head + wire.StackHead
	skip := max(k-maxDescribed, 0)
	frames := d.frames[:0]
	var block, when [512 * 8]byte
	for i := skip; i < k; i += 512 {
		n := min(512, k-i)
		if err := d.bytesAt(block[:n*8], at+i*8); err != nil {
			return err
		}
		if times {
			if err := d.bytesAt(when[:n*8], at+(k+i)*8); err != nil {
				return err
			}
		}
		for j := range n {
			f := frame{}
			if v := le.Uint64(block[j*8:]); v != 0 {
				// The address has the meaning that it had at the time of the enter.
				epoch := d.epochAt(d.time)
				if times {
					epoch = d.epochAt(le.Uint64(when[j*8:]))
				}
				f = frame{v >> 1, uint16(epoch)<<1 | uint16(v&1)}
			}
			frames = append(frames, f)
		}
	}
	d.frames, d.base, d.deep = frames, 0, nil
	if stated := info.Flags&wire.StackStated != 0; stated || d.time >= d.s.strands.lossFrom.Load() {
		d.restate(info.Depth - min(info.Depth, uint32(k-skip)))
	}
	return nil
}

// restate makes the next event tell which calls are open. The current stack must not be the thread's own.
func (d *decoder) restate(outer uint32) {
	if d.s.level == 0 {
		d.gap = parser.EventsMissing
		d.known = openStack{outer: outer}
		d.knownFrames = append(d.knownFrames[:0], d.frames...)
	}
}

func (d *decoder) bytesAt(b []byte, at int64) error {
	if got, err := d.r.ReadAt(b, at); got < len(b) {
		if err == io.EOF {
			err = parser.ErrShrunk
		}
		return message.Errorf("offset %d: %w", at+int64(got), err)
	}
	return nil
}

// epochAt returns the epoch of a time. The time must not be later than the decoder's.
func (d *decoder) epochAt(time uint64) int {
	if d.time >= d.nextEpoch {
		d.enterEpoch()
	}
	epoch := d.epoch
	for epoch > 0 && time < d.epochs[epoch-1] {
		epoch--
	}
	return epoch
}

// mostLeft is the largest number of calls that an event's Gap can say to have ended before it.
const mostLeft = math.MaxUint8 - uint32(parser.CallsLeft)

// left processes a LEFT record at an offset: the n innermost calls have ended without a leave.
func (d *decoder) left(offset int64, n uint32) {
	for k := n; k > 0; k-- {
		d.pull()
		i := len(d.frames) - 1
		if i < 0 {
			break
		}
		d.frames = d.frames[:i]
	}
	before := uint32(0)
	if d.gap >= parser.CallsLeft {
		before = uint32(d.gap-parser.CallsLeft) + 1
	}
	switch {
	case d.gap == parser.ThreadBegins:
	case d.gap != parser.EventsMissing && n <= mostLeft && before+n <= mostLeft && n > 0:
		d.gap = parser.CallsLeft + parser.Gap(before+n-1)
	case n == 0:
	case d.on != 0:
		// The number does not fit into Gap, so the next event tells which calls are open.
		for d.base != 0 {
			d.unroll()
		}
		d.restate(d.known.outer)
	case d.scanning:
		o := openStack{d.keep(), d.known.outer}
		d.setStack(o)
		d.s.stacks = append(d.s.stacks, statedStack{int32(d.chunk), offset, o})
	default:
		d.restated(offset)
	}
}

// unroll moves all nodes of the stack to frames.
func (d *decoder) unroll() {
	var list []frame
	for at := d.base; at != 0; at = d.s.nodes[at-1].parent {
		list = append(list, d.s.nodes[at-1].frame)
	}
	d.base, d.deep = 0, nil
	frames := make([]frame, 0, len(list)+len(d.frames))
	for i := len(list) - 1; i >= 0; i-- {
		frames = append(frames, list[i])
	}
	d.frames = append(frames, d.frames...)
}
