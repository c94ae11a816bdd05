package ui

import (
	"strconv"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/look"
	"logparser/ui/timeline"
)

// A flameView is the call tree as a picture, all of it or what is around one function.
type flameView struct {
	graph *timeline.Flame
	about *widget.Label
	all   *hint.Button
}

// flameGraph shows the call tree of the selection as a picture.
func (v *views) flameGraph() *view {
	w, f := v.w, &v.flame
	f.graph = timeline.NewFlame(look.Fonts(), &timeline.Light)
	f.about = widget.NewLabel("")
	f.about.Truncation = fyne.TextTruncateEllipsis
	f.about.Importance = widget.LowImportance
	f.all = hint.NewButton("", theme.NavigateBackIcon(), func() { f.graph.Out() })
	f.all.Importance = widget.LowImportance
	f.all.Hint = func() string { return hint.Keyed(lang.L("Shows the whole tree again"), "Esc") }
	f.graph.OnChanged = f.say
	f.graph.OnKey = func(name fyne.KeyName) { w.actions.key(name) }
	f.graph.OnRune = v.rune
	f.graph.OnOpen = func(ref *app.FunctionRef) { v.openFunction(*ref) }
	f.graph.OnMenu = func(ref *app.FunctionRef, at fyne.Position) { v.functionMenu(*ref, at) }
	f.graph.OnChosen = func(n *app.TreeNode, path []app.FunctionRef) {
		if len(path) == 0 {
			v.picks.pick(control.Pick{FunctionRef: n.FunctionRef})
			return
		}
		v.picks.node(n, path, false)
	}
	return &view{
		name: viewFlame, title: func() string { return lang.L("Flame graph") }, key: fyne.Key9,
		about:   func() string { return lang.L("The call tree as a picture: calls are as wide as their time") },
		content: container.NewBorder(container.NewBorder(nil, nil, f.all, nil, f.about), nil, nil, nil, f.graph), focus: f.graph,
		compute: func(string, bool) {
			digits := v.digits()
			w.ctl.Views.FlameTree(func(tree *app.Tree, err error) {
				if v.computed(viewFlame, err) {
					f.graph.SetTree(tree, digits)
					w.side.showRow() // which asks for the way to the current row
					w.trace("flame " + strconv.Itoa(len(tree.Roots)))
				}
			})
		},
		clear: func() {
			f.graph.Around(nil)
			f.graph.SetTree(&app.Tree{}, 3)
		},
		followStack: func(row int64, frames []app.Frame) {
			if row != v.picks.row && !v.picks.looking {
				f.graph.Choose(frames)
			}
		},
		relabel: func() {
			f.all.SetText(lang.L("Back to all"))
			f.say()
		},
		paint: func(_ *grid.Palette, dark bool) {
			if dark {
				f.graph.SetPalette(&timeline.Dark)
			} else {
				f.graph.SetPalette(&timeline.Light)
			}
		},
	}
}

// say says what the graph shows.
func (f *flameView) say() {
	text := lang.L("As wide as its time, callers above. A double click or F fills the width with a call, C shows who called the chosen function and what it called.")
	switch c := f.graph.Centre(); {
	case c != nil:
		text = lang.L("All calls of {{.Name}}: who called it above, what it called below. Esc shows all.", data{"Name": c.Function})
	case f.graph.IsZoomed():
		text = lang.L("A part of the tree. Esc shows all.")
	}
	f.about.SetText(text)
	show(f.all, f.graph.Centre() != nil || f.graph.IsZoomed())
}

// showAround shows who called a function and what it called, all of its calls merged.
func (v *views) showAround(f app.FunctionRef) {
	v.flame.graph.Around(&f)
	v.show(viewFlame)
	v.w.trace("around " + f.Function)
}

// inkActions choose what the colours of timeline and flame graph are of.
func (v *views) inkActions() []*action {
	set := func(title string, inks timeline.Inks) *action {
		return &action{title: title, checked: func() bool { return v.inks == inks }, do: func() {
			v.inks = inks
			v.timeline.SetInks(inks)
			v.flame.graph.SetInks(inks)
			v.w.actions.show()
		}}
	}
	return []*action{set(lang.L("by function"), timeline.ByFunction), set(lang.L("by module"), timeline.ByModule), set(lang.L("by thread"), timeline.ByThread)}
}
