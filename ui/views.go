package ui

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/annotations"
	"logparser/ui/calltree"
	"logparser/ui/control"
	"logparser/ui/crashview"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/modulespanel"
	"logparser/ui/statistics"
	"logparser/ui/threads"
	"logparser/ui/timeline"
)

// The names of the views, by which states of logs and actions know them.
const (
	viewTable       = "table"
	viewTimeline    = "timeline"
	viewTree        = "tree"
	viewFlame       = "flame"
	viewStatistics  = "statistics"
	viewThreads     = "threads"
	viewModules     = "modules"
	viewAnnotations = "marks"
	viewCrash       = "crash"
)

// A view is one way to look at a log, a tab of the window. Its function fields may
// be nil. [newViews] has the list of all views: another one is an entry there.
type view struct {
	name  string
	title func() string // in the present language
	about func() string // what it is for
	key   fyne.KeyName  // shows the view, with Ctrl

	content fyne.CanvasObject
	focus   fyne.Focusable // what takes the keys
	// offered reports whether a log has something to be seen in the view; nil:
	// every log has.
	offered func(s *control.State) bool

	// compute asks the controller for what the view shows, and hands the outcome to
	// views.computed. It is called when the view is looked at and something that it
	// depends on has changed. fresh says that the filter is another one. A view
	// without it shows what is there already.
	compute func(where string, fresh bool)
	// depends returns the part of the filter that compute depends on; nil: all.
	depends func(where string) string
	// clear empties the view, as another log is shown.
	clear func()

	// follow shows the table's current row, which was not chosen in this view,
	// followStack the calls that it lies in.
	follow      func(r *rows.Row)
	followStack func(row int64, frames []app.Frame)

	relabel func()
	paint   func(p *grid.Palette, dark bool)

	tab  *container.TabItem
	note *widget.Label // says why nothing is shown

	// some: something was computed, or is being computed: for the filter where, of
	// rows and names of the generation, begun at that time.
	some       bool
	where      string
	generation int
	at         time.Time
}

// renewAfter is the least time between two computations of a view while the log
// grows.
const renewAfter = 2 * time.Second

// views are the tabs with the views of a log. All but the table are computed
// when they are looked at, for the selection that the table shows.
type views struct {
	Content *hint.Tabs

	w    *workspace
	list []*view

	timeline    *timeline.Timeline
	hint        *widget.Label // below the timeline
	limited     *widget.Label // above it: how what is hidden is drawn
	tree        *calltree.View
	flame       flameView
	inks        timeline.Inks
	statistics  *statistics.View
	threads     *threads.View
	modules     *modulespanel.Panel
	annotations *annotations.View
	crash       *crashview.View

	lines      *control.Timeline // what the timeline shows
	total      int64             // of the log's rows
	marked     int64             // how many annotations it has
	generation int               // of the rows and their names
	drawn      drawnAnnotations
	waiting    bool // a renewal is to come
	picks      picks
}

// newViews makes the tabs.
func newViews(w *workspace) *views {
	v := &views{w: w, picks: picks{w: w, row: -1}}
	v.Content = hint.NewTabs()
	v.Content.Hint = v.tabHint
	for _, e := range []*view{
		v.tableView(),
		v.timelineView(),
		v.treeView(),
		v.flameGraph(),
		v.statisticsView(),
		v.threadsView(),
		v.modulesView(),
		v.annotationsView(),
		v.crashView(),
	} {
		v.add(e)
	}
	v.offer(&control.State{})
	v.Content.OnSelected = func(*container.TabItem) {
		w.tip.hover("", fyne.Position{})
		v.renew()
		v.choose()
		if v.current().followStack != nil {
			w.side.showRow()
		}
		w.focusView()
		w.actions.show()
		w.trace("view " + strconv.Itoa(v.Content.SelectedIndex()))
	}
	return v
}

// add adds a view to the list.
func (v *views) add(e *view) {
	e.note = widget.NewLabel("")
	e.note.Alignment, e.note.Wrapping = fyne.TextAlignCenter, fyne.TextWrapWord
	e.note.Hide()
	e.tab = container.NewTabItem("", container.NewBorder(e.note, nil, nil, nil, e.content))
	v.list = append(v.list, e)
}

func (v *views) tableView() *view {
	return &view{name: viewTable, title: func() string { return lang.L("Table") }, key: fyne.Key1,
		about:   func() string { return lang.L("Each entry and exit, in the order of the log") },
		content: v.w.table.grid, focus: v.w.table.grid}
}

func (v *views) modulesView() *view {
	v.modules = modulespanel.New()
	v.modules.OnCopy = v.w.app.Clipboard().SetContent
	return &view{name: viewModules, title: func() string { return lang.L("Modules") }, key: fyne.Key6,
		about:   func() string { return lang.L("Each module with its symbols, or why it has none") },
		content: v.modules.Content, relabel: v.modules.Relabel}
}

// view returns the view of a name, nil for none.
func (v *views) view(name string) *view {
	if i := slices.IndexFunc(v.list, func(e *view) bool { return e.name == name }); i >= 0 {
		return v.list[i]
	}
	return nil
}

// tabHint says what the view of a tab is for, and its key.
func (v *views) tabHint(t *container.TabItem) string {
	i := slices.IndexFunc(v.list, func(e *view) bool { return e.tab == t })
	if i < 0 {
		return ""
	}
	return hint.Keyed(v.list[i].tip(), ctrl(v.list[i].key).String())
}

// tip says what a view is for.
func (e *view) tip() string {
	if e.about == nil {
		return e.title()
	}
	return e.about()
}

// current is the view that is looked at.
func (v *views) current() *view {
	tab := v.Content.Selected()
	for _, e := range v.list {
		if e.tab == tab {
			return e
		}
	}
	return v.list[0]
}

// shown is the name of the view that is looked at.
func (v *views) shown() string { return v.current().name }

// show brings a view to the front, if the log has it.
func (v *views) show(name string) {
	if e := v.view(name); e != nil && slices.Contains(v.Content.Items, e.tab) {
		v.Content.Select(e.tab)
	}
}

// actions show the views.
func (v *views) actions() []*action {
	var list []*action
	for _, e := range v.list {
		list = append(list, &action{name: "view-" + e.name, title: e.title(), tip: e.tip(), keys: []stroke{ctrl(e.key)},
			enabled: func() bool { return slices.Contains(v.Content.Items, e.tab) },
			checked: func() bool { return v.current() == e },
			do:      func() { v.show(e.name) }})
	}
	w := v.w
	list = append(list, nil, &action{name: "whole-calls", title: lang.L("Whole calls in a range of time"),
		tip:     lang.L("Statistics, call tree and threads count calls that reach out of the range as a whole, not only their part in it."),
		checked: w.ctl.Views.Whole, enabled: w.opened, do: w.toggleWhole})
	list = append(list, &action{name: "fit-lanes", title: lang.L("Threads as high as what is seen of them"),
		tip:     lang.L("On the timeline; threads without calls in the time that is seen are hidden."),
		checked: v.timeline.Fitted, enabled: w.opened, do: func() {
			v.timeline.SetFitted(!v.timeline.Fitted())
			v.shade()
			w.actions.show()
		}})
	list = append(list, &action{name: "compare-selections", title: lang.L("Compare the statistics of two selections"),
		tip:     lang.L("Keeps these numbers beside those of the thread, time or filter that is chosen next"),
		enabled: func() bool { return v.current().name == viewStatistics && w.opened() },
		checked: func() bool { return v.statistics.Compared() != "" },
		do:      func() { v.statistics.ToggleCompare(); w.actions.show() }})
	list = append(list, &action{name: "compare-times", title: lang.L("Compare the measured time with the selection"),
		tip:     lang.L("Statistics side by side: on the timeline limit all views to one time by Ctrl and drag, measure another by a drag, then press C."),
		enabled: func() bool { return v.current().name == viewTimeline && v.timeline.Measuring() }, do: v.timeline.Compare})
	list = append(list, &action{name: "colours", title: lang.L("Colours of calls"), choices: v.inkActions})
	return append(list, v.pictureActions()...)
}

// pictureActions save what the timeline shows. Where the system has no dialog for files the name cannot be
// chosen, so each kind of picture has its own.
func (v *views) pictureActions() []*action {
	drawn := func() bool { return v.current().name == viewTimeline && v.w.opened() && !v.w.ctl.Saving.Busy() }
	bits, drawing := lang.L("Save the timeline as PNG"), lang.L("Save the timeline as SVG")
	return []*action{
		{name: "save-picture", title: bits, enabled: drawn, tip: lang.L("A picture, as large as it is in the window."),
			do: func() { v.savePicture(bits, pictureBits) }},
		{name: "save-drawing", title: drawing, enabled: drawn, tip: lang.L("A drawing that can be enlarged, with texts that can be searched."),
			do: func() { v.savePicture(drawing, pictureDrawing) }},
	}
}

// offer lets there be the views that a log has something for.
func (v *views) offer(s *control.State) {
	var tabs []*container.TabItem
	for _, e := range v.list {
		if e.offered == nil || e.offered(s) {
			tabs = append(tabs, e.tab)
		}
	}
	if slices.Equal(tabs, v.Content.Items) {
		return
	}
	selected := v.Content.Selected()
	if selected != nil && !slices.Contains(tabs, selected) {
		v.show(viewTable)
		selected = v.Content.Selected()
	}
	at := max(slices.Index(tabs, selected), 0)
	v.Content.SetItems(tabs)
	if v.Content.SelectedIndex() != at {
		v.Content.SelectIndex(at)
	}
}

// say says of a view why it shows nothing, or nothing new; "" takes that away.
func (e *view) say(text string) {
	if e.note.Text != text || e.note.Visible() != (text != "") {
		e.note.SetText(text)
		show(e.note, text != "")
	}
}

// narrow is a menu item that replaces what is wanted of a column.
func (v *views) narrow(label string, c filter.Column, r *rows.Row) *fyne.MenuItem {
	term, ok := filter.Of(c, r)
	m := item(label, func() { v.w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) }) })
	m.Disabled = !ok
	return m
}

// functionItems are what can be done with a function wherever it is shown.
func (v *views) functionItems(f app.FunctionRef) []*fyne.MenuItem {
	w, r := v.w, rows.Row{Function: f.Function, Module: f.Module}
	term := filter.Is(filter.Func, f.Function)
	text := shorten(term.String(), 40)
	items := []*fyne.MenuItem{
		item(lang.L("Include {{.Term}}", data{"Term": text}), func() { w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Include(term) }) }),
		item(lang.L("Exclude {{.Term}}", data{"Term": text}), func() { w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Exclude(term) }) }),
		submenu(lang.L("Highlight {{.Term}}", data{"Term": text}), w.actions.colourItems("function", term)...),
		v.narrow(lang.L("Only inside calls of this function"), filter.In, &r),
	}
	if f.Module != "" {
		items = append(items, v.narrow(lang.L("Only this module"), filter.Module, &r))
	}
	items = append(items, fyne.NewMenuItemSeparator(), item(lang.L("Who called it, and what it called"), func() { v.showAround(f) }))
	return append(items, fyne.NewMenuItemSeparator(), item(lang.L("Copy the name"), func() { w.app.Clipboard().SetContent(f.Function) }))
}

// relabel says everything in the present language.
func (v *views) relabel() {
	for _, e := range v.list {
		e.tab.Text = e.title()
		if e.relabel != nil {
			e.relabel()
		}
	}
	v.Content.Refresh()
}

// paint gives the views the theme's colours.
func (v *views) paint(p *grid.Palette, dark bool) {
	for _, e := range v.list {
		if e.paint != nil {
			e.paint(p, dark)
		}
	}
}

// update brings the views up to date with what has changed of the state.
func (v *views) update(what control.Change, s *control.State) {
	if what&control.ChangeSource != 0 {
		v.updateTimeline(s)
	}
	if what&(control.ChangeSource|control.ChangeModules) != 0 {
		v.modules.Show(s.Modules)
	}
	total := int64(0)
	if s.View != nil {
		total = s.View.Total()
	} else if s.Rows != nil {
		total = s.Rows.Len()
	}
	if annotations := s.Facts.Annotations; what&control.ChangeContent != 0 && s.Loaded || total != v.total || annotations != v.marked {
		v.generation++
		v.total, v.marked = total, annotations
	}
	v.offer(s)
	if what&(control.ChangeSource|control.ChangeContent|control.ChangeGrown|control.ChangeFilter) != 0 {
		v.shade()
		v.renew()
		v.sayWhyEmpty(s)
	}
	if what&(control.ChangeMatches|control.ChangeFound) != 0 {
		v.timeline.SetFind(finder(s.Matches.Query))
		v.timeline.SetHits(v.hits(s.Matches.Places))
	}
}

// sayWhyEmpty says why the table shows no rows.
func (v *views) sayWhyEmpty(s *control.State) {
	text := ""
	if s.View != nil && s.View.Done() && s.View.Len() == 0 {
		text = lang.L("No row fits the filter. Ctrl+Shift+L takes it away.")
	}
	v.view(viewTable).say(text)
}

// forget empties the views, as another log is shown.
func (v *views) forget() {
	for _, e := range v.list {
		e.some = false
		if e.clear != nil {
			e.clear()
		}
	}
	v.drawn = drawnAnnotations{}
}

// renew computes the view that is looked at, unless that is done.
func (v *views) renew() {
	v.renewAnnotations()
	s, e := v.w.ctl.State(), v.current()
	if !s.Opened || e.compute == nil {
		return
	}
	where := v.w.ctl.Filter.Wanted().Where
	if e.depends != nil {
		where = e.depends(where)
	}
	if e.some && e.where == where && e.generation == v.generation {
		return
	}
	if since := time.Since(e.at); s.Follow.On && e.some && e.where == where && since < renewAfter {
		v.renewLater(renewAfter - since)
		return
	}
	fresh := where != e.where || !e.some
	e.some, e.where, e.generation, e.at = true, where, v.generation, time.Now()
	e.compute(where, fresh)
}

// again computes a view anew, as something that it was asked for has changed.
func (v *views) again(name string) {
	v.view(name).some = false
	v.renew()
}

// renewLater computes what is looked at after a while.
func (v *views) renewLater(d time.Duration) {
	if v.waiting {
		return
	}
	v.waiting = true
	v.w.later(d, func() {
		v.waiting = false
		v.renew()
	})
}

// computed takes note of how a computation ended, and reports whether there is
// something to show.
func (v *views) computed(name string, err error) bool {
	e := v.view(name)
	switch {
	case err == nil:
		e.say("")
	case errors.Is(err, context.Canceled):
		e.some = false
		e.say(lang.L("Stopped. Choose the tab again to start anew."))
	case !v.w.ctl.State().Loaded:
		// It is tried again when the log has been read.
		e.say(lang.L("The log is still being read."))
	default:
		e.say(control.Cause(err))
	}
	return err == nil
}

// digits is how many digits of a second the log's times are worth.
func (v *views) digits() int {
	if src := v.w.ctl.State().Rows; src != nil {
		return src.TimeDigits()
	}
	return 3
}

// rune is for characters that a view has no use for.
func (v *views) rune(r rune) {
	if r == '/' {
		v.w.actions.act("find")
	}
}
