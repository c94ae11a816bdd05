package timeline

import (
	"context"
	"image"
	"image/color"
	"math"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/grid"
)

// A Timeline is the widget. It belongs to the goroutine that Fyne calls widgets
// on, as do all its methods; the callbacks are called there.
type Timeline struct {
	widget.BaseWidget

	// OnSelected is told the row of a call that was chosen.
	OnSelected func(row int64)
	// OnActivated is told the row of the chosen call when Enter is pressed.
	OnActivated func(row int64)
	// OnRange is told a range of time that was selected with Ctrl held.
	OnRange func(from, to int64)
	// OnCompare is told a range that was drawn and is to be compared with the selection, to
	// included.
	OnCompare func(from, to int64)
	// OnMeasured is told the length of a range that was drawn, 0 when it was
	// taken away.
	OnMeasured func(ns int64)
	// OnMeasure is told a range that was drawn and stays, to not included; what is to be said
	// of it is given to [Timeline.Measured].
	OnMeasure func(from, to int64)
	// OnAnnotation is told an annotation that was chosen, AnnotationText says what is
	// said of one.
	OnAnnotation   func(m *rows.Annotation)
	AnnotationText func(m *rows.Annotation) []string
	// OnLaneMenu is asked for a context menu for a thread at a place on the canvas.
	OnLaneMenu func(lane app.Lane, at fyne.Position)
	// OnFitted is told how many lanes are hidden, when that may have changed.
	OnFitted func(hidden int)
	// OnMenu is asked for a context menu for a call at a place on the canvas.
	OnMenu func(call app.Span, lane app.Lane, at fyne.Position)
	// OnKey is told keys that the timeline has no use for.
	OnKey func(name fyne.KeyName)
	// OnRune is told characters that the timeline has no use for.
	OnRune func(r rune)
	// OnError is told what went wrong when calls were read.
	OnError func(err error)
	// OnPicture is told that an answer has come: the number of its boxes.
	OnPicture func(boxes int)

	post    func(func())
	log     Source       // what is shown
	order   []rows.Track // of its lanes, nil for its own
	src     Source       // the log with its lanes in that order
	palette *Palette
	painter *grid.Painter

	axis    axis
	layout  laneLayout
	picture *picture
	// reading: a request is under way; next is to follow it, if asked.
	reading bool
	next    *request
	again   int // how often finer answers were asked for
	cancel  context.CancelFunc
	// generation tells answers for this source from those for one before.
	generation int

	chosen  *place
	hovered *place
	// annotations are those of each thread by time, pin is the one that was chosen.
	annotations                     map[rows.Track][]rows.Annotation
	firstAnnotation, lastAnnotation int64
	pin                             *pin
	hits                            map[rows.Track][]int64 // where something was found
	find                            func(function string) bool
	found                           map[string]bool // what find said
	limited                         bool
	limFrom                         int64
	limTo                           int64
	focused                         bool

	drag dragging

	inks     Inks
	swatches map[rows.Track]uint8 // of threads, 1 and more

	// overview is what shows the whole of the log's time above, nil without one.
	overview *Overview

	scale  float32
	pixels *image.RGBA

	raster *canvas.Raster
	bar    *grid.ScrollBar
	band   *canvas.Rectangle // what is measured or selected
	length *tip
	sums   []string // what is said of the range that is drawn
	hover  *canvas.Rectangle
	tip    *tip
}

// New makes a timeline without calls. post must run functions one after the
// other on the goroutine that the widget belongs to.
func New(fonts *grid.Fonts, palette *Palette, post func(func())) *Timeline {
	t := &Timeline{post: post, palette: palette, painter: grid.NewPainter(fonts), scale: 1, picture: &picture{}}
	t.raster = canvas.NewRaster(t.generate)
	t.bar = grid.NewScrollBar(func(offset int64) {
		t.layout.scroll(int(offset) - t.layout.offset)
		t.changed()
	})
	t.band = canvas.NewRectangle(color.Transparent)
	t.hover = canvas.NewRectangle(color.Transparent)
	t.hover.StrokeWidth = 1.5
	t.band.Hide()
	t.hover.Hide()
	t.length, t.tip = newTip(), newTip()
	t.ExtendBaseWidget(t)
	return t
}

// SetSource shows another log, nil for none. The order of the lanes stays: it may be the same log, read otherwise.
func (t *Timeline) SetSource(src Source) {
	t.log, t.src = src, src
	t.generation++
	if t.cancel != nil {
		t.cancel()
	}
	t.picture, t.chosen, t.next, t.found = &picture{}, nil, nil, nil
	t.annotations, t.pin, t.hits = nil, nil, nil
	if t.overview != nil {
		t.overview.skyline = nil
	}
	t.axis = axis{width: t.axis.width}
	t.layout.lanes = nil
	t.endMeasure()
	t.unhover()
	t.Reload()
}

// Reload asks the source what there is, as the log has grown or names have come.
func (t *Timeline) Reload() {
	t.arrangeSource()
	if t.src == nil {
		t.layout.set(nil)
	} else {
		t.axis.setBounds(t.bounds())
		t.axis.runs, _ = t.src.Runs() // without them times are those of the log
		t.layout.set(t.src.Lanes())
	}
	t.outdate()
	t.changed()
	if t.overview != nil {
		t.overview.outdate()
	}
}

// Arrange shows the lanes as they were arranged, also those that are not there
// yet; nil leaves them to themselves.
func (t *Timeline) Arrange(list []Arrangement) {
	t.layout.arrange(list)
	t.outdate()
	t.changed()
}

// Arrangement returns what the user has changed of the lanes, by thread.
func (t *Timeline) Arrangement() []Arrangement { return t.layout.arranged() }

// SetPalette changes the colours.
func (t *Timeline) SetPalette(p *Palette) {
	t.palette = p
	t.changed()
}

// SetInks changes what boxes have their colours from.
func (t *Timeline) SetInks(i Inks) {
	t.inks = i
	t.changed()
}

// SetSwatches gives threads the numbers of their colours, 1 and more.
func (t *Timeline) SetSwatches(swatches map[rows.Track]uint8) {
	t.swatches = swatches
	t.changed()
}

// SetFind lets calls stand out whose function's name is found; nil lets all.
func (t *Timeline) SetFind(find func(function string) bool) {
	t.find, t.found = find, nil
	t.changed()
}

// outdate has what is seen asked for anew; it stays until the answer is there.
func (t *Timeline) outdate() {
	t.generation++
	t.picture = &picture{spans: t.picture.spans}
}

// SetRange shades all but a range of time.
func (t *Timeline) SetRange(from, to int64, limited bool) {
	t.limFrom, t.limTo, t.limited = from, to, limited
	t.changed()
}

// Choose marks a call of a thread and brings it into view. It says nothing to
// OnSelected.
func (t *Timeline) Choose(thread rows.Track, s app.Span) {
	for i := range t.layout.lanes {
		if t.layout.lanes[i].Track() == thread {
			t.choose(i, s)
			t.reveal()
			return
		}
	}
}

// Chosen returns the row of the call that is marked, -1 for none.
func (t *Timeline) Chosen() int64 {
	if t.chosen == nil {
		return -1
	}
	return t.chosen.span.Row
}

func (t *Timeline) choose(lane int, s app.Span) {
	t.chosen = &place{lane, s}
	t.changed()
}

// reveal brings the chosen call into view.
func (t *Timeline) reveal() {
	c := t.chosen
	t.layout.reveal(c.lane, c.span.Depth)
	x0, x1 := t.axis.x(c.span.From), t.axis.x(c.span.To)
	if w := float64(t.axis.width); x1 < 0 || x0 > w || x1-x0 < 1 {
		if x1-x0 < 3 {
			// Nearer than a few steps of the log's clock there is nothing to see.
			around := 4 * max(c.span.To-c.span.From, 10*int64(math.Pow10(9-t.digits())))
			t.axis.fit(c.span.From-around, c.span.To+around)
		} else {
			t.axis.pan((x0+x1)/2 - w/2)
		}
	}
	t.changed()
}

// FitChosen zooms to the chosen call, or to the whole log without one.
func (t *Timeline) FitChosen() {
	if c := t.chosen; c != nil {
		t.layout.reveal(c.lane, c.span.Depth)
		t.axis.fit(c.span.From, c.span.To)
	} else {
		t.axis.fitAll()
	}
	t.changed()
}

// FitAll shows the whole log.
func (t *Timeline) FitAll() {
	t.axis.fitAll()
	t.changed()
}

// changed redraws, and asks for what is not there yet.
func (t *Timeline) changed() {
	t.fit()
	t.fetch()
	t.bar.Show(int64(t.layout.height), int64(t.layout.total), int64(t.layout.offset), t.scale)
	t.placeBand()
	t.raster.Refresh()
	if t.overview != nil {
		t.overview.raster.Refresh()
	}
}

// fetch asks the source for what is seen, unless that is known or asked for.
func (t *Timeline) fetch() {
	if t.src == nil || t.axis.width <= 0 || t.layout.height <= 0 || len(t.layout.lanes) == 0 {
		return
	}
	seen := want(&t.axis, &t.layout)
	if t.picture.perPx > 0 && t.picture.covers(&seen) {
		t.next = nil
		return
	}
	r := seen.widened(&t.axis)
	if t.reading {
		t.next = &r
		return
	}
	t.again = 0
	t.ask(r)
}

// ask sends a request.
func (t *Timeline) ask(r request) {
	t.reading = true
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	src, generation := t.src, t.generation
	go func() {
		p := load(ctx, src, r)
		cancel()
		t.post(func() { t.answered(p, generation) })
	}()
}

// answered takes over an answer, and asks again if the view has moved on.
func (t *Timeline) answered(p *picture, generation int) {
	t.reading = false
	if generation == t.generation {
		if p.err != nil {
			// What is known stays, and is not asked for again until the view
			// changes.
			p.spans = t.picture.spans
			if t.OnError != nil {
				t.OnError(p.err)
			}
		}
		t.picture = p
		t.deepen()
		t.fit()
		t.raster.Refresh()
		if t.OnPicture != nil && p.err == nil {
			n := 0
			for _, s := range p.spans {
				n += len(s)
			}
			t.OnPicture(n)
		}
	}
	switch {
	case t.next != nil || generation != t.generation || t.layout.fitted && t.lacksLanes():
		t.next = nil
		t.fetch()
	case p.finer && p.err == nil && t.again < maxAgain:
		t.again++
		t.ask(p.request)
	}
}

// lacksLanes reports whether lanes have come into view that were not asked for.
func (t *Timeline) lacksLanes() bool {
	seen := want(&t.axis, &t.layout)
	return t.picture.perPx > 0 && t.picture.err == nil && !t.picture.covers(&seen)
}

// maxAgain bounds how often finer answers are asked for in turn.
const maxAgain = 500

// deepen gives lanes whose depth is not known the depth that was seen.
func (t *Timeline) deepen() {
	deeper := false
	for i, spans := range t.picture.spans {
		if i >= len(t.layout.lanes) || !t.layout.lanes[i].grows {
			continue
		}
		for k := range spans {
			if d := spans[k].Deepest + 1; d > t.layout.lanes[i].Depth {
				t.layout.deepen(i, d)
				deeper = true
			}
		}
	}
	if deeper {
		t.layout.place()
		t.bar.Show(int64(t.layout.height), int64(t.layout.total), int64(t.layout.offset), t.scale)
	}
}

func (t *Timeline) px(dip float32) int { return int(dip*t.scale + 0.5) }

// measure adapts the arithmetic to the size of the picture in device pixels.
func (t *Timeline) measure(scale float32, width, height int) {
	t.scale = scale
	t.axis.setWidth(max(width-t.px(gutterWidth), 1))
	t.layout.setSize(max(height-t.px(rulerHeight), 0), t.px(lineHeight), t.px(laneGap))
}

// generate paints the picture; Fyne calls it with the size in device pixels.
func (t *Timeline) generate(w, h int) image.Image {
	if scale, ok := grid.DeviceScale(t.raster.Size(), w); ok {
		was := [3]float64{t.axis.perPx, float64(t.axis.width), float64(t.layout.height)}
		t.measure(scale, w, h)
		if was != [3]float64{t.axis.perPx, float64(t.axis.width), float64(t.layout.height)} {
			t.post(t.changed)
		}
	}
	t.pixels = grid.Pixels(t.pixels, w, h)
	t.frame().draw(t.pixels)
	return t.pixels
}

func (t *Timeline) frame() *frame {
	f := &frame{
		palette: t.palette, painter: t.painter, scale: t.scale,
		gutter: t.px(gutterWidth), ruler: t.px(rulerHeight),
		axis: t.axis, layout: &t.layout, picture: t.picture,
		chosen: t.chosen, focused: t.focused,
		annotations: t.annotations, pin: t.pin, hits: t.hits, inks: t.inks, swatches: t.swatches,
		limited: t.limited, limFrom: t.limFrom, limTo: t.limTo,
	}
	if t.hovered != nil && t.hovered.span.Calls == 1 {
		f.hovered = t.hovered.span.Function
	}
	if t.find != nil {
		f.found = t.isFound
	}
	return f
}

// isFound reports whether a function's name is found.
func (t *Timeline) isFound(function string) bool {
	is, ok := t.found[function]
	if !ok {
		if t.found == nil || len(t.found) > 1<<16 {
			t.found = map[string]bool{}
		}
		is = t.find(function)
		t.found[function] = is
	}
	return is
}

// digits is how many digits of a second times are worth.
func (t *Timeline) digits() int {
	if t.src == nil {
		return 3
	}
	return t.src.TimeDigits()
}

// MinSize implements [fyne.CanvasObject].
func (t *Timeline) MinSize() fyne.Size {
	t.ExtendBaseWidget(t)
	return fyne.NewSize(gutterWidth+120, rulerHeight+3*lineHeight)
}

// CreateRenderer implements [fyne.Widget].
func (t *Timeline) CreateRenderer() fyne.WidgetRenderer {
	return &renderer{t: t, objects: []fyne.CanvasObject{t.raster, t.hover, t.band, t.length, t.tip, t.bar.Object()}}
}

type renderer struct {
	t       *Timeline
	objects []fyne.CanvasObject
	size    fyne.Size
}

func (r *renderer) Layout(size fyne.Size) {
	t := r.t
	width := max(size.Width-grid.BarSize, 0)
	t.raster.Resize(fyne.NewSize(width, size.Height))
	t.bar.Object().Move(fyne.NewPos(width, rulerHeight))
	t.bar.Object().Resize(fyne.NewSize(grid.BarSize, max(size.Height-rulerHeight, 0)))
	if c := fyne.CurrentApp().Driver().CanvasForObject(t); c != nil && c.Scale() > 0 && width > 0 {
		t.measure(c.Scale(), int(width*c.Scale()+0.5), int(size.Height*c.Scale()+0.5))
	}
	if size != r.size {
		// Fyne also asks for a layout when what lies above the picture changes.
		r.size = size
		t.unhover()
	}
	t.changed()
}

func (r *renderer) MinSize() fyne.Size           { return r.t.MinSize() }
func (r *renderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *renderer) Destroy()                     {}
func (r *renderer) Refresh()                     { r.Layout(r.t.Size()) }

// A tip is a few lines of text in a box above the picture.
type tip struct {
	widget.BaseWidget
	back  *canvas.Rectangle
	lines []*canvas.Text
}

func newTip() *tip {
	p := &tip{back: canvas.NewRectangle(color.Transparent)}
	p.back.CornerRadius, p.back.StrokeWidth = 4, 1
	p.ExtendBaseWidget(p)
	p.Hide()
	return p
}

// show says lines beside a place, within an area.
func (p *tip) show(lines []string, at fyne.Position, area fyne.Size) {
	th, v := p.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	p.back.FillColor = th.Color(theme.ColorNameOverlayBackground, v)
	p.back.StrokeColor = th.Color(theme.ColorNameInputBorder, v)
	for len(p.lines) < len(lines) {
		p.lines = append(p.lines, canvas.NewText("", color.Transparent))
	}
	p.lines = p.lines[:len(lines)]
	for i, l := range lines {
		c := p.lines[i]
		c.Text, c.TextSize = shorten(l), th.Size(theme.SizeNameText)
		c.TextStyle.Bold = i == 0 && len(lines) > 1
		c.Color = th.Color(theme.ColorNameForeground, v)
	}
	size := p.MinSize()
	x, y := at.X, at.Y
	if x+size.Width > area.Width {
		x = max(at.X-size.Width-24, 0)
	}
	if y+size.Height > area.Height {
		y = max(at.Y-size.Height-24, 0)
	}
	p.Move(fyne.NewPos(x, y))
	p.Resize(size)
	p.Show()
	p.Refresh()
}

// shorten cuts the middle out of a line that is longer than a tip should be.
func shorten(s string) string {
	const most = 100
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most/2]) + "\u2026" + string(r[len(r)-most/2:])
}

// MinSize implements [fyne.CanvasObject].
func (p *tip) MinSize() fyne.Size {
	var size fyne.Size
	for _, l := range p.lines {
		m := l.MinSize()
		size.Width = max(size.Width, m.Width)
		size.Height += m.Height
	}
	return size.AddWidthHeight(16, 8)
}

// CreateRenderer implements [fyne.Widget].
func (p *tip) CreateRenderer() fyne.WidgetRenderer { return &tipRenderer{p} }

type tipRenderer struct{ p *tip }

func (r *tipRenderer) Layout(size fyne.Size) {
	r.p.back.Resize(size)
	y := float32(4)
	for _, l := range r.p.lines {
		m := l.MinSize()
		l.Move(fyne.NewPos(8, y))
		l.Resize(m)
		y += m.Height
	}
}
func (r *tipRenderer) MinSize() fyne.Size { return r.p.MinSize() }
func (r *tipRenderer) Destroy()           {}
func (r *tipRenderer) Refresh() {
	r.Layout(r.p.Size())
	r.p.back.Refresh()
	for _, l := range r.p.lines {
		l.Refresh()
	}
}
func (r *tipRenderer) Objects() []fyne.CanvasObject {
	list := []fyne.CanvasObject{r.p.back}
	for _, l := range r.p.lines {
		list = append(list, l)
	}
	return list
}

var (
	_ fyne.Focusable      = (*Timeline)(nil)
	_ fyne.Scrollable     = (*Timeline)(nil)
	_ fyne.Draggable      = (*Timeline)(nil)
	_ fyne.DoubleTappable = (*Timeline)(nil)
	_ desktop.Mouseable   = (*Timeline)(nil)
	_ desktop.Hoverable   = (*Timeline)(nil)
	_ desktop.Cursorable  = (*Timeline)(nil)
	_ desktop.Keyable     = (*Timeline)(nil)
)
