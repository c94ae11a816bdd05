package timeline

import (
	"image/color"
	"math"
	"testing"
)

// luminance is that of WCAG 2.
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestEveryNameCanBeRead(t *testing.T) {
	for name, p := range map[string]*Palette{"light": &Light, "dark": &Dark} {
		for i, c := range append(p.Boxes[:], p.Several) {
			if got := contrast(c, p.Text); got < 4.5 {
				t.Errorf("%s: text on colour %d has a contrast of %.1f", name, i, got)
			}
		}
		for what, pair := range map[string][2]color.RGBA{
			"ruler": {p.Ruler, p.RulerText}, "gutter": {p.Gutter, p.GutterText}, "about a lane": {p.Gutter, p.Dim}, "not found": {p.Faint, p.Dim},
		} {
			if got := contrast(pair[0], pair[1]); got < 4 {
				t.Errorf("%s: %s has a contrast of %.1f", name, what, got)
			}
		}
		for i, c := range p.Boxes {
			if got := contrast(c, p.Background); got < 1.2 {
				t.Errorf("%s: colour %d has a contrast of %.2f with the ground", name, i, got)
			}
		}
	}
}

// simulate shows a colour as people see it who lack the cones for red or for
// green (Vi\u00e9not, Brettel and Mollon 1999, without gamma).
func simulate(c color.RGBA, red bool) [3]float64 {
	r, g, b := float64(c.R), float64(c.G), float64(c.B)
	if red {
		return [3]float64{0.112*r + 0.888*g, 0.112*r + 0.888*g, 0.004*r - 0.004*g + b}
	}
	return [3]float64{0.293*r + 0.707*g, 0.293*r + 0.707*g, -0.021*r + 0.021*g + b}
}

// The first eight colours are the hues, which nobody must mistake for each other.
func TestHuesStayApart(t *testing.T) {
	for name, p := range map[string]*Palette{"light": &Light, "dark": &Dark} {
		for _, red := range []bool{true, false} {
			for i := range 8 {
				for k := range i {
					a, b := simulate(p.Boxes[i], red), simulate(p.Boxes[k], red)
					d := math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
					if d < 40 {
						t.Errorf("%s, red %v: colours %d and %d are %.0f apart", name, red, k, i, d)
					}
				}
			}
		}
	}
}

// Colours are part of what people remember of a log.
func TestColoursAreStable(t *testing.T) {
	for name, want := range map[string]uint8{"": several, "main": 4} {
		if got := colourOf(name); got != want {
			t.Errorf("%q has colour %d, want %d", name, got, want)
		}
	}
	var used [boxes]int
	for _, f := range many(10_000, 1).spans[0] {
		used[colourOf(f.Function)]++
	}
	for i, n := range used {
		if n < 10_000/boxes/4 {
			t.Errorf("colour %d is given to %d of 10,000 calls of 200 functions", i, n)
		}
	}
}
