package index

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"logparser/calls"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// namedLog makes a log whose pairs depend on names.
func namedLog(seed uint64, n int) *testlog.Broken {
	c := testlog.Chaos{Threads: 3, Functions: 20, Enters: 52, Foreign: true, Tail: 10, Unwind: 10}
	return c.Log(rand.New(rand.NewPCG(seed, 9)), n, 1)
}

// TestBuiltAgainUnderQueries builds an index again and again while it is asked,
// with names and without: each answer must be that of the one or of the other.
func TestBuiltAgainUnderQueries(t *testing.T) {
	smallBlocks(t, 64)
	ctx := context.Background()
	set := NewSet(1)
	set.Add(3)
	queries := map[string]func(src Source) any{
		"count":      func(src Source) any { n, _, _ := Count(ctx, src, Inside(set), 0, nil); return n },
		"statistics": func(src Source) any { s, _ := Statistics(ctx, src, StatisticsOptions{PerThread: true}); return s },
		"tree": func(src Source) any {
			tree, _ := CallTree(ctx, src, TreeOptions{})
			root := tree.Nodes[0]
			return [4]int64{int64(len(tree.Nodes)), root.Calls, root.Total, root.Self}
		},
		"stacks": func(src Source) any {
			var list [][]Call
			for row := int64(1); row < 5000; row += 499 {
				s, _ := Stack(src, row)
				list = append(list, s)
			}
			return list[len(list)-1]
		},
		"view": func(src Source) any { v := NewView(src, Below(set)); v.Run(ctx, nil); return v.Len() },
		"timeline": func(src Source) any {
			from, to, _ := TimeSpan(src, 0, src.Len())
			spans, _, _ := NewTimeline(src).Spans(nil, SpanQuery{From: from, To: to, Pixels: 500, MaxDepth: 50})
			return len(spans) > 0
		},
	}
	log := namedLog(1, 5000)
	want := map[string][]any{}
	for _, namer := range []calls.Namer{nil, testlog.Namer} {
		x, err := Build(ctx, log, log.Runs, namer, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, query := range queries {
			want[name] = append(want[name], query(x))
		}
	}
	x, err := Build(ctx, log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for name, query := range queries {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := query(x); !reflect.DeepEqual(got, want[name][0]) && !reflect.DeepEqual(got, want[name][1]) {
					t.Errorf("%s: the answer is of neither index", name)
					return
				}
			}
		}()
	}
	for k := range 20 {
		namer := calls.Namer(testlog.Namer)
		if k%2 == 1 {
			namer = nil
		}
		if err := x.Build(ctx, namer, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
}

// TestBuildGoesOn stops a build and begins it again: what was there stays, and is
// not read again.
func TestBuildGoesOn(t *testing.T) {
	smallBlocks(t, 16)
	smallSegments(t, 2)
	log := namedLog(2, 5000)
	x := New(log, log.Runs)
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		had := x.Len()
		err := x.Build(ctx, nil, func(done, total int64) {
			if done < had {
				t.Errorf("row %d of %d again", done, had)
			}
			cancel()
		})
		if !errors.Is(err, context.Canceled) || x.Len() <= had || x.Done() {
			t.Fatalf("%v, %d rows after %d", err, x.Len(), had)
		}
		// One with names begins anew, but not where it can be seen.
		had = x.Len()
		if err := x.Build(ctx, testlog.Namer, nil); !errors.Is(err, context.Canceled) || x.Len() != had {
			t.Fatalf("%v, %d rows after %d", err, x.Len(), had)
		}
	}
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	p, err := expect(log, log.Runs, oracle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.differs(x); err != nil {
		t.Error(err)
	}
}

// finest returns the spans of a query in all detail.
func finest(t *testing.T, lines *Timeline, q SpanQuery) []Span {
	t.Helper()
	for {
		spans, finer, err := lines.Spans(nil, q)
		if err != nil {
			t.Fatal(err)
		}
		if !finer {
			return spans
		}
	}
}

// TestFollowed has views and a timeline of an index that is built again.
func TestFollowed(t *testing.T) {
	smallBlocks(t, 64)
	ctx := context.Background()
	log := namedLog(3, 10_000)
	set := NewSet(1)
	set.Add(3)
	x := New(log, log.Runs)
	var folded []int64
	for row := range int64(len(log.Events)) {
		if row%500 == 0 && log.Events[row].Kind == parser.Enter {
			folded = append(folded, row)
		}
	}
	view := NewView(x, And(Inside(set), AtDepth(3, 1000)))
	hidden, err := view.Hide(folded, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := NewTimeline(x)
	var answers [][3]int
	for _, namer := range []calls.Namer{nil, testlog.Namer, nil} {
		if err := x.Build(ctx, namer, nil); err != nil {
			t.Fatal(err)
		}
		fresh := NewView(x, And(Inside(set), AtDepth(3, 1000)))
		freshHidden, err := fresh.Hide(folded, nil)
		if err != nil {
			t.Fatal(err)
		}
		// A view can be stopped while it counts anew.
		stopped, stop := context.WithCancel(ctx)
		stop()
		hidden.Run(stopped, nil)
		var rows [4][]int64
		for i, v := range []*View{hidden, view, freshHidden, fresh} {
			if err := v.Run(ctx, nil); err != nil {
				t.Fatal(err)
			}
			rows[i] = make([]int64, v.Len())
			if n, err := v.Read(rows[i], 0); err != nil || n != len(rows[i]) {
				t.Fatal(n, err)
			}
		}
		if !reflect.DeepEqual(rows[0], rows[2]) || !reflect.DeepEqual(rows[1], rows[3]) {
			t.Errorf("%d rows and %d with folds, want %d and %d", len(rows[1]), len(rows[0]), len(rows[3]), len(rows[2]))
		}
		from, to, err := TimeSpan(x, 0, x.Len())
		if err != nil {
			t.Fatal(err)
		}
		q := SpanQuery{From: from, To: to, Pixels: MaxPixels, MaxDepth: 50}
		got, want := finest(t, lines, q), finest(t, NewTimeline(x), q)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d spans, want %d", len(got), len(want))
		}
		answers = append(answers, [3]int{len(rows[0]), len(rows[1]), len(got)})
	}
	if answers[0] == answers[1] {
		t.Error("names change nothing")
	}
}
