// Package sidepanel is what stands beside the table: the calls that are open at
// the selected row, all that is known of the row, and the source lines around
// it; and the bookmarks.
//
// It shows what it is given. What is clicked goes out by callbacks.
package sidepanel

import (
	"fmt"
	"image/color"
	"strings"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/hint"
	"logparser/ui/table"
)

// A Call is the panel for the selected row.
type Call struct {
	Content fyne.CanvasObject
	// OnFrame is told the enter of an open call that was clicked.
	OnFrame func(enter int64)
	// OnSource is called when the source's head is clicked.
	OnSource func()

	stackHead, detailsHead *widget.Label
	stack                  *widget.List
	details                *widget.Label
	sourceHead             *widget.Label
	openSource             *hint.Button
	remark                 *widget.Label
	sourceBox, source      *fyne.Container
	sourceScroll           *container.Scroll

	frames []app.Frame
	digits int
	lines  Source
	row    string // what is said of the row itself
}

// A Source is the lines around a row's line.
type Source struct {
	// Head says which file it is, Remark why there are no lines.
	Head, Remark string
	// First is the number of the first of Lines, Line that of the row's.
	First, Line int
	Lines       []string
	// Heat is what the functions that begin in a line took, by its number.
	Heat map[int]Heat
}

// A Heat is what a line took: its share of what the hottest line took, 0 to 1, and in words.
type Heat struct {
	Share float64
	Text  string
}

// NewCall makes an empty panel.
func NewCall() *Call {
	p := &Call{stackHead: head(), detailsHead: head(), details: widget.NewLabel(""), source: container.New(layout.NewCustomPaddedVBoxLayout(0))}
	p.stack = widget.NewList(func() int { return len(p.frames) }, newFrame, p.fill)
	p.stack.HideSeparators = true
	p.stack.OnSelected = func(i widget.ListItemID) {
		// The innermost call comes first.
		frame := p.frames[len(p.frames)-1-i]
		p.stack.UnselectAll()
		if frame.Enter >= 0 && p.OnFrame != nil {
			p.OnFrame(frame.Enter)
		}
	}
	p.details.Selectable = true
	p.details.Wrapping = fyne.TextWrapBreak
	p.sourceHead = head()
	p.sourceHead.Truncation = fyne.TextTruncateEllipsis
	p.openSource = hint.NewButton("", theme.DocumentCreateIcon(), func() {
		if p.OnSource != nil {
			p.OnSource()
		}
	})
	p.openSource.Importance = widget.LowImportance
	p.openSource.Hint = func() string { return hint.Keyed(lang.L("Open the source line"), "Enter") }
	p.remark = widget.NewLabel("")
	p.remark.Wrapping = fyne.TextWrapWord
	p.remark.Importance = widget.LowImportance
	p.sourceScroll = container.NewScroll(p.source)
	upper := container.NewVSplit(
		container.NewBorder(p.stackHead, nil, nil, nil, p.stack),
		container.NewBorder(p.detailsHead, nil, nil, nil, container.NewVScroll(p.details)))
	upper.Offset = 0.5
	p.sourceBox = container.NewBorder(
		container.NewVBox(container.NewBorder(nil, nil, nil, p.openSource, p.sourceHead), p.remark), nil, nil, nil, p.sourceScroll)
	split := container.NewVSplit(upper, p.sourceBox)
	split.Offset = 0.62
	p.Content = split
	p.Relabel()
	return p
}

func head() *widget.Label {
	l := widget.NewLabel("")
	l.TextStyle.Bold = true
	return l
}

// Relabel says everything in the present language.
func (p *Call) Relabel() {
	p.stackHead.SetText(lang.L("Call stack"))
	p.detailsHead.SetText(lang.L("Row"))
	p.stack.Refresh()
}

// newFrame makes a line of the stack: the function, and behind it the duration.
func newFrame() fyne.CanvasObject {
	name := widget.NewLabel("")
	name.Truncation = fyne.TextTruncateEllipsis
	duration := widget.NewLabel("")
	duration.Alignment = fyne.TextAlignTrailing
	duration.Importance = widget.LowImportance
	return container.NewBorder(nil, nil, nil, duration, name)
}

func (p *Call) fill(i widget.ListItemID, o fyne.CanvasObject) {
	f := &p.frames[len(p.frames)-1-i]
	for _, part := range o.(*fyne.Container).Objects {
		label := part.(*widget.Label)
		if label.Alignment == fyne.TextAlignTrailing {
			text := string(table.AppendDuration(rows.AppendBound(nil, f.Bound, f.Duration), f.Duration, p.digits))
			if f.Note != "" {
				text = f.Note
			}
			label.SetText(text)
			continue
		}
		label.TextStyle.Bold = i == 0
		label.SetText(fmt.Sprintf("%d  %s", f.Depth, f.Function))
	}
}

// ShowStack shows the open calls, the outermost first; digits are those of a
// second that times are worth.
func (p *Call) ShowStack(frames []app.Frame, digits int) {
	p.frames, p.digits = frames, digits
	p.stack.UnselectAll()
	p.stack.Refresh()
	p.stack.ScrollToTop()
}

// Frames returns the functions of the open calls as they are shown.
func (p *Call) Frames() []string {
	var list []string
	for i := range p.frames {
		list = append(list, p.frames[len(p.frames)-1-i].Function)
	}
	return list
}

// ShowRow shows what is known of a row, and what the program wrote before it; nil
// shows none.
func (p *Call) ShowRow(r *rows.Row, f table.Format, annotations string) {
	if r == nil {
		p.row = ""
		p.details.SetText(lang.L("No row is chosen."))
		p.ShowStack(nil, f.Digits)
		p.ShowSource(Source{})
		return
	}
	p.row = Describe(r, f)
	if annotations != "" {
		p.row += "\n" + lang.L("Annotations") + ": " + annotations
	}
	p.details.SetText(p.row)
}

// ShowCallSite adds where the call of the row was made from, below its function.
func (p *Call) ShowCallSite(site *rows.CallSite) {
	from := site.Function
	if site.Source != "" {
		from = fmt.Sprintf("%s:%d (%s)", site.Source, site.Line, site.Function)
	}
	function, rest, _ := strings.Cut(p.row, "\n")
	p.details.SetText(function + "\n" + lang.L("Called from") + ": " + from + "\n" + rest)
}

// Details is what is said of the row.
func (p *Call) Details() string { return p.details.Text }

// Describe says all that is known of a row, a line each.
func Describe(r *rows.Row, f table.Format) string {
	event := map[rows.Event]string{rows.Enter: lang.L("enter"), rows.Leave: lang.L("leave"), rows.Unknown: lang.L("damaged record")}[r.Event]
	source := r.Source
	if source != "" && r.Line > 0 {
		source = fmt.Sprintf("%s:%d", source, r.Line)
	}
	address := fmt.Sprintf("0x%x", r.Address)
	if r.Symbols != "" {
		address += "   " + table.Status(r.Symbols)
	}
	full := table.Format{Digits: f.Digits, Dates: true}
	var b strings.Builder
	for _, line := range [][2]string{
		{"", r.Function},
		{"", values(r)},
		{"", fmt.Sprintf("%s   %s %s", event, lang.L("Row"), control.Thousands(r.Index))},
		{lang.L("Time"), string(table.AppendTime(nil, r, full))},
		{"", lang.L("{{.S}} s after the first row", data{"S": fmt.Sprintf("%.*f", f.Digits, float64(r.Elapsed)/1e9)})},
		{lang.L("Duration"), string(table.AppendDuration(rows.AppendBound(nil, r.Bound, r.Duration), r.Duration, f.Digits))},
		{lang.L("Thread"), fmt.Sprintf("%s   %s", rows.AppendThread(nil, r), lang.L("depth {{.N}}", data{"N": r.Depth}))},
		{lang.L("Process"), r.Process.Text()},
		{lang.L("Module"), r.Module},
		{lang.L("Source"), source},
		{lang.L("Address"), address},
		{lang.L("Note"), r.Note},
	} {
		if line[1] == "" {
			continue
		}
		if line[0] != "" {
			b.WriteString(line[0] + ": ")
		}
		b.WriteString(line[1] + "\n")
	}
	return strings.TrimSpace(b.String())
}

// values are the arguments and results of the row's call, a line each, and those of structs below them.
func values(r *rows.Row) string {
	call := r.CallValues()
	if call == nil {
		return ""
	}
	var b strings.Builder
	add := func(title string, list []rows.Value) {
		if len(list) == 0 {
			return
		}
		b.WriteString(title + ":\n")
		for i := range list {
			appendValue(&b, &list[i], 1)
		}
	}
	arguments := lang.L("Arguments")
	if call.BySignature {
		arguments = lang.L("Arguments, by signature")
	}
	add(arguments, call.Arguments)
	add(lang.L("Result"), call.Results)
	return strings.TrimSuffix(b.String(), "\n")
}

// maxValueParts bounds the members that are a line of their own.
const maxValueParts = 16

func appendValue(b *strings.Builder, v *rows.Value, level int) {
	b.WriteString(strings.Repeat("    ", level))
	if v.Name == rows.Result {
		b.WriteString(strings.TrimPrefix(v.Type+" = ", " = ") + v.Text)
	} else {
		b.Write(rows.AppendArguments(nil, []rows.Value{*v}))
	}
	b.WriteByte('\n')
	if len(v.Parts) > maxValueParts || level > 2 {
		return
	}
	for i := range v.Parts {
		if v.Parts[i].Name != "" && len(v.Parts) > 1 {
			appendValue(b, &v.Parts[i], level+1)
		}
	}
}

type data = map[string]any

// ShowSource shows source lines.
func (p *Call) ShowSource(s Source) {
	p.lines = s
	p.sourceHead.SetText(s.Head)
	if s.Head == "" {
		p.openSource.Disable()
	} else {
		p.openSource.Enable()
	}
	p.remark.SetText(s.Remark)
	if hidden := s.Remark == ""; p.remark.Hidden != hidden {
		p.remark.Hidden = hidden
		p.sourceBox.Refresh()
	}
	p.Paint()
}

// Source returns what is shown.
func (p *Call) Source() Source { return p.lines }

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// warm is a colour as strong as a share says, weak enough for text to be read on it.
func warm(c color.Color, share float64) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = uint8(0x10 + 0x40*min(max(share, 0), 1))
	return n
}

// Paint takes the colours of the present theme.
func (p *Call) Paint() {
	settings := fyne.CurrentApp().Settings()
	th, v := settings.Theme(), settings.ThemeVariant()
	plain, dim := th.Color(theme.ColorNameForeground, v), th.Color(theme.ColorNamePlaceHolder, v)
	here := th.Color(theme.ColorNameSelection, v)
	size := th.Size(theme.SizeNameText) - 1
	p.source.Objects = nil
	digits := len(fmt.Sprint(p.lines.First + len(p.lines.Lines)))
	for i, line := range p.lines.Lines {
		number := canvas.NewText(fmt.Sprintf(" %*d ", digits, p.lines.First+i), dim)
		text := canvas.NewText(line, plain)
		for _, t := range []*canvas.Text{number, text} {
			t.TextSize, t.TextStyle.Monospace = size, true
			if isASCII(t.Text) {
				// The window's font may be one with Han characters, which are
				// no equal widths to Latin ones.
				t.FontSource = theme.DefaultTextMonospaceFont()
			}
		}
		back := canvas.NewRectangle(color.Transparent)
		if p.lines.First+i == p.lines.Line {
			back.FillColor, number.Color = here, plain
		}
		parts := []fyne.CanvasObject{number, text}
		if h, ok := p.lines.Heat[p.lines.First+i]; ok {
			if p.lines.First+i != p.lines.Line {
				back.FillColor = warm(th.Color(theme.ColorNameWarning, v), h.Share)
			}
			said := canvas.NewText("  "+h.Text, plain)
			said.TextSize, said.TextStyle.Italic = size, true
			parts = append(parts, said)
		}
		p.source.Add(container.NewStack(back, container.New(layout.NewCustomPaddedHBoxLayout(2), parts...)))
	}
	p.source.Refresh()
	p.source.Resize(p.source.MinSize())
	// The row's line is to be in the middle.
	if n := len(p.lines.Lines); n > 0 {
		height := p.source.MinSize().Height
		at := (float32(p.lines.Line-p.lines.First)+0.5)*height/float32(n) - p.sourceScroll.Size().Height/2
		p.sourceScroll.ScrollToOffset(fyne.NewPos(0, min(max(at, 0), max(height-p.sourceScroll.Size().Height, 0))))
	}
}
