// Package notice is the bar over the end of the table on which the window says what went
// wrong, or well, and what to do next.
package notice

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/hint"
	"logparser/ui/inputs"
)

// A Bar shows one message, or is hidden.
type Bar struct {
	Content fyne.CanvasObject

	OnDismiss func()
	OnDetails func(*control.Message)
	OnOffer   func(control.Offer)

	message *control.Message
	ground  *canvas.Rectangle // what is below the bar does not shine through
	back    *canvas.Rectangle
	edge    *canvas.Rectangle
	text    *widget.Label
	next    *widget.Label
	offer   *hint.Button
	details *hint.Button
}

// New makes a hidden bar.
func New() *Bar {
	b := &Bar{ground: canvas.NewRectangle(color.Transparent), back: canvas.NewRectangle(color.Transparent), edge: canvas.NewRectangle(color.Transparent),
		text: widget.NewLabel(""), next: widget.NewLabel("")}
	b.text.Wrapping = fyne.TextWrapWord
	b.text.TextStyle.Bold = true
	b.next.Wrapping = fyne.TextWrapWord
	b.edge.SetMinSize(fyne.NewSize(4, 0))
	b.offer = hint.NewButton("", nil, func() { b.OnOffer(b.message.Offer) })
	b.details = hint.NewButton("", nil, func() { b.OnDetails(b.message) })
	b.details.Importance = widget.LowImportance
	dismiss := hint.NewButton("", theme.CancelIcon(), func() { b.OnDismiss() })
	dismiss.Importance = widget.LowImportance
	dismiss.Hint = func() string { return lang.L("Takes the message away") }
	buttons := container.NewVBox(layout.NewSpacer(), container.NewHBox(b.offer, b.details, dismiss), layout.NewSpacer())
	lines := container.New(layout.NewCustomPaddedVBoxLayout(-8), b.text, b.next)
	b.Content = container.NewStack(b.ground, b.back, container.NewBorder(nil, nil, b.edge, buttons, lines))
	b.Content.Hide()
	return b
}

// Message returns what is shown, nil for nothing.
func (b *Bar) Message() *control.Message { return b.message }

// Show shows a message; nil hides the bar.
func (b *Bar) Show(m *control.Message) {
	b.message = m
	if m == nil {
		b.Content.Hide()
		return
	}
	b.text.SetText(m.Text)
	b.next.SetText(m.Next)
	b.next.Hidden = m.Next == ""
	switch m.Offer {
	case control.OfferLog:
		b.offer.SetText(lang.L("Choose a log"))
	case control.OfferModules:
		b.offer.SetText(lang.L("Choose the modules file"))
	case control.OfferSymbols:
		b.offer.SetText(lang.L("Add a symbol folder"))
	case control.OfferPath:
		b.offer.SetText(lang.L("Edit the symbol path"))
	case control.OfferSave:
		b.offer.SetText(lang.L("Save"))
	case control.OfferColumns:
		b.offer.SetText(lang.L("Choose the columns"))
	case control.OfferLogs:
		b.offer.SetText(lang.L("Open another"))
	case control.OfferCrash:
		b.offer.SetText(lang.L("Show the crash"))
	case control.OfferProcesses:
		b.offer.SetText(lang.L("Show all processes"))
	case control.OfferReload:
		b.offer.SetText(lang.L("Reload"))
	case control.OfferShowAll:
		b.offer.SetText(lang.L("Show all rows"))
	}
	b.offer.Hidden = m.Offer == control.OfferNone
	b.details.SetText(lang.L("Details"))
	b.details.Hidden = m.Details == ""
	b.Paint()
	b.Content.Show()
	b.Content.Refresh()
}

// Paint takes the colours of the present theme.
func (b *Bar) Paint() {
	if b.message == nil {
		return
	}
	settings := fyne.CurrentApp().Settings()
	c := settings.Theme().Color(inputs.LevelColor(b.message.Level), settings.ThemeVariant())
	b.edge.FillColor = c
	b.ground.FillColor = settings.Theme().Color(theme.ColorNameBackground, settings.ThemeVariant())
	b.ground.Refresh()
	r, g, bl, _ := c.RGBA()
	b.back.FillColor = color.NRGBA{R: uint8(r >> 8), G: uint8(g >> 8), B: uint8(bl >> 8), A: 0x26}
	b.edge.Refresh()
	b.back.Refresh()
}
