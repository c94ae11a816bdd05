package ui

import (
	"logparser/app"
	"logparser/ui/control"
)

// steps are the selections before the present one, which Escape goes back to.
type steps struct {
	session int
	now     app.Selection
	before  []app.Selection
	back    bool // the next change is one of steps'
}

// maxSteps is how many steps are remembered.
const maxSteps = 50

// note takes note of the selection that is wanted. What the log was opened with is where
// the steps begin.
func (st *steps) note(s *control.State, wanted app.Selection) {
	switch {
	case s.Session != st.session || !s.Opened:
		*st = steps{session: s.Session, now: wanted}
	case sameSelection(wanted, st.now):
	case st.back:
		st.now, st.back = wanted, false
	default:
		st.before = append(st.before, st.now)
		if over := len(st.before) - maxSteps; over > 0 {
			st.before = append(st.before[:0], st.before[over:]...)
		}
		st.now = wanted
	}
}

// stepBack takes back the last change of what the views are limited to, and reports
// whether there was one.
func (w *workspace) stepBack() bool {
	st := &w.steps
	n := len(st.before) - 1
	if n < 0 {
		return false
	}
	to := st.before[n]
	st.before, st.back = st.before[:n], true
	w.ctl.Filter.Select(to)
	w.trace("step back " + to.Where)
	return true
}
