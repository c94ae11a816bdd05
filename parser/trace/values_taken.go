package trace

import (
	"io"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Values that hooks took lie directly after their event, so one pass over the log finds them all. The sources of a cursor keep
// the values and mark the events that have some. When the cursor hands out events, it hands out their values too.

// A takenQueue has the values of those events of a source that were decoded but not handed out yet.
type takenQueue struct {
	// list is the part of memory that was not handed out yet.
	list, memory []takenValue
	bytes        []byte
}

// A takenValue has the values of an event, which has number ordinal in its stream.
type takenValue struct {
	ordinal int64
	result  bool
	kind    wire.ValueKind
	bytes   []byte
}

// eventValues are the values of one of the events that a cursor has read last; element is the index of the event.
type eventValues struct {
	element int
	takenValue
}

func (q *takenQueue) reset() {
	*q = takenQueue{memory: q.memory[:0], list: q.memory[:0], bytes: q.bytes[:0]}
}

// compact moves the remaining values to the beginning of bytes, if they take at most half of it. When a cursor merges several
// streams, a source decodes more events before all its values are handed out. So the list may never be empty, and without
// compact the bytes would grow with the log.
func (q *takenQueue) compact() {
	live := 0
	for i := range q.list {
		live += len(q.list[i].bytes)
	}
	if live > len(q.bytes)/2 {
		return
	}
	to := q.bytes[:0]
	for i := range q.list {
		from := len(to)
		// The list is in order of the bytes, so no bytes are overwritten that still have to be moved.
		to = append(to, q.list[i].bytes...)
		q.list[i].bytes = to[from:len(to):len(to)]
	}
	q.bytes = to
}

// take keeps the values of the record at p, which has the first word first. The record has length bytes, and its body begins
// after head bytes.
func (d *decoder) take(first uint16, ordinal int64, head int, length int64) error {
	length -= int64(head)
	if length > maxBody {
		return nil
	}
	q := d.taken
	if len(q.list) == 0 {
		// All values were handed out, and callers are done with them before more events are decoded.
		q.reset()
	}
	if len(q.bytes)+int(length) > cap(q.bytes) {
		q.compact()
	}
	from := len(q.bytes)
	at := min(d.p+head, len(d.buf))
	inside := d.buf[at:min(int64(at)+length, int64(len(d.buf)))]
	q.bytes = append(q.bytes, inside...)
	if missing := int(length) - len(inside); missing > 0 {
		q.bytes = append(q.bytes, make([]byte, missing)...)
		if _, err := d.r.ReadAt(q.bytes[len(q.bytes)-missing:], d.bufAt+int64(d.p)+int64(head+len(inside))); err != nil {
			return shrunk(err)
		}
	}
	r, ok := wire.ParseValues(first, q.bytes[from:len(q.bytes):len(q.bytes)])
	if !ok || formOf(&r) == parser.NoValues {
		q.bytes = q.bytes[:from]
		return nil
	}
	if q.list = append(q.list, takenValue{ordinal, r.Result, r.Kind, r.Values}); cap(q.list) > cap(q.memory) {
		q.memory = q.list
	}
	return nil
}

// takeBehind takes the values directly after the last event.
func (d *decoder) takeBehind() error {
	for {
		b, err := d.peek()
		if b == nil || err != nil {
			return err
		}
		first := uint16(b[0]) | uint16(b[1])<<8
		// A WINDOW may stand before the RESULT of a call that ended with a jump.
		if typ := wire.TypeOf(first); wire.IsShort(first) || !wire.IsValues(typ) && typ != wire.Window {
			return nil
		}
		if _, err := d.other(nil, d.ordinal); err != nil {
			if _, bad := err.(*recordError); bad {
				return nil // the next read finds the same damage and reports it
			}
			return err
		}
	}
}

// markTaken marks events. It sets Address to the event's number plus 1 if the event has values, else to 0, and Thread to the
// number of the stream.
func (a *source) markTaken(events []parser.Event) {
	for i := range events {
		events[i].Address, events[i].Thread = 0, a.s.number
	}
	first := a.d.ordinal - int64(len(events))
	for i := len(a.taken.list) - 1; i >= 0 && a.taken.list[i].ordinal >= first; i-- {
		t := a.taken.list[i].ordinal
		events[t-first].Address = uint64(t) + 1
	}
}

// handOut moves the values of events that are handed out from the sources to c.values.
func (c *cursor) handOut(events []parser.Event) {
	c.values = c.values[:0]
	var s *source
	for i := range events {
		e := &events[i]
		if e.Address == 0 {
			continue
		}
		if s == nil || s.s.number != e.Thread {
			s = c.sourceOf(e.Thread)
		}
		if s == nil {
			continue
		}
		list, ordinal := s.taken.list, int64(e.Address)-1
		for ; len(list) > 0 && list[0].ordinal <= ordinal; list = list[1:] {
			if t := list[0]; t.ordinal == ordinal && t.result == (e.Kind == parser.Leave) {
				c.values = append(c.values, eventValues{i, t})
			}
		}
		s.taken.list = list
	}
}

// sourceOf returns the source of a stream.
func (c *cursor) sourceOf(number uint32) *source {
	for _, h := range c.heap {
		if h.s.number == number {
			return h.of
		}
	}
	for _, s := range c.idle {
		if s.s.number == number {
			return s
		}
	}
	return nil
}

// EachTaken implements [parser.TakenReader].
func (l *Log) EachTaken(from int64, n int, f func(i int, form parser.ValueForm, taken []byte)) error {
	v := l.view.Load()
	if from < 0 || from+int64(n) > v.index.total {
		return message.InFile(l.name, message.Errorf("there is no record %d", from+int64(n)-1))
	}
	if v.values == nil {
		return nil
	}
	if s := v.onlyStream(); s != nil && l.eachAlone(s, from, n, f) {
		return nil
	}
	m := valueMemories.Get().(*valueMemory)
	defer valueMemories.Put(m)
	c := l.cursor(v, from, &l.takingCursors)
	c.taking = true
	for done := 0; done < n; {
		k, err := readMapped(l.mapped, c, m.events[:min(len(m.events), n-done)], from+int64(done), false)
		if err == nil && k == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return message.InFile(l.name, err)
		}
		for i := range c.values {
			t := &c.values[i]
			f(done+t.element, formOf(&wire.CallValues{Kind: t.kind, Result: t.result}), t.bytes)
		}
		done += k
	}
	l.release(c, &l.takingCursors)
	return nil
}
