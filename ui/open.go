package ui

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/assets"
	"logparser/ui/control"
	"logparser/ui/startpage"
)

// data is what a translated text is filled with.
type data = map[string]any

// opening lets the user say what to open.
type opening struct{ w *workspace }

// log opens a log in this tab, in the place of another.
func (op *opening) log(path string) {
	op.w.table.asked = time.Now()
	op.w.ctl.Inputs.SetLog(path)
}

// another opens a log, in another tab if this one has one.
func (op *opening) another(path string) { op.w.Open([]string{path}) }

func (op *opening) chooseLog() {
	op.w.dialogs.picker.File(lang.L("Choose a log"), op.lastLog(), op.another)
}

func (op *opening) chooseFolder() {
	op.w.dialogs.picker.Folder(lang.L("Open a folder"), op.lastLog(), op.another)
}

func (op *opening) chooseModules() {
	op.w.dialogs.picker.File(lang.L("Choose the modules file"), op.lastLog(), op.w.ctl.Inputs.SetModules)
}

func (op *opening) addSymbols(path string) {
	op.w.ctl.Inputs.SetSymbols(append(slices.Clone(op.w.ctl.State().Wanted.Symbols), path))
}

func (op *opening) addSymbolFolder() {
	op.w.dialogs.picker.Folder(lang.L("Add a symbol folder"), op.lastSymbols(), op.addSymbols)
}

func (op *opening) addSymbolFile() {
	op.w.dialogs.picker.File(lang.L("Add a symbol file"), op.lastSymbols(), op.addSymbols)
}

// lastLog is where the user is looking for logs.
func (op *opening) lastLog() string {
	if log := op.w.ctl.State().Wanted.Log; log != "" {
		return log
	}
	if logs, _ := op.w.pref.recent(); len(logs) > 0 {
		return logs[0]
	}
	return ""
}

func (op *opening) lastSymbols() string {
	if s := op.w.ctl.State().Wanted.Symbols; len(s) > 0 {
		return s[len(s)-1]
	}
	return op.lastLog()
}

func (op *opening) recent(path string) {
	paths := []string{path}
	logs, modules := op.w.pref.recent()
	if i := slices.Index(logs, path); i >= 0 && modules[i] != "" {
		paths = append(paths, modules[i])
	}
	op.w.Open(paths)
}

// OpenSample copies the sample log out of the program and opens it.
func (w *Window) OpenSample() {
	go func() {
		dir, err := assets.ExtractSample()
		w.post(func() {
			if err != nil {
				w.front.ctl.Say(&control.Message{Level: control.LevelBad, Text: lang.L("The sample cannot be opened: {{.Cause}}", data{"Cause": control.ErrorText(err)}), Details: control.ErrorText(err)})
				return
			}
			w.dialogs.whenFree(func() { w.Open([]string{dir}) })
		})
	}()
}

// offer starts the remedy of a message.
func (op *opening) offer(o control.Offer) {
	switch o {
	case control.OfferLog:
		op.chooseLog()
	case control.OfferModules:
		op.chooseModules()
	case control.OfferSymbols:
		op.addSymbolFolder()
	case control.OfferPath:
		op.w.dialogs.editSymbols()
	case control.OfferSave:
		op.w.dialogs.save()
	case control.OfferColumns:
		if m := op.w.ctl.State().Message; m != nil && m.Columns != nil {
			op.w.dialogs.askColumns(m.Columns)
		}
	case control.OfferLogs:
		if m := op.w.ctl.State().Message; m != nil {
			op.chooseAmong(m.Logs)
		}
	case control.OfferProcesses:
		if m := op.w.ctl.State().Message; m != nil && len(m.Logs) > 0 {
			dir := m.Logs[0]
			op.w.ctl.Dismiss()
			op.another(dir)
		}
	case control.OfferCrash:
		op.w.views.show(viewCrash)
		op.w.ctl.Dismiss()
	case control.OfferReload:
		op.w.ctl.Reload()
	case control.OfferShowAll:
		op.w.nav.showAllAt(op.w.nav.hidden)
	}
}

// showRecent looks at the disk in the background.
func (op *opening) showRecent() {
	logs, _ := op.w.pref.recent()
	if len(logs) == 0 {
		op.w.start.Show(nil)
		return
	}
	go func() {
		list := startpage.Look(logs)
		op.w.post(func() { op.w.start.Show(list) })
	}()
}

func (op *opening) forget(path string) {
	op.w.pref.forget(path)
	op.showRecent()
	op.w.actions.show()
}

// reopen opens the log that was shown when the window was closed last, if the
// user wants that.
func (op *opening) reopen() {
	if log := op.w.pref.lastLog(); log != "" && op.w.pref.reopen() {
		op.recent(log)
	}
}

// maxAmong is how many logs of a folder a menu lists.
const maxAmong = 30

// chooseAmong shows a menu of the logs of a folder below the message that offers it.
func (op *opening) chooseAmong(logs []string) {
	bar := op.w.notice.Content
	at := op.w.app.Driver().AbsolutePositionForObject(bar)
	op.w.actions.popUp(op.among(logs), at.AddXY(bar.Size().Width/2, bar.Size().Height))
}

// among are menu items that open logs, each with the time when it was written last.
func (op *opening) among(logs []string) []*fyne.MenuItem {
	var items []*fyne.MenuItem
	for _, path := range logs[:min(len(logs), maxAmong)] {
		label := filepath.Base(path)
		if info, err := os.Stat(path); err == nil {
			label += "  \u2013  " + info.ModTime().Format(time.DateTime)
		}
		items = append(items, item(label, func() { op.log(path) }))
	}
	return items
}
