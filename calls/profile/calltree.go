package profile

import (
	"context"
	"math"

	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// callTree builds the trees of CallTree by a pass over calls, and the time in outermost calls
// by slot. It is not ok where that would not do, or to read so many rows as may pass at most takes less.
func callTree(ctx context.Context, src *index.Index, g groups, o *TreeOptions, limit int, most int64) (made *forest, outermost map[uint32]int64, ok bool, err error) {
	if o.Correct != nil {
		return nil, nil, false, nil
	}
	p := newCallPass(src, o.Where, g, o.Progress)
	if p == nil || most*rowCost < p.events() {
		return nil, nil, false, nil
	}
	forest := newForest(limit)
	var list []*treeCalls
	for range query.Workers() {
		t := &treeCalls{treeBuilder: forest.newTree(src), groups: g, perThread: o.PerThread, outermost: make(map[uint32]int64)}
		t.plain = p.test == nil && g.all
		list = append(list, t)
		forest.trees = append(forest.trees, &t.treeBuilder)
		p.workers = append(p.workers, t)
	}
	p.round, p.between = forest.round, func() {
		for i, moved := range forest.endRound() {
			p.fold = true // now there are nodes that get no children
			for k := range p.results {
				if r := &p.results[k]; r.worker == list[i] {
					r.move(moved)
				}
			}
		}
	}
	if ok, err := p.run(ctx); !ok || err != nil {
		return nil, nil, false, err
	}
	outermost = make(map[uint32]int64)
	for _, t := range list {
		for slot, ns := range t.outermost {
			outermost[slot] += ns
			outermost[AllThreads] += ns
		}
	}
	return forest, outermost, true, nil
}

// move is told that the worker's nodes have other numbers now.
func (r *partResult) move(moved []int32) {
	for _, list := range [...][]int32{r.began, r.nodes} {
		for i, n := range list {
			if n != unknown {
				list[i] = moved[n]
			}
		}
	}
}

// A treeCalls adds calls to a tree.
type treeCalls struct {
	treeBuilder
	groups    groups
	perThread bool
	thread    uint32 // that nodes have
	// nodes has the node that outermost calls are children of, and then those of the open
	// calls; unknown where nobody has asked for it yet, of a call of the address in ids.
	nodes []int32
	ids   []uint32
	// inner has, by depth, the time in the outermost calls that count and have ended, in the
	// call above that is open.
	inner []int64
	// added is what a batch brings to inner where plain says that all calls count.
	added []int64
	plain bool
	began []int32
	// outermost is what comes to the sums of slots.
	outermost map[uint32]int64
}

const unknown = int32(-1)

func (t *treeCalls) begin(slot uint32, open []parser.OpenFrame) {
	base := int32(0)
	t.thread = AllThreads
	if t.perThread {
		t.thread = slot
		base = t.child(0, NoGroup, slot)
	}
	t.room(len(open))
	t.nodes[0] = base
	t.enter(open, 0)
	t.began = append([]int32(nil), t.nodes[:len(open)+1]...)
	clear(t.inner)
}

// room makes room for calls of a depth.
func (t *treeCalls) room(depth int) {
	for len(t.inner) < depth+2 {
		t.inner, t.added = append(t.inner, 0), append(t.added, 0)
	}
	for len(t.nodes) < depth+2 {
		t.nodes, t.ids = append(t.nodes, unknown), append(t.ids, 0)
	}
}

// enter finds the nodes of open calls, but for those that were open before.
func (t *treeCalls) enter(open []parser.OpenFrame, kept int) {
	t.room(len(open))
	for d := kept; d < len(open); d++ {
		t.nodes[d+1] = t.push(t.nodes[d], d, open[d].Group)
	}
}

// Node implements [parser.CallNodes].
func (t *treeCalls) Node(depth int, caller int32, id uint32) (node int32, folds bool) {
	if depth == 0 {
		caller = t.nodes[0]
	}
	if caller == noNode || depth >= MaxTreeDepth {
		return noNode, false
	}
	p, group := &t.treeBuilder.nodes[caller], t.groups.at(id)
	switch {
	case p.Other:
		return caller, true
	case group == NoGroup:
		return caller, false // what it calls is taken for called by its caller
	}
	if !p.leaf {
		node, _, _ = t.look(caller, group, t.thread)
		if node != noNode || !p.closed {
			return node, false
		}
	}
	if node = p.folded; node == 0 {
		node = noNode
	}
	return node, true
}

// await notes the open calls but for those that were open before. They get nodes when something needs these.
func (t *treeCalls) await(open []parser.OpenFrame, kept int) {
	t.room(len(open))
	for d := kept; d < len(open); d++ {
		t.nodes[d+1], t.ids[d+1] = unknown, open[d].ID
	}
}

// push returns the node of a call of depth d.
func (t *treeCalls) push(caller int32, d int, group uint32) int32 {
	switch {
	case group == NoGroup:
		return caller
	case d < MaxTreeDepth:
		return t.child(caller, group, t.thread)
	}
	return t.other(caller, t.thread)
}

// node returns the node of the call of depth d.
func (t *treeCalls) node(d int) int32 {
	k := d
	for t.nodes[k+1] == unknown {
		k--
	}
	for ; k < d; k++ {
		t.nodes[k+2] = t.push(t.nodes[k+1], k+1, t.groups.at(t.ids[k+2]))
	}
	return t.nodes[d+1]
}

func (t *treeCalls) add(batch []parser.Call, pass []uint8, open []parser.OpenFrame, kept int) {
	plain, usual := t.plain && haveDurations(batch), false
	if !plain {
		usual = t.outermostOf(batch, pass)
	}
	t.await(open, kept)
	if len(batch) == 0 {
		return
	}
	// From the last call to the first a caller comes before what it called: the last that
	// was seen a level above, or one that is open.
	lowest := int32(math.MaxInt32)
	for i := len(batch) - 1; i >= 0; i-- {
		c := &batch[i]
		d := int(c.Depth)
		if d+2 > len(t.inner) {
			t.room(d)
		}
		if plain && c.Depth <= lowest {
			lowest = c.Depth
			t.added[d] += c.Duration
		}
		if usual {
			if caller := t.nodes[d]; caller != unknown && t.treeBuilder.nodes[caller].Other {
				i = t.treeBuilder.nodes[caller].foldUsual(batch[:i+1], pass, c.Depth-1)
				continue
			}
		}
		t.nodes[d+1], t.ids[d+1] = unknown, c.ID
		if pass[i] == 0 {
			continue
		}
		group := t.groups.at(c.ID)
		if group == NoGroup && c.Folded == 0 {
			continue
		}
		caller := t.nodes[d]
		if caller == unknown {
			caller = t.node(d - 1)
		}
		if c.Folded > 0 {
			t.addFolded(c, caller)
			continue
		}
		node := caller
		if !t.treeBuilder.nodes[caller].Other {
			node = t.push(caller, d, group)
		}
		t.nodes[d+1] = node
		n := &t.treeBuilder.nodes[node]
		n.Calls++
		if c.Duration >= 0 {
			n.Timed++
			n.Self += c.Self
			if node != caller {
				n.Total += c.Duration
			}
		}
		if n.Other {
			if usual {
				i = n.foldUsual(batch[:i], pass, c.Depth)
				continue
			}
			// So is what it called, and, if its caller is, what that called.
			above := c.Depth
			if node == caller {
				above--
			}
			first := i
			for first > 0 && batch[first-1].Depth > above {
				first--
			}
			if plain {
				t.fold(n, batch[first:i], lowest)
			} else {
				t.foldPassing(n, batch[first:i], pass[first:i])
			}
			i = first
		}
	}
	t.await(open, kept)
	if plain {
		t.settle(int(lowest))
	}
}

// haveDurations reports whether all of some calls have a duration and an address.
func haveDurations(batch []parser.Call) bool {
	signs := int64(0)
	for i := range batch {
		signs |= batch[i].Duration | int64(int32(batch[i].ID))
	}
	return signs >= 0
}

// fold counts calls that all count and have a duration in a node that is Other.
func (t *treeCalls) fold(n *grownNode, batch []parser.Call, lowest int32) {
	self, folded := int64(0), int64(0)
	for i := range batch {
		c := &batch[i]
		self += c.Self
		folded += int64(max(c.Folded, 1))
		if c.Depth <= lowest {
			t.added[c.Depth] += c.Duration
		}
	}
	n.Calls += folded
	n.Timed += folded
	n.Self += self
}

// foldUsual counts those of the last calls that pass in a node that is Other, as far as these are deeper than above, and returns the index of the
// first. All are usual, see outermostOf. Which pass cannot be predicted.
func (n *grownNode) foldUsual(batch []parser.Call, pass []uint8, above int32) (first int) {
	calls, self := int64(0), int64(0)
	i := len(batch) - 1
	for ; i >= 0 && batch[i].Depth > above; i-- {
		p := int64(pass[i])
		calls += p
		self += batch[i].Self & -p
	}
	n.Calls += calls
	n.Timed += calls
	n.Self += self
	return i + 1
}

// foldPassing counts those of some calls that pass in a node that is Other.
func (t *treeCalls) foldPassing(n *grownNode, batch []parser.Call, pass []uint8) {
	for i := range batch {
		c := &batch[i]
		if c.Folded > 0 {
			n.addFolded(c)
			continue
		}
		if pass[i] == 0 || t.groups.at(c.ID) == NoGroup {
			continue
		}
		n.Calls++
		if c.Duration >= 0 {
			n.Timed++
			n.Self += c.Self
		}
	}
}

// addFolded adds a call that stands for several, made by a call of a node.
func (t *treeCalls) addFolded(c *parser.Call, caller int32) {
	node := t.other(caller, t.thread)
	n := &t.treeBuilder.nodes[node]
	n.addFolded(c)
	if node != caller && c.OutermostCounts {
		n.Total += c.Duration
	}
}

// addFolded adds a call that stands for several, but for the total.
func (n *grownNode) addFolded(c *parser.Call) {
	n.Calls += int64(c.Folded)
	n.Timed += int64(c.Folded)
	n.Self += c.Self
}

// settle takes over the times that a batch has in added; lowest is the depth of its outermost call. The caller of that one is
// still open, so that its sum grows. Calls that were open further in have ended, so that the sums there begin anew.
func (t *treeCalls) settle(lowest int) {
	t.inner[lowest] += t.added[lowest]
	t.added[lowest] = 0
	copy(t.inner[lowest+1:], t.added[lowest+1:])
	clear(t.added[lowest+1:])
}

// outermostOf adds the time in the outermost of the calls that count to their callers. It reports whether all calls are usual: they have a duration,
// an address and a group, and stand for themselves alone.
func (t *treeCalls) outermostOf(batch []parser.Call, pass []uint8) (usual bool) {
	signs, folded := int64(0), uint32(0)
	for i := range batch {
		c := &batch[i]
		in := t.takeInner(int(c.Depth))
		sign := c.Duration // negative where it does not count
		if c.Folded == 0 && t.groups.at(c.ID) == NoGroup {
			sign = -1
		}
		// Which calls pass cannot be predicted.
		in ^= (in ^ c.Duration) & -int64(pass[i]) &^ (sign >> 63)
		t.inner[c.Depth] += in
		signs |= sign
		folded |= c.Folded
	}
	return signs >= 0 && folded == 0
}

// takeInner takes the time in the outermost calls that count in a call of a depth.
func (t *treeCalls) takeInner(depth int) int64 {
	if depth+2 > len(t.inner) {
		t.room(depth)
	}
	in := t.inner[depth+1]
	t.inner[depth+1] = 0
	return in
}

func (t *treeCalls) ends(depth int) int64 {
	in := t.inner[depth+1]
	t.inner[depth+1] = 0
	return in
}

func (t *treeCalls) end(r *partResult, open []parser.OpenFrame) {
	r.outermost = append(r.outermost, t.inner[:len(open)+1]...)
	for d := range open {
		if t.nodes[d+1] == unknown {
			t.enter(open, d)
			break
		}
	}
	r.began, r.nodes = t.began, append(r.nodes, t.nodes[:len(open)+1]...)
}

func (t *treeCalls) complete(r *partResult, atEnd bool, c *parser.Call, how *index.OpenCall) {
	nodes := r.began
	if atEnd {
		nodes = r.nodes
	}
	caller, node := nodes[c.Depth], nodes[c.Depth+1]
	n := &t.treeBuilder.nodes[node]
	n.Calls++
	switch {
	case how.Running():
		n.Running++
	case c.Duration >= 0:
		n.Timed++
	default:
		return
	}
	n.Self += c.Self
	if node != caller {
		n.Total += c.Duration
	}
}
