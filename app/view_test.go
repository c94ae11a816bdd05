package app

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"logparser/parser/classic"
	"logparser/rows"
	"logparser/rows/filter"
)

// viewOf makes a view and waits until all rows were looked at.
func viewOf(t *testing.T, s *Session, sel Selection) *View {
	t.Helper()
	v, err := s.View(context.Background(), sel, nil)
	if err == nil {
		err = v.Wait(context.Background())
	}
	if err != nil {
		t.Fatalf("%+v: %v", sel, err)
	}
	if !v.Done() {
		t.Errorf("%+v is not done", sel)
	}
	return v
}

// indexes returns the log rows of all positions.
func indexes(t *testing.T, v *View) []int64 {
	t.Helper()
	list := make([]rows.Row, v.Len())
	if n, err := v.Read(list, 0); n != len(list) {
		t.Fatalf("%d of %d rows: %v", n, len(list), err)
	}
	var found []int64
	for i, r := range list {
		if row := v.RowOf(int64(i)); row != r.Index {
			t.Fatalf("position %d is row %d, and %d is read", i, row, r.Index)
		}
		found = append(found, r.Index)
	}
	return found
}

func TestView(t *testing.T) {
	ctx := context.Background()
	sampleLogs(t, 300, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		r := rand.New(rand.NewPCG(2, 2))
		for range rounds(20) {
			sel := Selection{Where: []string{"", "event:enter", "-thread:1", "func:a or mark:o", env.expression(r, 0)}[r.IntN(5)]}
			for range r.IntN(3) {
				sel.Folded = append(sel.Folded, int64(r.IntN(len(env.rows))))
			}
			where, err := filter.Parse(sel.Where)
			if err != nil {
				t.Fatal(err)
			}
			var want []int64
			for i := range env.rows {
				inside := slices.ContainsFunc(sel.Folded, func(row int64) bool { return row != int64(i) && slices.Contains(env.calls[i], row) })
				if where.Matches(&env.filled[i], env) && !inside {
					want = append(want, int64(i))
				}
			}
			v := viewOf(t, s, sel)
			if got := indexes(t, v); !slices.Equal(got, want) {
				t.Fatalf("%+v: rows %v, want %v", sel, got, want)
			}
			if v.Total() != int64(len(env.rows)) || v.Hidden() != v.Total()-v.Len() {
				t.Errorf("%+v: total %d, hidden %d", sel, v.Total(), v.Hidden())
			}
			for row := range int64(len(env.rows)) {
				i, found := slices.BinarySearch(want, row)
				if !found {
					i--
				}
				if pos, shown := v.PositionOf(row); pos != int64(i) || shown != found {
					t.Fatalf("%+v: row %d is at %d (%t), want %d", sel, row, pos, shown, i)
				}
			}
			checkFolds(t, v, env, want)
			checkSearch(ctx, t, v, env, want)
		}
	})
}

// checkFolds checks what a view says of the calls folded in it.
func checkFolds(t *testing.T, v *View, env *rowEnv, shown []int64) {
	t.Helper()
	for pos, row := range shown {
		hidden := int64(0)
		for i := range env.rows {
			if int64(i) != row && slices.Contains(env.calls[i], row) {
				hidden++
			}
		}
		folded := slices.Contains(v.Selection().Folded, row) && env.rows[row].Event == rows.Enter
		if got, ok := v.Folded(int64(pos)); ok != folded || ok && got != hidden {
			t.Fatalf("%+v: row %d hides %d (%t), want %d (%t)", v.Selection(), row, got, ok, hidden, folded)
		}
	}
}

// checkSearch searches a view from everywhere.
func checkSearch(ctx context.Context, t *testing.T, v *View, env *rowEnv, shown []int64) {
	t.Helper()
	const text = "A"
	matcher := rows.NewMatcher(text)
	var found []int64
	for pos, row := range shown {
		if matcher.Matches(&env.rows[row]) {
			found = append(found, int64(pos))
		}
	}
	for pos := int64(-1); pos <= v.Len(); pos += 1 + v.Len()/20 {
		next, before := int64(-1), int64(-1)
		i, _ := slices.BinarySearch(found, pos)
		if i < len(found) {
			next = found[i]
		}
		if i, _ := slices.BinarySearch(found, pos+1); i > 0 {
			before = found[i-1]
		}
		if got, err := v.Search(ctx, pos, Query{Text: text}); err != nil || got != next {
			t.Fatalf("%+v: from %d: %d, want %d: %v", v.Selection(), pos, got, next, err)
		}
		if got, err := v.Search(ctx, pos, Query{Text: text, Backward: true}); err != nil || got != before {
			t.Fatalf("%+v: back from %d: %d, want %d: %v", v.Selection(), pos, got, before, err)
		}
	}
	count, marks, err := v.Matches(ctx, text, 7, nil)
	sum := int64(0)
	for _, m := range marks {
		sum += int64(m)
	}
	if err != nil || count != int64(len(found)) || sum != count || len(marks) != 7 {
		t.Fatalf("%+v: %d matches, marks %v, want %d: %v", v.Selection(), count, marks, len(found), err)
	}
}

// TestViewOfLiveLog has a log that gains rows, calls that end, another thread
// and another function that the expression is about.
func TestViewOfLiveLog(t *testing.T) {
	onThread := func(record []byte, thread byte) []byte {
		record[8] = thread
		return record
	}
	path := newLiveLog(t, record(0x401000, 1000, true), record(0x402000, 1001, true))
	s := open(t, Inputs{Log: path, RecordSize: classic.Size64})
	ctx := context.Background()
	var views []*View
	for _, where := range []string{"", "address:40", "func:0x403", "thread:>7", "dur:>3ms", "mark:running", "-func:=0x402000 thread:7", "time:>=3ms", "in:=0x401000"} {
		views = append(views, viewOf(t, s, Selection{Where: where}))
	}
	f := follow(t, s)
	for i, r := range [][]byte{
		record(0x402000, 1005, false), record(0x403000, 1006, true), onThread(record(0x404000, 1007, true), 9),
		record(0x403000, 1008, false), onThread(record(0x403000, 1009, true), 9),
	} {
		appendTo(t, path, r)
		n := int64(i + 3)
		f.wait(t, func(u Update) bool { return u.Rows == n })
		env := newRowEnv(t, s)
		for _, v := range views {
			if err := v.Update(ctx, nil); err != nil {
				t.Fatal(err)
			}
			if err := v.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			var want []int64
			for i := range env.rows {
				if v.where.Matches(&env.filled[i], env) {
					want = append(want, int64(i))
				}
			}
			if got := indexes(t, v); !slices.Equal(got, want) {
				t.Errorf("%d rows, %s: %v, want %v", n, v.Selection().Where, got, want)
			}
		}
	}
}

// TestRepeats collapses calls that do the same again and again.
func TestRepeats(t *testing.T) {
	var records [][]byte
	tick := uint32(1000)
	call := func(address uint64, inside func()) {
		records = append(records, record(address, tick, true))
		inside()
		tick++
		records = append(records, record(address, tick, false))
	}
	call(0x401000, func() {
		for range 100 {
			call(0x402000, func() {
				for range 5 {
					call(0x403000, func() {})
				}
			})
		}
		call(0x404000, func() {})
	})
	s := open(t, Inputs{Log: newLiveLog(t, records...), RecordSize: classic.Size64})
	v := viewOf(t, s, Selection{Repeats: true})
	n := int64(len(records))
	// The first of the hundred with the first of its five, and the rest.
	if got, want := indexes(t, v), []int64{0, 1, 2, 3, 12, n - 3, n - 2, n - 1}; !slices.Equal(got, want) {
		t.Errorf("rows %v of %d", got, n)
	}
	var counts []int64
	for pos := range v.Len() {
		counts = append(counts, v.Repeat(pos))
	}
	if want := []int64{1, 100, 5, 1, 1, 1, 1, 1}; !slices.Equal(counts, want) || v.Hidden() != n-int64(len(want)) {
		t.Errorf("counts %v, want %v; %d hidden", counts, want, v.Hidden())
	}
}

// TestOutdated gives a session names after a view was made.
func TestOutdated(t *testing.T) {
	dir := t.TempDir()
	lane := logtest(t, "windows-x64-clang")
	copyFiles(t, lane, dir, "LogDetails.dat", "LogDetails.bin")
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	sel := Selection{Where: "func:factorial"}
	all, none := viewOf(t, s, Selection{}), viewOf(t, s, sel)
	if none.Len() != 0 {
		t.Fatalf("%d rows have the function without symbols", none.Len())
	}
	stats, err := s.Statistics(context.Background(), Selection{Where: "func:factorial"}, nil)
	if err != nil || len(stats) != 0 {
		t.Errorf("statistics %v, %v", stats, err)
	}
	in := s.Inputs()
	in.Symbols = []string{filepath.Join(lane, "logtest.pdb")}
	if err := s.SetSymbols(context.Background(), in, nil); err != nil {
		t.Fatal(err)
	}
	if all.Outdated() || !none.Outdated() {
		t.Errorf("out of date: all rows %t, a function's %t", all.Outdated(), none.Outdated())
	}
	if v := viewOf(t, s, sel); v.Len() == 0 || v.Outdated() {
		t.Errorf("made again: %d rows, out of date %t", v.Len(), v.Outdated())
	}
	stats, err = s.Statistics(context.Background(), Selection{Where: "func:factorial"}, nil)
	if err != nil || len(stats) != 1 {
		t.Errorf("statistics %v, %v", stats, err)
	}
}

func TestComplete(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "windows-x64-clang"), NoRecordedPaths: true})
	for text, want := range map[string]string{"func:factor": "factorial", "fu": "func:", "event:le": "leave", "module:logt": "logtest.exe", "mark:str": "stray"} {
		c := s.Complete(text, len(text), 5)
		if !slices.ContainsFunc(c.Choices, func(s string) bool { return s == want || len(s) > 3 && s[len(s)-len(want):] == want }) {
			t.Errorf("%s: %q, want %s", text, c.Choices, want)
		}
	}
	if c := s.Complete("func:", 5, 3); len(c.Choices) != 3 {
		t.Errorf("all functions: %q", c.Choices)
	}
	logs := family(t, 51, 0)
	s = open(t, Inputs{Log: logs[0], Others: logs[1:], NoRecordedPaths: true})
	for text, want := range map[string]string{"process:chi": "51 child", "thread:7": "7", "thread:re": "reader", "threadname:ma": "main", "symbols:not": "not found"} {
		if c := s.Complete(text, len(text), 5); !slices.Contains(c.Choices, want) {
			t.Errorf("%s: %q, want %s", text, c.Choices, want)
		}
	}
}

// TestViewWhileLoading makes views before the log is paired and named.
func TestViewWhileLoading(t *testing.T) {
	s, err := Open(context.Background(), Inputs{Log: "../assets/sample", NoRecordedPaths: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	ctx := context.Background()
	sel := Selection{Where: "event:enter address:0x"}
	early, err := s.View(ctx, sel, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.View(ctx, Selection{}, nil)
	if err != nil || all.Len() == 0 || all.Row(5).Index != 5 {
		t.Errorf("no rows before loading: %v", err)
	}
	if err := s.Load(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := early.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	want := indexes(t, viewOf(t, s, sel))
	if got := indexes(t, early); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("begun early: %d rows, want %d", len(got), len(want))
	}
	// Work that is stopped leaves what it has.
	stopped, stop := context.WithCancel(ctx)
	stop()
	v, err := s.View(stopped, Selection{Where: "dur:>0"}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v, %v", v, err)
	}
}

// TestViewsAtOnce makes views while symbols change.
func TestViewsAtOnce(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "windows-x64-clang"), NoRecordedPaths: true})
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := 0; ctx.Err() == nil; n++ {
				sel := Selection{Where: []string{"func:factorial", "dur:>0 in:main", "text:~o", "mark:open or thread:1"}[(i+n)%4]}
				v, err := s.View(ctx, sel, nil)
				if err != nil {
					continue
				}
				v.Wait(ctx)
				v.Search(ctx, 0, Query{Text: "m"})
				v.Row(0)
				s.Statistics(ctx, sel, nil)
				s.Stack(int64(n % 100))
			}
		}()
	}
	for i := range 10 {
		in := s.Inputs()
		in.Symbols = []string{t.TempDir()}
		in.NoRecordedPaths = i%2 == 0
		if err := s.SetSymbols(context.Background(), in, nil); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	if v := viewOf(t, s, Selection{Where: "func:factorial"}); v.Len() == 0 {
		t.Error("no rows at the end")
	}
}
