package tabbar

import (
	"fmt"
	"image/color"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/ui/hint"
)

// A rig is a bar in a window, with what it has told.
type rig struct {
	*Bar
	w   fyne.Window
	did []string
}

func newRig(t *testing.T, width float32) *rig {
	t.Helper()
	test.NewTempApp(t)
	r := &rig{Bar: New()}
	r.OnChoose = func(i int) { r.did = append(r.did, fmt.Sprint("choose ", i)) }
	r.OnClose = func(i int) { r.did = append(r.did, fmt.Sprint("close ", i)) }
	r.OnNew = func() { r.did = append(r.did, "new") }
	r.w = test.NewTempWindow(t, r.Content)
	r.w.SetPadded(false)
	r.w.Resize(fyne.NewSize(width, 60))
	return r
}

// at is a place on a tab: so far from its left edge, from its right if negative.
func (r *rig) at(i int, x float32) fyne.Position {
	o := r.Tab(i)
	if x < 0 {
		x += o.Size().Width
	}
	return fyne.CurrentApp().Driver().AbsolutePositionForObject(o).AddXY(x, height/2)
}

// drawn are the tabs that are seen, from left to right, the chosen one in brackets.
func (r *rig) drawn() string {
	var list []string
	for _, tab := range r.tabs {
		if !tab.Visible() {
			continue
		}
		d := test.WidgetRenderer(tab).(*tabRenderer)
		text := d.title.Text
		if d.mark.Visible() && d.title.TextStyle.Bold {
			text = "[" + text + "]"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// A press on a tab chooses it, on its cross or with the middle button closes it; the button behind them makes one.
func TestPresses(t *testing.T) {
	r := newRig(t, 800)
	r.Show([]string{"a.dat", "b.dat", "c.dat"}, 1)
	if got := r.drawn(); got != "a.dat [b.dat] c.dat" {
		t.Errorf("drawn: %s", got)
	}
	test.TapCanvas(r.w.Canvas(), r.at(0, 20))
	test.TapCanvas(r.w.Canvas(), r.at(2, -closeWidth/2))
	for _, button := range []desktop.MouseButton{desktop.MouseButtonPrimary, desktop.MouseButtonSecondary, desktop.MouseButtonTertiary} {
		r.tabs[1].MouseDown(&desktop.MouseEvent{Button: button})
		r.tabs[1].MouseUp(&desktop.MouseEvent{Button: button})
	}
	test.TapCanvas(r.w.Canvas(), fyne.NewPos(800-newWidth/2, height/2))
	if want := []string{"choose 0", "close 2", "close 1", "new"}; !slices.Equal(r.did, want) {
		t.Errorf("done: %q, want %q", r.did, want)
	}
	r.Show([]string{"a.dat", "c.dat"}, 1)
	if got := r.drawn(); got != "a.dat [c.dat]" {
		t.Errorf("after one was closed: %s", got)
	}
	r.Show([]string{"a.dat", "c.dat", "d.dat"}, 2)
	if got := r.drawn(); got != "a.dat c.dat [d.dat]" {
		t.Errorf("with another: %s", got)
	}
	r.Show(nil, -1)
	if got := r.drawn(); got != "" {
		t.Errorf("without any: %s", got)
	}
}

// The pointer lets a tab stand out, and says its whole name with the keys.
func TestPointer(t *testing.T) {
	r := newRig(t, 300)
	long := "recorded-on-the-first-machine-in-may.dat"
	r.Show([]string{long, "b.dat"}, 1)
	var said []string
	hint.Serve(r.w.Canvas(), func(text string, _ fyne.Position) { said = append(said, text) })
	t.Cleanup(func() { hint.Serve(r.w.Canvas(), nil) })
	ground := func(i int) color.Color { return test.WidgetRenderer(r.tabs[i]).(*tabRenderer).back.FillColor }
	of := func(name fyne.ThemeColorName) color.Color {
		s := fyne.CurrentApp().Settings()
		return s.Theme().Color(name, s.ThemeVariant())
	}
	if ground(0) != of(theme.ColorNameHeaderBackground) || ground(1) != of(theme.ColorNameBackground) {
		t.Errorf("the grounds are %v and %v", ground(0), ground(1))
	}
	test.MoveMouse(r.w.Canvas(), r.at(0, 20))
	test.MoveMouse(r.w.Canvas(), r.at(0, 21))
	if ground(0) != of(theme.ColorNameHover) {
		t.Errorf("under the pointer the ground is %v", ground(0))
	}
	test.MoveMouse(r.w.Canvas(), r.at(1, 20))
	if ground(0) != of(theme.ColorNameHeaderBackground) || ground(1) != of(theme.ColorNameBackground) {
		t.Errorf("after the pointer has left the grounds are %v and %v", ground(0), ground(1))
	}
	test.MoveMouse(r.w.Canvas(), fyne.NewPos(300-newWidth/2, height/2))
	if want := []string{long + "   Ctrl+Tab", "", "b.dat   Ctrl+Tab", "", "New tab   Ctrl+T"}; !slices.Equal(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	// Of a name that is too long the beginning and the end are seen.
	first, last, ok := strings.Cut(strings.Fields(r.drawn())[0], "\u2026")
	if !ok || first == "" || !strings.HasPrefix(long, first) || !strings.HasSuffix(long, last) || len(last) < len(".dat") {
		t.Errorf("drawn: %s", r.drawn())
	}
}

// Where there is no room for all, those around the chosen tab are seen, and none is wider than it need be.
func TestRoom(t *testing.T) {
	r := newRig(t, newWidth+4*narrowest+20)
	titles := strings.Fields("a b c d e f g h")
	for chosen, want := range []string{"[a] b c d", "a [b] c d", "a b [c] d", "b c [d] e", "c d [e] f", "d e [f] g", "e f [g] h", "e f g [h]"} {
		if r.Show(titles, chosen); r.drawn() != want {
			t.Errorf("tab %d is chosen: drawn are %s, want %s", chosen, r.drawn(), want)
		}
	}
	r.w.Resize(fyne.NewSize(2000, 60))
	if r.drawn() != "a b c d e f g [h]" || r.Tab(0).Size().Width > widest || r.Tab(7).Position().X != 7*r.Tab(0).Size().Width {
		t.Errorf("drawn are %s, %v wide", r.drawn(), r.Tab(0).Size().Width)
	}
}
