package calls

import (
	"math"
	"slices"
	"sort"

	"logparser/parser"
)

// A Layout says which rows are which records. It is immutable.
type Layout struct {
	// Runs are those that are shown, and Starts has the first row of each, and
	// the number of rows last.
	Runs   []parser.Run
	Starts []int64
}

// NewLayout numbers the records of runs from 0, in the order given.
func NewLayout(runs []parser.Run) *Layout {
	l := &Layout{slices.Clone(runs), make([]int64, 1, len(runs)+1)}
	for _, r := range runs {
		l.Starts = append(l.Starts, l.Total()+r.Count)
	}
	return l
}

// Total returns the number of rows.
func (l *Layout) Total() int64 { return l.Starts[len(l.Starts)-1] }

// Position returns the run (an index into Runs) and the record number in the
// whole log of a row, 0 <= row < Total().
func (l *Layout) Position(row int64) (run int, record int64) {
	if len(l.Runs) > 1 {
		run = sort.Search(len(l.Runs), func(i int) bool { return l.Starts[i+1] > row })
	}
	return run, l.Runs[run].First + row - l.Starts[run]
}

// Row returns the row of a record of a run.
func (l *Layout) Row(run int, record int64) int64 { return l.Starts[run] + record - l.Runs[run].First }

// Elapsed returns the nanoseconds from start to end, within 0 and the
// greatest int64.
func Elapsed(start, end int64) int64 {
	if end <= start {
		return 0
	}
	if d := end - start; d > 0 {
		return d
	}
	return math.MaxInt64
}

// SelfTime returns the part of a duration that was not spent in the calls made.
func SelfTime(duration, children int64) int64 { return max(0, duration-children) }
