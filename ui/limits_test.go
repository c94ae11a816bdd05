package ui

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/rows/filter"
	"logparser/ui/control"
)

// What the views are limited to is said, and Escape takes it back step by step.
func TestEscapeTakesBackAStep(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	var steps []string
	for _, where := range []string{"depth:..3", "depth:..3 time:1ms..5ms", "time:1ms..5ms"} {
		r.ctl.Filter.SetWhere(where)
		steps = append(steps, where)
		r.wait("the filter "+where, func() bool { s := r.ctl.State(); return s.Selection.Where == where && s.View.Done() })
		if got := r.status.selection.Text; !strings.Contains(got, where) || strings.Contains(got, "parts of calls") != strings.Contains(where, "time") {
			t.Errorf("with %s the line says %q", where, got)
		}
	}
	for i := len(steps) - 2; i >= 0; i-- {
		r.typeKey(fyne.KeyEscape)
		r.wait("the step back to "+steps[i], func() bool { return r.ctl.State().Selection.Where == steps[i] })
	}
	r.typeKey(fyne.KeyEscape)
	r.wait("all rows", func() bool { return !r.ctl.State().Filtered })
	if strings.Contains(r.status.selection.Text, "limited") {
		t.Errorf("still said: %q", r.status.selection.Text)
	}
	r.typeKey(fyne.KeyEscape) // there is nothing more to take back
	if r.ctl.State().Filtered {
		t.Error("a step forward")
	}
}

// In a range of time parts of calls count, and whole calls by a switch.
func TestRangeOfTimeCutsCalls(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.look(viewStatistics, "statistics ")
	sum := func() (self, calls int64) {
		for _, f := range r.views.statistics.List.Items() {
			self += f.Self
			calls += f.Calls
		}
		return self, calls
	}
	r.wait("the list", func() bool { _, calls := sum(); return calls == 700 })
	whole, _ := sum()
	lines := r.ctl.Views.Timeline()
	from, to := lines.Range()
	third := (to - from) / 3
	term, err := spanTerm(filter.Time, from+third, from+2*third)
	if err != nil {
		t.Fatal(err)
	}
	r.ctl.Filter.SetWhere(term.String())
	r.wait("parts", func() bool {
		self, _ := sum()
		return self < whole && r.ctl.State().View != nil && r.ctl.State().View.Done()
	})
	self, calls := sum()
	// Each thread is in some call all the time.
	threads := int64(len(r.ctl.State().Threads))
	if self > threads*(third+1) || self < third/2 {
		t.Errorf("%d ns of self time in %d ns of %d threads", self, third, threads)
	}
	item := r.menuItem("Whole calls in a range of time")
	item.Action()
	r.wait("whole calls", func() bool { _, n := sum(); return n < calls })
	if !strings.Contains(r.status.selection.Text, "whole calls") {
		t.Errorf("said is %q", r.status.selection.Text)
	}
	r.menuItem("Whole calls in a range of time").Action()
	r.wait("parts again", func() bool { a, n := sum(); return a == self && n == calls })
}

// A range of time never leads to a row of another thread.
func TestRangeOfTimeKeepsTheThread(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 7000})
	r.open()
	for _, start := range []int64{100, 101, 102, 103} {
		before, _ := r.ctl.Calls.Row(start)
		r.nav.goTo(start)
		r.wait("the row", func() bool { return r.table.currentRow() == start })
		last, _ := r.ctl.Calls.Row(6900)
		term, err := spanTerm(filter.Time, last.Elapsed/2, last.Elapsed)
		if err != nil {
			t.Fatal(err)
		}
		r.ctl.Filter.SetWhere(term.String())
		r.wait("a row of the thread", func() bool {
			s := r.ctl.State()
			row, ok := r.table.rowAt(r.table.grid.Current())
			return s.View != nil && s.View.Done() && ok && row.Track() == before.Track() && row.Elapsed >= last.Elapsed/2
		})
		r.ctl.Filter.SetWhere("")
		r.wait("all rows", func() bool { return !r.ctl.State().Filtered })
	}
}

// Measuring on the timeline says how many calls there are and which functions took most time.
func TestMeasuringSumsUp(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	lines := r.ctl.Views.Timeline()
	from, to := lines.Range()
	sums := make(chan []string, 1)
	r.wait("the timeline", func() bool { return r.ctl.State().Loaded })
	r.views.timeline.OnMeasure(from, to+1)
	r.waitTrace("measured ")
	r.ctl.Views.Between(from, to+1, func(sum *app.RangeSum, err error) {
		if err == nil {
			sums <- r.views.rangeTexts(sum)
		}
	})
	var texts []string
	r.wait("the sums", func() bool {
		select {
		case texts = <-sums:
			return true
		default:
			return false
		}
	})
	if len(texts) < 4 || !strings.Contains(texts[0], "calls in") || !strings.Contains(strings.Join(texts, "\n"), "\u00d7") {
		t.Errorf("said is %q", texts)
	}
}

// A function's menu leads to who called it and what it called.
func TestAroundAFunction(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	for _, item := range r.views.functionItems(app.FunctionRef{Function: "std::sort", Module: r.ctl.State().Modules[0].Name}) {
		if item.Label == "Who called it, and what it called" {
			item.Action()
		}
	}
	if r.views.shown() != viewFlame || r.views.flame.graph.Centre() == nil {
		t.Fatal("the graph is not around the function")
	}
	r.waitTrace("flame ")
	if got := r.views.flame.about.Text; !strings.Contains(got, "std::sort") {
		t.Errorf("said is %q", got)
	}
	r.views.flame.graph.Out()
	if r.views.flame.all.Visible() {
		t.Error("there is a way back to what is shown")
	}
}

// Statistics can be of classes and modules.
func TestStatisticsByClass(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.look(viewStatistics, "statistics ")
	names := func() string {
		var list []string
		for _, f := range r.views.statistics.Shown() {
			list = append(list, f.Function)
		}
		slices.Sort(list)
		return strings.Join(list, "|")
	}
	r.views.statistics.Group(control.ByClass)
	r.wait("classes", func() bool { return names() == "|app|app::Shape|app::Window|std|util" })
	r.views.statistics.Group(control.ByModule)
	r.wait("modules", func() bool { return len(r.views.statistics.Shown()) == 1 })
	r.views.statistics.Group(control.ByFunction)
	r.wait("functions", func() bool { return len(r.views.statistics.Shown()) == len(testlog.NestedNames) })
}

// Two selections are compared: functions of both, with calls and self time of each.
func TestCompareSelections(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.ctl.Filter.SetWhere("thread:1000 depth:..3")
	r.look(viewStatistics, "statistics ")
	list := r.views.statistics.List
	r.wait("four functions", func() bool { return list.Len() == 4 && r.ctl.State().View.Done() })
	r.views.statistics.Compare(r.views.statistics.OnCompare())
	if got := r.views.statistics.Compared(); got != "thread:1000 depth:..3" {
		t.Fatalf("compared with %q", got)
	}
	r.ctl.Filter.SetWhere("thread:1001 depth:2..4")
	cells := func() string {
		var lines []string
		for i := range list.Len() {
			f := list.At(int64(i))
			lines = append(lines, f.Function)
			for _, c := range list.Grid.Columns() {
				if slices.Contains([]string{"calls", "beforecalls", "change"}, c.ID) && !c.Hidden {
					lines[i] += " " + r.views.statistics.CellText(c.ID, f)
				}
			}
		}
		slices.Sort(lines)
		return strings.Join(lines, "; ")
	}
	r.wait("both", func() bool { return list.Len() == 5 })
	for _, want := range []string{"main 0 50 ", "std::sort 50 0 +", "app::Window::paint 50 50 0 ms"} {
		if !strings.Contains(cells(), want) {
			t.Errorf("%q is not in %s", want, cells())
		}
	}
	r.views.statistics.StopComparing()
	r.wait("one", func() bool { return list.Len() == 3 && !strings.Contains(cells(), "+") })
}

// A filter that hides all says so, says nothing more of the row that was chosen,
// and leads back to it when it is taken away.
func TestNothingFitsTheFilter(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.nav.goTo(20)
	r.waitTrace("stack 7")
	note := r.views.view(viewTable).note
	r.ctl.Filter.SetWhere("row:5000..")
	r.wait("the note", func() bool { return note.Visible() && note.Text != "" })
	if text := r.side.call.Details(); strings.Contains(text, "20") || r.status.row != "" || len(r.side.call.Frames()) > 0 {
		t.Errorf("still said: %q, %q", text, r.status.selection.Text)
	}
	r.ctl.Filter.SetWhere("row:6000..")
	r.waitTrace("filtered 0")
	r.ctl.Filter.SetWhere("")
	r.wait("the row", func() bool { return r.table.currentRow() == 20 })
	if note.Visible() {
		t.Error("the note stays")
	}
}

// Another time is compared with the one that the views are limited to.
func TestCompareTimes(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	from, to := r.ctl.Views.Timeline().Range()
	middle := from + (to-from)/2
	first, err := spanTerm(filter.Time, from, middle)
	if err != nil {
		t.Fatal(err)
	}
	r.ctl.Filter.SetWhere(first.String())
	r.wait("the first time", func() bool { s := r.ctl.State(); return s.Filtered && s.View.Done() })
	r.look(viewTimeline, "timeline ")
	if !r.menuItem("Compare the measured time with the selection").Disabled {
		t.Error("nothing is measured")
	}
	r.views.timeline.OnCompare(middle+1, to)
	r.waitTrace("comparing " + first.String())
	r.wait("both", func() bool {
		s := r.ctl.State()
		return r.views.shown() == viewStatistics && s.View != nil && s.View.Done() && r.views.statistics.List.Len() > 0 && r.views.view(viewStatistics).where == s.Selection.Where
	})
	if got := r.views.statistics.Compared(); got != first.String() || r.ctl.State().Selection.Where == got {
		t.Errorf("compared with %q while the selection is %q", got, r.ctl.State().Selection.Where)
	}
	r.wait("functions of both", func() bool {
		calls, there := 0, 0
		for _, f := range r.views.statistics.List.Items() {
			if f.Calls > 0 {
				calls++
			}
			if n := r.views.statistics.CellText("beforecalls", &f); n != "0" {
				there++
			}
		}
		return calls > 0 && there > 0
	})
}

// The line for finding closes with its log.
func TestFindLineClosesWithItsLog(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.finding.focus()
	r.typeText("sort")
	r.wait("the matches", func() bool { return r.ctl.State().Matches.Count > 0 })
	r.ctl.Close()
	if !r.bar.finding.Hidden || r.bar.entry.Text != "" || r.ctl.State().Matches.Count != 0 {
		t.Errorf("of the closed log the line is hidden: %t, with %q and %d matches", r.bar.finding.Hidden, r.bar.entry.Text, r.ctl.State().Matches.Count)
	}
	r.open()
	if !r.bar.finding.Hidden || r.bar.entry.Text != "" {
		t.Error("the next log has it again")
	}
}
