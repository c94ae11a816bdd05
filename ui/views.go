package ui

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/calltree"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/look"
	"logparser/ui/marks"
	"logparser/ui/modulespanel"
	"logparser/ui/statistics"
	"logparser/ui/threads"
	"logparser/ui/timeline"
)

// The views of a log, in the order of their tabs.
const (
	viewTable = iota
	viewTimeline
	viewTree
	viewStatistics
	viewThreads
	viewModules
	viewMarks // last: not every log has it
	viewCount
)

// renewAfter is the least time between two computations of a view while the log
// grows.
const renewAfter = 2 * time.Second

// A computed view knows what it shows.
type computed struct {
	// where and generation are what was computed last, or is being computed.
	where      string
	generation int
	some       bool
	at         time.Time
	// note says why nothing is shown.
	note *widget.Label
}

// views are the tabs with the views of a log. All but the table are computed
// when they are looked at, for the selection that the table shows.
type views struct {
	Content *container.AppTabs

	w    *Window
	tabs [viewCount]*container.TabItem

	timeline   *timeline.Timeline
	hint       *widget.Label // below the timeline
	limited    *widget.Label // above it: how what is hidden is drawn
	tree       *calltree.View
	statistics *statistics.View
	threads    *threads.View
	modules    *modulespanel.Panel
	marks      *marks.View

	lines      control.Timeline // what the timeline shows
	total      int64            // of the log's rows
	marked     int64            // how many marks it has
	generation int              // of the rows and their names
	state      [viewCount]computed
	drawn      drawnMarks
	waiting    bool // a renewal is to come
	following  bool // the table follows what was chosen here
	// picks numbers what is chosen in tree and statistics; picked is the row that
	// came of the last, -1 for none.
	picks   int
	picked  int64
	picking bool // the row is being looked for
}

// newViews makes the tabs around the table.
func newViews(w *Window) *views {
	v := &views{w: w, picked: -1}
	v.timeline = timeline.New(look.Fonts(), &timeline.Light, w.post)
	v.hint = widget.NewLabel("")
	v.hint.Importance = widget.LowImportance
	v.hint.Truncation = fyne.TextTruncateEllipsis
	v.limited = widget.NewLabel("")
	v.limited.Importance = widget.LowImportance
	v.limited.Truncation = fyne.TextTruncateEllipsis
	v.limited.Hide()
	v.tree = calltree.New(look.Fonts(), &grid.Light)
	v.statistics = statistics.New(look.Fonts(), &grid.Light, w.post)
	v.threads = threads.New(look.Fonts(), &grid.Light, w.post)
	v.modules = modulespanel.New()
	v.marks = marks.New(look.Fonts(), &grid.Light, w.post)
	v.connectTimeline()
	v.connectLists()

	v.Content = container.NewAppTabs()
	for i, content := range [viewCount]fyne.CanvasObject{
		viewTable:      v.noted(viewTable, w.grid),
		viewTimeline:   container.NewBorder(v.limited, v.hint, nil, nil, v.noted(viewTimeline, v.timeline)),
		viewTree:       v.noted(viewTree, v.tree.Content),
		viewStatistics: v.noted(viewStatistics, v.statistics.Content),
		viewThreads:    v.noted(viewThreads, v.threads.Content),
		viewModules:    v.modules.Content,
		viewMarks:      v.noted(viewMarks, v.marks.Content),
	} {
		v.tabs[i] = container.NewTabItem("", content)
		if i != viewMarks {
			v.Content.Append(v.tabs[i])
		}
	}
	v.Content.OnSelected = func(*container.TabItem) {
		v.renew()
		v.choose()
		if v.shown() == viewTree {
			w.showBeside()
		}
		w.focusView()
		w.showMenus()
		w.trace("view " + strconv.Itoa(v.Content.SelectedIndex()))
	}
	return v
}

// noted puts what is said of a view above it.
func (v *views) noted(i int, content fyne.CanvasObject) fyne.CanvasObject {
	n := widget.NewLabel("")
	n.Alignment, n.Wrapping = fyne.TextAlignCenter, fyne.TextWrapWord
	n.Hide()
	v.state[i].note = n
	return container.NewBorder(n, nil, nil, nil, content)
}

// say says of a view why it shows nothing, or nothing new; "" takes that away.
func (v *views) say(i int, text string) {
	if n := v.state[i].note; n.Text != text || n.Visible() != (text != "") {
		n.SetText(text)
		show(n, text != "")
	}
}

func (v *views) connectTimeline() {
	w, t := v.w, v.timeline
	t.OnSelected = func(row int64) {
		v.following = true
		w.goTo(row)
		v.following = false
		w.trace("chosen " + strconv.FormatInt(row, 10))
	}
	t.OnActivated = func(row int64) {
		v.show(viewTable)
		w.goTo(row)
	}
	t.OnRange = func(from, to int64) {
		if v.runs() != nil {
			w.ctl.LimitRows(from, to)
			return
		}
		if term, err := spanTerm(filter.Time, from, to); err == nil {
			w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) })
		}
	}
	t.OnMenu = func(call timeline.Span, thread uint32, at fyne.Position) {
		r := rows.Row{Index: call.Row, Function: call.Function, Module: call.Module, Thread: thread}
		items := []*fyne.MenuItem{
			item(lang.L("Show in the table"), func() { t.OnActivated(call.Row) }),
			item(lang.L("Only inside this call"), func() { w.insideCall(call.Row) }),
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			fyne.NewMenuItemSeparator(),
		}
		items[0].Disabled, items[1].Disabled = call.Row < 0, call.Row < 0
		w.popUp(append(items, v.functionItems(app.FunctionRef{Function: call.Function, Module: call.Module})...), at)
	}
	t.OnError = func(err error) { v.say(viewTimeline, control.Cause(err)) }
	t.OnPicture = func(boxes int) {
		if boxes > 0 {
			v.say(viewTimeline, "")
		}
		w.trace("timeline " + strconv.Itoa(boxes))
	}
	t.OnKey = func(name fyne.KeyName) { w.key(name) }
	t.OnRune = v.rune
	v.connectMarks()
}

func (v *views) connectLists() {
	w := v.w
	copied := w.app.Clipboard().SetContent
	open := func(f app.FunctionRef) {
		w.ctl.FirstCall(f, func(row int64) {
			v.show(viewTable)
			w.goTo(row)
		})
	}
	menu := func(f app.FunctionRef, at fyne.Position) {
		items := append([]*fyne.MenuItem{item(lang.L("Go to its first call"), func() { open(f) })}, v.functionItems(f)...)
		w.popUp(items, at)
	}
	v.tree.OnOptions = func(app.TreeOptions) {
		v.state[viewTree].some = false
		v.renew()
	}
	v.tree.ThreadName = func(id uint32) string {
		for _, t := range w.ctl.State().Threads {
			if t.ID == id {
				return t.Name
			}
		}
		return ""
	}
	v.tree.OnOpen = func(f *app.FunctionRef) { open(*f) }
	v.tree.OnMenu = func(f *app.FunctionRef, at fyne.Position) { menu(*f, at) }
	v.tree.OnCopy = copied
	v.tree.OnChosen, v.statistics.OnChosen = v.pickNode, v.pickFunction
	v.statistics.OnOpen = func(f *app.FunctionStat) { open(f.FunctionRef) }
	v.statistics.OnMenu = func(f *app.FunctionStat, at fyne.Position) { menu(f.FunctionRef, at) }
	v.statistics.OnCopy = copied
	v.statistics.OnRange = v.limitDurations
	v.statistics.OnSave = v.saveStatistics
	v.threads.OnOpen = func(t *control.ThreadSum) { w.ctl.FilterThread(t.ID) }
	v.threads.OnMenu = func(t *control.ThreadSum, at fyne.Position) {
		r := rows.Row{Thread: t.ID}
		term, _ := filter.Of(filter.Thread, &r)
		w.popUp([]*fyne.MenuItem{
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			item(lang.L("Exclude {{.Term}}", data{"Term": term.String()}), func() {
				w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Exclude(term) })
			})}, at)
	}
	v.threads.OnCopy = copied
	v.modules.OnCopy = copied
	v.marks.OnNarrow = func() {
		v.state[viewMarks].some = false
		v.renew()
	}
	goToMark := func(m *control.Mark) {
		w.ctl.RowOfMark(m, func(row int64) {
			v.show(viewTable)
			w.goTo(row)
		})
	}
	v.marks.OnOpen = goToMark
	v.marks.OnMenu = func(m *control.Mark, at fyne.Position) {
		r := rows.Row{Thread: m.Thread}
		timelineItem := item(lang.L("Show in the timeline"), func() { v.showInTimeline(m) })
		timelineItem.Disabled = v.runs() != nil
		w.popUp([]*fyne.MenuItem{
			item(lang.L("Show in the table"), func() { goToMark(m) }),
			timelineItem,
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			item(lang.L("Copy the text"), func() { copied(m.Text) })}, at)
	}
	v.marks.OnCopy = copied
	for _, g := range []*grid.Grid{v.tree.Grid, v.statistics.List.Grid, v.threads.List.Grid, v.marks.List.Grid} {
		g.OnKey = func(name fyne.KeyName) { w.key(name) }
	}
}

// narrow is a menu item that replaces what is wanted of a column.
func (v *views) narrow(label string, c filter.Column, r *rows.Row) *fyne.MenuItem {
	term, ok := filter.Of(c, r)
	m := item(label, func() { v.w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) }) })
	m.Disabled = !ok
	return m
}

// functionItems are what can be done with a function wherever it is shown.
func (v *views) functionItems(f app.FunctionRef) []*fyne.MenuItem {
	w, r := v.w, rows.Row{Function: f.Function, Module: f.Module}
	term := filter.Is(filter.Func, f.Function)
	text := shorten(term.String(), 40)
	items := []*fyne.MenuItem{
		item(lang.L("Include {{.Term}}", data{"Term": text}), func() { w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Include(term) }) }),
		item(lang.L("Exclude {{.Term}}", data{"Term": text}), func() { w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Exclude(term) }) }),
		submenu(lang.L("Highlight {{.Term}}", data{"Term": text}), w.colourItems("function", term)...),
		v.narrow(lang.L("Only inside calls of this function"), filter.In, &r),
	}
	if f.Module != "" {
		items = append(items, v.narrow(lang.L("Only this module"), filter.Module, &r))
	}
	return append(items, fyne.NewMenuItemSeparator(), item(lang.L("Copy the name"), func() { w.app.Clipboard().SetContent(f.Function) }))
}

// limitDurations shows only calls of a function that took so long.
func (v *views) limitDurations(f *app.FunctionStat, from, to int64) {
	took, err := spanTerm(filter.Duration, from, to)
	if err != nil {
		return
	}
	name := filter.Is(filter.Func, f.Function)
	v.w.ctl.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(name).Replace(took) })
}

func (v *views) saveStatistics(list []app.FunctionStat) {
	w := v.w
	name := strings.TrimSuffix(w.shown, ".dat") + "-statistics.csv"
	w.picker.Save(lang.L("Save as csv"), name, func(path string) { w.ctl.SaveStatistics(path, list) })
}

// relabel says everything in the present language.
func (v *views) relabel() {
	for i, text := range viewTitles() {
		v.tabs[i].Text = text
	}
	v.Content.Refresh()
	v.shade()
	v.hint.SetText(lang.L("Wheel or W and S zoom, A and D move, F shows the chosen call whole, 0 all. Drag measures, Ctrl and drag limits all views to a time."))
	v.timeline.Refresh()
	v.tree.Relabel()
	v.statistics.Relabel()
	v.threads.Relabel()
	v.modules.Relabel()
	v.marks.Relabel()
}

// paint gives the views the theme's colours.
func (v *views) paint(p *grid.Palette, dark bool) {
	lines := &timeline.Light
	if dark {
		lines = &timeline.Dark
	}
	v.timeline.SetPalette(lines)
	v.tree.Grid.SetPalette(p)
	v.statistics.SetPalette(p)
	v.threads.List.Grid.SetPalette(p)
	v.marks.List.Grid.SetPalette(p)
}

// viewTitles are the names of the views in the present language.
func viewTitles() [viewCount]string {
	return [viewCount]string{lang.L("Table"), lang.L("Timeline"), lang.L("Call tree"), lang.L("Statistics"), lang.L("Threads"), lang.L("Modules"), lang.L("Marks")}
}

// show brings a view to the front.
func (v *views) show(i int) {
	if i < len(v.Content.Items) {
		v.Content.SelectIndex(i)
	}
}

// shown is the view that is looked at.
func (v *views) shown() int { return max(v.Content.SelectedIndex(), 0) }

// actions show the views.
func (v *views) actions() []*action {
	keys := [viewCount]fyne.KeyName{fyne.Key1, fyne.Key2, fyne.Key3, fyne.Key4, fyne.Key5, fyne.Key6, fyne.Key7}
	var list []*action
	for i, title := range viewTitles() {
		list = append(list, &action{name: "view-" + viewNames[i], title: title, keys: []stroke{ctrl(keys[i])},
			enabled: func() bool { return i < len(v.Content.Items) },
			checked: func() bool { return v.shown() == i },
			do:      func() { v.show(i) }})
	}
	return list
}

// update brings the views up to date with what has changed of the state.
func (v *views) update(what control.Change, s *control.State) {
	if what&control.ChangeSource != 0 {
		if lines := v.w.ctl.Timeline(); lines != v.lines {
			v.lines = lines
			v.forget()
			if lines == nil {
				v.timeline.SetSource(nil)
			} else {
				v.timeline.SetSource(timeSource{lines, s.Rows})
			}
		}
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
	if marks := s.Facts.Marks; what&control.ChangeContent != 0 && s.Loaded || total != v.total || marks != v.marked {
		v.generation++
		v.total, v.marked = total, marks
	}
	v.offerMarks(s.Opened && s.Facts.Marked)
	if what&(control.ChangeSource|control.ChangeContent|control.ChangeGrown|control.ChangeFilter) != 0 {
		v.shade()
		v.renew()
		v.sayWhyEmpty(s)
	}
	if what&(control.ChangeMatches|control.ChangeFound) != 0 {
		v.timeline.SetFind(finder(s.Matches.Query))
	}
}

// sayWhyEmpty says why the table shows no rows.
func (v *views) sayWhyEmpty(s *control.State) {
	text := ""
	if s.View != nil && s.View.Done() && s.View.Len() == 0 {
		text = lang.L("No row fits the filter. Ctrl+Shift+L takes it away.")
	}
	v.say(viewTable, text)
}

// offerMarks lets there be a view of marks, or not.
func (v *views) offerMarks(on bool) {
	if on == (len(v.Content.Items) == viewCount) {
		return
	}
	if on {
		v.Content.Append(v.tabs[viewMarks])
	} else {
		if v.shown() == viewMarks {
			v.show(viewTable)
		}
		v.Content.Remove(v.tabs[viewMarks])
	}
	v.w.showMenus()
}

// forget empties the views, as another log is shown.
func (v *views) forget() {
	for i := range v.state {
		v.state[i].some = false
	}
	v.statistics.Show(nil, 3)
	v.tree.Show(&app.Tree{}, 3)
	v.threads.Show(nil, 3)
	v.marks.Show(nil, false, 3)
	v.drawn = drawnMarks{}
}

// shade lets the time that the views are limited to stand out in the timeline.
func (v *views) shade() {
	from, to, limited := int64(0), int64(0), false
	e, err := filter.Parse(v.w.ctl.Wanted().Where)
	if err == nil && v.runs() == nil {
		for _, p := range e.Parts() {
			if t := p.Term; p.Kind == filter.Leaf && t.Column == filter.Time && t.Range.Measure == filter.Number {
				from, to, limited = t.Range.Low, t.Range.High, true
			}
		}
	}
	var notes []string
	if err == nil && !e.IsAll() {
		notes = append(notes, lang.L("Pale: calls whose row the filter hides. Pale and hatched: it may hide some of these calls; zoom in to see which."))
	}
	if v.drawn.more {
		notes = append(notes, lang.L("Only the first {{.N}} marks are drawn.", data{"N": control.Thousands(control.MaxMarks)}))
	}
	v.limited.SetText(strings.Join(notes, "   "))
	show(v.limited, len(notes) > 0)
	v.timeline.SetRange(from, to, limited)
}

// runs are where several runs lie on the timeline, nil if there is one.
func (v *views) runs() []app.TimelineRun {
	if v.lines == nil {
		return nil
	}
	runs, err := v.lines.Runs()
	if err != nil || len(runs) < 2 {
		return nil
	}
	return runs
}

// renew computes the view that is looked at, unless that is done.
func (v *views) renew() {
	v.renewMarks()
	s, i := v.w.ctl.State(), v.shown()
	c := &v.state[i]
	where := v.w.ctl.Wanted().Where
	if i == viewMarks {
		where = control.AboutMarks(where).String()
	}
	if !s.Opened || i == viewTable || i == viewModules || c.some && c.where == where && c.generation == v.generation {
		return
	}
	if since := time.Since(c.at); s.Follow.On && c.some && c.where == where && since < renewAfter {
		v.renewLater(renewAfter - since)
		return
	}
	fresh := where != c.where || !c.some
	c.some, c.where, c.generation, c.at = true, where, v.generation, time.Now()
	digits := s.Rows.TimeDigits()
	switch i {
	case viewTimeline:
		v.timeline.Reload()
		v.w.ctl.Measure(func(err error) {
			if v.computed(viewTimeline, err) {
				v.timeline.Reload()
				v.w.trace("limited " + where)
			}
		})
		v.choose()
	case viewTree:
		v.w.ctl.CallTree(v.tree.Options(), func(tree *app.Tree, err error) {
			if v.computed(viewTree, err) {
				v.tree.Show(tree, digits)
				if fresh {
					v.tree.OpenPaths()
				}
				v.w.showBeside() // which asks for the way to the current row
				v.w.trace("tree " + strconv.Itoa(len(tree.Roots)))
			}
		})
	case viewStatistics:
		v.w.ctl.Statistics(func(list []app.FunctionStat, err error) {
			if v.computed(viewStatistics, err) {
				v.statistics.Show(list, digits)
				v.choose()
				v.w.trace("statistics " + strconv.Itoa(len(list)))
			}
		})
	case viewThreads:
		v.w.ctl.Threads(func(list []control.ThreadSum, err error) {
			if v.computed(viewThreads, err) {
				v.threads.Show(list, digits)
				v.w.trace("threads " + strconv.Itoa(len(list)))
			}
		})
	case viewMarks:
		v.w.ctl.Marks(v.marks.Text(), func(list control.MarkList, err error) {
			if v.computed(viewMarks, err) {
				v.marks.Show(list.Marks, list.More, digits)
				v.marks.ShowLimit(where)
				v.w.trace("marks " + strconv.Itoa(len(list.Marks)))
			}
		})
	}
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
func (v *views) computed(i int, err error) bool {
	switch {
	case err == nil:
		v.say(i, "")
	case errors.Is(err, context.Canceled):
		v.state[i].some = false
		v.say(i, lang.L("Stopped. Choose the tab again to start anew."))
	case !v.w.ctl.State().Loaded:
		// It is tried again when the log has been read.
		v.say(i, lang.L("The log is still being read."))
	default:
		v.say(i, control.Cause(err))
	}
	return err == nil
}

// rune is for characters that a view has no use for.
func (v *views) rune(r rune) {
	if r == '/' {
		v.w.focusFind()
	}
}

// focusView lets the view that is looked at have the keys.
func (w *Window) focusView() {
	var o fyne.Focusable
	switch w.views.shown() {
	case viewTable:
		o = w.grid
	case viewTimeline:
		o = w.views.timeline
	case viewTree:
		o = w.views.tree.Grid
	case viewStatistics:
		o = w.views.statistics.List.Grid
	case viewThreads:
		o = w.views.threads.List.Grid
	case viewMarks:
		o = w.views.marks.List.Grid
	default:
		return
	}
	w.win.Canvas().Focus(o)
}

// finder makes what tells the names that a query finds; nil for none.
func finder(q control.Query) func(function string) bool {
	switch {
	case q.Text == "":
		return nil
	case q.Regexp:
		pattern := q.Text
		if !q.Case {
			pattern = "(?i)" + pattern
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil
		}
		return re.MatchString
	case q.Case:
		return func(name string) bool { return strings.Contains(name, q.Text) }
	}
	return rows.NewMatcher(q.Text).MatchesText
}

// A timeSource hands a session's timeline to the widget.
type timeSource struct {
	lines control.Timeline
	rows  rows.Source
}

// Lanes implements [timeline.Source].
func (s timeSource) Lanes() []timeline.Lane {
	list := s.lines.Lanes()
	lanes := make([]timeline.Lane, len(list))
	for i, l := range list {
		lanes[i] = timeline.Lane{Thread: uint32(rows.TrackOf(l.Thread, l.Stack)), Name: l.Name, Depth: l.Depth, Rows: l.Rows, Stack: l.Stack, Home: l.Thread}
	}
	return lanes
}

// Bounds implements [timeline.Source].
func (s timeSource) Bounds() (first, last int64) { return s.lines.Range() }

// Runs implements [timeline.Source].
func (s timeSource) Runs() []timeline.Run {
	runs, err := s.lines.Runs()
	if err != nil {
		return nil
	}
	list := make([]timeline.Run, len(runs))
	for i := range runs {
		r := &runs[i]
		name := lang.L("Run {{.Run}}", data{"Run": strconv.Itoa(r.Number)})
		if r.HasWall {
			name += " \u00b7 " + r.Begin.Format(time.DateTime)
		}
		list[i] = timeline.Run{From: r.From, To: r.To, Zero: r.Zero, Name: name, Seam: r.Seam}
	}
	return list
}

// TimeDigits implements [timeline.Source].
func (s timeSource) TimeDigits() int { return s.rows.TimeDigits() }

// Spans implements [timeline.Source].
func (s timeSource) Spans(lane int, from, to int64, pixels int) ([]timeline.Span, bool, error) {
	list, finer, err := s.lines.Spans(nil, lane, from, to, pixels)
	if err != nil {
		return nil, false, err
	}
	spans := make([]timeline.Span, len(list))
	for i := range list {
		l := &list[i]
		spans[i] = timeline.Span{From: l.From, To: l.To, Depth: l.Depth, Deepest: l.Deepest, Count: l.Calls, Function: l.Function, Module: l.Module, Row: l.Row,
			Open: l.Open || l.NoLeave}
		if l.About && l.Calls == 1 {
			spans[i].Count = 0 // it need not be one
		}
		if l.Limited {
			spans[i].Hidden, spans[i].Shown = l.Shown <= 0, l.Shown
			spans[i].Some = l.Shown > 0 && (l.About || l.Shown < l.Calls)
		}
	}
	return spans, finer, nil
}
