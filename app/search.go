package app

import (
	"context"
	"fmt"
	"io"

	"logparser/parser"
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

// FilterThread returns the rows of one thread. Damaged records belong to none,
// because their thread may be the damage.
func (s *Session) FilterThread(ctx context.Context, thread uint32, p Progress) (rows.Source, error) {
	f := &filtered{all: s.Rows()}
	tell := throttled(p, StageSearch)
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	row := int64(0)
	for i := range s.runs() {
		for at, end := s.runs()[i].First, s.runs()[i].First+s.runs()[i].Count; at < end; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			events := b.events[:min(blockRows, end-at)]
			n, err := s.log.ReadEvents(events, at)
			for k := range events[:n] {
				if events[k].Thread == thread && events[k].Kind != parser.Damaged {
					f.index = append(f.index, row+int64(k))
				}
			}
			if n < len(events) {
				return nil, fmt.Errorf("record %d: %w", at+int64(n), err)
			}
			at += int64(n)
			row += int64(n)
			tell(row, f.all.Len())
		}
	}
	return f, nil
}

// A filtered source shows some rows of another one.
type filtered struct {
	all   rows.Source
	index []int64
}

func (f *filtered) Len() int64           { return int64(len(f.index)) }
func (f *filtered) TimeDigits() int      { return f.all.TimeDigits() }
func (f *filtered) Row(i int64) rows.Row { return f.all.Row(f.index[i]) }

func (f *filtered) Read(dst []rows.Row, from int64) (int, error) {
	for k := range dst {
		i := from + int64(k)
		if i < 0 || i >= f.Len() {
			return k, io.EOF
		}
		dst[k] = f.Row(i)
	}
	return len(dst), nil
}
