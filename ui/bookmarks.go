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

// bookmarks are the rows that the user marked, in the order of the rows.
type bookmarks struct {
	w    *workspace
	list []logstate.Bookmark
	// showing numbers what is shown of them on the scroll bar; places that were
	// looked for with another number are late.
	showing int
}

// find returns where the bookmark of a row stands, or would.
func (b *bookmarks) find(row int64) (int, bool) {
	return slices.BinarySearchFunc(b.list, row, func(b logstate.Bookmark, row int64) int {
		switch {
		case b.Row < row:
			return -1
		case b.Row > row:
			return 1
		}
		return 0
	})
}

func (b *bookmarks) has(row int64) bool {
	if len(b.list) == 0 {
		return false
	}
	_, ok := b.find(row)
	return ok
}

// toggle sets a bookmark at the current row, or takes it away.
func (b *bookmarks) toggle() {
	row := b.w.table.currentRow()
	if row < 0 {
		return
	}
	if _, ok := b.find(row); ok {
		b.remove(row)
		return
	}
	b.set(row, "")
}

// set sets the bookmark of a row, or changes its note.
func (b *bookmarks) set(row int64, note string) {
	r, ok := b.w.ctl.Calls.Row(row)
	if !ok {
		return
	}
	i, there := b.find(row)
	if !there && len(b.list) >= logstate.MaxBookmarks {
		b.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("No more than {{.N}} bookmarks can be set.", data{"N": control.Thousands(logstate.MaxBookmarks)})})
		return
	}
	mark := logstate.Bookmark{Row: row, Address: r.Address, Note: note}
	// The panel keeps the list that it was given.
	b.list = slices.Clone(b.list)
	if there {
		b.list[i] = mark
	} else {
		b.list = slices.Insert(b.list, i, mark)
	}
	b.changed()
	b.w.trace("bookmark " + control.Thousands(row))
}

func (b *bookmarks) remove(row int64) {
	if i, ok := b.find(row); ok {
		b.list = slices.Delete(slices.Clone(b.list), i, i+1)
		b.changed()
	}
}

// changed shows the bookmarks and keeps them.
func (b *bookmarks) changed() {
	b.show()
	b.w.memory.keep()
}

// show shows them in the list, in the table and on its scroll bar.
func (b *bookmarks) show() {
	b.w.side.bookmarks.Show(b.list, b.w.table.format)
	b.w.table.grid.Reload()
	marks, v := b.list, b.w.ctl.State().View
	b.showing++
	number := b.showing
	if v == nil {
		list := make([]int64, len(marks))
		for i := range marks {
			list[i] = marks[i].Row
		}
		b.w.table.grid.SetBookmarks(list)
		return
	}
	go func() {
		var list []int64
		for _, m := range marks {
			if at, shown := v.PositionOf(m.Row); shown {
				list = append(list, at)
			}
		}
		b.w.post(func() {
			if b.showing == number {
				b.w.table.grid.SetBookmarks(list)
			}
		})
	}()
}

// goTo goes to the next bookmark, or the one before, and once round.
func (b *bookmarks) goTo(back bool) {
	if len(b.list) == 0 {
		return
	}
	row := b.w.table.currentRow()
	i, there := b.find(row)
	switch {
	case back:
		i--
	case there:
		i++
	}
	b.w.nav.goTo(b.list[(i+len(b.list))%len(b.list)].Row)
}

// askNote asks for the note of a row's bookmark, and sets one if there is none.
func (b *bookmarks) askNote(row int64) {
	if row < 0 {
		return
	}
	entry := inputs.NewEntry()
	if i, ok := b.find(row); ok {
		entry.SetText(b.list[i].Note)
	}
	d := dialog.NewForm(lang.L("Bookmark"), lang.L("OK"), lang.L("Cancel"),
		[]*widget.FormItem{widget.NewFormItem(lang.L("Note"), entry)}, func(ok bool) {
			if ok {
				b.set(row, strings.TrimSpace(entry.Text))
			}
		}, b.w.win)
	entry.OnSubmitted = func(string) { d.Submit() }
	entry.OnKey = b.w.actions.key
	b.w.dialogs.open(d, 480, 140)
	b.w.win.Canvas().Focus(entry)
	entry.TypedShortcut(&fyne.ShortcutSelectAll{})
}
