package table

import (
	"strings"
	"testing"
	"time"

	"logparser/rows"
	"logparser/ui/grid"
)

func TestDuration(t *testing.T) {
	for _, test := range []struct {
		ns     int64
		digits int
		want   string
	}{
		{rows.NoDuration, 3, ""},
		{0, 3, "0 ms"},
		{12_000_000, 3, "12 ms"},
		{1_234_567_890, 3, "1.234 s"},
		{1_234_567, 6, "1.234 ms"},
		{7_000, 6, "7 \u00b5s"},
		{1_234, 9, "1.234 \u00b5s"},
		{321, 9, "321 ns"},
	} {
		if got := string(AppendDuration(nil, test.ns, test.digits)); got != test.want {
			t.Errorf("%d ns with %d digits is %q, want %q", test.ns, test.digits, got, test.want)
		}
	}
}

func TestTime(t *testing.T) {
	wall := time.Date(2013, 5, 4, 9, 8, 7, 6_005_004, time.UTC)
	for _, test := range []struct {
		row  rows.Row
		f    Format
		want string
	}{
		{rows.Row{Wall: wall, HasWall: true}, Format{Digits: 3}, "09:08:07.006"},
		{rows.Row{Wall: wall, HasWall: true}, Format{Digits: 6}, "09:08:07.006005"},
		{rows.Row{Wall: wall, HasWall: true}, Format{Digits: 9, Dates: true}, "05-04 09:08:07.006005004"},
		{rows.Row{Wall: wall, HasWall: true}, Format{}, "09:08:07.006"},
		{rows.Row{Elapsed: 61_002_003_004}, Format{Digits: 3}, "+61.002"},
		{rows.Row{Elapsed: -1_500_000_000}, Format{Digits: 3}, "+-1.500"},
	} {
		if got := string(AppendTime(nil, &test.row, test.f)); got != test.want {
			t.Errorf("%+v is %q, want %q", test.f, got, test.want)
		}
	}
}

// Every column can show every kind of row.
func TestCells(t *testing.T) {
	f := Format{Digits: 3}
	r := rows.Row{Index: 5, Thread: 7, Event: rows.Leave, Depth: 2, Duration: 3e6, Function: "f", Module: "m.dll",
		Process: &rows.Process{Label: "29 app"}, Source: `C:\src\a.cpp`, Line: 12, Address: 0xabc, Symbols: "mismatched", Note: "tail", Elapsed: 1e6,
		Filled: rows.SelfTimes | rows.CallSites | rows.ThreadNames | rows.Deltas | rows.Values, Delta: -2e6, Self: 1e6, SelfAbout: true, ThreadName: "render",
		Site:   &rows.CallSite{Function: "caller", Source: "/src/b.cpp", Line: 3, Address: 0xdef},
		Values: &rows.CallValues{Arguments: []rows.Value{{Name: "w", Type: "int", Text: "3"}}, Results: []rows.Value{{Type: "int", Text: "12"}}}}
	want := map[string]string{"index": "5", "delta": "-2 ms", "time": "+0.001", "thread": "7", "function": "f", "duration": "3 ms",
		"module": "m.dll", "source": "a.cpp:12", "address": "0xabc", "symbols": Status("mismatched"), "note": "tail",
		"thread_name": "render", "process": "29 app", "self": "~ 1 ms", "site": "caller  b.cpp:3", "arguments": "int w = 3", "result": "12"}
	columns := Columns(&f)
	if len(columns) != len(want) {
		t.Fatalf("%d columns", len(columns))
	}
	for _, c := range columns {
		var cell grid.Cell
		c.Cell(&r, &cell)
		if string(cell.Text) != want[c.ID] {
			t.Errorf("column %s shows %q, want %q", c.ID, cell.Text, want[c.ID])
		}
		if c.ID == "function" && (cell.Level != 2 || cell.SignInk != grid.Leave) {
			t.Errorf("function cell %+v", cell)
		}
		if column := rows.ColumnOf(c.ID); c.Hidden != column.Hidden || c.Title == "" {
			t.Errorf("column %s is %q, hidden %t", c.ID, c.Title, c.Hidden)
		}
		empty := rows.Row{Event: rows.Unknown, Duration: rows.NoDuration}
		c.Cell(&empty, &cell)
	}
	if got := Needs(columns); got != rows.Values {
		t.Errorf("what is shown at first needs %b", got)
	}
	for i := range columns {
		columns[i].Hidden = columns[i].ID != "self" && columns[i].ID != "site"
	}
	if got := Needs(columns); got != rows.SelfTimes|rows.CallSites {
		t.Errorf("self times and call sites need %b", got)
	}
	r.Function, r.Source = rows.TagFunction(r.Function), rows.TagSource(r.Source)
	for _, c := range columns {
		var cell grid.Cell
		if c.Cell(&r, &cell); c.ID == "function" && (string(cell.Text) != "[mismatched] f" || cell.Ink != grid.Bad) ||
			c.ID == "source" && (string(cell.Text) != "a.cpp:12 [!]" || cell.Ink != grid.Bad) {
			t.Errorf("a name of another build: column %s shows %q in ink %v", c.ID, cell.Text, cell.Ink)
		}
	}
	if got := string(AppendLine(nil, &r, f)); !strings.Contains(got, "[mismatched] f\t") || !strings.Contains(got, `a.cpp [mismatched]:12`) {
		t.Errorf("copied as %q", got)
	}
	r.Function, r.Source = "f", rows.CutSourceTag(r.Source)
	if got := Describe(&r); got != `f   C:\src\a.cpp:12   0xabc` {
		t.Errorf("described as %q", got)
	}
}
