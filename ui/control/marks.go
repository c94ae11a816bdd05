package control

import (
	"context"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
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

// A MarkList is the first marks that a text finds, in order of time.
type MarkList struct {
	Marks []Mark
	// More says that there are more of them.
	More bool
}

// Marks asks for the marks whose text holds a text.
func (c *Controller) Marks(text string, done func(list MarkList, err error)) {
	analyse(c, &c.analysing.marks, lang.L("Reading marks"), func(ctx context.Context, s Session, _ app.Selection, _ app.Progress) (MarkList, error) {
		var list MarkList
		names := make(map[uint32]string)
		for _, t := range s.Threads() {
			names[t.ID] = t.Name
		}
		err := s.Marks(ctx, app.MarkQuery{Text: text}, func(m *app.Mark) bool {
			if list.More = len(list.Marks) == MaxMarks; list.More {
				return false
			}
			list.Marks = append(list.Marks, Mark{*m, names[m.Thread]})
			return true
		})
		return list, err
	}, done)
}

// RowOfMark finds the row to go to for a mark.
func (c *Controller) RowOfMark(m *Mark, done func(row int64)) {
	c.jump(lang.L("Searching"), lang.L("The thread of this mark has no rows."),
		func(ctx context.Context, s Session) (int64, bool, error) { return s.RowOfMark(ctx, &m.Mark) }, done)
}

// CallSite asks where the call of a row was made from. done is called with the
// answer on the user interface's goroutine, unless the log does not say, was
// closed meanwhile, or another row was asked for.
func (c *Controller) CallSite(row int64, done func(site app.CallSite)) {
	s := c.session
	if s == nil || row < 0 {
		return
	}
	c.forgetSite()
	ctx, cancel := context.WithCancel(context.Background())
	c.forgetSite = cancel
	go func() {
		site, ok, err := s.CallSite(ctx, row)
		c.post(func() {
			if ok && err == nil && ctx.Err() == nil && c.session == s {
				done(site)
			}
			cancel()
		})
	}()
}
