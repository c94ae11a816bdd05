package grid

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"logparser/rows"
)

func order(g *Grid) string {
	var ids []string
	for _, c := range g.Columns() {
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, " ")
}

// A column that is dragged by its head comes where the pointer is, and that is told once.
func TestColumnsAreDragged(t *testing.T) {
	g, w := window(t, &numbered{n: 100})
	w.Canvas().Capture()
	g.Movable = true
	told := 0
	g.OnColumns = func() { told++ }
	drag := func(from, to float32) {
		g.MouseDown(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(from, 5)}, Button: desktop.MouseButtonPrimary})
		step := float32(10)
		if to < from {
			step = -step
		}
		for x := from; (to-x)*step >= 0; x += step {
			g.Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(x, 5)}, Dragged: fyne.NewDelta(step, 0)})
		}
		g.DragEnd()
	}
	if order(g) != "index function c2 c3" {
		t.Fatalf("at first %s", order(g))
	}
	drag(50, 850)
	if order(g) != "function c2 c3 index" || told != 1 {
		t.Errorf("to the end: %s, told %d times", order(g), told)
	}
	drag(880, 20)
	if order(g) != "index function c2 c3" {
		t.Errorf("and back: %s", order(g))
	}
	drag(50, 60)
	if told != 2 {
		t.Errorf("told %d times; a press is no move", told)
	}
	g.Movable = false
	drag(50, 850)
	if order(g) != "index function c2 c3" {
		t.Errorf("moved where that is not wanted: %s", order(g))
	}
}

func TestOrder(t *testing.T) {
	for _, test := range []struct{ ids, want string }{
		{"", "index function c2 c3"},
		{"c3 index function c2", "c3 index function c2"},
		{"c2", "c2 index function c3"},
		{"gone c3 c3 index", "c3 index function c2"},
	} {
		g := New(columns(4), fonts(), &Light)
		g.Order(strings.Fields(test.ids))
		if order(g) != test.want {
			t.Errorf("%q: %s, want %s", test.ids, order(g), test.want)
		}
	}
}

// The head's menu is asked for with the column below the pointer.
func TestHeaderMenu(t *testing.T) {
	g, w := window(t, &numbered{n: 100})
	w.Canvas().Capture()
	var asked []string
	g.OnHeaderMenu = func(id string, _ fyne.Position) { asked = append(asked, id) }
	for _, x := range []float32{20, 200} {
		g.MouseDown(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: fyne.NewPos(x, 5)}, Button: desktop.MouseButtonSecondary})
	}
	if !slices.Equal(asked, []string{"index", "function"}) {
		t.Errorf("asked for %v", asked)
	}
}

// Where not all levels have room, the steps are as wide as ever, and the number of levels
// stands before the text, which keeps most of the cell.
func TestIndentIsCapped(t *testing.T) {
	g, w := window(t, &numbered{n: 10})
	w.Canvas().Capture()
	const room = 300
	for n := range 2000 {
		shown, width := indentation(g.atlas, n, indent, room)
		if float32(width) > room*maxIndent || shown > n {
			t.Fatalf("%d levels take %d pixels, %d steps", n, width, shown)
		}
		if number := width - shown*indent; (number > 0) != (shown < n) {
			t.Fatalf("%d levels, %d drawn: %d pixels for the number", n, shown, number)
		}
	}
	// A cell without room has no negative one.
	if shown, _ := indentation(g.atlas, 50, indent, 3); shown != 0 {
		t.Errorf("%d steps without room", shown)
	}
}

// A name keeps its function when its column is narrow; where it was shortened the pointer
// gets the whole.
func TestNamesAreShortened(t *testing.T) {
	const name = "std::vector<std::basic_string<char>>::push_back(std::basic_string<char> const&)"
	g, w := window(t, &numbered{n: 10})
	g.columns[1].Cell = func(r *rows.Row, c *Cell) { c.Text, c.Name = append(c.Text, name...), r.Index > 0 }
	g.columns[1].Grow = false
	w.Canvas().Capture()
	f := frame{atlas: g.atlas, scale: 1}
	for _, test := range []struct {
		letters int
		tail    string
		want    string
	}{
		{len(name), "", name},
		{30, "", "std::vector<\u2026>::push_back"},
		{50, " 20 rows folded", "std::vector<\u2026>::push_back"},
	} {
		room := test.letters * g.atlas.glyph('x').advance
		if got := string(f.fitName([]byte(name), []byte(test.tail), room)); got != test.want {
			t.Errorf("%d letters: %q, want %q", test.letters, got, test.want)
		}
	}
	var told []string
	g.OnHover = func(text string, _ fyne.Position) { told = append(told, text) }
	for _, p := range []fyne.Position{{X: 200, Y: headerHeight + 5}, {X: 210, Y: headerHeight + 6}, {X: 20, Y: headerHeight + 5}, {X: 20, Y: 5}} {
		g.MouseMoved(&desktop.MouseEvent{PointEvent: fyne.PointEvent{Position: p}})
	}
	if !slices.Equal(told, []string{name, "", ""}) {
		t.Errorf("the pointer was told %q", told)
	}
}
