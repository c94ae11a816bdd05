package ui

import (
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/hint"
)

// button finds a button by its text among what is laid out.
func button(t *testing.T, in fyne.CanvasObject, text string) *widget.Button {
	t.Helper()
	for _, o := range test.LaidOutObjects(in) {
		if h, ok := o.(*hint.Button); ok {
			o = &h.Button
		}
		if b, ok := o.(*widget.Button); ok && b.Text == text {
			return b
		}
	}
	t.Fatalf("no button %q", text)
	return nil
}
