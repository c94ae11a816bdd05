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

// The thread that is wanted is chosen as soon as it is listed, wherever the order
// puts it.
func TestChoose(t *testing.T) {
	test.NewTempApp(t)
	queue := make(chan func(), 10)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { queue <- f })
	v.Choose(7)
	v.Show([]control.ThreadSum{{Thread: app.Thread{ID: 9}}, {Thread: app.Thread{ID: 7}}, {Thread: app.Thread{ID: 3}}}, 3)
	(<-queue)()
	if got := v.List.Chosen(); got == nil || got.ID != 7 {
		t.Errorf("chosen %+v, which is not what was wanted before there was a list", got)
	}
	v.Choose(9)
	if got := v.List.Chosen(); got.ID != 9 {
		t.Errorf("chosen %d", got.ID)
	}
	v.Choose(5) // there is none
	if got := v.List.Chosen(); got.ID != 9 {
		t.Errorf("chosen %d", got.ID)
	}
}
