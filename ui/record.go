package ui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/hint"
	"logparser/ui/inputs"
)

// recording lets the user record a program, whose log is followed in a tab.
type recording struct {
	w        *Window
	recorder *control.Recorder
	last     control.RecordRequest // what was recorded last
	form     *recordForm           // the one that is open, nil for none

	tab *workspace // that shows the log, nil for none yet
	// waiting: the log is to be shown as soon as no dialog is open; end is what is to be said then.
	waiting bool
	end     *control.Message

	asking, leaving bool // whether to quit while a program runs; the answer was yes
}

func newRecording(w *Window) recording {
	r := recording{w: w, recorder: control.NewRecorder(w.post)}
	// The window's own is meant, not what is returned here.
	r.recorder.OnChange = func() { w.recording.changed() }
	r.recorder.OnLog = func(path, symbols string, live bool) { w.recording.log(path, symbols, live) }
	r.recorder.OnEnd = func(m *control.Message) { w.recording.ended(m) }
	return r
}

func (r *recording) busy() bool { return r.recorder.State().Busy }

// changed shows what is recorded in all tabs.
func (r *recording) changed() {
	s := r.recorder.State()
	for _, tab := range r.w.tabs.list {
		tab.status.showRecording(s)
	}
	r.w.actions.show()
	if s.Running {
		r.w.trace("recording " + s.Name)
	}
}

// log shows the log of the program, in the tab in front if there is none in it.
func (r *recording) log(path, symbols string, live bool) {
	r.waiting = true
	r.w.dialogs.whenFree(func() {
		r.waiting = false
		tab := r.w.front
		if !tab.empty() && r.w.pref.inTabs() {
			tab = r.w.tabs.add(nil)
		}
		r.tab = tab
		tab.table.asked = time.Now()
		if symbols != "" {
			tab.opening.addSymbols(symbols)
		}
		if live {
			tab.ctl.Inputs.SetLive(path)
		} else {
			tab.ctl.Inputs.SetLog(path)
		}
		if m := r.end; m != nil {
			r.ended(m)
		}
	})
}

// ended says how the program ended, or why it was not started.
func (r *recording) ended(m *control.Message) {
	if r.waiting {
		r.end = m
		return
	}
	tab := r.tab
	if !slices.Contains(r.w.tabs.list, tab) {
		tab = r.w.front
	}
	r.end = nil
	if !r.busy() {
		r.tab = nil
	}
	tab.ctl.Following.SayLast(m)
	r.w.trace("recorded " + m.Text)
}

// ask asks whether to quit while a program runs, and reports whether the window is to stay for now.
func (r *recording) ask() bool {
	if !r.busy() || r.leaving {
		return false
	}
	if r.asking {
		return true // the close button was pressed again
	}
	r.asking = true
	d := dialog.NewConfirm(lang.L("Quit"), lang.L("{{.Name}} is being recorded. It goes on without the window, but its log will not say how it ended. Quit?",
		data{"Name": r.recorder.State().Name}), func(ok bool) {
		r.asking = false
		if ok {
			r.leaving = true
			r.w.close()
		}
	}, r.w.win)
	d.Show()
	r.w.dialogs.track(d)
	return true
}

// A recordForm asks which program is to be recorded, and how.
type recordForm struct {
	r                                        *recording
	program, arguments, work, folder, except *inputs.Entry
	light                                    *inputs.Light
	way                                      *widget.Label
	start                                    *hint.Button
	dialog                                   *dialog.CustomDialog
	ready                                    bool
	changes                                  int
}

// show asks for a program.
func (r *recording) show() {
	f := newRecordForm(r)
	r.form = f
	r.w.dialogs.open(f.dialog, 760, 480)
	r.w.win.Canvas().Focus(f.program)
	f.look()
}

func newRecordForm(r *recording) *recordForm {
	w := r.w
	f := &recordForm{r: r, light: inputs.NewLight(), way: widget.NewLabel("")}
	entry := func(text, empty, about string) *inputs.Entry {
		e := w.dialogs.newEntry()
		e.SetText(text)
		e.SetPlaceHolder(empty)
		e.Hint = func() string { return about }
		e.OnChanged = func(string) { f.changed() }
		e.OnSubmitted = func(string) { f.submit() }
		return e
	}
	here, _ := os.Getwd()
	f.program = entry(r.last.Program, "", lang.L("A path, or a name that is looked for in PATH."))
	f.arguments = entry(r.last.Arguments, "", lang.L("With quotes and backslashes as in a shell; nothing is expanded."))
	f.work = entry(r.last.WorkDir, here, lang.L("The folder in which the program is started."))
	f.folder = entry(r.last.Dir, lang.L("NAME.rec in the working folder"), lang.L("Each process writes its log there. It is made, or must be empty."))
	f.except = entry(r.last.Exclude, "std::*, log_*", lang.L("Patterns of functions that are not recorded: [MODULE!]FUNCTION with * and ?, and commas between."))
	choose := func(about string, do func()) *hint.Button {
		b := hint.NewButton(lang.L("Choose"), theme.FolderOpenIcon(), do)
		b.Hint = func() string { return about }
		return b
	}
	beside := func(e *inputs.Entry, b *hint.Button) fyne.CanvasObject {
		return container.NewBorder(nil, nil, nil, b, e)
	}
	f.way.Wrapping = fyne.TextWrapWord
	f.way.Selectable = true
	output := widget.NewLabel(lang.L("What the program prints goes where this window's own output goes: to the terminal or the journal that it was started from. Its input comes from there, too."))
	output.Wrapping = fyne.TextWrapWord
	output.Importance = widget.LowImportance
	form := widget.NewForm(
		widget.NewFormItem(lang.L("Program"), beside(f.program, choose(lang.L("Choose a program"), func() {
			w.dialogs.picker.File(lang.L("Choose a program"), f.program.Text, f.chosen)
		}))),
		widget.NewFormItem(lang.L("Arguments"), f.arguments),
		widget.NewFormItem(lang.L("Working folder"), beside(f.work, choose(lang.L("Working folder"), func() {
			w.dialogs.picker.Folder(lang.L("Working folder"), filepath.Join(f.request().WorkDir, "x"), f.work.SetText)
		}))),
		widget.NewFormItem(lang.L("Folder for the log"), f.folder),
		widget.NewFormItem(lang.L("Leave out"), f.except),
		widget.NewFormItem(lang.L("Way in"), container.NewBorder(nil, nil, container.NewCenter(f.light), nil, f.way)),
	)
	cancel := hint.NewButton(lang.L("Cancel"), nil, func() { f.dialog.Hide() })
	f.start = hint.NewButton(lang.L("Start"), theme.MediaRecordIcon(), f.submit)
	f.start.Importance = widget.HighImportance
	f.start.Hint = func() string { return lang.L("Runs it with the recorder, and shows its calls while they happen.") }
	f.start.Disable()
	f.dialog = dialog.NewCustomWithoutButtons(lang.L("Record a program"), container.NewVScroll(container.NewVBox(form, output)), w.win)
	f.dialog.SetButtons([]fyne.CanvasObject{cancel, f.start})
	return f
}

// chosen takes a program from a file dialog; without another folder it is started from its own.
func (f *recordForm) chosen(path string) {
	if strings.TrimSpace(f.work.Text) == "" {
		f.work.SetText(filepath.Dir(path))
	}
	f.program.SetText(path)
}

func (f *recordForm) request() control.RecordRequest {
	return control.RecordRequest{Program: f.program.Text, Arguments: f.arguments.Text, WorkDir: f.work.Text, Dir: f.folder.Text, Exclude: f.except.Text}
}

// lookAfter is how long nothing must have been typed before a program is looked at.
const lookAfter = 200 * time.Millisecond

// changed looks at the program a little later, once for what is typed at a time.
func (f *recordForm) changed() {
	f.changes++
	number := f.changes
	f.r.w.later(lookAfter, func() {
		if number == f.changes && f.r.form == f {
			f.look()
		}
	})
}

// look shows how the program would be recorded.
func (f *recordForm) look() {
	asked := f.request()
	f.r.recorder.Look(asked, func(way control.WayIn) {
		// What is typed meanwhile is looked at, too.
		if f.r.form == f && asked == f.request() {
			f.show(way)
		}
	})
}

func (f *recordForm) show(way control.WayIn) {
	f.ready = way.Ready
	f.light.Set(way.Level)
	f.way.SetText(strings.Join(append([]string{way.Text}, way.Advice...), "\n"))
	if f.ready {
		f.start.Enable()
	} else {
		f.start.Disable()
	}
	f.r.w.trace("way in " + way.Text)
}

// submit starts the program.
func (f *recordForm) submit() {
	if !f.ready || f.r.form != f {
		return
	}
	q := f.request()
	f.r.tab = nil
	if err := f.r.recorder.Start(q); err != nil {
		f.show(control.WayIn{InputState: control.InputState{Level: control.LevelBad, Text: control.ErrorText(err)}})
		return
	}
	f.r.last, f.r.form = q, nil
	f.dialog.Hide()
}
