package crashview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/crash/report"
	"logparser/ui/control"
	"logparser/ui/grid"
)

// crashed has a thread with a frame that the log knows, one with an inlined function, and a call
// without a frame; the other thread is without frames.
func crashed() *control.Crash {
	return &control.Crash{Text: "the whole report", CrashReport: &app.CrashReport{
		Program: "app", System: "linux", Machine: "x86-64", PID: 4711, Cause: "read of address 0x8", Code: "SIGSEGV", Pointers: 8,
		Notes: []string{"the end of the stack was not saved"},
		Threads: []app.ReportThread{
			{ID: 8, Rows: []app.ReportRow{{Number: 0, Address: 0x7f00}}},
			{ID: 7, Name: "main", Crashed: true, First: 2, Omitted: 40,
				Registers: []report.Register{{Name: "rax", Value: 0x12}, {Name: "rip", Value: 0x401210}},
				Rows: []app.ReportRow{
					{Number: 0, Module: "/opt/app", Offset: 0x1210, Source: "both", Entered: "1.000 us", Running: "3 us", LogRow: 3,
						Functions: []report.Function{{Name: "small", File: "/src/a.cpp", Line: 5}, {Name: "read", Signature: "read(int)", File: "/src/b.cpp", Line: 8}}},
					{Number: 1, Module: "/opt/app", Offset: 0x1300, Source: "stack", Signal: true, Functions: []report.Function{{Name: "handler"}}},
					{Number: -1, Source: "log", LogRow: 1, Entered: "0 ns", Running: "4 us", Functions: []report.Function{{Name: "main"}}},
				}},
		},
		Bytes:  &report.Code{Address: 0x401200, At: 0x401202, Bytes: report.HexBytes{0x90, 0x91, 0xff}},
		Source: &report.Source{File: "/src/a.cpp", First: 4, Line: 5, Lines: []string{"{", "\tx();", "}"}},
	}}
}

func newView(t *testing.T) (*View, func()) {
	test.NewTempApp(t)
	queue := make(chan func(), 10)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { queue <- f })
	// The list arranges what it was shown last; what was before that need not come.
	return v, func() {
		t.Helper()
		for {
			select {
			case f := <-queue:
				f()
			case <-time.After(300 * time.Millisecond):
				return
			}
		}
	}
}

func TestCrash(t *testing.T) {
	v, run := newView(t)
	v.Show(crashed())
	run()
	var copied string
	var opened []int64
	v.OnCopy = func(s string) { copied = s }
	v.OnOpen = func(row int64) { opened = append(opened, row) }
	if got := v.thread.Selected; got != "2.  Thread 7  main \u2013 crashed here" {
		t.Errorf("thread %q", got)
	}
	v.Frames.Grid.SelectAll()
	v.Frames.Grid.OnCopy()
	const want = "#\tFunction\tSource\tKnown from\tEntered\tRunning for\tPlace\n" +
		"0\tsmall\ta.cpp:5\tstack and log\t1.000 us\t3 us\tapp+0x1210\n" +
		"\t  inlined into read(int)\tb.cpp:8\t\t\t\t\n" +
		"1\t<signal handler called> handler\t\tstack\t\t\tapp+0x1300\n" +
		"\t40 frames are left out\t\t\t\t\t\n" +
		"\tmain\t\tlog\t0 ns\t4 us\t\n"
	if copied != want {
		t.Errorf("the frames are\n%s\nwant\n%s", copied, want)
	}
	for row := range int64(5) {
		v.Frames.Grid.OnActivated(row)
	}
	if len(opened) != 3 || opened[0] != 2 || opened[1] != 2 || opened[2] != 0 {
		t.Errorf("opened %v", opened)
	}
	if got := v.cause.Text; got != "read of address 0x8  (SIGSEGV)" {
		t.Errorf("cause %q", got)
	}
	if got := v.where.Text; got != "app \u00b7 linux x86-64 \u00b7 process 4711\nthe end of the stack was not saved" {
		t.Errorf("where %q", got)
	}
	if got := v.source.Text(); !strings.Contains(got, "=>    5") || v.sourceHead.Text != "/src/a.cpp:5" {
		t.Errorf("source %q of %q", got, v.sourceHead.Text)
	}
	if got := v.state.Text(); !strings.Contains(got, "rax 0000000000000012") || !strings.Contains(got, "0000000000401200  90 91>ff") {
		t.Errorf("registers and code %q", got)
	}
	test.Tap(v.copy)
	if copied != "the whole report" {
		t.Errorf("copied %q", copied)
	}
}

// TestFrameSource asks for the source of the frame that is chosen, and shows it.
func TestFrameSource(t *testing.T) {
	v, run := newView(t)
	v.Show(crashed())
	run()
	var asked, edited []string
	v.OnSource = func(file string, line int) { asked = append(asked, fmt.Sprint(file, ":", line)) }
	v.OnEdit = func(file string, line int) { edited = append(edited, file) }
	v.Frames.Grid.SetCurrent(2) // without a source
	v.Frames.Grid.SetCurrent(1)
	if len(asked) != 1 || asked[0] != "/src/b.cpp:8" {
		t.Errorf("asked for %v", asked)
	}
	v.ShowSource("b.cpp:8", "", 7, 8, []string{"before", "the call"})
	if got := v.source.Text(); !strings.Contains(got, "=>    8  the call") || v.sourceHead.Text != "b.cpp:8" {
		t.Errorf("source %q of %q", got, v.sourceHead.Text)
	}
	c := crashed()
	c.Threads[1].Rows[0].LogRow = 0
	v.Show(c)
	run()
	v.Frames.Grid.OnActivated(1)
	if len(edited) != 1 || edited[0] != "/src/b.cpp" {
		t.Errorf("edited %v", edited)
	}
}

// TestOtherThread chooses the thread that did not crash, then shows nothing.
func TestOtherThread(t *testing.T) {
	v, run := newView(t)
	v.Show(crashed())
	v.thread.SetSelectedIndex(0)
	run()
	if f := v.Frames.At(0); v.Frames.Len() != 1 || !f.missing || f.at != "0x7f00" || strings.TrimSpace(v.state.Text()) != "" {
		t.Errorf("%d frames, %+v, state %q", v.Frames.Len(), f, v.state.Text())
	}
	v.Show(nil)
	run()
	if v.Frames.Len() != 0 || v.cause.Text != "" || len(v.thread.Options) != 0 {
		t.Errorf("left: %d frames, %q, %v", v.Frames.Len(), v.cause.Text, v.thread.Options)
	}
}
