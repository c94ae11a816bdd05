package control

import (
	"context"
	"errors"
	"slices"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/message"
	"logparser/rows"
	"logparser/rows/filter"
)

// A View is the rows of a selection; see [app.View].
type View interface {
	rows.Source
	Selection() app.Selection
	Wait(ctx context.Context) error
	Done() bool
	Update(ctx context.Context, p app.Progress) error
	Outdated() bool
	Total() int64
	Hidden() int64
	RowOf(pos int64) int64
	PositionOf(row int64) (pos int64, shown bool)
	Repeat(pos int64) (count int64)
	Folded(pos int64) (hidden int64, ok bool)
	Search(ctx context.Context, from int64, q app.Query) (int64, error)
}

// Reading is what a session knows about its sequence of calls; see
// [app.Session]. Rows are rows of the log.
type Reading interface {
	View(ctx context.Context, sel app.Selection, p app.Progress) (View, error)
	Stack(row int64) ([]app.Frame, error)
	Caller(row int64) (enter int64, ok bool, err error)
	NextCall(ctx context.Context, row int64, back bool) (enter int64, ok bool, err error)
	RowAtTime(elapsed int64) int64
	Complete(text string, at, limit int) app.Completion
	// SaveRows writes some of the rows and returns the paths of the files.
	SaveRows(ctx context.Context, path, format string, src rows.Source, opt app.SaveOptions, p app.Progress) ([]string, error)
}

// View implements [Reading].
func (s appSession) View(ctx context.Context, sel app.Selection, p app.Progress) (View, error) {
	v, err := s.Session.View(ctx, sel, p)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// MaxFolded is the most calls that can be folded at once.
const MaxFolded = 1_000_000

// A FilterError says where a filter expression is wrong.
type FilterError struct {
	// Where is the whole expression, Offset the byte of it.
	Where  string
	Offset int
	Text   string
}

// hides reports whether a selection differs from all rows of the log.
func hides(sel app.Selection) bool {
	return sel.Where != "" || len(sel.Folded) > 0 || sel.Repeats
}

// SetWhere limits the rows to those that an expression wants; "" ends that. A
// wrong one changes nothing and is told in the state's FilterError.
func (c *Controller) SetWhere(expr string) {
	sel := c.Wanted()
	sel.Where = expr
	c.Select(sel)
}

// Select shows the rows of a selection. Its first rows are shown while the rest
// is counted; a newer selection, or [Controller.Cancel], ends that.
func (c *Controller) Select(sel app.Selection) {
	s := c.session
	if s == nil {
		return
	}
	e, err := filter.Parse(sel.Where)
	if err == nil && e.IsAll() {
		sel.Where = ""
	}
	if err != nil {
		c.wrong(sel.Where, err)
		return
	}
	c.right()
	if !hides(sel) {
		c.showAll()
		return
	}
	c.selecting++
	number := c.selecting
	c.state.Pending = &sel
	c.changed(ChangeFilter)
	c.run(&c.filtering, lang.L("Filtering"), func(ctx context.Context, p app.Progress) func(bool) {
		view, err := s.View(ctx, sel, p)
		if err == nil {
			c.post(func() {
				if c.selecting == number && c.session == s {
					c.showView(view)
				}
			})
			err = view.Wait(ctx)
		}
		return func(current bool) {
			if current && c.session == s {
				c.filtered(view, sel, err)
			}
		}
	})
}

// wrong says that an expression cannot be used.
func (c *Controller) wrong(expr string, err error) {
	c.state.FilterError = filterError(expr, err)
	c.changed(ChangeFilter)
	c.trace("filter error")
}

// right takes back what wrong has said.
func (c *Controller) right() {
	if c.state.FilterError != nil {
		c.state.FilterError = nil
		c.changed(ChangeFilter)
	}
}

// DismissFilterError takes back what was said of a wrong expression.
func (c *Controller) DismissFilterError() { c.right() }

// showView shows the first rows of a view that goes on counting.
func (c *Controller) showView(v View) {
	c.state.Pending = nil
	c.state.Search.Row = -1 // it was of other rows
	c.state.Rows, c.state.View, c.state.Selection, c.state.Filtered = v, v, v.Selection(), true
	c.changed(ChangeSource | ChangeModules | ChangeFilter)
	c.Moved(false)
}

// filtered ends the counting.
func (c *Controller) filtered(v View, sel app.Selection, err error) {
	c.state.Pending = nil
	var at *filter.Error
	switch {
	case errors.As(err, &at):
		c.wrong(sel.Where, err)
	case errors.Is(err, context.Canceled):
		// What was found stays; that it is not all is said beside the count.
	case err != nil:
		c.say(&Message{Level: LevelBad, Text: lang.L("The filter failed: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
	default:
		c.trace("filtered " + decimal(v.Len()))
	}
	c.changed(ChangeGrown | ChangeModules | ChangeFilter)
}

// showAll shows all rows.
func (c *Controller) showAll() {
	c.selecting++
	end(&c.filtering)
	c.state.Pending = nil
	if c.session == nil || c.state.View == nil {
		c.state.Selection = app.Selection{}
		return
	}
	c.state.Search.Row = -1
	c.state.Rows, c.state.View, c.state.Filtered = c.session.Rows(), nil, false
	c.state.Selection = app.Selection{}
	c.changed(ChangeSource | ChangeModules | ChangeFilter)
	c.trace("unfiltered")
}

// ShowAll ends the filter and unfolds everything.
func (c *Controller) ShowAll() {
	if c.session != nil && (c.state.Filtered || c.filtering != nil) {
		c.right()
		c.showAll()
	}
}

// Narrow changes the filter by its expression: Include, Exclude, Replace and
// Without of [filter.Expr] are changes.
func (c *Controller) Narrow(change func(e *filter.Expr) *filter.Expr) {
	e, err := filter.Parse(c.Wanted().Where)
	if err != nil {
		e = &filter.Expr{}
	}
	c.SetWhere(change(e).String())
}

// Wanted returns the selection that is shown, or the one that is on its way.
func (c *Controller) Wanted() app.Selection {
	if c.state.Pending != nil {
		return *c.state.Pending
	}
	return c.state.Selection
}

// FilterThread limits the rows to those of a thread, beside what they are
// limited by already.
func (c *Controller) FilterThread(thread uint32) {
	if t, ok := filter.Of(filter.Thread, &rows.Row{Thread: thread}); ok {
		c.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(t) })
	}
}

// SetRepeats collapses repeats, or shows them all.
func (c *Controller) SetRepeats(on bool) {
	sel := c.Wanted()
	if sel.Repeats != on {
		sel.Repeats = on
		c.Select(sel)
	}
}

// IsFolded reports whether the call that is entered in a row is folded.
func (c *Controller) IsFolded(enter int64) bool {
	_, ok := slices.BinarySearch(c.state.Selection.Folded, enter)
	return ok
}

// Fold hides the inside of calls, given by their enter rows.
func (c *Controller) Fold(enters ...int64) {
	sel := c.Wanted()
	all := slices.Concat(sel.Folded, enters)
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > MaxFolded {
		c.say(&Message{Level: LevelWarn, Text: lang.L("No more than {{.N}} calls can be folded.", data{"N": Thousands(MaxFolded)}),
			Next: lang.L("Filter by depth instead: depth:<4")})
		return
	}
	if len(all) != len(sel.Folded) {
		sel.Folded = all
		c.Select(sel)
	}
}

// Unfold shows the inside of a call again; without one, of all calls.
func (c *Controller) Unfold(enters ...int64) {
	sel := c.Wanted()
	if len(sel.Folded) == 0 {
		return
	}
	if len(enters) == 0 {
		sel.Folded = nil
	} else {
		sel.Folded = slices.DeleteFunc(slices.Clone(sel.Folded), func(r int64) bool { return slices.Contains(enters, r) })
	}
	c.Select(sel)
}

// FoldWhere folds all calls whose enters an expression wants.
func (c *Controller) FoldWhere(expr string) {
	s := c.session
	if s == nil {
		return
	}
	c.run(&c.searching, lang.L("Looking for the calls"), func(ctx context.Context, p app.Progress) func(bool) {
		enters, err := enterRows(ctx, s, expr, p)
		return func(current bool) {
			switch {
			case !current || c.session != s || errors.Is(err, context.Canceled):
			case errors.Is(err, errTooMany):
				c.say(&Message{Level: LevelWarn, Text: lang.L("No more than {{.N}} calls can be folded.", data{"N": Thousands(MaxFolded)}),
					Next: lang.L("Filter by depth instead: depth:<4")})
			case err != nil:
				c.say(&Message{Level: LevelBad, Text: lang.L("The calls could not be folded: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
			default:
				c.Fold(enters...)
			}
		}
	})
}

var errTooMany = message.New("too many calls")

// enterRows returns the enters among the rows that an expression wants, of
// calls that have something inside.
func enterRows(ctx context.Context, s Session, expr string, p app.Progress) ([]int64, error) {
	v, err := s.View(ctx, app.Selection{Where: expr}, p)
	if err == nil {
		err = v.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	var enters []int64
	buffer := make([]rows.Row, 4096)
	for at := int64(0); at < v.Len(); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := v.Read(buffer, at)
		for i := range buffer[:n] {
			if r := &buffer[i]; r.Event == rows.Enter {
				if other, ok := s.Partner(r.Index); !ok || other > r.Index+1 {
					enters = append(enters, r.Index)
				}
			}
		}
		if len(enters) > MaxFolded {
			return nil, errTooMany
		}
		at += int64(n)
		if n == 0 {
			if err != nil && at < v.Len() {
				return nil, err
			}
			break
		}
	}
	return enters, nil
}

// viewGrew shows what a filter has found so far.
func (c *Controller) viewGrew() { c.changed(ChangeGrown | ChangeFilter) }

// updateView takes rows that have come into the view.
func (c *Controller) updateView() {
	v, s := c.state.View, c.session
	if v == nil || c.filtering != nil {
		return
	}
	c.run(&c.filtering, lang.L("Filtering"), func(ctx context.Context, p app.Progress) func(bool) {
		err := v.Update(ctx, p)
		if err == nil {
			err = v.Wait(ctx)
		}
		return func(current bool) {
			if current && c.session == s && c.state.View == v {
				c.filtered(v, v.Selection(), err)
			}
		}
	})
}

// Complete asks what could be written at a byte of a filter expression. done is
// called with the answer on the user interface's goroutine, unless newer ones
// were asked for.
func (c *Controller) Complete(text string, at, limit int, done func(app.Completion)) {
	s := c.session
	if s == nil {
		return
	}
	c.completing++
	number := c.completing
	go func() {
		choices := s.Complete(text, at, limit)
		c.post(func() {
			if c.session == s && c.completing == number {
				done(choices)
			}
		})
	}()
}

// renewView makes the view again where names have changed what it hides.
func (c *Controller) renewView() {
	if v := c.state.View; v != nil && c.filtering == nil && v.Outdated() {
		c.Select(c.state.Selection)
	}
}

// jump does a question about a row in the background and hands the row that
// answers it to done, unless there is none, which is said.
func (c *Controller) jump(title, none string, ask func(ctx context.Context, s Session) (int64, bool, error), done func(row int64)) {
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
func (c *Controller) Caller(row int64, done func(row int64)) {
	c.jump(lang.L("Searching"), lang.L("This call has no caller in the log."),
		func(_ context.Context, s Session) (int64, bool, error) { return s.Caller(row) }, done)
}

// NextCall finds the next call of a row's function, or the one before.
func (c *Controller) NextCall(row int64, back bool, done func(row int64)) {
	none := lang.L("No further call of this function follows.")
	if back {
		none = lang.L("No call of this function comes before.")
	}
	c.jump(lang.L("Searching"), none,
		func(ctx context.Context, s Session) (int64, bool, error) { return s.NextCall(ctx, row, back) }, done)
}

// AtTime finds the first row at an elapsed time in nanoseconds or after it.
func (c *Controller) AtTime(elapsed int64, done func(row int64)) {
	c.jump(lang.L("Searching"), "", func(_ context.Context, s Session) (int64, bool, error) { return s.RowAtTime(elapsed), true, nil }, done)
}

// Stack asks for the open calls at a row. done is called with the answer on the
// user interface's goroutine, unless the log was closed meanwhile or newer
// calls were asked for.
func (c *Controller) Stack(row int64, done func(frames []app.Frame, err error)) {
	s := c.session
	if s == nil || row < 0 {
		return
	}
	c.asked++
	number := c.asked
	go func() {
		frames, err := s.Stack(row)
		c.post(func() {
			if c.asked == number && c.session == s {
				done(frames, err)
			}
		})
	}()
}
