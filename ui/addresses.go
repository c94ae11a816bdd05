package ui

import (
	"os"
	"strings"
	"time"

	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/addressview"
	"logparser/ui/control"
	"logparser/ui/editor"
	"logparser/ui/look"
	"logparser/ui/sidepanel"
)

// addresses shows texts with addresses: backtraces, reports of crashes, lines of other logs.
type addresses struct {
	w    *workspace
	view *addressview.View // the one that was opened last, nil before
	// asked numbers the source lines that are asked for; answers to another are late.
	asked int
}

// chooseFile asks for a file and shows it.
func (a *addresses) chooseFile() {
	a.w.dialogs.picker.File(lang.L("Open a text with addresses"), a.w.opening.lastLog(), func(path string) { a.show(path, "") })
}

// paste shows what is in the clipboard.
func (a *addresses) paste() {
	text := a.w.app.Clipboard().Content()
	if text == "" {
		a.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("There is no text in the clipboard.")})
		return
	}
	a.show("", text)
}

// show opens the dialog, and names the addresses in the background.
func (a *addresses) show(file, text string) {
	v := addressview.New(look.Fonts(), a.w.theme.Palette(a.w.app.Settings().ThemeVariant()), a.w.post)
	a.view = v
	v.OnCopy = a.w.app.Clipboard().SetContent
	v.OnChosen = a.chosen
	v.OnOpen = a.w.openPlace
	v.OnReload = func() { a.name(v, file, text) }
	title := lang.L("Text with addresses")
	if file != "" {
		title = rows.Visible(shortPath(file))
	}
	a.w.dialogs.open(dialog.NewCustom(title, lang.L("Close"), v.Content, a.w.win), 1200, 720)
	a.w.win.Canvas().Focus(v.Lines.Grid)
	a.name(v, file, text)
}

// name names the addresses of what a view shows, and looks from then on whether its file changes.
func (a *addresses) name(v *addressview.View, file, text string) {
	v.Say(lang.L("Naming addresses"))
	if file == "" {
		a.read(v, "", text)
		return
	}
	go func() {
		was := stateOf(file) // before it is read, so that no change is missed; it may take long
		a.w.post(func() {
			if a.view == v {
				a.watch(v, file, was)
				a.read(v, file, "")
			}
		})
	}()
}

// read shows the named addresses of a text.
func (a *addresses) read(v *addressview.View, file, text string) {
	a.w.ctl.NameAddresses(file, text, func(named *app.NamedText, err error) {
		if err != nil {
			v.Say(control.ErrorText(err))
			return
		}
		v.Show(named)
		a.w.trace("addresses " + control.Thousands(int64(len(named.Lines))))
	})
}

// lookAgain is the time between two looks at the file of a text that is shown.
const lookAgain = time.Second

// A fileState tells whether a file has changed.
type fileState struct {
	size    int64
	written time.Time
}

func stateOf(path string) fileState {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{size: -1}
	}
	return fileState{info.Size(), info.ModTime()}
}

// watch says once that the file of a text has changed, as long as the text is shown.
func (a *addresses) watch(v *addressview.View, file string, was fileState) {
	time.AfterFunc(lookAgain, func() {
		now := stateOf(file)
		a.w.calm(func() {
			switch {
			case a.view != v || !v.Shown():
			case now == was || now.size < 0:
				a.watch(v, file, was)
			default:
				v.Changed()
				a.w.trace("text changed")
			}
		})
	})
}

// chosen shows the source around what was chosen.
func (a *addresses) chosen(file string, line int) {
	a.asked++
	number, v := a.asked, a.view
	a.w.readPlace(file, line, func(s sidepanel.Source) {
		if a.asked == number && a.view == v {
			v.ShowSource(s.Head, s.Remark, s.First, s.Line, s.Lines)
			a.w.trace("source " + control.Thousands(int64(len(s.Lines))))
		}
	})
}

// readPlace reads the source lines around one that a symbol file names, in the background.
func (w *workspace) readPlace(recorded string, line int, done func(s sidepanel.Source)) {
	mappings, none := w.pref.mappings(), w.ctl.State().Wanted.NoRecordedPaths
	find := w.ctl.SourceFinder()
	go func() {
		var s sidepanel.Source
		file, err := sourceFile(find, recorded, mappings, none)
		if err == nil {
			s, err = readLines(file, line)
		}
		w.post(func() {
			s.Head = shortPath(rows.CutSourceTag(recorded))
			if err != nil {
				s.Remark = lang.L("The source is not found here. Say in the settings where this machine has it.")
			}
			done(s)
		})
	}()
}

// openPlace opens a source line that a symbol file names in the user's editor.
func (w *workspace) openPlace(recorded string, line int) {
	mappings, template, none := w.pref.mappings(), w.pref.editor(), w.ctl.State().Wanted.NoRecordedPaths
	find := w.ctl.SourceFinder()
	go func() {
		args, err := sourceCommand(find, recorded, line, mappings, template, none)
		if err == nil {
			err = editor.Start(args)
		}
		w.post(func() {
			if err != nil {
				w.ctl.Say(&control.Message{Level: control.LevelWarn,
					Text:    lang.L("Cannot open {{.Name}}: {{.Cause}}", data{"Name": recorded, "Cause": control.ErrorText(err)}),
					Next:    lang.L("Say in the settings where this machine has the sources, and which editor to use."),
					Details: control.ErrorText(err)})
				return
			}
			w.trace("editor " + strings.Join(args, " "))
		})
	}()
}
