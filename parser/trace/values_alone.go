package trace

import (
	"encoding/binary"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// If all events of a log belong to one stream, a record's number is its event's number in the stream. Then the values that
// hooks took are found without decoding events: it is enough to count them.

// onlyStream returns the stream that has all events. It returns nil if there are several, if the stream has records that are not
// in the file, or if some of its bytes cannot be read.
func (v *view) onlyStream() *stream {
	var only *stream
	for _, s := range v.index.streams {
		if s.count == 0 {
			continue
		}
		if only != nil || len(s.broken) > 0 || s.inheritedCalls > 0 {
			return nil
		}
		only = s
	}
	return only
}

// eachAlone does what [Log.EachTaken] does, for a log with only one stream. ok is false if that is not possible; by then, f may
// have been called for some values.
func (l *Log) eachAlone(s *stream, from int64, n int, f func(i int, form parser.ValueForm, taken []byte)) (ok bool) {
	size := l.mapped.Size()
	if size == 0 || from+int64(n) > s.count {
		return false
	}
	fault := l.mapped.Use(0, size, func(b []byte) {
		c := counter{walk: newWalk(b, s, from), from: from, until: from + int64(n), f: f}
		ok = c.run()
	})
	return ok && fault == nil
}

// A walk visits the records of a stream, chunk by chunk.
type walk struct {
	b     []byte // the file
	s     *stream
	chunk int
	// at is the offset of the next record in the file, or -1 for the first record of the chunk.
	at int64
	// ordinal is the number of the next event.
	ordinal int64
	windows [wire.Windows]window
}

// newWalk returns a walk that begins at the last sample before an event.
func newWalk(b []byte, s *stream, from int64) walk {
	w := walk{b: b, s: s, at: -1}
	if k := from / sampleEvery; k > 0 {
		m := &s.samples[k]
		w.chunk, w.at, w.ordinal, w.windows = int(m.chunk), m.offset, k*sampleEvery, s.windows[m.windows]
	}
	return w
}

// records calls f with the remaining records of chunk after chunk. f returns how many bytes it has processed. done says that it
// has reached an event that it does not want.
func (w *walk) records(f func(b []byte) (n int, done, ok bool)) (done, ok bool) {
	for w.chunk < len(w.s.chunks) {
		ch := &w.s.chunks[w.chunk]
		if w.at < 0 {
			w.at = ch.offset + wire.ChunkHeaderSize
		}
		end := ch.end()
		if ch.size == 0 || w.at > end || end > int64(len(w.b)) {
			return false, false
		}
		n, done, ok := f(w.b[w.at:end])
		w.at += int64(n)
		if done || !ok {
			return done, ok
		}
		w.chunk, w.at = w.chunk+1, -1
		w.windows = [wire.Windows]window{}
	}
	return false, true
}

// window processes the body of a WINDOW record.
func (w *walk) window(body []byte) bool {
	if len(body) < 10 {
		return false
	}
	i := binary.LittleEndian.Uint16(body)
	w.windows[i&7] = window{binary.LittleEndian.Uint64(body[2:]), i >> 3 & 1, true}
	return true
}

// A counter counts events.
type counter struct {
	walk
	from, until int64 // numbers of events
	f           func(i int, form parser.ValueForm, taken []byte)
	// leave says that the last event was a leave.
	leave bool
}

// run counts up to the event with number until.
func (c *counter) run() (ok bool) {
	_, ok = c.walk.records(c.records)
	return ok && c.ordinal >= c.until
}

// records processes the records of a chunk. It is done after the values of the last event.
func (c *counter) records(b []byte) (p int, done, ok bool) {
	ordinal, leave := c.ordinal, c.leave
	for p+2 <= len(b) {
		first := binary.LittleEndian.Uint16(b[p:])
		if wire.IsShort(first) {
			if ordinal == c.until {
				done = true
				break
			}
			ordinal++
			leave = wire.IsShortLeave(first)
			p += wire.ShortEnterSize
			if leave {
				p += wire.ShortLeaveSize - wire.ShortEnterSize
			}
			continue
		}
		length, head := wire.Length(b[p:])
		if length == 0 {
			return p, false, false
		}
		switch typ := wire.TypeOf(first); {
		case first == 0:
		case wire.IsEvent(first):
			if ordinal == c.until {
				c.ordinal = ordinal
				return p, true, true
			}
			ordinal++
			leave = typ != wire.Enter && typ != wire.EnterReturn
		case typ == wire.Window:
			if !c.window(b[p+head : p+length]) {
				return p, false, false
			}
		case ordinal > c.from && wire.IsValues(typ):
			if v, ok := wire.ParseValues(first, b[p+head:p+length]); ok && v.Result == leave {
				c.handOut(int(ordinal-1-c.from), &v)
			}
		}
		p += length
	}
	c.ordinal, c.leave = ordinal, leave
	return p, done, true
}

// handOut passes the values of an event to f.
func (c *counter) handOut(i int, v *wire.CallValues) {
	if form := formOf(v); form != parser.NoValues {
		c.f(i, form, v.Values)
	}
}

// formOf returns the form of values that hooks took, or NoValues for other records.
func formOf(v *wire.CallValues) parser.ValueForm {
	if len(v.Values) > maxBody {
		return parser.NoValues
	}
	switch v.Kind {
	case wire.ByPlan:
		return parser.ValuesByPlan
	case wire.Registers:
		return parser.ValuesOfRegisters
	case wire.Jumped:
		if v.Result {
			return parser.ValuesOfJump
		}
	}
	return parser.NoValues
}
