package fake

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
)

// maxViewed is the most rows that a view looks at: tests do not wait for a
// billion.
const maxViewed = 100_000

// A View is what a selection leaves of a session's rows.
type View struct {
	s   *Session
	src *source
	sel app.Selection

	mu     sync.Mutex
	index  []int64
	looked int64
	done   chan struct{}
	err    error
}

// env knows the calls around a row, and nothing else.
type env struct {
	filter.Env
	s *Session
}

// ThreadName implements [filter.Env].
func (env) ThreadName(uint32) string { return "" }

// Enter implements [filter.Env].
func (e env) Enter(row int64) int64 {
	leave, _ := e.s.Partner(row)
	return min(row, leave)
}

// Calls implements [filter.Env].
func (e env) Calls(row int64) []rows.Row {
	frames, _ := e.s.Stack(row)
	var list []rows.Row
	for _, f := range frames {
		list = append(list, e.s.Rows().Row(f.Enter))
	}
	return list
}

// View implements [control.Reading].
func (s *Session) View(ctx context.Context, sel app.Selection, p app.Progress) (control.View, error) {
	e, err := filter.Parse(sel.Where)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, s.engine.Searching); err != nil {
		return nil, err
	}
	v := &View{s: s, src: s.Rows().(*source), sel: sel, done: make(chan struct{})}
	v.look(e, min(v.src.Len(), 50))
	go func() {
		defer close(v.done)
		if v.err = wait(ctx, s.engine.Filtering); v.err == nil {
			v.look(e, min(v.src.Len(), maxViewed))
			if p != nil {
				p(app.StageFilter, v.looked, v.looked)
			}
		}
	}()
	return v, nil
}

func (v *View) look(e *filter.Expr, to int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ; v.looked < to; v.looked++ {
		r := v.src.Row(v.looked)
		folded := slices.ContainsFunc(v.sel.Folded, func(enter int64) bool {
			leave, _ := v.s.Partner(enter)
			return r.Index > enter && r.Index <= leave
		})
		if !folded && e.Matches(&r, env{s: v.s}) {
			v.index = append(v.index, r.Index)
		}
	}
}

// Selection implements [control.View].
func (v *View) Selection() app.Selection { return v.sel }

// Wait implements [control.View].
func (v *View) Wait(ctx context.Context) error {
	select {
	case <-v.done:
		return v.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done implements [control.View].
func (v *View) Done() bool {
	select {
	case <-v.done:
		return v.err == nil
	default:
		return false
	}
}

// Update implements [control.View].
func (v *View) Update(ctx context.Context, p app.Progress) error {
	e, err := filter.Parse(v.sel.Where)
	if err == nil {
		v.look(e, min(v.src.Len(), maxViewed))
	}
	return err
}

// Outdated implements [control.View].
func (v *View) Outdated() bool { return false }

// Total implements [control.View].
func (v *View) Total() int64 { return v.src.Len() }

// Hidden implements [control.View].
func (v *View) Hidden() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.looked - int64(len(v.index))
}

// Len implements [rows.Source].
func (v *View) Len() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return int64(len(v.index))
}

// TimeDigits implements [rows.Source].
func (v *View) TimeDigits() int { return v.src.TimeDigits() }

// RowOf implements [control.View].
func (v *View) RowOf(pos int64) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.index[pos]
}

// PositionOf implements [control.View].
func (v *View) PositionOf(row int64) (int64, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, shown := slices.BinarySearch(v.index, row)
	if !shown {
		at--
	}
	return int64(at), shown
}

// Repeat implements [control.View].
func (v *View) Repeat(pos int64) int64 {
	if v.sel.Repeats && pos == 0 {
		return 1_000_000
	}
	return 1
}

// Folded implements [control.View].
func (v *View) Folded(pos int64) (int64, bool) {
	row := v.RowOf(pos)
	if !slices.Contains(v.sel.Folded, row) {
		return 0, false
	}
	leave, _ := v.s.Partner(row)
	return leave - row, true
}

// Row implements [rows.Source].
func (v *View) Row(pos int64) rows.Row { return v.src.Row(v.RowOf(pos)) }

// Read implements [rows.Source].
func (v *View) Read(dst []rows.Row, from int64) (int, error) {
	for k := range dst {
		if from < 0 || from+int64(k) >= v.Len() {
			return k, io.EOF
		}
		dst[k] = v.Row(from + int64(k))
	}
	return len(dst), nil
}

// Search implements [control.View].
func (v *View) Search(ctx context.Context, from int64, q app.Query) (int64, error) {
	return v.s.engine.Search(ctx, v, from, q, func(app.Stage, int64, int64) {})
}

// Stack implements [control.Reading].
func (s *Session) Stack(row int64) ([]app.Frame, error) {
	src := s.Rows()
	var frames []app.Frame
	r := src.Row(row)
	for first := row / 14 * 14; len(frames) <= r.Depth; first++ {
		e := src.Row(first)
		leave, _ := s.Partner(first)
		frames = append(frames, app.Frame{FunctionRef: app.FunctionRef{Function: e.Function, Module: e.Module, Source: e.Source, Line: e.Line},
			Enter: first, Leave: leave, Thread: e.Thread, Depth: e.Depth, Elapsed: e.Elapsed, Duration: e.Duration})
	}
	return frames, nil
}

// Caller implements [control.Reading].
func (s *Session) Caller(row int64) (int64, bool, error) {
	r := s.Rows().Row(row)
	if r.Depth == 0 {
		return -1, false, nil
	}
	return row/14*14 + int64(r.Depth) - 1, true, nil
}

// NextCall implements [control.Reading].
func (s *Session) NextCall(ctx context.Context, row int64, back bool) (int64, bool, error) {
	step := int64(14)
	if back {
		step = -step
	}
	next := row/14*14 + int64(s.Rows().Row(row).Depth) + step
	return next, next >= 0 && next < s.Rows().Len(), nil
}

// RowAtTime implements [control.Reading].
func (s *Session) RowAtTime(elapsed int64) int64 {
	return min(max((elapsed+1e6-1)/1e6, 0), s.Rows().Len()-1)
}

// Complete implements [control.Reading] for columns and functions.
func (s *Session) Complete(text string, at, limit int) app.Completion {
	c := app.Completion{Completion: filter.Complete(text, at)}
	all := names
	if !c.InValue {
		all = nil
		for _, name := range filter.Columns() {
			all = append(all, name+":")
		}
	}
	for _, n := range all {
		if c.Prefix != "" && strings.Contains(n, c.Prefix) && len(c.Choices) < limit {
			c.Choices = append(c.Choices, n)
		}
	}
	return c
}

// SaveRows implements [control.Reading]; it writes a line of what was asked.
func (s *Session) SaveRows(ctx context.Context, path, format string, src rows.Source, opt app.SaveOptions, p app.Progress) ([]string, error) {
	if err := s.Load(ctx, p); err != nil {
		return nil, err
	}
	p(app.StageSave, 0, src.Len())
	if err := wait(ctx, s.engine.Saving); err != nil {
		return nil, err
	}
	if s.engine.SaveErr != nil {
		return nil, s.engine.SaveErr
	}
	line := fmt.Appendf(nil, "%s %d rows bom=%v crlf=%v raw=%v", format, src.Len(), opt.BOM, opt.CRLF, opt.Raw)
	if opt.Split != (app.SaveLimits{}) || opt.Weight.String() != "ns" {
		line = fmt.Appendf(line, " split=%d,%d weight=%v", opt.Split.Rows, opt.Split.Bytes, opt.Weight)
	}
	files := []string{path}
	for i := 2; i <= s.engine.Parts; i++ {
		files = append(files, fmt.Sprintf("%s.%d", path, i))
	}
	return files, os.WriteFile(path, append(line, '\n'), 0o666)
}
