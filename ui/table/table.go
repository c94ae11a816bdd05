// Package table says what the window's table shows of a row: its columns, how
// times and durations are written there, and a row's text for the clipboard.
package table

import (
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
)

// A Format is what the cells of a table have in common.
type Format struct {
	// Digits of a second that times are worth: 3, 6 or 9.
	Digits int
	// Dates shows the day too; needed where a log spans several.
	Dates bool
	// Swatches are the numbers of the colours of threads, each 1 and more.
	Swatches map[rows.Track]uint8
}

// FormatOf looks at a source's ends. It reads two rows.
func FormatOf(src rows.Source) Format {
	f := Format{Digits: 3}
	if src == nil || src.Len() == 0 {
		return f
	}
	f.Digits = src.TimeDigits()
	first, last := src.Row(0), src.Row(src.Len()-1)
	f.Dates = first.HasWall && last.HasWall && first.Wall.Format(time.DateOnly) != last.Wall.Format(time.DateOnly)
	return f
}

// The signs before a function's name.
const (
	enterSign = '\u2192'
	leaveSign = '\u2190'
)

// Titles returns the heads of the columns by id, in the present language.
func Titles() map[string]string {
	titles := make(map[string]string)
	for i := range rows.Columns() {
		if c := &rows.Columns()[i]; !c.Title.IsZero() {
			titles[c.Name] = control.Translate(c.Title)
		}
	}
	return titles
}

// A look is what is different of a column whose cells show more than its value.
type look struct {
	grow, tree, keepEnd bool
	cell                func(r *rows.Row, c *grid.Cell, f *Format)
}

var deltaColumn = rows.ColumnOf("delta")

var looks = map[string]look{
	"index": {cell: func(r *rows.Row, c *grid.Cell, _ *Format) {
		c.Ink = grid.Dim
		c.Text = strconv.AppendInt(c.Text, r.Index, 10)
	}},
	"time": {cell: func(r *rows.Row, c *grid.Cell, f *Format) { c.Text = AppendTime(c.Text, r, *f) }},
	"thread": {cell: func(r *rows.Row, c *grid.Cell, f *Format) {
		c.Swatch = f.Swatches[r.Home()]
		c.Text = rows.AppendThread(c.Text, r)
	}},
	"function": {grow: true, tree: true, cell: func(r *rows.Row, c *grid.Cell, _ *Format) {
		c.Level = r.Depth
		switch r.Event {
		case rows.Enter:
			c.Sign, c.SignInk = enterSign, grid.Enter
		case rows.Leave:
			c.Sign, c.SignInk = leaveSign, grid.Leave
			c.Ink = grid.Dim
		default:
			c.Sign, c.SignInk = '!', grid.Bad
			c.Ink = grid.Bad
		}
		if r.IsTagged() {
			c.Ink = grid.Bad
		}
		name, tail := r.Function, c.Tail
		if r.HasValues() {
			if name, tail = rows.AppendCallTail(tail, r); c.Decor != nil {
				tail = append(tail, "   "...)
			}
		}
		c.Text, c.Name = append(c.Text, name...), true
		c.Tail = appendDecor(tail, c.Decor)
	}},
	"delta": {cell: func(r *rows.Row, c *grid.Cell, f *Format) {
		ns, ok := deltaColumn.Int(r)
		if !ok {
			return
		}
		if ns < 0 {
			c.Ink = grid.Warn
			c.Text = append(c.Text, '-')
			ns = -ns
		}
		c.Text = AppendDuration(c.Text, ns, f.Digits)
	}},
	"source": {keepEnd: true, cell: func(r *rows.Row, c *grid.Cell, _ *Format) {
		c.Ink = grid.Dim
		// The folder is the same for whole screens; the status bar has it,
		// and the whole tag, for which the column has no room.
		source := rows.CutSourceTag(r.Source)
		c.Text = appendSource(c.Text, baseName(source), r.Line)
		if source != r.Source {
			c.Ink = grid.Bad
			c.Text = append(c.Text, " [!]"...)
		}
	}},
	"symbols": {cell: func(r *rows.Row, c *grid.Cell, _ *Format) {
		c.Ink = StatusInk(r.Symbols)
		c.Text = append(c.Text, Status(r.Symbols)...)
	}},
	"site": {cell: func(r *rows.Row, c *grid.Cell, _ *Format) {
		c.Ink = grid.Dim
		if r.Filled&rows.CallSites == 0 || r.Site == nil {
			return
		}
		c.Text = append(c.Text, r.Site.Function...)
		if r.Site.Source != "" {
			c.Text = appendSource(append(c.Text, "  "...), baseName(r.Site.Source), r.Site.Line)
		}
	}},
	"note": {cell: func(r *rows.Row, c *grid.Cell, _ *Format) {
		c.Ink = grid.Warn
		c.Text = append(c.Text, r.Note...)
	}},
}

// cellOf returns what shows the value of any other column.
func cellOf(column *rows.Column) func(r *rows.Row, c *grid.Cell, f *Format) {
	if column.Kind != rows.Duration {
		return func(r *rows.Row, c *grid.Cell, f *Format) {
			c.Ink = grid.Dim
			c.Text = column.Append(c.Text, r, f.Digits)
		}
	}
	return func(r *rows.Row, c *grid.Cell, f *Format) {
		if r.Event == rows.Leave {
			c.Ink = grid.Dim
		}
		if r.Pending {
			c.Text = append(c.Text, "\u2026"...)
		} else if ns, ok := column.Int(r); ok {
			c.Text = AppendDuration(rows.AppendBound(c.Text, column.Bound(r), ns), ns, f.Digits)
		}
	}
}

// Columns returns the columns. The format is read whenever a cell is drawn.
func Columns(f *Format) []grid.Column {
	var list []grid.Column
	titles := Titles()
	for i := range rows.Columns() {
		c := &rows.Columns()[i]
		if c.Title.IsZero() {
			continue
		}
		l := looks[c.Name]
		if l.cell == nil {
			l.cell = cellOf(c)
		}
		column := grid.Column{ID: c.Name, Title: titles[c.Name], Width: c.Width, MinWidth: 32, Right: c.Right, Hidden: c.Hidden,
			Grow: l.grow, Tree: l.tree, KeepEnd: l.keepEnd, Cell: func(r *rows.Row, c *grid.Cell) { l.cell(r, c, f) }}
		if c.Kind == rows.Duration {
			column.Width = grid.TextWidth(len(LongestDuration))
		}
		list = append(list, column)
	}
	return list
}

// Needs returns what a source has to fill in for those columns that are shown.
func Needs(columns []grid.Column) rows.Fields {
	var shown []*rows.Column
	var values rows.Fields
	for _, c := range columns {
		if !c.Hidden {
			shown = append(shown, rows.ColumnOf(c.ID))
			if c.ID == "function" {
				values = rows.Values
			}
		}
	}
	return rows.Needs(shown) | values
}

// appendDecor says how many rows a folded call hides, how often what begins here
// is repeated, and what the program wrote before it.
func appendDecor(dst []byte, d *grid.Decor) []byte {
	if d == nil {
		return dst
	}
	if d.Repeat > 1 {
		dst = append(dst, "\u00d7 "...)
		dst = append(dst, control.Thousands(d.Repeat)...)
	}
	if d.Fold == grid.FoldClosed && d.Hidden > 0 {
		if len(dst) > 0 {
			dst = append(dst, "   "...)
		}
		dst = append(dst, '[')
		dst = append(dst, control.Count("{{.N}} row", "{{.N}} rows", d.Hidden)...)
		dst = append(dst, ']')
	}
	if d.Annotation != "" {
		if len(dst) > 0 {
			dst = append(dst, "   "...)
		}
		dst = append(append(dst, "\u25c6 "...), d.Annotation...)
	}
	return dst
}

// Status says a symbol status of package symbols in the present language.
func Status(s string) string {
	switch s {
	case "matched":
		return lang.L("matched")
	case "attached":
		return lang.L("attached")
	case "embedded":
		return lang.L("embedded")
	case "exports only":
		return lang.L("exports only")
	case "starts only":
		return lang.L("starts only")
	case "mismatched":
		return lang.L("mismatched")
	case "unverified":
		return lang.L("unverified")
	case "not found":
		return lang.L("not found")
	case "pending":
		return lang.L("pending")
	}
	return s
}

// StatusInk returns the colour of a symbol status.
func StatusInk(s string) grid.Ink {
	switch s {
	case "matched", "attached", "embedded":
		return grid.Good
	case "exports only", "starts only", "unverified":
		return grid.Warn
	case "mismatched":
		return grid.Bad
	}
	return grid.Dim
}

// AppendTime writes a row's time of day, or the time since the first row
// where the log has no clock.
func AppendTime(dst []byte, r *rows.Row, f Format) []byte {
	if !r.HasWall {
		dst = append(dst, '+')
		return appendSeconds(dst, r.Elapsed, f.Digits)
	}
	layout := [...]string{"15:04:05.000", "15:04:05.000000", "15:04:05.000000000"}[min(max(f.Digits/3, 1), 3)-1]
	if f.Dates {
		dst = r.Wall.AppendFormat(dst, "01-02 ")
	}
	return r.Wall.AppendFormat(dst, layout)
}

// TimeWidth returns the width that the time column needs, in device-independent
// pixels.
func TimeWidth(f Format) float32 {
	r := rows.Row{HasWall: true}
	return grid.TextWidth(len(AppendTime(nil, &r, f)))
}

func appendSeconds(dst []byte, ns int64, digits int) []byte {
	if ns < 0 {
		dst = append(dst, '-')
		ns = -ns
	}
	dst = strconv.AppendInt(dst, ns/1e9, 10)
	dst = append(dst, '.')
	frac := strconv.AppendInt(nil, 1e9+ns%1e9, 10)
	return append(dst, frac[1:1+min(max(digits, 1), 9)]...)
}

// LongestDuration has as many letters as a duration below 1,000 s.
const LongestDuration = "999.999 us"

// AppendDuration writes a duration in the unit that it is best read in, with
// no more digits than were measured. The rest is cut off, as in saved files.
func AppendDuration(dst []byte, ns int64, digits int) []byte {
	switch {
	case ns < 0:
		return dst
	case ns >= 1e9:
		dst = appendSeconds(dst, ns, 3)
		return append(dst, " s"...)
	case digits <= 3:
		dst = strconv.AppendInt(dst, ns/1e6, 10)
		return append(dst, " ms"...)
	case ns >= 1e6:
		return append(appendSeconds(dst, ns*1e3, 3), " ms"...)
	case digits <= 6:
		return append(strconv.AppendInt(dst, ns/1e3, 10), " \u00b5s"...)
	case ns >= 1e3:
		return append(appendSeconds(dst, ns*1e6, 3), " \u00b5s"...)
	}
	dst = strconv.AppendInt(dst, ns, 10)
	return append(dst, " ns"...)
}

func appendSource(dst []byte, source string, line int) []byte {
	if source == "" {
		return dst
	}
	dst = append(dst, source...)
	if line > 0 {
		dst = strconv.AppendInt(append(dst, ':'), int64(line), 10)
	}
	return dst
}

// baseName cuts the folder off a path of any system.
func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// Describe writes what the status bar says of a row.
func Describe(r *rows.Row) string {
	s := r.Function
	if src := appendSource(nil, r.Source, r.Line); len(src) > 0 {
		s += "   " + string(src)
	}
	return s + "   " + string(appendAddress(nil, r))
}

func appendAddress(dst []byte, r *rows.Row) []byte {
	return strconv.AppendUint(append(dst, "0x"...), r.Address, 16)
}
