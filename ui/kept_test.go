package ui

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2/test"

	"logparser/ui/settings"
)

// TestSettingsKept opens the window on a damaged file of settings: it says so, begins anew,
// and keeps what the user then arranged, with what Fyne's dialogs remember.
func TestSettingsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var queue []func()
	var trace bytes.Buffer
	a := test.NewTempApp(t)
	w := New(a, Options{Post: func(f func()) { queue = append(queue, f) }, Trace: &trace, Settings: settings.Open(path, ""), FyneDialogs: true})
	w.win.Show()
	for len(queue) > 0 {
		f := queue[0]
		queue = queue[1:]
		f()
	}
	if w.dialogs.top == nil || !bytes.Contains(trace.Bytes(), []byte("settings the settings were damaged")) {
		t.Errorf("nothing is said of the damaged file: %s", &trace)
	}
	w.pref.setEditor("vi")
	a.Preferences().SetInt("fyne:fileDialogViewLayout", 1)
	w.pref.addRecent("/logs/a.dat", "")
	w.opt.Settings.Flush()
	other := settings.Open(path, "")
	preferences{other}.addRecent("/logs/b.dat", "")
	other.Flush()
	w.pref.addRecent("/logs/c.dat", "")
	w.remember()
	again := settings.Open(path, "")
	logs, modules := preferences{again}.recent()
	if again.String("editor") != "vi" || again.Int("fyne:fileDialogViewLayout") != 1 || len(logs) != 3 || len(modules) != 3 || logs[0] != "/logs/c.dat" {
		t.Errorf("kept: editor %q, logs %q", again.String("editor"), logs)
	}
}

// TestOrderKept sorts call tree and statistics as they were sorted in the window before.
func TestOrderKept(t *testing.T) {
	store := settings.Open("", "")
	open := func() *views {
		return New(test.NewTempApp(t), Options{Post: func(func()) {}, Settings: store, FyneDialogs: true}).front.views
	}
	v := open()
	v.tree.Grid.OnHeader("self")
	v.statistics.List.Grid.OnHeader("max")
	v.statistics.List.Grid.OnHeader("max")
	v = open()
	if v.tree.Sorted() != "self falling" || v.statistics.List.Sorted() != "max" {
		t.Errorf("the tree is sorted by %q, the statistics by %q", v.tree.Sorted(), v.statistics.List.Sorted())
	}
}
