package inputs

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/hint"
)

// An Entry is a line of text that leaves the window's own keys to the window
// and tells when it is done: at Enter and when it loses the focus.
type Entry struct {
	widget.Entry
	// OnKey is asked about each key first; true means that it is used up.
	OnKey func(fyne.KeyName) bool
	// OnShortcut is asked about each key with modifiers first, in the same way.
	OnShortcut func(*desktop.CustomShortcut) bool
	// OnDone is told a text that was changed by the user.
	OnDone func(string)
	// Hint is what the entry says of itself while the pointer rests on it.
	Hint hint.Hint

	settled string
}

// MouseIn implements [desktop.Hoverable].
func (e *Entry) MouseIn(m *desktop.MouseEvent) {
	if e.Hint != nil {
		hint.Tell(e, e.Hint(), m.AbsolutePosition)
	}
}

// MouseMoved implements [desktop.Hoverable].
func (e *Entry) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements [desktop.Hoverable].
func (e *Entry) MouseOut() {
	if e.Hint != nil {
		hint.Tell(e, "", fyne.Position{})
	}
}

// NewEntry makes an empty entry.
func NewEntry() *Entry {
	e := &Entry{}
	e.Wrapping = fyne.TextWrap(fyne.TextTruncateClip) // as widget.NewEntry has it
	e.ExtendBaseWidget(e)
	e.OnSubmitted = func(string) { e.settle() }
	return e
}

// A Focusable is a widget that keys can go to.
type Focusable interface {
	fyne.CanvasObject
	fyne.Focusable
}

// NewNarrow makes an entry for what narrows a list: Enter and Down lead from it
// to the list, Escape takes the text away too.
func NewNarrow(list Focusable) *Entry {
	e := NewEntry()
	e.OnKey = func(name fyne.KeyName) bool {
		switch name {
		case fyne.KeyDown, fyne.KeyReturn, fyne.KeyEnter:
		case fyne.KeyEscape:
			e.Replace("")
		default:
			return false
		}
		focus(list)
		return true
	}
	return e
}

// Focus lets the user type.
func (e *Entry) Focus() { focus(e) }

func focus(f Focusable) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(f); c != nil {
		c.Focus(f)
	}
}

// Settle sets the text without telling OnDone, unless the user is typing.
func (e *Entry) Settle(text string) {
	if text == e.settled && e.Text == text {
		return
	}
	typing := e.Text != e.settled
	e.settled = text
	if !typing {
		e.SetText(text)
	}
}

// Replace sets the text and selects nothing. (Fyne keeps a selection when the
// text below it is taken away, and what is typed next goes with it.)
func (e *Entry) Replace(text string) {
	e.Entry.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEnd})
	e.SetText(text)
}

func (e *Entry) settle() {
	if e.Text == e.settled || e.OnDone == nil {
		return
	}
	e.settled = e.Text
	e.OnDone(e.Text)
}

// FocusLost implements [fyne.Focusable].
func (e *Entry) FocusLost() {
	e.Entry.FocusLost()
	e.settle()
}

// TypedKey implements [fyne.Focusable]. Escape takes back what was typed.
func (e *Entry) TypedKey(k *fyne.KeyEvent) {
	if e.OnKey != nil && e.OnKey(k.Name) {
		return
	}
	if k.Name == fyne.KeyEscape && e.OnDone != nil {
		e.SetText(e.settled)
		return
	}
	e.Entry.TypedKey(k)
}

// TypedShortcut implements [fyne.Shortcutable].
func (e *Entry) TypedShortcut(s fyne.Shortcut) {
	if c, ok := s.(*desktop.CustomShortcut); ok && e.OnShortcut != nil && e.OnShortcut(c) {
		return
	}
	e.Entry.TypedShortcut(s)
}
