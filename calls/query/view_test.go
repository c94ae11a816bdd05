package query_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// visible returns the rows that a view must have: those that pass, but for those inside folded
// calls, whose enters are given, and those of repeats but the first.
func visible(src *oracle.Log, p logtest.Expected, folded []int64, repeats *query.Repeats) []int64 {
	type stretch struct {
		slot       uint32
		first, end int64
	}
	var hidden []stretch
	if repeats != nil {
		for _, r := range repeats.List {
			hidden = append(hidden, stretch{r.Thread, r.Second, r.End})
		}
	}
	for _, row := range folded {
		if row >= 0 && row < src.Len() && src.Rows[row].Kind == parser.Enter {
			hidden = append(hidden, stretch{src.Rows[row].Slot, row + 1, src.Rows[row].Call.End})
		}
	}
	var rows []int64
	for row := range src.Len() {
		r := &src.Rows[row]
		hides := func(h stretch) bool { return h.slot == r.Slot && row >= h.first && row < h.end }
		if p.Pass(row) && (r.Call == nil || !slices.ContainsFunc(hidden, hides)) {
			rows = append(rows, row)
		}
	}
	return rows
}

// checkView compares a view that has been run with the rows that it must have.
func checkView(t *testing.T, r *rand.Rand, v *query.View, rows []int64, total int64) {
	t.Helper()
	if v.Len() != int64(len(rows)) || v.Scanned() != total {
		t.Fatalf("%d rows of %d, want %d of %d", v.Len(), v.Scanned(), len(rows), total)
	}
	for range 10 {
		pos := r.IntN(len(rows)+2) - 1
		dst := make([]int64, r.IntN(200))
		n, err := v.Read(dst, int64(pos))
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		if pos >= 0 && pos < len(rows) {
			want = rows[pos:min(pos+len(dst), len(rows))]
		}
		if !slices.Equal(dst[:n], want) {
			t.Fatalf("at %d: %v, want %v", pos, dst[:n], want)
		}
		row := r.Int64N(total+2) - 1
		got, shown, err := v.PositionOf(row)
		if err != nil {
			t.Fatal(err)
		}
		i, found := slices.BinarySearch(rows, row)
		if !found {
			i--
		}
		if got != int64(i) || shown != found {
			t.Fatalf("position of row %d: %d, %t, want %d, %t", row, got, shown, i, found)
		}
	}
}

func TestView(t *testing.T) {
	logtest.EachLog(t, 40, 10000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		p := logtest.RandomPredicate(r, src, 1)
		v := query.NewView(tested, p)
		base := r.IntN(2) == 0
		if base {
			if err := v.Run(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			checkView(t, r, v, visible(src, p, nil, nil), src.Len())
		}
		var folded []int64
		for range r.IntN(5) {
			folded = append(folded, r.Int64N(src.Len()+2)-1)
		}
		repeats, err := query.FindRepeats(t.Context(), tested, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(2) == 0 {
			repeats = nil
		}
		hidden, err := v.Hide(folded, repeats)
		if err != nil {
			t.Fatal(err)
		}
		if err := hidden.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		rows := visible(src, p, folded, repeats)
		checkView(t, r, hidden, rows, src.Len())
		for _, row := range folded {
			n, ok, err := hidden.Folded(row)
			if err != nil {
				t.Fatal(err)
			}
			if want := row >= 0 && row < src.Len() && src.Rows[row].Kind == parser.Enter; ok != want {
				t.Fatalf("folded at %d: %t", row, ok)
			} else if all := (logtest.Expected{Pass: func(int64) bool { return true }}); ok && src.Rows[row].Partner < 0 && n != src.Len()-int64(len(visible(src, all, []int64{row}, nil))) || ok && src.Rows[row].Partner >= 0 && n != src.Rows[row].Inside+1 {
				t.Fatalf("folded at %d: %d rows, %+v to %d of %d", row, n, src.Rows[row].Record, src.Rows[row].Call.End, src.Len())
			}
		}

		for range 5 {
			row := r.Int64N(src.Len())
			for _, rep := range hidden.Repeats(row) {
				pos, shown, err := hidden.PositionOf(rep.Second)
				if rep.First != row || rep.Count < 2 || shown || pos >= 0 && err != nil {
					t.Fatalf("%+v at row %d, %d %t %v", rep, row, pos, shown, err)
				}
			}
		}

		q := logtest.RandomPredicate(r, src, 1)
		parts := 1 + r.IntN(30)
		count, marks, err := hidden.Count(t.Context(), q, parts, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want int64
		wantMarks := make([]uint32, parts)
		for pos, row := range rows {
			if q.Pass(row) {
				want++
				wantMarks[pos*parts/len(rows)]++
			}
		}
		if count != want || !slices.Equal(marks, wantMarks) {
			t.Fatalf("%s in %s: %d, want %d\n%v\n%v", q.Name, p.Name, count, want, marks, wantMarks)
		}
		pos, back, step := r.IntN(len(rows)+2)-1, r.IntN(2) == 0, 1
		next, ok, err := hidden.Next(t.Context(), q, int64(pos), back)
		if err != nil {
			t.Fatal(err)
		}
		if back {
			step = -1
		}
		for pos += step; pos >= 0 && pos < len(rows) && !q.Pass(rows[pos]); pos += step {
		}
		if wantOK := pos >= 0 && pos < len(rows); ok != wantOK || ok && next != int64(pos) {
			t.Fatalf("%s in %s, back %t: %d, %t, want %d, %t", q.Name, p.Name, back, next, ok, pos, wantOK)
		}
	})
}

// TestViewGrows has a view go on when the log has grown.
func TestViewGrows(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	times := uint64(40)
	if testing.Short() {
		times = 10
	}
	for seed := range times {
		r := rand.New(rand.NewPCG(seed, 2))
		log := testlog.Random(r, 1+r.IntN(9000))
		log.EndTime, log.Ended = 0, nil // it goes on
		var x *index.Index
		var src *oracle.Log
		grow := func(n int) {
			part := &testlog.Memory{Events: log.Events[:n], Exact: log.Exact, Runs: []parser.Run{{Count: int64(n)}}}
			var err error
			if x == nil {
				x, err = index.Build(t.Context(), log, part.Runs, nil, nil)
				x.SetLive(true)
			} else {
				err = x.Extend(t.Context(), part.Runs, nil, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			src = logtest.Numbered(t, part, part.Runs, true, x)
		}
		n := 1 + r.IntN(len(log.Events))
		grow(n)
		function := query.NewSet(0)
		function.Add(uint32(r.IntN(3)))
		predicates := []logtest.Expected{
			{Predicate: query.WithAnomaly(calls.Running, calls.NoLeave), Name: "open", Pass: func(row int64) bool {
				m := src.Rows[row].Anomaly
				return m == calls.Running || m == calls.NoLeave
			}},
			{Predicate: query.WithDuration(1e7, 1e9), Name: "duration", Pass: func(row int64) bool { d := src.Rows[row].Duration; return d >= 1e7 && d <= 1e9 }},
			{Predicate: query.Inside(function), Name: "inside", Pass: func(row int64) bool {
				if src.Rows[row].Kind == parser.Damaged || src.Rows[row].Anomaly == calls.Stray {
					return false
				}
				own := row
				if p := src.Rows[row].Partner; p >= 0 && p < row {
					own = p
				}
				for ; own >= 0; own = src.CallerRow(own) {
					if function.Has(src.Rows[own].Number) {
						return true
					}
				}
				return false
			}},
			{Predicate: query.And(), Name: "all", Pass: func(int64) bool { return true }},
		}
		p := predicates[r.IntN(len(predicates))]
		v := query.NewView(x, p)
		var folded []int64
		for range r.IntN(4) {
			folded = append(folded, r.Int64N(int64(n)))
		}
		if err := v.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		h, err := v.Hide(folded, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n < len(log.Events) {
			for i, view := range []*query.View{v, h} {
				if r.IntN(2) == 0 {
					continue
				}
				if err := view.Run(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
				checkView(t, r, view, visible(src, p, folded[:len(folded)*i], nil), src.Len())
			}
			if t.Failed() {
				t.Fatalf("seed %d: %s", seed, p.Name)
			}
			n = min(n+1+r.IntN(2000), len(log.Events))
			grow(n)
		}
	}
}

func TestViewCancelled(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	r := rand.New(rand.NewPCG(1, 1))
	log := testlog.Random(r, 40000)
	src, x := logtest.Indexed(t, log, log.Runs, false)
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	p := query.Func(func(_ context.Context, rows []int64, pass []bool) error {
		if asked.Add(1) == 20 {
			cancel()
		}
		for i, row := range rows {
			pass[i] = row%3 == 0
		}
		return nil
	})
	v := query.NewView(x, p)
	if err := v.Run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if v.Scanned() >= src.Len() {
		t.Fatal("all rows are counted")
	}
	if err := v.Run(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	checkView(t, r, v, visible(src, logtest.Expected{Predicate: p, Pass: func(row int64) bool { return row%3 == 0 }}, nil, nil), src.Len())
}

// TestViewWhileRunning reads rows while they are counted.
func TestViewWhileRunning(t *testing.T) {
	logtest.SmallBlocks(t, 64)
	r := rand.New(rand.NewPCG(2, 1))
	log := testlog.Random(r, 60000)
	src, x := logtest.Indexed(t, log, log.Runs, false)
	v := query.NewView(x, query.OfKind(parser.Enter))
	rows := visible(src, logtest.Expected{Pass: func(row int64) bool { return src.Rows[row].Kind == parser.Enter }}, nil, nil)
	done := make(chan error)
	go func() { done <- v.Run(t.Context(), nil) }()
	for {
		var dst [100]int64
		length := v.Len()
		if length > 0 {
			pos := r.Int64N(length)
			n, err := v.Read(dst[:], pos)
			if err != nil || n == 0 || !slices.Equal(dst[:n], rows[pos:pos+int64(n)]) {
				t.Fatalf("at %d of %d: %d rows, %v", pos, length, n, err)
			}
			if got, shown, err := v.PositionOf(dst[0]); got != pos || !shown || err != nil {
				t.Fatalf("row %d at %d, want %d", dst[0], got, pos)
			}
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			checkView(t, r, v, rows, src.Len())
			return
		default:
		}
	}
}

// FuzzView makes a log, a predicate and folds of numbers.
func FuzzView(f *testing.F) {
	f.Add(uint64(1), uint64(2), 300)
	f.Add(uint64(3), uint64(9), 5000)
	f.Fuzz(func(t *testing.T, a, b uint64, n int) {
		if n < 1 || n > 20000 {
			return
		}
		logtest.SmallBlocks(t, 64)
		r := rand.New(rand.NewPCG(a, b))
		log := testlog.Random(r, n)
		src, x := logtest.Indexed(t, log, log.Runs, a%2 == 0)
		p := logtest.RandomPredicate(r, src, 4)
		v := query.NewView(x, p)
		if err := v.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		checkView(t, r, v, visible(src, p, nil, nil), src.Len())
		folded := []int64{r.Int64N(src.Len()), r.Int64N(src.Len())}
		h, err := v.Hide(folded, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Run(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		checkView(t, r, h, visible(src, p, folded, nil), src.Len())
	})
}
