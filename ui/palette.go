package ui

import (
	"cmp"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/inputs"
)

// A command is an action as the palette lists it.
type command struct {
	*action
	path string // the menus that it stands in
	can  bool   // it could be done when the palette was opened
}

// commands lists all actions but the palette itself, choices of submenus too.
func (as *actions) commands() []command {
	var list []command
	var add func(path string, actions []*action)
	add = func(path string, actions []*action) {
		for _, a := range actions {
			switch {
			case a == nil || a.name == "palette":
			case a.choices != nil:
				add(path+" \u203a "+a.title, a.choices())
			default:
				list = append(list, command{a, path, a.can()})
			}
		}
	}
	for _, m := range as.menus {
		add(m.title, m.actions)
	}
	return list
}

// matchCommands returns the commands that have all words of a text in what they
// are called or in their menu: those first whose title begins with the text, then
// those with the words in the title.
func matchCommands(list []command, text string) []command {
	text = strings.ToLower(strings.TrimSpace(text))
	words := strings.Fields(text)
	holds := func(s string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(s, word) })
	}
	var ranks [3][]command
	for _, c := range list {
		title := strings.ToLower(c.title)
		switch {
		case strings.HasPrefix(title, text):
			ranks[0] = append(ranks[0], c)
		case holds(title):
			ranks[1] = append(ranks[1], c)
		case holds(title + " " + strings.ToLower(c.path) + " " + strings.ReplaceAll(c.name, "-", " ")):
			ranks[2] = append(ranks[2], c)
		}
	}
	return slices.Concat(ranks[0], ranks[1], ranks[2])
}

// A palette finds an action by what is typed.
type palette struct {
	entry *inputs.Entry
	list  *widget.List
	tip   *widget.Label

	all, found []command
	at         int // the chosen one of those found
	choosing   bool
	// run is called with the command that the user decided for.
	run func(c command)
}

// paletteLines is how many lines Page Up and Page Down go.
const paletteLines = 10

func newPalette(all []command, run func(c command)) *palette {
	p := &palette{entry: inputs.NewEntry(), tip: widget.NewLabel(""), all: all, run: run}
	p.entry.SetPlaceHolder(lang.L("What do you want to do?"))
	p.entry.OnChanged = func(string) { p.match() }
	p.tip.Importance = widget.LowImportance
	p.tip.Wrapping = fyne.TextWrapWord
	p.list = widget.NewList(func() int { return len(p.found) }, newCommandLine, func(i widget.ListItemID, o fyne.CanvasObject) {
		if i < len(p.found) {
			o.(*commandLine).show(&p.found[i])
		}
	})
	p.list.OnSelected = func(i widget.ListItemID) {
		if !p.choosing {
			p.at = i
			p.decide()
		}
	}
	p.match()
	return p
}

// A commandLine is a line of the list: whether it is on, title, menu, keys.
type commandLine struct {
	widget.BaseWidget
	on                *widget.Icon
	title, path, keys *widget.Label
	content           *fyne.Container
}

func newCommandLine() fyne.CanvasObject {
	l := &commandLine{on: widget.NewIcon(nil), title: widget.NewLabel(""), path: widget.NewLabel(""), keys: widget.NewLabel("")}
	l.path.Importance = widget.LowImportance
	l.keys.TextStyle.Bold = true
	// The scroll bar lies over the right end.
	l.content = container.New(layout.NewCustomPaddedLayout(0, 0, 0, 10), container.NewHBox(l.on, l.title, l.path, layout.NewSpacer(), l.keys))
	l.ExtendBaseWidget(l)
	return l
}

// CreateRenderer implements [fyne.Widget].
func (l *commandLine) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(l.content)
}

func (l *commandLine) show(c *command) {
	importance := widget.MediumImportance
	if !c.can {
		importance = widget.LowImportance
	}
	l.title.Importance, l.keys.Importance = importance, importance
	var on fyne.Resource
	if c.checked != nil && c.checked() {
		on = theme.ConfirmIcon()
	}
	l.on.SetResource(on)
	l.title.SetText(shorten(c.title, 60))
	l.path.SetText(c.path)
	l.keys.SetText(c.keysText())
	l.content.Refresh() // the texts have other widths now
}

// match finds the commands for what is typed, and chooses the first.
func (p *palette) match() {
	p.found = matchCommands(p.all, p.entry.Text)
	p.list.UnselectAll()
	p.list.Refresh()
	p.choose(0)
}

// choose chooses one of the commands found.
func (p *palette) choose(i int) {
	p.at = min(max(i, 0), len(p.found)-1)
	if p.at < 0 {
		p.tip.SetText(lang.L("Nothing is called so."))
		return
	}
	p.choosing = true
	p.list.Select(p.at)
	p.choosing = false
	c := &p.found[p.at]
	tip := c.tip
	if !c.can {
		tip = strings.TrimSpace(lang.L("Not possible now.") + " " + tip)
	}
	p.tip.SetText(tip)
}

// decide runs the chosen command, if it can be done now.
func (p *palette) decide() {
	if p.at >= 0 && p.at < len(p.found) && p.found[p.at].can {
		p.run(p.found[p.at])
		return
	}
	p.choose(p.at)
}

// key takes the keys that move in the list, and reports whether it was one.
func (p *palette) key(name fyne.KeyName) bool {
	switch name {
	case fyne.KeyUp:
		p.choose(p.at - 1)
	case fyne.KeyDown:
		p.choose(p.at + 1)
	case fyne.KeyPageUp:
		p.choose(p.at - paletteLines)
	case fyne.KeyPageDown:
		p.choose(p.at + paletteLines)
	case fyne.KeyReturn, fyne.KeyEnter:
		p.decide()
	default:
		return false
	}
	return true
}

// showPalette opens the command palette.
func (as *actions) showPalette() {
	var d *dialog.CustomDialog
	p := newPalette(as.commands(), func(c command) {
		d.Hide()
		as.w.trace("command " + cmp.Or(c.name, c.title))
		as.perform(c.action)
	})
	p.entry.OnKey = func(name fyne.KeyName) bool { return p.key(name) || as.key(name) }
	d = dialog.NewCustomWithoutButtons(lang.L("Command palette"), container.NewBorder(p.entry, p.tip, nil, nil, p.list), as.w.win)
	as.palette = p
	as.w.dialogs.open(d, 720, 520)
	p.choose(0) // the list has its size now
	as.w.win.Canvas().Focus(p.entry)
}
