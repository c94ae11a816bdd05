package timeline

import (
	"errors"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/rows"
)

// A rig is a timeline in a window of 612 by 224, of which 132 is the gutter,
// 12 the scroll bar and 24 the ruler. Posted functions are run by the test.
type rig struct {
	*Timeline
	t     *testing.T
	queue chan func()
	said  []string
}

func newRig(t *testing.T, src Source) *rig {
	t.Helper()
	test.NewTempApp(t)
	r := &rig{t: t, queue: make(chan func(), 1000)}
	r.Timeline = New(testFonts(), &Light, func(f func()) { r.queue <- f })
	w := test.NewTempWindow(t, r.Timeline)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(612, 224))
	r.OnSelected = func(row int64) { r.say("selected", row) }
	r.OnActivated = func(row int64) { r.say("activated", row) }
	r.OnRange = func(from, to int64) { r.say("range", from, to) }
	if src != nil {
		r.SetSource(src)
		r.settle()
	}
	return r
}

func (r *rig) say(what string, numbers ...int64) {
	for _, n := range numbers {
		what += " " + itoa(n)
	}
	r.said = append(r.said, what)
}

func (r *rig) heard() string {
	s := strings.Join(r.said, ", ")
	r.said = nil
	return s
}

// settle runs what is posted until the source has answered all.
func (r *rig) settle() {
	r.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case f := <-r.queue:
			f()
		case <-deadline:
			r.t.Fatal("no answer")
		default:
			if !r.reading && r.next == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// where returns the middle of a call on the widget.
func (r *rig) where(lane int, s app.Span) fyne.Position {
	y, ok := r.layout.y(lane, s.Depth)
	if !ok {
		r.t.Fatalf("%s is not shown", s.Function)
	}
	return fyne.NewPos(gutterWidth+float32(r.axis.x(s.From/2+s.To/2)), rulerHeight+float32(y)+5)
}

func (r *rig) press(p fyne.Position, button desktop.MouseButton, with fyne.KeyModifier) {
	r.MouseDown(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: p, AbsolutePosition: p}, Button: button, Modifier: with})
}

func (r *rig) release(p fyne.Position) {
	r.MouseUp(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: p}, Button: desktop.MouseButtonPrimary})
}

func (r *rig) click(p fyne.Position) {
	r.press(p, desktop.MouseButtonPrimary, 0)
	r.release(p)
}

func (r *rig) drag(from, to fyne.Position, with fyne.KeyModifier) {
	r.press(from, desktop.MouseButtonPrimary, with)
	r.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: to}, Dragged: fyne.NewDelta(to.X-from.X, to.Y-from.Y)})
	r.release(to)
}

func (r *rig) typeKey(name fyne.KeyName) { r.TypedKey(&fyne.KeyEvent{Name: name}) }

// Annotations say what they are under the pointer, can be chosen, and widen the time
// that is seen.
func TestAnnotations(t *testing.T) {
	r := newRig(t, small())
	r.AnnotationText = func(m *rows.Annotation) []string { return []string{m.Text} }
	r.OnAnnotation = func(m *rows.Annotation) { r.say(m.Text) }
	list := []rows.Annotation{{Elapsed: 700, Thread: 9, Text: "annotation 4"}, {Elapsed: 300, Thread: 9, Text: "annotation 3"}, {Elapsed: 705, Thread: 9, Text: "annotation 5"}, {Elapsed: 1500, Thread: 7, Text: "annotation 6"}, {Elapsed: 1, Thread: 8}}
	r.SetAnnotations(list)
	r.settle()
	if r.axis.last != 1500 {
		t.Errorf("the time ends at %d", r.axis.last)
	}
	y, _ := r.layout.y(1, 0)
	at := func(time int64, dy float32) fyne.Position {
		return fyne.NewPos(gutterWidth+float32(r.axis.x(time)), rulerHeight+float32(y)+dy)
	}
	for _, test := range []struct {
		at   fyne.Position
		want string
	}{
		{at(300, lineHeight+2), "annotation 3"},
		{at(297, lineHeight+2), "annotation 3"},
		{at(300, 5), "annotation 3"}, // its line goes through the call
		{at(700, lineHeight+2), "annotation 4"},
		{at(705, lineHeight+2), "annotation 5"},
		{at(700, 5), "selected 9"}, // they are too close for lines
		{at(400, lineHeight+2), ""},
	} {
		r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: test.at}})
		if said := r.tip.Visible() && r.tip.lines[0].Text == test.want; said != strings.HasPrefix(test.want, "annotation") {
			t.Errorf("at %v: the pointer is told of an annotation: %t", test.at, said)
		}
		r.click(test.at)
		if got := r.heard(); got != test.want {
			t.Errorf("at %v: %q, want %q", test.at, got, test.want)
		}
	}
	r.axis.fit(0, 10)
	if !r.ShowAnnotation(&list[0]) || r.ShowAnnotation(&list[4]) {
		t.Error("annotations are shown where their threads have lanes")
	}
	if x := r.axis.x(700); x < 0 || x > float64(r.axis.width) || r.pin == nil || r.pin.annotation.Text != "annotation 4" {
		t.Errorf("the annotation is at %v", x)
	}
	r.SetAnnotations(nil)
	if r.axis.last != 1000 || r.pin != nil {
		t.Error("annotations stay")
	}
}

func TestClickChoosesTheCall(t *testing.T) {
	src := small()
	r := newRig(t, src)
	for lane, spans := range src.spans {
		for _, s := range spans {
			r.click(r.where(lane, s))
			if got, want := r.heard(), "selected "+itoa(s.Row); got != want {
				t.Errorf("a click on %q: %s, want %s", s.Function, got, want)
			}
			if r.Chosen() != s.Row {
				t.Errorf("chosen %d", r.Chosen())
			}
		}
	}
	r.click(fyne.NewPos(140, 220))
	if r.Chosen() != -1 || r.heard() != "" {
		t.Error("a click on nothing chooses")
	}
}

func TestWheelZoomsAtThePointer(t *testing.T) {
	r := newRig(t, small())
	p := r.where(0, small().spans[0][1])
	before := r.timeAt(p)
	for range 8 {
		r.Scrolled(&fyne.ScrollEvent{PointEvent: fyne.PointEvent{Position: p}, Scrolled: fyne.NewDelta(0, wheelStep)})
	}
	if after := r.timeAt(p); after != before {
		t.Errorf("the time under the pointer was %d and is %d", before, after)
	}
	if got := 468 * r.axis.perPx; got > 1010/5.9 || got < 1010/6.1 {
		t.Errorf("%v ns are seen after eight notches", got)
	}
	r.settle()
	if !r.picture.covers(ptr(want(&r.axis, &r.layout))) {
		t.Error("what is seen was not asked for")
	}
}

func ptr[T any](v T) *T { return &v }

func TestDragMeasures(t *testing.T) {
	r := newRig(t, small())
	var measured []int64
	r.OnMeasured = func(ns int64) { measured = append(measured, ns) }
	a, b := fyne.NewPos(232, 100), fyne.NewPos(332, 110)
	r.drag(b, a, 0)
	want := r.timeAt(b) - r.timeAt(a)
	if len(measured) != 1 || measured[0] != want || want < 200 || want > 220 {
		t.Errorf("measured %v, want %d", measured, want)
	}
	if r.heard() != "" {
		t.Error("measuring selects")
	}
	if !r.band.Visible() || r.band.Position().X < 231 || r.band.Position().X > 233 || r.band.Size().Width < 99 {
		t.Errorf("the band is at %v, %v", r.band.Position(), r.band.Size())
	}
	r.typeKey(fyne.KeyReturn)
	if got := r.heard(); got != "range "+itoa(r.timeAt(a))+" "+itoa(r.timeAt(b)) {
		t.Errorf("Enter: %s", got)
	}
	if r.band.Visible() {
		t.Error("the band stays")
	}
}

func TestCtrlDragSelectsTime(t *testing.T) {
	r := newRig(t, small())
	a, b := fyne.NewPos(232, 100), fyne.NewPos(332, 110)
	r.drag(a, b, fyne.KeyModifierControl)
	if got := r.heard(); got != "range "+itoa(r.timeAt(a))+" "+itoa(r.timeAt(b)) {
		t.Errorf("%s", got)
	}
}

func TestDoubleClickZooms(t *testing.T) {
	src := small()
	r := newRig(t, src)
	s := src.spans[0][1]
	r.DoubleTapped(&fyne.PointEvent{Position: r.where(0, s)})
	if x0, x1 := r.axis.x(s.From), r.axis.x(s.To); x0 < 20 || x0 > 30 || x1 < 440 || x1 > 450 {
		t.Errorf("the call lies from %v to %v of 468", x0, x1)
	}
}

func TestKeysDoWithoutMouse(t *testing.T) {
	src := small()
	r := newRig(t, src)
	width := r.axis.perPx
	for _, step := range []struct {
		key   string
		check func() bool
	}{
		{"w", func() bool { return r.axis.perPx < width }},
		{"s", func() bool { return r.axis.perPx == width }},
		{"+", func() bool { return r.axis.perPx < width }},
		{"d", func() bool { return r.axis.from > 100 }},
		{"a", func() bool { return r.axis.from < 110 }},
		{"-", func() bool { return r.axis.perPx == width }},
		{".", func() bool { return r.heard() == "selected 0" }},
		{"Down", func() bool { return r.heard() == "selected 1" }},
		{".", func() bool { return r.heard() == "selected 4" }},
		{",", func() bool { return r.heard() == "selected 1" }},
		{"Down", func() bool { return r.heard() == "selected 2" }},
		{"Up", func() bool { return r.heard() == "selected 1" }},
		{"Return", func() bool { return r.heard() == "activated 1" }},
		{"f", func() bool { return r.axis.x(450)-r.axis.x(100) > 400 }},
		{"m", func() bool { return r.band.Visible() }},
		{"Return", func() bool { return r.heard() == "range 100 450" }},
		{"m", func() bool { return r.band.Visible() }},
		{"Escape", func() bool { return !r.band.Visible() && r.heard() == "" }},
		{"0", func() bool { return r.axis.perPx == width }},
		{"Space", func() bool { return r.layout.lanes[0].folded }},
	} {
		if len(step.key) == 1 {
			r.TypedRune(rune(step.key[0]))
		} else {
			r.typeKey(fyne.KeyName(step.key))
		}
		r.settle()
		if !step.check() {
			t.Fatalf("%q: axis %+v, said %q", step.key, r.axis, r.said)
		}
	}
	var passed string
	r.OnKey = func(name fyne.KeyName) { passed += string(name) }
	r.typeKey(fyne.KeyF1)
	r.typeKey(fyne.KeyEscape)
	if passed != "F1Escape" {
		t.Errorf("keys for the window: %q", passed)
	}
}

func TestGutterFoldsAndResizes(t *testing.T) {
	r := newRig(t, small())
	r.click(fyne.NewPos(30, rulerHeight+5))
	if !r.layout.lanes[0].folded {
		t.Error("a click on the name does not fold")
	}
	r.click(fyne.NewPos(30, rulerHeight+5))
	edge := fyne.NewPos(30, rulerHeight+4*lineHeight+2)
	if r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: edge}}); r.Cursor() != desktop.VResizeCursor {
		t.Error("no cursor for the edge")
	}
	r.drag(edge, edge.SubtractXY(0, 2*lineHeight), 0)
	if got := r.layout.lanes[0].lines; got != 2 {
		t.Errorf("%d lines", got)
	}
	r.Scrolled(&fyne.ScrollEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(30, rulerHeight+5)}, Scrolled: fyne.NewDelta(0, -wheelStep)})
	if got := r.layout.lanes[0].top; got != 2 {
		t.Errorf("scrolled to line %d", got)
	}
}

func TestHoverSaysWhatItIs(t *testing.T) {
	src := small()
	r := newRig(t, src)
	for _, test := range []struct {
		s    app.Span
		want []string
	}{
		{src.spans[0][1], []string{"app::load", "350 ns", "main", "1"}},
		{src.spans[0][2], []string{"app::Window::paint", "480 ns"}},
		{src.spans[0][4], []string{"123,456"}},
	} {
		p := r.where(0, test.s)
		r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: p}})
		if !r.tip.Visible() {
			t.Fatalf("nothing is said of %q", test.s.Function)
		}
		var text string
		for _, l := range r.tip.lines {
			text += l.Text + "\n"
		}
		for _, want := range test.want {
			if want == "350 ns" || want == "480 ns" {
				want = duration(test.s.To-test.s.From, 6)
			}
			if !strings.Contains(text, want) {
				t.Errorf("said of %q: %q, without %q", test.s.Function, text, want)
			}
		}
	}
	// What lies above the picture has another size now: Fyne lays out again.
	test.WidgetRenderer(r.Timeline).Layout(r.Size())
	if !r.tip.Visible() {
		t.Error("the tip is gone with a layout")
	}
	r.MouseOut()
	if r.tip.Visible() || r.hover.Visible() {
		t.Error("the tip stays")
	}
}

// What is answered late to an old question is not shown, and no more than one
// question is open at a time.
func TestLateAnswers(t *testing.T) {
	old := small()
	old.gate = make(chan struct{}, 100)
	r := newRig(t, nil)
	r.SetSource(old)
	for range 50 {
		r.TypedRune('w')
	}
	newer := small()
	newer.spans[0] = newer.spans[0][:1]
	r.SetSource(newer)
	if newer.times() != 0 {
		t.Error("a second question was asked before the first was answered")
	}
	close(old.gate)
	r.settle()
	if n := len(r.picture.spans[0]); n != 1 {
		t.Errorf("%d boxes of the new log", n)
	}
	if n := old.times(); n > 2 {
		t.Errorf("the old log was asked %d times", n)
	}
}

func TestFinerAnswersAreAskedFor(t *testing.T) {
	src := small()
	src.finer.Store(7)
	r := newRig(t, src)
	// Of two lanes, in five rounds.
	if got := src.times(); got != 10 {
		t.Errorf("asked %d times, want 10", got)
	}
	r.changed()
	r.settle()
	if got := src.times(); got != 10 {
		t.Errorf("asked again without need: %d times", got)
	}
}

func TestErrorIsToldOnce(t *testing.T) {
	src := small()
	src.err = errors.New("broken")
	r := newRig(t, nil)
	told := 0
	r.OnError = func(err error) { told++ }
	r.SetSource(src)
	r.settle()
	for range 5 {
		r.changed()
		r.settle()
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}

// A lane whose depth is not known grows with what is seen of it.
func TestUnknownDepth(t *testing.T) {
	src := small()
	src.lanes[0].Depth = 0
	r := newRig(t, src)
	if l := r.layout.lanes[0]; l.Depth != 4 || l.lines != 4 {
		t.Errorf("depth %d, %d lines", l.Depth, l.lines)
	}
	r.Reload()
	if l := r.layout.lanes[0]; l.Depth != 4 || l.lines != 4 {
		t.Errorf("after a reload: depth %d, %d lines", l.Depth, l.lines)
	}
}

// Calls that a filter hides, and boxes of which it may hide some, say so.
func TestHiddenCallsSaySo(t *testing.T) {
	src := small()
	spans := src.spans[0]
	spans[1].Limited = true
	spans[4].Limited, spans[4].Shown = true, 12_345
	r := newRig(t, src)
	for _, test := range []struct {
		s    app.Span
		want string
	}{{spans[0], ""}, {spans[1], "The filter hides its row."}, {spans[4], "The filter shows at most 12,345 of them."}} {
		r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: r.where(0, test.s)}})
		said := ""
		for _, l := range r.tip.lines {
			if strings.HasPrefix(l.Text, "The filter") {
				said = l.Text
			}
		}
		if said != test.want {
			t.Errorf("said of %q: %q, want %q", test.s.Function, said, test.want)
		}
	}
}

// twoRuns is two runs of a thread with a seam between.
func twoRuns() *fakeSource {
	return &fakeSource{
		last:  5_200_000_000,
		lanes: []app.Lane{{Thread: 7, Name: "main", Depth: 2, Rows: 8}},
		runs: []app.TimelineRun{
			{To: 3_000_000_000, Number: 1},
			{From: 3_200_000_000, To: 5_200_000_000, Zero: 3_200_000_000, Number: 2, Seam: true},
		},
		spans: map[int][]app.Span{0: {
			{From: 0, To: 3_000_000_000, Calls: 1, FunctionRef: app.FunctionRef{Function: "main"}, Row: 0, Open: true},
			{From: 3_200_000_000, To: 5_200_000_000, Calls: 1, FunctionRef: app.FunctionRef{Function: "main"}, Row: 4},
			{From: 400_000_000, To: 1_900_000_000, Depth: 1, Deepest: 1, Calls: 1, FunctionRef: app.FunctionRef{Function: "app::load"}, Row: 1},
			{From: 4_200_000_000, To: 5_000_000_000, Depth: 1, Deepest: 1, Calls: 1, FunctionRef: app.FunctionRef{Function: "app::save"}, Row: 5},
		}},
	}
}

// Of several runs each has its own times: under the pointer, and measured.
func TestRunsHaveTheirOwnTimes(t *testing.T) {
	src := twoRuns()
	r := newRig(t, src)
	var lines []string
	r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: r.where(0, src.spans[0][3])}})
	for _, l := range r.tip.lines {
		lines = append(lines, l.Text)
	}
	if text := strings.Join(lines, "|"); !strings.Contains(text, "|Run 2 \u00b7 "+duration(1_000_000_000, 6)) {
		t.Errorf("said %q", text)
	}
	var measured int64
	r.OnMeasured = func(ns int64) { measured = ns }
	at := func(ns int64) fyne.Position { return fyne.NewPos(gutterWidth+float32(r.axis.x(ns)), 100) }
	for _, test := range []struct {
		from, to, want int64
		text           string
	}{
		{1_000_000_000, 2_000_000_000, 1_000_000_000, "s"},
		{2_000_000_000, 4_200_000_000, 2_000_000_000, "in 2 runs"},
		{3_300_000_000, 4_300_000_000, 1_000_000_000, "s"},
	} {
		r.drag(at(test.from), at(test.to), 0)
		if off := measured - test.want; off < -30_000_000 || off > 30_000_000 {
			t.Errorf("from %d to %d: measured %d", test.from, test.to, measured)
		}
		if got := r.length.lines[0].Text; !strings.HasSuffix(got, test.text) {
			t.Errorf("from %d to %d: said %q", test.from, test.to, got)
		}
	}
}

// Small steps to the side need no new answer.
func TestPanningAsksRarely(t *testing.T) {
	src := small()
	r := newRig(t, src)
	r.axis.fit(400, 500)
	r.changed()
	r.settle()
	before := src.times()
	for range 3 {
		r.TypedRune('d')
		r.settle()
	}
	if got := src.times() - before; got != 0 {
		t.Errorf("%d questions for a step to the side", got)
	}
}

func TestChooseFromOutside(t *testing.T) {
	src := small()
	r := newRig(t, src)
	r.axis.fit(900, 1000)
	r.Choose(7, src.spans[0][3])
	if x := r.axis.x(155); x < 0 || x > 468 || r.Chosen() != 2 {
		t.Errorf("the call lies at %v, chosen %d", x, r.Chosen())
	}
	if r.heard() != "" {
		t.Error("choosing from outside says so")
	}
	// A call shorter than the clock's step is shown among its neighbours.
	r.Choose(7, app.Span{From: 500, To: 500, Row: 2})
	if seen := r.axis.perPx * float64(r.axis.width); seen < 900 {
		t.Errorf("only %v ns around it are seen", seen)
	}
	r.Choose(99, src.spans[0][0])
	if r.Chosen() != 2 {
		t.Error("a call of an unknown thread is chosen")
	}
}
