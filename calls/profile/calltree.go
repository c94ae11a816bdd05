package profile

import (
	"context"

	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// callTrees builds the trees of CallTree by a pass over calls, and the time in outermost calls
// by slot. It is not ok where that would not do.
func callTrees(ctx context.Context, src *index.Index, g groups, o *TreeOptions, limit int) (trees []*treeBuilder, outermost map[uint32]int64, ok bool, err error) {
	if o.Correct != nil {
		return nil, nil, false, nil
	}
	p := newCallPass(src, o.Where, g, o.Progress)
	if p == nil {
		return nil, nil, false, nil
	}
	var list []*treeCalls
	for range query.Workers() {
		t := &treeCalls{treeBuilder: newTreeBuilder(limit), groups: g, perThread: o.PerThread, outermost: make(map[uint32]int64)}
		list = append(list, t)
		p.workers = append(p.workers, t)
	}
	if ok, err := p.run(ctx); !ok || err != nil {
		return nil, nil, false, err
	}
	outermost = make(map[uint32]int64)
	for _, t := range list {
		trees = append(trees, &t.treeBuilder)
		for slot, ns := range t.outermost {
			outermost[slot] += ns
			outermost[AllThreads] += ns
		}
	}
	return trees, outermost, true, nil
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
	saved []int32
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
		base = t.child(0, NoGroup, slot, false)
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
		t.inner = append(t.inner, 0)
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

// push returns the node of a call of depth d.
func (t *treeCalls) push(caller int32, d int, group uint32) int32 {
	switch {
	case group == NoGroup:
		return caller
	case d < MaxTreeDepth:
		return t.child(caller, group, t.thread, false)
	}
	return t.child(caller, NoGroup, t.thread, true)
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
	for i := range batch {
		c := &batch[i]
		d := int(c.Depth)
		if d+2 > len(t.inner) {
			t.room(d)
		}
		in := t.inner[d+1]
		t.inner[d+1] = 0
		if pass[i] != 0 && c.Duration >= 0 && t.groups.at(c.ID) != NoGroup {
			in = c.Duration
		}
		t.inner[d] += in
	}
	t.enter(open, kept)
	if len(batch) == 0 {
		return
	}
	// From the last call to the first a caller comes before what it called: the last that
	// was seen a level above, or one that is open.
	t.saved = append(t.saved[:0], t.nodes[kept+1:len(open)+1]...)
	for i := len(batch) - 1; i >= 0; i-- {
		c := &batch[i]
		d := int(c.Depth)
		t.nodes[d+1], t.ids[d+1] = unknown, c.ID
		if pass[i] == 0 {
			continue
		}
		group := t.groups.at(c.ID)
		if group == NoGroup {
			continue
		}
		caller := t.nodes[d]
		if caller == unknown {
			caller = t.node(d - 1)
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
	}
	copy(t.nodes[kept+1:], t.saved)
}

func (t *treeCalls) ends(depth int) int64 {
	in := t.inner[depth+1]
	t.inner[depth+1] = 0
	return in
}

func (t *treeCalls) end(r *partResult, open []parser.OpenFrame) {
	r.outermost = append(r.outermost, t.inner[:len(open)+1]...)
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
