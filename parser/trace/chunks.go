package trace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// A walker finds the chunks of a file and reads their headers. What is in them is read by a decoder (decode.go), or by read
// (process.go) where it is of the process.
type walker struct {
	r    io.ReaderAt
	size int64
	head wire.Header
	// ok says that the file header's checksum is right.
	ok bool

	// at is the offset at which the next chunk should begin.
	at int64
	// growing says that the file was walked through before.
	growing bool

	process []chunk
	strands *strands
	byID    map[streamID]*stream
	all     []*stream // in the order in which they were found
	// open has, for each stream, the index of its first chunk that may have grown since the walk passed it. openProcess is the
	// same for process chunks.
	open        map[*stream]int
	openProcess int

	damage      []parser.Damage
	damageBytes int64
	// unknown counts chunks of unknown kinds, and unmade places where the recorder was making a chunk.
	unknown, unmade left
}

// left counts parts of the file that were left out. n is their number, bytes their size, and first the offset of the first one.
type left struct{ n, bytes, first int64 }

func (l *left) add(at, bytes int64) {
	if l.n == 0 {
		l.first = at
	}
	l.n++
	l.bytes += bytes
}

type streamID struct {
	number uint32
	level  uint8
}

// measure updates the file's size.
func (w *walker) measure() error {
	switch r := w.r.(type) {
	case interface{ Stat() (fs.FileInfo, error) }:
		st, err := r.Stat()
		if err != nil {
			return err
		}
		w.size = st.Size()
	case interface{ Size() int64 }:
		w.size = r.Size()
	}
	return nil
}

// errShorter says that the file has become shorter, and that the walker has its new size. That is no damage: a program that
// ends cuts off bytes that were allocated in advance.
var errShorter = message.New("the file has become shorter")

// readAt fills b with the bytes at an offset. They must lie within the measured size of the file.
func (w *walker) readAt(b []byte, at int64) error {
	n, err := w.r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		if err := w.measure(); err != nil {
			return err
		}
		if at+int64(len(b)) > w.size {
			return errShorter
		}
	}
	return message.Errorf("offset %d: %w", at, shrunk(err))
}

func (w *walker) hurtf(offset, n int64, pattern string, args ...any) {
	w.damageBytes += n
	if len(w.damage) < parser.MaxDamage {
		w.damage = append(w.damage, parser.Damage{Offset: offset, Bytes: n, Reason: message.Textf(pattern, args...)})
	}
}

// header reads the file's header. If the header is damaged, the chunks can still be read. The size is measured after the header
// was read, because the recorder extends the file first and then changes the header.
func (w *walker) header() (wire.Header, error) {
	w.ok = false
	b := make([]byte, wire.HeaderSize+wire.ChunkHeaderSize)
	n, err := w.r.ReadAt(b[:min(w.size, int64(len(b)))], 0)
	if err != nil && err != io.EOF {
		return wire.Header{}, err
	}
	b = b[:n]
	h, err := wire.ParseHeader(b)
	switch {
	case err == nil && h.Major != wire.MajorVersion:
		return h, message.Errorf("version %d.%d: %w", h.Major, h.Minor, ErrVersion)
	case err == nil && h.Possible():
		w.ok = true
	case errors.Is(err, wire.ErrMagic) && Detect(b, w.size) == 0:
		if n >= len(wire.FileMagic) && string(b[:8]) == wire.FileMagic {
			return h, message.Errorf("the header is cut off: %w", ErrNotTrace)
		}
		return h, ErrNotTrace
	default:
		if err == nil {
			err = message.New("its sizes are impossible")
		}
		w.hurtf(0, wire.HeaderUsed, "the file's header: %v", err)
		h.Size, h.Granularity = wire.HeaderSize, wire.Granularity
		h.Rate, h.Begin = 0, 0
	}
	w.head = h
	return h, w.measure()
}

// walk visits the chunks and adds them.
func (w *walker) walk(ctx context.Context) error {
	if w.byID == nil {
		w.byID, w.open = make(map[streamID]*stream), make(map[*stream]int)
		w.at = int64(w.head.Size)
	}
	var b [wire.ChunkHeaderSize]byte
	granularity := int64(w.head.Granularity)
	at := w.at
	for n := 0; at+wire.ChunkHeaderSize <= w.size; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := w.readAt(b[:], at); err == errShorter {
			continue
		} else if err != nil {
			return err
		}
		h, err := wire.ParseChunkHeader(b[:], w.head.Granularity)
		if err != nil {
			if w.growing && w.head.State == wire.StateRecording && allZero(b[:4]) {
				// The recorder may be making a chunk here.
				return nil
			}
			next, zeros, err2 := w.find(ctx, (at/granularity+1)*granularity)
			if err2 != nil {
				return err2
			}
			unmade := allZero(b[:4])
			if unmade {
				// The recorder may have made the chunk in the meantime.
				if err := w.readAt(b[:], at); err != nil && err != errShorter {
					return err
				} else if _, again := wire.ParseChunkHeader(b[:], w.head.Granularity); err == nil && again == nil {
					continue
				}
			}
			switch {
			case next == w.size && (zeros && unmade || w.head.State == wire.StateRecording && unmade):
				// The rest is allocated in advance, or the next chunk is being made.
				w.at = at
				return nil
			case unmade && (w.head.State == wire.StateRecording || w.head.Flags&wire.FlagRing != 0):
				w.unmade.add(at, next-at)
			default:
				w.hurtf(at, next-at, "no chunk here: %v", err)
			}
			at = next
			continue
		}
		if err := w.add(at, &h); err != nil {
			return err
		}
		at += int64(h.Size)
		w.at = at
	}
	w.at = at
	if w.ok && at < int64(w.head.End) && at >= w.size && w.head.State != wire.StateRecording && w.head.End < 1<<62 {
		w.hurtf(w.size, int64(w.head.End)-at, "chunks that should be here are not")
	}
	if w.size < int64(w.head.Size) {
		w.hurtf(w.size, 0, "the file ends within its header")
	}
	if n := w.size - at; n > 0 {
		if err := w.readAt(b[:n], at); err != nil && err != errShorter {
			return err
		} else if err == nil && !allZero(b[:n]) {
			w.hurtf(at, n, "the file was cut off here")
		}
	}
	return nil
}

// find returns the offset of the first valid chunk header at or after at, or the file's size if there is none. zeros says that
// all bytes from at up to there are 0.
func (w *walker) find(ctx context.Context, at int64) (next int64, zeros bool, err error) {
	zeros = true
	granularity := int64(w.head.Granularity)
	// Mostly the next header is near, so the first piece is small. Headers lie at multiples of the granularity, so a piece has
	// such a size.
	var buf []byte
	for piece := max(16<<10, granularity); at < w.size; piece = min(2*piece, wire.MaxGranularity) {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		n := min(piece, w.size-at)
		buf = slices.Grow(buf[:0], int(n))
		b := buf[:n]
		if err := w.readAt(b, at); err == errShorter {
			continue
		} else if err != nil {
			return 0, false, err
		}
		for i := int64(0); i+wire.ChunkHeaderSize <= int64(len(b)); i += granularity {
			if _, err := wire.ParseChunkHeader(b[i:], w.head.Granularity); err == nil {
				return at + i, zeros && allZero(b[:i]), nil
			}
		}
		zeros = zeros && allZero(b)
		at += n
	}
	return w.size, zeros, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// add adds a chunk, by its header, to the process or to its stream.
func (w *walker) add(at int64, h *wire.ChunkHeader) error {
	c := chunk{offset: at, base: h.Base, size: h.Size, sequence: h.Sequence, used: h.Used}
	if most := h.Size - wire.ChunkHeaderSize; c.used > most {
		w.hurtf(at, 0, "the chunk has %d bytes and says it uses %d", most, c.used)
		c.used = most
	}
	if c.end() > w.size {
		// The chunk may have been made after the file was measured.
		if err := w.measure(); err != nil {
			return err
		}
	}
	if missing := c.end() - w.size; missing > 0 {
		w.hurtf(w.size, missing, "the file was cut off here")
		c.used -= uint32(missing)
	}
	switch h.Kind {
	case wire.ProcessChunk:
		w.process = append(w.process, c)
	case wire.EventsChunk:
		if c.base > maxTime {
			w.hurtf(at, int64(c.used), "the time of the chunk is impossible")
			return nil
		}
		id := streamID{h.Stream, h.Level}
		s := w.byID[id]
		if s == nil {
			s = &stream{number: h.Stream, level: h.Level, thread: h.Thread, strands: w.strands}
			w.byID[id] = s
			w.all = append(w.all, s)
		}
		s.lose(at, int64(h.Lost))
		if w.growing {
			next := uint32(0)
			if n := len(s.chunks); n > 0 {
				next = s.chunks[n-1].sequence + 1
			}
			if c.sequence < next {
				w.hurtf(c.offset, int64(c.used), "thread %d has two chunks with number %d", s.thread, c.sequence)
				return nil
			}
			if c.gap = c.sequence > next; c.gap {
				w.hurtf(c.offset, 0, "thread %d: %d chunks are missing before this one", s.thread, c.sequence-next)
			}
		}
		if _, ok := w.open[s]; !ok {
			w.open[s] = len(s.chunks)
		}
		s.chunks = append(s.chunks, c)
	default:
		w.unknown.add(at, int64(h.Size))
	}
	return nil
}

// sort puts the chunks of the streams in order.
func (w *walker) sort() {
	w.growing = true
	ring := w.head.Flags&wire.FlagRing != 0
	slices.SortFunc(w.process, bySequence)
	for _, s := range w.all {
		slices.SortStableFunc(s.chunks, bySequence)
		kept := s.chunks[:0]
		for _, c := range s.chunks {
			if n := len(kept); n > 0 && kept[n-1].sequence == c.sequence {
				w.hurtf(c.offset, int64(c.used), "thread %d has two chunks with number %d", s.thread, c.sequence)
				continue
			}
			kept = append(kept, c)
		}
		s.chunks = kept
		next := uint32(0)
		for i := range s.chunks {
			c := &s.chunks[i]
			if c.sequence != next {
				c.gap = true
				if i > 0 || !ring {
					w.hurtf(c.offset, 0, "thread %d: %d chunks are missing before this one", s.thread, c.sequence-next)
				}
			}
			next = c.sequence + 1
		}
	}
}

// refresh reads again how many bytes are used in chunks that may have grown, and reports whether any number has changed. It is
// called after the walk. A chunk is certainly complete only if the next chunk of its stream exists, and that one may have been
// made after the walk had passed this one.
func (w *walker) refresh() (changed bool, err error) {
	look := func(c *chunk) (closed bool, err error) {
		var b [wire.ChunkHeaderSize]byte
		// The recorder first counts the last record and then closes the chunk. A count that was read together with the closed
		// state may be older, so it is read twice.
		for range 2 {
			if _, err := w.r.ReadAt(b[:], c.offset); err != nil {
				return false, message.Errorf("offset %d: %w", c.offset, shrunk(err))
			}
			h, err := wire.ParseChunkHeader(b[:], w.head.Granularity)
			if err != nil || h.Sequence != c.sequence || h.Size != c.size {
				return false, message.Errorf("the chunk at offset %d has changed: %w", c.offset, parser.ErrShrunk)
			}
			used := min(h.Used, h.Size-wire.ChunkHeaderSize)
			if end := c.offset + wire.ChunkHeaderSize + int64(used); end > w.size {
				used -= uint32(end - w.size)
			}
			if used != c.used {
				c.used, changed = used, true
			}
			if closed = h.State == wire.ChunkClosed; !closed {
				break
			}
		}
		return closed, nil
	}
	for s, first := range w.open {
		closed := false
		for i := first; i < len(s.chunks); i++ {
			c := s.chunks[i]
			if closed, err = look(&c); err != nil {
				return changed, err
			}
			if c != s.chunks[i] {
				// Views share the list, so it is copied before a change.
				s.chunks = slices.Clone(s.chunks)
				s.chunks[i] = c
			}
		}
		if w.open[s] = len(s.chunks) - 1; closed {
			delete(w.open, s)
		}
	}
	// A crash may have been written into a chunk that was reserved for it.
	for i, n := 0, 0; i < min(w.openProcess, len(w.process)) && n < maxCrashes; i++ {
		if w.process[i].used > 0 {
			continue
		}
		n++
		if _, err := look(&w.process[i]); err != nil {
			return changed, err
		}
	}
	for ; w.openProcess < len(w.process); w.openProcess++ {
		if _, err := look(&w.process[w.openProcess]); err != nil {
			return changed, err
		}
	}
	w.openProcess = max(len(w.process)-1, 0)
	return changed, nil
}

func bySequence(a, b chunk) int { return cmp.Compare(a.sequence, b.sequence) }

// gap notes that process chunks are missing before chunk i.
func (p *process) gap(chunks []chunk, i int) {
	expected := uint32(0)
	if i > 0 {
		expected = chunks[i-1].sequence + 1
	}
	if c := &chunks[i]; c.sequence > expected {
		p.hurt(c.offset, 0, message.Errorf("%d chunks of them are missing before this one", c.sequence-expected))
	}
}
