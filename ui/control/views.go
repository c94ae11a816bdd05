package control

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// Views compute what is shown of a log besides its rows.
type Views struct{ c *Controller }

// analysing is the work on the views besides the table, one job a view.
type analysing struct {
	statistics, threads, tree, flame, heat, measure, between, annotations, allAnnotations, crash *job
	// lines is the timeline of the session, nil if nobody has asked for it.
	lines *Timeline
	// whole says that calls that reach out of a range of time count as a whole.
	whole bool
}

func (a *analysing) jobs() []*job {
	return []*job{a.statistics, a.threads, a.tree, a.flame, a.heat, a.measure, a.between, a.annotations, a.allAnnotations, a.crash}
}

// end cancels all of it. The returned channels are closed when it has ended.
func (a *analysing) end() []<-chan struct{} {
	var users []<-chan struct{}
	for _, j := range []**job{&a.statistics, &a.threads, &a.tree, &a.flame, &a.heat, &a.measure, &a.between, &a.annotations, &a.allAnnotations, &a.crash} {
		users = append(users, end(j))
	}
	if a.lines != nil {
		users = append(users, a.lines.close())
		a.lines = nil
	}
	return users
}

// analyse runs work on the selection that is shown, or on its way, and hands the
// outcome to done, unless the log was closed meanwhile or newer work of that
// kind was started.
func analyse[T any](c *Controller, kind **job, title string, work func(ctx context.Context, s *app.Session, sel app.Selection, p app.Progress) (T, error), done func(T, error)) {
	s := c.session
	if s == nil {
		return
	}
	// What is folded in the table does not matter to the other views.
	sel := app.Selection{Where: c.Filter.Wanted().Where, Clip: !c.analysing.whole}
	c.run(kind, title, func(ctx context.Context, p app.Progress) func(bool) {
		v, err := work(ctx, s, sel, p)
		return func(current bool) {
			if current && c.session == s {
				done(v, err)
			}
		}
	})
}

// A Grouping says what statistics are of.
type Grouping int

const (
	ByFunction Grouping = iota
	ByClass
	ByModule
)

// Statistics asks for the statistics of the functions, classes or modules of the selection.
func (v *Views) Statistics(by Grouping, done func(list []app.FunctionStat, err error)) {
	c := v.c
	analyse(c, &c.analysing.statistics, lang.L("Counting calls"), func(ctx context.Context, s *app.Session, sel app.Selection, p app.Progress) ([]app.FunctionStat, error) {
		switch by {
		case ByClass:
			return s.ClassStatistics(ctx, sel, p)
		case ByModule:
			return s.ModuleStatistics(ctx, sel, p)
		}
		return s.Statistics(ctx, sel, p)
	}, done)
}

// CallTree asks for the call tree of the selection.
func (v *Views) CallTree(opt app.TreeOptions, done func(tree *app.Tree, err error)) {
	c := v.c
	analyse(c, &c.analysing.tree, lang.L("Building the call tree"), func(ctx context.Context, s *app.Session, sel app.Selection, p app.Progress) (*app.Tree, error) {
		return s.CallTree(ctx, sel, opt, p)
	}, done)
}

// Heat asks for the statistics of the selection's functions, for the lines of their source.
func (v *Views) Heat(done func(list []app.FunctionStat, err error)) {
	c := v.c
	analyse(c, &c.analysing.heat, "", func(ctx context.Context, s *app.Session, sel app.Selection, p app.Progress) ([]app.FunctionStat, error) {
		return s.Statistics(ctx, sel, p)
	}, done)
}

// FlameTree asks for the top-down call tree of the selection, for the flame graph.
func (v *Views) FlameTree(done func(tree *app.Tree, err error)) {
	c := v.c
	analyse(c, &c.analysing.flame, lang.L("Building the call tree"), func(ctx context.Context, s *app.Session, sel app.Selection, p app.Progress) (*app.Tree, error) {
		return s.CallTree(ctx, sel, app.TreeOptions{}, p)
	}, done)
}

// A Crash is how the program ended, as it is shown and as text to be copied, which is in
// English as saved reports are.
type Crash struct {
	*app.CrashReport
	Text string
}

// Crash asks for how the program ended that the log is of. Lines of source are read where the
// mappings find their files, or where they were compiled unless recorded paths are not to be followed.
func (v *Views) Crash(mappings []app.SourceMapping, done func(crash *Crash, err error)) {
	c := v.c
	opt := app.ReportOptions{AllThreads: true, Sources: !c.state.Wanted.NoRecordedPaths, Mappings: mappings}
	analyse(c, &c.analysing.crash, lang.L("Unwinding the stacks"), func(ctx context.Context, s *app.Session, _ app.Selection, _ app.Progress) (*Crash, error) {
		plain, said, err := s.CrashReport(ctx, opt, Translate)
		if err != nil {
			return nil, err
		}
		text, err := app.WriteCrashText(plain)
		return &Crash{CrashReport: said, Text: text}, err
	}, done)
}

// A ThreadSum sums up a thread. Times are nanoseconds since the first row.
type ThreadSum struct {
	app.Thread
	// First and Last are about when its calls begin and end; First is -1 if it has
	// none.
	First, Last int64
	// Calls and Busy are of the selection: how many calls, and the time in them.
	Calls, Busy int64
}

// Threads asks for what the threads did, each of them: what limits the selection to threads, which
// is chosen in that list, does not count.
func (v *Views) Threads(done func(list []ThreadSum, err error)) {
	c := v.c
	lines := v.Timeline()
	if lines == nil {
		return
	}
	analyse(c, &c.analysing.threads, lang.L("Counting calls"), func(ctx context.Context, s *app.Session, sel app.Selection, p app.Progress) ([]ThreadSum, error) {
		sel.Where = AboutThreads(sel.Where)
		list, err := s.ThreadStatistics(ctx, sel, p)
		if err != nil {
			return nil, err
		}
		return sumThreads(s.Threads(), list, lines)
	}, done)
}

// sumThreads joins what is known of threads.
func sumThreads(threads []app.Thread, list []app.FunctionStat, lines *Timeline) ([]ThreadSum, error) {
	sums := make([]ThreadSum, len(threads))
	at := make(map[rows.Track]*ThreadSum, len(threads))
	for i, t := range threads {
		sums[i] = ThreadSum{Thread: t, First: -1}
		at[t.Track()] = &sums[i]
	}
	for i := range list {
		if t := at[list[i].Track()]; t != nil {
			t.Calls += list[i].Calls
			t.Busy += list[i].Self
		}
	}
	from, to := lines.Range()
	for i, lane := range lines.Lanes() {
		t := at[rows.TrackOf(lane.Process, lane.Thread, 0)]
		if t == nil {
			continue
		}
		// Its ends are wanted, not what lies between.
		const pixels = 64
		spans, _, err := lines.Spans(nil, i, from, to+1, pixels)
		if err != nil {
			return nil, err
		}
		for k := range spans {
			s := &spans[k]
			if t.First < 0 || s.From < t.First {
				t.First = s.From
			}
			t.Last = max(t.Last, s.To)
		}
	}
	return sums, nil
}

// Timeline returns the timeline of the session, nil without one. It may be used
// on any goroutine; after the log was closed it is empty.
func (v *Views) Timeline() *Timeline {
	c := v.c
	if c.session == nil {
		return nil
	}
	if c.analysing.lines == nil {
		c.analysing.lines = &Timeline{lines: c.session.Timeline()}
	}
	return c.analysing.lines
}

// Measure finds the depths of the timeline's lanes, and which of its calls the
// selection shows.
func (v *Views) Measure(done func(err error)) {
	c := v.c
	lines := v.Timeline()
	if lines == nil {
		return
	}
	analyse(c, &c.analysing.measure, lang.L("Measuring the timeline"), func(ctx context.Context, _ *app.Session, sel app.Selection, p app.Progress) (struct{}, error) {
		if err := lines.Measure(ctx, p); err != nil {
			return struct{}{}, err
		}
		if runs, err := lines.Runs(); err == nil && len(runs) < 2 {
			sel.Where = WithoutTimes(sel.Where) // they are shaded
		}
		return struct{}{}, lines.Limit(ctx, sel.Where, p)
	}, func(_ struct{}, err error) { done(err) })
}

// WithoutTimes returns what else an expression wants that is limited to ranges of elapsed
// time.
func WithoutTimes(where string) string {
	e, err := filter.Parse(where)
	if err != nil {
		return where
	}
	return filter.Join(slices.DeleteFunc(e.Parts(), func(p *filter.Expr) bool {
		return p.Kind == filter.Leaf && p.Term.Column == filter.Time && p.Term.Range.Measure == filter.Number
	})).String()
}

// AboutThreads returns what an expression wants besides certain threads and processes.
func AboutThreads(where string) string {
	e, err := filter.Parse(where)
	if err != nil {
		return where
	}
	return filter.Join(slices.DeleteFunc(e.Parts(), func(p *filter.Expr) bool {
		return p.Kind == filter.Leaf && (p.Term.Column == filter.Thread || p.Term.Column == filter.Process)
	})).String()
}

// Whole reports whether calls that reach out of the range of time that the selection is limited
// to count as a whole in statistics, call tree and threads; otherwise the part in it does.
func (v *Views) Whole() bool { return v.c.analysing.whole }

// SetWhole changes that, for what is asked for from now on.
func (v *Views) SetWhole(whole bool) { v.c.analysing.whole = whole }

// HasRange reports whether the selection is limited to a range of time, so that Whole matters.
func (v *Views) HasRange() bool {
	c := v.c
	return c.session != nil && c.session.Clips(c.Filter.Wanted().Where)
}

// Between asks for what happened between two times of the timeline, to not included. A newer
// question ends an older one.
func (v *Views) Between(from, to int64, done func(sum *app.RangeSum, err error)) {
	c := v.c
	lines := v.Timeline()
	if lines == nil {
		return
	}
	analyse(c, &c.analysing.between, lang.L("Counting calls"), func(ctx context.Context, _ *app.Session, _ app.Selection, p app.Progress) (*app.RangeSum, error) {
		var sum *app.RangeSum
		err := lines.read(func(l *app.Timeline) (err error) {
			sum, err = l.Between(ctx, from, to, p)
			return err
		})
		return sum, err
	}, done)
}

// StopBetween gives up [Views.Between].
func (v *Views) StopBetween() { end(&v.c.analysing.between) }

// LimitRows limits the selection to the rows of the log that lie between two
// times of the timeline.
func (v *Views) LimitRows(from, to int64) {
	c := v.c
	lines := v.Timeline()
	if lines == nil {
		return
	}
	analyse(c, &c.analysing.measure, lang.L("Searching"), func(context.Context, *app.Session, app.Selection, app.Progress) (*filter.Expr, error) {
		first, last, err := lines.Rows(from, to)
		if err != nil {
			return nil, err
		}
		return filter.Parse(fmt.Sprintf("row:%d..%d", first, last))
	}, func(term *filter.Expr, err error) {
		if err == nil {
			c.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) })
		}
	})
}

// firstRow returns the first row that an expression wants.
func firstRow(ctx context.Context, s *app.Session, where string) (int64, bool, error) {
	// The rest is not looked for.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := s.View(ctx, app.Selection{Where: where}, func(app.Stage, int64, int64) {})
	if err != nil {
		return -1, false, err
	}
	if err := awaitRow(ctx, v, 0); err != nil || v.Len() == 0 {
		return -1, false, err
	}
	return v.RowOf(0), true, nil
}

// awaitRow waits until a view has more than n rows, or has counted all.
func awaitRow(ctx context.Context, v *app.View, n int64) error {
	if v.Len() > n {
		return nil
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for v.Len() <= n && !v.Done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if v.Len() <= n {
		return v.Wait(ctx)
	}
	return nil
}

// Cause puts an error into words for the window.
func Cause(err error) string { return cause(err) }

// A Timeline is a session's, which is closed only when nobody reads it; afterwards
// it is empty.
type Timeline struct {
	mu    sync.RWMutex
	lines *app.Timeline // nil once closed
}

// close lets nobody read any more. The returned channel is closed when nobody
// does.
func (t *Timeline) close() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		t.mu.Lock()
		t.lines = nil
		t.mu.Unlock()
		close(done)
	}()
	return done
}

// read calls f with the session's timeline, unless that was closed.
func (t *Timeline) read(f func(lines *app.Timeline) error) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.lines == nil {
		return app.ErrClosed
	}
	return f(t.lines)
}

// Lanes is [app.Timeline.Lanes].
func (t *Timeline) Lanes() (lanes []app.Lane) {
	t.read(func(l *app.Timeline) error { lanes = l.Lanes(); return nil })
	return lanes
}

// TimeDigits is [app.Timeline.TimeDigits].
func (t *Timeline) TimeDigits() int {
	digits := 3
	t.read(func(l *app.Timeline) error { digits = l.TimeDigits(); return nil })
	return digits
}

// Measure is [app.Timeline.Measure].
func (t *Timeline) Measure(ctx context.Context, p app.Progress) error {
	return t.read(func(l *app.Timeline) error { return l.Measure(ctx, p) })
}

// Range is [app.Timeline.Range].
func (t *Timeline) Range() (from, to int64) {
	t.read(func(l *app.Timeline) error { from, to = l.Range(); return nil })
	return from, to
}

// Limit is [app.Timeline.Limit].
func (t *Timeline) Limit(ctx context.Context, where string, p app.Progress) error {
	return t.read(func(l *app.Timeline) error { return l.Limit(ctx, where, p) })
}

// Runs is [app.Timeline.Runs].
func (t *Timeline) Runs() (runs []app.TimelineRun, err error) {
	err = t.read(func(l *app.Timeline) (err error) { runs, err = l.Runs(); return err })
	return runs, err
}

// Rows is [app.Timeline.Rows].
func (t *Timeline) Rows(from, to int64) (first, last int64, err error) {
	err = t.read(func(l *app.Timeline) (err error) { first, last, err = l.Rows(from, to); return err })
	return first, last, err
}

// Spans is [app.Timeline.Spans]. Of a timeline that was closed it returns dst.
func (t *Timeline) Spans(dst []app.Span, lane int, from, to int64, pixels int) (spans []app.Span, finer bool, err error) {
	spans = dst
	err = t.read(func(l *app.Timeline) (err error) {
		spans, finer, err = l.Spans(dst, lane, from, to, pixels)
		return err
	})
	return spans, finer, err
}
