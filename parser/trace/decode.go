package trace

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

const (
	// longestShort is the length in bytes of a short enter, the longer of the two short records.
	longestShort = wire.ShortEnterSize
	// overread is how many bytes after the end of a record the decoder may read.
	overread = 8
)

// A window is a base to which short records add their offsets. The zero window is not set.
type window struct {
	base uint64
	kind uint16
	set  bool
}

// A frame is an open call: its address and space.
type frame struct {
	address uint64
	space   uint16
}

// A node is a frame that samples refer to, so that it must be kept after the call has ended. Together with its parents it is a
// whole stack. Nodes are numbered from 1 within their stream; 0 is the empty stack.
type node struct {
	frame
	parent uint32
}

// An openStack is a stack that a record of the file lists: its innermost node, and the number of outer calls, of which nothing
// else is known.
type openStack struct{ node, outer uint32 }

// A statedStack is the content of a STACK record. chunk and offset are the position of the record.
type statedStack struct {
	chunk  int32
	offset int64
	openStack
}

func (a statedStack) compare(b statedStack) int {
	return cmp.Or(cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.offset, b.offset))
}

// A decoder turns the records of a stream into events with times in units. The first pass over a stream, scanning, stores in
// the stream what a decoder needs to begin in the middle. Later passes may begin at any sample.
type decoder struct {
	r io.ReaderAt
	s *stream
	// epochs has the times in units at which epochs begin, without the first epoch.
	epochs   []uint64
	scanning bool

	// mapped points to the mapped bytes of the file while events are read. It may be nil. While buf is a part of these bytes,
	// own keeps the decoder's own buffer; otherwise own is nil.
	mapped *[]byte
	own    []byte

	buf   []byte // bytes of the file from bufAt on
	bufAt int64
	p     int // the next record in buf
	chunk int // the chunk that is being read, -1 before the first
	end   int64
	// time is that of the last record.
	time    uint64
	ordinal int64
	windows [wire.Windows]window
	// changed says that windows differ from those that were last stored in the stream.
	changed bool
	// The stack consists of frames, and below them the node base with its parents.
	frames []frame
	base   uint32
	epoch  int
	// nextEpoch is when the next epoch begins.
	nextEpoch uint64
	unwinds   int // index of the stream's next unwind leave
	// gap is the gap of the next event. If it tells that events are missing, known is the stack that was listed at that place.
	gap   parser.Gap
	known openStack
	// on is the number of the current stack, and thread is Event.Thread of its events. parked has the other known stacks. If
	// the current stack is not the thread's own, knownFrames replaces known.node.
	on, thread  uint32
	parked      map[uint32]*parkedStack
	knownFrames []frame
	// deep is an index of the nodes of the stack while scanning; see search.
	deep map[frame]int32
	// records is a buffer of passShorts.
	records *[passedRecords]uint32
	// sites says that events are read for their call sites. site is the call site of the next event.
	sites bool
	site  parser.CallSite
	// values gets the records of values. It is nil if these are not wanted.
	values *valueReader
	// taken gets the values that hooks took. It is nil if these are not wanted.
	taken *takenQueue
}

// newDecoder returns a decoder with a buffer of size bytes. It must be reset or restored before use.
func newDecoder(r io.ReaderAt, size int) *decoder {
	return &decoder{r: r, buf: make([]byte, 0, size+overread)}
}

// reset moves the decoder before the first event of a stream.
func (d *decoder) reset(s *stream, epochs []uint64) {
	d.detach()
	*d = decoder{r: d.r, mapped: d.mapped, sites: d.sites, values: d.values, taken: d.taken, records: d.records, buf: d.buf[:0], frames: d.frames[:0], s: s, epochs: epochs, chunk: -1, nextEpoch: math.MaxUint64}
	d.thread = s.strands.of(strand{uint32(s.thread), 0})
	if len(epochs) > 0 {
		d.nextEpoch = epochs[0]
	}
	if s.level == 0 {
		d.gap = parser.ThreadBegins
	}
}

// restore moves the decoder to sample k of a stream.
func (d *decoder) restore(s *stream, epochs []uint64, k int) {
	d.reset(s, epochs)
	if k == 0 {
		return
	}
	m := &s.samples[k]
	d.gap = parser.NoGap
	d.chunk, d.time, d.ordinal = int(m.chunk), m.time, int64(k)*sampleEvery
	d.base, d.unwinds = m.stack, int(m.unwinds)
	d.windows = s.windows[m.windows]
	d.bufAt, d.end = m.offset, s.chunks[m.chunk].end()
	d.enterEpoch()
	d.restoreStacks(m.saved)
}

// enterEpoch sets the epoch for the decoder's time.
func (d *decoder) enterEpoch() {
	for d.epoch < len(d.epochs) && d.time >= d.epochs[d.epoch] {
		d.epoch++
	}
	d.nextEpoch = math.MaxUint64
	if d.epoch < len(d.epochs) {
		d.nextEpoch = d.epochs[d.epoch]
	}
}

// space returns the space of addresses of a kind at the decoder's time.
func (d *decoder) space(kind uint16) uint16 {
	if d.time >= d.nextEpoch {
		d.enterEpoch()
	}
	return uint16(d.epoch)<<1 | kind
}

// A recordError says that the rest of a chunk cannot be read.
type recordError struct {
	offset int64 // of the record
	err    error
}

func (e *recordError) Error() string         { return e.Message().String() }
func (e *recordError) Message() message.Text { return message.Textf("offset %d: %v", e.offset, e.err) }

var (
	errCut    = message.New("a record goes beyond the end of the chunk")
	errWindow = message.New("a record needs a window that is not set")
	errTime   = message.New("a time is beyond all bounds")
	errLength = message.New("a record has an impossible length")
)

// read fills dst with the next events. It returns fewer only at the end of the stream, or with an error of reading the file.
func (d *decoder) read(dst []parser.Event) (int, error) {
	n, ordinal := 0, d.ordinal
	defer func() {
		d.detach()
		d.s.raise(dst[:n], ordinal)
	}()
	for n < len(dst) {
		k, err := d.decode(dst[n:])
		n += k
		d.ordinal += int64(k)
		if more, err := d.goOn(err); !more {
			return n, err
		}
	}
	if d.taken != nil {
		return n, d.takeBehind()
	}
	return n, nil
}

// goOn handles the error that decode returned. If that ends the chunk, goOn moves to the next one. It reports whether there is
// more to decode. err is an error of reading the file.
func (d *decoder) goOn(decoded error) (more bool, err error) {
	if decoded == nil {
		return true, nil
	}
	var bad *recordError
	switch {
	case decoded == io.EOF: // the chunk's end
	case errors.As(decoded, &bad):
		if d.scanning {
			d.s.breakAt(d.chunk, bad)
		}
	default:
		return false, decoded
	}
	return d.nextChunk(), nil
}

// nextChunk moves to the next chunk, and reports whether there is one.
func (d *decoder) nextChunk() bool {
	if d.chunk+1 >= len(d.s.chunks) {
		d.bufAt += int64(d.p)
		d.p, d.buf = 0, d.buf[:0]
		return false
	}
	d.chunk++
	d.forgetStacks()
	c := &d.s.chunks[d.chunk]
	d.bufAt, d.end = c.offset+wire.ChunkHeaderSize, c.end()
	d.p, d.buf = 0, d.buf[:0]
	d.windows = [wire.Windows]window{}
	d.site.Known = false
	d.changed = true
	d.time = max(d.time, c.base)
	if _, broken := slices.BinarySearch(d.s.broken, int32(d.chunk-1)); broken || c.gap {
		d.setStack(openStack{})
	}
	return true
}

// detach stops using mapped memory.
func (d *decoder) detach() {
	if d.own != nil {
		d.bufAt += int64(d.p)
		d.p, d.buf, d.own = 0, d.own[:0], nil
	}
}

// fill loads more bytes of the chunk. If the chunk is mapped, the buffer becomes the rest of the chunk. Otherwise fill moves
// the bytes from p on to the front of the buffer and reads more after them.
func (d *decoder) fill() error {
	d.detach()
	d.bufAt += int64(d.p)
	if d.mapped != nil && d.end+overread <= int64(len(*d.mapped)) && d.s.chunks[d.chunk].size > 0 {
		d.p, d.own = 0, d.buf
		d.buf = (*d.mapped)[d.bufAt:d.end]
		return nil
	}
	left := copy(d.buf[:cap(d.buf)], d.buf[d.p:])
	d.p = 0
	n := int(min(int64(cap(d.buf)-overread-left), d.end-d.bufAt-int64(left)))
	d.buf = d.buf[:left+n]
	if got, err := d.readAt(d.buf[left:], d.bufAt+int64(left)); got < n {
		d.buf = d.buf[:left]
		if err == io.EOF {
			err = parser.ErrShrunk
		}
		return message.Errorf("offset %d: %w", d.bufAt+int64(left)+int64(got), err)
	}
	clear(d.buf[left+n : left+n+overread])
	return nil
}

// decode decodes events of the current chunk: the records of event chunks are read here. The error is nil if dst is full, and io.EOF at the chunk's end.
func (d *decoder) decode(dst []parser.Event) (n int, err error) {
	for {
		if d.chunk < 0 {
			return n, io.EOF
		}
		stop := d.stop()
		if d.p >= stop {
			if d.bufAt+int64(d.p) >= d.end {
				return n, io.EOF
			}
			if err := d.fill(); err != nil {
				return n, err
			}
			continue
		}
		b := d.buf[:len(d.buf)+overread]
		most := len(dst)
		gap := d.gap
		if gap != parser.NoGap || d.site.Known {
			most = n + 1
		}
		from := n
		// Most records are short, lie in the buffer as a whole and need no
		// special treatment: shorts decodes these, and other the rest.
		n += d.shorts(dst[n:most], b, min(stop, len(d.buf)-longestShort+1))
		if d.sites {
			d.giveSites(dst[from:n])
		}
		if n < most && d.p < stop {
			var emitted bool
			if emitted, err = d.other(&dst[n], d.ordinal+int64(n)); emitted {
				if d.sites {
					d.giveSites(dst[n : n+1])
				}
				n++
			}
		}
		if gap != parser.NoGap && n > from {
			if !d.sites {
				dst[from].Gap = gap
			}
			d.gap = parser.NoGap
		}
		if err != nil || n == len(dst) {
			return n, err
		}
	}
}

// stop returns an offset in the buffer. Records that begin before it lie in the buffer completely, unless the chunk ends within
// them.
func (d *decoder) stop() int {
	if int64(len(d.buf)) < d.end-d.bufAt {
		return len(d.buf) - wire.LongestFixed
	}
	return len(d.buf)
}

// shorts decodes short enters and leaves that begin before last, up to the first one that needs special treatment, and returns
// their number. It calls no functions and sets fields one by one, so that the compiler keeps its variables in registers.
func (d *decoder) shorts(dst []parser.Event, b []byte, last int) int {
	// A stack has room for as many more calls as it has: there may be many stacks.
	dst = dst[:min(len(dst), max(len(d.frames), mostShorts))]
	if cap(d.frames)-len(d.frames) < len(dst) {
		d.frames = slices.Grow(d.frames, len(dst))
	}
	stack, top := d.frames[:cap(d.frames)], len(d.frames)
	p, time := d.p, d.time
	thread, space := d.thread, uint16(d.epoch)<<1
	n := 0
	for ; n < len(dst) && p < last; n++ {
		v := binary.LittleEndian.Uint64(b[p : p+8 : p+8])
		e := &dst[n]
		if v&1 != 0 {
			if top == 0 {
				break
			}
			top--
			f := &stack[top]
			p += wire.ShortLeaveSize
			time += wire.LeaveDelta(v)
			e.Address, e.Space = f.address, f.space
			e.Time, e.Thread, e.Kind, e.Gap = int64(time), thread, parser.Leave, parser.NoGap
			continue
		}
		w := &d.windows[wire.EnterWindow(v)]
		t := time + wire.EnterDelta(v)
		if v&2 == 0 || !w.set || t >= d.nextEpoch {
			break
		}
		p += wire.ShortEnterSize
		time = t
		address, kind := w.base+wire.EnterOffset(v), space|w.kind
		f := &stack[top]
		top++
		f.address, f.space = address, kind
		e.Address, e.Space = address, kind
		e.Time, e.Thread, e.Kind, e.Gap = int64(t), thread, parser.Enter, parser.NoGap
	}
	d.p, d.time, d.frames = p, time, d.frames[:top]
	return n
}

// short decodes the short enter or leave in v, with all checks.
func (d *decoder) short(e *parser.Event, v uint64) error {
	end := len(d.buf)
	*e = parser.Event{Thread: d.thread}
	var f frame
	if v&1 != 0 {
		d.pull()
		if n := len(d.frames); n > 0 {
			f = d.frames[n-1]
			d.frames = d.frames[:n-1]
		} // else the call began before the log, so its address is not known
		if d.p+wire.ShortLeaveSize > end {
			return d.bad(errCut)
		}
		d.p += wire.ShortLeaveSize
		d.time += wire.LeaveDelta(v)
		e.Kind = parser.Leave
	} else {
		w := &d.windows[wire.EnterWindow(v)]
		if !w.set {
			return d.bad(errWindow)
		}
		if d.p+wire.ShortEnterSize > end {
			return d.bad(errCut)
		}
		d.p += wire.ShortEnterSize
		d.time += wire.EnterDelta(v)
		f = frame{w.base + wire.EnterOffset(v), d.space(w.kind)}
		d.frames = append(d.frames, f)
		e.Kind = parser.Enter
	}
	e.Address, e.Space, e.Time = f.address, f.space, int64(d.time)
	return nil
}

// bad makes an error of the record at p.
func (d *decoder) bad(err error) error { return &recordError{d.bufAt + int64(d.p), err} }

// other decodes one record of any kind. It reports whether the record was an event, which gets number ordinal.
func (d *decoder) other(e *parser.Event, ordinal int64) (emitted bool, err error) {
	le := binary.LittleEndian
	end := len(d.buf)
	b := d.buf[d.p : end+overread]
	end -= d.p
	if end < 2 {
		return false, d.bad(errCut)
	}
	first := le.Uint16(b)
	if wire.IsShort(first) {
		if err := d.short(e, le.Uint64(b)); err != nil {
			return false, err
		}
		return true, nil
	}
	if first == 0 {
		n := 2
		for n+2 <= end && le.Uint16(b[n:]) == 0 {
			n += 2
		}
		d.p += n
		return false, nil
	}
	typ, words := wire.TypeOf(first), wire.Words(first)
	length, head := int64(words)*2, 2
	if words == 0 {
		if end < 6 {
			return false, d.bad(errCut)
		}
		length, head = int64(le.Uint32(b[2:])), 6
		if length < 6 || length%2 != 0 {
			return false, d.bad(errLength)
		}
	}
	if d.bufAt+int64(d.p)+length > d.end {
		return false, d.bad(errCut)
	}
	if least := wire.LeastLength(typ, head); length < int64(least) {
		return false, d.bad(errLength)
	}
	// All fields below lie within wire.LongestFixed bytes, except those of a STACK.
	body := b[head:]
	if want := fixedWords(typ); want != 0 && words != want {
		return false, d.bad(errLength)
	}
	now := d.time
	switch typ {
	case wire.Time:
		v, ok := wire.TimeUnits(body, length)
		if !ok {
			return false, d.bad(errLength)
		}
		if v > maxTime>>wire.TimeShift {
			return false, d.bad(errTime)
		}
		now += v << wire.TimeShift
	case wire.Window:
		i := le.Uint16(body)
		d.windows[i&7] = window{le.Uint64(body[2:]), i >> 3 & 1, true}
		d.changed = true
	case wire.Site:
		if words != 3 && words != 5 {
			return false, d.bad(errLength)
		}
		if d.sites {
			d.readSite(words, body)
		}
	case wire.Lost:
		if d.scanning {
			d.s.lose(d.bufAt+int64(d.p), int64(le.Uint32(body)))
		}
	case wire.Stack:
		if err := d.stack(d.bufAt+int64(d.p), int64(head), length); err != nil {
			return false, err
		}
	default:
		if typ >= wire.MustKnow && typ != wire.Switch && typ != wire.Left && !wire.IsValues(typ) {
			return false, d.bad(message.Errorf("a record of unknown type %d", typ))
		}
		now += wire.Delta(typ, body)
	}
	if now > maxTime {
		return false, d.bad(errTime)
	}
	d.time = now
	switch typ {
	case wire.Enter, wire.EnterReturn:
		f := frame{le.Uint64(body[6:]), d.space(uint16(typ - wire.Enter))}
		d.frames = append(d.frames, f)
		*e = parser.Event{Address: f.address, Time: int64(now), Thread: d.thread, Space: f.space, Kind: parser.Enter}
		emitted = true
	case wire.Leave, wire.LeaveReturn:
		f := d.leave(frame{le.Uint64(body[6:]), d.space(uint16(typ - wire.Leave))}, ordinal)
		*e = parser.Event{Address: f.address, Time: int64(now), Thread: d.thread, Space: f.space, Kind: parser.Leave}
		emitted = true
	case wire.LeaveWindowed:
		i, offset := wire.Windowed(le.Uint32(body[2:]))
		w := &d.windows[i]
		if !w.set {
			return false, d.bad(errWindow)
		}
		f := d.leave(frame{w.base + offset, d.space(w.kind)}, ordinal)
		*e = parser.Event{Address: f.address, Time: int64(now), Thread: d.thread, Space: f.space, Kind: parser.Leave}
		emitted = true
	case wire.Switch:
		d.switchTo(le.Uint32(body[2:]))
	case wire.Left:
		d.left(d.bufAt+int64(d.p), le.Uint32(body))
	case wire.Arguments, wire.Result, wire.PlanArguments, wire.PlanResult, wire.PlaceArguments, wire.PlaceResult:
		if d.taken != nil {
			if err := d.take(first, ordinal-1, head, length); err != nil {
				return false, err
			}
		}
		if d.values != nil {
			d.values.record(first, d.bufAt+int64(d.p)+int64(head), length-int64(head), d.buf[min(d.p+head, len(d.buf)):min(int64(d.p)+length, int64(len(d.buf)))])
		}
	case wire.Mark, wire.Counter:
		if d.scanning {
			d.s.addAnnotation(typ, int32(d.chunk), d.bufAt+int64(d.p), now-wire.Delta(typ, body))
		}
	}
	if int64(d.p)+length <= int64(len(d.buf)) {
		d.p += int(length)
	} else {
		d.bufAt += int64(d.p) + length
		d.p, d.buf = 0, d.buf[:0]
	}
	return emitted, nil
}

// fixedWords returns the length in words of records of a type, or 0 if they have different lengths.
func fixedWords(typ wire.Type) int {
	switch typ {
	case wire.Window:
		return 6
	case wire.Enter, wire.EnterReturn, wire.Leave, wire.LeaveReturn:
		return 8
	case wire.LeaveWindowed, wire.Switch:
		return 4
	}
	return 0
}
