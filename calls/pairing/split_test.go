package pairing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/parser"
)

// splitText writes what a splitter returns of the calls of a block: of each thread its ended calls and then its open ones, each with
// the function, the rows of its halves and its depth above that of the block's first event, "r" for recursive.
func splitText(s *splitter, threads []parser.ThreadCalls) string {
	var list []string
	for k := range threads {
		t := &threads[k]
		calls := []string{string(rune(t.Thread))}
		for i, c := range slices.Concat(t.Ended, t.Open) {
			address, _ := s.Address(c.Address)
			enter, leave, recursive := "-", "-", ""
			if c.Enter >= t.First {
				enter = fmt.Sprint(s.Row(k, c.Enter))
			}
			if i < len(t.Ended) {
				leave = fmt.Sprint(s.Row(k, c.Leave))
			}
			if c.Recursive {
				recursive = "r"
			}
			calls = append(calls, fmt.Sprintf("%c:%s-%s@%d%s", rune(address>>8), enter, leave, c.Depth-t.Depth, recursive))
		}
		list = append(list, strings.Join(calls, " "))
	}
	return strings.Join(list, "; ")
}

// TestSplit has blocks of eight events.
func TestSplit(t *testing.T) {
	for _, test := range []struct {
		name, rows string
		want       []string // of each block; empty where it is not ordinary
	}{
		{"calls", "A>f A>g A<g A<f A>h A<h A>h A>i", []string{"A g:1-2@1 f:0-3@0 h:4-5@0 h:6--@0 i:7--@1"}},
		{"threads", "B>f A>g B<f B>g A<g B<g A>h B>h", []string{"B f:0-2@0 g:3-5@0 h:7--@0; A g:1-4@0 h:6--@0"}},
		{"calls of before", "A>f A<f A<p A>g A<g A<q A>h A<h", []string{"A f:0-1@0 p:--2@-1 g:3-4@-1 q:--5@-2 h:6-7@-2"}},
		{"recursion", "A>f A>f A>g A<g A<f A<f A>f A<f", []string{"A g:2-3@2 f:1-4@1r f:0-5@0 f:6-7@0"}},
		{"recursion is that of the block",
			"A>f A>g A<g A>g A<g A>g A<g A>h   A>f A<f A<h A<f A>f A>f A<f A<f",
			[]string{"A g:1-2@1 g:3-4@1 g:5-6@1 f:0--@0 h:7--@1", "A f:0-1@0 h:--2@-1 f:--3@-2 f:5-6@-1r f:4-7@-2"}},
		{"a leave of another call", "A>f A>f A<g A<f A<f A>f A<f A>h   A>f A<f A>f A<f A>f A<f A>f A<f",
			[]string{"", "A f:0-1@0 f:2-3@0 f:4-5@0 f:6-7@0"}},
		{"a damaged record", "A>f A<f A>f A?f A<f A>f A<f A>f   B>f B<f B>f B<f B>f B<f B>f B<f",
			[]string{"", "B f:0-1@0 f:2-3@0 f:4-5@0 f:6-7@0"}},
		{"spaces", "A>f A>f' A<f' A<f A>f A<f A>f A<f'", []string{""}},
	} {
		log := testlog.Script(test.rows)
		s := newSplitter(log, 0)
		for i, want := range test.want {
			threads, ok := s.Next(8)
			if got := splitText(s, threads); ok != (want != "") || got != want {
				t.Errorf("%s, block %d: %t, %q, want %q", test.name, i, ok, got, want)
			}
		}
		if _, ok := s.Next(8); ok {
			t.Errorf("%s: a block behind the log's end", test.name)
		}
	}
}

// TestSplitTimes has times that fall, and as many threads and addresses as there may be, and one more.
func TestSplitTimes(t *testing.T) {
	ordinary := func(change func(events []parser.Event)) bool {
		log := &testlog.Memory{}
		for i := range sizes.MaxBlock {
			log.Events = append(log.Events, parser.Event{Address: 7, Thread: uint32(i / 2), Kind: parser.Kind(i % 2), Time: int64(i)})
		}
		change(log.Events)
		_, ok := newSplitter(log, 0).Next(len(log.Events))
		return ok
	}
	for _, test := range []struct {
		name   string
		change func(events []parser.Event)
		want   bool
	}{
		{"as they are", func(events []parser.Event) {
			for i := range events {
				events[i].Thread %= maxSplitThreads
			}
		}, true},
		{"a thread too many", func(events []parser.Event) {
			for i := range events {
				events[i].Thread %= maxSplitThreads + 1
			}
		}, false},
		{"a time that falls", func(events []parser.Event) {
			for i := range events {
				events[i].Thread = 1
			}
			events[100].Time = 98
		}, false},
		{"many addresses", func(events []parser.Event) {
			for i := range events {
				events[i].Thread, events[i].Address = 1, uint64(i/2)*0x10001
			}
		}, true},
		{"a gap", func(events []parser.Event) {
			for i := range events {
				events[i].Thread = 1
			}
			events[100].Gap = parser.CallsLeft
		}, false},
	} {
		if got := ordinary(test.change); got != test.want {
			t.Errorf("%s: ordinary %t", test.name, got)
		}
	}
}

// TestSplitMerge pairs logs in which nearly all blocks are ordinary, by segments and in order. Without exact leaves, a leave may
// close what was entered in an earlier block by other rules than the splitter's.
func TestSplitMerge(t *testing.T) {
	small(t)
	const rows = 800
	merged := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := &testlog.Program{Rand: r, Threads: 1 + r.IntN(4), Functions: 2 + r.IntN(6), Enters: 40 + r.IntN(20)}
		if seed%3 > 0 {
			g.Stray, g.Unwind, g.Damage, g.Backward = r.IntN(2), r.IntN(2), r.IntN(2), r.IntN(2)
		}
		log := &testlog.Memory{Events: g.Events(rows)[:rows], Exact: seed%2 == 0}
		var names *Names
		if seed%4 > 1 {
			names = NewNames(testlog.Namer)
		}
		want, got := newPairing(log, names), newPairing(log, names)
		segment := got.NewSegment()
		for row := int64(0); row < rows; {
			n := min(int64(1+r.IntN(20))*sizes.Block, rows-row)
			if err := segment.Pair(context.Background(), 0, row, row+n, row); err != nil {
				t.Fatal(err)
			}
			events := log.Events[row : row+n]
			want.Add(events)
			if !segment.Failed() && got.CanMerge(segment) {
				merged++
				got.Merge(segment, row)
			} else {
				got.Add(events)
			}
			row += n
		}
		if err := want.differs(got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if merged < 1000 {
		t.Errorf("%d segments taken over", merged)
	}
}
