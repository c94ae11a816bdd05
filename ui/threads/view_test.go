package threads

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/grid"
)

func TestThreads(t *testing.T) {
	test.NewTempApp(t)
	queue := make(chan func(), 10)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { queue <- f })
	run := func() {
		t.Helper()
		select {
		case f := <-queue:
			f()
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was posted")
		}
	}
	v.Show([]control.ThreadSum{
		{Thread: app.Thread{ID: 7, Name: "main", Rows: 1200}, First: 1e6, Last: 3e9, Calls: 600, Busy: 2e9},
		{Thread: app.Thread{ID: 3, Rows: 5}, First: -1},
	}, 3)
	run()
	var copied, opened string
	v.OnCopy = func(s string) { copied = s }
	v.OnOpen = func(t *control.ThreadSum) { opened += t.Name }
	v.List.Grid.SelectAll()
	v.List.Grid.OnCopy()
	lines := strings.Split(copied, "\n")
	if len(lines) != 4 || lines[1] != "3\t\t5\t0\t\t\t0 ms" || lines[2] != "7\tmain\t1,200\t600\t+0.001\t+3.000\t2.000 s" {
		t.Errorf("shown %q", lines)
	}
	v.List.Grid.TypedRune('>')
	run()
	v.List.Grid.TypedRune('r')
	run()
	if got := v.List.At(0).ID; got != 7 {
		t.Errorf("by name, turned: %d is first", got)
	}
	v.List.Grid.OnActivated(0)
	if opened != "main" {
		t.Errorf("opened %q", opened)
	}
}
