package timeline

import (
	"math"

	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// RowAtTime returns the first row whose time is at least t, of those from first
// (included) to end (not included), and end if there is none; damaged rows do not
// count. Where times step back, that is the first row ever that late.
func RowAtTime(src *index.Index, t, first, end int64) (int64, error) {
	row, err := rowAtTime(src.Steady(), t, first, end)
	if row < 0 {
		row = end
	}
	return row, err
}

// rowAtTime returns -1 if there is no such row.
func rowAtTime(src *index.Index, t, first, end int64) (int64, error) {
	found := int64(-1)
	late := func(s *index.Summary, _ bool) bool { return s.LastTime >= t }
	err := walkGroups(src, first, end, late, func(b *index.Block, from, to int) bool {
		for i := from; i < to; i++ {
			if b.Time[i] >= t && b.Kind[i] != parser.Damaged {
				found = b.First + int64(i)
				return false
			}
		}
		return true
	})
	return found, err
}

// TimeSpan returns the least and the greatest time of the rows from first
// (included) to end (not included), without damaged ones. If there are none the
// least is greater.
func TimeSpan(src *index.Index, first, end int64) (least, greatest int64, err error) {
	least, greatest = math.MaxInt64, math.MinInt64
	sum := func(s *index.Summary, whole bool) bool {
		if whole {
			least, greatest = min(least, s.FirstTime), max(greatest, s.LastTime)
		}
		return !whole
	}
	err = walkGroups(src.Steady(), first, end, sum, func(b *index.Block, from, to int) bool {
		for i := from; i < to; i++ {
			if b.Kind[i] != parser.Damaged {
				least, greatest = min(least, b.Time[i]), max(greatest, b.Time[i])
			}
		}
		return true
	})
	return least, greatest, err
}

// walkGroups goes down the groups of the rows from first (included) to end (not
// included), in order, as far as group says so, which is told whether all rows
// of a group are among them. Of blocks rows is told the times and kinds, until it
// returns false.
func walkGroups(src *index.Index, first, end int64, group func(s *index.Summary, whole bool) bool, rows func(b *index.Block, from, to int) bool) error {
	length := src.Len()
	end = min(end, length)
	top := 0
	for 1<<(2*top) < sizes.Blocks(end) {
		top++
	}
	var b index.Block
	var walk func(level, k int) (on bool, err error)
	walk = func(level, k int) (bool, error) {
		n := sizes.Block << (2 * level)
		from := int64(k) * n
		if from >= end || from+n <= first {
			return true, nil
		}
		s := src.Summary(level, k)
		if !group(&s, from >= first && min(from+n, length) <= end) {
			return true, nil
		}
		if level == 0 {
			if err := src.Fill(&b, k, index.Times|index.Kinds); err != nil {
				return false, err
			}
			return rows(&b, int(max(first-b.First, 0)), int(min(end-b.First, int64(b.N)))), nil
		}
		for c := range 4 {
			if on, err := walk(level-1, 4*k+c); !on {
				return false, err
			}
		}
		return true, nil
	}
	_, err := walk(top, 0)
	return err
}
