package profile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/internal/testlog/oracle"
)

// TestCorrected holds the sums of corrected durations against those of the
// calls one by one.
func TestCorrected(t *testing.T) {
	across := 0
	logtest.EachLog(t, 30, 20000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
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
		corrected, err := src.Corrected(correct)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range src.Calls {
			if c.Enter >= 0 && c.Leave >= 0 && c.Leave/(sizes.Block*query.ChunkBlocks) != c.Enter/(sizes.Block*query.ChunkBlocks) {
				across++
			}
		}
		of, group := randomGroups(r, src)
		p := logtest.Expected{Pass: func(int64) bool { return true }}
		var where query.Predicate
		if r.IntN(3) > 0 {
			p = logtest.RandomPredicate(r, src, 1)
			where = p
		}
		o := StatisticsOptions{Groups: of, PerThread: r.IntN(2) == 0, Where: where, Correct: option}
		list, err := Statistics(t.Context(), tested, o)
		if err != nil {
			t.Fatal(err)
		}
		checkStatistics(t, list, plainStatistics(corrected, p, group, o.PerThread))
		to := TreeOptions{Groups: of, PerThread: o.PerThread, BottomUp: r.IntN(2) == 0, Where: where, Correct: option}
		tree, err := CallTree(t.Context(), tested, to)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := sumsOf(tree).text(), plainTree(corrected, p, group, to).text(); !slices.Equal(got, want) {
			t.Fatalf("%+v\n%v, want\n%v", to, got, want)
		}
	})
	if across < 100 {
		t.Errorf("%d calls lie in several stretches", across)
	}
}
