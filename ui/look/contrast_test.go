package look_test

import (
	"image/color"
	"math"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/ui/grid"
	"logparser/ui/look"
	"logparser/ui/timeline"
)

// The least contrasts, by WCAG 2: of text, and of what shows where a control is
// and how it stands.
const (
	leastText    = 4.5
	leastControl = 3
)

// over puts a colour on an opaque one.
func over(c, ground color.Color) color.NRGBA {
	top, under := color.NRGBAModel.Convert(c).(color.NRGBA), color.NRGBAModel.Convert(ground).(color.NRGBA)
	mix := func(a, b uint8) uint8 {
		return uint8((int(a)*int(top.A) + int(b)*(255-int(top.A)) + 127) / 255)
	}
	return color.NRGBA{R: mix(top.R, under.R), G: mix(top.G, under.G), B: mix(top.B, under.B), A: 255}
}

func luminance(c color.NRGBA) float64 {
	linear := func(v uint8) float64 {
		f := float64(v) / 255
		if f <= 0.04045 {
			return f / 12.92
		}
		return math.Pow((f+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// contrast is that of a colour on a ground.
func contrast(c, ground color.Color) float64 {
	opaque := over(ground, color.White)
	x, y := luminance(over(c, opaque)), luminance(opaque)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func check(t *testing.T, least float64, what string, c, ground color.Color) {
	t.Helper()
	if got := contrast(c, ground); got < least {
		t.Errorf("%s has a contrast of %.2f:1, which is to be %.1f:1", what, got, least)
	}
}

// TestContrast computes the contrast of every colour of text, and of controls, on
// each ground that it is drawn on, in both themes.
func TestContrast(t *testing.T) {
	test.NewTempApp(t)
	for _, brightness := range []string{look.Light, look.Dark} {
		th := look.Theme{Brightness: brightness}
		of := func(n fyne.ThemeColorName) color.Color { return th.Color(n, theme.VariantLight) }
		// Where text stands: on the window, in fields, in dialogs and menus, and on
		// buttons, at rest and below the pointer.
		grounds := []fyne.ThemeColorName{theme.ColorNameBackground, theme.ColorNameInputBackground, theme.ColorNameOverlayBackground,
			theme.ColorNameMenuBackground, theme.ColorNameHeaderBackground, theme.ColorNameButton}
		texts := []fyne.ThemeColorName{theme.ColorNameForeground, theme.ColorNamePlaceHolder, theme.ColorNameDisabled, theme.ColorNamePrimary,
			theme.ColorNameHyperlink, theme.ColorNameSuccess, theme.ColorNameWarning, theme.ColorNameError}
		for _, g := range grounds {
			for _, n := range texts {
				if g == theme.ColorNameButton && n != theme.ColorNameForeground && n != theme.ColorNameDisabled {
					continue // a button's text has no other colours
				}
				check(t, leastText, brightness+": text in "+string(n)+" on "+string(g), of(n), of(g))
			}
			if g != theme.ColorNameButton {
				check(t, leastControl, brightness+": the edge of a field or checkbox on "+string(g), of(theme.ColorNameInputBorder), of(g))
			}
			check(t, leastText, brightness+": text below the pointer on "+string(g), of(theme.ColorNameForeground), over(of(theme.ColorNameHover), of(g)))
		}
		check(t, leastText, brightness+": a grey button", of(theme.ColorNameDisabled), of(theme.ColorNameDisabledButton))
		for on, ground := range map[fyne.ThemeColorName]fyne.ThemeColorName{
			theme.ColorNameForegroundOnPrimary: theme.ColorNamePrimary, theme.ColorNameForegroundOnSuccess: theme.ColorNameSuccess,
			theme.ColorNameForegroundOnWarning: theme.ColorNameWarning, theme.ColorNameForegroundOnError: theme.ColorNameError,
		} {
			check(t, leastText, brightness+": "+string(on), of(on), of(ground))
		}
		check(t, leastText, brightness+": selected text", of(theme.ColorNameForeground), over(of(theme.ColorNameSelection), of(theme.ColorNameInputBackground)))
		check(t, leastText, brightness+": the source line", of(theme.ColorNameForeground), over(of(theme.ColorNameSelection), of(theme.ColorNameBackground)))
		check(t, leastText, brightness+": a menu's chosen item", of(theme.ColorNameForeground), over(of(theme.ColorNameFocus), of(theme.ColorNameMenuBackground)))
		for _, level := range []fyne.ThemeColorName{theme.ColorNamePrimary, theme.ColorNameSuccess, theme.ColorNameWarning, theme.ColorNameError} {
			// As package notice mixes it.
			bar := color.NRGBAModel.Convert(of(level)).(color.NRGBA)
			bar.A = 0x26
			check(t, leastText, brightness+": a message in "+string(level), of(theme.ColorNameForeground), over(bar, of(theme.ColorNameBackground)))
		}
		for _, g := range []fyne.ThemeColorName{theme.ColorNameBackground, theme.ColorNameInputBackground, theme.ColorNameOverlayBackground, theme.ColorNameScrollBarBackground} {
			check(t, leastControl, brightness+": a scroll bar on "+string(g), of(theme.ColorNameScrollBar), of(g))
		}
	}
}

// TestTableContrast does the same for the tables, which have their own colours.
func TestTableContrast(t *testing.T) {
	for name, p := range map[string]*grid.Palette{look.Light: &grid.Light, look.Dark: &grid.Dark} {
		grounds := map[string]color.Color{"the ground": p.Background, "a stripe": p.Stripe, "the selection": p.Selected,
			"the selection without focus": p.SelectedIdle, "the partner": p.Partner, "a match": p.Match}
		for i, c := range p.Labels {
			grounds["label "+string(rune('1'+i))] = c
		}
		for ground, g := range grounds {
			for i, ink := range p.Inks {
				check(t, leastText, name+": ink "+string(rune('0'+i))+" on "+ground, ink, g)
			}
		}
		check(t, leastText, name+": a number on its bar", p.Inks[grid.Plain], p.Bar)
		check(t, leastText, name+": a column's head", p.HeaderText, p.Header)
		for what, c := range map[string]color.Color{"a match on the scroll bar": p.Found, "a bookmark": p.Bookmark, "the cursor": p.Cursor} {
			check(t, leastControl, name+": "+what, c, p.Background)
		}
	}
}

// TestTimelineContrast does the same for the timeline.
func TestTimelineContrast(t *testing.T) {
	for name, p := range map[string]*timeline.Palette{look.Light: &timeline.Light, look.Dark: &timeline.Dark} {
		for i, c := range append(p.Boxes[:], p.Several) {
			check(t, leastText, name+": text on box "+string(rune('a'+i)), p.Text, c)
		}
		for what, pair := range map[string][2]color.Color{
			"the ruler": {p.RulerText, p.Ruler}, "a thread": {p.GutterText, p.Gutter}, "a run": {p.GutterText, p.Ruler},
			"about a thread": {p.Dim, p.Gutter}, "what is not found": {p.Dim, p.Faint},
		} {
			check(t, leastText, name+": "+what, pair[0], pair[1])
		}
		check(t, leastControl, name+": the chosen call", p.Selected, p.Background)
		check(t, leastControl, name+": an annotation", p.Annotation, p.Background)
	}
}
