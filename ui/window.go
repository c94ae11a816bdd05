// Package ui is the window: it joins the controller (ui/control) with the
// widgets of its sub-packages, one a part of the window, and keeps the user's
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
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/assets"
	"logparser/ui/control"
	"logparser/ui/files"
	"logparser/ui/grid"
	"logparser/ui/inputs"
	"logparser/ui/language"
	"logparser/ui/logstate"
	"logparser/ui/look"
	"logparser/ui/notice"
	"logparser/ui/readahead"
	"logparser/ui/startpage"
	"logparser/ui/table"
)

// Options are what the program was started with. The zero value is normal.
type Options struct {
	// Open opens logs; nil is [app.Open].
	Open control.Opener
	// Post runs a function on the user interface's goroutine; nil is fyne.Do.
	Post func(func())
	// Trace, if not nil, gets a line for each event of interest to a test
	// that drives the program.
	Trace io.Writer
	// States is where it is kept how the user left each log; nothing is kept
	// in the zero Store.
	States logstate.Store
	// FyneDialogs avoids the system's file dialogs.
	FyneDialogs bool
	// Sample says that the sample will be opened: not the last log.
	Sample bool
}

// A Window is the program's main window. Each of its parts has one job; they reach
// each other through the window.
type Window struct {
	app  fyne.App
	win  fyne.Window
	ctl  *control.Controller
	opt  Options
	post func(func())
	pref preferences

	theme look.Theme

	actions   actions
	opening   opening
	table     logTable
	nav       navigation
	folding   folding
	finding   finding
	filters   filters
	bookmarks bookmarks
	dialogs   dialogs
	memory    memory

	strip  *inputs.Strip
	bar    *findBar
	notice *notice.Bar
	views  *views
	side   *sidePanel
	start  *startpage.Page
	status *statusBar

	upper *fyne.Container // the inputs
	body  *fyne.Container // the table and the panel, or the start page
	split *container.Split
}

// New makes the window; [Window.Show] shows it.
func New(a fyne.App, opt Options) *Window {
	w := &Window{app: a, opt: opt, post: opt.Post, pref: preferences{a.Preferences()}}
	if w.post == nil {
		w.post = fyne.Do
	}
	a.SetIcon(fyne.NewStaticResource("icon.png", assets.Icon))
	w.setLanguage(w.pref.language())
	// Fyne measures texts and draws icons when widgets are made, and keeps both
	// for later: the theme comes first.
	w.applyTheme(w.pref.brightness())

	w.win = a.NewWindow("LogParser")
	w.win.SetMaster()
	w.win.SetPadded(false)
	open := opt.Open
	if open == nil {
		open = app.Open
	}
	w.ctl = control.New(open, w.post)
	w.ctl.Inputs.Restore(app.Inputs{Symbols: w.pref.symbols(), NoRecordedPaths: w.pref.noRecordedPaths(),
		Network: w.pref.network(), SymbolCache: w.pref.symbolCache()}, w.pref.agreed())
	w.ctl.OnChange = w.update
	w.ctl.Trace = w.trace
	w.ctl.KnownColumns = w.memory.knownColumns
	w.actions.w, w.opening.w, w.folding.w, w.finding.w, w.filters.w, w.bookmarks.w = w, w, w, w, w, w
	w.table = logTable{w: w, lookedBelow: -1}
	w.nav = navigation{w: w, want: -1}
	w.memory.w, w.memory.store = w, opt.States
	w.dialogs.w = w
	w.dialogs.picker = &files.Picker{Window: w.win, Post: w.post, Shown: w.dialogs.track, Native: w.pref.nativeDialogs() && !opt.FyneDialogs}

	w.build()
	w.repaint()
	w.relabel()
	w.win.Resize(w.pref.size())
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
	a.Lifecycle().SetOnStarted(func() { w.trace("started") })
	a.Settings().AddListener(func(fyne.Settings) { w.post(w.repaint) })

	w.update(^control.Change(0))
	w.opening.showRecent()
	return w
}

// build makes the widgets and lays them out.
func (w *Window) build() {
	w.strip = inputs.New()
	w.bar = newFindBar(w)
	w.notice = notice.New()
	w.table.grid = grid.New(table.Columns(&w.table.format), look.Fonts(), &grid.Light)
	w.table.reader = readahead.New(w.post, w.table.grid.Reload)
	w.pref.loadColumns(w.table.grid)
	w.side = newSidePanel(w)
	w.start = startpage.New(w.app.Icon())
	w.status = newStatusBar(w.ctl.Cancel, w.ctl.Following.Resume)

	w.connectInputs()
	w.connectTable()
	w.notice.OnDismiss = w.ctl.Dismiss
	w.notice.OnDetails = func(m *control.Message) { w.dialogs.showText(m.Text, m.Details) }
	w.notice.OnOffer = w.opening.offer
	w.start.OnOpen, w.start.OnFolder, w.start.OnSample = w.opening.chooseLog, w.opening.chooseFolder, w.OpenSample
	w.start.OnRecent = func(path string) { w.opening.recent(path) }
	w.start.OnForget = w.opening.forget
	w.start.OnCancel = w.ctl.Cancel

	w.views = newViews(w)
	w.split = container.NewHSplit(w.views.Content, w.side.Content)
	w.split.Offset = w.pref.panelOffset()
	w.body = container.NewStack()
	w.upper = tight(container.New(layout.NewCustomPaddedLayout(7, 5, 6, 6), w.strip.Content), widget.NewSeparator())
	top := tight(
		w.upper,
		container.New(layout.NewCustomPaddedLayout(4, 4, 6, 6), w.bar.Content),
		w.notice.Content,
		widget.NewSeparator(),
	)
	bottom := tight(widget.NewSeparator(), w.status.Content)
	w.win.SetContent(container.New(layout.NewBorderLayout(top, bottom, nil, nil), top, bottom, w.body))
}

// tight puts objects below each other without room between them.
func tight(objects ...fyne.CanvasObject) *fyne.Container {
	return container.New(layout.NewCustomPaddedVBoxLayout(0), objects...)
}

func (w *Window) connectInputs() {
	w.strip.Log.Browse.OnTapped = w.opening.chooseLog
	w.strip.Log.Entry.OnDone = w.opening.log
	w.strip.Modules.Browse.OnTapped = w.opening.chooseModules
	w.strip.Modules.Entry.OnDone = w.ctl.Inputs.SetModules
	w.strip.Symbols.Browse.OnTapped = w.opening.addSymbolFolder
	w.strip.Symbols.More.OnTapped = w.dialogs.editSymbols
	w.strip.Symbols.Entry.OnDone = func(s string) { w.ctl.Inputs.SetSymbols(control.SplitPaths(s)) }
	w.strip.Network.OnChanged = w.dialogs.switchNetwork
	w.strip.Mismatched.OnChanged = w.ctl.Inputs.SetLoadMismatched
	for _, l := range []*inputs.Line{w.strip.Log, w.strip.Modules, w.strip.Symbols} {
		l.Entry.OnKey = w.actions.key
	}
}

func (w *Window) connectTable() {
	g := w.table.grid
	g.OnSelected = func(row int64) {
		if !w.nav.placing {
			w.nav.want = -1
		}
		w.memory.row = max(w.table.indexOf(row), 0)
		w.table.showSelection(row)
		w.views.choose()
		w.actions.show()
		w.trace(fmt.Sprint("selected ", w.table.indexOf(row)))
	}
	g.OnActivated = w.side.openSource
	g.OnCopy = w.table.copyRows
	g.OnMenu = w.actions.tableMenu
	g.OnFold = w.folding.fold
	g.OnTree = w.folding.key
	g.Decorate = w.table.decorate
	g.Label = w.filters.label
	g.OnKey = func(name fyne.KeyName) { w.actions.key(name) }
	g.OnRune = w.actions.tableChar
	g.OnColumns = func() { w.pref.saveColumns(g) }
	g.OnScrolled = func() { w.ctl.Following.Moved(g.AtEnd()) }
	g.Place = w.table.place
	g.OnDrawn = func(n int) {
		if n > 0 && !w.table.asked.IsZero() {
			w.trace(fmt.Sprintf("shown %d ms", time.Since(w.table.asked).Milliseconds()))
			w.table.asked = time.Time{}
		}
	}
}

// Show shows the window and opens what was given, in any order: a log, its
// modules file, a folder, symbol files; also as file:// URIs.
func (w *Window) Show(paths []string) {
	w.win.Show()
	if len(paths) == 0 && !w.opt.Sample {
		w.opening.reopen()
		return
	}
	w.Open(paths)
}

// Open uses files and folders for what they are.
func (w *Window) Open(paths []string) {
	if len(paths) > 0 {
		w.table.asked = time.Now()
		w.ctl.Inputs.Give(paths)
	}
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
	if w.ctl.Saving.Busy() {
		w.dialogs.confirmQuit()
		return
	}
	w.remember()
	w.win.Close()
}

func (w *Window) remember() {
	w.pref.setSize(w.win.Canvas().Size())
	w.pref.saveColumns(w.table.grid)
	w.pref.setPanelOffset(w.split.Offset)
	w.pref.setLastLog(w.table.log)
	w.memory.keepNow()
	w.pref.setClosed(time.Now())
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

// repaint gives the table and the message bar the theme's colours; all else
// takes them by itself.
func (w *Window) repaint() {
	palette := w.theme.Palette(w.app.Settings().ThemeVariant())
	w.table.grid.SetPalette(palette)
	w.views.paint(palette, w.theme.IsDark(w.app.Settings().ThemeVariant()))
	w.notice.Paint()
	w.side.call.Paint()
}

// relabel says everything in the present language.
func (w *Window) relabel() {
	for id, title := range table.Titles() {
		w.table.grid.SetTitle(id, title)
	}
	w.views.relabel()
	w.actions.make()
	w.actions.show()
	w.strip.Relabel()
	w.bar.relabel()
	w.side.relabel()
	w.start.Relabel()
	w.ctl.Relabel()
	w.update(^control.Change(0) &^ control.ChangeSource)
}

// typedAnywhere hands what is typed while nothing has the focus, as after a press
// on the menu bar, to the view that is looked at.
func (w *Window) typedAnywhere(hand func(o fyne.Focusable)) {
	c := w.win.Canvas()
	if w.dialogs.modal() || !w.ctl.State().Opened {
		return
	}
	w.focusView()
	if o := c.Focused(); o != nil {
		hand(o)
	}
}

// focusView lets the view that is looked at have the keys.
func (w *Window) focusView() {
	if o := w.views.current().focus; o != nil {
		w.win.Canvas().Focus(o)
	}
}

// later calls f on the user interface's goroutine after a while.
func (w *Window) later(d time.Duration, f func()) {
	time.AfterFunc(d, func() { w.post(f) })
}
