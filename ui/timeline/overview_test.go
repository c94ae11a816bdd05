package timeline

import (
	"math"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
)

// A skyline has in each column the most calls that are open in a lane of its band.
func TestSkyline(t *testing.T) {
	src := small()
	p := load(bg, src, request{lanes: []int{0, 1}, from: 0, to: 1000, perPx: 10 / minBox})
	s := newSkyline(p, 2, 100)
	if len(s.bands) != 2 || s.deepest != 4 {
		t.Fatalf("%d bands, %d deep", len(s.bands), s.deepest)
	}
	for _, c := range []struct{ band, column, want int }{
		{0, 0, 1}, {0, 12, 2}, {0, 15, 3}, {0, 47, 1}, {0, 55, 2}, {0, 70, 4}, {0, 99, 1},
		{1, 10, 0}, {1, 20, 1}, {1, 80, 1}, {1, 90, 0},
	} {
		if got := s.bands[c.band][c.column]; got != c.want {
			t.Errorf("band %d has %d in column %d, want %d", c.band, got, c.column, c.want)
		}
	}
	// Lanes that share a band show the most of them.
	if s := newSkyline(p, 50, 100); len(s.bands) != overviewBands || s.bands[0][70] != 4 || s.bands[1][70] != 0 {
		t.Errorf("with 50 lanes: %d bands, %d", len(s.bands), s.bands[0][70])
	}
}

// newOverviewRig has an overview of 468 pixels over a timeline of 1000 ns.
func newOverviewRig(t *testing.T, src *fakeSource) (*rig, *Overview) {
	t.Helper()
	r := newRig(t, nil)
	o := NewOverview(r.Timeline, testFonts())
	w := test.NewTempWindow(t, o)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(612, overviewHeight))
	r.SetSource(src)
	r.settleOverview(o)
	return r, o
}

// settleOverview waits until the overview has read all.
func (r *rig) settleOverview(o *Overview) {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for r.settle(); o.reading || o.skyline == nil; r.settle() {
		if time.Now().After(deadline) {
			r.t.Fatal("the overview is not read")
		}
		time.Sleep(time.Millisecond)
	}
}

// x returns where a time is drawn in the overview.
func (o *Overview) x(ns float64) float32 {
	a := &o.t.axis
	return gutterWidth + float32((ns-float64(a.first))/float64(a.last-a.first)*float64(a.width))/o.t.scale
}

func (o *Overview) dragBy(from, to float32) {
	at := func(x float32) fyne.PointEvent { return fyne.PointEvent{Position: fyne.NewPos(x, 10)} }
	o.MouseDown(&desktop.MouseEvent{PointEvent: at(from), Button: desktop.MouseButtonPrimary})
	if from != to {
		o.Dragged(&fyne.DragEvent{PointEvent: at(from + (to-from)/2), Dragged: fyne.NewDelta((to-from)/2, 0)})
		o.Dragged(&fyne.DragEvent{PointEvent: at(to), Dragged: fyne.NewDelta((to-from)/2, 0)})
		o.DragEnd()
	}
	o.MouseUp(&desktop.MouseEvent{PointEvent: at(to), Button: desktop.MouseButtonPrimary})
}

// The frame moves with its length, its edges one at a time, a drag elsewhere draws another, and a
// press elsewhere moves it there.
func TestOverviewFrame(t *testing.T) {
	r, o := newOverviewRig(t, small())
	near := func(what string, from, to float64) {
		t.Helper()
		end := r.axis.from + r.axis.perPx*float64(r.axis.width)
		if math.Abs(r.axis.from-from) > 8 || math.Abs(end-to) > 8 {
			t.Errorf("%s: %.0f to %.0f are seen, want %.0f to %.0f", what, r.axis.from, end, from, to)
		}
	}
	// All is seen: there is no frame to be moved, a drag draws one.
	o.dragBy(o.x(200), o.x(400))
	near("a drag in the whole", 200, 400)
	o.dragBy(o.x(300), o.x(500))
	near("the frame", 400, 600)
	o.dragBy(o.x(600), o.x(800))
	near("the right edge", 400, 800)
	o.dragBy(o.x(400), o.x(500))
	near("the left edge", 500, 800)
	o.dragBy(o.x(200), o.x(200))
	near("a press on the left", 50, 350)
	o.dragBy(o.x(950), o.x(700))
	near("a drag to the left", 700, 950)
	o.dragBy(o.x(800), o.x(2000))
	near("the frame beyond the end", 750, 1000)
	o.dragBy(o.x(750), o.x(1500))
	if from, to := r.axis.part(); from < 0.98 || to < from {
		t.Errorf("an edge beyond the other: %.3f to %.3f", from, to)
	}
	o.DoubleTapped(nil)
	near("a double click", 0, 1000)
	o.Scrolled(&fyne.ScrollEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(o.x(750), 5)}, Scrolled: fyne.NewDelta(0, wheelStep)})
	if x := r.axis.x(750); r.axis.perPx > 2 || math.Abs(x-351) > 4 {
		t.Errorf("the wheel keeps 750 at %.0f of %d", x, r.axis.width)
	}
}

// The overview follows the source, and is drawn in both palettes.
func TestOverviewSources(t *testing.T) {
	r, o := newOverviewRig(t, small())
	painted := func(x float64) bool {
		img := o.generate(600, overviewHeight)
		at := int(o.x(x))
		for y := 1; y < overviewHeight-1; y++ {
			if img.At(at, y) == r.palette.Dim {
				return true
			}
		}
		return false
	}
	if !painted(500) {
		t.Error("calls are not drawn")
	}
	r.SetPalette(&Dark)
	if !painted(500) {
		t.Error("calls are not drawn in the dark")
	}
	r.SetSource(nil)
	if painted(500) || o.skyline != nil {
		t.Error("calls of a closed log are drawn")
	}
}

// Over the frame's edges the pointer says that they move; what was not pressed here is not dragged here.
func TestOverviewPointer(t *testing.T) {
	r, o := newOverviewRig(t, small())
	o.dragBy(o.x(200), o.x(400))
	from, perPx := r.axis.from, r.axis.perPx
	o.MouseIn(&desktop.MouseEvent{})
	for x, want := range map[float64]desktop.Cursor{200: desktop.HResizeCursor, 300: desktop.DefaultCursor, 400: desktop.HResizeCursor, 700: desktop.DefaultCursor} {
		o.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(o.x(x), 10)}})
		if got := o.Cursor(); got != want {
			t.Errorf("at %.0f the pointer is %v, want %v", x, got, want)
		}
	}
	for _, press := range []*desktop.MouseEvent{
		{PointEvent: fyne.PointEvent{Position: fyne.NewPos(20, 10)}, Button: desktop.MouseButtonPrimary},
		{PointEvent: fyne.PointEvent{Position: fyne.NewPos(o.x(700), 10)}, Button: desktop.MouseButtonSecondary},
	} {
		o.MouseDown(press)
		o.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(o.x(800), 10)}, Dragged: fyne.NewDelta(50, 0)})
		o.DragEnd()
		o.MouseUp(press)
	}
	if r.axis.from != from || r.axis.perPx != perPx {
		t.Errorf("%v ns from %v on are seen, before from %v on", r.axis.perPx, r.axis.from, from)
	}
}

// An answer that is not the finest is shown, and asked for again; one of another log is not shown.
func TestOverviewAsksAgain(t *testing.T) {
	r, o := newOverviewRig(t, small())
	coarse := &skyline{columns: 1}
	o.answered(r.src, coarse, &picture{finer: true})
	if o.skyline != coarse || !o.reading || o.again != 1 {
		t.Errorf("the coarse one is shown: %v, asked again %d times", o.skyline == coarse, o.again)
	}
	if r.settleOverview(o); o.skyline == coarse || o.reading {
		t.Error("the finer one is not shown")
	}
	finest := o.skyline
	o.answered(small(), coarse, &picture{})
	if o.skyline != finest || !o.reading {
		t.Error("an answer of a log that is gone is shown")
	}
	r.settleOverview(o)
}
