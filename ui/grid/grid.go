package grid

import (
	"image"
	"math"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"logparser/rows"
)

// Sizes in device-independent pixels.
const (
	rowHeight    = 20
	headerHeight = 24
	textSize     = 12.5
	barSize      = 12
	dividerReach = 4
	wheelRows    = 3
	// wheelStep is what Fyne reports for one notch of a wheel.
	wheelStep = 25
)

// A Grid is the widget. It belongs to the goroutine that Fyne calls widgets
// on, as do all its methods; the callbacks are called there.
type Grid struct {
	widget.BaseWidget

	// OnSelected is told the current row whenever it changes, -1 for none.
	OnSelected func(row int64)
	// OnChosen is told the current row whenever the user goes to it by a key or a press, also
	// where it was the current one already.
	OnChosen func(row int64)
	// OnActivated is told the row of a double click or of Enter.
	OnActivated func(row int64)
	// OnMenu is asked for a context menu of a cell at a place on the canvas.
	OnMenu func(row int64, column string, at fyne.Position)
	// OnFold is told a row whose fold mark was clicked.
	OnFold func(row int64)
	// OnTree is told the Left and the Right key, as trees have them. Without
	// it, and with Shift, they scroll sideways.
	OnTree func(row int64, right bool)
	// Decorate fills in what is shown of the visible rows besides their
	// content: for each of list, whose first is row number first, an element
	// of dst.
	Decorate func(dst []Decor, list []rows.Row, first int64)
	// Label returns the number of the colour, from 1 on, that a cell is
	// labelled with; 0 for none.
	Label func(column string, r *rows.Row) int
	// OnCopy is called for Ctrl+C.
	OnCopy func()
	// OnRune is told characters typed into the grid.
	OnRune func(r rune)
	// OnKey is told keys that the grid has no use for.
	OnKey func(name fyne.KeyName)
	// OnShortcut is asked about keys with modifiers before the grid uses them; true
	// means that it used them up.
	OnShortcut func(s *desktop.CustomShortcut) bool
	// OnHover is told when the pointer comes to another cell: the cell's whole text if
	// not all of it is seen, else "", and where the pointer is on the canvas.
	OnHover func(text string, at fyne.Position)
	// OnHeader is told the column whose head was pressed.
	OnHeader func(id string)
	// OnHeaderMenu is told the column whose head was pressed with the other button.
	OnHeaderMenu func(id string, at fyne.Position)
	// Movable lets the user drag columns by their heads to other places.
	Movable bool
	// OnDrawn is told each redraw: the number of rows drawn, without those that
	// are waited for.
	OnDrawn func(n int)
	// OnScrolled is called when the user, or a jump to a row, has moved the
	// view; [Grid.AtEnd] says where it is.
	OnScrolled func()
	// OnColumns is called when the user has changed a column.
	OnColumns func()
	// FitNumbers widens a column that aligns right as soon as one of its cells
	// that are seen has no room, unless the user has chosen its width: half a
	// number is a wrong one.
	FitNumbers bool
	// Place describes a row in the bubble beside a dragged scroll bar.
	Place func(row int64) string

	src     Source
	columns []Column
	fonts   *Fonts
	palette *Palette

	view    viewport
	xoff    int
	sel     selection
	partner int64
	find    Finder
	focused bool
	shift   bool

	scale    float32
	drawn    bool
	complete bool // all rows that were seen were at hand
	width    int  // of the body, in device pixels
	atlas    *atlas
	pixels   *image.RGBA
	buffer   []rows.Row
	decor    []Decor

	resizing int             // column whose divider is dragged, -1 for none
	sized    map[string]bool // columns whose width the user has chosen
	ranging  bool
	moving   string // column whose head is dragged, "" for none
	moved    bool   // it has another place now
	hoverX   float32
	hoverY   float32
	hover    hovered

	raster *canvas.Raster
	vbar   *bar
	hbar   *bar
	bubble *bubble
}

// New makes a grid without rows.
func New(columns []Column, fonts *Fonts, palette *Palette) *Grid {
	g := &Grid{columns: columns, fonts: fonts, palette: palette, partner: -1, resizing: -1, sized: map[string]bool{}, scale: 1}
	g.raster = canvas.NewRaster(g.generate)
	g.vbar = newBar(false)
	g.vbar.onDrag = func(pos, track int, fine bool, moved int) {
		if fine {
			g.view.scrollRows(int64(moved))
		} else {
			g.view.dragThumb(track, pos)
		}
		g.scrolled()
		g.showBubble() // beside the thumb, which has come to its place
	}
	g.vbar.onEnd = func() { g.bubble.Hide() }
	g.hbar = newBar(true)
	g.hbar.onDrag = func(pos, track int, _ bool, _ int) {
		g.xoff = int(offsetOf(track, pos, int64(g.width), int64(g.contentWidth())))
		g.changed()
	}
	g.vbar.setInks(palette.Found, palette.Bookmark)
	g.bubble = newBubble()
	g.ExtendBaseWidget(g)
	return g
}

// SetSource shows another source. The view goes to its first row and nothing
// is selected; see [Grid.SetCurrent] and [Grid.Centre].
func (g *Grid) SetSource(src Source) {
	g.src = src
	g.sel = selection{}
	g.partner = -1
	g.view.setOffset(0)
	g.Reload()
}

// ReplaceSource shows another source whose first rows are those of the one before: what is in view
// stays there, and what is selected is so.
func (g *Grid) ReplaceSource(src Source) {
	g.src = src
	g.Reload()
}

// Reload asks the source for its length and redraws.
func (g *Grid) Reload() {
	var n int64
	if g.src != nil {
		n = g.src.Len()
	}
	g.view.setRows(n)
	g.sel.limit(g.view.rows)
	g.changed()
}

// SetPalette changes the colours.
func (g *Grid) SetPalette(p *Palette) {
	g.palette = p
	g.vbar.setInks(p.Found, p.Bookmark)
	g.changed()
}

// SetFind marks what a Finder finds wherever it is seen; nil marks nothing.
func (g *Grid) SetFind(f Finder) {
	g.find = f
	g.changed()
}

// SetMarks shows on the scroll bar where rows match a search: how many do in
// each of equal parts of the source; nil shows none.
func (g *Grid) SetMarks(buckets []uint32) { g.vbar.setFound(buckets) }

// SetBookmarks shows rows on the scroll bar.
func (g *Grid) SetBookmarks(list []int64) { g.vbar.setBookmarks(list) }

// SetPartner marks the row with this Index, -1 for none.
func (g *Grid) SetPartner(index int64) {
	g.partner = index
	g.changed()
}

// Current returns the current row, -1 for none.
func (g *Grid) Current() int64 {
	if !g.sel.some {
		return -1
	}
	return g.sel.current
}

// Selection returns the first and the last selected row.
func (g *Grid) Selection() (first, last int64, ok bool) { return g.sel.bounds() }

// SetCurrent selects one row and shows it.
func (g *Grid) SetCurrent(row int64) {
	if row >= g.view.rows {
		g.Reload() // it may have come since
	}
	g.move(row, false)
}

// Centre shows a row with some rows around it.
func (g *Grid) Centre(row int64) {
	g.view.centre(row)
	g.scrolled()
}

// AtEnd reports whether the last row is in view.
func (g *Grid) AtEnd() bool { return g.view.offset() >= g.view.maxOffset() }

// ScrollToEnd shows the last rows. The selection stays.
func (g *Grid) ScrollToEnd() {
	g.view.setOffset(g.view.maxOffset())
	g.changed()
}

// Top returns the first visible row.
func (g *Grid) Top() int64 { return g.view.top }

// Complete tells [Grid.OnDrawn] whether all rows that are seen were drawn.
func (g *Grid) Complete() bool { return g.complete }

// SelectAll selects all rows.
func (g *Grid) SelectAll() {
	if g.view.rows == 0 {
		return
	}
	current := max(g.Current(), 0)
	g.sel = selection{anchor: 0, current: g.view.rows - 1, some: true}
	g.changed()
	if g.OnSelected != nil && current != g.sel.current {
		g.OnSelected(g.sel.current)
	}
}

// move makes a row the current one.
func (g *Grid) move(row int64, extend bool) {
	before := g.Current()
	g.sel.set(row, g.view.rows, extend)
	g.view.reveal(g.Current())
	if g.OnSelected != nil && g.Current() != before {
		g.OnSelected(g.Current())
	}
	g.scrolled()
}

// choose is move as the user does it.
func (g *Grid) choose(row int64, extend bool) {
	g.move(row, extend)
	if current := g.Current(); g.OnChosen != nil && current >= 0 {
		g.OnChosen(current)
	}
}

// scrolled redraws after the view was moved.
func (g *Grid) scrolled() {
	g.changed()
	if g.OnScrolled != nil {
		g.OnScrolled()
	}
}

// changed redraws the picture and the scroll bars.
func (g *Grid) changed() {
	g.placeBars()
	g.raster.Refresh()
}

// measure adapts the pixel arithmetic to the size of the widget.
func (g *Grid) measure(scale float32, width, height int) {
	g.scale = scale
	if px := math.Round(float64(textSize*scale)*4) / 4; g.atlas == nil || g.atlas.px != px {
		g.atlas = newAtlas(g.fonts, px)
	}
	g.width = width
	g.view.setSize(height-g.px(headerHeight), g.px(rowHeight))
	g.xoff = max(min(g.xoff, g.contentWidth()-width), 0)
}

// px converts device-independent pixels to device pixels.
func (g *Grid) px(dip float32) int { return int(dip*g.scale + 0.5) }

// place lays the shown columns out; one that grows takes what is left over.
func (g *Grid) place() []placed {
	out := make([]placed, 0, len(g.columns))
	total, grow := 0, -1
	for i := range g.columns {
		c := &g.columns[i]
		if c.Hidden {
			continue
		}
		if c.Grow && grow < 0 {
			grow = len(out)
		}
		out = append(out, placed{Column: c, w: g.px(c.Width)})
		total += g.px(c.Width)
	}
	if spare := g.width - total; spare > 0 && grow >= 0 {
		out[grow].w += spare
	}
	x := 0
	for i := range out {
		out[i].x = x
		x += out[i].w
	}
	return out
}

func (g *Grid) contentWidth() int {
	total := 0
	for i := range g.columns {
		if !g.columns[i].Hidden {
			total += g.px(g.columns[i].Width)
		}
	}
	return total
}

// generate paints the picture; Fyne calls it with the size in device pixels.
func (g *Grid) generate(w, h int) image.Image {
	if scale, ok := DeviceScale(g.raster.Size(), w); ok {
		if scale != g.scale || !g.drawn {
			fyne.Do(g.placeBars)
		}
		g.drawn = true
		g.measure(scale, w, h)
	}
	g.pixels = Pixels(g.pixels, w, h)
	f := g.frame()
	if g.FitNumbers && g.widen(f) {
		f.columns = g.place()
		fyne.Do(g.placeBars)
	}
	f.draw(g.pixels)
	if g.OnDrawn != nil {
		n := 0
		for i := range f.rows {
			if f.rows[i].Index != Waiting {
				n++
			}
		}
		g.complete = n == len(f.rows)
		g.OnDrawn(n)
	}
	return g.pixels
}

// widen gives the numbers that are seen the room they need, and reports whether a
// column has changed.
func (g *Grid) widen(f *frame) bool {
	changed := false
	var cell Cell
	for i := range g.columns {
		c := &g.columns[i]
		if !c.Right || c.Hidden || g.sized[c.ID] {
			continue
		}
		for k := range f.rows {
			if f.rows[k].Index == Waiting {
				continue
			}
			cell = Cell{Text: cell.Text[:0], Tail: cell.Tail[:0], Decor: &f.decor[k]}
			c.Cell(&f.rows[k], &cell)
			if room := g.px(c.Width) - 2*g.px(cellPad); f.width(cell.Text) > room {
				c.Width += float32(f.width(cell.Text)-room)/g.scale + 1
				changed = true
			}
		}
	}
	return changed
}

// frame reads the visible rows and gathers what a redraw needs.
func (g *Grid) frame() *frame {
	if g.atlas == nil {
		g.measure(g.scale, g.width, g.view.height+g.px(headerHeight))
	}
	first, n := g.view.visible()
	if cap(g.buffer) < n {
		g.buffer = make([]rows.Row, n)
	}
	g.buffer = g.buffer[:n]
	if n > 0 && g.src != nil {
		got, _ := g.src.Read(g.buffer, first)
		g.buffer = g.buffer[:got]
	}
	if cap(g.decor) < len(g.buffer) {
		g.decor = make([]Decor, len(g.buffer))
	}
	g.decor = g.decor[:len(g.buffer)]
	clear(g.decor)
	if g.Decorate != nil && len(g.buffer) > 0 {
		g.Decorate(g.decor, g.buffer, first)
	}
	return &frame{
		palette: g.palette, atlas: g.atlas, scale: g.scale,
		header: g.px(headerHeight), view: g.view,
		columns: g.place(), xoff: g.xoff,
		rows: g.buffer, first: first,
		sel: g.sel, focused: g.focused, partner: g.partner, find: g.find,
		decor: g.decor, label: g.Label,
	}
}

// placeBars moves the scroll bars' thumbs. Before the first drawing the
// canvas says what a pixel is.
func (g *Grid) placeBars() {
	size := g.raster.Size()
	if size.Height <= 0 {
		return
	}
	scale := g.scale
	if c := fyne.CurrentApp().Driver().CanvasForObject(g); c != nil && !g.drawn {
		scale = c.Scale()
	}
	g.measure(scale, int(size.Width*scale+0.5), int(size.Height*scale+0.5))
	if g.vbar.rows != g.view.rows {
		g.vbar.rows = g.view.rows
		g.vbar.showMarks()
	}
	g.vbar.show(int64(g.view.height), g.view.total(), g.view.offset(), g.scale)
	g.hbar.show(int64(g.width), int64(g.contentWidth()), int64(g.xoff), g.scale)
}

func (g *Grid) showBubble() {
	if g.Place == nil || g.view.rows == 0 {
		return
	}
	g.bubble.show(g.Place(g.view.top), g.raster.Size().Width-6, headerHeight+g.vbar.thumbY())
}

// MinSize implements [fyne.CanvasObject].
func (g *Grid) MinSize() fyne.Size {
	g.ExtendBaseWidget(g)
	return fyne.NewSize(160, headerHeight+3*rowHeight)
}

// CreateRenderer implements [fyne.Widget].
func (g *Grid) CreateRenderer() fyne.WidgetRenderer {
	return &renderer{g: g, objects: []fyne.CanvasObject{g.raster, g.vbar, g.hbar, g.bubble}}
}

type renderer struct {
	g       *Grid
	objects []fyne.CanvasObject
}

func (r *renderer) Layout(size fyne.Size) {
	g := r.g
	body := fyne.NewSize(max(size.Width-barSize, 0), max(size.Height-barSize, 0))
	if float32(g.contentWidth()) <= body.Width*g.scale {
		body.Height = size.Height
		g.hbar.Hide()
	} else {
		g.hbar.Show()
	}
	g.raster.Move(fyne.NewPos(0, 0))
	g.raster.Resize(body)
	g.vbar.Move(fyne.NewPos(body.Width, headerHeight))
	g.vbar.Resize(fyne.NewSize(barSize, max(body.Height-headerHeight, 0)))
	g.hbar.Move(fyne.NewPos(0, body.Height))
	g.hbar.Resize(fyne.NewSize(body.Width, barSize))
	g.placeBars()
}

func (r *renderer) MinSize() fyne.Size           { return r.g.MinSize() }
func (r *renderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *renderer) Destroy()                     {}
func (r *renderer) Refresh() {
	r.Layout(r.g.Size())
	r.g.raster.Refresh()
}

var (
	_ fyne.Focusable      = (*Grid)(nil)
	_ fyne.Scrollable     = (*Grid)(nil)
	_ fyne.Draggable      = (*Grid)(nil)
	_ fyne.DoubleTappable = (*Grid)(nil)
	_ fyne.Shortcutable   = (*Grid)(nil)
	_ desktop.Mouseable   = (*Grid)(nil)
	_ desktop.Hoverable   = (*Grid)(nil)
	_ desktop.Cursorable  = (*Grid)(nil)
	_ desktop.Keyable     = (*Grid)(nil)
)
