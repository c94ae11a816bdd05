package timeline

import (
	"image"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"logparser/app"
)

// texts are the lines that a tip says.
func (p *tip) texts() (list []string) {
	for _, l := range p.lines {
		list = append(list, l.Text)
	}
	return list
}

// The pointer says what a box of the flame graph is, lets boxes of the same function stand out, opens the menu and zooms.
func TestFlameUnderThePointer(t *testing.T) {
	f := newFlame(t)
	var menu []string
	f.OnMenu = func(ref *app.FunctionRef, _ fyne.Position) { menu = append(menu, ref.Function) }
	at := func(x float32, level int) *desktop.MouseEvent {
		return &desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(x, lineHeight*float32(level)+3)}}
	}
	said := func() string {
		if !f.tip.Visible() {
			return ""
		}
		return strings.Join(f.tip.texts(), "|")
	}
	f.placed()
	f.MouseIn(at(20, 1))
	if got := said(); !strings.HasPrefix(got, "a|Total 0 ms, self 0 ms|1 call · 60.0 % of all|m") {
		t.Errorf("over a it says %q", got)
	}
	under := func() string { // the functions of boxes with a line below
		img := image.NewRGBA(image.Rect(0, 0, 100, 200))
		f.draw(img)
		var names []string
		for i := range f.boxes {
			b := &f.boxes[i]
			if img.RGBAAt(int(b.x0)+2, (b.level+1)*f.px(lineHeight)-2) == f.palette.Selected {
				names = append(names, b.node.Function)
			}
		}
		return strings.Join(names, " ")
	}
	f.MouseMoved(at(20, 2))
	if got := under(); got != "f f" {
		t.Errorf("over f these stand out: %q", got)
	}
	f.MouseMoved(at(95, 2)) // beside the boxes
	if said() != "" || under() != "" {
		t.Errorf("over nothing it says %q of %q", said(), under())
	}
	f.MouseMoved(at(20, 1))
	f.MouseOut()
	if said() != "" || f.hovered != nil {
		t.Errorf("after the pointer has left it says %q", said())
	}
	press := at(20, 1)
	press.Button = desktop.MouseButtonSecondary
	f.MouseDown(press)
	f.MouseUp(press)
	press = at(95, 2)
	press.Button = desktop.MouseButtonSecondary
	f.MouseDown(press)
	if !slices.Equal(menu, []string{"a"}) || f.chosen.Function != "a" {
		t.Errorf("menus of %q, chosen %q", menu, f.chosen.Function)
	}
	f.DoubleTapped(&fyne.PointEvent{})
	if got := f.placed(); !strings.HasPrefix(got, "a ##########") {
		t.Errorf("a double click shows\n%s", got)
	}
	f.TypedRune('0')
	if f.IsZoomed() {
		t.Error("0 does not show all")
	}
}

// Keys of the flame graph that lead to other views, or are left to the window.
func TestFlameLeadsElsewhere(t *testing.T) {
	f := newFlame(t)
	var did []string
	f.OnRune = func(r rune) { did = append(did, "rune "+string(r)) }
	f.OnKey = func(k fyne.KeyName) { did = append(did, "key "+string(k)) }
	f.OnOpen = func(ref *app.FunctionRef) { did = append(did, "open "+ref.Function) }
	f.OnChanged = func() { did = append(did, "changed") }
	f.TypedRune('c') // nothing is chosen
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown}) // the first box
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyLeft})
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	f.TypedRune('c')
	f.TypedRune('x')
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyF5})
	if want := []string{"open a", "changed", "rune x", "key F5"}; !slices.Equal(did, want) {
		t.Errorf("done: %q, want %q", did, want)
	}
	if f.Centre() == nil || f.Centre().Function != "a" {
		t.Errorf("all is around %v", f.Centre())
	}
	// A way of calls that the tree has not, or not to its end, is marked as far as it goes.
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	way := []app.Frame{{FunctionRef: app.FunctionRef{Function: "main", Module: "m"}}, {FunctionRef: app.FunctionRef{Function: "gone", Module: "m"}}}
	if f.Choose(way); f.chosen == nil || f.chosen.Function != "main" {
		t.Errorf("chosen %+v", f.chosen)
	}
	if f.Choose(way[1:]); f.chosen != nil {
		t.Errorf("chosen %+v", f.chosen)
	}
}

// A graph that is higher than its room is scrolled, but not out of sight.
func TestFlameScrolls(t *testing.T) {
	f := newFlame(t)
	deep := flameNode("leaf", 100)
	for range 30 {
		deep = flameNode("deep", 100, deep)
	}
	f.SetTree(&app.Tree{Roots: []*app.TreeNode{deep}}, 3)
	f.placed()
	for _, step := range []struct {
		notches float32
		want    int
	}{{-1, 3 * lineHeight}, {-1, 6 * lineHeight}, {1, 3 * lineHeight}, {-100, 31*lineHeight - 200}, {100, 0}} {
		f.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, step.notches*wheelStep)})
		if f.placed(); f.offset != step.want {
			t.Errorf("%v notches scroll to %d, want %d", step.notches, f.offset, step.want)
		}
	}
}

// What lies in a measured range is asked for, and shown with it if it is the same range still.
func TestMeasuredRangeIsSummed(t *testing.T) {
	r := newRig(t, small())
	r.OnMeasure = func(from, to int64) { r.say("measure", from, to) }
	r.OnCompare = func(from, to int64) { r.say("compare", from, to) }
	r.TypedRune('c') // nothing is drawn
	a, b := fyne.NewPos(232, 100), fyne.NewPos(332, 110)
	r.drag(a, b, 0)
	from, to := r.timeAt(a), r.timeAt(b)
	if got, want := r.heard(), "measure "+itoa(from)+" "+itoa(to); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	length := r.length.texts()
	r.Measured(from, to+1, []string{"of another range"})
	if got := r.length.texts(); !slices.Equal(got, length) {
		t.Errorf("beside the range it says %q", got)
	}
	r.Measured(from, to, []string{"3 calls"})
	if got := r.length.texts(); !r.Measuring() || !slices.Equal(got, append(length, "3 calls")) {
		t.Errorf("beside the range it says %q", got)
	}
	r.TypedRune('c')
	if got := r.heard(); !strings.HasPrefix(got, "compare ") || r.Measuring() {
		t.Errorf("%q, still drawn %v", got, r.Measuring())
	}
	r.Measured(from, to, []string{"too late"})
	if r.length.Visible() {
		t.Error("a range that is gone is shown")
	}
	r.TypedRune('m') // no call is chosen
	r.click(r.where(0, small().spans[0][1]))
	r.heard()
	r.TypedRune('m')
	if got := r.heard(); got != "measure 100 450" {
		t.Errorf("of the chosen call: %q", got)
	}
}

// Keys and the wheel move the picture; the right button has menus for calls and lanes; other keys are the window's.
func TestMovingAndMenus(t *testing.T) {
	src := many(4000, 40)
	src.lanes = append(src.lanes, app.Lane{Thread: 2, Name: "second", Depth: 1})
	src.spans[1] = []app.Span{{From: 0, To: 9000, Calls: 1, FunctionRef: app.FunctionRef{Function: "second"}, Row: -1}}
	r := newRig(t, src)
	r.OnMenu = func(s app.Span, lane app.Lane, _ fyne.Position) { r.say("menu of "+s.Function, int64(lane.Thread)) }
	r.OnLaneMenu = func(lane app.Lane, _ fyne.Position) { r.say("menu of lane", int64(lane.Thread)) }
	r.OnRune = func(c rune) { r.say("rune " + string(c)) }
	r.TypedRune('+')
	r.settle()
	for _, step := range []struct {
		name  string
		do    func()
		check func(from, top float64) bool // with where the picture was before
	}{
		{"End", func() { r.typeKey(fyne.KeyEnd) }, func(from, _ float64) bool { return r.axis.from > from && r.axis.x(r.axis.last) < 480 }},
		{"Home", func() { r.typeKey(fyne.KeyHome) }, func(from, _ float64) bool { return r.axis.from < from && r.axis.x(0) >= 0 }},
		{"Right", func() { r.typeKey(fyne.KeyRight) }, func(from, _ float64) bool { return r.axis.from > from }},
		{"Left", func() { r.typeKey(fyne.KeyLeft) }, func(from, _ float64) bool { return r.axis.from < from }},
		{"sideways wheel", func() {
			r.Scrolled(&fyne.ScrollEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(300, 100)}, Scrolled: fyne.NewDelta(-wheelStep, 0)})
		}, func(from, _ float64) bool { return r.axis.from > from }},
		{"shift and drag", func() { r.drag(fyne.NewPos(300, 100), fyne.NewPos(340, 100), fyne.KeyModifierShift) }, func(from, _ float64) bool { return r.axis.from < from && !r.Measuring() }},
		{"PageDown", func() { r.typeKey(fyne.KeyPageDown) }, func(_, top float64) bool { return float64(r.layout.offset) > top }},
		{"PageUp", func() { r.typeKey(fyne.KeyPageUp) }, func(_, top float64) bool { return float64(r.layout.offset) < top }},
		{"Down", func() { r.typeKey(fyne.KeyDown) }, func(_, top float64) bool { return float64(r.layout.offset) > top }},
		{"Up", func() { r.typeKey(fyne.KeyUp) }, func(_, top float64) bool { return float64(r.layout.offset) < top }},
		{"the middle button", func() {
			r.press(fyne.NewPos(300, 100), desktop.MouseButtonTertiary, 0)
			r.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(300, 60)}, Dragged: fyne.NewDelta(0, -40)})
			r.DragEnd()
		}, func(_, top float64) bool { return float64(r.layout.offset) > top }},
	} {
		from, top := r.axis.from, float64(r.layout.offset)
		step.do()
		r.settle()
		if !step.check(from, top) {
			t.Errorf("%s: from %v to %v, lanes from %v to %d", step.name, from, r.axis.from, top, r.layout.offset)
		}
	}
	if got := r.heard(); got != "" {
		t.Errorf("moving does %q", got)
	}
	r.layout.scroll(-10_000)
	r.FitAll()
	r.settle()
	r.press(fyne.NewPos(30, rulerHeight+5), desktop.MouseButtonSecondary, 0)
	if got := r.heard(); got != "menu of lane 1" {
		t.Errorf("beside the lane: %q", got)
	}
	r.press(fyne.NewPos(300, rulerHeight-2), desktop.MouseButtonSecondary, 0)
	r.release(fyne.NewPos(300, rulerHeight-2))
	if got := r.heard(); got != "" {
		t.Errorf("on the ruler: %q", got)
	}
	one := newRig(t, small())
	one.OnMenu = func(s app.Span, lane app.Lane, _ fyne.Position) { one.say("menu of "+s.Function, int64(lane.Thread)) }
	for _, s := range small().spans[0] {
		p := one.where(0, s)
		one.press(p, desktop.MouseButtonSecondary, 0)
		want := "selected " + itoa(s.Row) + ", menu of " + s.Function + " 7"
		if s.Calls != 1 {
			want = "selected " + itoa(s.Row) // many calls have no menu
		}
		if got := one.heard(); got != want {
			t.Errorf("on %q: %q, want %q", s.Function, got, want)
		}
	}
	r.TypedRune('?')
	if got := r.heard(); got != "rune ?" {
		t.Errorf("a key for the window: %q", got)
	}
	r.FocusGained()
	r.FocusLost()
	if r.focused {
		t.Error("the focus stays")
	}
}

// The wheel beside the picture scrolls a lane that shows not all of its lines, else all lanes; the bar scrolls them, too.
func TestLanesScroll(t *testing.T) {
	src := many(4000, 40)
	src.lanes = append(src.lanes, app.Lane{Thread: 2, Depth: 8}, app.Lane{Thread: 3, Depth: 8})
	r := newRig(t, src)
	wheel := func(notches float32) {
		r.Scrolled(&fyne.ScrollEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(30, rulerHeight+5)}, Scrolled: fyne.NewDelta(0, notches*wheelStep)})
	}
	wheel(-1)
	if got := r.layout.lanes[0].top; got != 3 || r.layout.offset != 0 {
		t.Errorf("the lane begins with line %d, lanes with %d", got, r.layout.offset)
	}
	wheel(-100)
	wheel(-1) // the lane is at its end
	if got := r.layout.lanes[0].top; got != 40-mostLines || r.layout.offset != 3*lineHeight {
		t.Errorf("the lane begins with line %d, lanes with %d", got, r.layout.offset)
	}
	r.layout.scroll(-1000)
	r.layout.fold(0)
	wheel(-1) // a folded lane has nothing to scroll
	if r.layout.offset == 0 {
		t.Error("lanes are not scrolled over a folded one")
	}
	wheel(100)
	bar := r.bar.Object()
	at := func(y float32) fyne.PointEvent { return fyne.PointEvent{Position: fyne.NewPos(5, y)} }
	bar.(desktop.Mouseable).MouseDown(&desktop.MouseEvent{PointEvent: at(2), Button: desktop.MouseButtonPrimary})
	bar.(fyne.Draggable).Dragged(&fyne.DragEvent{PointEvent: at(1000)})
	bar.(fyne.Draggable).DragEnd()
	if want := r.layout.total - r.layout.height; want <= 0 || r.layout.offset != want {
		t.Errorf("the bar's end is %d, want %d", r.layout.offset, want)
	}
}

// The pointer has the form of what a press does there; a press with another button does nothing, and nothing is said
// in the middle of a drag.
func TestPointerTellsWhatAPressDoes(t *testing.T) {
	src := small()
	r := newRig(t, src)
	edge := fyne.NewPos(30, rulerHeight+4*lineHeight+2)
	over := r.where(0, src.spans[0][1])
	move := func(p fyne.Position) {
		r.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: p}})
	}
	for _, c := range []struct {
		at   fyne.Position
		want desktop.Cursor
	}{{edge, desktop.VResizeCursor}, {over, desktop.DefaultCursor}, {fyne.NewPos(30, rulerHeight+5), desktop.DefaultCursor}} {
		if move(c.at); r.Cursor() != c.want {
			t.Errorf("at %v the pointer is %v, want %v", c.at, r.Cursor(), c.want)
		}
	}
	r.MouseOut()
	r.press(edge, desktop.MouseButtonPrimary, 0)
	if move(over); r.tip.Visible() || r.Cursor() != desktop.VResizeCursor {
		t.Errorf("while the edge is dragged the pointer is %v, and says %q", r.Cursor(), r.tip.texts())
	}
	r.MouseUp(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: over}, Button: desktop.MouseButtonSecondary})
	if r.heard() != "" || r.Chosen() != -1 {
		t.Error("another button chooses")
	}
	// With nothing chosen f shows all, as 0 does.
	r.axis.fit(400, 500)
	r.TypedRune('f')
	if from, to := r.axis.seen(); from > 0 || to < 1000 {
		t.Errorf("%d to %d are seen", from, to)
	}
	// Keys zoom where the pointer is.
	move(over)
	before := r.timeAt(over)
	r.TypedRune('w')
	if after := r.timeAt(over); after != before {
		t.Errorf("under the pointer was %d and is %d", before, after)
	}
}

// At the ends of a line, and of the calls, the keys stay at the chosen call.
func TestKeysEndWithTheCalls(t *testing.T) {
	src := small()
	r := newRig(t, src)
	r.TypedRune('.')
	r.heard()
	for _, key := range []string{".", ",", "Up"} {
		if len(key) == 1 {
			r.TypedRune(rune(key[0]))
		} else {
			r.typeKey(fyne.KeyName(key))
		}
		if got := r.heard(); got != "" || r.Chosen() != 0 {
			t.Errorf("%s: %q, chosen %d", key, got, r.Chosen())
		}
	}
	r.axis.fit(2000, 3000)
	r.SetSource(&fakeSource{last: 1000, lanes: src.lanes})
	r.settle()
	if r.TypedRune('.'); r.heard() != "" || r.Chosen() != -1 {
		t.Error("there is no call to be chosen")
	}
}
