package ui

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/parser"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/timeline"
)

// look shows a view and waits for a line of the trace.
func (r *rig) look(name, line string) {
	r.t.Helper()
	r.trace.mu.Lock()
	r.trace.b.Reset()
	r.trace.mu.Unlock()
	r.views.show(name)
	r.waitTrace(line)
}

func TestViewsAreComputedWhenLookedAt(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	if strings.Contains(r.trace.String(), "statistics") {
		t.Error("statistics are computed before anybody looks")
	}
	for _, v := range []struct{ name, line string }{{viewTimeline, "timeline "}, {viewTree, "tree 1"}, {viewStatistics, "statistics 7"}, {viewThreads, "threads 2"}} {
		r.look(v.name, v.line)
	}
	r.wait("the list", func() bool { return r.views.statistics.List.Len() == 7 })
	if got := r.views.statistics.List.At(0); got.Function != "main" || got.Calls != 100 {
		t.Errorf("first function: %+v", got)
	}
	// Nothing has changed: nothing is computed again.
	r.look(viewTree, "view 2")
	r.look(viewStatistics, "view 4")
	if got := r.trace.String(); strings.Contains(got, "statistics 7") || strings.Contains(got, "tree") {
		t.Errorf("computed again:\n%s", got)
	}
	// A filter changes what is looked at, at once, and the rest when it is.
	r.ctl.Filter.SetWhere("thread:1000")
	r.wait("statistics of a thread", func() bool { s := r.views.statistics.List.At(0); return s != nil && s.Calls == 50 })
	r.look(viewTree, "tree 1")
}

// A view that is looked at when a log is opened shows it.
func TestViewsShowANewLog(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.views.show(viewStatistics)
	r.open()
	r.wait("statistics", func() bool { s := r.views.statistics.List.At(0); return s != nil && s.Calls == 100 })
	r.ctl.Close()
	r.wait("nothing", func() bool { return r.views.statistics.List.Len() == 0 })
	r.Open([]string{r.log})
	r.wait("statistics again", func() bool { return r.views.statistics.List.Len() == 7 })
}

func TestViewsSayWhatFailed(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.ctl.Filter.SetWhere("row:10..100")
	r.waitTrace("filtered 91")
	r.nested.OnRead(func(int64, int) error { return testlog.ErrBroken })
	r.views.show(viewStatistics)
	note := r.views.view(viewStatistics).note
	r.wait("the error", note.Visible)
	if !strings.Contains(note.Text, testlog.ErrBroken.Error()) {
		t.Errorf("said %q", note.Text)
	}
	r.nested.OnRead(nil)
	r.ctl.Filter.SetWhere("thread:1000")
	r.wait("statistics", func() bool { return r.views.statistics.List.Len() == 7 })
	if note.Visible() {
		t.Error("the error stays")
	}
}

func TestStoppedViewStartsAnew(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 2_000_000})
	r.open()
	r.nested.Slow()
	r.views.show(viewTree)
	r.wait("progress", func() bool { return r.ctl.State().Work.Slow })
	r.ctl.Cancel()
	r.wait("the note", r.views.view(viewTree).note.Visible)
	r.nested.OnRead(nil)
	r.views.show(viewTable)
	r.look(viewTree, "tree 1")
	if r.views.view(viewTree).note.Visible() {
		t.Error("the note stays")
	}
}

func TestTimelineAndTableLeadToEachOther(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.table.grid.SetCurrent(16) // the enter of app::Window::paint
	r.look(viewTimeline, "timeline ")
	if got := r.views.timeline.Chosen(); got != 16 {
		t.Errorf("the timeline marks row %d", got)
	}
	r.table.grid.SetCurrent(25) // its leave
	if got := r.views.timeline.Chosen(); got != 16 {
		t.Errorf("for the leave the timeline marks row %d", got)
	}
	r.views.timeline.OnSelected(31)
	if r.table.grid.Current() != 31 {
		t.Errorf("the table is at row %d", r.table.grid.Current())
	}
	if r.win.Canvas().Focused() != fyne.Focusable(r.views.timeline) {
		t.Error("the timeline has lost the focus")
	}
	r.views.timeline.OnActivated(32)
	if r.views.shown() != viewTable || r.table.grid.Current() != 32 || r.win.Canvas().Focused() != fyne.Focusable(r.table.grid) {
		t.Errorf("view %s, row %d", r.views.shown(), r.table.grid.Current())
	}
}

func TestViewsLimitTheSelection(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	where := func(want string) {
		t.Helper()
		r.wait(want, func() bool { return r.ctl.Filter.Wanted().Where == want })
	}
	r.views.timeline.OnRange(5e6, 100e6)
	where("time:5ms..100ms")
	r.views.timeline.OnRange(10e6, 50.5e6) // instead of the range before
	where("time:10ms..50.5ms")
	r.views.statistics.OnRange(&app.FunctionStat{FunctionRef: app.FunctionRef{Function: "main"}}, 1e6, 2e6-1)
	where("time:10ms..50.5ms func:=main dur:1ms..1.999999ms")
	r.ctl.Filter.SetWhere("")
	r.look(viewThreads, "threads 2")
	r.wait("the list", func() bool { return r.views.threads.List.Len() == 2 })
	r.views.threads.OnOpen(r.views.threads.List.At(1))
	where("thread:1001")
	// One that is gone to limits at once, the first of the list too, and both stay listed with their calls.
	r.win.Canvas().Focus(r.views.threads.List.Grid)
	r.typeKey(fyne.KeyUp)
	where("thread:1000")
	for i := range int64(2) {
		if got := r.views.threads.List.At(i); got == nil || got.Calls == 0 {
			t.Errorf("thread %d of the list is %+v", i, got)
		}
	}
	r.typeKey(fyne.KeyEscape)
	where("thread:1001")
	r.ctl.Filter.SetWhere("")
	where("")
	r.typeKey(fyne.KeyHome)
	where("thread:1000")
}

func TestStatisticsLeadToTheFirstCall(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.look(viewStatistics, "statistics 7")
	r.views.statistics.OnOpen(&app.FunctionStat{FunctionRef: app.FunctionRef{Function: "std::sort", Module: "sample.exe"}})
	r.wait("the table", func() bool { return r.views.shown() == viewTable })
	if got := r.table.grid.Current(); got != 4 {
		t.Errorf("row %d", got)
	}
}

func TestStatisticsAreSaved(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.look(viewStatistics, "statistics 7")
	r.wait("the list", func() bool { return r.views.statistics.List.Len() == 7 })
	path := r.log + ".csv"
	r.ctl.Saving.SaveStatistics(path, r.views.statistics.Shown())
	r.waitTrace("saved " + path)
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 8 {
		t.Errorf("saved %q", text)
	}
}

// Without the system's dialogs a folder is asked for and the name stays, so each kind of picture has its own.
func TestPictureKinds(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 140})
	r.open()
	r.look(viewTimeline, "timeline ")
	r.win.Canvas().Capture()
	for name, is := range map[string]string{"save-picture": ".png", "save-drawing": ".svg"} {
		r.actions.act(name)
		path := strings.TrimSuffix(r.log, filepath.Ext(r.log)) + "-timeline" + is
		press := func(text string) {
			t.Helper()
			r.wait("a dialog", func() bool { return r.win.Canvas().Overlays().Top() != nil })
			for _, o := range test.LaidOutObjects(r.win.Canvas().Overlays().Top()) {
				if b, ok := o.(*widget.Button); ok && b.Text == text {
					test.Tap(b)
					return
				}
			}
			t.Fatalf("there is no button %q", text)
		}
		if err := os.WriteFile(path, []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		press("Save") // the folder is that of the log
		press("No")
		if b, err := os.ReadFile(path); string(b) != "another" {
			t.Fatalf("%s was replaced: %d bytes, %v", path, len(b), err)
		}
		r.actions.act(name)
		press("Save")
		press("Yes")
		r.waitTrace("saved " + path)
		b, err := os.ReadFile(path)
		if err != nil || bytes.HasPrefix(b, []byte("\x89PNG")) != (is == ".png") {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
}

// A saved picture of the timeline is what the window shows.
func TestPictureIsSaved(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	if a := r.actions.byName["save-picture"]; a.enabled() {
		t.Error("a picture of what is not shown can be saved")
	}
	r.look(viewTimeline, "timeline ")
	r.win.Canvas().Capture()
	img, path := r.views.timeline.Picture(), r.log+".png"
	if !r.actions.byName["save-picture"].enabled() || !r.actions.byName["save-drawing"].enabled() || img.Bounds().Dx() < 300 || img.Bounds().Dy() < 100 {
		t.Fatalf("a picture of %v", img.Bounds())
	}
	r.ctl.Saving.SavePicture(path, img)
	r.waitTrace("saved " + path)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	saved, err := png.Decode(file)
	if err != nil || saved.Bounds() != img.Bounds() {
		t.Fatalf("%v, %v", saved, err)
	}
	colours := map[color.Color]bool{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if color.RGBAModel.Convert(saved.At(x, y)) != img.At(x, y) {
				t.Fatalf("pixel (%d,%d) is %v, was %v", x, y, saved.At(x, y), img.At(x, y))
			}
			colours[img.At(x, y)] = true
		}
	}
	if len(colours) < 10 {
		t.Errorf("only %d colours", len(colours))
	}
	svg := r.log + ".SVG"
	drawing := r.views.timeline.Drawing()
	r.ctl.Saving.SaveDrawing(svg, drawing)
	r.waitTrace("saved " + svg)
	text, err := os.ReadFile(svg)
	size := fmt.Sprintf("width=\"%d\" height=\"%d\"", img.Bounds().Dx(), img.Bounds().Dy())
	if err != nil || !bytes.Equal(text, drawing) || !bytes.Contains(text, []byte(size)) || !bytes.Contains(text, []byte("<text ")) {
		t.Errorf("saved %d bytes, %v", len(text), err)
	}
}

func TestFindStandsOutInTheTimeline(t *testing.T) {
	for _, test := range []struct {
		query      control.Query
		name       string
		found, all bool
	}{
		{control.Query{}, "x", false, true},
		{control.Query{Text: "PAINT"}, "app::Window::paint", true, false},
		{control.Query{Text: "PAINT", Case: true}, "app::Window::paint", false, false},
		{control.Query{Text: "P.*t$", Regexp: true}, "app::Window::paint", true, false},
		{control.Query{Text: "P.*t$", Regexp: true, Case: true}, "app::Window::paint", false, false},
		{control.Query{Text: "(", Regexp: true}, "x", false, true},
	} {
		find := finder(test.query)
		if (find == nil) != test.all {
			t.Errorf("%+v: all %v", test.query, find == nil)
		} else if find != nil && find(test.name) != test.found {
			t.Errorf("%+v finds %q: %v", test.query, test.name, !test.found)
		}
	}
}

// Another log, or none, leaves nothing of the one before.
func TestViewsAreEmptiedWithTheLog(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.look(viewThreads, "threads 2")
	r.look(viewStatistics, "statistics 7")
	r.wait("the list", func() bool { return r.views.statistics.List.Len() == 7 })
	r.ctl.Close()
	r.wait("nothing", func() bool { return r.views.statistics.List.Len() == 0 && r.views.threads.List.Len() == 0 })
	if r.views.timeline.Chosen() != -1 {
		t.Error("a call of the closed log is marked")
	}
}

func TestViewsFollowTheTheme(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	dark := timeline.Dark.Background
	r.setTheme("dark")
	r.look(viewTimeline, "timeline ")
	size := r.views.timeline.Size()
	if size.Width < 300 || size.Height < 100 {
		t.Fatalf("the timeline is %v", size)
	}
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(r.views.timeline)
	img := r.win.Canvas().Capture()
	red, green, blue, _ := img.At(int(at.X+size.Width/2), int(at.Y+size.Height)-4).RGBA()
	if uint8(red>>8) != dark.R || uint8(green>>8) != dark.G || uint8(blue>>8) != dark.B {
		t.Errorf("the ground is %x %x %x in the variant %v", red>>8, green>>8, blue>>8, theme.VariantDark)
	}
}

// What is written is read back as the same bounds.
func TestSpanTermIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 20_000 {
		low := r.Int64N(int64(1) << (1 + i%50))
		high := low + r.Int64N(int64(1)<<(1+r.IntN(50)))
		if i%3 == 0 {
			low, high = low/1000*1000, high/1_000_000*1_000_000+999_999
		}
		low = min(low, high)
		e, err := spanTerm(filter.Time, low, high)
		if err != nil {
			t.Fatalf("%d to %d: %v", low, high, err)
		}
		again, err := filter.Parse(e.String())
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		if got := again.Term.Range; got.Low != low || got.High != high {
			t.Fatalf("%d to %d is written %s and read as %d to %d", low, high, e, got.Low, got.High)
		}
	}
	for _, test := range []struct {
		low, high int64
		want      string
	}{
		{0, 999, "time:0ns..999ns"},
		{1_200_000_000, 5_100_000_000, "time:1.2s..5.1s"},
		{1e9, 1e9, "time:1s..1s"},
		{5e6, 6e6 - 1, "time:5ms..5.999999ms"},
	} {
		if e, _ := spanTerm(filter.Time, test.low, test.high); e.String() != test.want {
			t.Errorf("%d to %d is %s, want %s", test.low, test.high, e, test.want)
		}
	}
}

// What the filter hides is told of the calls, and above the timeline.
func TestTimelineIsLimited(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.look(viewTimeline, "limited ")
	for _, test := range []struct {
		where  string
		hidden [2]bool // of each thread's calls
	}{{"", [2]bool{}}, {"thread:1001", [2]bool{true, false}}, {"func:main", [2]bool{}}, {"thread:1000", [2]bool{false, true}}} {
		r.ctl.Filter.SetWhere(test.where)
		r.waitTrace("limited " + test.where)
		for lane, want := range test.hidden {
			spans, _, err := r.views.lines.Spans(nil, lane, 0, 100e6, 1000)
			if err != nil || len(spans) == 0 {
				t.Fatal(len(spans), err)
			}
			if spans[0].Hidden() != want || spans[0].PartHidden() {
				t.Errorf("%s: %+v", test.where, spans[0])
			}
		}
		if r.views.limited.Visible() != (test.where != "") {
			t.Errorf("%s: said %t", test.where, r.views.limited.Visible())
		}
	}
}

// Of several runs the timeline marks calls where they lie, and a range of time
// stands for rows.
func TestTimelineOfRuns(t *testing.T) {
	r := newRig(t, &testlog.Nested{Runs: []int64{700}, Records: 700})
	r.open()
	r.ctl.Inputs.SetRun("all")
	r.wait("all runs", func() bool { return r.ctl.State().Loaded && r.ctl.State().Facts.All })
	r.look(viewTimeline, "limited ")
	runs, err := r.views.lines.Runs()
	if err != nil || len(runs) != 2 || runs[1].From != 700e6 || runs[1].Zero != 700e6 || runs[1].Number != 2 {
		t.Errorf("runs %+v, %v", runs, err)
	}
	r.ctl.Filter.SetWhere("time:1ms..2ms")
	r.waitTrace("limited time:1ms..2ms")
	r.views.timeline.OnRange(5e6, 100e6)
	r.wait("the rows", func() bool { return r.ctl.Filter.Wanted().Where == "time:1ms..2ms row:5..100" })
	r.views.timeline.OnRange(7e6, 9e6)
	r.wait("other rows", func() bool { return r.ctl.Filter.Wanted().Where == "time:1ms..2ms row:7..9" })
}

// A view is one entry of the list: that gives it a tab, an action with its key, a
// place in the palette and in the state of a log; it is computed when it is looked
// at and its part of the filter changes, and follows the table's row.
func TestViewIsOneEntry(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	computed, followed, cleared, offered := "", int64(-1), 0, false
	r.views.add(&view{
		name: "new", title: func() string { return "New view" }, key: fyne.Key0, content: widget.NewLabel("new"),
		offered: func(*control.State) bool { return offered },
		depends: func(where string) string { return strings.TrimPrefix(where, "thread:") },
		compute: func(where string, fresh bool) {
			computed += fmt.Sprintf("%s %t;", where, fresh)
			r.views.computed("new", nil)
		},
		follow: func(row *rows.Row) { followed = row.Index },
		clear:  func() { cleared++ },
	})
	r.relabel()
	r.open()
	cleared = 0
	if r.views.show("new"); r.views.shown() != viewTable || !r.actions.itemOf("view-new").Disabled {
		t.Error("the view is there without being offered")
	}
	offered = true
	r.views.update(0, r.ctl.State())
	r.actions.act("palette")
	r.actions.palette.entry.SetText("new view")
	if len(r.actions.palette.found) != 1 || r.actions.palette.found[0].keysText() != "Ctrl+0" {
		t.Fatalf("the palette has %s", r.titles())
	}
	r.typeKey(fyne.KeyReturn)
	if r.views.shown() != "new" || computed != " true;" || r.memory.state().Tab != "new" {
		t.Fatalf("shown %s, computed %q, kept as %q", r.views.shown(), computed, r.memory.state().Tab)
	}
	r.table.grid.SetCurrent(15)
	if followed != 15 {
		t.Errorf("it follows to row %d", followed)
	}
	r.ctl.Filter.SetWhere("thread:1000")
	r.wait("the filter", func() bool { return strings.Contains(computed, "1000 true;") })
	r.views.again("new")
	if !strings.HasSuffix(computed, "1000 true;1000 true;") {
		t.Errorf("computed %q", computed)
	}
	offered = false
	r.ctl.Close()
	if r.views.shown() != viewTable || cleared == 0 {
		t.Errorf("without a log %s is shown; cleared %d times", r.views.shown(), cleared)
	}
}

// The threads show the one of the table's row.
func TestThreadsFollowTheTable(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.table.grid.SetCurrent(15)
	r.look(viewThreads, "threads 2")
	chosen := func() uint32 {
		if t := r.views.threads.List.Chosen(); t != nil {
			return t.ID
		}
		return 0
	}
	r.wait("the thread", func() bool { return chosen() == 1001 })
	r.nav.goTo(2)
	if chosen() != 1000 {
		t.Errorf("row 2 leads to thread %d", chosen())
	}
}

// Annotations are a view of logs that can have them. They lead to rows.
func TestAnnotationsView(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	offers := func() bool { return slices.Contains(r.views.Content.Items, r.views.view(viewAnnotations).tab) }
	if offers() {
		t.Fatal("the view is there of a log that cannot have annotations")
	}
	r.views.show(viewAnnotations) // there is none
	if r.views.shown() != viewTable {
		t.Error("another view is shown")
	}
	r.ctl.Close()
	r.nested.Annotations = []parser.Annotation{
		{Time: 10.5e6, Thread: 1000, Text: []byte("frame 1")}, {Time: 20.5e6, Thread: 1001, Kind: parser.IntCounter, Bits: 5, Text: []byte("queue")},
		{Time: 30e6, Thread: 9, Text: []byte("frame 2")},
	}
	r.open()
	r.wait("the tab", offers)
	r.look(viewAnnotations, "annotations 3")
	list := r.views.annotations.List
	r.wait("the list", func() bool { return list.Len() == 3 })
	// Of what the table is filtered to, thread and time matter.
	r.ctl.Filter.SetWhere("thread:1000 func:x")
	r.wait("the thread's", func() bool { return list.Len() == 1 && list.At(0).Text == "frame 1" })
	r.ctl.Filter.SetWhere("-thread:1000 (time:<25ms or time:>1s) dur:>1s")
	r.wait("those at that time", func() bool { return list.Len() == 1 && list.At(0).Text == "queue" })
	r.ctl.Filter.SetWhere("func:x (thread:1000 or func:y)")
	r.wait("all", func() bool { return list.Len() == 3 })
	r.ctl.Filter.SetWhere("")
	r.wait("all rows", func() bool { return !r.ctl.State().Filtered })
	narrow := func(text string, n int) {
		t.Helper()
		r.views.annotations.Narrow(text)
		r.wait("those with "+text, func() bool { return list.Len() == n })
	}
	narrow("FRAME", 2)
	narrow("", 3)
	r.views.annotations.OnOpen(list.At(1))
	r.wait("the table", func() bool { return r.views.shown() == viewTable && r.table.grid.Current() == 21 })
	r.views.show(viewAnnotations)
	r.views.annotations.OnOpen(list.At(2))
	r.wait("a message", func() bool { return r.ctl.State().Message != nil })
	if r.views.shown() != viewAnnotations {
		t.Error("the table is shown for a thread without rows")
	}
	// More come while the log is followed.
	r.ctl.Following.Set(true)
	r.nested.Grow(testlog.NestedGrowth{Annotations: []parser.Annotation{{Time: 40e6, Thread: 1000, Text: []byte("frame 3")}}})
	r.wait("more", func() bool { return list.Len() == 4 })
	// Without a log the view goes, and the table is shown.
	r.ctl.Close()
	r.wait("the table", func() bool {
		return !offers() && r.views.shown() == viewTable && list.Len() == 0
	})
}

// Annotations are shown beside the rows that follow them, and in the timeline.
func TestDrawnAnnotations(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400, Annotations: []parser.Annotation{
		{Time: -5, Thread: 1000, Text: []byte("begin")}, {Time: 10e6, Thread: 1001, Kind: parser.IntCounter, Bits: 5, Text: []byte("queue")},
		{Time: 10.5e6, Thread: 1000, Text: []byte("frame 1")}, {Time: 10.6e6, Thread: 9, Text: []byte("frame 2")}, {Time: 2e12, Thread: 1001, Text: []byte("end")},
	}})
	r.open()
	r.waitTrace("drawn annotations 5")
	beside := func(first int64, n int) string {
		t.Helper()
		list := make([]rows.Row, n)
		r.wait("the rows", func() bool {
			r.table.reader.Read(list, first)
			_, before := r.table.reader.At(first - 1)
			return list[n-1].Index != grid.Waiting && (before || first == 0)
		})
		dst := make([]grid.Decor, n)
		r.table.decorate(dst, list, first)
		var said []string
		for i, d := range dst {
			if d.Annotation != "" {
				said = append(said, fmt.Sprintf("%d %s", first+int64(i), d.Annotation))
			}
		}
		return strings.Join(said, "; ")
	}
	for _, test := range []struct {
		first int64
		n     int
		want  string
	}{
		{0, 3, "0 begin"}, {9, 4, "10 1001: queue = 5; 11 frame 1  +1"}, {11, 4, "11 frame 1  +1"}, {12, 4, ""}, {1397, 3, "1399 end"},
	} {
		if got := beside(test.first, test.n); got != test.want {
			t.Errorf("from row %d: %q, want %q", test.first, got, test.want)
		}
	}
	r.nav.goTo(11)
	r.wait("the panel", func() bool { return strings.HasSuffix(r.side.call.Details(), "\nAnnotations: frame 1  +1") })
	// A filter shows them beside the rows that it leaves.
	r.ctl.Filter.SetWhere("row:100..")
	r.waitTrace("filtered 1300")
	if got := beside(0, 3); got != "0 1000: begin  +3" {
		t.Errorf("with a filter: %q", got)
	}
	r.ctl.Filter.SetWhere("")
	r.look(viewTimeline, "limited ")
	if lines := r.views.timeline.AnnotationText(&r.views.drawn.list[1]); lines[0] != "queue = 5" {
		t.Errorf("in the timeline: %q", lines)
	}
	r.views.timeline.OnAnnotation(&r.views.drawn.list[1])
	r.wait("its row", func() bool { return r.table.currentRow() == 14 })
	r.views.showInTimeline(&rows.Annotation{Elapsed: 10.6e6, Thread: 9, Text: "frame 2"})
	if r.ctl.State().Message == nil {
		t.Error("a mark without a lane is shown in none")
	}
	r.ctl.Following.Set(true)
	r.nested.Grow(testlog.NestedGrowth{Annotations: []parser.Annotation{{Time: 3e12, Thread: 1000, Text: []byte("more")}}})
	r.waitTrace("drawn annotations 6")
	r.ctl.Close()
	r.wait("nothing", func() bool { return len(r.views.drawn.list) == 0 })
}

// The panel says where the call of the selected row was made from.
func TestCallSiteBesideTheTable(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	if !r.side.tabShown(r.side.callTab) {
		r.side.toggleTab(r.side.callTab)
	}
	r.nav.goTo(20)
	r.wait("the call site", func() bool {
		return strings.Contains(r.side.call.Details(), "\nCalled from: /src/sample/caller.cpp:20 (app::caller)")
	})
	r.nav.goTo(22)
	r.wait("another row", func() bool { return strings.Contains(r.side.call.Details(), "Row 22") })
	r.waitTrace("stack 6")
	if text := r.side.call.Details(); strings.Contains(text, "Called from") {
		t.Errorf("of a row without a call site: %s", text)
	}
}

// Durations can be corrected where the log says what recording cost.
func TestCorrectedDurations(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	if !r.actions.itemOf("corrected").Disabled {
		t.Error("durations can be corrected by a log that does not say how")
	}
	r.ctl.Close()
	r.nested.Overhead = &parser.Overhead{EnterAfter: 1000, LeaveBefore: 1000}
	r.Open([]string{r.log})
	r.wait("the log", func() bool { return r.ctl.State().Loaded })
	m := r.actions.itemOf("corrected")
	if m.Disabled || m.Checked {
		t.Fatalf("disabled %t, checked %t", m.Disabled, m.Checked)
	}
	order := []rows.Track{1001, 1000}
	r.views.timeline.SetOrder(order)
	m.Action()
	r.wait("the log", func() bool { return r.ctl.State().Found.Corrected })
	r.wait("the status", func() bool {
		return strings.HasSuffix(r.status.counts.Text, "durations without the recorder's own time")
	})
	if !r.actions.itemOf("corrected").Checked {
		t.Error("the menu does not say so")
	}
	// It is the same log, and the lanes stay as the user has moved them; so they do when it is read again.
	r.look(viewTimeline, "timeline ")
	if got := r.views.timeline.Order(); !slices.Equal(got, order) {
		t.Errorf("corrected, the lanes are in the order %v", got)
	}
	session := r.ctl.State().Session
	r.actions.act("reload")
	r.wait("the log again", func() bool { s := r.ctl.State(); return s.Loaded && s.Session != session })
	if got := r.views.timeline.Order(); !slices.Equal(got, order) {
		t.Errorf("read again, the lanes are in the order %v", got)
	}
	// Another log need not say it.
	r.ctl.Close()
	if r.ctl.State().Wanted.Corrected {
		t.Error("it stays for other logs")
	}
}
