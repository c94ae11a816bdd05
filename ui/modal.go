package ui

import (
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"

	"logparser/ui/files"
)

// dialogs are the questions that the window asks, and what it says at length.
type dialogs struct {
	w          *Window
	picker     *files.Picker
	colourings *colouringsForm // the one that was opened last

	tip *tip // of the one that was opened last and has hints

	top   dialog.Dialog   // the one that is open, nil for none
	stack []dialog.Dialog // that one last, and those below it
	// askingQuit: the question whether to quit is open.
	askingQuit bool
	// quitting closes the window as soon as no file is being saved.
	quitting bool
}

// modal reports whether something is open that is to be answered first: one of
// the window's dialogs, a menu, or a dialog of the system's. Until then no
// shortcut, no dropped file and nothing that was begun before acts.
func (ds *dialogs) modal() bool {
	return ds.picker.Asking() || ds.w.win.Canvas().Overlays().Top() != nil
}

// freeAfter is the time between two looks at whether a dialog is still open.
const freeAfter = 50 * time.Millisecond

// whenFree calls f as soon as nothing modal is open. It is for what follows from
// something that was begun before.
func (ds *dialogs) whenFree(f func()) {
	if !ds.modal() {
		f()
		return
	}
	ds.w.later(freeAfter, func() { ds.whenFree(f) })
}

// open shows a dialog no larger than the window, to be closed by Escape.
func (ds *dialogs) open(d dialog.Dialog, width, height float32) {
	if ds.picker.Asking() {
		return
	}
	ds.w.hover("", fyne.Position{}) // what is said of something below
	if ds.top != nil {
		ds.w.trace("stacked")
	}
	size := ds.w.win.Canvas().Size()
	d.Resize(fyne.NewSize(min(width, size.Width*0.95), min(height, size.Height*0.9)))
	d.Show()
	ds.track(d)
}

// track remembers which dialog is open, for Escape, and those below it. They
// need not be closed in the order in which they were opened.
func (ds *dialogs) track(d dialog.Dialog) {
	ds.stack = append(ds.stack, d)
	ds.top = d
	d.SetOnClosed(func() {
		ds.stack = slices.DeleteFunc(ds.stack, func(o dialog.Dialog) bool { return o == d })
		ds.top = nil
		if n := len(ds.stack); n > 0 {
			ds.top = ds.stack[n-1]
		}
	})
}
