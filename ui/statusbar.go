package ui

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/hint"
)

// A statusBar is the line below the table: what there is, and what is done.
type statusBar struct {
	Content fyne.CanvasObject

	counts, selection, title *widget.Label
	row, limit               string       // what is chosen, and what all is limited to
	news                     *hint.Button // rows that came below the view
	record                   *hint.Button // a program that is recorded: stops it
	progress                 *widget.ProgressBar
	endless                  *widget.ProgressBarInfinite
	cancel                   *hint.Button
	work                     *fyne.Container
	// message is one that goes by itself; a press shows what more there is.
	message *hint.Button
	shown   *control.Message
}

func newStatusBar(cancel, resume, stop func(), details func(*control.Message)) *statusBar {
	b := &statusBar{news: hint.NewButton("", theme.MoveDownIcon(), resume), counts: widget.NewLabel(""), selection: widget.NewLabel(""), title: widget.NewLabel(""),
		progress: widget.NewProgressBar(), endless: widget.NewProgressBarInfinite()}
	// The bar's own text would stand on two grounds and be hard to read.
	b.progress.TextFormatter = func() string { return "" }
	b.news.Importance = widget.HighImportance
	b.news.Hide()
	b.record = hint.NewButton("", theme.MediaStopIcon(), stop)
	b.record.Importance = widget.DangerImportance
	b.record.Hide()
	b.endless.Stop()
	b.selection.Truncation = fyne.TextTruncateEllipsis
	b.selection.Alignment = fyne.TextAlignTrailing
	b.selection.Importance = widget.LowImportance
	b.cancel = hint.NewButton("", theme.CancelIcon(), cancel)
	b.cancel.Importance = widget.LowImportance
	bars := container.New(&fixedWidth{170}, container.NewStack(b.progress, b.endless))
	b.work = container.NewHBox(b.title, bars, b.cancel)
	b.work.Hide()
	b.message = hint.NewButton("", nil, func() { details(b.shown) })
	b.message.Hide()
	b.Content = container.NewBorder(nil, nil, container.NewHBox(b.record, b.news, b.message, b.counts), b.work, b.selection)
	return b
}

// showCounts says what the log holds.
func (b *statusBar) showCounts(s *control.State) {
	if s.Preview && s.Provisional && s.Opening != "" {
		b.counts.SetText(lang.L("First rows of {{.Name}}, which is being opened; rows, times and modules are provisional", data{"Name": s.Opening}))
		return
	}
	if s.Preview && s.Opening != "" {
		b.counts.SetText(lang.L("First rows of {{.Name}}, which is being opened", data{"Name": s.Opening}))
		return
	}
	if !s.Opened && s.Opening != "" {
		b.counts.SetText(lang.L("Opening {{.Name}}", data{"Name": s.Opening}))
		b.row, b.limit = "", ""
		b.showChosen()
		return
	}
	if !s.Opened {
		b.counts.SetText(lang.L("No log is open"))
		b.row, b.limit = "", ""
		b.showChosen()
		return
	}
	var parts []string
	parts = append(parts, countsText(s))
	if n := len(s.Threads); n > 0 {
		parts = append(parts, control.Count("{{.N}} thread", "{{.N}} threads", int64(n)))
	}
	if runs, records := s.Facts.LeftOut(); runs > 0 {
		parts = append(parts, control.Count("{{.N}} run left out", "{{.N}} runs left out", int64(runs))+" ("+control.Count("{{.N}} row", "{{.N}} rows", records)+")")
	}
	if s.Facts.DamageBytes > 0 {
		parts = append(parts, control.Count("{{.N}} byte damaged", "{{.N}} bytes damaged", s.Facts.DamageBytes))
	}
	if s.Opened && s.Wanted.Corrected {
		parts = append(parts, lang.L("durations without the recorder's own time"))
	}
	b.counts.SetText(strings.Join(parts, "   \u00b7   "))
}

// showNew says how many rows have come while the table is not at its end.
func (b *statusBar) showNew(f control.Follow) {
	if !f.On || f.AtEnd {
		b.news.Hide()
		return
	}
	text := lang.L("Go on at the end")
	if f.New > 0 {
		text = control.Count("{{.N}} new row", "{{.N}} new rows", f.New)
	}
	b.news.SetText(text)
	b.news.Show()
}

// showRecording says that a program is recorded, and lets it be stopped.
func (b *statusBar) showRecording(s control.RecorderState) {
	about := data{"Name": shorten(s.Name, 30)}
	switch {
	case s.Running && s.Asked:
		b.record.SetText(lang.L("End {{.Name}} by force", about))
	case s.Running:
		b.record.SetText(lang.L("Stop {{.Name}}", about))
	case s.Note != "":
		b.record.SetText(s.Note)
	case s.Busy:
		b.record.SetText(lang.L("Starting {{.Name}}", about))
	}
	show(b.record, s.Busy)
	b.Content.Refresh()
}

// showMessage shows a message that passes; nil takes it away.
func (b *statusBar) showMessage(m *control.Message) {
	b.shown = m
	if m == nil {
		if b.message.Visible() {
			b.message.Hide()
			b.Content.Refresh()
		}
		return
	}
	b.message.Importance, b.message.Icon = widget.SuccessImportance, theme.ConfirmIcon()
	if m.Level != control.LevelGood {
		b.message.Importance, b.message.Icon = widget.WarningImportance, theme.InfoIcon()
	}
	b.message.SetText(shorten(strings.TrimSpace(m.Text+" "+m.Next), mostMessage))
	b.message.Show()
	b.Content.Refresh()
}

// mostMessage is how many letters of a message that passes are shown.
const mostMessage = 100

// showSelection says more of the current row than its columns may.
func (b *statusBar) showSelection(index int64, about string) {
	b.row = ""
	if index >= 0 {
		b.row = lang.L("Row {{.N}}", data{"N": control.Thousands(index)}) + "   " + about
	}
	b.showChosen()
}

// showLimit says what all views are limited to, "" for nothing.
func (b *statusBar) showLimit(text string) {
	if b.limit != text {
		b.limit = text
		b.showChosen()
	}
}

// showChosen says what is chosen, and what all views are limited to.
func (b *statusBar) showChosen() {
	text := b.limit
	if b.row != "" {
		if text != "" {
			text += "   \u00b7   "
		}
		text += b.row
	}
	b.selection.SetText(text)
}

// showWork shows work that has gone on for a while.
func (b *statusBar) showWork(w control.Work) {
	if b.work.Hidden == w.Slow {
		b.work.Hidden = !w.Slow
		// What is shown here or hidden takes room from what stands beside it.
		defer b.Content.Refresh()
	}
	if !w.Slow {
		b.endless.Stop()
		return
	}
	b.title.SetText(w.Title + w.Percent())
	if w.Total > 0 {
		b.endless.Stop()
		b.endless.Hide()
		b.progress.Show()
		b.progress.SetValue(float64(w.Done) / float64(w.Total))
	} else {
		b.progress.Hide()
		b.endless.Show()
		b.endless.Start()
	}
}
