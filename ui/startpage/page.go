// Package startpage is what the window shows while no log is open: how to open
// one, those opened lately, and the sample.
package startpage

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/hint"
)

// A Recent is a log that was opened before.
type Recent struct {
	Path    string
	Missing bool
	Size    int64
	Changed time.Time
}

// Look finds out which of the paths still exist. It touches the disk; do not
// call it on the user interface's goroutine.
func Look(paths []string) []Recent {
	list := make([]Recent, len(paths))
	for i, p := range paths {
		list[i].Path = p
		info, err := os.Stat(p)
		if err != nil {
			list[i].Missing = true
			continue
		}
		list[i].Size, list[i].Changed = info.Size(), info.ModTime()
	}
	return list
}

// A Page is the start page.
type Page struct {
	Content fyne.CanvasObject

	OnOpen, OnFolder, OnSample func()
	OnRecord                   func()
	OnRecent                   func(path string)
	OnForget                   func(path string)
	OnCancel                   func() // of the work that is shown

	icon   fyne.Resource
	recent []Recent
	body   *fyne.Container
	hint   *widget.Label

	work     *fyne.Container
	title    *widget.Label
	progress *widget.ProgressBar
	endless  *widget.ProgressBarInfinite
	cancel   *hint.Button
}

// New makes the page.
func New(icon fyne.Resource) *Page {
	p := &Page{icon: icon, body: container.NewVBox(), title: widget.NewLabel(""), progress: widget.NewProgressBar(), endless: widget.NewProgressBarInfinite()}
	p.endless.Stop()
	p.progress.TextFormatter = func() string { return "" } // the title has it
	p.title.TextStyle.Bold = true
	p.title.Truncation = fyne.TextTruncateEllipsis
	p.cancel = hint.NewButton("", theme.CancelIcon(), func() { p.OnCancel() })
	p.work = container.NewVBox(spacer(6), p.title, container.NewBorder(nil, nil, nil, p.cancel, container.NewStack(p.progress, p.endless)))
	p.work.Hide()
	p.Content = container.NewVScroll(container.NewCenter(p.body))
	p.Relabel()
	return p
}

// Show lists the logs opened lately.
func (p *Page) Show(recent []Recent) {
	p.recent = recent
	p.Relabel()
}

// ShowWork shows what is being done to open a log: opening is its name, "" while
// that is not known. Other work is shown only if it is slow; opening is shown at once, because the machine may be
// too busy with it to paint anything later.
func (p *Page) ShowWork(opening string, w control.Work) {
	shown := w.Slow || opening != "" && w.Title != ""
	if !shown {
		p.endless.Stop()
	} else {
		text := w.Title
		if opening != "" {
			text += " \u00b7 " + opening
		}
		p.title.SetText(text + w.Percent())
		if w.Total > 0 {
			p.endless.Stop()
			p.progress.SetValue(float64(w.Done) / float64(w.Total))
		} else if !p.endless.Running() {
			p.endless.Start()
		}
		p.progress.Hidden, p.endless.Hidden = w.Total <= 0, w.Total > 0
	}
	if p.work.Hidden == shown {
		p.work.Hidden = !shown
		p.hint.Hidden = shown
		p.body.Refresh()
	}
}

// Working returns what is shown of the work under way, "" for nothing.
func (p *Page) Working() string {
	if p.work.Hidden {
		return ""
	}
	return p.title.Text
}

// Relabel says everything in the present language.
func (p *Page) Relabel() {
	icon := canvas.NewImageFromResource(p.icon)
	icon.FillMode = canvas.ImageFillContain
	icon.SetMinSize(fyne.NewSize(64, 64))
	title := widget.NewLabel("LogParser")
	title.SizeName = theme.SizeNameHeadingText
	title.TextStyle.Bold = true
	about := widget.NewLabel(lang.L("Reads the binary log of an instrumented program: which functions were called, when, and on which thread."))

	open := hint.NewButton(lang.L("Open a log"), theme.FolderOpenIcon(), func() { p.OnOpen() })
	open.Importance = widget.HighImportance
	open.Hint = func() string { return hint.Keyed(lang.L("Open a log"), "Ctrl+O") }
	folder := hint.NewButton(lang.L("Open a folder"), theme.FolderIcon(), func() { p.OnFolder() })
	sample := hint.NewButton(lang.L("Open the sample"), theme.MediaPlayIcon(), func() { p.OnSample() })
	folder.Hint = func() string { return lang.L("Opens the log that lies in it.") }
	sample.Hint = func() string { return lang.L("A small log that comes with LogParser.") }
	record := hint.NewButton(lang.L("Record a program"), theme.MediaRecordIcon(), func() { p.OnRecord() })
	record.Hint = func() string {
		return hint.Keyed(lang.L("Record a program"), "Ctrl+Shift+R") + "\n" + lang.L("Runs it with the recorder, and shows its calls while they happen.")
	}
	p.hint = widget.NewLabel(lang.L("Or drop the log and its modules file, or their folder, on this window."))
	p.hint.Importance = widget.LowImportance
	p.hint.Hidden = !p.work.Hidden
	p.cancel.SetText(lang.L("Cancel") + " (Esc)")

	p.body.Objects = []fyne.CanvasObject{
		container.NewHBox(icon, container.NewVBox(title, about)),
		spacer(6),
		container.NewHBox(open, folder, sample, record),
		p.hint,
		p.work,
	}
	if len(p.recent) > 0 {
		head := widget.NewLabel(lang.L("Opened lately"))
		head.TextStyle.Bold = true
		p.body.Add(spacer(6))
		p.body.Add(head)
		for _, r := range p.recent {
			p.body.Add(p.line(r))
		}
	}
	p.body.Refresh()
}

func (p *Page) line(r Recent) fyne.CanvasObject {
	open := hint.NewButton(filepath.Base(r.Path), theme.FileIcon(), func() { p.OnRecent(r.Path) })
	open.Alignment = widget.ButtonAlignLeading
	open.Hint = func() string { return r.Path }
	open.Importance = widget.LowImportance
	where := widget.NewLabel(shorten(filepath.Dir(r.Path), 60))
	where.Importance = widget.LowImportance
	about := widget.NewLabel(Size(r.Size) + " \u00b7 " + r.Changed.Format("2006-01-02 15:04"))
	about.Importance = widget.LowImportance
	if r.Missing {
		open.Disable()
		about.SetText(lang.L("missing"))
		about.Importance = widget.WarningImportance
	}
	forget := hint.NewButton("", theme.CancelIcon(), func() { p.OnForget(r.Path) })
	forget.Importance = widget.LowImportance
	forget.Hint = func() string { return lang.L("Takes it off this list; the file stays") }
	return container.NewBorder(nil, nil, open, container.NewHBox(about, forget), where)
}

// shorten drops the beginning of a long path.
func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return "\u2026" + string(r[len(r)-most:])
	}
	return s
}

// Size writes a number of bytes as people read it.
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1000, 0
	for f >= 999.95 && i < len(units)-1 {
		f /= 1000
		i++
	}
	return fmt.Sprintf("%.1f %cB", f, units[i])
}

func spacer(height float32) fyne.CanvasObject {
	r := canvas.NewRectangle(color.Transparent)
	r.SetMinSize(fyne.NewSize(1, height))
	return r
}
