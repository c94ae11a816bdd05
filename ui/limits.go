package ui

import (
	"fyne.io/fyne/v2/lang"

	"logparser/rows"
	"logparser/ui/control"
)

// limitText says what all views are limited to, and how calls count that reach out of a
// range of time; "" for nothing.
func (w *workspace) limitText() string {
	where := w.ctl.Filter.Wanted().Where
	if where == "" {
		return ""
	}
	text := lang.L("limited to {{.Filter}}", data{"Filter": shorten(where, 60)})
	switch {
	case !w.ctl.Views.HasRange():
	case w.ctl.Views.Whole():
		text += ", " + lang.L("whole calls")
	default:
		text += ", " + lang.L("parts of calls in that time")
	}
	return text + "  " + lang.L("(Esc takes it back)")
}

// toggleWhole lets calls that reach out of a range of time count as a whole, or with the
// part that lies in it.
func (w *workspace) toggleWhole() {
	w.ctl.Views.SetWhole(!w.ctl.Views.Whole())
	w.status.showLimit(w.limitText())
	for _, name := range []string{viewTree, viewFlame, viewStatistics, viewThreads} {
		w.views.view(name).some = false
	}
	w.views.renew()
	w.actions.show()
}

// keepThread chooses the row of a thread that lies nearest to a row, where rows were hidden and
// what stands at its place now is of another thread.
func (n *navigation) keepThread(index, at int64) {
	before, ok := n.w.ctl.Calls.Row(index)
	now, shown := n.w.table.rowAt(at)
	if !ok || !shown || before.Track() == now.Track() || before.Event == rows.Unknown {
		return
	}
	number := n.revealed
	n.w.ctl.Calls.NearOnThread(&before, func(row int64) {
		if n.revealed == number && n.w.table.indexOf(n.w.table.grid.Current()) == now.Index {
			n.w.trace("kept thread " + control.Thousands(row))
			n.reveal(row)
		}
	})
}
