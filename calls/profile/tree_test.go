package profile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// sums is a tree by paths, each the groups from the root on.
type sums map[string]*[5]int64 // calls, timed, running, total, self

func (s sums) add(path string, n, timed, running, total, self int64) {
	if s[path] == nil {
		s[path] = new([5]int64)
	}
	for i, v := range []int64{n, timed, running, total, self} {
		s[path][i] += v
	}
}

func (s sums) text() []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(s)) {
		list = append(list, fmt.Sprint(path, " ", *s[path]))
	}
	return list
}

func plainTree(src *oracle.Log, p logtest.Expected, group func(uint32) uint32, o TreeOptions) sums {
	tree := sums{}
	for row := range src.Len() {
		if src.Rows[row].Kind != parser.Enter || !p.Pass(row) || group(src.Rows[row].Number) == NoGroup {
			continue
		}
		var chain []uint32 // innermost first
		for c := row; c >= 0; c = src.CallerRow(c) {
			if g := group(src.Rows[c].Number); g != NoGroup {
				chain = append(chain, g)
			}
		}
		var timed, running, total, self int64
		call := src.Rows[row].Call
		if call.Anomaly == calls.Open || call.Anomaly == calls.Running {
			running, total, self = 1, call.Duration, call.Self
		} else if call.Duration != calls.NoDuration {
			timed, total, self = 1, call.Duration, call.Self
		}
		path := ""
		if o.PerThread {
			path = fmt.Sprintf("thread %d", src.Rows[row].Slot)
		}
		if !o.BottomUp {
			slices.Reverse(chain)
			for i, g := range chain {
				path += fmt.Sprint("/", g)
				if i < len(chain)-1 {
					tree.add(path, 0, 0, 0, 0, 0)
				}
			}
			tree.add(path, 1, timed, running, total, self)
			continue
		}
		if call.Recursive(group) {
			total = 0
		}
		for _, g := range chain {
			path += fmt.Sprint("/", g)
			tree.add(path, 1, timed, running, total, self)
		}
	}
	return tree
}

// plainWhole is the time in the outermost calls that count of a thread, or of
// AllThreads.
func plainWhole(src *oracle.Log, p logtest.Expected, group func(uint32) uint32, thread uint32) int64 {
	counts := func(row int64) (int64, bool) {
		if !p.Pass(row) || group(src.Rows[row].Number) == NoGroup {
			return 0, false
		}
		d := src.Rows[row].Call.Duration
		return d, d != calls.NoDuration
	}
	sum := int64(0)
	for row := range src.Len() {
		if src.Rows[row].Kind != parser.Enter || thread != AllThreads && src.Rows[row].Slot != thread {
			continue
		}
		d, ok := counts(row)
		for c := src.CallerRow(row); ok && c >= 0; c = src.CallerRow(c) {
			if _, covered := counts(c); covered {
				ok = false
			}
		}
		if ok {
			sum += d
		}
	}
	return sum
}

func sumsOf(t *Tree) sums {
	list := sums{}
	var walk func(i int32, path string)
	walk = func(i int32, path string) {
		for _, c := range t.Children(i) {
			n := t.Nodes[c]
			p := path
			switch {
			case n.Other:
				p += "/other"
			case n.Group == NoGroup:
				p = fmt.Sprintf("thread %d", n.Thread)
				walk(c, p)
				continue
			default:
				p += fmt.Sprint("/", n.Group)
			}
			list.add(p, n.Calls, n.Timed, n.Running, n.Total, n.Self)
			walk(c, p)
		}
	}
	walk(0, "")
	return list
}

func TestCallTree(t *testing.T) {
	logtest.EachLog(t, 50, 3000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		of, group := randomGroups(r, src)
		o := TreeOptions{Groups: of, PerThread: r.IntN(2) == 0, BottomUp: r.IntN(2) == 0}
		p := logtest.Expected{Pass: func(int64) bool { return true }}
		if r.IntN(2) == 0 {
			p = logtest.RandomPredicate(r, src, 2)
			o.Where = p
		}
		checkTree(t, src, tested, p, group, o)
	})
}

// checkTree holds a tree, and the same turned round, against what plainTree makes.
func checkTree(t *testing.T, src *oracle.Log, tested *index.Index, p logtest.Expected, group func(uint32) uint32, o TreeOptions) {
	t.Helper()
	tree, err := CallTree(t.Context(), tested, o)
	if err != nil {
		t.Fatal(err)
	}
	got, want := sumsOf(tree).text(), plainTree(src, p, group, o).text()
	if !slices.Equal(got, want) {
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				t.Fatalf("%+v\n%.1000s\n%.1000s", o, fmt.Sprint(got[min(i, len(got)):]), fmt.Sprint(want[i:]))
			}
		}
		t.Fatalf("%d paths, want %d", len(got), len(want))
	}
	var calls int64
	for row := range src.Len() {
		if src.Rows[row].Kind == parser.Enter && p.Pass(row) && group(src.Rows[row].Number) != NoGroup {
			calls++
		}
	}
	other := o
	other.BottomUp = !o.BottomUp
	turned, err := CallTree(t.Context(), tested, other)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := tree.Nodes[0].Total, turned.Nodes[0].Total; a != b {
		t.Fatalf("%+v: %d ns in all, turned round %d", o, a, b)
	}
	for _, i := range append([]int32{0}, tree.Children(0)...) {
		n := &tree.Nodes[i]
		if want := plainWhole(src, p, group, n.Thread); (i == 0 || n.Group == NoGroup && !n.Other) && n.Total != want {
			t.Fatalf("%+v: %d ns in thread %d, want %d", o, n.Total, n.Thread, want)
		}
	}
	if tree.Nodes[0].Calls != calls {
		t.Fatalf("%d calls, want %d", tree.Nodes[0].Calls, calls)
	}
}

// TestCallTreeBounded has more paths than there is room for, and a recursion
// deeper than the bound.
func TestCallTreeBounded(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	g := &testlog.Program{Rand: rand.New(rand.NewPCG(1, 1)), Threads: 2, Functions: 8, Enters: 50}
	log := &testlog.Memory{Events: g.Events(20000)}
	for i := range 4 * MaxTreeDepth {
		e := parser.Event{Address: 0x99, Thread: 7, Time: 1 << 50, Kind: parser.Enter}
		if i >= 2*MaxTreeDepth {
			e.Kind = parser.Leave
		}
		log.Events = append(log.Events, e)
	}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	_, src := logtest.Indexed(t, log, log.Runs, false)
	full, err := CallTree(t.Context(), src, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if full.Folded != MaxTreeDepth {
		t.Errorf("%d calls are folded", full.Folded)
	}
	for _, bottomUp := range []bool{false, true} {
		small, err := CallTree(t.Context(), src, TreeOptions{MaxNodes: 100, BottomUp: bottomUp})
		if err != nil {
			t.Fatal(err)
		}
		if len(small.Nodes) > 200 || small.Folded == 0 {
			t.Errorf("%d nodes, %d calls folded", len(small.Nodes), small.Folded)
		}
		if a, b := small.Nodes[0], full.Nodes[0]; a.Calls != b.Calls || a.Self != b.Self || a.Total != b.Total {
			t.Errorf("%+v, want %+v", a, b)
		}
	}
}
