package grid

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/rows"
)

// numbered is a source of n rows that says what was read of it.
type numbered struct {
	n     int64
	reads []string
}

func (s *numbered) Len() int64 { return s.n }

func (s *numbered) Read(dst []rows.Row, from int64) (int, error) {
	s.reads = append(s.reads, fmt.Sprintf("%d+%d", from, len(dst)))
	for i := range dst {
		if from+int64(i) >= s.n {
			return i, io.EOF
		}
		dst[i] = sample(from + int64(i))
	}
	return len(dst), nil
}

func sample(i int64) rows.Row {
	return rows.Row{
		Index: i, Thread: uint32(1000 + i%3), Depth: int(i % 7), Duration: i,
		Function: "app::Shape::area", Module: "sample.exe", Source: "/src/app/shape.cpp",
		Line: int(i % 500), Address: 0x140001000 + uint64(i), Symbols: "matched",
	}
}

func columns(n int) []Column {
	all := []Column{
		{ID: "index", Title: "#", Width: 110, MinWidth: 40, Right: true, Cell: func(r *rows.Row, c *Cell) { c.Text = fmt.Appendf(c.Text, "%d", r.Index) }},
		{ID: "function", Title: "Function", Width: 260, MinWidth: 40, Grow: true, Cell: func(r *rows.Row, c *Cell) {
			c.Level, c.Sign, c.SignInk = r.Depth, '\u25b8', Enter
			c.Text = append(c.Text, r.Function...)
		}},
	}
	for i := len(all); i < n; i++ {
		all = append(all, Column{ID: fmt.Sprint("c", i), Title: "Source", Width: 130, MinWidth: 40, KeepEnd: i%2 == 0, Cell: func(r *rows.Row, c *Cell) {
			c.Ink = Dim
			c.Text = append(append(c.Text, r.Source...), ':')
			c.Text = fmt.Appendf(c.Text, "%d", r.Line)
		}})
	}
	return all
}

func fonts() *Fonts { return NewFonts(theme.DefaultTextMonospaceFont().Content()) }

func window(t *testing.T, src Source) (*Grid, fyne.Window) {
	test.NewTempApp(t)
	g := New(columns(4), fonts(), &Light)
	w := test.NewTempWindow(t, g)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(900, headerHeight+30*rowHeight))
	g.SetSource(src)
	return g, w
}

// Invariant 4.
func TestRedrawReadsVisibleRowsOnce(t *testing.T) {
	src := &numbered{n: 1_000_000}
	g, w := window(t, src)
	src.reads = nil
	g.view.scrollTo(500)
	w.Canvas().Capture()
	if got := strings.Join(src.reads, " "); got != "500+30" {
		t.Errorf("reads %q, want 500+30 once", got)
	}
}

// Invariant 5.
func TestLastOfABillionRows(t *testing.T) {
	src := &numbered{n: 1_000_000_000}
	g, w := window(t, src)
	var told int64
	g.OnSelected = func(row int64) { told = row }
	w.Canvas().Focus(g)
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEnd})
	src.reads = nil
	picture := w.Canvas().Capture()
	if got := strings.Join(src.reads, " "); got != "999999970+30" {
		t.Errorf("reads %q", got)
	}
	if told != 999_999_999 || g.Current() != told {
		t.Fatalf("End selects row %d, tells %d", g.Current(), told)
	}
	if !hasColour(picture, image.Rect(0, headerHeight+29*rowHeight, 900, headerHeight+30*rowHeight), Light.Selected) {
		t.Error("the last row is not drawn as selected")
	}

	g.SetCurrent(0)
	g.TypedShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyEnd, Modifier: fyne.KeyModifierControl})
	if g.Current() != 999_999_999 {
		t.Errorf("Ctrl+End selects row %d", g.Current())
	}
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyUp})
	press(g, 200, headerHeight+29*rowHeight+5, 0)
	if g.Current() != 999_999_999 {
		t.Errorf("a click on the last line selects row %d", g.Current())
	}
}

// late is a source whose rows are not at hand yet.
type late struct{ numbered }

func (s *late) Read(dst []rows.Row, from int64) (int, error) {
	for i := range dst {
		dst[i] = rows.Row{Index: Waiting}
	}
	return len(dst), nil
}

// Rows that are not at hand yet have a placeholder and no text.
func TestWaitingRows(t *testing.T) {
	_, w := window(t, &late{numbered{n: 100}})
	picture := w.Canvas().Capture()
	line := image.Rect(0, headerHeight, 900, headerHeight+rowHeight)
	if !hasColour(picture, line, Light.Guide) || hasColour(picture, line, Light.Inks[Plain]) {
		t.Error("a row that is not there yet is drawn as one that is")
	}
}

func press(g *Grid, x, y float32, mod fyne.KeyModifier) {
	e := &desktop.MouseEvent{Button: desktop.MouseButtonPrimary, Modifier: mod}
	e.Position = fyne.NewPos(x, y)
	g.MouseDown(e)
	g.MouseUp(e)
}

func hasColour(img image.Image, r image.Rectangle, c interface {
	RGBA() (r, g, b, a uint32)
}) bool {
	wr, wg, wb, _ := c.RGBA()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if cr, cg, cb, _ := img.At(x, y).RGBA(); cr>>8 == wr>>8 && cg>>8 == wg>>8 && cb>>8 == wb>>8 {
				return true
			}
		}
	}
	return false
}

// sizes are the sources on which wheel, drag and keys are to be exact.
var sizes = []int64{1_000, 1_000_000, 1_000_000_000}

func TestScrollBarDragIsExact(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) { testScrollBarDrag(t, n) })
	}
}

func testScrollBarDrag(t *testing.T, n int64) {
	g, w := window(t, &numbered{n: n})
	w.Canvas().Capture()
	e := &desktop.MouseEvent{Button: desktop.MouseButtonPrimary}
	e.Position = fyne.NewPos(5, 3)
	g.vbar.MouseDown(e)
	drag := func(y float32) {
		d := &fyne.DragEvent{}
		d.Position = fyne.NewPos(5, y)
		g.vbar.Dragged(d)
	}
	drag(103)
	if got := g.vbar.place().pos; got != 100 {
		t.Errorf("thumb at %d after a drag of 100 px", got)
	}
	drag(10_000)
	if first, shown := g.view.visible(); first+int64(shown) != n {
		t.Errorf("dragged to the end: rows %d+%d", first, shown)
	}
	drag(3)
	if g.view.offset() != 0 {
		t.Errorf("dragged back: offset %d", g.view.offset())
	}
	g.vbar.DragEnd()

	// With Shift a pixel is a row.
	e.Modifier = fyne.KeyModifierShift
	g.vbar.MouseDown(e)
	drag(3 + 7)
	if g.Top() != 7 {
		t.Errorf("fine drag of 7 px: top row %d", g.Top())
	}
}

func TestWheelMovesThreeRows(t *testing.T) {
	for _, n := range sizes {
		g, w := window(t, &numbered{n: n})
		w.Canvas().Capture()
		g.SetCurrent(n / 2)
		before := g.view.offset()
		for range 10 {
			g.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, -wheelStep)})
		}
		if moved := g.view.offset() - before; moved != 30*int64(g.view.rowH) {
			t.Errorf("%d rows: ten notches moved %d px, want %d", n, moved, 30*g.view.rowH)
		}
		for range 10 {
			g.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, wheelStep)})
		}
		if g.view.offset() != before {
			t.Errorf("%d rows: ten notches there and back end at %d, not %d", n, g.view.offset(), before)
		}
	}
}

func TestKeysAreExact(t *testing.T) {
	for _, n := range sizes {
		src := &numbered{n: n}
		g, w := window(t, src)
		w.Canvas().Capture()
		w.Canvas().Focus(g)
		page := g.view.page()
		at := n / 2
		g.SetCurrent(at)
		for _, step := range []struct {
			key  fyne.KeyName
			want int64
		}{
			{fyne.KeyDown, at + 1}, {fyne.KeyUp, at}, {fyne.KeyPageDown, at + page}, {fyne.KeyPageUp, at},
			{fyne.KeyHome, 0}, {fyne.KeyUp, 0}, {fyne.KeyEnd, n - 1}, {fyne.KeyDown, n - 1}, {fyne.KeyPageUp, n - 1 - page},
		} {
			g.TypedKey(&fyne.KeyEvent{Name: step.key})
			if g.Current() != step.want {
				t.Fatalf("%d rows: %s leads to row %d, want %d", n, step.key, g.Current(), step.want)
			}
			// What is drawn there is that row, and a click on it selects it.
			y := g.view.rowY(step.want)
			src.reads = nil
			f := g.frame()
			if i := step.want - f.first; i < 0 || i >= int64(len(f.rows)) || f.rows[i].Index != step.want {
				t.Fatalf("%d rows: row %d is not among those drawn", n, step.want)
			}
			press(g, 200, float32(headerHeight+y+5), 0)
			if g.Current() != step.want {
				t.Fatalf("%d rows: a click at row %d selects %d", n, step.want, g.Current())
			}
		}
	}
}

func TestFoldMarksAndTreeKeys(t *testing.T) {
	g, w := window(t, &numbered{n: 1000})
	for i := range g.columns {
		g.columns[i].Tree = g.columns[i].ID == "function"
	}
	var folded, left, right []int64
	g.OnFold = func(row int64) { folded = append(folded, row) }
	g.OnTree = func(row int64, r bool) {
		if r {
			right = append(right, row)
		} else {
			left = append(left, row)
		}
	}
	g.Decorate = func(dst []Decor, list []rows.Row, first int64) {
		for i := range dst {
			if list[i].Depth < 6 {
				dst[i].Fold = FoldOpen
			}
		}
	}
	w.Canvas().Capture()
	// The function column begins at 110; a level is 12 wide, the pad 6.
	mark := func(row int) float32 { return 110 + cellPad + float32(row%7)*indent + 4 }
	for _, row := range []int{0, 3, 6, 9} {
		press(g, mark(row), float32(headerHeight+row*rowHeight+5), 0)
	}
	if fmt.Sprint(folded) != "[0 3 9]" {
		t.Errorf("marks of rows %v were clicked; row 6 has none", folded)
	}
	if g.Current() != 6 {
		t.Errorf("a click beside a mark selects row %d", g.Current())
	}
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyLeft})
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyRight})
	if fmt.Sprint(left, right) != "[6] [6]" {
		t.Errorf("keys left %v, right %v", left, right)
	}
}

// Marks on the scroll bar lie where the rows lie in the whole.
func TestMarksOnTheScrollBar(t *testing.T) {
	for _, n := range sizes {
		g, w := window(t, &numbered{n: n})
		w.Canvas().Capture()
		buckets := make([]uint32, 100)
		buckets[0], buckets[50], buckets[99] = 1, 7, 2
		g.SetMarks(buckets)
		g.SetBookmarks([]int64{n / 4, n - 1})
		img := g.vbar.drawMarks(12, 500)
		for y, want := range map[int]string{2: "found", 252: "found", 497: "found", 100: "", 125: "bookmark", 499: "bookmark", 300: ""} {
			got := ""
			if hasColour(img, image.Rect(0, y, 12, y+1), Light.Found) {
				got = "found"
			}
			if hasColour(img, image.Rect(0, y, 12, y+1), Light.Bookmark) {
				got = "bookmark"
			}
			if got != want {
				t.Errorf("%d rows: at %d of 500 is %q, want %q", n, y, got, want)
			}
		}
		g.SetMarks(nil)
		g.SetBookmarks(nil)
		if g.vbar.marks.Visible() {
			t.Error("marks of nothing are shown")
		}
	}
}

// A label lies under one cell alone, and a tail behind the text.
func TestLabelsAndTails(t *testing.T) {
	g, w := window(t, &numbered{n: 10})
	g.Label = func(column string, r *rows.Row) int {
		if column == "index" && r.Index == 2 {
			return 3
		}
		return 0
	}
	for i := range g.columns {
		if cell := g.columns[i].Cell; g.columns[i].ID == "function" {
			g.columns[i].Cell = func(r *rows.Row, c *Cell) {
				cell(r, c)
				if c.Decor.Repeat > 1 {
					c.Tail = fmt.Appendf(c.Tail, "x %d", c.Decor.Repeat)
				}
			}
		}
	}
	g.Decorate = func(dst []Decor, _ []rows.Row, _ int64) { dst[4].Repeat = 1_000_000 }
	img := w.Canvas().Capture()
	line := func(x0, x1, row int) image.Rectangle {
		return image.Rect(x0, headerHeight+row*rowHeight, x1, headerHeight+(row+1)*rowHeight)
	}
	for _, test := range []struct {
		r      image.Rectangle
		colour any
		want   bool
	}{
		{line(0, 110, 2), Light.Labels[2], true}, {line(112, 800, 2), Light.Labels[2], false}, {line(0, 110, 3), Light.Labels[2], false},
		{line(110, 600, 4), Light.Inks[Accent], true}, {line(110, 600, 5), Light.Inks[Accent], false},
	} {
		if got := hasColour(img, test.r, test.colour.(color.RGBA)); got != test.want {
			t.Errorf("%v of %v: %v", test.colour, test.r, got)
		}
	}
}

// A row that has come since the grid last asked can be chosen at once.
func TestChooseANewRow(t *testing.T) {
	src := &numbered{n: 10}
	g, _ := window(t, src)
	src.n = 20
	g.SetCurrent(15)
	if g.Current() != 15 {
		t.Errorf("row %d", g.Current())
	}
	g.SetCurrent(25)
	if g.Current() != 19 {
		t.Errorf("row %d of 20", g.Current())
	}
}

func TestRangeSelection(t *testing.T) {
	g, w := window(t, &numbered{n: 1000})
	w.Canvas().Capture()
	press(g, 200, headerHeight+5, 0)
	press(g, 200, headerHeight+4*rowHeight+5, fyne.KeyModifierShift)
	if first, last, _ := g.Selection(); first != 0 || last != 4 {
		t.Errorf("Shift+click selects %d..%d", first, last)
	}
	g.KeyDown(&fyne.KeyEvent{Name: desktop.KeyShiftLeft})
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyPageDown})
	g.KeyUp(&fyne.KeyEvent{Name: desktop.KeyShiftLeft})
	if first, last, _ := g.Selection(); first != 0 || last != 5+g.view.page() {
		t.Errorf("Shift+Down, Shift+PgDn select %d..%d", first, last)
	}
	g.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	if first, last, _ := g.Selection(); first != last {
		t.Errorf("Down selects %d..%d", first, last)
	}
	g.SelectAll()
	if first, last, _ := g.Selection(); first != 0 || last != 999 {
		t.Errorf("all is %d..%d", first, last)
	}
}

func TestColumnResize(t *testing.T) {
	g, w := window(t, &numbered{n: 10})
	w.Canvas().Capture()
	told := 0
	g.OnColumns = func() { told++ }
	e := &desktop.MouseEvent{Button: desktop.MouseButtonPrimary}
	e.Position = fyne.NewPos(110, 10)
	g.MouseMoved(e)
	if g.Cursor() != desktop.HResizeCursor {
		t.Error("no resize cursor over a divider")
	}
	g.MouseDown(e)
	d := &fyne.DragEvent{Dragged: fyne.NewDelta(25, 0)}
	g.Dragged(d)
	g.DragEnd()
	if got := g.Columns()[0].Width; got != 135 || told != 1 {
		t.Errorf("width %v after a drag of 25, told %d times", got, told)
	}
	g.DoubleTapped(&fyne.PointEvent{Position: fyne.NewPos(135, 10)})
	if got := g.Columns()[0].Width; got >= 110 {
		t.Errorf("fitted width of one digit is %v", got)
	}
	g.SetColumn("function", 0, true)
	if got := len(g.place()); got != 3 {
		t.Errorf("%d columns placed after hiding one of 4", got)
	}
}

// Invariant 6.
func TestObjectsDoNotGrow(t *testing.T) {
	g, w := window(t, &numbered{n: 10})
	count := func() int { return len(test.WidgetRenderer(g).Objects()) }
	before := count()
	g.SetSource(&numbered{n: 1_000_000_000})
	w.Canvas().Capture()
	if count() != before {
		t.Errorf("%d objects, then %d", before, count())
	}
}

func TestActivate(t *testing.T) {
	g, w := window(t, &numbered{n: 10})
	w.Canvas().Capture()
	row := int64(-1)
	g.OnActivated = func(r int64) { row = r }
	g.DoubleTapped(&fyne.PointEvent{Position: fyne.NewPos(50, headerHeight+3*rowHeight+1)})
	if row != 3 {
		t.Errorf("double click opens row %d", row)
	}
	g.DoubleTapped(&fyne.PointEvent{Position: fyne.NewPos(50, headerHeight+20*rowHeight)})
	if row != 3 {
		t.Error("a double click below the rows opens something")
	}
}

// What is drawn differs when a row's text differs, and hostile texts end.
func TestHostileText(t *testing.T) {
	f := benchFrame(10)
	img := image.NewRGBA(image.Rect(0, 0, 300, 300))
	for _, s := range []string{"", "\xff\xfe\x80", strings.Repeat("\u0301", 1000), "\u202e\u0000\x1b[31m", strings.Repeat("x", 1<<20), "\u4f60\u597d", string(rune(0x10ffff))} {
		for i := range f.rows {
			f.rows[i].Function, f.rows[i].Source = s, s
			f.rows[i].Depth = 1 << 30
		}
		f.draw(img)
	}
	for i := range f.columns {
		f.columns[i].w = i
	}
	f.find = func(text []byte) (int, int) { i := bytes.IndexByte(text, 'x'); return i, i + 1 }
	f.draw(img)
}

func benchFrame(n int) *frame {
	g := New(columns(10), fonts(), &Light)
	g.src = &numbered{n: 1_000_000_000}
	g.view.setRows(1_000_000_000)
	g.measure(1, 1400, headerHeight+n*rowHeight)
	return g.frame()
}

// redraw returns a function that shows the next 60 rows by 10 columns, with
// the reading of the rows and the formatting of the cells.
func redraw(tb testing.TB) func() {
	test.NewTempApp(tb)
	g := New(columns(10), fonts(), &Light)
	src := &numbered{n: 1_000_000_000}
	g.src = src
	g.view.setRows(src.n)
	const height = headerHeight + 60*rowHeight
	g.measure(1, 1400, height)
	img := image.NewRGBA(image.Rect(0, 0, 1400, height))
	return func() {
		g.view.scrollRows(60)
		src.reads = src.reads[:0]
		g.frame().draw(img)
	}
}

// Invariant 8. Allocations are counted: the machine may be busy.
func TestRedrawIsCheap(t *testing.T) {
	// About one allocation for each cell of 60 rows by 10 columns would be 600; how long it takes says BenchmarkRedraw.
	if n := testing.AllocsPerRun(5, redraw(t)); n > 450 {
		t.Errorf("a redraw of 60 rows by 10 columns makes %v allocations", n)
	}
}

func BenchmarkRedraw(b *testing.B) {
	draw := redraw(b)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		draw()
	}
}

// What is searched for stands out in each cell that has it, as often as it is there, and nowhere else.
func TestFoundTextStandsOut(t *testing.T) {
	g, w := window(t, &numbered{n: 10})
	of := func(text string) Finder {
		return func(cell []byte) (int, int) {
			i := bytes.Index(cell, []byte(text))
			return i, i + len(text)
		}
	}
	cell := func(column string, row int) image.Rectangle {
		for _, c := range g.place() {
			if c.ID == column {
				return image.Rect(c.x, headerHeight+row*rowHeight, c.x+c.w, headerHeight+(row+1)*rowHeight)
			}
		}
		t.Fatalf("there is no column %s", column)
		return image.Rectangle{}
	}
	// pieces counts the stretches of the colour from left to right.
	pieces := func(img image.Image, r image.Rectangle) (n int) {
		inside := false
		for x := r.Min.X; x < r.Max.X; x++ {
			here := hasColour(img, image.Rect(x, r.Min.Y, x+1, r.Max.Y), Light.Match)
			if here && !inside {
				n++
			}
			inside = here
		}
		return n
	}
	for _, c := range []struct {
		text   string
		column string
		want   int
	}{{"Shape", "function", 1}, {"::", "function", 2}, {"Shape", "c2", 0}, {"shape.cpp", "c2", 1}, {"nowhere", "function", 0}} {
		g.SetFind(of(c.text))
		if got := pieces(w.Canvas().Capture(), cell(c.column, 4)); got != c.want {
			t.Errorf("%q stands out %d times in %s, want %d", c.text, got, c.column, c.want)
		}
	}
	g.SetFind(of("Shape"))
	g.SetFind(nil)
	if got := pieces(w.Canvas().Capture(), cell("function", 4)); got != 0 {
		t.Errorf("after the search %d places stand out", got)
	}
}

// Beside the scroll bar stands where a drag has come to, until it ends; under the pointer the bar is stronger.
func TestScrollBarTellsThePlace(t *testing.T) {
	g, w := window(t, &numbered{n: 1_000_000})
	g.Place = func(row int64) string { return fmt.Sprint("row ", row) }
	w.Canvas().Capture()
	if g.bubble.Visible() {
		t.Error("a place is told before a drag")
	}
	strong := func() uint8 { return g.vbar.thumb.FillColor.(color.NRGBA).A }
	plain := strong()
	g.vbar.MouseIn(nil)
	if strong() <= plain {
		t.Errorf("under the pointer the bar has a strength of %d, else %d", strong(), plain)
	}
	g.vbar.MouseMoved(nil)
	g.vbar.MouseOut()
	if strong() != plain {
		t.Errorf("after the pointer has left the bar has a strength of %d, before %d", strong(), plain)
	}
	e := &desktop.MouseEvent{Button: desktop.MouseButtonPrimary}
	e.Position = fyne.NewPos(5, 3)
	g.vbar.MouseDown(e)
	for _, y := range []float32{203, 403} {
		d := &fyne.DragEvent{}
		d.Position = fyne.NewPos(5, y)
		g.vbar.Dragged(d)
		at := g.bubble.Position()
		if want := fmt.Sprint("row ", g.Top()); g.Top() == 0 || !g.bubble.Visible() || g.bubble.text.Text != want {
			t.Errorf("dragged to %v it says %q, want %q", y, g.bubble.text.Text, want)
		}
		if right := at.X + g.bubble.Size().Width; right > g.raster.Size().Width || at.Y != headerHeight+g.vbar.thumbY() {
			t.Errorf("dragged to %v the place stands at %v to %v", y, at, right)
		}
	}
	if g.vbar.MouseUp(nil); g.bubble.Visible() || strong() != plain {
		t.Error("the place stays after the drag")
	}
}

// The wheel moves columns sideways, as far as there are any.
func TestWheelSideways(t *testing.T) {
	g, w := window(t, &numbered{n: 100})
	w.Resize(fyne.NewSize(300, headerHeight+10*rowHeight))
	w.Canvas().Capture()
	wheel := func(notches float32) int {
		g.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(-notches*wheelStep, 0)})
		return g.xoff
	}
	most := g.contentWidth() - g.width
	if most <= wheelRows*rowHeight {
		t.Fatalf("columns are %d wider than the grid", most)
	}
	for _, step := range []struct {
		notches float32
		want    int
	}{{1, wheelRows * rowHeight}, {-1, 0}, {-1, 0}, {1000, most}, {1, most}} {
		if got := wheel(step.notches); got != step.want {
			t.Errorf("after %v notches columns begin at %d, want %d", step.notches, got, step.want)
		}
	}
}
