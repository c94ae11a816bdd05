package timeline

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
)

// A Lane is what a timeline needs to know of a thread.
type Lane struct {
	Thread uint32
	// Events counts its events, without damaged records.
	Events int64
	// Enters counts the enters among them.
	Enters int64
	// First and Last are the least and the greatest time of its events in
	// nanoseconds of the log's clock.
	First, Last int64
	// MaxDepth is the greatest depth of its events.
	MaxDepth int32
}

// Lanes returns the threads that have events which pass a predicate, nil
// being all, by slot. It reads all rows.
func Lanes(ctx context.Context, src *index.Index, where query.Predicate, progress parser.Progress) ([]Lane, error) {
	s := query.NewScan(src, where, index.Threads|index.Times|index.Depths|index.Kinds, progress)
	found := make([][]Lane, query.Workers())
	err := s.Run(ctx, func(w *query.Worker, first, end int) error {
		return w.Blocks(first, end, func(f *query.Rows) error {
			if f.Count > 0 {
				found[w.ID] = addLanes(found[w.ID], f)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	var list []Lane
	for _, lanes := range found {
		for i := range lanes {
			o := &lanes[i]
			if o.Events == 0 {
				continue
			}
			for int(o.Thread) >= len(list) {
				list = append(list, Lane{Thread: uint32(len(list)), First: math.MaxInt64, Last: math.MinInt64})
			}
			l := &list[o.Thread]
			l.Events += o.Events
			l.Enters += o.Enters
			l.First, l.Last, l.MaxDepth = min(l.First, o.First), max(l.Last, o.Last), max(l.MaxDepth, o.MaxDepth)
		}
	}
	return slices.DeleteFunc(list, func(l Lane) bool { return l.Events == 0 }), nil
}

// addLanes adds the rows of a block that pass.
func addLanes(lanes []Lane, f *query.Rows) []Lane {
	b := f.Block
	for w, word := range f.Pass {
		for ; word != 0; word &= word - 1 {
			i := w*64 + bits.TrailingZeros64(word)
			if b.Kind[i] == parser.Damaged {
				continue
			}
			thread := b.Thread[i]
			for int(thread) >= len(lanes) {
				lanes = append(lanes, Lane{Thread: uint32(len(lanes)), First: math.MaxInt64, Last: math.MinInt64})
			}
			l := &lanes[thread]
			l.Events++
			if b.Kind[i] == parser.Enter {
				l.Enters++
			}
			l.First, l.Last, l.MaxDepth = min(l.First, b.Time[i]), max(l.Last, b.Time[i]), max(l.MaxDepth, b.Depth[i])
		}
	}
	return lanes
}
