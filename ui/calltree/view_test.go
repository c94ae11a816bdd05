package calltree

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/grid"
)

// node is "name total self" with children.
func node(name string, total, self int64, children ...*app.TreeNode) *app.TreeNode {
	return &app.TreeNode{FunctionRef: app.FunctionRef{Function: name, Module: "m.dll"}, Calls: total, Timed: total, Total: total * 1e6, Self: self * 1e6, Children: children}
}

func sample() *app.Tree {
	rest := node("", 2, 2)
	rest.Other = true
	return &app.Tree{Calls: 100, Total: 100e6, Cut: 3, Roots: []*app.TreeNode{
		node("main", 90, 10,
			node("load", 60, 5, node("read", 55, 55)),
			node("paint", 20, 20),
			rest),
		node("worker", 10, 10),
	}}
}

func newView(t *testing.T) *View {
	t.Helper()
	test.NewTempApp(t)
	return New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light)
}

// shown writes the rows as a picture of the tree.
func shown(v *View) string {
	var b strings.Builder
	for i := range v.outline.rows {
		r := &v.outline.rows[i]
		sign := " "
		if len(r.node.Children) > 0 {
			sign = "+"
		}
		if r.open {
			sign = "-"
		}
		cursor := ""
		if v.Grid.Current() == int64(i) {
			cursor = " <"
		}
		fmt.Fprintf(&b, "%s%s %s%s\n", strings.Repeat("  ", r.level), sign, v.name(r.node), cursor)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (v *View) typed(keys string) {
	for _, k := range strings.Fields(keys) {
		if len(k) == 1 {
			v.Grid.TypedRune(rune(k[0]))
		} else {
			v.Grid.TypedKey(&fyne.KeyEvent{Name: fyne.KeyName(k)})
		}
	}
}

// What leads to calls that a filter shows is unfolded, the rest is not.
func TestOpenPaths(t *testing.T) {
	v := newView(t)
	v.Show(&app.Tree{Roots: []*app.TreeNode{
		node("main", 0, 0, node("load", 0, 0, node("read", 5, 5, node("fread", 5, 5))), node("paint", 0, 0)),
		node("worker", 10, 10, node("step", 5, 5)),
	}}, 3)
	v.OpenPaths()
	if got, want := shown(v), "- main <\n  - load\n    + read\n    paint\n+ worker"; got != want {
		t.Errorf("shown\n%s\nwant\n%s", got, want)
	}
	// Threads stay folded; the paths in them do not.
	thread := node("", 5, 0, node("main", 0, 0, node("read", 5, 5)))
	thread.Thread, thread.ThreadName = 7, "render"
	v.ask()
	v.Show(&app.Tree{Roots: []*app.TreeNode{thread, node("", 1, 0)}}, 3)
	v.OpenPaths()
	if got, want := shown(v), "+ Thread 7  render <\n  Thread 0"; got != want {
		t.Errorf("shown\n%s\nwant\n%s", got, want)
	}
	v.typed("+")
	if got, want := shown(v), "- Thread 7  render <\n  - main\n      read\n  Thread 0"; got != want {
		t.Errorf("shown\n%s\nwant\n%s", got, want)
	}
}

func TestKeysUnfold(t *testing.T) {
	v := newView(t)
	var opened, menus []string
	v.OnOpen = func(f *app.FunctionRef) { opened = append(opened, f.Function) }
	v.OnMenu = func(f *app.FunctionRef, _ fyne.Position) { menus = append(menus, f.Function) }
	v.Show(sample(), 3)
	for _, step := range []struct{ keys, want string }{
		{"", "+ main <\n  worker"},
		{"Right", "- main <\n  + load\n    paint\n    (others)\n  worker"},
		{"Right Right", "- main\n  - load <\n      read\n    paint\n    (others)\n  worker"},
		{"Right Left Left", "- main\n  + load <\n    paint\n    (others)\n  worker"},
		{"Left Left", "+ main <\n  worker"},
		{"*", "- main <\n  - load\n      read\n    paint\n    (others)\n  worker"},
		{"/", "+ main <\n  worker"},
		{"+", "- main <\n  + load\n    paint\n    (others)\n  worker"},
		{"-", "+ main <\n  worker"},
		{"h", "- main\n  - load\n      read <\n    paint\n    (others)\n  worker"},
	} {
		v.typed(step.keys)
		if got := shown(v); got != step.want {
			t.Errorf("%s:\n%s\nwant:\n%s", step.keys, got, step.want)
		}
	}
	v.typed("Return Down Return Down Return")
	if got := strings.Join(opened, " "); got != "read paint" {
		t.Errorf("opened %s", got)
	}
	v.Grid.OnMenu(3, "function", fyne.NewPos(0, 0))
	v.Grid.OnMenu(4, "function", fyne.NewPos(0, 0))
	v.Grid.OnMenu(99, "function", fyne.NewPos(0, 0))
	if got := strings.Join(menus, " "); got != "paint" {
		t.Errorf("menus of %s", got)
	}
	v.FoldAll()
	if got := shown(v); got != "+ main <\n  worker" {
		t.Errorf("all folded:\n%s", got)
	}
}

// A tree that is made anew keeps what is unfolded and chosen.
func TestStaysUnfolded(t *testing.T) {
	v := newView(t)
	v.Show(sample(), 3)
	v.typed("h")
	next := sample()
	next.Roots[0], next.Roots[1] = next.Roots[1], next.Roots[0]
	next.Roots[1].Children = append([]*app.TreeNode{node("new", 70, 70)}, next.Roots[1].Children...)
	v.Show(next, 3)
	if got, want := shown(v), "  worker\n- main\n    new\n  - load\n      read <\n    paint\n    (others)"; got != want {
		t.Errorf("\n%s\nwant:\n%s", got, want)
	}
}

func TestOptions(t *testing.T) {
	v := newView(t)
	v.Show(sample(), 3)
	var asked []app.TreeOptions
	v.OnOptions = func(opt app.TreeOptions) { asked = append(asked, opt) }
	v.typed("b t d t")
	want := []app.TreeOptions{{BottomUp: true}, {BottomUp: true, ByThread: true}, {ByThread: true}, {}}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
	if !strings.Contains(v.count.Text, "100") || !strings.Contains(v.count.Text, "3") {
		t.Errorf("said %q", v.count.Text)
	}
}

// The tree that is shown until another one comes can still be unfolded.
func TestUnfoldsWhileAnotherIsAsked(t *testing.T) {
	v := newView(t)
	v.Show(sample(), 3)
	v.ask()
	v.Grid.SetCurrent(0)
	v.Grid.TypedRune(' ')
	if got := shown(v); !strings.Contains(got, "load") {
		t.Errorf("shown:\n%s", got)
	}
}

func TestCellsAndCopy(t *testing.T) {
	v := newView(t)
	v.Show(sample(), 3)
	v.typed("Right")
	var copied string
	v.OnCopy = func(s string) { copied = s }
	v.Grid.SelectAll()
	v.Copy()
	lines := strings.Split(copied, "\n")
	if len(lines) != 7 || lines[2] != "  load\t60\t60 ms\t60.0 %\t5 ms\t5.0 %\tm.dll" {
		t.Errorf("copied %q", lines)
	}
}

// A tree without end in depth or width costs no more than its rows.
func TestLargeTree(t *testing.T) {
	v := newView(t)
	chain := node("f", 1, 1)
	for range 50_000 {
		chain = node("f", 1, 0, chain)
	}
	v.Show(&app.Tree{Roots: []*app.TreeNode{chain}, Total: 1e6}, 3)
	v.typed("*")
	if n := len(v.outline.rows); n != 50_001 {
		t.Errorf("%d rows of a chain", n)
	}
	var wide []*app.TreeNode
	for i := range 1000 {
		var children []*app.TreeNode
		for k := range 1000 {
			children = append(children, node(fmt.Sprint(k), 1, 1))
		}
		wide = append(wide, node(fmt.Sprint("g", i), 1, 1, children...))
	}
	v.Show(&app.Tree{Roots: []*app.TreeNode{node("all", 1, 1, wide...)}}, 3)
	v.FoldAll()
	v.typed("*")
	if n := len(v.outline.rows); n < maxRows || n > maxRows+1000 {
		t.Errorf("%d rows unfolded at once", n)
	}
}

// TestChoose chooses the node for a call with some open calls around it, or what
// stands for it, without telling so as if the user had.
func TestChoose(t *testing.T) {
	frames := func(names ...string) []app.Frame {
		var list []app.Frame
		for _, n := range names {
			list = append(list, app.Frame{FunctionRef: app.FunctionRef{Function: n, Module: "m.dll"}, Thread: 7})
		}
		return list
	}
	byThread := func() *app.Tree {
		tree := sample()
		for _, id := range []uint32{6, 7} {
			root := &app.TreeNode{Thread: id, ByThread: true, Calls: 50, Children: sample().Roots}
			tree.Roots = append(tree.Roots, root)
		}
		tree.Roots = tree.Roots[2:]
		return tree
	}
	for _, test := range []struct {
		tree     *app.Tree
		bottomUp bool
		frames   []app.Frame
		want     string
	}{
		{sample(), false, frames("main", "load", "read"), "- main\n  - load\n      read <\n    paint\n    (others)\n  worker"},
		{sample(), false, frames("main", "load"), "- main\n  + load <\n    paint\n    (others)\n  worker"},
		{sample(), false, frames("main", "rare", "rarer"), "- main\n  + load\n    paint\n    (others) <\n  worker"},
		{sample(), false, frames("main", "paint", "gone"), "- main\n  + load\n    paint <\n    (others)\n  worker"},
		{sample(), false, frames("absent"), "+ main <\n  worker"},
		{sample(), false, nil, "+ main <\n  worker"},
		{sample(), true, frames("main", "worker"), "+ main\n  worker <"},
		{byThread(), false, frames("main", "paint"), "+ Thread 6\n- Thread 7\n  - main\n    + load\n      paint <\n      (others)\n    worker"},
	} {
		v := newView(t)
		v.opt.BottomUp = test.bottomUp
		told := 0
		v.OnChosen = func(*app.TreeNode, []app.FunctionRef, bool) { told++ }
		v.Show(test.tree, 3)
		v.Choose(test.frames)
		if got := shown(v); got != test.want || told > 0 {
			t.Errorf("told %d times; shown\n%s\nwant\n%s", told, got, test.want)
		}
	}
}

// TestChosenIsTold tells the way to a node that the user chooses.
func TestChosenIsTold(t *testing.T) {
	v := newView(t)
	var got string
	v.OnChosen = func(n *app.TreeNode, path []app.FunctionRef, bottomUp bool) {
		got = fmt.Sprint(n.Thread, n.ByThread, bottomUp)
		for _, f := range path {
			got += " " + f.Function
		}
	}
	v.Show(sample(), 3)
	v.Grid.TypedRune('*')
	for range 2 {
		v.Grid.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	}
	if got != "0 false false main load read" {
		t.Errorf("told %q", got)
	}
	got = ""
	for range 2 {
		v.Grid.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	}
	if got != "0 false false main paint" {
		t.Errorf("told %q", got) // (others) are no function
	}
}

// TestSort sorts what is below each node; (others) stays last, and what is chosen and
// unfolded stays so.
func TestSort(t *testing.T) {
	v := newView(t)
	var told []string
	v.OnSorted = func(s string) { told = append(told, s) }
	chosen := 0
	v.OnChosen = func(*app.TreeNode, []app.FunctionRef, bool) { chosen++ }
	v.Show(sample(), 3)
	v.typed("Right Right")
	chosen = 0
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"self", func() { v.Grid.OnHeader("self") }, "- main\n    paint\n  + load <\n    (others)\n  worker"},
		{"self, least first", func() { v.typed("r") }, "- main\n  + load <\n    paint\n    (others)\n  worker"},
		{"calls, least first", func() { v.Grid.OnHeader("calls"); v.Grid.OnHeader("calls") }, "worker\n- main\n    paint\n  + load <\n    (others)"},
		{"names", func() { v.Grid.OnHeader("function") }, "- main\n  + load <\n    paint\n    (others)\n  worker"},
		{"names backward", func() { v.Grid.OnHeader("function") }, "worker\n- main\n    paint\n  + load <\n    (others)"},
		{"another tree", func() { v.Show(sample(), 3) }, "worker\n- main\n    paint\n  + load <\n    (others)"},
		{"the column after", func() { v.typed(">") }, "- main\n  + load <\n    paint\n    (others)\n  worker"},
		{"kept", func() { v.Sort("function falling"); v.Sort("nothing") }, "worker\n- main\n    paint\n  + load <\n    (others)"},
	} {
		step.do()
		if got := strings.TrimSpace(shown(v)); got != step.want {
			t.Errorf("%s:\n%s\nwant:\n%s", step.name, got, step.want)
		}
	}
	want := "self falling, self, calls falling, calls, function, function falling, calls falling"
	if got := strings.Join(told, ", "); got != want || chosen > 0 || v.Sorted() != "function falling" {
		t.Errorf("told %q, %d chosen, sorted by %q", got, chosen, v.Sorted())
	}
	for _, c := range v.Grid.Columns() {
		if strings.HasSuffix(c.Title, "\u25bc") != (c.ID == "function") {
			t.Errorf("the head of %s is %q", c.ID, c.Title)
		}
	}
}

// Every column can be sorted by, in both directions, and what is alike stays in the order of the tree.
func TestEveryOrder(t *testing.T) {
	tree := func() *app.Tree {
		list := []*app.TreeNode{node("b", 30, 3), node("a", 20, 9), node("c", 10, 3), node("", 40, 1)}
		list[0].Module, list[1].Module, list[2].Module = "z", "x", "y"
		list[0].Calls, list[1].Calls, list[2].Calls = 1, 3, 2
		list[3].Other = true
		return &app.Tree{Calls: 6, Total: 100e6, Roots: list}
	}
	for sorted, want := range map[string]string{
		"total falling": "b a c (others)", "total": "c a b (others)", "share falling": "b a c (others)", "share": "c a b (others)",
		"self falling": "a b c (others)", "selfshare": "b c a (others)", "calls": "b c a (others)", "calls falling": "a c b (others)",
		"module": "a c b (others)", "module falling": "b c a (others)", "function": "a b c (others)", "function falling": "c b a (others)",
	} {
		v := newView(t)
		v.Show(tree(), 3)
		v.Sort(sorted)
		var got []string
		for i := range v.outline.rows {
			got = append(got, v.name(v.outline.rows[i].node))
		}
		if strings.Join(got, " ") != want || v.Sorted() != sorted {
			t.Errorf("by %s: %q, want %q", sorted, got, want)
		}
	}
}

// The hottest path is unfolded from the chosen row on, by the button and by its key; another button folds all.
func TestHottestPath(t *testing.T) {
	v := newView(t)
	v.Hottest() // of no tree
	v.Show(sample(), 3)
	test.Tap(v.hot)
	if got, want := shown(v), "- main\n  - load\n      read <\n    paint\n    (others)\n  worker"; got != want {
		t.Errorf("unfolded\n%s\nwant\n%s", got, want)
	}
	test.Tap(v.fold)
	if got, want := shown(v), "+ main <\n  worker"; got != want {
		t.Errorf("folded\n%s\nwant\n%s", got, want)
	}
	v.typed("h")
	if got := shown(v); !strings.Contains(got, "read <") {
		t.Errorf("by the key\n%s", got)
	}
	// Who uses no mouse sorts by the column before, too.
	v.typed("<")
	if v.Sorted() != "calls falling" {
		t.Errorf("sorted by %s", v.Sorted())
	}
	for _, tip := range []string{v.hot.Hint(), v.fold.Hint(), v.byThread.Hint()} {
		if tip == "" {
			t.Error("a button says nothing of itself")
		}
	}
}

// The tree is drawn with a sign beside what can be unfolded, and says of threads their names and processes.
func TestDrawnTree(t *testing.T) {
	v := newView(t)
	w := test.NewTempWindow(t, v.Content)
	w.Resize(fyne.NewSize(900, 300))
	thread := node("", 5, 0, node("main", 5, 5))
	thread.Thread, thread.ThreadName, thread.Process = 7, "render", &rows.Process{Label: "shop (99)"}
	v.Show(&app.Tree{Total: 5e6, Roots: []*app.TreeNode{thread, node("alone", 1, 1)}}, 3)
	v.typed("+")
	list := make([]rows.Row, 5)
	n, err := source{&v.outline}.Read(list, 0)
	if n != 3 || err != io.EOF {
		t.Fatalf("%d rows, %v", n, err)
	}
	signs := make([]grid.Decor, n)
	v.decorate(signs, list[:n], 0)
	if signs[0].Fold != grid.FoldOpen || signs[1].Fold == grid.FoldOpen || signs[1].Fold == grid.FoldClosed || signs[2].Fold == grid.FoldClosed {
		t.Errorf("the signs are %v", signs)
	}
	v.typed("-")
	if v.decorate(signs[:1], list[:1], 0); signs[0].Fold != grid.FoldClosed {
		t.Errorf("folded, the sign is %v", signs[0])
	}
	if got := v.name(thread); got != "Thread 7  render  shop (99)" {
		t.Errorf("a thread is %q", got)
	}
}

// In another language the tree is still the one that was asked for, and a press on the sign folds as the keys do; of no
// tree there is nothing to press.
func TestSignAndDirection(t *testing.T) {
	v := newView(t)
	asked := 0
	v.OnOptions = func(app.TreeOptions) { asked++ }
	v.typed("+ * / > h Left")
	v.Grid.OnTree(0, true)
	v.Grid.OnFold(0)
	if got := shown(v); got != "" || v.Sorted() != "total falling" {
		t.Errorf("shown is %q, sorted by %s", got, v.Sorted())
	}
	v.Show(sample(), 3)
	v.Grid.OnFold(0)
	if got, want := shown(v), "- main <\n  + load\n    paint\n    (others)\n  worker"; got != want {
		t.Errorf("unfolded\n%s\nwant\n%s", got, want)
	}
	v.Grid.OnFold(4) // a leaf
	v.Grid.OnFold(0)
	if got, want := shown(v), "+ main <\n  worker"; got != want {
		t.Errorf("folded\n%s\nwant\n%s", got, want)
	}
	v.typed("b")
	v.Relabel()
	if v.direction.Selected != "Bottom-up: who calls it" || !v.Options().BottomUp || asked != 1 {
		t.Errorf("the direction is %q, asked %d times", v.direction.Selected, asked)
	}
	// What is sorted stays so while it is folded and unfolded.
	v.Sort("function")
	v.typed("+ - +")
	if got, want := shown(v), "- main <\n  + load\n    paint\n    (others)\n  worker"; got != want {
		t.Errorf("sorted\n%s\nwant\n%s", got, want)
	}
}
