package control_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/ui/control"
)

// What is asked of an older selection is not handed out over a newer one.
func TestLateStatisticsAreDropped(t *testing.T) {
	r := opened(t, &testlog.Nested{Records: 1400})
	r.Filter.SetWhere("row:700..")
	r.waitEvent("filtered 700")
	var got []int64
	ask := func() {
		r.Views.Statistics(control.ByFunction, func(list []app.FunctionStat, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			got = append(got, list[0].Calls)
		})
	}
	release := r.nested.Hold()
	ask()
	r.Filter.SetWhere("")
	ask()
	release()
	r.wait("statistics", func() bool { return len(got) > 0 })
	r.settle()
	if len(got) != 1 || got[0] != 100 {
		t.Errorf("statistics of %v calls", got)
	}
}

func TestAnalysisIsCancelled(t *testing.T) {
	r := opened(t, &testlog.Nested{Records: 2_000_000})
	r.nested.Slow()
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
	r.waitClosed(1)
}

func TestThreadSums(t *testing.T) {
	r := opened(t, &testlog.Nested{Records: 700})
	var got []control.ThreadSum
	r.Views.Threads(func(list []control.ThreadSum, err error) {
		if err != nil {
			t.Error(err)
		}
		got = list
	})
	r.wait("threads", func() bool { return got != nil })
	if len(got) != 2 || got[0].ID != 1000 || got[0].Rows != 350 || got[0].Calls != 7*25 || got[0].Busy != 25*13*1e6 ||
		got[0].First != 0 || got[0].Last != 685e6 {
		t.Errorf("%+v", got)
	}
}

func TestFirstCall(t *testing.T) {
	r := opened(t, &testlog.Nested{Records: 1400})
	for _, test := range []struct {
		where, function string
		want            int64
	}{
		{"", "std::sort", 4},
		{"thread:1001", "app::run", 15},
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
	r := opened(t, &testlog.Nested{Records: 1400})
	path := filepath.Join(t.TempDir(), "a.csv")
	r.Saving.SaveStatistics(path, make([]app.FunctionStat, 3))
	r.wait("saved", func() bool { m := r.State().Message; return m != nil && m.Level == control.LevelGood })
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 4 {
		t.Errorf("saved %q", text)
	}
	r.Saving.SaveStatistics(filepath.Join(path, "below", "a.csv"), nil)
	r.wait("an error", func() bool { m := r.State().Message; return m != nil && m.Level == control.LevelBad })
	if m := r.State().Message; !strings.Contains(m.Details, "below") {
		t.Errorf("said %q, details %q", m.Text, m.Details)
	}
}

// The log is closed only when nobody reads its timeline any more, and then it
// is empty.
func TestTimelineOutlivesItsLog(t *testing.T) {
	r := opened(t, &testlog.Nested{Records: 1400})
	lines := r.Views.Timeline()
	if lines != r.Views.Timeline() {
		t.Error("each call makes a timeline")
	}
	reading, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.nested.OnRead(func(int64, int) error {
		once.Do(func() { close(reading) })
		<-release
		return nil
	})
	read := make(chan error)
	go func() {
		_, _, err := lines.Spans(nil, 0, 0, 100e6, 100)
		read <- err
	}()
	<-reading
	r.Close()
	time.Sleep(20 * time.Millisecond)
	if r.nested.Closed() != 0 {
		t.Error("closed while it is read")
	}
	close(release)
	if err := <-read; err != nil {
		t.Error(err)
	}
	r.waitClosed(1)
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
