package hint

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"
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

// TestTabs tells what a tab is for while the pointer is over it; the tab's button hears of the
// pointer, too, and is what a press comes to.
func TestTabs(t *testing.T) {
	test.NewTempApp(t)
	tabs := NewTabs()
	tabs.Hint = func(item *container.TabItem) string { return "about " + item.Text }
	tabs.SetItems([]*container.TabItem{container.NewTabItem("First", widget.NewLabel("1")), container.NewTabItem("Second", widget.NewLabel("2"))})
	w := test.NewTempWindow(t, tabs)
	w.Resize(fyne.NewSize(400, 200))
	var told []string
	Serve(w.Canvas(), func(text string, _ fyne.Position) { told = append(told, text) })
	defer Serve(w.Canvas(), nil)
	buttons := tabs.over.buttons
	if len(buttons) != 2 {
		t.Fatalf("%d buttons are known", len(buttons))
	}
	at := func(i int) fyne.Position {
		b := buttons[i]
		return fyne.CurrentApp().Driver().AbsolutePositionForObject(b).AddXY(b.Size().Width/2, b.Size().Height/2)
	}
	test.MoveMouse(w.Canvas(), at(0))
	test.MoveMouse(w.Canvas(), at(0).AddXY(1, 0))
	test.MoveMouse(w.Canvas(), at(1))
	test.TapCanvas(w.Canvas(), at(1))
	test.MoveMouse(w.Canvas(), fyne.NewPos(200, 150))
	if got := strings.Join(told, ","); got != "about First,,about Second," || tabs.SelectedIndex() != 1 {
		t.Errorf("told %q, tab %d is shown", got, tabs.SelectedIndex())
	}
	tabs.SetItems(tabs.Items[:1])
	if len(tabs.over.buttons) != 1 {
		t.Errorf("%d buttons are known of one tab", len(tabs.over.buttons))
	}
}
