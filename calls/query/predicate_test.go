package query_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

func TestPredicates(t *testing.T) {
	defer func(n int) { *query.MaxSetTable = n }(*query.MaxSetTable)
	logtest.EachLog(t, 60, 2000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		*query.MaxSetTable = 4 << r.IntN(20)
		for range 15 {
			p := logtest.RandomPredicate(r, src, 3)
			var want int64
			parts := 1 + r.IntN(20)
			marks := make([]uint32, parts)
			for row := range src.Len() {
				if p.Pass(row) {
					want++
					marks[row*int64(parts)/src.Len()]++
				}
			}
			got, gotMarks, err := query.Count(t.Context(), tested, p, parts, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got != want || fmt.Sprint(gotMarks) != fmt.Sprint(marks) {
				t.Errorf("%s: %d rows, want %d\n%v\n%v", p.Name, got, want, gotMarks, marks)
			}
			row, back := r.Int64N(src.Len()+2)-1, r.IntN(2) == 0
			next, ok, err := query.Next(t.Context(), tested, p, row, back)
			if err != nil {
				t.Fatal(err)
			}
			step := int64(1)
			if back {
				step = -1
			}
			for row += step; row >= 0 && row < src.Len() && !p.Pass(row); row += step {
			}
			if wantOK := row >= 0 && row < src.Len(); ok != wantOK || ok && next != row {
				t.Errorf("%s, back %t: next %d, %t, want %d, %t", p.Name, back, next, ok, row, wantOK)
			}
		}
	})
}

// TestStack compares stacks, callers and ends with those of the double.
func TestStack(t *testing.T) {
	logtest.EachLog(t, 40, 1500, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		for range 60 {
			row := r.Int64N(src.Len())
			damaged := src.Rows[row].Kind == parser.Damaged || src.Rows[row].Anomaly == calls.Stray
			var want []int64
			own := src.CallerRow(row)
			if p := src.Rows[row].Partner; src.Rows[row].Kind == parser.Enter {
				own = row
			} else if p >= 0 {
				own = p
			}
			for c := own; c >= 0; c = src.CallerRow(c) {
				want = append([]int64{c}, want...)
			}
			stack, err := query.Stack(tested, row)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for d, c := range stack {
				got = append(got, c.Enter)
				if int(c.Depth) != d || c.Address != src.Rows[c.Enter].Number || c.Time != src.Rows[c.Enter].Time || c.Thread != src.Rows[row].Slot {
					t.Errorf("row %d: call %+v at depth %d", row, c, d)
				}
			}
			if damaged {
				want = nil
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("row %d: stack %v, want %v", row, got, want)
			}
			c, ok, err := query.Caller(tested, row)
			if err != nil {
				t.Fatal(err)
			}
			w := src.CallerRow(row)
			if damaged {
				w = -1
			}
			if ok != (w >= 0) || ok && c.Enter != w {
				t.Errorf("row %d: caller %d %t, want %d", row, c.Enter, ok, w)
			}
			set := logtest.RandomSet(r, len(src.Addresses))
			back := r.IntN(2) == 0
			next, ok, err := query.NextCall(t.Context(), tested, row, set, back)
			if err != nil {
				t.Fatal(err)
			}
			step := int64(1)
			if back {
				step = -1
			}
			at := row + step
			for at >= 0 && at < src.Len() && (src.Rows[at].Kind != parser.Enter || !set.Has(src.Rows[at].Number)) {
				at += step
			}
			if inLog := at >= 0 && at < src.Len(); ok != inLog || ok && next != at {
				t.Errorf("row %d, back %t: next call %d %t, want %d", row, back, next, ok, at)
			}
			c, err = query.CallAt(tested, row)
			if err != nil {
				t.Fatal(err)
			}
			if src.Rows[row].Kind == parser.Leave && src.Rows[row].Partner < 0 {
				own = -1
			}
			if c.Enter != own && !damaged {
				t.Errorf("row %d: call %d, want %d", row, c.Enter, own)
			}
			if c.Enter < 0 {
				continue
			}
			// Without a leave the end may differ, but with no row of the
			// thread's calls between.
			for at := min(src.Rows[own].Call.End, c.End); at < max(src.Rows[own].Call.End, c.End); at++ {
				if src.Rows[at].Slot == src.Rows[own].Slot && src.Rows[at].Kind != parser.Damaged && src.Rows[at].Anomaly != calls.Stray {
					t.Errorf("row %d: end %d, want %d", row, c.End, src.Rows[own].Call.End)
					break
				}
			}
		}
	})
}
