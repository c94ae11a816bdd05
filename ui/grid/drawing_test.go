package grid

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"fyne.io/fyne/v2/theme"
)

// attr is an attribute of an element, "" for none.
func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// colour is one that a file of vector graphics names.
func colour(s string) color.RGBA {
	v, _ := strconv.ParseUint(strings.TrimPrefix(s, "#"), 16, 24)
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// reference is the name of what a file refers to by url(#name).
func reference(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, "url(#"), ")") }

// replay paints the file of a Drawing, as a program that shows such files does.
func replay(t *testing.T, svg []byte, fonts *Fonts) *image.RGBA {
	t.Helper()
	var img *image.RGBA
	p := NewPainter(fonts)
	hatches := map[string]hatch{}
	clips := map[string]image.Rectangle{}
	down, clipping, patterning := 0, "", ""
	var letters *xml.StartElement
	d := xml.NewDecoder(bytes.NewReader(svg))
	number := func(e xml.StartElement, name string) int {
		n, err := strconv.Atoi(attr(e, name))
		if err != nil {
			t.Fatalf("%s of %v", name, e)
		}
		return n
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return img
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			switch e.Name.Local {
			case "svg":
				img = image.NewRGBA(image.Rect(0, 0, number(e, "width"), number(e, "height")))
				p.Begin(img, 1)
			case "pattern":
				patterning = attr(e, "id")
				hatches[patterning] = hatch{step: number(e, "width")}
			case "path":
				h := hatches[patterning]
				h.colour = colour(attr(e, "fill"))
				hatches[patterning] = h
				if n := strings.Count(attr(e, "d"), "M"); n != h.step {
					t.Errorf("%d pixels in a pattern of %d", n, h.step)
				}
			case "clipPath":
				clipping = attr(e, "id")
			case "g":
				down, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(attr(e, "transform"), "translate(0 "), ")"))
			case "rect":
				r := image.Rect(number(e, "x"), number(e, "y"), number(e, "x")+number(e, "width"), number(e, "y")+number(e, "height"))
				if clipping != "" {
					clips[clipping] = r
					break
				}
				p.Clip(img.Bounds())
				if fill := attr(e, "fill"); strings.HasPrefix(fill, "url") {
					h := hatches[reference(fill)]
					// The pattern lies still in its group.
					for y := r.Min.Y; y < r.Max.Y; y++ {
						for x := r.Min.X; x < r.Max.X; x++ {
							if (x+y)%h.step == 0 {
								p.Fill(x, y+down, x+1, y+down+1, h.colour)
							}
						}
					}
				} else {
					p.Fill(r.Min.X, r.Min.Y+down, r.Max.X, r.Max.Y+down, colour(fill))
				}
			case "text":
				letters = &e
			}
		case xml.CharData:
			if letters == nil {
				continue
			}
			px, _ := strconv.ParseFloat(attr(*letters, "font-size"), 64)
			p.atlas = newAtlas(fonts, px)
			p.Clip(img.Bounds())
			if c := attr(*letters, "clip-path"); c != "" {
				p.Clip(clips[reference(c)].Add(image.Pt(0, down)))
			}
			places := strings.Fields(attr(*letters, "x"))
			if len(places) != utf8.RuneCount(e) {
				t.Fatalf("%d places of %q", len(places), e)
			}
			i := 0
			for _, r := range string(e) {
				x, _ := strconv.Atoi(places[i])
				p.glyphs(string(r), x, number(*letters, "y")+down, colour(attr(*letters, "fill")))
				i++
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "text":
				letters = nil
			case "clipPath":
				clipping = ""
			case "g":
				down = 0
			}
		}
	}
}

// A drawing shows, pixel for pixel, what was painted.
func TestDrawingIsThePicture(t *testing.T) {
	fonts := NewFonts(theme.DefaultTextMonospaceFont().Content())
	for _, scale := range []float32{1, 1.5, 2} {
		p := NewPainter(fonts)
		img := image.NewRGBA(image.Rect(0, 0, 300, 200))
		d := &Drawing{}
		p.Record(d)
		p.Begin(img, scale)
		red, blue, grey := color.RGBA{200, 10, 20, 255}, color.RGBA{0, 0, 255, 255}, color.RGBA{240, 240, 240, 255}
		p.Fill(0, 0, 300, 200, grey)
		p.Clip(image.Rect(20, 20, 250, 150))
		p.Fill(-50, 10, 60, 70, red)
		p.Fill(100, 0, 102, 400, blue)
		p.Fill(9, 9, 3, 3, blue)
		p.Hatch(33, 41, 280, 77, 5, blue)
		p.Hatch(10, 100, 40, 130, 3, red)
		p.Text("a <b> & \"c\" d", 30, 60, 500, blue)
		p.Text("cut at the clip's edge and beyond", 200, 100, 500, red)
		p.Text("too long for its room", 60, 120, 70, blue)
		p.Name("std::vector<int>::push_back(int const&)", 60, 140, 120, red)
		svg := d.SVG(300, 200)
		again := replay(t, svg, fonts)
		for i := range img.Pix {
			if img.Pix[i] != again.Pix[i] {
				x, y := i/4%300, i/4/300
				t.Fatalf("scale %v: pixel (%d,%d) is %v, painted was %v\n%s", scale, x, y, again.RGBAAt(x, y), img.RGBAAt(x, y), svg)
			}
		}
	}
}

// Names out of damaged files are no trouble for who reads the drawing.
func TestDrawingOfAnyText(t *testing.T) {
	fonts := NewFonts(theme.DefaultTextMonospaceFont().Content())
	p, d := NewPainter(fonts), &Drawing{}
	p.Record(d)
	p.Begin(image.NewRGBA(image.Rect(0, 0, 300, 40)), 1)
	p.Text("\x01\xff]]><&\u2028\ufffe", 10, 20, 280, color.RGBA{A: 255})
	replay(t, d.SVG(300, 40), fonts)
}
