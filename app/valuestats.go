package app

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"logparser/calls"
	"logparser/message"
	"logparser/rows"
	"logparser/rows/filter"
)

// maxValueGroups bounds the lines of statistics by a value: calls with yet others are summed up by
// function.
const maxValueGroups = 1 << 17

// A valueGroup is the calls of a function with one value.
type valueGroup struct {
	FunctionStat
	durations calls.Histogram
	// outermost is when the outermost call that is open ends, by thread: logs with values have one run.
	outermost map[rows.Track]int64
}

// IsValueColumn reports whether ValueStatistics can sum up by what a word says: arg.NAME, this,
// result or result.NAME.
func IsValueColumn(word string) bool {
	return word != "arg." && word != "result." && filter.Column(word).IsValue()
}

// ValueStatistics is Statistics for each value of an argument or result by itself: arg.NAME, this, result or
// result.NAME. Function is the function with the value, as in "open(mode = Read)" or "open() = -1". Calls of functions
// without such a value are left out, and those of which it is not known are a line of their own.
func (s *Session) ValueStatistics(ctx context.Context, sel Selection, word string, p Progress) ([]FunctionStat, error) {
	column := filter.Column(word)
	if !s.HasValues() {
		return nil, message.New("the log has no values of calls")
	}
	v, err := s.View(ctx, sel, p)
	if err != nil {
		return nil, err
	}
	if err := v.Wait(ctx); err != nil {
		return nil, err
	}
	groups := make(map[functionName]*valueGroup)
	src, dst := rows.With(rows.Source(v), rows.Values|rows.SelfTimes), make([]rows.Row, blockRows)
	progress := throttled(p, StageFilter)
	var name []byte
	for at, total := int64(0), src.Len(); at < total; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := src.Read(dst, at)
		if err != nil && err != io.EOF || n == 0 {
			return nil, cmp.Or(err, io.ErrUnexpectedEOF)
		}
		for i := range dst[:n] {
			r := &dst[i]
			if r.Event != rows.Enter {
				continue
			}
			value := column.ValueOf(r)
			if value == nil {
				continue
			}
			name = appendValueGroup(name[:0], r, column, value)
			g := groups[functionName{string(name), r.Module, r.Source}]
			if g == nil {
				if len(groups) >= maxValueGroups {
					name = append(append(name[:0], r.Function...), " (other values)"...)
					g = groups[functionName{string(name), r.Module, r.Source}]
				}
				if g == nil {
					g = newValueGroup(string(name), r)
					groups[functionName{g.Function, r.Module, r.Source}] = g
				}
			}
			g.add(r)
		}
		at += int64(n)
		if progress != nil {
			progress(at, total)
		}
	}
	_, late := s.Ways()
	endKnown := s.endKnown()
	list := make([]FunctionStat, 0, len(groups))
	for _, g := range groups {
		list = append(list, g.sum(endKnown, late))
	}
	slices.SortFunc(list, func(a, b FunctionStat) int {
		return cmp.Or(cmp.Compare(b.NonRecursive, a.NonRecursive), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Module, b.Module))
	})
	return list, nil
}

// appendValueGroup appends the function with a value.
func appendValueGroup(dst []byte, r *rows.Row, column filter.Column, v *rows.Value) []byte {
	dst = append(dst, r.Function...)
	if path := column.Path(); path != "" {
		dst = append(append(append(dst, '('), path...), " = "...)
		return append(append(dst, v.Text...), ')')
	}
	dst = append(dst, "()"...)
	if member, ok := strings.CutPrefix(string(column), string(filter.Result)); ok {
		dst = append(dst, member...)
	}
	return append(append(dst, " = "...), v.Text...)
}

func newValueGroup(name string, r *rows.Row) *valueGroup {
	g := &valueGroup{outermost: make(map[rows.Track]int64)}
	g.FunctionRef = FunctionRef{Function: name, Module: r.Module, Source: r.Source, Line: r.Line}
	return g
}

// add counts a call.
func (g *valueGroup) add(r *rows.Row) {
	g.Calls++
	if r.Duration == rows.NoDuration {
		return
	}
	track := rows.TrackOf(r.Process, r.Thread, r.Stack)
	g.Total += r.Duration
	if r.Self != rows.NoDuration {
		g.Self += r.Self
	}
	if end, open := g.outermost[track]; !open || r.Elapsed >= end {
		g.NonRecursive += r.Duration
		g.outermost[track] = r.Elapsed + r.Duration
	}
	if r.Unclosed && strings.HasPrefix(r.Note, calls.Open.String()) {
		g.Running++
		return
	}
	if g.Timed == 0 || r.Duration < g.Min {
		g.Min = r.Duration
	}
	g.Max = max(g.Max, r.Duration)
	g.Timed++
	g.Mean += r.Duration
	g.durations.Add(r.Duration)
}

// sum returns the sums of a group.
func (g *valueGroup) sum(endKnown, late bool) FunctionStat {
	f := g.FunctionStat
	f.Bound, f.SelfBound = sumBounds(f.Timed, f.Running, endKnown, late)
	if late {
		f.SingleBound = rows.AtMost
	}
	if f.Timed > 0 {
		f.Mean /= f.Timed
		f.P50, f.P95, f.P99 = g.durations.Quantile(0.50, f.Min, f.Max), g.durations.Quantile(0.95, f.Min, f.Max), g.durations.Quantile(0.99, f.Min, f.Max)
	}
	for _, b := range g.durations.Buckets() {
		f.Durations = append(f.Durations, Bar{b.From, b.To, int64(b.Count)})
	}
	return f
}
