package timeline

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"
	"sort"

	"fyne.io/fyne/v2"

	"logparser/rows"
)

// A pin is an annotation and the lane that it is drawn in. Annotations are drawn as
// flags below the lane of their thread, and those that stand by themselves as lines
// through the lane, too.
type pin struct {
	lane       int
	annotation *rows.Annotation
}

const (
	// apart is how far from its neighbours an annotation stands by itself, pinReach
	// how near the pointer has to be, in device-independent pixels.
	apart    = 16
	pinReach = 5
)

// SetAnnotations shows annotations; nil shows none. They may lie outside the rows' time.
func (t *Timeline) SetAnnotations(list []rows.Annotation) {
	t.annotations = make(map[rows.Track][]rows.Annotation)
	t.firstAnnotation, t.lastAnnotation = math.MaxInt64, math.MinInt64
	for _, m := range list {
		t.annotations[m.Track()] = append(t.annotations[m.Track()], m)
		t.firstAnnotation, t.lastAnnotation = min(t.firstAnnotation, m.Elapsed), max(t.lastAnnotation, m.Elapsed)
	}
	for _, l := range t.annotations {
		slices.SortStableFunc(l, func(a, b rows.Annotation) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	}
	t.pin = nil
	t.unhover()
	t.Reload()
}

// SetHits shows where something was found, as flags at the upper edge of each thread's lane; nil shows
// none. The times of a thread are in rising order.
func (t *Timeline) SetHits(hits map[rows.Track][]int64) {
	if len(hits)+len(t.hits) > 0 {
		t.hits = hits
		t.changed()
	}
}

// ShowAnnotation brings an annotation into view and lets it stand out; it reports false where
// its thread has no lane.
func (t *Timeline) ShowAnnotation(m *rows.Annotation) bool {
	for i := range t.layout.lanes {
		if t.layout.lanes[i].Track() != m.Track() {
			continue
		}
		t.pin = &pin{i, m}
		t.layout.reveal(i, t.layout.lanes[i].top)
		if x, w := t.axis.x(m.Elapsed), float64(t.axis.width); x < 0 || x > w {
			t.axis.pan(x - w/2)
		}
		t.changed()
		return true
	}
	return false
}

// bounds are the times of the first and the last that there is to see.
func (t *Timeline) bounds() (first, last int64) {
	first, last = t.src.Range()
	if len(t.annotations) > 0 {
		first, last = min(first, t.firstAnnotation), max(last, t.lastAnnotation)
	}
	return first, last
}

// alone reports whether an annotation stands by itself.
func alone(a *axis, list []rows.Annotation, k int, px float64) bool {
	x := a.x(list[k].Elapsed)
	return (k == 0 || x-a.x(list[k-1].Elapsed) > px) && (k+1 == len(list) || a.x(list[k+1].Elapsed)-x > px)
}

// pinAt returns the annotation that is drawn at a place on the widget: in the gap
// below a lane the nearest, within the lane one that stands by itself.
func (t *Timeline) pinAt(p fyne.Position) (pin, bool) {
	x := float64(p.X*t.scale) - float64(t.px(gutterWidth))
	lane, _, gap, ok := t.layout.at(int(p.Y*t.scale) - t.px(rulerHeight))
	if !ok || x < 0 || x >= float64(t.axis.width) {
		return pin{}, false
	}
	list := t.annotations[t.layout.lanes[lane].Track()]
	at := int64(math.Round(t.axis.from + x*t.axis.perPx))
	k := sort.Search(len(list), func(k int) bool { return list[k].Elapsed >= at })
	away := func(k int) float64 { return math.Abs(t.axis.x(list[k].Elapsed) - x) }
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
	return pin{lane, &list[k]}, true
}

// choosePin lets an annotation stand out and says so.
func (t *Timeline) choosePin(f pin) {
	t.pin = &f
	t.changed()
	if t.OnAnnotation != nil {
		t.OnAnnotation(f.annotation)
	}
}

// drawHits draws what was found in a lane, no more than there are pixels.
func (f *frame) drawHits(i int, body image.Rectangle) {
	l := &f.layout.lanes[i]
	list := f.hits[l.Track()]
	if len(list) == 0 {
		return
	}
	p, y := f.painter, f.ruler+l.y-f.layout.offset
	p.Clip(body)
	high := f.px(hitHeight)
	first, last := f.axis.seen()
	step := max(int64(2*float64(f.scale)*f.axis.perPx), 1)
	for k := sort.Search(len(list), func(k int) bool { return list[k] >= first }); k < len(list) && list[k] <= last; {
		x := f.gutter + clampPx(f.axis.x(list[k]))
		for d := range high {
			half := (high - d) / 2
			p.Fill(x-half, y+d, x+half+1, y+d+1, f.palette.Hit)
		}
		next := list[k] + step
		k += sort.Search(len(list)-k, func(j int) bool { return list[k+j] >= next })
	}
}

// hitHeight is how high the flag of something found is, in device-independent pixels.
const hitHeight = 8

// drawAnnotations draws the annotations of a lane, no more than there are pixels.
func (f *frame) drawAnnotations(i int, body image.Rectangle) {
	l := &f.layout.lanes[i]
	list := f.annotations[l.Track()]
	if len(list) == 0 {
		return
	}
	p, y0 := f.painter, f.ruler+l.y-f.layout.offset
	y1 := y0 + l.shown()*f.layout.line
	p.Clip(body)
	draw := func(m *rows.Annotation, line int, c color.RGBA) {
		x := f.gutter + clampPx(f.axis.x(m.Elapsed))
		p.Fill(x, y0, x+line, y1, c)
		for d := range f.layout.gap {
			p.Fill(x-d, y1+d, x+d+1, y1+d+1, c)
		}
	}
	first, last := f.axis.seen()
	step := max(int64(2*float64(f.scale)*f.axis.perPx), 1)
	for k := sort.Search(len(list), func(k int) bool { return list[k].Elapsed >= first }); k < len(list) && list[k].Elapsed <= last; {
		line := 0
		if alone(&f.axis, list, k, float64(f.px(apart))) {
			line = f.px(1)
		}
		draw(&list[k], line, f.palette.Annotation)
		next := list[k].Elapsed + step
		k += sort.Search(len(list)-k, func(j int) bool { return list[k+j].Elapsed >= next })
	}
	if f.pin != nil && f.pin.lane == i {
		draw(f.pin.annotation, f.px(2), f.palette.Selected)
	}
}
