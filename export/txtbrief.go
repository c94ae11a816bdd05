package export

import "logparser/rows"

const (
	// briefName and briefTail are the sizes of buffers for a name and for the columns after the call. With its other fields,
	// each takes one cache line of 64 bytes.
	briefName = 48
	briefTail = 64
	// briefThread is the size of the buffer for a thread and the blanks after it.
	briefThread = 16
)

// A txtBrief caches what the lines of brief rows share.
type txtBrief struct {
	head    briefHead
	threads [16]txtBriefThread
	cells   *[briefPlaces]txtBriefCells
	row     rows.Row
}

type txtBriefThread struct {
	strand *rows.Strand
	n      int // bytes; 0 if the text is too long
	text   [briefThread]byte
}

type txtBriefCells struct {
	place *rows.Place
	// width is the width of the name. It exceeds callWidth if the name or the columns after it do not fit.
	width   int32
	tailLen int32
	name    [briefName]byte
	tail    [briefTail]byte
}

// appendBriefs appends the lines of brief rows.
func (t *txtLines) appendBriefs(dst []byte, list *rows.Briefs) []byte {
	b := &t.brief
	h := &b.head
	h.n = 0 // the rows may belong to another run
	for i := range list.List {
		r := &list.List[i]
		if r.Whole > 0 {
			dst = t.append(dst, &list.Whole[r.Whole-1])
			continue
		}
		m := &b.cells[r.Number%briefPlaces]
		if m.place != r.Place {
			t.setBriefCells(m, r.Place)
		}
		th := &b.threads[r.Strand.Thread%uint32(len(b.threads))]
		if th.strand != r.Strand {
			t.setBriefThread(th, r.Strand)
		}
		index := list.First + int64(i)
		if !h.is(index, r.Elapsed) && !h.goTo(index, r.Elapsed) {
			list.Row(&b.row, i)
			text := t.appendHead(nil, &b.row)
			if h.n = 0; t.head.ok {
				h.set(text, &b.row, t.head.low, t.head.fraction+t.digits, t.digits)
			}
		}
		depth := int(r.Depth) - t.base
		indent := depth * indentWidth
		if cap(dst)-len(dst) < txtRoom || h.n == 0 || th.n == 0 || uint64(r.Duration) >= 1e9 || uint(depth) > maxIndent || indent+arrowWidth+int(m.width) > callWidth {
			list.Row(&b.row, i)
			dst = t.append(dst, &b.row)
			continue
		}
		n := len(dst)
		line := dst[n : n+txtRoom]
		h.put(line, index, r.Elapsed)
		at := h.n
		*(*[briefThread]byte)(line[at:]) = th.text
		at += th.n
		if t.digits == 9 {
			putDuration((*[durationWidth + 2]byte)(line[at:]), uint32(r.Duration))
		} else {
			putMilliseconds((*[durationWidth + 2]byte)(line[at:]), uint32(r.Duration))
		}
		at += durationWidth + 2
		call := line[at:]
		call = call[:callWidth+briefTail]
		*(*[wide]byte)(call) = blank
		*(*[4]byte)(call[indent:]) = arrows[r.Event&1]
		*(*[briefName]byte)(call[indent+arrowWidth:]) = m.name
		*(*[briefTail]byte)(call[callWidth:]) = m.tail
		dst = dst[:n+at+callWidth+int(m.tailLen)]
	}
	return dst
}

func (t *txtLines) setBriefThread(th *txtBriefThread, s *rows.Strand) {
	*th = txtBriefThread{strand: s}
	var kept txtThread
	text := t.appendThread(nil, &rows.Row{Thread: s.Thread, Stack: s.Stack, Process: s.Process}, &kept)
	if len(text) <= briefThread {
		th.n = copy(th.text[:], text)
	}
}

func (t *txtLines) setBriefCells(m *txtBriefCells, p *rows.Place) {
	c := t.newCells(&rows.Row{Function: p.Function, Module: p.Module, Source: p.Source, Line: p.Line, Address: p.Address, Symbols: p.Symbols})
	*m = txtBriefCells{place: p, width: callWidth + 1}
	if c.short && c.width <= briefName && c.tailLen <= briefTail {
		m.width, m.tailLen = int32(c.width), int32(c.tailLen)
		copy(m.name[:], c.name[:])
		copy(m.tail[:], c.tail[:c.tailLen])
	}
}
