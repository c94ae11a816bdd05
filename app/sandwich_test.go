package app

import (
	"fmt"
	"strings"
	"testing"

	"logparser/rows"
)

// TestAround has what is around a function that is called from two others, and calls itself.
func TestAround(t *testing.T) {
	node := func(name string, total, self int64, children ...*TreeNode) *TreeNode {
		return &TreeNode{FunctionRef: FunctionRef{Function: name, Key: uint32(name[0])}, Calls: 1, Timed: 1, Total: total, Self: self, Children: children}
	}
	tree := &Tree{Roots: []*TreeNode{
		node("main", 100, 10,
			node("a", 50, 10, node("f", 40, 10, node("g", 20, 20), node("f", 10, 5, node("h", 5, 5)))),
			node("b", 40, 10, node("f", 30, 10, node("g", 20, 20)))),
	}}
	var text func(n *TreeNode) string
	text = func(n *TreeNode) string {
		s := fmt.Sprintf("%s %d/%d/%d", n.Function, n.Calls, n.Total, n.Self)
		if len(n.Children) > 0 {
			var parts []string
			for _, c := range n.Children {
				parts = append(parts, text(c))
			}
			s += "(" + strings.Join(parts, " ") + ")"
		}
		return s
	}
	callers, callees := tree.Around("f", "")
	if got, want := text(callees), "f 2/70/20(g 2/40/40 f 1/10/5(h 1/5/5))"; got != want {
		t.Errorf("callees: %s, want %s", got, want)
	}
	if got, want := text(callers), "f 2/70/20(a 1/40/10(main 1/40/10) b 1/30/10(main 1/30/10))"; got != want {
		t.Errorf("callers: %s, want %s", got, want)
	}
	// How far times can be relied on goes to the sums that they are part of.
	tree.Walk(func(n *TreeNode, path []*TreeNode) bool {
		if n.Function == "f" && path[len(path)-1].Function == "a" {
			n.Bound, n.SelfBound = rows.AtLeast, rows.AtLeast
		} else if n.Function == "f" {
			n.Bound, n.SelfBound = rows.AtMost, rows.About
		}
		return true
	})
	callers, callees = tree.Around("f", "")
	for _, n := range []*TreeNode{callers, callees} {
		if n.Bound != rows.About || n.SelfBound != rows.About {
			t.Errorf("%v %v", n.Bound, n.SelfBound)
		}
	}
	if a, b := callers.Children[0], callers.Children[1]; a.Bound != rows.AtLeast || a.SelfBound != rows.AtLeast || a.Children[0].Bound != rows.AtLeast || b.Bound != rows.AtMost || b.SelfBound != rows.About {
		t.Errorf("%+v, %+v", a, b)
	}
	if callers, callees = tree.Around("nowhere", ""); callers != nil || callees != nil {
		t.Error("something is around a function that was not called")
	}
}
