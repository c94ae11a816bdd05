package startpage

import (
	"os"
	"path/filepath"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/ui/hint"
)

func TestMissingLogsAreMarked(t *testing.T) {
	test.NewTempApp(t)
	there := filepath.Join(t.TempDir(), "there.dat")
	if err := os.WriteFile(there, make([]byte, 1500), 0o666); err != nil {
		t.Fatal(err)
	}
	list := Look([]string{there, there + "x"})
	if list[0].Missing || list[0].Size != 1500 || !list[1].Missing {
		t.Fatalf("looked at: %+v", list)
	}
	p := New(theme.FileIcon())
	var opened string
	p.OnRecent = func(path string) { opened = path }
	p.Show(list)
	w := test.NewTempWindow(t, p.Content)
	w.Resize(fyne.NewSize(800, 600))
	var buttons []*hint.Button
	var walk func(o fyne.CanvasObject)
	walk = func(o fyne.CanvasObject) {
		switch o := o.(type) {
		case *hint.Button:
			if o.Text == "there.dat" || o.Text == "there.datx" {
				buttons = append(buttons, o)
			}
		case *fyne.Container:
			for _, c := range o.Objects {
				walk(c)
			}
		}
	}
	walk(p.body)
	if len(buttons) != 2 || buttons[0].Disabled() || !buttons[1].Disabled() {
		t.Fatalf("%d buttons", len(buttons))
	}
	test.Tap(buttons[1])
	test.Tap(buttons[0])
	if opened != there {
		t.Errorf("opened %q", opened)
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 1_500_000: "1.5 MB", 999_999: "1.0 MB", 1 << 62: "4.6 EB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
