package grid

import (
	"image"
	"image/draw"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// Fonts are the typefaces of a grid in the order in which a character is
// looked for: a monospace face first, a face with Han characters after it.
// They are parsed when first needed. A Fonts is not safe for concurrent use.
type Fonts struct {
	data  [][]byte
	fonts []*opentype.Font
}

// NewFonts makes a chain of TrueType or OpenType fonts.
func NewFonts(data ...[]byte) *Fonts {
	return &Fonts{data: data, fonts: make([]*opentype.Font, len(data))}
}

// font returns font i, or nil where it cannot be read.
func (f *Fonts) font(i int) *opentype.Font {
	if f.fonts[i] == nil && f.data[i] != nil {
		parsed, err := opentype.Parse(f.data[i])
		if err != nil {
			f.data[i] = nil
			return nil
		}
		f.fonts[i] = parsed
	}
	return f.fonts[i]
}

// A glyph is the picture of one character: coverage, 0 to 255, in w by h
// pixels whose top left corner lies at (dx, dy) from the pen on the baseline.
type glyph struct {
	mask    []uint8
	w, h    int
	dx, dy  int
	advance int
}

// An atlas holds the glyphs of a chain of fonts at one size.
type atlas struct {
	fonts *Fonts
	px    float64
	faces []font.Face
	ascii [128]*glyph
	other map[rune]*glyph
	// ascent and descent are those of the first font, in pixels.
	ascent, descent int
	// advance is the width of a digit.
	advance int
}

func newAtlas(fonts *Fonts, px float64) *atlas {
	a := &atlas{fonts: fonts, px: px, faces: make([]font.Face, len(fonts.data)), other: map[rune]*glyph{}}
	a.ascent, a.descent = int(px), int(px/4)
	if f := a.face(0); f != nil {
		m := f.Metrics()
		a.ascent, a.descent = m.Ascent.Round(), m.Descent.Round()
	}
	a.advance = a.glyph('0').advance
	return a
}

func (a *atlas) face(i int) font.Face {
	if a.faces[i] == nil {
		if f := a.fonts.font(i); f != nil {
			size := a.px
			if i > 0 {
				// Han characters at the size of Latin ones look small beside
				// the wide letters of a monospace face.
				size *= 1.06
			}
			face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
			if err == nil {
				a.faces[i] = face
			}
		}
	}
	return a.faces[i]
}

// glyph returns the picture of a character; one that no font has is shown as
// the replacement character.
func (a *atlas) glyph(r rune) *glyph {
	if r < 128 {
		if g := a.ascii[r]; g != nil {
			return g
		}
	} else if g := a.other[r]; g != nil {
		return g
	}
	g := a.rasterise(r)
	if r < 128 {
		a.ascii[r] = g
	} else {
		// Hostile names may hold every character there is.
		if len(a.other) > 1<<14 {
			clear(a.other)
		}
		a.other[r] = g
	}
	return g
}

func (a *atlas) rasterise(r rune) *glyph {
	if r < ' ' || r == 0x7f {
		r = '\u00b7'
	}
	var buf sfnt.Buffer
	for i := range a.fonts.data {
		f := a.fonts.font(i)
		if f == nil {
			continue
		}
		index, err := f.GlyphIndex(&buf, r)
		if err != nil || index == 0 {
			continue
		}
		face := a.face(i)
		if face == nil {
			continue
		}
		bounds, mask, from, advance, ok := face.Glyph(fixed.Point26_6{}, r)
		if !ok {
			continue
		}
		return trim(bounds, mask, from, advance.Round())
	}
	if r != '\ufffd' && r != '?' {
		if r != '\u00b7' {
			return a.glyph('\ufffd')
		}
		return a.glyph('?')
	}
	return &glyph{advance: max(int(a.px*0.6), 1)}
}

// trim copies the inked part of a face's own mask, which the face reuses.
func trim(bounds image.Rectangle, mask image.Image, from image.Point, advance int) *glyph {
	alpha := image.NewAlpha(image.Rect(0, 0, bounds.Dx(), bounds.Dy()))
	draw.Draw(alpha, alpha.Bounds(), mask, from, draw.Src)
	inked := image.Rectangle{}
	for y := 0; y < bounds.Dy(); y++ {
		for x := 0; x < bounds.Dx(); x++ {
			if alpha.Pix[y*alpha.Stride+x] != 0 {
				inked = inked.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	g := &glyph{w: inked.Dx(), h: inked.Dy(), dx: bounds.Min.X + inked.Min.X, dy: bounds.Min.Y + inked.Min.Y, advance: advance}
	g.mask = make([]uint8, g.w*g.h)
	for y := 0; y < g.h; y++ {
		copy(g.mask[y*g.w:(y+1)*g.w], alpha.Pix[(y+inked.Min.Y)*alpha.Stride+inked.Min.X:])
	}
	return g
}
