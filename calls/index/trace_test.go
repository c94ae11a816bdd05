package index

import (
	"context"
	"math/rand/v2"
	"testing"

	"logparser/calls/internal/sizes"
	"logparser/internal/testlog/oracle"
	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace"
)

// TestTrace holds indexes of random traces, which are paired thread by thread where that can
// be, against the oracle.
func TestTrace(t *testing.T) {
	for seed := range rounds(60) {
		r := rand.New(rand.NewPCG(seed, 19))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(3, 16, 64, 256)))
		smallSegments(t, pick(1, 2, 5, 64))
		p := tracetest.Random(r)
		p.Events = pick(100, 1000, 2000)
		if seed%2 == 0 {
			p.Unwind, p.Stray, p.Handler = 0, 0, 0
		}
		if seed%8 == 0 {
			p.Enters = 90
		}
		var m tracetest.Memory
		w := tracetest.NewWriter(&m)
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log, err := trace.New(context.Background(), &m, m.Size(), nil)
		if err != nil {
			t.Fatal(err)
		}
		runs := log.Info().Runs
		x, err := Build(context.Background(), log, runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := expect(t, log, runs, oracle.Options{})
		if err := want.differs(x); err != nil {
			t.Fatalf("seed %d, blocks of %d, segments of %d, %+v: %v", seed, sizes.Block, sizes.SegmentBlocks, p, err)
		}
	}
}
