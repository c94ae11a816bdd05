package control_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/control/fake"
)

// What is asked of an older selection is not handed out over a newer one.
func TestLateStatisticsAreDropped(t *testing.T) {
	engine := &fake.Engine{Rows: 1400, Analysing: make(chan struct{})}
	r := opened(t, engine)
	var got []int64
	ask := func() {
		r.Views.Statistics(func(list []app.FunctionStat, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			got = append(got, list[0].Calls)
		})
	}
	ask()
	r.Filter.SetWhere("thread:1000")
	r.wait("the filter", func() bool { return r.State().Filtered })
	ask()
	close(engine.Analysing)
	r.wait("statistics", func() bool { return len(got) > 0 })
	if want := int64(100 + len("thread:1000")); len(got) != 1 || got[0] != want {
		t.Errorf("statistics of %v calls, want %d", got, want)
	}
}

func TestAnalysisIsCancelled(t *testing.T) {
	engine := &fake.Engine{Rows: 1400, Analysing: make(chan struct{})}
	r := opened(t, engine)
	var end error
	r.Views.CallTree(app.TreeOptions{}, func(tree *app.Tree, err error) { end = err })
	r.wait("progress", func() bool { return r.State().Work.Slow })
	r.Cancel()
	r.wait("the end", func() bool { return end != nil })
	if !errors.Is(end, context.Canceled) {
		t.Error(end)
	}
	// Closing the log cancels it too, and hands nothing out.
	r.Views.CallTree(app.TreeOptions{}, func(*app.Tree, error) { t.Error("a tree of a closed log") })
	r.Close()
	r.wait("closed", func() bool { r.settle(); return engine.ClosedCount() == 1 })
}

func TestThreadSums(t *testing.T) {
	r := opened(t, &fake.Engine{Rows: 700})
	var got []control.ThreadSum
	r.Views.Threads(func(list []control.ThreadSum, err error) {
		if err != nil {
			t.Error(err)
		}
		got = list
	})
	r.wait("threads", func() bool { return got != nil })
	if len(got) != 2 || got[0].ID != 1000 || got[0].Rows != 350 || got[0].Calls != 7*25 || got[0].Busy != 7*50*1e6 ||
		got[0].First != 0 || got[0].Last != 699e6 {
		t.Errorf("%+v", got)
	}
}

func TestFirstCall(t *testing.T) {
	r := opened(t, &fake.Engine{Rows: 1400})
	for _, test := range []struct {
		where, function string
		want            int64
	}{
		{"", "std::sort", 4},
		{"thread:1001", "app::run", 1},
		{"row:700..1000", "std::sort", 704},
	} {
		r.Filter.SetWhere(test.where)
		row := int64(-1)
		r.Calls.FirstCall(app.FunctionRef{Function: test.function, Module: "sample.exe"}, func(at int64) { row = at })
		r.wait("the first call", func() bool { return row >= 0 })
		if row != test.want {
			t.Errorf("%s where %q: row %d, want %d", test.function, test.where, row, test.want)
		}
	}
	r.Calls.FirstCall(app.FunctionRef{Function: "nowhere"}, func(int64) { t.Error("found") })
	r.wait("a message", func() bool { return r.State().Message != nil })
}

func TestSaveStatistics(t *testing.T) {
	engine := &fake.Engine{Rows: 1400}
	r := opened(t, engine)
	path := filepath.Join(t.TempDir(), "a.csv")
	r.Saving.SaveStatistics(path, make([]app.FunctionStat, 3))
	r.wait("saved", func() bool { m := r.State().Message; return m != nil && m.Level == control.LevelGood })
	if text, _ := os.ReadFile(path); string(text) != "3 functions\n" {
		t.Errorf("saved %q", text)
	}
	engine.SaveErr = fake.ErrBroken
	r.Saving.SaveStatistics(path, nil)
	r.wait("an error", func() bool { m := r.State().Message; return m != nil && m.Level == control.LevelBad })
	if m := r.State().Message; !strings.Contains(m.Text, fake.ErrBroken.Error()) {
		t.Errorf("said %q", m.Text)
	}
}

// The log is closed only when nobody reads its timeline any more, and then it
// is empty.
func TestTimelineOutlivesItsLog(t *testing.T) {
	engine := &fake.Engine{Rows: 1400, Spans: make(chan struct{})}
	r := opened(t, engine)
	lines := r.Views.Timeline()
	if lines != r.Views.Timeline() {
		t.Error("each call makes a timeline")
	}
	read := make(chan error)
	go func() {
		_, _, err := lines.Spans(nil, 0, 0, 100e6, 100)
		read <- err
	}()
	engine.Spans <- struct{}{} // it is being read
	r.Close()
	time.Sleep(20 * time.Millisecond)
	if engine.ClosedCount() != 0 {
		t.Error("closed while it is read")
	}
	engine.Spans <- struct{}{}
	if err := <-read; err != nil {
		t.Error(err)
	}
	for range 1000 {
		if engine.ClosedCount() == 1 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if engine.ClosedCount() != 1 {
		t.Fatal("the log stays open")
	}
	if spans, _, err := lines.Spans(nil, 0, 0, 100e6, 100); len(spans) != 0 || !errors.Is(err, app.ErrClosed) {
		t.Errorf("%d spans of a closed log, %v", len(spans), err)
	}
	if len(lines.Lanes()) != 0 || r.Views.Timeline() != nil {
		t.Error("a closed log has lanes")
	}
	if err := lines.Measure(t.Context(), nil); !errors.Is(err, app.ErrClosed) {
		t.Error(err)
	}
}
