package timeline

import (
	"context"
	"image"
	"image/draw"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/grid"
)

const (
	overviewHeight = 32 // device-independent pixels
	// overviewBands is how many lanes have a band of their own; with more, some share one.
	overviewBands = 4
	// overviewLanes is the most lanes whose calls are drawn, overviewAgain how often finer
	// answers are asked for.
	overviewLanes = 64
	overviewAgain = 50
	// handle is how far from an edge of the part that is seen the pointer takes it.
	handle = 5
)

// A skyline is how deep the calls of some lanes are over the whole of the log's time.
type skyline struct {
	columns int
	// bands has the open calls of each column, the most of a band's lanes; 0 where there is none.
	bands [][]int
	// deepest is the most of all.
	deepest int
}

// newSkyline makes a skyline of what was read of so many lanes.
func newSkyline(p *picture, lanes, columns int) *skyline {
	s := &skyline{columns: columns, bands: make([][]int, min(lanes, overviewBands)), deepest: 1}
	for i := range s.bands {
		s.bands[i] = make([]int, columns)
	}
	length := max(float64(p.to-p.from), 1)
	column := func(t int64) int {
		return min(max(int(float64(t-p.from)/length*float64(columns)), 0), columns-1)
	}
	for lane, spans := range p.spans {
		band := s.bands[lane*len(s.bands)/lanes]
		for i := range spans {
			depth := spans[i].Deepest + 1
			s.deepest = max(s.deepest, depth)
			for c := column(spans[i].From); c <= column(spans[i].To); c++ {
				band[c] = max(band[c], depth)
			}
		}
	}
	return s
}

// draw paints the skyline with the part between two columns standing out.
func (s *skyline) draw(p *grid.Painter, colours *Palette, left, h int, from, to float64) {
	x0, x1 := left+clampPx(from), max(left+clampPx(to), left+clampPx(from)+2)
	p.Fill(x0, 0, x1, h, colours.Background)
	for b, band := range s.bands {
		bottom := (b+1)*h/len(s.bands) - 1
		room := bottom - b*h/len(s.bands)
		for c := 0; c < s.columns; {
			end := c + 1
			for end < s.columns && band[end] == band[c] {
				end++
			}
			if band[c] > 0 {
				top := bottom - max(room*band[c]/s.deepest, 1)
				p.Fill(left+c, top, left+end, bottom, colours.Line)
				p.Fill(max(left+c, x0), top, min(left+end, x1), bottom, colours.Dim)
			}
			c = end
		}
	}
	for _, x := range []int{x0, x1 - 1} {
		p.Fill(x, 0, x+1, h, colours.Selected)
		p.Fill(x-1, h/3, x+2, h-h/3, colours.Selected)
	}
	p.Fill(x0, 0, x1, 1, colours.Selected)
}

// An Overview shows the whole of the log's time above a timeline, how deep calls were nested, and
// as a frame the part that the timeline shows. The frame and its edges can be dragged; a drag
// outside draws another. It belongs to the timeline's goroutine.
type Overview struct {
	widget.BaseWidget
	t       *Timeline
	raster  *canvas.Raster
	pixels  *image.RGBA
	painter *grid.Painter
	skyline *skyline
	reading bool
	stale   bool // what is drawn is of an older log
	again   int
	drag    overviewDrag
	at      fyne.Position
}

// An overviewDrag says what a drag moves: an edge, both, or neither, where it draws a new frame.
type overviewDrag struct {
	on, moved bool
	from, to  bool
	begin     float64 // the time at which it began
}

// NewOverview makes the overview of a timeline.
func NewOverview(t *Timeline, fonts *grid.Fonts) *Overview {
	o := &Overview{t: t, painter: grid.NewPainter(fonts)}
	o.raster = canvas.NewRaster(o.generate)
	o.ExtendBaseWidget(o)
	t.overview = o
	return o
}

// outdate has the log read anew; what is drawn stays until then.
func (o *Overview) outdate() {
	o.again = 0
	o.stale = true
	o.fetch()
}

// fetch reads the log if that is to be done, and nothing else is being read.
func (o *Overview) fetch() {
	t := o.t
	if t.src == nil {
		o.skyline = nil
		o.raster.Refresh()
		return
	}
	if !o.stale || o.reading || t.axis.width <= 0 || len(t.layout.lanes) == 0 {
		return
	}
	o.reading, o.stale = true, false
	lanes := min(len(t.layout.lanes), overviewLanes)
	r := request{from: t.axis.first, to: t.axis.last, perPx: max(float64(t.axis.last-t.axis.first)/float64(t.axis.width), minPerPx) / minBox}
	for i := range lanes {
		r.lanes = append(r.lanes, i*len(t.layout.lanes)/lanes)
	}
	src, all, columns := t.src, len(t.layout.lanes), t.axis.width
	go func() {
		p := load(context.Background(), src, r)
		s := newSkyline(p, all, columns)
		t.post(func() { o.answered(src, s, p) })
	}()
}

func (o *Overview) answered(src Source, s *skyline, p *picture) {
	o.reading = false
	switch {
	case src != o.t.src:
		o.stale = true
	case p.err == nil: // the timeline says what cannot be read
		o.skyline = s
		o.raster.Refresh()
		if p.finer && o.again < overviewAgain {
			o.again++
			o.stale = true
		}
	}
	o.fetch()
}

// generate paints the overview; Fyne calls it with the size in device pixels.
func (o *Overview) generate(w, h int) image.Image {
	o.pixels = grid.Pixels(o.pixels, w, h)
	o.paint(o.pixels)
	return o.pixels
}

func (o *Overview) paint(img *image.RGBA) {
	t, p := o.t, o.painter
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	p.Begin(img, t.scale)
	p.Fill(0, 0, w, h, t.palette.Gutter)
	left := t.px(gutterWidth)
	p.Fill(left, 0, left+t.axis.width, h, t.palette.Outside)
	if o.skyline != nil {
		if o.skyline.columns != t.axis.width && !o.reading {
			t.post(func() { o.stale = true; o.fetch() })
		}
		from, to := t.axis.part()
		width := float64(t.axis.width)
		o.skyline.draw(p, t.palette, left, h-1, from*width, to*width)
	}
	p.Fill(0, h-1, w, h, t.palette.Line)
}

// Picture returns what the timeline shows, with the overview if there is one, in device pixels.
func (t *Timeline) Picture() image.Image {
	below := t.pixels
	if below == nil {
		return image.NewRGBA(image.Rectangle{})
	}
	var above image.Rectangle
	if t.overview != nil && t.overview.pixels != nil {
		above = t.overview.pixels.Bounds()
	}
	out := image.NewRGBA(image.Rect(0, 0, below.Bounds().Dx(), above.Dy()+below.Bounds().Dy()))
	if !above.Empty() {
		draw.Draw(out, above, t.overview.pixels, image.Point{}, draw.Src)
	}
	draw.Draw(out, out.Bounds().Intersect(below.Bounds().Add(image.Pt(0, above.Dy()))), below, image.Point{}, draw.Src)
	return out
}

// Drawing returns the same as a file of vector graphics (SVG); nil where nothing is shown.
func (t *Timeline) Drawing() []byte {
	if t.pixels == nil {
		return nil
	}
	d := &grid.Drawing{}
	size, above := t.pixels.Bounds().Size(), 0
	if o := t.overview; o != nil && o.pixels != nil {
		above = o.pixels.Bounds().Dy()
		o.painter.Record(d)
		o.paint(image.NewRGBA(o.pixels.Bounds()))
		o.painter.Record(nil)
	}
	d.Group(above)
	t.painter.Record(d)
	t.frame().draw(image.NewRGBA(t.pixels.Bounds()))
	t.painter.Record(nil)
	d.End()
	return d.SVG(size.X, above+size.Y)
}

// part returns what is seen of the log's time, from 0 to 1.
func (a *axis) part() (from, to float64) {
	length := max(float64(a.last-a.first), 1)
	from = (a.from - float64(a.first)) / length
	to = from + a.perPx*float64(a.width)/length
	return min(max(from, 0), 1), min(max(to, 0), 1)
}

// show shows a stretch of time without room beside it.
func (a *axis) show(from, to float64) {
	a.perPx = max(to-from, 0) / float64(max(a.width, 1))
	a.from = from
	a.clamp()
}

// timeAt returns the time at a place, which may lie outside the log.
func (o *Overview) timeAt(x float32) float64 {
	a := &o.t.axis
	return float64(a.first) + float64((x-gutterWidth)*o.t.scale)/float64(max(a.width, 1))*float64(a.last-a.first)
}

// grip says what a press at x takes.
func (o *Overview) grip(x float32) overviewDrag {
	from, to := o.t.axis.part()
	width := float64(o.t.axis.width) / float64(o.t.scale)
	x0, x1, at := from*width, to*width, float64(x-gutterWidth)
	d := overviewDrag{on: true, begin: o.timeAt(x)}
	all := from == 0 && to == 1
	switch {
	case at > x1-handle && at < x1+handle && at > (x0+x1)/2:
		d.to = true
	case at > x0-handle && at < x0+handle:
		d.from = true
	case at > x0 && at < x1 && !all:
		d.from, d.to = true, true
	}
	return d
}

// MouseDown implements [desktop.Mouseable].
func (o *Overview) MouseDown(e *desktop.MouseEvent) {
	if e.Button == desktop.MouseButtonPrimary && e.Position.X >= gutterWidth-handle && o.t.src != nil {
		o.drag = o.grip(e.Position.X)
	}
}

// MouseUp implements [desktop.Mouseable]: a press outside of the frame that was no drag moves it there.
func (o *Overview) MouseUp(*desktop.MouseEvent) {
	d := o.drag
	o.drag = overviewDrag{}
	if d.on && !d.moved && !d.from && !d.to {
		a := &o.t.axis
		a.from = d.begin - a.perPx*float64(a.width)/2
		a.clamp()
		o.t.moved()
	}
}

// Dragged implements [fyne.Draggable].
func (o *Overview) Dragged(e *fyne.DragEvent) {
	d, a := &o.drag, &o.t.axis
	if !d.on {
		return
	}
	d.moved = true
	by := o.timeAt(e.Position.X) - o.timeAt(e.Position.X-e.Dragged.DX)
	from, to := a.from, a.from+a.perPx*float64(a.width)
	switch {
	case d.from && d.to:
		a.from += by
		a.clamp()
	case d.from:
		a.show(min(max(from+by, float64(a.first)), to), to)
	case d.to:
		a.show(from, max(min(to+by, float64(a.last)), from))
	default:
		now := o.timeAt(e.Position.X)
		a.show(max(min(d.begin, now), float64(a.first)), min(max(d.begin, now), float64(a.last)))
	}
	o.t.moved()
}

// DragEnd implements [fyne.Draggable].
func (o *Overview) DragEnd() { o.drag = overviewDrag{} }

// DoubleTapped implements [fyne.DoubleTappable]: it shows the whole log.
func (o *Overview) DoubleTapped(*fyne.PointEvent) {
	o.t.unhover()
	o.t.FitAll()
}

// Scrolled implements [fyne.Scrollable]: it zooms where the pointer is, sideways it pans.
func (o *Overview) Scrolled(e *fyne.ScrollEvent) {
	at := *e
	at.Position = fyne.NewPos(gutterWidth+float32(o.t.axis.x(int64(o.timeAt(e.Position.X))))/o.t.scale, 0)
	at.Position.X = min(max(at.Position.X, gutterWidth), gutterWidth+float32(o.t.axis.width)/o.t.scale)
	o.t.Scrolled(&at)
}

// MouseIn implements [desktop.Hoverable].
func (o *Overview) MouseIn(e *desktop.MouseEvent) { o.at = e.Position }

// MouseMoved implements [desktop.Hoverable].
func (o *Overview) MouseMoved(e *desktop.MouseEvent) { o.at = e.Position }

// MouseOut implements [desktop.Hoverable].
func (o *Overview) MouseOut() {}

// Cursor implements [desktop.Cursorable].
func (o *Overview) Cursor() desktop.Cursor {
	if d := o.grip(o.at.X); d.from != d.to {
		return desktop.HResizeCursor
	}
	return desktop.DefaultCursor
}

// MinSize implements [fyne.CanvasObject].
func (o *Overview) MinSize() fyne.Size {
	o.ExtendBaseWidget(o)
	return fyne.NewSize(gutterWidth, overviewHeight)
}

// CreateRenderer implements [fyne.Widget].
func (o *Overview) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(o.raster) }

var (
	_ fyne.Draggable      = (*Overview)(nil)
	_ fyne.Scrollable     = (*Overview)(nil)
	_ fyne.DoubleTappable = (*Overview)(nil)
	_ desktop.Mouseable   = (*Overview)(nil)
	_ desktop.Hoverable   = (*Overview)(nil)
	_ desktop.Cursorable  = (*Overview)(nil)
)
