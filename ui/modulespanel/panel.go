// Package modulespanel lists the modules of a log with the state of their
// symbols, and says of the chosen one what was looked for, where, and why it
// was taken or not.
package modulespanel

import (
	"fmt"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/hint"
	"logparser/ui/inputs"
	"logparser/ui/table"
)

// A Panel is the list and the details below it.
type Panel struct {
	Content fyne.CanvasObject
	// OnCopy is handed the details as text.
	OnCopy func(string)

	title   *widget.Label
	list    *widget.List
	details *widget.RichText
	copy    *hint.Button
	modules []app.ModuleState
	chosen  string // path of the module whose details are shown
}

// New makes an empty panel.
func New() *Panel {
	p := &Panel{title: widget.NewLabel(""), details: widget.NewRichText()}
	p.title.TextStyle.Bold = true
	p.details.Wrapping = fyne.TextWrapWord
	p.list = widget.NewList(func() int { return len(p.modules) }, newItem, p.fill)
	p.list.HideSeparators = true
	p.list.OnSelected = func(i widget.ListItemID) {
		p.chosen = p.modules[i].Path
		p.describe()
	}
	p.copy = hint.NewButton("", theme.ContentCopyIcon(), func() {
		if m := p.module(); m != nil && p.OnCopy != nil {
			p.OnCopy(Describe(m))
		}
	})
	p.copy.Importance = widget.LowImportance
	split := container.NewVSplit(p.list, container.NewBorder(nil, nil, nil, container.NewVBox(p.copy), container.NewVScroll(p.details)))
	split.Offset = 0.5
	p.Content = container.NewBorder(p.title, nil, nil, nil, split)
	p.Relabel()
	return p
}

// Relabel says everything in the present language.
func (p *Panel) Relabel() {
	p.Show(p.modules)
}

// Show brings the panel up to date. Modules with rows come first.
func (p *Panel) Show(modules []app.ModuleState) {
	p.modules = slices.Clone(modules)
	slices.SortStableFunc(p.modules, func(a, b app.ModuleState) int {
		switch {
		case a.Records != 0 && b.Records == 0:
			return -1
		case a.Records == 0 && b.Records != 0:
			return 1
		}
		return 0
	})
	p.title.SetText(lang.L("Modules"))
	p.list.Refresh()
	p.describe()
}

func (p *Panel) module() *app.ModuleState {
	for i := range p.modules {
		if p.modules[i].Path == p.chosen {
			return &p.modules[i]
		}
	}
	if len(p.modules) > 0 {
		return &p.modules[0]
	}
	return nil
}

// newItem makes a line of the list: a light, the name, and below it status
// and rows.
func newItem() fyne.CanvasObject {
	name := widget.NewLabel("")
	name.Truncation = fyne.TextTruncateEllipsis
	status := widget.NewLabel("")
	status.Alignment = fyne.TextAlignTrailing
	return container.NewBorder(nil, nil, inputs.NewLight(), status, name)
}

func (p *Panel) fill(i widget.ListItemID, o fyne.CanvasObject) {
	m := &p.modules[i]
	c := o.(*fyne.Container)
	for _, part := range c.Objects {
		switch part := part.(type) {
		case *inputs.Light:
			part.Set(LevelOf(m))
		case *widget.Label:
			if part.Alignment == fyne.TextAlignTrailing {
				part.Importance = widget.LowImportance
				part.SetText(table.Status(string(m.Status)))
			} else {
				part.Importance = widget.MediumImportance
				if m.Records == 0 {
					part.Importance = widget.LowImportance
				}
				part.SetText(m.Name)
			}
		}
	}
}

// LevelOf returns the light of a module. One without rows needs no symbols.
func LevelOf(m *app.ModuleState) control.Level {
	switch m.Status {
	case "matched", "attached", "embedded":
		return control.LevelGood
	case "exports only", "starts only", "unverified":
		return control.LevelWarn
	case "pending", "":
		return control.LevelBusy
	}
	if m.Records == 0 {
		return control.LevelNone
	}
	if m.Status == "mismatched" {
		return control.LevelBad
	}
	return control.LevelWarn
}

// fields are what is said of a module, in order.
func fields(m *app.ModuleState) [][2]string {
	list := [][2]string{
		{lang.L("Status"), table.Status(string(m.Status))},
		{lang.L("Why"), control.Translate(m.Reason)},
		{lang.L("Symbol file"), m.SymbolFile},
		{lang.L("Path"), m.Path},
		{lang.L("Address"), fmt.Sprintf("0x%x \u2013 0x%x", m.Base, m.Base+m.Size)},
		{lang.L("Identity"), m.Identity},
		{lang.L("File version"), m.About.FileVersion},
		{lang.L("Product"), strings.TrimSpace(m.About.Product + " " + m.About.ProductVersion)},
		{lang.L("Company"), m.About.Company},
		{lang.L("About the file"), m.About.Description},
		{lang.L("Signer, not verified"), m.About.Signer},
	}
	if m.Records >= 0 {
		list = append(list, [2]string{lang.L("Rows"), control.Thousands(m.Records)})
	}
	for i, a := range m.Attempts {
		head := ""
		if i == 0 {
			head = lang.L("Looked at")
		}
		list = append(list, [2]string{head, a.Path + "\n" + control.Translate(a.Outcome)})
	}
	return slices.DeleteFunc(list, func(f [2]string) bool { return f[1] == "" })
}

// Describe returns a module's details as text.
func Describe(m *app.ModuleState) string {
	var b strings.Builder
	b.WriteString(m.Name + "\n")
	for _, f := range fields(m) {
		if f[0] != "" {
			b.WriteString(f[0] + ": ")
		}
		b.WriteString(f[1] + "\n")
	}
	return b.String()
}

func (p *Panel) describe() {
	m := p.module()
	if m == nil {
		p.copy.Hide()
		p.details.Segments = nil
		p.details.Refresh()
		return
	}
	p.copy.Show()
	head := widget.RichTextStyleStrong
	head.Inline = false
	segments := []widget.RichTextSegment{&widget.TextSegment{Text: m.Name, Style: head}}
	for _, f := range fields(m) {
		if f[0] != "" {
			segments = append(segments, &widget.TextSegment{Text: f[0], Style: widget.RichTextStyle{ColorName: theme.ColorNamePlaceHolder, SizeName: theme.SizeNameCaptionText}})
		}
		segments = append(segments, &widget.TextSegment{Text: f[1], Style: widget.RichTextStyle{ColorName: theme.ColorNameForeground, SizeName: theme.SizeNameText}})
	}
	p.details.Segments = segments
	p.details.Refresh()
}
