package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// check builds an index of the log, without names and then again with the
// namer, and holds both against what is computed simply.
func check(log *testlog.Broken, namer calls.Namer) error {
	x := New(log, log.Runs)
	var before *oracle.Log
	for _, n := range []calls.Namer{nil, namer, nil} {
		if err := x.Build(context.Background(), n, nil); err != nil {
			return err
		}
		l, err := oracle.New(log, log.Runs, oracle.Options{Namer: n, Before: before})
		if err != nil {
			return err
		}
		if err := (&expected{l, log}).differs(x); err != nil {
			return fmt.Errorf("with names %t: %w", n != nil, err)
		}
		before = l
	}
	return nil
}

// rounds returns how often a test with random input goes round: n times, more with LOGPARSER_SOAK; a short one,
// which the race detector may watch, a twentieth of n, but once at least.
func rounds(n uint64) uint64 {
	if os.Getenv("LOGPARSER_SOAK") != "" {
		return n * 20
	}
	if testing.Short() {
		return max(n/20, 1)
	}
	return n
}

// TestRandom holds indexes of random sequences against the oracle.
func TestRandom(t *testing.T) {
	for seed := range rounds(160) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(1, 2, 3, 7, 16, 64)))
		smallSegments(t, pick(1, 2, 5, 64))
		c := testlog.RandomChaos(r)
		log := c.Log(r, pick(1, 10, 100, 100, 1000, 1000, 4000), pick(1, 1, 1, 4))
		log.Exact = r.IntN(3) == 0
		if err := check(log, testlog.Namer); err != nil {
			t.Fatalf("seed %d, blocks of %d, %+v: %v", seed, sizes.Block, c, err)
		}
	}
}

// smallSegments makes segments short for a test. All have totals.
func smallSegments(t testing.TB, n int) {
	blocks, bytes := sizes.SegmentBlocks, sizes.TotalsBytes
	sizes.SegmentBlocks, sizes.TotalsBytes = n, 1<<30
	t.Cleanup(func() { sizes.SegmentBlocks, sizes.TotalsBytes = blocks, bytes })
}

// TestPruned has so many addresses on threads that those of no use are forgotten.
func TestPruned(t *testing.T) {
	old := sizes.Statistics
	sizes.Statistics = 8
	defer func() { sizes.Statistics = old }()
	for seed := range rounds(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		smallBlocks(t, 7)
		smallSegments(t, 1+int(seed%3)*100)
		c := testlog.Chaos{Threads: 5, Functions: 200, Enters: 50, Foreign: seed%2 == 0, Unwind: 1, Tail: 2}
		if err := check(c.Log(r, 2000, 1), testlog.Namer); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestDeep has stacks deeper than what is searched call by call, and leaves
// that name functions far down or none.
func TestDeep(t *testing.T) {
	for seed := range rounds(30) {
		r := rand.New(rand.NewPCG(seed, 6))
		smallBlocks(t, 64)
		smallSegments(t, 1+int(seed%4)*3)
		log := &testlog.Broken{}
		log.Exact = seed%5 == 4
		var stack []uint64
		for len(log.Events) < 3000 {
			e := parser.Event{Time: int64(len(log.Events)) * 10, Thread: 1, Kind: parser.Leave}
			switch n := len(stack); {
			case n < 400 && r.IntN(100) < 80 || n == 0:
				e.Kind, e.Address = parser.Enter, 0x1005+256*uint64(r.IntN(3000))
				stack = append(stack, e.Address)
			case r.IntN(10) == 0: // another function far down
				k := r.IntN(n)
				e.Address = stack[k] + uint64(r.IntN(2))*4
				stack = stack[:k]
			case r.IntN(10) == 0: // no function of the stack
				e.Address = 0x1009 + 256*uint64(3000+r.IntN(300))
				stack = stack[:n-1]
			default:
				e.Address = stack[n-1] + uint64(r.IntN(2))*4
				stack = stack[:n-1]
			}
			log.Events = append(log.Events, e)
		}
		log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
		if err := check(log, testlog.Namer); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := checkGrowth(log, r, testlog.Namer); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// FuzzIndex makes a log of the input, four bytes an event.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x10\x01\x02\x03"), uint8(3), uint8(1), true)
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz"), uint8(1), uint8(2), false)
	f.Fuzz(func(t *testing.T, data []byte, block, segment uint8, exact bool) {
		smallBlocks(t, 1+int64(block%32))
		smallSegments(t, 1+int(segment%4))
		log := &testlog.Broken{Open: map[int64][]parser.OpenCall{}, Outer: map[int64]int{}}
		log.Exact = exact
		now := int64(0)
		for ; len(data) >= 4 && len(log.Events) < 1000; data = data[4:] {
			now += int64(data[2]) - 4
			e := parser.Event{Thread: uint32(data[1] % 5), Kind: parser.Kind(data[0] % 2), Time: now, Space: uint16(data[3] >> 6), Address: 0x1005 + 256*uint64(data[3]&15)}
			switch data[0] >> 3 {
			case 0:
				e.Kind = parser.Damaged
			case 1:
				e.Gap = parser.ThreadBegins
			case 2:
				e.Gap = parser.EventsMissing
				at := int64(len(log.Events))
				for _, b := range data[1 : 1+data[0]%3] {
					log.Open[at] = append(log.Open[at], parser.OpenCall{Address: 0x1005 + 256*uint64(b&15), Space: uint16(b >> 7)})
				}
				log.Outer[at] = int(data[1] >> 6)
			case 3, 4, 5:
				e.Address += 4
			}
			log.Events = append(log.Events, e)
		}
		n := int64(len(log.Events))
		log.Runs = []parser.Run{{Count: n / 3 * 2}, {First: n / 3 * 2, Count: n - n/3*2}}
		if err := check(log, testlog.Namer); err != nil {
			t.Fatal(err)
		}
	})
}

// TestExtremeTimes has times that are further apart than a duration can be.
func TestExtremeTimes(t *testing.T) {
	times := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1, 1 << 62, -1 << 62}
	log := &testlog.Broken{}
	for _, from := range times {
		for _, to := range times {
			log.Events = append(log.Events, parser.Event{Address: 1, Time: from, Kind: parser.Enter}, parser.Event{Address: 1, Time: to, Kind: parser.Leave})
		}
	}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	x, err := Build(context.Background(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	if err := p.differs(x); err != nil {
		t.Error(err)
	}
	for i := range x.Len() {
		e, of := log.Events[i&^1:], x.At(i)
		if want := calls.Elapsed(e[0].Time, e[1].Time); of.Duration != want {
			t.Errorf("from %d to %d: %d, want %d", e[0].Time, e[1].Time, of.Duration, want)
		}
	}
}
