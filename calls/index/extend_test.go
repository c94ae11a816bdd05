package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// checkGrowth builds an index of the beginning of a log, extends it step by
// step to the end, and holds it against the oracle each time.
func checkGrowth(log *testlog.Broken, r *rand.Rand, namer calls.Namer) error {
	n := int64(len(log.Events))
	at := r.Int64N(n + 1)
	x := New(log, testlog.UpTo(log.Runs, at))
	if err := x.Build(context.Background(), namer, nil); err != nil {
		return err
	}
	live := r.IntN(2) == 0
	x.SetLive(live)
	for steps := 0; ; steps++ {
		l, err := oracle.New(log, testlog.UpTo(log.Runs, at), oracle.Options{Namer: namer, Live: live})
		if err != nil {
			return err
		}
		if err := (&expected{l, log}).differs(x); err != nil {
			return fmt.Errorf("at %d of %d records after %d steps: %w", at, n, steps, err)
		}
		switch r.IntN(10) {
		case 0:
			if err := x.Build(context.Background(), namer, nil); err != nil {
				return err
			}
		case 1:
			live = !live
			x.SetLive(live)
		}
		if at == n {
			return nil
		}
		at += 1 + r.Int64N(min(n-at, 1+n/4))
		if r.IntN(8) == 0 {
			// Cancelled, it leaves a part for the next.
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := x.Extend(ctx, testlog.UpTo(log.Runs, at), namer, nil); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("cancelled: %v", err)
			}
		}
		if err := x.Extend(context.Background(), testlog.UpTo(log.Runs, at), namer, nil); err != nil {
			return err
		}
	}
}

// TestGrowth holds extended indexes against the oracle over random sequences
// and steps.
func TestGrowth(t *testing.T) {
	for seed := range rounds(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(1, 3, 16, 64)))
		smallSegments(t, pick(1, 2, 5, 64))
		c := testlog.RandomChaos(r)
		log := c.Log(r, pick(10, 10, 100, 100, 1000, 1000), pick(1, 1, 4))
		log.Exact = r.IntN(3) == 0
		namer := testlog.Namer
		if r.IntN(4) == 0 {
			namer = nil
		}
		if err := checkGrowth(log, r, namer); err != nil {
			t.Fatalf("seed %d, blocks of %d, %+v: %v", seed, sizes.Block, c, err)
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	log := testlog.Chaos{Threads: 1, Functions: 3, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 4, 1)
	for _, runs := range [][]parser.Run{
		{},
		{{First: 0, Count: 1}},
		{{First: 1, Count: 3}},
	} {
		x, err := Build(context.Background(), log, testlog.UpTo(log.Runs, 2), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Extend(context.Background(), runs, nil, nil); err == nil {
			t.Errorf("%v were taken for a longer log", runs)
		}
	}
	unbuilt := New(log, testlog.UpTo(log.Runs, 2))
	if err := unbuilt.Extend(context.Background(), log.Runs, nil, nil); err != nil || unbuilt.Total() != 4 || unbuilt.Len() != 0 {
		t.Errorf("before Build: %v, %d of %d rows", err, unbuilt.Len(), unbuilt.Total())
	}
	if err := unbuilt.Build(context.Background(), nil, nil); err != nil || unbuilt.Len() != 4 {
		t.Errorf("%v, %d rows", err, unbuilt.Len())
	}
}

// TestReadWhileExtending is for the race detector.
func TestReadWhileExtending(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	log := testlog.Chaos{Threads: 3, Functions: 20000, Enters: 50, Foreign: true}.Log(r, 30_000, 1)
	smallBlocks(t, 64)
	x, err := Build(context.Background(), log, testlog.UpTo(log.Runs, 100), testlog.Namer, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var r [50]calls.Record
			var b Block
			for total := int64(0); total < int64(len(log.Events)); {
				total = x.Total()
				x.Read(r[:], total-int64(len(r)))
				x.Count(calls.Open)
				if w == 0 {
					continue
				}
				n := x.Len()
				if err := x.Fill(&b, int((n-1)/sizes.Block), ^Columns(0)); err != nil {
					t.Error(err)
					return
				}
				x.Level(nil, 1, n/2, n)
				x.Summary(1, 0)
				x.Longest(nil, 0, 0)
				x.Totals()
				for i := range b.N {
					e := &log.Events[b.First+int64(i)]
					if x.AddressTable().At(int(b.Address[i])).Value != e.Address || x.ThreadID(b.Thread[i]) != e.Thread {
						t.Errorf("row %d has another address", b.First+int64(i))
						return
					}
				}
			}
		}()
	}
	for at := int64(100); at < int64(len(log.Events)); {
		at = min(at+331, int64(len(log.Events)))
		if err := x.Extend(context.Background(), testlog.UpTo(log.Runs, at), testlog.Namer, nil); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
