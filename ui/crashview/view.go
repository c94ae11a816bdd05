// Package crashview shows how a program crashed: the cause, the stack of each thread joined with
// the calls that the log has open, the source around the innermost frame, registers and code.
package crashview

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
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/listing"
)

// A View is the crash. It belongs to the goroutine that Fyne calls widgets on; the callbacks
// are called there.
type View struct {
	Content fyne.CanvasObject
	// Frames lists the frames of the thread that is chosen.
	Frames *listing.List[Frame]
	// OnOpen is told the row of the log of a frame that is opened, from 0.
	OnOpen func(row int64)
	// OnSource is told the source line of the frame that is chosen, OnEdit that of one which is opened and has no
	// row in the log.
	OnSource, OnEdit func(file string, line int)
	// OnCopy is handed the whole report, or the chosen frames, as text.
	OnCopy func(text string)

	cause, where *widget.Label
	thread       *hint.Select
	copy         *hint.Button
	sourceHead   *widget.Label
	source       *widget.TextGrid
	stateHead    *widget.Label
	state        *widget.TextGrid
	crash        *control.Crash
}

// New makes an empty view. post must run functions one after the other on the goroutine that the
// view belongs to.
func New(fonts *grid.Fonts, palette *grid.Palette, post func(func())) *View {
	v := &View{cause: widget.NewLabel(""), where: widget.NewLabel(""), sourceHead: widget.NewLabel(""), stateHead: widget.NewLabel(""),
		source: widget.NewTextGrid(), state: widget.NewTextGrid()}
	v.cause.TextStyle.Bold, v.sourceHead.TextStyle.Bold, v.stateHead.TextStyle.Bold = true, true, true
	v.cause.Wrapping, v.where.Wrapping = fyne.TextWrapWord, fyne.TextWrapWord
	v.sourceHead.Truncation = fyne.TextTruncateEllipsis
	v.Frames = listing.New(columns(), 0, func(a, b *Frame) bool { return a.order == b.order }, fonts, palette, post)
	g := v.Frames.Grid
	g.OnActivated = func(row int64) {
		switch f := v.Frames.At(row); {
		case f == nil:
		case f.LogRow > 0 && v.OnOpen != nil:
			v.OnOpen(f.LogRow - 1)
		case f.LogRow == 0 && f.File != "" && v.OnEdit != nil:
			v.OnEdit(f.File, f.Line)
		}
	}
	v.Frames.OnChosen = func(f *Frame) {
		if f != nil && f.File != "" && v.OnSource != nil && !v.Frames.Arranging() {
			v.OnSource(f.File, f.Line)
		}
	}
	g.OnCopy = func() {
		if text := v.Frames.Text(); text != "" && v.OnCopy != nil {
			v.OnCopy(text)
		}
	}
	v.thread = hint.NewSelect(nil, func(string) { v.showThread() })
	v.copy = hint.NewButton("", theme.ContentCopyIcon(), func() {
		if v.crash != nil && v.OnCopy != nil {
			v.OnCopy(v.crash.Text)
		}
	})
	v.copy.Importance = widget.LowImportance
	head := container.NewBorder(nil, nil, nil, container.NewVBox(v.copy), container.NewVBox(v.cause, v.where))
	frames := container.NewBorder(v.thread, nil, nil, nil, g)
	below := container.NewHSplit(
		container.NewBorder(v.sourceHead, nil, nil, nil, container.NewScroll(v.source)),
		container.NewBorder(v.stateHead, nil, nil, nil, container.NewScroll(v.state)))
	below.Offset = 0.55
	split := container.NewVSplit(frames, below)
	split.Offset = 0.62
	v.Content = container.NewBorder(head, nil, nil, nil, split)
	v.Relabel()
	return v
}

// Relabel says everything in the present language. The report itself comes in it.
func (v *View) Relabel() {
	v.Frames.Relabel()
	v.copy.SetText(lang.L("Copy the report"))
	v.showHead()
	if v.crash != nil {
		v.showThreads()
	}
}

// Show shows a crash, nil for none. It must not be changed any more.
func (v *View) Show(c *control.Crash) {
	v.crash = c
	v.showHead()
	v.showThreads()
}

// showHead says what happened, and to what.
func (v *View) showHead() {
	v.sourceHead.SetText(lang.L("Source"))
	v.stateHead.SetText(lang.L("Registers and code"))
	if v.crash == nil {
		v.cause.SetText("")
		v.where.SetText("")
		v.source.SetText("")
		return
	}
	c := v.crash
	cause := c.Cause
	if c.Code != "" {
		cause += "  (" + c.Code + ")"
	}
	v.cause.SetText(rows.Visible(cause))
	var parts []string
	for _, s := range []string{c.Program, strings.TrimSpace(c.System + " " + c.Machine), c.Time} {
		if s != "" {
			parts = append(parts, rows.Visible(s))
		}
	}
	if c.PID != 0 {
		parts = append(parts, lang.L("process {{.N}}", map[string]any{"N": c.PID}))
	}
	lines := []string{strings.Join(parts, " \u00b7 ")}
	for _, n := range c.Notes {
		lines = append(lines, rows.Visible(n))
	}
	v.where.SetText(strings.Join(lines, "\n"))
	v.source.SetText("")
	if s := c.Source; s != nil {
		v.sourceHead.SetText(rows.Visible(s.File) + ":" + strconv.Itoa(s.Line))
		v.source.SetText(sourceText(s.First, s.Line, s.Lines))
	}
}

// ShowSource shows the source lines around one, of which first is the number of the first; or a remark in their place.
func (v *View) ShowSource(head, remark string, first, line int, lines []string) {
	v.sourceHead.SetText(rows.Visible(head))
	v.source.SetText(remark + sourceText(first, line, lines))
}

// sourceText numbers lines and marks the one that is meant.
func sourceText(first, line int, lines []string) string {
	var b strings.Builder
	for i, text := range lines {
		mark := "  "
		if first+i == line {
			mark = "=>"
		}
		fmt.Fprintf(&b, "%s%5d  %s\n", mark, first+i, rows.Visible(text))
	}
	return b.String()
}

// showThreads lists the threads, and shows the one that crashed.
func (v *View) showThreads() {
	var names []string
	at := 0
	if v.crash != nil {
		for i := range v.crash.Threads {
			t := &v.crash.Threads[i]
			if t.Crashed {
				at = i
			}
			names = append(names, threadName(i, t))
		}
	}
	v.thread.SetOptions(names)
	if len(names) == 0 {
		v.thread.ClearSelected()
		v.showThread()
		return
	}
	if v.thread.SelectedIndex() == at {
		v.showThread()
		return
	}
	v.thread.SetSelectedIndex(at)
}

// threadName names a thread in the list.
func threadName(i int, t *app.ReportThread) string {
	name := strconv.Itoa(i+1) + ".  " + lang.L("Thread {{.N}}", map[string]any{"N": t.ID})
	if t.Name != "" {
		name += "  " + rows.Visible(t.Name)
	}
	if t.Crashed {
		name += " \u2013 " + lang.L("crashed here")
	}
	return name
}

// showThread shows the frames and registers of the thread that is chosen.
func (v *View) showThread() {
	at := v.thread.SelectedIndex()
	if v.crash == nil || at < 0 || at >= len(v.crash.Threads) {
		v.Frames.Show(nil)
		v.state.SetText("")
		return
	}
	t := &v.crash.Threads[at]
	v.Frames.Show(framesOf(t))
	v.state.SetText(stateText(v.crash.CrashReport, t))
}

// stateText writes the registers of a thread, and the code around where the program ended.
func stateText(r *app.CrashReport, t *app.ReportThread) string {
	var b strings.Builder
	for i, reg := range t.Registers {
		fmt.Fprintf(&b, "%6s %0*x", reg.Name, 2*r.Pointers, uint64(reg.Value))
		if i%2 == 1 || i == len(t.Registers)-1 {
			b.WriteByte('\n')
		}
	}
	if c := r.Bytes; t.Crashed && c != nil {
		for i, code := range c.Bytes {
			address := uint64(c.Address) + uint64(i)
			if i%16 == 0 {
				fmt.Fprintf(&b, "\n%0*x ", 2*r.Pointers, address)
			}
			mark := " "
			if address == uint64(c.At) {
				mark = ">"
			}
			fmt.Fprintf(&b, "%s%02x", mark, code)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
