package trace

import (
	"encoding/binary"
	"sync"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// If all events of a log belong to one stream, one pass finds the values that hooks took and pairs the calls. An enter pushes
// its index on a stack, and its leave pops it. No events are made.

// mostPaired is the largest number of records that are paired at a time. It is a power of two, so that masking an index replaces
// the check of its bounds.
const mostPaired = sampleEvery

// A pairer pairs the events of a stream, beginning with any event.
type pairer struct {
	walk
	pairs *parser.CallPairs
	f     func(t *parser.TakenAt)
	taken parser.TakenAt
	// i is the index of the next event, n the number of wanted events, and top the height of the stack.
	i, n, top int
	stack     [mostPaired]int16
	// enters has the first four bytes of each short enter. For an enter with a whole address, which is in long, it has 0.
	enters [mostPaired]uint32
	long   []longEnter
	// before has the windows before each of their changes.
	before []windowsBefore
}

// A longEnter is an enter with a whole address, of event i.
type longEnter struct {
	frame
	i int
}

// A windowsBefore has the windows for decoding enters before event i.
type windowsBefore struct {
	i       int
	windows [wire.Windows]window
}

var pairers = sync.Pool{New: func() any { return new(pairer) }}

// TakenCalls implements [parser.TakenReader].
func (l *Log) TakenCalls(from int64, n int, pairs *parser.CallPairs, f func(t *parser.TakenAt)) (ok bool) {
	v := l.view.Load()
	size := l.mapped.Size()
	// If there are several epochs, the space of an address depends on its time, which this pass does not decode.
	if v.values == nil || size == 0 || from < 0 || n > mostPaired || len(v.epochs.times) > 0 {
		return false
	}
	s := v.onlyStream()
	if s == nil || from+int64(n) > s.count {
		return false
	}
	p := pairers.Get().(*pairer)
	defer pairers.Put(p)
	fault := l.mapped.Use(0, size, func(b []byte) {
		c := counter{walk: newWalk(b, s, from), from: from, until: from}
		if ok = c.run(); ok {
			ok = p.run(c.walk, n, pairs, f)
		}
	})
	p.b, p.s, p.pairs, p.f, p.taken = nil, nil, nil, nil, parser.TakenAt{}
	return ok && fault == nil
}

// run pairs n events.
func (p *pairer) run(w walk, n int, pairs *parser.CallPairs, f func(t *parser.TakenAt)) bool {
	if cap(pairs.Partner) < n {
		pairs.Partner = make([]int16, mostPaired)
	}
	pairs.Partner, pairs.Before = pairs.Partner[:n], pairs.Before[:0]
	p.walk, p.pairs, p.f = w, pairs, f
	p.i, p.n, p.top = 0, n, 0
	p.long, p.before = p.long[:0], p.before[:0]
	_, ok := p.walk.records(p.records)
	return ok && p.i == n
}

// records processes the records of a chunk.
func (p *pairer) records(b []byte) (at int, done, ok bool) {
	for {
		at = p.shorts(b, at)
		if at+2 > len(b) {
			// The windows of the next chunk are different.
			return at, false, p.keepWindows()
		}
		first := binary.LittleEndian.Uint16(b[at:])
		length, head := wire.Length(b[at:])
		if length == 0 {
			return at, false, false
		}
		typ := wire.TypeOf(first)
		switch {
		case wire.IsShort(first) || first != 0 && wire.IsEvent(first):
			if p.i == p.n {
				return at, true, true
			}
			if !p.event(first, b[at:at+length], head) {
				return at, false, false
			}
		case first == 0:
		case typ == wire.Window:
			if !p.keepWindows() || !p.window(b[at+head:at+length]) {
				return at, false, false
			}
		case wire.IsValues(typ):
			if v, ok := wire.ParseValues(first, b[at+head:at+length]); ok && !p.handOut(&v) {
				return at, false, false
			}
		}
		at += length
	}
}

// shorts pairs short enters and leaves, beginning at an offset. It returns the offset of the first other record, or where few
// bytes are left, or a call ends that was entered before. It has no branch that depends on whether a record is an enter or a
// leave, because processors cannot predict that.
func (p *pairer) shorts(b []byte, at int) int {
	const mask = mostPaired - 1
	partner := p.pairs.Partner
	i, top := p.i, p.top
	for i < len(partner) && at+8 <= len(b) {
		v := binary.LittleEndian.Uint64(b[at : at+8 : at+8])
		leave := int(v & 1)
		place := top - leave
		if v&3 == 0 || place < 0 {
			break
		}
		// An enter is its own partner until its leave comes.
		enter := leave - 1 // all bits are set for an enter, none for a leave
		k := int(p.stack[place&mask])&^enter | i&enter
		p.stack[place&mask] = int16(k)
		partner[i] = int16(k)
		partner[k] = int16(i)
		p.enters[i&mask] = uint32(v)
		top = place + 1 - leave
		i++
		at += wire.ShortEnterSize - leave*(wire.ShortEnterSize-wire.ShortLeaveSize)
	}
	p.i, p.top = i, top
	return at
}

// event pairs an event that shorts cannot handle.
func (p *pairer) event(first uint16, b []byte, head int) bool {
	i := p.i
	p.enters[i] = 0
	switch typ := wire.TypeOf(first); {
	case wire.IsShortLeave(first):
		if p.top == 0 {
			p.pairs.Partner[i] = -1
			p.pairs.Before = append(p.pairs.Before, int16(i))
			break
		}
		p.top--
		k := p.stack[p.top]
		p.pairs.Partner[i], p.pairs.Partner[k] = k, int16(i)
	case wire.IsShort(first):
		p.enters[i] = binary.LittleEndian.Uint32(b)
		p.push()
	case (typ == wire.Enter || typ == wire.EnterReturn) && len(b) >= head+14:
		p.long = append(p.long, longEnter{frame{binary.LittleEndian.Uint64(b[head+6:]), uint16(typ - wire.Enter)}, i})
		p.push()
	default:
		return false // a leave with an address may end another call than the innermost one
	}
	p.i++
	return true
}

// push pushes an enter on the stack.
func (p *pairer) push() {
	p.pairs.Partner[p.i] = int16(p.i)
	p.stack[p.top] = int16(p.i)
	p.top++
}

// keepWindows stores the windows for the enters so far, if there are any. It returns false if windows change too often.
func (p *pairer) keepWindows() bool {
	const most = 64
	if n := len(p.before); p.i == 0 || n > 0 && p.before[n-1].i == p.i {
		return true
	}
	p.before = append(p.before, windowsBefore{p.i, p.windows})
	return len(p.before) <= most
}

// handOut passes on the values of the last event, unless the event is not wanted or the record does not match its kind.
func (p *pairer) handOut(v *wire.CallValues) bool {
	form := formOf(v)
	i := p.i - 1
	if i < 0 || form == parser.NoValues {
		return true
	}
	k := int(p.pairs.Partner[i])
	if entered := k == i; entered == v.Result {
		return true
	}
	t := &p.taken
	t.Record, t.Address, t.Space, t.Form, t.Bytes = i, 0, 0, form, v.Values
	if k >= 0 {
		f, ok := p.enterAt(k)
		if !ok {
			return false
		}
		t.Address, t.Space = f.address, f.space
	}
	p.f(t)
	return true
}

// enterAt returns the address and space of an enter.
func (p *pairer) enterAt(i int) (f frame, ok bool) {
	v := uint64(p.enters[i])
	if v == 0 {
		for k := len(p.long) - 1; k >= 0; k-- {
			if p.long[k].i == i {
				return p.long[k].frame, true
			}
		}
		return frame{}, false
	}
	windows := &p.windows
	for k := len(p.before) - 1; k >= 0 && p.before[k].i > i; k-- {
		windows = &p.before[k].windows
	}
	w := &windows[wire.EnterWindow(v)]
	return frame{w.base + wire.EnterOffset(v), w.kind}, w.set
}
