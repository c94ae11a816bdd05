package inputs

import (
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"logparser/ui/hint"
)

func TestEntrySettles(t *testing.T) {
	test.NewTempApp(t)
	e := NewEntry()
	var told []string
	e.OnDone = func(s string) { told = append(told, s) }
	w := test.NewTempWindow(t, e)

	e.Settle("shown")
	if e.Text != "shown" || len(told) != 0 {
		t.Fatalf("text %q, told %q", e.Text, told)
	}
	w.Canvas().Focus(e)
	e.CursorColumn = 5
	test.Type(e, "!")
	e.Settle("later") // does not disturb who is typing
	if e.Text != "shown!" {
		t.Errorf("while typing the text became %q", e.Text)
	}
	w.Canvas().Unfocus()
	if len(told) != 1 || told[0] != "shown!" {
		t.Fatalf("told %q", told)
	}
	w.Canvas().Focus(e)
	w.Canvas().Unfocus()
	if len(told) != 1 {
		t.Errorf("told again without a change: %q", told)
	}
	w.Canvas().Focus(e)
	test.Type(e, "x")
	e.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	if e.Text != "shown!" {
		t.Errorf("Escape leaves %q", e.Text)
	}
}

// An entry says what it is for while the pointer rests on it; one without a hint says nothing.
func TestEntrySaysWhatItIsFor(t *testing.T) {
	test.NewTempApp(t)
	e, silent := NewEntry(), NewEntry()
	e.Hint = func() string { return "Only functions with this   /" }
	w := test.NewTempWindow(t, container.NewVBox(e, silent))
	w.Resize(fyne.NewSize(300, 200))
	var said []string
	hint.Serve(w.Canvas(), func(text string, _ fyne.Position) { said = append(said, text) })
	t.Cleanup(func() { hint.Serve(w.Canvas(), nil) })
	for _, o := range []fyne.CanvasObject{silent, e, silent} {
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(o)
		test.MoveMouse(w.Canvas(), at.AddXY(20, 10))
		test.MoveMouse(w.Canvas(), at.AddXY(30, 10))
	}
	if want := []string{"Only functions with this   /", ""}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
}
