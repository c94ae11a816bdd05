package ui

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/internal/testlog"
)

// What is chosen in the table is chosen in statistics and call tree, and the other
// way round; the panel shows it.
func TestChosenInOneIsChosenInAll(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	statistic := func() string {
		if f := r.views.statistics.List.Chosen(); f != nil {
			return f.Function
		}
		return ""
	}
	node := func() string {
		r.views.tree.Copy()
		lines := strings.Split(r.app.Clipboard().Content(), "\n")
		if len(lines) < 2 {
			return ""
		}
		name, _, _ := strings.Cut(strings.TrimSpace(lines[1]), "\t")
		return name
	}
	panel := func(what string) {
		t.Helper()
		r.wait("the panel to show "+what, func() bool {
			frames := r.side.call.Frames()
			return strings.HasPrefix(r.side.call.Details(), what) && len(frames) > 0 && frames[0] == what
		})
	}

	// From the table to the statistics, when the view is opened and while it is
	// looked at.
	r.table.grid.SetCurrent(17) // app::Shape::area<int>
	r.menuItem("Statistics").Action()
	r.wait("statistics", func() bool { return statistic() == "app::Shape::area<int>" })
	panel("app::Shape::area<int>")
	r.nav.goTo(15)
	r.wait("the other function", func() bool { return statistic() == "app::run" })
	if r.table.indexOf(r.table.grid.Current()) != 15 {
		t.Errorf("the table is at row %d", r.table.indexOf(r.table.grid.Current()))
	}
	// And back: the first call of what is chosen.
	list := r.views.statistics.List
	at := slices.IndexFunc(r.views.statistics.Shown(), func(f app.FunctionStat) bool { return f.Function == "std::sort" })
	list.Grid.SetCurrent(int64(at))
	r.waitTrace("picked 4")
	if got := r.table.indexOf(r.table.grid.Current()); got != 4 || statistic() != "std::sort" {
		t.Errorf("the table is at row %d, the statistics at %s", got, statistic())
	}
	panel("std::sort")
	// A row of the function stays where it is, and so does it when sorting.
	r.nav.goTo(18)
	r.wait("the function of row 18", func() bool { return statistic() == "std::sort" })
	list.Turn()
	r.wait("the order", func() bool { return r.views.statistics.Shown()[at].Function != "std::sort" })
	if got := r.table.indexOf(r.table.grid.Current()); got != 18 || statistic() != "std::sort" {
		t.Errorf("after sorting the table is at row %d, the statistics at %s", got, statistic())
	}

	// The call tree, top-down: the way to the row is unfolded.
	r.menuItem("Call tree").Action()
	r.wait("the way", func() bool { return node() == "std::sort" })
	r.nav.goTo(2)
	r.wait("the way", func() bool { return node() == "app::Window::paint" })
	r.views.tree.Grid.TypedKey(&fyne.KeyEvent{Name: fyne.KeyUp})
	r.waitTrace("picked 1")
	if got := r.table.indexOf(r.table.grid.Current()); got != 1 || node() != "app::run" {
		t.Errorf("the table is at row %d, the tree at %s", got, node())
	}
	panel("app::run")
	// Bottom-up the function itself is chosen.
	r.views.tree.Grid.TypedRune('b')
	r.nav.goTo(6)
	r.wait("the function", func() bool { return node() == "util::clamp" })
}
