package ui

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// A tip says the whole of what is shown shortened below the pointer, after a moment.
type tip struct {
	w *Window
	// layer is where it is drawn, over the rest; free reports whether it may be.
	layer   *fyne.Container
	free    func() bool
	content *fyne.Container
	back    *canvas.Rectangle
	text    *widget.Label
	at      fyne.Position // of the pointer on the canvas
	number  int           // of the cells that the pointer came to
	delay   time.Duration
}

const (
	tipDelay = 500 * time.Millisecond
	// maxTip is how many letters of a text are said, tipWidth how wide the tip is at most,
	// tipBelow how far below the pointer it stands.
	maxTip   = 1500
	tipWidth = 640
	tipBelow = 18
)

func newTip(w *Window, layer *fyne.Container, free func() bool) *tip {
	t := &tip{w: w, layer: layer, free: free, back: canvas.NewRectangle(nil), text: widget.NewLabel(""), delay: tipDelay}
	t.text.Wrapping = fyne.TextWrapBreak
	t.back.StrokeWidth, t.back.CornerRadius = 1, 3
	t.content = container.NewStack(t.back, container.New(layout.NewCustomPaddedLayout(0, 0, 0, 0), t.text))
	t.content.Hide()
	return t
}

// hover is told what the pointer has come to; "" for nothing that is to be said.
func (t *tip) hover(text string, at fyne.Position) {
	t.number++
	number := t.number
	if t.content.Visible() {
		t.content.Hide()
		t.layer.Refresh()
	}
	if text == "" {
		return
	}
	t.w.later(t.delay, func() {
		if t.number == number && t.free() {
			t.show(text, at)
		}
	})
}

func (t *tip) show(text string, at fyne.Position) {
	th, variant := t.text.Theme(), t.w.app.Settings().ThemeVariant()
	t.back.FillColor, t.back.StrokeColor = th.Color(theme.ColorNameMenuBackground, variant), th.Color(theme.ColorNameInputBorder, variant)
	t.at = at
	t.text.SetText(shorten(text, maxTip))
	t.content.Show()
	t.layer.Refresh()
	t.w.trace("tip")
}

// layout places the tip in what floats, whose place on the canvas is origin.
func (t *tip) layout(origin fyne.Position, size fyne.Size) {
	line := fyne.MeasureText(t.text.Text, theme.TextSize(), t.text.TextStyle).Width + 4*theme.InnerPadding()
	width := min(line, tipWidth, size.Width)
	t.content.Resize(fyne.NewSize(width, t.content.MinSize().Height))
	high := min(t.content.MinSize().Height, size.Height)
	t.content.Resize(fyne.NewSize(width, high))
	at := t.at.Subtract(origin)
	y := at.Y + tipBelow
	if y+high > size.Height {
		y = max(at.Y-high-4, 0)
	}
	t.content.Move(fyne.NewPos(max(min(at.X, size.Width-width), 0), y))
}

// over puts a tip for what is in a dialog over it.
func (ds *dialogs) over(content fyne.CanvasObject) fyne.CanvasObject {
	layer := container.New(nil)
	ds.tip = newTip(ds.w, layer, func() bool { return ds.top != nil })
	layer.Layout = tipLayout{ds.tip}
	layer.Add(ds.tip.content)
	return container.NewStack(content, layer)
}

// hover has what is in front say what the pointer has come to.
func (w *Window) hover(text string, at fyne.Position) {
	if w.dialogs.top != nil && w.dialogs.tip != nil {
		w.dialogs.tip.hover(text, at)
		return
	}
	w.front.tip.hover(text, at)
}

// tipLayout places a tip in the dialog that it belongs to.
type tipLayout struct{ tip *tip }

// MinSize implements [fyne.Layout].
func (tipLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size{} }

// Layout implements [fyne.Layout].
func (l tipLayout) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	l.tip.layout(l.tip.w.app.Driver().AbsolutePositionForObject(l.tip.layer), size)
}
