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

// filters limit the rows, and label cells by the same terms.
type filters struct {
	w          *workspace
	setAside   app.Selection // what was hidden before all was shown
	highlights []highlight
	colourings []colouring // those of all logs
	coloured   coloured
}

// apply limits the rows by what was typed.
func (fs *filters) apply(expr string) {
	fs.w.ctl.Filter.SetWhere(expr)
	if fs.w.ctl.State().FilterError == nil && expr != "" {
		fs.w.pref.addFilter(expr)
		fs.w.focusView()
	}
}

// try shows the rows of what is being typed, which is not remembered as a filter.
func (fs *filters) try(expr string) {
	if fs.w.ctl.State().Opened {
		fs.w.ctl.Filter.SetWhere(expr)
	}
}

func (fs *filters) focus() {
	if fs.w.ctl.State().Opened {
		fs.w.win.Canvas().Focus(fs.w.bar.line.Entry)
		fs.w.bar.line.Entry.TypedShortcut(&fyne.ShortcutSelectAll{})
	}
}

// toggle takes all that hides rows away, or brings it back.
func (fs *filters) toggle() {
	s := fs.w.ctl.State()
	if s.Filtered {
		fs.setAside = s.Selection
		fs.w.ctl.Filter.ShowAll()
	} else {
		fs.w.ctl.Filter.Select(fs.setAside)
	}
}

func (fs *filters) toggleRepeats() {
	fs.w.ctl.Filter.SetRepeats(!fs.w.ctl.State().Selection.Repeats)
}

// hidings are what hides rows besides the expression.
func (fs *filters) hidings() []filterline.Chip {
	var list []filterline.Chip
	s := fs.w.ctl.State()
	if n := len(s.Selection.Folded); n > 0 {
		list = append(list, filterline.Chip{Text: control.Count("{{.N}} call folded", "{{.N}} calls folded", int64(n)), Remove: func() { fs.w.ctl.Filter.Unfold() }})
	}
	if s.Selection.Repeats {
		list = append(list, filterline.Chip{Text: lang.L("repeats collapsed"), Remove: fs.toggleRepeats})
	}
	return list
}

// completions hands what could be written in the filter to done.
func (fs *filters) completions(text string, at, limit int, done func(filter.Completion, []string)) {
	fs.w.ctl.Filter.Complete(text, at, limit, func(c app.Completion) { done(c.Completion, c.Choices) })
}

// menu shows the filters applied lately and the saved ones.
func (fs *filters) menu(at fyne.Position) {
	items := fs.w.actions.items(fs.w.actions.knownFilters())
	if len(items) > 0 {
		items = append(items, fyne.NewMenuItemSeparator())
	}
	fs.w.actions.popUp(append(items, fs.w.actions.itemOf("save-filter")), at)
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "\u2026"
	}
	return s
}

// save asks for a name for the present filter.
func (fs *filters) save() {
	expr := fs.w.ctl.State().Selection.Where
	if expr == "" {
		return
	}
	name := inputs.NewEntry()
	d := dialog.NewForm(lang.L("Save this filter"), lang.L("Save"), lang.L("Cancel"),
		[]*widget.FormItem{widget.NewFormItem(lang.L("Name"), name)}, func(ok bool) {
			if text := strings.TrimSpace(name.Text); ok && text != "" {
				fs.w.pref.nameFilter(text, expr)
				fs.w.actions.show()
			}
		}, fs.w.win)
	name.OnSubmitted = func(string) { d.Submit() }
	name.OnKey = fs.w.actions.key
	fs.w.dialogs.open(d, 420, 140)
	fs.w.win.Canvas().Focus(name)
}

// columnOf returns the filter's column of one of the table's.
func columnOf(column string) (filter.Column, bool) {
	c := rows.ColumnOf(column)
	if c == nil {
		return "", false
	}
	return filter.ColumnOf(c)
}

// cellTerm returns the term for what a cell shows.
func cellTerm(column string, r *rows.Row) (*filter.Expr, bool) {
	c, ok := columnOf(column)
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

func (noEnv) ThreadName(*rows.Row) string { return "" }

// Self is asked for where the table does not show self times.
func (noEnv) Self(int64) (int64, bool) { return 0, false }

// label returns the colour of a cell.
func (fs *filters) label(column string, r *rows.Row) int {
	for i := range fs.highlights {
		if h := &fs.highlights[i]; h.Column == column && h.term.Matches(r, noEnv{}) {
			return h.Colour
		}
	}
	return fs.rowColour(r)
}

// setHighlight labels what a cell shows, wherever it is shown; 0 takes that
// away.
func (fs *filters) setHighlight(column string, term *filter.Expr, colour int) {
	text := term.String()
	fs.highlights = slices.DeleteFunc(fs.highlights, func(h highlight) bool { return h.Column == column && h.Term == text })
	if colour > 0 && len(fs.highlights) < maxHighlights {
		fs.addHighlight(logstate.Highlight{Column: column, Term: text, Colour: colour})
	}
	fs.w.table.grid.Reload()
}

// maxHighlights bounds what each cell is compared with.
const maxHighlights = 50

// addHighlight takes over a highlight. Only terms that a row alone decides can
// be drawn.
func (fs *filters) addHighlight(h logstate.Highlight) {
	term, err := filter.Parse(h.Term)
	c, ok := columnOf(h.Column)
	if err != nil || !ok || term.Kind != filter.Leaf || term.Term.Column != c || h.Colour < 1 || h.Colour > grid.Labels {
		return
	}
	fs.highlights = append(fs.highlights, highlight{h, term})
}

// atLeast asks for a duration and filters by it.
func (fs *filters) atLeast(r *rows.Row) {
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
				fs.w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) })
			} else {
				fs.w.ctl.Filter.SetWhere(text)
			}
		}, fs.w.win)
	entry.OnSubmitted = func(string) { d.Submit() }
	entry.OnKey = fs.w.actions.key
	fs.w.dialogs.open(d, 420, 140)
	fs.w.win.Canvas().Focus(entry)
	entry.TypedShortcut(&fyne.ShortcutSelectAll{})
}

// insideCall limits the rows to a call and what it called.
func (fs *filters) insideCall(enter int64) {
	if t, ok := filter.Of(filter.Call, &rows.Row{Index: enter}); ok {
		fs.w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(t) })
	}
}

// sameSelection reports whether two selections hide the same.
func sameSelection(a, b app.Selection) bool {
	return a.Where == b.Where && a.Repeats == b.Repeats && slices.Equal(a.Folded, b.Folded)
}
