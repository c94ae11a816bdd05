package timeline

import (
	"strconv"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/table"
)

// data is what a translated text is filled with.
type data = map[string]any

// laneTexts are the name of a lane and what is said below it.
func laneTexts(l *app.Lane) (name, about string) {
	number := lang.L("Thread {{.N}}", data{"N": strconv.FormatUint(uint64(l.Thread), 10)})
	switch {
	case l.Stack != 0:
		name, about = lang.L("Stack {{.N}}", data{"N": strconv.FormatUint(uint64(l.Stack), 10)}), number
	case l.Name == "":
		name, about = number, control.Count("{{.N}} row", "{{.N}} rows", l.Rows)
	default:
		name, about = l.Name, number
	}
	if l.Process != nil {
		about = strconv.FormatUint(uint64(l.Thread), 10) + " \u00b7 " + l.Process.Label
	}
	return name, about
}

// runName is shown where a run begins.
func runName(r *app.TimelineRun) string {
	name := lang.L("Run {{.Run}}", data{"Run": strconv.Itoa(r.Number)})
	if r.HasWall {
		name += " \u00b7 " + r.Begin.Format(time.DateTime)
	}
	return name
}

// duration says how long something took.
func duration(ns int64, digits int) string { return string(table.AppendDuration(nil, ns, digits)) }

// bounded is duration with the sign of how far it can be relied on.
func bounded(b rows.Bound, ns int64, digits int) string {
	return string(table.AppendDuration(rows.AppendBound(nil, b, ns), ns, digits))
}

// lengthText says how long a range of time is.
func lengthText(a *axis, from, to int64, digits int) string {
	ns, parts := a.length(from, to)
	text := duration(ns, digits)
	if parts > 1 {
		text = lang.L("{{.Time}} in {{.N}} runs", data{"Time": text, "N": strconv.Itoa(parts)})
	}
	return text
}

// describe is what is said of a box under the pointer.
func describe(s *app.Span, lane *app.Lane, a *axis, digits int) []string {
	name, _ := laneTexts(lane)
	var lines []string
	if s.Calls != 1 {
		text := lang.L("Many calls")
		if s.Calls > 0 {
			text = lang.L("About {{.N}} calls", data{"N": control.Thousands(s.Calls)})
		}
		lines = append(lines, text)
		if s.Function != "" {
			lines = append(lines, lang.L("most time: {{.Name}}", data{"Name": s.Function}))
		}
		lines = append(lines, lang.L("within {{.Time}}; zoom in to see them", data{"Time": duration(s.To-s.From, digits)}))
	} else {
		took := duration(s.To-s.From, digits)
		if s.Open || s.NoLeave {
			took = lang.L("{{.Time}} so far, no leave", data{"Time": took})
		}
		lines = append(lines, s.Function, took)
	}
	switch {
	case s.Hidden() && s.Calls == 1:
		lines = append(lines, lang.L("The filter hides its row."))
	case s.Hidden():
		lines = append(lines, lang.L("The filter hides their rows."))
	case s.PartHidden():
		lines = append(lines, lang.L("The filter shows at most {{.N}} of them.", data{"N": control.Thousands(s.Shown)}))
	}
	if a.several() {
		r := &a.runs[a.run(s.From)]
		lines = append(lines, runName(r)+" \u00b7 "+duration(s.From-r.Zero, max(digits, 3)))
	}
	if s.Row >= 0 {
		name += " \u00b7 " + lang.L("Row {{.N}}", data{"N": control.Thousands(s.Row)})
	}
	return append(lines, name)
}
