package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/readahead"
	"logparser/ui/table"
)

// A logTable shows the rows of the log.
type logTable struct {
	w      *workspace
	grid   *grid.Grid
	reader *readahead.Reader // between the rows and the grid
	rows   rows.Source       // what is shown
	log    string            // the log whose rows are shown
	others []string          // those that are shown with it
	kind   string            // the format of the log, for which columns are kept
	// preview says that rows are the first of a log that is being opened.
	preview bool
	format  table.Format
	asked   time.Time // when that log was asked for; zero once drawn
	moved   time.Time // when the current row became it; zero once drawn
	// lookedBelow is the first row seen when rows below those that are seen were
	// last waited for.
	lookedBelow int64
}

// onRow reports whether there is a current row.
func (t *logTable) onRow() bool {
	return t.w.opened() && t.rows != nil && t.grid.Current() >= 0 && t.grid.Current() < t.rows.Len()
}

// withCurrent calls f with the current row.
func (t *logTable) withCurrent(f func(r *rows.Row)) {
	if r, ok := t.w.ctl.Calls.Row(t.currentRow()); ok {
		f(&r)
	}
}

// cellText is a cell's text as it is shown, whole.
func (t *logTable) cellText(column string, r *rows.Row) string {
	if column == "source" {
		if r.Line > 0 {
			return fmt.Sprintf("%s:%d", r.Source, r.Line)
		}
		return r.Source
	}
	for _, c := range t.grid.Columns() {
		if c.ID == column {
			var cell grid.Cell
			c.Cell(r, &cell)
			return string(cell.Text)
		}
	}
	return ""
}

// decorateAnnotations is decorate for shown rows from a place on.
func (t *logTable) decorateAnnotations(dst []grid.Decor, list []rows.Row, first int64) {
	since := int64(math.MinInt64)
	if first > 0 {
		since = math.MaxInt64 // it is read by and by
		if before, ok := t.reader.At(first - 1); ok {
			since = before.Elapsed
		}
	}
	t.w.views.drawn.decorate(dst, list, since, first+int64(len(list)) == t.rows.Len())
}

// annotationAt returns what was written before a shown row, "" for nothing.
func (t *logTable) annotationAt(at int64, r *rows.Row) string {
	var d [1]grid.Decor
	t.decorateAnnotations(d[:], []rows.Row{*r}, at)
	return d[0].Annotation
}

// currentRow is the log's row of the current one, -1 for none.
func (t *logTable) currentRow() int64 { return t.indexOf(t.grid.Current()) }

// decoration finds what is shown of a view's rows besides their content, as far
// as that has to be looked for.
func decoration(v *app.View) func(at int64, r *readahead.Row) {
	if v == nil {
		return nil
	}
	sel := v.Selection()
	if len(sel.Folded) == 0 && !sel.Repeats {
		return nil
	}
	return func(at int64, r *readahead.Row) {
		if _, folded := slices.BinarySearch(sel.Folded, r.Index); folded && r.Event == rows.Enter {
			if hidden, ok := v.Folded(at); ok {
				r.Decor.Fold, r.Decor.Hidden = grid.FoldClosed, hidden
			}
		}
		if sel.Repeats {
			r.Decor.Repeat = v.Repeat(at)
		}
	}
}

// decorate says what is shown of rows besides their content.
func (t *logTable) decorate(dst []grid.Decor, list []rows.Row, first int64) {
	end, all := first+int64(len(list)), true
	last := t.rows.Len() - end
	below := func(k int64) (rows.Row, bool) { return t.reader.At(end + k) }
	for i := range dst {
		r := &list[i]
		dst[i] = t.reader.Decor(first + int64(i))
		dst[i].Bookmark = t.w.bookmarks.has(r.Index)
		if dst[i].Fold == grid.NoFold {
			fold, known := foldMark(list, i, below, last)
			dst[i].Fold = fold
			all = all && known
		}
	}
	if !all && t.lookedBelow != first {
		// The rows below are being read.
		t.lookedBelow = first
		t.w.later(besideDelay, t.grid.Refresh)
	}
	t.decorateAnnotations(dst, list, first)
}

// copyRows puts the selected rows on the clipboard.
func (t *logTable) copyRows() { t.copyAs(&table.Tabs) }

// copyAs puts the selected rows on the clipboard, written for the place that they are for.
func (t *logTable) copyAs(m *table.Markup) {
	first, last, ok := t.grid.Selection()
	if !ok {
		return
	}
	format := t.format
	t.w.ctl.Saving.Copy(first, last, func(dst []byte, r *rows.Row) []byte { return m.Line(dst, r, format) },
		func(text string) { t.w.app.Clipboard().SetContent(m.Head + text + m.Foot) })
}

// copy is Ctrl+C: of the text that has the focus, or of the rows.
func (t *logTable) copy() {
	if f, ok := t.w.win.Canvas().Focused().(fyne.Shortcutable); ok && f != fyne.Shortcutable(t.grid) {
		f.TypedShortcut(&fyne.ShortcutCopy{Clipboard: t.w.app.Clipboard()})
		return
	}
	if t.w.dialogs.modal() {
		return
	}
	t.copyRows()
}

// showRows puts another source into the table. The same log keeps its place.
func (t *logTable) showRows(s *control.State) {
	if s.Preview {
		t.showPreview(s)
		return
	}
	// Of a log with several runs the first rows need not be those of the one that is shown.
	kept := t.preview && s.Opened && (s.Facts.Chosen == 0 || s.Facts.All)
	t.preview = false
	index := int64(-1)
	if at := t.grid.Current(); t.rows != nil && at >= 0 && at < t.rows.Len() {
		// The state has the other source already.
		r, ok := t.reader.At(at)
		if !ok {
			r = t.rows.Row(at)
		}
		index = r.Index
	}
	t.rows = s.Rows
	same := s.Opened && t.log == s.Found.Log && slices.Equal(t.others, s.Found.Others)
	if index < 0 && same && t.w.memory.row > 0 {
		index = t.w.memory.row // no rows were shown meanwhile
	}
	if t.w.nav.want >= 0 {
		index = t.w.nav.want
	}
	if !same {
		t.w.finding.close()
		t.w.memory.noteViews(&t.w.memory.last)
		t.w.memory.leave(t.w.trace)
	}
	t.format = table.FormatOf(s.Rows)
	t.format.Swatches = t.w.swatches
	if s.Opened && s.Facts.Format != t.kind {
		t.kind = s.Facts.Format
		t.grid.SetColumns(table.Columns(&t.format))
		t.w.pref.loadColumns(t.grid, t.kind)
	}
	t.widen()
	if !same {
		t.grid.SetColumn("process", 0, len(s.Found.Others) == 0)
	}
	t.readColumns()
	if kept {
		t.grid.ReplaceSource(t.reader)
	} else {
		t.grid.SetSource(t.reader)
	}
	t.log, t.others = "", nil
	if s.Opened {
		t.log, t.others = s.Found.Log, s.Found.Others
		if !same && len(s.Found.Others) == 0 {
			t.w.pref.addRecent(t.log, s.Wanted.Modules)
		}
	}
	t.w.tabs.show()
	t.w.arrange()
	if !same {
		t.w.memory.recall(t.log, t.others...)
	} else {
		t.w.nav.keepPlace(s, index)
		t.w.bookmarks.show()
	}
	t.showSelection(t.grid.Current())
	if s.Opened && !same {
		t.w.focusView()
	}
	// What is counted was counted in other rows.
	t.w.ctl.Finder.Count(t.w.bar.query())
}

// columnsChanged keeps the columns as they are now, for logs of this kind.
func (t *logTable) columnsChanged() { t.w.pref.saveColumns(t.grid, t.kind) }

// showColumn shows or hides a column.
func (t *logTable) showColumn(id string, shown bool) {
	t.grid.SetColumn(id, 0, !shown)
	t.readColumns()
	t.grid.Reload()
	t.columnsChanged()
	t.w.actions.show()
}

// fitColumns makes all columns that are shown as wide as what is seen of them needs.
func (t *logTable) fitColumns() {
	for _, c := range t.grid.Columns() {
		if !c.Hidden {
			t.grid.Fit(c.ID)
		}
	}
}

// resetColumns shows the columns as they are at first.
func (t *logTable) resetColumns() {
	t.grid.SetColumns(table.Columns(&t.format))
	t.widen()
	t.grid.SetColumn("process", 0, len(t.others) == 0)
	t.readColumns()
	t.grid.Reload()
	t.columnsChanged()
	t.w.actions.show()
}

// widen gives the columns the room that this log's numbers and times need.
func (t *logTable) widen() {
	t.grid.Widen("time", table.TimeWidth(t.format))
	if all := t.w.ctl.Calls.All(); all != nil {
		t.grid.Widen("index", grid.TextWidth(len(strconv.FormatInt(all.Len(), 10))))
	}
}

// showPreview puts the first rows of a log that is being opened into the table.
func (t *logTable) showPreview(s *control.State) {
	t.rows, t.preview = s.Rows, true
	t.format = table.FormatOf(s.Rows)
	t.grid.Widen("time", table.TimeWidth(t.format))
	t.grid.SetColumn("process", 0, true)
	t.readColumns()
	t.grid.SetSource(t.reader)
	t.w.arrange()
	t.showSelection(t.grid.Current())
}

// readColumns reads what the columns that are shown, and rules, need of rows.
func (t *logTable) readColumns() {
	s := t.w.ctl.State()
	t.reader.SetSource(rows.With(s.Rows, table.Needs(t.grid.Columns())|t.w.filters.ruleNeeds()), decoration(s.View))
}

// indexOf returns the Index of a shown row, -1 for none.
func (t *logTable) indexOf(row int64) int64 {
	if r, ok := t.rowAt(row); ok {
		return r.Index
	}
	return -1
}

// rowAt returns a shown row, with arguments and result. What is on the screen need not be read again.
func (t *logTable) rowAt(at int64) (rows.Row, bool) {
	src := t.w.ctl.State().Rows
	if src == nil || at < 0 || at >= src.Len() {
		return rows.Row{}, false
	}
	if src == t.rows {
		if r, ok := t.reader.At(at); ok && r.Filled&rows.Values != 0 {
			return r, true
		}
	}
	return rows.With(src, table.Needs(t.grid.Columns())|t.w.filters.ruleNeeds()|rows.Values).Row(at), true
}

// showSelection marks the other half of the current row's call, describes the
// row in the status bar, and has the side panel show its call stack.
func (t *logTable) showSelection(row int64) {
	r, ok := t.rowAt(row)
	if !ok {
		t.grid.SetPartner(-1)
		t.w.status.showSelection(-1, "")
		t.w.side.showRow()
		return
	}
	t.grid.SetPartner(t.w.ctl.Calls.Partner(r.Index))
	t.w.status.showSelection(r.Index, table.Describe(&r))
	t.w.side.showRow()
}

// place describes a row beside the dragged scroll bar.
func (t *logTable) place(row int64) string {
	r, ok := t.rowAt(row)
	if !ok {
		return ""
	}
	return control.Thousands(r.Index) + "   " + string(table.AppendTime(nil, &r, t.format))
}
