package control

import (
	"context"
	"slices"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// MaxAnnotations is the most marks that are listed.
const MaxAnnotations = 200_000

// A Mark is one with the name of its thread.
type Annotation struct {
	app.Annotation
	ThreadName string
}

// A AnnotationList is the first marks that are wanted, in order of time.
type AnnotationList struct {
	Annotations []Annotation
	// More says that there are more of them.
	More bool
}

// Marks asks for the marks whose text holds a text and that [AboutAnnotations] of the
// selection wants.
func (v *Views) Annotations(text string, done func(list AnnotationList, err error)) {
	c := v.c
	v.readAnnotations(&c.analysing.marks, text, AboutAnnotations(c.Filter.Wanted().Where), done)
}

// AllAnnotations asks for the marks whatever is selected.
func (v *Views) AllAnnotations(done func(list AnnotationList, err error)) {
	c := v.c
	v.readAnnotations(&c.analysing.allAnnotations, "", &filter.Expr{}, done)
}

func (v *Views) readAnnotations(kind **job, text string, about *filter.Expr, done func(list AnnotationList, err error)) {
	c := v.c
	analyse(c, kind, lang.L("Reading marks"), func(ctx context.Context, s *app.Session, _ app.Selection, _ app.Progress) (AnnotationList, error) {
		var list AnnotationList
		names := threadNames{names: make(map[uint32]string)}
		for _, t := range s.Threads() {
			names.names[t.ID] = t.Name
		}
		err := s.Annotations(ctx, app.AnnotationQuery{Text: text}, func(m *app.Annotation) bool {
			at := rows.Row{Event: rows.Enter, Thread: m.Thread, Elapsed: m.Elapsed, Wall: m.Wall, HasWall: m.HasWall}
			if !about.Matches(&at, names) {
				return true
			}
			if list.More = len(list.Annotations) == MaxAnnotations; list.More {
				return false
			}
			list.Annotations = append(list.Annotations, Annotation{*m, names.names[m.Thread]})
			return true
		})
		return list, err
	}, done)
}

// threadNames is all that conditions on threads and times ask for.
type threadNames struct {
	filter.Env
	names map[uint32]string
}

func (t threadNames) ThreadName(id uint32) string { return t.names[id] }

// AboutAnnotations returns the part of a filter that can be asked of marks, which are
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
		return e.Term.Column == filter.Thread || e.Term.Column == filter.Time
	}
	return !slices.ContainsFunc(e.Args, func(a *filter.Expr) bool { return !aboutAnnotations(a) })
}
