package timeline

import (
	"fmt"
	"image"
	"strconv"
	"sync"
	"sync/atomic"

	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/assets"
	"logparser/ui/grid"
)

func testFonts() *grid.Fonts {
	return grid.NewFonts(theme.DefaultTextMonospaceFont().Content(), assets.HanFont)
}

// A fakeSource answers with what was given, as far as it is asked for.
type fakeSource struct {
	lanes       []app.Lane
	spans       map[int][]app.Span
	first, last int64
	runs        []app.TimelineRun

	mu    sync.Mutex
	asked int
	// gate, if not nil, holds answers back until something is sent.
	gate chan struct{}
	// finer is how often there is more detail when it is asked for again.
	finer atomic.Int32
	err   error
}

func (f *fakeSource) Lanes() []app.Lane                { return f.lanes }
func (f *fakeSource) Range() (from, to int64)          { return f.first, f.last }
func (f *fakeSource) TimeDigits() int                  { return 6 }
func (f *fakeSource) Runs() ([]app.TimelineRun, error) { return f.runs, nil }

func (f *fakeSource) Spans(_ []app.Span, lane int, from, to int64, pixels int) ([]app.Span, bool, error) {
	f.mu.Lock()
	f.asked++
	f.mu.Unlock()
	if f.gate != nil {
		<-f.gate
	}
	var out []app.Span
	for _, s := range f.spans[lane] {
		if s.To >= from && s.From <= to {
			out = append(out, s)
		}
	}
	return out, f.finer.Add(-1) >= 0, f.err
}

func (f *fakeSource) times() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// small is two threads: one calls, the other makes many tiny calls.
func small() *fakeSource {
	return &fakeSource{
		last:  1000,
		lanes: []app.Lane{{Thread: 7, Name: "main", Depth: 4, Rows: 8}, {Thread: 9, Depth: 1, Rows: 2000}},
		spans: map[int][]app.Span{
			0: {
				{From: 0, To: 1000, Depth: 0, Calls: 1, FunctionRef: app.FunctionRef{Function: "main"}, Row: 0},
				{From: 100, To: 450, Depth: 1, Calls: 1, FunctionRef: app.FunctionRef{Function: "app::load"}, Row: 1},
				{From: 500, To: 980, Depth: 1, Calls: 1, FunctionRef: app.FunctionRef{Function: "app::Window::paint"}, Row: 4, Open: true},
				{From: 150, To: 160, Depth: 2, Calls: 1, FunctionRef: app.FunctionRef{Function: "read"}, Row: 2},
				{From: 600, To: 900, Depth: 2, Deepest: 3, Calls: 123456, Row: 6},
			},
			1: {{From: 200, To: 800, Depth: 0, Calls: 1, FunctionRef: app.FunctionRef{Function: "worker::loop"}, Row: 9}},
		},
	}
}

// many is a lane of the given depth, each line full of calls that follow each
// other, n in all.
func many(n, depth int) *fakeSource {
	f := &fakeSource{last: int64(n / depth * 100), lanes: []app.Lane{{Thread: 1, Depth: depth}}, spans: map[int][]app.Span{}}
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("namespace::Class%d::method", i)
	}
	list := make([]app.Span, 0, n)
	for d := range depth {
		for i := range n / depth {
			count := int64(1)
			if i%17 == 0 {
				count = 100
			}
			list = append(list, app.Span{From: int64(i) * 100, To: int64(i)*100 + 90, Depth: d, Calls: count, FunctionRef: app.FunctionRef{Function: names[(i*7+d)%len(names)]}, Row: int64(i)})
		}
	}
	f.spans[0] = list
	return f
}

// frameOf lays a source out as the widget does.
func frameOf(src *fakeSource, w, h int, scale float32, p *Palette) *frame {
	f := &frame{palette: p, painter: grid.NewPainter(testFonts()), scale: scale, layout: &laneLayout{}}
	f.gutter, f.ruler = f.px(gutterWidth), f.px(rulerHeight)
	f.axis.setWidth(w - f.gutter)
	f.axis.setBounds(src.first, src.last)
	f.axis.runs = src.runs
	f.layout.setSize(h-f.ruler, f.px(lineHeight), f.px(laneGap))
	f.layout.set(src.lanes)
	r := want(&f.axis, f.layout)
	f.picture = load(bg, src, r.widened(&f.axis))
	return f
}

func (f *frame) image(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	f.draw(img)
	return img
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
