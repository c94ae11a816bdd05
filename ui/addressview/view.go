// Package addressview shows a text with addresses: beside each line what its addresses stand for, and the source
// around the one that is chosen.
package addressview

import (
	"fmt"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/listing"
)

// A Line is a line of the list: one of the text, or what another address of it stands for.
type Line struct {
	// File and Number are the source line that it stands for, "" and 0 where none is known.
	File   string
	Number int

	order          int
	at             string // the number of the line of the text
	text, function string
	inlined        bool
	// named: there are addresses in the line of the text.
	named bool
}

// A View is the text. It belongs to the goroutine that Fyne calls widgets on; the callbacks are called there.
type View struct {
	Content fyne.CanvasObject
	Lines   *listing.List[Line]
	// OnChosen is told the source line that is chosen, OnOpen the one that is to be opened in an editor.
	OnChosen, OnOpen func(file string, line int)
	// OnCopy is handed the whole text with its names, or the chosen lines.
	OnCopy func(text string)
	// OnReload is called where the text is to be read again.
	OnReload func()

	reload     *hint.Button
	said       *widget.Label
	only       *hint.Check
	copy       *hint.Button
	sourceHead *widget.Label
	source     *widget.TextGrid
	text       *app.NamedText
}

// New makes an empty view. post must run functions one after the other on the goroutine that the view belongs to.
func New(fonts *grid.Fonts, palette *grid.Palette, post func(func())) *View {
	v := &View{said: widget.NewLabel(""), sourceHead: widget.NewLabel(""), source: widget.NewTextGrid()}
	v.said.Wrapping = fyne.TextWrapWord
	v.sourceHead.TextStyle.Bold = true
	v.sourceHead.Truncation = fyne.TextTruncateEllipsis
	v.Lines = listing.New(columns(), 0, func(a, b *Line) bool { return a.order == b.order }, fonts, palette, post)
	v.Lines.OnChosen = func(l *Line) {
		v.ShowSource("", "", 0, 0, nil)
		if l != nil && l.File != "" && v.OnChosen != nil {
			v.OnChosen(l.File, l.Number)
		}
	}
	g := v.Lines.Grid
	g.OnActivated = func(row int64) {
		if l := v.Lines.At(row); l != nil && l.File != "" && v.OnOpen != nil {
			v.OnOpen(l.File, l.Number)
		}
	}
	g.OnCopy = func() {
		if text := v.Lines.Text(); text != "" && v.OnCopy != nil {
			v.OnCopy(text)
		}
	}
	v.only = hint.NewCheck(lang.L("Only lines with addresses"), func(on bool) {
		if v.Lines.Narrow(nil); on {
			v.Lines.Narrow(func(l *Line) bool { return l.named })
		}
	})
	v.copy = hint.NewButton(lang.L("Copy the text with its names"), theme.ContentCopyIcon(), func() {
		if v.text != nil && v.OnCopy != nil {
			v.OnCopy(WithNames(v.text))
		}
	})
	v.copy.Importance = widget.LowImportance
	v.reload = hint.NewButton(lang.L("The file has changed: reload"), theme.ViewRefreshIcon(), func() { v.OnReload() })
	v.reload.Importance = widget.HighImportance
	v.reload.Hide()
	below := container.NewBorder(v.sourceHead, nil, nil, nil, container.NewScroll(v.source))
	split := container.NewVSplit(g, below)
	split.Offset = 0.68
	v.Content = container.NewBorder(container.NewBorder(nil, nil, nil, container.NewHBox(v.reload, v.only, v.copy), v.said), nil, nil, nil, split)
	return v
}

// Changed says that the file that the text came from is another one now.
func (v *View) Changed() { v.reload.Show() }

// Shown reports whether the view is still in a window that shows it.
func (v *View) Shown() bool {
	c := fyne.CurrentApp().Driver().CanvasForObject(v.Lines.Grid)
	return c != nil && c.Overlays().Top() != nil
}

// Show shows a text, which must not be changed any more.
func (v *View) Show(t *app.NamedText) {
	v.text = t
	list, found, named := linesOf(t)
	said := []string{lang.L("{{.Named}} of {{.Found}} addresses have names", map[string]any{"Named": named, "Found": found})}
	if t.Cut {
		said = append(said, lang.L("The text is longer than what is shown; the command logparse symbolize has no limit."))
	}
	for i := range t.Unresolved {
		const most = 5
		if i == most {
			said = append(said, "\u2026")
			break
		}
		said = append(said, rows.Visible(t.Unresolved[i].Path)+": "+t.Unresolved[i].Reason.String())
	}
	v.said.SetText(strings.Join(said, "\n"))
	v.Lines.Show(list)
}

// Say shows a text instead of what was found.
func (v *View) Say(text string) {
	v.text = nil
	v.reload.Hide()
	v.said.SetText(text)
	v.Lines.Show(nil)
}

// ShowSource shows source lines below the list, of which first is the number of the first and line the one that is
// meant; or a remark in their place.
func (v *View) ShowSource(head, remark string, first, line int, lines []string) {
	v.sourceHead.SetText(rows.Visible(head))
	var b strings.Builder
	b.WriteString(remark)
	for i, text := range lines {
		mark := "  "
		if first+i == line {
			mark = "=>"
		}
		fmt.Fprintf(&b, "%s%6d  %s\n", mark, first+i, rows.Visible(text))
	}
	v.source.SetText(b.String())
}

// WithNames returns a text with its names, as the command writes it.
func WithNames(t *app.NamedText) string {
	var b []byte
	for i := range t.Lines {
		b = append(b, t.Lines[i].Text...)
		b = append(t.Lines[i].AppendNames(b), '\n')
	}
	return string(b)
}

// linesOf makes the lines of the list. found is how many addresses the text has, named how many have names.
func linesOf(t *app.NamedText) (list []Line, found, named int) {
	for i := range t.Lines {
		l := &t.Lines[i]
		line := Line{at: strconv.Itoa(i + 1), text: l.Text}
		add := func() {
			line.order = len(list)
			list = append(list, line)
			line = Line{named: line.named}
		}
		for k := range l.References {
			r := &l.References[k]
			found++
			line.named = true
			if r.Symbol == nil {
				if r.OtherBuild != "" {
					line.function = lang.L("{{.File}} is of another build", map[string]any{"File": r.OtherBuild})
					add()
				}
				continue
			}
			named++
			for n := range r.Symbol.Symbol.Frames {
				f := &r.Symbol.Symbol.Frames[n]
				line.function, line.File, line.Number, line.inlined = f.Function, f.File, f.Line, n > 0
				add()
			}
		}
		if line.at != "" {
			add()
		}
	}
	return list, found, named
}

func columns() []listing.Column[Line] {
	return []listing.Column[Line]{
		{ID: "line", Title: func() string { return "#" }, Width: 60, Right: true, Compare: listing.By(func(l *Line) int { return l.order }),
			Cell: func(l *Line, c *grid.Cell) { c.Text = append(c.Text, l.at...) }},
		{ID: "text", Title: func() string { return lang.L("Text") }, Width: 420, Grow: true,
			Cell: func(l *Line, c *grid.Cell) { c.Text = append(c.Text, rows.Visible(l.text)...) }},
		{ID: "function", Title: func() string { return lang.L("Function") }, Width: 260,
			Cell: func(l *Line, c *grid.Cell) {
				if l.inlined {
					c.Text = append(append(c.Text, lang.L("inlined into")...), ' ')
				}
				c.Text = append(c.Text, rows.Visible(l.function)...)
			}},
		{ID: "source", Title: func() string { return lang.L("Source") }, Width: 180,
			Cell: func(l *Line, c *grid.Cell) {
				if l.File != "" {
					c.Text = append(c.Text, rows.Visible(l.File[strings.LastIndexAny(l.File, `/\`)+1:])...)
					if l.Number != 0 {
						c.Text = strconv.AppendInt(append(c.Text, ':'), int64(l.Number), 10)
					}
				}
			}},
	}
}
