package notice

import (
	"image/color"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/ui/control"
	"logparser/ui/hint"
)

// TestOffers checks that each remedy that a message may offer has a button that says what it does.
func TestOffers(t *testing.T) {
	test.NewTempApp(t)
	b := New()
	w := test.NewTempWindow(t, b.Content)
	w.Resize(fyne.NewSize(800, 100))
	var offered []control.Offer
	b.OnOffer = func(o control.Offer) { offered = append(offered, o) }
	texts := map[control.Offer]string{
		control.OfferLog: "Choose a log", control.OfferModules: "Choose the modules file", control.OfferSymbols: "Add a symbol folder",
		control.OfferPath: "Edit the symbol path", control.OfferSave: "Save", control.OfferColumns: "Choose the columns",
		control.OfferLogs: "Open another", control.OfferCrash: "Show the crash", control.OfferProcesses: "Show all processes",
		control.OfferReload: "Reload", control.OfferShowAll: "Show all rows",
	}
	for offer, want := range texts {
		b.Show(&control.Message{Text: "Something happened.", Offer: offer})
		if !b.offer.Visible() || b.offer.Text != want {
			t.Errorf("offer %d has the button %q, want %q", offer, b.offer.Text, want)
		}
		offered = nil
		if test.Tap(b.offer); len(offered) != 1 || offered[0] != offer {
			t.Errorf("%q does %v", want, offered)
		}
	}
	if b.Show(&control.Message{Text: "Something happened."}); b.offer.Visible() {
		t.Errorf("where nothing is offered there is a button %q", b.offer.Text)
	}
}

// TestMessage shows a message with what to do next, its details, and in the colour of its level.
func TestMessage(t *testing.T) {
	test.NewTempApp(t)
	b := New()
	w := test.NewTempWindow(t, b.Content)
	w.Resize(fyne.NewSize(800, 100))
	var details *control.Message
	dismissed := 0
	b.OnDetails = func(m *control.Message) { details = m }
	b.OnDismiss = func() { dismissed++ }
	if b.Content.Visible() || b.Message() != nil {
		t.Error("the bar is shown before there is a message")
	}
	b.Paint() // of no message
	bad := &control.Message{Level: control.LevelBad, Text: "Cannot open a.dat", Next: "Check that the file is there.", Details: "no such file"}
	b.Show(bad)
	if !b.Content.Visible() || b.Message() != bad || b.text.Text != bad.Text || !b.next.Visible() || b.next.Text != bad.Next || !b.details.Visible() {
		t.Errorf("shown: %q, %q", b.text.Text, b.next.Text)
	}
	if test.Tap(b.details); details != bad {
		t.Errorf("the details are those of %v", details)
	}
	colour := func(name fyne.ThemeColorName) color.Color {
		s := fyne.CurrentApp().Settings()
		return s.Theme().Color(name, s.ThemeVariant())
	}
	if b.edge.FillColor != colour(theme.ColorNameError) {
		t.Errorf("an error has the colour %v", b.edge.FillColor)
	}
	b.Show(&control.Message{Level: control.LevelGood, Text: "Saved."})
	if b.next.Visible() || b.details.Visible() || b.edge.FillColor != colour(theme.ColorNameSuccess) {
		t.Errorf("good news have a next step %q, details %v, the colour %v", b.next.Text, b.details.Visible(), b.edge.FillColor)
	}
	var cross *hint.Button
	for _, o := range test.LaidOutObjects(b.Content) {
		if button, ok := o.(*hint.Button); ok && button != b.offer && button != b.details {
			cross = button
		}
	}
	if test.Tap(cross); dismissed != 1 || cross.Hint() != "Takes the message away" {
		t.Errorf("dismissed %d times by what says %q", dismissed, cross.Hint())
	}
	b.Show(nil)
	if b.Content.Visible() || b.Message() != nil {
		t.Error("the bar stays")
	}
}
