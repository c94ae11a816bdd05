package sidepanel

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/hint"
	"logparser/ui/logstate"
	"logparser/ui/table"
)

// Bookmarks is the list of bookmarks.
type Bookmarks struct {
	Content fyne.CanvasObject
	// OnGo is told the row of a bookmark that was clicked; OnNote and OnRemove
	// that of the chosen one, when its buttons are.
	OnGo, OnNote, OnRemove func(row int64)
	// Row reads a row of the log.
	Row func(row int64) (rows.Row, bool)

	list         *widget.List
	note, remove *hint.Button
	empty        *widget.Label
	marks        []logstate.Bookmark
	format       table.Format
	chosen       int64
}

// NewBookmarks makes an empty list.
func NewBookmarks() *Bookmarks {
	p := &Bookmarks{chosen: -1, empty: widget.NewLabel("")}
	p.empty.Wrapping = fyne.TextWrapWord
	p.empty.Importance = widget.LowImportance
	p.list = widget.NewList(func() int { return len(p.marks) }, func() fyne.CanvasObject {
		l := widget.NewLabel("")
		l.Truncation = fyne.TextTruncateEllipsis
		return l
	}, func(i widget.ListItemID, o fyne.CanvasObject) { o.(*widget.Label).SetText(p.text(&p.marks[i])) })
	p.list.OnSelected = func(i widget.ListItemID) {
		p.chosen = p.marks[i].Row
		p.enable()
		p.OnGo(p.chosen)
	}
	p.note = hint.NewButton("", theme.DocumentCreateIcon(), func() { p.OnNote(p.chosen) })
	p.remove = hint.NewButton("", theme.DeleteIcon(), func() { p.OnRemove(p.chosen) })
	for _, b := range []*hint.Button{p.note, p.remove} {
		b.Importance = widget.LowImportance
	}
	p.Content = container.NewBorder(nil, container.NewHBox(p.note, p.remove), nil, nil, container.NewStack(p.empty, p.list))
	p.Relabel()
	p.enable()
	return p
}

// Relabel says everything in the present language.
func (p *Bookmarks) Relabel() {
	p.note.Hint = func() string { return hint.Keyed(lang.L("Bookmark with a note"), "Ctrl+Shift+B") }
	p.remove.Hint = func() string { return hint.Keyed(lang.L("Set or remove a bookmark"), "Ctrl+B") }
	p.note.SetText(lang.L("Note"))
	p.remove.SetText(lang.L("Remove"))
	p.empty.SetText(lang.L("No bookmarks yet. Ctrl+B sets one at the current row."))
	p.list.Refresh()
}

// text is a line of the list.
func (p *Bookmarks) text(b *logstate.Bookmark) string {
	s := control.Thousands(b.Row)
	if p.Row != nil {
		if r, ok := p.Row(b.Row); ok {
			s += "   " + string(table.AppendTime(nil, &r, p.format)) + "   " + r.Function
		}
	}
	if b.Note != "" {
		s = b.Note + "   \u00b7   " + s
	}
	return s
}

// Show shows bookmarks, which are not to be changed afterwards.
func (p *Bookmarks) Show(list []logstate.Bookmark, f table.Format) {
	p.marks, p.format = list, f
	found := false
	for i := range list {
		found = found || list[i].Row == p.chosen
	}
	if !found {
		p.chosen = -1
		p.list.UnselectAll()
	}
	p.empty.Hidden = len(list) > 0
	p.enable()
	p.list.Refresh()
}

// Texts returns the lines of the list.
func (p *Bookmarks) Texts() []string {
	var list []string
	for i := range p.marks {
		list = append(list, p.text(&p.marks[i]))
	}
	return list
}

func (p *Bookmarks) enable() {
	for _, b := range []*hint.Button{p.note, p.remove} {
		if p.chosen >= 0 {
			b.Enable()
		} else {
			b.Disable()
		}
	}
}
