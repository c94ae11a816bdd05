package calltree

import (
	"cmp"
	"slices"
	"strings"

	"logparser/app"
	"logparser/ui/grid"
)

// An order is what the calls of a node are sorted by.
type order struct {
	column  string
	falling bool
}

// natural is the order that trees have.
var natural = order{"total", true}

// sortColumns are the columns that can be sorted by, in their order.
var sortColumns = []string{"function", "calls", "total", "share", "self", "selfshare", "module"}

// text reports whether a column has texts, which are first sorted from A to Z.
func (o order) text() bool { return o.column == "function" || o.column == "module" }

// compare orders two nodes by the column, nil where that is how trees are. (others) is
// the last one always; nodes that are alike stay in the order of the tree.
func compare(o order) func(a, b *app.TreeNode) int {
	if o == natural || o == (order{"share", true}) {
		return nil
	}
	by := func(a, b *app.TreeNode) int {
		switch o.column {
		case "function":
			return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Thread, b.Thread))
		case "module":
			return cmp.Compare(a.Module, b.Module)
		case "self", "selfshare":
			return cmp.Compare(a.Self, b.Self)
		case "calls":
			return cmp.Compare(a.Calls, b.Calls)
		}
		return cmp.Compare(a.Total, b.Total)
	}
	return func(a, b *app.TreeNode) int {
		switch {
		case a.Other != b.Other && a.Other:
			return 1
		case a.Other != b.Other:
			return -1
		case o.falling:
			return -by(a, b)
		}
		return by(a, b)
	}
}

// sort is for a press on a column's head.
func (v *View) sort(column string) {
	o := order{column: column}
	if column == v.order.column {
		o.falling = !v.order.falling
	} else {
		o.falling = !o.text()
	}
	v.setOrder(o)
	if v.OnSorted != nil {
		v.OnSorted(v.Sorted())
	}
}

// sortNext sorts by the next column, or the one before; it is for who uses no mouse.
func (v *View) sortNext(step int) {
	n := len(sortColumns)
	v.sort(sortColumns[(slices.Index(sortColumns, v.order.column)+step+n)%n])
}

// setOrder shows the tree in another order. What is chosen stays chosen.
func (v *View) setOrder(o order) {
	v.order = o
	v.showHeads()
	var chosen *app.TreeNode
	if r := v.at(v.Grid.Current()); r != nil {
		chosen = r.node
	}
	v.outline.sort(compare(o))
	v.Grid.Reload()
	v.placing = true
	defer func() { v.placing = false }()
	if i := slices.IndexFunc(v.outline.rows, func(r row) bool { return r.node == chosen }); i >= 0 {
		v.Grid.SetCurrent(int64(i))
		v.Grid.Centre(int64(i))
	}
}

// Sorted is the order of the tree, for [View.Sort].
func (v *View) Sorted() string {
	if v.order.falling {
		return v.order.column + " falling"
	}
	return v.order.column
}

// Sort shows the tree in an order that Sorted has returned; others do nothing.
func (v *View) Sort(sorted string) {
	column, falling := strings.CutSuffix(sorted, " falling")
	if slices.Contains(sortColumns, column) {
		v.setOrder(order{column, falling})
	}
}

// showHeads says the columns' heads, with what is sorted by.
func (v *View) showHeads() {
	for id, title := range titles() {
		if id == v.order.column {
			title += grid.SortSign(v.order.falling)
		}
		v.Grid.SetTitle(id, title)
	}
}
