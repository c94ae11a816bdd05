package ui

import (
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
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/look"
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
	v.connectTimeline()
	v.connectAnnotations()
	return &view{
		name: viewTimeline, title: func() string { return lang.L("Timeline") }, key: fyne.Key2,
		content: container.NewBorder(v.limited, v.hint, nil, nil, v.timeline), focus: v.timeline,
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
			v.hint.SetText(lang.L("Wheel or W and S zoom, A and D move, F shows the chosen call whole, 0 all. Drag measures, Ctrl and drag limits all views to a time."))
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
	t.OnMenu = func(call timeline.Span, thread uint32, at fyne.Position) {
		r := rows.Row{Index: call.Row, Function: call.Function, Module: call.Module, Thread: thread}
		items := []*fyne.MenuItem{
			item(lang.L("Show in the table"), func() { t.OnActivated(call.Row) }),
			item(lang.L("Only inside this call"), func() { w.filters.insideCall(call.Row) }),
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			fyne.NewMenuItemSeparator(),
		}
		items[0].Disabled, items[1].Disabled = call.Row < 0, call.Row < 0
		w.actions.popUp(append(items, v.functionItems(app.FunctionRef{Function: call.Function, Module: call.Module})...), at)
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
		v.timeline.SetSource(timeSource{lines, s.Rows})
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
	call := timeline.Span{From: at, To: at, Depth: r.Depth, Deepest: r.Depth, Count: 1, Function: r.Function, Row: enter}
	if took := max(r.Duration, 0); r.Event == rows.Enter {
		call.To += took
	} else {
		call.From -= took
	}
	v.timeline.Choose(uint32(r.Track()), call)
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
	if err == nil && !e.IsAll() {
		notes = append(notes, lang.L("Pale: calls whose row the filter hides. Pale and hatched: it may hide some of these calls; zoom in to see which."))
	}
	if v.drawn.more {
		notes = append(notes, lang.L("Only the first {{.N}} marks are drawn.", data{"N": control.Thousands(control.MaxAnnotations)}))
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
	lines *control.Timeline
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
