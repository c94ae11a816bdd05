package ui

import (
	"slices"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/timeline"
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
	w.ctl.StopChoosing()
	w.later(besideDelay, func() {
		if v.picks != number {
			return
		}
		w.ctl.Choose(p, func(row int64) {
			if v.picks != number {
				return
			}
			v.picking, v.picked = false, row
			v.following = true
			w.goTo(row)
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
	if r, ok := v.w.rowAt(v.w.grid.Current()); ok && r.Function == f.Function && r.Module == f.Module {
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

// followStack lets the call tree show the way to the table's current row, unless
// that was chosen in the tree.
func (v *views) followStack(row int64, frames []app.Frame) {
	if v.shown() == viewTree && row != v.picked && !v.picking {
		v.tree.Choose(frames)
		v.w.trace("path " + control.Thousands(int64(len(frames))))
	}
}

// followRow lets the statistics show the function of the table's current row.
func (v *views) followRow(r *rows.Row) {
	if v.shown() == viewStatistics && !v.following {
		v.statistics.Choose(r.Function, r.Module)
	}
}

// choose lets the view that is looked at show the table's current row: the
// timeline its call, the statistics its function.
func (v *views) choose() {
	v.unpick()
	r, ok := v.w.rowAt(v.w.grid.Current())
	if ok {
		v.followRow(&r)
	}
	if !ok || v.following || v.shown() != viewTimeline {
		return
	}
	enter := v.w.enterOf(&r)
	if enter < 0 || r.Event == rows.Unknown {
		return
	}
	for _, run := range v.runs() {
		if r.Index >= run.FirstRow && r.Index < run.EndRow {
			r.Elapsed += run.Zero
		}
	}
	call := timeline.Span{From: r.Elapsed, To: r.Elapsed, Depth: r.Depth, Deepest: r.Depth, Count: 1, Function: r.Function, Row: enter}
	if took := max(r.Duration, 0); r.Event == rows.Enter {
		call.To += took
	} else {
		call.From -= took
	}
	v.timeline.Choose(uint32(r.Track()), call)
}
