package ui

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"
)

// The drawing library looks for events 60 times a second, also where there are none for hours. A window
// in which nothing moves waits for them instead, in a function that the library's loop calls.

const (
	// restAfter is how long nothing is to have been drawn before events are waited for, restTime how
	// long at first, so that what the library asks its loop for is late by no more. While no event comes
	// the waits get longer, to longestRest: then only what has nothing to do with the user is late, such as
	// other colours of the system. Between two waits the loop has drawTime to draw.
	restAfter   = 500 * time.Millisecond
	restTime    = time.Second
	longestRest = 64 * time.Second
	drawTime    = 40 * time.Millisecond
)

// A witness is a part of the window that nobody sees. It knows when the window was drawn last, as it is
// asked then whether it is to be.
type witness struct {
	widget.BaseWidget
	asked time.Time
}

func newWitness() *witness {
	w := &witness{asked: time.Now()}
	w.ExtendBaseWidget(w)
	return w
}

// Visible implements [fyne.CanvasObject].
func (w *witness) Visible() bool {
	w.asked = time.Now()
	return w.BaseWidget.Visible()
}

// MinSize implements [fyne.CanvasObject].
func (w *witness) MinSize() fyne.Size { return fyne.Size{} }

// CreateRenderer implements [fyne.Widget].
func (w *witness) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(&fyne.Container{})
}

// rest waits for events if nothing has moved for a while, and comes again.
func (w *Window) rest() {
	again := restAfter
	if quiet := time.Since(w.drawn.asked); quiet < restAfter {
		again = restAfter - quiet
		w.look()
	} else if w.working() {
		w.look()
	} else {
		begun := time.Now()
		w.opt.Wait(w.patience)
		if time.Since(begun) >= w.patience {
			again, w.patience = drawTime, min(2*w.patience, longestRest)
		} else {
			w.patience = restTime
			w.look()
		}
	}
	// Not by w.post, which would end the wait before it has begun.
	time.AfterFunc(max(again, drawTime), func() { w.calm(w.rest) })
}

// look has the files of logs looked at as often as for a user who is there.
func (w *Window) look() {
	for _, tab := range w.tabs.list {
		tab.ctl.Look()
	}
}

// wakeToEnd lets the library's loop hear at once that the program is to end.
func (w *Window) wakeToEnd() {
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	go func() {
		for range ends {
			w.opt.Wake()
		}
	}()
}

// working reports whether something is being done that may be drawn without being told.
func (w *Window) working() bool {
	for _, tab := range w.tabs.list {
		if s := tab.ctl.State(); s.Work.Slow || s.Opening != "" {
			return true
		}
	}
	return false
}
