package timeline

import (
	"image"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/look"
)

func flameNode(name string, total int64, children ...*app.TreeNode) *app.TreeNode {
	n := &app.TreeNode{FunctionRef: app.FunctionRef{Function: name, Module: "m"}, Calls: 1, Timed: 1, Total: total, Self: total, Children: children}
	for _, c := range children {
		n.Self -= c.Total
	}
	return n
}

// newFlame shows main with a (60 %, which calls f 40 %) and f (30 %, which calls g 10 %), a pixel a percent.
func newFlame(t *testing.T) *Flame {
	test.NewTempApp(t)
	f := NewFlame(look.Fonts(), &Light)
	w := test.NewTempWindow(t, f)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(200, 200))
	f.SetTree(&app.Tree{Roots: []*app.TreeNode{
		flameNode("main", 100, flameNode("a", 60, flameNode("f", 40)), flameNode("f", 30, flameNode("g", 10)))}}, 3)
	f.draw(image.NewRGBA(image.Rect(0, 0, 100, 200)))
	return f
}

func (f *Flame) placed() string {
	f.draw(image.NewRGBA(image.Rect(0, 0, 100, 200)))
	var parts []string
	for _, b := range f.boxes {
		parts = append(parts, strings.Repeat(" ", b.level)+b.node.Function+" "+strings.Repeat("#", int(b.x1-b.x0+0.5)/10))
	}
	return strings.Join(parts, "\n")
}

// Boxes are as wide as their part of the time, below their callers.
func TestFlameBoxes(t *testing.T) {
	f := newFlame(t)
	if got, want := f.placed(), "main ##########\n a ######\n  f ####\n f ###\n  g #"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	f.Around(&app.FunctionRef{Function: "f", Module: "m"})
	if got, want := f.placed(), "a #####\nmain #####\nmain ####\n"; !strings.Contains(got, "f ##########\n") || !strings.Contains(got, "g #") || !strings.Contains(got, "a #####") || got == want {
		t.Errorf("around f:\n%s", got)
	}
	levels := map[string]int{}
	for _, b := range f.boxes {
		if _, ok := levels[b.node.Function]; !ok || b.node.Function != "main" {
			levels[b.node.Function] = b.level
		}
	}
	if levels["a"] != levels["f"]-1 || levels["g"] != levels["f"]+1 {
		t.Errorf("callers are to lie above, callees below: %v", levels)
	}
	if !f.Out() || f.Centre() != nil || f.Out() {
		t.Error("the way back")
	}
	f.Around(&app.FunctionRef{Function: "nowhere"})
	if got := f.placed(); got != "" {
		t.Errorf("of a function that was not called there is %q", got)
	}
}

// A box is chosen by the pointer and by keys, zoomed to, and left again.
func TestFlameKeys(t *testing.T) {
	f := newFlame(t)
	var chosen []string
	f.OnChosen = func(n *app.TreeNode, path []app.FunctionRef) {
		var names []string
		for _, p := range path {
			names = append(names, p.Function)
		}
		chosen = append(chosen, strings.Join(names, ">"))
	}
	left := 0
	f.OnKey = func(fyne.KeyName) { left++ }
	f.scale = 1
	f.MouseDown(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(20, lineHeight*2+3)}, Button: desktop.MouseButtonPrimary})
	for _, key := range []fyne.KeyName{fyne.KeyUp, fyne.KeyRight, fyne.KeyDown, fyne.KeyUp, fyne.KeyUp} {
		f.TypedKey(&fyne.KeyEvent{Name: key})
	}
	if got, want := strings.Join(chosen, " "), "main>a>f main>a main>f main>f>g main>f main"; got != want {
		t.Errorf("chosen %s, want %s", got, want)
	}
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown}) // a
	f.TypedRune('f')
	if got := f.placed(); !strings.HasPrefix(got, "a ##########") || !f.IsZoomed() {
		t.Errorf("zoomed to\n%s", got)
	}
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	f.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if f.IsZoomed() || left != 1 {
		t.Errorf("after Escape twice: zoomed %t, %d keys left to others", f.IsZoomed(), left)
	}
	f.Choose([]app.Frame{{FunctionRef: app.FunctionRef{Function: "main", Module: "m"}}, {FunctionRef: app.FunctionRef{Function: "f", Module: "m"}}})
	if f.chosen == nil || f.chosen.Total != 30 {
		t.Errorf("the way main, f chooses %+v", f.chosen)
	}
	if lines := f.describe(f.chosen); !strings.Contains(strings.Join(lines, "|"), "30.0 % of all") {
		t.Errorf("said is %q", lines)
	}
	// Times of calls that were still running are at least so long, as in the call tree.
	f.chosen.Bound, f.chosen.SelfBound = rows.AtLeast, rows.About
	if lines := strings.Join(f.describe(f.chosen), "|"); !strings.Contains(lines, "Total ≥ ") || !strings.Contains(lines, "self ~ ") {
		t.Errorf("said is %q", lines)
	}
}
