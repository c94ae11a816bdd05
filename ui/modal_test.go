package ui

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/storage"
	"fyne.io/fyne/v2/widget"

	"logparser/internal/testlog"
	"logparser/ui/language"
)

func (r *rig) overlays() int { return len(r.win.Canvas().Overlays().List()) }

// allItems are the items of the main menu and of the menus in it.
func allItems(menus []*fyne.Menu) []*fyne.MenuItem {
	var list []*fyne.MenuItem
	for _, m := range menus {
		for _, i := range m.Items {
			if i.ChildMenu != nil {
				list = append(list, allItems([]*fyne.Menu{i.ChildMenu})...)
			}
			if i.Action != nil {
				list = append(list, i)
			}
		}
	}
	return list
}

// Whatever the menu has, by mouse or by shortcut, does nothing behind a dialog or
// an open menu; neither do the window's own keys and what is dropped.
func TestNothingActsBehindADialog(t *testing.T) {
	for name, show := range map[string]func(r *rig){
		"keys":           func(r *rig) { r.actions.showKeys() },
		"settings":       func(r *rig) { r.dialogs.showSettings() },
		"save":           func(r *rig) { r.dialogs.save() },
		"file":           func(r *rig) { r.opening.chooseLog() },
		"context menu":   func(r *rig) { r.actions.tableMenu(0, "function", fyne.NewPos(50, 300)) },
		"text":           func(r *rig) { r.dialogs.showLogDetails() },
		"replace a file": func(r *rig) { r.dialogs.confirmQuit() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, &testlog.Nested{Records: 100})
			r.pref.addRecent(filepath.Join(t.TempDir(), "recent.dat"), "")
			r.open()
			r.table.grid.SetCurrent(7)
			show(r)
			if r.overlays() != 1 {
				t.Fatalf("%d overlays", r.overlays())
			}
			trace, size := r.trace.String(), r.split.Visible()
			for _, i := range allItems(r.win.MainMenu().Items) {
				i.Action()
				if r.overlays() != 1 || !r.ctl.State().Opened {
					t.Fatalf("%q acts: %d overlays, opened %t", i.Label, r.overlays(), r.ctl.State().Opened)
				}
			}
			for _, k := range []fyne.KeyName{fyne.KeyF1, fyne.KeyF2, fyne.KeyF3, fyne.KeyF4, fyne.KeyF5, fyne.KeyF8, fyne.KeyF9} {
				if r.actions.key(k) || r.overlays() != 1 {
					t.Errorf("%s acts", k)
				}
			}
			r.dropped(fyne.NewPos(0, 0), []fyne.URI{storage.NewFileURI(filepath.Join(t.TempDir(), "b.dat"))})
			r.win.Canvas().OnTypedRune()('/')
			if got := r.nested.Opened(); got != 1 || r.ctl.State().Work.Title != "" {
				t.Errorf("opened %d times, work %q", got, r.ctl.State().Work.Title)
			}
			if r.trace.String() != trace || r.table.grid.Current() != 7 || r.split.Visible() != size || language.Current() != language.English ||
				r.ctl.State().Selection.Repeats || r.ctl.State().Follow.On {
				t.Errorf("something changed behind it; trace %q, was %q", r.trace, trace)
			}
		})
	}
}

// Grey items stay without effect when their shortcut is pressed.
func TestGreyItemsDoNothing(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	called, can := false, false
	m := r.actions.item(&action{title: "x", enabled: func() bool { return can }, do: func() { called = true }})
	if m.Action(); called || !m.Disabled {
		t.Error("a grey item acts")
	}
	can = true
	if m.Action(); !called {
		t.Error("the item does not act")
	}
}

// A question that comes late waits until nothing else is asked.
func TestLateQuestionWaits(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	out := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(out, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	r.menuItem("Save").Action()
	r.typeText(out)
	r.typeKey(fyne.KeyReturn)
	r.menuItem("Keys").Action() // before it is known that the file exists
	keys := r.dialogs.top
	looks := 0
	r.wait("the question's turn", func() bool { looks++; return looks > 3 })
	if r.overlays() != 1 || r.dialogs.top != keys {
		t.Fatalf("%d overlays", r.overlays())
	}
	r.typeKey(fyne.KeyEscape)
	r.wait("the question", func() bool { return r.dialogs.top != nil })
	r.dialogs.top.(interface{ Confirm() }).Confirm()
	r.waitTrace("saved " + out)
}

// What cannot be saved any more is said.
func TestSaveOfAClosedLogIsSaid(t *testing.T) {
	for name, meanwhile := range map[string]func(r *rig){
		"closed": func(r *rig) { r.ctl.Close() },
		"reloaded": func(r *rig) {
			r.ctl.Reload()
			r.wait("the log", func() bool { return strings.Count(r.trace.String(), "loaded") == 2 })
		},
	} {
		r := newRig(t, &testlog.Nested{Records: 100})
		r.open()
		r.menuItem("Save").Action()
		out := filepath.Join(t.TempDir(), "x.csv")
		r.typeText(out)
		meanwhile(r)
		r.typeKey(fyne.KeyReturn)
		m := r.ctl.State().Message
		if m == nil || !strings.HasPrefix(m.Text, "Not saved: the log was closed") {
			t.Errorf("%s: message %+v", name, m)
		}
		if _, err := os.Stat(out); err == nil || r.ctl.Saving.Busy() {
			t.Errorf("%s: something was saved", name)
		}
	}
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.menuItem("Save").Action()
	r.typeKey(fyne.KeyDelete)
	r.typeKey(fyne.KeyReturn)
	if m := r.ctl.State().Message; m == nil || m.Text != "Not saved: no file was named." {
		t.Errorf("message %+v", m)
	}
}

// Dialogs may be closed in any order; Escape always closes the one on top.
func TestDialogsCloseInAnyOrder(t *testing.T) {
	r := newRig(t, &testlog.Nested{})
	var list []dialog.Dialog
	for range 3 {
		d := dialog.NewCustom("t", "Close", widget.NewLabel(""), r.win)
		r.dialogs.open(d, 100, 100)
		list = append(list, d)
	}
	list[0].Dismiss()
	list[1].Dismiss()
	if r.dialogs.top != list[2] {
		t.Fatal("the one on top is not known")
	}
	if !r.actions.key(fyne.KeyEscape) || r.dialogs.top != nil || r.overlays() != 0 {
		t.Errorf("after Escape: %d overlays", r.overlays())
	}
	if r.actions.key(fyne.KeyEscape) || r.dialogs.modal() {
		t.Error("something is still open")
	}
}

// The keys of menu items stand in their texts, and the items are still found by
// their shortcuts.
func TestMenuNamesKeys(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("the menus are the system's")
	}
	r := newRig(t, &testlog.Nested{Records: 10})
	for label, want := range map[string]struct {
		keys     string
		shortcut fyne.Shortcut
	}{
		"Open a log":            {"Ctrl+O", &desktop.CustomShortcut{KeyName: fyne.KeyO, Modifier: fyne.KeyModifierControl}},
		"Copy rows":             {"Ctrl+C", &fyne.ShortcutCopy{}},
		"All filters off or on": {"Ctrl+Shift+L", &desktop.CustomShortcut{KeyName: fyne.KeyL, Modifier: fyne.KeyModifierControl | fyne.KeyModifierShift}},
		"Back":                  {"Alt+Left", &desktop.CustomShortcut{KeyName: fyne.KeyLeft, Modifier: fyne.KeyModifierAlt}},
	} {
		m := r.menuItem(label)
		if !strings.HasSuffix(m.Label, "  "+want.keys) || m.Shortcut.ShortcutName() != want.shortcut.ShortcutName() {
			t.Errorf("%q has the shortcut %s", m.Label, m.Shortcut.ShortcutName())
		}
		if _, drawn := m.Shortcut.(fyne.KeyboardShortcut); drawn {
			t.Errorf("%q: the keys are drawn twice", m.Label)
		}
	}
}
