package timeline

import (
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"logparser/app"
	"logparser/rows"
)

// fill is the colour that a call's box is painted with, above its letters.
func (r *rig) fill(lane int, s app.Span) color.RGBA {
	r.t.Helper()
	y, ok := r.layout.y(lane, s.Depth)
	if !ok {
		r.t.Fatalf("%s is not shown", s.Function)
	}
	img := r.generate(600, 224).(*image.RGBA)
	return img.RGBAAt(r.px(gutterWidth)+int(r.axis.x(s.From)+0.5)+1, r.px(rulerHeight)+y+1)
}

// Boxes have their colours from functions, modules or threads; what is not found, or outside of the chosen time, is pale.
func TestColoursOfBoxes(t *testing.T) {
	src := small()
	spans := src.spans[0]
	for i := range spans {
		spans[i].Module = "m.dll"
	}
	spans[1].Module = "other.dll"
	r := newRig(t, src)
	main, load, read := spans[0], spans[1], spans[3]
	r.SetSwatches(map[rows.Track]uint8{7: 3})
	for _, c := range []struct {
		name             string
		do               func()
		main, load, read color.RGBA
	}{
		{"by function", func() {}, Light.Boxes[colourOf("main")], Light.Boxes[colourOf("app::load")], Light.Boxes[colourOf("read")]},
		{"by module", func() { r.SetInks(ByModule) }, Light.Boxes[colourOf("m.dll")], Light.Boxes[colourOf("other.dll")], Light.Boxes[colourOf("m.dll")]},
		{"by thread", func() { r.SetInks(ByThread) }, Light.Boxes[2], Light.Boxes[2], Light.Boxes[2]},
		{"found", func() { r.SetFind(func(name string) bool { return name == "app::load" }) }, Light.Faint, Light.Boxes[2], Light.Faint},
		{"something else is found", func() { r.SetFind(func(name string) bool { return name == "read" }) }, Light.Faint, Light.Faint, Light.Boxes[2]},
		{"all is found", func() { r.SetFind(nil) }, Light.Boxes[2], Light.Boxes[2], Light.Boxes[2]},
		{"outside of a range", func() { r.SetRange(455, 700, true) }, Light.Boxes[2], Light.Faint, Light.Faint},
		{"no range", func() { r.SetRange(455, 700, false) }, Light.Boxes[2], Light.Boxes[2], Light.Boxes[2]},
	} {
		c.do()
		if a, b, d := r.fill(0, main), r.fill(0, load), r.fill(0, read); a != c.main || b != c.load || d != c.read {
			t.Errorf("%s: main %v, load %v, read %v; want %v, %v, %v", c.name, a, b, d, c.main, c.load, c.read)
		}
	}
	// Boxes without a function have no thread's colour.
	if got := r.fill(0, spans[4]); got == Light.Boxes[2] {
		t.Errorf("many calls have the colour %v", got)
	}
}

// A search asks once for each name, however often the boxes are drawn.
func TestFindAsksOnce(t *testing.T) {
	r := newRig(t, small())
	asked := map[string]int{}
	r.SetFind(func(name string) bool { asked[name]++; return true })
	for range 3 {
		r.generate(600, 224)
	}
	if len(asked) < 4 {
		t.Errorf("asked for %v", asked)
	}
	for name, n := range asked {
		if n != 1 {
			t.Errorf("asked %d times for %q", n, name)
		}
	}
}

// Boxes of the function under the pointer stand out, also in other lanes.
func TestSameFunctionStandsOut(t *testing.T) {
	src := small()
	src.spans[1][0].Function = "read"
	r := newRig(t, src)
	under := func(lane int, s app.Span) bool {
		y, _ := r.layout.y(lane, s.Depth)
		img := r.generate(600, 224).(*image.RGBA)
		return img.RGBAAt(r.px(gutterWidth)+int(r.axis.x(s.From)+0.5)+1, r.px(rulerHeight)+y+r.layout.line-2) == Light.Selected
	}
	r.MouseIn(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: r.where(0, src.spans[0][3])}})
	if !under(0, src.spans[0][3]) || !under(1, src.spans[1][0]) || under(0, src.spans[0][1]) {
		t.Error("it is not boxes of read that stand out")
	}
	r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: r.where(0, src.spans[0][4])}})
	if under(0, src.spans[0][3]) || under(1, src.spans[1][0]) {
		t.Error("over many calls boxes of read stand out")
	}
}

// written are the texts of a drawing from top to bottom.
func (r *rig) written() []string {
	r.generate(600, 224)
	var list []string
	for _, part := range strings.Split(string(r.Drawing()), "<text ")[1:] {
		_, text, _ := strings.Cut(part, ">")
		text, _, _ = strings.Cut(text, "</text>")
		list = append(list, text)
	}
	return list
}

// Boxes have names, and numbers where they stand for many calls: of those that a filter shows.
func TestTextsOfBoxes(t *testing.T) {
	box := func(f func(s *app.Span)) app.Span {
		s := app.Span{From: 0, To: 1000, Calls: 5000, FunctionRef: app.FunctionRef{Function: "busy"}, Row: 1}
		f(&s)
		return s
	}
	for _, c := range []struct {
		name      string
		s         app.Span
		want, not string
	}{
		{"one call", box(func(s *app.Span) { s.Calls = 1 }), "busy", "\u00d7"},
		{"many calls", box(func(s *app.Span) {}), "busy", ""},
		{"many calls", box(func(s *app.Span) {}), "\u00d7 5,000", ""},
		{"many of several", box(func(s *app.Span) { s.Function = "" }), "\u00d7 5,000", "busy"},
		{"part of them", box(func(s *app.Span) { s.Limited, s.Shown = true, 12 }), "\u00d7 12", "busy"},
		{"about part of them", box(func(s *app.Span) { s.Limited, s.About, s.Shown, s.Calls = true, true, 12, 0 }), "\u00d7 12", ""},
		{"none of them", box(func(s *app.Span) { s.Limited = true }), "\u00d7 5,000", ""},
		{"a number that nobody knows", box(func(s *app.Span) { s.Calls = 0 }), "", "\u00d7"},
		{"too narrow", box(func(s *app.Span) { s.To = 20 }), "", "busy"},
	} {
		src := small()
		src.spans[0] = []app.Span{c.s}
		r := newRig(t, src)
		text := strings.Join(r.written(), "|")
		if c.want != "" && !strings.Contains(text, c.want) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: written is %q, want %q, not %q", c.name, text, c.want, c.not)
		}
	}
}

// Beside each lane stands what it is: the thread's name or number, its process, the stack of a coroutine.
func TestTextsOfLanes(t *testing.T) {
	shop := &rows.Process{Number: 2, Label: "99 shop"}
	for _, c := range []struct {
		lane        app.Lane
		name, about string
	}{
		{app.Lane{Thread: 7, Rows: 1}, "Thread 7", "1 row"},
		{app.Lane{Thread: 7, Rows: 2000}, "Thread 7", "2,000 rows"},
		{app.Lane{Thread: 7, Name: "render"}, "render", "Thread 7"},
		{app.Lane{Thread: 7, Stack: 3}, "Stack 3", "Thread 7"},
		{app.Lane{Thread: 7, Name: "render", Process: shop}, "render", "7 \u00b7 99 shop"},
		{app.Lane{Thread: 7, Stack: 3, Process: shop}, "Stack 3", "7 \u00b7 99 shop"},
	} {
		if name, about := laneTexts(&c.lane); name != c.name || about != c.about {
			t.Errorf("%+v is %q, %q", c.lane, name, about)
		}
		src := small()
		c.lane.Depth = 2
		src.lanes = []app.Lane{c.lane}
		r := newRig(t, src)
		if list := r.written(); !slices.Contains(list, c.name) || !slices.Contains(list, c.about) {
			t.Errorf("beside the lane stand %q", list)
		}
	}
}

// A run says when it began, where the log knows.
func TestRunsSayWhenTheyBegan(t *testing.T) {
	src := twoRuns()
	src.runs[0].HasWall, src.runs[0].Begin = true, time.Date(2026, 5, 4, 13, 14, 15, 0, time.UTC)
	r := newRig(t, src)
	list := r.written()
	if !slices.Contains(list, "Run 1 \u00b7 2026-05-04 13:14:15") || !slices.Contains(list, "Run 2") {
		t.Errorf("written is %q", list)
	}
	// A run that is too narrow for its name has none.
	src.runs[0].To, src.runs[1].From, src.runs[1].Zero = 100, 200, 200
	r.SetSource(src)
	r.settle()
	if list := r.written(); slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "Run 1") }) || !slices.Contains(list, "Run 2") {
		t.Errorf("written is %q", list)
	}
}

// Nothing is drawn of no timeline.
func TestNothingToSave(t *testing.T) {
	tl := New(testFonts(), &Light, func(f func()) {})
	if d := tl.Drawing(); d != nil {
		t.Errorf("a drawing of %d bytes", len(d))
	}
	if img := tl.Picture(); !img.Bounds().Empty() {
		t.Errorf("a picture of %v", img.Bounds())
	}
	if tl.digits() != 3 {
		t.Errorf("%d digits", tl.digits())
	}
}

// What is saved is the overview with the timeline below.
func TestPictureHasBoth(t *testing.T) {
	r, o := newOverviewRig(t, small())
	r.generate(600, 224)
	o.generate(600, overviewHeight)
	img := r.Picture()
	if want := image.Rect(0, 0, 600, 224+overviewHeight); img.Bounds() != want {
		t.Fatalf("the picture is %v, want %v", img.Bounds(), want)
	}
	for _, p := range []image.Point{{300, 5}, {300, overviewHeight - 1}} {
		if img.At(p.X, p.Y) != o.pixels.At(p.X, p.Y) {
			t.Errorf("%v is not of the overview", p)
		}
	}
	for _, p := range []image.Point{{300, 40}, {20, 100}} {
		if img.At(p.X, p.Y+overviewHeight) != r.pixels.At(p.X, p.Y) {
			t.Errorf("%v is not of the timeline", p)
		}
	}
	if d := string(r.Drawing()); !strings.Contains(d, "height=\"256\"") || !strings.Contains(d, "app::load") {
		t.Errorf("the drawing is %.300s", d)
	}
}

// What is said of a box names the function with most time of many calls, that all of them are hidden, and calls without end.
func TestTextsUnderThePointer(t *testing.T) {
	r := newRig(t, small())
	for _, c := range []struct {
		name string
		s    app.Span
		want string
	}{
		{"many", app.Span{To: 1000, Calls: 50, FunctionRef: app.FunctionRef{Function: "busy"}, Row: -1}, "About 50 calls|most time: busy|within " + duration(1000, 6) + "; zoom in to see them|main"},
		{"many that nobody has counted", app.Span{To: 1000, Row: -1}, "Many calls|within " + duration(1000, 6) + "; zoom in to see them|main"},
		{"hidden ones", app.Span{To: 1000, Calls: 50, Limited: true, Row: -1}, "About 50 calls|within " + duration(1000, 6) + "; zoom in to see them|The filter hides their rows.|main"},
		{"one without end", app.Span{To: 1000, Calls: 1, NoLeave: true, FunctionRef: app.FunctionRef{Function: "f"}, Row: 1234}, "f|" + duration(1000, 6) + " so far, no leave|main \u00b7 Row 1,234"},
	} {
		if got := strings.Join(describe(&c.s, &r.layout.lanes[0].Lane, &r.axis, 6), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// It stays within the widget, and long names lose their middle.
	r.tip.show([]string{strings.Repeat("a", 80) + strings.Repeat("z", 80)}, fyne.NewPos(600, 220), r.Size())
	if at, size := r.tip.Position(), r.tip.Size(); at.X < 0 || at.Y+size.Height > r.Size().Height {
		t.Errorf("the text is at %v, %v", at, size)
	}
	if got := r.tip.texts()[0]; got != strings.Repeat("a", 50)+"\u2026"+strings.Repeat("z", 50) {
		t.Errorf("a long line is %q", got)
	}
	if n := len((&tipRenderer{r.tip}).Objects()); n != 2 {
		t.Errorf("%d objects of a line and its ground", n)
	}
}

// The flame graph's boxes have their colours from functions or modules; (others) have their own, and say so.
func TestFlameColours(t *testing.T) {
	f := newFlame(t)
	rest := flameNode("", 40)
	rest.Other, rest.Module = true, ""
	f.SetTree(&app.Tree{Roots: []*app.TreeNode{flameNode("main", 100, flameNode("a", 60), rest)}}, 3)
	fill := func(i int) color.RGBA {
		img := image.NewRGBA(image.Rect(0, 0, 100, 200))
		f.draw(img)
		return img.RGBAAt(int(f.boxes[i].x0)+1, f.boxes[i].level*f.px(lineHeight)+1)
	}
	for _, c := range []struct {
		name string
		do   func()
		want [3]color.RGBA
	}{
		{"by function", func() {}, [3]color.RGBA{Light.Boxes[colourOf("main")], Light.Boxes[colourOf("a")], Light.Several}},
		{"by module", func() { f.SetInks(ByModule) }, [3]color.RGBA{Light.Boxes[colourOf("m")], Light.Boxes[colourOf("m")], Light.Several}},
		{"dark", func() { f.SetPalette(&Dark) }, [3]color.RGBA{Dark.Boxes[colourOf("m")], Dark.Boxes[colourOf("m")], Dark.Several}},
	} {
		c.do()
		if got := [3]color.RGBA{fill(0), fill(1), fill(2)}; got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := f.describe(rest)[0]; got != "(others)" {
		t.Errorf("what is too little to be shown is %q", got)
	}
	// Around one function all is what it took.
	f.Around(&app.FunctionRef{Function: "a", Module: "m"})
	f.placed()
	if got := strings.Join(f.describe(f.down), "|"); !strings.Contains(got, "100.0 % of all") {
		t.Errorf("of the function that all is around it says %q", got)
	}
	if i := f.at(fyne.NewPos(10, -1)); i >= 0 {
		t.Errorf("above the graph is box %d", i)
	}
}
