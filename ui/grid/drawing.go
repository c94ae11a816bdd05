package grid

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	"strconv"
	"strings"
)

// A Drawing is what a [Painter] has painted, as rectangles and texts of a vector graphic: it is as sharp at any
// size, and its texts can be searched. The zero value is empty.
type Drawing struct {
	body, defs bytes.Buffer
	hatches    map[hatch]int
	clips      map[image.Rectangle]int
}

// A hatch is a pattern of slanted lines.
type hatch struct {
	step   int
	colour color.RGBA
}

// Record has a painter put into d, too, what it paints from now on; nil ends that.
func (p *Painter) Record(d *Drawing) { p.drawing = d }

// Group begins a part of the drawing that lies so many pixels lower than it is painted.
func (d *Drawing) Group(down int) { fmt.Fprintf(&d.body, "<g transform=\"translate(0 %d)\">\n", down) }

// End ends the part that was begun last.
func (d *Drawing) End() { d.body.WriteString("</g>\n") }

// SVG returns the drawing as a file, of so many pixels.
func (d *Drawing) SVG(width, height int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]d\" height=\"%[2]d\" viewBox=\"0 0 %[1]d %[2]d\" shape-rendering=\"crispEdges\">\n", width, height)
	fmt.Fprintf(&b, "<style>text { font-family: \"DejaVu Sans Mono\", Menlo, Consolas, \"Noto Sans Mono CJK SC\", monospace; white-space: pre }</style>\n")
	if d.defs.Len() > 0 {
		fmt.Fprintf(&b, "<defs>\n%s</defs>\n", d.defs.Bytes())
	}
	b.Write(d.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func paint(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func (d *Drawing) rect(r image.Rectangle, fill string) {
	if !r.Empty() {
		fmt.Fprintf(&d.body, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", r.Min.X, r.Min.Y, r.Dx(), r.Dy(), fill)
	}
}

// hatch draws the lines as a pattern of pixels that lies still, as the painter's do.
func (d *Drawing) hatch(r image.Rectangle, step int, c color.RGBA) {
	if r.Empty() {
		return
	}
	key := hatch{step, c}
	n, ok := d.hatches[key]
	if !ok {
		if d.hatches == nil {
			d.hatches = make(map[hatch]int)
		}
		n = len(d.hatches)
		d.hatches[key] = n
		fmt.Fprintf(&d.defs, "<pattern id=\"h%d\" patternUnits=\"userSpaceOnUse\" width=\"%[2]d\" height=\"%[2]d\"><path fill=\"%[3]s\" d=\"", n, step, paint(c))
		for y := range step {
			fmt.Fprintf(&d.defs, "M%d %dh1v1h-1z", (step-y)%step, y)
		}
		d.defs.WriteString("\"/></pattern>\n")
	}
	d.rect(r, fmt.Sprintf("url(#h%d)", n))
}

// text draws letters, each at its place. Those that reach out of the clip are cut.
func (d *Drawing) text(letters string, places []int, y int, px float64, c color.RGBA, extent, clip image.Rectangle) {
	if strings.TrimSpace(letters) == "" || extent.Intersect(clip).Empty() {
		return
	}
	d.body.WriteString("<text x=\"")
	for i, x := range places {
		if i > 0 {
			d.body.WriteByte(' ')
		}
		d.body.WriteString(strconv.Itoa(x))
	}
	fmt.Fprintf(&d.body, "\" y=\"%d\" font-size=\"%g\" fill=\"%s\"", y, px, paint(c))
	if !extent.In(clip) {
		n, ok := d.clips[clip]
		if !ok {
			if d.clips == nil {
				d.clips = make(map[image.Rectangle]int)
			}
			n = len(d.clips)
			d.clips[clip] = n
			fmt.Fprintf(&d.defs, "<clipPath id=\"c%d\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/></clipPath>\n", n, clip.Min.X, clip.Min.Y, clip.Dx(), clip.Dy())
		}
		fmt.Fprintf(&d.body, " clip-path=\"url(#c%d)\"", n)
	}
	d.body.WriteByte('>')
	_ = xml.EscapeText(&d.body, []byte(letters)) // a buffer takes all
	d.body.WriteString("</text>\n")
}
