// Package threads lists the threads of a log with what they did in a selection.
package threads

import (
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/listing"
	"logparser/ui/table"
)

// A View is the list. It belongs to the goroutine that Fyne calls widgets on;
// the callbacks are called there.
type View struct {
	Content fyne.CanvasObject
	List    *listing.List[control.ThreadSum]
	// OnChosen is told the thread that the user has gone to by a key or a press.
	OnChosen func(t *control.ThreadSum)
	// OnOpen is told the thread of a double click or of Enter.
	OnOpen func(t *control.ThreadSum)
	// OnMenu is asked for a thread's context menu.
	OnMenu func(t *control.ThreadSum, at fyne.Position)
	// OnCopy is handed the chosen rows as text.
	OnCopy func(text string)

	digits int
	most   int64 // the greatest Busy
	// wanted is the thread to be chosen once it is listed, nil for none.
	wanted *rows.Track
}

// New makes an empty view. post must run functions one after the other on the
// goroutine that the view belongs to.
func New(fonts *grid.Fonts, palette *grid.Palette, post func(func())) *View {
	v := &View{digits: 3}
	v.List = listing.New(v.columns(), 0, func(a, b *control.ThreadSum) bool { return a.Track() == b.Track() }, fonts, palette, post)
	v.List.OnArranged = func() {
		v.place()
		if v.List.Chosen() == nil && v.List.Len() > 0 {
			v.List.Grid.SetCurrent(0)
		}
	}
	g := v.List.Grid
	g.OnChosen = func(row int64) {
		if t := v.List.At(row); t != nil && v.OnChosen != nil {
			v.OnChosen(t)
		}
	}
	g.OnActivated = func(row int64) {
		if t := v.List.At(row); t != nil && v.OnOpen != nil {
			v.OnOpen(t)
		}
	}
	g.OnMenu = func(row int64, _ string, at fyne.Position) {
		if t := v.List.At(row); t != nil && v.OnMenu != nil {
			v.OnMenu(t, at)
		}
	}
	g.OnCopy = func() {
		if text := v.List.Text(); text != "" && v.OnCopy != nil {
			v.OnCopy(text)
		}
	}
	g.OnRune = func(r rune) {
		switch r {
		case '<', ',':
			v.List.SortNext(true)
		case '>', '.':
			v.List.SortNext(false)
		case 'r', 'R':
			v.List.Turn()
		}
	}
	v.Content = g
	return v
}

// Relabel says everything in the present language.
func (v *View) Relabel() { v.List.Relabel() }

// Show shows threads, whose times are worth so many digits of a second. The list
// must not be changed any more.
func (v *View) Show(list []control.ThreadSum, digits int) {
	v.digits, v.most = digits, 0
	for i := range list {
		v.most = max(v.most, list[i].Busy)
	}
	v.List.Show(list)
}

// Choose makes a thread the list's current one, as soon as it is listed.
func (v *View) Choose(thread rows.Track) {
	v.wanted = &thread
	v.place()
}

// place chooses the thread that is wanted, if it is listed.
func (v *View) place() {
	if v.wanted == nil {
		return
	}
	for i := range int64(v.List.Len()) {
		if v.List.At(i).Track() == *v.wanted {
			v.wanted = nil
			v.List.Grid.SetCurrent(i)
			v.List.Grid.Centre(i)
			return
		}
	}
}

func (v *View) columns() []listing.Column[control.ThreadSum] {
	type sum = control.ThreadSum
	count := func(id string, title func() string, key func(t *sum) int64) listing.Column[sum] {
		return listing.Column[sum]{ID: id, Title: title, Width: 120, Right: true, Falling: true, Compare: listing.By(key),
			Cell: func(t *sum, c *grid.Cell) { c.Text = append(c.Text, control.Thousands(key(t))...) }}
	}
	since := func(id string, title func() string, key func(t *sum) int64) listing.Column[sum] {
		return listing.Column[sum]{ID: id, Title: title, Width: 130, Right: true, Compare: listing.By(key),
			Cell: func(t *sum, c *grid.Cell) {
				if t.First >= 0 {
					c.Text = table.AppendTime(c.Text, &rows.Row{Elapsed: key(t)}, table.Format{Digits: v.digits})
				}
			}}
	}
	list := []listing.Column[sum]{
		{ID: "thread", Title: func() string { return lang.L("Thread") }, Width: 90, Right: true, Compare: listing.By(func(t *sum) uint32 { return t.ID }),
			Cell: func(t *sum, c *grid.Cell) { c.Text = strconv.AppendUint(c.Text, uint64(t.ID), 10) }},
		{ID: "name", Title: func() string { return lang.L("Name") }, Width: 180, Grow: true, Compare: listing.By(func(t *sum) string { return t.Name }),
			Cell: func(t *sum, c *grid.Cell) {
				if c.Text = append(c.Text, t.Name...); t.Process != nil {
					c.Text = append(append(c.Text, " \u00b7 "...), t.Process.Label...)
				}
			}},
		count("rows", func() string { return lang.L("Rows") }, func(t *sum) int64 { return t.Rows }),
		count("calls", func() string { return lang.L("Calls") }, func(t *sum) int64 { return t.Calls }),
		since("first", func() string { return lang.L("First call") }, func(t *sum) int64 { return t.First }),
		since("last", func() string { return lang.L("Last call ends") }, func(t *sum) int64 { return t.Last }),
		{ID: "busy", Title: func() string { return lang.L("Time in calls") }, Width: 150, Right: true, Falling: true,
			Compare: listing.By(func(t *sum) int64 { return t.Busy }),
			Cell: func(t *sum, c *grid.Cell) {
				if v.most > 0 {
					c.Bar = float32(float64(t.Busy) / float64(v.most))
				}
				c.Text = table.AppendDuration(c.Text, t.Busy, v.digits)
			}},
	}
	return list
}
