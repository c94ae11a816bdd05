package ui

import (
	"runtime"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/theme"
)

// A namedShortcut is a shortcut that is found by its name and that Fyne draws
// nothing for: it would draw the keys so pale that they cannot be read.
type namedShortcut string

// ShortcutName implements [fyne.Shortcut].
func (s namedShortcut) ShortcutName() string { return string(s) }

// nameKeys puts the keys of the items of a menu into their texts, in a column.
// The menus of macOS are the system's, which draws them well.
func nameKeys(items []*fyne.MenuItem) {
	if runtime.GOOS == "darwin" {
		return
	}
	widest := float32(0)
	for _, m := range items {
		widest = max(widest, labelWidth(m.Label))
	}
	blank := labelWidth(" ")
	for _, m := range items {
		keys, ok := m.Shortcut.(fyne.KeyboardShortcut)
		if !ok {
			continue
		}
		// Two blanks at least stand between them.
		n := 2 + int((widest-labelWidth(m.Label))/blank+0.5)
		m.Label += strings.Repeat(" ", n) + "  " + keyText(keys)
		m.Shortcut = namedShortcut(keys.ShortcutName())
	}
}

func labelWidth(s string) float32 {
	return fyne.MeasureText(s, theme.TextSize(), fyne.TextStyle{}).Width
}

// keyText writes the keys of a shortcut.
func keyText(s fyne.KeyboardShortcut) string {
	text := ""
	for _, m := range []struct {
		modifier fyne.KeyModifier
		name     string
	}{{fyne.KeyModifierControl, "Ctrl+"}, {fyne.KeyModifierAlt, "Alt+"}, {fyne.KeyModifierShift, "Shift+"}, {fyne.KeyModifierSuper, "Super+"}} {
		if s.Mod()&m.modifier != 0 {
			text += m.name
		}
	}
	return text + string(s.Key())
}
