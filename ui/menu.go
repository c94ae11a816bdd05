package ui

import (
	"fmt"
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/grid"
	"logparser/ui/language"
	"logparser/ui/look"
)

// item makes a menu item. Every shortcut of the window is a menu's, since
// those work while a text has the focus.
func item(label string, action func(), keys ...fyne.KeyName) *fyne.MenuItem {
	m := fyne.NewMenuItem(label, action)
	if len(keys) > 0 {
		m.Shortcut = &desktop.CustomShortcut{KeyName: keys[0], Modifier: fyne.KeyModifierShortcutDefault}
	}
	return m
}

func choice(label string, on bool, action func()) *fyne.MenuItem {
	m := fyne.NewMenuItem(label, action)
	m.Checked = on
	return m
}

func submenu(label string, items ...*fyne.MenuItem) *fyne.MenuItem {
	m := fyne.NewMenuItem(label, nil)
	m.ChildMenu = fyne.NewMenu("", items...)
	return m
}

// keyItem makes a menu item with a key of its own.
func keyItem(label string, action func(), key fyne.KeyName, modifier fyne.KeyModifier) *fyne.MenuItem {
	m := fyne.NewMenuItem(label, action)
	m.Shortcut = &desktop.CustomShortcut{KeyName: key, Modifier: modifier}
	return m
}

// menu makes the main menu for the present state and language.
func (w *Window) menu() *fyne.MainMenu {
	const (
		ctrl  = fyne.KeyModifierShortcutDefault
		shift = fyne.KeyModifierShift
		alt   = fyne.KeyModifierAlt
	)
	copyItem := fyne.NewMenuItem(lang.L("Copy rows"), w.copy)
	copyItem.Shortcut = &fyne.ShortcutCopy{}
	quit := item(lang.L("Quit"), w.close, fyne.KeyQ)
	quit.IsQuit = true

	menu := fyne.NewMainMenu(
		fyne.NewMenu(lang.L("File"),
			item(lang.L("Open a log"), w.chooseLog, fyne.KeyO),
			item(lang.L("Open a folder"), w.chooseFolder),
			item(lang.L("Choose the modules file"), w.chooseModules),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Add a symbol folder"), w.addSymbolFolder, fyne.KeyD),
			item(lang.L("Add a symbol file"), w.addSymbolFile),
			item(lang.L("Edit the symbol path"), w.editSymbols),
			fyne.NewMenuItemSeparator(),
			w.recentMenu(),
			item(lang.L("Open the sample"), w.OpenSample),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Save"), w.save, fyne.KeyS),
			keyItem(lang.L("Reload"), w.ctl.Reload, fyne.KeyF5, 0),
			item(lang.L("Close the log"), w.ctl.Close, fyne.KeyW),
			fyne.NewMenuItemSeparator(),
			quit,
		),
		fyne.NewMenu(lang.L("Edit"),
			copyItem,
			item(lang.L("Select all rows"), w.grid.SelectAll),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Find"), w.focusFind, fyne.KeyF),
			keyItem(lang.L("Find next"), func() { w.find(false) }, fyne.KeyF3, 0),
			keyItem(lang.L("Find previous"), func() { w.find(true) }, fyne.KeyF3, shift),
			fyne.NewMenuItemSeparator(),
			keyItem(lang.L("Set or remove a bookmark"), w.toggleBookmark, fyne.KeyB, ctrl),
			keyItem(lang.L("Bookmark with a note"), func() { w.askNote(w.currentRow()) }, fyne.KeyB, ctrl|shift),
			keyItem(lang.L("Next bookmark"), func() { w.goToBookmark(false) }, fyne.KeyF2, 0),
			keyItem(lang.L("Previous bookmark"), func() { w.goToBookmark(true) }, fyne.KeyF2, shift),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Settings"), w.showSettings, fyne.KeyComma),
		),
		fyne.NewMenu(lang.L("Go"),
			item(lang.L("Go to a row or a time"), w.askPlace, fyne.KeyG),
			item(lang.L("Go to the other half of the call"), w.goToPartner, fyne.KeyM),
			item(lang.L("Go to the caller"), w.goToCaller, fyne.KeyU),
			keyItem(lang.L("Next call of the same function"), func() { w.goToNextCall(false) }, fyne.KeyF4, 0),
			keyItem(lang.L("Previous call of the same function"), func() { w.goToNextCall(true) }, fyne.KeyF4, shift),
			fyne.NewMenuItemSeparator(),
			keyItem(lang.L("Back"), func() { w.goBack(false) }, fyne.KeyLeft, alt),
			keyItem(lang.L("Forward"), func() { w.goBack(true) }, fyne.KeyRight, alt),
		),
		fyne.NewMenu(lang.L("Filter"),
			item(lang.L("Filter the rows"), w.focusFilter, fyne.KeyL),
			keyItem(lang.L("All filters off or on"), w.toggleFilters, fyne.KeyL, ctrl|shift),
			submenu(lang.L("Saved and recent filters"), w.filterItems()...),
			item(lang.L("Save this filter"), w.saveFilter),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Fold or unfold the call"), func() { w.fold(w.grid.Current()) }),
			item(lang.L("Fold all calls of this function"), func() { w.withCurrent(w.foldFunction) }),
			item(lang.L("Fold all calls at this depth"), func() { w.withCurrent(w.foldDepth) }),
			keyItem(lang.L("Unfold all calls"), func() { w.ctl.Unfold() }, fyne.KeyU, ctrl|shift),
			fyne.NewMenuItemSeparator(),
			w.repeatsItem(),
		),
		fyne.NewMenu(lang.L("View"),
			w.followItem(),
			fyne.NewMenuItemSeparator(),
			w.inputsItem(),
			w.callItem(),
			w.bookmarksItem(),
			w.panelItem(),
			w.columnsMenu(),
			w.correctedItem(),
			fyne.NewMenuItemSeparator(),
			w.themeMenu(),
			w.languageMenu(),
		),
		fyne.NewMenu(lang.L("Views"), w.views.items()...),
		fyne.NewMenu(lang.L("Help"),
			keyItem(lang.L("Keys"), w.showKeys, fyne.KeyF1, 0),
			item(lang.L("About the log"), w.showLogDetails, fyne.KeyI),
			item(lang.L("About LogParser"), w.showAbout),
		),
	)
	for _, m := range menu.Items {
		w.guard(m.Items)
		nameKeys(m.Items)
	}
	copyItem.Action = w.copy // a dialog's text can be copied
	return menu
}

func (w *Window) inputsItem() *fyne.MenuItem {
	m := keyItem(lang.L("Log, modules file and symbol path"), w.toggleInputs, fyne.KeyF9, 0)
	m.Checked = w.pref.inputsShown()
	return m
}

func (w *Window) callItem() *fyne.MenuItem {
	m := keyItem(lang.L("Call stack, row and source"), func() { w.togglePanelTab(w.side.callTab) }, fyne.KeyF8, 0)
	m.Checked = w.panelTabShown(w.side.callTab)
	return m
}

func (w *Window) bookmarksItem() *fyne.MenuItem {
	return choice(lang.L("List of bookmarks"), w.panelTabShown(w.side.bookmarksTab), func() { w.togglePanelTab(w.side.bookmarksTab) })
}

func (w *Window) panelItem() *fyne.MenuItem {
	m := item(lang.L("Modules panel"), func() { w.togglePanelTab(w.side.modulesTab) }, fyne.KeyE)
	m.Checked = w.panelTabShown(w.side.modulesTab)
	return m
}

func (w *Window) repeatsItem() *fyne.MenuItem {
	m := item(lang.L("Collapse repeats"), w.toggleRepeats, fyne.KeyR)
	m.Checked = w.ctl.State().Selection.Repeats
	return m
}

func (w *Window) correctedItem() *fyne.MenuItem {
	on := w.ctl.State().Wanted.Corrected
	m := choice(lang.L("Durations without the recorder's own time"), on, func() {
		w.ctl.SetCorrected(!on)
		w.win.SetMainMenu(w.menu())
	})
	m.Disabled = !w.ctl.State().Facts.CanCorrect
	return m
}

// withCurrent calls f with the current row.
func (w *Window) withCurrent(f func(r *rows.Row)) {
	if r, ok := w.ctl.Row(w.currentRow()); ok {
		f(&r)
	}
}

func (w *Window) followItem() *fyne.MenuItem {
	m := item(lang.L("Follow the log"), w.toggleFollow, fyne.KeyT)
	m.Checked = w.ctl.State().Follow.On
	return m
}

func (w *Window) recentMenu() *fyne.MenuItem {
	logs, _ := w.pref.recent()
	var items []*fyne.MenuItem
	for _, path := range logs {
		items = append(items, item(filepath.Base(path)+"  \u2013  "+filepath.Dir(path), func() { w.openRecent(path) }))
	}
	m := submenu(lang.L("Opened lately"), items...)
	m.Disabled = len(items) == 0
	return m
}

// columnsItems has an item for each column that can be hidden.
func (w *Window) columnsItems() []*fyne.MenuItem {
	var items []*fyne.MenuItem
	for _, c := range w.grid.Columns() {
		if c.ID == "function" {
			continue
		}
		items = append(items, choice(c.Title, !c.Hidden, func() {
			w.grid.SetColumn(c.ID, 0, !c.Hidden)
			w.pref.saveColumns(w.grid)
			w.win.SetMainMenu(w.menu())
		}))
	}
	return items
}

func (w *Window) columnsMenu() *fyne.MenuItem { return submenu(lang.L("Columns"), w.columnsItems()...) }

func (w *Window) themeMenu() *fyne.MenuItem {
	set := func(b string) func() {
		return func() {
			w.pref.setBrightness(b)
			w.setTheme(b)
			w.win.SetMainMenu(w.menu())
		}
	}
	now := w.theme.Brightness
	return submenu(lang.L("Brightness"),
		choice(lang.L("As the system"), now == look.System, set(look.System)),
		choice(lang.L("Light"), now == look.Light, set(look.Light)),
		choice(lang.L("Dark"), now == look.Dark, set(look.Dark)))
}

// languageMenu names each language in itself.
func (w *Window) languageMenu() *fyne.MenuItem {
	set := func(code string) func() {
		return func() {
			w.pref.setLanguage(code)
			w.setLanguage(code)
			w.setTheme(w.theme.Brightness)
			w.relabel()
		}
	}
	chosen := w.pref.language()
	items := []*fyne.MenuItem{choice(lang.L("As the system"), chosen == "", set(""))}
	for _, l := range language.All {
		items = append(items, choice(l.Name, chosen == l.Code, set(l.Code)))
	}
	return submenu(lang.L("Language"), items...)
}

// tableMenu is the menu of a cell.
func (w *Window) tableMenu(at int64, column string, where fyne.Position) {
	r, ok := w.rowAt(at)
	if !ok {
		return
	}
	widget.ShowPopUpMenuAtPosition(fyne.NewMenu("", w.cellItems(at, column, &r)...), w.win.Canvas(), where)
}

// cellItems are what can be done with a cell and its row: what is done most
// often, and the rest by what it is about.
func (w *Window) cellItems(at int64, column string, r *rows.Row) []*fyne.MenuItem {
	var items []*fyne.MenuItem
	narrow := func(label string, change func(e *filter.Expr) *filter.Expr) *fyne.MenuItem {
		return item(label, func() { w.ctl.Narrow(change) })
	}
	if term, ok := cellTerm(column, r); ok {
		text := shorten(term.String(), 40)
		items = append(items,
			narrow(lang.L("Include {{.Term}}", data{"Term": text}), func(e *filter.Expr) *filter.Expr { return e.Include(term) }),
			narrow(lang.L("Exclude {{.Term}}", data{"Term": text}), func(e *filter.Expr) *filter.Expr { return e.Exclude(term) }),
			submenu(lang.L("Highlight {{.Term}}", data{"Term": text}), w.colourItems(column, term)...))
	}
	enter := w.enterOf(r)
	inside := item(lang.L("Only inside this call"), func() { w.insideCall(enter) })
	inside.Disabled = enter < 0
	only := []*fyne.MenuItem{inside}
	if t, ok := filter.Of(filter.In, r); ok {
		only = append(only, narrow(lang.L("Only inside calls of this function"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
	}
	if t, ok := filter.Of(filter.Thread, r); ok {
		only = append(only, narrow(lang.L("Only this thread"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
	}
	if t, ok := filter.Of(filter.Module, r); ok && r.Module != "" {
		only = append(only, narrow(lang.L("Only this module"), func(e *filter.Expr) *filter.Expr { return e.Replace(t) }))
	}
	only = append(only, item(lang.L("Only calls that took at least"), func() { w.atLeast(r) }))

	other := lang.L("Go to the leave")
	if r.Event == rows.Leave {
		other = lang.L("Go to the enter")
	}
	half := item(other, w.goToPartner)
	half.Disabled = w.ctl.Partner(r.Index) < 0
	source := item(lang.L("Open the source line"), func() { w.openSource(at) })
	source.Disabled = r.Source == ""
	foldLabel := lang.L("Fold this call")
	if enter >= 0 && w.ctl.IsFolded(enter) {
		foldLabel = lang.L("Unfold this call")
	}
	fold := item(foldLabel, func() { w.fold(at) })
	fold.Disabled = enter < 0
	unfold := item(lang.L("Unfold all calls"), func() { w.ctl.Unfold() })
	unfold.Disabled = len(w.ctl.State().Selection.Folded) == 0
	bookmark := lang.L("Set a bookmark")
	if w.isBookmarked(r.Index) {
		bookmark = lang.L("Remove the bookmark")
	}
	return append(items,
		submenu(lang.L("Show only"), only...),
		fyne.NewMenuItemSeparator(),
		half,
		submenu(lang.L("Go"),
			item(lang.L("Go to the caller"), w.goToCaller),
			item(lang.L("Next call of the same function"), func() { w.goToNextCall(false) }),
			item(lang.L("Previous call of the same function"), func() { w.goToNextCall(true) })),
		source,
		fyne.NewMenuItemSeparator(),
		fold,
		submenu(lang.L("Fold"),
			item(lang.L("Fold all calls of this function"), func() { w.foldFunction(r) }),
			item(lang.L("Fold all calls at this depth"), func() { w.foldDepth(r) }),
			unfold),
		submenu(lang.L("Bookmark"),
			item(bookmark, w.toggleBookmark),
			item(lang.L("Bookmark with a note"), func() { w.askNote(r.Index) })),
		submenu(lang.L("Copy"),
			item(lang.L("Copy the cell"), func() { w.app.Clipboard().SetContent(w.cellText(column, r)) }),
			item(lang.L("Copy rows"), w.copyRows)),
		submenu(lang.L("Columns"), w.columnsItems()...))
}

// colourItems choose the colour of a highlight.
func (w *Window) colourItems(column string, term *filter.Expr) []*fyne.MenuItem {
	now := 0
	for _, h := range w.highlights {
		if h.Column == column && h.Term == term.String() {
			now = h.Colour
		}
	}
	var items []*fyne.MenuItem
	for i, name := range []string{lang.L("None"), lang.L("Orange"), lang.L("Green"), lang.L("Blue"), lang.L("Violet"), lang.L("Red"), lang.L("Grey")} {
		items = append(items, choice(name, i == now, func() { w.setHighlight(column, term, i) }))
	}
	return items
}

// cellText is a cell's text as it is shown, whole.
func (w *Window) cellText(column string, r *rows.Row) string {
	switch column {
	case "source":
		if r.Line > 0 {
			return fmt.Sprintf("%s:%d", r.Source, r.Line)
		}
		return r.Source
	}
	for _, c := range w.grid.Columns() {
		if c.ID == column {
			var cell grid.Cell
			c.Cell(r, &cell)
			return string(cell.Text)
		}
	}
	return ""
}
