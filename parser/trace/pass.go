package trace

import (
	"encoding/binary"
	"io"
	"slices"
	"unsafe"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Counting events.
//
// Opening a trace needs the number of events of each stream and the calls that are open at each sample, but not the events
// themselves. So this pass keeps only a stack with the first four bytes of enters. It has no branch that depends on whether a
// record is an enter or a leave, because processors cannot predict that.

// A passed is the number of events that a decoder has passed, and the times in units of the first and the last one.
type passed struct {
	n           int
	first, last uint64
}

// pass passes the next n events without making them. It passes fewer only at the end of the stream, or with an error of reading
// the file.
func (d *decoder) pass(n int) (t passed, err error) {
	defer d.detach()
	for t.n < n {
		if more, err := d.goOn(d.passChunk(&t, n)); !more {
			return t, err
		}
	}
	return t, nil
}

// count adds k events, of which the last one has the decoder's time. The first event of t must be counted alone, so that its
// time is known.
func (d *decoder) count(t *passed, k int) {
	if t.n == 0 {
		t.first = d.time
	}
	t.n += k
	t.last = d.time
	d.ordinal += int64(k)
	d.gap = parser.NoGap
}

// passChunk passes events of the current chunk until t has n. It returns the same errors as decode.
func (d *decoder) passChunk(t *passed, n int) error {
	for t.n < n {
		if d.chunk < 0 {
			return io.EOF
		}
		stop := d.stop()
		if d.p >= stop {
			if d.bufAt+int64(d.p) >= d.end {
				return io.EOF
			}
			if err := d.fill(); err != nil {
				return err
			}
			continue
		}
		most := n - t.n
		if t.n == 0 {
			most = 1
		}
		if k := d.passShorts(most, min(stop, len(d.buf)-longestShort+1)); k > 0 {
			d.count(t, k)
			continue
		}
		if d.p < stop {
			var e parser.Event
			emitted, err := d.other(&e, d.ordinal)
			if emitted {
				d.count(t, 1)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	// deepest bounds the calls that are open when passShorts begins. passedRecords has room for as many enters more. It is a
	// power of two, so that masking an index replaces the check of its bounds.
	deepest       = sampleEvery
	passedRecords = 2 * deepest
)

// passShorts passes no more than most short enters and leaves that begin before last, up to the first record that needs special
// treatment, and returns their number.
func (d *decoder) passShorts(most, last int) (n int) {
	if len(d.frames) > deepest || d.time+uint64(most)*wire.MaxWordDelta >= d.nextEpoch {
		return d.readShorts(most, last)
	}
	known := d.knownRecords()
	if d.records == nil {
		d.records = new([passedRecords]uint32)
	}
	records, before := d.records, len(d.frames)
	// A record has at least two bytes, which bounds the number of records.
	l := passLoop{buffer: unsafe.Pointer(unsafe.SliceData(d.buf)), records: records, p: d.p, last: min(last, d.p+min(most, deepest)*wire.ShortLeaveSize),
		time: d.time, known: known, open: before}
	if loops {
		passRecords(&l)
	} else {
		l.pass(d.buf[:len(d.buf)+overread])
	}
	p, top, low := l.p, l.open, l.least
	// The numbers of bytes and of additional open calls give the number of leaves.
	left := (p - d.p - wire.ShortEnterSize*(top-before)) / (wire.ShortEnterSize + wire.ShortLeaveSize)
	n = 2*left + top - before
	d.p, d.time = p, l.time
	d.frames = slices.Grow(d.frames, max(top-before, 0))[:top]
	space := uint16(d.epoch) << 1
	for i := low; i < top; i++ {
		r := uint64(records[i])
		w := &d.windows[wire.EnterWindow(r)]
		d.frames[i] = frame{w.base + wire.EnterOffset(r), space | w.kind}
	}
	return n
}

// A passLoop is the state of a loop over short records, pass or [passRecords].
type passLoop struct {
	buffer  unsafe.Pointer // of the decoder
	records *[passedRecords]uint32
	p, last int // offsets in the buffer
	time    uint64
	known   uint64
	// open is the number of open calls, and least the smallest at a time. Calls below that stay open. A call above it was
	// entered here, and its enter is the record that was written last at its index.
	open, least int
}

// pass does what passRecords does. b is the buffer.
func (l *passLoop) pass(b []byte) {
	records, known, last := l.records, l.known, l.last
	p, time, open, least := l.p, l.time, l.open, l.open
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		if known&(1<<(v&31)) == 0 || uint64(open) < leave {
			break
		}
		records[open&(passedRecords-1)] = uint32(v)
		open += 1 - 2*int(leave)
		least = min(least, open)
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		time += wire.EnterDelta(v)&(leave-1) | wire.LeaveDelta(v)&-leave
	}
	l.p, l.time, l.open, l.least = p, time, open, least
}

// readShorts does what passShorts does, for deep stacks and near the beginning of an epoch.
func (d *decoder) readShorts(most, last int) int {
	var events [64]parser.Event
	return d.shorts(events[:min(most, len(events))], d.buf[:len(d.buf)+overread], last)
}
