package index

import (
	"math/rand/v2"
	"testing"
	"time"

	"logparser/internal/testlog"
	"logparser/parser"
)

// TestChangedLog has other records come into a log whose index is made: whatever
// is asked then is answered or an error, at once.
func TestChangedLog(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4713))
		smallBlocks(t, []int64{3, 16, 64}[r.IntN(3)])
		c := testlog.RandomChaos(r)
		log := c.Log(r, 1000, 1+r.IntN(3))
		log.Exact = r.IntN(3) == 0
		x, err := Build(t.Context(), log, log.Runs, testlog.Namer, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := randomSet(r, x.AddressTable().Len())
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
			for want := Columns(0); want < 512; want += 1 + Columns(r.IntN(20)) {
				for k := range blocksOf(x.Len()) {
					x.Fill(new(Block), k, want)
				}
			}
			Statistics(t.Context(), x, StatisticsOptions{PerThread: true})
			CallTree(t.Context(), x, TreeOptions{})
			CallTree(t.Context(), x, TreeOptions{Correct: func(int64, []int64, []int64) {}})
			Count(t.Context(), x, Inside(set), 1, nil)
			Count(t.Context(), x, Below(set), 1, nil)
			FindRepeats(t.Context(), x, nil)
			Lanes(t.Context(), x, nil, nil)
			NewTimeline(x).Spans(nil, SpanQuery{From: 0, To: 1 << 60, Pixels: 1000, MaxDepth: 100})
			for row := int64(0); row < x.Len(); row += 5 {
				Stack(x, row)
				CallAt(x, row)
				Caller(x, row)
			}
		}()
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatalf("seed %d: it hangs", seed)
		}
	}
}
