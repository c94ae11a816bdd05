package app

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/calls/timeline"
	"logparser/message"
	"logparser/parser"
	"logparser/rows"
	"logparser/rows/filter"
)

// A Timeline draws the calls of a session as they followed each other. It stays
// valid while the log grows; names are those at the time of asking. Its methods
// are safe for concurrent use.
//
// Its times are nanoseconds. Of one run they are elapsed times as rows have them;
// several runs lie one after the other, see [Timeline.Runs].
type Timeline struct {
	s *Session

	mu    sync.Mutex
	lines *timeline.Timeline
	// slots has the threads by rising id, measured what is known of them as of
	// a length of the index.
	slots       []uint32
	measured    []timeline.Lane
	measuredLen int64
	// limit tells the calls that are shown; nil if all are.
	limit *limit
	// placed are the runs as of a length of the index.
	placed    []TimelineRun
	placedLen int64
}

// A limit is the enters that an expression shows.
type limit struct {
	where string
	query *condition
	view  *query.View
	// shown counts the enters of the threads that are shown, as of a length of
	// the index; nil before they are counted.
	shown    map[uint32]int64
	shownLen int64
}

// Timeline returns the timeline of the session.
func (s *Session) Timeline() *Timeline { return &Timeline{s: s} }

// A TimelineRun is where a run lies on the timeline.
type TimelineRun struct {
	// Number counts the log's runs from 1.
	Number int
	// From and To are the times of its earliest and its latest row, Zero that of
	// its first: elapsed times of its rows count from there.
	From, To, Zero int64
	// Begin is the local time at Zero, if the run has one.
	Begin   time.Time
	HasWall bool
	// Seam says that nothing tells how much later than the run before it began:
	// what lies between the two is no time.
	Seam bool
	// FirstRow (included) and EndRow (not included) are its rows so far.
	FirstRow, EndRow int64
}

// seam is the part of the times of the runs before that is left free before a
// run.
const seam = 50

// Runs returns the runs that are shown and have rows, in the order of the log.
// Where each has a local time and begins when the one before has ended they are
// placed by that, otherwise one right after the other.
func (t *Timeline) Runs() ([]TimelineRun, error) {
	s := t.s
	src := s.table
	t.mu.Lock()
	defer t.mu.Unlock()
	length := src.Len()
	if t.placed != nil && t.placedLen == length {
		return t.placed, nil
	}
	var list []TimelineRun
	first := int64(0)
	for i := range s.runs() {
		r := &s.runs()[i]
		end := min(first+r.Count, length)
		if first >= end {
			break
		}
		placed := TimelineRun{Number: r.number + 1, FirstRow: first, EndRow: end, HasWall: r.clock.HasWall}
		first += r.Count
		if r.clock.HasWall {
			placed.Begin = r.clock.Start.Add(time.Duration(r.zero - r.clock.Zero))
		}
		if k := len(list); k < len(t.placed) && t.placed[k].EndRow == end {
			placed.From, placed.To = t.placed[k].From-t.placed[k].Zero, t.placed[k].To-t.placed[k].Zero
		} else {
			from, to, err := timeline.TimeSpan(src, placed.FirstRow, end)
			if err != nil {
				return nil, err
			}
			if from > to {
				continue // damaged rows only
			}
			if end == length && !s.live.Load() {
				to = max(to, s.endTime(r)) // calls that were open go on until then
			}
			placed.From, placed.To = from-r.zero, to-r.zero
		}
		list = append(list, placed)
	}
	if !placeByWall(list) {
		placeInTurn(list)
	}
	t.placed, t.placedLen = list, length
	return list, nil
}

// placeByWall places runs by their local times, and reports whether that can be.
func placeByWall(list []TimelineRun) bool {
	for i := range list {
		r := &list[i]
		after := r.Begin.Sub(list[0].Begin)
		if !r.HasWall || i > 0 && (after == math.MaxInt64 || saturatedSum(int64(after), r.From) < list[i-1].Zero+list[i-1].To) {
			for k := range list[:i] {
				list[k].Zero = 0
			}
			return false
		}
		r.Zero = int64(after)
	}
	for i := range list {
		list[i].From, list[i].To = list[i].From+list[i].Zero, list[i].To+list[i].Zero
	}
	return true
}

// placeInTurn places runs one after the other.
func placeInTurn(list []TimelineRun) {
	for i := range list {
		r := &list[i]
		if i > 0 {
			before := &list[i-1]
			r.Seam = true
			r.Zero = before.To + max((before.To-list[0].From)/seam, 1) - r.From
		}
		r.From, r.To = r.From+r.Zero, r.To+r.Zero
	}
}

// A Lane is a thread.
type Lane struct {
	Thread  uint32
	Process *rows.Process // nil where there is only one
	Name    string        // "" where the log gives none
	// Depth is how many calls are open at once at most: the lane's height in
	// spans. It is 0 until [Timeline.Measure] has found it.
	Depth int
	// Rows counts its rows.
	Rows int64
	// Stack is the number of a coroutine's stack, whose calls the lane has then, and Thread
	// the one that was on it first; 0 for a thread's own.
	Stack uint32
}

// Track tells the lane from all others.
func (l *Lane) Track() rows.Track { return rows.TrackOf(l.Process, l.Thread, l.Stack) }

// TimeDigits returns how many digits of a second times are worth.
func (t *Timeline) TimeDigits() int { return t.s.rows.TimeDigits() }

// Lanes returns the threads, process by process and by rising id.
func (t *Timeline) Lanes() []Lane {
	src := t.s.table
	slots := t.order(src)
	known := make(map[rows.Track]int64)
	for _, th := range t.s.Threads() {
		known[th.Track()] = th.Rows
	}
	depths, events := make(map[uint32]int), make(map[uint32]int64)
	t.mu.Lock()
	for _, l := range t.measured {
		depths[l.Thread], events[l.Thread] = int(l.MaxDepth)+1, l.Events
	}
	t.mu.Unlock()
	list := make([]Lane, len(slots))
	for i, slot := range slots {
		th := t.s.threadAt(slot)
		list[i] = Lane{Thread: th.ID, Process: th.Process, Name: th.Name, Depth: depths[slot], Rows: known[th.Track()]}
		if _, list[i].Stack = src.Stack(slot); list[i].Stack != 0 {
			list[i].Rows = events[slot]
		}
	}
	return list
}

// order returns the slots by process and rising thread id.
func (t *Timeline) order(src *index.Index) []uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := src.Slots(); len(t.slots) != n {
		t.slots = make([]uint32, n)
		for i := range t.slots {
			t.slots[i] = uint32(i)
		}
		slices.SortFunc(t.slots, func(a, b uint32) int {
			_, m := src.Stack(a)
			_, n := src.Stack(b)
			of, other := t.s.threadAt(a), t.s.threadAt(b)
			return cmp.Or(compareThreads(&of, &other), cmp.Compare(m, n))
		})
	}
	return t.slots
}

// Measure finds the depths of the lanes. It reads all rows, unless it has; p is
// told of StageFilter. Until then a lane shows what it is given room for.
func (t *Timeline) Measure(ctx context.Context, p Progress) error {
	src := t.s.table
	length := src.Len()
	t.mu.Lock()
	done := t.measured != nil && t.measuredLen == length
	t.mu.Unlock()
	if done {
		return nil
	}
	lanes, err := timeline.Lanes(ctx, src, nil, p.of(StageFilter))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.measured, t.measuredLen = lanes, length
	return nil
}

// Limit shows only the calls whose enters are rows that an expression wants: the
// others are drawn, too, and can be told by [Span]'s Shown. It looks at all
// rows, of which p is told in StageFilter, and can be called again for those that
// the log has gained. Spans may be asked for meanwhile.
func (t *Timeline) Limit(ctx context.Context, where string, p Progress) error {
	t.mu.Lock()
	l := t.limit
	t.mu.Unlock()
	if l == nil || l.where != where || l.query.outdated() || l.query.outgrown() {
		e, err := filter.Parse(where)
		if err != nil {
			return err
		}
		cond, err := t.s.compile(ctx, e)
		if err != nil {
			return err
		}
		l = nil
		if cond.pass != nil {
			l = &limit{where: where, query: cond, view: query.NewView(cond.src, query.And(cond.pass, query.OfKind(parser.Enter)))}
		}
		t.mu.Lock()
		t.limit = l
		t.mu.Unlock()
	}
	if l == nil {
		return nil
	}
	if err := l.view.Run(ctx, p.of(StageFilter)); err != nil {
		return err
	}
	length := t.s.table.Len()
	lanes, err := timeline.Lanes(ctx, t.s.table, query.And(l.query.pass, query.OfKind(parser.Enter)), p.of(StageFilter))
	if err != nil {
		return err
	}
	shown := make(map[uint32]int64, len(lanes))
	for _, lane := range lanes {
		shown[lane.Thread] = lane.Enters
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l.shown, l.shownLen = shown, length
	return nil
}

// A laneLimit is what is known of all calls of a lane at once.
type laneLimit uint8

const (
	partLimited laneLimit = iota
	noneShown
	allShown
)

// limitOf returns what is known of a thread. The caller holds the lock.
func (t *Timeline) limitOf(slot uint32) laneLimit {
	l := t.limit
	switch {
	case l == nil:
		return allShown
	case l.shown == nil || l.shownLen != t.s.table.Len():
		return partLimited
	case l.shown[slot] == 0:
		return noneShown
	case t.measuredLen != l.shownLen:
		return partLimited
	}
	for _, lane := range t.measured {
		if lane.Thread == slot && lane.Enters == l.shown[slot] {
			return allShown
		}
	}
	return partLimited
}

// Range returns the times of the earliest and the latest row.
func (t *Timeline) Range() (from, to int64) {
	runs, err := t.Runs()
	if err != nil || len(runs) == 0 {
		return 0, 0
	}
	return runs[0].From, runs[len(runs)-1].To
}

var errNoTime = message.New("no row lies in that time")

// Rows returns the first and the last row of those between two times.
func (t *Timeline) Rows(from, to int64) (first, last int64, err error) {
	runs, err := t.Runs()
	if err != nil {
		return 0, 0, err
	}
	first, last = -1, -1
	for i := range runs {
		r := &runs[i]
		if from > r.To || to < r.From {
			continue
		}
		if first < 0 {
			if first, err = timeline.RowAtTime(t.s.table, t.logTime(r, from), r.FirstRow, r.EndRow); err != nil {
				return 0, 0, err
			}
		}
		end, err := timeline.RowAtTime(t.s.table, saturatedSum(t.logTime(r, to), 1), r.FirstRow, r.EndRow)
		if err != nil {
			return 0, 0, err
		}
		last = end - 1
	}
	if first < 0 || last < first {
		return 0, 0, errNoTime
	}
	return first, last, nil
}

// logTime turns a time into one of the log's clock in a run.
func (t *Timeline) logTime(r *TimelineRun, at int64) int64 {
	run, _ := t.s.table.Position(r.FirstRow)
	return saturatedSum(saturatedSum(at, -r.Zero), t.s.runs()[run].zero)
}

// A Span is a call, or several small ones that are drawn as one.
type Span struct {
	// FunctionRef is the call's function, and of several calls the one whose calls
	// took most time as far as that is known, otherwise zero.
	FunctionRef
	// From and To are times of the timeline. A call may begin before what was
	// asked for and end after it; an open call ends at its run's last time.
	From, To int64
	Depth    int
	// Deepest is the greatest depth of what is drawn as one here; Depth for a
	// single call.
	Deepest int
	// Row is the enter row of the call, -1 where that is missing from the log. Of
	// several it is that of one of them, or a row near.
	Row int64
	// Calls is 1 for a call, and of several calls their number; 0 where that is
	// not known. About says that it and the borders are not exact.
	Calls int64
	About bool
	// Limited says that a limit hides some calls of the lane; Shown is then how
	// many of the calls it shows, where About is set at most so many. It is -1
	// where that is not known yet.
	Limited bool
	Shown   int64
	// Open says that the call has not ended, NoLeave that it was left without a
	// leave.
	Open, NoLeave bool
}

// Hidden reports whether the limit hides the call or all of several, or that this is
// not known yet.
func (s *Span) Hidden() bool { return s.Limited && s.Shown <= 0 }

// PartHidden reports whether the limit may hide some of several calls; it shows at
// most Shown.
func (s *Span) PartHidden() bool {
	return s.Limited && s.Shown > 0 && (s.About || s.Shown < s.Calls)
}

// Spans appends to dst the spans of a lane (an index into [Timeline.Lanes]) that
// overlap the times from to to (not included), to be drawn in a width of so many
// pixels: those of each depth by time. It is quick enough to be called for
// each frame. Finer says that asking again will give more detail, because not all
// that was wanted could be read in a frame's time.
func (t *Timeline) Spans(dst []Span, lane int, from, to int64, pixels int) (spans []Span, finer bool, err error) {
	s := t.s
	src := s.table
	runs, err := t.Runs()
	if err != nil || from >= to {
		return dst, false, err
	}
	slots := t.order(src)
	if lane < 0 || lane >= len(slots) {
		return dst, false, nil
	}
	slot := slots[lane]
	t.mu.Lock()
	if t.lines == nil {
		t.lines = timeline.NewTimeline(src)
	}
	lines, limit, known := t.lines, t.limit, t.limitOf(slot)
	t.mu.Unlock()
	wanted := query.NewSet(int(slot) + 1)
	wanted.Add(slot)
	g := s.groups()
	var found []timeline.Span
	for k := range runs {
		r := &runs[k]
		q := timeline.SpanQuery{Threads: wanted, From: from, To: to, Pixels: pixels, MaxDepth: math.MaxInt32}
		if len(runs) > 1 {
			q.From, q.To = max(from, r.From), min(to, saturatedSum(r.To, 1))
			if q.From >= q.To {
				continue
			}
			q.Pixels = max(int(float64(pixels)*(float64(q.To)-float64(q.From))/(float64(to)-float64(from))), 1)
			q.FirstRow, q.EndRow = r.FirstRow, r.EndRow
		}
		q.From, q.To = t.logTime(r, q.From), t.logTime(r, q.To)
		if limit != nil {
			q.Only = limit.view
		}
		var more bool
		if found, more, err = lines.Spans(found[:0], q); err != nil {
			return dst, false, err
		}
		finer = finer || more
		zero := t.logTime(r, 0)
		for i := range found {
			f := &found[i]
			var ref FunctionRef
			if f.Count == 1 && !f.About || f.Time >= 0 {
				ref = g.ref(f.Address)
			}
			span := Span{
				FunctionRef: ref, From: f.Start - zero, To: f.End - zero, Depth: int(f.Depth), Deepest: int(f.Deepest),
				Row: f.Enter, Calls: f.Count, About: f.About, Open: f.Open, NoLeave: f.NoLeave, Limited: known != allShown, Shown: f.Shown,
			}
			if known == noneShown {
				span.Shown = 0
			}
			if f.About && f.Count == 1 {
				span.Calls = 0 // it need not be one
			}
			if f.Open {
				span.To = max(min(span.To, r.To), span.From)
			}
			dst = append(dst, span)
		}
	}
	return dst, finer, nil
}
