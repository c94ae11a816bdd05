package export

import (
	"math"
	"sort"
	"time"

	"logparser/rows"
)

// A placedRun is a run on the time axis that all runs of a log share in formats of calls. Times are in nanoseconds from the
// beginning of the first run.
type placedRun struct {
	// first is the Index of the run's first row.
	first      int64
	begin, end int64
}

// unknownEnd is the end of a run whose end is not known: it ends with its last row.
const unknownEnd = int64(-1)

// placeRuns puts runs on one time axis, which begins with the first run. A later run begins at its local time, but not before
// the run before it has ended. If its local time is not known, it begins at that end. Without runs, all rows belong to one.
func placeRuns(runs []rows.Run) []placedRun {
	if len(runs) == 0 {
		return []placedRun{{end: unknownEnd}}
	}
	placed := make([]placedRun, len(runs))
	var base time.Time // local time at 0 of the axis
	hasBase := false
	end := int64(0)
	for i := range runs {
		r, p := &runs[i], &placed[i]
		p.first, p.begin = r.First, end
		switch {
		case !r.HasWall:
		case hasBase:
			p.begin = max(bound(int64(r.Start.Sub(base))), end)
		default:
			base, hasBase = r.Start.Add(-time.Duration(end)), true
		}
		p.end = p.time(r.End)
		end = p.end
	}
	return placed
}

// time returns the time of a row on the shared axis. elapsed is the row's Elapsed.
func (p *placedRun) time(elapsed int64) int64 { return bound(p.begin + bound(max(elapsed, 0))) }

// runAt returns the number of the run that has the row with an Index.
func runAt(runs []placedRun, index int64) int {
	return sort.Search(len(runs)-1, func(i int) bool { return runs[i+1].first > index })
}

// nextRun returns the Index of the first row after a run.
func nextRun(runs []placedRun, run int) int64 {
	if run+1 < len(runs) {
		return runs[run+1].first
	}
	return math.MaxInt64
}
