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
	// longestShort is the length in bytes of the longer of the two records that
	// have no type.
	longestShort = wire.ShortEnterSize
	// overread is what the decoder may look at behind the end of a record.
	overread = 8
)

// A window is a base that addresses count from. The zero window is not set.
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

// A node is a frame that outlives the decoder's own stack, because an index
// entry refers to it. Nodes are numbered from 1 within their stream; 0 is the
// empty stack.
type node struct {
	frame
	parent uint32
}

// An openStack is a stack that the file states: a node, and how many calls are
// around it that are not known.
type openStack struct{ node, outer uint32 }

// A statedStack is what a STACK record says, by chunk and offset.
type statedStack struct {
	chunk  int32
	offset int64
	openStack
}

func (a statedStack) compare(b statedStack) int {
	return cmp.Or(cmp.Compare(a.chunk, b.chunk), cmp.Compare(a.offset, b.offset))
}

// A decoder turns the records of a stream into events. Times are left in
// units. It is used once over the whole stream, when it notes in the stream
// what cannot be known from the middle (scanning), and then from any sample.
type decoder struct {
	r io.ReaderAt
	s *stream
	// epochs has the times in units at which epochs begin, but the first.
	epochs   []uint64
	scanning bool

	// mapped is the file's first bytes in memory, if it is not nil, while
	// events are read; own is then the decoder's buffer, not nil while buf is
	// a part of mapped.
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
	// changed says that windows differ from the stream's last stored ones.
	changed bool
	// The stack: frames above the chain of nodes that begins at base.
	frames []frame
	base   uint32
	epoch  int
	// nextEpoch is when the next epoch begins.
	nextEpoch uint64
	unwinds   int // the next of the stream's unwind leaves
	// gap is that of the next event, known what was set as the stack then.
	gap   parser.Gap
	known openStack
	// on is the number of the stack in effect, thread what its events have as their
	// thread, and parked are the others that are known. Of a stack that is not the thread's own
	// knownFrames are the calls of known.
	on, thread  uint32
	parked      map[uint32]*parkedStack
	knownFrames []frame
	// deep indexes the stack while scanning; see search.
	deep map[frame]int32
	// records is the memory of passShorts.
	records *[passedRecords]uint32
	// sites says that events are read for their call sites; site is that of the next.
	sites bool
	site  parser.CallSite
	// values takes in values, nil where they are not read.
	values *valueReader
	// taken takes in what was taken behind events, nil where that is not read.
	taken *takenQueue
}

// newDecoder makes a decoder, which must be reset or restored; size is that of
// its buffer in bytes.
func newDecoder(r io.ReaderAt, size int) *decoder {
	return &decoder{r: r, buf: make([]byte, 0, size+overread)}
}

// reset makes a decoder stand before the first event of a stream.
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

// restore makes a decoder stand at a sample of its stream.
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

// enterEpoch finds the epoch at the decoder's time.
func (d *decoder) enterEpoch() {
	for d.epoch < len(d.epochs) && d.time >= d.epochs[d.epoch] {
		d.epoch++
	}
	d.nextEpoch = math.MaxUint64
	if d.epoch < len(d.epochs) {
		d.nextEpoch = d.epochs[d.epoch]
	}
}

// space returns the space of an address of a kind at the decoder's time.
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

// read fills dst with the next events, less only at the end of the stream or
// with an error of reading the file.
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

// goOn goes on after decode, to the next chunk if it returned an error that ends one. It
// reports whether there is more, with an error of reading the file.
func (d *decoder) goOn(decoded error) (more bool, err error) {
	if decoded == nil {
		return true, nil
	}
	var bad *recordError
	switch {
	case decoded == io.EOF: // of the chunk
	case errors.As(decoded, &bad):
		if d.scanning {
			d.s.breakAt(d.chunk, bad)
		}
	default:
		return false, decoded
	}
	return d.nextChunk(), nil
}

// nextChunk goes to the next chunk and reports whether there is one.
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

// detach lets go of mapped memory.
func (d *decoder) detach() {
	if d.own != nil {
		d.bufAt += int64(d.p)
		d.p, d.buf, d.own = 0, d.own[:0], nil
	}
}

// fill makes the buffer the rest of the chunk where that is mapped. Else it
// moves the bytes from p on to the front of the buffer and reads more.
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

// decode decodes events of the current chunk. The error is nil if dst is full,
// io.EOF at the chunk's end.
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
		// Short records that lie in the buffer as a whole and need no more
		// looking at are most; other takes all others.
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

// stop returns the place in the buffer before which records begin that lie in it as a
// whole, unless the chunk ends within them.
func (d *decoder) stop() int {
	if int64(len(d.buf)) < d.end-d.bufAt {
		return len(d.buf) - wire.LongestFixed
	}
	return len(d.buf)
}

// shorts decodes short enters and leaves that begin before last, until one needs
// more looking at, and returns how many. It has no calls, and sets fields one by
// one, so that what it works with stays in registers.
func (d *decoder) shorts(dst []parser.Event, b []byte, last int) int {
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

// short decodes a short enter or leave, v, with all that there is to check.
func (d *decoder) short(e *parser.Event, v uint64) error {
	end := len(d.buf)
	*e = parser.Event{Thread: d.thread}
	var f frame
	if v&1 != 0 {
		d.pull()
		if n := len(d.frames); n > 0 {
			f = d.frames[n-1]
			d.frames = d.frames[:n-1]
		} // else the call that ends began before the log
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

// other decodes one record of any kind.
// It reports whether it made an event, which has the given number.
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
	typ, words := wire.TypeOf(first), int(first>>8)
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
	// All fields below lie within wire.LongestFixed bytes, but for a stack's.
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
		if typ >= wire.MustKnow && typ != wire.Switch && typ != wire.Left {
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
	case wire.Arguments, wire.Result:
		if d.taken != nil {
			if err := d.take(typ, ordinal-1, head, length); err != nil {
				return false, err
			}
		}
		if d.values != nil {
			d.values.record(typ, d.bufAt+int64(d.p)+int64(head), length-int64(head), d.buf[min(d.p+head, len(d.buf)):min(int64(d.p)+length, int64(len(d.buf)))])
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

// fixedWords returns the length in words of records that have but one, else 0.
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
