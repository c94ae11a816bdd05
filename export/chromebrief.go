package export

import (
	"encoding/binary"

	"logparser/rows"
)

// moreNames is the size of a second buffer for names, after shortText. Copying two whole arrays takes a few instructions;
// copying a part of one takes a call.
const moreNames = 112

// A chromeBrief caches what the events of brief rows share.
type chromeBrief struct {
	threads [16]chromeThread
	names   *[briefPlaces]chromePlace
	// micro is the text of a whole number of microseconds, which began at microAt. index is the text of an Index from
	// firstIndex on, without its last four digits.
	micro, index        [growingRoom]byte
	microN, indexN      int
	microAt, firstIndex int64
	row                 rows.Row
}

// A chromeThread is the cached beginning of events on a strand, up to the time.
type chromeThread struct {
	strand *rows.Strand
	track  rows.Track
	n      int
	text   [beginLen]byte
}

type chromePlace struct {
	place *rows.Place
	n     int // bytes; 0 if the text is too long
	text  [shortText]byte
	more  [moreNames]byte
}

// chromeBriefRoom is how many bytes an event may write, with those that are copied beyond its end.
const chromeBriefRoom = beginLen + 2*growingRoom + 8 + shortText + moreNames + 8

// briefs adds brief rows and their events to d.
func (c *chromePreformat) briefs(d *preformatted, list *rows.Briefs, run *placedRun) {
	b := &c.brief
	dst := d.text
	b.microN, b.indexN = 0, 0
	for i := range list.List {
		r := &list.List[i]
		if r.Whole > 0 {
			d.text = dst
			d.add(&list.Whole[r.Whole-1], run, c.append)
			dst = d.text
			continue
		}
		th := &b.threads[r.Strand.Thread%uint32(len(b.threads))]
		if th.strand != r.Strand {
			th.strand, th.track = r.Strand, rows.TrackOf(r.Strand.Process, r.Strand.Thread, r.Strand.Stack)
			th.n = len(c.event(th.text[:0], 'B', &thread{track: th.track}, 0)) - len("0")
		}
		m := &b.names[r.Number%briefPlaces]
		if m.place != r.Place {
			c.setPlace(m, r.Place)
		}
		at := run.time(r.Elapsed)
		row := d.next()
		row.at, row.duration, row.track, row.depth, row.event, row.unclosed = at, r.Duration, th.track, r.Depth, r.Event, false
		if cap(dst)-len(dst) < chromeBriefRoom || m.n == 0 {
			list.Row(&b.row, i)
			dst = c.append(dst, &b.row, at)
		} else {
			n := len(dst)
			dst = dst[:n+b.put(dst[n:n+chromeBriefRoom], r, th, m, at, list.First+int64(i))]
		}
		row.end = uint32(len(dst))
	}
	d.text = dst
}

// put writes an event to the beginning of dst, which must have chromeBriefRoom bytes. It returns the event's length in bytes.
func (b *chromeBrief) put(dst []byte, r *rows.Brief, th *chromeThread, m *chromePlace, at, index int64) int {
	*(*[beginLen]byte)(dst) = th.text
	n := th.n
	if uint64(at-b.microAt) >= 1e3 || b.microN == 0 {
		var g growing
		b.microN = g.put(b.micro[:], at/1e3)
		b.microAt = at - at%1e3
	}
	*(*[growingRoom]byte)(dst[n:]) = b.micro
	n += b.microN
	n += putThousandths(dst[n:], uint32(at-b.microAt))
	if r.Event == rows.Leave {
		dst[len(",\n{\"ph\":\"")] = 'E'
		dst[n] = '}'
		return n + 1
	}
	*(*[shortText]byte)(dst[n:]) = m.text
	if m.n > shortText {
		*(*[moreNames]byte)(dst[n+shortText:]) = m.more
	}
	n += m.n
	if uint64(index-b.firstIndex) >= lowDigits || b.indexN == 0 {
		b.indexN, b.firstIndex = 0, index-index%lowDigits
		if index >= lowDigits {
			var g growing
			b.indexN = g.put(b.index[:], index) - 4
		}
	}
	if b.indexN > 0 {
		*(*[16]byte)(dst[n:]) = [16]byte(b.index[:])
		n += b.indexN
		binary.LittleEndian.PutUint32(dst[n:], fourDigits(uint32(index-b.firstIndex)))
		n += 4
	} else {
		var g growing
		n += g.put(dst[n:n+growingRoom], index)
	}
	dst[n], dst[n+1] = '}', '}'
	return n + 2
}

func (c *chromePreformat) setPlace(m *chromePlace, p *rows.Place) {
	*m = chromePlace{place: p}
	text := c.names(nil, &rows.Row{Function: p.Function, Module: p.Module, Source: p.Source, Line: p.Line, Address: p.Address, Symbols: p.Symbols})
	if len(text) <= shortText+moreNames {
		m.n = len(text)
		copy(m.more[:], text[copy(m.text[:], text):])
	}
}
