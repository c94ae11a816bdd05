package ui

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/rows"
	"logparser/rows/filter"
)

// tableMenu is the menu of a cell.
func (as *actions) tableMenu(at int64, column string, where fyne.Position) {
	r, ok := as.w.front.table.rowAt(at)
	if !ok {
		return
	}
	as.popUp(as.cellItems(at, column, &r), where)
}

// headerMenu is the menu of a column's head.
func (as *actions) headerMenu(column string, where fyne.Position) {
	as.popUp(as.headerItems(column), where)
}

// headerItems are what can be done with a column, and with all.
func (as *actions) headerItems(column string) []*fyne.MenuItem {
	t := &as.w.front.table
	hide := item(lang.L("Hide the column"), func() { t.showColumn(column, false) })
	hide.Disabled = column == "function"
	return []*fyne.MenuItem{
		hide,
		item(lang.L("Fit the column"), func() { t.grid.Fit(column) }),
		fyne.NewMenuItemSeparator(),
		as.itemOf("columns"),
		as.itemOf("fit-columns"),
		as.itemOf("reset-columns"),
	}
}

// cellItems are what can be done with a cell and its row: what is done most
// often, and the rest by what it is about.
func (as *actions) cellItems(at int64, column string, r *rows.Row) []*fyne.MenuItem {
	w := as.w.front
	var items []*fyne.MenuItem
	narrow := func(label string, change func(e *filter.Expr) *filter.Expr) *fyne.MenuItem {
		return item(label, func() { w.ctl.Filter.Narrow(change) })
	}
	if term, ok := cellTerm(column, r); ok {
		text := shorten(term.String(), 40)
		items = append(items,
			narrow(lang.L("Include {{.Term}}", data{"Term": text}), func(e *filter.Expr) *filter.Expr { return e.Include(term) }),
			narrow(lang.L("Exclude {{.Term}}", data{"Term": text}), func(e *filter.Expr) *filter.Expr { return e.Exclude(term) }),
			submenu(lang.L("Highlight {{.Term}}", data{"Term": text}), as.colourItems(column, term)...))
	}
	enter := w.folding.enterOf(r)
	inside := item(lang.L("Only inside this call"), func() { w.filters.insideCall(enter) })
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
	if object := filter.This.ValueOf(r); object != nil {
		if t, ok := filter.IsValueOf(filter.This, object); ok {
			only = append(only, narrow(lang.L("Only this object"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
		}
	}
	for _, t := range valueTerms(r) {
		only = append(only, narrow(shorten(t.String(), 40), func(e *filter.Expr) *filter.Expr { return e.Include(t) }))
	}
	only = append(only, item(lang.L("Only calls that took at least"), func() { w.filters.atLeast(r) }))

	other := lang.L("Go to the leave")
	if r.Event == rows.Leave {
		other = lang.L("Go to the enter")
	}
	half, source := as.itemOf("go-to-other-half"), as.itemOf("open-source")
	half.Label, half.Disabled = other, w.ctl.Calls.Partner(r.Index) < 0
	source.Disabled, source.Action = r.Source == "", func() { w.side.openSource(at) }
	foldLabel := lang.L("Fold this call")
	if enter >= 0 && w.ctl.Filter.IsFolded(enter) {
		foldLabel = lang.L("Unfold this call")
	}
	fold := as.itemOf("fold")
	fold.Label, fold.Disabled, fold.Action = foldLabel, enter < 0, func() { w.folding.fold(at) }
	foldFunction, foldDepth := as.itemOf("fold-function"), as.itemOf("fold-depth")
	foldFunction.Action, foldDepth.Action = func() { w.folding.foldFunction(r) }, func() { w.folding.foldDepth(r) }
	note := as.itemOf("bookmark-note")
	note.Action = func() { w.bookmarks.askNote(r.Index) }
	bookmark := as.itemOf("bookmark")
	bookmark.Label = lang.L("Set a bookmark")
	if w.bookmarks.has(r.Index) {
		bookmark.Label = lang.L("Remove the bookmark")
	}
	return append(items,
		submenu(lang.L("Show only"), only...),
		fyne.NewMenuItemSeparator(),
		half,
		submenu(lang.L("Go"), as.itemOf("go-to-caller"), as.itemOf("next-call"), as.itemOf("previous-call"), as.itemOf("go-to-slowest-call")),
		source,
		fyne.NewMenuItemSeparator(),
		fold,
		submenu(lang.L("Fold"), foldFunction, foldDepth, as.itemOf("unfold-all")),
		submenu(lang.L("Bookmark"), bookmark, note),
		submenu(lang.L("Copy"),
			item(lang.L("Copy the cell"), func() { w.app.Clipboard().SetContent(w.table.cellText(column, r)) }),
			as.itemOf("copy"), as.itemOf("copy-markdown"), as.itemOf("copy-html")),
		as.itemOf("columns"))
}

// maxValueTerms bounds the values that the menu has.
const maxValueTerms = 12

// valueTerms are terms for the arguments and the result of a row's call, those that can be compared.
func valueTerms(r *rows.Row) (list []*filter.Expr) {
	call := r.CallValues()
	if call == nil {
		return nil
	}
	add := func(c filter.Column, v *rows.Value) {
		if t, ok := filter.IsValueOf(c, v); ok && len(list) < maxValueTerms {
			list = append(list, t)
		}
	}
	for i := range call.Arguments {
		if v := &call.Arguments[i]; v.Name != "" && v.Name != "this" {
			add(filter.ValueColumn(v.Name), v)
		}
	}
	if len(call.Results) == 1 {
		add(filter.Result, &call.Results[0])
	}
	return list
}

// colourItems choose the colour of a highlight.
func (as *actions) colourItems(column string, term *filter.Expr) []*fyne.MenuItem {
	w := as.w.front
	now := 0
	for _, h := range w.filters.highlights {
		if h.Column == column && h.Term == term.String() {
			now = h.Colour
		}
	}
	var items []*fyne.MenuItem
	for i, name := range append([]string{lang.L("None")}, colourNames()...) {
		items = append(items, choice(name, i == now, func() { w.filters.setHighlight(column, term, i) }))
	}
	if byRow(term) {
		items = append(items, fyne.NewMenuItemSeparator(), item(lang.L("As a rule for all logs"), func() { w.dialogs.editColourings(term.String()) }))
	}
	return items
}
