package app

import (
	"context"
	"io"
	"math"
	"strconv"
	"strings"

	"logparser/calls/query"
	"logparser/export"
	"logparser/parser"
	"logparser/rows"
)

// AnnotationCount returns how many annotations and values of counters the chosen runs have.
// ok is false for logs that cannot have any.
func (s *Session) AnnotationCount() (texts, counters int64, ok bool) {
	if s.can.Annotator == nil {
		return 0, 0, false
	}
	for i := range s.runs() {
		t, c := s.can.Annotator.AnnotationCount(s.runs()[i].number)
		texts, counters = texts+t, counters+c
	}
	return texts, counters, true
}

// An AnnotationQuery says which annotations are wanted. The zero value is all of them.
type AnnotationQuery struct {
	// Text is part of the text or of the counter's name, without regard to
	// case.
	Text string
	// Thread is an id, or part of the thread's name.
	Thread string
}

// maxTexts is how many different texts of annotations are kept at once while annotations are
// read: names of counters come again and again.
const maxTexts = 4096

// An annotationText is a text of an annotation, and whether it is wanted.
type annotationText struct {
	text   string
	wanted bool
}

// An annotationThread is a thread, and whether its annotations are wanted.
type annotationThread struct {
	Thread
	wanted bool
}

// Annotations calls yield with the annotations that a query wants, run by run in order of
// time, until it returns false. yield may keep the annotation.
func (s *Session) Annotations(ctx context.Context, q AnnotationQuery, yield func(m *rows.Annotation) bool) error {
	return s.annotations(ctx, q, math.MinInt64, func(m *rows.Annotation) bool {
		kept := *m
		return yield(&kept)
	})
}

// annotations is Annotations from an elapsed time on. An annotation is good until yield
// returns.
func (s *Session) annotations(ctx context.Context, q AnnotationQuery, from int64, yield func(m *rows.Annotation) bool) error {
	if s.can.Annotator == nil {
		return nil
	}
	threads := make(map[uint32]*annotationThread)
	matcher := rows.NewMatcher(q.Text)
	texts := make(map[string]annotationText)
	more := true
	for run := range s.runs() {
		r := &s.runs()[run]
		m := rows.Annotation{Run: run}
		err := s.can.Annotator.Annotations(ctx, r.number, saturatedSum(from, r.zero), func(p *parser.Annotation) bool {
			t := threads[p.Thread]
			if t == nil {
				t = &annotationThread{}
				t.Thread, _ = s.threadOf(p.Thread)
				t.wanted = q.onThread(&t.Thread)
				threads[p.Thread] = t
			}
			if !t.wanted {
				return true
			}
			text, ok := texts[string(p.Text)]
			if !ok {
				if len(texts) == maxTexts {
					clear(texts)
				}
				recorded := string(p.Text)
				text.text = strings.ToValidUTF8(recorded, "\uFFFD")
				text.wanted = matcher.MatchesText(text.text)
				texts[recorded] = text
			}
			if !text.wanted {
				return true
			}
			m.Elapsed, m.Thread, m.Process, m.ThreadName = p.Time-r.zero, t.ID, t.Process, t.Name
			m.Kind, m.Bits, m.Text = rows.AnnotationKind(p.Kind), p.Bits, text.text
			m.Wall, m.HasWall = r.clock.Wall(p.Time)
			more = yield(&m)
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// onThread reports whether the annotations of a thread are wanted.
func (q *AnnotationQuery) onThread(t *Thread) bool {
	if q.Thread == "" {
		return true
	}
	if id, err := strconv.ParseUint(q.Thread, 10, 32); err == nil {
		return uint64(t.ID) == id
	}
	return t.Name != "" && rows.NewMatcher(q.Thread).MatchesText(t.Name)
}

// RowOfAnnotation returns the row to go to for a mark: the first of its thread that is
// not before it, or the last one if all are. It is not ok where the thread has no
// rows.
func (s *Session) RowOfAnnotation(ctx context.Context, m *rows.Annotation) (row int64, ok bool, err error) {
	src := s.table
	if src.Len() == 0 || m.Run >= len(s.runs()) {
		return -1, false, nil
	}
	slots := query.NewSet(src.Slots())
	for slot := range uint32(src.Slots()) {
		if t := s.threadAt(slot); t.Track() == m.Track() {
			slots.Add(slot)
		}
	}
	first := int64(0)
	for _, r := range s.runs()[:m.Run] {
		first += r.Count
	}
	last := first + s.runs()[m.Run].Count - 1
	mine := query.And(query.InRows(first, last), query.OnThreads(slots))
	since := saturatedSum(m.Elapsed, s.runs()[m.Run].zero)
	row, ok, err = query.Next(ctx, src, query.And(mine, query.InTime(since, math.MaxInt64)), first-1, false)
	if err == nil && !ok {
		row, ok, err = query.Next(ctx, src, mine, min(last+1, src.Len()), true)
	}
	if err != nil || !ok {
		return -1, false, err
	}
	return row, true, nil
}

// An AnnotationTable says how annotations are written.
type AnnotationTable struct {
	// Format is txt, csv or jsonl.
	Format string
	// Rows adds the row of each annotation; see [Session.RowOfAnnotation].
	Rows bool
	SaveOptions
}

// WriteAnnotations writes the annotations that a query wants as a table, and returns how many
// they are. docs/formats.md has the columns.
func (s *Session) WriteAnnotations(ctx context.Context, w io.Writer, q AnnotationQuery, t AnnotationTable) (n int64, err error) {
	t.Header.Processes = s.processes
	out, err := export.NewAnnotationWriter(w, t.Format, s.rows.TimeDigits(), t.Rows, t.SaveOptions)
	if err != nil {
		return 0, err
	}
	var failed error
	err = s.annotations(ctx, q, math.MinInt64, func(m *rows.Annotation) bool {
		row := int64(-1)
		if t.Rows {
			if row, _, failed = s.RowOfAnnotation(ctx, m); failed != nil {
				return false
			}
		}
		n++
		failed = out.Write(m, row)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return n, err
	}
	return n, out.Flush()
}

// savedAnnotations returns the annotations that go with rows into a file, nil for none: all
// of them if all rows are saved from the first on, else those from the time of
// the first row that is saved to that of the last. Logs with annotations are traces,
// which have one run; several would need one line of time.
func (s *Session) savedAnnotations(src rows.Source, first int64) export.Annotations {
	texts, counters, _ := s.AnnotationCount()
	rowless := s.rows.Len() == 0
	if texts+counters == 0 || len(s.runs()) != 1 || first >= src.Len() && !rowless {
		return nil
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	if !rowless && (first > 0 || src.Len() < s.rows.Len()) {
		a, b := src.Row(first), src.Row(src.Len()-1)
		from, to = a.Elapsed, b.Elapsed
	}
	return func(ctx context.Context, yield func(m *rows.Annotation) bool) error {
		return s.annotations(ctx, AnnotationQuery{}, from, func(m *rows.Annotation) bool { return m.Elapsed <= to && yield(m) })
	}
}
