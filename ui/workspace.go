package ui

import (
	"fmt"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/inputs"
	"logparser/ui/look"
	"logparser/ui/notice"
	"logparser/ui/readahead"
	"logparser/ui/startpage"
	"logparser/ui/table"
)

// A workspace is what the window has of one session: a tab, with the log, its views and
// where the user is in them. Each of its parts has one job; they reach each other
// through the workspace, and by it what is the window's.
type workspace struct {
	*Window

	ctl *control.Controller

	opening   opening
	table     logTable
	nav       navigation
	folding   folding
	finding   finding
	filters   filters
	bookmarks bookmarks
	memory    memory
	steps     steps
	swatches  map[rows.Track]uint8 // the colours of threads, 1 and more
	addresses addresses

	strip   *inputs.Strip
	summary *inputs.Summary
	bar     *findBar
	notice  *notice.Bar
	views   *views
	side    *sidePanel
	start   *startpage.Page
	status  *statusBar

	content  *fyne.Container // all of it
	upper    *fyne.Container // the inputs, unfolded
	body     *fyne.Container // the table and the panel, or the start page; over them what floats
	floating *fyne.Container // completions, messages, and the tip at the pointer
	tip      *tip
	split    *container.Split

	passing time.Duration // how long a message that needs no answer is seen

	// remembered is what the preferences were told of where symbols are: a tab tells
	// them what is changed in it, not what it has kept from before.
	remembered app.Inputs
	agreed     []string
}

// newWorkspace makes a tab without a log.
func newWorkspace(win *Window) *workspace {
	w := &workspace{Window: win, passing: passingTime}
	open := w.opt.Open
	if open == nil {
		open = app.OpenLogOrDump
	}
	w.ctl = control.New(open, w.post)
	w.ctl.Inputs.Restore(app.Inputs{Symbols: w.pref.symbols(), NoRecordedPaths: w.pref.noRecordedPaths(),
		Network: w.pref.network(), SymbolCache: w.pref.symbolCache()}, w.pref.agreed())
	w.remembered, w.agreed = w.ctl.State().Wanted, w.ctl.Inputs.Agreed()
	w.ctl.OnChange = w.update
	w.ctl.OnFiles = func(f control.Files) bool { return w.tabs.use(w, f) }
	w.ctl.OnText = func(path string) { w.dialogs.whenFree(func() { w.addresses.show(path, "") }) }
	w.ctl.Trace = w.trace
	w.ctl.KnownColumns = w.memory.knownColumns
	if w.opt.Open == nil {
		w.ctl.Preview = app.Preview
	}
	w.opening.w, w.folding.w, w.finding.w, w.filters.w, w.bookmarks.w, w.addresses.w = w, w, w, w, w, w
	w.table = logTable{w: w, lookedBelow: -1}
	w.nav = navigation{w: w, want: -1}
	w.memory.w, w.memory.store = w, w.opt.States
	w.filters.colourings = w.pref.colourings()
	w.build()
	return w
}

// build makes the widgets and lays them out.
func (w *workspace) build() {
	w.strip = inputs.New()
	w.notice = notice.New()
	w.floating = container.New(&floatLayout{w})
	w.tip = newTip(w.Window, w.floating, func() bool { return !w.dialogs.modal() && w.inFront() })
	w.bar = newFindBar(w)
	w.summary = inputs.NewSummary(w.bar.tools()...)
	w.table.grid = grid.New(table.Columns(&w.table.format), look.Fonts(), &grid.Light)
	w.table.reader = readahead.New(w.post, w.table.grid.Reload)
	w.table.grid.Movable = true
	w.pref.loadColumns(w.table.grid, "")
	w.side = newSidePanel(w)
	w.start = startpage.New(w.app.Icon())
	w.status = newStatusBar(w.ctl.Cancel, w.ctl.Following.Resume, w.actions.actor("stop-program"), w.showDetails)
	w.status.record.Hint = w.actions.hint("stop-program")

	w.bar.hints(w)
	w.connectInputs()
	w.connectTable()
	w.notice.OnDismiss = w.ctl.Dismiss
	w.notice.OnDetails = w.showDetails
	w.notice.OnOffer = w.opening.offer
	w.start.OnOpen, w.start.OnFolder, w.start.OnSample = w.opening.chooseLog, w.opening.chooseFolder, w.OpenSample
	w.start.OnRecord = w.actions.actor("record")
	w.start.OnRecent = func(path string) { w.opening.recent(path) }
	w.start.OnForget = w.opening.forget
	w.start.OnCancel = w.ctl.Cancel

	w.views = newViews(w)
	w.split = container.NewHSplit(w.views.Content, w.side.Content)
	w.split.Offset = w.pref.panelOffset()
	w.floating.Objects = []fyne.CanvasObject{w.bar.line.Offers, w.notice.Content, w.tip.content}
	w.body = container.NewStack(w.start.Content, w.floating)
	w.upper = tight(container.New(layout.NewCustomPaddedLayout(7, 5, 6, 6), w.strip.Content), widget.NewSeparator())
	top := tight(
		w.summary.Content,
		w.upper,
		container.New(layout.NewCustomPaddedLayout(2, 2, 6, 6), w.bar.Content),
		widget.NewSeparator(),
	)
	// Chinese letters are higher than others, and a row of the table is worth more than room around them.
	bottom := tight(widget.NewSeparator(), container.New(layout.NewCustomPaddedLayout(-3, -3, 0, 0), w.status.Content))
	w.content = container.New(layout.NewBorderLayout(top, bottom, nil, nil), top, bottom, w.body)
}

// tight puts objects below each other without room between them.
func tight(objects ...fyne.CanvasObject) *fyne.Container {
	return container.New(layout.NewCustomPaddedVBoxLayout(0), objects...)
}

// showDetails says at length what a message is about.
func (w *workspace) showDetails(m *control.Message) {
	w.dialogs.showText(m.Text, strings.TrimSpace(m.Next+"\n\n"+m.Details))
}

// A floatLayout lays completions at the top, below the filter, and a message at the
// bottom over what is there; both are as high as they need.
type floatLayout struct{ w *workspace }

const (
	offersLeft, offersWidth = 8, 460
)

// MinSize implements [fyne.Layout].
func (*floatLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size{} }

// Layout implements [fyne.Layout].
func (l *floatLayout) Layout(o []fyne.CanvasObject, size fyne.Size) {
	offers, message := o[0], o[1]
	offers.Move(fyne.NewPos(offersLeft, 0))
	offers.Resize(fyne.NewSize(min(offersWidth, max(size.Width-2*offersLeft, 0)), offers.MinSize().Height))
	// Its texts wrap: how high they are shows once they have their width.
	message.Resize(fyne.NewSize(size.Width, message.MinSize().Height))
	high := min(message.MinSize().Height, size.Height)
	message.Resize(fyne.NewSize(size.Width, high))
	message.Move(fyne.NewPos(0, size.Height-high))
	l.w.tip.layout(l.w.app.Driver().AbsolutePositionForObject(l.w.floating), size)
}

func (w *workspace) connectInputs() {
	w.summary.Unfold.OnTapped = w.actions.actor("inputs")
	w.summary.Symbols.OnTapped = w.actions.actor("edit-symbol-path")
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
		l.Entry.OnKey, l.Entry.OnShortcut = w.actions.key, w.actions.shortcut
	}
}

func (w *workspace) connectTable() {
	g := w.table.grid
	// A click, or a key: showSelection (logtable.go) brings it to the side panel, whose showRow asks for the call stack.
	g.OnSelected = func(row int64) {
		if !w.nav.placing {
			w.nav.want = -1
		}
		w.memory.row = max(w.table.indexOf(row), 0)
		w.table.moved = time.Now()
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
	g.OnShortcut = w.actions.shortcut
	g.OnHover = w.tip.hover
	g.OnRune = w.actions.tableChar
	g.OnColumns = w.table.columnsChanged
	g.OnHeaderMenu = w.actions.headerMenu
	g.OnScrolled = func() { w.ctl.Following.Moved(g.AtEnd()) }
	g.Place = w.table.place
	g.OnDrawn = func(n int) {
		if n > 0 && !w.table.asked.IsZero() {
			w.trace(fmt.Sprintf("shown %d ms", time.Since(w.table.asked).Milliseconds()))
			w.table.asked = time.Time{}
		}
		if n > 0 && g.Complete() && !w.table.moved.IsZero() {
			w.trace(fmt.Sprintf("drawn %d us", time.Since(w.table.moved).Microseconds()))
			w.table.moved = time.Time{}
		}
	}
}

// paint gives the table and the message bar the theme's colours; all else takes
// them by itself.
func (w *workspace) paint() {
	palette := w.theme.Palette(w.app.Settings().ThemeVariant())
	w.table.grid.SetPalette(palette)
	w.views.paint(palette, w.theme.IsDark(w.app.Settings().ThemeVariant()))
	w.notice.Paint()
	w.side.call.Paint()
}

// say says everything in the present language.
func (w *workspace) say() {
	for id, title := range table.Titles() {
		w.table.grid.SetTitle(id, title)
	}
	w.views.relabel()
	w.strip.Relabel()
	w.summary.Relabel()
	w.bar.relabel()
	w.side.relabel()
	w.start.Relabel()
	w.status.showRecording(w.recording.recorder.State())
	w.ctl.Relabel()
	w.update(^control.Change(0) &^ control.ChangeSource)
}

// inFront reports whether the workspace is the one that is seen.
func (w *workspace) inFront() bool { return w.front == w }

// focusView lets the view that is looked at have the keys, if the workspace is in
// front.
func (w *workspace) focusView() {
	if o := w.views.current().focus; o != nil && w.inFront() {
		w.win.Canvas().Focus(o)
	}
}
