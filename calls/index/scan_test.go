package index

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"logparser/calls"
	"logparser/internal/testlog"
	"logparser/parser"
)

// benchmarkIndex is made once of the log that LOGPARSER_BENCH_LOG names.
var benchmarkIndex *Index

func openBenchmark(b *testing.B) *Index {
	if benchmarkIndex == nil {
		log := benchmarkLog(b)
		if log == nil {
			b.Skip("LOGPARSER_BENCH_LOG names no log")
		}
		var err error
		if benchmarkIndex, err = Build(context.Background(), log, log.Info().Runs, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	return benchmarkIndex
}

func BenchmarkFilter(b *testing.B) {
	x := openBenchmark(b)
	a, t := NewSet(0), NewSet(0)
	for i := range uint32(x.AddressTable().Len()) {
		if i%3 == 0 {
			a.Add(i)
		}
	}
	few := NewSet(0)
	few.Add(uint32(x.AddressTable().Len() / 2))
	t.Add(uint32(min(1, x.Slots()-1)))
	first, err := TimeOfRow(x, x.Len()/3)
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		name string
		p    Predicate
	}{
		{"thread", OnThreads(t)},
		{"function", InAddresses(few)},
		{"functions", InAddresses(a)},
		{"event", OfKind(parser.Enter)},
		{"duration", WithDuration(1e6, math.MaxInt64)},
		{"depth", AtDepth(0, 9)},
		{"time", InTime(first, math.MaxInt64)},
		{"mark", Marked(calls.Stray, calls.NoLeave)},
		{"inside", Inside(few)},
		{"inside-many", Inside(a)},
		{"all-together", And(InAddresses(a), OnThreads(t), WithDuration(0, 1e9), AtDepth(2, 20), Inside(few))},
		{"all-long", And(InAddresses(a), OnThreads(t), WithDuration(1, 1e9), AtDepth(2, 20), Inside(few))},
	} {
		b.Run(test.name, func(b *testing.B) {
			var n int64
			for b.Loop() {
				v := NewView(x, test.p)
				if err := v.Run(context.Background(), nil); err != nil {
					b.Fatal(err)
				}
				n = v.Len()
			}
			b.ReportMetric(float64(n), "rows")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(x.Len()), "ns/event")
		})
	}
}

func BenchmarkAnalysis(b *testing.B) {
	x := openBenchmark(b)
	half := OfKind(parser.Enter)
	for _, test := range []struct {
		name string
		do   func() error
	}{
		{"statistics-totals", func() error {
			_, err := Statistics(context.Background(), x, StatisticsOptions{})
			return err
		}},
		{"statistics-scan", func() error {
			_, err := Statistics(context.Background(), x, StatisticsOptions{Where: half})
			return err
		}},
		{"tree", func() error {
			_, err := CallTree(context.Background(), x, TreeOptions{})
			return err
		}},
		{"repeats", func() error {
			_, err := FindRepeats(context.Background(), x, nil)
			return err
		}},
		{"lanes", func() error {
			_, err := Lanes(context.Background(), x, nil, nil)
			return err
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if err := test.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTimeline draws all threads at each zoom, in the middle of the log,
// without what was read before.
func BenchmarkTimeline(b *testing.B) {
	x := openBenchmark(b)
	first, err := TimeOfRow(x, 0)
	if err != nil {
		b.Fatal(err)
	}
	last, err := TimeOfRow(x, x.Len())
	if err != nil {
		b.Fatal(err)
	}
	for zoom := uint(0); (last-first)>>zoom > 1e6; zoom += 2 {
		b.Run(fmt.Sprint(1<<zoom), func(b *testing.B) {
			width := (last - first) >> zoom
			n := 0
			var spans []Span
			for b.Loop() {
				spans, _, err = NewTimeline(x).Spans(spans[:0], SpanQuery{From: first + (last-first-width)/2, To: first + (last-first+width)/2, Pixels: 1200, MaxDepth: 40})
				if err != nil {
					b.Fatal(err)
				}
				n = len(spans)
			}
			b.ReportMetric(float64(n), "spans")
		})
	}
}

// TestErrors has all queries meet a block that cannot be read.
func TestErrors(t *testing.T) {
	smallBlocks(t, 64)
	text := "A>z 2000( A>f A>g A<g A<f )"
	log := &testlog.Failing{Memory: testlog.Script(text), From: 4000}
	_, src := indexed(t, log, log.Runs, false)
	log.Broken = true
	ctx := t.Context()
	for name, query := range map[string]func() error{
		"count":      func() error { _, _, err := Count(ctx, src, AtDepth(2, 3), 1, nil); return err },
		"statistics": func() error { _, err := Statistics(ctx, src, StatisticsOptions{Where: All()}); return err },
		"tree":       func() error { _, err := CallTree(ctx, src, TreeOptions{}); return err },
		"repeats":    func() error { _, err := FindRepeats(ctx, src, nil); return err },
		"lanes":      func() error { _, err := Lanes(ctx, src, nil, nil); return err },
		"next": func() error {
			_, _, err := Next(ctx, src, And(AtDepth(2, 3), InRows(4500, 9000)), 0, false)
			return err
		},
		"stack":     func() error { _, err := Stack(src, 5000); return err },
		"caller":    func() error { _, _, err := Caller(src, 5000); return err },
		"call":      func() error { _, err := CallAt(src, 5000); return err },
		"in a call": func() error { _, _, err := Count(ctx, src, InsideCall(5000), 1, nil); return err },
		"in a test": func() error {
			failing := func(context.Context, []int64, []bool) error { return testlog.ErrRead }
			_, _, err := Count(ctx, src, And(InRows(5, 9), Func(failing)), 1, nil)
			return err
		},
		"time of row": func() error { _, err := TimeOfRow(src, 5000); return err },
		"row at time": func() error { _, err := RowAtTime(src, 5000e6); return err },
		"timeline": func() error {
			_, _, err := NewTimeline(src).Spans(nil, SpanQuery{From: 5000e6, To: 5010e6, Pixels: 100, MaxDepth: 9})
			return err
		},
		"view": func() error {
			v := NewView(src, AtDepth(2, 3))
			err := v.Run(ctx, nil)
			if _, err := v.RowOf(v.Len() - 1); err != nil && v.Len() > 0 {
				return fmt.Errorf("what was counted cannot be read: %v", err)
			}
			return err
		},
		"folded": func() error { _, err := NewView(src, nil).Hide([]int64{5000}, nil); return err },
	} {
		if err := query(); !errors.Is(err, testlog.ErrRead) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestProgress expects rising numbers of rows up to all.
func TestProgress(t *testing.T) {
	smallBlocks(t, 64)
	log := testlog.Script("A>z 5000( A>f A<f )")
	_, src := indexed(t, log, log.Runs, false)
	slow := Func(func(_ context.Context, rows []int64, _ []bool) error {
		time.Sleep(time.Millisecond)
		return nil
	})
	calls, last := 0, int64(-1)
	_, _, err := Count(t.Context(), src, slow, 1, func(done, total int64) {
		if calls++; done < last || total != src.Len() {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	})
	if err != nil || calls < 2 || last != src.Len() {
		t.Errorf("%d calls, %d rows, %v", calls, last, err)
	}
}

// TestMissingEvents goes over logs in which events are missing, and whatever
// else there is: nothing may fail, and parts must agree.
func TestMissingEvents(t *testing.T) {
	smallBlocks(t, 64)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		log := testlog.RandomChaos(r).Log(r, 1+r.IntN(6000), 1+r.IntN(3))
		x, err := Build(t.Context(), log, log.Runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := randomSet(r, x.AddressTable().Len())
		inside, _, err := Count(t.Context(), x, Inside(set), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		rest, _, err := Count(t.Context(), x, Not(Inside(set)), 1, nil)
		if err != nil || inside+rest != x.Len() {
			t.Fatalf("seed %d: %d rows inside, %d not, %d in all, %v", seed, inside, rest, x.Len(), err)
		}
		enters, _, err := Count(t.Context(), x, OfKind(parser.Enter), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := Statistics(t.Context(), x, StatisticsOptions{PerThread: r.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for _, s := range list {
			n += s.Calls
		}
		tree, err := CallTree(t.Context(), x, TreeOptions{BottomUp: r.IntN(2) == 0})
		if err != nil || n != enters || tree.Nodes[0].Calls != enters {
			t.Fatalf("seed %d: %d enters, %d calls, %d in the tree, %v", seed, enters, n, tree.Nodes[0].Calls, err)
		}
		repeats, err := FindRepeats(t.Context(), x, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := NewView(x, nil).Hide([]int64{r.Int64N(x.Len())}, repeats)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Run(t.Context(), nil); err != nil || v.Len() == 0 {
			t.Fatalf("%d rows, %v", v.Len(), err)
		}
		for range 20 {
			row := r.Int64N(x.Len())
			stack, err := Stack(x, row)
			if err != nil {
				t.Fatal(err)
			}
			caller, ok, err := Caller(x, row)
			if err != nil || ok && (len(stack) == 0 || caller != stack[max(len(stack)-2, 0)] && caller != stack[len(stack)-1]) {
				t.Fatalf("seed %d, row %d: caller %+v of stack %+v, %v", seed, row, caller, stack, err)
			}
			if _, err := CallAt(x, row); err != nil {
				t.Fatal(err)
			}
			at, err := TimeOfRow(x, row)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := NewTimeline(x).Spans(nil, SpanQuery{From: at, To: at + 1e9>>r.IntN(10), Pixels: 100, MaxDepth: 100}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
