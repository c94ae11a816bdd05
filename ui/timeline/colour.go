package timeline

import (
	"image/color"

	"logparser/ui/grid"
)

// A Palette is the colours of a timeline. All are opaque.
type Palette struct {
	Background, Stripe color.RGBA
	Gutter, GutterText color.RGBA
	Ruler, RulerText   color.RGBA
	Line, Grid         color.RGBA
	// Outside covers what lies outside the selected time.
	Outside color.RGBA
	// Several is a box of calls whose functions are not known; Hatch marks
	// boxes of more than one call.
	Several, Hatch color.RGBA
	// Faint is a box that a search has not found.
	Faint      color.RGBA
	Text, Dim  color.RGBA
	Selected   color.RGBA
	Annotation color.RGBA // what the program wrote itself
	Hit        color.RGBA // what was looked for
	Boxes      [boxes]color.RGBA
}

// boxes is the number of colours for functions, modules and threads.
const boxes = grid.Swatches

func rgb(v uint32) color.RGBA {
	return color.RGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

// Light is the palette for light themes.
var Light = Palette{
	Background: rgb(0xffffff), Stripe: rgb(0xf7f8fa),
	Gutter: rgb(0xeef0f3), GutterText: rgb(0x1b1f27),
	Ruler: rgb(0xeef0f3), RulerText: rgb(0x4a5261),
	Line: rgb(0xd8dce2), Grid: rgb(0xe9ecf0),
	Outside: rgb(0xe2e5ea),
	Several: rgb(0xcfd4db), Hatch: rgb(0x8b93a0),
	Faint: rgb(0xe9ecf0),
	Text:  rgb(0x14171d), Dim: rgb(0x5d6471),
	Selected: rgb(0x14171d), Annotation: rgb(0xb3261e), Hit: rgb(0x7a1fa2),
	Boxes: grid.Light.Swatches,
}

// Dark is the palette for dark themes.
var Dark = Palette{
	Background: rgb(0x1b1d22), Stripe: rgb(0x1f2227),
	Gutter: rgb(0x262a31), GutterText: rgb(0xdfe3ea),
	Ruler: rgb(0x262a31), RulerText: rgb(0xa9b1bf),
	Line: rgb(0x353a43), Grid: rgb(0x282c33),
	Outside: rgb(0x101215),
	Several: rgb(0x454b56), Hatch: rgb(0x7d8695),
	Faint: rgb(0x2a2e35),
	Text:  rgb(0xf4f6fa), Dim: rgb(0xa2aab7),
	Selected: rgb(0xffffff), Annotation: rgb(0xffb638), Hit: rgb(0xf48fb1),
	Boxes: grid.Dark.Swatches,
}

// several is the colour of boxes without a function.
const several = 0xff

// colourOf returns the number of a function's colour: the same for ever, as it
// depends on the name alone.
func colourOf(function string) uint8 {
	if function == "" {
		return several
	}
	h := uint32(2166136261) // FNV-1a
	for i := 0; i < len(function); i++ {
		h = (h ^ uint32(function[i])) * 16777619
	}
	// The low bits of names that differ in their last letter alone differ
	// little.
	h ^= h >> 15
	h *= 0x2c1b3c6d
	h ^= h >> 12
	return uint8(h % boxes)
}

// Inks says what boxes have their colours from.
type Inks uint8

const (
	ByFunction Inks = iota
	ByModule
	ByThread
)

// of returns the number of a box's colour. thread is that of its thread's colour.
func (i Inks) of(function, module string, thread uint8) uint8 {
	switch {
	case function == "":
		return several
	case i == ByModule:
		return colourOf(module)
	case i == ByThread:
		return thread % boxes
	}
	return colourOf(function)
}

func (p *Palette) box(colour uint8) color.RGBA {
	if colour >= boxes {
		return p.Several
	}
	return p.Boxes[colour]
}
