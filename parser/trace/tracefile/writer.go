// Package tracefile writes traces with the encoding of the recorder.
package tracefile

import (
	"io"
	"slices"

	"logparser/parser/trace/wire"
)

// Kinds of addresses in a trace.
const (
	Entry  = wire.Entry
	Return = wire.Return
)

// A Writer writes a trace. It is not safe for concurrent use. It keeps the first error of the file, which Close returns.
type Writer struct {
	// Header is written by Close, which fills in End.
	Header wire.Header
	// ChunkSize is the size of new chunks, in bytes.
	ChunkSize uint32
	// Ring is how many of its latest chunks each thread and level keeps. 0 keeps all.
	Ring int
	// Full is the initial value of Thread.Full of new threads.
	Full bool

	f       io.WriterAt
	end     int64
	process *Thread
	threads []*Thread
	stacks  map[uint32]*callStack // without those of threads
	err     error
}

// NewWriter begins a trace. If only the size of the trace matters, f may be nil.
func NewWriter(f io.WriterAt) *Writer {
	w := &Writer{f: f, ChunkSize: 4096, end: wire.HeaderSize}
	w.Header = wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity,
		PointerSize: 8, System: 1, Machine: 62, PID: 4711, Begin: 1000, Rate: 1e9, Counter: 2, State: wire.StateEnded}
	w.process = &Thread{w: w, kind: wire.ProcessChunk, on: &callStack{}}
	w.stacks = make(map[uint32]*callStack)
	return w
}

func (w *Writer) write(b []byte, at int64) {
	if w.err == nil {
		_, w.err = w.f.WriteAt(b, at)
	}
}

// Record writes a process record. It pads body.
func (w *Writer) Record(typ wire.ProcessType, time uint64, body []byte) {
	w.process.append(wire.AppendProcess(nil, typ, time, body), time)
}

// Clock writes a CLOCK record.
func (w *Writer) Clock(time, ns uint64, wall int64, ahead int32) {
	w.body(wire.ClockRecord, time, wire.Clock{NS: ns, Wall: wall, Ahead: ahead, Uncertainty: 50})
}

// Load writes a LOAD record.
func (w *Writer) Load(time uint64, module uint32, base, size uint64, path, identity string) {
	w.body(wire.LoadRecord, time, wire.Load{Module: module, Base: wire.VA(base), Size: wire.VA(size), Bias: wire.VA(base), Path: path, Identity: identity})
}

// Unload writes an UNLOAD record.
func (w *Writer) Unload(time uint64, module uint32) {
	w.body(wire.UnloadRecord, time, wire.Unload{Module: module})
}

func (w *Writer) body(t wire.ProcessType, time uint64, body any) {
	w.Record(t, time, wire.AppendBody(nil, body))
}

// Sync writes everything so far in the state of a file whose program is still running: its chunks are open.
func (w *Writer) Sync() error {
	for _, t := range append(slices.Clone(w.threads), w.process) {
		if len(t.buf) > 0 {
			t.chunk.Used = uint32(len(t.buf)) - wire.ChunkHeaderSize
			t.chunk.State = 0
			t.chunk.Append(t.buf[:0])
			w.write(t.buf[:t.chunk.Size], t.at)
		}
	}
	w.header(wire.StateRecording)
	return w.err
}

func (w *Writer) header(state uint32) {
	h := w.Header
	h.State, h.End = state, uint64(w.end)
	w.write(h.Append(nil), 0)
}

// Close writes the rest of the chunks, and the header.
func (w *Writer) Close() error {
	for _, t := range append(slices.Clone(w.threads), w.process) {
		t.flush(1)
	}
	w.header(w.Header.State)
	return w.err
}

// A Thread is a stream of a trace: the events of a thread at one level. It is not safe for concurrent use, also not together
// with other Threads of its Writer.
type Thread struct {
	w    *Writer
	kind uint8
	// Number, Level and ID are fields of the headers of its chunks.
	Number uint32
	Level  uint8
	ID     uint64
	// Full writes whole addresses in all enters and leaves.
	Full bool
	// NoStack leaves out the STACK at the beginning of chunks.
	NoStack bool
	// Lost is the number of lost events in the header of the next chunk.
	Lost uint32

	sequence uint32
	buf      []byte
	chunk    wire.ChunkHeader
	at       int64
	places   []int64
	time     uint64
	bases    [8]uint64
	set      [8]bool
	next     int // the window to replace next
	// on is the current stack, and own the thread's own. told has the stacks that the current chunk has listed.
	on, own *callStack
	told    map[*callStack]bool
}

// A callStack is a stack of open calls.
type callStack struct {
	number uint32
	open   []call
	in     *Thread // the thread that used it last
}

type call struct {
	address, time uint64
	kind          int
}

// Thread begins a stream.
func (w *Writer) Thread(number uint32, level uint8, id uint64) *Thread {
	t := &Thread{w: w, kind: wire.EventsChunk, Number: number, Level: level, ID: id, Full: w.Full, own: &callStack{}}
	t.on, t.own.in = t.own, t
	w.threads = append(w.threads, t)
	return t
}

// room begins a new chunk unless the current one has room for n bytes.
func (t *Thread) room(n int, time uint64) {
	if t.buf != nil && len(t.buf)+n <= int(t.chunk.Size) {
		return
	}
	t.flush(1)
	size := int(t.w.ChunkSize)
	for size < 2*n+1024 {
		size *= 2
	}
	t.begin(size, max(time, t.time))
}

func (t *Thread) begin(size int, time uint64) {
	t.chunk = wire.ChunkHeader{Size: uint32(size), Kind: t.kind, Level: t.Level, Stream: t.Number,
		Sequence: t.sequence, Lost: t.Lost, Thread: t.ID, Base: time}
	t.sequence++
	t.Lost = 0
	t.time = time
	t.set = [8]bool{}
	t.at = t.w.end
	if r := t.w.Ring; r > 0 && t.kind == wire.EventsChunk {
		// The space of the oldest chunk is reused.
		if len(t.places) == r {
			t.at, t.places = t.places[0], t.places[1:]
		}
		t.places = append(t.places, t.at)
	}
	if t.at == t.w.end {
		t.w.end += int64(size)
	}
	if cap(t.buf) < size {
		t.buf = make([]byte, 0, size)
	}
	t.buf = t.buf[:wire.ChunkHeaderSize]
	t.told = make(map[*callStack]bool)
	if t.on.number != 0 {
		t.buf = wire.AppendSwitch(t.buf, 0, t.on.number)
	}
	if !t.NoStack {
		t.tell((size - wire.ChunkHeaderSize) / 128)
	}
}

// tell writes a STACK of the current stack, with the innermost most calls.
func (t *Thread) tell(most int) {
	t.told[t.on] = true
	if len(t.on.open) == 0 {
		return
	}
	var calls, times []uint64
	for _, c := range t.on.open[len(t.on.open)-min(len(t.on.open), most):] {
		calls, times = append(calls, wire.Call(c.address, c.kind)), append(times, c.time)
	}
	t.buf = wire.AppendStack(t.buf, wire.StackTimes, uint32(len(t.on.open)), calls, times)
}

// Switch makes a stack the current one for the following events. Stack 0 is the thread's own.
func (t *Thread) Switch(time uint64, number uint32) {
	s := t.own
	if number != 0 {
		if s = t.w.stacks[number]; s == nil {
			s = &callStack{number: number}
			t.w.stacks[number] = s
		}
	}
	t.room(64+16*len(s.open), time)
	d := t.delta(8, time, wire.MaxWordDelta)
	t.buf = wire.AppendSwitch(t.buf, d, number)
	if t.on = s; !t.told[s] || s.in != t {
		t.tell(len(s.open))
	}
	s.in = t
}

// Left writes that the n innermost calls have ended without a leave.
func (t *Thread) Left(n int) {
	t.room(64, t.time)
	t.buf = wire.AppendLeft(t.buf, uint32(n))
	t.on.open = t.on.open[:max(len(t.on.open)-n, 0)]
}

func (t *Thread) flush(state uint32) {
	if t.buf == nil {
		return
	}
	t.chunk.Used = uint32(len(t.buf)) - wire.ChunkHeaderSize
	t.chunk.Last, t.chunk.State = t.time, state
	t.chunk.Append(t.buf[:0])
	t.w.write(t.buf[:t.chunk.Size], t.at)
	clear(t.buf)
	t.buf = t.buf[:0]
}

// Flush writes all events so far, in the state that the file would have if the program were killed now. The next event begins a
// new chunk.
func (t *Thread) Flush() {
	if len(t.buf) > 0 {
		t.flush(0)
		t.buf = nil
	}
}

func (t *Thread) append(b []byte, time uint64) {
	t.room(len(b), time)
	t.buf = append(t.buf, b...)
}

// Raw writes the bytes of a record unchanged.
func (t *Thread) Raw(b []byte) { t.append(b, t.time) }

// Reserve ensures that the next event and n bytes of records after it lie in one chunk.
func (t *Thread) Reserve(n int, time uint64) { t.room(n+64, time) }

// delta makes room for a record of n bytes. It returns the time since the last record. If that exceeds most, it writes a TIME
// record and returns the rest.
func (t *Thread) delta(n int, time, most uint64) uint64 {
	t.room(n+12+10, time)
	d := time - t.time
	t.time = time
	if d <= most {
		return d
	}
	t.buf = wire.AppendTime(t.buf, d>>wire.TimeShift)
	return d & (1<<wire.TimeShift - 1)
}

// window returns the window of an address. It sets one if there is none.
func (t *Thread) window(address uint64, kind int) int {
	base := address&^(1<<wire.OffsetBits-1) | uint64(kind)
	for i := range t.bases {
		if t.set[i] && t.bases[i] == base {
			return i
		}
	}
	i := t.next
	t.next = (t.next + 1) % 8
	t.bases[i], t.set[i] = base, true
	t.buf = wire.AppendWindow(t.buf, i, kind, base&^1)
	return i
}

// Enter writes an enter.
func (t *Thread) Enter(time, address uint64, kind int) {
	if t.Full {
		d := t.delta(16, time, wire.MaxDelta)
		t.buf = wire.AppendEnter(t.buf, d, kind, address)
	} else {
		d := t.delta(wire.ShortEnterSize, time, wire.MaxWordDelta)
		w := t.window(address, kind)
		t.buf = wire.AppendShortEnter(t.buf, d, wire.Offset(w, address))
	}
	t.on.open = append(t.on.open, call{address, time, kind})
}

// Leave writes a leave of the innermost call.
func (t *Thread) Leave(time uint64) {
	if t.Full && len(t.on.open) > 0 {
		c := t.on.open[len(t.on.open)-1]
		d := t.delta(16, time, wire.MaxDelta)
		t.buf = wire.AppendLeave(t.buf, d, c.kind, c.address)
	} else {
		d := t.delta(wire.ShortLeaveSize, time, wire.MaxShortDelta)
		t.buf = wire.AppendShortLeave(t.buf, d)
	}
	if n := len(t.on.open); n > 0 {
		t.on.open = t.on.open[:n-1]
	}
}

// Annotation writes an annotation of at most 65,535 bytes.
func (t *Thread) Annotation(time uint64, text string) {
	d := t.delta(len(text)+12, time, wire.MaxWordDelta)
	t.buf = wire.AppendAnnotation(t.buf, d, text)
}

// Site writes the call site of the next enter. time is the time of that enter.
func (t *Thread) Site(time, address uint64) {
	// The enter must lie in the same chunk.
	t.room(64, time)
	t.buf = wire.AppendSite(t.buf, address)
}

// Counter writes the value of a counter. Its name has at most 255 bytes. form is 0 for an int64, 1 for a uint64, and 2 for the
// bits of a float64.
func (t *Thread) Counter(time uint64, form uint8, bits uint64, name string) {
	d := t.delta(len(name)+20, time, wire.MaxWordDelta)
	t.buf = wire.AppendCounter(t.buf, d, form, bits, name)
}

// LeaveAddress writes a leave with an address.
func (t *Thread) LeaveAddress(time, address uint64, kind int) {
	if t.Full {
		d := t.delta(16, time, wire.MaxDelta)
		t.buf = wire.AppendLeave(t.buf, d, kind, address)
	} else {
		d := t.delta(8, time, wire.MaxWordDelta)
		t.buf = wire.AppendLeaveWindowed(t.buf, d, wire.Offset(t.window(address, kind), address))
	}
	for i := len(t.on.open) - 1; i >= 0; i-- {
		if t.on.open[i].address == address && t.on.open[i].kind == kind {
			t.on.open = t.on.open[:i]
			break
		}
	}
}
