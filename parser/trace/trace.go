// Package trace reads the trace, LogParser's own log (.lptrace): one file with
// the events of all threads, the modules that came and went, and the clock.
// docs/formats.md, "The trace", is its specification.
//
// A trace consists of chunks. Each chunk belongs to a stream, which has the events
// of one thread in order of time. A record is a few bytes long and depends on the
// records before it. [Open] walks over the chunks (chunks.go), reads the process
// chunks (process.go) and decodes every stream once, in parallel (decode.go,
// pass.go, stream.go). It keeps the number of events and, for every 4,096 events, a
// sample of the decoder: its place, and the calls that were open, because a leave
// of two bytes does not say which call it ends. From a sample on, a stream can be
// decoded again. [Log.ReadEvents] does that and merges the streams by time, from
// any record on (merge.go). It reads the mapped file where that is possible
// (mapped.go). [Log.Grow] reads on in a file that is still written (grow.go).
//
// # What is shown
//
// Events are in order of time. If times are equal, the smaller thread id comes
// first, then the lower level, then the earlier stream. If a signal handler has
// interrupted the recorder itself, its events have a level above 0. They are events
// of the thread, and by their times they lie within the call that was interrupted.
// Each level has its own stack.
//
// A leave has the address and the space of the enter of its call. In a ring, and
// behind lost events, calls may end whose enters are not in the log. Their leaves
// are shown, with the addresses that a STACK record tells.
//
// The calls in which a forked child begins are an exception: the reader makes
// enters for them (fork.go).
//
// # Memory
//
// An open log needs:
//
//   - 40 bytes for 4,096 events, and about 40 more for the index
//   - 16 bytes for each call that is open at a sample
//   - 16 bytes for each leave that is not of the innermost call (an exception, a longjmp)
//   - about 1,000 bytes for each stream, and 40 for each chunk
//   - 32 bytes for each chunk with annotations, and for every 4,096 annotations of a chunk
//   - for each position at which events are read, up to 4 MiB, or 6 KiB for each active
//     stream if that is more; there are at most four positions, and four for call sites
//   - about 150 KiB for each stream of a reader of threads, of which there are at most 64
package trace

import (
	"cmp"
	"context"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"logparser/filemap"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/trace/wire"
	"logparser/timeparse"
)

// Errors of [Open] by which callers decide what to do next.
var (
	// ErrNotTrace: the file does not begin as a trace does.
	ErrNotTrace = message.New("this is not a trace")
	// ErrVersion: the file is of another major version, earlier or later.
	ErrVersion = message.New("this is no trace of version 1, which alone can be read")
	errChanged = message.New("the trace was changed while it was read")
)

const formatName = "trace"

// Format describes the format in the list of formats.
var Format = parser.Format{
	Name:   formatName,
	Detect: Detect,
	Open: func(ctx context.Context, path string, opt parser.Options, p parser.Progress) (parser.Log, error) {
		log, err := Open(ctx, path, opt, p)
		if err != nil {
			return nil, err
		}
		return log, nil
	},
	OpenHead: func(ctx context.Context, path string, _ parser.Options, records int64) (parser.Log, error) {
		log, err := OpenHead(ctx, path, records)
		if log == nil {
			return nil, err
		}
		return log, nil
	},
}

// Detect returns how certain it is that a file is a trace, from 0 to 100. The magic is proof. A chunk header at the place of
// the first chunk is nearly proof.
func Detect(head []byte, size int64) int {
	if len(head) >= len(wire.FileMagic) && string(head[:len(wire.FileMagic)]) == wire.FileMagic {
		return 100
	}
	if len(head) >= wire.HeaderSize+wire.ChunkHeaderSize {
		if _, err := wire.ParseChunkHeader(head[wire.HeaderSize:], wire.Granularity); err == nil {
			return 95
		}
	}
	return 0
}

// A Log is an opened trace. [Log.Capabilities] says what it can do beyond what all logs can. Several goroutines may use it at
// once.
type Log struct {
	r    io.ReaderAt
	file *os.File // nil if r is not a file
	name string
	view atomic.Pointer[view]
	// mapped is the mapped file, with the size that it had when it was opened.
	mapped *filemap.Mapping

	growing sync.Mutex
	growth  growth
	// whole says that the whole file was read when it was opened. found caches the result of Found; it is nil before the first
	// call.
	whole bool
	found []byte
	// head is not nil if the log is only the beginning of another log.
	head *logHead

	mu      sync.Mutex
	cursors []*cursor // cursors that are not in use, the last used one at the end
	// readings are the readings of events in progress.
	readings []*reading
	// siteCursors read call sites.
	siteCursors []*cursor
	// ordinalCursors find the streams of events and their numbers in these, and valueReaders read the values there.
	ordinalCursors []*cursor
	// takingCursors read values in the order of the log.
	takingCursors []*cursor
	valueReaders  []*valueReader
}

// A view is what is known of a log at one time. It is immutable.
type view struct {
	info     parser.Info
	header   wire.Header
	clock    *clock
	wall     timeparse.Clock
	epochs   *epochs
	names    map[uint32]string
	overhead *wire.Overhead
	program  string // path of the executable
	system   string
	index    *index
	ends     *ends
	ways     []string
	late     bool
	crashes  []crash
	values   *parser.ValuesTaken
}

// Open opens the trace at path. It reads the whole file once, unless opt has the result of an earlier reading (opt.Found). It
// calls p with the number of bytes that were read so far. Its errors begin with the path.
func Open(ctx context.Context, path string, opt parser.Options, p parser.Progress) (*Log, error) {
	f, size, err := openFile(path)
	if err != nil {
		return nil, err
	}
	log := &Log{r: f, file: f, name: path}
	if err := log.open(ctx, size, opt.Found, 0, p); err != nil {
		f.Close()
		return nil, message.InFile(path, err)
	}
	log.mapped = filemap.NewWritten(f)
	return log, nil
}

// openFile opens a regular file and returns its size in bytes.
func openFile(path string) (f *os.File, size int64, err error) {
	f, err = os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = message.InFile(path, message.New("it is not a regular file"))
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// New opens a trace of size bytes in r.
func New(ctx context.Context, r io.ReaderAt, size int64, p parser.Progress) (*Log, error) {
	l := &Log{r: r}
	if err := l.open(ctx, size, nil, 0, p); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens a trace of size bytes. found is the result of an earlier reading, or nil. If the log is only the beginning of
// another log, open decodes at least records records.
func (l *Log) open(ctx context.Context, size int64, found []byte, records int64, p parser.Progress) error {
	g := &l.growth
	g.process = newProcess()
	limit := uint64(noLimit)
	if found != nil && g.begin(l.r, size) == nil && g.w.restore(ctx, found) {
		l.found, g.restored = found, true
	} else if err := g.begin(l.r, size); err != nil {
		return err
	} else if limit, err = g.walk(ctx); err != nil {
		return err
	}
	if l.head != nil {
		limit = min(limit, g.w.beginning(records))
		l.head.limit = limit
	}
	v := &view{header: g.w.head}
	if _, err := g.readProcess(); err != nil {
		return err
	}
	g.process.order(0, 0)
	var dropped int
	v.clock, dropped = newClock(g.process.calibrations, v.header.Begin, v.header.Rate)
	if dropped > 0 {
		g.process.note("%d of %d calibrations of the clock run backwards and are left out", dropped, len(g.process.calibrations))
	}
	v.wall = v.clock.wall()
	var notes []message.Text
	v.epochs, notes = findEpochs(g.process.loads, v.clock, int(v.header.PointerSize))
	g.process.notes = append(g.process.notes, notes...)
	if !g.restored {
		if err := l.scan(ctx, v.epochs.times, limit, p); err != nil {
			return err
		}
	}
	l.whole = limit == noLimit && l.head == nil && (v.header.Flags&wire.FlagRing == 0 || v.header.State != wire.StateRecording)
	g.w.numberStrands(0)
	g.publish(v, nil, limit)
	l.view.Store(v)
	return nil
}

// begin prepares for reading a file, and reads its header.
func (g *growth) begin(r io.ReaderAt, size int64) error {
	g.w = &walker{r: r, size: size, strands: newStrands()}
	_, err := g.w.header()
	return err
}

// walk finds the chunks of the file. It returns the time limit in units: only events before it are published.
func (g *growth) walk(ctx context.Context) (limit uint64, err error) {
	if err := g.w.walk(ctx); err != nil {
		return 0, err
	}
	g.w.sort()
	if limit, err = g.firstLimit(ctx); err != nil {
		return 0, err
	}
	for _, s := range g.w.all {
		if err := g.w.inherit(s); err != nil {
			return 0, err
		}
	}
	return limit, nil
}

// scanBuffer is the size of the buffer for scanning, in bytes.
const scanBuffer = 128 << 10

// scan scans the streams up to a time in units, several of them at once.
func (l *Log) scan(ctx context.Context, epochs []uint64, limit uint64, p parser.Progress) error {
	g := &l.growth
	weights := make(map[*stream]int64, len(g.w.all))
	for _, s := range g.w.all {
		for i := range s.chunks {
			weights[s] += int64(s.chunks[i].used)
		}
	}
	order := slices.Clone(g.w.all)
	slices.SortStableFunc(order, func(a, b *stream) int { return cmp.Compare(weights[b], weights[a]) })
	size := g.w.size
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next, done, told atomic.Int64
	start := time.Now()
	report := func(n int64) {
		n = done.Add(n)
		if p == nil {
			return
		}
		now := time.Since(start).Milliseconds()
		if before := told.Load(); now-before >= 50 && told.CompareAndSwap(before, now) {
			p(min(n, size), size)
		}
	}
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	g.scanners = make(map[*stream]*decoder)
	var mu sync.Mutex
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			buffer := int(min(scanBuffer, max(size, wire.LongestFixed*4)))
			d, probe := newDecoder(l.r, buffer), newDecoder(l.r, buffer)
			dst := make([]parser.Event, sampleEvery)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(order) {
					return
				}
				s := order[i]
				d.reset(s, epochs)
				d.scanning = true
				if err := s.scan(ctx, d, probe, dst, limit, report); err != nil {
					failed.CompareAndSwap(nil, &err)
					cancel()
					return
				}
				if g.canGrow() {
					mu.Lock()
					g.scanners[s] = d.park()
					mu.Unlock()
				}
			}
		}()
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	if p != nil {
		p(size, size)
	}
	return nil
}

// Info describes the log. Do not change the result, which all callers share.
func (l *Log) Info() *parser.Info { return &l.view.Load().info }

// Header returns the file's header.
func (l *Log) Header() wire.Header { return l.view.Load().header }

// Modules returns the modules for looking up addresses. A module whose addresses no other module gets later exists from the
// beginning to the end of the log.
func (l *Log) Modules(int) *modules.Map { return l.view.Load().epochs.modules }

// Clock returns the log's clock, which counts nanoseconds of the system's monotonic clock. The local time comes from the first
// calibration. If later calibrations differ from it, notes tell.
func (l *Log) Clock(int) timeparse.Clock { return l.view.Load().wall }

// Spaces returns two spaces for each epoch: one for entry addresses and one for return addresses.
func (l *Log) Spaces(int) []parser.Space { return l.view.Load().epochs.spaces }

// ExactLeaves returns true: a leave has the address of the call that it ends.
func (l *Log) ExactLeaves() bool { return true }

// Truncated returns false: addresses are complete.
func (l *Log) Truncated() bool { return false }

// Capabilities implements [parser.Log].
func (l *Log) Capabilities() parser.Capabilities {
	if l.head != nil {
		return parser.Capabilities{Resumer: l, Ender: l, WayTeller: l, Stacker: l, ThreadLister: l, ProcessTeller: l, ClockTeller: l, CallEnder: l}
	}
	return parser.Capabilities{Grower: l, Checker: l, Resumer: l, Ender: l, CallSiter: l, Annotator: l, Scanner: l, OverheadTeller: l,
		WayTeller: l, Stacker: l, ThreadLister: l, ProcessTeller: l, ClockTeller: l, ThreadedLog: l, CalledLog: l, UntimedReader: l,
		CrashTeller: l, ValueTeller: l, TakenReader: l, Forked: l}
}

// Thread implements [parser.Log].
func (l *Log) Thread(key uint32) parser.Thread {
	id, stack := l.Strand(key)
	return parser.Thread{ID: id, Stack: stack, Name: l.view.Load().names[id]}
}

// NamedThreads implements [parser.ThreadLister].
func (l *Log) NamedThreads(int) []uint32 {
	names := l.view.Load().names
	list := make([]uint32, 0, len(names))
	for id, name := range names {
		if name != "" {
			list = append(list, l.growth.w.strands.of(strand{id, 0}))
		}
	}
	slices.Sort(list)
	return list
}

// Ways implements [parser.WayTeller].
func (l *Log) Ways() (ways []string, late bool) {
	v := l.view.Load()
	return v.ways, v.late
}

// Overhead returns the recorder's own cost, as the recorder has measured it.
func (l *Log) Overhead(int) (parser.Overhead, bool) {
	o := l.view.Load().overhead
	if o == nil {
		return parser.Overhead{}, false
	}
	return parser.Overhead{EnterBefore: int64(o.EnterBefore), EnterAfter: int64(o.EnterAfter),
		LeaveBefore: int64(o.LeaveBefore), LeaveAfter: int64(o.LeaveAfter)}, true
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	l.mapped.Close()
	return l.file.Close()
}
