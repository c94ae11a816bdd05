package ui

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/hint"
)

// An action is something that the user can ask the window to do. The menus, the
// keys, the list of keys (F1) and the command palette are made from one list of
// actions, which [Window.actionMenus] returns.
type action struct {
	// name identifies the action; it is not translated and can be typed in the
	// command palette in any language.
	name string
	// title is what the menu shows, tip says more than that; "" for nothing to
	// add. Both are in the language of the time when the action was made.
	title, tip string
	// keys start the action. The menu shows the first.
	keys []stroke
	// enabled reports whether the action can do something now; nil: always.
	enabled func() bool
	// checked reports whether what the action switches is on; nil: it switches
	// nothing.
	checked func() bool
	// choices makes a submenu; the action itself does nothing then.
	choices func() []*action
	do      func()
	// overDialogs lets the action act while a dialog is open, too.
	overDialogs bool
}

// An actionMenu is a menu of the menu bar. A nil action is a separator.
type actionMenu struct {
	title   string
	actions []*action
}

// actions are all that the user can ask for.
type actions struct {
	w      *Window
	menus  []actionMenu
	byName map[string]*action
	shown  string // what the menu bar shows of them; see states
	// waiting: the menu bar is to be made anew when no menu is open.
	waiting bool
	// palette is the one opened last.
	palette *palette
}

// can reports whether an action can do something now.
func (a *action) can() bool {
	if a.choices != nil {
		return len(a.choices()) > 0
	}
	return a.enabled == nil || a.enabled()
}

// keysText writes all keys of an action.
func (a *action) keysText() string {
	texts := make([]string, len(a.keys))
	for i, k := range a.keys {
		texts[i] = k.String()
	}
	return strings.Join(texts, "   ")
}

// perform does what an action is for, unless that cannot be done now or
// something that is open is to be answered first.
func (as *actions) perform(a *action) {
	if a.do != nil && a.can() && (a.overDialogs || !as.w.dialogs.modal()) {
		a.do()
	}
}

// hint returns what says of the action of a name what it is for, and its keys.
func (as *actions) hint(name string) func() string {
	return func() string {
		a := as.byName[name]
		if a == nil {
			return ""
		}
		return strings.TrimSpace(hint.Keyed(a.title, a.keysText()) + "\n" + a.tip)
	}
}

// act performs the action of a name.
func (as *actions) act(name string) { as.perform(as.byName[name]) }

// actor returns a function that performs the action of a name.
func (as *actions) actor(name string) func() { return func() { as.act(name) } }

// make makes the list of actions in the present language.
func (as *actions) make() {
	as.menus = as.actionMenus()
	as.byName = make(map[string]*action)
	for _, m := range as.menus {
		for _, a := range m.actions {
			if a != nil {
				as.byName[a.name] = a
			}
		}
	}
	as.addShortcuts()
}

// renew makes the list anew for another tab in front: its actions act there.
func (as *actions) renew() {
	as.make()
	as.shown = ""
	as.show()
}

// A stroke is a key with modifiers, or a character that is typed.
type stroke struct {
	key      fyne.KeyName
	modifier fyne.KeyModifier
	char     rune // instead of the key
	// inTable: only while the table has the focus. Characters are always so.
	inTable bool
}

func alone(key fyne.KeyName) stroke   { return stroke{key: key} }
func shifted(key fyne.KeyName) stroke { return stroke{key: key, modifier: fyne.KeyModifierShift} }
func alt(key fyne.KeyName) stroke     { return stroke{key: key, modifier: fyne.KeyModifierAlt} }
func char(r rune) stroke              { return stroke{char: r, inTable: true} }

func ctrl(key fyne.KeyName) stroke {
	return stroke{key: key, modifier: fyne.KeyModifierShortcutDefault}
}

func ctrlShift(key fyne.KeyName) stroke {
	return stroke{key: key, modifier: fyne.KeyModifierShortcutDefault | fyne.KeyModifierShift}
}

// shortcut is what a menu needs to have a stroke; nil for one that is not a
// menu's.
func (s stroke) shortcut() fyne.Shortcut {
	switch {
	case s.inTable:
		return nil
	case s == ctrl(fyne.KeyC):
		return &fyne.ShortcutCopy{}
	}
	return &desktop.CustomShortcut{KeyName: s.key, Modifier: s.modifier}
}

// byWindow reports whether the driver hands the stroke out as a key, and not as a
// shortcut: those without a modifier but Shift.
func (s stroke) byWindow() bool { return s.key != "" && s.modifier&^fyne.KeyModifierShift == 0 }

// String writes a stroke as people know it.
func (s stroke) String() string {
	switch {
	case s.char == ' ':
		return lang.L("Space")
	case s.char != 0:
		return string(s.char)
	}
	key := string(s.key)
	switch s.key {
	case fyne.KeyReturn:
		key = "Enter"
	case fyne.KeyPageUp:
		key = "PgUp"
	case fyne.KeyPageDown:
		key = "PgDn"
	}
	text := ""
	for _, m := range []struct {
		modifier fyne.KeyModifier
		name     string
	}{{fyne.KeyModifierControl, "Ctrl+"}, {fyne.KeyModifierAlt, "Alt+"}, {fyne.KeyModifierShift, "Shift+"}, {fyne.KeyModifierSuper, superName()}} {
		if s.modifier&m.modifier != 0 {
			text += m.name
		}
	}
	return text + key
}

// superName is what the system calls the key beside the space bar.
func superName() string {
	if runtime.GOOS == "darwin" {
		return "\u2318"
	}
	return "Super+"
}

// modifiers returns the modifier keys held down.
func modifiers() fyne.KeyModifier {
	if d, ok := fyne.CurrentApp().Driver().(desktop.Driver); ok {
		return d.CurrentKeyModifiers()
	}
	return 0
}

// key handles the keys that no menu can have, wherever the focus is, and reports
// whether there was one: Escape, and those of actions without a modifier but
// Shift.
func (as *actions) key(name fyne.KeyName) bool {
	if name == fyne.KeyEscape {
		if as.w.dialogs.top == nil {
			return !as.w.dialogs.modal() && (as.w.front.ctl.CancelOpening() || as.w.front.stepBack())
		}
		as.w.dialogs.top.Dismiss()
		return true
	}
	if as.w.dialogs.modal() {
		return false
	}
	typed := stroke{key: name, modifier: modifiers() & fyne.KeyModifierShift}
	a := as.byStroke(typed)
	if a == nil || !typed.byWindow() {
		return false
	}
	as.perform(a)
	return true
}

// shortcut performs the action that a key with modifiers starts, and reports whether
// there is one. A menu item has one shortcut only; the further keys of an action come
// here.
func (as *actions) shortcut(s *desktop.CustomShortcut) bool {
	a := as.byStroke(stroke{key: s.KeyName, modifier: s.Modifier})
	if a == nil {
		return false
	}
	as.perform(a)
	return true
}

// addShortcuts lets the canvas hand out the further keys of actions.
func (as *actions) addShortcuts() {
	for _, m := range as.menus {
		for _, a := range m.actions {
			if a == nil || len(a.keys) < 2 {
				continue
			}
			for _, k := range a.keys[1:] {
				if c, ok := k.shortcut().(*desktop.CustomShortcut); ok && !k.byWindow() {
					as.w.win.Canvas().AddShortcut(c, func(fyne.Shortcut) { as.shortcut(c) })
				}
			}
		}
	}
}

// tableChar handles a character that was typed in the table.
func (as *actions) tableChar(r rune) {
	if a := as.byStroke(char(r)); a != nil {
		as.perform(a)
	}
}

// byStroke returns the action that a stroke starts, nil for none.
func (as *actions) byStroke(s stroke) *action {
	for _, m := range as.menus {
		for _, a := range m.actions {
			if a == nil {
				continue
			}
			for _, k := range a.keys {
				if k == s {
					return a
				}
			}
		}
	}
	return nil
}

// states tells apart what the menus show of the actions: which can be done,
// which are on, and what there is to choose from.
func (as *actions) states() string {
	var b strings.Builder
	var add func(list []*action)
	add = func(list []*action) {
		for _, a := range list {
			if a == nil {
				continue
			}
			b.WriteString(a.title)
			b.WriteString(strconv.FormatBool(a.enabled == nil || a.enabled()))
			if a.checked != nil {
				b.WriteString(strconv.FormatBool(a.checked()))
			}
			if a.choices != nil {
				b.WriteByte('[')
				add(a.choices())
				b.WriteByte(']')
			}
		}
	}
	for _, m := range as.menus {
		add(m.actions)
	}
	return b.String()
}

// menuDelay is the time between two looks whether a menu is still open.
const menuDelay = 200 * time.Millisecond

// show makes the menu bar anew if it would show something else. That closes the menu
// that is open, so it waits until none is.
func (as *actions) show() {
	states := as.states()
	if states == as.shown || as.waiting {
		return
	}
	if as.menuOpen() {
		as.waiting = true
		as.w.later(menuDelay, func() {
			as.waiting = false
			as.show()
		})
		return
	}
	as.shown = states
	as.w.win.SetMainMenu(as.mainMenu())
}

// menuOpen reports whether a menu of the menu bar is open: the keys are its then.
func (as *actions) menuOpen() bool {
	_, open := as.w.win.Canvas().Focused().(interface{ Child() *widget.Menu })
	return open
}
