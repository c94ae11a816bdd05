package ui

import (
	"fmt"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
	"logparser/ui/filterline"
	"logparser/ui/hint"
	"logparser/ui/inputs"
)

// A findBar is what lies above the table: the filter, the thread and run selectors;
// below that the filter's terms, while there are any; and the line for finding, while
// something is looked for. Its tools, for what is done with the whole, stand beside the
// inputs.
type findBar struct {
	Content fyne.CanvasObject

	line    *filterline.Line
	thread  *hint.Select
	run     *hint.Select
	repeats *hint.Button
	follow  *hint.Button
	save    *hint.Button
	panel   *hint.Button

	finding            *fyne.Container
	entry              *inputs.Entry
	regexp, matchCase  *hint.Button
	previous, next     *hint.Button
	outcome            *widget.Label
	close              *hint.Button
	useRegexp, useCase bool

	threads  []app.Thread
	updating bool // the selectors are being set to the state
}

func newFindBar(w *workspace) *findBar {
	b := &findBar{entry: inputs.NewEntry(), outcome: widget.NewLabel("")}
	button := func(icon fyne.Resource, tapped func()) *hint.Button {
		t := hint.NewButton("", icon, tapped)
		t.Importance = widget.LowImportance
		return t
	}
	b.line = filterline.New(w.filters.menu)
	b.line.OnApply = w.filters.apply
	b.line.OnTyped, b.line.Later = w.filters.try, w.later
	b.line.OnRevert = w.ctl.Filter.DismissError
	b.line.OnLeave = func() { w.focusView() }
	b.line.OnKey, b.line.Entry.OnShortcut = w.actions.key, w.actions.shortcut
	b.line.OnResized = w.relayout
	b.line.OnOffers = w.floating.Refresh
	b.line.Complete = w.filters.completions
	b.line.History = w.pref.filters

	b.thread = hint.NewSelect(nil, func(string) {
		if b.updating {
			return
		}
		if i := b.thread.SelectedIndex(); i > 0 && i <= len(b.threads) {
			w.ctl.Filter.SetThread(&b.threads[i-1])
		} else {
			w.ctl.Filter.Narrow(withoutThreads)
		}
	})
	b.run = hint.NewSelect(nil, func(string) {
		if b.updating {
			return
		}
		if i := b.run.SelectedIndex(); i == 0 {
			w.ctl.Inputs.SetRun("all")
		} else if i > 0 {
			w.ctl.Inputs.SetRun(fmt.Sprint(i))
		}
	})
	b.repeats = hint.NewButton("\u00d7 N", nil, w.actions.actor("collapse-repeats"))
	b.repeats.Importance = widget.LowImportance
	b.follow = button(theme.DownloadIcon(), w.actions.actor("follow"))
	b.save = button(theme.DocumentSaveIcon(), w.actions.actor("save"))
	b.panel = button(theme.InfoIcon(), w.actions.actor("panel"))
	first := container.NewBorder(nil, nil, nil, container.NewHBox(b.thread, b.run, b.repeats), b.line.Field)

	b.makeFinding(w, button)
	b.Content = container.New(layout.NewCustomPaddedVBoxLayout(1), first, b.line.Below, b.finding)
	return b
}

// makeFinding makes the line for finding.
func (b *findBar) makeFinding(w *workspace, button func(fyne.Resource, func()) *hint.Button) {
	b.entry.OnSubmitted = func(string) { w.finding.next(modifiers()&fyne.KeyModifierShift != 0) }
	b.entry.OnChanged = func(string) { w.finding.queryChanged() }
	b.entry.OnKey = func(name fyne.KeyName) bool {
		switch name {
		case fyne.KeyEscape:
			w.finding.end()
			return true
		case fyne.KeyDown:
			w.focusView()
			return true
		}
		return w.actions.key(name)
	}
	b.entry.OnShortcut = w.actions.shortcut
	b.outcome.Importance = widget.LowImportance
	b.previous = button(theme.MoveUpIcon(), func() { w.finding.next(true) })
	b.next = button(theme.MoveDownIcon(), func() { w.finding.next(false) })
	b.close = button(theme.CancelIcon(), w.finding.end)
	toggle := func(text string, on *bool) *hint.Button {
		t := hint.NewButton(text, nil, nil)
		t.Importance = widget.LowImportance
		t.OnTapped = func() {
			*on = !*on
			t.Importance = widget.LowImportance
			if *on {
				t.Importance = widget.HighImportance
			}
			t.Refresh()
			w.finding.queryChanged()
			w.win.Canvas().Focus(b.entry)
		}
		return t
	}
	b.matchCase = toggle("Aa", &b.useCase)
	b.regexp = toggle(".*", &b.useRegexp)
	b.finding = container.NewHBox(container.New(&fixedWidth{320}, b.entry), b.matchCase, b.regexp, b.previous, b.next, b.outcome, layout.NewSpacer(), b.close)
	b.finding.Hide()
}

// tools are what is done with the whole log.
func (b *findBar) tools() []fyne.CanvasObject {
	return []fyne.CanvasObject{b.save, b.follow, b.panel}
}

// query is what is looked for.
func (b *findBar) query() control.Query {
	return control.Query{Text: b.entry.Text, Regexp: b.useRegexp, Case: b.useCase}
}

// hints say what the tools are for.
func (b *findBar) hints(w *workspace) {
	b.save.Hint, b.follow.Hint, b.panel.Hint = w.actions.hint("save"), w.actions.hint("follow"), w.actions.hint("panel")
	b.repeats.Hint = w.actions.hint("collapse-repeats")
	b.previous.Hint, b.next.Hint = w.actions.hint("find-previous"), w.actions.hint("find-next")
	b.thread.Hint = func() string { return lang.L("Limits all views to a thread") }
	b.run.Hint = func() string { return lang.L("Which run of the program is shown") }
	b.matchCase.Hint = func() string { return lang.L("Upper and lower case are different letters") }
	b.regexp.Hint = func() string { return lang.L("What is looked for is a regular expression") }
	b.close.Hint = func() string { return hint.Keyed(lang.L("Ends the search"), "Esc") }
	b.entry.Hint = w.actions.hint("find")
	b.line.Entry.Hint = w.actions.hint("filter")
	b.line.MenuHint(w.actions.hint("filters"))
	w.summary.Unfold.Hint, w.summary.Symbols.Hint = w.actions.hint("inputs"), w.actions.hint("edit-symbol-path")
	w.strip.Log.Browse.Hint, w.strip.Modules.Browse.Hint = w.actions.hint("open-log"), w.actions.hint("choose-modules-file")
	w.strip.Symbols.Browse.Hint, w.strip.Symbols.More.Hint = w.actions.hint("add-symbol-folder"), w.actions.hint("edit-symbol-path")
	w.strip.Log.Entry.Hint = func() string { return lang.L("LogDetails.dat: choose it, drop it here, or type its path") }
	w.strip.Modules.Entry.Hint = func() string {
		return lang.L("It says which modules were loaded where; it is looked for beside the log.")
	}
	w.strip.Symbols.Entry.Hint = func() string { return lang.L("Folders and files with symbols; beside the log is always looked") }
	w.status.news.Hint = w.actions.hint("follow")
	w.status.cancel.Hint = func() string { return lang.L("Stops what is being done") }
	w.status.message.Hint = func() string {
		if m := w.status.shown; m != nil {
			return strings.TrimSpace(m.Text + " " + m.Next)
		}
		return ""
	}
}

func (b *findBar) relabel() {
	b.line.Relabel()
	b.entry.SetPlaceHolder(lang.L("Find in the rows"))
	b.follow.SetText(lang.L("Follow"))
	b.save.SetText(lang.L("Save"))
	b.panel.SetText(lang.L("Panel"))
}

// withoutThreads takes the terms away that choose threads, and with them those that choose
// their processes.
func withoutThreads(e *filter.Expr) *filter.Expr {
	parts := e.Parts()
	of := func(p *filter.Expr, c filter.Column) bool { return p.Kind == filter.Leaf && p.Term.Column == c }
	if !slices.ContainsFunc(parts, func(p *filter.Expr) bool { return of(p, filter.Thread) }) {
		return e
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if of(parts[i], filter.Thread) || of(parts[i], filter.Process) {
			e = e.Without(i)
		}
	}
	return e
}

// onlyThread reports whether a filter has a term that chooses just this thread.
func onlyThread(where string, t *app.Thread) bool {
	e, err := filter.Parse(where)
	term, ok := filter.Of(filter.Thread, &rows.Row{Thread: t.ID, Process: t.Process})
	if err != nil || !ok {
		return false
	}
	for _, wanted := range term.Parts() {
		if !slices.ContainsFunc(e.Parts(), func(p *filter.Expr) bool { return p.String() == wanted.String() }) {
			return false
		}
	}
	return true
}

// show brings the selectors up to date.
func (b *findBar) show(s *control.State) {
	b.updating = true
	defer func() { b.updating = false }()

	options := []string{lang.L("All threads")}
	b.threads = s.Threads
	selected := 0
	chosen := strings.Contains(s.Selection.Where, "thread:")
	for i, t := range s.Threads {
		name := fmt.Sprint(t.ID)
		if t.Name != "" {
			name += " " + t.Name
		}
		if t.Process != nil {
			name += " \u00b7 " + t.Process.Label
		}
		options = append(options, fmt.Sprintf("%s  (%s)", name, control.Thousands(t.Rows)))
		if chosen && onlyThread(s.Selection.Where, &t) {
			selected = i + 1
		}
	}
	setOptions(b.thread, options, selected)

	runs := []string{lang.L("All runs")}
	for i, r := range s.Facts.Runs {
		runs = append(runs, lang.L("Run {{.Run}}", data{"Run": i + 1})+"  ("+control.Thousands(r.Records)+")")
	}
	selected = s.Facts.Chosen + 1
	if s.Facts.All {
		selected = 0
	}
	b.run.Hidden = len(s.Facts.Runs) < 2
	setOptions(b.run, runs, selected)

	for _, t := range []fyne.Disableable{b.entry, b.matchCase, b.regexp, b.previous, b.next, b.thread, b.run, b.repeats, b.follow, b.save, b.panel} {
		if s.Opened {
			t.Enable()
		} else {
			t.Disable()
		}
	}
	b.line.Enable(s.Opened)
}

// showFilter shows what the rows are limited by, and how many are left.
func (b *findBar) showFilter(s *control.State, more []filterline.Chip) {
	shown := filterline.Shown{Where: s.Selection.Where, More: more}
	if s.Pending != nil {
		shown.Where = s.Pending.Where
	}
	if e := s.FilterError; e != nil {
		shown.Error, shown.Wrong, shown.Offset = e.Text, e.Where, e.Offset
	}
	b.line.Show(shown)
	importance := widget.LowImportance
	if s.Selection.Repeats {
		importance = widget.HighImportance
	}
	if b.repeats.Importance != importance {
		b.repeats.Importance = importance
		b.repeats.Refresh()
	}
}

// countsText says how many rows are shown and hidden.
func countsText(s *control.State) string {
	switch {
	case !s.Opened:
		return ""
	case s.View == nil:
		return control.Count("{{.N}} row", "{{.N}} rows", s.Rows.Len())
	case s.View.Done():
		return lang.L("{{.N}} of {{.M}} rows, {{.K}} hidden", data{
			"N": control.Thousands(s.View.Len()), "M": control.Thousands(s.View.Total()), "K": control.Thousands(s.View.Hidden())})
	}
	return lang.L("{{.N}} of {{.M}} rows so far, {{.K}} hidden", data{
		"N": control.Thousands(s.View.Len()), "M": control.Thousands(s.View.Total()), "K": control.Thousands(s.View.Hidden())})
}

// showMatches says how many rows match what is looked for, and which of them
// was found last.
func (b *findBar) showMatches(m control.Matches) {
	importance := widget.LowImportance
	text := ""
	switch {
	case m.Err != nil:
		text, importance = fmt.Sprintf(lang.L("the regular expression is wrong: %v"), m.Err), widget.DangerImportance
	case m.Query.Text == "":
	case m.Count == 0 && m.Done:
		text = lang.L("Not found")
	case m.Number > 0:
		text = lang.L("{{.I}} of {{.N}}", data{"I": control.Thousands(m.Number), "N": control.Thousands(m.Count)})
	case m.Done:
		text = control.Count("{{.N}} match", "{{.N}} matches", m.Count)
	default:
		text = control.Count("{{.N}} match so far", "{{.N}} matches so far", m.Count)
	}
	if b.outcome.Text != text || b.outcome.Importance != importance {
		b.outcome.Importance = importance
		b.outcome.SetText(text)
	}
}

// showFollow shows whether the log is followed.
func (b *findBar) showFollow(s *control.State) {
	importance := widget.LowImportance
	if s.Follow.On {
		importance = widget.HighImportance
	}
	if b.follow.Importance != importance {
		b.follow.Importance = importance
		b.follow.Refresh()
	}
}

// setOptions avoids the redraw where nothing has changed, so that an open
// list stays as it is.
func setOptions(s *hint.Select, options []string, selected int) {
	same := len(options) == len(s.Options) && s.SelectedIndex() == selected
	for i := 0; same && i < len(options); i++ {
		same = options[i] == s.Options[i]
	}
	if !same {
		s.Options = options
		fitWidth(&s.Select, 30)
		s.SetSelectedIndex(selected)
		s.Refresh()
	}
}

// fitWidth makes a selector as wide as its longest option, or as so many letters:
// Fyne measures what is shown where nothing is chosen.
func fitWidth(s *widget.Select, letters int) {
	s.PlaceHolder = ""
	for _, o := range s.Options {
		if o = shorten(o, letters); len(o) > len(s.PlaceHolder) {
			s.PlaceHolder = o
		}
	}
}

// fixedWidth gives its only object a width.
type fixedWidth struct{ width float32 }

func (f *fixedWidth) MinSize(o []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(f.width, o[0].MinSize().Height)
}

func (f *fixedWidth) Layout(o []fyne.CanvasObject, size fyne.Size) { o[0].Resize(size) }
