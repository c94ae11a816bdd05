package calls_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/internal/sizes"
	"logparser/calls/profile"
	"logparser/calls/query"
	"logparser/calls/timeline"
	"logparser/internal/testlog"
	"logparser/parser"
)

// TestChangedLog has other records come into a log whose index is made: whatever
// is asked then is answered or an error, at once.
func TestChangedLog(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 4713))
		logtest.SmallBlocks(t, []int64{3, 16, 64}[r.IntN(3)])
		c := testlog.RandomChaos(r)
		log := c.Log(r, 1000, 1+r.IntN(3))
		log.Exact = r.IntN(3) == 0
		x, err := index.Build(t.Context(), log, log.Runs, testlog.Namer, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := logtest.RandomSet(r, x.AddressTable().Len())
		other := testlog.RandomChaos(r).Log(r, 1000, 1)
		switch r.IntN(3) {
		case 0:
			log.Events = other.Events
		case 1:
			for range 1 + r.IntN(50) {
				log.Events[r.IntN(1000)].Kind = parser.Kind(r.IntN(3))
			}
		case 2:
			for range 1 + r.IntN(50) {
				e := &log.Events[r.IntN(1000)]
				e.Thread = 100 + uint32(r.IntN(41))
				e.Address = other.Events[r.IntN(1000)].Address
			}
		}
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			for want := index.Columns(0); want < 512; want += 1 + index.Columns(r.IntN(20)) {
				for k := range sizes.Blocks(x.Len()) {
					x.Fill(new(index.Block), k, want)
				}
			}
			profile.Statistics(t.Context(), x, profile.StatisticsOptions{PerThread: true})
			profile.CallTree(t.Context(), x, profile.TreeOptions{})
			profile.CallTree(t.Context(), x, profile.TreeOptions{Correct: func(int64, []int64, []int64) {}})
			query.Count(t.Context(), x, query.Inside(set), 1, nil)
			query.Count(t.Context(), x, query.Inside(set), 1, nil)
			query.FindRepeats(t.Context(), x, nil)
			timeline.Lanes(t.Context(), x, nil, nil)
			timeline.NewTimeline(x).Spans(nil, timeline.SpanQuery{From: 0, To: 1 << 60, Pixels: 1000, MaxDepth: 100})
			for row := int64(0); row < x.Len(); row += 5 {
				query.Stack(x, row)
				query.CallAt(x, row)
				query.Caller(x, row)
			}
		}()
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatalf("seed %d: it hangs", seed)
		}
	}
}
