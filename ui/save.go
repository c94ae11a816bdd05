package ui

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/inputs"
)

// A saveForm asks where and how rows are to be saved. What a format has no use
// for is not shown.
type saveForm struct {
	names  []string // of the formats
	path   *inputs.Entry
	format *widget.Select

	bom, crlf, raw *widget.Check
	weight         *widget.Select
	weighing       *fyne.Container
	split          *widget.Select
	amount         *inputs.Entry
	splitting      *fyne.Container
	options        *fyne.Container
	// corrected: durations are; refused says that the format cannot have that.
	corrected bool
	refused   *widget.Label
	ways      []splitWay // what split chooses from
	// reading: the format follows the path, not the path the format.
	reading bool
}

// A splitWay says where another file is begun.
type splitWay int

const (
	splitUsual splitWay = iota // as the format has it
	splitNever
	splitRows
	splitBytes
)

const (
	// The amounts that are proposed.
	usualRows, usualMB = 1_000_000, 500
	megabyte           = 1 << 20
)

// weights are the words for what folded stacks count.
var weights = []string{"ns", "us", "calls"}

func newSaveForm(path, format string, corrected bool) *saveForm {
	f := &saveForm{names: app.SaveFormats(), path: inputs.NewEntry(), corrected: corrected}
	var titles []string
	for _, name := range f.names {
		_, extension := app.SaveTitle(name)
		titles = append(titles, formatTitle(name)+"  (."+extension+")")
	}
	f.bom = widget.NewCheck(lang.L("Byte order mark, for spreadsheets"), nil)
	f.crlf = widget.NewCheck(lang.L("Line ends of Windows (CR LF)"), nil)
	f.raw = widget.NewCheck(lang.L("Leave cells alone that a spreadsheet would run as a formula"), nil)
	f.weight = widget.NewSelect([]string{lang.L("Nanoseconds in the function itself"), lang.L("Microseconds in the function itself"), lang.L("Calls")}, nil)
	fitWidth(f.weight, 60)
	f.weight.SetSelectedIndex(0)
	f.weighing = container.NewHBox(widget.NewLabel(lang.L("Stacks count")), f.weight)
	f.amount = inputs.NewEntry()
	f.amount.OnChanged = f.cleanAmount
	f.split = widget.NewSelect(nil, nil)
	f.split.OnChanged = func(string) { f.showAmount() }
	f.splitting = container.NewBorder(nil, nil, container.NewHBox(widget.NewLabel(lang.L("Divide")), f.split), nil, f.amount)
	f.refused = widget.NewLabel(lang.L("This format has the times that were recorded.") + "\n" + control.RecordedTimes())
	f.refused.Importance = widget.DangerImportance
	f.options = container.NewVBox(f.refused, f.bom, f.crlf, f.raw, f.splitting, f.weighing)

	f.format = widget.NewSelect(titles, nil)
	f.path.SetText(path)
	f.format.OnChanged = func(string) { f.formatChanged() }
	f.format.SetSelectedIndex(max(slices.Index(f.names, format), 0))
	f.path.OnChanged = func(text string) {
		if i := slices.Index(f.names, app.SaveFormatOf(text)); i >= 0 && i != f.format.SelectedIndex() {
			f.reading = true
			f.format.SetSelectedIndex(i)
			f.reading = false
		}
	}
	return f
}

// formatTitle says what a format is, in the present language.
func formatTitle(name string) string {
	switch name {
	case "txt":
		return lang.L("Text table")
	case "csv":
		return lang.L("Comma-separated values")
	case "jsonl":
		return lang.L("JSON Lines")
	case "tracer":
		return lang.L("Tracer lines")
	case "html":
		return lang.L("Web page")
	case "chrome":
		return lang.L("Chrome trace")
	case "perfetto":
		return lang.L("Perfetto trace")
	case "speedscope":
		return lang.L("Speedscope profile")
	case "folded":
		return lang.L("Folded stacks, for flame graphs")
	case "callgrind":
		return lang.L("Callgrind profile")
	case "parquet":
		return lang.L("Parquet table")
	}
	title, _ := app.SaveTitle(name)
	return title
}

func (f *saveForm) name() string { return f.names[max(f.format.SelectedIndex(), 0)] }

// formatChanged gives the path the format's extension and shows what the format
// has to choose from.
func (f *saveForm) formatChanged() {
	name := f.name()
	_, extension := app.SaveTitle(name)
	if !f.reading {
		stem := f.path.Text
		if _, before := app.SaveTitle(app.SaveFormatOf(stem)); before != "" {
			stem = stem[:len(stem)-len(before)-1]
		} else {
			stem = strings.TrimSuffix(stem, filepath.Ext(stem))
		}
		f.path.SetText(stem + "." + extension)
	}
	table := name == "csv" || name == "txt"
	show(f.bom, table)
	show(f.crlf, table)
	show(f.raw, name == "csv")
	show(f.refused, f.corrected && app.CheckCorrected(name) != nil)
	show(f.weighing, name == "folded")
	limits, whole := app.SaveLimitsOf(name)
	show(f.splitting, !whole)
	f.ways = []splitWay{splitNever, splitRows, splitBytes}
	texts := []string{lang.L("One file"), lang.L("After so many rows"), lang.L("After so many MB")}
	if limits != (app.SaveLimits{}) {
		f.ways = slices.Insert(f.ways, 0, splitUsual)
		texts = slices.Insert(texts, 0, lang.L("As its readers take it: {{.Limits}}", data{"Limits": limitsText(limits)}))
	}
	f.split.SetOptions(texts)
	fitWidth(f.split, 60)
	f.split.SetSelectedIndex(0)
	f.showAmount()
	f.options.Refresh()
}

func show(o fyne.CanvasObject, on bool) {
	if on {
		o.Show()
	} else {
		o.Hide()
	}
}

func limitsText(l app.SaveLimits) string {
	var parts []string
	if l.Rows > 0 {
		parts = append(parts, control.Count("{{.N}} row", "{{.N}} rows", l.Rows))
	}
	if l.Bytes > 0 {
		parts = append(parts, control.Thousands(l.Bytes/megabyte)+" MB")
	}
	return strings.Join(parts, ", ")
}

func (f *saveForm) way() splitWay {
	if i := f.split.SelectedIndex(); i >= 0 && i < len(f.ways) {
		return f.ways[i]
	}
	return splitUsual
}

// showAmount asks how many rows or bytes, where that is the question.
func (f *saveForm) showAmount() {
	switch f.way() {
	case splitRows:
		f.amount.SetText(strconv.Itoa(usualRows))
	case splitBytes:
		f.amount.SetText(strconv.Itoa(usualMB))
	}
	show(f.amount, f.way() == splitRows || f.way() == splitBytes)
}

// cleanAmount takes away what is no digit.
func (f *saveForm) cleanAmount(text string) {
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	if digits = digits[:min(len(digits), 12)]; digits != text {
		f.amount.SetText(digits)
	}
}

// settings are the options for a format. An amount that is missing is the format's.
func (f *saveForm) settings() app.SaveOptions {
	var opt app.SaveOptions
	opt.BOM, opt.CRLF, opt.Raw = f.bom.Visible() && f.bom.Checked, f.crlf.Visible() && f.crlf.Checked, f.raw.Visible() && f.raw.Checked
	if f.weighing.Visible() {
		opt.Weight, _ = app.ParseWeight(weights[max(f.weight.SelectedIndex(), 0)])
	}
	if !f.splitting.Visible() {
		return opt
	}
	// What is not limited by the user is not limited by the format either.
	n, _ := strconv.ParseInt(f.amount.Text, 10, 64)
	switch way := f.way(); {
	case way == splitNever && f.ways[0] == splitUsual:
		opt.Split = app.SaveLimits{Rows: -1, Bytes: -1}
	case way == splitRows && n > 0:
		opt.Split = app.SaveLimits{Rows: n, Bytes: -1}
	case way == splitBytes && n > 0:
		opt.Split = app.SaveLimits{Rows: -1, Bytes: min(n, math.MaxInt64/megabyte) * megabyte}
	}
	return opt
}

// save asks where and how to save the rows.
func (ds *dialogs) save() {
	s := ds.w.front.ctl.State()
	if !s.Opened || ds.w.front.ctl.Saving.Busy() {
		return
	}
	session := s.Session
	f := newSaveForm(s.Found.Log, ds.w.pref.saveFormat(), s.Wanted.Corrected)
	// A system's dialog has asked already whether to replace a file.
	replaced := ""
	browse := widget.NewButtonWithIcon(lang.L("Choose"), theme.FolderIcon(), func() {
		ds.picker.Save(lang.L("Save"), f.path.Text, func(p string, asked bool) {
			f.path.SetText(p)
			if asked {
				replaced = p
			}
		})
	})
	shown := lang.L("The rows shown: {{.N}}", data{"N": control.Thousands(s.Rows.Len())})
	if s.View != nil && !s.View.Done() {
		shown = lang.L("The rows shown, as soon as they are counted")
	}
	which := widget.NewRadioGroup([]string{shown, lang.L("All rows: {{.N}}", data{"N": control.Thousands(s.Facts.Shown())})}, nil)
	which.SetSelected(which.Options[0])
	which.Required = true
	if !s.Filtered {
		which.SetSelected(which.Options[1])
		which.Hide()
	}
	d := dialog.NewForm(lang.L("Save"), lang.L("Save"), lang.L("Cancel"), []*widget.FormItem{
		widget.NewFormItem(lang.L("File"), container.NewBorder(nil, nil, nil, browse, f.path)),
		widget.NewFormItem(lang.L("Format"), f.format),
		widget.NewFormItem("", f.options),
		widget.NewFormItem("", which),
	}, func(ok bool) {
		if !ok || !ds.w.front.ctl.Saving.MaySave(session, f.path.Text) {
			return
		}
		target, as, opt := f.path.Text, f.name(), f.settings()
		ds.w.pref.setSaveFormat(as)
		save := ds.w.front.ctl.Saving.Save
		if ds.w.front.ctl.State().Filtered && which.Selected == which.Options[0] {
			save = ds.w.front.ctl.Saving.SaveShown
		}
		ds.writeTo(target, as, target == replaced, func() {
			if ds.w.front.ctl.Saving.MaySave(session, target) {
				save(target, as, opt)
			}
		})
	}, ds.w.win)
	f.path.OnSubmitted = func(string) { d.Submit() }
	f.path.OnKey, f.amount.OnKey = ds.w.actions.key, ds.w.actions.key
	ds.open(d, 720, 380)
	ds.w.win.Canvas().Focus(f.path)
	f.path.TypedShortcut(&fyne.ShortcutSelectAll{})
}

// saveAs asks where a file is to be written, and whether one that is there may be replaced.
func (ds *dialogs) saveAs(title, name string, write func(path string)) {
	ds.picker.Save(title, name, func(path string, asked bool) {
		if _, err := os.Lstat(path); asked || err != nil {
			write(path)
			return
		}
		ds.whenFree(func() {
			ds.open(dialog.NewConfirm(title, lang.L("{{.Name}} exists. Replace it?", data{"Name": filepath.Base(path)}), func(ok bool) {
				if ok {
					write(path)
				}
			}, ds.w.win), 0, 0)
		})
	})
}

// writeTo calls write, after asking whether files that are there may be
// replaced. asked says that this was asked already of the one of that name; a file
// that holds something else than that format is asked about all the same.
func (ds *dialogs) writeTo(target, format string, asked bool, write func()) {
	go func() {
		there := app.SavedBefore(target, format)
		other := ""
		if i := slices.IndexFunc(there, func(path string) bool { return app.HoldsOther(path, format) }); i >= 0 {
			other = there[i]
		}
		if asked && other != target {
			there = slices.DeleteFunc(there, func(path string) bool { return path == target })
		}
		replace := func() {
			first := filepath.Base(there[0])
			question := lang.L("{{.Name}} exists. Replace it?", data{"Name": first})
			if len(there) > 1 {
				question = lang.L("{{.Name}} exists, and so do others up to {{.Last}}: {{.N}} files of an older save. Replace them?",
					data{"Name": first, "Last": filepath.Base(there[len(there)-1]), "N": control.Thousands(int64(len(there)))})
			}
			if other != "" {
				question = lang.L("{{.Name}} is no file that was saved in this format ({{.Format}}); what is in it would be lost.",
					data{"Name": filepath.Base(other), "Format": formatTitle(format)}) + "\n" + question
			}
			d := dialog.NewConfirm(lang.L("Save"), question, func(ok bool) {
				if ok {
					write()
				}
			}, ds.w.win)
			if other != "" {
				d.SetConfirmImportance(widget.DangerImportance)
			}
			ds.open(d, 0, 0)
		}
		ds.w.post(func() {
			if len(there) == 0 {
				write()
				return
			}
			ds.whenFree(replace)
		})
	}()
}
