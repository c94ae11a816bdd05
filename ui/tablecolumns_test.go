package ui

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/app"
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
			return ok && row.Filled == f
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
	again := New(r.app, Options{Post: func(f func()) { r.queue <- f }, Trace: r.trace})
	defer again.ctl.Close()
	for _, c := range again.table.grid.Columns() {
		if slices.Contains([]string{"self", "site", "thread_name"}, c.ID) && c.Hidden {
			t.Errorf("the column %s is hidden in the next window", c.ID)
		}
	}
}
