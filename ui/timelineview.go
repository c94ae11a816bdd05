package ui

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/look"
	"logparser/ui/table"
	"logparser/ui/timeline"
)

// timelineView shows what each thread did when.
func (v *views) timelineView() *view {
	v.timeline = timeline.New(look.Fonts(), &timeline.Light, v.w.post)
	v.hint, v.limited = widget.NewLabel(""), widget.NewLabel("")
	for _, l := range []*widget.Label{v.hint, v.limited} {
		l.Importance = widget.LowImportance
		l.Truncation = fyne.TextTruncateEllipsis
	}
	v.limited.Hide()
	v.timeline.SetFitted(true)
	v.connectTimeline()
	v.connectAnnotations()
	return &view{
		name: viewTimeline, title: func() string { return lang.L("Timeline") }, key: fyne.Key2,
		about:   func() string { return lang.L("When each thread was in which call") },
		content: container.NewBorder(v.limited, v.hint, nil, nil, container.NewBorder(timeline.NewOverview(v.timeline, look.Fonts()), nil, nil, nil, v.timeline)),
		focus:   v.timeline,
		compute: func(where string, _ bool) {
			v.timeline.Reload()
			v.w.ctl.Views.Measure(func(err error) {
				if v.computed(viewTimeline, err) {
					v.timeline.Reload()
					v.w.trace("limited " + where)
				}
			})
			v.choose()
		},
		follow: v.followInTimeline,
		relabel: func() {
			v.shade()
			v.hint.SetText(lang.L("Wheel, W and S zoom, A and D move; F the chosen call, 0 all. Drag measures, then C compares; Ctrl and drag limits all views to a time."))
			v.timeline.Refresh()
		},
		paint: func(_ *grid.Palette, dark bool) {
			lines := &timeline.Light
			if dark {
				lines = &timeline.Dark
			}
			v.timeline.SetPalette(lines)
		},
	}
}

func (v *views) connectTimeline() {
	w, t := v.w, v.timeline
	t.OnSelected = func(row int64) {
		v.picks.goTo(row)
		w.trace("chosen " + strconv.FormatInt(row, 10))
	}
	t.OnActivated = func(row int64) {
		v.show(viewTable)
		w.nav.goTo(row)
	}
	t.OnRange = func(from, to int64) {
		if v.runs() != nil {
			w.ctl.Views.LimitRows(from, to)
			return
		}
		if term, err := spanTerm(filter.Time, from, to); err == nil {
			w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(term) })
		}
	}
	t.OnCompare = v.compareTimes
	t.OnMenu = func(call app.Span, lane app.Lane, at fyne.Position) {
		r := rows.Row{Index: call.Row, Function: call.Function, Module: call.Module, Thread: lane.Thread, Process: lane.Process}
		items := []*fyne.MenuItem{
			item(lang.L("Show in the table"), func() { t.OnActivated(call.Row) }),
			item(lang.L("Only inside this call"), func() { w.filters.insideCall(call.Row) }),
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			fyne.NewMenuItemSeparator(),
		}
		items[0].Disabled, items[1].Disabled = call.Row < 0, call.Row < 0
		w.actions.popUp(append(items, v.functionItems(call.FunctionRef)...), at)
	}
	t.OnMeasure = func(from, to int64) {
		w.ctl.Views.Between(from, to, func(sum *app.RangeSum, err error) {
			if err == nil {
				t.Measured(from, to, v.rangeTexts(sum))
				w.trace("measured " + strconv.FormatInt(sum.Calls, 10))
			}
		})
	}
	t.OnMeasured = func(ns int64) {
		if ns == 0 {
			w.ctl.Views.StopBetween()
		}
		w.actions.show()
	}
	t.OnFitted = func(int) { v.shade() }
	t.OnLaneMenu = func(lane app.Lane, at fyne.Position) {
		r := rows.Row{Thread: lane.Thread, Process: lane.Process}
		track := lane.Track()
		w.actions.popUp([]*fyne.MenuItem{
			item(lang.L("Move up"), func() { t.MoveLane(track, -1) }),
			item(lang.L("Move down"), func() { t.MoveLane(track, 1) }),
			item(lang.L("Move to the top"), func() { t.MoveLane(track, -1<<20) }),
			item(lang.L("Threads in the log's order"), func() { t.SetOrder(nil) }),
			fyne.NewMenuItemSeparator(),
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
		}, at)
	}
	t.OnError = func(err error) { v.view(viewTimeline).say(control.Cause(err)) }
	t.OnPicture = func(boxes int) {
		if boxes > 0 {
			v.view(viewTimeline).say("")
		}
		w.trace("timeline " + strconv.Itoa(boxes))
	}
	t.OnKey = func(name fyne.KeyName) { w.actions.key(name) }
	t.OnRune = v.rune
}

// compareTimes shows the statistics of a time beside those of the present selection.
func (v *views) compareTimes(from, to int64) {
	name := v.statistics.OnCompare()
	v.w.ctl.Views.Statistics(v.statistics.Grouping(), func(list []app.FunctionStat, err error) {
		if err != nil {
			v.view(viewTimeline).say(control.Cause(err))
			return
		}
		v.statistics.CompareWith(name, list)
		v.timeline.OnRange(from, to)
		v.show(viewStatistics)
		v.w.trace("comparing " + name)
	})
}

// rangeTexts say what lies in a range of time.
func (v *views) rangeTexts(sum *app.RangeSum) []string {
	lines := []string{lang.L("{{.Calls}} in {{.Threads}}", data{
		"Calls":   control.Count("{{.N}} call", "{{.N}} calls", sum.Calls),
		"Threads": control.Count("{{.N}} thread", "{{.N}} threads", int64(sum.Threads))})}
	if len(sum.Most) > 0 {
		lines = append(lines, lang.L("Most self time:"))
	}
	for i := range sum.Most {
		f := &sum.Most[i]
		lines = append(lines, string(table.AppendDuration(nil, f.Self, max(v.digits(), 6)))+"  "+f.Function+"  \u00d7 "+control.Thousands(f.Calls))
	}
	return lines
}

// The kinds of pictures, as names of files end.
const (
	pictureBits    = ".png"
	pictureDrawing = ".svg"
)

// savePicture writes what the timeline shows to a file that the user chooses: a picture of a kind, unless the
// name that is chosen ends as those of the other do.
func (v *views) savePicture(title, kind string) {
	w, img, drawing := v.w, v.timeline.Picture(), v.timeline.Drawing()
	name := strings.TrimSuffix(w.table.log, filepath.Ext(w.table.log)) + "-timeline" + kind
	w.dialogs.saveAs(title, name, func(path string) {
		ext := strings.ToLower(filepath.Ext(path))
		if ext == pictureDrawing || ext != pictureBits && kind == pictureDrawing {
			w.ctl.Saving.SaveDrawing(path, drawing)
		} else {
			w.ctl.Saving.SavePicture(path, img)
		}
	})
}

// updateTimeline takes over the timeline of another log.
func (v *views) updateTimeline(s *control.State) {
	lines := v.w.ctl.Views.Timeline()
	if lines == v.lines {
		return
	}
	v.lines = lines
	v.forget()
	if lines == nil {
		v.timeline.SetSource(nil)
	} else {
		v.timeline.SetSource(lines)
	}
}

// followInTimeline shows the call of the table's current row.
func (v *views) followInTimeline(r *rows.Row) {
	enter := v.w.folding.enterOf(r)
	if enter < 0 || r.Event == rows.Unknown {
		return
	}
	at := r.Elapsed
	for _, run := range v.runs() {
		if r.Index >= run.FirstRow && r.Index < run.EndRow {
			at += run.Zero
		}
	}
	call := app.Span{FunctionRef: app.FunctionRef{Function: r.Function}, From: at, To: at, Depth: r.Depth, Deepest: r.Depth, Calls: 1, Row: enter}
	if took := max(r.Duration, 0); r.Event == rows.Enter {
		call.To += took
	} else {
		call.From -= took
	}
	if v.timeline.Chosen() == enter {
		return // it stays where it is, and where the user looks
	}
	v.timeline.Choose(r.Track(), call)
}

// shade lets the time that the views are limited to stand out in the timeline.
func (v *views) shade() {
	from, to, limited := int64(0), int64(0), false
	e, err := filter.Parse(v.w.ctl.Filter.Wanted().Where)
	if err == nil && v.runs() == nil {
		for _, p := range e.Parts() {
			if t := p.Term; p.Kind == filter.Leaf && t.Column == filter.Time && t.Range.Measure == filter.Number {
				from, to, limited = t.Range.Low, t.Range.High, true
			}
		}
	}
	var notes []string
	if err == nil && !e.IsAll() && (v.runs() != nil || control.WithoutTimes(e.String()) != "") {
		notes = append(notes, lang.L("Pale: calls whose row the filter hides. Pale and hatched: it may hide some of these calls; zoom in to see which."))
	}
	if v.drawn.more {
		notes = append(notes, lang.L("Only the first {{.N}} annotations are drawn.", data{"N": control.Thousands(control.MaxAnnotations)}))
	}
	if n := v.timeline.Hidden(); n > 0 {
		notes = append(notes, control.Count("{{.N}} thread without calls in this time is hidden.", "{{.N}} threads without calls in this time are hidden.", int64(n)))
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

// hits are the times of what was found, thread by thread.
func (v *views) hits(places []control.Place) map[rows.Track][]int64 {
	if len(places) == 0 {
		return nil
	}
	runs := v.runs()
	list := make(map[rows.Track][]int64)
	for _, p := range places {
		at := p.Elapsed
		for _, run := range runs {
			if p.Row >= run.FirstRow && p.Row < run.EndRow {
				at += run.Zero
			}
		}
		list[p.Track] = append(list[p.Track], at)
	}
	for _, times := range list {
		slices.Sort(times)
	}
	return list
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
