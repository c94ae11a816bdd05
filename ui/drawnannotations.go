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
	"logparser/ui/timeline"
)

// drawnAnnotations are the marks that table and timeline show, whatever the filter is.
type drawnAnnotations struct {
	list []control.Annotation // by time
	more bool                 // there are others, which are not shown
	// known is how many the log had when they were asked for, at when that was.
	known int64
	at    time.Time
}

// renewMarks reads the marks that are drawn, unless that is done. Of several runs,
// whose times begin anew, none are.
func (v *views) renewAnnotations() {
	s, m := v.w.ctl.State(), &v.drawn
	if !s.Opened || s.Facts.Marks == m.known || v.runs() != nil {
		return
	}
	if since := time.Since(m.at); s.Follow.On && since < renewAfter {
		v.renewLater(renewAfter - since)
		return
	}
	m.known, m.at = s.Facts.Marks, time.Now()
	v.w.ctl.Views.AllAnnotations(func(all control.AnnotationList, err error) {
		if err == nil {
			v.drawAnnotations(all)
		}
	})
}

func (v *views) drawAnnotations(all control.AnnotationList) {
	v.drawn.list, v.drawn.more = all.Annotations, all.More
	list := make([]timeline.Annotation, len(all.Annotations))
	for i := range list {
		list[i] = timeline.Annotation{Time: all.Annotations[i].Elapsed, Thread: all.Annotations[i].Thread, Number: i}
	}
	v.timeline.SetAnnotations(list)
	v.shade()
	v.w.table.grid.Reload()
	v.w.trace("drawn marks " + strconv.Itoa(len(list)))
}

// connectMarks lets marks be chosen in the timeline.
func (v *views) connectAnnotations() {
	w, t := v.w, v.timeline
	t.MarkText = func(number int) []string {
		m := &v.drawn.list[number]
		r := rows.Row{Wall: m.Wall, HasWall: m.HasWall, Elapsed: m.Elapsed}
		return []string{annotationText(m), string(table.AppendTime(nil, &r, w.table.format))}
	}
	t.OnAnnotation = func(number int) {
		w.ctl.Calls.RowOfAnnotation(&v.drawn.list[number], v.picks.goTo)
	}
}

// showInTimeline shows a mark where it was written.
func (v *views) showInTimeline(m *control.Annotation) {
	v.show(viewTimeline)
	if !v.timeline.ShowAnnotation(timeline.Annotation{Time: m.Elapsed, Thread: m.Thread}) {
		v.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("The thread of this mark has no rows.")})
	}
}

// markText is a mark on one line.
func annotationText(m *control.Annotation) string {
	if m.Kind == rows.TextAnnotation {
		return rows.Visible(m.Text)
	}
	return rows.Visible(m.Text) + " = " + string(m.AppendValue(nil))
}

// between says which marks were written after one time and not after another:
// the first, and how many more.
func (m *drawnAnnotations) between(after, upTo int64, thread uint32) string {
	behind := func(t int64) int {
		return sort.Search(len(m.list), func(k int) bool { return m.list[k].Elapsed > t })
	}
	first, end := behind(after), behind(upTo)
	if first >= end {
		return ""
	}
	text := annotationText(&m.list[first])
	if other := m.list[first].Thread; other != thread {
		text = strconv.FormatUint(uint64(other), 10) + ": " + text
	}
	if more := end - first - 1; more > 0 {
		text += "  +" + control.Thousands(int64(more))
	}
	return text
}

// decorate says beside each row of a list which marks were written since the row
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
		dst[i].Mark = m.between(since, upTo, r.Thread)
		since = r.Elapsed
	}
}
