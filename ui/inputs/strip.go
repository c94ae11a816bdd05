// Package inputs is the top of the window: the log, the modules file and the
// symbol search path, each with its state.
package inputs

import (
	"image/color"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/hint"
)

// A Strip is the three inputs, one below the other, and the switches that say
// which symbols count.
type Strip struct {
	Log, Modules, Symbols *Line
	// Network permits asking symbol servers, Mismatched shows names of another
	// build.
	Network, Mismatched *hint.Check
	Content             fyne.CanvasObject

	servers *widget.Label
}

// A Line is one input.
type Line struct {
	Entry  *Entry
	Browse *hint.Button
	// More is a second button, nil where there is none.
	More *hint.Button

	label *widget.Label
	light *Light
	state *widget.Label
}

// New makes the inputs. Callbacks are set on the lines.
func New() *Strip {
	s := &Strip{Log: newLine(theme.FileIcon()), Modules: newLine(theme.FileIcon()), Symbols: newLine(theme.FolderIcon())}
	s.Symbols.More = hint.NewButton("", theme.ListIcon(), nil)
	s.Symbols.More.Importance = widget.LowImportance
	s.Network, s.Mismatched = hint.NewCheck("", nil), hint.NewCheck("", nil)
	s.servers = widget.NewLabel("")
	s.servers.Truncation = fyne.TextTruncateEllipsis
	s.servers.Importance = widget.LowImportance
	all := []*Line{s.Log, s.Modules, s.Symbols}
	s.Content = container.New(layout.NewCustomPaddedVBoxLayout(0),
		container.New(&lines{all}, objects(all...)...),
		container.NewBorder(nil, nil, s.Network, s.Mismatched, s.servers))
	s.Relabel()
	return s
}

func newLine(icon fyne.Resource) *Line {
	l := &Line{Entry: NewEntry(), label: widget.NewLabel(""), light: NewLight(), state: widget.NewLabel("")}
	l.state.Truncation = fyne.TextTruncateEllipsis
	l.state.Importance = widget.MediumImportance
	l.Browse = hint.NewButton("", icon, nil)
	return l
}

// Relabel says everything in the present language.
func (s *Strip) Relabel() {
	s.Log.label.SetText(lang.L("Log"))
	s.Log.Browse.SetText(lang.L("Choose"))
	s.Modules.label.SetText(lang.L("Modules file"))
	s.Modules.Browse.SetText(lang.L("Choose"))
	s.Symbols.label.SetText(lang.L("Symbol path"))
	s.Symbols.Browse.SetText(lang.L("Add"))
	s.Network.SetText(lang.L("Ask symbol servers"))
	s.Mismatched.SetText(lang.L("Show names of another build, marked"))
	s.Log.Entry.SetPlaceHolder(lang.L("LogDetails.dat: choose it, drop it here, or type its path"))
	s.Content.Refresh()
}

// Show brings the lines up to date.
func (s *Strip) Show(state *control.State) {
	s.Log.show(control.JoinPaths(state.Wanted.Logs()), state.Log)
	s.Modules.show(state.Wanted.Modules, state.ModulesFile)
	s.Symbols.show(control.JoinPaths(state.Wanted.Symbols), state.Symbols)

	found := state.Found.Modules
	if found == "" {
		found = lang.L("Looked for beside the log")
	}
	own := state.Opened && state.Facts.OwnModules
	if own {
		found = lang.L("Not needed: the log tells its modules")
	}
	setPlaceHolder(s.Modules.Entry, found)
	s.Modules.enable(!own)
	s.showSwitches(state)
	setPlaceHolder(s.Symbols.Entry, lang.L("Folders and files with symbols; beside the log is always looked"))
}

// showSwitches brings the switches up to date. Setting one that differs calls
// its OnChanged, which finds nothing to do.
func (s *Strip) showSwitches(state *control.State) {
	s.Network.SetChecked(state.Wanted.Network)
	s.Mismatched.SetChecked(state.Wanted.LoadMismatched)
	hosts := strings.Join(control.Hosts(app.Servers(state.Wanted.Symbols)), ", ")
	text := lang.L("Off: the network is not touched")
	switch {
	case state.Wanted.Network && hosts == "":
		text = lang.L("On, but the symbol path names no server")
	case state.Wanted.Network:
		text = lang.L("Asks {{.Hosts}}", map[string]any{"Hosts": hosts})
	case hosts != "":
		text = lang.L("Off: {{.Hosts}} is not asked", map[string]any{"Hosts": hosts})
	}
	if s.servers.Text != text {
		s.servers.SetText(text)
	}
}

func setPlaceHolder(e *Entry, text string) {
	if e.PlaceHolder != text {
		e.SetPlaceHolder(text)
	}
}

func (l *Line) show(text string, state control.InputState) {
	l.Entry.Settle(text)
	l.light.Set(state.Level)
	if l.state.Text != state.Text {
		l.state.SetText(state.Text)
	}
}

// enable lets the line be changed, or greys it.
func (l *Line) enable(on bool) {
	for _, w := range []fyne.Disableable{l.Entry, l.Browse} {
		switch {
		case on && w.Disabled():
			w.Enable()
		case !on && !w.Disabled():
			w.Disable()
		}
	}
}

// StateText returns the words beside the light.
func (l *Line) StateText() string { return l.state.Text }

// A Light is a dot in the colour of a level.
type Light struct {
	widget.BaseWidget
	dot   *canvas.Circle
	level control.Level
}

// NewLight makes a light that is off.
func NewLight() *Light {
	l := &Light{dot: canvas.NewCircle(color.Transparent)}
	l.ExtendBaseWidget(l)
	return l
}

// Set changes the level.
func (l *Light) Set(level control.Level) {
	if level != l.level {
		l.level = level
		l.Refresh()
	}
}

// LevelColor names the colour of a level.
func LevelColor(level control.Level) fyne.ThemeColorName {
	switch level {
	case control.LevelBusy:
		return theme.ColorNamePrimary
	case control.LevelGood:
		return theme.ColorNameSuccess
	case control.LevelWarn:
		return theme.ColorNameWarning
	case control.LevelBad:
		return theme.ColorNameError
	}
	return theme.ColorNameInputBorder
}

// CreateRenderer implements [fyne.Widget].
func (l *Light) CreateRenderer() fyne.WidgetRenderer { return &lightRenderer{l} }

type lightRenderer struct{ l *Light }

func (r *lightRenderer) Layout(size fyne.Size) {
	const d = 9
	r.l.dot.Resize(fyne.NewSize(d, d))
	r.l.dot.Move(fyne.NewPos((size.Width-d)/2, (size.Height-d)/2))
	r.paint()
}
func (r *lightRenderer) paint() {
	r.l.dot.FillColor = r.l.Theme().Color(LevelColor(r.l.level), fyne.CurrentApp().Settings().ThemeVariant())
}
func (r *lightRenderer) MinSize() fyne.Size { return fyne.NewSize(15, 15) }
func (r *lightRenderer) Refresh() {
	r.paint()
	r.l.dot.Refresh()
}
func (r *lightRenderer) Destroy()                     {}
func (r *lightRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.l.dot} }

// lines lays inputs out in columns: label, entry, buttons, light, state.
type lines struct{ lines []*Line }

func objects(list ...*Line) []fyne.CanvasObject {
	var out []fyne.CanvasObject
	for _, l := range list {
		out = append(out, l.label, l.Entry, l.Browse)
		if l.More != nil {
			out = append(out, l.More)
		}
		out = append(out, l.light, l.state)
	}
	return out
}

const lineGap = 3

func (g *lines) widths() (label, browse, more float32) {
	for _, l := range g.lines {
		label = max(label, l.label.MinSize().Width)
		browse = max(browse, l.Browse.MinSize().Width)
		if l.More != nil {
			more = max(more, l.More.MinSize().Width)
		}
	}
	return label, browse, more
}

func (g *lines) height() float32 { return g.lines[0].Entry.MinSize().Height }

// MinSize implements [fyne.Layout].
func (g *lines) MinSize([]fyne.CanvasObject) fyne.Size {
	label, browse, more := g.widths()
	return fyne.NewSize(label+browse+more+260, float32(len(g.lines))*(g.height()+lineGap)-lineGap)
}

// Layout implements [fyne.Layout].
func (g *lines) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	label, browse, more := g.widths()
	h := g.height()
	state := min(max(size.Width*0.27, 120), 380)
	light := float32(22)
	entry := max(size.Width-label-browse-more-light-state-2*lineGap, 60)
	put := func(o fyne.CanvasObject, x, y, w float32) {
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(w, h))
	}
	y := float32(0)
	for _, l := range g.lines {
		x := float32(0)
		put(l.label, x, y, label)
		x += label
		put(l.Entry, x, y, entry)
		x += entry + lineGap
		if l.More != nil {
			put(l.Browse, x, y, browse)
			put(l.More, x+browse+lineGap, y, more)
		} else {
			put(l.Browse, x, y, browse+lineGap+more)
		}
		x += browse + more + lineGap
		put(l.light, x+lineGap, y, light)
		put(l.state, x+light, y, state)
		y += h + lineGap
	}
}
