package files

import (
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"
)

// Without the system's dialogs each question opens one of Fyne's.
func TestFallback(t *testing.T) {
	test.NewTempApp(t)
	w := test.NewTempWindow(t, widget.NewLabel(""))
	w.Resize(fyne.NewSize(900, 700))
	p := &Picker{Window: w, Post: func(f func()) { f() }}
	start := filepath.Join(t.TempDir(), "a.dat")
	for name, ask := range map[string]func(){
		"file":   func() { p.File("title", start, func(string) {}) },
		"folder": func() { p.Folder("title", start, func(string) {}) },
		"save":   func() { p.Save("title", start, func(string, bool) {}) },
		"absent": func() { p.File("title", filepath.Join(start, "x", "y"), func(string) {}) },
	} {
		ask()
		top := w.Canvas().Overlays().Top()
		if top == nil {
			t.Errorf("%s: no dialog", name)
			continue
		}
		w.Canvas().Overlays().Remove(top)
	}
}

func TestFolderOf(t *testing.T) {
	sep := string(filepath.Separator)
	if got := folderOf(filepath.Join(sep+"a", "b.dat")); got != sep+"a"+sep {
		t.Errorf("%q", got)
	}
	if got := folderOf(""); got != "" {
		t.Errorf("%q", got)
	}
}
