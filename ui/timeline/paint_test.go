package timeline

import (
	"bytes"
	"context"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/app"
	"logparser/rows"
)

var update = flag.Bool("update", false, "write the golden pictures anew")

var bg = context.Background()

// golden compares a picture with testdata/name.png, pixel by pixel.
func golden(t *testing.T, name string, got *image.RGBA) {
	t.Helper()
	path := filepath.Join("testdata", name+".png")
	if *update {
		var b bytes.Buffer
		if err := png.Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if want.Bounds() != got.Bounds() {
		t.Fatalf("%s: %v, want %v", name, got.Bounds(), want.Bounds())
	}
	for y := range got.Bounds().Dy() {
		for x := range got.Bounds().Dx() {
			if g, w := got.RGBAAt(x, y), color.RGBAModel.Convert(want.At(x, y)).(color.RGBA); g != w {
				t.Fatalf("%s: pixel (%d,%d) is %v, want %v; see the picture that -update writes", name, x, y, g, w)
			}
		}
	}
}

func TestPictures(t *testing.T) {
	t.Run("light", func(t *testing.T) {
		golden(t, "light", frameOf(small(), 480, 130, 1, &Light).image(480, 130))
	})
	t.Run("dark, chosen, limited, found", func(t *testing.T) {
		f := frameOf(small(), 480, 130, 1, &Dark)
		f.chosen = &place{0, small().spans[0][1]}
		f.hovered = "main"
		f.limited, f.limFrom, f.limTo = true, 90, 700
		f.found = func(name string) bool { return name != "app::load" }
		golden(t, "dark", f.image(480, 130))
	})
	t.Run("twice the pixels", func(t *testing.T) {
		golden(t, "scale2", frameOf(small(), 960, 260, 2, &Light).image(960, 260))
	})
	t.Run("filtered", func(t *testing.T) {
		src := small()
		src.spans[0][1].Limited, src.spans[0][3].Limited = true, true
		src.spans[0][4].Limited, src.spans[0][4].Shown = true, 123
		golden(t, "filtered", frameOf(src, 480, 130, 1, &Light).image(480, 130))
	})
	t.Run("annotations", func(t *testing.T) {
		f := frameOf(small(), 480, 130, 1, &Light)
		f.annotations = map[rows.Track][]rows.Annotation{7: {{Elapsed: 300}, {Elapsed: 690}, {Elapsed: 692}, {Elapsed: 720}}, 9: {{Elapsed: 500}}}
		f.pin = &pin{1, &rows.Annotation{Elapsed: 500}}
		golden(t, "annotations", f.image(480, 130))
	})
	t.Run("hits", func(t *testing.T) {
		f := frameOf(small(), 480, 130, 1, &Light)
		f.hits = map[rows.Track][]int64{7: {300, 690, 692, 720}, 9: {500}}
		img := f.image(480, 130)
		for track, times := range f.hits {
			for i := range f.layout.lanes {
				if l := &f.layout.lanes[i]; l.Track() == track {
					for _, at := range times {
						x, y := f.gutter+int(math.Round(f.axis.x(at))), f.ruler+l.y-f.layout.offset+1
						if got := img.RGBAAt(x, y); got != f.palette.Hit && at != 692 {
							t.Errorf("at %d of thread %d stands %v", at, track, got)
						}
					}
				}
			}
		}
	})
	t.Run("two runs", func(t *testing.T) {
		golden(t, "runs", frameOf(twoRuns(), 480, 130, 1, &Light).image(480, 130))
	})
	t.Run("folded and zoomed", func(t *testing.T) {
		src := small()
		f := frameOf(src, 480, 130, 1, &Light)
		f.layout.fold(1)
		f.layout.resize(0, 2)
		f.layout.scrollLane(0, 1)
		f.axis.fit(140, 180)
		golden(t, "zoomed", f.image(480, 130))
	})
}

// A box is drawn where the arithmetic says, to the pixel, at any scale.
func TestBoxesLieWhereTheirTimesSay(t *testing.T) {
	for _, scale := range []float32{1, 1.25, 1.5, 2, 3} {
		w, h := int(900*scale), int(200*scale)
		src := small()
		f := frameOf(src, w, h, scale, &Light)
		img := f.image(w, h)
		for _, s := range f.picture.spans[0] {
			if s.Calls > 1 || s.Open {
				continue
			}
			y, ok := f.layout.y(0, s.Depth)
			if !ok {
				t.Fatalf("depth %d is not shown", s.Depth)
			}
			y += f.ruler + 1 // above the letters
			x0 := f.gutter + int(math.Round(f.axis.x(s.From)))
			x1 := max(f.gutter+int(math.Round(f.axis.x(s.To))), x0+f.px(minBox))
			fill := f.palette.box(colourOf(s.Function))
			if got := img.RGBAAt(x0, y); got != fill {
				t.Errorf("scale %v: %s begins with %v, want %v", scale, s.Function, got, fill)
			}
			if got := img.RGBAAt(x0-1, y); got == fill {
				t.Errorf("scale %v: %s begins too early", scale, s.Function)
			}
			if got := img.RGBAAt(x1+1, y); got == fill {
				t.Errorf("scale %v: %s ends too late", scale, s.Function)
			}
		}
	}
}

// However many boxes the source answers with, no more are drawn than there are
// pixels.
func TestDrawsNoMoreBoxesThanPixels(t *testing.T) {
	const w, h, depth = 800, 300, 8
	f := frameOf(many(400_000, depth), w, h, 1, &Light)
	f.image(w, h)
	if most := (w - f.gutter) * depth / minBox; f.drawn > most || f.drawn < most/2 {
		t.Errorf("%d boxes drawn, expected up to %d", f.drawn, most)
	}
}

// The drawing of one frame: 51 lines full of the narrowest boxes, and of boxes
// just wide enough for text.
func BenchmarkFrame(b *testing.B) {
	const w, h, depth = 1400, 900, 51
	for _, bench := range []struct {
		name string
		n    int
	}{
		{"narrowest", depth * (w - gutterWidth) / minBox},
		{"named", depth * (w - gutterWidth) / 40},
		{"million", 1_000_000},
	} {
		b.Run(bench.name, func(b *testing.B) {
			src := many(bench.n, depth)
			f := frameOf(src, w, h, 1, &Light)
			f.layout.resize(0, depth)
			img := image.NewRGBA(image.Rect(0, 0, w, h))
			b.ReportAllocs()
			f.drawn = 0
			for b.Loop() {
				f.draw(img)
			}
			b.ReportMetric(float64(f.drawn)/float64(b.N), "boxes/frame")
		})
	}
}

// What is left out of an answer would not have been seen.
func TestThin(t *testing.T) {
	list := []app.Span{
		{From: 0, To: 1}, {From: 2, To: 3}, {From: 4, To: 5, Depth: 1}, {From: 5, To: 500}, {From: 499, To: 500}, {From: 500, To: 501},
		{From: 6, To: 7, Depth: 1}, {From: 0, To: 9, Depth: -1}, {From: 0, To: 9, Depth: maxDepth + 1},
	}
	var got []int64
	for _, s := range thin(list, 10) {
		got = append(got, s.From)
	}
	if want := []int64{0, 4, 5, 500}; !slices.Equal(got, want) {
		t.Errorf("kept those that begin at %v, want %v", got, want)
	}
}

// Hostile answers do not disturb.
func TestOddSpans(t *testing.T) {
	src := small()
	src.spans[0] = []app.Span{
		{From: math.MinInt64, To: math.MaxInt64, Depth: 0, Calls: 1, FunctionRef: app.FunctionRef{Function: "x"}, Row: -1},
		{From: 500, To: 400, Depth: 1, Calls: 1, FunctionRef: app.FunctionRef{Function: "backward"}},
		{From: 0, To: 10, Depth: -1, Calls: 1},
		{From: 0, To: 10, Depth: 1 << 30, Calls: 1},
		{From: 600, To: 700, Depth: 2, Calls: math.MaxInt64, FunctionRef: app.FunctionRef{Function: "\xff\xfe\u4e2d\u6587"}},
	}
	f := frameOf(src, 300, 90, 1, &Light)
	f.picture.spans[0] = src.spans[0]
	f.image(300, 90)
	f = frameOf(src, 3, 2, 1, &Light)
	f.image(3, 2)
}
