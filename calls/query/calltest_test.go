package query_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// TestCallTest asks predicates about whole calls: they say what the oracle says of the rows of the
// calls' enters. They are asked only of logs whose rows are in order of time.
func TestCallTest(t *testing.T) {
	asked, refused, passed, never, folded := 0, 0, 0, 0, 0
	logtest.EachLog(t, 40, 700, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		if !slices.IsSortedFunc(src.Rows, func(a, b oracle.Row) int { return cmp.Compare(a.Time, b.Time) }) {
			return
		}
		// The calls of a thread that ended alike are asked about together.
		type kind struct {
			owner uint32
			open  calls.Anomaly
			atEnd bool
		}
		for range 12 {
			p := logtest.RandomPredicate(r, src, 2)
			test, ok := query.NewCallTest(tested, p.Predicate)
			if !ok {
				refused++
				continue
			}
			asked++
			list, enters := map[kind][]parser.Call{}, map[kind][]int64{}
			for _, c := range src.Calls {
				if c.Enter < 0 {
					continue
				}
				row := &src.Rows[c.Enter]
				one := parser.Call{Enter: c.Time, Duration: c.Duration, Self: row.Self, ID: row.Number, Depth: int32(c.Depth)}
				for around := c; around != nil; around = around.Caller {
					if around.Enter >= 0 {
						one.Marks |= test.Marks(around.Number)
					}
				}
				of := kind{row.Slot, c.Anomaly, c.AtEnd}
				switch {
				case c.AtEnd:
					if c.Anomaly == calls.Running {
						one.Duration, one.Self = calls.NoDuration, calls.NoDuration
					}
				case c.Duration == calls.NoDuration:
					one.Self = calls.NoDuration
				case c.Anomaly == calls.None:
				default:
					continue // with a duration and yet unusual: it is asked about row by row
				}
				list[of], enters[of] = append(list[of], one), append(enters[of], c.Enter)
			}
			for of, group := range list {
				pass := make([]uint8, len(group))
				if c := (query.CallsOf{Calls: group, Owner: of.owner, Open: of.open}); of.atEnd {
					test.TestOpen(&c, pass)
				} else {
					test.Test(&c, pass)
				}
				may := test.May(of.owner)
				if !may {
					never++
				}
				for i, enter := range enters[of] {
					want := p.Pass(enter)
					if (pass[i] == 1) != want || want && !may {
						t.Fatalf("call of row %d, %+v, %+v: %d, may pass %t, the oracle says %t", enter, of, group[i], pass[i], may, want)
					}
					passed += int(pass[i])
					if limits := test.Limits(); want && !of.atEnd && group[i].Duration != calls.NoDuration && !within(&limits, &group[i]) {
						t.Fatalf("call of row %d, %+v, is not within %+v", enter, group[i], limits)
					}
					if of.open == calls.None && may && group[i].Duration != calls.NoDuration {
						if counts, ok := foldCounts(test, &group[i]); ok {
							folded++
							if counts != want {
								t.Fatalf("call of row %d, %+v: to be counted %t, want %t", enter, group[i], counts, want)
							}
						}
					}
				}
			}
		}
	})
	t.Logf("%d predicates of calls, %d of rows only, %d calls passed, %d could be summed up", asked, refused, passed, folded)
	if asked == 0 || refused == 0 || passed == 0 || never == 0 || folded < 1000 {
		t.Errorf("%d asked, %d refused, %d calls passed, %d could be summed up, %d threads never", asked, refused, passed, folded, never)
	}
}

// foldCounts reports whether a call with a leave counts where calls are summed up. It is not ok where it is not summed up.
func foldCounts(test *query.CallTest, c *parser.Call) (counts, ok bool) {
	f, ok := test.Fold()
	if !ok || c.Enter < f.First || c.Enter > f.Last {
		return false, false
	}
	if c.Depth < f.Shallowest {
		return false, true
	}
	if c.Marks&f.Marks != 0 {
		return f.AllInside || test.Counts(c.ID)&parser.CountsInside != 0, true
	}
	return test.Counts(c.ID)&parser.CountsOutside != 0, true
}

// within reports whether a call is within limits.
func within(l *parser.CallLimits, c *parser.Call) bool {
	return l.First <= c.Enter && c.Enter <= l.Last && c.Depth <= l.Deepest
}

// TestEnterAddresses says which addresses pass where that depends on nothing else.
func TestEnterAddresses(t *testing.T) {
	set := query.NewSet(8)
	set.Add(3)
	three, enters, leaves := query.InAddresses(set), query.OfKind(parser.Enter), query.OfKind(parser.Leave)
	for name, c := range map[string]struct {
		p    query.Predicate
		want string // of addresses 2 and 3
	}{
		"one":            {three, "ny"},
		"enters":         {enters, "yy"},
		"leaves":         {leaves, "nn"},
		"not":            {query.Not(three), "yn"},
		"and":            {query.And(three, enters), "ny"},
		"and never":      {query.And(three, leaves), "nn"},
		"or":             {query.Or(three, leaves), "ny"},
		"or always":      {query.Or(three, enters), "yy"},
		"not or":         {query.Not(query.Or(three, leaves)), "yn"},
		"duration":       {query.WithDuration(1, 2), ""},
		"not duration":   {query.Not(query.WithDuration(1, 2)), ""},
		"and a duration": {query.And(three, query.WithDuration(1, 2)), ""},
	} {
		got := ""
		if has, ok := query.EnterAddresses(c.p); ok {
			for _, address := range []uint32{2, 3} {
				got += map[bool]string{false: "n", true: "y"}[has(address)]
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
