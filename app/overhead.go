package app

import (
	"logparser/calls"
	"logparser/calls/profile"
	"logparser/message"
	"logparser/parser"
)

// ErrNoOverhead says that durations cannot be corrected.
var ErrNoOverhead = message.New("the log does not say what recording cost, so durations cannot be corrected")

// CorrectedNote is what is said where durations are corrected.
const CorrectedNote = "durations are corrected: the recorder's own time is taken off, by its own measure"

// overhead returns what the log says of the recorder's cost in a run.
func (s *Session) overhead(r *sessionRun) (parser.Overhead, bool) {
	if s.can.OverheadTeller != nil {
		return s.can.OverheadTeller.Overhead(r.number)
	}
	return parser.Overhead{}, false
}

// CanCorrect reports whether the log says what recording cost, so that
// [Inputs.Corrected] is possible.
func (s *Session) CanCorrect() bool {
	runs := s.runs()
	if len(runs) == 0 {
		return false
	}
	_, ok := s.overhead(&runs[0])
	return ok
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

// correcting returns what corrects the durations that the index sums up, nil
// where they count as recorded.
func (s *Session) correcting() profile.Correct {
	if !s.in.Corrected {
		return nil
	}
	return func(row int64, durations, inside []int64) {
		for len(durations) > 0 {
			run, record := s.table.Position(row)
			r := &s.runs()[run]
			n := min(int64(len(durations)), r.First+r.Count-record)
			if o, ok := s.overhead(r); ok {
				for i, d := range durations[:n] {
					if d != calls.NoDuration && inside[i] >= 0 {
						durations[i] = corrected(d, inside[i], o)
					}
				}
			}
			durations, inside, row = durations[n:], inside[n:], row+n
		}
	}
}

// corrected returns a duration of ns nanoseconds without the recorder's part.
func corrected(ns, inside int64, o parser.Overhead) int64 {
	own := float64(o.EnterAfter + o.LeaveBefore)
	event := float64(o.EnterBefore+o.EnterAfter+o.LeaveBefore+o.LeaveAfter) / 2
	return max(0, ns-int64((own+float64(inside)*event)/1e3+0.5))
}
