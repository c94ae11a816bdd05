// Package ui is the window: it joins controllers (ui/control), one for each tab, with
// the widgets of its sub-packages, one a part of the window, and keeps the user's
// preferences. Its input is a Fyne app and an engine; it makes neither, so that
// it can be tested without a display.
package ui

import (
	"fmt"
	"io"
	"os"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"

	"logparser/assets"
	"logparser/ui/control"
	"logparser/ui/files"
	"logparser/ui/hint"
	"logparser/ui/instance"
	"logparser/ui/language"
	"logparser/ui/logstate"
	"logparser/ui/look"
	"logparser/ui/settings"
	"logparser/ui/shortname"
)

// Options are what the program was started with. The zero value is normal.
type Options struct {
	// Open opens logs; nil is [app.OpenLogOrDump].
	Open control.Opener
	// Post runs a function on the user interface's goroutine; nil is fyne.Do.
	Post func(func())
	// Wait waits for an event of the display, at most so long, and handles it; Wake ends
	// that from any goroutine. Where Wait is nil events are looked for again and again.
	Wait func(most time.Duration)
	Wake func()
	// Trace, if not nil, gets a line for each event of interest to a test
	// that drives the program.
	Trace io.Writer
	// States is where it is kept how the user left each log; nothing is kept
	// in the zero Store.
	States logstate.Store
	// Settings are what is remembered from one start to the next; nil leaves that to Fyne.
	Settings *settings.Store
	// FyneDialogs avoids the system's file dialogs.
	FyneDialogs bool
	// Sample says that the sample will be opened: not the last log.
	Sample bool
}

// A Window is the program's main window: what its tabs have in common. Each tab is a
// [workspace]; its parts reach the window's by that.
type Window struct {
	app  fyne.App
	win  fyne.Window
	opt  Options
	post func(func())
	calm func(func()) // post without Wake
	pref preferences
	// drawn knows when the window was drawn last, patience is how long the next wait for
	// an event lasts.
	drawn    *witness
	patience time.Duration

	theme look.Theme

	actions actions
	dialogs dialogs
	tabs    tabs

	recording recording

	front *workspace // the tab that is seen
}

// New makes the window; [Window.Show] shows it.
func New(a fyne.App, opt Options) *Window {
	if opt.Settings != nil {
		a.SetCloudProvider(kept{opt.Settings})
	}
	w := &Window{app: a, opt: opt, post: opt.Post, pref: preferences{a.Preferences()}}
	if w.post == nil {
		w.post = fyne.Do
	}
	w.calm, w.drawn, w.patience = w.post, newWitness(), restTime
	if opt.Wake != nil {
		w.post = func(f func()) {
			w.calm(f)
			opt.Wake()
		}
	}
	a.SetIcon(fyne.NewStaticResource("icon.png", assets.Icon))
	w.setLanguage(w.pref.language())
	shortname.SetParameters(w.pref.parameters())
	// Fyne measures texts and draws icons when widgets are made, and keeps both
	// for later: the theme comes first.
	w.applyTheme(w.pref.brightness())

	w.win = a.NewWindow("LogParser")
	w.win.SetMaster()
	w.win.SetPadded(false)
	w.actions.w, w.dialogs.w = w, w
	w.recording = newRecording(w)
	w.dialogs.picker = &files.Picker{Window: w.win, Post: w.post, Shown: w.dialogs.track, Native: w.pref.nativeDialogs() && !opt.FyneDialogs}
	w.tabs = newTabs(w)
	w.win.SetContent(container.NewStack(w.tabs.content, w.drawn))
	// What is laid out has its size at once.
	w.win.Resize(w.pref.size())
	w.tabs.add(nil)

	hint.Serve(w.win.Canvas(), w.hover)
	w.win.SetOnClosed(func() { hint.Serve(w.win.Canvas(), nil) })
	w.win.SetOnDropped(w.dropped)
	w.win.SetCloseIntercept(w.close)
	w.win.Canvas().SetOnTypedKey(func(e *fyne.KeyEvent) {
		if !w.actions.key(e.Name) {
			w.typedAnywhere(func(o fyne.Focusable) { o.TypedKey(e) })
		}
	})
	w.win.Canvas().SetOnTypedRune(func(r rune) {
		w.typedAnywhere(func(o fyne.Focusable) { o.TypedRune(r) })
	})
	a.Lifecycle().SetOnStarted(func() {
		w.trace("started")
		if opt.Wait != nil {
			w.wakeToEnd()
			w.rest()
		}
	})
	a.Settings().AddListener(func(fyne.Settings) { w.post(w.repaint) })
	if opt.Settings != nil {
		w.tellTrouble(opt.Settings)
	}
	return w
}

// Show shows the window and opens what was given, in any order: a log, its
// modules file, a folder, symbol files; also as file:// URIs.
func (w *Window) Show(paths []string) {
	w.win.Show()
	if len(paths) == 0 && !w.opt.Sample {
		w.front.opening.reopen()
		return
	}
	w.Open(paths)
}

// Open uses files and folders for what they are. Logs come into the tab in front, or
// into further ones: see [tabs.use].
func (w *Window) Open(paths []string) {
	if len(paths) > 0 {
		w.front.table.asked = time.Now()
		w.front.ctl.Inputs.Give(paths)
	}
}

// Take uses what another start of the program was given, and comes to the front. It may be
// called on any goroutine.
func (w *Window) Take(r instance.Request) {
	w.post(func() {
		w.dialogs.whenFree(func() {
			w.trace("taken " + control.Thousands(int64(len(r.Paths))))
			w.Open(r.Paths)
			if r.Sample {
				w.OpenSample()
			}
			w.win.RequestFocus()
		})
	})
}

func (w *Window) dropped(_ fyne.Position, uris []fyne.URI) {
	if w.dialogs.modal() {
		return
	}
	var paths []string
	for _, u := range uris {
		paths = append(paths, u.Path())
	}
	w.Open(paths)
}

func (w *Window) trace(event string) {
	if w.opt.Trace != nil {
		fmt.Fprintln(w.opt.Trace, event)
	}
}

// close remembers what the user arranged, and asks while a file is written.
func (w *Window) close() {
	if w.tabs.saving() {
		w.dialogs.confirmQuit()
		return
	}
	if w.recording.ask() {
		return
	}
	w.remember()
	w.win.Close()
}

func (w *Window) remember() {
	w.pref.setSize(w.win.Canvas().Size())
	w.front.table.columnsChanged()
	w.pref.setPanelOffset(w.front.split.Offset)
	w.pref.setLastLog(w.front.table.log)
	for _, tab := range w.tabs.list {
		tab.memory.keepNow()
	}
	if w.opt.Settings != nil {
		w.opt.Settings.Flush()
	}
}

// setLanguage changes the texts; "" is the system's language.
func (w *Window) setLanguage(code string) {
	if err := language.Set(code); err != nil {
		fmt.Fprintln(os.Stderr, "logparser:", err)
	}
	w.theme.Han = language.Current() == language.Chinese
}

// applyTheme hands Fyne the theme of a brightness and of the present language.
func (w *Window) applyTheme(brightness string) {
	w.theme.Brightness = brightness
	w.app.Settings().SetTheme(w.theme)
}

// setTheme changes the brightness.
func (w *Window) setTheme(brightness string) {
	w.applyTheme(brightness)
	w.repaint()
}

// repaint gives what does not take the theme's colours by itself those of the present one.
func (w *Window) repaint() {
	for _, tab := range w.tabs.list {
		tab.paint()
	}
}

// relabel says everything in the present language.
func (w *Window) relabel() {
	for _, tab := range w.tabs.list {
		tab.say()
	}
	w.tabs.show()
	w.actions.renew()
}

// typedAnywhere hands what is typed while nothing has the focus, as after a press
// on the menu bar, to the view that is looked at.
func (w *Window) typedAnywhere(hand func(o fyne.Focusable)) {
	c := w.win.Canvas()
	if w.dialogs.modal() || !w.front.ctl.State().Opened {
		return
	}
	w.front.focusView()
	if o := c.Focused(); o != nil {
		hand(o)
	}
}

// later calls f on the user interface's goroutine after a while.
func (w *Window) later(d time.Duration, f func()) {
	time.AfterFunc(d, func() { w.post(f) })
}
