package ui

import (
	"math"
	"sort"
	"strconv"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/table"
)

// drawnAnnotations are the annotations that table and timeline show, whatever the filter is.
type drawnAnnotations struct {
	list []rows.Annotation // by time
	more bool              // there are others, which are not shown
	// known is how many the log had when they were asked for, at when that was.
	known int64
	at    time.Time
}

// renewAnnotations reads the annotations that are drawn, unless that is done. Of several runs,
// whose times begin anew, none are.
func (v *views) renewAnnotations() {
	s, m := v.w.ctl.State(), &v.drawn
	if !s.Opened || s.Facts.Annotations == m.known || v.runs() != nil {
		return
	}
	if since := time.Since(m.at); s.Follow.On && since < renewAfter {
		v.renewLater(renewAfter - since)
		return
	}
	m.known, m.at = s.Facts.Annotations, time.Now()
	v.w.ctl.Views.AllAnnotations(func(all control.AnnotationList, err error) {
		if err == nil {
			v.drawAnnotations(all)
		}
	})
}

func (v *views) drawAnnotations(all control.AnnotationList) {
	v.drawn.list, v.drawn.more = all.Annotations, all.More
	v.timeline.SetAnnotations(all.Annotations)
	v.shade()
	v.w.table.grid.Reload()
	v.w.trace("drawn annotations " + strconv.Itoa(len(all.Annotations)))
}

// connectAnnotations lets annotations be chosen in the timeline.
func (v *views) connectAnnotations() {
	w, t := v.w, v.timeline
	t.AnnotationText = func(m *rows.Annotation) []string {
		r := rows.Row{Wall: m.Wall, HasWall: m.HasWall, Elapsed: m.Elapsed}
		return []string{annotationText(m), string(table.AppendTime(nil, &r, w.table.format))}
	}
	t.OnAnnotation = func(m *rows.Annotation) {
		w.ctl.Calls.RowOfAnnotation(m, v.picks.goTo)
	}
}

// showInTimeline shows an annotation where it was written.
func (v *views) showInTimeline(m *rows.Annotation) {
	v.show(viewTimeline)
	if !v.timeline.ShowAnnotation(m) {
		v.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("The thread of this annotation has no rows.")})
	}
}

// annotationText is an annotation on one line.
func annotationText(m *rows.Annotation) string {
	if m.Kind == rows.TextAnnotation {
		return rows.Visible(m.Text)
	}
	return rows.Visible(m.Text) + " = " + string(m.AppendValue(nil))
}

// between says which annotations were written after one time and not after another:
// the first, and how many more.
func (m *drawnAnnotations) between(after, upTo int64, thread rows.Track) string {
	behind := func(t int64) int {
		return sort.Search(len(m.list), func(k int) bool { return m.list[k].Elapsed > t })
	}
	first, end := behind(after), behind(upTo)
	if first >= end {
		return ""
	}
	text := annotationText(&m.list[first])
	if other := &m.list[first]; other.Track() != thread {
		text = strconv.FormatUint(uint64(other.Thread), 10) + ": " + text
	}
	if more := end - first - 1; more > 0 {
		text += "  +" + control.Thousands(int64(more))
	}
	return text
}

// decorate says beside each row of a list which annotations were written since the row
// before it, the first since a time. toEnd: the last row has also those after it.
func (m *drawnAnnotations) decorate(dst []grid.Decor, list []rows.Row, since int64, toEnd bool) {
	if len(m.list) == 0 {
		return
	}
	for i := range dst {
		r := &list[i]
		if r.Index == grid.Waiting {
			since = math.MaxInt64 // not known
			continue
		}
		upTo := r.Elapsed
		if toEnd && i == len(dst)-1 {
			upTo = math.MaxInt64
		}
		dst[i].Annotation = m.between(since, upTo, r.Home())
		since = r.Elapsed
	}
}
