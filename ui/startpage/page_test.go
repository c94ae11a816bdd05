package startpage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/ui/control"
	"logparser/ui/hint"
)

// buttons returns the buttons that are to be seen on a page.
func buttons(p *Page) (list []*hint.Button) {
	var walk func(o fyne.CanvasObject)
	walk = func(o fyne.CanvasObject) {
		switch o := o.(type) {
		case *hint.Button:
			list = append(list, o)
		case *fyne.Container:
			for _, c := range o.Objects {
				if c.Visible() {
					walk(c)
				}
			}
		}
	}
	walk(p.body)
	return list
}

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
	var logs []*hint.Button
	for _, b := range buttons(p) {
		if strings.HasPrefix(b.Text, "there.dat") {
			logs = append(logs, b)
		}
	}
	if len(logs) != 2 || logs[0].Disabled() || !logs[1].Disabled() {
		t.Fatalf("%d buttons", len(logs))
	}
	test.Tap(logs[1])
	test.Tap(logs[0])
	if opened != there {
		t.Errorf("opened %q", opened)
	}
}

// TestWhatThePageOffers presses each button of the page.
func TestWhatThePageOffers(t *testing.T) {
	test.NewTempApp(t)
	p := New(theme.FileIcon())
	var did []string
	tell := func(what string) func() { return func() { did = append(did, what) } }
	p.OnOpen, p.OnFolder, p.OnSample, p.OnRecord, p.OnCancel = tell("open"), tell("folder"), tell("sample"), tell("record"), tell("cancel")
	p.OnRecent = func(path string) { did = append(did, "recent "+path) }
	p.OnForget = func(path string) { did = append(did, "forget "+path) }
	long := "/" + strings.Repeat("folder/", 20) + "a.dat"
	p.Show([]Recent{{Path: long, Size: 1500}})
	w := test.NewTempWindow(t, p.Content)
	w.Resize(fyne.NewSize(800, 600))
	var hints []string
	for _, b := range buttons(p) {
		if b.Hint != nil {
			first, _, _ := strings.Cut(b.Hint(), "\n")
			hints = append(hints, first)
		}
		test.Tap(b)
	}
	if want := []string{"open", "folder", "sample", "record", "recent " + long, "forget " + long}; !slices.Equal(did, want) {
		t.Errorf("done: %q, want %q", did, want)
	}
	want := []string{"Open a log   Ctrl+O", "Opens the log that lies in it.", "A small log that comes with LogParser.", "Record a program   Ctrl+Shift+R", long, "Takes it off this list; the file stays"}
	if !slices.Equal(hints, want) {
		t.Errorf("the buttons say %q, want %q", hints, want)
	}
	if got := shorten(filepath.ToSlash(filepath.Dir(long)), 60); len([]rune(got)) != 61 || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "/folder") {
		t.Errorf("a long folder is shown as %q", got)
	}
}

// TestWorkOnThePage shows work that takes long in the place of the hint about dropping files, with a button that stops it.
func TestWorkOnThePage(t *testing.T) {
	test.NewTempApp(t)
	p := New(theme.FileIcon())
	cancelled := 0
	p.OnCancel = func() { cancelled++ }
	w := test.NewTempWindow(t, p.Content)
	w.Resize(fyne.NewSize(800, 600))
	for _, step := range []struct {
		opening string
		work    control.Work
		want    string
		share   float64 // -1 where it is not known
	}{
		{"", control.Work{Title: "Looking at the files"}, "", 0},
		{"", control.Work{Title: "Looking at the files", Slow: true}, "Looking at the files", -1},
		{"a.dat", control.Work{Title: "Opening"}, "Opening · a.dat", -1},
		{"a.dat", control.Work{Title: "Reading the log", Slow: true}, "Reading the log · a.dat", -1},
		{"a.dat", control.Work{Title: "Reading the log", Slow: true, Done: 1, Total: 4}, "Reading the log · a.dat  25 %", 0.25},
		{"a.dat", control.Work{Title: "Reading the log", Slow: true, Done: 4, Total: 4}, "Reading the log · a.dat  100 %", 1},
		{"a.dat", control.Work{Title: "Pairing", Slow: true}, "Pairing · a.dat", -1},
		{"", control.Work{}, "", 0},
	} {
		p.ShowWork(step.opening, step.work)
		if p.Working() != step.want || p.hint.Visible() != (step.want == "") {
			t.Errorf("of %+v it says %q, want %q", step.work, p.Working(), step.want)
		}
		if known := step.share >= 0; step.want != "" && (p.progress.Visible() != known || p.endless.Visible() == known || p.endless.Running() == known || known && p.progress.Value != step.share) {
			t.Errorf("of %+v the bar is at %v, shown %v; the endless one is shown %v", step.work, p.progress.Value, p.progress.Visible(), p.endless.Visible())
		}
		if i := slices.IndexFunc(buttons(p), func(b *hint.Button) bool { return b.Text == "Cancel (Esc)" }); (i >= 0) != (step.want != "") {
			t.Errorf("of %+v the button to cancel is number %d", step.work, i)
		} else if i >= 0 {
			cancelled = 0
			if test.Tap(buttons(p)[i]); cancelled != 1 {
				t.Errorf("cancelled %d times", cancelled)
			}
		}
	}
	if p.endless.Running() {
		t.Error("the endless bar moves on")
	}
	// In another language the page keeps what it shows.
	p.ShowWork("a.dat", control.Work{Title: "Reading the log", Slow: true})
	if p.Relabel(); p.Working() == "" || p.hint.Visible() {
		t.Error("the work is not shown any more")
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 1_500_000: "1.5 MB", 999_999: "1.0 MB", 1 << 62: "4.6 EB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}
