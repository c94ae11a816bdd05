package ui

import (
	"fmt"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/inputs"
)

// A findBar is the line above the table: find, the thread filter, the run
// selector, and what is done with the whole.
type findBar struct {
	Content fyne.CanvasObject

	entry     *inputs.Entry
	previous  *widget.Button
	next      *widget.Button
	outcome   *widget.Label
	thread    *widget.Select
	run       *widget.Select
	follow    *widget.Button
	save      *widget.Button
	panel     *widget.Button
	threadIDs []uint32
	updating  bool // the selectors are being set to the state
}

func newFindBar(w *Window) *findBar {
	b := &findBar{entry: inputs.NewEntry(), outcome: widget.NewLabel("")}
	b.entry.OnSubmitted = func(string) { w.find(modifiers()&fyne.KeyModifierShift != 0) }
	b.entry.OnChanged = func(s string) {
		w.grid.SetFind(lower(s))
		b.outcome.SetText("")
	}
	b.entry.OnKey = func(name fyne.KeyName) bool {
		switch name {
		case fyne.KeyEscape:
			b.entry.SetText("")
			w.win.Canvas().Focus(w.grid)
			return true
		case fyne.KeyDown:
			w.win.Canvas().Focus(w.grid)
			return true
		}
		return w.key(name)
	}
	b.outcome.Importance = widget.LowImportance
	button := func(icon fyne.Resource, tapped func()) *widget.Button {
		t := widget.NewButtonWithIcon("", icon, tapped)
		t.Importance = widget.LowImportance
		return t
	}
	b.previous = button(theme.MoveUpIcon(), func() { w.find(true) })
	b.next = button(theme.MoveDownIcon(), func() { w.find(false) })
	b.thread = widget.NewSelect(nil, func(string) {
		if b.updating {
			return
		}
		if i := b.thread.SelectedIndex(); i > 0 && i <= len(b.threadIDs) {
			w.ctl.FilterThread(b.threadIDs[i-1])
		} else {
			w.ctl.ShowAll()
		}
	})
	b.run = widget.NewSelect(nil, func(string) {
		if b.updating {
			return
		}
		if i := b.run.SelectedIndex(); i == 0 {
			w.ctl.SetRun("all")
		} else if i > 0 {
			w.ctl.SetRun(fmt.Sprint(i))
		}
	})
	b.follow = button(theme.DownloadIcon(), w.toggleFollow)
	b.save = button(theme.DocumentSaveIcon(), w.save)
	b.panel = button(theme.InfoIcon(), w.togglePanel)
	field := container.New(&fixedWidth{280}, b.entry)
	b.Content = container.NewHBox(
		field, b.previous, b.next, b.outcome, layout.NewSpacer(), b.thread, b.run, widget.NewSeparator(), b.follow, b.save, b.panel)
	return b
}

func (b *findBar) relabel() {
	b.entry.SetPlaceHolder(lang.L("Find in the rows"))
	b.follow.SetText(lang.L("Follow"))
	b.save.SetText(lang.L("Save"))
	b.panel.SetText(lang.L("Modules"))
}

// show brings the selectors up to date.
func (b *findBar) show(s *control.State) {
	b.updating = true
	defer func() { b.updating = false }()

	options := []string{lang.L("All threads")}
	b.threadIDs = b.threadIDs[:0]
	selected := 0
	for i, t := range s.Threads {
		name := fmt.Sprint(t.ID)
		if t.Name != "" {
			name += " " + t.Name
		}
		options = append(options, fmt.Sprintf("%s  (%s)", name, control.Thousands(t.Rows)))
		b.threadIDs = append(b.threadIDs, t.ID)
		if s.Filtered && t.ID == s.Thread {
			selected = i + 1
		}
	}
	setOptions(b.thread, options, selected)

	runs := []string{lang.L("All runs")}
	for i, r := range s.Facts.Runs {
		runs = append(runs, lang.L("Run {{.Run}}", data{"Run": i + 1})+"  ("+control.Thousands(r.Records)+")")
	}
	selected = s.Facts.Chosen + 1
	if s.Facts.All {
		selected = 0
	}
	b.run.Hidden = len(s.Facts.Runs) < 2
	setOptions(b.run, runs, selected)

	for _, t := range []fyne.Disableable{b.entry, b.previous, b.next, b.thread, b.run, b.follow, b.save, b.panel} {
		if s.Opened {
			t.Enable()
		} else {
			t.Disable()
		}
	}
}

// showFollow shows whether the log is followed, and reports whether that has
// changed.
func (b *findBar) showFollow(s *control.State) bool {
	importance := widget.LowImportance
	if s.Follow.On {
		importance = widget.HighImportance
	}
	if b.follow.Importance == importance {
		return false
	}
	b.follow.Importance = importance
	b.follow.Refresh()
	return true
}

// setOptions avoids the redraw where nothing has changed, so that an open
// list stays as it is.
func setOptions(s *widget.Select, options []string, selected int) {
	same := len(options) == len(s.Options) && s.SelectedIndex() == selected
	for i := 0; same && i < len(options); i++ {
		same = options[i] == s.Options[i]
	}
	if !same {
		s.Options = options
		s.SetSelectedIndex(selected)
		s.Refresh()
	}
}

// fixedWidth gives its only object a width.
type fixedWidth struct{ width float32 }

func (f *fixedWidth) MinSize(o []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(f.width, o[0].MinSize().Height)
}

func (f *fixedWidth) Layout(o []fyne.CanvasObject, size fyne.Size) { o[0].Resize(size) }
