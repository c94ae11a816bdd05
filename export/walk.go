package export

import (
	"context"
	"math"

	"logparser/message"
	"logparser/rows"
)

// A function is what calls of formats of calls belong to: a name in a module
// and a source file.
type function struct {
	// id counts from 1 in the order of appearance.
	id                   int
	name, module, source string
	// line is where its first row lies.
	line int
}

type functionKey struct{ name, module, source string }

// A call is one that is open.
type call struct {
	fn *function
	// start is when it was entered, in the walk's time.
	start int64
	// end is when it is over by its duration, which parts do not change; noEnd
	// where that is not known.
	end int64
	// The rest of what is needed of its enter's row.
	index    int64
	duration int64
	// unclosed says that the call has no leave, wherever it ended.
	unclosed bool
	address  uint64
	note     string
	values   *rows.CallValues // nil for none
	depth    int
	line     int
	// inner and calls are for formats that sum: the time of the calls that
	// it made so far, and the number of those below it. node is where a tree
	// of calls has it.
	inner, calls int64
	node         uint32
	// row is where the enter is in the current batch, as long as fn and what
	// else comes from it are not set.
	row int32
}

// A thread has its own stack. A stack of a coroutine is one of its own, too; see
// [rows.Track].
type thread struct {
	track rows.Track
	// index counts from 0 in the order of appearance.
	index int
	// last is the time of what was written last. Times never go back.
	last  int64
	stack []call
	// pending says that calls may be on the stack whose fn is not set, and
	// active that the thread has had calls in the current run.
	pending, active bool
}

// An ending is how a call ended.
type ending uint8

const (
	left   ending = iota // by a leave among the rows
	hidden               // its leave is not among the rows, but its duration is known
	cut                  // without a leave
	atEnd                // with its run
	parted               // with the part of the file; it goes on in the next
)

// A callWriter makes the text of calls. Its methods append to dst, or keep what
// they are told until tail. Times are nanoseconds from the beginning of the
// log.
type callWriter interface {
	// head begins a part; at is the time where it begins. Nothing is open.
	head(dst []byte, part int, at int64) []byte
	// thread is told a thread before its first call of a part.
	thread(dst []byte, t *thread) []byte
	// enter is told a call that is now the top of the thread's stack; again
	// says that it was in the part before, too.
	enter(dst []byte, t *thread, again bool) []byte
	// leave is told that the top of the stack ends. It is still there.
	leave(dst []byte, t *thread, at int64, how ending) []byte
	// annotation is told a row that neither begins nor ends a call: a leave whose
	// enter is not among the rows, a damaged record, a call too deep to be
	// followed.
	anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte
	// tail ends a part and writes what was kept.
	tail(out *output, dst []byte) error
	// kept returns the bytes that tail is going to write at least.
	kept() int64
}

const (
	// maxTime keeps sums of times from overflowing.
	maxTime = math.MaxInt64 / 4
	// noEnd is later than all times.
	noEnd = math.MaxInt64
	// maxOpen is how many calls can be open at once in all threads.
	maxOpen = 1 << 20
	// flushBytes is how much text is gathered before it is written.
	flushBytes = 256 << 10
)

// A walk goes over rows with a stack for each thread and tells a callWriter
// calls that nest and times that do not go back, whatever the rows are: a call
// without its leave among them ends, by its duration if that is known, when
// the thread shows that it is over, or with its run. No more than maxOpen are
// open at once; those beyond are annotations.
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
	// told says which threads were told in this part, by index.
	told []bool

	// runs are those that the rows are of, run is the current one, and nextRun
	// the Index of the first row behind it.
	runs    []placedRun
	run     int
	nextRun int64
	// max is the latest time so far.
	max int64
	// open counts the calls that are open.
	open int
	// ends are what findEnds found last.
	ends []int64
	// lastRow is the number of the row that was read last.
	lastRow int64
	// pending and active are the threads that are.
	pending, active []*thread
	// annotations are those still to come, the first at nextAnnotation, which is later
	// than all times where there is none.
	annotations    annotationQueue
	nextAnnotation int64
}

// writeCalls writes the calls of the rows of src.
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

// flush writes what is gathered, if it is as much as least.
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

// add takes the next row.
func (w *walk) add(r *rows.Row) error {
	if r.Index >= w.nextRun {
		w.endRun()
		w.run = runAt(w.runs, r.Index)
		w.nextRun = nextRun(w.runs, w.run)
	}
	t := w.thread(r.Track())
	if r.Event == rows.Unknown {
		// Neither its time nor its depth can be relied on.
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

// enters puts a call on its thread's stack, if there is room for it.
func (w *walk) enters(t *thread, r *rows.Row, at int64) bool {
	w.endTo(t, r.Depth, at)
	// Where callers are not among the rows, depth does not tell whether the
	// top is one of them.
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
	t.stack = append(t.stack, call{fn: w.function(r), start: at, end: endOf(at, r.Duration), index: r.Index, duration: r.Duration, unclosed: r.Unclosed, address: r.Address, note: r.SavedNote(), values: r.CallValues(), depth: r.Depth, line: r.Line})
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

// leaves reports whether a leave belongs to the top of its thread's stack, off
// which it takes what must have ended before. Pairs have depth and duration in
// common.
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

// endOf returns when a call is over.
func endOf(start, duration int64) int64 {
	if duration < 0 {
		return noEnd
	}
	return start + min(duration, maxTime)
}

// endTo ends the calls of a thread from a depth on that are over at a time.
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

// endRun ends all calls of all threads: what has no leave lasts as long as its
// run.
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

// findEnds works out when calls end, of which each made the next: at a time, or
// before, by their durations, or with what they are in. With a limit they end
// not after that.
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

// end ends the calls of a thread's stack from one on when findEnds says. How is
// for those whose duration is not known.
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

// part begins another file if the current one is full. What is open is ended
// there and begun again.
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
	// What had to be repeated does not count, so that each part has rows of
	// its own.
	w.out.bytes -= int64(len(w.buf)) + w.to.kept()
	return nil
}

// tell has the writer know a thread.
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

// function returns the function that a row belongs to.
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
