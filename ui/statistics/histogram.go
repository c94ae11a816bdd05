package statistics

import (
	"image"
	"math"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/table"
)

// Sizes in device-independent pixels.
const (
	barWidth   = 5
	axisHeight = 20
	textRoom   = 18 // above the bars
	sideRoom   = 10
)

// A Histogram draws durations on a logarithmic axis. A drag, or the arrow keys
// and Enter, choose a range of them.
type Histogram struct {
	widget.BaseWidget
	// OnRange is told a range, both bounds inclusive, in nanoseconds.
	OnRange func(from, to int64)

	bars    []app.Bar
	digits  int
	palette *grid.Palette
	painter *grid.Painter

	// from and to are the chosen bounds in nanoseconds, if some.
	some     bool
	from, to int64
	anchor   int64
	dragging bool
	shift    bool
	focused  bool
	cursor   int // the bar that keys have come to, -1 for none

	factor float32 // device pixels for each device-independent one
	pixels *image.RGBA
	raster *canvas.Raster
}

// NewHistogram makes an empty histogram.
func NewHistogram(fonts *grid.Fonts, palette *grid.Palette) *Histogram {
	h := &Histogram{palette: palette, painter: grid.NewPainter(fonts), digits: 3, factor: 1, cursor: -1}
	h.raster = canvas.NewRaster(h.generate)
	h.ExtendBaseWidget(h)
	return h
}

// SetBars shows other durations.
func (h *Histogram) SetBars(bars []app.Bar, digits int) {
	h.bars, h.digits, h.some, h.cursor = bars, digits, false, -1
	h.raster.Refresh()
}

// SetPalette changes the colours.
func (h *Histogram) SetPalette(p *grid.Palette) {
	h.palette = p
	h.raster.Refresh()
}

func (h *Histogram) px(dip float32) int { return int(dip*h.factor + 0.5) }

func (h *Histogram) generate(w, height int) image.Image {
	if factor, ok := grid.DeviceScale(h.raster.Size(), w); ok {
		h.factor = factor
	}
	h.pixels = grid.Pixels(h.pixels, w, height)
	h.draw(h.pixels)
	return h.pixels
}

// scale is the axis at the present size, in device pixels from sideRoom on.
func (h *Histogram) scale(width int) scale {
	return scaleOf(h.bars, int64(math.Pow10(9-h.digits)), width-2*h.px(sideRoom))
}

func (h *Histogram) draw(img *image.RGBA) {
	p := h.painter
	p.Begin(img, h.factor)
	w, height := img.Bounds().Dx(), img.Bounds().Dy()
	p.Fill(0, 0, w, height, h.palette.Background)
	left, base := h.px(sideRoom), height-h.px(axisHeight)
	p.Fill(0, base, w, base+1, h.palette.Line)
	if len(h.bars) == 0 {
		p.Text(lang.L("No durations: no call of it has a leave"), left, height/2, w-2*left, h.palette.Inks[grid.Dim])
		return
	}
	s := h.scale(w)
	h.drawAxis(p, &s, left, base, height)
	low, high, calls, ok := int64(0), int64(0), int64(0), false
	if h.some {
		low, high, calls, ok = snap(h.bars, h.from, h.to)
	}
	if ok {
		x0, x1 := left+int(s.x(low)), left+int(math.Ceil(s.x(high+1)))
		p.Fill(x0, 0, max(x1, x0+1), base, h.palette.Selected)
	}
	step := h.px(barWidth)
	sums := s.columns(h.bars, step)
	most := int64(1)
	for _, n := range sums {
		most = max(most, n)
	}
	for i, n := range sums {
		if n == 0 {
			continue
		}
		x := left + i*step
		// One call among millions can be seen too.
		tall := max(int(float64(base-h.px(textRoom))*height1(n, most)), h.px(2))
		p.Fill(x, base-tall, x+step-1, base, h.palette.Cursor)
	}
	text := lang.L("Most in a bar: {{.N}}", data{"N": control.Thousands(most)})
	if ok {
		text = h.describe(low, high, calls)
	}
	p.Text(text, left, h.px(textRoom-5), w-2*left, h.palette.Inks[grid.Dim])
}

// height1 is how tall a bar of n calls is beside the tallest of most: on a
// logarithmic scale too, from 0 for none.
func height1(n, most int64) float64 {
	return math.Log1p(float64(n)) / math.Log1p(float64(most))
}

// describe says what a range holds.
func (h *Histogram) describe(low, high, calls int64) string {
	from := string(table.AppendDuration(nil, low, max(h.digits, 6)))
	to := string(table.AppendDuration(nil, high, max(h.digits, 6)))
	return from + " \u2013 " + to + ": " + control.Count("{{.N}} call", "{{.N}} calls", calls)
}

// drawAxis marks the powers of ten.
func (h *Histogram) drawAxis(p *grid.Painter, s *scale, left, base, height int) {
	text := base + (height-base+p.Ascent()-p.Descent())/2
	free := math.MinInt
	for ns := int64(1); float64(ns) < s.to && ns < math.MaxInt64/10; ns *= 10 {
		if float64(ns) < s.from {
			continue
		}
		x := left + int(s.x(ns))
		p.Fill(x, h.px(textRoom), x+1, base+h.px(4), h.palette.Guide)
		label := decade(ns)
		if x+h.px(4) > free {
			p.Text(label, x+h.px(4), text, h.px(90), h.palette.HeaderText)
			free = x + h.px(12) + p.Width(label)
		}
	}
}

// decade writes a power of ten nanoseconds.
func decade(ns int64) string {
	units := []string{"ns", "\u00b5s", "ms", "s"}
	i := 0
	for ns >= 1000 && i < len(units)-1 {
		ns /= 1000
		i++
	}
	return control.Thousands(ns) + " " + units[i]
}

func (h *Histogram) timeAt(p fyne.Position) int64 {
	s := h.scale(int(h.raster.Size().Width*h.factor + 0.5))
	return s.at(float64(p.X*h.factor) - float64(h.px(sideRoom)))
}

// MouseDown implements [desktop.Mouseable].
func (h *Histogram) MouseDown(e *desktop.MouseEvent) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(h); c != nil && !h.focused {
		c.Focus(h)
	}
	h.some, h.dragging = false, false
	h.anchor = h.timeAt(e.Position)
	h.raster.Refresh()
}

// MouseUp implements [desktop.Mouseable].
func (h *Histogram) MouseUp(*desktop.MouseEvent) { h.DragEnd() }

// Dragged implements [fyne.Draggable].
func (h *Histogram) Dragged(e *fyne.DragEvent) {
	at := h.timeAt(e.Position)
	h.some, h.dragging = true, true
	h.from, h.to = min(h.anchor, at), max(h.anchor, at)
	h.raster.Refresh()
}

// DragEnd implements [fyne.Draggable].
func (h *Histogram) DragEnd() {
	if h.dragging {
		h.dragging = false
		h.done()
	}
}

// done tells the chosen range.
func (h *Histogram) done() {
	if low, high, _, ok := snap(h.bars, h.from, h.to); h.some && ok && h.OnRange != nil {
		h.OnRange(low, high)
	}
}

// FocusGained implements [fyne.Focusable].
func (h *Histogram) FocusGained() { h.focused = true }

// FocusLost implements [fyne.Focusable].
func (h *Histogram) FocusLost() { h.focused, h.shift = false, false }

// TypedRune implements [fyne.Focusable].
func (h *Histogram) TypedRune(rune) {}

// KeyDown implements [desktop.Keyable].
func (h *Histogram) KeyDown(e *fyne.KeyEvent) {
	if e.Name == desktop.KeyShiftLeft || e.Name == desktop.KeyShiftRight {
		h.shift = true
	}
}

// KeyUp implements [desktop.Keyable].
func (h *Histogram) KeyUp(e *fyne.KeyEvent) {
	if e.Name == desktop.KeyShiftLeft || e.Name == desktop.KeyShiftRight {
		h.shift = false
	}
}

// TypedKey implements [fyne.Focusable]: the arrows go from bar to bar, with
// Shift they widen the range, Enter takes it, Escape takes it away.
func (h *Histogram) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyLeft:
		h.step(-1)
	case fyne.KeyRight:
		h.step(1)
	case fyne.KeyReturn, fyne.KeyEnter:
		h.done()
	case fyne.KeyEscape:
		h.some, h.cursor = false, -1
		h.raster.Refresh()
	}
}

func (h *Histogram) step(by int) {
	if len(h.bars) == 0 {
		return
	}
	if h.cursor < 0 && by < 0 {
		h.cursor = len(h.bars)
	}
	h.cursor = min(max(h.cursor+by, 0), len(h.bars)-1)
	b := h.bars[h.cursor]
	if !h.shift || !h.some {
		h.anchor = b.From
	}
	h.some = true
	h.from, h.to = min(h.anchor, b.From), max(h.anchor, b.To-1)
	h.raster.Refresh()
}

// Cursor implements [desktop.Cursorable].
func (h *Histogram) Cursor() desktop.Cursor { return desktop.CrosshairCursor }

// MinSize implements [fyne.CanvasObject].
func (h *Histogram) MinSize() fyne.Size {
	h.ExtendBaseWidget(h)
	return fyne.NewSize(120, axisHeight+textRoom+30)
}

// CreateRenderer implements [fyne.Widget].
func (h *Histogram) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(h.raster)
}

var (
	_ fyne.Focusable     = (*Histogram)(nil)
	_ fyne.Draggable     = (*Histogram)(nil)
	_ desktop.Mouseable  = (*Histogram)(nil)
	_ desktop.Keyable    = (*Histogram)(nil)
	_ desktop.Cursorable = (*Histogram)(nil)
)
