package fake

import (
	"context"

	"logparser/app"
	"logparser/rows"
)

// Marks implements [control.Marks] with those of the engine.
func (s *Session) Annotations(ctx context.Context, q app.AnnotationQuery, yield func(m *app.Annotation) bool) error {
	if err := wait(ctx, s.engine.Analysing); err != nil {
		return err
	}
	if s.engine.AnalyseErr != nil {
		return s.engine.AnalyseErr
	}
	matcher := rows.NewMatcher(q.Text)
	for _, m := range s.engine.annotations() {
		if matcher.MatchesText(m.Text) && !yield(&app.Annotation{Annotation: m}) {
			break
		}
	}
	return nil
}

// RowOfAnnotation implements [control.Marks]: the rows are a millisecond apart, on
// alternating threads.
func (s *Session) RowOfAnnotation(ctx context.Context, m *app.Annotation) (row int64, ok bool, err error) {
	if m.Thread != 1000 && m.Thread != 1001 {
		return -1, false, ctx.Err()
	}
	row = (m.Elapsed + 1e6 - 1) / 1e6
	if uint32(row%2) != m.Thread-1000 {
		row++
	}
	return min(row, s.engine.Rows-1), true, ctx.Err()
}

// CallSite implements [control.Marks]: rows that are divisible by 10 have one.
func (s *Session) CallSite(ctx context.Context, row int64) (site app.CallSite, ok bool, err error) {
	if row%10 != 0 {
		return app.CallSite{}, false, ctx.Err()
	}
	return app.CallSite{FunctionRef: app.FunctionRef{Function: "app::caller", Module: "sample.exe", Source: "/src/sample/caller.cpp", Line: int(row)},
		Address: 0x140002000}, true, ctx.Err()
}

// AddAnnotations adds marks while a session is followed.
func (e *Engine) AddAnnotations(list ...rows.Annotation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Annotations = append(e.Annotations, list...)
}

func (e *Engine) annotations() []rows.Annotation {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Annotations
}
