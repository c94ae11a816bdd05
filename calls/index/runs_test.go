package index

import (
	"math/rand/v2"
	"testing"

	"logparser/internal/testlog"
	"logparser/parser"
)

// TestSeveralRuns has all there is in several runs, at the real size of blocks and
// segments.
func TestSeveralRuns(t *testing.T) {
	for seed := range rounds(3) {
		r := rand.New(rand.NewPCG(seed, 4711))
		c := testlog.RandomChaos(r)
		events := 150_000 + r.IntN(100_000)
		if testing.Short() {
			smallSegments(t, 2)
			events = 20_000
		}
		log := c.Log(r, events, 2+r.IntN(4))
		log.Exact = r.IntN(3) == 0
		if err := check(log, testlog.Namer); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, c, err)
		}
	}
}

// TestManyRuns has small runs, several in a block, empty ones too.
func TestManyRuns(t *testing.T) {
	for seed := range rounds(50) {
		r := rand.New(rand.NewPCG(seed, 4712))
		smallBlocks(t, []int64{1, 3, 16, 64}[r.IntN(4)])
		smallSegments(t, 1+r.IntN(5))
		c := testlog.RandomChaos(r)
		log := c.Log(r, 1500, 1)
		log.Runs = nil
		for at := int64(0); at < 1500; {
			n := min(r.Int64N(120), 1500-at)
			log.Runs = append(log.Runs, parser.Run{First: at, Count: n})
			at += n
		}
		log.Exact = r.IntN(3) == 0
		if err := check(log, testlog.Namer); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, c, err)
		}
		if err := checkGrowth(log, r, testlog.Namer); err != nil {
			t.Fatalf("growth, seed %d, %+v: %v", seed, c, err)
		}
	}
}
