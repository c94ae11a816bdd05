package annotations

import (
	"math"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/rows"
	"logparser/ui/grid"
)

func annotation(at int64, kind rows.AnnotationKind, bits uint64, text, thread string) rows.Annotation {
	wall := time.Date(2013, 5, 4, 10, 0, 0, 0, time.UTC).Add(time.Duration(at))
	return rows.Annotation{Wall: wall, HasWall: true, Elapsed: at, Thread: 7, ThreadName: thread, Kind: kind, Bits: bits, Text: text}
}

func TestAnnotations(t *testing.T) {
	test.NewTempApp(t)
	queue := make(chan func(), 10)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { queue <- f })
	run := func() {
		t.Helper()
		select {
		case f := <-queue:
			f()
		case <-time.After(10 * time.Second):
			t.Fatal("nothing was posted")
		}
	}
	var copied, opened string
	narrowed := 0
	v.OnCopy = func(s string) { copied = s }
	v.OnOpen = func(m *rows.Annotation) { opened += m.Text }
	v.OnNarrow = func() { narrowed++ }
	shown := func(want string) {
		t.Helper()
		v.List.Grid.SelectAll()
		v.List.Grid.OnCopy()
		_, list, _ := strings.Cut(copied, "\n")
		if list != want {
			t.Errorf("shown\n%s\nwant\n%s", list, want)
		}
	}
	list := []rows.Annotation{
		annotation(1e6, rows.TextAnnotation, 0, "frame\n1", "main"),
		annotation(2e6, rows.IntCounter, ^uint64(4), "queue", ""),
		annotation(3e6, rows.FloatCounter, math.Float64bits(0.5), "load", ""),
		annotation(4e6, rows.UintCounter, math.MaxUint64, "bytes", ""),
	}
	v.Show(list, false, 3)
	run()
	shown("10:00:00.001\t7 main\tannotation\tframe\uFFFD1\t\n10:00:00.002\t7\tcounter\tqueue\t-5\n10:00:00.003\t7\tcounter\tload\t0.5\n10:00:00.004\t7\tcounter\tbytes\t18446744073709551615\n")
	if v.count.Text != "4 annotations" {
		t.Errorf("count %q", v.count.Text)
	}
	// By value, the greatest first; texts have none.
	v.List.Grid.OnHeader("value")
	run()
	shown("10:00:00.004\t7\tcounter\tbytes\t18446744073709551615\n10:00:00.003\t7\tcounter\tload\t0.5\n10:00:00.002\t7\tcounter\tqueue\t-5\n10:00:00.001\t7 main\tannotation\tframe\uFFFD1\t\n")
	v.List.Grid.OnActivated(2)
	if opened != "queue" {
		t.Errorf("opened %q", opened)
	}
	v.narrow.SetText("lo")
	if narrowed != 1 || v.Text() != "lo" {
		t.Errorf("narrowed %d times to %q", narrowed, v.Text())
	}
	v.narrow.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if narrowed != 2 || v.Text() != "" {
		t.Errorf("after Escape: narrowed %d times to %q", narrowed, v.Text())
	}
	// Another day: the date is said.
	v.Show([]rows.Annotation{list[0], annotation(24*3600*1e9, rows.TextAnnotation, 0, "a", "")}, true, 3)
	run()
	v.List.Grid.OnHeader("time")
	run()
	shown("05-04 10:00:00.001\t7 main\tannotation\tframe\uFFFD1\t\n05-05 10:00:00.000\t7\tannotation\ta\t\n")
	if v.count.Text != "the first 2 annotations; type to find others" {
		t.Errorf("count %q", v.count.Text)
	}
}

// Keys narrow and sort the list without a mouse, the right button asks for a menu, and beside the count stands what
// limits the list. Threads of several processes say theirs.
func TestAnnotationsByKeys(t *testing.T) {
	test.NewTempApp(t)
	queue := make(chan func(), 10)
	v := New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { queue <- f })
	w := test.NewTempWindow(t, v.Content)
	w.Resize(fyne.NewSize(900, 300))
	var menus []string
	v.OnMenu = func(m *rows.Annotation, _ fyne.Position) { menus = append(menus, m.Text) }
	list := []rows.Annotation{
		annotation(1e6, rows.TextAnnotation, 0, "second", "main"),
		annotation(2e6, rows.IntCounter, 5, "queue", ""),
		annotation(3e6, rows.TextAnnotation, 0, "first", ""),
	}
	list[0].Process, list[1].Thread, list[2].Thread = &rows.Process{Number: 1, Label: "99 shop"}, 9, 3
	v.Show(list, false, 3)
	(<-queue)()
	texts := func() string {
		var s []string
		for i := range v.List.Len() {
			s = append(s, v.List.At(int64(i)).Text)
		}
		return strings.Join(s, " ")
	}
	var c grid.Cell
	if v.List.Grid.Columns()[1].Cell(&rows.Row{}, &c); string(c.Text) != "7 main \u00b7 99 shop" {
		t.Errorf("a thread is %q", c.Text)
	}
	for _, step := range []struct {
		key  rune
		want string
	}{{'>', "first second queue"}, {'.', "second first queue"}, {'>', "first queue second"}, {'>', "queue second first"}, {'<', "first queue second"}, {',', "second first queue"}} {
		v.List.Grid.TypedRune(step.key)
		(<-queue)()
		if got := texts(); got != step.want {
			t.Errorf("%c: by %s: %s, want %s", step.key, v.List.Sorted(), got, step.want)
		}
	}
	v.List.Grid.OnMenu(1, "text", fyne.Position{})
	v.List.Grid.OnMenu(9, "text", fyne.Position{})
	v.List.Grid.OnActivated(0) // nobody wants to know
	if strings.Join(menus, " ") != "first" {
		t.Errorf("menus of %q", menus)
	}
	v.List.Grid.TypedRune('/')
	if w.Canvas().Focused() != fyne.Focusable(v.narrow) {
		t.Error("the key does not lead to the text that narrows the list")
	}
	if v.Narrow("queue"); v.Text() != "queue" {
		t.Errorf("narrowed to %q", v.Text())
	}
	if v.ShowLimit("thread:7"); v.count.Text != "3 annotations with thread:7" {
		t.Errorf("count %q", v.count.Text)
	}
	if v.ShowLimit(""); v.count.Text != "3 annotations" {
		t.Errorf("count %q", v.count.Text)
	}
}
