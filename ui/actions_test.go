package ui

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"logparser/internal/testlog"
	"logparser/ui/language"
	"logparser/ui/look"
)

// eachAction calls f with all actions of the list, but not with choices.
func (w *workspace) eachAction(f func(menu string, a *action)) {
	for _, m := range w.actions.menus {
		for _, a := range m.actions {
			if a != nil {
				f(m.title, a)
			}
		}
	}
}

// No two actions have a key or a name in common.
func TestKeysAreUnique(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	owners, names := map[stroke]string{}, map[string]bool{}
	r.eachAction(func(_ string, a *action) {
		if a.name == "" || names[a.name] {
			t.Errorf("%q has the name %q", a.title, a.name)
		}
		names[a.name] = true
		if (a.do == nil) == (a.choices == nil) {
			t.Errorf("%s is to do something or to let choose", a.name)
		}
		for _, k := range a.keys {
			if other, there := owners[k]; there {
				t.Errorf("%s is a key of %s and of %s", k, other, a.name)
			}
			owners[k] = a.name
			if k.char != 0 && !k.inTable {
				t.Errorf("%s: the character %s is not the table's", a.name, k)
			}
		}
	})
	if len(owners) < 45 {
		t.Errorf("only %d keys", len(owners))
	}
}

// Every key of the list does what its action says: it is typed, and the action
// that the window performs is noted.
func TestKeysStartTheirActions(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	done := ""
	r.eachAction(func(_ string, a *action) {
		if a.do != nil {
			a.enabled, a.do = nil, func() { done = a.name }
		}
	})
	r.win.SetMainMenu(r.actions.mainMenu())
	items := allItems(r.win.MainMenu().Items)
	r.eachAction(func(_ string, a *action) {
		for _, k := range a.keys {
			done = ""
			switch {
			case k.char != 0:
				r.table.grid.TypedRune(k.char)
			case k.inTable: // the table has it itself
				continue
			case k.byWindow() && k.modifier == 0:
				r.table.grid.TypedKey(&fyne.KeyEvent{Name: k.key})
			case k.byWindow(): // the test's driver has no Shift
				r.actions.perform(r.actions.byStroke(k))
			case k != a.keys[0]: // menus have the first only
				for _, focused := range []fyne.Shortcutable{r.table.grid, r.views.statistics.List.Grid, r.strip.Log.Entry, r.bar.entry, r.bar.line.Entry} {
					done = ""
					if focused.TypedShortcut(k.shortcut()); done != a.name {
						t.Errorf("%s typed at %T starts %q, not %s", k, focused, done, a.name)
					}
				}
			default:
				i := slices.IndexFunc(items, func(i *fyne.MenuItem) bool {
					return i.Shortcut != nil && i.Shortcut.ShortcutName() == k.shortcut().ShortcutName()
				})
				if i < 0 {
					t.Errorf("no menu has %s", k)
					continue
				}
				items[i].Action()
			}
			if done != a.name {
				t.Errorf("%s starts %q, not %s", k, done, a.name)
			}
		}
	})
}

// The list of keys has each key of each action, and says the same as the menus.
func TestKeyListHasAllKeys(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	var lines []string
	for _, list := range r.actions.keyLists() {
		for _, k := range list.keys {
			lines = append(lines, k[0]+"|"+k[1])
		}
	}
	r.eachAction(func(_ string, a *action) {
		if len(a.keys) > 0 && !slices.Contains(lines, a.keysText()+"|"+a.title) {
			t.Errorf("the keys of %s are not listed", a.name)
		}
	})
	for _, want := range []string{"Ctrl+G|Go to a row or a time", "F4   ]|Next call of the same function", "Alt+Left|Back", "Ctrl+C|Copy rows", "Tab|In the filter: take the completion; Up and Down choose"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q", want)
		}
	}
}

// Titles and tips are said in both languages; a title that is a name of its own
// is the same in both.
func TestActionsAreTranslated(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	english := map[string][2]string{}
	r.eachAction(func(_ string, a *action) { english[a.name] = [2]string{a.title, a.tip} })
	r.pref.setLanguage(language.Chinese)
	r.setLanguage(language.Chinese)
	r.relabel()
	r.eachAction(func(menu string, a *action) {
		e, there := english[a.name]
		if !there || a.title == "" || a.title == e[0] || (a.tip == "") != (e[1] == "") || a.tip != "" && a.tip == e[1] {
			t.Errorf("%s \u203a %s: %q and %q, in English %q", menu, a.name, a.title, a.tip, e)
		}
	})
}

// The palette lists every action that a menu has, and those of submenus, each
// with its menu.
func TestPaletteHasAllActions(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	r.pref.addRecent("/logs/a.dat", "")
	var lines []string
	for _, c := range r.actions.commands() {
		lines = append(lines, c.path+" \u203a "+c.title)
	}
	r.eachAction(func(menu string, a *action) {
		if a.choices == nil && a.name != "palette" && !slices.Contains(lines, menu+" \u203a "+a.title) {
			t.Errorf("%s is not there", a.name)
		}
	})
	for _, want := range []string{"View \u203a Brightness \u203a Dark", "View \u203a Columns \u203a Time", "File \u203a Opened lately \u203a a.dat  \u2013  " + filepath.Dir("/logs/a.dat"), "Views \u203a Call tree"} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %q among %q", want, lines)
		}
	}
}

func (r *rig) titles() string {
	var titles []string
	for _, c := range r.actions.palette.found[:min(len(r.actions.palette.found), 4)] {
		titles = append(titles, c.title)
	}
	return strings.Join(titles, "|")
}

// The palette finds by words of title, menu and name, moves by the arrows, and
// does what was chosen.
func TestPalette(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.menuItem("Command palette").Action()
	if r.overlays() != 1 || r.win.Canvas().Focused() != fyne.Focusable(r.actions.palette.entry) {
		t.Fatalf("%d overlays", r.overlays())
	}
	// What cannot be done stays open and says so.
	r.typeText("go to the caller")
	if c := r.actions.palette.found[0]; c.name != "go-to-caller" || c.can {
		t.Fatalf("found %s", r.titles())
	}
	r.typeKey(fyne.KeyReturn)
	if r.overlays() != 1 || r.actions.palette.tip.Text != "Not possible now." {
		t.Errorf("%d overlays, %q", r.overlays(), r.actions.palette.tip.Text)
	}
	r.typeKey(fyne.KeyEscape)
	if r.overlays() != 0 {
		t.Fatal("Escape does not close it")
	}
	r.open()
	r.table.grid.SetCurrent(20)
	r.actions.act("palette")
	for text, want := range map[string]string{
		"caller":      "Go to the caller",
		"book note":   "Bookmark with a note",
		"VIEWS tree":  "Call tree",
		"dark":        "Dark",
		"go-to":       "",
		"next":        "Next bookmark|Next call of the same function|Next tab|Find next",
		"symbol path": "Edit the symbol path|Log, modules file and symbol path",
		"no such":     "",
	} {
		r.actions.palette.entry.SetText(text)
		if got := r.titles(); got != want {
			t.Errorf("%q finds %q, want %q", text, got, want)
		}
		if nothing := r.actions.palette.tip.Text == "Nothing is called so."; nothing != (want == "") {
			t.Errorf("%q: it says %q", text, r.actions.palette.tip.Text)
		}
	}
	r.actions.palette.entry.SetText("next")
	for _, k := range []fyne.KeyName{fyne.KeyDown, fyne.KeyDown, fyne.KeyUp} {
		r.typeKey(k)
	}
	if r.actions.palette.at != 1 {
		t.Fatalf("the arrows lead to %d", r.actions.palette.at)
	}
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("command next-call")
	r.waitTrace("selected 34")
	if r.overlays() != 0 {
		t.Errorf("%d overlays afterwards", r.overlays())
	}
	// A choice of a submenu, by the mouse.
	r.actions.act("palette")
	r.actions.palette.entry.SetText("brightness dark")
	r.actions.palette.list.Select(0)
	if r.theme.Brightness == look.Dark {
		t.Error("what was chosen already is chosen again")
	}
	r.actions.palette.list.UnselectAll()
	r.actions.palette.list.Select(0)
	if r.theme.Brightness != look.Dark || r.overlays() != 0 {
		t.Errorf("brightness %q, %d overlays", r.theme.Brightness, r.overlays())
	}
}

// The palette opens a dialog of an action after it has closed itself.
func TestPaletteOpensDialogs(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	for _, name := range []string{"go to a row", "save", "settings", "keys", "about the log"} {
		r.actions.act("palette")
		r.typeText(name)
		r.typeKey(fyne.KeyReturn)
		if r.overlays() != 1 || r.dialogs.top == nil {
			t.Fatalf("%s: %d overlays", name, r.overlays())
		}
		r.typeKey(fyne.KeyEscape)
		if r.overlays() != 0 {
			t.Fatalf("%s: Escape leaves %d overlays", name, r.overlays())
		}
	}
}

// The menus say what can be done now, without being asked for it.
func TestMenusFollowTheState(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	grey := func(label string) bool { t.Helper(); return r.menuItem(label).Disabled }
	if !grey("Close the log") || !grey("Save") || !grey("Go to the caller") || grey("Open a log") {
		t.Error("without a log something can be done with it")
	}
	r.open()
	if grey("Close the log") || grey("Save") || !grey("Go to the caller") || !grey("Unfold all calls") || !grey("Annotations") {
		t.Error("with a log other things can be done")
	}
	r.table.grid.SetCurrent(1)
	if grey("Go to the caller") {
		t.Error("a current row changes nothing")
	}
	r.folding.fold(1)
	r.wait("the fold", func() bool { return r.ctl.State().Filtered })
	if grey("Unfold all calls") {
		t.Error("a folded call changes nothing")
	}
	r.actions.act("collapse-repeats")
	r.wait("the repeats", func() bool { return r.ctl.State().Selection.Repeats })
	if !r.menuItem("Collapse repeats").Checked {
		t.Error("the menu does not say that repeats are collapsed")
	}
	if r.menuItem("Timeline").Checked || !r.menuItem("Table").Checked {
		t.Error("another view is checked")
	}
	r.ctl.Close()
	if !grey("Close the log") || !grey("Go to the caller") {
		t.Error("after closing something can still be done")
	}
	// A name that could not be opened can be taken away.
	r.nested.FailOpening(testlog.ErrBroken)
	r.Open([]string{r.log})
	r.wait("the end", func() bool { return r.ctl.State().Message != nil })
	if grey("Close the log") || grey("Reload") || !grey("Save") {
		t.Error("a log that could not be opened cannot be closed or tried again")
	}
}

// barItem stands for what has the keys while a menu of the menu bar is open.
type barItem struct{ widget.Entry }

func (*barItem) Child() *widget.Menu { return nil }

// A menu that is open stays open; the menu bar says afterwards what has changed.
func TestOpenMenuStaysOpen(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	open := &barItem{}
	r.body.Add(open)
	r.win.Canvas().Focus(open)
	before := r.win.MainMenu()
	r.ctl.Close()
	r.actions.show()
	if !r.actions.menuOpen() || r.win.MainMenu() != before {
		t.Error("the menu bar is made anew while a menu is open")
	}
	r.win.Canvas().Unfocus()
	r.wait("the menu bar", func() bool { return r.win.MainMenu() != before })
	if !r.menuItem("Save").Disabled {
		t.Error("without a log it can be saved")
	}
}
