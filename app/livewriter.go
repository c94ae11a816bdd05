package app

import (
	"context"
	"io"
	"math"
	"sort"

	"logparser/export"
	"logparser/rows"
)

// A LiveWriter writes the rows of a view as text, as [View.WriteLive] does, and among them what the program wrote into
// its log beside its calls, at its time.
type LiveWriter struct {
	v *View
	// told says how far the annotations of each thread were written: within a thread they come in order of
	// time. newest is the latest time of all.
	told   map[rows.Track]*toldAnnotations
	newest int64
}

// toldAnnotations are those of a thread that were written: all before a time, and that many of just that time.
type toldAnnotations struct {
	elapsed int64
	count   int
}

// annotationDelay is how much later than those of other threads an annotation may be seen, ns.
const annotationDelay = int64(2e9)

// LiveWriter returns a writer that has written nothing yet.
func (v *View) LiveWriter() *LiveWriter {
	return &LiveWriter{v: v, told: make(map[rows.Track]*toldAnnotations), newest: math.MinInt64}
}

// Write writes the rows from row from of the log on that there are now, as [View.WriteLive] does, and the annotations
// that it has not written yet.
func (l *LiveWriter) Write(ctx context.Context, w io.Writer, opt SaveOptions, from int64, head bool) (next int64, err error) {
	const format = "txt"
	fresh, err := l.annotations(ctx)
	if err != nil {
		return from, err
	}
	p, err := l.v.live(ctx, format, opt, from, head)
	if err != nil {
		return from, err
	}
	for i := range fresh {
		m := &fresh[i]
		at := p.opt.From + int64(sort.Search(int(max(p.src.Len()-p.opt.From, 0)), func(n int) bool {
			r := p.src.Row(p.opt.From + int64(n))
			return r.Elapsed > m.Elapsed
		}))
		if err := p.write(ctx, w, at); err != nil {
			return from, err
		}
		last := int64(0)
		if p.src.Len() > 0 {
			r := p.src.Row(p.src.Len() - 1)
			last = r.Index
		}
		line := export.AppendAnnotationText(nil, m, l.v.s.rows.TimeDigits(), last, p.opt)
		if _, err := w.Write(line); err != nil {
			return from, err
		}
	}
	return p.next, p.write(ctx, w, p.src.Len())
}

// annotations returns those that were not returned before, in order of time.
func (l *LiveWriter) annotations(ctx context.Context) (fresh []rows.Annotation, err error) {
	from := int64(math.MinInt64)
	if l.newest != from {
		from = l.newest - annotationDelay
	}
	type seen struct {
		elapsed int64
		count   int
	}
	now := make(map[rows.Track]seen)
	err = l.v.s.annotations(ctx, AnnotationQuery{}, from, func(m *rows.Annotation) bool {
		track := m.Track()
		told := l.told[track]
		if told == nil {
			told = &toldAnnotations{elapsed: math.MinInt64}
			l.told[track] = told
		}
		if m.Elapsed < told.elapsed {
			return true
		}
		s := now[track]
		if m.Elapsed != s.elapsed {
			s = seen{elapsed: m.Elapsed}
		}
		s.count++
		now[track] = s
		if m.Elapsed == told.elapsed && s.count <= told.count {
			return true
		}
		*told = toldAnnotations(s)
		l.newest = max(l.newest, m.Elapsed)
		fresh = append(fresh, *m)
		return true
	})
	return fresh, err
}
