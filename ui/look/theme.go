// Package look is how the window looks: a dense theme in light and dark, and
// the fonts.
package look

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"

	"logparser/assets"
	"logparser/ui/grid"
)

// The brightnesses to choose from.
const (
	System = ""
	Light  = "light"
	Dark   = "dark"
)

// A Theme is Fyne's own made dense.
type Theme struct {
	// Brightness is System, Light or Dark.
	Brightness string
	// Han shows all texts in the font with Han characters that the program
	// brings along, as systems may have none.
	Han bool
}

var han = fyne.NewStaticResource("LogParserHan.otf", assets.HanFont)

// variant is the brightness that counts.
func (t Theme) variant(v fyne.ThemeVariant) fyne.ThemeVariant {
	switch t.Brightness {
	case Light:
		return theme.VariantLight
	case Dark:
		return theme.VariantDark
	}
	return v
}

// IsDark reports whether the window is dark, given the system's wish.
func (t Theme) IsDark(v fyne.ThemeVariant) bool { return t.variant(v) == theme.VariantDark }

// Palette returns the table's colours.
func (t Theme) Palette(v fyne.ThemeVariant) *grid.Palette {
	if t.IsDark(v) {
		return &grid.Dark
	}
	return &grid.Light
}

// Fonts returns the table's fonts.
func Fonts() *grid.Fonts {
	return grid.NewFonts(theme.DefaultTextMonospaceFont().Content(), assets.HanFont)
}

func rgb(v uint32) color.Color {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func shade(v uint32, alpha uint8) color.Color {
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: alpha}
}

var lightColors = map[fyne.ThemeColorName]color.Color{
	theme.ColorNameBackground:          rgb(0xf4f5f7),
	theme.ColorNameForeground:          rgb(0x1b1f27),
	theme.ColorNamePrimary:             rgb(0x2560d8),
	theme.ColorNameForegroundOnPrimary: rgb(0xffffff),
	theme.ColorNameFocus:               shade(0x2560d8, 0x50),
	theme.ColorNameSelection:           shade(0x2560d8, 0x38),
	theme.ColorNameHyperlink:           rgb(0x2459c4),
	theme.ColorNameInputBackground:     rgb(0xffffff),
	theme.ColorNameInputBorder:         rgb(0x828996),
	theme.ColorNamePlaceHolder:         rgb(0x5d6471),
	theme.ColorNameDisabled:            rgb(0x626975),
	theme.ColorNameDisabledButton:      rgb(0xeceef1),
	theme.ColorNameButton:              rgb(0xe6e9ee),
	theme.ColorNameHover:               shade(0x1b1f27, 0x10),
	theme.ColorNamePressed:             shade(0x1b1f27, 0x24),
	theme.ColorNameSeparator:           rgb(0xdde1e7),
	theme.ColorNameScrollBar:           shade(0x4a5261, 0xb0),
	theme.ColorNameScrollBarBackground: rgb(0xeef0f3),
	theme.ColorNameMenuBackground:      rgb(0xffffff),
	theme.ColorNameOverlayBackground:   rgb(0xfafbfc),
	theme.ColorNameHeaderBackground:    rgb(0xeef0f3),
	theme.ColorNameShadow:              shade(0x1b1f27, 0x22),
	theme.ColorNameSuccess:             rgb(0x17753f),
	theme.ColorNameWarning:             rgb(0x8a5a00),
	theme.ColorNameError:               rgb(0xbf2f2b),
}

var darkColors = map[fyne.ThemeColorName]color.Color{
	theme.ColorNameBackground:          rgb(0x23262c),
	theme.ColorNameForeground:          rgb(0xdfe3ea),
	theme.ColorNamePrimary:             rgb(0x78a4ff),
	theme.ColorNameForegroundOnPrimary: rgb(0x10141c),
	theme.ColorNameFocus:               shade(0x78a4ff, 0x60),
	theme.ColorNameSelection:           shade(0x78a4ff, 0x48),
	theme.ColorNameHyperlink:           rgb(0x86b0ff),
	theme.ColorNameInputBackground:     rgb(0x1b1d22),
	theme.ColorNameInputBorder:         rgb(0x78808d),
	theme.ColorNamePlaceHolder:         rgb(0xa2aab7),
	theme.ColorNameDisabled:            rgb(0xa0a8b5),
	theme.ColorNameDisabledButton:      rgb(0x2a2e35),
	theme.ColorNameButton:              rgb(0x343942),
	theme.ColorNameHover:               shade(0xffffff, 0x12),
	theme.ColorNamePressed:             shade(0xffffff, 0x26),
	theme.ColorNameSeparator:           rgb(0x353a43),
	theme.ColorNameScrollBar:           shade(0xa9b1bf, 0xa8),
	theme.ColorNameScrollBarBackground: rgb(0x1f2227),
	theme.ColorNameMenuBackground:      rgb(0x2a2e35),
	theme.ColorNameOverlayBackground:   rgb(0x262a31),
	theme.ColorNameHeaderBackground:    rgb(0x262a31),
	theme.ColorNameShadow:              shade(0x000000, 0x60),
	theme.ColorNameSuccess:             rgb(0x56c983),
	theme.ColorNameWarning:             rgb(0xe0b34c),
	theme.ColorNameError:               rgb(0xff857e),
}

// Color implements [fyne.Theme].
func (t Theme) Color(n fyne.ThemeColorName, v fyne.ThemeVariant) color.Color {
	v = t.variant(v)
	colors := lightColors
	if v == theme.VariantDark {
		colors = darkColors
	}
	if c, ok := colors[n]; ok {
		return c
	}
	return theme.DefaultTheme().Color(n, v)
}

// Font implements [fyne.Theme].
func (t Theme) Font(s fyne.TextStyle) fyne.Resource {
	if t.Han && !s.Symbol {
		return han
	}
	return theme.DefaultTheme().Font(s)
}

// Icon implements [fyne.Theme].
func (t Theme) Icon(n fyne.ThemeIconName) fyne.Resource { return theme.DefaultTheme().Icon(n) }

var sizes = map[fyne.ThemeSizeName]float32{
	theme.SizeNamePadding:        3,
	theme.SizeNameInnerPadding:   6,
	theme.SizeNameLineSpacing:    3,
	theme.SizeNameText:           13,
	theme.SizeNameCaptionText:    11,
	theme.SizeNameHeadingText:    24,
	theme.SizeNameSubHeadingText: 15,
	theme.SizeNameInlineIcon:     16,
	theme.SizeNameScrollBar:      10,
	theme.SizeNameScrollBarSmall: 5,
	theme.SizeNameInputRadius:    4,
	theme.SizeNameInputBorder:    1,
	theme.SizeNameSplitThickness: 5,
	// Without OpenGL in hardware a blurred ground takes seconds to draw.
	theme.SizeNameModalBlurRadius: 0,
}

// Size implements [fyne.Theme].
func (t Theme) Size(n fyne.ThemeSizeName) float32 {
	if s, ok := sizes[n]; ok {
		return s
	}
	return theme.DefaultTheme().Size(n)
}
