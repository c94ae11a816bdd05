package export

import (
	"context"
	"math"

	"logparser/message"
	"logparser/rows"
)

// A function is what formats of calls show of a function: its name, module and source file.
type function struct {
	// id counts from 1 in the order of appearance.
	id                   int
	name, module, source string
	// line is the source line of the first of its rows.
	line int
}

type functionKey struct{ name, module, source string }

// A call is an open call.
type call struct {
	fn *function
	// start is the time of its enter on the walk's time axis, or where the current file begins if that is later.
	start int64
	// end is the time of its enter plus its duration; a new file does not change it. It is noEnd if the duration is not known.
	end int64
	// The other fields that are needed from the row of its enter.
	index    int64
	duration int64
	// unclosed says that the call has no leave, although its duration may be known.
	unclosed bool
	// inherited says that another process made the call: it has no sums of its own.
	inherited bool
	address   uint64
	note      string
	values    *rows.CallValues // nil for none
	depth     int
	line      int
	// inner and calls are for formats that compute sums: the time in the calls that it has made so far, and their number
	// together with the calls below them. node is the call's node in a tree of stacks.
	inner, calls int64
	node         uint32
	// row is the index of the enter in the current batch. It is valid while fn is nil; then the fields that come from the row
	// are not set either.
	row int32
}

// A thread is a stack of calls: that of a thread, or that of a coroutine; see [rows.Track].
type thread struct {
	track rows.Track
	// index counts from 0 in the order of appearance.
	index int
	// last is the time of the last event that was written. Times never go back.
	last  int64
	stack []call
	// pending says that the stack may have calls whose fn is not set. active says that the thread has had calls in the current
	// run.
	pending, active bool
}

// An ending is how a call ended.
type ending uint8

const (
	left   ending = iota // a leave among the rows ended it
	hidden               // its leave is not among the rows, but its duration is known
	cut                  // it has no leave
	atEnd                // its run ended
	parted               // the file ended; the call continues in the next file
)

// A callWriter writes a format of calls. Its methods append text to dst and return it, or keep what they need until tail. Times
// are nanoseconds from the beginning of the log. part counts the files of a save from 0.
type callWriter interface {
	// head begins a file at time at. No call is open then; calls that continue from the file before are entered again.
	head(dst []byte, part int, at int64) []byte
	// thread is called for each thread before its first call in a file.
	thread(dst []byte, t *thread) []byte
	// enter is called when a call was pushed on the thread's stack. again says that the call continues from the file before.
	enter(dst []byte, t *thread, again bool) []byte
	// leave is called when the call at the top of the stack ends, before it is popped.
	leave(dst []byte, t *thread, at int64, how ending) []byte
	// anomaly is called for a row that neither begins nor ends a call: a leave whose enter is not among the rows, a damaged
	// record, or an enter when maxOpen calls are open.
	anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte
	// tail ends a file and writes what was kept.
	tail(out *output, dst []byte) error
	// kept returns how many bytes tail will write at least.
	kept() int64
}

const (
	// maxTime bounds times, so that sums of times do not overflow.
	maxTime = math.MaxInt64 / 4
	// noEnd is later than all times.
	noEnd = math.MaxInt64
	// maxOpen is how many calls can be open at a time in all threads together.
	maxOpen = 1 << 20
	// flushBytes is how many bytes of text are collected before they are written.
	flushBytes = 256 << 10
)

// A walk turns rows into calls for a callWriter. It follows the stack of each thread. It guarantees that calls nest and times
// never go back, whatever the rows are. A call whose leave is not among the rows ends after its duration if that is known, or
// when a later row of the thread shows that it is over, or with its run. At most maxOpen calls are open at a time; the enters
// of further calls are anomalies.
type walk struct {
	out *output
	to  callWriter
	buf []byte

	byTrack   map[rows.Track]*thread
	recent    *thread
	functions map[functionKey]*function
	known     [1 << recentBits]struct {
		names rowNames
		fn    *function
	}
	// told says, by index, which threads the current file has.
	told []bool

	// runs are the runs of the rows, run is the current one, and nextRun is the Index of the first row after it.
	runs    []placedRun
	run     int
	nextRun int64
	// max is the latest time so far.
	max int64
	// open is the number of open calls.
	open int
	// ends is the last result of findEnds.
	ends []int64
	// lastRow is the number of rows before the current batch, for error messages.
	lastRow int64
	// pending and active are the threads with these flags set.
	pending, active []*thread
	// annotations are the annotations that were not written yet. nextAnnotation is the time of the first of them, or later than
	// all times if there is none.
	annotations    annotationQueue
	nextAnnotation int64
}

// writeCalls writes the rows of src as calls.
func writeCalls(ctx context.Context, out *output, src rows.Source, opt Options, to callWriter) error {
	n := src.Len()
	runs := placeRuns(opt.runs())
	w := &walk{out: out, to: to, byTrack: make(map[rows.Track]*thread), functions: make(map[functionKey]*function), lastRow: opt.From,
		runs: runs, nextRun: nextRun(runs, 0)}
	defer w.openAnnotations(ctx, opt.Annotations)()
	w.buf = to.head(w.buf, 0, 0)
	newPrepare := func() func(*batch) { return func(*batch) {} }
	lean := false
	if d, ok := to.(preformatter); ok {
		lean = out.open == nil
		newPrepare = func() func(*batch) {
			to := d.preformats()
			return func(b *batch) { b.prepare(runs, to) }
		}
	}
	err := readBatches(ctx, src, opt.From, n, lean, opt.Progress, newPrepare, func(b *batch) error {
		if err := w.addBatch(src, b); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		w.lastRow += int64(b.n)
		return w.flush(flushBytes)
	})
	if err != nil {
		return err
	}
	if err := w.addAnnotations(math.MaxInt64 - 1); err != nil {
		return err
	}
	w.endRun()
	return to.tail(out, w.buf)
}

// flush writes the collected text if it has at least least bytes.
func (w *walk) flush(least int) error {
	if len(w.buf) < least {
		return nil
	}
	err := w.write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *walk) write(text []byte) error {
	if _, err := w.out.Write(text); err != nil {
		return message.Errorf("writing rows before %d: %w", w.lastRow, err)
	}
	return nil
}

// add processes the next row.
func (w *walk) add(r *rows.Row) error {
	if r.Index >= w.nextRun {
		w.endRun()
		w.run = runAt(w.runs, r.Index)
		w.nextRun = nextRun(w.runs, w.run)
	}
	t := w.thread(r.Track())
	if r.Event == rows.Unknown {
		// The record is damaged: its time and depth are not reliable.
		w.tell(t)
		w.buf = w.to.anomaly(w.buf, t, t.last, w.function(r), r)
		w.out.rows++
		return w.part()
	}
	at := max(w.runs[w.run].time(r.Elapsed), t.last)
	if err := w.addAnnotations(at); err != nil {
		return err
	}
	switch {
	case r.Event == rows.Enter && w.enters(t, r, at):
		w.tell(t)
		w.buf = w.to.enter(w.buf, t, false)
	case r.Event == rows.Leave && w.leaves(t, r, at):
		w.tell(t)
		w.buf = w.to.leave(w.buf, t, at, left)
		w.pop(t)
	default:
		w.tell(t)
		w.buf = w.to.anomaly(w.buf, t, at, w.function(r), r)
	}
	t.last = at
	w.max = max(w.max, at)
	w.out.rows++
	return w.part()
}

// enters pushes a call on its thread's stack. It returns false if maxOpen calls are open.
func (w *walk) enters(t *thread, r *rows.Row, at int64) bool {
	w.endTo(t, r.Depth, at)
	// If callers are not among the rows, the depth alone does not tell whether the call at the top is still open. It is not if
	// its duration is over.
	for n := len(t.stack); n > 0; n-- {
		c := &t.stack[n-1]
		if c.depth+1 >= r.Depth || c.end >= at {
			break
		}
		w.endTo(t, c.depth, at)
	}
	if w.open >= maxOpen {
		return false
	}
	w.open++
	w.activate(t)
	t.stack = append(t.stack, call{fn: w.function(r), start: at, end: endOf(at, r.Duration), index: r.Index, duration: r.Duration, unclosed: r.Unclosed, inherited: r.Inherited, address: r.Address, note: r.SavedNote(), values: r.CallValues(), depth: r.Depth, line: r.Line})
	return true
}

func (w *walk) activate(t *thread) {
	if !t.active {
		t.active = true
		w.active = append(w.active, t)
	}
}

func (w *walk) pop(t *thread) {
	t.stack = t.stack[:len(t.stack)-1]
	w.open--
}

// leaves reports whether a leave ends the call at the top of its thread's stack. Before, it ends the calls that must be over by
// then. Enter and leave of a call have the same depth and duration.
func (w *walk) leaves(t *thread, r *rows.Row, at int64) bool {
	if r.Duration < 0 {
		return false
	}
	w.endTo(t, r.Depth+1, at)
	n := len(t.stack)
	if n == 0 || t.stack[n-1].depth != r.Depth {
		return false
	}
	if c := &t.stack[n-1]; c.duration != r.Duration || c.unclosed {
		w.endTo(t, r.Depth, at)
		return false
	}
	return true
}

// endOf returns the time at which a call is over, by its duration.
func endOf(start, duration int64) int64 {
	if duration < 0 {
		return noEnd
	}
	return start + min(duration, maxTime)
}

// endTo ends the calls of a thread at depth or deeper, at time at or before.
func (w *walk) endTo(t *thread, depth int, at int64) {
	from := len(t.stack)
	for from > 0 && t.stack[from-1].depth >= depth {
		from--
	}
	if from < len(t.stack) {
		w.findEnds(t.stack[from:], at, at)
		w.end(t, from, cut)
	}
}

// endRun ends all open calls. A call without a leave lasts as long as its run.
func (w *walk) endRun() {
	at := w.runs[w.run].end
	if at == unknownEnd {
		at = w.max
	}
	for _, t := range w.active {
		w.findEnds(t.stack, at, noEnd)
		w.end(t, 0, atEnd)
		t.active = false
	}
	w.active = w.active[:0]
}

// findEnds computes when nested calls end, outermost first, and stores the times in w.ends. A call ends by its duration, or at
// time at if that is not known, but never after its caller and never after limit.
func (w *walk) findEnds(stack []call, at, limit int64) {
	w.ends = w.ends[:0]
	for i := range stack {
		limit = min(limit, stack[i].end)
		if stack[i].end == noEnd {
			w.ends = append(w.ends, min(limit, at))
		} else {
			w.ends = append(w.ends, limit)
		}
	}
}

// end ends the calls of a thread's stack from index from on, at the times in w.ends. how applies to calls whose duration is not
// known or which have no leave.
func (w *walk) end(t *thread, from int, how ending) {
	for n := len(t.stack) - 1; n >= from; n-- {
		as := hidden
		if c := &t.stack[n]; c.duration < 0 || c.unclosed {
			as = how
		}
		w.tell(t)
		t.last = max(w.ends[n-from], t.last)
		w.buf = w.to.leave(w.buf, t, t.last, as)
		w.pop(t)
		w.out.rows++
	}
}

// part begins the next file if the current one is full. Open calls are ended in the old file and entered again in the new one.
func (w *walk) part() error {
	if w.out.open == nil || !w.out.full(1, int64(len(w.buf))+w.to.kept()) {
		return nil
	}
	at := w.max
	for _, t := range w.active {
		if len(t.stack) == 0 {
			continue
		}
		w.findEnds(t.stack, at, at)
		stack := t.stack
		for n := len(stack); n > 0; n-- {
			t.stack = stack[:n]
			t.last = max(w.ends[n-1], t.last)
			w.buf = w.to.leave(w.buf, t, t.last, parted)
		}
		t.stack, t.last = stack, at
	}
	if err := w.to.tail(w.out, w.buf); err != nil {
		return err
	}
	if err := w.out.next(nil, nothing); err != nil {
		return err
	}
	w.buf = w.to.head(w.buf[:0], w.out.part, at)
	clear(w.told)
	for _, t := range w.active {
		stack := t.stack
		if len(stack) > 0 {
			w.tell(t)
		}
		for n := range stack {
			t.stack = stack[:n+1]
			stack[n].start, stack[n].inner, stack[n].calls = at, 0, 0
			w.buf = w.to.enter(w.buf, t, true)
		}
		t.stack = stack
	}
	// Repeated calls do not count towards the limit, so that each file has room for rows of its own.
	w.out.bytes -= int64(len(w.buf)) + w.to.kept()
	return nil
}

// tell calls the writer's thread method if the current file does not have the thread yet.
func (w *walk) tell(t *thread) {
	if !w.told[t.index] {
		w.told[t.index] = true
		w.buf = w.to.thread(w.buf, t)
	}
}

func (w *walk) thread(track rows.Track) *thread {
	if t := w.recent; t != nil && t.track == track {
		return t
	}
	t := w.byTrack[track]
	if t == nil {
		t = &thread{track: track, index: len(w.told)}
		w.told = append(w.told, false)
		w.byTrack[track] = t
	}
	w.recent = t
	return t
}

// function returns the function of a row.
func (w *walk) function(r *rows.Row) *function {
	k := &w.known[recentIndex(r.Address)]
	if k.fn == nil || !k.names.are(r) {
		k.names.set(r)
		key := functionKey{r.Function, r.Module, r.Source}
		fn := w.functions[key]
		if fn == nil {
			fn = &function{len(w.functions) + 1, r.Function, r.Module, r.Source, r.Line}
			w.functions[key] = fn
		}
		k.fn = fn
	}
	return k.fn
}

func bound(t int64) int64 { return min(max(t, -maxTime), maxTime) }
