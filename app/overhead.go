package app

import (
	"errors"

	"logparser/calls"
	"logparser/parser"
)

// ErrNoOverhead says that durations cannot be corrected.
var ErrNoOverhead = errors.New("the log does not say what recording cost, so durations cannot be corrected")

// overhead returns what the log says of the recorder's cost in a run.
func (s *Session) overhead(r *sessionRun) (parser.Overhead, bool) {
	if teller, ok := s.log.(parser.OverheadTeller); ok {
		return teller.Overhead(r.number)
	}
	return parser.Overhead{}, false
}

// correct takes the recorder's own time off the durations of the n rows of a
// block that begin at row and belong to one run: what it did between the two
// moments whose times were taken, and for all events inside.
func (s *Session) correct(b *block, r *sessionRun, row int64, n int) {
	o, ok := s.overhead(r)
	if !ok {
		return
	}
	if b.inside == nil {
		b.inside = make([]int64, blockRows)
	}
	s.table.ReadInside(b.inside[:n], row)
	for k := range b.records[:n] {
		if rec := &b.records[k]; rec.Duration != calls.NoDuration && b.inside[k] >= 0 {
			rec.Duration = corrected(rec.Duration, b.inside[k], o)
		}
	}
}

// corrected returns a duration of ns nanoseconds without the recorder's part.
func corrected(ns, inside int64, o parser.Overhead) int64 {
	own := float64(o.EnterAfter + o.LeaveBefore)
	event := float64(o.EnterBefore+o.EnterAfter+o.LeaveBefore+o.LeaveAfter) / 2
	return max(0, ns-int64((own+float64(inside)*event)/1e3+0.5))
}
