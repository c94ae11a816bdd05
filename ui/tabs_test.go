package ui

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/storage"
	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/ui/instance"
)

// others writes further logs beside the first.
func (r *rig) others(names ...string) []string {
	r.t.Helper()
	var paths []string
	for i, name := range names {
		path := filepath.Join(filepath.Dir(r.log), name)
		if err := os.WriteFile(path, []byte{0, 1, 2, byte(i + 1)}, 0o666); err != nil {
			r.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// tabTitles are the titles of the tabs, with a star at the one in front.
func (r *rig) tabTitles() string {
	var list []string
	for _, ws := range r.tabs.list {
		title := ws.title()
		if ws == r.front {
			title += "*"
		}
		list = append(list, title)
	}
	return strings.Join(list, " ")
}

func (r *rig) wantTabs(want string) {
	r.t.Helper()
	r.wait("tabs "+want, func() bool {
		return r.tabTitles() == want && !slices.ContainsFunc(r.tabs.list, func(ws *workspace) bool { return ws.ctl.State().Wanted.Log != "" && !ws.ctl.State().Loaded })
	})
	if several := len(r.tabs.list) > 1; r.tabs.bar.Content.Visible() != several {
		r.t.Errorf("%d tabs, the bar is visible: %t", len(r.tabs.list), !several)
	}
}

// A second log comes into a tab of its own, behind which the first is as it was left; the
// same log again only comes to the front; what belongs to a log goes to the one in front.
func TestLogsInTabs(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.wantTabs("a.dat*")
	high := r.front.content.Size().Height
	if got := r.win.Canvas().Size().Height; high != got {
		t.Errorf("one log has %g of the window's height %g", high, got)
	}
	first := r.front
	first.ctl.Filter.SetWhere("thread:1000")
	r.wait("the filter", func() bool { return first.ctl.State().View != nil && first.ctl.State().View.Done() })
	first.table.grid.SetCurrent(7)
	row := first.table.currentRow()
	first.views.show(viewThreads)

	paths := r.others("b.dat", "c.dat")
	r.dropped(fyne.Position{}, []fyne.URI{storage.NewFileURI(paths[0])})
	r.wantTabs("a.dat b.dat*")
	if got := r.win.Title(); got != "b.dat \u2013 LogParser" {
		t.Errorf("title %q", got)
	}
	if s := r.front.ctl.State(); s.Filtered || r.front.views.shown() != viewTable || r.front.table.currentRow() > 0 || r.front.nav.history.rows != nil {
		t.Error("the second log has something of the first")
	}
	r.Open(paths[1:])
	r.wantTabs("a.dat b.dat c.dat*")
	r.Open([]string{r.log})
	r.wantTabs("a.dat* b.dat c.dat")
	if r.nested.Opened() != 3 {
		t.Errorf("opened %d logs", r.nested.Opened())
	}
	if s := first.ctl.State(); s.Selection.Where != "thread:1000" || first.views.shown() != viewThreads || first.table.currentRow() != row {
		t.Errorf("the first log was left at %+v, view %s, row %d", s.Selection, first.views.shown(), first.table.currentRow())
	}
	// Symbols are for the log in front.
	r.Open([]string{filepath.Dir(t.TempDir())})
	r.wait("the symbol path", func() bool { return len(first.ctl.State().Wanted.Symbols) == 1 })
	for _, ws := range r.tabs.list[1:] {
		if n := len(ws.ctl.State().Wanted.Symbols); n != 0 {
			t.Errorf("%s has %d symbol paths of another log", ws.title(), n)
		}
	}
}

// Keys, presses and the bar lead from tab to tab; what acts acts in front.
func TestTabsByKeysAndMouse(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	for _, path := range r.others("b.dat", "c.dat") {
		r.Open([]string{path})
		r.wait(path, func() bool { return r.front.ctl.State().Found.Log == path && r.front.ctl.State().Loaded })
	}
	for _, step := range []struct{ item, want string }{
		{"Next tab", "a.dat* b.dat c.dat"},
		{"Next tab", "a.dat b.dat* c.dat"},
		{"Previous tab", "a.dat* b.dat c.dat"},
		{"Previous tab", "a.dat b.dat c.dat*"},
	} {
		r.menuItem(step.item).Action()
		r.wantTabs(step.want)
	}
	if focused := r.win.Canvas().Focused(); focused != fyne.Focusable(r.front.table.grid) {
		t.Errorf("the focus is on %T", focused)
	}
	r.menuItem("Find").Action()
	if r.front.bar.finding.Hidden || !r.tabs.list[0].bar.finding.Hidden {
		t.Error("the menu acts in another tab")
	}
	tab := r.tabs.bar.Tab(0)
	test.TapAt(tab, fyne.NewPos(20, 10))
	r.wantTabs("a.dat* b.dat c.dat")
	cross := r.tabs.bar.Tab(1)
	test.TapAt(cross, fyne.NewPos(cross.Size().Width-8, 10))
	r.wantTabs("a.dat* c.dat")
	// Behind a dialog nothing of this happens.
	r.menuItem("About the log").Action()
	r.menuItem("Next tab").Action()
	test.TapAt(r.tabs.bar.Tab(1), fyne.NewPos(20, 10))
	r.wantTabs("a.dat* c.dat")
	r.typeKey(fyne.KeyEscape)
	r.menuItem("New tab").Action()
	r.wantTabs("a.dat New tab* c.dat")
	if got := r.win.Title(); got != "LogParser" {
		t.Errorf("title %q", got)
	}
	for _, want := range []string{"a.dat c.dat*", "a.dat*"} {
		r.menuItem("Close the log").Action()
		r.wantTabs(want)
	}
	r.menuItem("Close the log").Action()
	r.wantTabs("New tab*")
}

// A tab that is closed gives all back: its log is closed, also while it is being read, and
// the others are as they were.
func TestClosedTabEndsItsWork(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1000})
	r.open()
	release := r.nested.Hold()
	path := r.others("b.dat")[0]
	r.Open([]string{path})
	r.wait("its rows", func() bool { return r.front.ctl.State().Found.Log == path && r.front.ctl.State().Opened })
	closing := r.front
	r.menuItem("Close the log").Action()
	release()
	r.wait("the log to be closed", func() bool { return r.nested.Closed() == 1 })
	r.wantTabs("a.dat*")
	if s := closing.ctl.State(); s.Opened || s.Rows != nil || closing.views.lines != nil || closing.ctl.OnChange != nil {
		t.Error("the closed tab keeps its log")
	}
	if n := r.ctl.State().Rows.Len(); n != 1000 || !r.ctl.State().Loaded {
		t.Errorf("%d rows are left of the other", n)
	}
}

// Several logs that cannot be one session come into tabs, at most once each.
func TestSeveralLogsAtTheStart(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	paths := append([]string{r.log}, r.others("b.dat", "c.dat")...)
	r.Open(append(paths, paths[1]))
	r.wantTabs("a.dat* b.dat c.dat")
	if r.nested.Opened() != 3 {
		t.Errorf("opened %d logs", r.nested.Opened())
	}
}

// With the setting off a log takes the place of the one in front.
func TestWithoutTabs(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	r.pref.setInTabs(false)
	r.open()
	r.Open(r.others("b.dat"))
	r.wantTabs("b.dat*")
}

// While a file is saved from a tab, closing it asks.
func TestClosingATabThatSaves(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100_000})
	r.open()
	r.Open(r.others("b.dat"))
	r.wantTabs("a.dat b.dat*")
	r.nested.Slow()
	target := filepath.Join(t.TempDir(), "out.csv")
	r.front.ctl.Saving.Save(target, "csv", app.SaveOptions{})
	r.menuItem("Close the log").Action()
	if r.overlays() != 1 || len(r.tabs.list) != 2 {
		t.Fatalf("%d overlays, %d tabs", r.overlays(), len(r.tabs.list))
	}
	test.Tap(button(t, r.win.Canvas().Overlays().Top(), "Yes"))
	r.wantTabs("a.dat*")
	r.nested.OnRead(nil)
	r.wait("the log to be closed", func() bool { return r.nested.Closed() == 1 })
	if _, err := os.Stat(target); err == nil {
		t.Error("half a file is left")
	}
}

// What a second start was given comes into tabs of this window, after what is asked is
// answered.
func TestSecondStart(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	r.open()
	r.menuItem("About the log").Action()
	r.Take(instance.Request{Paths: r.others("b.dat", "c.dat")})
	r.wait("nothing", func() bool { return len(r.queue) == 0 })
	r.wantTabs("a.dat*")
	r.typeKey(fyne.KeyEscape)
	r.wantTabs("a.dat b.dat* c.dat")
	r.Take(instance.Request{})
	r.waitTrace("taken 0")
	r.wantTabs("a.dat b.dat* c.dat")
}
