package ui

import (
	"slices"
	"time"

	"fyne.io/fyne/v2"

	"logparser/ui/control"
)

// update brings the widgets up to date with what has changed of the state.
func (w *workspace) update(what control.Change) {
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
		w.summary.Show(s, w.pref.inputsShown())
		w.rememberInputs(s)
		w.tabs.show()
	}
	if what&control.ChangeContent != 0 && s.Loaded {
		w.memory.restoreSelection()
	}
	if what&(control.ChangeModules|control.ChangeSource|control.ChangeContent) != 0 {
		w.colourThreads(s)
	}
	if what&(control.ChangeModules|control.ChangeSource) != 0 {
		w.side.modules.Show(s.Modules)
		w.bar.show(s)
		w.status.showCounts(s)
	}
	if what&(control.ChangeProgress|control.ChangeInputs|control.ChangeSource) != 0 {
		work := s.Work
		if s.Preview && work.Title != "" {
			work.Slow = true // who sees the first rows only is told at once that there are more to come
		}
		w.status.showWork(work)
		if !s.Opened {
			w.status.showCounts(s)
			w.start.ShowWork(s.Opening, s.Work)
		}
	}
	if what&control.ChangeMessage != 0 {
		w.showMessage(s.Message)
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
		w.status.showCounts(s)
		w.nav.settle()
	}
	if what&(control.ChangeFilter|control.ChangeSource) != 0 {
		w.steps.note(s, w.ctl.Filter.Wanted())
	}
	if what&control.ChangeFilter != 0 {
		w.filterChanged(s)
		w.status.showLimit(w.limitText())
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

// rememberInputs tells the preferences what was changed of where symbols are.
func (w *workspace) rememberInputs(s *control.State) {
	if !slices.Equal(w.remembered.Symbols, s.Wanted.Symbols) {
		w.pref.setSymbols(s.Wanted.Symbols)
	}
	if w.remembered.Network != s.Wanted.Network {
		w.pref.setNetwork(s.Wanted.Network)
	}
	if agreed := w.ctl.Inputs.Agreed(); !slices.Equal(w.agreed, agreed) {
		w.pref.setAgreed(agreed)
		w.agreed = slices.Clone(agreed)
	}
	w.remembered.Symbols, w.remembered.Network = slices.Clone(s.Wanted.Symbols), s.Wanted.Network
}

// filterChanged shows what the rows are limited by.
func (w *workspace) filterChanged(s *control.State) {
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
func (w *workspace) arrange() {
	s := w.ctl.State()
	show(w.upper, w.pref.inputsShown() || !s.Opened)
	show(w.summary.Content, s.Opened)
	w.summary.Show(s, w.pref.inputsShown())
	w.relayout()
	var shown fyne.CanvasObject
	switch {
	case !w.ctl.State().Opened && !w.ctl.State().Preview:
		shown = w.start.Content
		w.opening.showRecent()
	case w.pref.panelShown():
		// A split keeps its parts; it is asked to lay them out again below.
		w.split.Leading = w.views.Content
		shown = w.split
	default:
		shown = w.views.Content
	}
	if w.body.Objects[0] != shown {
		w.body.Objects[0] = shown
		w.body.Refresh()
	}
}

// relayout gives the table the room that is left, as what is above it has changed.
func (w *workspace) relayout() {
	if w.content != nil {
		w.content.Refresh()
	}
}

// passingTime is how long a message that needs no answer is seen in general.
const passingTime = 8 * time.Second

// showMessage shows a message: one that passes in the status bar, for a while, another
// over the end of the table, until it is answered.
func (w *workspace) showMessage(m *control.Message) {
	lasting, passing := m, (*control.Message)(nil)
	if m != nil && m.Offer == control.OfferNone && m.Level != control.LevelBad {
		lasting, passing = nil, m
		w.later(w.passing, func() {
			if w.ctl.State().Message == m {
				w.ctl.Dismiss()
			}
		})
	}
	w.notice.Show(lasting)
	w.status.showMessage(passing)
	w.floating.Refresh()
}

func (w *workspace) toggleInputs() {
	w.pref.setInputsShown(!w.pref.inputsShown())
	w.arrange()
	w.actions.show()
}

// showFollow keeps the table at its end, or says how many rows have come.
func (w *workspace) showFollow(s *control.State) {
	if s.Follow.On && s.Follow.AtEnd {
		w.table.grid.ScrollToEnd()
	}
	w.status.showCounts(s)
	w.status.showNew(s.Follow)
	w.bar.showFollow(s)
}

func (w *workspace) toggleFollow() { w.ctl.Following.Set(!w.ctl.State().Follow.On) }
