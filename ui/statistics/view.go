package statistics

import (
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/inputs"
	"logparser/ui/listing"
	"logparser/ui/table"
)

// data is what a translated text is filled with.
type data = map[string]any

// A View is the table with the histogram. It belongs to the goroutine that Fyne
// calls widgets on; the callbacks are called there.
type View struct {
	Content fyne.CanvasObject
	List    *listing.List[app.FunctionStat]
	// OnSlowest is told the function whose slowest call is asked for.
	OnSlowest func(f *app.FunctionStat)
	// OnOpen is told the function of a double click or of Enter.
	OnOpen func(f *app.FunctionStat)
	// OnChosen is told the function that the user has chosen.
	OnChosen func(f *app.FunctionStat)
	// OnMenu is asked for a function's context menu.
	OnMenu func(f *app.FunctionStat, at fyne.Position)
	// OnRange is told the range of durations, both inclusive, that was chosen in
	// the histogram of a function.
	OnRange func(f *app.FunctionStat, from, to int64)
	// OnSave is handed what is shown, in its order; OnCopy the chosen rows as
	// text.
	OnSave func(list []app.FunctionStat)
	OnCopy func(text string)

	// OnGrouping is told that statistics of something else are wanted.
	OnGrouping func(by control.Grouping)

	// OnCompare is asked what the present selection is called.
	OnCompare func() string

	by       control.Grouping
	base     *comparison // nil for none
	usual    []string    // while something is compared, the order of the columns before
	compare  *hint.Button
	compared *widget.Label
	group    *hint.Select
	digits   int
	whole    int64 // nanoseconds: the time spent in all functions
	// wanted is the function to be chosen as soon as it is listed, nil for none.
	wanted  *app.FunctionRef
	placing bool // what is chosen is not chosen by the user

	narrow    *inputs.Entry
	count     *widget.Label
	save      *hint.Button
	title     *widget.Label
	hint      *widget.Label
	histogram *Histogram
	split     *container.Split
}

// New makes an empty view. post must run functions one after the other on the
// goroutine that the view belongs to.
func New(fonts *grid.Fonts, palette *grid.Palette, post func(func())) *View {
	v := &View{digits: 3}
	v.List = listing.New(v.columns(), 2, same, fonts, palette, post)
	v.List.OnChosen = v.choose
	v.List.OnArranged = func() {
		v.place()
		v.showCount()
	}
	g := v.List.Grid
	g.OnActivated = func(row int64) {
		if f := v.List.At(row); f != nil && v.OnOpen != nil && v.by == control.ByFunction {
			v.OnOpen(f)
		}
	}
	g.OnMenu = func(row int64, _ string, at fyne.Position) {
		if f := v.List.At(row); f != nil && v.OnMenu != nil && v.by == control.ByFunction {
			v.OnMenu(f, at)
		}
	}
	g.OnCopy = v.Copy
	g.OnRune = func(r rune) {
		switch r {
		case '/':
			v.FocusNarrow()
		case '<', ',':
			v.List.SortNext(true)
		case '>', '.':
			v.List.SortNext(false)
		case 'r', 'R':
			v.List.Turn()
		case 'l', 'L':
			if f := v.List.Chosen(); f != nil && v.OnSlowest != nil {
				v.OnSlowest(f)
			}
		}
	}
	v.narrow = inputs.NewNarrow(g)
	v.narrow.OnChanged = func(s string) { v.List.Narrow(Keep(s)) }
	v.count = widget.NewLabel("")
	v.count.Importance = widget.LowImportance
	v.save = hint.NewButton("", theme.DocumentSaveIcon(), func() {
		if v.OnSave != nil {
			v.OnSave(slices.DeleteFunc(v.Shown(), func(f app.FunctionStat) bool { return f.Calls == 0 }))
		}
	})
	v.save.Importance = widget.LowImportance
	v.compare = hint.NewButton("", theme.ViewRefreshIcon(), v.ToggleCompare)
	v.compare.Importance = widget.LowImportance
	v.compared = widget.NewLabel("")
	v.compared.Importance, v.compared.Truncation = widget.LowImportance, fyne.TextTruncateEllipsis
	v.compared.Hide()
	v.title, v.hint = widget.NewLabel(""), widget.NewLabel("")
	v.title.TextStyle.Bold = true
	v.title.Truncation = fyne.TextTruncateEllipsis
	v.hint.Importance = widget.LowImportance
	v.hint.Alignment, v.hint.Truncation = fyne.TextAlignTrailing, fyne.TextTruncateEllipsis
	v.histogram = NewHistogram(fonts, palette)
	v.histogram.OnRange = func(from, to int64) {
		if f := v.List.Chosen(); f != nil && v.OnRange != nil && v.by == control.ByFunction {
			v.OnRange(f, from, to)
		}
	}
	v.group = hint.NewSelect(nil, nil)
	v.group.OnChanged = func(string) {
		if by := control.Grouping(v.group.SelectedIndex()); by >= 0 && by != v.by {
			v.by = by
			if v.OnGrouping != nil {
				v.OnGrouping(by)
			}
		}
	}
	top := container.NewBorder(nil, nil, v.group, container.NewHBox(v.count, v.compare, v.save), v.narrow)
	below := container.NewBorder(container.NewGridWithColumns(2, v.title, v.hint), nil, nil, nil, v.histogram)
	v.split = container.NewVSplit(g, below)
	v.split.Offset = 0.72
	v.Content = container.NewBorder(container.NewVBox(top, v.compared), nil, nil, nil, v.split)
	v.showCompared()
	v.Relabel()
	return v
}

// Relabel says everything in the present language.
func (v *View) Relabel() {
	v.List.Relabel()
	v.group.Options = []string{lang.L("By function"), lang.L("By class"), lang.L("By module")}
	v.group.Selected = v.group.Options[v.by]
	v.group.Refresh()
	v.group.Hint = func() string { return lang.L("What is summed up: each function, class or module") }
	v.narrow.Hint = func() string { return hint.Keyed(lang.L("Only functions whose name or module holds this"), "/") }
	v.save.Hint = func() string { return lang.L("What is listed, in its order") }
	v.compare.Hint = func() string {
		return lang.L("Keeps these numbers beside those of the thread, time or filter that is chosen next")
	}
	v.narrow.SetPlaceHolder(lang.L("Only functions whose name or module holds this"))
	v.say()
	v.save.SetText(lang.L("Save as csv"))
	v.hint.SetText(lang.L("Drag over durations to show only calls that took so long"))
	v.showCount()
	v.placing = true
	v.choose(v.List.Chosen())
	v.placing = false
}

// SetPalette changes the colours.
func (v *View) SetPalette(p *grid.Palette) {
	v.List.Grid.SetPalette(p)
	v.histogram.SetPalette(p)
}

// FocusNarrow lets the user type what to narrow the table to.
func (v *View) FocusNarrow() { v.narrow.Focus() }

// Grouping returns what statistics are wanted.
func (v *View) Grouping() control.Grouping { return v.by }

// Group wants statistics of something else, as the user does by the list of groupings.
func (v *View) Group(by control.Grouping) { v.group.SetSelectedIndex(int(by)) }

// nameOf is what stands for an item in its first column.
func (v *View) nameOf(f *app.FunctionStat) string {
	switch {
	case v.by == control.ByModule && f.Module == "":
		return lang.L("(no module)")
	case v.by == control.ByModule:
		return f.Module
	case v.by == control.ByClass && f.Function == "":
		return lang.L("(no class)")
	}
	return f.Function
}

// Show shows the functions of a selection, whose times are worth so many digits
// of a second. The list must not be changed any more.
func (v *View) Show(list []app.FunctionStat, digits int) {
	v.digits, v.whole = digits, 0
	for i := range list {
		v.whole += list[i].Self
	}
	if v.base != nil && v.base.by != v.by {
		v.base = nil
		v.showCompared()
	}
	if v.base != nil {
		list = v.withBase(list)
	}
	v.List.Show(list)
}

// Shown returns the functions in the order in which they are shown.
func (v *View) Shown() []app.FunctionStat {
	list := make([]app.FunctionStat, v.List.Len())
	for i := range list {
		list[i] = *v.List.At(int64(i))
	}
	return list
}

// Copy hands the chosen rows to OnCopy.
func (v *View) Copy() {
	if text := v.List.Text(); text != "" && v.OnCopy != nil {
		v.OnCopy(text)
	}
}

func (v *View) showCount() {
	shown, all := v.List.Len(), len(v.List.Items())
	text := control.Count("{{.N}} function", "{{.N}} functions", int64(all))
	switch v.by {
	case control.ByClass:
		text = control.Count("{{.N}} class", "{{.N}} classes", int64(all))
	case control.ByModule:
		text = control.Count("{{.N}} module", "{{.N}} modules", int64(all))
	}
	if shown != all {
		text = lang.L("{{.N}} of {{.M}} functions", data{"N": control.Thousands(int64(shown)), "M": control.Thousands(int64(all))})
	}
	v.count.SetText(text)
	if v.List.Chosen() == nil && shown > 0 {
		v.placing = true
		v.List.Grid.SetCurrent(0)
		v.placing = false
	}
}

// Choose makes a function the chosen one, as soon as it is listed.
func (v *View) Choose(function, module string) {
	v.wanted = &app.FunctionRef{Function: function, Module: module}
	v.place()
}

// place chooses the function that is wanted, if it is listed.
func (v *View) place() {
	if v.wanted == nil {
		return
	}
	for i := range int64(v.List.Len()) {
		f := v.List.At(i)
		if f.Function != v.wanted.Function || f.Module != v.wanted.Module {
			continue
		}
		v.wanted = nil
		if i != v.List.Grid.Current() {
			v.placing = true
			v.List.Grid.SetCurrent(i)
			v.List.Grid.Centre(i)
			v.placing = false
		}
		return
	}
}

func (v *View) choose(f *app.FunctionStat) {
	if f != nil && !v.placing && !v.List.Arranging() {
		v.wanted = nil
		if v.OnChosen != nil && v.by == control.ByFunction {
			v.OnChosen(f)
		}
	}
	if f == nil {
		v.title.SetText("")
		v.histogram.SetBars(nil, v.digits)
		return
	}
	v.title.SetText(v.nameOf(f))
	v.histogram.SetBars(f.Durations, v.digits)
}

func same(a, b *app.FunctionStat) bool {
	return a.Function == b.Function && a.Module == b.Module && a.Thread == b.Thread && a.Process == b.Process
}

// Keep returns what tells whether a function's name or module holds a text,
// without regard to case; nil for all of them.
func Keep(text string) func(f *app.FunctionStat) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" {
		return nil
	}
	return func(f *app.FunctionStat) bool {
		return strings.Contains(strings.ToLower(f.Function), text) || strings.Contains(strings.ToLower(f.Module), text)
	}
}

// share is a part of the whole, 0 to 1.
func share(part, whole int64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(float64(part)/float64(whole), 1)
}

// appendPercent writes a share with one digit.
func appendPercent(dst []byte, share float64) []byte {
	return append(strconv.AppendFloat(dst, 100*share, 'f', 1, 64), " %"...)
}

func (v *View) columns() []listing.Column[app.FunctionStat] {
	type stat = app.FunctionStat
	text := func(id string, title func() string, width float32, ink grid.Ink, key func(f *stat) string) listing.Column[stat] {
		return listing.Column[stat]{ID: id, Title: title, Width: width, Compare: listing.By(key),
			Cell: func(f *stat, c *grid.Cell) { c.Ink, c.Text, c.Name = ink, append(c.Text, key(f)...), id == "function" }}
	}
	durations := func(id string, title func() string, known func(f *stat, ns int64) int64, bound func(f *stat) rows.Bound, key func(f *stat) int64) listing.Column[stat] {
		return listing.Column[stat]{ID: id, Title: title, Width: grid.TextWidth(len(table.LongestDuration)), Right: true, Falling: true, Compare: listing.By(key),
			Cell: func(f *stat, c *grid.Cell) {
				if ns := known(f, key(f)); ns != rows.NoDuration {
					c.Text = table.AppendDuration(rows.AppendBound(c.Text, bound(f), ns), ns, v.digits)
				}
			}}
	}
	sums := func(id string, title func() string, key func(f *stat) int64) listing.Column[stat] {
		return durations(id, title, (*stat).Sum, func(f *stat) rows.Bound {
			if id == "self" {
				return f.SelfBound
			}
			return f.Bound
		}, key)
	}
	times := func(id string, title func() string, key func(f *stat) int64) listing.Column[stat] {
		return durations(id, title, (*stat).Single, func(f *stat) rows.Bound { return f.SingleBound }, key)
	}
	shares := func(id string, title func() string, key func(f *stat) int64) listing.Column[stat] {
		return listing.Column[stat]{ID: id, Title: title, Width: 76, Right: true, Falling: true, Compare: listing.By(key),
			Cell: func(f *stat, c *grid.Cell) {
				s := share(key(f), v.whole)
				c.Bar = float32(s)
				c.Text = appendPercent(c.Text, s)
			}}
	}
	nonRecursive := func(f *stat) int64 { return f.NonRecursive }
	self := func(f *stat) int64 { return f.Self }
	list := []listing.Column[stat]{
		text("function", func() string { return lang.L("Function") }, 250, grid.Plain, v.nameOf),
		{ID: "calls", Title: func() string { return lang.L("Calls") }, Width: 80, Right: true, Falling: true,
			Compare: listing.By(func(f *stat) int64 { return f.Calls }),
			Cell:    func(f *stat, c *grid.Cell) { c.Text = append(c.Text, control.Thousands(f.Calls)...) }},
		sums("total", func() string { return lang.L("Total") }, func(f *stat) int64 { return f.Total }),
		shares("share", func() string { return lang.L("% of all") }, nonRecursive),
		sums("self", func() string { return lang.L("Self") }, self),
		shares("selfshare", func() string { return lang.L("Self %") }, self),
		{ID: "mean", Title: func() string { return lang.L("Mean") }, Width: grid.TextWidth(len(table.LongestDuration)), Right: true, Falling: true,
			Compare: listing.By(func(f *stat) int64 { return f.Mean }),
			Cell: func(f *stat, c *grid.Cell) {
				if ns := f.Single(f.Mean); ns != rows.NoDuration {
					c.Text = table.AppendDuration(c.Text, ns, f.MeanDigits(v.digits))
				}
			}},
		times("min", func() string { return lang.L("Min") }, func(f *stat) int64 { return f.Min }),
		times("p50", func() string { return "p50" }, func(f *stat) int64 { return f.P50 }),
		times("p95", func() string { return "p95" }, func(f *stat) int64 { return f.P95 }),
		times("p99", func() string { return "p99" }, func(f *stat) int64 { return f.P99 }),
		times("max", func() string { return lang.L("Max") }, func(f *stat) int64 { return f.Max }),
		sums("nonrecursive", func() string { return lang.L("Non-recursive") }, nonRecursive),
		text("module", func() string { return lang.L("Module") }, 130, grid.Dim, func(f *stat) string { return f.Module }),
	}
	list[0].Grow = true
	list[12].Width = 112
	return slices.Insert(list, 6, v.comparisonColumns()...)
}
