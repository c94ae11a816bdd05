package ui

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"logparser/internal/testlog"
	"logparser/ui/control"
)

// menuBar is the height of the menu bar, which the test's driver does not draw.
const menuBar = 25

// rowHeight is that of a row of the table, whose least size is three rows.
const rowHeight = 20

// The table gets the window: what else there is takes no more than this.
func TestRowsOnTheScreen(t *testing.T) {
	for _, size := range []struct {
		width, height float32
		rows          int
	}{{1280, 800, 30}, {1024, 600, 20}, {800, 480, 13}, {1920, 1080, 44}} {
		r := newRig(t, &testlog.Nested{Records: 1000})
		r.open()
		r.win.Resize(fyne.NewSize(size.width, size.height-menuBar))
		rows := func() int { return 3 + int((r.table.grid.Size().Height-r.table.grid.MinSize().Height)/rowHeight) }
		if got := rows(); got < size.rows {
			t.Errorf("%gx%g: %d rows, want %d", size.width, size.height, got, size.rows)
		}
		// What passes, what is asked and what is completed takes no row away.
		before := rows()
		r.filters.focus()
		r.typeText("fun")
		r.ctl.Say(&control.Message{Level: control.LevelBad, Text: "bad", Next: "Do something.", Offer: control.OfferReload})
		r.wait("completions", func() bool { return r.bar.line.Offers.Visible() })
		if !r.notice.Content.Visible() || r.notice.Content.Size().Height < 20 {
			t.Errorf("message seen: %t, %g high", r.notice.Content.Visible(), r.notice.Content.Size().Height)
		}
		if got := rows(); got != before {
			t.Errorf("%gx%g: %d rows, were %d", size.width, size.height, got, before)
		}
	}
}

// A message that needs no answer stands in the status bar, and goes by itself; another
// stays until it is answered.
func TestMessagesThatPass(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.passing = time.Millisecond
	for _, m := range []struct {
		control.Message
		passes bool
	}{
		{control.Message{Level: control.LevelGood, Text: "saved", Details: "a file"}, true},
		{control.Message{Level: control.LevelWarn, Text: "hint"}, true},
		{control.Message{Level: control.LevelWarn, Text: "asks", Offer: control.OfferSymbols}, false},
		{control.Message{Level: control.LevelBad, Text: "fails"}, false},
	} {
		r.ctl.Say(&m.Message)
		if r.status.message.Visible() != m.passes || r.notice.Content.Visible() == m.passes {
			t.Errorf("%s: in the status bar %t, over the table %t", m.Text, r.status.message.Visible(), r.notice.Content.Visible())
		}
	}
	r.ctl.Say(&control.Message{Level: control.LevelGood, Text: "saved"})
	r.wait("the message to pass", func() bool { return r.ctl.State().Message == nil })
	if r.status.message.Visible() {
		t.Error("the message is still there")
	}
	r.ctl.Say(&control.Message{Level: control.LevelBad, Text: "fails"})
	r.wait("nothing", func() bool { return len(r.queue) == 0 })
	if r.ctl.State().Message == nil {
		t.Error("a message that is to be read has passed")
	}
}

// While a log is read its inputs are one line, which says what is known of them and
// leads to all of them, and to the symbol path at once.
func TestInputsAreOneLine(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	if !r.upper.Visible() || r.summary.Content.Visible() {
		t.Error("without a log there is nothing to choose one with")
	}
	r.open()
	if r.upper.Visible() || !r.summary.Content.Visible() || r.actions.itemOf("inputs").Checked {
		t.Error("an open log has not one line")
	}
	if got := labels(r.summary.Content); !strings.Contains(got, "a.dat   1,400 records") || !strings.Contains(got, "1 of 1 used modules named") {
		t.Errorf("the line says %q", got)
	}
	test.Tap(r.summary.Unfold)
	if !r.upper.Visible() || !r.summary.Content.Visible() {
		t.Error("the inputs do not unfold")
	}
	r.typeKey(fyne.KeyF9)
	if r.upper.Visible() {
		t.Error("F9 does not put the inputs away")
	}
	test.Tap(r.summary.Symbols)
	if r.overlays() != 1 {
		t.Error("the symbol path cannot be edited")
	}
	r.typeKey(fyne.KeyEscape)
	r.typeKey(fyne.KeyF9)
	r.ctl.Close()
	r.open()
	r.wait("the next log", func() bool { return r.ctl.State().Opened && r.upper.Visible() })
}
