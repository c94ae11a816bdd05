package trace

import (
	"encoding/binary"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Where all events of a log are of one stream, the numbers of its records are those of the stream's events. Then what
// hooks took is found without decoding events: they are counted.

// onlyStream returns the stream that has all events, nil if several have some, or if not all of its bytes are records of
// the file that can be read.
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

// eachAlone is [Log.EachTaken] for events of a log's only stream. It is not ok where that cannot be done, and some
// of the values may have been handed out then.
func (l *Log) eachAlone(s *stream, from int64, n int, f func(i int, form parser.ValueForm, taken []byte)) (ok bool) {
	size := l.mapped.Size()
	if size == 0 || from+int64(n) > s.count {
		return false
	}
	fault := l.mapped.Use(0, size, func(b []byte) {
		c := counter{b: b, s: s, from: from, until: from + int64(n), f: f}
		ok = c.run()
	})
	return ok && fault == nil
}

// A counter goes through the records of a stream and counts its events.
type counter struct {
	b           []byte // the file
	s           *stream
	from, until int64 // numbers of events
	f           func(i int, form parser.ValueForm, taken []byte)
	// ordinal is the number of the next event; leave says that the one before was a leave.
	ordinal int64
	leave   bool
}

// run begins at the sample before the first event.
func (c *counter) run() (ok bool) {
	chunk, offset := 0, int64(-1)
	if k := c.from / sampleEvery; k > 0 {
		chunk, offset = int(c.s.samples[k].chunk), c.s.samples[k].offset
		c.ordinal = k * sampleEvery
	}
	for ; chunk < len(c.s.chunks); chunk++ {
		ch := &c.s.chunks[chunk]
		if offset < 0 {
			offset = ch.offset + wire.ChunkHeaderSize
		}
		end := ch.end()
		if ch.size == 0 || offset > end || end > int64(len(c.b)) {
			return false
		}
		done, ok := c.records(c.b[offset:end])
		if done || !ok {
			return ok
		}
		offset = -1
	}
	return c.ordinal >= c.until
}

// records goes through records of a chunk. It is done behind the last event and what was taken there.
func (c *counter) records(b []byte) (done, ok bool) {
	ordinal, leave := c.ordinal, c.leave
	for p := 0; p+2 <= len(b); {
		first := binary.LittleEndian.Uint16(b[p:])
		if wire.IsShort(first) {
			if ordinal == c.until {
				return true, true
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
			return false, false
		}
		switch typ := wire.TypeOf(first); {
		case first == 0:
		case wire.IsEvent(first):
			if ordinal == c.until {
				return true, true
			}
			ordinal++
			leave = typ != wire.Enter && typ != wire.EnterReturn
		case ordinal > c.from && (typ == wire.Arguments && !leave || typ == wire.Result && leave):
			c.handOut(int(ordinal-1-c.from), b[p+head:p+length])
		}
		p += length
	}
	c.ordinal, c.leave = ordinal, leave
	return false, true
}

// handOut hands out what was taken at an event.
func (c *counter) handOut(i int, b []byte) {
	if len(b) < 2 || len(b) > maxBody {
		return
	}
	switch wire.ValueKind(binary.LittleEndian.Uint16(b)) {
	case wire.ByPlan:
		c.f(i, parser.ValuesByPlan, b[2:])
	case wire.Registers:
		c.f(i, parser.ValuesOfRegisters, b[2:])
	}
}
