// Package tabbar is the row of tabs above a window's content, one for each log that is
// open in it.
package tabbar

import (
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/hint"
)

const (
	height            = 28
	narrowest, widest = 90, 240
	closeWidth, inset = 24, 8
	markHeight        = 3
	newWidth          = 32
	closeIcon         = 14
	besideChosen      = 2 // tabs that are seen on its right, if there are
)

// A Bar is a row of tabs.
type Bar struct {
	Content *fyne.Container

	OnChoose, OnClose func(i int)
	OnNew             func()

	tabs   []*tab
	row    *fyne.Container
	titles []string
	chosen int
}

// New makes a bar without tabs.
func New() *Bar {
	b := &Bar{chosen: -1}
	add := hint.NewButton("", theme.ContentAddIcon(), func() { b.OnNew() })
	add.Importance = widget.LowImportance
	add.Hint = func() string { return hint.Keyed(lang.L("New tab"), "Ctrl+T") }
	b.row = container.New(&rowLayout{b})
	b.Content = container.NewBorder(nil, widget.NewSeparator(), nil, container.New(&slim{newWidth}, add), b.row)
	return b
}

// Show shows tabs with these titles, of which one is chosen.
func (b *Bar) Show(titles []string, chosen int) {
	if slices.Equal(titles, b.titles) && chosen == b.chosen {
		return
	}
	b.titles, b.chosen = slices.Clone(titles), chosen
	for len(b.tabs) < len(titles) {
		b.tabs = append(b.tabs, newTab(b, len(b.tabs)))
	}
	b.tabs = b.tabs[:len(titles)]
	b.row.Objects = nil
	for _, t := range b.tabs {
		b.row.Objects = append(b.row.Objects, t)
	}
	b.row.Refresh()
	for _, t := range b.tabs {
		t.Refresh()
	}
}

// Tab returns a tab's widget; presses on it choose and close it.
func (b *Bar) Tab(i int) interface {
	fyne.CanvasObject
	fyne.Tappable
} {
	return b.tabs[i]
}

// A slim is a layout that gives its only object a width, and the bar's height.
type slim struct{ width float32 }

func (s *slim) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(s.width, height) }
func (s *slim) Layout(o []fyne.CanvasObject, size fyne.Size) {
	o[0].Resize(size)
}

// A rowLayout lays tabs out beside each other, as wide as there is room. Where there
// is not enough for all, those around the chosen one are shown.
type rowLayout struct{ b *Bar }

func (l *rowLayout) MinSize([]fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(narrowest, height)
}

func (l *rowLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	n := len(objects)
	if n == 0 {
		return
	}
	fit := min(max(int(size.Width/narrowest), 1), n)
	first := min(max(l.b.chosen-fit+besideChosen, 0), n-fit)
	width := min(size.Width/float32(fit), widest)
	for i, o := range objects {
		if i < first || i >= first+fit {
			o.Hide()
			continue
		}
		o.Move(fyne.NewPos(float32(i-first)*width, 0))
		o.Resize(fyne.NewSize(width, size.Height))
		o.Show()
	}
}

// A tab is one of the row: a press chooses it, the middle button closes it.
type tab struct {
	widget.BaseWidget
	b       *Bar
	i       int
	hovered bool
}

func newTab(b *Bar, i int) *tab {
	t := &tab{b: b, i: i}
	t.ExtendBaseWidget(t)
	return t
}

// MouseDown implements [desktop.Mouseable].
func (t *tab) MouseDown(e *desktop.MouseEvent) {
	if e.Button == desktop.MouseButtonTertiary {
		t.b.OnClose(t.i)
	}
}

// MouseUp implements [desktop.Mouseable].
func (t *tab) MouseUp(*desktop.MouseEvent) {}

// Tapped implements [fyne.Tappable]: the cross closes the tab.
func (t *tab) Tapped(e *fyne.PointEvent) {
	if e.Position.X >= t.Size().Width-closeWidth {
		t.b.OnClose(t.i)
		return
	}
	t.b.OnChoose(t.i)
}

// MouseIn implements [desktop.Hoverable].
func (t *tab) MouseIn(e *desktop.MouseEvent) {
	t.hover(true)
	if t.i < len(t.b.titles) {
		hint.Tell(t, hint.Keyed(t.b.titles[t.i], "Ctrl+Tab"), e.AbsolutePosition)
	}
}

// MouseMoved implements [desktop.Hoverable].
func (t *tab) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements [desktop.Hoverable].
func (t *tab) MouseOut() {
	t.hover(false)
	hint.Tell(t, "", fyne.Position{})
}

func (t *tab) hover(on bool) {
	t.hovered = on
	t.Refresh()
}

// CreateRenderer implements [fyne.Widget].
func (t *tab) CreateRenderer() fyne.WidgetRenderer {
	r := &tabRenderer{t: t, back: canvas.NewRectangle(nil), mark: canvas.NewRectangle(nil), title: canvas.NewText("", nil), cross: widget.NewIcon(theme.CancelIcon())}
	r.Refresh()
	return r
}

type tabRenderer struct {
	t          *tab
	back, mark *canvas.Rectangle
	title      *canvas.Text
	cross      *widget.Icon
}

func (r *tabRenderer) Layout(size fyne.Size) {
	r.back.Resize(size)
	r.mark.Resize(fyne.NewSize(size.Width, markHeight))
	room := size.Width - inset - closeWidth
	r.title.Text = shorten(r.text(), room, r.title.TextSize, r.title.TextStyle)
	text := r.title.MinSize()
	r.title.Resize(fyne.NewSize(room, text.Height))
	r.title.Move(fyne.NewPos(inset, (size.Height-text.Height)/2))
	r.cross.Resize(fyne.NewSquareSize(closeIcon))
	r.cross.Move(fyne.NewPos(size.Width-closeWidth+(closeWidth-closeIcon)/2, (size.Height-closeIcon)/2))
}

func (r *tabRenderer) text() string {
	if r.t.i < len(r.t.b.titles) {
		return r.t.b.titles[r.t.i]
	}
	return ""
}

func (r *tabRenderer) MinSize() fyne.Size { return fyne.NewSize(narrowest, height) }

func (r *tabRenderer) Refresh() {
	th, v := r.t.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	chosen := r.t.i == r.t.b.chosen
	back := theme.ColorNameHeaderBackground
	switch {
	case chosen:
		back = theme.ColorNameBackground
	case r.t.hovered:
		back = theme.ColorNameHover
	}
	r.back.FillColor = th.Color(back, v)
	r.mark.FillColor = th.Color(theme.ColorNamePrimary, v)
	r.mark.Hidden = !chosen
	r.title.Color = th.Color(theme.ColorNameForeground, v)
	r.title.TextSize = th.Size(theme.SizeNameText)
	r.title.TextStyle.Bold = chosen
	r.Layout(r.t.Size())
	canvas.Refresh(r.t)
}

func (r *tabRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.back, r.mark, r.title, r.cross}
}

func (r *tabRenderer) Destroy() {}

// shorten leaves the middle of a text out, so that it is no wider than room: names of
// logs differ at both ends.
func shorten(s string, room, size float32, style fyne.TextStyle) string {
	fits := func(s string) bool { return fyne.MeasureText(s, size, style).Width <= room }
	if fits(s) {
		return s
	}
	r := []rune(s)
	low, high := 0, len(r)
	for low < high { // the most letters that fit
		mid := (low + high + 1) / 2
		if fits(string(r[:mid/2]) + "\u2026" + string(r[len(r)-(mid-mid/2):])) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return string(r[:low/2]) + "\u2026" + string(r[len(r)-(low-low/2):])
}
