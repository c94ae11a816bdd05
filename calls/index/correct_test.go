package index

import (
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/parser"
)

// TestCorrected holds the sums of corrected durations against those of the
// calls one by one.
func TestCorrected(t *testing.T) {
	across := 0
	eachLog(t, 30, 20000, func(t *testing.T, r *rand.Rand, src *tableSource, tested Source) {
		// What an event costs depends on where it is, as it does on the run.
		correct := func(row, duration, inside int64) int64 {
			return max(0, duration-3-row%3-inside*(1+row%2))
		}
		option := func(first int64, durations, inside []int64) {
			for i, d := range durations {
				if d != calls.NoDuration {
					durations[i] = correct(first+int64(i), d, inside[i])
				}
			}
		}
		corrected := *src
		corrected.rows, corrected.self = slices.Clone(src.rows), slices.Clone(src.self)
		corrected.lasts = make(map[int64]int64)
		children := make([]int64, src.Len())
		for row := range src.Len() {
			d := &corrected.rows[row].Duration
			if src.events[row].Kind != parser.Enter {
				continue
			}
			if long, ok := src.running(row); ok {
				corrected.lasts[row] = correct(row, long, src.insideOf(row))
				continue
			}
			if *d == calls.NoDuration {
				continue
			}
			*d = correct(row, *d, src.inside[row])
			if c := src.caller[row]; c >= 0 && src.rows[row].Partner >= 0 {
				children[c] += *d
			}
			if src.rows[row].Partner/(blockLen*chunkBlocks) != row/(blockLen*chunkBlocks) {
				across++
			}
		}
		corrected.inner = children
		for row, children := range children {
			corrected.self[row] = max(0, corrected.rows[row].Duration-children)
			if r := corrected.rows[row]; r.Mark == calls.NoLeave && r.Duration != calls.NoDuration {
				corrected.self[row] = corrected.own(int64(row), r.Duration)
			}
		}
		of, group := randomGroups(r, src)
		p := plainPredicate{pass: func(int64) bool { return true }}
		var where Predicate
		if r.IntN(3) > 0 {
			p = randomPredicate(r, src, 1)
			where = p
		}
		o := StatisticsOptions{Groups: of, PerThread: r.IntN(2) == 0, Where: where, Correct: option}
		list, err := Statistics(t.Context(), tested, o)
		if err != nil {
			t.Fatal(err)
		}
		checkStatistics(t, list, plainStatistics(&corrected, p, group, o.PerThread))
		to := TreeOptions{Groups: of, PerThread: o.PerThread, BottomUp: r.IntN(2) == 0, Where: where, Correct: option}
		tree, err := CallTree(t.Context(), tested, to)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sumsOf(tree).text(), plainTree(&corrected, p, group, to).text(); !slices.Equal(got, want) {
			t.Fatalf("%+v\n%v, want\n%v", to, got, want)
		}
	})
	if across < 100 {
		t.Errorf("%d calls lie in several stretches", across)
	}
}
