package ui

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/rows"
)

// sitesTrace has a thread with a name, and calls of which it says where they were made.
const sitesTrace = `file begin=1000 flags=2
chunk process
thread @1000 stream=1 id=7 name="render"
load @1000 module=1 base=0x400000 size=0x10000 path="/bin/a"
chunk events thread=7 base=1000
enter @1100 entry 0x400100
site 0x400123
enter @1200 entry 0x400200
leave @1300
leave @1500
`

// Columns that take work are hidden at first, filled in when they are shown, can be
// filtered by, and stay shown.
func TestColumnsAreFilled(t *testing.T) {
	dir := t.TempDir()
	text, log := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.lptrace")
	if err := os.WriteFile(text, []byte(sitesTrace), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := app.LoadTrace(context.Background(), text, log, false); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	r.Open([]string{log})
	r.waitTrace("loaded")
	r.table.grid.Resize(r.table.grid.MinSize().AddWidthHeight(1200, 400))
	shown := func(column string, at int64) string {
		row, ok := r.table.rowAt(at)
		if !ok {
			t.Fatalf("there is no row %d", at)
		}
		return r.table.cellText(column, &row)
	}
	filled := func(f rows.Fields) func() bool {
		return func() bool {
			r.table.reader.Read(make([]rows.Row, 4), 0) // as drawing does
			row, ok := r.table.reader.At(1)
			return ok && row.Filled == f|rows.Values // which the function's cell shows
		}
	}
	r.wait("the rows", filled(0))
	show := func(title string) {
		t.Helper()
		list := r.actions.columnActions()
		i := slices.IndexFunc(list, func(a *action) bool { return a.title == title })
		if i < 0 || list[i].checked() {
			t.Fatalf("the column %s: %d of %d", title, i, len(list))
		}
		list[i].do()
	}
	var want rows.Fields
	for _, c := range []struct {
		title, id, cell, term string
		needs                 rows.Fields
	}{
		{"Self", "self", "100 ns", "self:>=100ns", rows.SelfTimes},
		{"Call site", "site", "a+0x123", "site:=a+0x123", rows.CallSites},
		{"Thread name", "thread_name", "render", "threadname:=render", rows.ThreadNames},
	} {
		show(c.title)
		want |= c.needs
		r.wait(c.title, filled(want))
		if got := shown(c.id, 1); got != c.cell {
			t.Errorf("%s is %q, want %q", c.title, got, c.cell)
		}
		row, _ := r.table.rowAt(1)
		if term, ok := cellTerm(c.id, &row); !ok || term.String() != c.term {
			t.Errorf("the term of %s is %v, want %s", c.title, term, c.term)
		}
		r.ctl.Filter.SetWhere(c.term)
		r.wait(c.term, func() bool { s := r.ctl.State(); return s.Filtered && s.View.Done() && s.Selection.Where == c.term })
		if n := r.ctl.State().Rows.Len(); n < 2 || n > 4 {
			t.Errorf("%s: %d rows", c.term, n)
		}
		r.ctl.Filter.SetWhere("")
		r.wait("all rows", func() bool { return !r.ctl.State().Filtered })
	}
	// The time since the row before goes by the rows that are shown.
	show("\u0394T")
	want |= rows.Deltas
	r.wait("the times between rows", filled(want))
	if got := shown("delta", 0) + "," + shown("delta", 1) + "," + shown("delta", 2); got != ",100 ns,100 ns" {
		t.Errorf("the rows come after each other by %s", got)
	}
	r.ctl.Filter.SetWhere("event:leave")
	r.wait("the leaves", func() bool { s := r.ctl.State(); return s.Filtered && s.View.Done() && s.Rows.Len() == 2 })
	r.wait("their times", func() bool {
		r.table.reader.Read(make([]rows.Row, 2), 0)
		row, ok := r.table.reader.At(1)
		return ok && row.Filled&rows.Deltas != 0
	})
	if got := shown("delta", 1); got != "200 ns" {
		t.Errorf("the second leave comes %s after the first", got)
	}
	rulesKnowThreads(t, r)
	r.table.showColumn("thread_name", true)
	again := New(r.app, Options{Post: func(f func()) { r.queue <- f }, Trace: r.trace}).front
	defer again.ctl.Close()
	for _, c := range again.table.grid.Columns() {
		if slices.Contains([]string{"self", "site", "thread_name"}, c.ID) && c.Hidden {
			t.Errorf("the column %s is hidden in the next window", c.ID)
		}
	}
}

func rulesKnowThreads(t *testing.T, r *rig) {
	t.Helper()
	// Rules know the threads' names whether or not the column is shown.
	r.ctl.Filter.SetWhere("")
	r.table.showColumn("thread_name", false)
	r.wait("all rows without the column", func() bool { return !r.ctl.State().Filtered && r.ctl.State().Rows.Len() > 2 })
	for rule, colour := range map[string]int{"thread:render": 1, "threadname:render": 1, "-thread:render": 0, "-thread:7": 0} {
		list := []colouring{}
		c, err := newColouring(rule, 1)
		if err == nil {
			list = append(list, c)
		}
		r.setColourings(list)
		if needed := r.filters.ruleNeeds()&rows.ThreadNames != 0; needed != (strings.Contains(rule, "render")) {
			t.Errorf("%s needs names: %t", rule, needed)
		}
		r.wait("the rows for "+rule, func() bool {
			r.table.reader.Read(make([]rows.Row, 4), 0)
			row, ok := r.table.reader.At(1)
			return ok && row.Filled&rows.ThreadNames == r.filters.ruleNeeds()&rows.ThreadNames
		})
		row, _ := r.table.reader.At(1)
		if got := r.filters.rowColour(&row); got != colour {
			t.Errorf("%s gives the row colour %d, want %d", rule, got, colour)
		}
	}
}

// What is done with columns is kept for logs of that kind; others have their own, and all
// can be as at first.
func TestColumnsAreKeptPerKind(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	state := func() string {
		var list []string
		for _, c := range r.front.table.grid.Columns() {
			if !c.Hidden {
				list = append(list, c.ID)
			}
		}
		return strings.Join(list, " ")
	}
	const first = "index time thread function duration module source note"
	if state() != first {
		t.Fatalf("at first %s", state())
	}
	items := func(column string) map[string]*fyne.MenuItem {
		all := map[string]*fyne.MenuItem{}
		for _, i := range r.actions.headerItems(column) {
			all[i.Label] = i
		}
		return all
	}
	if !items("function")["Hide the column"].Disabled {
		t.Error("the function can be hidden")
	}
	items("module")["Hide the column"].Action()
	r.table.grid.Order([]string{"duration", "index"})
	r.table.columnsChanged()
	const changed = "duration index time thread function source note"
	if state() != changed {
		t.Errorf("changed: %s", state())
	}
	r.table.grid.SetColumn("source", 300, false)
	items("source")["Fit the column"].Action()
	width := func() float32 {
		for _, c := range r.front.table.grid.Columns() {
			if c.ID == "source" {
				return c.Width
			}
		}
		return 0
	}
	if width() >= 300 {
		t.Errorf("fitted to %g", width())
	}
	// Logs of another kind have what was kept for them, and this one its own again.
	r.pref.p.SetStringList("columns.other", []string{"thread:64:false", "index:64:true"})
	r.pref.loadColumns(r.table.grid, "other")
	if got := state(); !strings.HasPrefix(got, "thread duration time") {
		t.Errorf("of another kind: %s", got)
	}
	path := r.others("b.dat")[0]
	r.Open([]string{path})
	r.wantTabs("a.dat b.dat*")
	if state() != changed {
		t.Errorf("the next log of the kind: %s", state())
	}
	items("index")["Columns as at first"].Action()
	if state() != first {
		t.Errorf("as at first: %s", state())
	}
}

// A row that is not on the screen has its arguments and result, too, as after a filter has been set.
func TestRowAtHasValues(t *testing.T) {
	dir := t.TempDir()
	text, log := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.lptrace")
	if err := os.WriteFile(text, []byte(sitesTrace), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := app.LoadTrace(context.Background(), text, log, false); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	r.Open([]string{log})
	r.waitTrace("loaded")
	r.table.readColumns() // nothing is read yet
	if row, ok := r.table.rowAt(1); !ok || row.Filled&rows.Values == 0 {
		t.Errorf("row 1 (%v) has %b, without values", ok, row.Filled)
	}
}
