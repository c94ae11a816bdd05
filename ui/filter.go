package ui

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
	"logparser/ui/filterline"
	"logparser/ui/grid"
	"logparser/ui/inputs"
	"logparser/ui/logstate"
)

// applyFilter limits the rows by what was typed.
func (w *Window) applyFilter(expr string) {
	w.ctl.SetWhere(expr)
	if w.ctl.State().FilterError == nil && expr != "" {
		w.pref.addFilter(expr)
		w.focusView()
	}
}

func (w *Window) focusFilter() {
	if w.ctl.State().Opened {
		w.win.Canvas().Focus(w.bar.line.Entry)
		w.bar.line.Entry.TypedShortcut(&fyne.ShortcutSelectAll{})
	}
}

// toggleFilters takes all that hides rows away, or brings it back.
func (w *Window) toggleFilters() {
	s := w.ctl.State()
	if s.Filtered {
		w.setAside = s.Selection
		w.ctl.ShowAll()
	} else {
		w.ctl.Select(w.setAside)
	}
}

func (w *Window) toggleRepeats() {
	w.ctl.SetRepeats(!w.ctl.State().Selection.Repeats)
}

// hidings are what hides rows besides the expression.
func (w *Window) hidings() []filterline.Chip {
	var list []filterline.Chip
	s := w.ctl.State()
	if n := len(s.Selection.Folded); n > 0 {
		list = append(list, filterline.Chip{Text: control.Count("{{.N}} call folded", "{{.N}} calls folded", int64(n)), Remove: func() { w.ctl.Unfold() }})
	}
	if s.Selection.Repeats {
		list = append(list, filterline.Chip{Text: lang.L("repeats collapsed"), Remove: w.toggleRepeats})
	}
	return list
}

// completions hands what could be written in the filter to done.
func (w *Window) completions(text string, at, limit int, done func(filter.Completion, []string)) {
	w.ctl.Complete(text, at, limit, func(c app.Completion) { done(c.Completion, c.Choices) })
}

// filterMenu shows the filters applied lately and the saved ones.
func (w *Window) filterMenu(at fyne.Position) {
	items := w.items(w.knownFilters())
	if len(items) > 0 {
		items = append(items, fyne.NewMenuItemSeparator())
	}
	w.popUp(append(items, w.itemOf("save-filter")), at)
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "\u2026"
	}
	return s
}

// saveFilter asks for a name for the present filter.
func (w *Window) saveFilter() {
	expr := w.ctl.State().Selection.Where
	if expr == "" {
		return
	}
	name := inputs.NewEntry()
	d := dialog.NewForm(lang.L("Save this filter"), lang.L("Save"), lang.L("Cancel"),
		[]*widget.FormItem{widget.NewFormItem(lang.L("Name"), name)}, func(ok bool) {
			if text := strings.TrimSpace(name.Text); ok && text != "" {
				w.pref.nameFilter(text, expr)
				w.showMenus()
			}
		}, w.win)
	name.OnSubmitted = func(string) { d.Submit() }
	name.OnKey = w.key
	w.open(d, 420, 140)
	w.win.Canvas().Focus(name)
}

// columns are the filter's columns by the table's.
var columns = map[string]filter.Column{
	"index": filter.Row, "time": filter.Time, "thread": filter.Thread, "function": filter.Func,
	"duration": filter.Duration, "module": filter.Module, "source": filter.Source,
	"address": filter.Address, "symbols": filter.Symbols, "note": filter.Mark,
}

// cellTerm returns the term for what a cell shows.
func cellTerm(column string, r *rows.Row) (*filter.Expr, bool) {
	c, ok := columns[column]
	if !ok {
		return nil, false
	}
	return filter.Of(c, r)
}

// A highlight labels the cells of a column that its term wants.
type highlight struct {
	logstate.Highlight
	term *filter.Expr
}

// noEnv knows nothing but rows: thread names do not colour cells.
type noEnv struct{ filter.Env }

func (noEnv) ThreadName(uint32) string { return "" }

// label returns the colour of a cell.
func (w *Window) label(column string, r *rows.Row) int {
	for i := range w.highlights {
		if h := &w.highlights[i]; h.Column == column && h.term.Matches(r, noEnv{}) {
			return h.Colour
		}
	}
	return 0
}

// setHighlight labels what a cell shows, wherever it is shown; 0 takes that
// away.
func (w *Window) setHighlight(column string, term *filter.Expr, colour int) {
	text := term.String()
	w.highlights = slices.DeleteFunc(w.highlights, func(h highlight) bool { return h.Column == column && h.Term == text })
	if colour > 0 && len(w.highlights) < maxHighlights {
		w.addHighlight(logstate.Highlight{Column: column, Term: text, Colour: colour})
	}
	w.grid.Reload()
}

// maxHighlights bounds what each cell is compared with.
const maxHighlights = 50

// addHighlight takes over a highlight. Only terms that a row alone decides can
// be drawn.
func (w *Window) addHighlight(h logstate.Highlight) {
	term, err := filter.Parse(h.Term)
	c, ok := columns[h.Column]
	if err != nil || !ok || term.Kind != filter.Leaf || term.Term.Column != c || h.Colour < 1 || h.Colour > grid.Labels {
		return
	}
	w.highlights = append(w.highlights, highlight{h, term})
}

// atLeast asks for a duration and filters by it.
func (w *Window) atLeast(r *rows.Row) {
	entry := inputs.NewEntry()
	if t, ok := filter.Of(filter.Duration, r); ok {
		entry.SetText(strings.TrimPrefix(t.Term.Value, ">="))
	}
	entry.SetPlaceHolder("5ms")
	d := dialog.NewForm(lang.L("Only calls that took at least"), lang.L("Filter"), lang.L("Cancel"),
		[]*widget.FormItem{widget.NewFormItem(lang.L("Duration"), entry)}, func(ok bool) {
			if !ok {
				return
			}
			text := "dur:>=" + strings.ReplaceAll(strings.TrimSpace(entry.Text), " ", "")
			if term, err := filter.Parse(text); err == nil {
				w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) })
			} else {
				w.ctl.SetWhere(text)
			}
		}, w.win)
	entry.OnSubmitted = func(string) { d.Submit() }
	entry.OnKey = w.key
	w.open(d, 420, 140)
	w.win.Canvas().Focus(entry)
	entry.TypedShortcut(&fyne.ShortcutSelectAll{})
}

// insideCall limits the rows to a call and what it called.
func (w *Window) insideCall(enter int64) {
	if t, ok := filter.Of(filter.Call, &rows.Row{Index: enter}); ok {
		w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(t) })
	}
}

// sameSelection reports whether two selections hide the same.
func sameSelection(a, b app.Selection) bool {
	return a.Where == b.Where && a.Repeats == b.Repeats && slices.Equal(a.Folded, b.Folded)
}
