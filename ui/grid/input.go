package grid

import (
	"math"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"logparser/ui/shortname"
)

// FocusGained implements [fyne.Focusable].
func (g *Grid) FocusGained() {
	g.focused = true
	g.changed()
}

// FocusLost implements [fyne.Focusable].
func (g *Grid) FocusLost() {
	g.focused, g.shift = false, false
	g.changed()
}

// TypedRune implements [fyne.Focusable].
func (g *Grid) TypedRune(r rune) {
	if g.OnRune != nil {
		g.OnRune(r)
	}
}

// TypedKey implements [fyne.Focusable].
func (g *Grid) TypedKey(e *fyne.KeyEvent) { g.key(e.Name, g.shift) }

func (g *Grid) key(name fyne.KeyName, extend bool) {
	current := g.Current()
	switch name {
	case fyne.KeyUp:
		g.choose(current-1, extend)
	case fyne.KeyDown:
		g.choose(current+1, extend)
	case fyne.KeyPageUp:
		g.view.scrollRows(-g.view.page())
		g.choose(current-g.view.page(), extend)
	case fyne.KeyPageDown:
		g.view.scrollRows(g.view.page())
		g.choose(max(current, 0)+g.view.page(), extend)
	case fyne.KeyHome:
		g.choose(0, extend)
	case fyne.KeyEnd:
		g.choose(g.view.rows-1, extend)
	case fyne.KeyLeft, fyne.KeyRight:
		right := name == fyne.KeyRight
		switch {
		case g.OnTree != nil && !extend:
			if current >= 0 {
				g.OnTree(current, right)
			}
		case right:
			g.scrollSideways(4 * rowHeight)
		default:
			g.scrollSideways(-4 * rowHeight)
		}
	case fyne.KeyReturn, fyne.KeyEnter:
		if current >= 0 && g.OnActivated != nil {
			g.OnActivated(current)
		}
	default:
		if g.OnKey != nil {
			g.OnKey(name)
		}
	}
}

// KeyDown implements [desktop.Keyable]; key events themselves carry no
// modifiers.
func (g *Grid) KeyDown(e *fyne.KeyEvent) { g.noteShift(e.Name, true) }

// KeyUp implements [desktop.Keyable].
func (g *Grid) KeyUp(e *fyne.KeyEvent) { g.noteShift(e.Name, false) }

func (g *Grid) noteShift(name fyne.KeyName, down bool) {
	if name == desktop.KeyShiftLeft || name == desktop.KeyShiftRight {
		g.shift = down
	}
}

// TypedShortcut implements [fyne.Shortcutable].
func (g *Grid) TypedShortcut(s fyne.Shortcut) {
	switch s := s.(type) {
	case *fyne.ShortcutCopy:
		if g.OnCopy != nil {
			g.OnCopy()
		}
	case *fyne.ShortcutSelectAll:
		g.SelectAll()
	case *desktop.CustomShortcut:
		if g.OnShortcut != nil && g.OnShortcut(s) {
			return
		}
		switch s.Modifier {
		case fyne.KeyModifierControl, fyne.KeyModifierControl | fyne.KeyModifierShift:
			extend := s.Modifier&fyne.KeyModifierShift != 0
			switch s.KeyName {
			case fyne.KeyUp: // scrolls without moving the selection
				g.view.scrollRows(-1)
				g.scrolled()
			case fyne.KeyDown:
				g.view.scrollRows(1)
				g.scrolled()
			default:
				g.key(s.KeyName, extend)
			}
		}
	}
}

// Scrolled implements [fyne.Scrollable].
func (g *Grid) Scrolled(e *fyne.ScrollEvent) {
	if e.Scrolled.DX != 0 {
		g.scrollSideways(-e.Scrolled.DX * wheelRows * rowHeight / wheelStep)
	}
	if e.Scrolled.DY != 0 {
		g.view.scrollPixels(int64(-e.Scrolled.DY * float32(wheelRows*g.view.rowH) / wheelStep))
		g.scrolled()
	}
}

func (g *Grid) scrollSideways(dip float32) {
	// As far to the left as to the right: px rounds up.
	by := int(math.Round(float64(dip * g.scale)))
	g.xoff = max(min(g.xoff+by, g.contentWidth()-g.width), 0)
	g.changed()
}

// rowAt returns the row under a place on the widget.
func (g *Grid) rowAt(p fyne.Position) (int64, bool) {
	return g.view.rowAt(int(p.Y*g.scale) - g.px(headerHeight))
}

// foldAt reports whether a place is on the fold mark of a row that was drawn.
func (g *Grid) foldAt(row int64, p fyne.Position) bool {
	i := row - g.view.top
	if i < 0 || i >= int64(len(g.decor)) || i >= int64(len(g.buffer)) || g.decor[i].Fold == NoFold || g.buffer[i].Index == Waiting {
		return false
	}
	c := g.columnAt(p)
	if c == nil || !c.Tree {
		return false
	}
	cell := Cell{Decor: &g.decor[i]}
	c.Cell(&g.buffer[i], &cell)
	left := c.x + g.px(cellPad)
	if g.atlas != nil {
		_, width := indentation(g.atlas, cell.Level, g.px(indent), c.w-2*g.px(cellPad))
		left += width
	}
	x := int(p.X*g.scale) + g.xoff
	return x >= left-g.px(3) && x < left+g.px(foldWidth)
}

// dividerAt returns the index of the column whose right edge lies at a place
// of the header, or -1.
func (g *Grid) dividerAt(p fyne.Position) int {
	if p.Y < 0 || p.Y >= headerHeight {
		return -1
	}
	x, reach := int(p.X*g.scale)+g.xoff, g.px(dividerReach)
	for _, c := range g.place() {
		if edge := c.x + c.w; x >= edge-reach && x <= edge+reach {
			for i := range g.columns {
				if &g.columns[i] == c.Column {
					return i
				}
			}
		}
	}
	return -1
}

// columnAt returns the column under a place on the widget, nil for none.
func (g *Grid) columnAt(p fyne.Position) *placed {
	x := int(p.X*g.scale) + g.xoff
	for _, c := range g.place() {
		if x >= c.x && x < c.x+c.w {
			return &c
		}
	}
	return nil
}

// MouseDown implements [desktop.Mouseable].
func (g *Grid) MouseDown(e *desktop.MouseEvent) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(g); c != nil && !g.focused {
		c.Focus(g)
	}
	if e.Position.Y < headerHeight {
		g.headPressed(e)
		return
	}
	row, ok := g.rowAt(e.Position)
	if !ok {
		return
	}
	switch e.Button {
	case desktop.MouseButtonPrimary:
		if g.OnFold != nil && g.foldAt(row, e.Position) {
			g.OnFold(row)
			return
		}
		g.ranging = true
		g.choose(row, e.Modifier&fyne.KeyModifierShift != 0)
	case desktop.MouseButtonSecondary:
		if !g.sel.has(row) {
			g.move(row, false)
		}
		if g.OnMenu != nil {
			id := ""
			if c := g.columnAt(e.Position); c != nil {
				id = c.ID
			}
			g.OnMenu(row, id, e.AbsolutePosition)
		}
	}
}

// headPressed handles a press on the head of a column.
func (g *Grid) headPressed(e *desktop.MouseEvent) {
	c := g.columnAt(e.Position)
	switch {
	case e.Button == desktop.MouseButtonSecondary && c != nil && g.OnHeaderMenu != nil:
		g.OnHeaderMenu(c.ID, e.AbsolutePosition)
	case e.Button == desktop.MouseButtonPrimary:
		g.resizing = g.dividerAt(e.Position)
		if g.resizing >= 0 || c == nil {
			return
		}
		if g.Movable {
			g.moving = c.ID
		}
		if g.OnHeader != nil {
			g.OnHeader(c.ID)
		}
	}
}

// moveColumn puts the column whose head is dragged where the pointer is: in the place of
// the one below it, as soon as it would be below the pointer there.
func (g *Grid) moveColumn(p fyne.Position) {
	over := g.columnAt(fyne.NewPos(p.X, 0))
	from := g.columnIndex(g.moving)
	if over == nil || over.ID == g.moving || from < 0 {
		return
	}
	to, x, w := g.columnIndex(over.ID), int(p.X*g.scale)+g.xoff, 0
	for _, c := range g.place() {
		if c.ID == g.moving {
			w = c.w
		}
	}
	if to > from && x < over.x+over.w-w || to < from && x > over.x+w {
		return // it would lie beside the pointer, and go back and forth
	}
	c := g.columns[from]
	g.columns = slices.Insert(slices.Delete(g.columns, from, from+1), to, c)
	g.moved = true
	g.changed()
}

func (g *Grid) columnIndex(id string) int {
	return slices.IndexFunc(g.columns, func(c Column) bool { return c.ID == id })
}

// Order puts the columns into an order, by their ids; those that it does not name stay
// behind the one that they stand behind now.
func (g *Grid) Order(ids []string) {
	at := 0
	for _, id := range ids {
		from := g.columnIndex(id)
		if from < 0 {
			continue
		}
		if from < at {
			continue // named twice
		}
		c := g.columns[from]
		g.columns = slices.Insert(slices.Delete(g.columns, from, from+1), at, c)
		at++
	}
	g.changed()
}

// Fit makes a column as wide as its head and its visible cells need.
func (g *Grid) Fit(id string) {
	if i := g.columnIndex(id); i >= 0 {
		g.fit(i)
	}
}

// MouseUp implements [desktop.Mouseable].
func (g *Grid) MouseUp(*desktop.MouseEvent) { g.DragEnd() }

// Dragged implements [fyne.Draggable]: a divider of the header is moved, or a
// range of rows selected.
func (g *Grid) Dragged(e *fyne.DragEvent) {
	switch {
	case g.resizing >= 0:
		c := &g.columns[g.resizing]
		c.Width = max(c.Width+e.Dragged.DX, c.MinWidth, 24)
		g.sized[c.ID] = true
		g.Refresh()
	case g.moving != "":
		g.moveColumn(e.Position)
	case g.ranging && g.view.rows > 0:
		row, ok := g.rowAt(e.Position)
		if !ok {
			// Beyond an edge the view follows, a few rows an event.
			row = g.Current() + 3
			if e.Position.Y < headerHeight {
				row = g.Current() - 3
			}
		}
		g.move(row, true)
	}
}

// DragEnd implements [fyne.Draggable].
func (g *Grid) DragEnd() {
	if (g.resizing >= 0 || g.moved) && g.OnColumns != nil {
		g.OnColumns()
	}
	g.resizing, g.ranging, g.moving, g.moved = -1, false, "", false
}

// DoubleTapped implements [fyne.DoubleTappable].
func (g *Grid) DoubleTapped(e *fyne.PointEvent) {
	if i := g.dividerAt(e.Position); i >= 0 {
		g.fit(i)
		return
	}
	if row, ok := g.rowAt(e.Position); ok && e.Position.Y >= headerHeight && g.OnActivated != nil && !g.foldAt(row, e.Position) {
		g.OnActivated(row)
	}
}

// MouseIn implements [desktop.Hoverable].
func (g *Grid) MouseIn(e *desktop.MouseEvent) { g.MouseMoved(e) }

// MouseMoved implements [desktop.Hoverable].
func (g *Grid) MouseMoved(e *desktop.MouseEvent) {
	g.hoverX, g.hoverY = e.Position.X, e.Position.Y
	g.tellHover(e.Position, e.AbsolutePosition)
}

// MouseOut implements [desktop.Hoverable].
func (g *Grid) MouseOut() {
	g.hoverY = -1
	g.tellHover(fyne.NewPos(-1, -1), fyne.Position{})
}

// tellHover tells what a cell that the pointer has come to shows less of than there is.
func (g *Grid) tellHover(p, absolute fyne.Position) {
	if g.OnHover == nil {
		return
	}
	var at hovered
	text := ""
	if row, ok := g.rowAt(p); ok && p.Y >= headerHeight {
		i := row - g.view.top
		if c := g.columnAt(p); c != nil && i >= 0 && i < int64(len(g.buffer)) && i < int64(len(g.decor)) && g.buffer[i].Index != Waiting && g.atlas != nil {
			at = hovered{g.buffer[i].Index, c.ID}
			cell := Cell{Decor: &g.decor[i]}
			c.Cell(&g.buffer[i], &cell)
			if g.cellWidth(c.Column, &cell) > c.w-2*g.px(cellPad) || cell.Name && !shortname.AsTheyAre() && shortname.Show(string(cell.Text)) != string(cell.Text) {
				text = string(cell.Text)
			}
		}
	}
	if at != g.hover {
		g.hover = at
		g.OnHover(text, absolute)
	}
}

// A hovered is a cell below the pointer.
type hovered struct {
	index  int64
	column string
}

// cellWidth returns how wide a cell would be drawn in whole.
func (g *Grid) cellWidth(c *Column, cell *Cell) int {
	f := frame{atlas: g.atlas}
	w := f.width(cell.Text) + cell.Level*g.px(indent)
	if c.Tree {
		w += g.px(foldWidth)
	}
	if len(cell.Tail) > 0 {
		w += g.px(8) + f.width(cell.Tail)
	}
	if cell.Sign != 0 {
		w += g.atlas.glyph(cell.Sign).advance + g.px(4)
	}
	return w
}

// Cursor implements [desktop.Cursorable].
func (g *Grid) Cursor() desktop.Cursor {
	if g.resizing >= 0 || g.dividerAt(fyne.NewPos(g.hoverX, g.hoverY)) >= 0 {
		return desktop.HResizeCursor
	}
	return desktop.DefaultCursor
}

// fit makes a column as wide as its head and its visible cells need.
func (g *Grid) fit(column int) {
	f := g.frame()
	c := &g.columns[column]
	widest := f.width([]byte(c.Title))
	var cell Cell
	for i := range f.rows {
		if f.rows[i].Index == Waiting {
			continue
		}
		cell = Cell{Text: cell.Text[:0], Tail: cell.Tail[:0], Decor: &f.decor[i]}
		c.Cell(&f.rows[i], &cell)
		widest = max(widest, g.cellWidth(c, &cell))
	}
	c.Width = max(float32(widest)/g.scale+2*cellPad+1, c.MinWidth)
	g.Refresh()
	if g.OnColumns != nil {
		g.OnColumns()
	}
}

// Columns returns a copy of the columns with their present widths.
func (g *Grid) Columns() []Column { return append([]Column(nil), g.columns...) }

// SetColumns shows other columns.
func (g *Grid) SetColumns(columns []Column) {
	g.columns = columns
	g.sized = map[string]bool{}
	g.resizing, g.moving = -1, ""
	g.changed()
}

// SetColumn changes one column's width and whether it is shown. A width of 0
// leaves it as it is.
func (g *Grid) SetColumn(id string, width float32, hidden bool) {
	for i := range g.columns {
		if c := &g.columns[i]; c.ID == id {
			if width > 0 {
				c.Width = max(width, c.MinWidth)
			}
			c.Hidden = hidden
		}
	}
	g.Refresh()
}

// Widen gives a column at least a width.
func (g *Grid) Widen(id string, width float32) {
	for i := range g.columns {
		if c := &g.columns[i]; c.ID == id && c.Width < width {
			c.Width = width
			g.Refresh()
		}
	}
}

// SetTitle changes a column's head, for another language.
func (g *Grid) SetTitle(id, title string) {
	for i := range g.columns {
		if g.columns[i].ID == id {
			g.columns[i].Title = title
		}
	}
	g.changed()
}
