package trace

import (
	"encoding/binary"
	"sync"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Where all events of a log are of one stream, calls are paired in the pass that finds what was taken at them: an enter
// puts its place on a stack, from which the leave takes it. No events are made.

// mostPaired is how many records are paired at a time: a power of two, so that no place has to be checked.
const mostPaired = sampleEvery

// A pairer pairs the events of a stream from one on.
type pairer struct {
	walk
	pairs *parser.CallPairs
	f     func(t *parser.TakenAt)
	taken parser.TakenAt
	// i counts the events, n of which are wanted, top those on the stack.
	i, n, top int
	stack     [mostPaired]int16
	// enters has the first four bytes of short enters, and 0 for others, whose addresses are in long.
	enters [mostPaired]uint32
	long   []longEnter
	// before has windows that were others before some event.
	before []windowsBefore
}

// A longEnter is an enter that names its address.
type longEnter struct {
	frame
	i int
}

// windowsBefore are the windows of the enters before event i.
type windowsBefore struct {
	i       int
	windows [wire.Windows]window
}

var pairers = sync.Pool{New: func() any { return new(pairer) }}

// TakenCalls implements [parser.TakenReader].
func (l *Log) TakenCalls(from int64, n int, pairs *parser.CallPairs, f func(t *parser.TakenAt)) (ok bool) {
	v := l.view.Load()
	size := l.mapped.Size()
	// The space of an address depends on its time where modules were replaced by others.
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

// records goes through records of a chunk.
func (p *pairer) records(b []byte) (at int, done, ok bool) {
	for {
		at = p.shorts(b, at)
		if at+2 > len(b) {
			// The next chunk has windows of its own.
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
		case typ == wire.Arguments || typ == wire.Result:
			if !p.handOut(typ, b[at+head:at+length]) {
				return at, false, false
			}
		}
		at += length
	}
}

// shorts takes short enters and leaves from a place on, and returns where it stops: where something else comes, or little
// is left, or a call ends that was entered before. Nothing depends on whether an enter or a leave comes, which no
// processor can predict.
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
		// An enter is its own partner until the leave comes.
		enter := leave - 1 // all bits of an enter
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

// event takes an event that shorts has left.
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
		return false // a leave that names its function, which may not be the innermost call
	}
	p.i++
	return true
}

// push puts an enter on the stack.
func (p *pairer) push() {
	p.pairs.Partner[p.i] = int16(p.i)
	p.stack[p.top] = int16(p.i)
	p.top++
}

// keepWindows keeps the windows for the enters up to now, if there are any. It is not ok where they change too often.
func (p *pairer) keepWindows() bool {
	const most = 64
	if n := len(p.before); p.i == 0 || n > 0 && p.before[n-1].i == p.i {
		return true
	}
	p.before = append(p.before, windowsBefore{p.i, p.windows})
	return len(p.before) <= most
}

// handOut hands out what was taken at the event before, unless that is none of those that are wanted, or not of the kind.
func (p *pairer) handOut(typ wire.Type, body []byte) bool {
	form := formOf(body)
	i := p.i - 1
	if i < 0 || form == parser.NoValues {
		return true
	}
	k := int(p.pairs.Partner[i])
	if entered := k == i; entered != (typ == wire.Arguments) {
		return true
	}
	t := &p.taken
	t.Record, t.Address, t.Space, t.Form, t.Bytes = i, 0, 0, form, body[2:]
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
