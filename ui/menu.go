package ui

import (
	"runtime"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// mainMenu makes the menu bar from the list of actions.
func (as *actions) mainMenu() *fyne.MainMenu {
	menu := &fyne.MainMenu{}
	for _, m := range as.menus {
		items := as.items(m.actions)
		nameKeys(items)
		menu.Items = append(menu.Items, fyne.NewMenu(m.title, items...))
	}
	return menu
}

// items makes the menu items of actions.
func (as *actions) items(list []*action) []*fyne.MenuItem {
	var items []*fyne.MenuItem
	for _, a := range list {
		items = append(items, as.item(a))
	}
	return items
}

// item makes the menu item of an action. Fyne calls items for their shortcuts
// even if they are grey or a dialog is open: perform does not.
func (as *actions) item(a *action) *fyne.MenuItem {
	if a == nil {
		return fyne.NewMenuItemSeparator()
	}
	m := fyne.NewMenuItem(a.title, nil)
	m.Disabled = !a.can()
	m.Checked = a.checked != nil && a.checked()
	m.IsQuit = a.name == "quit"
	if a.choices != nil {
		m.ChildMenu = fyne.NewMenu("", as.items(a.choices())...)
		return m
	}
	m.Action = func() { as.perform(a) }
	if len(a.keys) > 0 {
		m.Shortcut = shortcutOf(a.keys[0])
	}
	return m
}

// itemOf makes the menu item of the action of a name, for a context menu.
func (as *actions) itemOf(name string) *fyne.MenuItem { return as.item(as.byName[name]) }

// popUp shows a context menu.
func (as *actions) popUp(items []*fyne.MenuItem, at fyne.Position) {
	nameKeys(items)
	widget.ShowPopUpMenuAtPosition(fyne.NewMenu("", items...), as.w.win.Canvas(), at)
}

// item makes a menu item that is no action of the window: it is about what a
// context menu was opened on.
func item(label string, do func()) *fyne.MenuItem { return fyne.NewMenuItem(label, do) }

func choice(label string, on bool, do func()) *fyne.MenuItem {
	m := fyne.NewMenuItem(label, do)
	m.Checked = on
	return m
}

func submenu(label string, items ...*fyne.MenuItem) *fyne.MenuItem {
	m := fyne.NewMenuItem(label, nil)
	m.ChildMenu = fyne.NewMenu("", items...)
	return m
}

// A namedShortcut is the shortcut of a stroke that Fyne draws nothing for: it
// would draw the keys so pale that they cannot be read.
type namedShortcut struct{ stroke stroke }

// ShortcutName implements [fyne.Shortcut]. A key that is the table's own has no
// name, and no shortcut is found by that.
func (s namedShortcut) ShortcutName() string {
	if s := s.stroke.shortcut(); s != nil {
		return s.ShortcutName()
	}
	return ""
}

// shortcutOf is what a menu item has for a stroke. The menus of macOS are the
// system's, which draws keys well.
func shortcutOf(s stroke) fyne.Shortcut {
	if runtime.GOOS == "darwin" {
		return s.shortcut()
	}
	return namedShortcut{s}
}

// nameKeys puts the keys of the items of a menu into their texts, in a column.
func nameKeys(items []*fyne.MenuItem) {
	widest := float32(0)
	for _, m := range items {
		widest = max(widest, labelWidth(m.Label))
	}
	blank := labelWidth(" ")
	for _, m := range items {
		if m.ChildMenu != nil {
			nameKeys(m.ChildMenu.Items)
		}
		if s, ok := m.Shortcut.(namedShortcut); ok {
			// Four blanks at least stand between them.
			n := 4 + int((widest-labelWidth(m.Label))/blank+0.5)
			m.Label += strings.Repeat(" ", n) + s.stroke.String()
		}
	}
}

func labelWidth(s string) float32 {
	return fyne.MeasureText(s, theme.TextSize(), fyne.TextStyle{}).Width
}
