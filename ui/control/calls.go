package control

import (
	"context"
	"errors"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// Calls answer questions about single rows and the calls that they belong to.
type Calls struct {
	c          *Controller
	forgetSite func() // gives up the question for a call site
}

// Choose looks for the first call that is meant, and hands its row to done. Where
// none of the first calls fits it is the first of all. Nothing is said where there
// is none; a newer one ends an older one.
func (k *Calls) Choose(pick Pick, done func(row int64)) {
	c := k.c
	s := c.session
	if s == nil {
		return
	}
	selection := c.Filter.Wanted().Where
	c.run(&c.choosing, "", func(ctx context.Context, _ app.Progress) func(bool) {
		row, err := pick.find(ctx, s, selection)
		return func(current bool) {
			if current && c.session == s && err == nil && row >= 0 {
				done(row)
			}
		}
	})
}

// NearOnThread finds the shown row of a row's thread that is nearest to it: the last before
// it, or else the first. Nothing is said where there is none.
func (k *Calls) NearOnThread(r *rows.Row, done func(row int64)) {
	c := k.c
	s := c.session
	term, ok := filter.Of(filter.Thread, r)
	e, err := filter.Parse(c.Filter.Wanted().Where)
	if s == nil || !ok || err != nil {
		return
	}
	where, index := filter.Join(append(e.Parts(), term)).String(), r.Index
	c.run(&c.choosing, "", func(ctx context.Context, p app.Progress) func(bool) {
		v, err := s.View(ctx, app.Selection{Where: where}, func(app.Stage, int64, int64) {})
		if err == nil {
			err = v.Wait(ctx)
		}
		row := int64(-1)
		if err == nil && v.Len() > 0 {
			at, _ := v.PositionOf(index)
			row = v.RowOf(max(at, 0))
		}
		return func(current bool) {
			if current && c.session == s && row >= 0 {
				done(row)
			}
		}
	})
}

// StopChoosing ends a [Calls.Choose].
func (k *Calls) StopChoosing() { end(&k.c.choosing) }

// Partner returns the Index of the other half of the pair that the row with
// this Index belongs to, -1 if it has none.
func (k *Calls) Partner(index int64) int64 {
	c := k.c
	if c.session == nil || index < 0 {
		return -1
	}
	if other, ok := c.session.Partner(index); ok {
		return other
	}
	return -1
}

// Row reads a row of the log, also one that is hidden.
func (k *Calls) Row(index int64) (rows.Row, bool) {
	c := k.c
	if c.session == nil {
		return rows.Row{}, false
	}
	src := c.session.Rows()
	if index < 0 || index >= src.Len() {
		return rows.Row{}, false
	}
	return src.Row(index), true
}

// All returns all rows of the log, nil without one.
func (k *Calls) All() rows.Source {
	c := k.c
	if c.session == nil {
		return nil
	}
	return c.session.Rows()
}

// PlaceOf returns where the row with an Index stands in the shown rows; if it
// is hidden, the nearest before it that is not, or the first.
func (k *Calls) PlaceOf(index int64) int64 {
	c := k.c
	switch {
	case c.state.Rows == nil || c.state.Rows.Len() == 0:
		return -1
	case c.state.View == nil:
		return min(index, c.state.Rows.Len()-1)
	}
	at, _ := c.state.View.PositionOf(index)
	return max(at, 0)
}

// RowOfAnnotation finds the row to go to for an annotation.
func (k *Calls) RowOfAnnotation(m *rows.Annotation, done func(row int64)) {
	k.jump(lang.L("Searching"), lang.L("The thread of this annotation has no rows."),
		func(ctx context.Context, s *app.Session) (int64, bool, error) {
			return s.RowOfAnnotation(ctx, m)
		}, done)
}

// CallSite asks where the call of a row was made from. done is called with the
// answer on the user interface's goroutine, unless the log does not say, was
// closed meanwhile, or another row was asked for.
func (k *Calls) CallSite(row int64, done func(site rows.CallSite)) {
	c := k.c
	s := c.session
	if s == nil || row < 0 {
		return
	}
	k.forgetSite()
	ctx, cancel := context.WithCancel(context.Background())
	k.forgetSite = cancel
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

// jump does a question about a row in the background and hands the row that
// answers it to done, unless there is none, which is said.
func (k *Calls) jump(title, none string, ask func(ctx context.Context, s *app.Session) (int64, bool, error), done func(row int64)) {
	c := k.c
	s := c.session
	if s == nil {
		return
	}
	c.run(&c.searching, title, func(ctx context.Context, p app.Progress) func(bool) {
		row, ok, err := ask(ctx, s)
		return func(current bool) {
			switch {
			case !current || c.session != s || errors.Is(err, context.Canceled):
			case err != nil:
				c.say(&Message{Level: LevelBad, Text: lang.L("The search failed: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
			case !ok:
				c.say(&Message{Level: LevelWarn, Text: none})
			default:
				done(row)
			}
		}
	})
}

// Caller finds the call that made the call of a row.
func (k *Calls) Caller(row int64, done func(row int64)) {
	k.jump(lang.L("Searching"), lang.L("This call has no caller in the log."),
		func(_ context.Context, s *app.Session) (int64, bool, error) { return s.Caller(row) }, done)
}

// NextCall finds the next call of a row's function, or the one before.
func (k *Calls) NextCall(row int64, back bool, done func(row int64)) {
	none := lang.L("No further call of this function follows.")
	if back {
		none = lang.L("No call of this function comes before.")
	}
	k.jump(lang.L("Searching"), none,
		func(ctx context.Context, s *app.Session) (int64, bool, error) { return s.NextCall(ctx, row, back) }, done)
}

// AtTime finds the first row at an elapsed time in nanoseconds or after it.
func (k *Calls) AtTime(elapsed int64, done func(row int64)) {
	k.jump(lang.L("Searching"), "", func(_ context.Context, s *app.Session) (int64, bool, error) { return s.RowAtTime(elapsed), true, nil }, done)
}

// Stack asks for the open calls at a row. done is called with the answer on the
// user interface's goroutine, unless the log was closed meanwhile.
func (k *Calls) Stack(row int64, done func(frames []app.Frame, err error)) {
	c := k.c
	s := c.session
	if s == nil || row < 0 {
		return
	}
	go func() {
		frames, err := s.Stack(row)
		c.post(func() {
			if c.session == s {
				done(frames, err)
			}
		})
	}()
}

// FirstCall finds the first call of a function within the selection.
func (k *Calls) FirstCall(f app.FunctionRef, done func(row int64)) {
	c := k.c
	where := c.Filter.Wanted().Where
	k.jump(lang.L("Searching"), lang.L("This function has no enter in what is shown."), func(ctx context.Context, s *app.Session) (int64, bool, error) {
		enters, err := (&Pick{FunctionRef: f}).where(where)
		if err != nil {
			return -1, false, err
		}
		return firstRow(ctx, s, enters)
	}, done)
}
