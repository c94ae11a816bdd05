package ui

import (
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/ui/language"
	"logparser/ui/look"
	"logparser/ui/shortname"
	"logparser/ui/table"
)

// actionMenus returns all actions in the present language, as the menu bar has
// them.
func (as *actions) actionMenus() []actionMenu {
	return []actionMenu{
		{lang.L("File"), as.fileActions()},
		{lang.L("Edit"), as.editActions()},
		{lang.L("Go"), as.goActions()},
		{lang.L("Filter"), as.filterActions()},
		{lang.L("View"), as.viewActions()},
		{lang.L("Views"), as.w.front.views.actions()},
		{lang.L("Help"), as.helpActions()},
	}
}

// opened reports whether there is a log to do something with.
func (w *workspace) opened() bool { return w.ctl.State().Opened }

func (as *actions) fileActions() []*action {
	w := as.w.front
	return []*action{
		{name: "new-tab", title: lang.L("New tab"), tip: lang.L("For another log beside those that are open."), keys: []stroke{ctrl(fyne.KeyT)}, do: w.tabs.addEmpty},
		{name: "open-log", title: lang.L("Open a log"), keys: []stroke{ctrl(fyne.KeyO)}, do: w.opening.chooseLog},
		{name: "open-folder", title: lang.L("Open a folder"), tip: lang.L("Opens the log that lies in it."), do: w.opening.chooseFolder},
		{name: "choose-modules-file", title: lang.L("Choose the modules file"),
			tip: lang.L("It says which modules were loaded where; it is looked for beside the log."), do: w.opening.chooseModules},
		nil,
		{name: "add-symbol-folder", title: lang.L("Add a symbol folder"), keys: []stroke{ctrl(fyne.KeyD)}, do: w.opening.addSymbolFolder},
		{name: "add-symbol-file", title: lang.L("Add a symbol file"), do: w.opening.addSymbolFile},
		{name: "edit-symbol-path", title: lang.L("Edit the symbol path"), do: w.dialogs.editSymbols},
		nil,
		{name: "open-text", title: lang.L("Open a text with addresses"), tip: lang.L("A backtrace, a report of a crash: what its addresses stand for."), do: w.addresses.chooseFile},
		{name: "paste-text", title: lang.L("Paste a text with addresses"), tip: lang.L("The same with what is in the clipboard."),
			keys: []stroke{ctrlShift(fyne.KeyV)}, do: w.addresses.paste},
		nil,
		{name: "record", title: lang.L("Record a program"), tip: lang.L("Runs it with the recorder, and shows its calls while they happen."),
			keys: []stroke{ctrlShift(fyne.KeyR)}, enabled: func() bool { return !w.recording.busy() }, do: w.recording.show},
		{name: "stop-program", title: lang.L("Stop the recorded program"), tip: lang.L("Asks it to end; a second time it is ended by force."),
			keys: []stroke{ctrlShift(fyne.KeyX)}, enabled: w.recording.busy, do: w.recording.recorder.Stop},
		nil,
		{name: "open-recent", title: lang.L("Opened lately"), choices: as.recentActions},
		{name: "open-sample", title: lang.L("Open the sample"), tip: lang.L("A small log that comes with LogParser."), do: w.OpenSample},
		nil,
		{name: "save", title: lang.L("Save"), tip: lang.L("Saves all rows or those shown, in one of several formats."),
			keys: []stroke{ctrl(fyne.KeyS)}, enabled: func() bool { return w.opened() && !w.ctl.Saving.Busy() }, do: w.dialogs.save},
		{name: "reload", title: lang.L("Reload"), tip: lang.L("Reads everything again from the files."),
			keys: []stroke{alone(fyne.KeyF5)}, enabled: func() bool { return w.ctl.State().Wanted.Log != "" }, do: w.ctl.Reload},
		{name: "close-log", title: lang.L("Close the log"), tip: lang.L("And its tab, if there are others."), keys: []stroke{ctrl(fyne.KeyW)},
			// A log that could not be opened is closed, too: its name goes.
			enabled: func() bool { return w.opened() || w.ctl.State().Wanted.Log != "" || len(w.tabs.list) > 1 },
			do:      func() { w.tabs.close(w) }},
		nil,
		{name: "quit", title: lang.L("Quit"), keys: []stroke{ctrl(fyne.KeyQ)}, do: w.close},
	}
}

func (as *actions) editActions() []*action {
	w := as.w.front
	marked := func() bool { return len(w.bookmarks.list) > 0 }
	return []*action{
		// What is selected in a dialog can be copied, too.
		{name: "copy", title: lang.L("Copy rows"), keys: []stroke{ctrl(fyne.KeyC)}, do: w.table.copy, overDialogs: true},
		{name: "copy-markdown", title: lang.L("Copy rows as Markdown"), tip: lang.L("A table for an issue or a wiki."), enabled: w.table.onRow, do: func() { w.table.copyAs(&table.Markdown) }},
		{name: "copy-html", title: lang.L("Copy rows as HTML"), enabled: w.table.onRow, do: func() { w.table.copyAs(&table.HTML) }},
		{name: "select-all", title: lang.L("Select all rows"), keys: []stroke{{key: fyne.KeyA, modifier: fyne.KeyModifierShortcutDefault, inTable: true}},
			enabled: w.opened, do: w.table.grid.SelectAll},
		nil,
		{name: "find", title: lang.L("Find"), tip: lang.L("Looks for a text in the rows, and hides none."),
			keys: []stroke{ctrl(fyne.KeyF), char('/')}, enabled: w.opened, do: w.finding.focus},
		{name: "find-next", title: lang.L("Find next"), keys: []stroke{alone(fyne.KeyF3), char('n')}, enabled: w.opened, do: func() { w.finding.next(false) }},
		{name: "find-previous", title: lang.L("Find previous"), keys: []stroke{shifted(fyne.KeyF3), char('N')}, enabled: w.opened, do: func() { w.finding.next(true) }},
		nil,
		{name: "bookmark", title: lang.L("Set or remove a bookmark"), keys: []stroke{ctrl(fyne.KeyB)}, enabled: w.table.onRow, do: w.bookmarks.toggle},
		{name: "bookmark-note", title: lang.L("Bookmark with a note"), keys: []stroke{ctrlShift(fyne.KeyB)}, enabled: w.table.onRow,
			do: func() { w.bookmarks.askNote(w.table.currentRow()) }},
		{name: "next-bookmark", title: lang.L("Next bookmark"), keys: []stroke{alone(fyne.KeyF2)}, enabled: marked, do: func() { w.bookmarks.goTo(false) }},
		{name: "previous-bookmark", title: lang.L("Previous bookmark"), keys: []stroke{shifted(fyne.KeyF2)}, enabled: marked, do: func() { w.bookmarks.goTo(true) }},
		nil,
		{name: "settings", title: lang.L("Settings"), tip: lang.L("Editor, source folders, file dialogs, what symbol servers gave."),
			keys: []stroke{ctrl(fyne.KeyComma)}, do: w.dialogs.showSettings},
	}
}

func (as *actions) goActions() []*action {
	w := as.w.front
	return []*action{
		{name: "go-to-row", title: lang.L("Go to a row or a time"), keys: []stroke{ctrl(fyne.KeyG)}, enabled: w.opened, do: w.nav.askPlace},
		{name: "go-to-other-half", title: lang.L("Go to the other half of the call"), tip: lang.L("From the enter of a call to its leave, or back."),
			keys: []stroke{ctrl(fyne.KeyM), char('m')}, enabled: w.table.onRow, do: w.nav.goToPartner},
		{name: "go-to-caller", title: lang.L("Go to the caller"), keys: []stroke{ctrl(fyne.KeyU), char('u')}, enabled: w.table.onRow, do: w.nav.goToCaller},
		{name: "next-call", title: lang.L("Next call of the same function"), keys: []stroke{alone(fyne.KeyF4), char(']')}, enabled: w.table.onRow,
			do: func() { w.nav.goToNextCall(false) }},
		{name: "previous-call", title: lang.L("Previous call of the same function"), keys: []stroke{shifted(fyne.KeyF4), char('[')}, enabled: w.table.onRow,
			do: func() { w.nav.goToNextCall(true) }},
		{name: "go-to-slowest-call", title: lang.L("Slowest call of the same function"), tip: lang.L("Of the rows that are shown."), keys: []stroke{char('l')},
			enabled: w.table.onRow, do: w.nav.goToSlowestCall},
		{name: "open-source", title: lang.L("Open the source line"), tip: lang.L("In the editor that the settings name."),
			keys: []stroke{{key: fyne.KeyReturn, inTable: true}}, enabled: w.table.onRow, do: func() { w.side.openSource(w.table.grid.Current()) }},
		nil,
		{name: "back", title: lang.L("Back"), tip: lang.L("To the row that the last jump came from."), keys: []stroke{alt(fyne.KeyLeft)}, enabled: w.opened,
			do: func() { w.nav.goBack(false) }},
		{name: "forward", title: lang.L("Forward"), keys: []stroke{alt(fyne.KeyRight)}, enabled: w.opened, do: func() { w.nav.goBack(true) }},
	}
}

func (as *actions) filterActions() []*action {
	w := as.w.front
	folded := func() bool { return len(w.ctl.State().Selection.Folded) > 0 }
	return []*action{
		{name: "filter", title: lang.L("Filter the rows"), tip: lang.L("Hides the rows that an expression does not fit."),
			keys: []stroke{ctrl(fyne.KeyL)}, enabled: w.opened, do: w.filters.focus},
		{name: "toggle-filters", title: lang.L("All filters off or on"), keys: []stroke{ctrlShift(fyne.KeyL)}, enabled: w.opened, do: w.filters.toggle},
		{name: "filters", title: lang.L("Saved and recent filters"), choices: as.knownFilters},
		{name: "save-filter", title: lang.L("Save this filter"), enabled: func() bool { return w.ctl.State().Selection.Where != "" }, do: w.filters.save},
		{name: "highlight-rules", title: lang.L("Highlight rules"), tip: lang.L("Colours for the rows that expressions fit, kept for all logs."),
			do: func() { w.dialogs.editColourings("") }},
		nil,
		{name: "fold", title: lang.L("Fold or unfold the call"), keys: []stroke{char(' ')}, enabled: w.table.onRow, do: func() { w.folding.fold(w.table.grid.Current()) }},
		{name: "fold-function", title: lang.L("Fold all calls of this function"), enabled: w.table.onRow, do: func() { w.table.withCurrent(w.folding.foldFunction) }},
		{name: "fold-depth", title: lang.L("Fold all calls at this depth"), enabled: w.table.onRow, do: func() { w.table.withCurrent(w.folding.foldDepth) }},
		{name: "unfold-all", title: lang.L("Unfold all calls"), keys: []stroke{ctrlShift(fyne.KeyU)}, enabled: folded, do: func() { w.ctl.Filter.Unfold() }},
		nil,
		{name: "collapse-repeats", title: lang.L("Collapse repeats"), tip: lang.L("Of calls that follow each other alike, only the first is shown, with their number."),
			keys: []stroke{ctrl(fyne.KeyR)}, enabled: w.opened, checked: func() bool { return w.ctl.State().Selection.Repeats }, do: w.filters.toggleRepeats},
	}
}

func (as *actions) viewActions() []*action {
	w := as.w.front
	several := func() bool { return len(w.tabs.list) > 1 }
	corrected := func() bool { return w.ctl.State().Wanted.Corrected }
	return []*action{
		{name: "follow", title: lang.L("Follow the log"), tip: lang.L("Shows what is still being written, as it comes."),
			keys: []stroke{ctrlShift(fyne.KeyF), char('f')}, enabled: w.opened, checked: func() bool { return w.ctl.State().Follow.On }, do: w.toggleFollow},
		nil,
		{name: "next-tab", title: lang.L("Next tab"), keys: []stroke{{key: fyne.KeyTab, modifier: fyne.KeyModifierControl}, {key: fyne.KeyPageDown, modifier: fyne.KeyModifierControl}},
			enabled: several, do: func() { w.tabs.step(1) }},
		{name: "previous-tab", title: lang.L("Previous tab"),
			keys:    []stroke{{key: fyne.KeyTab, modifier: fyne.KeyModifierControl | fyne.KeyModifierShift}, {key: fyne.KeyPageUp, modifier: fyne.KeyModifierControl}},
			enabled: several, do: func() { w.tabs.step(-1) }},
		nil,
		{name: "inputs", title: lang.L("Log, modules file and symbol path"), keys: []stroke{alone(fyne.KeyF9)}, checked: w.pref.inputsShown, do: w.toggleInputs},
		{name: "panel", title: lang.L("Panel beside the table"), checked: w.pref.panelShown, do: w.side.toggle},
		{name: "call-panel", title: lang.L("Call stack, row and source"), keys: []stroke{alone(fyne.KeyF8)},
			checked: func() bool { return w.side.tabShown(w.side.callTab) }, do: func() { w.side.toggleTab(w.side.callTab) }},
		{name: "bookmarks-panel", title: lang.L("List of bookmarks"),
			checked: func() bool { return w.side.tabShown(w.side.bookmarksTab) }, do: func() { w.side.toggleTab(w.side.bookmarksTab) }},
		{name: "modules-panel", title: lang.L("Modules panel"), tip: lang.L("Which modules the log has, and what symbols were found for each."), keys: []stroke{ctrl(fyne.KeyE)},
			checked: func() bool { return w.side.tabShown(w.side.modulesTab) }, do: func() { w.side.toggleTab(w.side.modulesTab) }},
		{name: "columns", title: lang.L("Columns"), choices: as.columnActions},
		{name: "fit-columns", title: lang.L("Fit all columns"), tip: lang.L("As wide as what is seen of them."), enabled: w.opened, do: w.table.fitColumns},
		{name: "reset-columns", title: lang.L("Columns as at first"), do: w.table.resetColumns},
		{name: "parameters", title: lang.L("Parameters of functions"), tip: lang.L("In all views; a tooltip has the whole name."), choices: as.parameterActions},
		{name: "corrected", title: lang.L("Durations without the recorder's own time"), enabled: func() bool { return w.ctl.State().Facts.CanCorrect },
			checked: corrected, do: func() { w.ctl.Inputs.SetCorrected(!corrected()) }},
		nil,
		{name: "brightness", title: lang.L("Brightness"), choices: as.brightnessActions},
		{name: "language", title: lang.L("Language"), choices: as.languageActions},
	}
}

func (as *actions) helpActions() []*action {
	w := as.w.front
	return []*action{
		{name: "palette", title: lang.L("Command palette"), tip: lang.L("All that LogParser can do, to be found by typing."),
			keys: []stroke{ctrlShift(fyne.KeyP)}, do: as.showPalette},
		{name: "keys", title: lang.L("Keys"), keys: []stroke{alone(fyne.KeyF1), char('?')}, do: as.showKeys},
		{name: "about-log", title: lang.L("About the log"), tip: lang.L("Format, runs, damage, and what was not understood."),
			keys: []stroke{ctrl(fyne.KeyI)}, enabled: w.opened, do: w.dialogs.showLogDetails},
		{name: "about", title: lang.L("About LogParser"), do: w.dialogs.showAbout},
	}
}

// recentActions open the logs opened lately.
func (as *actions) recentActions() []*action {
	w := as.w.front
	logs, _ := w.pref.recent()
	var list []*action
	for _, path := range logs {
		list = append(list, &action{title: filepath.Base(path) + "  \u2013  " + filepath.Dir(path), do: func() { w.opening.recent(path) }})
	}
	return list
}

// columnActions show and hide columns; the function's is always shown.
func (as *actions) columnActions() []*action {
	w := as.w.front
	var list []*action
	for _, c := range w.table.grid.Columns() {
		if c.ID == "function" {
			continue
		}
		list = append(list, &action{title: c.Title, checked: func() bool { return !c.Hidden }, do: func() { w.table.showColumn(c.ID, c.Hidden) }})
	}
	return list
}

// parameterActions choose what is shown of functions' parameters.
func (as *actions) parameterActions() []*action {
	w := as.w
	set := func(title string, p shortname.Parameters) *action {
		return &action{title: title, checked: func() bool { return w.pref.parameters() == p }, do: func() {
			w.pref.setParameters(p)
			shortname.SetParameters(p)
			w.repaint()
			as.show()
		}}
	}
	return []*action{set(lang.L("Whole: f(int, char)"), shortname.Whole), set(lang.L("Collapsed: f(\u2026)"), shortname.Collapsed), set(lang.L("None: f"), shortname.Hidden)}
}

func (as *actions) brightnessActions() []*action {
	w := as.w.front
	set := func(title, b string) *action {
		return &action{title: title, checked: func() bool { return w.theme.Brightness == b }, do: func() {
			w.pref.setBrightness(b)
			w.setTheme(b)
			as.show()
		}}
	}
	return []*action{set(lang.L("As the system"), look.System), set(lang.L("Light"), look.Light), set(lang.L("Dark"), look.Dark)}
}

// languageActions name each language in itself.
func (as *actions) languageActions() []*action {
	w := as.w.front
	set := func(title, code string) *action {
		return &action{title: title, checked: func() bool { return w.pref.language() == code }, do: func() {
			w.pref.setLanguage(code)
			w.setLanguage(code)
			w.setTheme(w.theme.Brightness)
			w.relabel()
		}}
	}
	list := []*action{set(lang.L("As the system"), "")}
	for _, l := range language.All {
		list = append(list, set(l.Name, l.Code))
	}
	return list
}

// knownFilters apply the saved filters and those applied lately, and forget saved
// ones.
func (as *actions) knownFilters() []*action {
	w := as.w.front
	apply := func(title, expr string) *action {
		return &action{title: title, enabled: w.opened, do: func() { w.filters.apply(expr) }}
	}
	var list []*action
	names, exprs := w.pref.namedFilters()
	for i, name := range names {
		list = append(list, apply(name+"   "+shorten(exprs[i], 60), exprs[i]))
	}
	if len(names) > 0 {
		list = append(list, &action{title: lang.L("Forget a saved filter"), choices: func() []*action {
			var forget []*action
			for _, name := range names {
				forget = append(forget, &action{title: name, do: func() { w.pref.forgetFilter(name); as.show() }})
			}
			return forget
		}}, nil)
	}
	lately := w.pref.filters()
	for _, expr := range lately[:min(len(lately), 12)] {
		list = append(list, apply(shorten(expr, 80), expr))
	}
	return list
}
