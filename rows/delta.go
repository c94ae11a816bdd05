package rows

import "math"

// deltas is a source whose rows say how long they came after the row before them, which
// is the one that the source has before: of a view, the one that is shown.
type deltas struct{ Source }

// With implements [Filler].
func (d deltas) With(f Fields) Source { return With(d.Source, f|Deltas) }

// Row implements [Source].
func (d deltas) Row(i int64) Row {
	r := d.Source.Row(i)
	if i > 0 {
		before := d.Source.Row(i - 1)
		r.follow(&before)
	} else {
		r.follow(nil)
	}
	return r
}

// Read implements [Source].
func (d deltas) Read(dst []Row, from int64) (int, error) {
	n, err := d.Source.Read(dst, from)
	if n == 0 {
		return n, err
	}
	// From the end on: each is compared with one that is as it was read.
	for i := n - 1; i > 0; i-- {
		dst[i].follow(&dst[i-1])
	}
	if from > 0 {
		before := d.Source.Row(from - 1)
		dst[0].follow(&before)
	} else {
		dst[0].follow(nil)
	}
	return n, err
}

// NoDelta is the Delta of a row that has none before it.
const NoDelta = math.MinInt64

// follow fills in how long a row came after the one before it, nil for none. By the wall
// clock, where both have one: the time since a run's beginning begins anew with another.
func (r *Row) follow(before *Row) {
	r.Filled |= Deltas
	switch {
	case before == nil:
		r.Delta = NoDelta
	case r.HasWall && before.HasWall:
		r.Delta = int64(r.Wall.Sub(before.Wall))
	default:
		r.Delta = r.Elapsed - before.Elapsed
	}
}
