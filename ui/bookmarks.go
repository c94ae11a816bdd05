package ui

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/inputs"
	"logparser/ui/logstate"
)

// findBookmark returns where the bookmark of a row stands, or would.
func (w *Window) findBookmark(row int64) (int, bool) {
	return slices.BinarySearchFunc(w.marks, row, func(b logstate.Bookmark, row int64) int {
		switch {
		case b.Row < row:
			return -1
		case b.Row > row:
			return 1
		}
		return 0
	})
}

func (w *Window) isBookmarked(row int64) bool {
	if len(w.marks) == 0 {
		return false
	}
	_, ok := w.findBookmark(row)
	return ok
}

// toggleBookmark sets a bookmark at the current row, or takes it away.
func (w *Window) toggleBookmark() {
	row := w.currentRow()
	if row < 0 {
		return
	}
	if _, ok := w.findBookmark(row); ok {
		w.removeBookmark(row)
		return
	}
	w.setBookmark(row, "")
}

// setBookmark sets the bookmark of a row, or changes its note.
func (w *Window) setBookmark(row int64, note string) {
	r, ok := w.ctl.Row(row)
	if !ok {
		return
	}
	i, there := w.findBookmark(row)
	if !there && len(w.marks) >= logstate.MaxBookmarks {
		w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("No more than {{.N}} bookmarks can be set.", data{"N": control.Thousands(logstate.MaxBookmarks)})})
		return
	}
	mark := logstate.Bookmark{Row: row, Address: r.Address, Note: note}
	// The panel keeps the list that it was given.
	w.marks = slices.Clone(w.marks)
	if there {
		w.marks[i] = mark
	} else {
		w.marks = slices.Insert(w.marks, i, mark)
	}
	w.bookmarksChanged()
	w.trace("bookmark " + control.Thousands(row))
}

func (w *Window) removeBookmark(row int64) {
	if i, ok := w.findBookmark(row); ok {
		w.marks = slices.Delete(slices.Clone(w.marks), i, i+1)
		w.bookmarksChanged()
	}
}

// bookmarksChanged shows the bookmarks and keeps them.
func (w *Window) bookmarksChanged() {
	w.showBookmarks()
	w.keep()
}

// showBookmarks shows them in the list, in the table and on its scroll bar.
func (w *Window) showBookmarks() {
	w.side.bookmarks.Show(w.marks, w.format)
	w.grid.Reload()
	marks, v := w.marks, w.ctl.State().View
	w.marking++
	number := w.marking
	if v == nil {
		list := make([]int64, len(marks))
		for i := range marks {
			list[i] = marks[i].Row
		}
		w.grid.SetBookmarks(list)
		return
	}
	go func() {
		var list []int64
		for _, m := range marks {
			if at, shown := v.PositionOf(m.Row); shown {
				list = append(list, at)
			}
		}
		w.post(func() {
			if w.marking == number {
				w.grid.SetBookmarks(list)
			}
		})
	}()
}

// goToBookmark goes to the next bookmark, or the one before, and once round.
func (w *Window) goToBookmark(back bool) {
	if len(w.marks) == 0 {
		return
	}
	row := w.currentRow()
	i, there := w.findBookmark(row)
	switch {
	case back:
		i--
	case there:
		i++
	}
	w.goTo(w.marks[(i+len(w.marks))%len(w.marks)].Row)
}

// askNote asks for the note of a row's bookmark, and sets one if there is none.
func (w *Window) askNote(row int64) {
	if row < 0 {
		return
	}
	entry := inputs.NewEntry()
	if i, ok := w.findBookmark(row); ok {
		entry.SetText(w.marks[i].Note)
	}
	d := dialog.NewForm(lang.L("Bookmark"), lang.L("OK"), lang.L("Cancel"),
		[]*widget.FormItem{widget.NewFormItem(lang.L("Note"), entry)}, func(ok bool) {
			if ok {
				w.setBookmark(row, strings.TrimSpace(entry.Text))
			}
		}, w.win)
	entry.OnSubmitted = func(string) { d.Submit() }
	entry.OnKey = w.key
	w.open(d, 480, 140)
	w.win.Canvas().Focus(entry)
	entry.TypedShortcut(&fyne.ShortcutSelectAll{})
}
