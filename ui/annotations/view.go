// Package annotations lists what the program itself wrote into its log: texts and
// values of counters, by time.
package annotations

import (
	"cmp"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/inputs"
	"logparser/ui/listing"
	"logparser/ui/table"
)

// data is what a translated text is filled with.
type data = map[string]any

// A View is the list with the text that narrows it. It belongs to the goroutine
// that Fyne calls widgets on; the callbacks are called there.
type View struct {
	Content fyne.CanvasObject
	List    *listing.List[rows.Annotation]
	// OnNarrow is told that Text is another.
	OnNarrow func()
	// OnOpen is told the annotation of a double click or of Enter.
	OnOpen func(m *rows.Annotation)
	// OnMenu is asked for an annotation's context menu.
	OnMenu func(m *rows.Annotation, at fyne.Position)
	// OnCopy is handed the chosen rows as text.
	OnCopy func(text string)

	narrow *inputs.Entry
	count  *widget.Label
	digits int
	more   bool // there are more than are listed
	limit  string
	dates  bool
}

// New makes an empty view. post must run functions one after the other on the
// goroutine that the view belongs to.
func New(fonts *grid.Fonts, palette *grid.Palette, post func(func())) *View {
	v := &View{digits: 3}
	v.List = listing.New(v.columns(), 0, same, fonts, palette, post)
	v.List.OnArranged = v.arranged
	g := v.List.Grid
	g.OnActivated = func(row int64) {
		if m := v.List.At(row); m != nil && v.OnOpen != nil {
			v.OnOpen(m)
		}
	}
	g.OnMenu = func(row int64, _ string, at fyne.Position) {
		if m := v.List.At(row); m != nil && v.OnMenu != nil {
			v.OnMenu(m, at)
		}
	}
	g.OnCopy = func() {
		if text := v.List.Text(); text != "" && v.OnCopy != nil {
			v.OnCopy(text)
		}
	}
	g.OnRune = func(r rune) {
		switch r {
		case '/':
			v.FocusNarrow()
		case '<', ',':
			v.List.SortNext(true)
		case '>', '.':
			v.List.SortNext(false)
		}
	}
	v.narrow = inputs.NewNarrow(g)
	v.narrow.OnChanged = func(string) {
		if v.OnNarrow != nil {
			v.OnNarrow()
		}
	}
	v.count = widget.NewLabel("")
	v.count.Importance = widget.LowImportance
	v.Content = container.NewBorder(container.NewBorder(nil, nil, nil, v.count, v.narrow), nil, nil, nil, g)
	v.Relabel()
	return v
}

// same reports whether two annotations are about the same. Of several equal ones at
// one time any is as good.
func same(a, b *rows.Annotation) bool {
	return a.Elapsed == b.Elapsed && a.Track() == b.Track() && a.Kind == b.Kind && a.Bits == b.Bits && a.Text == b.Text
}

// Relabel says everything in the present language.
func (v *View) Relabel() {
	v.List.Relabel()
	v.narrow.SetPlaceHolder(lang.L("Only annotations and counters whose text holds this"))
	v.showCount()
}

// Text is what the list is narrowed to, "" for all.
func (v *View) Text() string { return v.narrow.Text }

// Narrow narrows the list to annotations that hold a text.
func (v *View) Narrow(text string) { v.narrow.SetText(text) }

// FocusNarrow lets the user type what to narrow the list to.
func (v *View) FocusNarrow() { v.narrow.Focus() }

// Show shows annotations, whose times are worth so many digits of a second. The list
// must not be changed any more. more says that there are others behind them.
func (v *View) Show(list []rows.Annotation, more bool, digits int) {
	v.digits, v.more = digits, more
	// Where all are of one day its date says nothing.
	v.dates = false
	for i := range list {
		v.dates = v.dates || list[i].HasWall && list[i].Wall.YearDay() != list[0].Wall.YearDay()
	}
	v.List.Show(list)
}

// ShowLimit says which part of a filter the list is limited by, "" for none.
func (v *View) ShowLimit(limit string) {
	v.limit = limit
	v.showCount()
}

func (v *View) arranged() {
	v.showCount()
	if v.List.Chosen() == nil && v.List.Len() > 0 {
		v.List.Grid.SetCurrent(0)
	}
}

func (v *View) showCount() {
	n := int64(v.List.Len())
	text := control.Count("{{.N}} annotation", "{{.N}} annotations", n)
	if v.more {
		text = lang.L("the first {{.N}} annotations; type to find others", data{"N": control.Thousands(n)})
	}
	if v.limit != "" {
		text = lang.L("{{.Count}} with {{.Filter}}", data{"Count": text, "Filter": v.limit})
	}
	v.count.SetText(text)
}

func (v *View) columns() []listing.Column[rows.Annotation] {
	type annotation = rows.Annotation
	return []listing.Column[annotation]{
		{ID: "time", Title: func() string { return lang.L("Time") }, Width: 190, Compare: listing.By(func(m *annotation) int64 { return m.Elapsed }),
			Cell: func(m *annotation, c *grid.Cell) {
				c.Text = table.AppendTime(c.Text, &rows.Row{Wall: m.Wall, HasWall: m.HasWall, Elapsed: m.Elapsed}, table.Format{Digits: v.digits, Dates: v.dates})
			}},
		{ID: "thread", Title: func() string { return lang.L("Thread") }, Width: 170, Compare: listing.By(func(m *annotation) uint32 { return m.Thread }),
			Cell: func(m *annotation, c *grid.Cell) {
				c.Text = strconv.AppendUint(c.Text, uint64(m.Thread), 10)
				if m.ThreadName != "" {
					c.Text = append(append(c.Text, ' '), rows.Visible(m.ThreadName)...)
				}
				if m.Process != nil {
					c.Text = append(append(c.Text, " \u00b7 "...), rows.Visible(m.Process.Label)...)
				}
			}},
		{ID: "kind", Title: func() string { return lang.L("Kind") }, Width: 112, Compare: byKind,
			Cell: func(m *annotation, c *grid.Cell) { c.Ink, c.Text = grid.Dim, append(c.Text, kind(m.Kind)...) }},
		{ID: "text", Title: func() string { return lang.L("Text or name") }, Width: 300, Grow: true, Compare: listing.By(func(m *annotation) string { return m.Text }),
			Cell: func(m *annotation, c *grid.Cell) { c.Text = append(c.Text, rows.Visible(m.Text)...) }},
		{ID: "value", Title: func() string { return lang.L("Value") }, Width: 170, Right: true, Falling: true, Compare: byValue,
			Cell: func(m *annotation, c *grid.Cell) { c.Text = m.AppendValue(c.Text) }},
	}
}

// byKind orders by kind, texts first; counters are alike, whatever their values are.
func byKind(a, b *rows.Annotation) int { return cmp.Compare(min(a.Kind, 1), min(b.Kind, 1)) }

// byValue orders by value, what has none first.
func byValue(a, b *rows.Annotation) int {
	if a.Kind == rows.TextAnnotation || b.Kind == rows.TextAnnotation {
		return byKind(a, b)
	}
	return cmp.Compare(a.Float(), b.Float())
}

func kind(k rows.AnnotationKind) string {
	if k == rows.TextAnnotation {
		return lang.L("annotation")
	}
	return lang.L("counter")
}
