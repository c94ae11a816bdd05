// Package hint has buttons, choices and switches that say what they are for, and by which keys it is done, while the
// pointer rests on them.
package hint

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"
)

// A Teller shows a text for what the pointer has come to at a place on the canvas; "" for nothing.
type Teller func(text string, at fyne.Position)

// tellers are those of the windows. They belong to the goroutine that Fyne calls widgets on.
var tellers = map[fyne.Canvas]Teller{}

// Serve lets the hints of what is on a canvas be shown by tell; nil ends that.
func Serve(c fyne.Canvas, tell Teller) {
	if tell == nil {
		delete(tellers, c)
	} else {
		tellers[c] = tell
	}
}

// Tell has a hint shown for a widget that the pointer has come to; "" when it has left.
func Tell(o fyne.CanvasObject, text string, at fyne.Position) {
	if tell := tellers[fyne.CurrentApp().Driver().CanvasForObject(o)]; tell != nil {
		tell(text, at)
	}
}

// Keyed is a text with the keys that do the same.
func Keyed(text, keys string) string {
	if keys == "" {
		return text
	}
	return text + "   " + keys
}

// A Hint is what a widget says of itself; nil says nothing.
type Hint func() string

func (h Hint) in(o fyne.CanvasObject, e *desktop.MouseEvent) {
	if h != nil {
		Tell(o, h(), e.AbsolutePosition)
	}
}

func (h Hint) out(o fyne.CanvasObject) {
	if h != nil {
		Tell(o, "", fyne.Position{})
	}
}

// A Button is Fyne's with a hint.
type Button struct {
	widget.Button
	Hint Hint
}

// NewButton makes a button; icon may be nil.
func NewButton(text string, icon fyne.Resource, tapped func()) *Button {
	b := &Button{}
	b.Text, b.Icon, b.OnTapped = text, icon, tapped
	b.ExtendBaseWidget(b)
	return b
}

// MouseIn implements [desktop.Hoverable].
func (b *Button) MouseIn(e *desktop.MouseEvent) {
	b.Button.MouseIn(e)
	b.Hint.in(b, e)
}

// MouseOut implements [desktop.Hoverable].
func (b *Button) MouseOut() {
	b.Button.MouseOut()
	b.Hint.out(b)
}

// Tapped implements [fyne.Tappable]: who has pressed it knows what it is for.
func (b *Button) Tapped(e *fyne.PointEvent) {
	b.Hint.out(b)
	b.Button.Tapped(e)
}

// A Select is Fyne's with a hint.
type Select struct {
	widget.Select
	Hint Hint
}

// NewSelect makes a choice.
func NewSelect(options []string, changed func(string)) *Select {
	s := &Select{}
	s.Options, s.OnChanged, s.PlaceHolder = options, changed, widget.NewSelect(nil, nil).PlaceHolder
	s.ExtendBaseWidget(s)
	return s
}

// MouseIn implements [desktop.Hoverable].
func (s *Select) MouseIn(e *desktop.MouseEvent) {
	s.Select.MouseIn(e)
	s.Hint.in(s, e)
}

// MouseOut implements [desktop.Hoverable].
func (s *Select) MouseOut() {
	s.Select.MouseOut()
	s.Hint.out(s)
}

// Tapped implements [fyne.Tappable].
func (s *Select) Tapped(e *fyne.PointEvent) {
	s.Hint.out(s)
	s.Select.Tapped(e)
}

// A Check is Fyne's with a hint.
type Check struct {
	widget.Check
	Hint Hint
}

// NewCheck makes a switch.
func NewCheck(text string, changed func(bool)) *Check {
	c := &Check{}
	c.Text, c.OnChanged = text, changed
	c.ExtendBaseWidget(c)
	return c
}

// MouseIn implements [desktop.Hoverable].
func (c *Check) MouseIn(e *desktop.MouseEvent) {
	c.Check.MouseIn(e)
	c.Hint.in(c, e)
}

// MouseOut implements [desktop.Hoverable].
func (c *Check) MouseOut() {
	c.Check.MouseOut()
	c.Hint.out(c)
}
