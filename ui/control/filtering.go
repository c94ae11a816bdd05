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

// Filtering limits the rows to those that an expression fits, without the inside of
// folded calls.
type Filtering struct {
	c          *Controller
	selecting  int // numbers the selections
	completing int // numbers the questions for completions
}

// SetWhere limits the rows to those that an expression wants; "" ends that. A
// wrong one changes nothing and is told in the state's FilterError.
func (f *Filtering) SetWhere(expr string) {
	sel := f.Wanted()
	sel.Where = expr
	f.Select(sel)
}

// Select shows the rows of a selection. Its first rows are shown while the rest
// is counted; a newer selection, or [Controller.Cancel], ends that.
func (f *Filtering) Select(sel app.Selection) {
	c := f.c
	s := c.session
	if s == nil {
		return
	}
	e, err := filter.Parse(sel.Where)
	if err == nil && e.IsAll() {
		sel.Where = ""
	}
	if err != nil {
		f.wrong(sel.Where, err)
		return
	}
	f.right()
	if !hides(sel) {
		f.showAll()
		return
	}
	f.selecting++
	number := f.selecting
	c.state.Pending = &sel
	c.changed(ChangeFilter)
	c.run(&c.filtering, lang.L("Filtering"), func(ctx context.Context, p app.Progress) func(bool) {
		view, err := s.View(ctx, sel, p)
		if err == nil {
			c.post(func() {
				if f.selecting == number && c.session == s {
					f.showView(view)
				}
			})
			err = view.Wait(ctx)
		}
		return func(current bool) {
			if current && c.session == s {
				f.filtered(view, sel, err)
			}
		}
	})
}

// wrong says that an expression cannot be used.
func (f *Filtering) wrong(expr string, err error) {
	c := f.c
	c.state.FilterError = filterError(expr, err)
	c.changed(ChangeFilter)
	c.trace("filter error")
}

// right takes back what wrong has said.
func (f *Filtering) right() {
	c := f.c
	if c.state.FilterError != nil {
		c.state.FilterError = nil
		c.changed(ChangeFilter)
	}
}

// DismissError takes back what was said of a wrong expression.
func (f *Filtering) DismissError() { f.right() }

// showView shows the first rows of a view that goes on counting.
func (f *Filtering) showView(v *app.View) {
	c := f.c
	c.state.Pending = nil
	c.state.Search.Row = -1 // it was of other rows
	c.state.Rows, c.state.View, c.state.Selection, c.state.Filtered = v, v, v.Selection(), true
	c.changed(ChangeSource | ChangeModules | ChangeFilter)
	c.Following.Moved(false)
}

// filtered ends the counting.
func (f *Filtering) filtered(v *app.View, sel app.Selection, err error) {
	c := f.c
	c.state.Pending = nil
	var at *filter.Error
	switch {
	case errors.As(err, &at):
		f.wrong(sel.Where, err)
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
func (f *Filtering) showAll() {
	c := f.c
	f.selecting++
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
func (f *Filtering) ShowAll() {
	c := f.c
	if c.session != nil && (c.state.Filtered || c.filtering != nil) {
		f.right()
		f.showAll()
	}
}

// Narrow changes the filter by its expression: Include, Exclude, Replace and
// Without of [filter.Expr] are changes.
func (f *Filtering) Narrow(change func(e *filter.Expr) *filter.Expr) {
	e, err := filter.Parse(f.Wanted().Where)
	if err != nil {
		e = &filter.Expr{}
	}
	f.SetWhere(change(e).String())
}

// Wanted returns the selection that is shown, or the one that is on its way.
func (f *Filtering) Wanted() app.Selection {
	c := f.c
	if c.state.Pending != nil {
		return *c.state.Pending
	}
	return c.state.Selection
}

// SetThread limits the rows to those of a thread, beside what they are
// limited by already.
func (f *Filtering) SetThread(thread *app.Thread) {
	if t, ok := filter.Of(filter.Thread, &rows.Row{Thread: thread.ID, Process: thread.Process}); ok {
		f.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(t) })
	}
}

// SetRepeats collapses repeats, or shows them all.
func (f *Filtering) SetRepeats(on bool) {
	sel := f.Wanted()
	if sel.Repeats != on {
		sel.Repeats = on
		f.Select(sel)
	}
}

// IsFolded reports whether the call that is entered in a row is folded.
func (f *Filtering) IsFolded(enter int64) bool {
	c := f.c
	_, ok := slices.BinarySearch(c.state.Selection.Folded, enter)
	return ok
}

// Fold hides the inside of calls, given by their enter rows.
func (f *Filtering) Fold(enters ...int64) {
	c := f.c
	sel := f.Wanted()
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
		f.Select(sel)
	}
}

// Unfold shows the inside of a call again; without one, of all calls.
func (f *Filtering) Unfold(enters ...int64) {
	sel := f.Wanted()
	if len(sel.Folded) == 0 {
		return
	}
	if len(enters) == 0 {
		sel.Folded = nil
	} else {
		sel.Folded = slices.DeleteFunc(slices.Clone(sel.Folded), func(r int64) bool { return slices.Contains(enters, r) })
	}
	f.Select(sel)
}

// FoldWhere folds all calls whose enters an expression wants.
func (f *Filtering) FoldWhere(expr string) {
	c := f.c
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
				f.Fold(enters...)
			}
		}
	})
}

var errTooMany = message.New("too many calls")

// enterRows returns the enters among the rows that an expression wants, of
// calls that have something inside.
func enterRows(ctx context.Context, s *app.Session, expr string, p app.Progress) ([]int64, error) {
	v, err := s.View(ctx, app.Selection{Where: expr}, p)
	if err == nil {
		err = v.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	var enters []int64
	buffer := make([]rows.Row, rows.BlockLen)
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
func (f *Filtering) viewGrew() { f.c.changed(ChangeGrown | ChangeFilter) }

// updateView takes rows that have come into the view.
func (f *Filtering) updateView() {
	c := f.c
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
				f.filtered(v, v.Selection(), err)
			}
		}
	})
}

// Complete asks what could be written at a byte of a filter expression. done is
// called with the answer on the user interface's goroutine, unless newer ones
// were asked for.
func (f *Filtering) Complete(text string, at, limit int, done func(app.Completion)) {
	c := f.c
	s := c.session
	if s == nil {
		return
	}
	f.completing++
	number := f.completing
	go func() {
		choices := s.Complete(text, at, limit)
		c.post(func() {
			if c.session == s && f.completing == number {
				done(choices)
			}
		})
	}()
}

// renewView makes the view again where names have changed what it hides.
func (f *Filtering) renewView() {
	c := f.c
	if v := c.state.View; v != nil && c.filtering == nil && v.Outdated() {
		f.Select(c.state.Selection)
	}
}
