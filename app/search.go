package app

import (
	"context"
	"io"

	"logparser/rows"
)

// A Query is a search in rows.
type Query struct {
	// Text is looked for in every column that is shown as text, without
	// regard to case.
	Text string
	// Backward searches towards row 0.
	Backward bool
}

// Search returns the position in src of the first row from position from on
// (or back) that matches, or -1. It does not wrap round.
func Search(ctx context.Context, src rows.Source, from int64, q Query, p Progress) (int64, error) {
	matcher := rows.NewMatcher(q.Text)
	total := src.Len()
	tell := throttled(p, StageSearch)
	buffer := make([]rows.Row, blockRows)
	if q.Backward {
		for end := min(from+1, total); end > 0; {
			start := max(end-blockRows, 0)
			n, err := readRows(ctx, src, buffer[:end-start], start)
			if err != nil {
				return -1, err
			}
			for i := n - 1; i >= 0; i-- {
				if matcher.Matches(&buffer[i]) {
					return start + int64(i), nil
				}
			}
			end = start
			tell(total-end, total)
		}
		return -1, nil
	}
	for at := max(from, 0); at < total; {
		n, err := readRows(ctx, src, buffer, at)
		if err != nil {
			return -1, err
		}
		for i := range n {
			if matcher.Matches(&buffer[i]) {
				return at + int64(i), nil
			}
		}
		if n == 0 {
			break
		}
		at += int64(n)
		tell(at, total)
	}
	return -1, nil
}

func readRows(ctx context.Context, src rows.Source, dst []rows.Row, from int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := src.Read(dst, from)
	if err == io.EOF {
		err = nil
	}
	return n, err
}
