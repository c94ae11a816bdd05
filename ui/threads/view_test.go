package threads

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/rows"
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

// A press on the right button asks for the thread's menu, a choice by the user is told; threads of several processes
// say theirs, and the busiest has the longest bar.
func TestThreadsLeadElsewhere(t *testing.T) {
	test.NewTempApp(t)
	queue := make(chan func(), 10)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { queue <- f })
	var menus, chosen []uint32
	v.OnMenu = func(t *control.ThreadSum, _ fyne.Position) { menus = append(menus, t.ID) }
	v.OnChosen = func(t *control.ThreadSum) { chosen = append(chosen, t.ID) }
	shop := &rows.Process{Number: 1, Label: "99 shop"}
	v.Show([]control.ThreadSum{
		{Thread: app.Thread{ID: 3, Process: shop}, Busy: 1e9},
		{Thread: app.Thread{ID: 7, Name: "main", Process: shop}, Busy: 4e9},
		{Thread: app.Thread{ID: 9}, Busy: 2e9},
	}, 3)
	(<-queue)()
	cell := func(id string, row int64) (c grid.Cell) {
		for _, column := range v.List.Grid.Columns() {
			if column.ID == id {
				column.Cell(&rows.Row{Index: row}, &c)
			}
		}
		return c
	}
	for row, want := range []string{" \u00b7 99 shop", "main \u00b7 99 shop", ""} {
		if got := string(cell("name", int64(row)).Text); got != want {
			t.Errorf("thread %d is %q, want %q", row, got, want)
		}
		if got, want := cell("busy", int64(row)).Bar, []float32{0.25, 1, 0.5}[row]; got != want {
			t.Errorf("thread %d has a bar of %v, want %v", row, got, want)
		}
	}
	for _, row := range []int64{1, 5, -1} {
		v.List.Grid.OnMenu(row, "name", fyne.Position{})
		v.List.Grid.OnChosen(row)
		v.List.Grid.OnActivated(row) // nobody wants to know
	}
	if !slices.Equal(menus, []uint32{7}) || !slices.Equal(chosen, []uint32{7}) {
		t.Errorf("menus of %v, chosen %v", menus, chosen)
	}
	// Who uses no mouse sorts by the column before, too: the last one.
	v.List.Grid.TypedRune('<')
	(<-queue)()
	if got := v.List.Sorted(); got != "busy falling" || v.List.At(0).ID != 7 {
		t.Errorf("sorted by %s, %d is first", got, v.List.At(0).ID)
	}
	v.List.Grid.TypedRune('.')
	(<-queue)()
	if got := v.List.Sorted(); got != "thread" || v.List.At(0).ID != 3 {
		t.Errorf("sorted by %s, %d is first", got, v.List.At(0).ID)
	}
}
