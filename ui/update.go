package ui

import (
	"path/filepath"
	"slices"
	"strconv"

	"fyne.io/fyne/v2"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/startpage"
	"logparser/ui/table"
)

// update brings the widgets up to date with what has changed of the state.
func (w *Window) update(what control.Change) {
	s := w.ctl.State()
	if what&control.ChangeSource != 0 {
		w.showRows(s)
	} else if what&control.ChangeContent != 0 {
		w.reader.Renew()
		w.grid.Reload()
		w.showSelection(w.grid.Current())
	}
	if what&control.ChangeInputs != 0 {
		w.strip.Show(s)
		if !slices.Equal(w.pref.symbols(), s.Wanted.Symbols) {
			w.pref.setSymbols(s.Wanted.Symbols)
		}
		if w.pref.network() != s.Wanted.Network {
			w.pref.setNetwork(s.Wanted.Network)
		}
		if !slices.Equal(w.pref.agreed(), w.ctl.Agreed()) {
			w.pref.setAgreed(w.ctl.Agreed())
		}
	}
	if what&control.ChangeContent != 0 && s.Loaded {
		w.restoreSelection()
	}
	if what&(control.ChangeModules|control.ChangeSource) != 0 {
		w.side.modules.Show(s.Modules)
		w.bar.show(s)
		w.status.showCounts(s)
	}
	if what&(control.ChangeProgress|control.ChangeInputs) != 0 {
		w.status.showWork(s.Work)
		if !s.Opened {
			w.status.showCounts(s)
			w.start.ShowWork(s.Opening, s.Work)
		}
	}
	if what&control.ChangeMessage != 0 {
		w.notice.Show(s.Message)
		// The bar changes the height of what is above the table.
		w.win.Content().Refresh()
	}
	if what&control.ChangeFound != 0 {
		w.showFound(s.Search)
	}
	if what&control.ChangeGrown != 0 {
		// While a view counts on, what it has shown stays as it is.
		if s.View == nil || s.View.Done() || s.Follow.On {
			w.reader.Renew()
		}
		w.grid.Reload()
		w.bar.line.ShowCounts(countsText(s))
		w.settle()
	}
	if what&control.ChangeFilter != 0 {
		w.filterChanged(s)
	}
	if what&control.ChangeMatches != 0 {
		w.matchesChanged(s.Matches)
	}
	if what&control.ChangeFollow != 0 {
		w.showFollow(s)
	}
	w.views.update(what, s)
	w.showMenus()
	w.quitWhenIdle()
}

// showRows puts another source into the table. The same log keeps its place.
func (w *Window) showRows(s *control.State) {
	index := int64(-1)
	if at := w.grid.Current(); w.rows != nil && at >= 0 && at < w.rows.Len() {
		// The state has the other source already.
		r, ok := w.reader.At(at)
		if !ok {
			r = w.rows.Row(at)
		}
		index = r.Index
	}
	w.rows = s.Rows
	same := s.Opened && w.shown == s.Found.Log
	if index < 0 && same && w.memory.row > 0 {
		index = w.memory.row // no rows were shown meanwhile
	}
	if w.want >= 0 {
		index = w.want
	}
	if !same {
		w.noteViews(&w.memory.last)
		w.memory.leave(w.trace)
	}
	w.format = table.FormatOf(s.Rows)
	w.grid.Widen("time", table.TimeWidth(w.format))
	if all := w.ctl.All(); all != nil {
		w.grid.Widen("index", grid.TextWidth(len(strconv.FormatInt(all.Len(), 10))))
	}
	w.reader.SetSource(s.Rows, decoration(s.View))
	w.grid.SetSource(w.reader)
	w.shown = ""
	w.win.SetTitle("LogParser")
	if s.Opened {
		w.shown = s.Found.Log
		w.win.SetTitle(filepath.Base(w.shown) + " \u2013 LogParser")
		if !same {
			w.pref.addRecent(w.shown, s.Wanted.Modules)
		}
	}
	w.arrange()
	if !same {
		w.recall(w.shown)
	} else {
		w.keepPlace(s, index)
		w.showBookmarks()
	}
	w.showSelection(w.grid.Current())
	if s.Opened && !same {
		w.focusView()
	}
	// What is counted was counted in other rows.
	w.ctl.Count(w.bar.query())
}

// keepPlace goes on to show a row of the log, or the nearest before it, after
// other rows have come into the table.
func (w *Window) keepPlace(s *control.State, index int64) {
	if index < 0 {
		return
	}
	w.want = -1
	if s.View != nil {
		done := s.View.Done() // it may become so before the answer
		if _, shown := s.View.PositionOf(index); !shown && !done {
			w.want = index
		}
	}
	if at := w.ctl.PlaceOf(index); at >= 0 {
		w.placing = true
		w.grid.SetCurrent(at)
		w.grid.Centre(at)
		w.placing = false
	}
}

// filterChanged shows what the rows are limited by.
func (w *Window) filterChanged(s *control.State) {
	w.bar.showFilter(s, w.hidings())
	w.status.showCounts(s)
	if s.View == nil || s.View.Done() {
		// Bookmarks have other places now, and the state is to be kept.
		if s.Opened {
			w.showBookmarks()
			w.keep()
		}
		w.ctl.Count(w.bar.query())
	}
}

// arrange shows the table, with the panel or without it, or the start page.
func (w *Window) arrange() {
	show(w.upper, w.pref.inputsShown() || !w.ctl.State().Opened)
	var shown fyne.CanvasObject
	switch {
	case !w.ctl.State().Opened:
		shown = w.start.Content
		w.showRecent()
	case w.pref.panelShown():
		// A split keeps its parts; it is asked to lay them out again below.
		w.split.Leading = w.views.Content
		shown = w.split
	default:
		shown = w.views.Content
	}
	if len(w.body.Objects) != 1 || w.body.Objects[0] != shown {
		w.body.Objects = []fyne.CanvasObject{shown}
		w.body.Refresh()
	}
}

func (w *Window) toggleInputs() {
	w.pref.setInputsShown(!w.pref.inputsShown())
	w.arrange()
	w.showMenus()
}

func (w *Window) togglePanel() {
	w.pref.setPanelShown(!w.pref.panelShown())
	w.arrange()
	w.showMenus()
}

// showRecent looks at the disk in the background.
func (w *Window) showRecent() {
	logs, _ := w.pref.recent()
	if len(logs) == 0 {
		w.start.Show(nil)
		return
	}
	go func() {
		list := startpage.Look(logs)
		w.post(func() { w.start.Show(list) })
	}()
}

func (w *Window) forget(path string) {
	w.pref.forget(path)
	w.showRecent()
	w.showMenus()
}

// indexOf returns the Index of a shown row, -1 for none.
func (w *Window) indexOf(row int64) int64 {
	if r, ok := w.rowAt(row); ok {
		return r.Index
	}
	return -1
}

// rowAt returns a shown row. What is on the screen need not be read again.
func (w *Window) rowAt(at int64) (rows.Row, bool) {
	src := w.ctl.State().Rows
	if src == nil || at < 0 || at >= src.Len() {
		return rows.Row{}, false
	}
	if src == w.rows {
		if r, ok := w.reader.At(at); ok {
			return r, true
		}
	}
	return src.Row(at), true
}

// showSelection marks the other half of the current row's call, and describes
// the row in the status bar.
func (w *Window) showSelection(row int64) {
	r, ok := w.rowAt(row)
	if !ok {
		w.grid.SetPartner(-1)
		w.status.showSelection(-1, "")
		w.showBeside()
		return
	}
	w.grid.SetPartner(w.ctl.Partner(r.Index))
	w.status.showSelection(r.Index, table.Describe(&r))
	w.showBeside()
}

// place describes a row beside the dragged scroll bar.
func (w *Window) place(row int64) string {
	r, ok := w.rowAt(row)
	if !ok {
		return ""
	}
	return control.Thousands(r.Index) + "   " + string(table.AppendTime(nil, &r, w.format))
}

// showFollow keeps the table at its end, or says how many rows have come.
func (w *Window) showFollow(s *control.State) {
	if s.Follow.On && s.Follow.AtEnd {
		w.grid.ScrollToEnd()
	}
	w.status.showCounts(s)
	w.status.showNew(s.Follow)
	w.bar.showFollow(s)
}

func (w *Window) toggleFollow() { w.ctl.SetFollow(!w.ctl.State().Follow.On) }
