package ui

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"
)

// showKeys lists the keys, by what they are for.
func (as *actions) showKeys() {
	columns := container.NewHBox()
	for _, part := range inColumns(as.keyLists(), 3) {
		column := container.New(layout.NewCustomPaddedVBoxLayout(0))
		for _, list := range part {
			head := widget.NewLabel(list.title)
			head.Importance = widget.HighImportance
			column.Add(head)
			rows := container.New(&keyRows{})
			for _, k := range list.keys {
				key := widget.NewLabel(k[0])
				key.TextStyle.Bold = true
				rows.Add(key)
				rows.Add(widget.NewLabel(k[1]))
			}
			column.Add(rows)
		}
		columns.Add(column)
	}
	d := dialog.NewCustom(lang.L("Keys"), lang.L("Close"), container.NewScroll(columns), as.w.win)
	as.w.dialogs.open(d, columns.MinSize().Width+60, columns.MinSize().Height+140)
}

// inColumns divides lists among columns of about the same height.
func inColumns(lists []keyList, columns int) [][]keyList {
	const head = 2 // lines that a title takes
	lines := 0
	for _, l := range lists {
		lines += head + len(l.keys)
	}
	parts := make([][]keyList, columns)
	before := 0
	for _, l := range lists {
		at := (before + (head+len(l.keys))/2) * columns / lines
		parts[at] = append(parts[at], l)
		before += head + len(l.keys)
	}
	return parts
}

// keyRows lays keys and what they do out in two columns of close lines.
type keyRows struct{}

const keyLine = 21

func (keyRows) widths(o []fyne.CanvasObject) (key, text float32) {
	for i := 0; i+1 < len(o); i += 2 {
		key, text = max(key, o[i].MinSize().Width), max(text, o[i+1].MinSize().Width)
	}
	return key, text
}

// MinSize implements [fyne.Layout].
func (r *keyRows) MinSize(o []fyne.CanvasObject) fyne.Size {
	key, text := r.widths(o)
	return fyne.NewSize(key+text, float32(len(o)/2)*keyLine+8)
}

// Layout implements [fyne.Layout].
func (r *keyRows) Layout(o []fyne.CanvasObject, _ fyne.Size) {
	key, _ := r.widths(o)
	for i := 0; i+1 < len(o); i += 2 {
		y := float32(i/2) * keyLine
		o[i].Move(fyne.NewPos(0, y))
		o[i].Resize(o[i].MinSize())
		o[i+1].Move(fyne.NewPos(key, y))
		o[i+1].Resize(o[i+1].MinSize())
	}
}

// A keyList is the keys of one part of the window.
type keyList struct {
	title string
	keys  [][2]string
}

// keyLists returns the keys of all actions, menu by menu, and those that widgets
// have of their own.
func (as *actions) keyLists() []keyList {
	var lists []keyList
	for _, m := range as.menus {
		list := keyList{title: m.title}
		for _, a := range m.actions {
			if a != nil && len(a.keys) > 0 {
				list.keys = append(list.keys, [2]string{a.keysText(), a.title})
			}
		}
		lists = append(lists, list)
	}
	return append(lists, widgetKeys()...)
}

// widgetKeys are the keys that are no actions of the window.
func widgetKeys() []keyList {
	return []keyList{
		{lang.L("In the table"), [][2]string{
			{"Up   Down   PgUp   PgDn", lang.L("Move; with Shift, select a range")},
			{"Home   End", lang.L("First and last row")},
			{"Left", lang.L("Fold the call, or go to its caller")},
			{"Right", lang.L("Unfold the call, or go to the next row")},
			{"Shift+Left   Shift+Right", lang.L("Scroll sideways")},
			{"Shift", lang.L("Held while dragging the scroll bar: one pixel is one row")},
		}},
		{lang.L("Filter, dialogs"), [][2]string{
			{"Tab", lang.L("In the filter: take the completion; Up and Down choose")},
			{"Esc", lang.L("In the filter: take it away")},
			{"Esc", lang.L("Close a dialog; stop opening a log")},
		}},
		{lang.L("In the timeline"), [][2]string{
			{"W   S   A   D", lang.L("Zoom in and out, move left and right")},
			{"F   0", lang.L("Show the chosen call, or all")},
			{".   ,", lang.L("Next and previous call")},
			{"M", lang.L("Measure the chosen call")},
			{"C", lang.L("Compare the measured time with the selection")},
			{lang.L("Space"), lang.L("Fold or unfold the thread")},
			{"Enter", lang.L("Show the call in the table, or limit to the time measured")},
		}},
		{lang.L("In the call tree and the lists"), [][2]string{
			{"+   -   *   /", lang.L("Unfold; fold; unfold or fold all below")},
			{"H", lang.L("Hottest path")},
			{"D   B   T", lang.L("Top-down; bottom-up; each thread")},
			{"<   >   R", lang.L("Sort by the column before or after; turn the order")},
			{"Enter   L", lang.L("Go to its first call; in the statistics, to its slowest call")},
		}},
	}
}
