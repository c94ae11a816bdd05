package fake

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"logparser/app"
	"logparser/ui/control"
)

// Statistics implements [control.Analysis]: each of the names was called a
// number of times that tells how long the selection's expression is.
func (s *Session) Statistics(ctx context.Context, sel app.Selection, p app.Progress) ([]app.FunctionStat, error) {
	p(app.StageFilter, 0, s.engine.Rows)
	if err := wait(ctx, s.engine.Analysing); err != nil {
		return nil, err
	}
	if s.engine.AnalyseErr != nil {
		return nil, s.engine.AnalyseErr
	}
	list := make([]app.FunctionStat, len(names))
	for i, name := range names {
		calls := s.engine.Rows/14 + int64(len(sel.Where))
		list[i] = app.FunctionStat{FunctionRef: app.FunctionRef{Function: name, Module: "sample.exe"}, Calls: calls, Timed: calls, Mean: int64(13-2*i) * 1e6,
			Total: calls * int64(13-2*i) * 1e6, Self: calls * 2e6, NonRecursive: calls * int64(13-2*i) * 1e6,
			Min: 1e6, P50: 2e6, P95: 3e6, P99: 4e6, Max: 5e6,
			Durations: []app.Bar{{From: 1e6, To: 2e6, Calls: calls / 2}, {From: 4e6, To: 5e6, Calls: calls - calls/2}}}
	}
	return list, nil
}

// ThreadStatistics implements [control.Analysis].
func (s *Session) ThreadStatistics(ctx context.Context, sel app.Selection, p app.Progress) ([]app.FunctionStat, error) {
	list, err := s.Statistics(ctx, sel, p)
	if err != nil {
		return nil, err
	}
	var all []app.FunctionStat
	for _, t := range s.Threads() {
		for _, f := range list {
			f.Thread, f.ByThread = t.ID, true
			f.Calls /= 2
			f.Self /= 2
			all = append(all, f)
		}
	}
	return all, nil
}

// CallTree implements [control.Analysis]: each name calls the next.
func (s *Session) CallTree(ctx context.Context, sel app.Selection, opt app.TreeOptions, p app.Progress) (*app.Tree, error) {
	list, err := s.Statistics(ctx, sel, p)
	if err != nil {
		return nil, err
	}
	var roots []*app.TreeNode
	for i := range list {
		f := &list[len(list)-1-i]
		if opt.BottomUp {
			f = &list[i]
		}
		roots = []*app.TreeNode{{FunctionRef: f.FunctionRef, Calls: f.Calls, Timed: f.Timed, Total: f.Total, Self: f.Self, Children: roots}}
	}
	return &app.Tree{Roots: roots, Calls: s.engine.Rows / 2, Total: roots[0].Total}, nil
}

// SaveStatistics implements [control.Analysis]; it writes how many there are.
func (s *Session) SaveStatistics(ctx context.Context, path string, list []app.FunctionStat, opt app.SaveOptions) error {
	if s.engine.SaveErr != nil {
		return s.engine.SaveErr
	}
	return os.WriteFile(path, fmt.Appendf(nil, "%d functions\n", len(list)), 0o666)
}

// Timeline implements [control.Analysis].
func (s *Session) Timeline() control.Timeline { return timeline{s} }

// A timeline is two threads that do the same.
type timeline struct{ s *Session }

func (t timeline) Lanes() []app.Lane {
	return []app.Lane{{Thread: 1000, Depth: 7, Rows: t.s.engine.Rows / 2}, {Thread: 1001, Depth: 7, Rows: t.s.engine.Rows / 2}}
}

func (t timeline) Measure(ctx context.Context, _ app.Progress) error { return ctx.Err() }

// Limit hides the calls of another thread if the expression is about one.
func (t timeline) Limit(ctx context.Context, where string, _ app.Progress) error {
	t.s.engine.mu.Lock()
	defer t.s.engine.mu.Unlock()
	t.s.engine.limit = where
	return ctx.Err()
}

func (t timeline) Runs() ([]app.TimelineRun, error) { return t.s.engine.TimelineRuns, nil }

// Rows has a row each millisecond.
func (t timeline) Rows(from, to int64) (first, last int64, err error) {
	return from / 1e6, to / 1e6, nil
}

func (t timeline) Range() (from, to int64) { return 0, max(t.s.engine.Rows-1, 0) * 1e6 }

func (t timeline) Spans(dst []app.LaneSpan, lane int, from, to int64, pixels int) ([]app.LaneSpan, bool, error) {
	if t.s.engine.Spans != nil {
		<-t.s.engine.Spans
		<-t.s.engine.Spans
	}
	t.s.engine.mu.Lock()
	where := t.s.engine.limit
	t.s.engine.mu.Unlock()
	shown := int64(1)
	if id, ok := strings.CutPrefix(where, "thread:"); ok && id != strconv.Itoa(1000+lane) {
		shown = 0
	}
	const round = 14e6 // nanoseconds of the fourteen rows that nest
	for d := range 7 {
		for i := max(from/round, 0); i*round < min(to, t.s.engine.Rows*1e6) && i-from/round < int64(pixels); i++ {
			dst = append(dst, app.LaneSpan{FunctionRef: app.FunctionRef{Function: names[d], Module: "sample.exe"}, Depth: d, Deepest: d, Calls: 1, Limited: where != "", Shown: shown,
				From: i*round + int64(d)*1e6, To: (i+1)*round - int64(d+1)*1e6, Row: i*14 + int64(d)})
		}
	}
	return dst, false, nil
}
