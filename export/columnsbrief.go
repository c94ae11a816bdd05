package export

import "logparser/rows"

// briefColumns is a format for brief rows. Its lines consist of the index and the time; the thread, the event and the depth;
// the duration as [rows.AppendMicroseconds] writes it; the names of the place; and a rest that many rows share. The methods
// append these parts to dst.
type briefColumns interface {
	// append appends a whole line.
	append(dst []byte, r *rows.Row) []byte
	// start appends the index and the time. low is the offset of the index's last four digits.
	start(dst []byte, r *rows.Row) (text []byte, low int)
	call(dst []byte, thread uint32, event rows.Event, depth int) []byte
	namer
	// rest appends the rest. end is the offset of the end of the time that is in it, 0 if it has none. ok is false if rows of
	// one second of r's run differ in more of the rest than the decimals of that time.
	rest(dst []byte, r *rows.Row) (text []byte, end int, ok bool)
}

// A columnsBrief makes the lines of brief rows in such a format.
type columnsBrief struct {
	of     briefColumns
	digits int
	head   briefHead
	// rest is the cached rest of the line. Its time ends at restEnd, which is 0 if it has none.
	rest    [wide]byte
	restN   int
	restEnd int
	calls   [callThreads * callDepths * 2]briefCall
	cells   *[briefPlaces]briefCells
	row     rows.Row
}

const (
	// callThreads and callDepths are the dimensions of the cache of calls.
	callThreads = 16
	callDepths  = 64
	// callLen and moreCall are the sizes of the two parts of such a text, in bytes. Mostly it fits into the first part.
	callLen  = 32
	moreCall = 64
)

// A briefCall is the cached text of a thread, an event and a depth.
type briefCall struct {
	thread uint32
	depth  int32
	event  rows.Event
	n      int16 // bytes; 0 if the text is too long
	text   [callLen]byte
	more   [moreCall]byte
}

// briefCells are the cached names of a place.
type briefCells struct {
	place *rows.Place
	n     int // bytes; 0 if the text is too long
	text  [shortText]byte
	more  [moreNames]byte
}

// columnsRoom is how many bytes a line may write, with those that are copied beyond its end.
const columnsRoom = wide + callLen + moreCall + pieceLen + shortText + moreNames + wide

func newColumnsBrief(of briefColumns, digits int) *columnsBrief {
	return &columnsBrief{of: of, digits: digits, cells: new([briefPlaces]briefCells)}
}

// append appends the lines of brief rows.
func (b *columnsBrief) append(dst []byte, list *rows.Briefs) []byte {
	h := &b.head
	h.n = 0        // the rows may belong to another run
	common := true // the rows can share their rest
	for i := range list.List {
		r := &list.List[i]
		if r.Whole > 0 {
			dst = b.of.append(dst, &list.Whole[r.Whole-1])
			continue
		}
		m := &b.cells[r.Number%briefPlaces]
		if m.place != r.Place {
			b.setCells(m, r.Place)
		}
		k := &b.calls[(r.Strand.Thread%callThreads*callDepths+uint32(r.Depth)%callDepths)*2+uint32(r.Event)&1]
		if k.thread != r.Strand.Thread || k.depth != r.Depth || k.event != r.Event || k.n == 0 {
			b.setCall(k, r)
		}
		index := list.First + int64(i)
		if !h.is(index, r.Elapsed) && common {
			common = b.setHead(list, i)
		}
		if cap(dst)-len(dst) < columnsRoom || h.n == 0 || k.n == 0 || m.n == 0 || uint64(r.Duration) >= 1e9 {
			list.Row(&b.row, i)
			dst = b.of.append(dst, &b.row)
			continue
		}
		n := len(dst)
		line := dst[n : n+columnsRoom]
		h.put(line, index, r.Elapsed)
		at := h.n
		*(*[callLen]byte)(line[at:]) = k.text
		if k.n > callLen {
			*(*[moreCall]byte)(line[at+callLen:]) = k.more
		}
		at += int(k.n)
		at += putMicroseconds(line[at:at+pieceLen], uint64(r.Duration))
		*(*[shortText]byte)(line[at:]) = m.text
		if m.n > shortText {
			*(*[moreNames]byte)(line[at+shortText:]) = m.more
		}
		at += m.n
		*(*[wide]byte)(line[at:]) = b.rest
		if b.restEnd > 0 {
			h.putTime(line[at+b.restEnd-4:], r.Elapsed)
		}
		dst = dst[:n+at+b.restN]
	}
	return dst
}

// setHead updates the cached head and rest for row i. It returns false if the rows of the list cannot share a rest.
func (b *columnsBrief) setHead(list *rows.Briefs, i int) bool {
	h := &b.head
	if h.goTo(list.First+int64(i), list.List[i].Elapsed) {
		if b.restEnd > 0 {
			copy(b.rest[b.restEnd-b.digits:b.restEnd], h.text[h.end-b.digits:])
		}
		return true
	}
	r := &b.row
	list.Row(r, i)
	text, low := b.of.start(nil, r)
	h.set(text, r, low, len(text), b.digits)
	rest, end, ok := b.of.rest(nil, r)
	if !ok || len(rest) > wide {
		h.n = 0
		return false
	}
	b.restN, b.restEnd = copy(b.rest[:], rest), end
	return true
}

func (b *columnsBrief) setCall(k *briefCall, r *rows.Brief) {
	*k = briefCall{thread: r.Strand.Thread, depth: r.Depth, event: r.Event}
	text := b.of.call(nil, k.thread, k.event, int(k.depth))
	if len(text) <= callLen+moreCall {
		k.n = int16(len(text))
		copy(k.more[:], text[copy(k.text[:], text):])
	}
}

func (b *columnsBrief) setCells(m *briefCells, p *rows.Place) {
	text := b.of.names(nil, &rows.Row{Function: p.Function, Module: p.Module, Source: p.Source, Line: p.Line, Address: p.Address, Symbols: p.Symbols})
	*m = briefCells{place: p}
	if len(text) <= shortText+moreNames {
		m.n = len(text)
		copy(m.more[:], text[copy(m.text[:], text):])
	}
}
