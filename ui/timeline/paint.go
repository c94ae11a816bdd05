package timeline

import (
	"image"
	"math"
	"slices"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
)

// A frame is everything that one redraw needs, in device pixels.
type frame struct {
	palette *Palette
	painter *grid.Painter
	scale   float32
	gutter  int // its width
	ruler   int // its height
	axis    axis
	layout  *laneLayout
	picture *picture
	// chosen is the selected call; hovered the function under the pointer, ""
	// for none.
	chosen      *place
	hovered     string
	focused     bool
	annotations map[rows.Track][]rows.Annotation // by thread
	pin         *pin                             // the chosen one
	hits        map[rows.Track][]int64           // where something was found
	found       func(function string) bool       // nil marks nothing
	// limit is the selected range of time, if limited.
	limited        bool
	limFrom, limTo int64
	inks           Inks
	swatches       map[rows.Track]uint8
	// drawn counts the boxes.
	drawn int
}

func (f *frame) px(dip float32) int { return int(dip*f.scale + 0.5) }

// draw paints the frame. Nothing outside the image is touched.
func (f *frame) draw(img *image.RGBA) {
	p := f.painter
	p.Begin(img, f.scale)
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	p.Fill(0, 0, w, h, f.palette.Background)

	body := image.Rect(f.gutter, f.ruler, w, h)
	p.Clip(body)
	from, to := f.layout.visible()
	stripe := from&1 == 1
	for i := from; i < to; i++ {
		l := &f.layout.lanes[i]
		if l.shown() == 0 {
			continue
		}
		stripe = !stripe
		if !stripe {
			y := f.ruler + l.y - f.layout.offset
			p.Fill(f.gutter, y, w, y+l.shown()*f.layout.line+f.layout.gap, f.palette.Stripe)
		}
	}
	step := f.axis.step(f.px(110))
	f.ticks(step, func(x int, _ int64) { p.Fill(x, f.ruler, x+1, h, f.palette.Grid) })
	f.outside(body, from, to)
	f.seams(body)
	for i := from; i < to; i++ {
		if f.layout.lanes[i].shown() == 0 {
			continue
		}
		f.lane(i, body)
		f.drawAnnotations(i, body)
		f.drawHits(i, body)
	}
	p.Clip(img.Bounds())
	f.drawGutter(from, to, h)
	f.drawRuler(step, w)
}

// ticks calls tick for each tick of the ruler.
func (f *frame) ticks(step int64, tick func(x int, t int64)) {
	first, last := f.axis.seen()
	f.axis.stretches(first, last, func(from, to, zero int64) {
		t := (from - zero) / step * step
		if t > from-zero {
			t -= step
		}
		if f.axis.several() && t < from-zero {
			t += step // that one may be of the run before
		}
		for ; t <= to-zero; t += step {
			tick(f.gutter+int(math.Round(f.axis.x(t+zero))), t)
		}
	})
}

// seams draws where runs begin: what lies between two of them is hatched where
// it is no time.
func (f *frame) seams(body image.Rectangle) {
	for i := 1; i < len(f.axis.runs); i++ {
		r := &f.axis.runs[i]
		x0, x1 := f.gutter+clampPx(f.axis.x(f.axis.runs[i-1].To)), f.gutter+clampPx(f.axis.x(r.From))
		if x1 < body.Min.X || x0 > body.Max.X {
			continue
		}
		if r.Seam {
			x0 = min(x0, x1-f.px(2))
			f.painter.Fill(x0, body.Min.Y, x1, body.Max.Y, f.palette.Outside)
			f.painter.Hatch(x0, body.Min.Y, x1, body.Max.Y, f.px(5), f.palette.Line)
		}
		f.painter.Fill(x1-f.px(1), body.Min.Y, x1, body.Max.Y, f.palette.Dim)
	}
}

// outside shades what lies outside the selected time.
func (f *frame) outside(body image.Rectangle, from, to int) {
	if !f.limited {
		return
	}
	p := f.painter
	a, b := f.gutter+clampPx(f.axis.x(f.limFrom)), f.gutter+clampPx(f.axis.x(f.limTo))
	p.Fill(body.Min.X, body.Min.Y, a, body.Max.Y, f.palette.Outside)
	p.Fill(b, body.Min.Y, body.Max.X, body.Max.Y, f.palette.Outside)
}

// clampPx keeps far places within what an int arithmetic of pixels carries.
func clampPx(x float64) int { return int(math.Round(min(max(x, -1e6), 1e6))) }

// lane draws the boxes of a lane.
func (f *frame) lane(i int, body image.Rectangle) {
	spans, ok := f.picture.spans[i]
	if !ok {
		return
	}
	l := &f.layout.lanes[i]
	top, base := 0, f.ruler+l.y-f.layout.offset
	if !l.folded {
		top = l.top
	}
	shown, line := l.shown(), f.layout.line
	swatch := f.swatches[l.home()]
	if swatch > 0 {
		swatch--
	}
	// What of each line is painted already: boxes within a painted pixel are
	// left out, or a million of them would be drawn onto each other.
	painted := make([]int, shown)
	for k := range painted {
		painted[k] = math.MinInt
	}
	clip := image.Rect(body.Min.X, max(body.Min.Y, base), body.Max.X, min(body.Max.Y, base+shown*line))
	f.painter.Clip(clip)
	least := f.px(minBox)
	baseline := (line - 1 + f.painter.Ascent() - f.painter.Descent() + 1) / 2
	first, last := f.axis.seen()
	draw := func(s *app.Span) {
		d, end := s.Depth-top, min(s.Deepest-top, shown-1)
		if end < 0 || d > end || s.To < first || s.From > last {
			return
		}
		d = max(d, 0)
		x0 := f.gutter + clampPx(f.axis.x(s.From))
		right := f.gutter + clampPx(f.axis.x(s.To))
		x1 := max(right, x0+least)
		if x1 <= painted[d] || x0 < painted[d] && right <= painted[d] {
			return
		}
		x0 = max(x0, painted[d])
		painted[d] = max(painted[d], x1)
		y0, y1 := base+d*line, base+end*line+line-1
		if y1 <= clip.Min.Y || y0 >= clip.Max.Y {
			return
		}
		f.box(s, swatch, x0, y0, x1, y1, y0+baseline, clip)
	}
	// What reaches over several depths lies below what is known of each.
	for k := range spans {
		if spans[k].Deepest > spans[k].Depth {
			draw(&spans[k])
		}
	}
	for k := range painted {
		painted[k] = math.MinInt
	}
	for k := range spans {
		if spans[k].Deepest <= spans[k].Depth {
			draw(&spans[k])
		}
	}
	if c := f.chosen; c != nil && c.lane == i {
		if y, ok := f.layout.y(i, c.span.Depth); ok {
			x0 := f.gutter + clampPx(f.axis.x(c.span.From))
			x1 := max(f.gutter+clampPx(f.axis.x(c.span.To)), x0+least)
			f.outline(x0, f.ruler+y, x1, f.ruler+y+line-1)
		}
	}
	f.painter.Clip(body)
}

// box draws one box with as much of its name as it has room for.
func (f *frame) box(s *app.Span, swatch uint8, x0, y0, x1, y1, baseline int, clip image.Rectangle) {
	f.drawn++
	p := f.painter
	fill, text := f.palette.box(f.inks.of(s.Function, s.Module, swatch)), f.palette.Text
	if s.Hidden() || f.limited && (s.To < f.limFrom || s.From > f.limTo) || f.found != nil && (s.Calls != 1 || !f.found(s.Function)) {
		fill, text = f.palette.Faint, f.palette.Dim
	}
	// A pixel stays free between neighbours where there is room.
	right := x1
	if x1-x0 > 2*f.px(minBox) {
		right = x1 - 1
	}
	p.Fill(x0, y0, right, y1, fill)
	switch {
	case s.Calls == 1:
	case s.Hidden():
		p.Hatch(x0, y0, right, y1, f.px(5), f.palette.Line)
	case s.PartHidden() && fill != f.palette.Faint:
		// Pale as what is hidden, hatched as what is not.
		p.Fill(x0, y0, right, y1, f.palette.Faint)
		p.Hatch(x0, y0, right, y1, f.px(5), fill)
		fill = f.palette.Faint
	case s.Function == "":
		p.Hatch(x0, y0, right, y1, f.px(5), f.palette.Hatch)
	case x1-x0 > f.px(manyBox):
		// Of narrow ones a hatch would leave nothing of the colour.
		p.Hatch(x0, y1-f.px(4), right, y1, f.px(3), f.palette.Hatch)
	}
	if s.Open {
		// The end is not known: the box has no right edge.
		p.Hatch(max(x1-f.px(8), x0), y0, right, y1, 2, f.palette.Background)
	}
	if f.hovered != "" && s.Function == f.hovered && s.Calls == 1 {
		p.Fill(x0, y1-f.px(2), right, y1, f.palette.Selected)
	}
	// The name stays in sight while its box begins left of the view.
	left := max(x0, clip.Min.X) + f.px(3)
	room := min(right, clip.Max.X) - left - f.px(2)
	if room < f.px(14) {
		return
	}
	if s.Calls == 1 {
		p.Name(s.Function, left, baseline, room, text)
		return
	}
	count := s.Calls
	if s.PartHidden() && (count == 0 || s.Shown < count) {
		count = s.Shown
	}
	if count == 0 {
		return
	}
	number := "\u00d7 " + control.Thousands(count)
	w := p.Width(number)
	if s.Function != "" && !s.PartHidden() {
		if space := room - w - f.px(8); space > f.px(24) {
			name := min(p.Width(s.Function), space)
			p.Name(s.Function, left, baseline, name, text)
			left += name + f.px(8)
			room -= name + f.px(8)
			p.Text(number, left, baseline, room, text)
			return
		}
	}
	if w <= room {
		p.Fill(left-f.px(1), y0+1, left+w+f.px(1), y0+f.layout.line-2, fill)
		p.Text(number, left, baseline, room, text)
	}
}

func (f *frame) outline(x0, y0, x1, y1 int) {
	p, w := f.painter, f.px(1.5)
	x0, x1 = x0-w, x1+w-1
	p.Fill(x0, y0, x1, y0+w, f.palette.Selected)
	p.Fill(x0, y1-w, x1, y1, f.palette.Selected)
	p.Fill(x0, y0, x0+w, y1, f.palette.Selected)
	p.Fill(x1-w, y0, x1, y1, f.palette.Selected)
}

const (
	foldedSign = "\u25b6"
	openSign   = "\u25bc"
)

func (f *frame) drawGutter(from, to, h int) {
	p := f.painter
	p.Clip(image.Rect(0, f.ruler, f.gutter, h))
	p.Fill(0, f.ruler, f.gutter, h, f.palette.Gutter)
	baseline := (f.layout.line - 1 + p.Ascent() - p.Descent() + 1) / 2
	for i := from; i < to; i++ {
		l := &f.layout.lanes[i]
		if l.shown() == 0 {
			continue
		}
		y := f.ruler + l.y - f.layout.offset
		// The name stays in sight while its lane begins above the view.
		text := min(max(y, f.ruler), y+(l.shown()-1)*f.layout.line)
		sign := openSign
		if l.folded {
			sign = foldedSign
		}
		if n := f.swatches[l.home()]; n > 0 {
			p.Fill(0, y, f.px(4), y+l.shown()*f.layout.line, f.palette.Boxes[(n-1)%boxes])
		}
		p.Text(sign, f.px(6), text+baseline, f.px(14), f.palette.Dim)
		name, about := laneTexts(&l.Lane)
		p.Text(name, f.px(20), text+baseline, f.gutter-f.px(26), f.palette.GutterText)
		if next := text + f.layout.line; next+f.layout.line <= y+l.shown()*f.layout.line+1 {
			p.Text(about, f.px(20), next+baseline, f.gutter-f.px(26), f.palette.Dim)
		}
		if !l.folded && l.shown() >= l.lines && l.lines < l.Depth {
			f.more(l, y)
		}
		edge := y + l.shown()*f.layout.line + f.layout.gap/2
		p.Fill(0, edge, f.gutter, edge+1, f.palette.Line)
	}
	p.Fill(f.gutter-1, f.ruler, f.gutter, h, f.palette.Line)
}

// more draws a small scroll bar at a lane that has more lines than it shows.
func (f *frame) more(l *shelved, y int) {
	track := l.lines * f.layout.line
	size := max(track*l.lines/l.Depth, f.px(6))
	at := 0
	if free := l.Depth - l.lines; free > 0 {
		at = (track - size) * l.top / free
	}
	f.painter.Fill(f.gutter-f.px(5), y+at, f.gutter-f.px(2), y+at+size, f.palette.Dim)
}

// runNames writes the names of runs, each where its run begins, or at the left
// edge where that is seen of it, and returns the places from left to right that
// they take. A run that is too narrow has none.
func (f *frame) runNames(baseline int) (taken [][2]int) {
	if !f.axis.several() {
		return nil
	}
	p := f.painter
	for i := range f.axis.runs {
		r := &f.axis.runs[i]
		x0 := max(f.gutter+clampPx(f.axis.x(r.From)), f.gutter) + f.px(4)
		x1 := min(f.gutter+clampPx(f.axis.x(r.To)), f.gutter+f.axis.width)
		name := runName(r)
		end := x0 + p.Width(name) + f.px(12)
		if end > x1 {
			continue
		}
		p.Text(name, x0, baseline, end-x0, f.palette.GutterText)
		taken = append(taken, [2]int{x0, end})
	}
	return taken
}

func (f *frame) drawRuler(step int64, w int) {
	p := f.painter
	p.Clip(image.Rect(0, 0, w, f.ruler))
	p.Fill(0, 0, w, f.ruler, f.palette.Ruler)
	p.Fill(0, f.ruler-1, w, f.ruler, f.palette.Line)
	base := (f.ruler + p.Ascent() - p.Descent() + 1) / 2
	p.Clip(image.Rect(f.gutter, 0, w, f.ruler))
	var text []byte
	names := f.runNames(base)
	var most int64
	first, last := f.axis.seen()
	f.axis.stretches(first, last, func(_, to, zero int64) { most = max(most, to-zero) })
	u := unit(most)
	f.ticks(step, func(x int, t int64) {
		p.Fill(x, f.ruler-f.px(7), x+1, f.ruler, f.palette.RulerText)
		text = appendTick(text[:0], t, step, u)
		if len(names) > 0 {
			end := x + f.px(8) + p.Width(string(text))
			if slices.ContainsFunc(names, func(n [2]int) bool { return x+f.px(4) < n[1] && end > n[0] }) {
				return
			}
		}
		p.Text(string(text), x+f.px(4), base, f.px(200), f.palette.RulerText)
	})
	p.Clip(image.Rect(0, 0, w, f.ruler))
}
