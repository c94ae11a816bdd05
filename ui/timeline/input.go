package timeline

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
)

// wheelStep is what Fyne reports for one notch of a wheel.
const wheelStep = 25

// zoomStep is by how much a notch of the wheel, or a key, zooms.
const zoomStep = 1.25

// What a drag does.
type dragKind uint8

const (
	dragNone dragKind = iota
	dragMeasure
	dragRange
	dragPan
	dragEdge // of a lane
)

type dragging struct {
	kind   dragKind
	shown  bool  // a range is drawn, and stays after the drag
	moved  bool  // the pointer has moved since the press
	a, b   int64 // the range, in the order in which it was drawn
	lane   int   // whose edge is dragged
	startY float32
	lines  int
	ctrl   bool
	exact  bool // it is not the hand's
	at     fyne.Position
}

// FocusGained implements [fyne.Focusable].
func (t *Timeline) FocusGained() {
	t.focused = true
	t.changed()
}

// FocusLost implements [fyne.Focusable].
func (t *Timeline) FocusLost() {
	t.focused = false
	t.changed()
}

// TypedRune implements [fyne.Focusable].
func (t *Timeline) TypedRune(r rune) {
	switch r {
	case 'w', 'W', '+', '=':
		t.zoomAtPointer(1 / zoomStep)
	case 's', 'S', '-':
		t.zoomAtPointer(zoomStep)
	case 'a', 'A':
		t.panBy(-0.15)
	case 'd', 'D':
		t.panBy(0.15)
	case 'f', 'F':
		t.unhover()
		t.FitChosen()
	case '0':
		t.unhover()
		t.FitAll()
	case '.':
		t.step(false)
	case ',':
		t.step(true)
	case 'm', 'M':
		t.measureChosen()
	case 'c', 'C':
		t.Compare()
	default:
		if t.OnRune != nil {
			t.OnRune(r)
		}
	}
}

// TypedKey implements [fyne.Focusable].
func (t *Timeline) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyLeft:
		t.panBy(-0.15)
	case fyne.KeyRight:
		t.panBy(0.15)
	case fyne.KeyUp:
		t.upDown(-1)
	case fyne.KeyDown:
		t.upDown(1)
	case fyne.KeyPageUp:
		t.scrollLanes(-t.layout.height * 9 / 10)
	case fyne.KeyPageDown:
		t.scrollLanes(t.layout.height * 9 / 10)
	case fyne.KeyHome:
		t.axis.pan(-float64(t.axis.last-t.axis.first) / t.axis.perPx)
		t.moved()
	case fyne.KeyEnd:
		t.axis.pan(float64(t.axis.last-t.axis.first) / t.axis.perPx)
		t.moved()
	case fyne.KeySpace:
		if t.chosen != nil {
			t.layout.fold(t.chosen.lane)
			t.changed()
		}
	case fyne.KeyReturn, fyne.KeyEnter:
		switch {
		case t.drag.shown && t.OnRange != nil:
			t.selectRange()
		case t.chosen != nil && t.chosen.span.Row >= 0 && t.OnActivated != nil:
			t.OnActivated(t.chosen.span.Row)
		}
	case fyne.KeyEscape:
		if t.drag.shown {
			t.endMeasure()
		} else if t.OnKey != nil {
			t.OnKey(e.Name)
		}
	default:
		if t.OnKey != nil {
			t.OnKey(e.Name)
		}
	}
}

// KeyDown and KeyUp implement [desktop.Keyable], so that Fyne sends keys while
// they are held.
func (t *Timeline) KeyDown(*fyne.KeyEvent) {}

// KeyUp implements [desktop.Keyable].
func (t *Timeline) KeyUp(*fyne.KeyEvent) {}

// moved redraws after the view was moved by the user.
func (t *Timeline) moved() {
	t.unhover()
	t.changed()
}

// zoomAtPointer zooms where the pointer is, or in the middle.
func (t *Timeline) zoomAtPointer(factor float64) {
	x := float64(t.axis.width) / 2
	if at := float64(t.drag.at.X*t.scale) - float64(t.px(gutterWidth)); at > 0 && at < float64(t.axis.width) {
		x = at
	}
	t.axis.zoom(x, factor)
	t.moved()
}

func (t *Timeline) panBy(share float64) {
	t.axis.pan(share * float64(t.axis.width))
	t.moved()
}

func (t *Timeline) scrollLanes(px int) {
	t.layout.scroll(px)
	t.moved()
}

// upDown goes to the call around the chosen one or the first within it, or
// scrolls where none is chosen.
func (t *Timeline) upDown(by int) {
	if t.chosen == nil {
		t.scrollLanes(by * t.layout.line)
		return
	}
	if s, ok := t.picture.over(t.chosen, by); ok {
		t.pick(t.chosen.lane, s)
		t.reveal()
	}
}

// step goes to the next call of the chosen one's line, or the one before.
func (t *Timeline) step(back bool) {
	if t.chosen == nil {
		from, to := t.layout.visible()
		first, last := t.axis.seen()
		for i := from; i < to; i++ {
			for _, s := range t.picture.spans[i] {
				if s.To >= first && s.From <= last {
					t.pick(i, s)
					t.reveal()
					return
				}
			}
		}
		return
	}
	if s, ok := t.picture.beside(t.chosen, back); ok {
		t.pick(t.chosen.lane, s)
		t.reveal()
	}
}

// pick chooses a call and says so.
func (t *Timeline) pick(lane int, s app.Span) {
	t.pin = nil
	t.choose(lane, s)
	if t.OnSelected != nil && s.Row >= 0 {
		t.OnSelected(s.Row)
	}
}

// Scrolled implements [fyne.Scrollable]: it zooms; sideways it pans; beside
// the picture, or with Ctrl held, it scrolls the lanes.
func (t *Timeline) Scrolled(e *fyne.ScrollEvent) {
	if e.Scrolled.DX != 0 {
		t.axis.pan(-float64(e.Scrolled.DX) / wheelStep * 0.1 * float64(t.axis.width))
	}
	if dy := e.Scrolled.DY; dy != 0 {
		x := float64(e.Position.X*t.scale) - float64(t.px(gutterWidth))
		if x < 0 || modifiers()&fyne.KeyModifierControl != 0 {
			lane, _, _, ok := t.layout.at(int(e.Position.Y*t.scale) - t.px(rulerHeight))
			lines := int(-dy / wheelStep * 3)
			if !ok || !t.layout.scrollLane(lane, lines) {
				t.layout.scroll(int(-dy / wheelStep * 3 * float32(t.layout.line)))
			}
		} else {
			factor := 1.0
			for n := dy / wheelStep; n != 0; {
				part := min(max(n, -1), 1)
				n -= part
				if part > 0 {
					factor /= 1 + (zoomStep-1)*float64(part)
				} else {
					factor *= 1 - (zoomStep-1)*float64(part)
				}
			}
			t.axis.zoom(x, factor)
		}
	}
	t.moved()
}

// modifiers returns the modifier keys held down.
func modifiers() fyne.KeyModifier {
	if d, ok := fyne.CurrentApp().Driver().(desktop.Driver); ok {
		return d.CurrentKeyModifiers()
	}
	return 0
}

// timeAt returns the time at a place on the widget.
func (t *Timeline) timeAt(p fyne.Position) int64 {
	return t.axis.at(float64(p.X*t.scale) - float64(t.px(gutterWidth)))
}

// boxAt returns the box that is drawn at a place on the widget.
func (t *Timeline) boxAt(p fyne.Position) (lane int, s app.Span, ok bool) {
	x := float64(p.X*t.scale) - float64(t.px(gutterWidth))
	if x < 0 || x >= float64(t.axis.width) {
		return 0, app.Span{}, false
	}
	lane, depth, edge, ok := t.layout.at(int(p.Y*t.scale) - t.px(rulerHeight))
	if !ok || edge {
		return 0, app.Span{}, false
	}
	s, ok = t.picture.at(lane, depth, t.axis.from+x*t.axis.perPx, t.axis.perPx)
	return lane, s, ok
}

// edgeAt returns the lane whose lower edge lies at a place beside the picture.
func (t *Timeline) edgeAt(p fyne.Position) (lane int, ok bool) {
	if p.X >= gutterWidth {
		return 0, false
	}
	y := int(p.Y*t.scale) - t.px(rulerHeight)
	for _, dy := range []int{0, -t.px(3), t.px(3)} {
		if lane, _, edge, ok := t.layout.at(y + dy); ok && edge {
			return lane, true
		}
	}
	return 0, false
}

// MouseDown implements [desktop.Mouseable].
func (t *Timeline) MouseDown(e *desktop.MouseEvent) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(t); c != nil && !t.focused {
		c.Focus(t)
	}
	t.drag.at, t.drag.moved, t.drag.kind = e.Position, false, dragNone
	if e.Button == desktop.MouseButtonSecondary && e.Position.X < gutterWidth {
		if lane, _, _, ok := t.layout.at(int(e.Position.Y*t.scale) - t.px(rulerHeight)); ok && t.OnLaneMenu != nil {
			t.OnLaneMenu(t.layout.lanes[lane].Lane, e.AbsolutePosition)
		}
		return
	}
	if e.Button == desktop.MouseButtonSecondary {
		if lane, s, ok := t.boxAt(e.Position); ok {
			t.pick(lane, s)
			if t.OnMenu != nil && s.Calls == 1 {
				t.OnMenu(s, t.layout.lanes[lane].Lane, e.AbsolutePosition)
			}
		}
		return
	}
	if e.Button != desktop.MouseButtonPrimary {
		t.drag.kind = dragPan
		return
	}
	if lane, ok := t.edgeAt(e.Position); ok {
		t.drag.kind, t.drag.lane = dragEdge, lane
		t.drag.startY, t.drag.lines = e.Position.Y, t.layout.lanes[lane].shown()
		return
	}
	switch {
	case e.Position.X < gutterWidth:
	case e.Modifier&fyne.KeyModifierShift != 0:
		t.drag.kind = dragPan
	case e.Modifier&fyne.KeyModifierControl != 0:
		t.drag.kind = dragRange
	default:
		t.drag.kind = dragMeasure
	}
}

// MouseUp implements [desktop.Mouseable]: a press that was no drag chooses a
// call, or folds a lane.
func (t *Timeline) MouseUp(e *desktop.MouseEvent) {
	if t.drag.moved {
		t.DragEnd()
		return
	}
	t.drag.kind = dragNone
	if e.Button != desktop.MouseButtonPrimary {
		return
	}
	if e.Position.X < gutterWidth {
		if lane, _, edge, ok := t.layout.at(int(e.Position.Y*t.scale) - t.px(rulerHeight)); ok && !edge {
			t.layout.fold(lane)
			t.moved()
		}
		return
	}
	t.endMeasure()
	if f, ok := t.pinAt(e.Position); ok {
		t.choosePin(f)
	} else if lane, s, ok := t.boxAt(e.Position); ok {
		t.pick(lane, s)
	} else if t.chosen != nil || t.pin != nil {
		t.chosen, t.pin = nil, nil
		t.changed()
	}
}

// Dragged implements [fyne.Draggable].
func (t *Timeline) Dragged(e *fyne.DragEvent) {
	d := &t.drag
	switch d.kind {
	case dragMeasure, dragRange:
		if !d.moved {
			d.a = t.timeAt(d.at)
			d.shown, d.ctrl, d.exact = true, d.kind == dragRange, false
		}
		t.sums = nil
		d.b = t.timeAt(e.Position)
		t.unhover()
		t.placeBand()
		if t.OnMeasured != nil {
			ns, _ := t.axis.length(min(d.a, d.b), max(d.a, d.b))
			t.OnMeasured(ns)
		}
	case dragPan:
		t.axis.pan(-float64(e.Dragged.DX * t.scale))
		t.layout.scroll(-int(e.Dragged.DY * t.scale))
		t.moved()
	case dragEdge:
		t.layout.resize(d.lane, d.lines+int((e.Position.Y-d.startY)/lineHeight))
		t.moved()
	}
	d.moved = true
}

// DragEnd implements [fyne.Draggable].
func (t *Timeline) DragEnd() {
	kind, moved := t.drag.kind, t.drag.moved
	t.drag.kind, t.drag.moved = dragNone, false
	switch {
	case kind == dragRange:
		t.selectRange()
	case kind == dragMeasure && moved:
		t.askMeasure()
	}
}

// askMeasure asks what lies in the range that is drawn.
func (t *Timeline) askMeasure() {
	if a, b := min(t.drag.a, t.drag.b), max(t.drag.a, t.drag.b); t.drag.shown && b > a && t.OnMeasure != nil {
		t.OnMeasure(a, b)
	}
}

// Measured says what lies in the range that is drawn, if it is that one still.
func (t *Timeline) Measured(from, to int64, lines []string) {
	if t.drag.shown && from == min(t.drag.a, t.drag.b) && to == max(t.drag.a, t.drag.b) {
		t.sums = lines
		t.placeBand()
		t.repaint(t.length)
	}
}

// selectRange makes the drawn range the selected time.
func (t *Timeline) selectRange() {
	if a, b := t.takeRange(); t.OnRange != nil && b > a {
		t.OnRange(a, b)
	}
}

// takeRange returns the drawn range, and takes it away.
func (t *Timeline) takeRange() (a, b int64) {
	a, b = min(t.drag.a, t.drag.b), max(t.drag.a, t.drag.b)
	if !t.drag.exact {
		// The hand is no more exact than a pixel.
		a, b = t.axis.round(a, b)
	}
	t.endMeasure()
	return a, b
}

// Measuring reports whether a range is drawn.
func (t *Timeline) Measuring() bool { return t.drag.shown }

// Compare hands the drawn range over to be compared with the selection.
func (t *Timeline) Compare() {
	if !t.drag.shown || t.OnCompare == nil {
		return
	}
	if a, b := t.takeRange(); b > a {
		t.OnCompare(a, b)
	}
}

// measureChosen draws the chosen call's time as a range, which Enter selects.
func (t *Timeline) measureChosen() {
	if t.chosen == nil {
		return
	}
	s := &t.chosen.span
	t.drag.a, t.drag.b, t.drag.shown, t.drag.ctrl, t.drag.exact = s.From, s.To, true, false, true
	t.sums = nil
	t.placeBand()
	t.askMeasure()
	if t.OnMeasured != nil {
		t.OnMeasured(s.To - s.From)
	}
}

// endMeasure takes a drawn range away.
func (t *Timeline) endMeasure() {
	if !t.drag.shown {
		return
	}
	t.drag.shown, t.sums = false, nil
	t.placeBand()
	if t.OnMeasured != nil {
		t.OnMeasured(0)
	}
}

// placeBand draws the range that is measured or selected.
func (t *Timeline) placeBand() {
	if !t.drag.shown {
		if t.band.Visible() {
			t.band.Hide()
			t.length.Hide()
			t.repaint(t.band)
		}
		return
	}
	a, b := min(t.drag.a, t.drag.b), max(t.drag.a, t.drag.b)
	x0 := float32(min(max(t.axis.x(a), 0), float64(t.axis.width)))
	x1 := float32(min(max(t.axis.x(b), 0), float64(t.axis.width)))
	th, v := t.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	name := theme.ColorNameForeground
	if t.drag.ctrl {
		name = theme.ColorNamePrimary
	}
	c := color.NRGBAModel.Convert(th.Color(name, v)).(color.NRGBA)
	t.band.StrokeColor, t.band.StrokeWidth = c, 1
	c.A = 0x28
	t.band.FillColor = c
	t.band.Move(fyne.NewPos(gutterWidth+x0/t.scale, rulerHeight))
	t.band.Resize(fyne.NewSize(max((x1-x0)/t.scale, 1), max(t.Size().Height-rulerHeight, 0)))
	t.band.Show()
	t.repaint(t.band)
	t.length.show(append([]string{lengthText(&t.axis, a, b, max(t.digits(), 6))}, t.sums...), fyne.NewPos(gutterWidth+x1/t.scale+4, rulerHeight+4), t.Size())
}

// repaint has an object drawn again. An object that was hidden when Fyne last
// looked through the window does not know its canvas, and could not by itself.
func (t *Timeline) repaint(o fyne.CanvasObject) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(t); c != nil {
		c.Refresh(o)
	}
}

// DoubleTapped implements [fyne.DoubleTappable]: it zooms to the call.
func (t *Timeline) DoubleTapped(e *fyne.PointEvent) {
	if lane, s, ok := t.boxAt(e.Position); ok {
		t.choose(lane, s)
		t.FitChosen()
	}
}

// MouseIn implements [desktop.Hoverable].
func (t *Timeline) MouseIn(e *desktop.MouseEvent) { t.MouseMoved(e) }

// MouseMoved implements [desktop.Hoverable].
func (t *Timeline) MouseMoved(e *desktop.MouseEvent) {
	t.drag.at = e.Position
	if t.drag.kind != dragNone {
		return
	}
	if f, ok := t.pinAt(e.Position); ok && t.AnnotationText != nil {
		t.unhover()
		name, _ := laneTexts(&t.layout.lanes[f.lane].Lane)
		t.tip.show(append(t.AnnotationText(f.annotation), name), e.Position.AddXY(14, 18), t.Size())
		t.repaint(t.tip)
		return
	}
	lane, s, ok := t.boxAt(e.Position)
	if !ok {
		t.unhover()
		return
	}
	if h := t.hovered; h == nil || h.lane != lane || h.span.Row != s.Row || h.span.Depth != s.Depth || h.span.Calls != s.Calls {
		repaint := h == nil || h.span.Function != s.Function
		t.hovered = &place{lane, s}
		if y, ok := t.layout.y(lane, s.Depth); ok {
			x0 := min(max(t.axis.x(s.From), 0), float64(t.axis.width))
			x1 := min(max(t.axis.x(s.To), x0+float64(t.px(minBox))), float64(t.axis.width))
			t.hover.StrokeColor = t.palette.Selected
			t.hover.Move(fyne.NewPos(gutterWidth+float32(x0)/t.scale, rulerHeight+float32(y)/t.scale))
			t.hover.Resize(fyne.NewSize(float32(x1-x0)/t.scale, float32(t.layout.line-1)/t.scale))
			t.hover.Show()
			t.repaint(t.hover)
		}
		if repaint {
			t.raster.Refresh()
		}
	}
	t.tip.show(describe(&s, &t.layout.lanes[lane].Lane, &t.axis, t.digits()), e.Position.AddXY(14, 18), t.Size())
}

// MouseOut implements [desktop.Hoverable].
func (t *Timeline) MouseOut() {
	t.drag.at = fyne.Position{}
	t.unhover()
}

func (t *Timeline) unhover() {
	if t.hovered == nil && !t.tip.Visible() {
		return
	}
	t.hovered = nil
	t.hover.Hide()
	t.tip.Hide()
	t.raster.Refresh()
}

// Cursor implements [desktop.Cursorable].
func (t *Timeline) Cursor() desktop.Cursor {
	if _, ok := t.edgeAt(t.drag.at); ok || t.drag.kind == dragEdge {
		return desktop.VResizeCursor
	}
	return desktop.DefaultCursor
}
