package probes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"time"

	"logparser/message"
	"logparser/parser"
)

// chunk is how much of the file is read at once, bytes.
const chunk = 256 << 10

// firstChunk is how much is read first.
const firstChunk = 8 << 10

// A lineReader reads lines of the file.
type lineReader struct {
	file io.ReaderAt
	// next is the offset behind buf, end is where reading ends.
	next, end int64
	buf       []byte
	store     []byte
	// cut says that the beginning of a line that is too long was passed over.
	cut bool
	// read says that something was read.
	read bool
}

func newLineReader(file io.ReaderAt, from, end int64) *lineReader {
	return &lineReader{file: file, next: from, end: end, store: make([]byte, 0, min(end-from, firstChunk))}
}

// line returns the next line with its offset; last says that the file ends without a line feed
// behind it. It is nil at the end. Of a line that is too long only the end is returned, as
// an empty one.
func (r *lineReader) line() (b []byte, at int64, last bool, err error) {
	for {
		if i := bytes.IndexByte(r.buf, '\n'); i >= 0 {
			at = r.next - int64(len(r.buf))
			b, r.buf = r.buf[:i], r.buf[i+1:]
			if r.cut {
				r.cut, b = false, b[:0]
			}
			return b, at, false, nil
		}
		if r.next >= r.end {
			if len(r.buf) == 0 {
				return nil, r.next, false, nil
			}
			at, b, r.buf = r.next-int64(len(r.buf)), r.buf, nil
			if r.cut {
				b = b[:0]
			}
			return b, at, true, nil
		}
		if len(r.buf) > maxLine {
			r.buf, r.cut = r.buf[:0], true
		}
		if err := r.fill(); err != nil {
			return nil, 0, false, err
		}
	}
}

// fill reads more of the file behind what is in buf.
func (r *lineReader) fill() error {
	store := r.store
	if len(r.buf) > 0 || cap(store) < chunk+maxLine && r.read {
		store = make([]byte, 0, min(4*int64(cap(store)), chunk+maxLine))
		if cap(r.store) == chunk+maxLine {
			store = r.store
		}
	}
	n := copy(store[:cap(store)], r.buf)
	r.store, r.read = store, true
	m := min(int64(cap(r.store)-n), r.end-r.next, chunk)
	got, err := r.file.ReadAt(r.store[n:n+int(m)], r.next)
	if got == 0 {
		if err == nil || err == io.EOF {
			err = parser.ErrShrunk
		}
		return err
	}
	r.next += int64(got)
	r.buf = r.store[:n+got]
	return nil
}

// parsed reads a line into ln, and, where a text in it has line feeds itself, the lines up to the text's end. b is nil at the end of the
// file. open says that the file ends within such a text; the line then ends where its first line does.
func (r *lineReader) parsed(ln *line) (b []byte, at int64, last, open bool, err error) {
	b, at, last, err = r.line()
	if b == nil || err != nil {
		return b, at, last, false, err
	}
	ln.parse(b)
	var mark byte
	if ln.kind == eventLine {
		mark = ln.openText()
	}
	if mark == 0 {
		return b, at, last, false, nil
	}
	if last {
		return b, at, last, true, nil
	}
	first := len(b)
	begin := cap(r.store) - cap(r.buf) - first - 1
	r.buf = r.store[begin : begin+first+1+len(r.buf)] // with the line itself
	var other line
	for end := first + 1; ; {
		i := bytes.IndexByte(r.buf[end:], '\n')
		if i < 0 && r.next < r.end && len(r.buf) < maxText {
			if err := r.fill(); err != nil {
				return nil, 0, false, false, err
			}
			continue
		}
		open = i < 0 && r.next >= r.end && len(r.buf) < maxText
		if i < 0 || end+i > maxText {
			break
		}
		if other.parse(r.buf[end : end+i]); other.kind != otherLine {
			break
		}
		more := r.buf[end : end+i]
		if end += i + 1; textEnd(more, mark) < 0 {
			continue
		}
		b = r.buf[: end-1 : end-1]
		ln.parse(b)
		if mark = ln.openText(); mark == 0 { // there may be more texts
			r.buf = r.buf[end:]
			return b, at, false, false, nil
		}
	}
	b = r.buf[:first]
	r.buf = r.buf[first+1:]
	ln.parse(b)
	return b, at, false, open, nil
}

// errGoesOn says that a line was taken for whole and then went on.
var errGoesOn = message.Wrap(parser.ErrShrunk, "the last line that was read goes on: open the text again")

// still is how long nothing has been written to a file whose last line is whole, though it has no line feed.
const still = 2 * time.Second

// scan takes in the lines of the file up to an offset. A last line without a line feed may still
// grow: it is taken in when it has one, or when it is said to be whole. It returns how many records came.
func (l *Log) scan(ctx context.Context, end int64, whole bool, p parser.Progress) (records int64, err error) {
	r := newLineReader(l.file, l.size, end)
	var ln line
	for n := 0; ; n++ {
		if n%4096 == 0 {
			if err := ctx.Err(); err != nil {
				return records, err
			}
			if p != nil {
				p(l.size, end)
			}
		}
		b, at, last, open, err := r.parsed(&ln)
		if err != nil {
			return records, err
		}
		if b == nil && !last && r.next >= r.end && len(r.buf) == 0 && at >= end {
			return records, nil
		}
		if (last || open) && !whole {
			return records, nil
		}
		l.take(&ln, b, at, &records)
		l.size = r.next - int64(len(r.buf))
		l.unended, l.openText = last, l.openText || open
	}
}

// take takes in a line, which was parsed.
func (l *Log) take(ln *line, b []byte, at int64, records *int64) {
	switch ln.kind {
	case eventLine:
		ev, _, ok := l.tables.event(ln, at, true)
		if !ok {
			l.other++
			return
		}
		if l.info.Records%every == 0 {
			l.marks = append(l.marks, at)
		}
		if l.order != nil {
			l.order = append(l.order, at)
		}
		l.info.Records++
		*records++
		switch {
		case ln.time == noTime:
			l.untimed++
		case ev.Time < l.last:
			l.early++
		default:
			l.last = ev.Time
		}
		l.ticks = l.ticks || ln.whole
		l.valued = l.valued || len(ln.arguments) > 0
	case nameLine:
		l.names.line(string(ln.arguments))
	case mapLine:
		l.mapped(ln, at)
	case forkLine:
		l.forked(ln, at)
	case execLine:
		l.executed(ln, at)
	case lostLine:
		l.lost += ln.lost
	case endLine:
		l.ended = true
	case otherLine:
		if len(b) > 0 {
			l.other++
		}
	}
}

// sort finds the order of events in time.
func (l *Log) sort(ctx context.Context) error {
	if l.info.Records > maxSorted {
		return nil
	}
	type placed struct{ time, at int64 }
	list := make([]placed, 0, l.info.Records)
	r := newLineReader(l.file, 0, l.size)
	var ln line
	time := int64(0)
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		b, at, last, _, err := r.parsed(&ln)
		if err != nil {
			return err
		}
		if b == nil && !last && at >= l.size {
			break
		}
		if ln.kind != eventLine {
			continue
		}
		if _, _, ok := l.tables.event(&ln, at, false); ok {
			// Lines without a time stay behind those that they follow.
			if ln.time != noTime {
				time = ln.time
			}
			list = append(list, placed{time, at})
		}
	}
	slices.SortStableFunc(list, func(a, b placed) int { return cmp.Compare(a.time, b.time) })
	l.order = make([]int64, len(list))
	for i, p := range list {
		l.order[i] = p.at
	}
	return nil
}

// each calls visit with the events from a record on until it returns false.
func (l *Log) each(from int64, visit func(ev *parser.Event, e *event, arguments []byte) bool) error {
	if from < 0 || from >= l.info.Records {
		return io.EOF
	}
	var ln line
	if l.order != nil {
		var r *lineReader
		for ; from < int64(len(l.order)); from++ {
			at := l.order[from]
			// The next line is mostly near.
			if r == nil || at < r.next-int64(len(r.buf)) || at >= r.next {
				r = newLineReader(l.file, at, l.size)
			} else {
				r.buf = r.buf[int64(len(r.buf))-(r.next-at):]
			}
			_, at, _, _, err := r.parsed(&ln)
			if err != nil {
				return err
			}
			ev, e, ok := l.tables.event(&ln, at, false)
			if ln.kind != eventLine || !ok {
				return parser.ErrShrunk
			}
			if !visit(&ev, e, ln.arguments) {
				return nil
			}
		}
		return io.EOF
	}
	r := newLineReader(l.file, l.marks[from/every], l.size)
	for skip := from % every; ; {
		b, at, last, _, err := r.parsed(&ln)
		if err != nil {
			return err
		}
		if b == nil && !last && at >= l.size {
			return io.EOF
		}
		if ln.kind != eventLine {
			continue
		}
		ev, e, ok := l.tables.event(&ln, at, false)
		if !ok {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if !visit(&ev, e, ln.arguments) {
			return nil
		}
	}
}

// ReadEvents implements [parser.Log].
func (l *Log) ReadEvents(dst []parser.Event, from int64) (n int, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(dst) == 0 {
		return 0, nil
	}
	err = l.each(from, func(ev *parser.Event, _ *event, _ []byte) bool {
		dst[n] = *ev
		n++
		return n < len(dst)
	})
	return n, err
}

// Values implements [parser.ValueTeller].
func (l *Log) Values(dst []parser.CallValues, from int64) (n int, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(dst) == 0 {
		return 0, nil
	}
	err = l.each(from, func(_ *parser.Event, e *event, arguments []byte) bool {
		dst[n] = parser.CallValues{}
		if len(arguments) > 0 {
			taken := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(arguments)), uint32(e.index))
			dst[n] = parser.CallValues{By: l.taken, Form: parser.ValuesAsText, Taken: append(taken, arguments...)}
		}
		n++
		return n < len(dst)
	})
	return n, err
}

// Grow implements [parser.Grower]. Lines that come are shown in the order in which they come.
func (l *Log) Grow(ctx context.Context) (g parser.Growth, err error) {
	info, err := l.file.Stat()
	if err != nil {
		return g, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if info.Size() < l.size {
		return g, parser.ErrShrunk
	}
	named, err := os.Stat(l.path)
	g.Replaced = err != nil || !os.SameFile(info, named)
	modules := len(l.modules)
	before := l.early
	if l.unended && info.Size() > l.size {
		// The line that was taken for whole has gone on, or ends now.
		next := []byte{0}
		if _, err := l.file.ReadAt(next, l.size); err != nil {
			return g, err
		}
		if next[0] != '\n' && next[0] != '\r' {
			return g, errGoesOn
		}
		l.unended = false
	}
	if l.openText && info.Size() > l.size {
		return g, errGoesOn
	}
	// A program writes blocks, which end in the middle of a line, however long it is quiet then.
	if g.Records, err = l.scan(ctx, info.Size(), false, nil); err != nil {
		return g, err
	}
	if g.Records > 0 || l.early != before {
		l.describe()
	}
	g.Modules = len(l.modules) > modules
	g.Ended = l.ended
	return g, nil
}
