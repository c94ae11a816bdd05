package ui

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/message"
	"logparser/ui/control"
	"logparser/ui/editor"
	"logparser/ui/filetypes"
	"logparser/ui/hint"
	"logparser/ui/inputs"
)

// errForbidden says that the user wants no path out of a file to be opened.
var errForbidden = message.New("opening paths that come out of files is switched off")

// showText shows a longer text that can be copied.
func (ds *dialogs) showText(title, text string) {
	label := widget.NewLabel(strings.TrimSpace(text))
	label.Wrapping = fyne.TextWrapBreak
	label.Selectable = true
	copyAll := widget.NewButtonWithIcon(lang.L("Copy"), theme.ContentCopyIcon(), func() { ds.w.app.Clipboard().SetContent(text) })
	d := dialog.NewCustom(title, lang.L("Close"),
		container.NewBorder(nil, container.NewHBox(layout.NewSpacer(), copyAll), nil, nil, container.NewVScroll(label)), ds.w.win)
	ds.open(d, 680, 380)
}

// showLogDetails says what is known of the log.
func (ds *dialogs) showLogDetails() {
	s := ds.w.front.ctl.State()
	if !s.Opened {
		return
	}
	lines := append([]string{s.Found.Log, s.Found.Modules}, s.Facts.Details...)
	ds.showText(lang.L("About the log"), strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n"))
}

func (ds *dialogs) showAbout() {
	ds.showText("LogParser "+app.Version, lang.L("Reads the binary log of an instrumented program: which functions were called, when, and on which thread.")+
		"\n\n"+lang.L("The command logparse does the same without a window.")+
		"\n\nFyne, "+runtime.Version()+", "+runtime.GOOS+"/"+runtime.GOARCH+
		"\n"+lang.L("Chinese characters: a subset of Noto Sans CJK SC, SIL Open Font License 1.1."))
}

// editSymbols edits the symbol search path, a line each.
func (ds *dialogs) editSymbols() {
	text := ds.newEntry()
	text.MultiLine = true
	text.SetText(strings.Join(ds.w.front.ctl.State().Wanted.Symbols, "\n"))
	text.SetPlaceHolder(lang.L("One folder or file a line; the first that fits is taken"))
	text.Wrapping = fyne.TextWrapOff
	add := func(path string) { text.SetText(strings.TrimLeft(strings.TrimRight(text.Text, "\n")+"\n"+path, "\n")) }
	buttons := container.NewHBox(
		widget.NewButtonWithIcon(lang.L("Add a symbol folder"), theme.FolderIcon(), func() {
			ds.picker.Folder(lang.L("Add a symbol folder"), ds.w.front.opening.lastSymbols(), add)
		}),
		widget.NewButtonWithIcon(lang.L("Add a symbol file"), theme.FileIcon(), func() {
			ds.picker.File(lang.L("Add a symbol file"), ds.w.front.opening.lastSymbols(), add)
		}))
	d := dialog.NewCustomConfirm(lang.L("Symbol path"), lang.L("OK"), lang.L("Cancel"),
		container.NewBorder(nil, buttons, nil, nil, text), func(ok bool) {
			if ok {
				ds.w.front.ctl.Inputs.SetSymbols(strings.Split(text.Text, "\n"))
			}
		}, ds.w.win)
	ds.open(d, 680, 360)
	ds.w.win.Canvas().Focus(text)
}

// newEntry makes an entry for a dialog, which Escape closes.
func (ds *dialogs) newEntry() *inputs.Entry {
	e := inputs.NewEntry()
	e.OnKey = ds.w.actions.key
	return e
}

// switchNetwork permits asking symbol servers after saying what that means,
// or forbids it.
func (ds *dialogs) switchNetwork(on bool) {
	s := ds.w.front.ctl.State()
	servers := app.Servers(s.Wanted.Symbols)
	switch {
	case on == s.Wanted.Network:
	case !on:
		ds.w.front.ctl.Inputs.SetNetwork(false)
	case len(servers) == 0:
		ds.w.front.strip.Show(s)
		ds.w.front.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("The symbol path names no symbol server, so there is none to ask."),
			Next: lang.L("Add a line such as https://server/symbols or debuginfod:https://server to the symbol path."), Offer: control.OfferPath})
	default:
		folder := s.Wanted.SymbolCache
		if folder == "" {
			folder = app.DefaultSymbolCache()
		}
		text := widget.NewLabel(lang.L("These servers will be asked for the symbols of the modules that rows of the log lie in:") + "\n\n" +
			strings.Join(servers, "\n") + "\n\n" +
			lang.L("They learn the file names and builds of these modules and this machine's address. Nothing else of the log is sent, now or later.") + "\n\n" +
			lang.L("What they give is checked and kept in {{.Folder}}.", data{"Folder": folder}))
		text.Wrapping = fyne.TextWrapWord
		d := dialog.NewCustomConfirm(lang.L("Ask symbol servers"), lang.L("Ask them"), lang.L("Cancel"), container.NewVScroll(text), func(ok bool) {
			if ok {
				ds.w.front.ctl.Inputs.SetNetwork(true)
			}
			ds.w.front.strip.Show(ds.w.front.ctl.State())
		}, ds.w.win)
		ds.open(d, 620, 380)
	}
}

// confirmQuit asks what is to become of a file that is being written.
func (ds *dialogs) confirmQuit() {
	if ds.askingQuit {
		return // the close button was pressed again
	}
	ds.askingQuit = true
	d := dialog.NewConfirm(lang.L("Quit"), lang.L("A file is being saved. Stop that, and leave the old file as it is?"), func(ok bool) {
		ds.askingQuit = false
		if ok {
			// What was written so far has to be removed first.
			ds.quitting = true
			for _, tab := range ds.w.tabs.list {
				tab.ctl.Saving.CancelSave()
			}
			ds.quitWhenIdle()
		}
	}, ds.w.win)
	d.Show()
	ds.track(d)
}

func (ds *dialogs) quitWhenIdle() {
	if ds.quitting && !ds.w.tabs.saving() {
		ds.quitting = false
		ds.w.remember()
		ds.w.win.Close()
	}
}

// showSettings edits what is not at hand elsewhere.
func (ds *dialogs) showSettings() {
	command := widget.NewSelectEntry(editor.Presets)
	command.SetText(ds.w.pref.editor())
	command.SetPlaceHolder(lang.L("As the system opens such files"))
	native := widget.NewCheck(lang.L("Use the system's file dialogs"), nil)
	native.SetChecked(ds.w.pref.nativeDialogs())
	reopen := widget.NewCheck(lang.L("Open the last log again at the start"), nil)
	reopen.SetChecked(ds.w.pref.reopen())
	inTabs := widget.NewCheck(lang.L("Open further logs in tabs of their own"), nil)
	inTabs.SetChecked(ds.w.pref.inTabs())
	none := widget.NewCheck(lang.L("Open no path that comes out of a file"), nil)
	none.SetChecked(ds.w.front.ctl.State().Wanted.NoRecordedPaths)

	files := []fyne.CanvasObject{native, inTabs, reopen, none}
	doubleClick := widget.NewCheck(lang.L("Open traces and packed logs with LogParser by a double click"), nil)
	exe, err := os.Executable()
	doubleClick.SetChecked(filetypes.Registered(exe))
	if filetypes.Possible && err == nil {
		files = append(files, doubleClick)
	}

	cache := ds.newEntry()
	cache.SetText(ds.w.front.ctl.State().Wanted.SymbolCache)
	cache.SetPlaceHolder(app.DefaultSymbolCache())
	chooseCache := hint.NewButton("", theme.FolderIcon(), func() {
		ds.picker.Folder(lang.L("Folder for what symbol servers give"), cache.Text, cache.SetText)
	})
	chooseCache.Hint = func() string { return lang.L("Choose a folder") }
	again := widget.NewButton(lang.L("Ask servers again for what they did not have"), ds.w.front.ctl.Inputs.AskAgain)

	list := container.NewVBox()
	var pairs [][2]*inputs.Entry
	add := func(m app.SourceMapping) {
		from, to := ds.newEntry(), ds.newEntry()
		from.SetText(m.From)
		to.SetText(m.To)
		from.SetPlaceHolder(lang.L("Folder as it was recorded"))
		to.SetPlaceHolder(lang.L("Folder on this machine"))
		choose := hint.NewButton("", theme.FolderIcon(), func() {
			ds.picker.Folder(lang.L("Folder on this machine"), to.Text, to.SetText)
		})
		choose.Hint = func() string { return lang.L("Choose a folder") }
		pair := [2]*inputs.Entry{from, to}
		pairs = append(pairs, pair)
		list.Add(container.NewGridWithColumns(2, from, container.NewBorder(nil, nil, nil, choose, to)))
	}
	for _, m := range ds.w.pref.mappings() {
		add(m)
	}
	add(app.SourceMapping{})
	more := hint.NewButton("", theme.ContentAddIcon(), func() { add(app.SourceMapping{}) })
	more.Hint = func() string { return lang.L("One more folder") }
	more.Importance = widget.LowImportance
	head := func(text string) *widget.Label {
		l := widget.NewLabel(text)
		l.TextStyle.Bold = true
		return l
	}
	replaced := widget.NewLabel(lang.L("{file} and {line} are replaced. An empty command leaves it to the system."))
	replaced.Importance = widget.LowImportance
	content := container.NewVBox(
		head(lang.L("Editor for source lines")), command, replaced,
		head(lang.L("Source folders")), list, container.NewHBox(more),
		head(lang.L("Folder for what symbol servers give")), container.NewBorder(nil, nil, nil, chooseCache, cache), container.NewHBox(again),
		head(lang.L("Files")), container.NewVBox(files...))
	d := dialog.NewCustomConfirm(lang.L("Settings"), lang.L("OK"), lang.L("Cancel"), ds.over(container.NewVScroll(content)), func(ok bool) {
		if !ok {
			return
		}
		var mappings []app.SourceMapping
		for _, p := range pairs {
			mappings = append(mappings, app.SourceMapping{From: strings.TrimSpace(p[0].Text), To: strings.TrimSpace(p[1].Text)})
		}
		ds.w.pref.setMappings(mappings)
		ds.w.pref.setEditor(strings.TrimSpace(command.Text))
		ds.w.pref.setNativeDialogs(native.Checked)
		ds.picker.Native = native.Checked && !ds.w.opt.FyneDialogs
		if filetypes.Possible {
			ds.openByDoubleClick(exe, doubleClick.Checked)
		}
		ds.w.pref.setInTabs(inTabs.Checked)
		ds.w.pref.setReopen(reopen.Checked)
		ds.w.pref.setNoRecordedPaths(none.Checked)
		ds.w.pref.setSymbolCache(strings.TrimSpace(cache.Text))
		for _, tab := range ds.w.tabs.list {
			tab.ctl.Inputs.SetNoRecordedPaths(none.Checked)
			tab.ctl.Inputs.SetSymbolCache(cache.Text)
		}
	}, ds.w.win)
	ds.open(d, 660, 560)
}

// openByDoubleClick lets the system open logs with the program, or takes that back.
func (ds *dialogs) openByDoubleClick(exe string, on bool) {
	if on == filetypes.Registered(exe) {
		return
	}
	change := filetypes.Unregister
	if on {
		change = func() error { return filetypes.Register(exe) }
	}
	if err := change(); err != nil {
		ds.w.front.ctl.Say(&control.Message{Level: control.LevelBad, Text: lang.L("The types of files could not be changed: {{.Cause}}", data{"Cause": control.ErrorText(err)})})
	}
}
