package profile

import (
	"cmp"
	"math"
	"slices"
)

// A tree is built with more nodes than it is to have, and is then pruned: those
// with the most calls stay.

// spareNodes is how many times the nodes of the tree are built before it is
// pruned.
const spareNodes = 3

// prune leaves the tree as many nodes as limit, and those of threads. What it
// leaves out is folded into a node that is Other below the parent, which gets no more children
// then. It returns which nodes they are now.
func (t *treeBuilder) prune(limit int) (moved []int32) {
	folded := 0
	for i := range t.nodes {
		if t.nodes[i].Other {
			folded++
		}
	}
	if len(t.nodes)-folded <= limit {
		return nil
	}
	keep, below := t.mostCalled(limit)
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
	moved = make([]int32, len(t.nodes))
	nodes := append(make([]grownNode, 0, 2*limit), t.nodes[0])
	nodes[0].last, nodes[0].folded = 0, 0
	for i := 1; i < len(t.nodes); i++ {
		n := t.nodes[i]
		parent := moved[n.Parent]
		if keep[i] {
			n.Parent, n.last, n.folded = parent, 0, 0
			n.closed = n.closed || below[i] < below[0]/fewCalls
			moved[i] = int32(len(nodes))
			nodes = append(nodes, n)
			continue
		}
		at, top := parent, keep[n.Parent]
		if top {
			p := &nodes[parent]
			if at = p.folded; at == 0 {
				at = int32(len(nodes))
				p.folded, p.closed = at, true
				nodes = append(nodes, grownNode{Group: NoGroup, Thread: n.Thread, Parent: parent, Other: true})
			}
		}
		moved[i] = at
		m := &nodes[at]
		m.add(&n)
		if top {
			m.Total += outermost[i]
		}
	}
	for i := range nodes {
		n := &nodes[i]
		n.leaf = n.closed
		if i > 0 && !n.Other {
			nodes[n.Parent].leaf = false
		}
	}
	t.nodes = nodes
	return moved
}

// mostCalled returns which nodes are among the limit with the most calls, those
// below them counted too, with the root and the threads: with a node its parent
// is. Equal ones are told apart by the way to them. It also returns how many calls there are in
// each node and below.
func (t *treeBuilder) mostCalled(limit int) (keep []bool, below []int64) {
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
	keep, below = make([]bool, len(t.nodes)), make([]int64, len(t.nodes))
	for i := range places {
		below[i] = places[i].calls
	}
	kept := 0
	for i := range t.nodes {
		if n := &t.nodes[i]; n.Group == NoGroup && !n.Other {
			keep[i] = true
			kept++
		}
	}
	places = slices.DeleteFunc(places, func(p place) bool { return keep[p.node] || t.nodes[p.node].Other })
	// Most nodes have few calls, and of those with as many as the last that stays only some
	// have to be put in order.
	rest := min(max(limit-kept, 0), len(places))
	least := leastOf(rest, len(places), func(i int) int64 { return places[i].calls })
	at := places[:0]
	for _, p := range places {
		if p.calls > least {
			keep[p.node] = true
			rest--
		} else if p.calls == least {
			at = append(at, p)
		}
	}
	slices.SortFunc(at, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.path, b.path))
	})
	for _, p := range at[:min(rest, len(at))] {
		keep[p.node] = true
	}
	return keep, below
}

// leastOf returns the least of the n greatest of so many values.
func leastOf(n, values int, value func(i int) int64) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	// The small ones are counted, the others sorted.
	var count [1 << 12]int
	var great []int64
	for i := range values {
		if v := value(i); v >= 0 && v < int64(len(count)) {
			count[v]++
		} else {
			great = append(great, v)
		}
	}
	if n <= len(great) {
		slices.Sort(great)
		return great[len(great)-n]
	}
	n -= len(great)
	for v := len(count) - 1; v >= 0; v-- {
		if n -= count[v]; n <= 0 {
			return int64(v)
		}
	}
	return 0
}
