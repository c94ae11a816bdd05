package grid

import (
	"image"
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// A bar is a scroll bar that knows its content's length as an int64.
type bar struct {
	widget.BaseWidget
	sideways bool
	// onDrag is told where the thumb should be within the track, in device
	// pixels. In a fine drag `moved` pixels are rows.
	onDrag func(pos, track int, fine bool, moved int)
	onEnd  func()

	seen, total, offset int64
	scale               float32

	grabbed  bool
	fine     bool
	grab     int // where within the thumb it was taken hold of
	lastFine int

	track, thumb *canvas.Rectangle
	hovered      bool

	// What is marked on the track: see Grid.SetMarks and Grid.SetBookmarks.
	found       []uint32
	bookmarks   []int64
	rows        int64
	foundInk    color.RGBA
	bookmarkInk color.RGBA
	marks       *canvas.Raster
	pixels      *image.RGBA
}

func newBar(sideways bool) *bar {
	b := &bar{sideways: sideways, scale: 1, track: canvas.NewRectangle(color.Transparent), thumb: canvas.NewRectangle(color.Transparent)}
	b.thumb.CornerRadius = 3
	b.marks = canvas.NewRaster(b.drawMarks)
	b.marks.Hide()
	b.ExtendBaseWidget(b)
	return b
}

// show moves the thumb.
func (b *bar) show(seen, total, offset int64, scale float32) {
	b.seen, b.total, b.offset, b.scale = seen, total, offset, scale
	b.layout()
}

// length is the track's length in device pixels.
func (b *bar) length() int {
	if b.sideways {
		return int(b.Size().Width * b.scale)
	}
	return int(b.Size().Height * b.scale)
}

func (b *bar) along(p fyne.Position) int {
	if b.sideways {
		return int(p.X * b.scale)
	}
	return int(p.Y * b.scale)
}

func (b *bar) place() thumb { return thumbOf(b.length(), b.offset, b.seen, b.total) }

// thumbY returns where the thumb begins, in device-independent pixels.
func (b *bar) thumbY() float32 { return float32(b.place().pos) / b.scale }

func (b *bar) layout() {
	size := b.Size()
	b.track.Resize(size)
	b.marks.Resize(size)
	t := b.place()
	pos, length := float32(t.pos)/b.scale, float32(t.size)/b.scale
	const inset = 3
	if b.sideways {
		b.thumb.Move(fyne.NewPos(pos, inset))
		b.thumb.Resize(fyne.NewSize(length, size.Height-2*inset))
	} else {
		b.thumb.Move(fyne.NewPos(inset, pos))
		b.thumb.Resize(fyne.NewSize(size.Width-2*inset, length))
	}
	b.thumb.Hidden = b.total <= b.seen
	b.paint()
}

func (b *bar) paint() {
	th := b.Theme()
	v := fyne.CurrentApp().Settings().ThemeVariant()
	b.track.FillColor = th.Color(theme.ColorNameScrollBarBackground, v)
	c := color.NRGBAModel.Convert(th.Color(theme.ColorNameScrollBar, v)).(color.NRGBA)
	if b.hovered || b.grabbed {
		c.A = uint8(min(int(c.A)+70, 255))
	}
	b.thumb.FillColor = c
	b.thumb.Refresh()
}

func (b *bar) setFound(buckets []uint32) {
	if b.found != nil || buckets != nil {
		b.found = buckets
		b.showMarks()
	}
}

func (b *bar) setBookmarks(list []int64) {
	if len(b.bookmarks) > 0 || len(list) > 0 {
		b.bookmarks = list
		b.showMarks()
	}
}

func (b *bar) setInks(found, bookmark color.RGBA) {
	b.foundInk, b.bookmarkInk = found, bookmark
	b.showMarks()
}

// showMarks redraws the marks, which take no room while there are none.
func (b *bar) showMarks() {
	b.marks.Hidden = len(b.found) == 0 && len(b.bookmarks) == 0
	b.marks.Refresh()
}

// drawMarks paints the marks on nothing: those of a search over the whole
// width, bookmarks at the left half.
func (b *bar) drawMarks(w, h int) image.Image {
	if b.pixels == nil || b.pixels.Bounds().Dx() != w || b.pixels.Bounds().Dy() != h {
		b.pixels = image.NewRGBA(image.Rect(0, 0, w, h))
	}
	clear(b.pixels.Pix)
	p := pen{img: b.pixels, clip: b.pixels.Bounds()}
	thick := max(int(1.5*b.scale), 1)
	for i, n := range b.found {
		if n > 0 {
			y := i * h / len(b.found)
			p.fill(box(w/4, y, w, max((i+1)*h/len(b.found), y+thick)), b.foundInk)
		}
	}
	for _, row := range b.bookmarks {
		if row >= 0 && row < b.rows {
			y := min(int(mulDiv(uint64(row), uint64(h), uint64(b.rows))), h-2*thick)
			p.fill(box(0, y, w/2, y+2*thick), b.bookmarkInk)
		}
	}
	return b.pixels
}

// MouseDown implements [desktop.Mouseable]. A press beside the thumb brings
// the thumb there: with many rows a page at a time leads nowhere.
func (b *bar) MouseDown(e *desktop.MouseEvent) {
	if e.Button != desktop.MouseButtonPrimary || b.total <= b.seen {
		return
	}
	t, at := b.place(), b.along(e.Position)
	b.grabbed, b.fine = true, e.Modifier&fyne.KeyModifierShift != 0
	b.grab, b.lastFine = at-t.pos, at
	if !b.fine && (at < t.pos || at >= t.pos+t.size) {
		b.grab = t.size / 2
		b.onDrag(at-b.grab, b.length(), false, 0)
	}
	b.paint()
}

// MouseUp implements [desktop.Mouseable].
func (b *bar) MouseUp(*desktop.MouseEvent) { b.DragEnd() }

// Dragged implements [fyne.Draggable]. With Shift held at its beginning, one
// pixel is one row.
func (b *bar) Dragged(e *fyne.DragEvent) {
	if !b.grabbed {
		return
	}
	at := b.along(e.Position)
	moved := at - b.lastFine
	b.lastFine = at
	b.onDrag(at-b.grab, b.length(), b.fine, moved)
}

// DragEnd implements [fyne.Draggable].
func (b *bar) DragEnd() {
	b.grabbed = false
	if b.onEnd != nil {
		b.onEnd()
	}
	b.paint()
}

// MouseIn implements [desktop.Hoverable].
func (b *bar) MouseIn(*desktop.MouseEvent) {
	b.hovered = true
	b.paint()
}

// MouseMoved implements [desktop.Hoverable].
func (b *bar) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements [desktop.Hoverable].
func (b *bar) MouseOut() {
	b.hovered = false
	b.paint()
}

// CreateRenderer implements [fyne.Widget].
func (b *bar) CreateRenderer() fyne.WidgetRenderer { return &barRenderer{b} }

type barRenderer struct{ b *bar }

func (r *barRenderer) Layout(fyne.Size)   { r.b.layout() }
func (r *barRenderer) MinSize() fyne.Size { return fyne.NewSize(barSize, barSize) }
func (r *barRenderer) Refresh()           { r.b.layout() }
func (r *barRenderer) Destroy()           {}
func (r *barRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.b.track, r.b.thumb, r.b.marks}
}

// A bubble says beside a dragged scroll bar what row it has come to.
type bubble struct {
	widget.BaseWidget
	back *canvas.Rectangle
	text *canvas.Text
}

func newBubble() *bubble {
	b := &bubble{back: canvas.NewRectangle(color.Transparent), text: canvas.NewText("", color.Transparent)}
	b.back.CornerRadius = 4
	b.ExtendBaseWidget(b)
	b.Hide()
	return b
}

// show places the bubble with its right edge at x.
func (b *bubble) show(text string, x, y float32) {
	th, v := b.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	b.back.FillColor = th.Color(theme.ColorNamePrimary, v)
	b.text.Color = th.Color(theme.ColorNameForegroundOnPrimary, v)
	b.text.TextSize = th.Size(theme.SizeNameText)
	b.text.Text = text
	size := b.text.MinSize().Add(fyne.NewSize(16, 6))
	b.Resize(size)
	b.Move(fyne.NewPos(x-size.Width, y))
	b.Show()
	b.Refresh()
}

// CreateRenderer implements [fyne.Widget].
func (b *bubble) CreateRenderer() fyne.WidgetRenderer { return &bubbleRenderer{b} }

type bubbleRenderer struct{ b *bubble }

func (r *bubbleRenderer) Layout(size fyne.Size) {
	r.b.back.Resize(size)
	r.b.text.Move(fyne.NewPos(8, 3))
	r.b.text.Resize(r.b.text.MinSize())
}
func (r *bubbleRenderer) MinSize() fyne.Size { return r.b.text.MinSize().Add(fyne.NewSize(16, 6)) }
func (r *bubbleRenderer) Refresh() {
	r.Layout(r.b.Size())
	r.b.back.Refresh()
	r.b.text.Refresh()
}
func (r *bubbleRenderer) Destroy() {}
func (r *bubbleRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.b.back, r.b.text}
}
