package ui

import (
	"strconv"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/sidepanel"
	"logparser/ui/table"
)

// heat is the self time of functions by the source lines that they begin in, of a selection.
type heat struct {
	some       bool
	where      string
	generation int
	parts      bool // calls are cut to a range of time
	of         map[string]map[int]*lineHeat
	most       int64
	whole      int64
}

type lineHeat struct{ self, calls int64 }

// withHeat adds to source lines what the functions that begin in them took, and shows them
// again once that is known. done is called at once, and then perhaps again.
func (p *sidePanel) withHeat(source string, s sidepanel.Source, done func(s sidepanel.Source)) {
	w := p.w
	where := w.ctl.Filter.Wanted().Where
	if h := &p.heat; h.some && h.where == where && h.generation == w.views.generation && h.parts == !w.ctl.Views.Whole() {
		done(h.add(source, s, w.views.digits()))
		return
	}
	done(s)
	if len(s.Lines) == 0 || !w.ctl.State().Loaded {
		return
	}
	generation, parts := w.views.generation, !w.ctl.Views.Whole()
	w.ctl.Views.Heat(func(list []app.FunctionStat, err error) {
		if err != nil {
			return
		}
		h := heat{some: true, where: where, generation: generation, parts: parts, of: make(map[string]map[int]*lineHeat)}
		for i := range list {
			f := &list[i]
			h.whole += f.Self
			if f.Source == "" || f.Line <= 0 {
				continue
			}
			if h.of[f.Source] == nil {
				h.of[f.Source] = make(map[int]*lineHeat)
			}
			l := h.of[f.Source][f.Line]
			if l == nil {
				l = &lineHeat{}
				h.of[f.Source][f.Line] = l
			}
			l.self += f.Self
			l.calls += f.Calls
			h.most = max(h.most, l.self)
		}
		p.heat = h
		done(h.add(source, s, w.views.digits()))
		w.trace("heat " + strconv.Itoa(len(h.of)))
	})
}

// add returns lines of a source file with what is known of them.
func (h *heat) add(source string, s sidepanel.Source, digits int) sidepanel.Source {
	s.Heat = make(map[int]sidepanel.Heat)
	for line, l := range h.of[source] {
		if line < s.First || line >= s.First+len(s.Lines) || h.whole <= 0 {
			continue
		}
		s.Heat[line] = sidepanel.Heat{Share: float64(l.self) / float64(max(h.most, 1)),
			Text: lang.L("self {{.Time}}, {{.Percent}} %, {{.Calls}}", data{
				"Time":    string(table.AppendDuration(nil, l.self, digits)),
				"Percent": strconv.FormatFloat(100*float64(l.self)/float64(h.whole), 'f', 1, 64),
				"Calls":   control.Count("{{.N}} call", "{{.N}} calls", l.calls)})}
	}
	return s
}
