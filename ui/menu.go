package ui

import (
	"path/filepath"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

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

// menu makes the main menu for the present state and language.
func (w *Window) menu() *fyne.MainMenu {
	copyItem := fyne.NewMenuItem(lang.L("Copy rows"), w.copy)
	copyItem.Shortcut = &fyne.ShortcutCopy{}
	next := fyne.NewMenuItem(lang.L("Find next"), func() { w.find(false) })
	next.Shortcut = &desktop.CustomShortcut{KeyName: fyne.KeyF3}
	previous := fyne.NewMenuItem(lang.L("Find previous"), func() { w.find(true) })
	previous.Shortcut = &desktop.CustomShortcut{KeyName: fyne.KeyF3, Modifier: fyne.KeyModifierShift}
	keys := fyne.NewMenuItem(lang.L("Keys"), w.showKeys)
	keys.Shortcut = &desktop.CustomShortcut{KeyName: fyne.KeyF1}
	reload := fyne.NewMenuItem(lang.L("Reload"), w.ctl.Reload)
	reload.Shortcut = &desktop.CustomShortcut{KeyName: fyne.KeyF5}
	quit := item(lang.L("Quit"), w.close, fyne.KeyQ)
	quit.IsQuit = true

	return fyne.NewMainMenu(
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
			reload,
			item(lang.L("Close the log"), w.ctl.Close, fyne.KeyW),
			fyne.NewMenuItemSeparator(),
			quit,
		),
		fyne.NewMenu(lang.L("Edit"),
			copyItem,
			item(lang.L("Select all rows"), w.grid.SelectAll),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Find"), w.focusFind, fyne.KeyF),
			next,
			previous,
			item(lang.L("Go to a row"), w.askRow, fyne.KeyG),
			item(lang.L("Go to the other half of the call"), w.goToPartner, fyne.KeyM),
			fyne.NewMenuItemSeparator(),
			item(lang.L("Settings"), w.showSettings, fyne.KeyComma),
		),
		fyne.NewMenu(lang.L("View"),
			w.followItem(),
			fyne.NewMenuItemSeparator(),
			w.panelItem(),
			w.columnsMenu(),
			fyne.NewMenuItemSeparator(),
			w.themeMenu(),
			w.languageMenu(),
		),
		fyne.NewMenu(lang.L("Help"),
			keys,
			item(lang.L("About the log"), w.showLogDetails, fyne.KeyI),
			item(lang.L("About LogParser"), w.showAbout),
		),
	)
}

func (w *Window) panelItem() *fyne.MenuItem {
	m := item(lang.L("Modules panel"), w.togglePanel, fyne.KeyE)
	m.Checked = w.pref.panelShown()
	return m
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

// tableMenu is the menu of a row.
func (w *Window) tableMenu(row int64, at fyne.Position) {
	src := w.ctl.State().Rows
	if src == nil || row >= src.Len() {
		return
	}
	r := src.Row(row)
	s := w.ctl.State()
	filter := item(lang.L("Only this thread"), func() { w.ctl.FilterThread(r.Thread) })
	if s.Filtered {
		filter = item(lang.L("All threads"), w.ctl.ShowAll)
	}
	name := item(lang.L("Find this function"), func() {
		w.bar.entry.SetText(r.Function)
		w.find(false)
	})
	source := item(lang.L("Open the source line"), func() { w.openSource(row) })
	source.Disabled = r.Source == ""
	partner := item(lang.L("Go to the other half of the call"), w.goToPartner)
	partner.Disabled = w.ctl.Partner(r.Index) < 0
	menu := fyne.NewMenu("",
		item(lang.L("Copy rows"), w.copyRows),
		fyne.NewMenuItemSeparator(),
		partner, name, filter, source,
		fyne.NewMenuItemSeparator(),
		submenu(lang.L("Columns"), w.columnsItems()...))
	widget.ShowPopUpMenuAtPosition(menu, w.win.Canvas(), at)
}
