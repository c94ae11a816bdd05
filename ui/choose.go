package ui

import (
	"slices"

	"logparser/app"
	"logparser/ui/control"
)

// What is chosen in one view is chosen in all: the call tree and the statistics
// follow the table's current row, and a function that is chosen in them makes its
// first call the table's current row, which the panel beside it shows.

// pick makes the call that was chosen in another view the table's current row,
// after a moment: keys that are held down move faster.
func (v *views) pick(p control.Pick) {
	w := v.w
	v.picks++
	number := v.picks
	v.picking = true
	w.ctl.Calls.StopChoosing()
	w.later(besideDelay, func() {
		if v.picks != number {
			return
		}
		w.ctl.Calls.Choose(p, func(row int64) {
			if v.picks != number {
				return
			}
			v.picking, v.picked = false, row
			v.following = true
			w.nav.goTo(row)
			v.following = false
			w.trace("picked " + control.Thousands(row))
		})
	})
}

// unpick forgets what was chosen in another view, as a row is chosen elsewhere.
func (v *views) unpick() {
	if !v.following {
		v.picks++
		v.picking, v.picked = false, -1
	}
}

// pickFunction is for the statistics. A row of the function that is chosen
// already stays so.
func (v *views) pickFunction(f *app.FunctionStat) {
	if r, ok := v.w.table.rowAt(v.w.table.grid.Current()); ok && r.Function == f.Function && r.Module == f.Module {
		v.unpick()
		return
	}
	v.pick(control.Pick{FunctionRef: f.FunctionRef})
}

// pickNode is for the call tree: path are the functions that the chosen node and
// those above it stand for.
func (v *views) pickNode(thread uint32, onThread bool, path []app.FunctionRef, bottomUp bool) {
	f := path[len(path)-1]
	if bottomUp {
		f = path[0]
	}
	p := control.Pick{FunctionRef: f, Thread: thread, OnThread: onThread}
	p.Fits = func(frames []app.Frame) bool {
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
	v.pick(p)
}

// choose lets the view that is looked at show the table's current row, unless
// that was chosen in a view.
func (v *views) choose() {
	v.unpick()
	r, ok := v.w.table.rowAt(v.w.table.grid.Current())
	if follow := v.current().follow; ok && !v.following && follow != nil {
		follow(&r)
	}
}
