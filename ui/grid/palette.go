package grid

import "image/color"

// A Palette is the colours of a grid. All are opaque.
type Palette struct {
	Background, Stripe     color.RGBA
	Header, HeaderText     color.RGBA
	Line, Guide            color.RGBA
	Selected, SelectedIdle color.RGBA // with and without the keyboard's focus
	Partner, Match, Cursor color.RGBA
	Bar                    color.RGBA
	Inks                   [inks]color.RGBA
	// Labels are the grounds of labelled cells; Found and Bookmark are marks
	// on the scroll bar and at a row's edge.
	Labels          [Labels]color.RGBA
	Found, Bookmark color.RGBA
}

func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// Light is the palette for light themes.
var Light = Palette{
	Background: rgb(0xffffff), Stripe: rgb(0xf7f8fa),
	Header: rgb(0xeef0f3), HeaderText: rgb(0x4a5261),
	Line: rgb(0xd8dce2), Guide: rgb(0xe3e6eb),
	Selected: rgb(0xcfe2ff), SelectedIdle: rgb(0xe2e7ee),
	Partner: rgb(0xe6f4ea), Match: rgb(0xffe08a), Cursor: rgb(0x2f6fed),
	Bar: rgb(0xb5cdf5),
	Inks: [inks]color.RGBA{
		Plain: rgb(0x1b1f27), Dim: rgb(0x575e6b),
		Enter: rgb(0x0e6a35), Leave: rgb(0x8a470a),
		Good: rgb(0x0f6433), Warn: rgb(0x765000), Bad: rgb(0xab1d1d),
		Accent: rgb(0x1f50b5),
	},
	Labels: [Labels]color.RGBA{rgb(0xffe0b3), rgb(0xd5f0c8), rgb(0xcde9f7), rgb(0xe7d9f8), rgb(0xffd6dc), rgb(0xd9dfe8)},
	Found:  rgb(0xb87400), Bookmark: rgb(0x2f6fed),
}

// Dark is the palette for dark themes.
var Dark = Palette{
	Background: rgb(0x1b1d22), Stripe: rgb(0x1f2227),
	Header: rgb(0x262a31), HeaderText: rgb(0xa9b1bf),
	Line: rgb(0x353a43), Guide: rgb(0x2d3138),
	Selected: rgb(0x1d3765), SelectedIdle: rgb(0x31363f),
	Partner: rgb(0x20382b), Match: rgb(0x453600), Cursor: rgb(0x6ea0ff),
	Bar: rgb(0x33508a),
	Inks: [inks]color.RGBA{
		Plain: rgb(0xdfe3ea), Dim: rgb(0xabb3c0),
		Enter: rgb(0x56c983), Leave: rgb(0xe6ac70),
		Good: rgb(0x62c98a), Warn: rgb(0xe0b34c), Bad: rgb(0xff9a93),
		Accent: rgb(0x86b0ff),
	},
	Labels: [Labels]color.RGBA{rgb(0x4c3613), rgb(0x25411d), rgb(0x1a3d4e), rgb(0x402c59), rgb(0x552732), rgb(0x363c47)},
	Found:  rgb(0xffb638), Bookmark: rgb(0x6ea0ff),
}
