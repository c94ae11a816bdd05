package inputs

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
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
