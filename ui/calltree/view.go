package calltree

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/table"
)

// data is what a translated text is filled with.
type data = map[string]any

// A View is the tree with its switches. It belongs to the goroutine that Fyne
// calls widgets on; the callbacks are called there.
type View struct {
	Content fyne.CanvasObject
	Grid    *grid.Grid
	// OnOptions is told that another tree is wanted.
	OnOptions func(opt app.TreeOptions)
	// OnOpen is told the function of a double click or of Enter.
	OnOpen func(f *app.FunctionRef)
	// OnChosen is told the node that the user has chosen, and the functions on the way
	// to it: top-down its own is the last, bottom-up the first.
	OnChosen func(n *app.TreeNode, path []app.FunctionRef, bottomUp bool)
	// OnMenu is asked for a function's context menu.
	OnMenu func(f *app.FunctionRef, at fyne.Position)
	// OnCopy is handed the chosen rows as text.
	OnCopy func(text string)
	// OnSorted is told the order that the user has chosen, as [View.Sort] takes it.
	OnSorted func(sorted string)

	opt     app.TreeOptions
	order   order
	tree    *app.Tree
	digits  int
	outline outline
	placing bool // what is chosen is not chosen by the user

	direction *widget.RadioGroup
	byThread  *hint.Check
	hot       *hint.Button
	fold      *hint.Button
	count     *widget.Label
}

// New makes an empty view.
func New(fonts *grid.Fonts, palette *grid.Palette) *View {
	v := &View{digits: 3, tree: &app.Tree{}, order: natural}
	v.Grid = grid.New(v.columns(), fonts, palette)
	g := v.Grid
	g.Decorate = v.decorate
	g.FitNumbers = true
	g.OnHeader = v.sort
	g.OnFold = func(row int64) { v.toggle(int(row)) }
	g.OnTree = v.leftRight
	g.OnActivated = func(row int64) {
		if f := v.function(row); f != nil && v.OnOpen != nil {
			v.OnOpen(f)
		} else {
			v.toggle(int(row))
		}
	}
	g.OnMenu = func(row int64, _ string, at fyne.Position) {
		if f := v.function(row); f != nil && v.OnMenu != nil {
			v.OnMenu(f, at)
		}
	}
	g.OnCopy = v.Copy
	g.OnSelected = v.chosen
	g.OnRune = v.rune
	v.direction = widget.NewRadioGroup(nil, func(string) {
		if up := v.direction.Selected == v.direction.Options[1]; up != v.opt.BottomUp {
			v.opt.BottomUp = up
			v.ask()
		}
	})
	v.direction.Horizontal, v.direction.Required = true, true
	v.byThread = hint.NewCheck("", func(on bool) {
		if on != v.opt.ByThread {
			v.opt.ByThread = on
			v.ask()
		}
	})
	v.hot = hint.NewButton("", theme.MoveDownIcon(), v.Hottest)
	v.hot.Importance = widget.LowImportance
	v.fold = hint.NewButton("", theme.ContentRemoveIcon(), v.FoldAll)
	v.fold.Importance = widget.LowImportance
	v.count = widget.NewLabel("")
	v.count.Importance = widget.LowImportance
	v.count.Alignment, v.count.Truncation = fyne.TextAlignTrailing, fyne.TextTruncateEllipsis
	top := container.NewBorder(nil, nil, container.NewHBox(v.direction, v.byThread), container.NewHBox(v.hot, v.fold), v.count)
	v.Content = container.NewBorder(top, nil, nil, nil, g)
	v.Relabel()
	return v
}

// Relabel says everything in the present language.
func (v *View) Relabel() {
	selected := 0
	if v.opt.BottomUp {
		selected = 1
	}
	v.direction.Options = []string{lang.L("Top-down: what it calls"), lang.L("Bottom-up: who calls it")}
	v.direction.Selected = v.direction.Options[selected]
	v.direction.Refresh()
	v.byThread.Text = lang.L("Each thread")
	v.byThread.Refresh()
	v.byThread.Hint = func() string { return hint.Keyed(lang.L("A tree of its own for each thread"), "T") }
	v.hot.Hint = func() string {
		return hint.Keyed(lang.L("From the chosen function on always the callee with most time"), "H")
	}
	v.fold.Hint = func() string { return hint.Keyed(lang.L("Unfold; fold; unfold or fold all below"), "+   -   *   /") }
	v.hot.SetText(lang.L("Hottest path"))
	v.fold.SetText(lang.L("Fold all"))
	v.showHeads()
	v.showCount()
}

// Options returns what tree is wanted.
func (v *View) Options() app.TreeOptions { return v.opt }

// ask wants another tree, in which all is folded.
func (v *View) ask() {
	v.outline.reset()
	if v.OnOptions != nil {
		v.OnOptions(v.opt)
	}
}

// Show shows a tree, whose times are worth so many digits of a second. It must
// not be changed any more. What was unfolded stays so.
func (v *View) Show(tree *app.Tree, digits int) {
	var chosen key
	if i := v.Grid.Current(); i >= 0 && i < int64(len(v.outline.rows)) {
		chosen = v.outline.rows[i].key
	}
	v.placing = true
	defer func() { v.placing = false }()
	v.tree, v.digits = tree, digits
	v.outline.set(tree.Roots)
	v.Grid.SetSource(source{&v.outline})
	v.showCount()
	at := int64(0)
	for i := range v.outline.rows {
		if v.outline.rows[i].key == chosen {
			at = int64(i)
		}
	}
	if len(v.outline.rows) > 0 {
		v.Grid.SetCurrent(at)
		v.Grid.Centre(at)
	}
}

// chosen tells who wants to know which function was chosen.
func (v *View) chosen(i int64) {
	if v.placing || v.OnChosen == nil || v.function(i) == nil {
		return
	}
	var path []app.FunctionRef
	for at := int(i); at >= 0; at = v.outline.parent(at) {
		if n := v.outline.rows[at].node; n.Function != "" {
			path = append(path, n.FunctionRef)
		}
	}
	slices.Reverse(path)
	n := v.outline.rows[i].node
	v.OnChosen(n, path, v.opt.BottomUp)
}

// Choose chooses the node for a call with these open calls around it, the
// outermost first and its own last, or what stands for it.
func (v *View) Choose(frames []app.Frame) {
	if len(frames) == 0 {
		return
	}
	v.placing = true
	defer func() { v.placing = false }()
	at, before := v.outline.choose(frames, v.opt.BottomUp), v.Grid.Current()
	v.Grid.Reload()
	if at >= 0 && int64(at) != before {
		v.Grid.SetCurrent(int64(at))
		v.Grid.Centre(int64(at))
	}
}

// OpenPaths unfolds what only leads to calls that a filter shows.
func (v *View) OpenPaths() {
	v.outline.openPaths(v.outline.roots, 0)
	v.outline.flatten()
	v.Grid.Reload()
}

func (v *View) showCount() {
	text := control.Count("{{.N}} call", "{{.N}} calls", v.tree.Calls)
	if v.tree.Cut > 0 {
		text += " \u00b7 " + lang.L("{{.N}} of them are shown as (others)", data{"N": control.Thousands(v.tree.Cut)})
	}
	v.count.SetText(text)
}

func (v *View) at(i int64) *row {
	if i < 0 || i >= int64(len(v.outline.rows)) {
		return nil
	}
	return &v.outline.rows[i]
}

// function returns a row's function, nil for a thread or the rest.
func (v *View) function(i int64) *app.FunctionRef {
	if r := v.at(i); r != nil && r.node.Function != "" {
		return &r.node.FunctionRef
	}
	return nil
}

// toggle folds or unfolds a row.
func (v *View) toggle(i int) {
	if r := v.at(int64(i)); r != nil && v.outline.setOpen(i, !r.open) {
		v.Grid.Reload()
	}
}

// leftRight is what the arrow keys do in trees everywhere.
func (v *View) leftRight(i int64, right bool) {
	r := v.at(i)
	switch {
	case r == nil:
	case right && !r.open:
		v.toggle(int(i))
	case right:
		v.Grid.SetCurrent(i + 1)
	case r.open:
		v.toggle(int(i))
	default:
		if p := v.outline.parent(int(i)); p >= 0 {
			v.Grid.SetCurrent(int64(p))
		}
	}
}

func (v *View) rune(r rune) {
	i := int(v.Grid.Current())
	if v.at(int64(i)) == nil {
		return
	}
	switch r {
	case '+', '=':
		if v.outline.setOpen(i, true) {
			v.Grid.Reload()
		}
	case '-':
		if v.outline.setOpen(i, false) {
			v.Grid.Reload()
		}
	case '*':
		v.outline.openAll(i)
		v.Grid.Reload()
	case '/':
		v.outline.closeAll(i)
		v.Grid.Reload()
	case '<', ',':
		v.sortNext(-1)
	case '>', '.':
		v.sortNext(1)
	case 'r', 'R':
		v.sort(v.order.column)
	case 'h', 'H':
		v.Hottest()
	case ' ':
		v.toggle(i)
	case 't', 'T':
		v.byThread.SetChecked(!v.byThread.Checked)
	case 'b', 'B':
		v.direction.SetSelected(v.direction.Options[1])
	case 'd', 'D':
		v.direction.SetSelected(v.direction.Options[0])
	}
}

// Hottest unfolds the path on which most of the time was spent, from the chosen
// row on.
func (v *View) Hottest() {
	i := max(v.Grid.Current(), 0)
	if v.at(i) == nil {
		return
	}
	end := v.outline.hottest(int(i))
	v.Grid.Reload()
	v.Grid.SetCurrent(int64(end))
	v.Grid.Centre(int64(end))
}

// FoldAll folds everything.
func (v *View) FoldAll() {
	v.outline.reset()
	v.outline.flatten()
	v.Grid.Reload()
	if len(v.outline.rows) > 0 {
		v.Grid.SetCurrent(0)
	}
}

// Copy hands the chosen rows to OnCopy, indented.
func (v *View) Copy() {
	first, last, ok := v.Grid.Selection()
	if !ok || v.OnCopy == nil {
		return
	}
	columns := v.columns()
	names := titles()
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(names[c.ID])
	}
	b.WriteByte('\n')
	for i := first; i <= last && v.at(i) != nil; i++ {
		for k, c := range columns {
			if k > 0 {
				b.WriteByte('\t')
			}
			var cell grid.Cell
			c.Cell(&rows.Row{Index: i}, &cell)
			b.WriteString(strings.Repeat("  ", cell.Level))
			b.Write(cell.Text)
		}
		b.WriteByte('\n')
	}
	v.OnCopy(b.String())
}

func (v *View) decorate(dst []grid.Decor, list []rows.Row, _ int64) {
	for k := range list {
		r := v.at(list[k].Index)
		switch {
		case r == nil || len(r.node.Children) == 0:
		case r.open:
			dst[k].Fold = grid.FoldOpen
		default:
			dst[k].Fold = grid.FoldClosed
		}
	}
}

// name says what a node stands for.
func (v *View) name(n *app.TreeNode) string {
	switch {
	case n.Function != "":
		return n.Function
	case n.Other:
		return lang.L("(others)")
	}
	text := lang.L("Thread {{.N}}", data{"N": strconv.FormatUint(uint64(n.Thread), 10)})
	if n.ThreadName != "" {
		text += "  " + n.ThreadName
	}
	if n.Process != nil {
		text += "  " + n.Process.Label
	}
	return text
}

func titles() map[string]string {
	return map[string]string{
		"function": lang.L("Function"), "total": lang.L("Total"), "share": lang.L("% of all"),
		"self": lang.L("Self"), "selfshare": lang.L("Self %"), "calls": lang.L("Calls"), "module": lang.L("Module"),
	}
}

// appendPartial appends the sign of numbers that are of some of a node's calls alone.
func appendPartial(text []byte, n *app.TreeNode) []byte {
	if n.Partial {
		text = rows.AppendBound(text, rows.AtLeast, n.Calls)
	}
	return text
}

func (v *View) columns() []grid.Column {
	cell := func(show func(n *app.TreeNode, c *grid.Cell)) func(*rows.Row, *grid.Cell) {
		return func(r *rows.Row, c *grid.Cell) {
			if row := v.at(r.Index); row != nil {
				show(row.node, c)
			}
		}
	}
	times := func(id string, of func(n *app.TreeNode) int64) grid.Column {
		return grid.Column{ID: id, Width: 92, Right: true, Cell: cell(func(n *app.TreeNode, c *grid.Cell) {
			if n.Timed+n.Running > 0 {
				bound := n.Bound
				if id == "self" {
					bound = n.SelfBound
				}
				c.Text = table.AppendDuration(rows.AppendBound(c.Text, bound, of(n)), of(n), v.digits)
			}
		})}
	}
	shares := func(id string, of func(n *app.TreeNode) int64) grid.Column {
		return grid.Column{ID: id, Width: 104, Right: true, Cell: cell(func(n *app.TreeNode, c *grid.Cell) {
			if v.tree.Total <= 0 || n.Timed+n.Running == 0 {
				return
			}
			s := min(float64(of(n))/float64(v.tree.Total), 1)
			c.Bar = float32(s)
			c.Text = append(strconv.AppendFloat(appendPartial(c.Text, n), 100*s, 'f', 1, 64), " %"...)
		})}
	}
	total := func(n *app.TreeNode) int64 { return n.Total }
	self := func(n *app.TreeNode) int64 { return n.Self }
	list := []grid.Column{
		{ID: "function", Width: 300, Grow: true, Tree: true, Cell: func(r *rows.Row, c *grid.Cell) {
			if row := v.at(r.Index); row != nil {
				c.Level = row.level
				if row.node.Function == "" {
					c.Ink = grid.Dim
				}
				c.Text, c.Name = append(c.Text, v.name(row.node)...), true
			}
		}},
		{ID: "calls", Width: 84, Right: true, Cell: cell(func(n *app.TreeNode, c *grid.Cell) {
			c.Text = append(appendPartial(c.Text, n), control.Thousands(n.Calls)...)
		})},
		times("total", total), shares("share", total), times("self", self), shares("selfshare", self),
		{ID: "module", Width: 140, Cell: cell(func(n *app.TreeNode, c *grid.Cell) { c.Ink, c.Text = grid.Dim, append(c.Text, n.Module...) })},
	}
	for i := range list {
		list[i].MinWidth = 32
	}
	return list
}

// source numbers the rows of an outline; the columns look the nodes up.
type source struct{ o *outline }

func (s source) Len() int64 { return int64(len(s.o.rows)) }

func (s source) Read(dst []rows.Row, from int64) (int, error) {
	for k := range dst {
		i := from + int64(k)
		if i >= s.Len() {
			return k, io.EOF
		}
		dst[k] = rows.Row{Index: i, Duration: rows.NoDuration}
	}
	return len(dst), nil
}
