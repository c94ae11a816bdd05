package hint

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
)

// What the pointer rests on says what it is for, and nothing once the pointer has left or it was pressed.
func TestHints(t *testing.T) {
	test.NewTempApp(t)
	tapped := 0
	button := NewButton("Save", nil, func() { tapped++ })
	choice := NewSelect([]string{"one", "two"}, nil)
	check := NewCheck("on", nil)
	silent := NewButton("silent", nil, nil)
	button.Hint = func() string { return Keyed("Saves the rows", "Ctrl+S") }
	choice.Hint = func() string { return "Chooses" }
	check.Hint = func() string { return Keyed("Switches", "") }
	w := test.NewTempWindow(t, container.NewVBox(button, choice, check, silent))
	w.Resize(fyne.NewSize(300, 300))
	said := "nothing was said"
	Serve(w.Canvas(), func(text string, at fyne.Position) { said = text })
	over := func(o fyne.CanvasObject) {
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(o)
		test.MoveMouse(w.Canvas(), at.AddXY(10, 10))
	}
	for _, c := range []struct {
		o    fyne.CanvasObject
		want string
	}{{button, "Saves the rows   Ctrl+S"}, {choice, "Chooses"}, {check, "Switches"}, {silent, ""}, {button, "Saves the rows   Ctrl+S"}} {
		if over(c.o); said != c.want {
			t.Errorf("said is %q, want %q", said, c.want)
		}
	}
	test.Tap(button)
	if said != "" || tapped != 1 {
		t.Errorf("pressed %d times, said is %q", tapped, said)
	}
	Serve(w.Canvas(), nil)
	said = "nothing was said"
	if over(choice); said != "nothing was said" {
		t.Errorf("after the end %q is said", said)
	}
}
