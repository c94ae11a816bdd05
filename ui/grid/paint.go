package grid

import (
	"image"
	"image/color"
	"strconv"
	"unicode/utf8"

	"logparser/rows"
	"logparser/ui/shortname"
)

// swatchWidth is how wide a colour beside a cell is, in device-independent pixels.
const swatchWidth = 4

// A placed column is a column with its place on the screen, in pixels from
// the left edge of the whole (unscrolled) row.
type placed struct {
	*Column
	x, w int
}

// A frame is everything that one redraw needs, in device pixels.
type frame struct {
	palette *Palette
	atlas   *atlas
	scale   float32
	header  int // its height
	view    viewport
	columns []placed
	xoff    int // pixels hidden to the left
	rows    []rows.Row
	first   int64 // number of rows[0] within the source
	sel     selection
	focused bool
	// partner is the Index of the row that belongs to the selected one, -1
	// for none.
	partner int64
	find    Finder
	// decor has an element for each row.
	decor []Decor
	label func(column string, r *rows.Row) int
}

// A Finder returns the first place in a text that is to be marked; start is -1
// where there is none.
type Finder func(text []byte) (start, end int)

const (
	cellPad   = 6   // left and right of a cell's text, in device-independent pixels
	foldWidth = 14  // the room for the mark that folds
	indent    = 12  // for each level
	maxIndent = 0.4 // of a cell's width
	maxTail   = 0.4
)

// TextWidth returns the width of a cell of n Latin letters, in
// device-independent pixels.
func TextWidth(n int) float32 {
	// DejaVu Sans Mono's letters are 0.602 of their size wide, and whole
	// pixels are drawn.
	return float32(n)*(textSize*0.602+0.5) + 2*cellPad
}

// draw paints the frame. Nothing outside the image is touched.
func (f *frame) draw(img *image.RGBA) {
	p := pen{img: img, clip: img.Bounds()}
	p.fill(img.Bounds(), f.palette.Background)
	var cell Cell
	for i := range f.rows {
		f.drawRow(&p, i, &cell)
	}
	f.drawHeader(&p)
}

func (f *frame) px(dip float32) int { return int(dip*f.scale + 0.5) }

func (f *frame) drawRow(p *pen, i int, cell *Cell) {
	row, n := &f.rows[i], f.first+int64(i)
	width := p.img.Bounds().Dx()
	y := f.header + f.view.rowY(n)
	line := box(0, y, width, y+f.view.rowH)
	p.clip = box(0, f.header, width, f.header+f.view.height)

	back := f.palette.Background
	switch {
	case f.sel.has(n) && f.focused:
		back = f.palette.Selected
	case f.sel.has(n):
		back = f.palette.SelectedIdle
	case row.Index == f.partner:
		back = f.palette.Partner
	case n&1 == 1:
		back = f.palette.Stripe
	}
	if back != f.palette.Background {
		p.fill(line, back)
	}
	if f.sel.some && f.sel.current == n && f.focused {
		p.fill(box(0, y, f.px(3), y+f.view.rowH), f.palette.Cursor)
	}

	decor := &Decor{}
	if i < len(f.decor) {
		decor = &f.decor[i]
	}
	if decor.Bookmark {
		p.fill(box(0, y+f.px(4), f.px(5), y+f.view.rowH-f.px(4)), f.palette.Bookmark)
	}

	base := y + (f.view.rowH+f.atlas.ascent-f.atlas.descent+1)/2
	pad := f.px(cellPad)
	for k := range f.columns {
		c := &f.columns[k]
		x := c.x - f.xoff
		if x >= width {
			break
		}
		if x+c.w <= 0 {
			continue
		}
		left, right := x+pad, x+c.w-pad
		if row.Index == Waiting {
			p.fill(box(left, base-f.px(4), left+(right-left)/3, base-f.px(2)), f.palette.Guide)
			continue
		}
		*cell = Cell{Text: cell.Text[:0], Tail: cell.Tail[:0], Decor: decor}
		c.Cell(row, cell)
		if f.label != nil {
			if n := f.label(c.ID, row); n > 0 && n <= Labels {
				p.fill(box(x+1, y, x+c.w-1, y+f.view.rowH), f.palette.Labels[n-1])
			}
		}
		if cell.Swatch > 0 && cell.Swatch <= Swatches {
			p.fill(box(x+1, y+1, x+1+f.px(swatchWidth), y+f.view.rowH-1), f.palette.Swatches[cell.Swatch-1])
		}
		if cell.Bar > 0 {
			end := left + int(min(cell.Bar, 1)*float32(right-left)+0.5)
			p.fill(box(left, y+f.px(3), max(end, left+1), y+f.view.rowH-f.px(3)), f.palette.Bar)
		}
		if cell.Level > 0 {
			left = f.guides(p, cell.Level, left, right, base, y)
			p.clip = box(0, f.header, width, f.header+f.view.height)
		}
		if c.Tree {
			f.foldMark(p, decor.Fold, left, right, base)
			left += f.px(foldWidth)
		}
		p.clip = box(left, f.header, right, f.header+f.view.height)
		if cell.Sign != 0 {
			g := f.atlas.glyph(cell.Sign)
			p.glyph(g, left, base, f.palette.Inks[cell.SignInk])
			left += g.advance + f.px(4)
		}
		if cell.Name {
			cell.Text = f.fitName(cell.Text, cell.Tail, right-left)
		}
		end := f.text(p, cell.Text, left, right, base, c.Right, c.KeepEnd, f.palette.Inks[cell.Ink])
		if len(cell.Tail) > 0 {
			f.text(p, cell.Tail, end+f.px(8), right, base, false, false, f.palette.Inks[Accent])
		}
		p.clip = box(0, f.header, width, f.header+f.view.height)
	}
}

// guides draws a faint line for each level and returns where the text begins. Of levels
// that would take more than their share of the column the number is written instead.
func (f *frame) guides(p *pen, n, left, right, base, y int) int {
	step := f.px(indent)
	shown, width := indentation(f.atlas, n, step, right-left)
	for i := range shown {
		x := left + i*step + step/3
		p.fill(box(x, y, x+1, y+f.view.rowH), f.palette.Guide)
	}
	if shown < n {
		p.clip = box(left, f.header, right, f.header+f.view.height)
		x := left + shown*step
		for _, digit := range strconv.Itoa(n) {
			g := f.atlas.glyph(digit)
			p.glyph(g, x, base, f.palette.Inks[Dim])
			x += g.advance
		}
	}
	return left + width
}

// indentation returns how many of n levels are drawn as steps in a cell with that much
// room, and how far the text is indented. Where not all are drawn that includes their
// number, and a blank behind it.
func indentation(a *atlas, n, step, room int) (shown, width int) {
	most := int(float32(room) * maxIndent)
	if n*step <= most {
		return n, n * step
	}
	number := (len(strconv.Itoa(n)) + 1) * a.glyph('0').advance
	shown = max((most-number)/step, 0)
	return shown, shown*step + number
}

// The marks of an open and of a folded call.
const (
	openMark   = '\u25bc'
	closedMark = '\u25b6'
)

func (f *frame) foldMark(p *pen, fold Fold, left, right, base int) {
	if fold == NoFold {
		return
	}
	mark, ink := openMark, f.palette.Inks[Dim]
	if fold == FoldClosed {
		mark, ink = closedMark, f.palette.Inks[Accent]
	}
	p.clip = box(left, f.header, right, f.header+f.view.height)
	p.glyph(f.atlas.glyph(mark), left, base, ink)
}

func (f *frame) drawHeader(p *pen) {
	width := p.img.Bounds().Dx()
	p.clip = box(0, 0, width, f.header)
	p.fill(p.clip, f.palette.Header)
	p.fill(box(0, f.header-1, width, f.header), f.palette.Line)
	base := (f.header + f.atlas.ascent - f.atlas.descent + 1) / 2
	pad := f.px(cellPad)
	for k := range f.columns {
		c := &f.columns[k]
		x := c.x - f.xoff
		p.clip = box(x+pad, 0, x+c.w-pad, f.header)
		f.text(p, []byte(c.Title), x+pad, x+c.w-pad, base, c.Right, false, f.palette.HeaderText)
		p.clip = box(0, 0, width, f.header)
		p.fill(box(x+c.w-1, f.px(4), x+c.w, f.header-f.px(4)), f.palette.Line)
	}
}

// fitName shortens a name for the room that there is beside what stands behind it, which
// may take a part of it.
func (f *frame) fitName(name, tail []byte, room int) []byte {
	if len(tail) > 0 {
		room -= min(f.width(tail)+f.px(8), int(float32(room)*maxTail))
	}
	if shortname.AsTheyAre() && f.width(name) <= room {
		return name
	}
	whole := string(name)
	if name = append(name[:0], shortname.Show(whole)...); f.width(name) <= room {
		return name
	}
	return append(name[:0], shortname.Fit(whole, func(s string) bool { return f.width([]byte(s)) <= room })...)
}

// width returns how wide a text is drawn.
func (f *frame) width(text []byte) int {
	w := 0
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		w += f.atlas.glyph(r).advance
	}
	return w
}

// text draws a text between left and right, shortened to fit, and returns
// where it ends.
func (f *frame) text(p *pen, text []byte, left, right, base int, alignRight, keepEnd bool, ink color.RGBA) int {
	room := right - left
	if room <= 0 || len(text) == 0 {
		return left
	}
	from, to, width := 0, len(text), 0
	const ellipsis = '\u2026'
	cutStart, cutEnd := false, false
	dots := f.atlas.glyph(ellipsis).advance
	if keepEnd {
		// The last position from which the rest fits beside the dots is
		// remembered in case not all fits.
		fits, fitsWidth := len(text), 0
		for i := len(text); i > 0; {
			r, n := utf8.DecodeLastRune(text[:i])
			i -= n
			width += f.atlas.glyph(r).advance
			if width <= room-dots {
				fits, fitsWidth = i, width
			}
			if width > room {
				from, width, cutStart = fits, fitsWidth+dots, true
				break
			}
		}
	} else {
		fits, fitsWidth := 0, 0
		for i := 0; i < len(text); {
			r, n := utf8.DecodeRune(text[i:])
			i += n
			width += f.atlas.glyph(r).advance
			if width <= room-dots {
				fits, fitsWidth = i, width
			}
			if width > room {
				to, width, cutEnd = fits, fitsWidth+dots, true
				break
			}
		}
	}
	x := left
	if alignRight {
		x = right - width
	}
	if cutStart {
		p.glyph(f.atlas.glyph(ellipsis), x, base, ink)
		x += dots
	}
	shown := text[from:to]
	if f.find != nil {
		f.matches(p, shown, x, base)
	}
	for len(shown) > 0 {
		r, n := rune(shown[0]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(shown)
		}
		shown = shown[n:]
		g := f.atlas.glyph(r)
		p.glyph(g, x, base, ink)
		x += g.advance
	}
	if cutEnd {
		p.glyph(f.atlas.glyph(ellipsis), x, base, ink)
		x += dots
	}
	return x
}

// matches marks what was searched for.
func (f *frame) matches(p *pen, text []byte, x, base int) {
	for len(text) > 0 {
		start, end := f.find(text)
		if start < 0 || end > len(text) || end <= start {
			return
		}
		x += f.width(text[:start])
		w := f.width(text[start:end])
		p.fill(box(x, base-f.atlas.ascent, x+w, base+f.atlas.descent), f.palette.Match)
		x, text = x+w, text[end:]
	}
}

// A pen draws into an image, within a clip rectangle.
type pen struct {
	img  *image.RGBA
	clip image.Rectangle
}

// box is image.Rect without its swapping of corners: a column narrower than
// its padding has no room, not a negative one.
func box(x0, y0, x1, y1 int) image.Rectangle {
	return image.Rectangle{Min: image.Point{X: x0, Y: y0}, Max: image.Point{X: x1, Y: y1}}
}

func (p *pen) fill(r image.Rectangle, c color.RGBA) {
	r = r.Intersect(p.clip).Intersect(p.img.Bounds())
	if r.Empty() {
		return
	}
	first := p.img.Pix[p.img.PixOffset(r.Min.X, r.Min.Y):][:4*r.Dx()]
	first[0], first[1], first[2], first[3] = c.R, c.G, c.B, c.A
	for n := 4; n < len(first); n *= 2 {
		copy(first[n:], first[:n])
	}
	for y := r.Min.Y + 1; y < r.Max.Y; y++ {
		copy(p.img.Pix[p.img.PixOffset(r.Min.X, y):], first)
	}
}

// glyph draws a glyph with its pen position at x on the baseline.
func (p *pen) glyph(g *glyph, x, base int, c color.RGBA) {
	x0, y0 := x+g.dx, base+g.dy
	r := image.Rect(x0, y0, x0+g.w, y0+g.h).Intersect(p.clip).Intersect(p.img.Bounds())
	if r.Empty() {
		return
	}
	cr, cg, cb := uint32(c.R), uint32(c.G), uint32(c.B)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		mask := g.mask[(y-y0)*g.w+r.Min.X-x0:][:r.Dx()]
		dst := p.img.Pix[p.img.PixOffset(r.Min.X, y):][:4*len(mask)]
		for i, m := range mask {
			if m == 0 {
				continue
			}
			d := dst[4*i : 4*i+3 : 4*i+3]
			if m == 0xff {
				d[0], d[1], d[2] = c.R, c.G, c.B
				continue
			}
			// a is 0 to 256, so that dividing by 256 keeps white white.
			a := uint32(m) + uint32(m>>7)
			d[0] = uint8((cr*a + uint32(d[0])*(256-a)) >> 8)
			d[1] = uint8((cg*a + uint32(d[1])*(256-a)) >> 8)
			d[2] = uint8((cb*a + uint32(d[2])*(256-a)) >> 8)
		}
	}
}
