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

// A pruner prunes trees. It keeps its memory: to get that from the system anew takes as long as what is done with it.
type pruner struct {
	below, outermost []int64
	ways             []way
	keep             []bool
	at               []place
	moved            []int32
}

// prune leaves a tree as many nodes as limit, and those of threads. What it
// leaves out is folded into a node that is Other below the parent, which gets no more children
// then. It returns which nodes they are now, until it is called again.
func (p *pruner) prune(t *treeBuilder, limit int) (moved []int32) {
	if len(t.nodes)-t.others <= limit {
		return nil
	}
	n := len(t.nodes)
	p.below, p.outermost, p.ways = room(p.below, n), room(p.outermost, n), room(p.ways, n)
	p.keep, p.moved = room(p.keep, n), room(p.moved, n)
	// These take most of the time and do not need each other.
	known := make(chan struct{})
	go func() {
		defer close(known)
		t.outermost(p.outermost)
		t.ways(p.ways)
	}()
	t.below(p.below)
	<-known
	p.mostCalled(t, limit)
	keep, below, outermost := p.keep, p.below, p.outermost
	moved = p.moved
	moved[0] = 0
	// What stays is written over what was: a node that is Other has the place of one that goes.
	nodes, others := t.nodes[:1], 0
	nodes[0].last, nodes[0].folded = 0, 0
	for i := 1; i < len(t.nodes); i++ {
		n := t.nodes[i]
		parent := moved[n.Parent]
		if keep[i] {
			n.Parent, n.last, n.folded = parent, 0, 0
			n.closed = n.closed || below[i] < below[0]/fewCalls
			n.narrow = n.narrow || below[i] < below[0]/manyCalls
			moved[i] = int32(len(nodes))
			nodes = append(nodes, n)
			continue
		}
		at, top := parent, keep[n.Parent]
		if top {
			above := &nodes[parent]
			if at = above.folded; at == 0 {
				at = int32(len(nodes))
				above.folded, above.closed = at, true
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

// room returns a list of a length in the memory of another where that is enough, and otherwise in memory that is enough for somewhat
// longer ones. What is in it is left to the caller.
func room[E any](list []E, length int) []E {
	if length > cap(list) {
		list = make([]E, length, length+length/4)
	}
	return list[:length]
}

// outermost sets the time in the outermost calls of each node's and of those below it that are counted.
func (t *treeBuilder) outermost(list []int64) {
	clear(list)
	for i := len(list) - 1; i > 0; i-- {
		n := &t.nodes[i]
		if n.Calls > 0 {
			list[i] = n.Total
		}
		if p := n.Parent; t.nodes[p].Calls == 0 {
			list[p] += list[i]
		}
	}
}

// A way is that from the root to a node: how many nodes it has and a hash of them.
type way struct {
	hash  uint64
	depth int32
}

// ways sets the ways to all nodes.
func (t *treeBuilder) ways(list []way) {
	list[0] = way{}
	for i := range list[1:] {
		n := &t.nodes[i+1]
		above := &list[n.Parent]
		w := (above.hash ^ uint64(n.Group)<<32 ^ uint64(n.Thread)) * 0x9e3779b97f4a7c15
		list[i+1] = way{w ^ w>>29, above.depth + 1}
	}
}

// below sets how many calls there are in each node and below.
func (t *treeBuilder) below(list []int64) {
	clear(list)
	for i := len(list) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		list[i] += n.Calls
		if i > 0 {
			list[n.Parent] += list[i]
		}
	}
}

// mostCalled sets keep for those nodes that are among the limit with the most calls, those
// below them counted too, with the root and the threads: with a node its parent
// is. Equal ones are told apart by the way to them.
func (p *pruner) mostCalled(t *treeBuilder, limit int) {
	keep, below := p.keep, p.below
	clear(keep)
	kept, others := 0, 0
	for i := range t.nodes {
		switch n := &t.nodes[i]; {
		case n.Other:
			below[i] = -1 // it is none of them
			others++
		case n.Group == NoGroup:
			keep[i] = true
			kept++
		}
	}
	// Most nodes have few calls, and of those with as many as the last that stays only some
	// have to be put in order.
	rest := min(max(limit-kept, 0), len(t.nodes)-others-kept)
	least := leastOf(rest, below, keep)
	at := p.at[:0]
	for i, calls := range below {
		switch {
		case keep[i] || calls < least:
		case calls > least:
			keep[i] = true
			rest--
		default:
			at = append(at, place{p.ways[i], int32(i)})
		}
	}
	p.at = at
	for _, n := range nearest(at, rest) {
		keep[n.node] = true
	}
}

// A place is where a node stands among those with as many calls.
type place struct {
	way
	node int32
}

// nearest returns those n of the places that are least deep, of equally deep ones those with the least hashes. It changes the
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
	before, at, n := cut(at, n, func(p *place) int { return int(p.hash >> 52) })
	slices.SortFunc(at, func(a, b place) int { return cmp.Compare(a.hash, b.hash) })
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

// leastOf returns the least of the n greatest values, of which those left out do not count, nor negative ones.
func leastOf(n int, values []int64, leftOut []bool) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	// The small ones are counted, the others sorted.
	var count [1 << 12]int
	var great []int64
	for i, v := range values {
		switch {
		case leftOut[i] || v < 0:
		case v < int64(len(count)):
			count[v]++
		default:
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
