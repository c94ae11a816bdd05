package control

import (
	"context"
	"slices"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// Marks is what a session knows of what traces have beside their events; see
// [app.Session].
type Marks interface {
	Marks(ctx context.Context, q app.MarkQuery, yield func(m *app.Mark) bool) error
	RowOfMark(ctx context.Context, m *app.Mark) (row int64, ok bool, err error)
	CallSite(ctx context.Context, row int64) (site app.CallSite, ok bool, err error)
}

// MaxMarks is the most marks that are listed.
const MaxMarks = 200_000

// A Mark is one with the name of its thread.
type Mark struct {
	app.Mark
	ThreadName string
}

// A MarkList is the first marks that are wanted, in order of time.
type MarkList struct {
	Marks []Mark
	// More says that there are more of them.
	More bool
}

// Marks asks for the marks whose text holds a text and that [AboutMarks] of the
// selection wants.
func (v *Views) Marks(text string, done func(list MarkList, err error)) {
	c := v.c
	v.readMarks(&c.analysing.marks, text, AboutMarks(c.Filter.Wanted().Where), done)
}

// AllMarks asks for the marks whatever is selected.
func (v *Views) AllMarks(done func(list MarkList, err error)) {
	c := v.c
	v.readMarks(&c.analysing.allMarks, "", &filter.Expr{}, done)
}

func (v *Views) readMarks(kind **job, text string, about *filter.Expr, done func(list MarkList, err error)) {
	c := v.c
	analyse(c, kind, lang.L("Reading marks"), func(ctx context.Context, s Session, _ app.Selection, _ app.Progress) (MarkList, error) {
		var list MarkList
		names := threadNames{names: make(map[uint32]string)}
		for _, t := range s.Threads() {
			names.names[t.ID] = t.Name
		}
		err := s.Marks(ctx, app.MarkQuery{Text: text}, func(m *app.Mark) bool {
			at := rows.Row{Event: rows.Enter, Thread: m.Thread, Elapsed: m.Elapsed, Wall: m.Wall, HasWall: m.HasWall}
			if !about.Matches(&at, names) {
				return true
			}
			if list.More = len(list.Marks) == MaxMarks; list.More {
				return false
			}
			list.Marks = append(list.Marks, Mark{*m, names.names[m.Thread]})
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

// AboutMarks returns the part of a filter that can be asked of marks, which are
// no rows: its conditions on thread and time.
func AboutMarks(where string) *filter.Expr {
	e, err := filter.Parse(where)
	if err != nil {
		return &filter.Expr{}
	}
	return filter.Join(slices.DeleteFunc(e.Parts(), func(p *filter.Expr) bool { return !aboutMarks(p) }))
}

func aboutMarks(e *filter.Expr) bool {
	if e.Kind == filter.Leaf {
		return e.Term.Column == filter.Thread || e.Term.Column == filter.Time
	}
	return !slices.ContainsFunc(e.Args, func(a *filter.Expr) bool { return !aboutMarks(a) })
}
