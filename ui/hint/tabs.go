package hint

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"
)

// Tabs are Fyne's with a hint for each.
type Tabs struct {
	container.AppTabs
	// Hint is what a tab says of itself.
	Hint func(t *container.TabItem) string
	over *over
}

// NewTabs makes tabs without items.
func NewTabs() *Tabs {
	t := &Tabs{}
	t.over = &over{tabs: t, at: -1}
	t.over.ExtendBaseWidget(t.over)
	//lint:ignore SA1019 Fyne has no other way yet to have something over its tabs
	t.ExtendBaseWidget(t)
	return t
}

// CreateRenderer implements [fyne.Widget].
func (t *Tabs) CreateRenderer() fyne.WidgetRenderer {
	//lint:ignore SA1019 see NewTabs
	t.ExtendBaseWidget(t)
	r := &tabsRenderer{WidgetRenderer: t.AppTabs.CreateRenderer(), over: t.over}
	r.place()
	return r
}

// A tabsRenderer puts what the pointer comes to over the tabs' buttons.
type tabsRenderer struct {
	fyne.WidgetRenderer
	over *over
}

// Layout implements [fyne.WidgetRenderer].
func (r *tabsRenderer) Layout(size fyne.Size) {
	r.WidgetRenderer.Layout(size)
	r.place()
}

// Refresh implements [fyne.WidgetRenderer].
func (r *tabsRenderer) Refresh() {
	r.WidgetRenderer.Refresh()
	r.place()
}

// Objects implements [fyne.WidgetRenderer].
func (r *tabsRenderer) Objects() []fyne.CanvasObject {
	return append(r.WidgetRenderer.Objects(), r.over)
}

// place lays over where the buttons are. Fyne has them in the first container of the first.
func (r *tabsRenderer) place() {
	r.over.buttons = nil
	size := fyne.Size{}
	if bar, ok := r.WidgetRenderer.Objects()[0].(*fyne.Container); ok && len(bar.Objects) > 0 {
		if row, ok := bar.Objects[0].(*fyne.Container); ok {
			r.over.buttons, size = row.Objects, row.Size()
			r.over.Move(bar.Position().Add(row.Position()))
		}
	}
	r.over.Resize(size)
}

// over hears of the pointer in the buttons' stead, and tells them. What is pressed comes to
// them, as it cannot be pressed itself.
type over struct {
	widget.BaseWidget
	tabs    *Tabs
	buttons []fyne.CanvasObject
	at      int // the button that the pointer is over, -1 for none
}

// CreateRenderer implements [fyne.Widget].
func (o *over) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(container.NewWithoutLayout())
}

// MouseIn implements [desktop.Hoverable].
func (o *over) MouseIn(e *desktop.MouseEvent) { o.MouseMoved(e) }

// MouseMoved implements [desktop.Hoverable].
func (o *over) MouseMoved(e *desktop.MouseEvent) {
	at := -1
	for i, b := range o.buttons {
		if x := b.Position().X; e.Position.X >= x && e.Position.X < x+b.Size().Width {
			at = i
		}
	}
	if at == o.at {
		return
	}
	o.MouseOut()
	if o.at = at; at < 0 {
		return
	}
	if b, ok := o.buttons[at].(desktop.Hoverable); ok {
		b.MouseIn(e)
	}
	if at < len(o.tabs.Items) && o.tabs.Hint != nil {
		Tell(o, o.tabs.Hint(o.tabs.Items[at]), e.AbsolutePosition)
	}
}

// MouseOut implements [desktop.Hoverable].
func (o *over) MouseOut() {
	if o.at < 0 {
		return
	}
	if o.at < len(o.buttons) {
		if b, ok := o.buttons[o.at].(desktop.Hoverable); ok {
			b.MouseOut()
		}
	}
	o.at = -1
	Tell(o, "", fyne.Position{})
}
