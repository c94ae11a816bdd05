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
	// Swatches are the colours of functions, modules and threads.
	Swatches [Swatches]color.RGBA
}

// Swatches is the number of colours that tell things apart: eight hues that stay apart for
// people who tell red from green badly, each in two shades.
const Swatches = 16

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
	Swatches: [Swatches]color.RGBA{
		rgb(0x7798dc), rgb(0xd58d63), rgb(0xe9e482), rgb(0xd49ba7), rgb(0xc0ecf2), rgb(0x8be9bb), rgb(0xbbde4f), rgb(0xd9b0f0),
		rgb(0x6986c2), rgb(0xbb7c57), rgb(0xcdc972), rgb(0xbb8893), rgb(0xa9d0d5), rgb(0x7acda5), rgb(0xa5c346), rgb(0xbf9bd3),
	},
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
	Swatches: [Swatches]color.RGBA{
		rgb(0x2d6bbb), rgb(0x965f51), rgb(0x433d0f), rgb(0xb32961), rgb(0x4c718b), rgb(0x164c3a), rgb(0x65731e), rgb(0x641d84),
		rgb(0x265a9d), rgb(0x7e5044), rgb(0x38330d), rgb(0x962251), rgb(0x405f75), rgb(0x124031), rgb(0x556119), rgb(0x54186f),
	},
}
