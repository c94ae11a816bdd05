package calls_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/profile"
	"logparser/calls/query"
	"logparser/calls/timeline"
	"logparser/internal/testlog"
	"logparser/parser"
)

// TestErrors has all queries meet a block that cannot be read.
func TestErrors(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	text := "A>z 2000( A>f A>g A<g A<f )"
	log := &testlog.Failing{Memory: testlog.Script(text), From: 4000}
	_, src := logtest.Indexed(t, log, log.Runs, false)
	log.Broken = true
	ctx := t.Context()
	for name, query := range map[string]func() error{
		"count": func() error { _, _, err := query.Count(ctx, src, query.AtDepth(2, 3), 1, nil); return err },
		"statistics": func() error {
			_, err := profile.Statistics(ctx, src, profile.StatisticsOptions{Where: query.AtDepth(2, 3)})
			return err
		},
		"tree":    func() error { _, err := profile.CallTree(ctx, src, profile.TreeOptions{}); return err },
		"repeats": func() error { _, err := query.FindRepeats(ctx, src, nil); return err },
		"lanes":   func() error { _, err := timeline.Lanes(ctx, src, nil, nil); return err },
		"next": func() error {
			_, _, err := query.Next(ctx, src, query.And(query.AtDepth(2, 3), query.InRows(4500, 9000)), 0, false)
			return err
		},
		"stack":     func() error { _, err := query.Stack(src, 5000); return err },
		"caller":    func() error { _, _, err := query.Caller(src, 5000); return err },
		"call":      func() error { _, err := query.CallAt(src, 5000); return err },
		"in a call": func() error { _, _, err := query.Count(ctx, src, query.InsideCall(5000), 1, nil); return err },
		"in a test": func() error {
			failing := func(context.Context, []int64, []bool) error { return testlog.ErrRead }
			_, _, err := query.Count(ctx, src, query.And(query.InRows(5, 9), query.Func(failing)), 1, nil)
			return err
		},
		"row at time": func() error { _, err := timeline.RowAtTime(src, 5000e6, 0, src.Len()); return err },
		"timeline": func() error {
			_, _, err := timeline.NewTimeline(src).Spans(nil, timeline.SpanQuery{From: 5000e6, To: 5010e6, Pixels: 100, MaxDepth: 9})
			return err
		},
		"view": func() error {
			v := query.NewView(src, query.AtDepth(2, 3))
			err := v.Run(ctx, nil)
			if _, err := v.RowOf(v.Len() - 1); err != nil && v.Len() > 0 {
				return fmt.Errorf("what was counted cannot be read: %v", err)
			}
			return err
		},
		"folded": func() error { _, err := query.NewView(src, nil).Hide([]int64{5000}, nil); return err },
	} {
		if err := query(); !errors.Is(err, testlog.ErrRead) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMissingEvents goes over logs in which events are missing, and whatever
// else there is: nothing may fail, and parts must agree.
func TestMissingEvents(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	seeds := uint64(40)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		log := testlog.RandomChaos(r).Log(r, 1+r.IntN(6000), 1+r.IntN(3))
		x, err := index.Build(t.Context(), log, log.Runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		set := logtest.RandomSet(r, x.AddressTable().Len())
		inside, _, err := query.Count(t.Context(), x, query.Inside(set), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		rest, _, err := query.Count(t.Context(), x, query.Not(query.Inside(set)), 1, nil)
		if err != nil || inside+rest != x.Len() {
			t.Fatalf("seed %d: %d rows inside, %d not, %d in all, %v", seed, inside, rest, x.Len(), err)
		}
		enters, _, err := query.Count(t.Context(), x, query.OfKind(parser.Enter), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := profile.Statistics(t.Context(), x, profile.StatisticsOptions{PerThread: r.IntN(2) == 0})
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for _, s := range list {
			n += s.Calls
		}
		tree, err := profile.CallTree(t.Context(), x, profile.TreeOptions{BottomUp: r.IntN(2) == 0})
		if err != nil || n != enters || tree.Nodes[0].Calls != enters {
			t.Fatalf("seed %d: %d enters, %d calls, %d in the tree, %v", seed, enters, n, tree.Nodes[0].Calls, err)
		}
		repeats, err := query.FindRepeats(t.Context(), x, nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := query.NewView(x, nil).Hide([]int64{r.Int64N(x.Len())}, repeats)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Run(t.Context(), nil); err != nil || v.Len() == 0 {
			t.Fatalf("%d rows, %v", v.Len(), err)
		}
		for range 20 {
			row := r.Int64N(x.Len())
			stack, err := query.Stack(x, row)
			if err != nil {
				t.Fatal(err)
			}
			caller, ok, err := query.Caller(x, row)
			if err != nil || ok && (len(stack) == 0 || caller != stack[max(len(stack)-2, 0)] && caller != stack[len(stack)-1]) {
				t.Fatalf("seed %d, row %d: caller %+v of stack %+v, %v", seed, row, caller, stack, err)
			}
			if _, err := query.CallAt(x, row); err != nil {
				t.Fatal(err)
			}
			at, err := logtest.TimeOfRow(x, row)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := timeline.NewTimeline(x).Spans(nil, timeline.SpanQuery{From: at, To: at + 1e9>>r.IntN(10), Pixels: 100, MaxDepth: 100}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
