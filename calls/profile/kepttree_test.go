package profile

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"logparser/calls/index"
	"logparser/calls/indexcache"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// A readLog counts how often it is read.
type readLog struct {
	*testlog.Memory
	reads atomic.Int64
}

func (l *readLog) ReadEvents(dst []parser.Event, from int64) (int, error) {
	l.reads.Add(1)
	return l.Memory.ReadEvents(dst, from)
}

// TestKeptTree makes trees twice of logs with a kept index, which are not read for the second.
func TestKeptTree(t *testing.T) {
	defer func(before int64) { keptEvents = before }(keptEvents)
	keptEvents = 0
	logtest.SmallBlocks(t, 64)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		log := &readLog{Memory: testlog.Random(r, 1+r.IntN(3000))}
		src, err := oracle.New(log, log.Runs, oracle.Options{})
		if err != nil {
			t.Fatal(err)
		}
		store := indexcache.Store{Folder: t.TempDir()}
		keep := func() *index.Index {
			x := index.New(log, log.Runs)
			x.Keep(store, indexcache.Key{1})
			if err := x.Build(t.Context(), nil, nil); err != nil {
				t.Fatal(err)
			}
			return x
		}
		tree := func(x *index.Index, o TreeOptions) (*Tree, bool) {
			before := log.reads.Load()
			made, err := CallTree(t.Context(), x, o)
			if err != nil {
				t.Fatal(err)
			}
			return made, log.reads.Load() > before
		}
		x := keep()
		of, group := randomGroups(r, src)
		o := TreeOptions{Groups: of, PerThread: r.IntN(2) == 0, BottomUp: r.IntN(2) == 0, MaxNodes: []int{0, 0, 20}[r.IntN(3)]}
		made, read := tree(x, o)
		if !read {
			t.Fatalf("seed %d: the first tree was not made of the log", seed)
		}
		for _, x := range []*index.Index{x, keep()} {
			again, read := tree(x, o)
			for i := range made.Nodes {
				if i < len(again.Nodes) && again.Nodes[i] != made.Nodes[i] {
					t.Fatalf("seed %d, %+v: node %d is %+v, want %+v", seed, o, i, again.Nodes[i], made.Nodes[i])
				}
			}
			if read || !reflect.DeepEqual(again, made) {
				t.Fatalf("seed %d, %+v: read %v\n%+v\nwant\n%+v", seed, o, read, again, made)
			}
		}
		x = keep()
		// What all enters pass is no filter.
		filtered := o
		filtered.Where = query.OfKind(parser.Enter)
		if again, read := tree(x, filtered); read || !reflect.DeepEqual(again, made) {
			t.Fatalf("seed %d: the tree of all enters is another one, or was not taken (%v)", seed, read)
		}
		if o.MaxNodes == 0 {
			// The other way round it is another tree.
			checkTree(t, src, x, logtest.Expected{Pass: func(int64) bool { return true }}, group, o)
		}
		others := map[string]TreeOptions{}
		other := o
		other.MaxNodes = 5
		others["fewer nodes"] = other
		other = o
		other.Correct = func(int64, []int64, []int64) {}
		others["correction"] = other
		other = o
		if other.Groups = slices.Clone(of); len(of) > 0 {
			if other.Groups[0] != 0 {
				other.Groups[0] = 0
			} else {
				other.Groups[0] = 1
			}
			others["groups"] = other
		}
		for name, o := range others {
			if _, read := tree(x, o); !read {
				t.Errorf("seed %d, other %s: the tree was taken", seed, name)
			}
		}
		x.SetLive(true)
		if _, read := tree(x, o); !read {
			t.Errorf("seed %d: the tree was taken of a log that grows", seed)
		}
		x.SetLive(false)
		if err := x.Extend(t.Context(), log.Runs, nil, nil); err != nil {
			t.Fatal(err)
		}
		if _, read := tree(x, o); !read {
			t.Errorf("seed %d: the tree was taken of a log that has grown", seed)
		}
	}
}

// FuzzKeptTree decodes what no tree was kept as.
func FuzzKeptTree(f *testing.F) {
	t := &Tree{Nodes: []TreeNode{{Group: NoGroup, Thread: AllThreads, Parent: -1, Calls: 2, Timed: 2, Total: 9, Self: 9},
		{Group: 1, Thread: AllThreads, Calls: 2, Timed: 1, Running: 1, Total: 9, Self: 2}, {Group: NoGroup, Thread: AllThreads, Parent: 1, Other: true}}}
	f.Add(t.encode(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree := decodeTree(b, 3, 2)
		if tree == nil {
			return
		}
		seen := 0
		for i := range tree.Nodes {
			seen += len(tree.Children(int32(i)))
			if n := &tree.Nodes[i]; i > 0 && (n.Parent < 0 || int(n.Parent) >= i) || n.Group != NoGroup && n.Group >= 3 || n.Thread != AllThreads && n.Thread >= 2 {
				t.Fatalf("node %d: %+v", i, *n)
			}
		}
		if seen != len(tree.Nodes)-1 {
			t.Fatalf("%d children of %d nodes", seen, len(tree.Nodes))
		}
	})
}

// TestKeptTreeOfFewerRows lets a log grow and its index be kept while a tree is made: a tree that lacks rows is not that of
// the log that was kept.
func TestKeptTreeOfFewerRows(t *testing.T) {
	defer func(before int64) { keptEvents = before }(keptEvents)
	keptEvents = 0
	logtest.SmallBlocks(t, 64)
	g := &testlog.Program{Rand: rand.New(rand.NewPCG(1, 9)), Threads: 3, Functions: 4, Enters: 50}
	log := &testlog.Memory{Events: g.Events(2000)}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	store := indexcache.Store{Folder: t.TempDir()}
	x := index.New(log, testlog.UpTo(log.Runs, 1000))
	x.Keep(store, indexcache.Key{1})
	if err := x.Build(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	grown := false
	o := TreeOptions{Progress: func(int64, int64) {
		if grown {
			return
		}
		grown = true
		if err := x.Extend(t.Context(), log.Runs, nil, nil); err != nil {
			t.Error(err)
		}
		x.SetLive(false)
		if err := x.Save(store, indexcache.Key{2}); err != nil {
			t.Error(err)
		}
	}}
	x.SetLive(true)
	if _, err := CallTree(t.Context(), x, o); err != nil || !grown {
		t.Fatal(err, grown)
	}
	again := index.New(log, log.Runs)
	again.Keep(store, indexcache.Key{2})
	want := index.New(log, log.Runs)
	for _, x := range []*index.Index{again, want} {
		if err := x.Build(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := CallTree(t.Context(), again, TreeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := CallTree(t.Context(), want, TreeOptions{}); err != nil || !reflect.DeepEqual(tree, whole) {
		t.Fatalf("%d calls, %v, want %d", tree.Nodes[0].Calls, err, whole.Nodes[0].Calls)
	}
}
