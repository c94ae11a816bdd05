package ui

import (
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
)

// modal reports whether something is open that is to be answered first: one of
// the window's dialogs, a menu, or a dialog of the system's. Until then no
// shortcut, no dropped file and nothing that was begun before acts.
func (w *Window) modal() bool {
	return w.picker.Asking() || w.win.Canvas().Overlays().Top() != nil
}

// freeAfter is the time between two looks at whether a dialog is still open.
const freeAfter = 50 * time.Millisecond

// whenFree calls f as soon as nothing modal is open. It is for what follows from
// something that was begun before.
func (w *Window) whenFree(f func()) {
	if !w.modal() {
		f()
		return
	}
	w.later(freeAfter, func() { w.whenFree(f) })
}

// open shows a dialog no larger than the window, to be closed by Escape.
func (w *Window) open(d dialog.Dialog, width, height float32) {
	if w.picker.Asking() {
		return
	}
	size := w.win.Canvas().Size()
	d.Resize(fyne.NewSize(min(width, size.Width*0.95), min(height, size.Height*0.9)))
	d.Show()
	w.track(d)
}

// track remembers which dialog is open, for Escape, and those below it. They
// need not be closed in the order in which they were opened.
func (w *Window) track(d dialog.Dialog) {
	w.dialogs = append(w.dialogs, d)
	w.dialog = d
	d.SetOnClosed(func() {
		w.dialogs = slices.DeleteFunc(w.dialogs, func(o dialog.Dialog) bool { return o == d })
		w.dialog = nil
		if n := len(w.dialogs); n > 0 {
			w.dialog = w.dialogs[n-1]
		}
	})
}
