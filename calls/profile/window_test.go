package profile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"logparser/calls/internal/logtest"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/internal/testlog/tracetest"
	"logparser/parser"
)

// TestWindow chooses the parts that have to be read where only calls of some times count.
func TestWindow(t *testing.T) {
	logtest.SmallBlocks(t, 100)
	// Ten parts of 100 events and 10 ns each.
	var parts []parser.CallPart
	for i := range int64(10) {
		parts = append(parts, parser.CallPart{From: 100 * i, To: 100 * (i + 1), First: 10 * i, Last: 10 * (i + 1)})
	}
	for _, c := range []struct {
		first, last, block int64
		want               string
	}{
		{math.MinInt64, math.MaxInt64, 100, "0 to 9, false false"},
		{35, 44, 100, "3 to 5, true true"},
		{35, 44, 101, "3 to 6, true true"},
		{35, 44, 1000, "3 to 9, true false"},
		{40, 40, 100, "3 to 5, true true"},
		{5, 200, 100, "0 to 9, false false"},
		{95, 200, 100, "9 to 9, true false"},
		{101, 200, 100, "none"},
		{-20, -1, 100, "none"},
		{-20, 0, 100, "0 to 1, false true"},
		{1, 0, 100, "0 to 1, false true"}, // no call is entered then; to read some does no harm
	} {
		sizes.Block = c.block
		got := "none"
		if list := window(parts, c.first, c.last); len(list) > 0 {
			end := list[len(list)-1]
			got = fmt.Sprintf("%d to %d, %v %v", list[0].From/100, end.From/100, list[0].first, end.last)
		}
		if got != c.want {
			t.Errorf("times %d to %d, blocks of %d: %s, want %s", c.first, c.last, c.block, got, c.want)
		}
	}
}

// TestRanges sums up the calls of ranges of rows and times of logs of which a pass over calls leaves parts out.
func TestRanges(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	count := uint64(12)
	if testing.Short() {
		count = 3
	}
	asked, cut := 0, 0
	for seed := range count {
		r := rand.New(rand.NewPCG(seed, 7))
		trace := tracetest.Random(r)
		trace.Events, trace.Threads, trace.Functions, trace.Handler, trace.Stray, trace.Enters = 40000, 1+r.IntN(2), 10, 0, 0, 50
		src, tested := indexedTrace(t, r, trace)
		for range 6 {
			first := r.Int64N(src.Len())
			last := min(first+r.Int64N(src.Len()/4), src.Len()-1)
			p := rangeOf(r, src, first, last)
			if r.IntN(3) == 0 {
				in, other := p, logtest.RandomPredicate(r, src, 0)
				p = logtest.Expected{Predicate: query.And(in, other.Predicate), Pass: func(row int64) bool { return in.Pass(row) && other.Pass(row) }}
			}
			of, group := randomGroups(r, src)
			o := StatisticsOptions{Groups: of, PerThread: r.IntN(2) == 0, Where: p.Predicate}
			g := newGroups(tested, of)
			list, ok, err := callStatistics(t.Context(), tested, g, &o, tested.Len())
			if err != nil {
				t.Fatal(err)
			}
			if asked++; !ok {
				continue
			}
			if newCallPass(tested, p.Predicate, g, nil).events() < src.Len() {
				cut++
			}
			checkStatistics(t, list, plainStatistics(src, p, group, o.PerThread))
			checkTree(t, src, tested, p, group, TreeOptions{Groups: of, PerThread: r.IntN(2) == 0, Where: p.Predicate})
			if t.Failed() {
				t.Fatalf("seed %d, rows %d to %d of %d: %s", seed, first, last, src.Len(), p.Name)
			}
		}
	}
	if cut*2 < asked {
		t.Errorf("parts were left out for %d of %d ranges", cut, asked)
	}
}
