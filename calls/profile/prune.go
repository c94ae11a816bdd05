package profile

import (
	"cmp"
	"math"
	"slices"
)

// A tree is built with more nodes than it is to have, and is then pruned: those
// with the most weight stay. That is their share of all calls and of all time, so that neither what is called
// often goes nor what takes long.

// spareNodes is how many times the nodes of the tree are built before it is
// pruned.
const spareNodes = 2

// A pruner prunes trees. It keeps its memory: to get that from the system anew takes as long as what is done with it.
type pruner struct {
	sums  []nodeSum
	ways  []way
	fates []fate
	at    []place
	moved []int32
}

// A nodeSum is of a node and all below it.
type nodeSum struct {
	calls int64
	// outermost is the time in the outermost of the calls that are counted. time is that too, but as much as below it at least: a call
	// that is open has no time yet.
	outermost, time int64
	// weight is calls and as many as would be the share of all calls that time is of all time. It is not less than that of a node below.
	weight int64
}

// A fate is what becomes of a node.
type fate uint8

const (
	goes fate = iota
	stays
	other // it is Other, and made anew
)

// prune leaves a tree as many nodes as limit, and those of threads. What it
// leaves out is folded into a node that is Other below the parent, which gets no more children
// then. It returns which nodes they are now, until it is called again. In a tree of callers, nested, the numbers of a node are among
// those of its parent.
func (p *pruner) prune(t *treeBuilder, limit int, nested bool) (moved []int32) {
	n := len(t.nodes)
	p.sums, p.ways, p.fates, p.moved = room(p.sums, n), room(p.ways, n), room(p.fates, n), room(p.moved, n)
	// These read all nodes, and do not need each other.
	known := make(chan struct{})
	go func() {
		defer close(known)
		t.ways(p.ways, p.fates)
	}()
	t.sums(p.sums)
	<-known
	sums, fates := p.sums, p.fates
	all := sums[0].weight
	p.choose(limit)
	moved = p.moved
	moved[0] = 0
	// What stays is written over what was: a node that is Other has the place of one that goes.
	nodes, others := t.nodes[:1], 0
	nodes[0].last, nodes[0].folded = 0, 0
	for i := 1; i < len(t.nodes); i++ {
		n := t.nodes[i]
		parent := moved[n.Parent]
		if fates[i] == stays {
			n.Parent, n.last, n.folded = parent, 0, 0
			n.closed = n.closed || sums[i].weight < all/openShare
			n.narrow = n.narrow || sums[i].weight < all/wideShare
			moved[i] = int32(len(nodes))
			nodes = append(nodes, n)
			continue
		}
		at, top := parent, fates[n.Parent] == stays
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
		if top || !nested {
			m.add(&n)
		}
		if top {
			m.Total += sums[i].outermost
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

// sums sets the sums of all nodes.
func (t *treeBuilder) sums(list []nodeSum) {
	clear(list)
	for i := len(list) - 1; i >= 0; i-- {
		n, sum := &t.nodes[i], &list[i]
		sum.calls += n.Calls
		sum.time = max(sum.time, n.Total)
		if n.Calls > 0 {
			sum.outermost = n.Total
		}
		if i > 0 {
			above := &list[n.Parent]
			above.calls += sum.calls
			above.outermost += sum.outermost
			above.time += sum.time
		}
	}
	callsOfTime := 0.0
	if list[0].time > 0 {
		callsOfTime = float64(list[0].calls) / float64(list[0].time)
	}
	for i := range list {
		sum := &list[i]
		sum.weight = sum.calls + int64(float64(sum.time)*callsOfTime)
	}
}

// A way is that from the root to a node: how many nodes it has and a hash of them.
type way struct {
	hash  uint64
	depth int32
}

// ways sets the ways to all nodes, and which stay in any case and are Other.
func (t *treeBuilder) ways(list []way, fates []fate) {
	list[0], fates[0] = way{}, stays
	for i := range list[1:] {
		n := &t.nodes[i+1]
		above := &list[n.Parent]
		w := (above.hash ^ uint64(n.Group)<<32 ^ uint64(n.Thread)) * 0x9e3779b97f4a7c15
		list[i+1] = way{w ^ w>>29, above.depth + 1}
		switch {
		case n.Other:
			fates[i+1] = other
		case n.Group == NoGroup:
			fates[i+1] = stays
		default:
			fates[i+1] = goes
		}
	}
}

// choose sets the fates of those nodes that are among the limit with the most weight, with the root and the
// threads: with a node its parent is. Equal ones are told apart by the way to them.
func (p *pruner) choose(limit int) {
	sums, fates := p.sums, p.fates
	rest, kept := 0, 0
	for _, f := range fates {
		switch f {
		case goes:
			rest++
		case stays:
			kept++
		}
	}
	// Most nodes have little weight, and of those with as much as the last that stays only some
	// have to be put in order.
	rest = min(max(limit-kept, 0), rest)
	last := leastOf(rest, sums, fates)
	at := p.at[:0]
	for i := range sums {
		switch weight := sums[i].weight; {
		case fates[i] != goes || weight < last:
		case weight > last:
			fates[i] = stays
			rest--
		default:
			at = append(at, place{p.ways[i], int32(i)})
		}
	}
	p.at = at
	for _, n := range nearest(at, rest) {
		fates[n.node] = stays
	}
}

// A place is where a node stands among those of equal weight.
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

// leastOf returns the least of the n greatest weights of the nodes that go.
func leastOf(n int, sums []nodeSum, fates []fate) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	// The small ones are counted, the others sorted.
	var count [1 << 12]int
	var great []int64
	for i := range sums {
		switch weight := sums[i].weight; {
		case fates[i] != goes:
		case weight < int64(len(count)):
			count[weight]++
		default:
			great = append(great, weight)
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
