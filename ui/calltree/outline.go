package calltree

import (
	"hash/fnv"
	"slices"
	"strconv"

	"logparser/app"
	"logparser/rows"
)

// A key tells a node by the names on the way to it, so that what is unfolded
// stays so when the tree is made anew.
type key uint64

// A row is a node that is shown.
type row struct {
	node  *app.TreeNode
	level int
	key   key
	open  bool
}

// maxRows bounds what unfolding all at once shows.
const maxRows = 100_000

// An outline is the unfolded part of a tree.
type outline struct {
	roots []*app.TreeNode
	open  map[key]bool
	rows  []row
	// compare is what the nodes below another are sorted by, nil for their own order;
	// sorted are those that were.
	compare func(a, b *app.TreeNode) int
	sorted  map[*app.TreeNode][]*app.TreeNode
}

// sort shows the tree in another order, nil for its own.
func (o *outline) sort(compare func(a, b *app.TreeNode) int) {
	o.compare, o.sorted = compare, nil
	o.flatten()
}

// below are the nodes below another, nil for the roots, in their order.
func (o *outline) below(n *app.TreeNode) []*app.TreeNode {
	list := o.roots
	if n != nil {
		list = n.Children
	}
	if o.compare == nil {
		return list
	}
	if list, ok := o.sorted[n]; ok {
		return list
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, o.compare)
	if o.sorted == nil {
		o.sorted = make(map[*app.TreeNode][]*app.TreeNode)
	}
	o.sorted[n] = list
	return list
}

func keyOf(parent key, n *app.TreeNode) key {
	h := fnv.New64a()
	h.Write(strconv.AppendUint(nil, uint64(parent), 36))
	h.Write([]byte{0})
	h.Write([]byte(n.Function))
	h.Write([]byte{0})
	h.Write([]byte(n.Module))
	if n.Function == "" {
		h.Write(strconv.AppendUint([]byte{0}, uint64(rows.TrackOf(n.Process, n.Thread, 0)), 36))
		h.Write(strconv.AppendBool(nil, n.Other))
	}
	return key(h.Sum64())
}

// set shows another tree. What was unfolded stays so; a single root is unfolded.
func (o *outline) set(roots []*app.TreeNode) {
	o.roots, o.sorted = roots, nil
	if o.open == nil {
		o.open = map[key]bool{}
	}
	if len(roots) == 1 && len(o.open) == 0 {
		o.open[keyOf(0, roots[0])] = true
	}
	o.flatten()
}

// openPaths unfolds what has no calls of its own, but leads to some.
func (o *outline) openPaths(list []*app.TreeNode, parent key) {
	for _, n := range list {
		thread := n.Function == "" && !n.Other
		if n.Calls != 0 && !thread || len(o.open) >= maxPaths {
			continue
		}
		k := keyOf(parent, n)
		if n.Calls == 0 && len(n.Children) > 0 {
			o.open[k] = true
		}
		o.openPaths(n.Children, k)
	}
}

// maxPaths bounds what is unfolded unasked.
const maxPaths = 200

// reset folds everything that is shown next. What is shown till then can still be unfolded.
func (o *outline) reset() { o.open = map[key]bool{} }

// flatten lists what is shown.
func (o *outline) flatten() {
	o.rows = o.rows[:0]
	type visit struct {
		node   *app.TreeNode
		parent key
		level  int
	}
	var stack []visit
	push := func(list []*app.TreeNode, parent key, level int) {
		for i := len(list) - 1; i >= 0; i-- {
			stack = append(stack, visit{list[i], parent, level})
		}
	}
	push(o.below(nil), 0, 0)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		r := row{node: v.node, level: v.level, key: keyOf(v.parent, v.node)}
		r.open = len(v.node.Children) > 0 && o.open[r.key]
		o.rows = append(o.rows, r)
		if r.open {
			push(o.below(v.node), r.key, v.level+1)
		}
	}
}

// setOpen unfolds or folds a row and reports whether that changes anything.
func (o *outline) setOpen(i int, open bool) bool {
	r := &o.rows[i]
	if len(r.node.Children) == 0 || r.open == open {
		return false
	}
	if open {
		o.open[r.key] = true
	} else {
		delete(o.open, r.key)
	}
	o.flatten()
	return true
}

// parent returns the row of a row's parent, -1 for a root.
func (o *outline) parent(i int) int {
	level := o.rows[i].level
	for i--; i >= 0; i-- {
		if o.rows[i].level < level {
			return i
		}
	}
	return -1
}

// openAll unfolds all that hangs below a row, up to maxRows rows.
func (o *outline) openAll(i int) {
	type visit struct {
		node *app.TreeNode
		key  key
	}
	n := len(o.rows)
	queue := []visit{{o.rows[i].node, o.rows[i].key}}
	for len(queue) > 0 && n < maxRows {
		v := queue[0]
		queue = queue[1:]
		if len(v.node.Children) == 0 {
			continue
		}
		o.open[v.key] = true
		n += len(v.node.Children)
		for _, c := range v.node.Children {
			queue = append(queue, visit{c, keyOf(v.key, c)})
		}
	}
	o.flatten()
}

// closeAll folds all that hangs below a row, and the row.
func (o *outline) closeAll(i int) {
	level := o.rows[i].level
	delete(o.open, o.rows[i].key)
	for k := i + 1; k < len(o.rows) && o.rows[k].level > level; k++ {
		delete(o.open, o.rows[k].key)
	}
	o.flatten()
}

// hottest unfolds, from a row on, always the child with the greatest total, as
// long as that has a good part of its parent's, and returns the last one's row.
func (o *outline) hottest(i int) int {
	const part = 3 // at least one third
	for {
		n := o.rows[i].node
		var best *app.TreeNode
		for _, c := range n.Children {
			if !c.Other && (best == nil || c.Total > best.Total) {
				best = c
			}
		}
		if best == nil || best.Total*part < n.Total || best.Total == 0 {
			return i
		}
		o.setOpen(i, true)
		for k := i + 1; k < len(o.rows); k++ {
			if o.rows[k].node == best {
				i = k
				break
			}
		}
	}
}

// choose unfolds what leads to the node for a call with these open calls around
// it, and returns the node's row: that of the nodes on the way that comes nearest,
// -1 if there is none. Bottom-up it is the function's.
func (o *outline) choose(frames []app.Frame, bottomUp bool) int {
	list, parent := o.roots, key(0)
	var found *app.TreeNode
	step := func(fits func(n *app.TreeNode) bool) bool {
		for _, n := range list {
			if fits(n) {
				if found != nil {
					o.open[parent] = true
				}
				found, list, parent = n, n.Children, keyOf(parent, n)
				return true
			}
		}
		return false
	}
	step(func(n *app.TreeNode) bool {
		return n.Function == "" && !n.Other && n.Thread == frames[0].Thread && n.Process == frames[0].Process
	})
	if bottomUp {
		frames = frames[len(frames)-1:]
	}
	for i := range frames {
		f := &frames[i]
		if !step(func(n *app.TreeNode) bool { return n.Function == f.Function && n.Module == f.Module }) {
			step(func(n *app.TreeNode) bool { return n.Other })
			break
		}
	}
	if found == nil {
		return -1
	}
	o.flatten()
	for i := range o.rows {
		if o.rows[i].node == found {
			return i
		}
	}
	return -1
}
