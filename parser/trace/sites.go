package trace

import (
	"cmp"
	"encoding/binary"
	"errors"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// CallSite implements [parser.CallSiter].
func (l *Log) CallSite(record int64) (address uint64, space uint16, ok bool, err error) {
	v := l.view.Load()
	if v.header.Flags&wire.FlagSites == 0 {
		return 0, 0, false, nil
	}
	c := l.cursor(v, record)
	s, ordinal, err := c.find(record)
	if err == nil {
		d := newDecoder(c.r, wire.LongestFixed*4)
		address, space, ok, err = d.site(s, v.epochs.times, ordinal)
	}
	if err != nil {
		return 0, 0, false, message.InFile(l.name, err)
	}
	l.release(c)
	return address, space, ok, nil
}

// site reads the call site of a stream's event.
func (d *decoder) site(s *stream, epochs []uint64, ordinal int64) (address uint64, space uint16, ok bool, err error) {
	d.restore(s, epochs, int(ordinal/sampleEvery))
	var dst [64]parser.Event
	for d.ordinal < ordinal {
		if n, err := d.read(dst[:min(int64(len(dst)), ordinal-d.ordinal)]); err != nil || n == 0 {
			return 0, 0, false, cmp.Or(err, errChanged)
		}
	}
	for {
		chunk := d.chunk
		b, err := d.peek()
		if err != nil {
			return 0, 0, false, err
		}
		if b == nil {
			return 0, 0, false, errChanged
		}
		if d.chunk != chunk {
			ok = false
		}
		first := binary.LittleEndian.Uint16(b)
		typ, words := wire.TypeOf(first), first>>8
		switch {
		case wire.IsEvent(first):
			// A leave has none, whatever stands before it.
			// The modules may be others by its time.
			if n, err := d.read(dst[:1]); err != nil || n == 0 {
				return 0, 0, false, cmp.Or(err, errChanged)
			}
			return address, d.space(wire.Return), ok && wire.IsEnter(first), nil
		case typ == wire.Site && words == 3:
			i, offset := wire.Windowed(binary.LittleEndian.Uint32(b[2:]))
			w := &d.windows[i]
			address, ok = w.base+offset, w.set
		case typ == wire.Site && words == 5:
			address, ok = binary.LittleEndian.Uint64(b[2:]), true
		}
		_, err = d.other(nil, 0)
		var bad *recordError
		if errors.As(err, &bad) {
			if ok = false; !d.nextChunk() {
				return 0, 0, false, errChanged
			}
		} else if err != nil {
			return 0, 0, false, err
		}
	}
}
