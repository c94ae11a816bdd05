package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/storage"

	"logparser/ui/addressview"
)

const namedImage = "../symbols/dwarf/testdata/gcc5.so"

// TestTextWithAddresses shows a text out of the clipboard and out of a file with the names of its addresses: those of
// inlined functions in lines of their own. What is chosen is shown with its source.
func TestTextWithAddresses(t *testing.T) {
	r := newRig(t, nil)
	dir, err := filepath.Abs(filepath.Dir(namedImage))
	if err != nil {
		t.Fatal(err)
	}
	r.ctl.Inputs.SetSymbols([]string{dir})
	text := "before\n    #0 0x7f0985  (/opt/gcc5.so+0x0985)\n    #1 0x1  (/opt/missing.so+0x1)\nbehind\n"
	r.app.Clipboard().SetContent(text)
	r.actions.act("paste-text")
	r.waitTrace("addresses 4")
	lines := func() (list []*addressview.Line) {
		for i := range int64(r.addresses.view.Lines.Len()) {
			list = append(list, r.addresses.view.Lines.At(i))
		}
		return list
	}
	r.wait("the lines", func() bool { return len(lines()) >= 4 })
	chosen := -1
	for i, l := range lines() {
		if l.File != "" && l.Number > 0 && chosen < 0 {
			chosen = i
		}
	}
	if chosen < 0 {
		t.Fatalf("no line has a name: %+v", lines())
	}
	// The source is not there, and that is said.
	r.addresses.view.Lines.Grid.SetCurrent(int64(chosen))
	r.waitTrace("source 0")
	var copied string
	r.addresses.view.OnCopy = func(text string) { copied = text }
	r.addresses.view.Lines.Grid.SelectAll()
	r.addresses.view.Lines.Grid.OnCopy()
	if !strings.Contains(copied, "checked") || !strings.Contains(copied, "behind") {
		t.Errorf("copied is %q", copied)
	}

	path := filepath.Join(t.TempDir(), "crash.txt")
	if err := os.WriteFile(path, []byte(text+"more\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r.addresses.show(path, "")
	r.waitTrace("addresses 5")
	r.addresses.show(filepath.Join(t.TempDir(), "missing"), "")
	r.wait("the error", func() bool { return r.addresses.view.Lines.Len() == 0 })
}

// A text that is dropped on the window is shown, also without a log, and can be read again when its file has changed.
func TestTextIsDropped(t *testing.T) {
	r := newRig(t, nil)
	path := filepath.Join(t.TempDir(), "crash.txt")
	text := "    #0 0x7f0985  (/opt/gcc5.so+0x0985)\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r.dropped(fyne.Position{}, []fyne.URI{storage.NewFileURI(path)})
	r.waitTrace("addresses 1\n")
	if m := r.ctl.State().Message; m == nil || !strings.Contains(m.Text, "crash.txt was taken as a text with addresses") {
		t.Errorf("said is %+v", m)
	}
	if r.ctl.State().Wanted.Modules != "" {
		t.Error("it is the modules file, too")
	}
	if err := os.WriteFile(path, []byte(text+text), 0o666); err != nil {
		t.Fatal(err)
	}
	r.waitTrace("text changed")
	r.addresses.view.OnReload()
	r.waitTrace("addresses 2\n")
}
