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
const spareNodes = 2

// prune leaves the tree as many nodes as limit, and those of threads. What it
// leaves out is folded into a node that is Other below the parent, which gets no more children
// then. It returns which nodes they are now.
func (t *treeBuilder) prune(limit int) (moved []int32) {
	if len(t.nodes)-t.others <= limit {
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
	// What stays is written over what was: a node that is Other has the place of one that goes.
	nodes, others := t.nodes[:1], 0
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
				others++
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
	t.nodes, t.others = nodes, others
	return moved
}

// mostCalled returns which nodes are among the limit with the most calls, those
// below them counted too, with the root and the threads: with a node its parent
// is. Equal ones are told apart by the way to them. It also returns how many calls there are in
// each node and below.
func (t *treeBuilder) mostCalled(limit int) (keep []bool, below []int64) {
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
	kept, others := 0, places[:0]
	for i := range places {
		below[i] = places[i].calls
		switch n := &t.nodes[i]; {
		case n.Other:
		case n.Group == NoGroup:
			keep[i] = true
			kept++
		default:
			others = append(others, places[i])
		}
	}
	places = others
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
	for _, p := range nearest(at, rest) {
		keep[p.node] = true
	}
	return keep, below
}

// A place is where a node stands among those that may stay.
type place struct {
	calls int64
	path  uint64 // a hash of the way to the node
	depth int32
	node  int32
}

// nearest returns those n of the places that are least deep, of equally deep ones those with the least paths. It changes the
// order of places.
func nearest(places []place, n int) []place {
	if n >= len(places) {
		return places
	}
	if n <= 0 {
		return nil
	}
	// Nearly all have one of a few depths, and paths are spread evenly: only those that lie where the
	// cut is have to be put in order.
	lower, at, n := cut(places, n, func(p *place) int { return int(p.depth) })
	before, at, n := cut(at, n, func(p *place) int { return int(p.path >> 52) })
	slices.SortFunc(at, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	return places[:lower+before+n]
}

// cut moves the places that come before the n-th in the order of their keys to the beginning, before of them, and behind them
// those with its key: at, of which rest are among the n. Keys are not negative and small.
func cut(places []place, n int, key func(*place) int) (before int, at []place, rest int) {
	var counts []int
	for i := range places {
		k := key(&places[i])
		if k >= len(counts) {
			counts = append(counts, make([]int, k+1-len(counts))...)
		}
		counts[k]++
	}
	last := 0
	for rest = n; rest > counts[last]; last++ {
		rest -= counts[last]
	}
	for i := range places {
		if key(&places[i]) < last {
			places[before], places[i] = places[i], places[before]
			before++
		}
	}
	end := before
	for i := before; i < len(places); i++ {
		if key(&places[i]) == last {
			places[end], places[i] = places[i], places[end]
			end++
		}
	}
	return before, places[before:end], rest
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
