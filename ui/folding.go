package ui

import (
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/grid"
)

// folding folds calls, so that what they called is not shown.
type folding struct{ w *workspace }

// maxAhead is how many rows below the last one that is seen are looked at for
// what is inside a call.
const maxAhead = 256

// key is the Left and the Right key: they fold and unfold, and lead to the
// caller and to the first call that was made, as in trees.
func (fo *folding) key(at int64, right bool) {
	r, ok := fo.w.table.rowAt(at)
	if !ok {
		return
	}
	folded := r.Event == rows.Enter && fo.w.ctl.Filter.IsFolded(r.Index)
	switch {
	case right && folded:
		fo.fold(at)
	case right:
		fo.w.table.grid.SetCurrent(at + 1)
	case r.Event == rows.Leave:
		fo.w.nav.goToPartner()
	case r.Event == rows.Enter && !folded && fo.mark(at) == grid.FoldOpen:
		fo.fold(at)
	default:
		fo.w.nav.goToCaller()
	}
}

// fold folds the call that is entered in a shown row, or unfolds it. The row of
// a leave stands for its call.
func (fo *folding) fold(at int64) {
	r, ok := fo.w.table.rowAt(at)
	if !ok {
		return
	}
	enter := fo.enterOf(&r)
	if enter < 0 {
		return
	}
	fo.w.nav.want = enter
	if fo.w.ctl.Filter.IsFolded(enter) {
		fo.w.ctl.Filter.Unfold(enter)
	} else {
		fo.w.ctl.Filter.Fold(enter)
	}
}

// enterOf returns the row of the enter of a row's call, -1 for none.
func (fo *folding) enterOf(r *rows.Row) int64 {
	switch r.Event {
	case rows.Enter:
		return r.Index
	case rows.Leave:
		return fo.w.ctl.Calls.Partner(r.Index)
	}
	return -1
}

// foldFunction folds all calls of a row's function, foldDepth all of its depth.
func (fo *folding) foldFunction(r *rows.Row) { fo.foldBy(filter.Func, r) }

func (fo *folding) foldDepth(r *rows.Row) { fo.foldBy(filter.Depth, r) }

func (fo *folding) foldBy(c filter.Column, r *rows.Row) {
	what, ok := filter.Of(c, r)
	enter, _ := filter.Of(filter.Event, &rows.Row{Event: rows.Enter})
	if ok {
		fo.w.nav.want = r.Index
		fo.w.ctl.Filter.FoldWhere(filter.Join([]*filter.Expr{what, enter}).String())
	}
}

// mark returns the fold mark of a shown row, from the rows after it.
func (fo *folding) mark(at int64) grid.Fold {
	list := make([]rows.Row, 0, 16)
	for len(list) < cap(list) {
		r, ok := fo.w.table.rowAt(at + int64(len(list)))
		if !ok {
			break
		}
		list = append(list, r)
		if next := &list[len(list)-1]; len(list) > 1 && next.Home() == list[0].Home() && next.Event != rows.Unknown {
			break
		}
	}
	if len(list) == 0 {
		return grid.NoFold
	}
	// What is behind those is not looked at.
	fold, _ := foldMark(list, 0, func(int64) (rows.Row, bool) { return rows.Row{}, false }, 1)
	return fold
}

// foldMark says whether the call that is entered in a row has something inside,
// by the next row of its thread: below hands out those behind the list, of which
// there are more, as far as they are at hand. Where that is not known it may have.
func foldMark(list []rows.Row, i int, below func(k int64) (rows.Row, bool), more int64) (fold grid.Fold, known bool) {
	r := &list[i]
	if r.Event != rows.Enter {
		return grid.NoFold, true
	}
	inside := func(next *rows.Row) (fold grid.Fold, known bool) {
		switch {
		case next.Home() != r.Home() || next.Event == rows.Unknown:
			return grid.NoFold, false
		case next.Depth > r.Depth:
			return grid.FoldOpen, true
		}
		return grid.NoFold, true
	}
	for k := i + 1; k < len(list); k++ {
		if fold, known := inside(&list[k]); known {
			return fold, true
		}
	}
	for k := range min(more, maxAhead) {
		next, ok := below(k)
		if !ok {
			return grid.FoldOpen, false
		}
		if fold, known := inside(&next); known {
			return fold, true
		}
	}
	if more <= maxAhead {
		return grid.NoFold, true // the log ends
	}
	return grid.FoldOpen, true
}
