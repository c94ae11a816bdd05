package app

import (
	"context"
	"math"
	"slices"

	"logparser/calls/profile"
	"logparser/rows/filter"
)

// A selection that is limited to a range of time or of rows can count of each call the part
// that lies in the range. [Selection].Clip asks for that.

// clipOf returns the ranges of time and rows that an expression is limited to, run by run, and
// what else it wants. There are none where no range of elapsed or local time, or of rows, limits
// all of it, and where durations are corrected, as the recorder's cost in a part is not known.
func (s *Session) clipOf(e *filter.Expr) (spans []profile.Span, rest *filter.Expr) {
	if s.in.Corrected {
		return nil, e
	}
	var ranges, rowRanges []*filter.Range
	var parts []*filter.Expr
	for _, p := range e.Parts() {
		if p.Kind == filter.Leaf && p.Term.Column == filter.Row {
			rowRanges = append(rowRanges, &p.Term.Range)
		} else if p.Kind == filter.Leaf && p.Term.Column == filter.Time && (p.Term.Range.Measure == filter.Number || p.Term.Range.Measure == filter.Wall) {
			ranges = append(ranges, &p.Term.Range)
		} else {
			parts = append(parts, p)
		}
	}
	if len(ranges)+len(rowRanges) == 0 {
		return nil, e
	}
	first := int64(0)
	for k := range s.runs() {
		r := &s.runs()[k]
		span := profile.Span{FirstRow: first, EndRow: first + r.Count, From: math.MinInt64, To: math.MaxInt64}
		if k == len(s.runs())-1 {
			span.EndRow = max(span.EndRow, s.table.Len())
		}
		first += r.Count
		for _, t := range ranges {
			from, to := r.timesOf(t)
			span.From, span.To = max(span.From, from), min(span.To, saturatedSum(to, 1))
		}
		if len(rowRanges) > 0 {
			span.FromRow, span.ToRow = span.FirstRow, span.EndRow
		}
		for _, t := range rowRanges {
			span.FromRow, span.ToRow = max(span.FromRow, t.Low), min(span.ToRow, saturatedSum(t.High, 1))
		}
		if span.From < span.To && (len(rowRanges) == 0 || span.FromRow < span.ToRow) {
			spans = append(spans, span)
		}
	}
	return spans, filter.Join(parts)
}

// timesOf returns the first and the last time of the log's clock that lie in a range in a
// run; the first is greater if none does.
func (r *sessionRun) timesOf(t *filter.Range) (from, to int64) {
	if t.Measure == filter.Number {
		return saturatedSum(r.zero, t.Low), saturatedSum(r.zero, t.High)
	}
	if !r.clock.HasWall {
		return 0, -1
	}
	from, to = math.MinInt64, math.MaxInt64-1
	if !t.From.IsZero() {
		from = saturatedSum(r.clock.Zero, int64(t.From.Sub(r.clock.Start)))
	}
	if !t.To.IsZero() {
		to = saturatedSum(r.clock.Zero, int64(t.To.Sub(r.clock.Start)))
	}
	return from, to
}

// Clips reports whether a selection with Clip set counts parts of calls: whether its
// expression has a range of time or rows that limits all of it.
func (s *Session) Clips(where string) bool {
	e, err := filter.Parse(where)
	if err != nil {
		return false
	}
	_, rest := s.clipOf(e)
	return rest != e
}

// clipped is [profile.Clip] of a selection, with an empty answer for an expression without ranges
// of time that are in the log.
func (s *Session) clipped(ctx context.Context, sel Selection, o profile.ClipOptions) (stats []profile.Stat, tree *profile.Tree, ok bool, err error) {
	if !sel.Clip {
		return nil, nil, false, nil
	}
	e, err := filter.Parse(sel.Where)
	if err != nil {
		return nil, nil, false, err
	}
	spans, rest := s.clipOf(e)
	if rest == e {
		return nil, nil, false, nil
	}
	c, err := s.compile(ctx, rest)
	if err != nil {
		return nil, nil, false, err
	}
	o.Spans, o.Where = spans, s.ownCalls(c.pass)
	stats, tree, err = profile.Clip(ctx, s.table, o)
	return stats, tree, true, err
}

// A RangeSum is what happened between two times.
type RangeSum struct {
	// Calls counts the calls that were running, Threads the threads that had some.
	Calls   int64
	Threads int
	// Most are the functions that spent most time themselves, most first, with the time of their
	// calls within the range.
	Most []FunctionStat
}

// mostFunctions is how many functions a RangeSum names.
const mostFunctions = 5

// Between sums up what happened between two times of the timeline, to not included. It reads the
// rows between them.
func (t *Timeline) Between(ctx context.Context, from, to int64, p Progress) (*RangeSum, error) {
	s := t.s
	runs, err := t.Runs()
	if err != nil {
		return nil, err
	}
	var spans []profile.Span
	for k := range runs {
		r := &runs[k]
		if from > r.To || to <= r.From {
			continue
		}
		spans = append(spans, profile.Span{FirstRow: r.FirstRow, EndRow: r.EndRow, From: t.logTime(r, max(from, r.From)), To: t.logTime(r, min(to, saturatedSum(r.To, 1)))})
	}
	g := s.groups()
	stats, _, err := profile.Clip(ctx, s.table, profile.ClipOptions{Spans: spans, Groups: g.of, PerThread: true, Progress: p.of(StageFilter)})
	if err != nil {
		return nil, err
	}
	sum := &RangeSum{}
	threads := make(map[uint32]bool)
	byGroup := make(map[uint32]*FunctionStat)
	for i := range stats {
		st := &stats[i]
		threads[st.Thread] = true
		f := byGroup[st.Group]
		if f == nil {
			f = &FunctionStat{FunctionRef: g.list[st.Group]}
			byGroup[st.Group] = f
		}
		sum.Calls += st.Calls
		f.Calls += st.Calls
		f.Total += st.Sum + st.Running.Sum
		f.Self += st.Self + st.Running.Self
		f.NonRecursive += st.NonRecursive + st.Running.NonRecursive
		f.Timed += st.Timed
		f.Running += st.Running.Calls
	}
	sum.Threads = len(threads)
	for _, f := range byGroup {
		sum.Most = append(sum.Most, *f)
	}
	slices.SortFunc(sum.Most, func(a, b FunctionStat) int {
		if a.Self != b.Self {
			if a.Self > b.Self {
				return -1
			}
			return 1
		}
		return int(a.Key) - int(b.Key)
	})
	sum.Most = sum.Most[:min(len(sum.Most), mostFunctions)]
	return sum, nil
}
