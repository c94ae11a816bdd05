package control

import (
	"context"
	"slices"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// MaxAnnotations is the most annotations that are listed.
const MaxAnnotations = 200_000

// An AnnotationList is the first annotations that are wanted, in order of time.
type AnnotationList struct {
	Annotations []rows.Annotation
	// More says that there are more of them.
	More bool
}

// Annotations asks for the annotations whose text holds a text and that [AboutAnnotations] of the
// selection wants.
func (v *Views) Annotations(text string, done func(list AnnotationList, err error)) {
	c := v.c
	v.readAnnotations(&c.analysing.annotations, text, AboutAnnotations(c.Filter.Wanted().Where), done)
}

// AllAnnotations asks for the annotations whatever is selected.
func (v *Views) AllAnnotations(done func(list AnnotationList, err error)) {
	c := v.c
	v.readAnnotations(&c.analysing.allAnnotations, "", &filter.Expr{}, done)
}

func (v *Views) readAnnotations(kind **job, text string, about *filter.Expr, done func(list AnnotationList, err error)) {
	c := v.c
	analyse(c, kind, lang.L("Reading annotations"), func(ctx context.Context, s *app.Session, _ app.Selection, _ app.Progress) (AnnotationList, error) {
		var list AnnotationList
		err := s.Annotations(ctx, app.AnnotationQuery{Text: text}, func(m *rows.Annotation) bool {
			at := rows.Row{Event: rows.Enter, Thread: m.Thread, Process: m.Process, Elapsed: m.Elapsed, Wall: m.Wall, HasWall: m.HasWall}
			if !about.Matches(&at, threadName{name: m.ThreadName}) {
				return true
			}
			if list.More = len(list.Annotations) == MaxAnnotations; list.More {
				return false
			}
			list.Annotations = append(list.Annotations, *m)
			return true
		})
		return list, err
	}, done)
}

// threadName is all that conditions on threads and times ask for.
type threadName struct {
	filter.Env
	name string
}

func (t threadName) ThreadName(*rows.Row) string { return t.name }

// AboutAnnotations returns the part of a filter that can be asked of annotations, which are
// no rows: its conditions on thread and time.
func AboutAnnotations(where string) *filter.Expr {
	e, err := filter.Parse(where)
	if err != nil {
		return &filter.Expr{}
	}
	return filter.Join(slices.DeleteFunc(e.Parts(), func(p *filter.Expr) bool { return !aboutAnnotations(p) }))
}

func aboutAnnotations(e *filter.Expr) bool {
	if e.Kind == filter.Leaf {
		return e.Term.Column == filter.Thread || e.Term.Column == filter.Process || e.Term.Column == filter.Time
	}
	return !slices.ContainsFunc(e.Args, func(a *filter.Expr) bool { return !aboutAnnotations(a) })
}
