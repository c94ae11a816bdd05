package grid

import (
	"encoding/binary"
	"image"
	"image/color"
	"math"
	"unicode/utf8"

	"logparser/ui/shortname"
)

// A Painter draws rectangles and text into an image with the grid's glyphs,
// for other widgets that are one picture. Lengths are device pixels. It is not
// safe for concurrent use.
type Painter struct {
	pen   pen
	fonts *Fonts
	atlas *atlas
	// drawing gets what is painted, too; nil for none.
	drawing *Drawing
}

// NewPainter makes a painter; [Painter.Begin] says what it paints.
func NewPainter(fonts *Fonts) *Painter { return &Painter{fonts: fonts} }

// Begin paints an image from now on, with text of the grid's size at a scale
// in device pixels for each device-independent one.
func (p *Painter) Begin(img *image.RGBA, scale float32) {
	if px := math.Round(float64(textSize*scale)*4) / 4; p.atlas == nil || p.atlas.px != px {
		p.atlas = newAtlas(p.fonts, px)
	}
	p.pen = pen{img: img, clip: img.Bounds()}
}

// Clip limits what is painted to a rectangle.
func (p *Painter) Clip(r image.Rectangle) { p.pen.clip = r.Intersect(p.pen.img.Bounds()) }

// Fill paints a rectangle; one whose corners are the wrong way round is empty.
func (p *Painter) Fill(x0, y0, x1, y1 int, c color.RGBA) {
	if p.drawing != nil {
		p.drawing.rect(box(x0, y0, x1, y1).Intersect(p.pen.clip), paint(c))
	}
	if x1-x0 > narrow {
		p.pen.fill(box(x0, y0, x1, y1), c)
		return
	}
	r := p.pen.clip
	x0, y0, x1, y1 = max(x0, r.Min.X), max(y0, r.Min.Y), min(x1, r.Max.X), min(y1, r.Max.Y)
	if x0 >= x1 || y0 >= y1 {
		return
	}
	// Pictures of many calls are made of thousands of such.
	img := p.pen.img
	v := uint32(c.R) | uint32(c.G)<<8 | uint32(c.B)<<16 | uint32(c.A)<<24
	for at, n := img.PixOffset(x0, y0), y1-y0; n > 0; n-- {
		for d := img.Pix[at : at+4*(x1-x0)]; len(d) >= 4; d = d[4:] {
			binary.LittleEndian.PutUint32(d, v)
		}
		at += img.Stride
	}
}

// narrow is up to how many pixels it is quicker to set each.
const narrow = 4

// Ascent and Descent are those of the text.
func (p *Painter) Ascent() int  { return p.atlas.ascent }
func (p *Painter) Descent() int { return p.atlas.descent }

// Width returns how wide a text is painted.
func (p *Painter) Width(text string) int {
	w := 0
	for _, r := range text {
		w += p.atlas.glyph(r).advance
	}
	return w
}

// Text paints a text with its baseline at y, at most up to room pixels: of one
// that is longer the end is replaced by an ellipsis, and where not even a
// letter fits beside that, nothing is painted.
func (p *Painter) Text(text string, x, y, room int, c color.RGBA) {
	dots := p.atlas.glyph('\u2026')
	width, fits := 0, 0
	for i, r := range text {
		w := p.atlas.glyph(r).advance
		if width+w > room {
			if fits == 0 {
				return
			}
			text = text[:fits]
			p.glyphs(text+string('\u2026'), x, y, c)
			return
		}
		width += w
		if width+dots.advance <= room {
			fits = i + utf8.RuneLen(r)
			if r == utf8.RuneError {
				_, n := utf8.DecodeRuneInString(text[i:])
				fits = i + n
			}
		}
	}
	p.glyphs(text, x, y, c)
}

// Name is Text for the name of a function: one that is too long is shortened as package
// shortname does, unless there is hardly any room.
func (p *Painter) Name(name string, x, y, room int, c color.RGBA) {
	whole := name
	if name = shortname.Show(whole); room >= leastName*p.atlas.glyph('0').advance && p.Width(name) > room {
		name = shortname.Fit(whole, func(s string) bool { return p.Width(s) <= room })
	}
	p.Text(name, x, y, room, c)
}

// leastName is the number of letters below which the beginning of a name says more.
const leastName = 6

func (p *Painter) glyphs(text string, x, y int, c color.RGBA) {
	var places []int
	var extent image.Rectangle
	for _, r := range text {
		g := p.atlas.glyph(r)
		p.pen.glyph(g, x, y, c)
		if p.drawing != nil {
			places = append(places, x)
			extent = extent.Union(image.Rect(x+g.dx, y+g.dy, x+g.dx+g.w, y+g.dy+g.h))
		}
		x += g.advance
	}
	if p.drawing != nil {
		p.drawing.text(text, places, y, p.atlas.px, c, extent, p.pen.clip)
	}
}

// Hatch paints slanted lines, a pixel wide and step pixels apart, over a
// rectangle. They lie the same way wherever the rectangle begins.
func (p *Painter) Hatch(x0, y0, x1, y1, step int, c color.RGBA) {
	r := box(x0, y0, x1, y1).Intersect(p.pen.clip)
	step = max(step, 1)
	if p.drawing != nil {
		p.drawing.hatch(r, step, c)
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		line := p.pen.img.Pix[p.pen.img.PixOffset(r.Min.X, y):]
		for x := (step - (r.Min.X+y)%step) % step; x < r.Dx(); x += step {
			d := line[4*x : 4*x+4 : 4*x+4]
			d[0], d[1], d[2], d[3] = c.R, c.G, c.B, c.A
		}
	}
}
