package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"logparser/calls"
	"logparser/calls/query"
	"logparser/message"
	"logparser/rows"
	"logparser/rows/filter"
)

// A Selection limits what all views show.
type Selection struct {
	// Where is a filter expression of package [filter], "" for all rows.
	Where string
	// Folded are the enter rows (of the log) of calls whose inside is hidden.
	Folded []int64
	// Repeats collapses repeats to one with a count.
	Repeats bool
	// Clip asks statistics and call trees for parts of calls where Where has a range of time that
	// limits all: what of each call lies in it, also of those that were running when it began, in
	// place of whole calls that were entered in it. Rows do not depend on it.
	Clip bool
}

// A View is the rows of a selection. It implements [rows.Source] over the
// rows that it shows, whose numbers are called positions; a row's Index is its
// number in the log. Its methods are safe for concurrent use.
type View struct {
	s   *Session
	sel Selection
	// where is the selection's expression, query what it was made into.
	where *filter.Expr

	mu    sync.Mutex
	query *condition
	// list has the rows; nil where all are shown.
	list *query.View
	// run is the counting that was begun last.
	run *viewRun
}

// A viewRun is one counting of a view's rows.
type viewRun struct {
	done chan struct{} // closed at the end
	err  error         // set before
}

// A viewCache keeps what views have in common that takes a pass over the log.
type viewCache struct {
	mu sync.Mutex
	// base is the last view's rows before folding, made from a query for where.
	base  *query.View
	query *condition
	where string
	// searched is the last search's condition, which was for text.
	searched *condition
	text     string
	// repeats are those of all rows, as of a generation and a length.
	repeats           *query.Repeats
	repeatsGeneration uint64
	repeatsLen        int64
	// finding is closed when those who look for repeats have ended; nil if
	// nobody does.
	finding chan struct{}

	groups *groups
}

const (
	// firstRows is how many rows of a view are waited for, and firstWait how
	// long at most.
	firstRows = 200
	firstWait = 100 * time.Millisecond
	// indexWait is how long is waited before an index that is being built is
	// looked at again.
	indexWait = 20 * time.Millisecond
)

// View returns the rows of a selection. It returns when the first screen of
// rows is known, or soon, and counts on in the background until ctx ends: Len
// rises meanwhile, and p is told of StageFilter with the rows of the log looked
// at. [View.Wait] waits for the end. An expression that is wrong gives a
// [*filter.Error]. With Repeats it returns after these have been looked for,
// which takes a pass over the log the first time.
//
// A view keeps what it was made from: after names have changed its rows still
// have today's names, but [View.Outdated] says that it may hide others than a new
// view would. Rows that a followed log gains are added by [View.Update].
func (s *Session) View(ctx context.Context, sel Selection, p Progress) (*View, error) {
	where, err := filter.Parse(sel.Where)
	if err != nil {
		return nil, err
	}
	sel.Folded = slices.Clone(sel.Folded)
	slices.Sort(sel.Folded)
	v := &View{s: s, sel: sel, where: where}
	if where.IsAll() && len(sel.Folded) == 0 && !sel.Repeats {
		v.query = &condition{s: s}
		return v, nil
	}
	if v.query, v.list, err = v.make(ctx, p); err != nil {
		return nil, err
	}
	v.start(ctx, p, v.list, v.query)
	return v, v.waitFirst(ctx)
}

// make makes the condition and the rows of a view, not yet counted.
func (v *View) make(ctx context.Context, p Progress) (*condition, *query.View, error) {
	s := v.s
	cond, base, err := s.base(ctx, v.where)
	if err != nil || len(v.sel.Folded) == 0 && !v.sel.Repeats {
		return cond, base, err
	}
	var repeats *query.Repeats
	if v.sel.Repeats {
		if repeats, err = s.findRepeats(ctx, p); err != nil {
			return nil, nil, err
		}
	}
	list, err := base.Hide(v.sel.Folded, repeats)
	return cond, list, err
}

// base returns the rows of an expression, those of the last view if it is the
// same.
func (s *Session) base(ctx context.Context, where *filter.Expr) (*condition, *query.View, error) {
	text := where.String()
	c := &s.views
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base != nil && c.where == text && !c.query.outdated() && !c.query.outgrown() {
		return c.query, c.base, nil
	}
	cond, err := s.compile(ctx, where)
	if err != nil {
		return nil, nil, err
	}
	c.query, c.where, c.base = cond, text, query.NewView(cond.src, cond.pass)
	return cond, c.base, nil
}

// findRepeats returns the repeats of all rows that the index has.
func (s *Session) findRepeats(ctx context.Context, p Progress) (*query.Repeats, error) {
	c := &s.views
	src := s.table
	c.mu.Lock()
	for c.finding != nil {
		finding := c.finding
		c.mu.Unlock()
		select {
		case <-finding:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c.mu.Lock()
	}
	n, generation := src.Len(), s.generation.Load()
	if c.repeats != nil && c.repeatsLen == n && c.repeatsGeneration == generation {
		defer c.mu.Unlock()
		return c.repeats, nil
	}
	c.finding = make(chan struct{})
	c.mu.Unlock()
	found, err := query.FindRepeats(ctx, src, p.of(StageFilter))
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.finding)
	c.finding = nil
	if err == nil {
		c.repeats, c.repeatsLen, c.repeatsGeneration = found, n, generation
	}
	return found, err
}

// start counts in the background; list takes the place of the view's rows when
// it has come as far. The caller has made sure that nothing else counts.
func (v *View) start(ctx context.Context, p Progress, list *query.View, cond *condition) {
	run := &viewRun{done: make(chan struct{})}
	v.mu.Lock()
	before := v.run
	v.run = run
	v.mu.Unlock()
	go func() {
		defer close(run.done)
		if before != nil {
			<-before.done
		}
		cond, list, run.err = v.count(ctx, p, cond, list)
		v.mu.Lock()
		if run.err == nil || list.Scanned() >= v.list.Scanned() {
			v.list, v.query = list, cond
		}
		v.mu.Unlock()
	}()
}

// count counts the rows of a list, and waits for an index that is being built.
// The list is made again where the index gains what the condition has to know.
func (v *View) count(ctx context.Context, p Progress, cond *condition, list *query.View) (*condition, *query.View, error) {
	for {
		built := v.s.built()
		if cond.outgrown() {
			q, l, err := v.make(ctx, p)
			if err != nil {
				return cond, list, err
			}
			cond, list = q, l
		}
		if err := list.Run(ctx, p.of(StageFilter)); err != nil || built {
			return cond, list, err
		}
		select {
		case <-ctx.Done():
			return cond, list, ctx.Err()
		case <-time.After(indexWait):
		}
	}
}

// waitFirst waits for the first rows, not long.
func (v *View) waitFirst(ctx context.Context) error {
	v.mu.Lock()
	run := v.run
	v.mu.Unlock()
	timeout := time.NewTimer(firstWait)
	defer timeout.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for v.Len() < firstRows {
		select {
		case <-run.done:
			return run.err
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// Selection returns what the view was made of.
func (v *View) Selection() Selection { return v.sel }

// Wait waits until all rows of the log have been looked at, and returns why
// that ended early: the error of reading, or of the context that the view was
// made or updated with.
func (v *View) Wait(ctx context.Context) error {
	for {
		v.mu.Lock()
		run := v.run
		v.mu.Unlock()
		if run == nil {
			return nil
		}
		select {
		case <-run.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		v.mu.Lock()
		last := v.run == run
		v.mu.Unlock()
		if last {
			return run.err
		}
	}
}

// Done reports whether all rows of the log have been looked at, as many as there
// were when the view was made or updated.
func (v *View) Done() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.run == nil {
		return true
	}
	select {
	case <-v.run.done:
		return v.run.err == nil
	default:
		return false
	}
}

// Update takes in the rows that the log has gained since the view was made, in
// the same way: it counts on in the background. Call it from [Session.Follow]'s
// changed. Positions that were shown stay, but where calls have ended since and
// the expression is about that. An error of counting is that of [View.Wait].
func (v *View) Update(ctx context.Context, p Progress) error {
	list, cond := v.rows()
	if list == nil {
		return nil
	}
	if cond.outdated() || cond.outgrown() {
		var err error
		if cond, list, err = v.make(ctx, p); err != nil {
			return err
		}
	}
	v.start(ctx, p, list, cond)
	return nil
}

// Outdated reports whether names or pairs have changed since the view was
// made, in a way that may matter to its selection. Make it again then.
func (v *View) Outdated() bool {
	list, cond := v.rows()
	return list != nil && cond.generation != v.s.generation.Load()
}

// rows returns the rows of the view, nil where all are shown.
func (v *View) rows() (*query.View, *condition) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.list, v.query
}

// Len returns the number of rows shown, as far as is known.
func (v *View) Len() int64 {
	if list, _ := v.rows(); list != nil {
		return list.Len()
	}
	return v.s.rows.Len()
}

// Row implements [rows.Source].
func (v *View) Row(pos int64) rows.Row { return v.row(pos, &source{s: v.s}) }

func (v *View) row(pos int64, as *source) rows.Row {
	var dst [1]rows.Row
	if n, err := v.read(dst[:], pos, as); n == 0 {
		return rows.Row{Index: v.RowOf(pos), Event: rows.Unknown, Duration: rows.NoDuration, Note: fmt.Sprintf("cannot be read: %v", err)}
	}
	return dst[0]
}

// Read implements [rows.Source].
func (v *View) Read(dst []rows.Row, from int64) (int, error) {
	return v.read(dst, from, &source{s: v.s})
}

// With implements [rows.Filler].
func (v *View) With(f rows.Fields) rows.Source { return &filledView{v, &source{s: v.s, fields: f}} }

// A filledView is a view's rows with more filled in.
type filledView struct {
	*View
	as *source
}

// Row implements [rows.Source].
func (v *filledView) Row(pos int64) rows.Row { return v.row(pos, v.as) }

// Read implements [rows.Source].
func (v *filledView) Read(dst []rows.Row, from int64) (int, error) { return v.read(dst, from, v.as) }

// With implements [rows.Filler].
func (v *filledView) With(f rows.Fields) rows.Source {
	return &filledView{v.View, v.as.With(f).(*source)}
}

// read is Read of rows as a source hands them out.
func (v *View) read(dst []rows.Row, from int64, as *source) (int, error) {
	list, _ := v.rows()
	if list == nil {
		return as.Read(dst, from)
	}
	var buf [blockRows]int64
	done := 0
	for done < len(dst) {
		n, err := list.Read(buf[:min(len(dst)-done, blockRows)], from+int64(done))
		if err == nil || err == io.EOF {
			if failed := v.s.readRows(context.Background(), dst[done:done+n], buf[:n], as); failed != nil {
				return done, failed
			}
		}
		done += n
		if err != nil {
			return done, err
		}
		if n == 0 {
			return done, io.EOF
		}
	}
	return done, nil
}

// nearRows is how many rows between two that are wanted are read with them
// rather than left out.
const nearRows = 512

// readRows fills dst with the rows of the log that have the numbers of a list,
// which rise, as a source of them hands them out.
func (s *Session) readRows(ctx context.Context, dst []rows.Row, list []int64, as *source) error {
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	s.mu.Lock()
	n := s.names
	s.mu.Unlock()
	for k := 0; k < len(list); {
		if err := ctx.Err(); err != nil {
			return err
		}
		first := list[k]
		run, record := s.table.Position(first)
		r := &s.runs()[run]
		room := min(r.First+r.Count-record, blockRows)
		end := k + 1
		for end < len(list) && list[end]-list[end-1] <= nearRows && list[end]-first < room {
			end++
		}
		events := b.events[:list[end-1]-first+1]
		if got, err := s.log.ReadEvents(events, record); got < len(events) {
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			return message.Errorf("row %d: %w", first+int64(got), err)
		}
		s.table.Read(b.records[:len(events)], first)
		if s.in.Corrected {
			s.correct(b, r, first, len(events))
		}
		if err := s.readMore(b, as.fields, run, first, len(events)); err != nil {
			return err
		}
		for j, row := range list[k:end] {
			b.events[j], b.records[j] = b.events[row-first], b.records[row-first]
			b.more.keep(j, int(row-first), as.fields)
			if as.asWritten && b.records[j].Anomaly == calls.Running {
				b.records[j].Anomaly = calls.None
			}
		}
		s.fill(dst[k:end], first, run, b, n)
		s.fillMore(dst[k:end], run, b, as.fields)
		for j := k; j < end; j++ {
			dst[j].Index = list[j]
		}
		k = end
	}
	return nil
}

// TimeDigits implements [rows.Source].
func (v *View) TimeDigits() int { return v.s.rows.TimeDigits() }

// Total returns the number of rows of the log.
func (v *View) Total() int64 { return v.s.rows.Len() }

// Hidden returns how many rows of those looked at are not shown.
func (v *View) Hidden() int64 {
	if list, _ := v.rows(); list != nil {
		return max(list.Scanned()-list.Len(), 0)
	}
	return 0
}

// RowOf returns the row of the log that is shown at a position, 0 <= pos <
// Len(), and -1 if the log cannot be read.
func (v *View) RowOf(pos int64) int64 {
	list, _ := v.rows()
	if list == nil {
		return pos
	}
	if row, err := list.RowOf(pos); err == nil {
		return row
	}
	return -1
}

// PositionOf returns the position of a row of the log. If it is not shown it
// returns that of the nearest row before it that is, -1 if there is none.
func (v *View) PositionOf(row int64) (pos int64, shown bool) {
	list, _ := v.rows()
	if list == nil {
		return min(row, v.s.rows.Len()-1), row >= 0 && row < v.s.rows.Len()
	}
	pos, shown, err := list.PositionOf(row)
	if err != nil {
		return -1, false
	}
	return pos, shown
}

// Repeat returns how often the rows that begin at a position repeat, of which
// only the first time is shown; 1 where no repeat begins. Where one begins
// within another at the same row it is the outer.
func (v *View) Repeat(pos int64) (count int64) {
	if list := v.RepeatsAt(pos); len(list) > 0 {
		return list[0]
	}
	return 1
}

// RepeatsAt returns how often the rows that begin at a position repeat, of all
// repeats that begin there: the outer first.
func (v *View) RepeatsAt(pos int64) (counts []int64) {
	list, _ := v.rows()
	if list == nil || !v.sel.Repeats {
		return nil
	}
	for _, r := range list.Repeats(v.RowOf(pos)) {
		counts = append(counts, r.Count)
	}
	return counts
}

// Folded reports whether the row at a position is the enter of a folded call,
// and how many rows that hides.
func (v *View) Folded(pos int64) (hidden int64, ok bool) {
	list, _ := v.rows()
	if list == nil || len(v.sel.Folded) == 0 {
		return 0, false
	}
	hidden, ok, err := list.Folded(v.RowOf(pos))
	return hidden, ok && err == nil
}

// Search returns the position of the first row from position from on (or back)
// that matches, or -1. It does not wrap round.
func (v *View) Search(ctx context.Context, from int64, q Query) (int64, error) {
	list, _ := v.rows()
	src := v.s.table
	if list == nil && src.Len() < v.s.rows.Len() {
		return Search(ctx, v, from, q, nil)
	}
	cond, err := v.s.search(ctx, q.Text)
	if err != nil {
		return -1, err
	}
	from--
	if q.Backward {
		from += 2
	}
	from = min(max(from, -1), v.Len())
	var pos int64
	var ok bool
	if list == nil {
		pos, ok, err = query.Next(ctx, src, cond.pass, from, q.Backward)
	} else {
		pos, ok, err = list.Next(ctx, cond.pass, from, q.Backward)
	}
	if !ok {
		pos = -1
	}
	return pos, err
}

// search makes the condition for a text, that of the last search if it is the
// same.
func (s *Session) search(ctx context.Context, text string) (*condition, error) {
	c := &s.views
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.searched != nil && c.text == text && !c.searched.outdated() && !c.searched.outgrown() {
		return c.searched, nil
	}
	cond, err := s.compile(ctx, filter.Is(filter.Text, text))
	if err == nil {
		c.searched, c.text = cond, text
	}
	return cond, err
}

// Matches counts the rows of the view that a search for a text finds. marks has
// an element for each of buckets equal parts of the view, from its first
// position to its last, with the matches in it. p is told of StageSearch.
func (v *View) Matches(ctx context.Context, text string, buckets int, p Progress) (count int64, marks []uint32, err error) {
	list, _ := v.rows()
	src := v.s.table
	cond, err := v.s.search(ctx, text)
	if err != nil {
		return 0, nil, err
	}
	if list == nil {
		return query.Count(ctx, src, cond.pass, buckets, p.of(StageSearch))
	}
	return list.Count(ctx, cond.pass, buckets, p.of(StageSearch))
}

// headLines are what the head of a saved file says of rows that are not all.
func headLines(src rows.Source) []string {
	v, ok := src.(*View)
	if !ok {
		return nil
	}
	if list, _ := v.rows(); list == nil {
		return nil
	}
	line := fmt.Sprintf("%d of %d rows", v.Len(), v.Total())
	if !v.where.IsAll() {
		line += ", where " + v.where.String()
	}
	if len(v.sel.Folded) > 0 {
		line += fmt.Sprintf("; %d calls are folded", len(v.sel.Folded))
	}
	if v.sel.Repeats {
		line += "; repeats are shown once"
	}
	return []string{line}
}

// decimal writes a number.
func decimal(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

// built reports whether the index has all rows.
func (s *Session) built() bool { return s.table.Done() }
