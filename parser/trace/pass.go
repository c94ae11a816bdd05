package trace

import (
	"encoding/binary"
	"io"
	"slices"

	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Events that are only counted.
//
// Opening a trace has to know how many events a stream has and what is open at each sample, but
// not the events themselves. Nothing is written for them then but the first four bytes of enters, on a stack,
// and nothing depends on whether an enter or a leave comes, which no processor can predict.

// A passed is events that a decoder has gone over: how many, and the times in units of the first and the last.
type passed struct {
	n           int
	first, last uint64
}

// pass goes over the next n events as read does, less only at the end of the stream or with an
// error of reading the file.
func (d *decoder) pass(n int) (t passed, err error) {
	defer d.detach()
	for t.n < n {
		if more, err := d.goOn(d.passChunk(&t, n)); !more {
			return t, err
		}
	}
	return t, nil
}

// count counts k events, of which the last has the decoder's time; the first comes alone.
func (d *decoder) count(t *passed, k int) {
	if t.n == 0 {
		t.first = d.time
	}
	t.n += k
	t.last = d.time
	d.ordinal += int64(k)
	d.gap = parser.NoGap
}

// passChunk goes over events of the current chunk until they are n. It returns what decode does.
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
	// deepest is how many calls may be open in passShorts when it begins, and passedRecords has room for as many
	// enters more: a power of two, so that no place in it has to be checked.
	deepest       = sampleEvery
	passedRecords = 2 * deepest
)

// passShorts goes over short enters and leaves that begin before last, as long as there are no more of them than most,
// until one needs more looking at, and returns how many.
func (d *decoder) passShorts(most, last int) (n int) {
	if len(d.frames) > deepest || d.time+uint64(most)*wire.MaxWordDelta >= d.nextEpoch {
		return d.readShorts(most, last)
	}
	known := d.knownRecords()
	if d.records == nil {
		d.records = new([passedRecords]uint32)
	}
	// Calls below low, the fewest that were open at a time, are open all through. Those above it were
	// entered here, and the last record that was put in their place is their enter.
	records, top, before := d.records, len(d.frames), len(d.frames)
	low := top
	b := d.buf[:len(d.buf)+overread]
	p, time := d.p, d.time
	// A record has two bytes at least.
	last = min(last, p+min(most, deepest)*wire.ShortLeaveSize)
	for p < last {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		leave := v & 1
		if known&(1<<(v&31)) == 0 || uint64(top) < leave {
			break
		}
		records[top&(passedRecords-1)] = uint32(v)
		top += 1 - 2*int(leave)
		low = min(low, top)
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
		time += wire.EnterDelta(v)&(leave-1) | wire.LeaveDelta(v)&-leave
	}
	// The bytes and the calls that are open now and were not before say how many leaves there were.
	left := (p - d.p - wire.ShortEnterSize*(top-before)) / (wire.ShortEnterSize + wire.ShortLeaveSize)
	n = 2*left + top - before
	d.p, d.time = p, time
	d.frames = slices.Grow(d.frames, max(top-before, 0))[:top]
	space := uint16(d.epoch) << 1
	for i := low; i < top; i++ {
		r := uint64(records[i])
		w := &d.windows[wire.EnterWindow(r)]
		d.frames[i] = frame{w.base + wire.EnterOffset(r), space | w.kind}
	}
	return n
}

// readShorts is passShorts for what lies near an epoch's beginning, and for deep stacks.
func (d *decoder) readShorts(most, last int) int {
	var events [64]parser.Event
	return d.shorts(events[:min(most, len(events))], d.buf[:len(d.buf)+overread], last)
}
