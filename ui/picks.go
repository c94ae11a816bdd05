package ui

import (
	"slices"

	"logparser/app"
	"logparser/ui/control"
)

// picks make what is chosen in one view chosen in all: the call tree and the
// statistics follow the table's current row, and a function that is chosen in them
// makes its first call the table's current row, which the panel beside it shows. A
// thread that is chosen in their list limits all views to it.
type picks struct {
	w *workspace
	// count numbers what is chosen in tree and statistics; row is the one that came
	// of the last, -1 for none, looking says that it is being looked for.
	count   int
	row     int64
	looking bool
	// following: the table goes to what was chosen in another view.
	following bool
}

// goTo makes a row that was chosen in another view the table's current row.
func (p *picks) goTo(row int64) {
	p.following = true
	p.w.nav.goTo(row)
	p.following = false
}

// pick makes the call that was chosen in another view the table's current row,
// after a moment: keys that are held down move faster.
func (p *picks) pick(call control.Pick) {
	w := p.w
	p.count++
	number := p.count
	p.looking = true
	w.ctl.Calls.StopChoosing()
	w.later(besideDelay, func() {
		if p.count != number {
			return
		}
		w.ctl.Calls.Choose(call, func(row int64) {
			if p.count != number {
				return
			}
			p.looking, p.row = false, row
			p.goTo(row)
			w.trace("picked " + control.Thousands(row))
		})
	})
}

// unpick forgets what was chosen in another view, as a row is chosen elsewhere.
func (p *picks) unpick() {
	if !p.following {
		p.count++
		p.looking, p.row = false, -1
	}
}

// function is for the statistics. A row of the function that is chosen
// already stays so.
func (p *picks) function(f *app.FunctionStat) {
	if r, ok := p.w.table.rowAt(p.w.table.grid.Current()); ok && r.Function == f.Function && r.Module == f.Module {
		p.unpick()
		return
	}
	p.pick(control.Pick{FunctionRef: f.FunctionRef})
}

// thread is for the list of threads: all views are limited to the one that is chosen in it, after a
// moment.
func (p *picks) thread(t *app.Thread) {
	w := p.w
	p.count++
	number := p.count
	w.later(besideDelay, func() {
		if p.count == number && !onlyThread(w.ctl.Filter.Wanted().Where, t) {
			w.ctl.Filter.SetThread(t)
		}
	})
}

// node is for the call tree: path are the functions that the chosen node and
// those above it stand for.
func (p *picks) node(n *app.TreeNode, path []app.FunctionRef, bottomUp bool) {
	f := path[len(path)-1]
	if bottomUp {
		f = path[0]
	}
	call := control.Pick{FunctionRef: f}
	if n.ByThread {
		call.Thread = &app.Thread{ID: n.Thread, Process: n.Process}
	}
	call.Fits = func(frames []app.Frame) bool {
		switch {
		case bottomUp && len(frames) < len(path), !bottomUp && len(frames) != len(path):
			return false
		case bottomUp:
			// The function first, then who called it.
			frames = slices.Clone(frames[len(frames)-len(path):])
			slices.Reverse(frames)
		}
		for i := range path {
			if frames[i].Function != path[i].Function || frames[i].Module != path[i].Module {
				return false
			}
		}
		return true
	}
	p.pick(call)
}

// choose lets the view that is looked at show the table's current row, unless
// that was chosen in a view.
func (v *views) choose() {
	v.picks.unpick()
	r, ok := v.w.table.rowAt(v.w.table.grid.Current())
	if follow := v.current().follow; ok && !v.picks.following && follow != nil {
		follow(&r)
	}
}
