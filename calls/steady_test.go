package calls_test

import (
	"context"
	"reflect"
	"sync"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/profile"
	"logparser/calls/query"
	"logparser/calls/timeline"
	"logparser/internal/testlog"
	"logparser/parser"
)

// TestBuiltAgainUnderQueries builds an index again and again while it is asked,
// with names and without: each answer must be that of the one or of the other.
func TestBuiltAgainUnderQueries(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	ctx := context.Background()
	set := query.NewSet(1)
	set.Add(3)
	queries := map[string]func(src *index.Index) any{
		"count": func(src *index.Index) any { n, _, _ := query.Count(ctx, src, query.Inside(set), 0, nil); return n },
		"statistics": func(src *index.Index) any {
			s, _ := profile.Statistics(ctx, src, profile.StatisticsOptions{PerThread: true})
			return s
		},
		"tree": func(src *index.Index) any {
			tree, _ := profile.CallTree(ctx, src, profile.TreeOptions{})
			root := tree.Nodes[0]
			return [4]int64{int64(len(tree.Nodes)), root.Calls, root.Total, root.Self}
		},
		"stacks": func(src *index.Index) any {
			var list [][]index.Call
			for row := int64(1); row < 5000; row += 499 {
				s, _ := query.Stack(src, row)
				list = append(list, s)
			}
			return list[len(list)-1]
		},
		"view": func(src *index.Index) any {
			v := query.NewView(src, query.Inside(set))
			v.Run(ctx, nil)
			return v.Len()
		},
		"timeline": func(src *index.Index) any {
			from, to, _ := timeline.TimeSpan(src, 0, src.Len())
			spans, _, _ := timeline.NewTimeline(src).Spans(nil, timeline.SpanQuery{From: from, To: to, Pixels: 500, MaxDepth: 50})
			return len(spans) > 0
		},
	}
	log := testlog.NamedLog(1, 5000)
	want := map[string][]any{}
	for _, namer := range []calls.Namer{nil, testlog.Namer} {
		x, err := index.Build(ctx, log, log.Runs, namer, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, query := range queries {
			want[name] = append(want[name], query(x))
		}
	}
	x, err := index.Build(ctx, log, log.Runs, nil, nil)
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

// finest returns the spans of a query in all detail.
func finest(t *testing.T, lines *timeline.Timeline, q timeline.SpanQuery) []timeline.Span {
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
	logtest.SmallBlocks(t, 64)
	ctx := context.Background()
	log := testlog.NamedLog(3, 10_000)
	set := query.NewSet(1)
	set.Add(3)
	x := index.New(log, log.Runs)
	var folded []int64
	for row := range int64(len(log.Events)) {
		if row%500 == 0 && log.Events[row].Kind == parser.Enter {
			folded = append(folded, row)
		}
	}
	view := query.NewView(x, query.And(query.Inside(set), query.AtDepth(3, 1000)))
	hidden, err := view.Hide(folded, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := timeline.NewTimeline(x)
	var answers [][3]int
	for _, namer := range []calls.Namer{nil, testlog.Namer, nil} {
		if err := x.Build(ctx, namer, nil); err != nil {
			t.Fatal(err)
		}
		fresh := query.NewView(x, query.And(query.Inside(set), query.AtDepth(3, 1000)))
		freshHidden, err := fresh.Hide(folded, nil)
		if err != nil {
			t.Fatal(err)
		}
		// A view can be stopped while it counts anew.
		stopped, stop := context.WithCancel(ctx)
		stop()
		hidden.Run(stopped, nil)
		var rows [4][]int64
		for i, v := range []*query.View{hidden, view, freshHidden, fresh} {
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
		from, to, err := timeline.TimeSpan(x, 0, x.Len())
		if err != nil {
			t.Fatal(err)
		}
		q := timeline.SpanQuery{From: from, To: to, Pixels: timeline.MaxPixels, MaxDepth: 50}
		got, want := finest(t, lines, q), finest(t, timeline.NewTimeline(x), q)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d spans, want %d", len(got), len(want))
		}
		answers = append(answers, [3]int{len(rows[0]), len(rows[1]), len(got)})
	}
	if answers[0] == answers[1] {
		t.Error("names change nothing")
	}
}
