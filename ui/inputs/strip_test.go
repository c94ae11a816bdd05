package inputs

import (
	"image/color"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
)

// levelColour is the colour of a light that the theme has under a name.
func levelColour(name fyne.ThemeColorName) color.Color {
	s := fyne.CurrentApp().Settings()
	return s.Theme().Color(name, s.ThemeVariant())
}

// The three lines say what was given, what was found and how it is, and the switches whom they ask.
func TestStripShowsTheState(t *testing.T) {
	test.NewTempApp(t)
	s := New()
	w := test.NewTempWindow(t, s.Content)
	w.Resize(fyne.NewSize(1000, 160))
	state := &control.State{}
	state.Log = control.InputState{Level: control.LevelBusy, Text: "Opening"}
	state.ModulesFile = control.InputState{Level: control.LevelGood, Text: "4 modules"}
	state.Symbols = control.InputState{Level: control.LevelWarn, Text: "2 of 4 modules"}
	state.Wanted = app.Inputs{Log: "/logs/a.dat", Symbols: []string{"/sym", "/more"}}
	state.Found.Modules = "/logs/a.bin"
	s.Show(state)
	for _, line := range []struct {
		name              string
		l                 *Line
		text, ground, say string
		colour            fyne.ThemeColorName
	}{
		{"log", s.Log, "/logs/a.dat", "LogDetails.dat: choose it", "Opening", theme.ColorNamePrimary},
		{"modules", s.Modules, "", "/logs/a.bin", "4 modules", theme.ColorNameSuccess},
		{"symbols", s.Symbols, control.JoinPaths([]string{"/sym", "/more"}), "Folders and files", "2 of 4 modules", theme.ColorNameWarning},
	} {
		if line.l.Entry.Text != line.text || !strings.HasPrefix(line.l.Entry.PlaceHolder, line.ground) || line.l.StateText() != line.say {
			t.Errorf("%s: %q, %q behind it, %q beside it", line.name, line.l.Entry.Text, line.l.Entry.PlaceHolder, line.l.StateText())
		}
		if got := line.l.light.dot.FillColor; got != levelColour(line.colour) {
			t.Errorf("%s: the light is %v", line.name, got)
		}
	}
	state.Log.Level = control.LevelBad
	s.Show(state)
	if got := s.Log.light.dot.FillColor; got != levelColour(theme.ColorNameError) {
		t.Errorf("what is wrong has the light %v", got)
	}
	state.Opened, state.Facts.OwnModules = true, true
	s.Show(state)
	if !s.Modules.Entry.Disabled() || !s.Modules.Browse.Disabled() || s.Modules.Entry.PlaceHolder != "Not needed: the log tells its modules" {
		t.Errorf("a log with modules of its own says %q", s.Modules.Entry.PlaceHolder)
	}
	state.Opened, state.Found.Modules = false, ""
	s.Show(state)
	if s.Modules.Entry.Disabled() || s.Modules.Browse.Disabled() || s.Modules.Entry.PlaceHolder != "Looked for beside the log" {
		t.Errorf("without a log it says %q", s.Modules.Entry.PlaceHolder)
	}
	for _, switched := range []struct {
		network bool
		path    []string
		want    string
	}{
		{false, nil, "Off: the network is not touched"},
		{true, nil, "On, but the symbol path names no server"},
		{true, []string{"srv*https://symbols.example"}, "Asks symbols.example"},
		{false, []string{"srv*https://symbols.example"}, "Off: symbols.example is not asked"},
	} {
		state.Wanted.Network, state.Wanted.Symbols, state.Wanted.LoadMismatched = switched.network, switched.path, switched.network
		s.Show(state)
		if s.servers.Text != switched.want || s.Network.Checked != switched.network || s.Mismatched.Checked != switched.network {
			t.Errorf("network %v, path %q: %q", switched.network, switched.path, s.servers.Text)
		}
	}
}

// The lines stand in columns: what belongs together is below each other, and nothing lies over anything else.
func TestStripIsLaidOut(t *testing.T) {
	test.NewTempApp(t)
	s := New()
	w := test.NewTempWindow(t, s.Content)
	for _, width := range []float32{s.Content.MinSize().Width, 700, 1600} {
		w.Resize(fyne.NewSize(width, 200))
		for i, l := range []*Line{s.Log, s.Modules, s.Symbols} {
			row := []fyne.CanvasObject{l.label, l.Entry, l.Browse}
			if l.More != nil {
				row = append(row, l.More)
			}
			row = append(row, l.light, l.state)
			for k := 1; k < len(row); k++ {
				before, o := row[k-1], row[k]
				end := before.Position().X + before.Size().Width
				if before == fyne.CanvasObject(l.light) {
					end -= lineGap // there is room around the dot
				}
				if o.Position().X < end-0.5 || o.Position().Y != before.Position().Y {
					t.Errorf("at %v line %d: part %d is at %v, behind %v of %v", width, i, k, o.Position(), before.Position(), before.Size())
				}
			}
			if l.Entry.Position().X != s.Log.Entry.Position().X || l.state.Position().X != s.Log.state.Position().X {
				t.Errorf("at %v line %d is not below the others", width, i)
			}
		}
	}
}

// An open log is said on one line, of what is well no more than there is room for.
func TestSummary(t *testing.T) {
	test.NewTempApp(t)
	s := NewSummary(widget.NewLabel("tool"))
	w := test.NewTempWindow(t, s.Content)
	w.Resize(fyne.NewSize(1000, 40))
	state := &control.State{Wanted: app.Inputs{Log: "/logs/a.dat"}}
	state.Log = control.InputState{Level: control.LevelGood, Text: "1,000 rows"}
	state.ModulesFile = control.InputState{Level: control.LevelGood, Text: "4 modules · all of them known"}
	state.Symbols = control.InputState{Level: control.LevelWarn, Text: "2 of 4 modules · " + strings.Repeat("x", 50)}
	s.Show(state, false)
	if s.log.text.Text != "a.dat   1,000 rows" || s.modules.text.Text != "4 modules" {
		t.Errorf("it says %q, %q", s.log.text.Text, s.modules.text.Text)
	}
	if got := []rune(s.symbols.text.Text); len(got) != mostLetters || got[len(got)-1] != '…' || !strings.HasPrefix(string(got), "2 of 4 modules · xx") {
		t.Errorf("of symbols it says %q", string(got))
	}
	folded := s.Unfold.Icon
	if s.Show(state, true); s.Unfold.Icon == folded {
		t.Error("the sign does not say that the inputs are unfolded")
	}
	if s.Symbols.Text != "Symbol path…" {
		t.Errorf("the button is %q", s.Symbols.Text)
	}
}

// A line that narrows a list leads to it, and gives its own keys and shortcuts to the window first.
func TestNarrowingLine(t *testing.T) {
	test.NewTempApp(t)
	list := NewEntry()
	e := NewNarrow(list)
	w := test.NewTempWindow(t, widget.NewForm(widget.NewFormItem("", e), widget.NewFormItem("", list)))
	for _, key := range []fyne.KeyName{fyne.KeyDown, fyne.KeyReturn, fyne.KeyEscape} {
		e.Focus()
		if w.Canvas().Focused() != fyne.Focusable(e) {
			t.Fatal("the line has not the focus")
		}
		e.SetText("abc")
		e.TypedKey(&fyne.KeyEvent{Name: key})
		if w.Canvas().Focused() != fyne.Focusable(list) || (e.Text == "") != (key == fyne.KeyEscape) {
			t.Errorf("%s: the text is %q", key, e.Text)
		}
	}
	e.Focus()
	e.CursorColumn = 0
	e.SetText("abc")
	e.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDelete})
	if e.Text != "bc" {
		t.Errorf("another key leaves %q", e.Text)
	}
	var asked []string
	e.OnShortcut = func(s *desktop.CustomShortcut) bool { asked = append(asked, string(s.KeyName)); return true }
	e.TypedShortcut(&desktop.CustomShortcut{KeyName: fyne.KeyF, Modifier: fyne.KeyModifierControl})
	e.TypedShortcut(&fyne.ShortcutSelectAll{})
	if strings.Join(asked, " ") != "F" || e.SelectedText() != "bc" {
		t.Errorf("asked for %q, selected %q", asked, e.SelectedText())
	}
}
