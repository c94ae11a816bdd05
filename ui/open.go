package ui

import (
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/assets"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/editor"
	"logparser/ui/table"
)

// data is what a translated text is filled with.
type data = map[string]any

// typedAnywhere hands what is typed while nothing has the focus, as after a press
// on the menu bar, to the view that is looked at.
func (w *Window) typedAnywhere(hand func(o fyne.Focusable)) {
	c := w.win.Canvas()
	if w.modal() || !w.ctl.State().Opened {
		return
	}
	w.focusView()
	if o := c.Focused(); o != nil {
		hand(o)
	}
}

func (w *Window) openLog(path string) {
	w.asked = time.Now()
	w.ctl.SetLog(path)
}

func (w *Window) chooseLog() {
	w.picker.File(lang.L("Choose a log"), w.lastLog(), w.openLog)
}

func (w *Window) chooseFolder() {
	w.picker.Folder(lang.L("Open a folder"), w.lastLog(), w.openLog)
}

func (w *Window) chooseModules() {
	w.picker.File(lang.L("Choose the modules file"), w.lastLog(), w.ctl.SetModules)
}

func (w *Window) addSymbols(path string) {
	w.ctl.SetSymbols(append(slices.Clone(w.ctl.State().Wanted.Symbols), path))
}

func (w *Window) addSymbolFolder() {
	w.picker.Folder(lang.L("Add a symbol folder"), w.lastSymbols(), w.addSymbols)
}

func (w *Window) addSymbolFile() {
	w.picker.File(lang.L("Add a symbol file"), w.lastSymbols(), w.addSymbols)
}

// lastLog is where the user is looking for logs.
func (w *Window) lastLog() string {
	if log := w.ctl.State().Wanted.Log; log != "" {
		return log
	}
	if logs, _ := w.pref.recent(); len(logs) > 0 {
		return logs[0]
	}
	return ""
}

func (w *Window) lastSymbols() string {
	if s := w.ctl.State().Wanted.Symbols; len(s) > 0 {
		return s[len(s)-1]
	}
	return w.lastLog()
}

func (w *Window) openRecent(path string) {
	paths := []string{path}
	logs, modules := w.pref.recent()
	if i := slices.Index(logs, path); i >= 0 && modules[i] != "" {
		paths = append(paths, modules[i])
	}
	w.Open(paths)
}

// OpenSample copies the sample log out of the program and opens it.
func (w *Window) OpenSample() {
	go func() {
		dir, err := assets.ExtractSample()
		w.post(func() {
			if err != nil {
				w.ctl.Say(&control.Message{Level: control.LevelBad, Text: lang.L("The sample cannot be opened: {{.Cause}}", data{"Cause": control.ErrorText(err)}), Details: control.ErrorText(err)})
				return
			}
			w.whenFree(func() { w.Open([]string{dir}) })
		})
	}()
}

// offer starts the remedy of a message.
func (w *Window) offer(o control.Offer) {
	switch o {
	case control.OfferLog:
		w.chooseLog()
	case control.OfferModules:
		w.chooseModules()
	case control.OfferSymbols:
		w.addSymbolFolder()
	case control.OfferPath:
		w.editSymbols()
	case control.OfferSave:
		w.save()
	case control.OfferColumns:
		if m := w.ctl.State().Message; m != nil && m.Columns != nil {
			w.askColumns(m.Columns)
		}
	case control.OfferReload:
		w.ctl.Reload()
	case control.OfferShowAll:
		w.showAllAt(w.hiddenRow)
	}
}

// copyRows puts the selected rows on the clipboard.
func (w *Window) copyRows() {
	first, last, ok := w.grid.Selection()
	if !ok {
		return
	}
	format := w.format
	w.ctl.Copy(first, last, func(dst []byte, r *rows.Row) []byte { return table.AppendLine(dst, r, format) },
		w.app.Clipboard().SetContent)
}

// copy is Ctrl+C: of the text that has the focus, or of the rows.
func (w *Window) copy() {
	if f, ok := w.win.Canvas().Focused().(fyne.Shortcutable); ok && f != fyne.Shortcutable(w.grid) {
		f.TypedShortcut(&fyne.ShortcutCopy{Clipboard: w.app.Clipboard()})
		return
	}
	if w.modal() {
		return
	}
	w.copyRows()
}

// openSource opens a row's source line in the user's editor.
func (w *Window) openSource(row int64) {
	r, ok := w.rowAt(row)
	if !ok {
		return
	}
	if r.Source == "" {
		w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("No source line is known for this row."),
			Next: lang.L("Lines come from .pdb files and DWARF; the modules panel says what was found."), Offer: control.OfferSymbols})
		return
	}
	mappings, template, none := w.pref.mappings(), w.pref.editor(), w.ctl.State().Wanted.NoRecordedPaths
	go func() {
		args, err := sourceCommand(r.Source, r.Line, mappings, template, none)
		if err == nil {
			err = editor.Start(args)
		}
		w.post(func() {
			if err != nil {
				w.ctl.Say(&control.Message{Level: control.LevelWarn,
					Text:    lang.L("Cannot open {{.Name}}: {{.Cause}}", data{"Name": r.Source, "Cause": control.ErrorText(err)}),
					Next:    lang.L("Say in the settings where this machine has the sources, and which editor to use."),
					Details: control.ErrorText(err)})
				return
			}
			w.trace("editor " + strings.Join(args, " "))
		})
	}()
}

// sourceCommand returns the command that opens the file that a recorded path
// stands for.
func sourceCommand(recorded string, line int, mappings []app.SourceMapping, template string, none bool) ([]string, error) {
	file, err := sourceFile(recorded, mappings, none)
	if err != nil {
		return nil, err
	}
	return editor.Command(template, file, line)
}
