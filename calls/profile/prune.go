package profile

import (
	"cmp"
	"slices"
)

// A tree is built with more nodes than it is to have, so that which of them
// remain does not depend on which worker came first, and is then pruned: those
// with the most calls stay.

// spareNodes is how many times the nodes of the tree are built before it is
// pruned. Beyond that calls are folded as they come.
const spareNodes = 4

// prune leaves the tree as many nodes as limit, and those of threads. What it
// leaves out is folded into a node that is Other below the parent.
func (t *treeBuilder) prune(limit int) {
	if len(t.nodes) <= limit {
		return
	}
	keep := t.mostCalled(limit)
	// outermost is the time in the outermost calls of a node's and of those
	// below it that are counted.
	outermost := make([]int64, len(t.nodes))
	for i := len(t.nodes) - 1; i > 0; i-- {
		n := &t.nodes[i]
		if n.Calls > 0 {
			outermost[i] = n.Total
		}
		if p := n.Parent; t.nodes[p].Calls == 0 {
			outermost[p] += outermost[i]
		}
	}
	nodes, moved, other := t.nodes[:1:1], make([]int32, len(t.nodes)), map[int32]int32{}
	for i := 1; i < len(t.nodes); i++ {
		n := t.nodes[i]
		parent := moved[n.Parent]
		if keep[i] {
			n.Parent = parent
			moved[i] = int32(len(nodes))
			nodes = append(nodes, n)
			continue
		}
		at, top := parent, keep[n.Parent]
		if top {
			var ok bool
			if at, ok = other[parent]; !ok {
				at = int32(len(nodes))
				other[parent] = at
				nodes = append(nodes, TreeNode{Group: NoGroup, Thread: n.Thread, Parent: parent, Other: true})
			}
		}
		moved[i] = at
		m := &nodes[at]
		m.Calls += n.Calls
		m.Timed += n.Timed
		m.Running += n.Running
		m.Self += n.Self
		if top {
			m.Total += outermost[i]
		}
	}
	t.nodes = nodes
	t.last, t.slots = nil, nil // it grows no more
}

// mostCalled returns which nodes are among the limit with the most calls, those
// below them counted too, with the root and the threads: with a node its parent
// is. Equal ones are told apart by the way to them.
func (t *treeBuilder) mostCalled(limit int) []bool {
	type place struct {
		calls int64
		path  uint64
		depth int32
		node  int32
	}
	places := make([]place, len(t.nodes))
	for i := range places {
		n, p := &t.nodes[i], &places[i]
		p.node, p.calls = int32(i), n.Calls
		if i > 0 {
			above := &places[n.Parent]
			p.depth = above.depth + 1
			p.path = (above.path ^ uint64(n.Group)<<32 ^ uint64(n.Thread)) * 0x9e3779b97f4a7c15
			p.path ^= p.path >> 29
		}
	}
	for i := len(places) - 1; i > 0; i-- {
		places[t.nodes[i].Parent].calls += places[i].calls
	}
	keep := make([]bool, len(t.nodes))
	kept := 0
	for i := range t.nodes {
		if n := &t.nodes[i]; n.Group == NoGroup && !n.Other {
			keep[i] = true
			kept++
		}
	}
	places = slices.DeleteFunc(places, func(p place) bool { return keep[p.node] || t.nodes[p.node].Other })
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(b.calls, a.calls), cmp.Compare(a.depth, b.depth), cmp.Compare(a.path, b.path))
	})
	for _, p := range places[:min(max(limit-kept, 0), len(places))] {
		keep[p.node] = true
	}
	return keep
}
