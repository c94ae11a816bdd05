package app

import (
	"bytes"
	"encoding/csv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/rows"
)

// branchingTrace writes a log of two threads with more paths of calls than a small tree has room for.
func branchingTrace(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.lptrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tracetest.NewWriter(f)
	r := rand.New(rand.NewPCG(3, 4))
	now := uint64(1000)
	for thread := range uint32(2) {
		th := w.Thread(thread+1, 0, uint64(7+thread))
		depth := 0
		for range 30000 {
			now += 10 + r.Uint64N(50)
			if depth > 0 && r.IntN(12) < depth {
				th.Leave(now)
				depth--
			} else {
				th.Enter(now, 0x401000+0x10*uint64(r.IntN(12)), tracetest.Entry)
				depth++
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCallersAreWhole compares trees of callers that had no room for all paths with the statistics, and with the whole tree.
func TestCallersAreWhole(t *testing.T) {
	s := open(t, Inputs{Log: branchingTrace(t)})
	for _, test := range []struct {
		name string
		sel  Selection
		opt  TreeOptions
	}{
		{"all", Selection{}, TreeOptions{}},
		{"a filter", Selection{Where: "depth:2.."}, TreeOptions{}},
		{"a range", Selection{Where: "row:1000..5000", Clip: true}, TreeOptions{}},
		{"by thread", Selection{}, TreeOptions{ByThread: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tree := func(nodes int) *Tree {
				opt := test.opt
				opt.BottomUp, opt.MaxNodes = true, nodes
				tree, err := s.CallTree(t.Context(), test.sel, opt, nil)
				if err != nil {
					t.Fatal(err)
				}
				return tree
			}
			whole := tree(1 << 20)
			if whole.Cut != 0 {
				t.Fatalf("%d calls are cut", whole.Cut)
			}
			type key struct {
				thread uint32
				path   string
			}
			numbers := make(map[key]*TreeNode)
			each := func(tree *Tree, f func(k key, n *TreeNode, top bool)) {
				tree.Walk(func(n *TreeNode, path []*TreeNode) bool {
					k := key{thread: n.Thread}
					for _, p := range path {
						k.path += "/" + p.Function
					}
					k.path += "/" + n.Label()
					f(k, n, n.Function != "" && (len(path) == 0 || path[len(path)-1].Function == ""))
					return true
				})
			}
			tops := 0
			each(whole, func(k key, n *TreeNode, top bool) {
				if numbers[k] = n; top {
					tops++
				}
			})
			cut := tree(300)
			if cut.Cut == 0 {
				t.Fatal("nothing is cut")
			}
			marked := 0
			each(cut, func(k key, n *TreeNode, top bool) {
				if top {
					tops--
				}
				want := numbers[k]
				switch {
				case n.Other && k.path == "/(others)":
					t.Error("calls of no function")
				case n.Other:
				case want == nil:
					t.Errorf("%v: there is none in the whole tree", k)
				case n.Partial:
					if marked++; n.Calls > want.Calls || n.Total > want.Total || n.Self > want.Self || n.Bound != rows.AtLeast && n.Bound != rows.About {
						t.Errorf("%v: %d calls, %d and %d ns, want at most %d, %d and %d; %v", k, n.Calls, n.Total, n.Self, want.Calls, want.Total, want.Self, n.Bound)
					}
				case n.Calls != want.Calls || n.Timed != want.Timed || n.Running != want.Running || n.Total != want.Total || n.Self != want.Self:
					t.Errorf("%v: %d calls, %d timed, %d running, %d and %d ns, want %d, %d, %d, %d and %d", k, n.Calls, n.Timed, n.Running, n.Total, n.Self,
						want.Calls, want.Timed, want.Running, want.Total, want.Self)
				}
				if top && len(n.Children) > 0 {
					var calls int64
					for _, c := range n.Children {
						calls += c.Calls
					}
					if calls > n.Calls {
						t.Errorf("%v: %d calls, and its callers made %d", k, n.Calls, calls)
					}
				}
			})
			if tops != 0 || marked == 0 {
				t.Errorf("%d functions are missing, %d callers are marked", tops, marked)
			}
			var b bytes.Buffer
			if err := WriteTree(&b, "csv", cut, SaveOptions{}); err != nil {
				t.Fatal(err)
			}
			table, err := csv.NewReader(&b).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			told := 0
			for _, row := range table[1:] {
				if row[len(row)-1] == "at least" {
					told++
				}
			}
			if told < marked {
				t.Errorf("%d lines say that they are at least, want %d", told, marked)
			}
		})
	}
}
