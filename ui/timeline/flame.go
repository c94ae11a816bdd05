package timeline

import (
	"image"
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/grid"
)

// A Flame draws a call tree: a box a node, as wide as its part of the time, callees below their
// callers. It can show all that is around one function instead, its callers above it. It
// belongs to the goroutine that Fyne calls widgets on.
type Flame struct {
	widget.BaseWidget
	// OnChosen is told the node that the user has chosen and the functions on the way to
	// it, the outermost first.
	OnChosen func(n *app.TreeNode, path []app.FunctionRef)
	// OnOpen is told the function of Enter; OnMenu is asked for a function's context menu.
	OnOpen func(f *app.FunctionRef)
	OnMenu func(f *app.FunctionRef, at fyne.Position)
	// OnKey is told keys, and OnRune characters, that the graph has no use for.
	OnKey  func(name fyne.KeyName)
	OnRune func(r rune)
	// OnChanged is told that another part is shown.
	OnChanged func()

	tree   *app.Tree
	digits int
	// centre is the function that all is around, nil for all of the tree; up and down are
	// what is around it.
	centre   *app.FunctionRef
	up, down *app.TreeNode
	root     *app.TreeNode // fills the width, nil for all
	chosen   *app.TreeNode
	hovered  *app.TreeNode
	offset   int // device pixels that are scrolled away above
	focused  bool

	palette *Palette
	painter *grid.Painter
	scale   float32
	pixels  *image.RGBA
	raster  *canvas.Raster
	tip     *tip
	inks    Inks
	boxes   []flameBox // of the last picture, in the order of painting
	height  int        // of all, in device pixels
}

// A flameBox is a node where it is drawn.
type flameBox struct {
	node   *app.TreeNode
	x0, x1 float64
	level  int
	parent int // index of the box around it, -1 for none
}

// maxFlameDepth bounds the levels that are drawn.
const maxFlameDepth = 1024

// NewFlame makes an empty graph.
func NewFlame(fonts *grid.Fonts, palette *Palette) *Flame {
	f := &Flame{palette: palette, painter: grid.NewPainter(fonts), scale: 1, digits: 3, tree: &app.Tree{}}
	f.raster = canvas.NewRaster(f.generate)
	f.tip = newTip()
	f.ExtendBaseWidget(f)
	return f
}

// SetPalette changes the colours.
func (f *Flame) SetPalette(p *Palette) {
	f.palette = p
	f.raster.Refresh()
}

// SetInks changes what boxes have their colours from.
func (f *Flame) SetInks(i Inks) {
	f.inks = i
	f.raster.Refresh()
}

// SetTree shows a top-down tree, whose times are worth so many digits of a second. What it
// is around stays so.
func (f *Flame) SetTree(tree *app.Tree, digits int) {
	f.tree, f.digits, f.root, f.chosen, f.hovered, f.offset = tree, digits, nil, nil, nil, 0
	f.around()
	f.changed()
}

// Around shows what is around a function: who called it above, what it called below; nil shows
// all of the tree.
func (f *Flame) Around(function *app.FunctionRef) {
	f.centre, f.root, f.chosen, f.hovered, f.offset = function, nil, nil, nil, 0
	f.around()
	f.changed()
}

// Centre returns the function that all is around, nil for none.
func (f *Flame) Centre() *app.FunctionRef { return f.centre }

// IsZoomed reports whether only a part of the tree is shown.
func (f *Flame) IsZoomed() bool { return f.root != nil }

func (f *Flame) around() {
	f.up, f.down = nil, nil
	if f.centre != nil {
		f.up, f.down = f.tree.Around(f.centre.Function, f.centre.Module)
	}
}

// Out takes back a zoom, or else goes from one function back to all, and reports whether there
// was anything to take back.
func (f *Flame) Out() bool {
	switch {
	case f.root != nil:
		f.root = nil
	case f.centre != nil:
		f.centre = nil
		f.around()
	default:
		return false
	}
	f.offset = 0
	f.changed()
	return true
}

// Choose marks the node that a way of calls leads to, the outermost first. It says nothing to
// OnChosen.
func (f *Flame) Choose(frames []app.Frame) {
	f.chosen = nil
	list := f.tree.Roots
	for i := range frames {
		var found *app.TreeNode
		for _, n := range list {
			if n.Function == frames[i].Function && n.Module == frames[i].Module {
				found = n
			}
		}
		if found == nil {
			break
		}
		f.chosen, list = found, found.Children
	}
	f.raster.Refresh()
}

func (f *Flame) changed() {
	f.tip.Hide()
	f.raster.Refresh()
	if f.OnChanged != nil {
		f.OnChanged()
	}
}

// layOut places the boxes in a width.
func (f *Flame) layOut(width int) {
	f.boxes = f.boxes[:0]
	base := 0
	if f.up != nil {
		depth := 0
		var deep func(n *app.TreeNode, x0, x1 float64, level int)
		deep = func(n *app.TreeNode, x0, x1 float64, level int) {
			depth = max(depth, level)
			f.split(n, x0, x1, level, deep)
		}
		deep(f.up, 0, float64(width), 0)
		base = depth
		var place func(n *app.TreeNode, x0, x1 float64, level, parent int)
		place = func(n *app.TreeNode, x0, x1 float64, level, parent int) {
			if level > 0 { // the function itself is drawn below
				f.boxes = append(f.boxes, flameBox{n, x0, x1, base - level, parent})
				parent = len(f.boxes) - 1
			}
			f.split(n, x0, x1, level, func(c *app.TreeNode, a, b float64, level int) { place(c, a, b, level, parent) })
		}
		place(f.up, 0, float64(width), 0, -1)
	}
	var place func(n *app.TreeNode, x0, x1 float64, level, parent int)
	place = func(n *app.TreeNode, x0, x1 float64, level, parent int) {
		f.boxes = append(f.boxes, flameBox{n, x0, x1, level, parent})
		parent = len(f.boxes) - 1
		f.split(n, x0, x1, level, func(c *app.TreeNode, a, b float64, level int) { place(c, a, b, level, parent) })
	}
	switch {
	case f.root != nil:
		place(f.root, 0, float64(width), base, -1)
	case f.centre != nil:
		if f.down != nil {
			place(f.down, 0, float64(width), base, -1)
		}
	default:
		all := &app.TreeNode{Children: f.tree.Roots}
		for _, n := range f.tree.Roots {
			all.Total += n.Total
		}
		f.split(all, 0, float64(width), -1, func(c *app.TreeNode, a, b float64, level int) { place(c, a, b, level, -1) })
	}
	levels := 0
	for i := range f.boxes {
		levels = max(levels, f.boxes[i].level+1)
	}
	f.height = levels * f.px(lineHeight)
}

// split places the children of a node that are wide enough to be seen.
func (f *Flame) split(n *app.TreeNode, x0, x1 float64, level int, place func(c *app.TreeNode, x0, x1 float64, level int)) {
	whole := int64(0)
	for _, c := range n.Children {
		whole += c.Total
	}
	if whole = max(whole, n.Total); whole <= 0 || level >= maxFlameDepth {
		return
	}
	width := (x1 - x0) / float64(whole)
	for _, c := range n.Children {
		end := x0 + width*float64(c.Total)
		if end-x0 >= 0.5 {
			place(c, x0, end, level+1)
		}
		x0 = end
	}
}

func (f *Flame) px(dip float32) int { return int(dip*f.scale + 0.5) }

func (f *Flame) generate(w, h int) image.Image {
	if scale, ok := grid.DeviceScale(f.raster.Size(), w); ok {
		f.scale = scale
	}
	f.pixels = grid.Pixels(f.pixels, w, h)
	f.draw(f.pixels)
	return f.pixels
}

func (f *Flame) draw(img *image.RGBA) {
	p := f.painter
	p.Begin(img, f.scale)
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	p.Fill(0, 0, w, h, f.palette.Background)
	f.layOut(w)
	f.offset = max(min(f.offset, f.height-h), 0)
	line := f.px(lineHeight)
	base := (line - 1 + p.Ascent() - p.Descent() + 1) / 2
	for i := range f.boxes {
		b := &f.boxes[i]
		y := b.level*line - f.offset
		if y+line <= 0 || y >= h {
			continue
		}
		x0, x1 := int(b.x0+0.5), int(b.x1+0.5)
		if x1 <= x0 {
			continue
		}
		right := x1
		if x1-x0 > 2*f.px(minBox) {
			right--
		}
		p.Fill(x0, y, right, y+line-1, f.palette.box(f.inks.of(b.node.Function, b.node.Module, 0)))
		if f.hovered != nil && b.node.Function == f.hovered.Function && b.node.Module == f.hovered.Module {
			p.Fill(x0, y+line-1-f.px(2), right, y+line-1, f.palette.Selected)
		}
		if room := right - x0 - f.px(5); room > f.px(14) {
			p.Name(label(b.node), x0+f.px(3), y+base, room, f.palette.Text)
		}
	}
	for i := range f.boxes {
		b := &f.boxes[i]
		if b.node == f.chosen || f.centre != nil && b.node == f.down {
			f.outline(int(b.x0+0.5), b.level*line-f.offset, int(b.x1+0.5), line-1)
		}
	}
}

func (f *Flame) outline(x0, y, x1, high int) {
	p, w := f.painter, f.px(1.5)
	p.Fill(x0, y, x1, y+w, f.palette.Selected)
	p.Fill(x0, y+high-w, x1, y+high, f.palette.Selected)
	p.Fill(x0, y, x0+w, y+high, f.palette.Selected)
	p.Fill(x1-w, y, x1, y+high, f.palette.Selected)
}

// label is what stands in a box.
func label(n *app.TreeNode) string {
	if n.Other {
		return lang.L("(others)")
	}
	return n.Label()
}

// whole is the time that a full width stands for.
func (f *Flame) whole() int64 {
	if f.down != nil {
		return f.down.Total
	}
	whole := int64(0)
	for _, n := range f.tree.Roots {
		whole += n.Total
	}
	return whole
}

// at returns the box at a place, -1 for none.
func (f *Flame) at(p fyne.Position) int {
	x, line := float64(p.X*f.scale), f.px(lineHeight)
	if line <= 0 || p.Y < 0 {
		return -1
	}
	level := (int(p.Y*f.scale) + f.offset) / line
	for i := range f.boxes {
		if b := &f.boxes[i]; b.level == level && b.x0 <= x && x < b.x1 {
			return i
		}
	}
	return -1
}

// describe is what is said of a node under the pointer.
func (f *Flame) describe(n *app.TreeNode) []string {
	digits := max(f.digits, 3)
	lines := []string{label(n),
		lang.L("Total {{.Total}}, self {{.Self}}", data{"Total": bounded(n.Bound, n.Total, digits), "Self": bounded(n.SelfBound, n.Self, digits)}),
		control.Count("{{.N}} call", "{{.N}} calls", n.Calls)}
	if whole := f.whole(); whole > 0 {
		lines[2] += " \u00b7 " + lang.L("{{.Percent}} % of all", data{"Percent": strconv.FormatFloat(100*float64(n.Total)/float64(whole), 'f', 1, 64)})
	}
	if n.Module != "" {
		lines = append(lines, n.Module)
	}
	return lines
}

// choose makes a box the chosen one and says so.
func (f *Flame) choose(i int) {
	f.chosen = f.boxes[i].node
	f.raster.Refresh()
	if f.OnChosen == nil || f.chosen.Function == "" {
		return
	}
	var path []app.FunctionRef
	if f.centre == nil && f.root == nil {
		for ; i >= 0; i = f.boxes[i].parent {
			path = append([]app.FunctionRef{f.boxes[i].node.FunctionRef}, path...)
		}
	}
	f.OnChosen(f.chosen, path)
}

// Zoom lets the chosen box fill the width.
func (f *Flame) Zoom() {
	if f.chosen != nil && len(f.chosen.Children) > 0 && f.centre == nil {
		f.root, f.offset = f.chosen, 0
		f.changed()
	}
}

// step chooses the box beside the chosen one: around it, the first within, or a neighbour.
func (f *Flame) step(up, by int) {
	at := -1
	for i := range f.boxes {
		if f.boxes[i].node == f.chosen {
			at = i
		}
	}
	if at < 0 {
		if len(f.boxes) > 0 {
			f.choose(0)
		}
		return
	}
	next := -1
	switch {
	case up < 0:
		next = f.boxes[at].parent
	case up > 0:
		for i := range f.boxes {
			if f.boxes[i].parent == at && (next < 0 || f.boxes[i].x1-f.boxes[i].x0 > f.boxes[next].x1-f.boxes[next].x0) {
				next = i
			}
		}
	default:
		for i := range f.boxes {
			b := &f.boxes[i]
			if b.level != f.boxes[at].level || i == at {
				continue
			}
			if by > 0 && b.x0 >= f.boxes[at].x1 && (next < 0 || b.x0 < f.boxes[next].x0) || by < 0 && b.x1 <= f.boxes[at].x0+1e-9 && (next < 0 || b.x0 > f.boxes[next].x0) {
				next = i
			}
		}
	}
	if next >= 0 {
		f.choose(next)
	}
}

// MouseDown implements [desktop.Mouseable].
func (f *Flame) MouseDown(e *desktop.MouseEvent) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(f); c != nil && !f.focused {
		c.Focus(f)
	}
	i := f.at(e.Position)
	if i < 0 {
		return
	}
	f.choose(i)
	if e.Button == desktop.MouseButtonSecondary && f.OnMenu != nil && f.chosen.Function != "" {
		ref := f.chosen.FunctionRef
		f.OnMenu(&ref, e.AbsolutePosition)
	}
}

// MouseUp implements [desktop.Mouseable].
func (f *Flame) MouseUp(*desktop.MouseEvent) {}

// DoubleTapped implements [fyne.DoubleTappable].
func (f *Flame) DoubleTapped(*fyne.PointEvent) { f.Zoom() }

// Scrolled implements [fyne.Scrollable].
func (f *Flame) Scrolled(e *fyne.ScrollEvent) {
	f.offset -= int(e.Scrolled.DY / wheelStep * 3 * float32(f.px(lineHeight)))
	f.tip.Hide()
	f.raster.Refresh()
}

// MouseIn, MouseMoved and MouseOut implement [desktop.Hoverable].
func (f *Flame) MouseIn(e *desktop.MouseEvent) { f.MouseMoved(e) }

// MouseMoved says what is under the pointer.
func (f *Flame) MouseMoved(e *desktop.MouseEvent) {
	i := f.at(e.Position)
	if i < 0 {
		f.MouseOut()
		return
	}
	if n := f.boxes[i].node; n != f.hovered {
		f.hovered = n
		f.raster.Refresh()
	}
	f.tip.show(f.describe(f.hovered), e.Position.AddXY(14, 18), f.Size())
	if c := fyne.CurrentApp().Driver().CanvasForObject(f); c != nil {
		c.Refresh(f.tip)
	}
}

// MouseOut takes back what was said.
func (f *Flame) MouseOut() {
	if f.hovered != nil || f.tip.Visible() {
		f.hovered = nil
		f.tip.Hide()
		f.raster.Refresh()
	}
}

// FocusGained implements [fyne.Focusable].
func (f *Flame) FocusGained() { f.focused = true }

// FocusLost implements [fyne.Focusable].
func (f *Flame) FocusLost() { f.focused = false }

// TypedRune implements [fyne.Focusable].
func (f *Flame) TypedRune(r rune) {
	switch r {
	case 'f', 'F':
		f.Zoom()
	case '0':
		f.root = nil
		f.changed()
	case 'c', 'C':
		if f.chosen != nil && f.chosen.Function != "" {
			ref := f.chosen.FunctionRef
			f.Around(&ref)
		}
	default:
		if f.OnRune != nil {
			f.OnRune(r)
		}
	}
}

// TypedKey implements [fyne.Focusable].
func (f *Flame) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyUp:
		f.step(-1, 0)
	case fyne.KeyDown:
		f.step(1, 0)
	case fyne.KeyLeft:
		f.step(0, -1)
	case fyne.KeyRight:
		f.step(0, 1)
	case fyne.KeyReturn, fyne.KeyEnter:
		if f.chosen != nil && f.chosen.Function != "" && f.OnOpen != nil {
			ref := f.chosen.FunctionRef
			f.OnOpen(&ref)
		}
	case fyne.KeyEscape:
		if !f.Out() && f.OnKey != nil {
			f.OnKey(e.Name)
		}
	default:
		if f.OnKey != nil {
			f.OnKey(e.Name)
		}
	}
}

// MinSize implements [fyne.CanvasObject].
func (f *Flame) MinSize() fyne.Size {
	f.ExtendBaseWidget(f)
	return fyne.NewSize(120, 3*lineHeight)
}

// CreateRenderer implements [fyne.Widget].
func (f *Flame) CreateRenderer() fyne.WidgetRenderer { return &flameRenderer{f} }

type flameRenderer struct{ f *Flame }

func (r *flameRenderer) Layout(size fyne.Size) { r.f.raster.Resize(size) }
func (r *flameRenderer) MinSize() fyne.Size    { return r.f.MinSize() }
func (r *flameRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.f.raster, r.f.tip}
}
func (r *flameRenderer) Destroy() {}
func (r *flameRenderer) Refresh() { r.f.raster.Refresh() }

var (
	_ fyne.Focusable      = (*Flame)(nil)
	_ fyne.Scrollable     = (*Flame)(nil)
	_ fyne.DoubleTappable = (*Flame)(nil)
	_ desktop.Mouseable   = (*Flame)(nil)
	_ desktop.Hoverable   = (*Flame)(nil)
)
