package ui

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/ui/control"
)

// findDelay is how long a text to find is to stand before it is counted.
const findDelay = 150 * time.Millisecond

// finding looks for a text in the rows.
type finding struct {
	w     *workspace
	typed int // numbers the texts; a count that was asked for with another is late
}

// queryChanged marks what is typed into the find field, and counts it a little
// later.
func (fd *finding) queryChanged() {
	q := fd.w.bar.query()
	fd.w.table.grid.SetFind(q.Marker())
	fd.typed++
	number := fd.typed
	if q.Text == "" {
		fd.w.ctl.Finder.Count(q)
		return
	}
	fd.w.later(findDelay, func() {
		if fd.typed == number {
			fd.w.ctl.Finder.Count(fd.w.bar.query())
		}
	})
}

func (fd *finding) focus() {
	if !fd.w.ctl.State().Opened {
		return
	}
	if fd.w.bar.finding.Hidden {
		fd.w.bar.finding.Show()
		fd.w.relayout()
	}
	fd.w.win.Canvas().Focus(fd.w.bar.entry)
	fd.w.bar.entry.TypedShortcut(&fyne.ShortcutSelectAll{})
}

// end takes the find line away.
func (fd *finding) end() {
	fd.w.focusView()
	fd.close()
}

// close takes the find line away, as another log is shown or none.
func (fd *finding) close() {
	fd.w.bar.entry.Replace("")
	if !fd.w.bar.finding.Hidden {
		fd.w.bar.finding.Hide()
		fd.w.relayout()
	}
}

// next goes to the next row that holds the text, or the one before.
func (fd *finding) next(backward bool) {
	if fd.w.bar.entry.Text == "" {
		fd.focus()
		return
	}
	from := fd.w.table.grid.Current() + 1
	if backward {
		from = fd.w.table.grid.Current() - 1
		if fd.w.table.grid.Current() < 0 {
			from = -1
		}
	}
	fd.w.ctl.Finder.Find(fd.w.bar.query(), from, backward)
}

// showFound leads to what was found.
func (fd *finding) showFound(f control.Search) {
	switch {
	case f.Row < 0:
		fd.w.bar.outcome.SetText(lang.L("Not found"))
		return
	case f.Wrapped:
		fd.w.bar.outcome.SetText(lang.L("Found from the other end"))
	}
	fd.w.nav.history.jump(fd.w.table.currentRow(), fd.w.table.indexOf(f.Row))
	fd.w.nav.placing = true
	fd.w.table.grid.SetCurrent(f.Row)
	fd.w.table.grid.Centre(f.Row)
	fd.w.nav.placing = false
}

// showMatches shows the count of matches and where they are.
func (fd *finding) showMatches(m control.Matches) {
	fd.w.bar.showMatches(m)
	fd.w.table.grid.SetMarks(m.Buckets)
}
