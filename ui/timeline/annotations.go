package timeline

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
	"sort"

	"fyne.io/fyne/v2"
)

// A Mark is what the program itself wrote into its log. It is drawn as a flag
// below the lane of its thread, and where it stands by itself as a line through
// the lane, too.
type Annotation struct {
	// Time is nanoseconds since the first row.
	Time   int64
	Thread uint32
	// Number is by what the widget's user knows the mark.
	Number int
}

// A pin is a mark and the lane that it is drawn in.
type pin struct {
	lane       int
	annotation Annotation
}

const (
	// apart is how far from its neighbours a mark stands by itself, pinReach
	// how near the pointer has to be, in device-independent pixels.
	apart    = 16
	pinReach = 5
)

// SetMarks shows marks; nil shows none. They may lie outside the rows' time.
func (t *Timeline) SetAnnotations(list []Annotation) {
	t.annotations = make(map[uint32][]Annotation)
	t.firstAnnotation, t.lastAnnotation = math.MaxInt64, math.MinInt64
	for _, m := range list {
		t.annotations[m.Thread] = append(t.annotations[m.Thread], m)
		t.firstAnnotation, t.lastAnnotation = min(t.firstAnnotation, m.Time), max(t.lastAnnotation, m.Time)
	}
	for _, l := range t.annotations {
		slices.SortStableFunc(l, func(a, b Annotation) int { return cmp.Compare(a.Time, b.Time) })
	}
	t.pin = nil
	t.unhover()
	t.Reload()
}

// ShowAnnotation brings a mark into view and lets it stand out; it reports false where
// its thread has no lane.
func (t *Timeline) ShowAnnotation(m Annotation) bool {
	for i := range t.layout.lanes {
		if t.layout.lanes[i].Thread != m.Thread {
			continue
		}
		t.pin = &pin{i, m}
		t.layout.reveal(i, t.layout.lanes[i].top)
		if x, w := t.axis.x(m.Time), float64(t.axis.width); x < 0 || x > w {
			t.axis.pan(x - w/2)
		}
		t.changed()
		return true
	}
	return false
}

// bounds are the times of the first and the last that there is to see.
func (t *Timeline) bounds() (first, last int64) {
	first, last = t.src.Bounds()
	if len(t.annotations) > 0 {
		first, last = min(first, t.firstAnnotation), max(last, t.lastAnnotation)
	}
	return first, last
}

// alone reports whether a mark stands by itself.
func alone(a *axis, list []Annotation, k int, px float64) bool {
	x := a.x(list[k].Time)
	return (k == 0 || x-a.x(list[k-1].Time) > px) && (k+1 == len(list) || a.x(list[k+1].Time)-x > px)
}

// pinAt returns the mark that is drawn at a place on the widget: in the gap
// below a lane the nearest, within the lane one that stands by itself.
func (t *Timeline) pinAt(p fyne.Position) (pin, bool) {
	x := float64(p.X*t.scale) - float64(t.px(gutterWidth))
	lane, _, gap, ok := t.layout.at(int(p.Y*t.scale) - t.px(rulerHeight))
	if !ok || x < 0 || x >= float64(t.axis.width) {
		return pin{}, false
	}
	list := t.annotations[t.layout.lanes[lane].Thread]
	at := int64(math.Round(t.axis.from + x*t.axis.perPx))
	k := sort.Search(len(list), func(k int) bool { return list[k].Time >= at })
	away := func(k int) float64 { return math.Abs(t.axis.x(list[k].Time) - x) }
	if k > 0 && (k == len(list) || away(k-1) < away(k)) {
		k--
	}
	reach := float64(t.px(pinReach))
	if !gap {
		reach = float64(t.px(2))
	}
	if len(list) == 0 || away(k) > reach || !gap && !alone(&t.axis, list, k, float64(t.px(apart))) {
		return pin{}, false
	}
	return pin{lane, list[k]}, true
}

// choosePin lets a mark stand out and says so.
func (t *Timeline) choosePin(f pin) {
	t.pin = &f
	t.changed()
	if t.OnAnnotation != nil {
		t.OnAnnotation(f.annotation.Number)
	}
}

// drawMarks draws the marks of a lane, no more than there are pixels.
func (f *frame) drawAnnotations(i int, body image.Rectangle) {
	l := &f.layout.lanes[i]
	list := f.annotations[l.Thread]
	if len(list) == 0 {
		return
	}
	p, y0 := f.painter, f.ruler+l.y-f.layout.offset
	y1 := y0 + l.shown()*f.layout.line
	p.Clip(body)
	draw := func(m Annotation, line int, c color.RGBA) {
		x := f.gutter + clampPx(f.axis.x(m.Time))
		p.Fill(x, y0, x+line, y1, c)
		for d := range f.layout.gap {
			p.Fill(x-d, y1+d, x+d+1, y1+d+1, c)
		}
	}
	first, last := f.axis.seen()
	step := max(int64(2*float64(f.scale)*f.axis.perPx), 1)
	for k := sort.Search(len(list), func(k int) bool { return list[k].Time >= first }); k < len(list) && list[k].Time <= last; {
		line := 0
		if alone(&f.axis, list, k, float64(f.px(apart))) {
			line = f.px(1)
		}
		draw(list[k], line, f.palette.Mark)
		next := list[k].Time + step
		k += sort.Search(len(list)-k, func(j int) bool { return list[k+j].Time >= next })
	}
	if f.pin != nil && f.pin.lane == i {
		draw(f.pin.annotation, f.px(2), f.palette.Selected)
	}
}
