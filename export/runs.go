package export

import (
	"math"
	"sort"
	"time"

	"logparser/rows"
)

// A placedRun is where a run lies in the time of formats of calls.
type placedRun struct {
	// first is the Index of its first row.
	first      int64
	begin, end int64
}

// unknownEnd is the end of a run that ends with the last of its rows to come.
const unknownEnd = int64(-1)

// placeRuns puts runs into one time, which begins with the first. Each of the
// others begins at its own time, but not before the one before it has ended;
// where its own is not known, it begins then. Without runs all rows are of one.
func placeRuns(runs []rows.Run) []placedRun {
	if len(runs) == 0 {
		return []placedRun{{end: unknownEnd}}
	}
	placed := make([]placedRun, len(runs))
	var base time.Time // the local time at 0
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

// time returns the time of a row by its Elapsed.
func (p *placedRun) time(elapsed int64) int64 { return bound(p.begin + bound(max(elapsed, 0))) }

// runAt returns which run a row is of, by its Index.
func runAt(runs []placedRun, index int64) int {
	return sort.Search(len(runs)-1, func(i int) bool { return runs[i+1].first > index })
}

// nextRun returns the Index of the first row behind a run.
func nextRun(runs []placedRun, run int) int64 {
	if run+1 < len(runs) {
		return runs[run+1].first
	}
	return math.MaxInt64
}
