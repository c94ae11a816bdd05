// Package filterline is the line above the table that says which rows are
// shown: an expression that is typed with completion, its terms as chips that
// can be taken away, and how many rows it leaves.
//
// It edits text and knows nothing of sessions: what is wanted goes out by
// callbacks, what is shown comes in by [Line.Show].
package filterline

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/rows/filter"
	"logparser/ui/hint"
	"logparser/ui/inputs"
)

// maxOffered is the most completions that are shown.
const maxOffered = 8

// maxChip is the length in letters from which a chip's text is shortened.
const maxChip = 48

// A Shown is what the line shows.
type Shown struct {
	// Where is the expression that the rows are limited by.
	Where string
	// Error says what is wrong with Wrong, at its byte Offset; "" for nothing.
	Error, Wrong string
	Offset       int
	// More are further things that hide rows, each with what takes it away.
	More []Chip
}

// A Chip is a thing that hides rows and can be taken away.
type Chip struct {
	Text   string
	Remove func()
}

// A Line is the widget. It belongs to the user interface's goroutine.
type Line struct {
	// Field is the expression with its menu, Below the chips and what is wrong, while
	// there is any. Offers are the completions, to be laid over what is below: they
	// come and go while the user types.
	Field, Below, Offers *fyne.Container

	// OnApply is told an expression to limit the rows by.
	OnApply func(expr string)
	// OnTyped is told what is typed as soon as it is an expression and nothing was typed
	// for a moment, so that its rows are seen before it is applied; nil: nobody wants it.
	OnTyped func(expr string)
	// OnRevert is called when an expression that was wrong is taken back.
	OnRevert func()
	// OnLeave is called when the user is done with the field.
	OnLeave func()
	// OnResized is called when chips, or what is wrong, come or go, OnOffers when
	// completions do.
	OnResized, OnOffers func()
	// OnKey is asked about keys that the field has no use for.
	OnKey func(fyne.KeyName) bool
	// Later calls a function after a while, on the goroutine of the line.
	Later func(d time.Duration, f func())
	// Complete asks for what could be written at a byte of a text, at most so
	// many, and hands it to done, at once or later.
	Complete func(text string, at, limit int, done func(c filter.Completion, choices []string))
	// History returns the expressions applied before, the last first.
	History func() []string

	Entry *Entry
	menu  *hint.Button

	chips, offers *fyne.Container
	problem       *widget.Label
	below         *container.Scroll
	back          *canvas.Rectangle // of the completions

	shown      Shown
	completion filter.Completion
	offered    []string
	chosen     int // index into offered, -1 for none
	recalled   int // index into the history, -1 for none
	quiet      bool

	applied string // the expression before anything was tried
	trying  string // what OnTyped was told last
	tried   bool   // that was not applied
	strokes int    // of keys that changed the text
}

// An Entry is the field. Tab takes a completion while there is one.
type Entry struct {
	inputs.Entry
	line *Line
}

// AcceptsTab implements [fyne.Tabbable].
func (e *Entry) AcceptsTab() bool { return len(e.line.offered) > 0 }

// TypedKey implements [fyne.Focusable].
func (e *Entry) TypedKey(k *fyne.KeyEvent) {
	if !e.line.key(k.Name) {
		e.Entry.TypedKey(k)
	}
}

// FocusLost implements [fyne.Focusable].
func (e *Entry) FocusLost() {
	e.Entry.FocusLost()
	e.line.settle()
	e.line.offer(nil)
}

// New makes an empty line. The menu button calls onMenu with the place below
// it.
func New(onMenu func(at fyne.Position)) *Line {
	l := &Line{chosen: -1, recalled: -1, chips: container.NewHBox(), offers: container.New(layout.NewCustomPaddedVBoxLayout(0)),
		problem: widget.NewLabel(""), back: canvas.NewRectangle(nil)}
	l.Entry = &Entry{line: l}
	l.Entry.Wrapping = fyne.TextWrap(fyne.TextTruncateClip)
	l.Entry.ExtendBaseWidget(l.Entry)
	l.Entry.OnChanged = func(string) { l.typed() }
	l.Entry.OnSubmitted = func(string) { l.submit() }
	l.menu = hint.NewButton("", theme.MenuDropDownIcon(), nil)
	l.menu.Importance = widget.LowImportance
	l.menu.OnTapped = func() {
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(l.menu)
		onMenu(at.AddXY(0, l.menu.Size().Height))
	}
	l.problem.Importance = widget.DangerImportance
	l.problem.Truncation = fyne.TextTruncateEllipsis
	l.problem.TextStyle.Monospace = false
	l.Field = container.NewBorder(nil, nil, nil, l.menu, l.Entry)
	l.below = container.NewHScroll(container.NewHBox(l.chips, layout.NewSpacer()))
	l.Below = container.New(layout.NewCustomPaddedVBoxLayout(0), l.problem, l.below)
	l.Offers = container.NewStack(l.back, container.New(layout.NewCustomPaddedLayout(3, 3, 3, 3), l.offers))
	l.problem.Hide()
	l.below.Hide()
	l.Offers.Hide()
	l.back.StrokeWidth, l.back.CornerRadius = 1, 3
	return l
}

// MenuHint has the menu button say what it is for.
func (l *Line) MenuHint(h hint.Hint) { l.menu.Hint = h }

// Relabel says everything in the present language.
func (l *Line) Relabel() {
	l.Entry.SetPlaceHolder(lang.L("Filter: func:Draw thread:12 dur:>5ms -module:ntdll"))
	l.Show(l.shown)
}

// Enable lets the user type, or not.
func (l *Line) Enable(on bool) {
	for _, w := range []fyne.Disableable{l.Entry, l.menu} {
		if on {
			w.Enable()
		} else {
			w.Disable()
		}
	}
}

// Show brings the line up to date. What the user is typing stays.
func (l *Line) Show(s Shown) {
	changed := s.Where != l.shown.Where
	l.shown = s
	if changed && s.Where != l.trying {
		l.tried = false // it came from elsewhere, such as a chip
	}
	if !l.tried {
		l.applied = s.Where
	}
	// Who is typing is not disturbed by the rows of what was typed a moment ago.
	if changed && s.Error == "" && !l.tried {
		l.set(s.Where)
	}
	text := ""
	if s.Error != "" {
		text = place(s.Wrong, s.Offset) + "   " + s.Error
	}
	if l.problem.Text != text || l.problem.Hidden != (text == "") {
		l.problem.SetText(text)
		l.problem.Hidden = text == ""
		l.resized()
	}
	l.showChips()
}

// set changes the text without completing it.
func (l *Line) set(text string) {
	l.quiet = true
	l.Entry.Replace(text)
	l.Entry.CursorColumn = utf8.RuneCountInString(text)
	l.quiet = false
	l.offer(nil)
}

// place shows where in an expression something is wrong: what is around it,
// with a mark at the place.
func place(expr string, offset int) string {
	offset = min(max(offset, 0), len(expr))
	before, after := []rune(strings.ToValidUTF8(expr[:offset], "\ufffd")), []rune(strings.ToValidUTF8(expr[offset:], "\ufffd"))
	const room = 24
	start, end := "", ""
	if len(before) > room {
		before, start = before[len(before)-room:], "\u2026"
	}
	if len(after) > room {
		after, end = after[:room], "\u2026"
	}
	return start + string(before) + "\u25b8" + string(after) + end
}

// showChips shows a chip for each outermost term.
func (l *Line) showChips() {
	var list []Chip
	if e, err := filter.Parse(l.shown.Where); err == nil {
		for i, part := range e.Parts() {
			list = append(list, Chip{part.String(), func() { l.OnApply(e.Without(i).String()) }})
		}
	}
	list = append(list, l.shown.More...)
	for i, c := range list {
		if i >= len(l.chips.Objects) {
			l.chips.Add(newChip())
		}
		l.chips.Objects[i].(*hint.Button).OnTapped = c.Remove
		l.chips.Objects[i].(*hint.Button).SetText(shorten(c.Text))
	}
	if len(l.chips.Objects) > len(list) {
		l.chips.Objects = l.chips.Objects[:len(list)]
	}
	l.chips.Refresh()
	if l.below.Visible() == (len(list) == 0) {
		if len(list) == 0 {
			l.below.Hide()
		} else {
			l.below.Show()
		}
		l.resized()
	}
}

// resized tells who has laid the line out that it has another height.
func (l *Line) resized() {
	l.Below.Refresh()
	if l.OnResized != nil {
		l.OnResized()
	}
}

// newChip makes a button that shows an x beside its text.
func newChip() *hint.Button {
	b := hint.NewButton("", theme.CancelIcon(), nil)
	b.IconPlacement = widget.ButtonIconTrailingText
	return b
}

func shorten(s string) string {
	if r := []rune(s); len(r) > maxChip {
		return string(r[:maxChip-1]) + "\u2026"
	}
	return s
}

// cursor is the byte of the text that the cursor stands at.
func (l *Line) cursor() int {
	text, n := l.Entry.Text, l.Entry.CursorColumn
	for i := range text {
		if n == 0 {
			return i
		}
		n--
	}
	return len(text)
}

// typed asks for completions of what was typed.
func (l *Line) typed() {
	if l.quiet {
		return
	}
	l.recalled = -1
	text, at := l.Entry.Text, l.cursor()
	l.tryLater(text)
	if strings.TrimSpace(text) == "" || l.Complete == nil {
		l.offer(nil)
		return
	}
	l.Complete(text, at, maxOffered, func(c filter.Completion, choices []string) {
		if l.Entry.Text != text {
			return
		}
		// What is written already is no help.
		choices = slices.DeleteFunc(slices.Clone(choices), func(s string) bool { return s == c.Prefix })
		l.completion = c
		l.offer(choices[:min(len(choices), maxOffered)])
	})
}

// tryDelay is how long nothing is typed before its rows are shown.
const tryDelay = 350 * time.Millisecond

// tryLater shows the rows of what was typed, unless more is typed before. What is no
// expression yet is no mistake yet.
func (l *Line) tryLater(text string) {
	l.strokes++
	number := l.strokes
	if l.OnTyped == nil || l.Later == nil {
		return
	}
	l.Later(tryDelay, func() {
		expr := strings.TrimSpace(text)
		if l.strokes != number || expr == l.shown.Where {
			return
		}
		if _, err := filter.Parse(expr); err == nil {
			l.tried, l.trying = true, expr
			l.OnTyped(expr)
		}
	})
}

// settle ends what was only tried: what is shown from now on was asked for.
func (l *Line) settle() {
	l.strokes++
	l.tried = false
}

// offer shows completions; nil shows none.
func (l *Line) offer(list []string) {
	if len(list) == 0 && len(l.offered) == 0 {
		return
	}
	l.offered, l.chosen = list, -1
	l.offers.Objects = nil
	for i, text := range list {
		b := hint.NewButton(shorten(text), nil, func() { l.take(i) })
		b.Importance, b.Alignment = widget.LowImportance, widget.ButtonAlignLeading
		l.offers.Add(b)
	}
	th, variant := l.Entry.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	l.back.FillColor, l.back.StrokeColor = th.Color(theme.ColorNameMenuBackground, variant), th.Color(theme.ColorNameInputBorder, variant)
	l.Offers.Hidden = len(list) == 0
	l.Offers.Refresh()
	if l.OnOffers != nil {
		l.OnOffers()
	}
}

func (l *Line) choose(i int) {
	if l.chosen >= 0 {
		b := l.offers.Objects[l.chosen].(*hint.Button)
		b.Importance = widget.LowImportance
		b.Refresh()
	}
	l.chosen = (i + len(l.offered)) % len(l.offered)
	b := l.offers.Objects[l.chosen].(*hint.Button)
	b.Importance = widget.HighImportance
	b.Refresh()
}

// take writes a completion into the text.
func (l *Line) take(i int) {
	if i < 0 || i >= len(l.offered) {
		return
	}
	text, at := l.completion.Insert(l.Entry.Text, l.offered[i])
	l.set(text)
	l.Entry.CursorColumn = utf8.RuneCountInString(text[:at])
	l.Entry.Refresh()
	if c := fyne.CurrentApp().Driver().CanvasForObject(l.Entry); c != nil {
		c.Focus(l.Entry)
	}
	l.typed()
}

// key handles a key of the field and reports whether it is used up.
func (l *Line) key(name fyne.KeyName) bool {
	switch name {
	case fyne.KeyTab:
		if len(l.offered) == 0 {
			return false
		}
		l.take(max(l.chosen, 0))
	case fyne.KeyDown:
		switch {
		case len(l.offered) > 0:
			l.choose(l.chosen + 1)
		case l.recalled >= 0:
			l.recall(l.recalled - 1)
		default:
			l.OnLeave()
		}
	case fyne.KeyUp:
		if len(l.offered) > 0 {
			l.choose(max(l.chosen, 0) - 1)
		} else {
			l.recall(l.recalled + 1)
		}
	case fyne.KeyReturn, fyne.KeyEnter:
		if l.chosen < 0 {
			return false
		}
		l.take(l.chosen)
	case fyne.KeyEscape:
		switch {
		case len(l.offered) > 0:
			l.offer(nil)
		case l.tried:
			l.settle()
			l.set(l.applied)
			l.OnTyped(l.applied)
		case l.Entry.Text != l.shown.Where:
			l.settle()
			// What was typed is taken back first, then the filter.
			l.set(l.shown.Where)
			if l.shown.Error != "" {
				l.OnRevert()
			}
		default:
			if l.shown.Where != "" {
				l.set("")
				l.OnApply("")
			}
			l.OnLeave()
		}
	default:
		return l.OnKey != nil && l.OnKey(name)
	}
	return true
}

// recall shows an expression that was applied before; -1 is the present one.
func (l *Line) recall(i int) {
	var list []string
	if l.History != nil {
		list = l.History()
	}
	switch {
	case i >= len(list):
		return
	case i < 0:
		l.set(l.shown.Where)
	default:
		l.set(list[i])
	}
	l.recalled = max(i, -1)
}

func (l *Line) submit() {
	l.offer(nil)
	l.recalled = -1
	l.settle()
	l.OnApply(strings.TrimSpace(l.Entry.Text))
}
