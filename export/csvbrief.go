package export

import (
	"encoding/binary"
	"time"

	"logparser/rows"
)

// A csvBrief is what lines of rows in brief have in common.
type csvBrief struct {
	// head is index and time, utc what is behind the note with the end of the line, where the digits
	// that change are at utcFraction.
	head        briefHead
	utc         [pieceLen]byte
	utcN        int
	utcFraction int
	cells       []csvBriefCells
	row         rows.Row
}

type csvBriefCells struct {
	place *rows.Place
	n     int // 0 where there is too much of it
	text  [shortText]byte
	more  [moreNames]byte
}

// csvBriefRoom is what a line takes at most, with what is copied behind its pieces.
const csvBriefRoom = wide + 3*pieceLen + shortText + moreNames

// appendBriefs appends the lines of rows.
func (c *csvLines) appendBriefs(dst []byte, list *rows.Briefs) []byte {
	b := &c.brief
	h := &b.head
	h.n = 0 // it may be another run
	for i := range list.List {
		r := &list.List[i]
		if r.Whole > 0 {
			dst = c.append(dst, &list.Whole[r.Whole-1])
			continue
		}
		m := &b.cells[r.Number%uint32(len(b.cells))]
		if m.place != r.Place {
			c.setBriefCells(m, r.Place)
		}
		index := list.First + int64(i)
		if !h.is(index, r.Elapsed) {
			c.setBriefHead(list, i)
		}
		if cap(dst)-len(dst) < csvBriefRoom || h.n == 0 || m.n == 0 || uint64(r.Duration) >= 1e9 {
			list.Row(&b.row, i)
			dst = c.append(dst, &b.row)
			continue
		}
		n := len(dst)
		line := dst[n : n+csvBriefRoom]
		h.put(line, index, r.Elapsed)
		at := h.n
		k := c.callText(r.Strand.Thread, r.Event, int(r.Depth))
		*(*[pieceLen]byte)(line[at:]) = k.text
		at += k.n
		at += putMicroseconds(line[at:at+pieceLen], uint64(r.Duration))
		*(*[shortText]byte)(line[at:]) = m.text
		if m.n > shortText {
			*(*[moreNames]byte)(line[at+shortText:]) = m.more
		}
		at += m.n
		*(*[pieceLen]byte)(line[at:]) = b.utc
		binary.LittleEndian.PutUint32(line[at+b.utcFraction:], fourDigits(uint32(r.Elapsed-h.firstTime)))
		dst = dst[:n+at+b.utcN]
	}
	return dst
}

// setBriefHead makes the head, and the time as UTC, those of row i.
func (c *csvLines) setBriefHead(list *rows.Briefs, i int) {
	b := &c.brief
	h := &b.head
	if h.goTo(list.First+int64(i), list.List[i].Elapsed) {
		copy(b.utc[b.utcFraction-5:][:5], h.text[h.fraction-5:])
		return
	}
	r := &b.row
	list.Row(r, i)
	var buffer [wide + pieceLen]byte
	text := c.index.append(buffer[:0], r.Index)
	low := len(text) - 4
	text = append(text, ',')
	text = c.clock.append(text, r, c.digits)
	h.set(text, r, low, len(text))
	ahead, ok := c.zone.ahead(r)
	// Without it, and where its decimals are others, the line is made as that of a whole row.
	if !ok || ahead%time.Second != 0 || c.stacks || c.processes {
		h.n = 0
		return
	}
	text = c.utc.appendWall(buffer[:0], r.Wall.Add(-ahead), c.digits)
	c.utc.ofSecond, c.utc.ahead = c.clock.second, ahead
	b.utcFraction = len(text) - 4
	text = append(append(text, 'Z'), c.end...)
	if len(text) > pieceLen {
		h.n = 0
	}
	b.utcN = copy(b.utc[:], text)
}

func (c *csvLines) setBriefCells(m *csvBriefCells, p *rows.Place) {
	text := c.names(nil, &rows.Row{Function: p.Function, Module: p.Module, Source: p.Source, Line: p.Line, Address: p.Address, Symbols: p.Symbols})
	*m = csvBriefCells{place: p}
	if text = append(text, ','); len(text) <= shortText+moreNames {
		m.n = len(text)
		copy(m.more[:], text[copy(m.text[:], text):])
	}
}
