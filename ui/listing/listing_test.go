package listing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

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
