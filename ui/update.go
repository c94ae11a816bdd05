package ui

import (
	"slices"

	"fyne.io/fyne/v2"

	"logparser/ui/control"
)

// update brings the widgets up to date with what has changed of the state.
func (w *Window) update(what control.Change) {
	s := w.ctl.State()
	if what&control.ChangeSource != 0 {
		w.table.showRows(s)
	} else if what&control.ChangeContent != 0 {
		w.table.reader.Renew()
		w.table.grid.Reload()
		w.table.showSelection(w.table.grid.Current())
	}
	if what&control.ChangeInputs != 0 {
		w.strip.Show(s)
		if !slices.Equal(w.pref.symbols(), s.Wanted.Symbols) {
			w.pref.setSymbols(s.Wanted.Symbols)
		}
		if w.pref.network() != s.Wanted.Network {
			w.pref.setNetwork(s.Wanted.Network)
		}
		if !slices.Equal(w.pref.agreed(), w.ctl.Inputs.Agreed()) {
			w.pref.setAgreed(w.ctl.Inputs.Agreed())
		}
	}
	if what&control.ChangeContent != 0 && s.Loaded {
		w.memory.restoreSelection()
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
		w.finding.showFound(s.Search)
	}
	if what&control.ChangeGrown != 0 {
		// While a view counts on, what it has shown stays as it is.
		if s.View == nil || s.View.Done() || s.Follow.On {
			w.table.reader.Renew()
		}
		w.table.grid.Reload()
		w.bar.line.ShowCounts(countsText(s))
		w.nav.settle()
	}
	if what&control.ChangeFilter != 0 {
		w.filterChanged(s)
	}
	if what&control.ChangeMatches != 0 {
		w.finding.showMatches(s.Matches)
	}
	if what&control.ChangeFollow != 0 {
		w.showFollow(s)
	}
	w.views.update(what, s)
	w.actions.show()
	w.dialogs.quitWhenIdle()
}

// filterChanged shows what the rows are limited by.
func (w *Window) filterChanged(s *control.State) {
	w.bar.showFilter(s, w.filters.hidings())
	w.status.showCounts(s)
	if s.View == nil || s.View.Done() {
		// Bookmarks have other places now, and the state is to be kept.
		if s.Opened {
			w.bookmarks.show()
			w.memory.keep()
		}
		w.ctl.Finder.Count(w.bar.query())
	}
}

// arrange shows the table, with the panel or without it, or the start page.
func (w *Window) arrange() {
	show(w.upper, w.pref.inputsShown() || !w.ctl.State().Opened)
	var shown fyne.CanvasObject
	switch {
	case !w.ctl.State().Opened:
		shown = w.start.Content
		w.opening.showRecent()
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
	w.actions.show()
}

// showFollow keeps the table at its end, or says how many rows have come.
func (w *Window) showFollow(s *control.State) {
	if s.Follow.On && s.Follow.AtEnd {
		w.table.grid.ScrollToEnd()
	}
	w.status.showCounts(s)
	w.status.showNew(s.Follow)
	w.bar.showFollow(s)
}

func (w *Window) toggleFollow() { w.ctl.Following.Set(!w.ctl.State().Follow.On) }
