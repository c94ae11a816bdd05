package app

import (
	"cmp"
	"slices"
)

// Around returns what of a top-down tree is around a function, all of its calls merged: its
// callees below it, and its callers, where each node's children are who called it. Calls that were
// made while another of the function was open are among the callees. Both roots stand for the
// function; they are nil where the tree has no call of it.
func (t *Tree) Around(function, module string) (callers, callees *TreeNode) {
	is := func(n *TreeNode) bool { return n.Function == function && n.Module == module && !n.Other }
	t.Walk(func(n *TreeNode, path []*TreeNode) bool {
		if !is(n) {
			return true
		}
		if callees == nil {
			callers, callees = &TreeNode{FunctionRef: n.FunctionRef}, &TreeNode{FunctionRef: n.FunctionRef}
		}
		addNode(callees, n)
		mergeChildren(callees, n)
		at := callers
		addNode(at, n)
		for i := len(path) - 1; i >= 0; i-- {
			if path[i].Function == "" {
				break // a thread
			}
			at = childOf(at, path[i])
			addNode(at, n)
		}
		return false
	})
	for _, n := range []*TreeNode{callers, callees} {
		if n != nil {
			sortNodes(n)
			if t.Cut > 0 {
				n.markPartial() // some of its calls may be among the others
			}
		}
	}
	return callers, callees
}

// addNode adds the numbers of a node to another.
func addNode(to, n *TreeNode) {
	to.Calls += n.Calls
	to.Timed += n.Timed
	to.Running += n.Running
	to.Total += n.Total
	to.Self += n.Self
	to.Bound, to.SelfBound = to.Bound.With(n.Bound), to.SelfBound.With(n.SelfBound)
}

// childOf returns the child of a node that stands for the same as another.
func childOf(to, n *TreeNode) *TreeNode {
	for _, c := range to.Children {
		if c.Key == n.Key && c.Function == n.Function && c.Module == n.Module && c.Other == n.Other {
			return c
		}
	}
	c := &TreeNode{FunctionRef: n.FunctionRef, Other: n.Other}
	to.Children = append(to.Children, c)
	return c
}

// mergeChildren adds what is below a node to what is below another.
func mergeChildren(to, n *TreeNode) {
	for _, c := range n.Children {
		m := childOf(to, c)
		addNode(m, c)
		mergeChildren(m, c)
	}
}

func sortNodes(n *TreeNode) {
	slices.SortStableFunc(n.Children, func(a, b *TreeNode) int { return cmp.Compare(b.Total, a.Total) })
	for _, c := range n.Children {
		sortNodes(c)
	}
}
