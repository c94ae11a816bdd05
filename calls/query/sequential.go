package query

import (
	"context"
	"slices"

	"logparser/calls/index"
	"logparser/calls/internal/sizes"
)

// Sequential visits the blocks first to end (not included) one after the other in the
// caller's goroutine, as [Worker.Blocks] does, and reads those, too, of which no row passes.
func (s *Scan) Sequential(ctx context.Context, first, end int, visit func(f *Rows) error) error {
	w := &Worker{Scan: s, ctx: ctx}
	return w.Blocks(first, min(end, sizes.Blocks(s.rows)), func(f *Rows) error {
		if f.Block == nil {
			if err := w.Load(f); err != nil {
				return err
			}
		}
		return visit(f)
	})
}

// Passing returns which of some rows pass. It sorts the rows.
func Passing(ctx context.Context, src *index.Index, where Predicate, rows []int64) (map[int64]bool, error) {
	pass := make(map[int64]bool, len(rows))
	slices.Sort(rows)
	s := NewScan(src, where, index.Kinds, nil)
	for len(rows) > 0 {
		k := int(rows[0] / sizes.Block)
		err := s.Sequential(ctx, k, k+1, func(f *Rows) error {
			for len(rows) > 0 && int(rows[0]/sizes.Block) == k {
				i := rows[0] - int64(k)*sizes.Block
				pass[rows[0]] = f.Pass[i/64]>>(i%64)&1 != 0
				rows = rows[1:]
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return pass, nil
}
