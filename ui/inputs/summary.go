package inputs

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/hint"
)

// A Summary is the inputs of a log that is open on one line: the log, its modules, and
// the symbol path, which is edited there. What does not fit there the [Strip] has.
type Summary struct {
	Content *fyne.Container
	// Unfold shows or hides the strip, Symbols edits the symbol path.
	Unfold, Symbols *hint.Button

	log, modules, symbols summaryPart
}

// A summaryPart is what is said of one input.
type summaryPart struct {
	light *Light
	text  *widget.Label
}

func newSummaryPart() summaryPart {
	p := summaryPart{light: NewLight(), text: widget.NewLabel("")}
	p.text.Importance = widget.MediumImportance
	return p
}

func (p *summaryPart) show(text string, level control.Level) {
	p.light.Set(level)
	if p.text.Text != text {
		p.text.SetText(text)
	}
}

// NewSummary makes the line; tools stand at its right end.
func NewSummary(tools ...fyne.CanvasObject) *Summary {
	s := &Summary{log: newSummaryPart(), modules: newSummaryPart(), symbols: newSummaryPart()}
	s.Unfold = hint.NewButton("", theme.MenuExpandIcon(), nil)
	s.Unfold.Importance = widget.LowImportance
	s.Symbols = hint.NewButton("", theme.FolderIcon(), nil)
	s.log.text.Truncation = fyne.TextTruncateEllipsis
	s.log.text.TextStyle.Bold = true
	right := container.NewHBox(s.modules.light, s.modules.text, s.Symbols, s.symbols.light, s.symbols.text, widget.NewSeparator())
	for _, t := range tools {
		right.Add(t)
	}
	s.Content = container.New(layout.NewCustomPaddedLayout(2, 2, 2, 6),
		container.NewBorder(nil, nil, container.NewHBox(s.Unfold, s.log.light), right, s.log.text))
	s.Relabel()
	return s
}

// Relabel says everything in the present language.
func (s *Summary) Relabel() {
	s.Symbols.SetText(lang.L("Symbol path\u2026"))
	s.Content.Refresh()
}

// Show brings the line up to date. unfolded says that the strip is shown below it.
func (s *Summary) Show(state *control.State, unfolded bool) {
	icon := theme.MenuExpandIcon()
	if unfolded {
		icon = theme.MenuDropDownIcon()
	}
	if s.Unfold.Icon != icon {
		s.Unfold.SetIcon(icon)
	}
	before := s.modules.text.Text + s.symbols.text.Text
	s.log.show(state.Wanted.LogNames()+"   "+state.Log.Text, state.Log.Level)
	s.modules.show(first(state.ModulesFile), state.ModulesFile.Level)
	s.symbols.show(first(state.Symbols), state.Symbols.Level)
	if s.modules.text.Text+s.symbols.text.Text != before {
		s.Content.Refresh() // they have other widths
	}
}

// first is what is said first of an input that is well; of others all is said.
func first(s control.InputState) string {
	text := s.Text
	if s.Level == control.LevelGood {
		text, _, _ = strings.Cut(text, " \u00b7 ")
	}
	if r := []rune(text); len(r) > mostLetters {
		return string(r[:mostLetters-1]) + "\u2026"
	}
	return text
}

// mostLetters is how long a part of the line may be; the strip has all of it.
const mostLetters = 48
