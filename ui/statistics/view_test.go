package statistics

import (
	"flag"
	"image"
	"image/png"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/grid"
	"logparser/ui/hint"
)

var update = flag.Bool("update", false, "write the golden picture anew")

func stat(name string, calls, total, self int64) app.FunctionStat {
	return app.FunctionStat{FunctionRef: app.FunctionRef{Function: name, Module: "m.dll"}, Calls: calls, Timed: calls, Total: total, Self: self,
		NonRecursive: total, Min: 1, P50: 2, P95: 3, P99: 4, Max: 5,
		Durations: []app.Bar{{From: 1e3, To: 2e3, Calls: calls}, {From: 1e6, To: 2e6, Calls: 1}}}
}

func stats() []app.FunctionStat {
	return []app.FunctionStat{stat("app::load", 10, 60e6, 10e6), stat("app::paint, \"fast\"", 2000, 50e6, 30e6), stat("read", 3, 40e6, 40e6)}
}

type rig struct {
	*View
	t     *testing.T
	queue chan func()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	test.NewTempApp(t)
	r := &rig{t: t, queue: make(chan func(), 100)}
	r.View = New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { r.queue <- f })
	w := test.NewTempWindow(t, r.Content)
	w.Resize(fyne.NewSize(1200, 700))
	return r
}

func (r *rig) run() {
	r.t.Helper()
	select {
	case f := <-r.queue:
		f()
	case <-time.After(10 * time.Second):
		r.t.Fatal("nothing was posted")
	}
}

func (r *rig) names() string {
	var list []string
	for i := range r.List.Len() {
		list = append(list, r.List.At(int64(i)).Function)
	}
	return strings.Join(list, " ")
}

func TestTable(t *testing.T) {
	r := newRig(t)
	r.Show(stats(), 6)
	r.run()
	if got := r.names(); got != `app::load app::paint, "fast" read` {
		t.Errorf("by total: %s", got)
	}
	if r.title.Text != "app::load" {
		t.Errorf("the histogram is of %q", r.title.Text)
	}
	r.List.Grid.OnHeader("calls")
	r.run()
	if got := r.names(); got != `app::paint, "fast" app::load read` {
		t.Errorf("by calls: %s", got)
	}
	r.narrow.SetText("APP")
	r.run()
	if got := r.names(); got != `app::paint, "fast" app::load` || !strings.Contains(r.count.Text, "2") || !strings.Contains(r.count.Text, "3") {
		t.Errorf("narrowed: %s, said %q", got, r.count.Text)
	}
	r.FocusNarrow()
	r.narrow.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	if c := fyne.CurrentApp().Driver().CanvasForObject(r.narrow); c.Focused() != fyne.Focusable(r.List.Grid) {
		t.Error("the Down key does not lead to the table")
	}
	var opened string
	r.OnOpen = func(f *app.FunctionStat) { opened = f.Function }
	r.List.Grid.SetCurrent(1)
	r.List.Grid.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if opened != "app::load" {
		t.Errorf("opened %q", opened)
	}
	r.narrow.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	r.run()
	if got := r.List.Len(); got != 3 || r.narrow.Text != "" {
		t.Errorf("after Escape %d functions, text %q", got, r.narrow.Text)
	}
}

// What is saved is what is shown, in its order.
func TestSave(t *testing.T) {
	r := newRig(t)
	r.Show(stats(), 3)
	r.run()
	r.narrow.SetText("app")
	r.run()
	r.List.Turn()
	r.run()
	var saved []app.FunctionStat
	r.OnSave = func(list []app.FunctionStat) { saved = list }
	r.save.OnTapped()
	if len(saved) != 2 || saved[0].Calls != 2000 || saved[1].Function != "app::load" {
		t.Errorf("saved %+v", saved)
	}
}

// Functions none of whose calls has a leave have no times.
func TestUntimed(t *testing.T) {
	r := newRig(t)
	r.Show([]app.FunctionStat{{FunctionRef: app.FunctionRef{Function: "endless"}, Calls: 2}}, 3)
	r.run()
	r.List.Grid.SelectAll()
	var copied string
	r.OnCopy = func(s string) { copied = s }
	r.Copy()
	line := strings.Split(copied, "\n")[1]
	if !strings.HasPrefix(line, "endless\t2\t\t0.0 %\t\t0.0 %\t\t\t") {
		t.Errorf("copied %q", line)
	}
}

func TestScaleIsItsOwnInverse(t *testing.T) {
	bars := []app.Bar{{From: 3, To: 4, Calls: 1}, {From: 7e9, To: 8e9, Calls: 1}}
	s := scaleOf(bars, 1, 1000)
	for x := 1.0; x < 1000; x += 13 {
		if ns := s.at(x); ns > 100 && (s.x(ns) < x-1 || s.x(ns) > x+1) {
			t.Errorf("%v is %d ns, which lies at %v", x, ns, s.x(ns))
		}
	}
	if s.x(3) < 0 || s.x(8e9) > 1000 {
		t.Errorf("bars lie from %v to %v", s.x(3), s.x(8e9))
	}
	var sum int64
	for _, n := range s.columns(bars, 5) {
		sum += n
	}
	if sum != 2 {
		t.Errorf("%d calls in the columns", sum)
	}
	for _, odd := range [][]app.Bar{nil, {{From: 0, To: 1, Calls: 5}}, {{From: 1 << 62, To: 1<<63 - 1, Calls: 1}}} {
		s := scaleOf(odd, 1, 0)
		s.columns(odd, 5)
	}
}

func TestSnapTakesWholeBars(t *testing.T) {
	bars := []app.Bar{{From: 10, To: 20, Calls: 1}, {From: 20, To: 30, Calls: 2}, {From: 50, To: 60, Calls: 4}}
	for _, test := range []struct {
		from, to, low, high, calls int64
		ok                         bool
	}{
		{12, 15, 10, 19, 1, true},
		{19, 20, 10, 29, 3, true},
		{0, 100, 10, 59, 7, true},
		{30, 49, 0, 0, 0, false},
		{29, 50, 20, 59, 6, true},
	} {
		low, high, calls, ok := snap(bars, test.from, test.to)
		if low != test.low || high != test.high || calls != test.calls || ok != test.ok {
			t.Errorf("%d to %d: %d to %d, %d calls, %v", test.from, test.to, low, high, calls, ok)
		}
	}
}

func TestHistogramSelects(t *testing.T) {
	r := newRig(t)
	r.Show(stats(), 6)
	r.run()
	type ranged struct {
		name     string
		from, to int64
	}
	var got []ranged
	r.OnRange = func(f *app.FunctionStat, from, to int64) { got = append(got, ranged{f.Function, from, to}) }
	h := r.histogram
	s := h.scale(int(h.Size().Width))
	drag := func(a, b int64) {
		p, q := fyne.NewPos(sideRoom+float32(s.x(a)), 20), fyne.NewPos(sideRoom+float32(s.x(b)), 20)
		h.MouseDown(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: p}, Button: desktop.MouseButtonPrimary})
		h.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: q}})
		h.MouseUp(nil)
	}
	drag(1.5e6, 1.2e6)
	drag(1.5e3, 1.5e6)
	drag(1e5, 2e5)
	key := func(name fyne.KeyName) { h.TypedKey(&fyne.KeyEvent{Name: name}) }
	key(fyne.KeyRight)
	key(fyne.KeyReturn)
	h.KeyDown(&fyne.KeyEvent{Name: desktop.KeyShiftLeft})
	key(fyne.KeyRight)
	h.KeyUp(&fyne.KeyEvent{Name: desktop.KeyShiftLeft})
	key(fyne.KeyReturn)
	key(fyne.KeyEscape)
	key(fyne.KeyReturn)
	want := []ranged{{"app::load", 1e6, 2e6 - 1}, {"app::load", 1e3, 2e6 - 1}, {"app::load", 1e3, 2e3 - 1}, {"app::load", 1e3, 2e6 - 1}}
	if len(got) != len(want) {
		t.Fatalf("selected %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("selected %v, want %v", got[i], want[i])
		}
	}
}

func TestHistogramPicture(t *testing.T) {
	r := newRig(t)
	h := r.histogram
	var bars []app.Bar
	for i := int64(0); i < 40; i++ {
		from := int64(1000) + i*i*i*300
		bars = append(bars, app.Bar{From: from, To: from + 300, Calls: 1 + (i%7)*(i%5)*100})
	}
	h.SetBars(bars, 6)
	h.some, h.from, h.to = true, 1e5, 2e6
	img := image.NewRGBA(image.Rect(0, 0, 420, 110))
	h.draw(img)
	const path = "testdata/histogram.png"
	if *update {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := png.Encode(f, img); err != nil {
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
	for y := range 110 {
		for x := range 420 {
			r, g, b, _ := want.At(x, y).RGBA()
			if c := img.RGBAAt(x, y); uint32(c.R) != r>>8 || uint32(c.G) != g>>8 || uint32(c.B) != b>>8 {
				t.Fatalf("pixel (%d,%d) is %v, want %v", x, y, c, want.At(x, y))
			}
		}
	}
}

// Numbers are never cut: their columns become as wide as they need, unless the
// user has chosen a width. A mean is worth more digits than a single time.
func TestNumbersAreWhole(t *testing.T) {
	test.NewTempApp(t)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { f() })
	w := test.NewTempWindow(t, v.Content)
	w.Resize(fyne.NewSize(1200, 600))
	done := make(chan struct{})
	arranged := v.List.OnArranged
	v.List.OnArranged = func() { arranged(); close(done) }
	v.Show([]app.FunctionStat{{FunctionRef: app.FunctionRef{Function: "f"}, Calls: 1_094_331_222_111, Timed: 1_094_331_222_111,
		Total: 86_400_000e9, Self: 1e9, NonRecursive: 86_400_000e9, Mean: 13_800, Max: 5e6}}, 3)
	<-done
	w.Canvas().Capture()
	for _, c := range v.List.Grid.Columns() {
		var cell grid.Cell
		c.Cell(&rows.Row{}, &cell)
		if room := int((c.Width - 12) / 7.8); c.Right && len([]rune(string(cell.Text))) > room {
			t.Errorf("%s: %q in a column of %v", c.ID, cell.Text, c.Width)
		}
		if want := "13 \u00b5s"; c.ID == "mean" && string(cell.Text) != want {
			t.Errorf("the mean is %q, want %q", cell.Text, want)
		}
	}
}

// TestComparedComesFirst puts what is compared beside each other where it is seen, and
// takes the user's order again afterwards.
func TestComparedComesFirst(t *testing.T) {
	r := newRig(t)
	order := func() string {
		var ids []string
		for _, c := range r.List.Grid.Columns() {
			if !c.Hidden {
				ids = append(ids, c.ID)
			}
		}
		return strings.Join(ids, " ")
	}
	r.List.Grid.Order([]string{"module", "function"})
	usual := order()
	r.Show(stats(), 6)
	r.run()
	for range 2 {
		r.Compare("all rows")
		r.run()
		r.Compare("another selection")
		r.run()
		if got := order(); !strings.HasPrefix(got, "function calls beforecalls self before change ") {
			t.Errorf("compared: %s", got)
		}
		r.StopComparing()
		r.run()
		if got := order(); got != usual {
			t.Errorf("afterwards: %s, before: %s", got, usual)
		}
	}
}

// Without a mouse the bars are gone through from either end; Shift that was held when the focus went does not count any more.
func TestHistogramKeys(t *testing.T) {
	r := newRig(t)
	r.Show(stats(), 6)
	r.run()
	var got []int64
	r.OnRange = func(_ *app.FunctionStat, from, to int64) { got = append(got, from, to) }
	h := r.histogram
	key := func(names ...fyne.KeyName) {
		for _, name := range names {
			h.TypedKey(&fyne.KeyEvent{Name: name})
		}
	}
	c := fyne.CurrentApp().Driver().CanvasForObject(h)
	c.Focus(h)
	key(fyne.KeyLeft, fyne.KeyReturn) // the last one
	h.KeyDown(&fyne.KeyEvent{Name: desktop.KeyShiftRight})
	c.Unfocus()
	c.Focus(h)
	key(fyne.KeyLeft, fyne.KeyReturn)
	key(fyne.KeyLeft, fyne.KeyEnter) // there is none before it
	if want := []int64{1e6, 2e6 - 1, 1e3, 2e3 - 1, 1e3, 2e3 - 1}; !slices.Equal(got, want) {
		t.Errorf("chosen %v, want %v", got, want)
	}
	got = nil
	h.SetBars(nil, 6)
	if key(fyne.KeyRight, fyne.KeyLeft, fyne.KeyReturn); len(got) > 0 {
		t.Errorf("of no bars %v are chosen", got)
	}
	if h.Cursor() != desktop.CrosshairCursor {
		t.Errorf("the pointer is %v", h.Cursor())
	}
}

// Every column can be sorted by, the greatest number first; what stands above the table says what it is for.
func TestColumnsSort(t *testing.T) {
	r := newRig(t)
	list := stats()
	list[0].Mean, list[1].Mean, list[2].Mean = 2, 1, 3
	list[0].Module, list[1].Module, list[2].Module = "b.dll", "c.dll", "a.dll"
	r.Show(list, 6)
	r.run()
	for _, c := range []struct{ column, want string }{
		{"mean", `read app::load app::paint, "fast"`},
		{"self", `read app::paint, "fast" app::load`},
		{"module", `read app::load app::paint, "fast"`},
		{"calls", `app::paint, "fast" app::load read`},
		{"function", `app::load app::paint, "fast" read`},
	} {
		r.List.Grid.OnHeader(c.column)
		r.run()
		if got := r.names(); got != c.want {
			t.Errorf("by %s: %s, want %s", c.column, got, c.want)
		}
	}
	for _, c := range []struct {
		hint hint.Hint
		want string
	}{
		{r.group.Hint, "What is summed up"}, {r.narrow.Hint, "Only functions whose name or module holds this   /"},
		{r.save.Hint, "What is listed, in its order"}, {r.compare.Hint, "Keeps these numbers beside those"},
	} {
		if got := c.hint(); !strings.HasPrefix(got, c.want) {
			t.Errorf("said %q, want %q", got, c.want)
		}
	}
}
