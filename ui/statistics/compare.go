package statistics

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/listing"
	"logparser/ui/table"
)

// A comparison is the statistics of another selection, beside which those of the present one
// are shown.
type comparison struct {
	name  string // of the other selection
	whole int64  // self time of all of it
	of    map[app.FunctionRef]*app.FunctionStat
	by    control.Grouping
}

// compareColumns are shown only while there is something to compare with; comparedOrder
// is then that of the columns: what is compared comes first.
var (
	compareColumns = []string{"beforecalls", "before", "change"}
	comparedOrder  = []string{"function", "calls", "beforecalls", "self", "before", "change"}
)

// OfComparing reports whether an order of the list is by a column that is shown only while there is something to
// compare with.
func OfComparing(sorted string) bool {
	id, _, _ := strings.Cut(sorted, " ")
	return slices.Contains(compareColumns, id)
}

// nameKey tells a function from others by its names, as its number is another one once
// names change.
func nameKey(f *app.FunctionStat) app.FunctionRef {
	return app.FunctionRef{Function: f.Function, Module: f.Module, Source: f.Source}
}

// Compare keeps what is shown, to be compared with what is shown from now on: of another thread,
// range of time or filter. name is what the present selection is called.
func (v *View) Compare(name string) { v.CompareWith(name, v.List.Items()) }

// ToggleCompare keeps what is shown, to be compared, or ends that.
func (v *View) ToggleCompare() {
	if v.base != nil {
		v.StopComparing()
	} else if v.OnCompare != nil {
		v.Compare(v.OnCompare())
	}
}

// CompareWith compares what is shown with the statistics of another selection, which is called name.
func (v *View) CompareWith(name string, list []app.FunctionStat) {
	c := &comparison{name: name, of: make(map[app.FunctionRef]*app.FunctionStat), by: v.by}
	for i := range list {
		c.whole += list[i].Self
		if list[i].Calls > 0 {
			f := list[i]
			c.of[nameKey(&f)] = &f
		}
	}
	v.base = c
	v.showCompared()
	v.List.Show(v.withBase(v.List.Items()))
}

// StopComparing shows the present selection alone.
func (v *View) StopComparing() {
	if v.base != nil {
		v.base = nil
		v.showCompared()
		v.List.Show(v.withBase(v.List.Items()))
	}
}

// Compared returns what is compared with, "" for nothing.
func (v *View) Compared() string {
	if v.base == nil {
		return ""
	}
	return v.base.name
}

// withBase adds the functions that only the other selection has, without calls, and takes those of
// an earlier comparison away.
func (v *View) withBase(list []app.FunctionStat) []app.FunctionStat {
	var all []app.FunctionStat
	have := make(map[app.FunctionRef]bool, len(list))
	for i := range list {
		if list[i].Calls > 0 {
			all = append(all, list[i])
			have[nameKey(&list[i])] = true
		}
	}
	if v.base != nil {
		for key, f := range v.base.of {
			if !have[key] {
				all = append(all, app.FunctionStat{FunctionRef: f.FunctionRef})
			}
		}
	}
	return all
}

func (v *View) showCompared() {
	for _, id := range compareColumns {
		v.List.Grid.SetColumn(id, 0, v.base == nil)
	}
	switch {
	case v.base != nil && v.usual == nil:
		for _, c := range v.List.Grid.Columns() {
			v.usual = append(v.usual, c.ID)
		}
		v.List.Grid.Order(comparedOrder)
	case v.base == nil && v.usual != nil:
		v.List.Grid.Order(v.usual)
		v.usual = nil
	}
	v.say()
}

// say says what the button for comparing does, and what is compared.
func (v *View) say() {
	if v.base == nil {
		v.compare.SetText(lang.L("Compare"))
		v.compared.Hide()
		return
	}
	v.compare.SetText(lang.L("Stop comparing"))
	v.compared.SetText(lang.L("Compared with: {{.Selection}}. Choose another thread, time or filter, or take this one away.", data{"Selection": v.base.name}))
	v.compared.Show()
}

// before returns what the other selection has of a function, nil for nothing.
func (v *View) before(f *app.FunctionStat) *app.FunctionStat {
	if v.base == nil {
		return nil
	}
	return v.base.of[nameKey(f)]
}

// change is by how much self time is more than in the other selection, in nanoseconds.
func (v *View) change(f *app.FunctionStat) int64 {
	if b := v.before(f); b != nil {
		return f.Self - b.Self
	}
	return f.Self
}

func (v *View) comparisonColumns() []listing.Column[app.FunctionStat] {
	width := grid.TextWidth(len(table.LongestDuration) + 1)
	return []listing.Column[app.FunctionStat]{
		{ID: "beforecalls", Title: func() string { return lang.L("Calls there") }, Width: grid.TextWidth(12), Right: true, Falling: true,
			Compare: listing.By(func(f *app.FunctionStat) int64 {
				if b := v.before(f); b != nil {
					return b.Calls
				}
				return 0
			}),
			Cell: func(f *app.FunctionStat, c *grid.Cell) {
				n := int64(0)
				if b := v.before(f); b != nil {
					n = b.Calls
				}
				c.Text = append(c.Text, control.Thousands(n)...)
			}},
		{ID: "before", Title: func() string { return lang.L("Self there") }, Width: width, Right: true, Falling: true,
			Compare: listing.By(func(f *app.FunctionStat) int64 { return f.Self - v.change(f) }),
			Cell: func(f *app.FunctionStat, c *grid.Cell) {
				c.Text = table.AppendDuration(c.Text, f.Self-v.change(f), v.digits)
			}},
		{ID: "change", Title: func() string { return lang.L("Difference") }, Width: width, Right: true, Falling: true,
			Compare: listing.By(v.change),
			Cell: func(f *app.FunctionStat, c *grid.Cell) {
				d := v.change(f)
				switch {
				case d > 0:
					c.Text, c.Ink = append(c.Text, '+'), grid.Bad
				case d < 0:
					c.Text, c.Ink, d = append(c.Text, "\u2212"...), grid.Good, -d
				}
				c.Text = table.AppendDuration(c.Text, d, v.digits)
			}},
	}
}

// CellText is what a column says of a function.
func (v *View) CellText(column string, f *app.FunctionStat) string {
	var c grid.Cell
	for _, col := range v.columns() {
		if col.ID == column {
			col.Cell(f, &c)
		}
	}
	return string(c.Text)
}
