package profile

import (
	"runtime"
	"sync"

	"logparser/calls/index"
)

// A log may have more call paths than a tree has room for. Which of them a tree has must not depend
// on which worker came first, so that parts of the log are gone over in rounds: all parts of a
// round before any of the next. Between rounds no worker is at work, and what they have together
// is what the rounds until then have, whoever did which part. Where that is too much the tree is pruned there
// and then, and nodes below which something was left out, or which few calls were made in, get no more
// children: what else they call goes to the node that is Other. Those which not many calls were made in get new children, but these get
// none: a callee that was not seen in so many calls is hardly ever one of those that stay, and what it calls even less. The rest goes on
// growing, so that a part of the program that is seen late has its place. The numbers of all nodes are exact.

// roundParts is how many parts of a log a round has at most. A part has up to 2^18 events, which make no more
// than half as many nodes.
const roundParts = 16

// Shares of the weight of all calls: 1/openShare is what a node has to have to get more children, and 1/wideShare what it has to have for
// these to get some.
const (
	openShare = 4096
	wideShare = 64
)

// grownKeeps is what part of the nodes that it may have in the end a tree keeps that is pruned while it grows, 1/grownKeeps. It has many
// more paths than there is room for; nearly all of the others have a few calls each, and are there because they came first.
const grownKeeps = 8

// pruneAgain is how many times as many parts are gone over as when a tree was pruned last before that is done again, however few nodes it
// has: the nodes with few calls that it had kept are fewer then, and calls below those that go need not be told apart any more.
const pruneAgain = 4

// estimateFrom is from which part of the nodes on that a tree may have it is estimated how many it would have in the end, 1/estimateFrom, if no
// more than that part of the log was gone over. A tree that is going to have too many is pruned then: most of those that it would get until it
// has too many would go.
const estimateFrom = 8

// estimateCalls is how many calls a tree has for that at least. Of few calls one is too great a share to close the node that has it.
const estimateCalls = 4 * openShare

// A forest is the trees that several workers grow.
type forest struct {
	trees []*treeBuilder
	// limit is how many nodes the trees have together, at most, keep how many stay if those are more; those that are Other
	// are not counted.
	limit, keep int
	// parts is how many parts there are, done how many were gone over with the round, and prunedAt how many when the tree was pruned last, 0
	// for never.
	parts, done, prunedAt int
	// estimated says that it was estimated how many nodes the tree is going to have.
	estimated bool
	// The first common nodes are the same in all trees, and the first tree has their numbers. others of them are Other.
	common, others int
	pruner         pruner
	moved          [][]int32 // what endRound returns, whose memory is used again
}

// newForest makes a forest of trees that become one of so many nodes.
func newForest(nodes int) *forest {
	return &forest{limit: spareNodes * nodes, keep: nodes/grownKeeps + 1, common: 1}
}

// newTree makes a tree for a worker, with room for its share of the nodes that the workers have before these are pruned, in most
// programs: memory that is not touched costs little, and to grow means to copy.
func (f *forest) newTree(src *index.Index) treeBuilder {
	t := newTreeBuilder(growing)
	room := min(int64(4*f.limit/runtime.GOMAXPROCS(0)), src.Len()/2) + 1
	t.nodes = append(make([]grownNode, 0, room), t.nodes...)
	return t
}

// growing is the limit of a tree that is looked at after each round.
const growing = 1 << 30

// round returns the end of the round of parts that begins with a part. A tree that is too large is
// nearly always so at once, hence the first are short.
func (f *forest) round(begin, parts int) (end int) {
	f.parts, f.done = parts, min(begin+min(max(begin/4, 2), roundParts), parts)
	return f.done
}

// endRound sees to it that the trees have no more nodes than they may have. Where it returns something
// the nodes of tree i that were n before are moved[i][n] then, until it is called again.
func (f *forest) endRound() (moved [][]int32) {
	common := f.common - f.others
	nodes := common
	for _, t := range f.trees {
		nodes += len(t.nodes) - t.others - common
	}
	again := f.prunedAt > 0 && f.done >= pruneAgain*f.prunedAt
	early := !f.estimated && nodes > f.limit/estimateFrom && f.done*estimateFrom <= f.parts && f.calls() >= estimateCalls
	if nodes <= f.limit && !again && !early {
		return nil
	}
	sum := f.trees[0]
	if f.moved == nil {
		f.moved = make([][]int32, len(f.trees))
	}
	moved = f.moved
	for i, t := range f.trees {
		if i > 0 {
			moved[i] = sum.merge(t, f.common, moved[i])
		}
	}
	moved[0] = room(moved[0], len(sum.nodes))
	for i := range moved[0] {
		moved[0][i] = int32(i)
	}
	var to []int32
	// From here on nodes that several workers have count once, so that it does not matter who made them.
	nodes = len(sum.nodes) - sum.others
	if early = early && nodes > f.limit/estimateFrom; early {
		f.estimated = true
	}
	if again || nodes > f.limit || early && sum.leastPaths() > int64(f.limit) {
		f.prunedAt = f.done
		to = f.pruner.prune(sum, f.keep, false)
	}
	f.common, f.others = len(sum.nodes), sum.others
	var wg sync.WaitGroup
	for i, t := range f.trees {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if i > 0 {
				t.copyNodes(sum)
			}
			if i > 0 || to != nil {
				t.index()
			}
			if to != nil {
				for k, n := range moved[i] {
					moved[i][k] = to[n]
				}
			}
		}()
	}
	wg.Wait()
	return moved
}

// calls returns how many calls the trees have.
func (f *forest) calls() (n int64) {
	for _, t := range f.trees {
		for i := range t.nodes {
			n += t.nodes[i].Calls
		}
	}
	return n
}

// leastPaths estimates how many nodes with calls a tree would have if the log went on forever as it is so far: at least so many, by how many nodes
// have one call and how many two (A. Chao, Nonparametric Estimation of the Number of Classes in a Population, 1984, with the correction of bias
// that makes it good for no node with two).
func (t *treeBuilder) leastPaths() int64 {
	var seen, once, twice int64
	for i := range t.nodes {
		switch n := &t.nodes[i]; {
		case n.Calls == 0 || n.Other:
			continue
		case n.Calls == 1:
			once++
		case n.Calls == 2:
			twice++
		}
		seen++
	}
	return seen + once*(once-1)/(2*(twice+1))
}

// copyNodes gives a tree the nodes of another, without calls. They are still to be indexed.
func (t *treeBuilder) copyNodes(o *treeBuilder) {
	t.nodes, t.others = append(t.nodes[:0], o.nodes...), o.others
	for i := range t.nodes {
		n := &t.nodes[i]
		n.Calls, n.Timed, n.Running, n.Total, n.Self = 0, 0, 0, 0, 0
	}
}

// sum returns one tree of all.
func (f *forest) sum() *treeBuilder {
	for _, t := range f.trees[1:] {
		f.trees[0].merge(t, f.common, nil)
	}
	return f.trees[0]
}
