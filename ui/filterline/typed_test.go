package filterline

import (
	"slices"
	"testing"
	"time"

	"fyne.io/fyne/v2"
)

// What is typed is told once nothing more is typed, and Escape takes it back.
func TestTypedIsTried(t *testing.T) {
	d := newDesk(t)
	var waiting []func()
	d.Later = func(_ time.Duration, f func()) { waiting = append(waiting, f) }
	var tried []string
	d.OnTyped = func(expr string) {
		tried = append(tried, expr)
		d.Show(Shown{Where: expr})
	}
	pass := func() {
		for _, f := range waiting {
			f()
		}
		waiting = nil
	}
	d.Show(Shown{Where: "thread:1"})

	d.typeText(" (func:")
	pass()
	if len(tried) != 0 {
		t.Fatalf("tried %q, which is no expression yet", tried)
	}
	d.typeText("x) ")
	if len(tried) != 0 {
		t.Fatal("tried at once")
	}
	pass()
	if want := []string{"thread:1 (func:x)"}; !slices.Equal(tried, want) {
		t.Fatalf("tried %q, want %q", tried, want)
	}
	if got := d.Entry.Text; got != "thread:1 (func:x) " {
		t.Errorf("the text became %q while it was typed", got)
	}
	if len(d.applied) != 0 {
		t.Errorf("applied %q", d.applied)
	}
	d.offer(nil)
	d.press(fyne.KeyEscape)
	if d.Entry.Text != "thread:1" || tried[len(tried)-1] != "thread:1" {
		t.Errorf("Escape left %q, told %q", d.Entry.Text, tried)
	}

	// What is applied is no longer taken back.
	d.typeText(" dur:>5ms")
	pass()
	d.offer(nil)
	d.press(fyne.KeyReturn)
	d.press(fyne.KeyEscape)
	if want := []string{"thread:1 dur:>5ms", ""}; !slices.Equal(d.applied, want) {
		t.Errorf("applied %q, want %q", d.applied, want)
	}

	// A chip that is taken away changes the text, also while something is tried.
	d.Show(Shown{Where: "a b"})
	d.typeText(" c")
	pass()
	d.OnApply("b c")
	if d.Entry.Text != "b c" {
		t.Errorf("the text is %q after a chip was taken away", d.Entry.Text)
	}
}
