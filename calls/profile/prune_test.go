package profile

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// outline writes a tree, a line a node.
func outline(t *Tree, node int32, level int, b *strings.Builder) {
	n := &t.Nodes[node]
	fmt.Fprintln(b, strings.Repeat(" ", level), n.Group, n.Thread, n.Other, n.Calls, n.Timed, n.Running, n.Total, n.Self)
	for _, c := range t.Children(node) {
		outline(t, c, level+1, b)
	}
}

// callsBelow counts the calls of a node and of those below it, and their time.
func callsBelow(t *Tree, node int32) (n, time int64) {
	if c := &t.Nodes[node]; c.Group != NoGroup {
		n, time = c.Calls, c.Total
	}
	below := int64(0)
	for _, c := range t.Children(node) {
		calls, time := callsBelow(t, c)
		n += calls
		below += time
	}
	return n, max(time, below)
}

// TestCallTreeKeepsTheGreatest holds a bounded tree against the whole one: the
// nodes that stay are the same, they have the greatest share of calls and time, and what is folded is the
// sum of the rest, however many workers there were.
func TestCallTreeKeepsTheGreatest(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		g := &testlog.Program{Rand: r, Threads: 3, Functions: 4, Enters: 50}
		log := &testlog.Memory{Events: g.Events(2000)}
		log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
		_, x := logtest.Indexed(t, log, log.Runs, false)
		for _, o := range []TreeOptions{{}, {PerThread: true}, {BottomUp: true}, {BottomUp: true, PerThread: true}} {
			full, err := CallTree(t.Context(), x, o)
			if err != nil {
				t.Fatal(err)
			}
			o.MaxNodes = max(len(full.Nodes)/spareNodes+1, 8)
			if o.BottomUp {
				o.MaxNodes = len(full.Nodes)/2 + 1
			}
			small := boundedTree(t, x, o)
			if small.Folded == 0 && len(full.Nodes) > o.MaxNodes {
				t.Errorf("seed %d, %+v: nothing is folded of %d nodes", seed, o, len(full.Nodes))
			}
			calls, time := callsBelow(full, 0)
			weight := func(node int32) int64 {
				n, ns := callsBelow(full, node)
				return n + int64(float64(ns)*(float64(calls)/float64(time)))
			}
			least, most := int64(1<<60), int64(0)
			var compare func(a, b int32)
			compare = func(a, b int32) {
				rest := map[uint64]int32{}
				for _, c := range full.Children(b) {
					n := &full.Nodes[c]
					rest[uint64(n.Group)<<32|uint64(n.Thread)] = c
				}
				var other *TreeNode
				for _, c := range small.Children(a) {
					n := &small.Nodes[c]
					if n.Other {
						other = n
						continue
					}
					at, ok := rest[uint64(n.Group)<<32|uint64(n.Thread)]
					if !ok {
						t.Fatalf("seed %d, %+v: node %+v is not in the whole tree", seed, o, n)
					}
					delete(rest, uint64(n.Group)<<32|uint64(n.Thread))
					m := &full.Nodes[at]
					if n.Calls != m.Calls || n.Timed != m.Timed || n.Running != m.Running || n.Total != m.Total || n.Self != m.Self {
						t.Errorf("seed %d, %+v: %+v, want %+v", seed, o, n, m)
					}
					if n.Group != NoGroup {
						least = min(least, weight(at))
					}
					compare(c, at)
				}
				var sum TreeNode
				var add func(c int32)
				add = func(c int32) {
					m := &full.Nodes[c]
					sum.Calls += m.Calls
					sum.Timed += m.Timed
					sum.Running += m.Running
					sum.Self += m.Self
					if o.BottomUp && m.Group != NoGroup {
						return // its numbers have those of its callers
					}
					for _, c := range full.Children(c) {
						add(c)
					}
				}
				for _, c := range rest {
					add(c)
					sum.Total += full.Nodes[c].Total
					most = max(most, weight(c))
				}
				sum.Total = max(sum.Total, sum.Self)
				if other == nil {
					other = &TreeNode{}
				}
				if other.Calls != sum.Calls || other.Timed != sum.Timed || other.Running != sum.Running || other.Total != sum.Total || other.Self != sum.Self {
					t.Errorf("seed %d, %+v: folded %+v, want %+v", seed, o, other, sum)
				}
			}
			compare(0, 0)
			if most > least {
				t.Errorf("seed %d, %+v: a node of weight %d is kept, one of %d is not", seed, o, least, most)
			}
		}
	}
}

// boundedTree makes a tree twice, with one worker and with several: it is the same.
func boundedTree(t *testing.T, src *index.Index, o TreeOptions) *Tree {
	t.Helper()
	var tree *Tree
	var texts [2]string
	for i, n := range []int{1, 4} {
		before := runtime.GOMAXPROCS(n)
		made, err := CallTree(t.Context(), src, o)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		tree, texts[i] = made, treeText(made)
	}
	if texts[0] != texts[1] {
		t.Errorf("%+v: one worker makes\n%s\nfour make\n%s", o, texts[0], texts[1])
	}
	return tree
}

// treeText returns a tree as outline writes it.
func treeText(t *Tree) string {
	var b strings.Builder
	outline(t, 0, 0, &b)
	return b.String()
}

// TestFoldedCallsHaveTheirTime bounds trees so far that calls are folded as they
// come: threads have nodes all the same, and no node of what is folded has more
// time of its own than time.
func TestFoldedCallsHaveTheirTime(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	times := uint64(8)
	if testing.Short() {
		times = 1
	}
	for seed := range times {
		r := rand.New(rand.NewPCG(seed, 3))
		g := &testlog.Program{Rand: r, Threads: 6, Functions: 8, Enters: 55}
		log := &testlog.Memory{Events: g.Events(20000)}
		log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
		src, x := logtest.Indexed(t, log, log.Runs, false)
		for _, o := range []TreeOptions{{MaxNodes: 1}, {MaxNodes: 2, PerThread: true}, {MaxNodes: 30, PerThread: true}, {MaxNodes: 5, BottomUp: true}, {MaxNodes: 30, BottomUp: true, PerThread: true}} {
			for _, where := range []query.Predicate{nil, logtest.RandomPredicate(r, src, 2)} {
				o.Where = where
				tree, err := CallTree(t.Context(), x, o)
				if err != nil {
					t.Fatal(err)
				}
				threads := 0
				for i := range tree.Nodes[1:] {
					n := &tree.Nodes[i+1]
					if n.Other && n.Self > n.Total {
						t.Errorf("seed %d, %+v: %+v", seed, o, n)
					}
					if n.Group == NoGroup && !n.Other {
						threads++
					}
				}
				if o.PerThread && where == nil && threads != 6 {
					t.Errorf("seed %d, %+v: %d threads", seed, o, threads)
				}
			}
		}
	}
}

// TestBoundedTreeIsTheSame bounds trees so far that they are pruned while they grow, and makes each with one
// worker and with several, by rows and by calls: they are the same, and each node has the numbers that it has in the
// whole tree.
func TestBoundedTreeIsTheSame(t *testing.T) {
	defer func(before int64) { rowCost = before }(rowCost)
	pruned := 0
	eachTrace(t, 24, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		of, _ := randomGroups(r, src)
		for range 2 {
			rowCost = []int64{0, 1 << 40}[r.IntN(2)]
			o := TreeOptions{Groups: of, PerThread: r.IntN(2) == 0}
			if r.IntN(2) == 0 {
				o.Where = logtest.RandomPredicate(r, src, 2).Predicate
			}
			full, err := CallTree(t.Context(), tested, o)
			if err != nil {
				t.Fatal(err)
			}
			o.MaxNodes = len(full.Nodes)/(2+r.IntN(20)) + 1
			small := boundedTree(t, tested, o)
			if len(full.Nodes) > spareNodes*o.MaxNodes {
				pruned++
			}
			var compare func(a, b int32)
			compare = func(a, b int32) {
				for _, c := range small.Children(a) {
					n := small.Nodes[c]
					if n.Other {
						continue
					}
					at := slices.IndexFunc(full.Children(b), func(i int32) bool {
						return full.Nodes[i].Group == n.Group && full.Nodes[i].Thread == n.Thread
					})
					if at < 0 {
						t.Fatalf("%+v: node %+v is not in the whole tree", o, n)
					}
					whole := full.Children(b)[at]
					m := full.Nodes[whole]
					m.Parent = n.Parent
					if m != n {
						t.Errorf("%+v: %+v, want %+v", o, n, m)
					}
					compare(c, whole)
				}
			}
			compare(0, 0)
			if a, b := small.Nodes[0], full.Nodes[0]; a != b {
				t.Errorf("%+v: %+v in all, want %+v", o, a, b)
			}
			o.BottomUp = true
			boundedTree(t, tested, o)
		}
	})
	if pruned < 10 {
		t.Errorf("%d of 48 trees were pruned while they grew", pruned)
	}
}

// TestTreeOfFoldedCalls makes bounded trees of calls that are summed up and of the same ones that are not.
func TestTreeOfFoldedCalls(t *testing.T) {
	defer func(before int64) { rowCost = before }(rowCost)
	defer func() { foldCalls = true }()
	rowCost = 1 << 40
	asked, folded := 0, 0
	eachTrace(t, 24, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		asked++
		of, _ := randomGroups(r, src)
		o := TreeOptions{Groups: of, PerThread: r.IntN(2) == 0, MaxNodes: 2 + r.IntN(60)}
		if r.IntN(4) > 0 {
			o.Where = logtest.RandomPredicate(r, src, 2).Predicate
		}
		list := new([2]*Tree)
		for i := range list {
			foldCalls = i == 0
			var err error
			if list[i], err = CallTree(t.Context(), tested, o); err != nil {
				t.Fatal(err)
			}
		}
		if list[0].Folded > 0 {
			folded++
		}
		if a, b := treeText(list[0]), treeText(list[1]); a != b {
			t.Errorf("%+v: summed up\n%s\none by one\n%s", o, a, b)
		}
	})
	if folded*3 < asked {
		t.Errorf("%d of %d trees had no room for all calls", folded, asked)
	}
}

// TestWhatTakesLongStays prunes a tree in which each function is called often but for one, whose only call takes half of the time and is made
// by one that has not ended.
func TestWhatTakesLongStays(t *testing.T) {
	b := newTreeBuilder(growing)
	open := b.child(0, 1, AllThreads)
	long := b.child(open, 2, AllThreads)
	b.nodes[long].Calls, b.nodes[long].Total = 1, 1e9
	for group := range uint32(100) {
		n := &b.nodes[b.child(0, 10+group, AllThreads)]
		n.Calls, n.Total = 1000, 1e7
	}
	moved := new(pruner).prune(&b, 3, false)
	for _, node := range []int32{open, long} {
		if n := &b.nodes[moved[node]]; n.Other {
			t.Errorf("node %d is one that is Other", node)
		}
	}
}

// TestNewNodesOfPrunedTrees asks for nodes that a tree did not have when it was pruned: below those that had many calls there are
// any, below those that had some only one level, and below those that had few none.
func TestNewNodesOfPrunedTrees(t *testing.T) {
	b := newTreeBuilder(growing)
	const many, some, few = 1, 2, 3
	for group, calls := range map[uint32]int64{many: 1 << 20, some: 1 << 20 / (2 * wideShare), few: 1 << 20 / (2 * openShare), 4: 1} {
		b.nodes[b.child(0, group, AllThreads)].Calls = calls
	}
	new(pruner).prune(&b, 4, false) // the root and three nodes
	for group, levels := range map[uint32]int{many: 3, some: 1, few: 0} {
		at := b.child(0, group, AllThreads)
		if at == 0 || b.nodes[at].Group != group {
			t.Fatalf("group %d has no node", group)
		}
		for level := range 3 {
			at = b.child(at, 9, AllThreads)
			if n := &b.nodes[at]; n.Other != (level >= levels) {
				t.Errorf("group %d: level %d of what it calls is %+v, want %d levels", group, level, n, levels)
			}
		}
	}
}

// TestTreeIsPrunedEarly goes over the first parts of a log. A tree is pruned before it has too many nodes where these make it clear that it
// is going to have them, whoever has made which node.
func TestTreeIsPrunedEarly(t *testing.T) {
	const nodes = 1000
	limit := spareNodes * nodes
	for _, c := range []struct {
		name   string
		paths  int   // that have calls
		calls  int64 // of each
		often  int64 // of another
		parts  int
		pruned bool
	}{
		{"each path has one call", limit / 4, 1, estimateCalls, 64, true},
		{"each path has three calls", limit / 4, 3, estimateCalls, 64, false},
		{"too few paths", limit/estimateFrom - 3, 1, estimateCalls, 64, false},
		{"too few calls", limit / 4, 1, estimateCalls - int64(limit/4) - 1, 64, false},
		{"much of the log", limit / 4, 1, estimateCalls, 8, false},
	} {
		for _, workers := range []int{1, 2} {
			f := newForest(nodes)
			for range workers {
				b := newTreeBuilder(growing)
				f.trees = append(f.trees, &b)
			}
			f.round(0, c.parts)
			for i := range c.paths {
				b := f.trees[i%workers]
				b.nodes[b.child(0, uint32(i), AllThreads)].Calls += c.calls
			}
			b := f.trees[0]
			b.nodes[b.child(0, uint32(c.paths), AllThreads)].Calls += c.often
			for i := range c.paths {
				f.trees[(i+1)%workers].child(0, uint32(i), AllThreads) // without calls, as nodes of callers are
			}
			f.endRound()
			if pruned := f.prunedAt > 0; pruned != c.pruned {
				t.Errorf("%s, %d workers: pruned %v, want %v", c.name, workers, pruned, c.pruned)
			}
			if left := len(f.trees[0].nodes) - f.trees[0].others; c.pruned && left != f.keep {
				t.Errorf("%s, %d workers: %d nodes are left, want %d", c.name, workers, left, f.keep)
			}
		}
	}
}

// TestLeastPaths estimates how many paths there are from how often some were seen.
func TestLeastPaths(t *testing.T) {
	for _, c := range []struct {
		once, twice, more int
		want              int64
	}{
		{0, 0, 0, 0},
		{1, 0, 0, 1},
		{10, 0, 0, 10 + 45},
		{10, 4, 6, 20 + 9},
		{0, 5, 5, 10},
	} {
		b := newTreeBuilder(growing)
		group := uint32(0)
		for calls, n := range []int{1: c.once, c.twice, c.more} {
			for range n {
				b.nodes[b.child(0, group, AllThreads)].Calls = int64(calls)
				group++
			}
		}
		b.nodes[b.child(0, group, AllThreads)].Calls = 0
		if got := b.leastPaths(); got != c.want {
			t.Errorf("%d paths once, %d twice, %d more often: %d, want %d", c.once, c.twice, c.more, got, c.want)
		}
	}
}

// TestNearest holds the choice of places against a sort of all.
func TestNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, depths := range []int32{1, 2, 40} {
		for n := range 60 {
			places := make([]place, r.IntN(60))
			for i := range places {
				places[i] = place{way{r.Uint64()>>r.IntN(64)<<8&^0xff | uint64(i), r.Int32N(depths)}, int32(i)}
			}
			want := slices.Clone(places)
			slices.SortFunc(want, func(a, b place) int { return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.hash, b.hash)) })
			want = want[:min(n, len(want))]
			got := slices.Clone(nearest(places, n))
			slices.SortFunc(got, func(a, b place) int { return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.hash, b.hash)) })
			if !slices.Equal(got, want) {
				t.Fatalf("%d of %d places in %d depths: %v, want %v", n, len(places), depths, got, want)
			}
		}
	}
}
