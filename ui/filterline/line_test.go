package filterline

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"logparser/rows/filter"
	"logparser/ui/hint"
)

// A desk is a line in a window that applies what it is told.
type desk struct {
	*Line
	t       *testing.T
	window  fyne.Window
	applied []string
	left    int
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	test.NewTempApp(t)
	d := &desk{t: t}
	d.Line = New(func(fyne.Position) {})
	d.OnApply = func(expr string) {
		d.applied = append(d.applied, expr)
		d.Show(Shown{Where: expr})
	}
	d.OnRevert = func() { d.Show(Shown{Where: d.shown.Where}) }
	d.OnLeave = func() { d.left++ }
	d.Complete = func(text string, at, limit int, done func(filter.Completion, []string)) {
		c := filter.Complete(text, at)
		all := []string{"app::run", "app::Window::paint", "main", "std::map<int, int>"}
		if !c.InValue {
			all = []string{"func:", "thread:"}
		}
		var list []string
		for _, v := range all {
			if strings.Contains(v, c.Prefix) && c.Prefix != "" {
				list = append(list, v)
			}
		}
		done(c, list)
	}
	d.History = func() []string { return []string{"thread:2", "thread:1"} }
	d.window = test.NewTempWindow(t, d.Field)
	d.window.Canvas().Focus(d.Entry)
	return d
}

func (d *desk) typeText(s string) { test.Type(d.Entry, s) }
func (d *desk) press(keys ...fyne.KeyName) {
	for _, k := range keys {
		d.Entry.TypedKey(&fyne.KeyEvent{Name: k})
	}
}

func (d *desk) texts(c *fyne.Container) string {
	var list []string
	for _, o := range c.Objects {
		list = append(list, o.(*hint.Button).Text)
	}
	return strings.Join(list, "|")
}

func TestCompletion(t *testing.T) {
	d := newDesk(t)
	d.typeText("fu")
	if got := d.texts(d.offers); got != "func:" || d.Offers.Hidden {
		t.Fatalf("offered %q", got)
	}
	d.press(fyne.KeyTab)
	if d.Entry.Text != "func:" {
		t.Fatalf("Tab gives %q", d.Entry.Text)
	}
	d.typeText("app")
	if got := d.texts(d.offers); got != "app::run|app::Window::paint" {
		t.Fatalf("offered %q", got)
	}
	d.press(fyne.KeyDown, fyne.KeyDown, fyne.KeyReturn)
	if d.Entry.Text != `func:app::Window::paint ` {
		t.Fatalf("the second completion gives %q", d.Entry.Text)
	}
	if len(d.applied) != 0 {
		t.Error("a completion was applied")
	}
	d.typeText("func:map")
	d.press(fyne.KeyTab)
	if want := `func:app::Window::paint func:"std::map<int, int>" `; d.Entry.Text != want {
		t.Fatalf("got %q, want %q", d.Entry.Text, want)
	}
	d.press(fyne.KeyReturn)
	if len(d.applied) != 1 || strings.HasSuffix(d.applied[0], " ") {
		t.Errorf("applied %q", d.applied)
	}
}

func TestChipsAreTakenAway(t *testing.T) {
	d := newDesk(t)
	d.typeText("thread:12 -module:ntdll (mark:open or mark:stray)")
	d.press(fyne.KeyReturn)
	if got := d.texts(d.chips); got != "thread:12|-module:ntdll|mark:open or mark:stray" && got != "thread:12|-module:ntdll|(mark:open or mark:stray)" {
		t.Fatalf("chips %q", got)
	}
	test.Tap(d.chips.Objects[1].(*hint.Button))
	if got := d.applied[len(d.applied)-1]; got != "thread:12 (mark:open or mark:stray)" || d.Entry.Text != got {
		t.Errorf("applied %q, shown %q", got, d.Entry.Text)
	}
	removed := false
	d.Show(Shown{Where: "thread:12", More: []Chip{{"3 folded", func() { removed = true }}}})
	if got := d.texts(d.chips); got != "thread:12|3 folded" {
		t.Errorf("chips %q", got)
	}
	test.Tap(d.chips.Objects[1].(*hint.Button))
	if !removed {
		t.Error("the x of another chip does nothing")
	}
}

func TestEscapeGoesBackStepByStep(t *testing.T) {
	d := newDesk(t)
	d.typeText("thread:12")
	d.press(fyne.KeyReturn)
	d.typeText(" fun")
	d.press(fyne.KeyEscape)
	if !d.Offers.Hidden || d.Entry.Text != "thread:12 fun" {
		t.Fatalf("first: completions hidden %v, text %q", d.Offers.Hidden, d.Entry.Text)
	}
	d.press(fyne.KeyEscape)
	if d.Entry.Text != "thread:12" || d.left != 0 {
		t.Fatalf("second: text %q", d.Entry.Text)
	}
	d.press(fyne.KeyEscape)
	if got := d.applied[len(d.applied)-1]; got != "" || d.Entry.Text != "" || d.left != 1 {
		t.Errorf("third: applied %q, text %q, left %d", got, d.Entry.Text, d.left)
	}
}

// What was selected when the text was taken away does not take what is typed
// next with it.
func TestTypingAfterClearing(t *testing.T) {
	d := newDesk(t)
	d.typeText("thread:12")
	d.press(fyne.KeyReturn)
	d.Entry.TypedShortcut(&fyne.ShortcutSelectAll{})
	d.press(fyne.KeyEscape)
	d.Entry.TypedShortcut(&fyne.ShortcutSelectAll{})
	d.typeText("func:main")
	if d.Entry.Text != "func:main" {
		t.Errorf("typed func:main, the field has %q", d.Entry.Text)
	}
}

func TestHistory(t *testing.T) {
	d := newDesk(t)
	d.press(fyne.KeyUp)
	if d.Entry.Text != "thread:2" {
		t.Errorf("once: %q", d.Entry.Text)
	}
	d.press(fyne.KeyUp, fyne.KeyUp)
	if d.Entry.Text != "thread:1" {
		t.Errorf("beyond the oldest: %q", d.Entry.Text)
	}
	d.press(fyne.KeyDown, fyne.KeyDown)
	if d.Entry.Text != "" || d.left != 0 {
		t.Errorf("back: %q", d.Entry.Text)
	}
	d.press(fyne.KeyDown)
	if d.left != 1 {
		t.Error("Down does not lead to the table")
	}
}

// A wrong expression stays as it was typed, with the place under it.
func TestErrorShowsItsPlace(t *testing.T) {
	d := newDesk(t)
	d.OnApply = func(expr string) { d.Show(Shown{Where: "a", Error: "no )", Wrong: expr, Offset: 2}) }
	d.Show(Shown{Where: "a"})
	d.typeText(" (b")
	d.press(fyne.KeyReturn)
	if d.problem.Hidden || d.problem.Text != "a \u25b8(b   no )" || d.Entry.Text != "a (b" {
		t.Errorf("problem %q, text %q", d.problem.Text, d.Entry.Text)
	}
	d.Show(Shown{Where: "a"})
	if !d.problem.Hidden {
		t.Error("the problem stays")
	}
	for _, test := range []struct {
		expr   string
		offset int
		want   string
	}{
		{"abc", 99, "abc\u25b8"},
		{strings.Repeat("x", 40) + "yz", 40, "\u2026" + strings.Repeat("x", 24) + "\u25b8yz"},
		{"\u4f60\u597d", 1, "\ufffd\u25b8\ufffd\u597d"},
	} {
		if got := place(test.expr, test.offset); got != test.want {
			t.Errorf("%q at %d: %q", test.expr, test.offset, got)
		}
	}
}
