package trace

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sort"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Annotations are not events and have no record numbers: a log may have a hundred million of them and few calls, or few of them
// and many calls. For each chunk with annotations, and for every 4,096 annotations of a chunk, scanning keeps a sample: a place
// at which reading can begin. So chunks without annotations need not be read. Each record contains its own text, because the
// format has no table of texts.

// annotationEvery is the number of annotations of a chunk between two samples.
const annotationEvery = 4096

// An annotationSample is a place in a stream just before an annotation.
type annotationSample struct {
	offset int64  // of the annotation's record in the file
	time   uint64 // of the record before it
	before int64  // number of the stream's annotations before it
	chunk  int32
}

func (s *stream) annotationCount() int64 { return s.annotations + s.counters }

// addAnnotation counts an annotation while scanning.
func (s *stream) addAnnotation(typ wire.Type, chunk int32, offset int64, time uint64) {
	count := s.annotationCount()
	if n := len(s.annotationSamples); n == 0 || s.annotationSamples[n-1].chunk != chunk || count-s.annotationSamples[n-1].before >= annotationEvery {
		s.annotationSamples = append(s.annotationSamples, annotationSample{offset, time, count, chunk})
	}
	if typ == wire.Mark {
		s.annotations++
	} else {
		s.counters++
	}
}

// passAnnotations scans the annotations before a time, up to the next event. Otherwise scanning processes annotations only with
// the event after them. In a growing log that event may come much later, and the annotations should not wait for it.
func (d *decoder) passAnnotations(limit uint64) error {
	for {
		b, err := d.peek()
		if b == nil || err != nil {
			return err
		}
		first := binary.LittleEndian.Uint16(b)
		switch typ := wire.TypeOf(first); {
		case wire.IsEvent(first), typ == wire.Site, typ == wire.Switch, typ == wire.Left:
			// Records that belong to the next event, such as a call site, stay with it.
			return nil
		case typ == wire.Mark, typ == wire.Counter:
			delta := b[2:]
			if first>>8 == 0 {
				delta = b[6:]
			}
			if d.time+uint64(binary.LittleEndian.Uint16(delta)) >= limit {
				return nil
			}
		}
		_, err = d.other(nil, 0)
		var bad *recordError
		if errors.As(err, &bad) {
			// Reading the next events finds the same damage and reports it.
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// peek returns the bytes at the next record: enough for any record except a STACK. It returns nil at the end of the stream.
func (d *decoder) peek() ([]byte, error) {
	for d.chunk < 0 || d.bufAt+int64(d.p) >= d.end {
		if !d.nextChunk() {
			return nil, nil
		}
	}
	if d.p+wire.LongestFixed > len(d.buf) && d.bufAt+int64(len(d.buf)) < d.end {
		if err := d.fill(); err != nil {
			return nil, err
		}
	}
	return d.buf[d.p : len(d.buf)+overread], nil
}

// annotationCount returns the number of annotations and counter values in the view.
func (v *view) annotationCount() (n int64) {
	for _, s := range v.index.streams {
		n += s.annotationCount()
	}
	return n
}

// AnnotationCount implements [parser.Annotator].
func (l *Log) AnnotationCount(int) (texts, counters int64) {
	for _, s := range l.view.Load().index.streams {
		texts, counters = texts+s.annotations, counters+s.counters
	}
	return texts, counters
}

// Sizes of buffers for reading annotations, in bytes. The streams share annotationBytes; each gets at least enough for the
// fixed part of any record.
const (
	annotationBytes     = 1 << 20
	leastAnnotationRoom = 512
	mostAnnotationRoom  = 64 << 10
)

// An annotationReader reads the annotations of one stream. It does not repeat the checks of scanning, because it stops at the
// last annotation of a chunk that scanning has counted.
type annotationReader struct {
	r io.ReaderAt
	s *stream
	// sample is the index of the next sample, and left the number of annotations before it.
	sample int
	left   int64

	buf  []byte // bytes of the file from at on
	at   int64
	p    int // the next record in buf
	end  int64
	time uint64 // of the last record, in units
	// The current annotation. Its text is read from the file on demand.
	kind   parser.AnnotationKind
	bits   uint64
	textAt int64
	text   int // bytes
}

// next moves to the next annotation. ok is false after the last one.
func (m *annotationReader) next(ctx context.Context) (ok bool, err error) {
	if m.left == 0 {
		list := m.s.annotationSamples
		if m.sample == len(list) {
			return false, nil
		}
		a := &list[m.sample]
		m.sample++
		m.left = m.s.annotationCount() - a.before
		if m.sample < len(list) {
			m.left = list[m.sample].before - a.before
		}
		m.seek(a.offset)
		m.end, m.time = m.s.chunks[a.chunk].end(), a.time
	}
	m.left--
	for {
		found, err := m.record(ctx)
		if err != nil || found {
			return found, err
		}
	}
}

// seek moves to the record at an offset.
func (m *annotationReader) seek(offset int64) {
	if p := offset - m.at; p >= 0 && p <= int64(len(m.buf)) {
		m.p = int(p)
	} else {
		m.at, m.p, m.buf = offset, 0, m.buf[:0]
	}
}

// longestHead is how many bytes of a record are examined at most: those of a counter with an explicit length.
const longestHead = 18

// fill reads bytes of the file, from the next record on.
func (m *annotationReader) fill(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.at += int64(m.p)
	left := copy(m.buf[:cap(m.buf)], m.buf[m.p:])
	m.p = 0
	n := int(min(int64(cap(m.buf)-left), m.end-m.at-int64(left)))
	if n <= 0 {
		return message.Errorf("thread %d: %w", m.s.thread, errChanged)
	}
	m.buf = m.buf[:left+n]
	if got, err := m.r.ReadAt(m.buf[left:], m.at+int64(left)); got < n {
		m.buf = m.buf[:left]
		return message.Errorf("offset %d: %w", m.at+int64(left)+int64(got), shrunk(err))
	}
	return nil
}

// record moves past the next record, and reports whether it is an annotation.
func (m *annotationReader) record(ctx context.Context) (found bool, err error) {
	le := binary.LittleEndian
	if len(m.buf)-m.p < longestHead && m.at+int64(len(m.buf)) < m.end || m.p == len(m.buf) {
		if err := m.fill(ctx); err != nil {
			return false, err
		}
	}
	b := m.buf[m.p:]
	// Enters and leaves are skipped in a loop of their own, because there are many of them.
	for len(b) >= 6 && b[0]&3 != 0 {
		if b[0]&1 != 0 {
			m.time += uint64(le.Uint16(b) >> 1)
			b = b[wire.ShortLeaveSize:]
		} else {
			m.time += uint64(le.Uint16(b[4:]))
			b = b[wire.ShortEnterSize:]
		}
	}
	if p := len(m.buf) - len(b); p > m.p {
		m.p = p
		return false, nil
	}
	var head [longestHead + 6]byte
	copy(head[:], b)
	first := le.Uint16(head[:])
	typ, length, body := wire.TypeOf(first), int64(wire.Words(first))*2, 2
	switch {
	case wire.IsShortLeave(first):
		m.time += uint64(first >> 1)
		typ, length = 0, wire.ShortLeaveSize
	case wire.IsShort(first):
		m.time += uint64(le.Uint16(head[4:]))
		typ, length = 0, wire.ShortEnterSize
	case first == 0:
		length = 2
	case length == 0:
		if length, body = int64(le.Uint32(head[2:])), 6; length < 6 {
			return false, message.Errorf("thread %d: %w", m.s.thread, errChanged)
		}
	}
	if v, ok := wire.TimeUnits(head[2:], length); typ == wire.Time && ok {
		m.time += v << wire.TimeShift
	}
	m.time += wire.Delta(typ, head[body:])
	switch typ {
	case wire.Mark:
		m.kind, m.bits = parser.TextAnnotation, 0
		m.texts(int64(body)+4, length, int(le.Uint16(head[body+2:])))
		found = true
	case wire.Counter:
		m.kind, m.bits = parser.IntCounter+parser.AnnotationKind(min(head[body+2], 2)), le.Uint64(head[body+4:])
		m.texts(int64(body)+12, length, int(head[body+3]))
		found = true
	}
	m.seek(m.at + int64(m.p) + length)
	return found, nil
}

// texts stores the position of a record's text: n bytes from offset at on, in a record of length bytes.
func (m *annotationReader) texts(at, length int64, n int) {
	m.textAt = m.at + int64(m.p) + at
	m.text = int(max(min(int64(n), length-at), 0))
}

// appendText appends the text of the annotation.
func (m *annotationReader) appendText(dst []byte) ([]byte, error) {
	if at := m.textAt - m.at; at >= 0 && at+int64(m.text) <= int64(len(m.buf)) {
		return append(dst, m.buf[at:at+int64(m.text)]...), nil
	}
	n := len(dst)
	dst = slices.Grow(dst, m.text)[:n+m.text]
	if got, err := m.r.ReadAt(dst[n:], m.textAt); got < m.text {
		return dst[:n], message.Errorf("offset %d: %w", m.textAt+int64(got), shrunk(err))
	}
	return dst, nil
}

// Annotations implements [parser.Annotator].
func (l *Log) Annotations(ctx context.Context, _ int, from int64, yield func(m *parser.Annotation) bool) error {
	if err := l.view.Load().annotations(ctx, l.r, from, yield); err != nil {
		return message.InFile(l.name, err)
	}
	return nil
}

func (v *view) annotations(ctx context.Context, r io.ReaderAt, from int64, yield func(m *parser.Annotation) bool) error {
	// Reading a stream begins only when the others have reached the time of its first annotation.
	type start struct {
		s      *stream
		sample int
	}
	var waiting []start
	for _, s := range v.index.streams {
		list := s.annotationSamples
		if len(list) > 0 {
			k := sort.Search(len(list), func(k int) bool { return v.clock.at(list[k].time) >= from })
			waiting = append(waiting, start{s, max(k-1, 0)})
		}
	}
	begin := func(a start) uint64 { return a.s.annotationSamples[a.sample].time }
	slices.SortFunc(waiting, func(a, b start) int { return cmp.Compare(begin(a), begin(b)) })
	room := min(max(annotationBytes/max(len(waiting), 1), leastAnnotationRoom), mostAnnotationRoom)
	var heap heads[*annotationReader]
	var idle []*annotationReader
	var annotation parser.Annotation
	for {
		for len(waiting) > 0 && (len(heap) == 0 || begin(waiting[0]) <= heap[0].of.time) {
			var m *annotationReader
			if n := len(idle); n > 0 {
				m, idle = idle[n-1], idle[:n-1]
			} else {
				m = &annotationReader{buf: make([]byte, 0, room)}
			}
			*m = annotationReader{r: r, s: waiting[0].s, sample: waiting[0].sample, buf: m.buf[:0]}
			waiting = waiting[1:]
			ok, err := m.next(ctx)
			for ok && err == nil && v.clock.at(m.time) < from {
				ok, err = m.next(ctx)
			}
			if err != nil {
				return err
			}
			if !ok {
				idle = append(idle, m)
				continue
			}
			heap = append(heap, head[*annotationReader]{int64(m.time), m.s, m})
			heap.up()
		}
		if len(heap) == 0 {
			return nil
		}
		m := heap[0].of
		text, err := m.appendText(annotation.Text[:0])
		if err != nil {
			return err
		}
		annotation = parser.Annotation{Time: v.clock.at(m.time), Thread: uint32(m.s.thread), Kind: m.kind, Bits: m.bits, Text: text}
		if !yield(&annotation) {
			return nil
		}
		ok, err := m.next(ctx)
		if err != nil {
			return err
		}
		if !ok {
			heap = heap.pop()
			idle = append(idle, m)
			continue
		}
		heap[0].time = int64(m.time)
		heap.down(0)
	}
}
