package ui

import (
	"fmt"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/grid"
)

// tableMenu is the menu of a cell.
func (w *Window) tableMenu(at int64, column string, where fyne.Position) {
	r, ok := w.rowAt(at)
	if !ok {
		return
	}
	w.popUp(w.cellItems(at, column, &r), where)
}

// cellItems are what can be done with a cell and its row: what is done most
// often, and the rest by what it is about.
func (w *Window) cellItems(at int64, column string, r *rows.Row) []*fyne.MenuItem {
	var items []*fyne.MenuItem
	narrow := func(label string, change func(e *filter.Expr) *filter.Expr) *fyne.MenuItem {
		return item(label, func() { w.ctl.Narrow(change) })
	}
	if term, ok := cellTerm(column, r); ok {
		text := shorten(term.String(), 40)
		items = append(items,
			narrow(lang.L("Include {{.Term}}", data{"Term": text}), func(e *filter.Expr) *filter.Expr { return e.Include(term) }),
			narrow(lang.L("Exclude {{.Term}}", data{"Term": text}), func(e *filter.Expr) *filter.Expr { return e.Exclude(term) }),
			submenu(lang.L("Highlight {{.Term}}", data{"Term": text}), w.colourItems(column, term)...))
	}
	enter := w.enterOf(r)
	inside := item(lang.L("Only inside this call"), func() { w.insideCall(enter) })
	inside.Disabled = enter < 0
	only := []*fyne.MenuItem{inside}
	if t, ok := filter.Of(filter.In, r); ok {
		only = append(only, narrow(lang.L("Only inside calls of this function"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
	}
	if t, ok := filter.Of(filter.Thread, r); ok {
		only = append(only, narrow(lang.L("Only this thread"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
	}
	if t, ok := filter.Of(filter.Module, r); ok && r.Module != "" {
		only = append(only, narrow(lang.L("Only this module"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
	}
	only = append(only, item(lang.L("Only calls that took at least"), func() { w.atLeast(r) }))

	other := lang.L("Go to the leave")
	if r.Event == rows.Leave {
		other = lang.L("Go to the enter")
	}
	half, source := w.itemOf("go-to-other-half"), w.itemOf("open-source")
	half.Label, half.Disabled = other, w.ctl.Partner(r.Index) < 0
	source.Disabled, source.Action = r.Source == "", func() { w.openSource(at) }
	foldLabel := lang.L("Fold this call")
	if enter >= 0 && w.ctl.IsFolded(enter) {
		foldLabel = lang.L("Unfold this call")
	}
	fold := w.itemOf("fold")
	fold.Label, fold.Disabled, fold.Action = foldLabel, enter < 0, func() { w.fold(at) }
	foldFunction, foldDepth := w.itemOf("fold-function"), w.itemOf("fold-depth")
	foldFunction.Action, foldDepth.Action = func() { w.foldFunction(r) }, func() { w.foldDepth(r) }
	note := w.itemOf("bookmark-note")
	note.Action = func() { w.askNote(r.Index) }
	bookmark := w.itemOf("bookmark")
	bookmark.Label = lang.L("Set a bookmark")
	if w.isBookmarked(r.Index) {
		bookmark.Label = lang.L("Remove the bookmark")
	}
	return append(items,
		submenu(lang.L("Show only"), only...),
		fyne.NewMenuItemSeparator(),
		half,
		submenu(lang.L("Go"), w.itemOf("go-to-caller"), w.itemOf("next-call"), w.itemOf("previous-call")),
		source,
		fyne.NewMenuItemSeparator(),
		fold,
		submenu(lang.L("Fold"), foldFunction, foldDepth, w.itemOf("unfold-all")),
		submenu(lang.L("Bookmark"), bookmark, note),
		submenu(lang.L("Copy"),
			item(lang.L("Copy the cell"), func() { w.app.Clipboard().SetContent(w.cellText(column, r)) }),
			w.itemOf("copy")),
		w.itemOf("columns"))
}

// colourItems choose the colour of a highlight.
func (w *Window) colourItems(column string, term *filter.Expr) []*fyne.MenuItem {
	now := 0
	for _, h := range w.highlights {
		if h.Column == column && h.Term == term.String() {
			now = h.Colour
		}
	}
	var items []*fyne.MenuItem
	for i, name := range []string{lang.L("None"), lang.L("Orange"), lang.L("Green"), lang.L("Blue"), lang.L("Violet"), lang.L("Red"), lang.L("Grey")} {
		items = append(items, choice(name, i == now, func() { w.setHighlight(column, term, i) }))
	}
	return items
}

// cellText is a cell's text as it is shown, whole.
func (w *Window) cellText(column string, r *rows.Row) string {
	switch column {
	case "source":
		if r.Line > 0 {
			return fmt.Sprintf("%s:%d", r.Source, r.Line)
		}
		return r.Source
	}
	for _, c := range w.grid.Columns() {
		if c.ID == column {
			var cell grid.Cell
			c.Cell(r, &cell)
			return string(cell.Text)
		}
	}
	return ""
}
