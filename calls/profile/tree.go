package profile

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// TreeOptions say which tree is made.
type TreeOptions struct {
	// Where limits the calls: those count whose enter passes. Nil is all.
	Where query.Predicate
	// Groups has the group of each address by its number, as in
	// [StatisticsOptions]; calls of NoGroup are left out, and what they call
	// is shown as called by their callers.
	Groups []uint32
	// PerThread makes a tree for each thread below its own first node. What is called on a
	// coroutine's stack is in that of the thread that was the first on it.
	PerThread bool
	// BottomUp makes the tree of functions and their callers.
	BottomUp bool
	// MaxNodes bounds the nodes, 0 stands for DefaultTreeNodes: those stay whose share of all calls and of
	// all time, with those below, is greatest, and those of threads. There may be as many again that
	// are Other. Where the log has several times as many paths, which stay is decided
	// while it is gone over, by the calls until then, in an order that is the same each time; then
	// it has an eighth of these and what comes to them.
	MaxNodes int
	// Correct is as in [StatisticsOptions].
	Correct Correct
	// Progress, if not nil, is told the rows done.
	Progress parser.Progress
}

const (
	// DefaultTreeNodes is the default of TreeOptions.MaxNodes.
	DefaultTreeNodes = 1 << 20
	// MaxTreeDepth bounds the depth of a tree: deeper calls count in the node
	// at the bound that called them, as Other.
	MaxTreeDepth = 1024
	// MaxCallers bounds the depth of a bottom-up tree: callers beyond it are
	// left out.
	MaxCallers = 128
)

// A TreeNode is the calls that were made by the same chain of callers, or in
// a bottom-up tree the calls of a function that its chain of callers made.
type TreeNode struct {
	// Group is NoGroup for a tree's root, for a thread and for Other.
	Group uint32
	// Thread is the slot of a thread's node and of those below it, or
	// AllThreads.
	Thread uint32
	// Parent is the index of the parent, -1 for the root.
	Parent int32
	// Other says that the node stands for callees that had no room in the
	// tree, with all that they called.
	Other bool
	// Calls counts the calls, Timed those with a duration, Running those that
	// no leave has closed, which last until the last event of their run. Of the
	// times of both, in nanoseconds, Total is all, Self what was not spent in
	// calls that they made. In a bottom-up tree Total leaves out calls that were
	// made while another of the function was open. A node that is there only
	// as a way to others has no calls.
	Calls, Timed, Running, Total, Self int64
}

// A Tree is a merged call tree. It is immutable.
type Tree struct {
	// Nodes has the root first and parents before children. The root's and a
	// thread's Calls, Timed, Running and Self are the sums of all calls below it, Total
	// is the time in the outermost of them, from the bottom up, too.
	Nodes []TreeNode
	// Folded counts the calls in nodes that are Other.
	Folded int64
	// The children of node i are children[first[i]:first[i+1]].
	first, children []int32
}

// Children returns the indexes of a node's children, by falling Total, Calls
// and rising Group, Thread.
func (t *Tree) Children(node int32) []int32 { return t.children[t.first[node]:t.first[node+1]] }

// CallTree makes a merged call tree.
func CallTree(ctx context.Context, src *index.Index, o TreeOptions) (*Tree, error) {
	src = src.Steady()
	g := newGroups(src, o.Groups)
	limit := o.MaxNodes
	if limit <= 0 {
		limit = DefaultTreeNodes
	}
	var most int64
	o.Where, most = narrowed(src, o.Where)
	note := newTreeNote(src, &o, limit)
	if t := note.tree(); t != nil {
		return t, nil
	}
	forest, outermost, ok, err := callTree(ctx, src, g, &o, limit, most)
	if err != nil {
		return nil, err
	}
	if ok {
		t := finishTree(forest.sum(), &forest.pruner, outermost, &o, limit)
		note.keep(t)
		return t, nil
	}
	s := query.NewScan(src, o.Where, index.Addresses|index.Kinds|index.Threads|index.Depths|index.Pairs|selvesOf(o.Correct), o.Progress)
	open := src.OpenCalls(o.Correct)
	forest = newForest(limit)
	growers := make([]*treeGrower, query.Workers())
	var times []*outermostTime
	var own []*ownTimes[int32]
	for i := range growers {
		t := &treeGrower{openStacks: openStacks{src: src}, treeBuilder: forest.newTree(src), groups: g, perThread: o.PerThread, running: open, outermost: newOutermostTime()}
		growers[i] = t
		forest.trees = append(forest.trees, &t.treeBuilder)
		times = append(times, &t.outermost)
		if o.Correct != nil {
			t.own = newOwnTimes(func(to int32, self int64) { t.nodes[to].Self += self })
			own = append(own, t.own)
		}
	}
	err = s.RunRounds(ctx, forest.round, func(w *query.Worker, first, end int) error {
		t := growers[w.ID]
		if t.own != nil {
			defer t.end()
			defer t.own.end()
		}
		return callBlocks(w, first, end, o.Correct, t.add)
	}, func() {
		for i, moved := range forest.endRound() {
			growers[i].move(moved)
		}
	})
	if err != nil {
		return nil, err
	}
	settle(own)
	t := finishTree(forest.sum(), &forest.pruner, sumOutermost(src, times), &o, limit)
	note.keep(t)
	return t, nil
}

// finishTree gives a tree at most so many nodes.
func finishTree(sum *treeBuilder, p *pruner, outermost map[uint32]int64, o *TreeOptions, limit int) *Tree {
	if o.BottomUp {
		sum = sum.bottomUp(spareNodes * limit)
	}
	if len(sum.nodes)-sum.others > limit {
		p.prune(sum, limit, o.BottomUp)
	}
	tree := sum.tree(o.BottomUp)
	tree.setTotals(outermost)
	tree.sortChildren()
	return tree
}

// A treeBuilder is a tree that grows.
type treeBuilder struct {
	nodes []grownNode
	// others of the nodes are Other: at most one below each of the rest.
	others int
	// With so many nodes calls are folded as they come.
	limit int
	// full says that there were callees that had no room.
	full bool
	// slots is an open-addressing table of nodes, by parent and group.
	slots []treeSlot
}

// A grownNode is a node of a tree that grows. It is one cache line.
type grownNode struct {
	Group, Thread uint32
	Parent        int32
	// last is the child that was asked for last, 0 for none, and lastGroup its group.
	last      int32
	lastGroup uint32
	// folded is the child that is Other, 0 for none yet.
	folded  int32
	Running int32
	Other   bool
	// closed says that callees that have no node get none; leaf that none has. Below a narrow one a new node is closed.
	closed, leaf, narrow      bool
	Calls, Timed, Total, Self int64
}

// A treeSlot is 1 + the index of a node, 0 of an empty slot, and a part of its hash, by which
// nearly all others are known without looking at them.
type treeSlot struct {
	node int32
	tag  uint32
}

func newTreeBuilder(limit int) treeBuilder {
	return treeBuilder{
		nodes: []grownNode{{Group: NoGroup, Thread: AllThreads, Parent: -1}},
		limit: limit, slots: make([]treeSlot, 1024),
	}
}

// slot returns where the search for a node begins, and its tag.
func (t *treeBuilder) slot(parent int32, group, thread uint32) (at int, tag uint32) {
	h := (uint64(uint32(parent))<<32 | uint64(group)) * 0x9e3779b97f4a7c15
	h ^= uint64(thread) * 0xd6e8feb86659fd93
	h ^= h >> 29
	h *= 0xbf58476d1ce4e5b9
	return int(h>>32) & (len(t.slots) - 1), uint32(h)
}

// child returns the child of a node that has a group or, of NoGroup, is that of a thread.
func (t *treeBuilder) child(parent int32, group, thread uint32) int32 {
	p := &t.nodes[parent]
	if p.Other {
		return parent
	}
	if c := p.last; c > 0 && p.lastGroup == group && t.nodes[c].Thread == thread {
		return c
	}
	if p.leaf {
		return t.other(parent, thread)
	}
	c, i, tag := t.look(parent, group, thread)
	if c != noNode {
		p.last, p.lastGroup = c, group
		return c
	}
	if (p.closed || len(t.nodes) >= t.limit) && group != NoGroup {
		t.full = true
		return t.other(parent, thread)
	}
	c = int32(len(t.nodes))
	p.last, p.lastGroup = c, group
	t.nodes = append(t.nodes, grownNode{Group: group, Thread: thread, Parent: parent, closed: p.narrow, leaf: p.narrow})
	t.slots[i] = treeSlot{c + 1, tag}
	if len(t.nodes)*3 > len(t.slots)*2 {
		t.index()
	}
	return c
}

// look returns the child of a node, noNode if there is none, which slot it has or would have, and the tag there.
func (t *treeBuilder) look(parent int32, group, thread uint32) (child int32, slot int, tag uint32) {
	slot, tag = t.slot(parent, group, thread)
	for ; t.slots[slot].node != 0; slot = (slot + 1) & (len(t.slots) - 1) {
		if t.slots[slot].tag != tag {
			continue
		}
		c := t.slots[slot].node - 1
		if n := &t.nodes[c]; n.Parent == parent && n.Group == group && n.Thread == thread {
			return c, slot, tag
		}
	}
	return noNode, slot, tag
}

// other returns the child of a node that is Other.
func (t *treeBuilder) other(parent int32, thread uint32) int32 {
	p := &t.nodes[parent]
	if p.Other {
		return parent
	}
	if p.folded == 0 {
		p.folded = int32(len(t.nodes))
		t.nodes = append(t.nodes, grownNode{Group: NoGroup, Thread: thread, Parent: parent, Other: true})
		t.others++
	}
	return t.nodes[parent].folded
}

// index makes the table of nodes anew.
func (t *treeBuilder) index() {
	size := 1024
	for len(t.nodes)*3 >= size*2 {
		size *= 2
	}
	if size <= cap(t.slots) {
		t.slots = t.slots[:size]
		clear(t.slots)
	} else {
		t.slots = make([]treeSlot, size)
		// Slots are read before they are written. To write to a page of memory that was only read costs the system some twenty
		// times as much as to write to one that was not touched yet, so each page is written to before.
		const pageSlots = 512
		for i := 0; i < size; i += pageSlots {
			t.slots[i] = treeSlot{}
		}
	}
	for c := range t.nodes[1:] {
		n := &t.nodes[c+1]
		if n.Other {
			continue // found by its parent
		}
		i, tag := t.slot(n.Parent, n.Group, n.Thread)
		for t.slots[i].node != 0 {
			i = (i + 1) & (len(t.slots) - 1)
		}
		t.slots[i] = treeSlot{int32(c) + 2, tag}
	}
}

// merge adds the nodes of another, and returns which they are then, in some memory. The first common nodes are the
// same in both.
func (t *treeBuilder) merge(o *treeBuilder, common int, memory []int32) (moved []int32) {
	moved = room(memory, len(o.nodes))
	for i := range o.nodes {
		n := &o.nodes[i]
		switch {
		case i < common || i == 0:
			moved[i] = int32(i)
		case n.Other:
			moved[i] = t.other(moved[n.Parent], n.Thread)
		default:
			moved[i] = t.child(moved[n.Parent], n.Group, n.Thread)
		}
		m := &t.nodes[moved[i]]
		m.add(n)
		if i == 0 || moved[i] != moved[n.Parent] {
			m.Total += n.Total
		}
	}
	return moved
}

// add adds all but the total.
func (n *grownNode) add(o *grownNode) {
	n.Calls += o.Calls
	n.Timed += o.Timed
	n.Running += o.Running
	n.Self += o.Self
}

// bottomUp makes the tree of callers from the tree of callees.
func (t *treeBuilder) bottomUp(limit int) *treeBuilder {
	up := t.turned(nil, limit)
	if up.full {
		// Which paths have room depends on the order.
		up = t.turned(t.ordered(), limit)
	}
	return up
}

// ordered returns the nodes, parents before children, in an order that does not depend on their numbers.
func (t *treeBuilder) ordered() []int32 {
	children := make([][]int32, len(t.nodes))
	for i := 1; i < len(t.nodes); i++ {
		p := t.nodes[i].Parent
		children[p] = append(children[p], int32(i))
	}
	list := append(make([]int32, 0, len(t.nodes)), 0)
	for i := 0; i < len(list); i++ {
		c := children[list[i]]
		slices.SortFunc(c, func(a, b int32) int {
			m, n := &t.nodes[a], &t.nodes[b]
			return cmp.Or(cmp.Compare(m.Group, n.Group), cmp.Compare(m.Thread, n.Thread))
		})
		list = append(list, c...)
	}
	return list
}

// turned is bottomUp; order, if not nil, has the nodes in the order in which they are taken.
func (t *treeBuilder) turned(order []int32, limit int) *treeBuilder {
	up := newTreeBuilder(limit)
	for k := 1; k < len(t.nodes); k++ {
		i := int32(k)
		if order != nil {
			i = order[k]
		}
		n := &t.nodes[i]
		if n.Calls == 0 {
			continue
		}
		total := n.Total
		for a := n.Parent; a > 0 && !n.Other; a = t.nodes[a].Parent {
			if t.nodes[a].Group == n.Group {
				total = 0
				break
			}
		}
		at := int32(0)
		if n.Thread != AllThreads {
			at = up.child(0, NoGroup, n.Thread)
		}
		add := func(c int32, total int64) {
			m := &up.nodes[c]
			m.add(n)
			m.Total += total
		}
		if n.Other {
			add(up.other(at, n.Thread), total)
			continue
		}
		a := i
		for depth := 0; depth < MaxCallers && a > 0 && t.nodes[a].Group != NoGroup; depth++ {
			next := up.child(at, t.nodes[a].Group, n.Thread)
			if next == at {
				break
			}
			at = next
			add(at, total)
			a = t.nodes[a].Parent
		}
	}
	return &up
}

// tree sums up and leaves out what has no calls. The children of its nodes are still to be sorted.
func (t *treeBuilder) tree(bottomUp bool) *Tree {
	keep, kept := make([]bool, len(t.nodes)), 1
	keep[0] = true
	for i := len(t.nodes) - 1; i > 0; i-- {
		if n := &t.nodes[i]; n.Calls > 0 || keep[i] {
			keep[i], keep[n.Parent] = true, true
			kept++
		}
	}
	moved := make([]int32, len(t.nodes))
	tree := &Tree{Nodes: make([]TreeNode, 0, kept)}
	for i := range t.nodes {
		if !keep[i] {
			continue
		}
		b := &t.nodes[i]
		n := TreeNode{Group: b.Group, Thread: b.Thread, Parent: b.Parent, Other: b.Other,
			Calls: b.Calls, Timed: b.Timed, Running: int64(b.Running), Total: b.Total, Self: b.Self}
		moved[i] = int32(len(tree.Nodes))
		if i > 0 {
			n.Parent = moved[n.Parent]
		}
		if n.Other {
			tree.Folded += n.Calls
			// Calls within others that do not count, or whose time is not known,
			// are in no total.
			n.Total = max(n.Total, n.Self)
		}
		tree.Nodes = append(tree.Nodes, n)
	}
	tree.sum(bottomUp)
	return tree
}

// setTotals gives the root and the threads their totals: also in a tree of
// callers, where the functions' own make more than that, since they lie one in
// the other.
func (t *Tree) setTotals(outermost map[uint32]int64) {
	t.Nodes[0].Total = outermost[AllThreads]
	for i := range t.Nodes[1:] {
		if n := &t.Nodes[i+1]; n.Group == NoGroup && !n.Other {
			n.Total = outermost[n.Thread]
		}
	}
}

// sum gives the root and the threads their numbers, but for the totals.
func (t *Tree) sum(bottomUp bool) {
	threads := map[uint32]*TreeNode{}
	add := func(sum, n *TreeNode) {
		sum.Calls += n.Calls
		sum.Timed += n.Timed
		sum.Running += n.Running
		sum.Self += n.Self
	}
	for i := range t.Nodes[1:] {
		n := &t.Nodes[i+1]
		if n.Group == NoGroup && !n.Other {
			threads[n.Thread] = n
			continue
		}
		if p := &t.Nodes[n.Parent]; bottomUp && (p.Group != NoGroup || p.Other) {
			continue
		}
		add(&t.Nodes[0], n)
		if n.Thread == AllThreads {
			continue
		}
		if s := threads[n.Thread]; s != nil {
			add(s, n)
		}
	}
}

// sortChildren finds the children of all nodes, and orders them.
func (t *Tree) sortChildren() {
	t.first, t.children = make([]int32, len(t.Nodes)+1), make([]int32, len(t.Nodes)-1)
	for i := range t.Nodes[1:] {
		t.first[t.Nodes[i+1].Parent+1]++
	}
	for i := range t.Nodes {
		t.first[i+1] += t.first[i]
	}
	next := slices.Clone(t.first)
	for i := range t.Nodes[1:] {
		p := t.Nodes[i+1].Parent
		t.children[next[p]] = int32(i + 1)
		next[p]++
	}
	var wg sync.WaitGroup
	some := len(t.Nodes)/query.Workers() + 1
	for first := 0; first < len(t.Nodes); first += some {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := first; i < min(first+some, len(t.Nodes)); i++ {
				if list := t.Children(int32(i)); len(list) > 1 {
					slices.SortFunc(list, t.compare)
				}
			}
		}()
	}
	wg.Wait()
}

// compare compares nodes as children are ordered.
func (t *Tree) compare(a, b int32) int {
	m, n := &t.Nodes[a], &t.Nodes[b]
	return cmp.Or(cmp.Compare(n.Total, m.Total), cmp.Compare(n.Calls, m.Calls), cmp.Compare(m.Group, n.Group), cmp.Compare(m.Thread, n.Thread))
}

// A treeGrower adds the calls of blocks to a tree.
type treeGrower struct {
	openStacks
	treeBuilder
	groups    groups
	perThread bool
	running   *index.OpenCalls
	// stacks has the open calls of each thread, by depth.
	stacks    [][]stackedCall
	chains    []index.Node
	outermost outermostTime
	own       *ownTimes[int32] // nil where durations are those recorded
}

// A stackedCall is an open call. Its node is noNode until it is asked for.
type stackedCall struct {
	group uint32
	node  int32
}

const noNode = parser.NoCallNode

// base returns the node that a thread's outermost calls are children of.
func (t *treeGrower) base(thread uint32) int32 {
	if t.perThread {
		home, _ := t.src.Stack(thread)
		return t.child(0, NoGroup, home)
	}
	return 0
}

// push puts a call of depth d on a thread's stack.
func (t *treeGrower) push(thread uint32, d int, group uint32) {
	stack := t.stacks[thread]
	if len(stack) > d {
		stack = stack[:d]
	}
	for len(stack) < d {
		stack = append(stack, stackedCall{NoGroup, noNode})
	}
	t.stacks[thread] = append(stack, stackedCall{group, noNode})
}

// pushed returns the node of the call that a thread's stack was given last, and its caller's. Only now are they made, with
// those that they lie below: where a filter leaves calls out most have none.
func (t *treeGrower) pushed(thread uint32) (node, caller int32) {
	stack := t.stacks[thread]
	known := len(stack) - 2
	for known >= 0 && stack[known].node == noNode {
		known--
	}
	if known >= 0 {
		node = stack[known].node
	} else {
		node = t.base(thread)
	}
	for at := known + 1; at < len(stack); at++ {
		c := &stack[at]
		caller = node
		if c.group != NoGroup {
			id := AllThreads
			if t.perThread {
				id, _ = t.src.Stack(thread)
			}
			if at < MaxTreeDepth {
				node = t.child(caller, c.group, id)
			} else {
				node = t.other(caller, id)
			}
		}
		c.node = node
	}
	return node, caller
}

// move is told that nodes have other numbers now.
func (t *treeGrower) move(moved []int32) {
	t.end()
	if t.own == nil {
		return
	}
	for enter, c := range t.own.parts {
		c.to = moved[c.to]
		t.own.parts[enter] = c
	}
}

func (t *treeGrower) load(k int, thread uint32) {
	for int(thread) >= len(t.stacks) {
		t.stacks = append(t.stacks, nil)
	}
	t.stacks[thread] = t.stacks[thread][:0]
	t.chains = t.chain(t.chains[:0], k, thread)
	for i := len(t.chains) - 1; i >= 0; i-- {
		n := &t.chains[i]
		t.push(thread, int(n.Depth), t.groups.at(n.Address))
	}
	t.outermost.load(thread, t.chains)
	if t.own != nil {
		t.own.load(thread, t.chains)
	}
}

// add counts the enters of a block that pass.
func (t *treeGrower) add(f *query.Rows) {
	b := f.Block
	t.begin(f.Number)
	thread, found := index.NoThread, b.OpenRuns
	for i := range b.N {
		for ; len(found) > 0 && int(found[0].Row) == i; found = found[1:] {
			o := &found[0]
			if t.stale(o.Thread) {
				t.load(f.Number, o.Thread)
			}
			for d := range o.N {
				t.push(o.Thread, int(o.Depth+d), t.groups.at(o.Address))
			}
		}
		kind := b.Kind[i]
		if kind == parser.Damaged || b.Anomaly[i] == calls.Stray {
			continue
		}
		if b.Thread[i] != thread {
			thread = b.Thread[i]
			if t.stale(thread) {
				t.load(f.Number, thread)
			}
		}
		d := int(b.Depth[i])
		t.outermost.cut(thread, d)
		if kind == parser.Leave {
			if stack := t.stacks[thread]; len(stack) > d {
				t.stacks[thread] = stack[:d]
			}
			if t.own != nil {
				t.own.cut(thread, d)
			}
			continue
		}
		group := t.groups.at(b.Address[i])
		t.push(thread, d, group)
		counted := f.Pass[i/64]>>(i%64)&1 != 0 && group != NoGroup
		duration := b.Duration[i]
		running := t.running.At(b, i)
		if running != nil {
			duration = running.Duration
		}
		var c, caller int32
		if counted {
			c, caller = t.pushed(thread)
		}
		if t.own != nil {
			t.own.push(thread, d, ownCall[int32]{enter: b.First + int64(i), counted: counted, to: c, duration: duration}, running != nil || timed(b, i))
		}
		if !counted {
			continue
		}
		n := &t.nodes[c]
		n.Calls++
		switch {
		case running.Running():
			n.Running++
			n.Self += running.Self
		case timed(b, i):
			n.Timed++
			if t.own == nil {
				n.Self += b.Self[i]
			}
		default:
			continue
		}
		if c != caller {
			n.Total += duration
		}
		t.outermost.add(thread, d, b.First+int64(i), duration, running != nil || b.Partner[i] >= b.First+int64(b.N))
	}
}
