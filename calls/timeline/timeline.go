package timeline

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
)

const (
	// fillTime is how long blocks are read in each pictureTime, behind sampleTime; at least one is
	// for each query. Enters are looked for in a view in half of it, as far as
	// their blocks are not read anyway.
	fillTime    = 4 * time.Millisecond
	pictureTime = 16 * time.Millisecond
	// sharedLanes is the number of threads up to which all are drawn when one
	// is asked for.
	sharedLanes = 64
	// maxGroups bounds the groups that are looked at for each pixel.
	maxGroups = 16
	// deepNodes is the number of nodes from which on regions of several levels
	// are drawn together.
	deepNodes = 4096
	// maxSpanDepth bounds the depth that is drawn.
	maxSpanDepth = 4095
)

// drawnBlocks is the number of blocks whose spans are kept; a variable for
// tests.
var drawnBlocks = 2048

// A Timeline draws calls over time, with as much detail as there are pixels.
// Its methods are safe for concurrent use.
//
// It goes down the groups of blocks until what a group spans is no wider than
// two pixels. Calls that reach out of such a group have nodes of its level and
// are drawn one by one; of those within it some blocks are read, and for each depth
// the function that took most time is drawn. Where a block is wider it is read.
type Timeline struct {
	index *index.Index

	frames sync.Mutex // guards frame
	// frame has the last picture of each run, by its first row.
	frame map[int64]*drawnFrame

	mu    sync.Mutex // guards what follows
	tick  uint64
	drawn map[blockPart]*drawnBlock
	// samples are the regions that were sampled, weights how many weights they have.
	samples map[regionKey]*sample
	weights int
	asked   SpanQuery // last
	// drawnOf is the steady index that drawn and shown are of.
	drawnOf *index.Index
	// began is when the time began in which blocks have been read for spent:
	// the lanes of one picture may be asked for one by one.
	began time.Time
	spent time.Duration
	// shown says of enters whether they are in a view, as far as it was counted.
	shown   map[int64]bool
	shownOf *query.View
	counted int64
}

const (
	// maxFrames bounds the runs whose pictures are kept.
	maxFrames = 64
	// maxShown bounds the enters that are remembered.
	maxShown = 1 << 16
)

// A drawnFrame is the spans of all threads, for those that ask for one after
// the other.
type drawnFrame struct {
	src   *index.Index
	query SpanQuery
	rows  int64
	// counted is how far the query's view was counted.
	counted int64
	spans   []Span
	finer   bool
	served  map[uint32]bool
}

// NewTimeline makes a Timeline of an index, which may still grow, and be built
// again.
func NewTimeline(src *index.Index) *Timeline {
	return &Timeline{index: src, drawn: make(map[blockPart]*drawnBlock), samples: make(map[regionKey]*sample), frame: make(map[int64]*drawnFrame)}
}

// A SpanQuery says what is to be drawn.
type SpanQuery struct {
	// Threads has the slots of the threads wanted, all if nil.
	Threads *query.Set
	// From (included) and To (not included) are in nanoseconds of the log's
	// clock.
	From, To int64
	// Pixels is the width that From to To has on the screen, of which at most
	// MaxPixels matter.
	Pixels int
	// MaxDepth is the greatest depth that is wanted. Calls deeper than 4,095
	// are not drawn.
	MaxDepth int32
	// FirstRow (included) and EndRow (not included) are the rows of one run, as
	// each has a clock of its own. Where EndRow is 0 the log has one run.
	FirstRow, EndRow int64
	// Only, if not nil, is a view of enters; see [Span]'s Shown. It may still be
	// counted.
	Only *query.View
}

// MaxPixels bounds the detail of a SpanQuery.
const MaxPixels = 1 << 14

// A Span is a call, or several too short to be drawn, on a time line.
type Span struct {
	// Start and End are in nanoseconds of the log's clock. A call may have
	// begun before what was asked for, and end after it.
	Start, End int64
	// Enter is the row of the call's enter, -1 where that is missing. Of
	// merged calls it is the row of one of them, or a row near them.
	Enter int64
	// Address is that of the call, and of merged calls the one whose calls took
	// most time, unless Time is negative: then none of them is known.
	Address uint32
	// Time is, of merged calls, how many nanoseconds those of Address took
	// together; of a sample where About is set.
	Time   int64
	Thread uint32
	Depth  int32
	// Deepest is the greatest depth of what is merged here, or what cannot be
	// exceeded by it if About is set. It is Depth for a single call.
	Deepest int32
	// Count is 1 for a single call, otherwise the number of calls merged. It
	// is 0 where calls are known to be but not how many.
	Count int64
	// About says that Count and the borders are not exact.
	About bool
	// Shown is how many of the calls have their enters in the query's view, where
	// About is set at most so many. It is -1 where that is not known yet, and
	// means nothing without a view.
	Shown int64
	// Open says that the call had not ended; NoLeave that it was left without
	// a leave, at End or before.
	Open, NoLeave bool
}

// Spans appends the spans of a query to dst, by thread, depth and start. Its
// work depends on the pixels and the visible depth, never on the length of
// the log. Finer says that asking again will give more detail, because not
// all that was wanted could be read in the time that one picture has. Threads
// may be asked for together or one after the other.
func (t *Timeline) Spans(dst []Span, q SpanQuery) (spans []Span, finer bool, err error) {
	src := t.steady()
	if q.From >= q.To || q.Pixels <= 0 || src.Len() == 0 {
		return dst, false, nil
	}
	if q.Threads == nil || q.Threads.Len() != 1 || src.Slots() > sharedLanes {
		return t.draw(dst, src, q)
	}
	var thread uint32
	for !q.Threads.Has(thread) {
		thread++
	}
	q.Threads = nil
	t.frames.Lock()
	defer t.frames.Unlock()
	f := t.frame[q.FirstRow]
	counted := int64(0)
	if q.Only != nil {
		counted = q.Only.Scanned()
	}
	if f == nil || f.src != src || f.query != q || f.rows != src.Len() || f.counted != counted || f.finer && f.served[thread] {
		if f != nil && f.src != src || len(t.frame) >= maxFrames {
			clear(t.frame)
		}
		f = &drawnFrame{src: src, query: q, rows: src.Len(), counted: counted, served: make(map[uint32]bool)}
		if f.spans, f.finer, err = t.draw(nil, src, q); err != nil {
			return dst, false, err
		}
		t.frame[q.FirstRow] = f
	}
	f.served[thread] = true
	byThread := func(s Span, thread uint32) int { return cmp.Compare(s.Thread, thread) }
	from, _ := slices.BinarySearchFunc(f.spans, thread, byThread)
	to, _ := slices.BinarySearchFunc(f.spans, thread+1, byThread)
	return append(dst, f.spans[from:to]...), f.finer, nil
}

// steady returns the index to be drawn, and forgets what was drawn of another.
func (t *Timeline) steady() *index.Index {
	src := t.index.Steady()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drawnOf != src {
		t.drawnOf = src
		clear(t.drawn)
		clear(t.samples)
		t.weights = 0
		clear(t.shown)
	}
	return src
}

// draw appends the spans of a query to dst.
func (t *Timeline) draw(dst []Span, src *index.Index, q SpanQuery) (spans []Span, finer bool, err error) {
	p := &picture{Timeline: t, SpanQuery: q, src: src, lanes: map[uint32]*drawnLane{}, end: -1}
	p.rows = src.Len()
	if q.EndRow > 0 {
		p.rows = min(p.rows, q.EndRow)
	}
	t.mu.Lock()
	if now := time.Now(); now.Sub(t.began) > pictureTime {
		t.began, t.spent = now, 0
	}
	t.mu.Unlock()
	if q.Only != nil {
		p.counted = q.Only.Scanned()
		t.remember(q.Only, p.counted)
	}
	p.MaxDepth = min(p.MaxDepth, maxSpanDepth)
	pixels := min(q.Pixels, MaxPixels)
	p.pixel = max((uint64(q.To)-uint64(q.From))/uint64(pixels), 1)
	p.groups = maxGroups * (pixels + 64)
	level := 0
	for 1<<(2*level) < sizes.Blocks(p.rows) {
		level++
	}
	p.descend(level, 0)
	if len(p.regions) == 0 {
		if err := p.idle(); err != nil {
			return dst, false, err
		}
	}
	if err := p.sampleRegions(); err != nil {
		return dst, false, err
	}
	for from := 0; from < len(p.regions); {
		to := p.next(from)
		if err := p.drawRegions(p.regions[from:to]); err != nil {
			return dst, false, err
		}
		from = to
	}
	if p.err != nil {
		return dst, false, p.err
	}
	return p.collect(dst), p.finer, nil
}
