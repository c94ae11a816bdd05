package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
)

// opened opens a log.
func opened(t *testing.T, log *testlog.Nested) *desk {
	t.Helper()
	d := newDesk(t, log)
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	return d
}

// The first rows are shown while the rest is counted, and stay when that is
// cancelled.
func TestFilterShowsFirstRowsAtOnce(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 4_000_000})
	d.nested.Slow()
	d.Filter.SetWhere("func:main")
	d.wait("the first rows", func() bool { return d.State().Filtered && d.State().View.Len() > 0 })
	if d.State().View.Done() {
		t.Error("all rows are known at once")
	}
	d.wait("progress", func() bool { return d.State().Work.Slow })
	d.Cancel()
	d.wait("the end", func() bool { return !d.State().Work.Slow })
	if s := d.State(); !s.Filtered || s.Rows.Len() == 0 || s.Rows.Len() > 4_000_000/14 || s.Message != nil {
		t.Errorf("cancelled: filtered %v, %d rows, message %+v", s.Filtered, s.Rows.Len(), s.Message)
	}
}

func TestWrongFilterChangesNothing(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 100})
	d.Filter.SetWhere("thread:1000")
	d.waitEvent("filtered 56")
	d.Filter.SetWhere("thread:1000 (func:x")
	d.waitEvent("filter error")
	s := d.State()
	if e := s.FilterError; e == nil || e.Offset != 12 || e.Where != "thread:1000 (func:x" || strings.Contains(e.Text, "byte") {
		t.Errorf("error %+v", e)
	}
	if s.Rows.Len() != 56 || s.Selection.Where != "thread:1000" {
		t.Errorf("%d rows of %q", s.Rows.Len(), s.Selection.Where)
	}
	d.Filter.SetWhere("")
	if s.FilterError != nil || s.Filtered {
		t.Errorf("error %+v, filtered %v", s.FilterError, s.Filtered)
	}
}

// A newer filter takes the place of one that is still counting.
func TestLastFilterWins(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 1000})
	release := d.nested.Hold()
	d.Filter.SetWhere("thread:1000")
	d.Filter.SetWhere("func:main")
	if got := d.Filter.Wanted().Where; got != "func:main" {
		t.Errorf("wanted %q", got)
	}
	release()
	d.waitEvent("filtered 143")
	d.settle()
	if s := d.State(); s.Selection.Where != "func:main" || s.Rows.Len() != 143 {
		t.Errorf("%d rows of %q", s.Rows.Len(), s.Selection.Where)
	}
}

func TestNarrow(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 100})
	include := func(f string) {
		d.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Include(filter.Is(filter.Func, f)) })
	}
	include("main")
	include("app::run")
	d.Filter.SetThread(&app.Thread{ID: 1000})
	d.Filter.SetThread(&app.Thread{ID: 1001})
	d.wait("the filter", func() bool { return d.State().Pending == nil })
	want := `(func:=main or func:="app::run") thread:1001`
	if got := d.State().Selection.Where; got != want && got != strings.ReplaceAll(want, `"`, "") {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFold(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 28})
	d.Filter.Fold(1)
	d.waitEvent("filtered 17")
	if hidden, ok := d.State().View.Folded(1); !ok || hidden != 11 || !d.Filter.IsFolded(1) || d.Filter.IsFolded(2) {
		t.Errorf("folded %v, %d hidden", ok, hidden)
	}
	d.Filter.Fold(15, 1)
	d.waitEvent("filtered 6")
	if got := d.Calls.PlaceOf(12); got != 1 {
		t.Errorf("a row within a folded call is at %d", got)
	}
	d.Filter.Unfold(1)
	d.waitEvent("filtered 17")
	d.Filter.Unfold()
	d.waitEvent("unfiltered")

	d.Filter.FoldWhere("depth:5")
	d.wait("the folds", func() bool { return len(d.State().Selection.Folded) == 2 })
	if got := d.State().Selection.Folded; !slices.Equal(got, []int64{5, 19}) {
		t.Errorf("folded by depth: %v", got)
	}
	// A call without anything inside is not folded.
	d.Filter.FoldWhere("depth:6")
	d.settle()
	if got := len(d.State().Selection.Folded); got != 2 {
		t.Errorf("%d folded", got)
	}
	d.Filter.SetRepeats(true)
	d.wait("repeats", func() bool { return d.State().Selection.Repeats })
	if d.State().Selection.Where != "" || len(d.State().Selection.Folded) != 2 {
		t.Error("repeats change what is folded")
	}
	d = opened(t, &testlog.Nested{Records: 280})
	d.Filter.SetRepeats(true)
	d.wait("repeats", func() bool { return d.State().View != nil && d.State().View.Done() })
	if v := d.State().View; v.Len() != 28 || v.Repeat(0) != 10 {
		t.Errorf("%d rows, repeated %d times", v.Len(), v.Repeat(0))
	}
}

func TestMatchesAreCountedAndNumbered(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 14_000})
	for _, test := range []struct {
		query  control.Query
		from   int64
		row    int64
		count  int64
		number int64
	}{
		{control.Query{Text: "MAIN"}, 14, 14, 2000, 3},
		{control.Query{Text: "MAIN", Case: true}, 0, -1, 0, 0},
		{control.Query{Text: "^app::.*a$", Regexp: true}, 6_000, 6_000, 2000, 858},
		{control.Query{Text: "area<", Case: true}, 20, 24, 2000, 4},
		{control.Query{Text: "^1001", Regexp: true}, 0, 14, 7000, 1},
	} {
		d.Finder.Find(test.query, test.from, false)
		d.waitEvent(fmt.Sprint("found ", test.row))
		d.wait("the count", func() bool {
			m := d.State().Matches
			return m.Query == test.query && m.Done && (m.Number > 0 || test.row < 0)
		})
		s := d.State()
		if s.Search.Row != test.row || s.Matches.Count != test.count || test.number > 0 && s.Matches.Number != test.number {
			t.Errorf("%+v: row %d, %d of %d", test, s.Search.Row, s.Matches.Number, s.Matches.Count)
		}
		sum := int64(0)
		for _, n := range s.Matches.Buckets {
			sum += int64(n)
		}
		if sum != test.count {
			t.Errorf("%+v: %d in the buckets", test.query, sum)
		}
		d.wait("the places", func() bool { return len(d.State().Matches.Places) > 0 || test.count == 0 })
		places := d.State().Matches.Places
		if test.count <= control.MaxPlaces && int64(len(places)) != test.count || len(places) > control.MaxPlaces || int64(len(places)) < min(test.count, control.MaxPlaces)/2 {
			t.Errorf("%+v: %d places of %d", test.query, len(places), test.count)
		}
		for i, p := range places {
			r, ok := d.Calls.Row(p.Row)
			if !ok || p.Track != r.Track() || p.Elapsed != r.Elapsed || i > 0 && p.Row <= places[i-1].Row {
				t.Fatalf("%+v: place %d is %+v, its row %+v", test.query, i, p, r)
			}
		}
	}
	// What is shown has changed, so it is counted again.
	d.Filter.SetWhere("thread:1001")
	d.waitEvent("filtered 7000")
	d.Finder.Count(control.Query{Text: "main"})
	d.wait("the count", func() bool { return d.State().Matches.Done && d.State().Matches.Count == 1000 })
	d.Finder.Count(control.Query{Text: "(", Regexp: true})
	if d.State().Matches.Err == nil {
		t.Error("a broken regular expression is no error")
	}
	d.Finder.Count(control.Query{})
	if m := d.State().Matches; m.Err != nil || m.Count != 0 {
		t.Errorf("without a query: %+v", m)
	}
}

func TestSearchBackwardByRegexp(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 10_000})
	d.Finder.Find(control.Query{Text: "^main$", Regexp: true}, 9_000, true)
	d.wait("the search", func() bool { return d.State().Search.Row == 8988 })
}

func TestJumps(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 100})
	to := int64(-1)
	done := func(row int64) { to = row }
	want := func(row int64) {
		t.Helper()
		d.wait("a jump", func() bool { return to == row })
	}
	d.Calls.Caller(19, done)
	want(18)
	d.Calls.NextCall(18, false, done)
	want(32)
	d.Calls.NextCall(32, true, done)
	want(18)
	d.Calls.AtTime(50_500_000, done)
	want(51)
	d.Calls.Caller(14, done)
	if m := d.waitMessage(); m.Level != control.LevelWarn {
		t.Errorf("message %+v", m)
	}
	var stack []app.Frame
	d.Calls.Stack(3, func(frames []app.Frame, err error) { stack = frames })
	d.wait("the stack", func() bool { return len(stack) == 4 })
	if f := stack[3]; f.Enter != 3 || f.Leave != 10 || f.Function != "app::Shape::area<int>" {
		t.Errorf("innermost %+v", f)
	}
}

// A closed log answers nothing any more.
func TestAnswersOfAClosedLogAreDropped(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 100})
	release := d.nested.Hold()
	d.Filter.SetWhere("thread:1000")
	d.Calls.Stack(3, func([]app.Frame, error) { t.Error("a stack of a closed log") })
	d.Close()
	release()
	d.settle()
	if s := d.State(); s.Filtered || s.Rows != rows.Source(nil) || s.Selection.Where != "" {
		t.Errorf("filtered %v", s.Filtered)
	}
}

// Once all matches are known, the next one is found among them.
func TestFindAmongKnownMatches(t *testing.T) {
	d := opened(t, &testlog.Nested{Records: 1400})
	for _, where := range []string{"", "thread:1000"} {
		d.Filter.SetWhere(where)
		d.wait("the rows", func() bool { s := d.State(); return s.Selection.Where == where && (s.View == nil || s.View.Done()) })
		q := control.Query{Text: "^main$", Regexp: true}
		d.Finder.Count(q)
		d.wait("the count", func() bool { return d.State().Matches.Done && d.State().Matches.Query == q })
		d.settle()
		src := d.State().Rows
		matches := func(pos int64) bool { return src.Row(pos).Function == "main" }
		for _, from := range []int64{-1, 0, 1, 5, 12, 13, 300, src.Len() - 2, src.Len() - 1, src.Len()} {
			for _, backward := range []bool{false, true} {
				want, wrapped := from, false
				for n := int64(0); ; n++ {
					if want >= 0 && want < src.Len() && matches(want) {
						break
					}
					switch {
					case backward && want <= 0:
						want, wrapped = src.Len()-1, true
					case backward:
						want--
					case want >= src.Len()-1:
						want, wrapped = 0, true
					default:
						want++
					}
					if n > 2*src.Len() {
						t.Fatal("no match at all")
					}
				}
				if from < 0 && !backward {
					wrapped = false
				}
				if from >= src.Len() && backward {
					wrapped = false
				}
				d.changes = 0
				d.Finder.Find(q, from, backward)
				d.wait("the search", func() bool { return d.changes&control.ChangeFound != 0 })
				if f := d.State().Search; f.Row != want || f.Wrapped != wrapped {
					t.Errorf("%q from %d, backward %v: row %d, wrapped %v; want %d, %v", where, from, backward, f.Row, f.Wrapped, want, wrapped)
				}
			}
		}
	}
}
