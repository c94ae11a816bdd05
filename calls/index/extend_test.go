package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"logparser/calls"
	"logparser/parser"
)

// upTo returns the runs of a log of which only the first n records are there.
func upTo(runs []parser.Run, n int64) []parser.Run {
	var list []parser.Run
	for _, r := range runs {
		if r.First >= n && len(list) > 0 {
			break
		}
		r.Count = min(r.Count, max(0, n-r.First))
		list = append(list, r)
	}
	return list
}

// checkGrowth builds an index of the beginning of a log, extends it step by
// step to the end, and holds it against the table each time.
func checkGrowth(log *gappyLog, r *rand.Rand, namer calls.Namer) error {
	n := int64(len(log.events))
	at := r.Int64N(n + 1)
	x := New(log, upTo(log.runs, at))
	if err := x.Build(context.Background(), namer, nil); err != nil {
		return err
	}
	live := r.IntN(2) == 0
	x.SetLive(live)
	for steps := 0; ; steps++ {
		p, err := newPlain(log, calls.NewTable(log, upTo(log.runs, at)), upTo(log.runs, at), namer, live)
		if err != nil {
			return err
		}
		if err := p.differs(x); err != nil {
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
			if err := x.Extend(ctx, upTo(log.runs, at), namer, nil); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("cancelled: %v", err)
			}
		}
		if err := x.Extend(context.Background(), upTo(log.runs, at), namer, nil); err != nil {
			return err
		}
	}
}

// TestGrowth holds extended indexes against the table over random sequences
// and steps.
func TestGrowth(t *testing.T) {
	for seed := range rounds(120) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(1, 3, 16, 64)))
		smallSegments(t, pick(1, 2, 5, 64))
		c := randomChaos(r)
		log := c.log(r, pick(10, 10, 100, 100, 1000, 1000), pick(1, 1, 4))
		log.exact = r.IntN(3) == 0
		namer := plainNamer
		if r.IntN(4) == 0 {
			namer = nil
		}
		if err := checkGrowth(log, r, namer); err != nil {
			t.Fatalf("seed %d, blocks of %d, %+v: %v", seed, blockLen, c, err)
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	log := chaos{threads: 1, functions: 3, enters: 50}.log(rand.New(rand.NewPCG(1, 1)), 4, 1)
	for _, runs := range [][]parser.Run{
		{},
		{{First: 0, Count: 1}},
		{{First: 1, Count: 3}},
	} {
		x, err := Build(context.Background(), log, upTo(log.runs, 2), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Extend(context.Background(), runs, nil, nil); err == nil {
			t.Errorf("%v were taken for a longer log", runs)
		}
	}
	unbuilt := New(log, upTo(log.runs, 2))
	if err := unbuilt.Extend(context.Background(), log.runs, nil, nil); err != nil || unbuilt.Total() != 4 || unbuilt.Len() != 0 {
		t.Errorf("before Build: %v, %d of %d rows", err, unbuilt.Len(), unbuilt.Total())
	}
	if err := unbuilt.Build(context.Background(), nil, nil); err != nil || unbuilt.Len() != 4 {
		t.Errorf("%v, %d rows", err, unbuilt.Len())
	}
}

// TestReadWhileExtending is for the race detector.
func TestReadWhileExtending(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	log := chaos{threads: 3, functions: 20000, enters: 50, foreign: true}.log(r, 30_000, 1)
	smallBlocks(t, 64)
	x, err := Build(context.Background(), log, upTo(log.runs, 100), plainNamer, nil)
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
			for total := int64(0); total < int64(len(log.events)); {
				total = x.Total()
				x.Read(r[:], total-int64(len(r)))
				x.Count(calls.Open)
				if w == 0 {
					continue
				}
				n := x.Len()
				if err := x.Fill(&b, int((n-1)/blockLen), ^Columns(0)); err != nil {
					t.Error(err)
					return
				}
				x.Level(nil, 1, n/2, n)
				x.Summary(1, 0)
				x.Longest(nil, 0, 0)
				x.Totals()
				for i := range b.N {
					e := &log.events[b.First+int64(i)]
					if x.AddressTable().At(int(b.Address[i])).Value != e.Address || x.ThreadID(b.Thread[i]) != e.Thread {
						t.Errorf("row %d has another address", b.First+int64(i))
						return
					}
				}
			}
		}()
	}
	for at := int64(100); at < int64(len(log.events)); {
		at = min(at+331, int64(len(log.events)))
		if err := x.Extend(context.Background(), upTo(log.runs, at), plainNamer, nil); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
