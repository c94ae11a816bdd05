package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/rows/filter"
	"logparser/ui/control"
)

// processTrace is a trace of one of two processes whose threads have the same ids.
const processTrace = `file begin=1000 rate=1000000000 pid=%[1]d state=1
chunk process
process @1000 pid=%[1]d parent=1 path="/bin/%[2]s" system="Linux"
clock @1000 ns=1000 wall=1700000000000000000
load @1000 module=1 flags=1 base=0x400000 size=0x1000 path="/bin/%[2]s"
end @1900
chunk events thread=7 base=1000
enter @1%[3]d00 entry 0x400010
enter @1%[3]d50 entry 0x400020
leave @1500
leave @1600
`

// TestProcessesTogether opens two traces that are given together: they are one table with
// a column for the process, and a thread of one is not that of the other.
func TestProcessesTogether(t *testing.T) {
	dir := t.TempDir()
	var logs []string
	for i, name := range []string{"server", "client"} {
		text, log := filepath.Join(dir, name+".txt"), filepath.Join(dir, name+".lptrace")
		if err := os.WriteFile(text, fmt.Appendf(nil, processTrace, 50+i, name, 1+i), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := app.LoadTrace(context.Background(), text, log, false); err != nil {
			t.Fatal(err)
		}
		logs = append(logs, log)
	}
	r := newRig(t, nil)
	hidden := func() bool {
		for _, c := range r.table.grid.Columns() {
			if c.ID == "process" {
				return c.Hidden
			}
		}
		t.Fatal("there is no column")
		return false
	}
	r.Open(logs)
	r.waitTrace("together?")
	test.Tap(button(t, r.win.Canvas().Overlays().Top(), "Open together"))
	r.waitTrace("loaded")
	if s := r.ctl.State(); s.Rows.Len() != 8 || hidden() {
		t.Fatalf("%d rows, the column is hidden: %t", s.Rows.Len(), hidden())
	}
	if got := r.strip.Log.Entry.Text; got != control.JoinPaths(logs) {
		t.Errorf("the log is said to be %s", got)
	}
	r.table.grid.Resize(r.table.grid.MinSize().AddWidthHeight(1200, 400))
	row := r.ctl.State().Rows.Row(2)
	if got := r.table.cellText("process", &row); got != "51 client" {
		t.Errorf("row 2 is of %q", got)
	}
	if options := strings.Join(r.bar.thread.Options, "; "); options != "All threads; 7 \u00b7 50 server  (4); 7 \u00b7 51 client  (4)" {
		t.Errorf("threads %s", options)
	}
	// The thread of one process, then that of the other, then all.
	wanted := func(where string) {
		t.Helper()
		r.wait(where, func() bool {
			s := r.ctl.State()
			return s.Selection.Where == where && (where == "" || s.View.Done())
		})
	}
	r.bar.thread.SetSelectedIndex(2)
	wanted(`process:="51 client" thread:7`)
	if s := r.ctl.State(); s.Rows.Len() != 4 || r.bar.thread.SelectedIndex() != 2 {
		t.Errorf("%d rows of the second process, option %d", s.Rows.Len(), r.bar.thread.SelectedIndex())
	}
	r.bar.thread.SetSelectedIndex(1)
	wanted(`process:="50 server" thread:7`)
	r.bar.thread.SetSelectedIndex(0)
	wanted("")
	if term, ok := cellTerm("process", &row); !ok || term.String() != `process:="51 client"` || filter.Join(term.Parts()).String() != term.String() {
		t.Errorf("the cell's term is %v", term)
	}
	// One of them alone has no such column.
	r.ctl.Inputs.SetLog(logs[0])
	r.wait("one log", func() bool { s := r.ctl.State(); return s.Loaded && s.Rows.Len() == 4 })
	if !hidden() {
		t.Error("the column is shown of one process")
	}
}
