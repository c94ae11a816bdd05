package listing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/rows"
	"logparser/ui/grid"
)

type fruit struct {
	name   string
	weight int
}

// A rig is a list whose posted functions the test runs.
type rig struct {
	*List[fruit]
	t     *testing.T
	queue chan func()
}

func newRig(t *testing.T) *rig {
	test.NewTempApp(t)
	r := &rig{t: t, queue: make(chan func(), 100)}
	r.List = New([]Column[fruit]{
		{ID: "name", Title: func() string { return "Name" }, Width: 80, Compare: By(func(f *fruit) string { return f.name }),
			Cell: func(f *fruit, c *grid.Cell) { c.Text = append(c.Text, f.name...) }},
		{ID: "weight", Title: func() string { return "Weight" }, Width: 80, Falling: true, Compare: By(func(f *fruit) int { return f.weight }),
			Cell: func(f *fruit, c *grid.Cell) { c.Text = fmt.Appendf(c.Text, "%d g", f.weight) }},
		{ID: "plain", Title: func() string { return "" }, Width: 80, Cell: func(*fruit, *grid.Cell) {}},
	}, 1, func(a, b *fruit) bool { return a.name == b.name },
		grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { r.queue <- f })
	return r
}

// run runs the next posted function.
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
	for i := range r.Len() {
		list = append(list, r.At(int64(i)).name)
	}
	return strings.Join(list, " ")
}

func (r *rig) title(id string) string {
	for _, c := range r.Grid.Columns() {
		if c.ID == id {
			return c.Title
		}
	}
	return ""
}

var fruits = []fruit{{"pear", 160}, {"apple", 180}, {"fig", 50}, {"kiwi", 75}, {"plum", 50}}

func TestSortAndNarrow(t *testing.T) {
	r := newRig(t)
	r.Show(fruits)
	r.run()
	if got := r.names(); got != "apple pear kiwi fig plum" {
		t.Errorf("by weight: %s", got)
	}
	if got := r.title("weight"); got != "Weight \u25bc" {
		t.Errorf("head %q", got)
	}
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"turned", r.Turn, "fig plum kiwi pear apple"},
		{"by name", func() { r.Grid.OnHeader("name") }, "apple fig kiwi pear plum"},
		{"narrowed", func() { r.Narrow(func(f *fruit) bool { return strings.Contains(f.name, "p") }) }, "apple pear plum"},
		{"next column", func() { r.SortNext(false) }, "apple pear plum"},
		{"the one before", func() { r.SortNext(true) }, "apple pear plum"},
		{"all", func() { r.Narrow(nil) }, "apple fig kiwi pear plum"},
	} {
		step.do()
		r.run()
		if got := r.names(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	r.Grid.OnHeader("plain")
	if len(r.queue) != 0 {
		t.Error("a column without order sorts")
	}
	if got := r.title("weight"); got != "Weight" {
		t.Errorf("head %q of a column that does not sort", got)
	}
}

// An arrangement that comes late is not shown over a newer one.
func TestLateArrangement(t *testing.T) {
	r := newRig(t)
	gate := make(chan struct{})
	r.Show(fruits)
	r.run()
	r.Narrow(func(*fruit) bool { <-gate; return true })
	r.Narrow(func(f *fruit) bool { return f.weight == 50 })
	r.run()
	close(gate)
	r.run()
	if got := r.names(); got != "fig plum" {
		t.Errorf("shown: %s", got)
	}
}

func TestChosenStaysChosen(t *testing.T) {
	r := newRig(t)
	var said []string
	r.OnChosen = func(f *fruit) {
		if f == nil {
			said = append(said, "none")
		} else {
			said = append(said, f.name)
		}
	}
	r.Show(fruits)
	r.run()
	r.Grid.SetCurrent(2)
	r.Grid.OnHeader("name")
	r.run()
	r.Show([]fruit{{"zebra", 1}, {"kiwi", 3}})
	r.run()
	if c := r.Chosen(); c == nil || c.name != "kiwi" || c.weight != 3 {
		t.Errorf("chosen: %+v", c)
	}
	r.Show([]fruit{{"zebra", 1}})
	r.run()
	if r.Chosen() != nil {
		t.Errorf("chosen: %+v", r.Chosen())
	}
	if !slices.Equal(slices.Compact(said), []string{"kiwi", "none"}) {
		t.Errorf("said %v", said)
	}
}

func TestText(t *testing.T) {
	r := newRig(t)
	r.Show(fruits[:2])
	r.run()
	if got := r.Text(); got != "" {
		t.Errorf("nothing selected gives %q", got)
	}
	r.Grid.SelectAll()
	if got := r.Text(); got != "Name\tWeight\t\napple\t180 g\t\npear\t160 g\t\n" {
		t.Errorf("copied %q", got)
	}
}

// The order that the user has chosen is told, and is taken again later, with the sign at its head; a list that never
// had a column of that name stays as it is. What is narrowed away is still among the items.
func TestOrderIsKept(t *testing.T) {
	r := newRig(t)
	var told []string
	r.OnSorted = func(sorted string) { told = append(told, sorted) }
	r.Show(fruits)
	r.run()
	for _, do := range []func(){r.Turn, func() { r.Grid.OnHeader("name") }, r.Turn} {
		do()
		r.run()
	}
	if want := []string{"weight", "name", "name falling"}; !slices.Equal(told, want) || r.Sorted() != "name falling" {
		t.Errorf("told %q, want %q; sorted by %q", told, want, r.Sorted())
	}
	for _, kept := range []struct{ sorted, want, head string }{
		{"name", "apple fig kiwi pear plum", "Name"},
		{"weight falling", "apple pear kiwi fig plum", "Weight"},
		{"weight", "fig plum kiwi pear apple", "Weight"},
		{"name falling", "plum pear kiwi fig apple", "Name"},
	} {
		next := newRig(t)
		next.Show(fruits)
		next.run()
		next.OnSorted = func(string) { t.Errorf("%s: an order that was kept is told as if the user had chosen it", kept.sorted) }
		next.Sort(kept.sorted)
		next.run()
		if got := next.names(); got != kept.want || next.Sorted() != kept.sorted {
			t.Errorf("%s: %s, want %s; sorted by %s", kept.sorted, got, kept.want, next.Sorted())
		}
		if got := next.title(strings.ToLower(kept.head)); !strings.HasPrefix(got, kept.head+" ") {
			t.Errorf("%s: the head is %q", kept.sorted, got)
		}
	}
	r.Sort("colour")
	r.Sort("plain falling")
	if len(r.queue) != 0 || r.Sorted() != "name falling" {
		t.Errorf("sorted by %s", r.Sorted())
	}
	r.Narrow(func(f *fruit) bool { return f.name == "fig" })
	r.run()
	if r.Len() != 1 || len(r.Items()) != len(fruits) {
		t.Errorf("%d of %d are shown", r.Len(), len(r.Items()))
	}
}

// Who is told of the chosen item knows whether the user has chosen it, or it has found its place again.
func TestArrangingIsNoChoice(t *testing.T) {
	r := newRig(t)
	var said []string
	r.OnChosen = func(f *fruit) { said = append(said, fmt.Sprint(f.name, " ", r.Arranging())) }
	r.Show(fruits)
	r.run()
	r.Grid.SetCurrent(2)
	r.Turn()
	r.Turn()
	r.run()
	r.Grid.OnHeader("name")
	r.run()
	if want := []string{"kiwi false", "kiwi true"}; !slices.Equal(slices.Compact(said), want) || r.Arranging() {
		t.Errorf("said %q, want %q", said, want)
	}
	// The grid reads as many rows as there are, and draws the cells of items alone.
	list := make([]rows.Row, 8)
	n, err := source(r.Len()).Read(list, 3)
	if n != 2 || err != io.EOF || list[0].Index != 3 || list[1].Index != 4 {
		t.Errorf("read %d rows from the fourth on: %v", n, err)
	}
	for i, want := range map[int64]string{0: "apple", 4: "plum", 5: ""} {
		var c grid.Cell
		if r.Grid.Columns()[0].Cell(&rows.Row{Index: i}, &c); string(c.Text) != want {
			t.Errorf("row %d has %q, want %q", i, c.Text, want)
		}
	}
}
