package index

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"logparser/calls"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// A plainPredicate is a predicate and what it is to say of each row.
type plainPredicate struct {
	Predicate
	name string
	pass func(row int64) bool
}

// randomSet makes a set of numbers below n.
func randomSet(r *rand.Rand, n int) *Set {
	s := NewSet(r.IntN(n + 1))
	for range r.IntN(4) {
		s.Add(uint32(r.IntN(n + 2)))
	}
	return s
}

func randomPredicate(r *rand.Rand, s *oracle.Log, depth int) plainPredicate {
	rows := s.Len()
	pick := func(f func(row int64) int64) int64 {
		return f(r.Int64N(rows)) + r.Int64N(3) - 1
	}
	order := func(a, b int64) (int64, int64) {
		if r.IntN(10) == 0 {
			return a, math.MaxInt64
		}
		if a > b && r.IntN(10) > 0 {
			return b, a
		}
		return a, b
	}
	n := 13
	if depth > 0 {
		n = 20
	}
	switch r.IntN(n) {
	case 0:
		set := randomSet(r, len(s.Addresses))
		return plainPredicate{InAddresses(set), fmt.Sprint("addresses ", set.words), func(row int64) bool {
			return s.Rows[row].Kind != parser.Damaged && set.Has(s.Rows[row].Number)
		}}
	case 1:
		set := randomSet(r, len(s.Threads))
		return plainPredicate{OnThreads(set), fmt.Sprint("threads ", set.words), func(row int64) bool {
			return s.Rows[row].Kind != parser.Damaged && set.Has(s.Rows[row].Slot)
		}}
	case 2:
		var kinds []parser.Kind
		has := map[parser.Kind]bool{}
		for k := range parser.Damaged + 1 {
			if r.IntN(2) == 0 {
				kinds, has[k] = append(kinds, k), true
			}
		}
		return plainPredicate{OfKind(kinds...), fmt.Sprint("kinds ", kinds), func(row int64) bool { return has[s.Rows[row].Kind] }}
	case 3:
		d := func(row int64) int64 { return s.Rows[row].Duration }
		a, b := order(pick(d), pick(d))
		return plainPredicate{WithDuration(a, b), fmt.Sprint("duration ", a, b), func(row int64) bool {
			return d(row) != calls.NoDuration && d(row) >= a && d(row) <= b
		}}
	case 4:
		d := func(row int64) int64 { return s.Rows[row].Self }
		a, b := order(pick(d), pick(d))
		return plainPredicate{WithSelf(a, b), fmt.Sprint("self ", a, b), func(row int64) bool {
			return d(row) != calls.NoDuration && d(row) >= a && d(row) <= b
		}}
	case 5:
		return plainPredicate{All(), "all", func(int64) bool { return true }}
	case 6:
		a, b := int32(r.IntN(10)-1), int32(r.IntN(10)-1)
		if r.IntN(4) == 0 {
			b = math.MaxInt32
		}
		return plainPredicate{AtDepth(a, b), fmt.Sprint("depth ", a, b), func(row int64) bool {
			return s.Rows[row].Depth >= int(a) && s.Rows[row].Depth <= int(b)
		}}
	case 7:
		d := func(row int64) int64 { return s.Rows[row].Time }
		a, b := order(pick(d), pick(d))
		return plainPredicate{InTime(a, b), fmt.Sprint("time ", a, b), func(row int64) bool { return d(row) >= a && d(row) <= b }}
	case 8:
		a, b := order(r.Int64N(rows+2)-1, r.Int64N(rows+2)-1)
		return plainPredicate{InRows(a, b), fmt.Sprint("rows ", a, b), func(row int64) bool { return row >= a && row <= b }}
	case 9:
		var marks []calls.Mark
		has := map[calls.Mark]bool{}
		for m := range calls.NoEnter + 1 {
			if r.IntN(5) == 0 {
				marks, has[m] = append(marks, m), true
			}
		}
		return plainPredicate{Marked(marks...), fmt.Sprint("marks ", marks), func(row int64) bool { return has[s.Rows[row].Mark] }}
	case 10:
		set := randomSet(r, len(s.Addresses))
		in := s.Within(func(c *oracle.Call) bool { return set.Has(c.Number) })
		if r.IntN(2) == 0 {
			return plainPredicate{Inside(set), fmt.Sprint("inside ", set.words), func(row int64) bool { return in[row] }}
		}
		return plainPredicate{Below(set), fmt.Sprint("below ", set.words), func(row int64) bool {
			if s.Rows[row].Kind == parser.Enter {
				return s.CallerRow(row) >= 0 && in[s.CallerRow(row)]
			}
			return in[row]
		}}
	case 11:
		call := r.Int64N(rows+2) - 1
		in := s.Within(func(c *oracle.Call) bool { return c.Enter == call })
		return plainPredicate{InsideCall(call), fmt.Sprint("in call ", call), func(row int64) bool { return in[row] }}
	case 12:
		m := r.Int64N(5) + 1
		return plainPredicate{Func(func(_ context.Context, rows []int64, pass []bool) error {
			for i, row := range rows {
				pass[i] = row%m == 0
			}
			return nil
		}), fmt.Sprint("every ", m), func(row int64) bool { return row%m == 0 }}
	case 13:
		p := randomPredicate(r, s, depth-1)
		return plainPredicate{Not(p), "not (" + p.name + ")", func(row int64) bool { return !p.pass(row) }}
	default:
		var list []plainPredicate
		var parts []Predicate
		or := r.IntN(2) == 0
		name := map[bool]string{false: "and", true: "or"}[or]
		for range r.IntN(4) {
			p := randomPredicate(r, s, depth-1)
			list, parts = append(list, p), append(parts, p.Predicate)
			name += " (" + p.name + ")"
		}
		p := And(parts...)
		if or {
			p = Or(parts...)
		}
		return plainPredicate{p, name, func(row int64) bool {
			for _, p := range list {
				if p.pass(row) == or {
					return or
				}
			}
			return !or
		}}
	}
}

func TestPredicates(t *testing.T) {
	defer func(n int) { maxSetTable = n }(maxSetTable)
	eachLog(t, 60, 2000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *Index) {
		maxSetTable = 4 << r.IntN(20)
		for range 15 {
			p := randomPredicate(r, src, 3)
			var want int64
			parts := 1 + r.IntN(20)
			marks := make([]uint32, parts)
			for row := range src.Len() {
				if p.pass(row) {
					want++
					marks[row*int64(parts)/src.Len()]++
				}
			}
			got, gotMarks, err := Count(t.Context(), tested, p, parts, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got != want || fmt.Sprint(gotMarks) != fmt.Sprint(marks) {
				t.Errorf("%s: %d rows, want %d\n%v\n%v", p.name, got, want, gotMarks, marks)
			}
			row, back := r.Int64N(src.Len()+2)-1, r.IntN(2) == 0
			next, ok, err := Next(t.Context(), tested, p, row, back)
			if err != nil {
				t.Fatal(err)
			}
			step := int64(1)
			if back {
				step = -1
			}
			for row += step; row >= 0 && row < src.Len() && !p.pass(row); row += step {
			}
			if wantOK := row >= 0 && row < src.Len(); ok != wantOK || ok && next != row {
				t.Errorf("%s, back %t: next %d, %t, want %d, %t", p.name, back, next, ok, row, wantOK)
			}
		}
	})
}

// TestStack compares stacks, callers and ends with those of the double.
func TestStack(t *testing.T) {
	eachLog(t, 40, 1500, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *Index) {
		for range 60 {
			row := r.Int64N(src.Len())
			damaged := src.Rows[row].Kind == parser.Damaged || src.Rows[row].Mark == calls.Stray
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
			stack, err := Stack(tested, row)
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
			c, ok, err := Caller(tested, row)
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
			set := randomSet(r, len(src.Addresses))
			back := r.IntN(2) == 0
			next, ok, err := NextCall(t.Context(), tested, row, set, back)
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
			c, err = CallAt(tested, row)
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
				if src.Rows[at].Slot == src.Rows[own].Slot && src.Rows[at].Kind != parser.Damaged && src.Rows[at].Mark != calls.Stray {
					t.Errorf("row %d: end %d, want %d", row, c.End, src.Rows[own].Call.End)
					break
				}
			}
		}
	})
}
