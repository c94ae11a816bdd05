package control

import (
	"context"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// maxTried bounds how many calls of a function are looked at for one that is
// reached in the way that is asked for.
const maxTried = 500

// A Pick asks for a call of a function within the selection.
type Pick struct {
	app.FunctionRef
	// Thread limits it to the calls of a thread, unless it is nil.
	Thread *app.Thread
	// Fits reports whether the open calls at an enter, the outermost first, are
	// the way it is to be reached by. Nil takes any. It is called on another
	// goroutine.
	Fits func(frames []app.Frame) bool
}

// where is the expression for the enters that can be meant.
func (p *Pick) where(selection string) (string, error) {
	e, err := filter.Parse(selection)
	if err != nil {
		return "", err
	}
	terms := append(e.Parts(), filter.Is(filter.Func, p.Function), filter.Is(filter.Event, rows.Enter.String()))
	if p.Module != "" {
		terms = append(terms, filter.Is(filter.Module, p.Module))
	}
	if p.Thread != nil {
		if t, ok := filter.Of(filter.Thread, &rows.Row{Thread: p.Thread.ID, Process: p.Thread.Process}); ok {
			terms = append(terms, t)
		}
	}
	return filter.Join(terms).String(), nil
}

func (p *Pick) find(ctx context.Context, s *app.Session, selection string) (int64, error) {
	where, err := p.where(selection)
	if err != nil {
		return -1, err
	}
	// What is not needed is not looked for.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	v, err := s.View(ctx, app.Selection{Where: where}, func(app.Stage, int64, int64) {})
	if err != nil {
		return -1, err
	}
	first := int64(-1)
	for k := range int64(maxTried) {
		if err := awaitRow(ctx, v, k); err != nil || v.Len() <= k {
			return first, err
		}
		row := v.RowOf(k)
		if first < 0 {
			first = row
		}
		if p.Fits == nil {
			break
		}
		if frames, err := s.Stack(row); err == nil && p.Fits(frames) {
			return row, nil
		}
	}
	return first, ctx.Err()
}
