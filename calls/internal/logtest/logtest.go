// Package logtest helps the tests of the rooms of calls: it makes random logs with their
// index and what the oracle says of them, and random predicates with the rows that
// they must pass.
package logtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/parser/trace"
)

// SmallBlocks makes blocks short for a test, and segments two blocks. All of these have totals.
func SmallBlocks(t testing.TB, n int64) {
	block, segment, bytes := sizes.Block, sizes.SegmentBlocks, sizes.TotalsBytes
	sizes.Block, sizes.SegmentBlocks, sizes.TotalsBytes = n, 2, 1<<30
	t.Cleanup(func() { sizes.Block, sizes.SegmentBlocks, sizes.TotalsBytes = block, segment, bytes })
}

// Indexed builds the index of a log, and asks the oracle about it.
func Indexed(t testing.TB, log parser.Log, runs []parser.Run, live bool) (*oracle.Log, *index.Index) {
	t.Helper()
	x, err := index.Build(t.Context(), log, runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x.SetLive(live)
	return Numbered(t, log, runs, live, x), x
}

// Numbered asks the oracle about a log that an index has.
func Numbered(t testing.TB, log parser.Log, runs []parser.Run, live bool, x *index.Index) *oracle.Log {
	t.Helper()
	src, err := oracle.New(log, runs, oracle.Options{Live: live})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// EachLog calls f with random logs: with what the oracle says of them, and with
// their index. A short test, which the race detector may watch, sees a fifth of them.
func EachLog(t *testing.T, count, n int, f func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index)) {
	SmallBlocks(t, 64)
	if testing.Short() {
		count = max(count/5, 1)
	}
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 1))
		log, live := testlog.Random(r, 1+r.IntN(n)), r.IntN(2) == 0
		src, x := Indexed(t, log, log.Runs, live)
		f(t, r, src, x)
		if t.Failed() {
			t.Fatalf("seed %d, %d rows", seed, src.Len())
		}
	}
}

// An Expected is a predicate and what it is to say of each row.
type Expected struct {
	query.Predicate
	Name string
	Pass func(row int64) bool
}

// numbersOf returns what is in a set.
func numbersOf(s *query.Set) []uint32 {
	var list []uint32
	for i := uint32(0); len(list) < s.Len(); i++ {
		if s.Has(i) {
			list = append(list, i)
		}
	}
	return list
}

// RandomSet makes a set of numbers below n.
func RandomSet(r *rand.Rand, n int) *query.Set {
	s := query.NewSet(r.IntN(n + 1))
	for range r.IntN(4) {
		s.Add(uint32(r.IntN(n + 2)))
	}
	return s
}

// within returns which rows lie in calls that ok accepts.
func within(s *oracle.Log, ok func(c *oracle.Call) bool) []bool {
	in := make([]bool, len(s.Rows))
	for i := range s.Rows {
		for c := s.Rows[i].Call; c != nil && !in[i]; c = c.Caller {
			in[i] = ok(c)
		}
	}
	return in
}

// RandomPredicate makes a predicate of at most so many levels.
func RandomPredicate(r *rand.Rand, s *oracle.Log, depth int) Expected {
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
		set := RandomSet(r, len(s.Addresses))
		return Expected{query.InAddresses(set), fmt.Sprint("addresses ", numbersOf(set)), func(row int64) bool {
			return s.Rows[row].Kind != parser.Damaged && set.Has(s.Rows[row].Number)
		}}
	case 1:
		set := RandomSet(r, len(s.Threads))
		return Expected{query.OnThreads(set), fmt.Sprint("threads ", numbersOf(set)), func(row int64) bool {
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
		return Expected{query.OfKind(kinds...), fmt.Sprint("kinds ", kinds), func(row int64) bool { return has[s.Rows[row].Kind] }}
	case 3:
		d := func(row int64) int64 { return s.Rows[row].Duration }
		a, b := order(pick(d), pick(d))
		return Expected{query.WithDuration(a, b), fmt.Sprint("duration ", a, b), func(row int64) bool {
			return d(row) != calls.NoDuration && d(row) >= a && d(row) <= b
		}}
	case 4:
		d := func(row int64) int64 { return s.Rows[row].Self }
		a, b := order(pick(d), pick(d))
		return Expected{query.WithSelf(a, b), fmt.Sprint("self ", a, b), func(row int64) bool {
			return d(row) != calls.NoDuration && d(row) >= a && d(row) <= b
		}}
	case 5:
		return Expected{query.And(), "all", func(int64) bool { return true }}
	case 6:
		a, b := int32(r.IntN(10)-1), int32(r.IntN(10)-1)
		if r.IntN(4) == 0 {
			b = math.MaxInt32
		}
		return Expected{query.AtDepth(a, b), fmt.Sprint("depth ", a, b), func(row int64) bool {
			return s.Rows[row].Depth >= int(a) && s.Rows[row].Depth <= int(b)
		}}
	case 7:
		d := func(row int64) int64 { return s.Rows[row].Time }
		a, b := order(pick(d), pick(d))
		return Expected{query.InTime(a, b), fmt.Sprint("time ", a, b), func(row int64) bool { return d(row) >= a && d(row) <= b }}
	case 8:
		a, b := order(r.Int64N(rows+2)-1, r.Int64N(rows+2)-1)
		return Expected{query.InRows(a, b), fmt.Sprint("rows ", a, b), func(row int64) bool { return row >= a && row <= b }}
	case 9:
		var anomalies []calls.Anomaly
		has := map[calls.Anomaly]bool{}
		for m := range calls.NoEnter + 1 {
			if r.IntN(5) == 0 {
				anomalies, has[m] = append(anomalies, m), true
			}
		}
		return Expected{query.WithAnomaly(anomalies...), fmt.Sprint("anomalies ", anomalies), func(row int64) bool { return has[s.Rows[row].Anomaly] }}
	case 10:
		set := RandomSet(r, len(s.Addresses))
		in := within(s, func(c *oracle.Call) bool { return set.Has(c.Number) })
		return Expected{query.Inside(set), fmt.Sprint("inside ", numbersOf(set)), func(row int64) bool { return in[row] }}
	case 11:
		call := r.Int64N(rows+2) - 1
		in := within(s, func(c *oracle.Call) bool { return c.Enter == call })
		return Expected{query.InsideCall(call), fmt.Sprint("in call ", call), func(row int64) bool { return in[row] }}
	case 12:
		m := r.Int64N(5) + 1
		return Expected{query.Func(func(_ context.Context, rows []int64, pass []bool) error {
			for i, row := range rows {
				pass[i] = row%m == 0
			}
			return nil
		}), fmt.Sprint("every ", m), func(row int64) bool { return row%m == 0 }}
	case 13:
		p := RandomPredicate(r, s, depth-1)
		return Expected{query.Not(p), "not (" + p.Name + ")", func(row int64) bool { return !p.Pass(row) }}
	default:
		return randomCombination(r, s, depth)
	}
}

// randomCombination joins predicates of fewer levels by and, or by or.
func randomCombination(r *rand.Rand, s *oracle.Log, depth int) Expected {
	var list []Expected
	var parts []query.Predicate
	or := r.IntN(2) == 0
	name := map[bool]string{false: "and", true: "or"}[or]
	for range r.IntN(4) {
		p := RandomPredicate(r, s, depth-1)
		list, parts = append(list, p), append(parts, p.Predicate)
		name += " (" + p.Name + ")"
	}
	p := query.And(parts...)
	if or {
		p = query.Or(parts...)
	}
	return Expected{p, name, func(row int64) bool {
		for _, p := range list {
			if p.Pass(row) == or {
				return or
			}
		}
		return !or
	}}
}

// benchmarkIndex is made once of the log that LOGPARSER_BENCH_LOG names.
var benchmarkIndex *index.Index

func OpenBenchmark(b *testing.B) *index.Index {
	if benchmarkIndex == nil {
		log := EnvironmentLog(b)
		if log == nil {
			b.Skip("LOGPARSER_BENCH_LOG names no log")
		}
		var err error
		if benchmarkIndex, err = index.Build(context.Background(), log, log.Info().Runs, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	return benchmarkIndex
}

// EnvironmentLog opens the log that LOGPARSER_BENCH_LOG names, classic or a
// trace; nil where it names none.
func EnvironmentLog(b *testing.B) parser.Log {
	path := os.Getenv("LOGPARSER_BENCH_LOG")
	if path == "" {
		return nil
	}
	var log parser.Log
	var err error
	if strings.HasSuffix(path, ".lptrace") {
		log, err = trace.Open(context.Background(), path, parser.Options{}, nil)
	} else {
		log, err = classic.Open(context.Background(), path, parser.Options{}, nil)
	}
	if err != nil {
		b.Fatal(err)
	}
	return log
}

// TimeOfRow returns the time of a row in nanoseconds of the log's clock, of
// the last row if the row is behind it and of the first if it is before.
func TimeOfRow(src *index.Index, row int64) (int64, error) {
	src = src.Steady()
	var b index.Block
	i, err := query.FillAt(src, &b, min(max(row, 0), src.Len()-1), index.Times)
	if err != nil || i < 0 {
		return 0, err
	}
	return b.Time[i], nil
}

// BlockLen is how many rows a block has for the test.
func BlockLen() int64 { return sizes.Block }
