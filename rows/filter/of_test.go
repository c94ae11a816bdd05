package filter

import (
	"testing"
	"time"

	"logparser/rows"
)

// twoRows are the enters of two calls that have no value in common.
func twoRows() [2]rows.Row {
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	return [2]rows.Row{
		{Index: 3, Wall: begin, HasWall: true, Elapsed: 100, Thread: 7, Process: &rows.Process{ID: 70, Name: "first", Label: "first (70)"}, Event: rows.Enter, Depth: 1,
			Duration: 5000, Function: "alpha", Module: "one.so", Source: "a.c", Line: 10, Address: 0x1000, Symbols: "matched", Note: "open",
			Filled: rows.SelfTimes | rows.CallSites | rows.ThreadNames | rows.Deltas, Self: 4000, ThreadName: "render", Delta: 90,
			Site: &rows.CallSite{Function: "caller", Module: "three.so", Source: "c.c", Line: 30, Address: 0x2000}},
		{Index: 9, Wall: begin.Add(time.Second), HasWall: true, Elapsed: 2000, Thread: 8, Process: &rows.Process{ID: 80, Name: "second", Label: "second (80)"}, Event: rows.Leave, Depth: 2,
			Duration: 50, Function: "beta", Module: "two.so", Source: "b.c", Line: 20, Address: 0x3000, Symbols: "exports", Note: "tail",
			Filled: rows.SelfTimes | rows.CallSites | rows.ThreadNames | rows.Deltas, Self: 40, ThreadName: "worker", Delta: 80,
			Site: &rows.CallSite{Function: "other", Module: "four.so", Source: "d.c", Line: 40, Address: 0x4000}},
	}
}

// rowsEnv is the environment of twoRows: each lies in its own call alone.
type rowsEnv [2]rows.Row

func (e rowsEnv) ThreadName(r *rows.Row) string { return r.ThreadName }
func (e rowsEnv) Self(int64) (int64, bool)      { return 0, false }
func (e rowsEnv) Enter(row int64) int64         { return row }
func (e rowsEnv) Calls(row int64) []rows.Row {
	for _, r := range e {
		if r.Index == row {
			return []rows.Row{r}
		}
	}
	return nil
}

// TestOfEachColumn makes the term of each column's value in a row, as the menu of a cell does: it holds for this row, and
// not for one that has another value; written and read again it means the same.
func TestOfEachColumn(t *testing.T) {
	list := twoRows()
	a, b := &list[0], &list[1]
	env := rowsEnv(list)
	terms := 0
	for _, name := range Columns() {
		c, ok := ColumnNamed(name)
		if !ok {
			t.Fatalf("%s is no column", name)
		}
		e, ok := Of(c, a)
		if c == Text || name == "args" || name == "result" || !ok { // the rows have no values of calls
			continue
		}
		terms++
		if !e.Matches(a, env) {
			t.Errorf("%s: %s does not hold for its own row", name, e)
		}
		if e.Matches(b, env) {
			t.Errorf("%s: %s holds for a row of another value", name, e)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() || !again.Matches(a, env) || again.Matches(b, env) {
			t.Errorf("%s: %s is read as %v, %v", name, e, again, err)
		}
		if without := e.Exclude(e); without.Matches(a, env) {
			t.Errorf("%s: %s holds for what was excluded", name, without)
		}
	}
	if terms < 17 {
		t.Errorf("%d columns have terms", terms)
	}
	// What a row has not gives no term.
	none := &rows.Row{Event: rows.Unknown, Duration: rows.NoDuration, Self: rows.NoDuration}
	for _, c := range []Column{Process, Duration, Self, Column("none")} {
		if e, ok := Of(c, none); ok {
			t.Errorf("%s of an empty row is %s", c, e)
		}
	}
	for _, text := range []string{"thread:7", "process:first", "threadname:render", "in:alpha", "call:3"} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		damaged := *a
		damaged.Event = rows.Unknown
		if !e.Matches(a, env) || e.Matches(&damaged, env) {
			t.Errorf("%s: %t of a row, %t of a damaged one", text, e.Matches(a, env), e.Matches(&damaged, env))
		}
	}
}

// TestReplaceMixed replaces terms of a column: those of several columns that "or" joins stay.
func TestReplaceMixed(t *testing.T) {
	for _, test := range []struct{ expr, by, want string }{
		{"thread:1 func:f", "thread:2", "func:f thread:2"},
		{"(thread:1 or thread:3) func:f", "thread:2", "func:f thread:2"},
		{"(thread:1 or func:g)", "thread:2", "(thread:1 or func:g) thread:2"},
		{"-thread:1", "thread:2", "thread:2"},
		{"thread:1 module:m", "thread:2 module:n", "thread:2 module:n"},
	} {
		e, err := Parse(test.expr)
		if err != nil {
			t.Fatal(err)
		}
		by, err := Parse(test.by)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Replace(by).String(); got != test.want {
			t.Errorf("%s, replaced by %s, is %s, want %s", test.expr, test.by, got, test.want)
		}
	}
}
