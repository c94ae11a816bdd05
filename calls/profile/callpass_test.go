package profile

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog/oracle"
	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace"
)

// eachTrace calls f with random traces, with what the oracle says of them, and with
// their index. Most are such that calls can be read thread by thread.
func eachTrace(t *testing.T, count int, f func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index)) {
	logtest.SmallBlocks(t, 64)
	if testing.Short() {
		count = max(count/4, 1)
	}
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		p := tracetest.Random(r)
		p.Events, p.Handler, p.Functions = pick(10, 1000, 3000, 12000), 0, pick(1, 5, 20, 60)
		if p.Threads = pick(1, 2, 5); seed%4 > 0 {
			p.Stray = 0
		}
		if seed%8 == 0 {
			p.Handler, p.Threads = 1, 9
		}
		if p.Enters > 50 {
			p.Events = min(p.Events, 500)
		}
		src, x := indexedTrace(t, r, p)
		f(t, r, src, x)
		if t.Failed() {
			t.Fatalf("seed %d, %+v", seed, p)
		}
	}
}

// indexedTrace makes a random trace, with what the oracle says of it, and with its index.
func indexedTrace(t *testing.T, r *rand.Rand, p tracetest.Program) (*oracle.Log, *index.Index) {
	t.Helper()
	var m tracetest.Memory
	w := tracetest.NewWriter(&m)
	p.Write(r, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := trace.New(t.Context(), &m, m.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return logtest.Indexed(t, log, log.Info().Runs, r.IntN(2) == 0)
}

// rangeOf passes the rows of a log from first to last, or those of their times.
func rangeOf(r *rand.Rand, src *oracle.Log, first, last int64) logtest.Expected {
	if r.IntN(2) == 0 {
		return logtest.Expected{Predicate: query.InRows(first, last), Pass: func(row int64) bool { return row >= first && row <= last }}
	}
	from, to := src.Rows[first].Time, src.Rows[last].Time
	return logtest.Expected{Predicate: query.InTime(from, to), Pass: func(row int64) bool {
		return src.Rows[row].Time >= from && src.Rows[row].Time <= to
	}}
}

// TestCallPass holds what is made by passes over calls against the oracle.
func TestCallPass(t *testing.T) {
	passes, asked := 0, 0
	defer func(before int64) { rowCost = before }(rowCost)
	eachTrace(t, 48, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		of, group := randomGroups(r, src)
		deepest := 0
		for row := range src.Rows {
			deepest = max(deepest, src.Rows[row].Depth)
		}
		for range 3 {
			asked++
			rowCost = []int64{0, 5, 1 << 40}[r.IntN(3)] // rows, either, calls
			p := logtest.Expected{Pass: func(int64) bool { return true }}
			stats := StatisticsOptions{Groups: of, PerThread: r.IntN(2) == 0}
			tree := TreeOptions{Groups: of, PerThread: r.IntN(2) == 0, BottomUp: r.IntN(2) == 0}
			if deepest >= MaxCallers {
				tree.BottomUp = false // those are bounded
			}
			if r.IntN(4) > 0 {
				p = logtest.RandomPredicate(r, src, 2)
				// Only predicates of the package itself say what they ask for.
				stats.Where, tree.Where = p.Predicate, p.Predicate
			}
			list, err := Statistics(t.Context(), tested, stats)
			if err != nil {
				t.Fatal(err)
			}
			checkStatistics(t, list, plainStatistics(src, p, group, stats.PerThread))
			checkTree(t, src, tested, p, group, tree)
			if _, ok, _ := callStatistics(t.Context(), tested, newGroups(tested, of), &stats, tested.Len()); ok {
				passes++
			}
			if t.Failed() {
				t.Fatal(p.Name)
			}
		}
	})
	if passes < asked*2/5 {
		t.Errorf("%d of %d were passes over calls", passes, asked)
	}
}

// TestCallPassCancelled ends a pass early, in the midst of its parts.
func TestCallPassCancelled(t *testing.T) {
	why := errors.New("enough")
	eachTrace(t, 8, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		o := StatisticsOptions{PerThread: true, Where: query.WithDuration(1, 1000), Progress: func(_, total int64) {
			if total != src.Len() {
				t.Errorf("%d rows of %d", total, src.Len())
			}
			cancel(why)
		}}
		if _, err := Statistics(ctx, tested, o); err != nil && err != why {
			t.Error(err)
		}
		cancel(why)
		if _, err := Statistics(ctx, tested, o); err != why {
			t.Errorf("cancelled: %v", err)
		}
	})
}
