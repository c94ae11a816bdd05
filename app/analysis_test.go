package app

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logparser/calls/index"
	"logparser/rows"
	"logparser/rows/filter"
)

// A plainStat is a FunctionStat worked out from the rows one by one.
type plainStat struct {
	calls, timed, running, total, self, nonRecursive int64
	durations                                        []int64
}

type statKey struct {
	function, module, source string
	thread                   uint32
}

// statistics sums up the calls whose enters match, by a key of each.
func (e *rowEnv) statistics(where *filter.Expr, key func(r *rows.Row) statKey) map[statKey]*plainStat {
	stats := map[statKey]*plainStat{}
	for i := range e.rows {
		r := &e.rows[i]
		if r.Event != rows.Enter || !where.Matches(&e.filled[r.Index], e) {
			continue
		}
		k := key(r)
		st := stats[k]
		if st == nil {
			st = &plainStat{}
			stats[k] = st
		}
		st.calls++
		d, self := r.Duration, e.self[i]
		if long, ok := e.running[r.Index]; ok {
			st.running++
			d, self = long, e.runningSelf[r.Index]
		} else if d == rows.NoDuration {
			continue
		} else {
			st.timed++
			st.durations = append(st.durations, d)
		}
		st.total += d
		st.self += self
		within := slices.ContainsFunc(e.calls[i], func(c int64) bool { return c != int64(i) && key(&e.rows[c]) == k })
		if !within {
			st.nonRecursive += d
		}
	}
	return stats
}

func functionOf(r *rows.Row) statKey { return statKey{r.Function, r.Module, r.Source, 0} }

// TestStatistics holds the statistics of the sample logs, whole and filtered,
// against sums over their rows.
func TestStatistics(t *testing.T) {
	ctx := context.Background()
	type method func(*Session, context.Context, Selection, Progress) ([]FunctionStat, error)
	sampleLogs(t, 3*index.BlockLen, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		r := rand.New(rand.NewPCG(3, 3))
		expressions := []string{"", "event:leave", "dur:>0", "-in:main"}
		for range rounds(30) {
			expressions = append(expressions, env.expression(r, 1))
		}
		for _, text := range expressions {
			where, err := filter.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for name, m := range map[string]struct {
				get method
				key func(r *rows.Row) statKey
			}{
				"functions": {(*Session).Statistics, functionOf},
				"threads":   {(*Session).ThreadStatistics, func(r *rows.Row) statKey { return statKey{r.Function, r.Module, r.Source, r.Thread} }},
				"modules":   {(*Session).ModuleStatistics, func(r *rows.Row) statKey { return statKey{module: r.Module} }},
			} {
				list, err := m.get(s, ctx, Selection{Where: text}, nil)
				if err != nil {
					t.Fatalf("%s of %s: %v", name, text, err)
				}
				checkStatistics(t, name+" of "+text, list, env.statistics(where, m.key))
			}
			if t.Failed() {
				return
			}
		}
	})
}

func checkStatistics(t *testing.T, what string, list []FunctionStat, want map[statKey]*plainStat) {
	t.Helper()
	if len(list) != len(want) {
		t.Errorf("%s: %d lines, want %d", what, len(list), len(want))
	}
	for i := range list {
		f := &list[i]
		w := want[statKey{f.Function, f.Module, f.Source, f.Thread}]
		if w == nil {
			t.Errorf("%s: %+v has no calls", what, f.FunctionRef)
			continue
		}
		got := plainStat{f.Calls, f.Timed, f.Running, f.Total, f.Self, f.NonRecursive, nil}
		slices.Sort(w.durations)
		if fmt.Sprint(got) != fmt.Sprint(plainStat{w.calls, w.timed, w.running, w.total, w.self, w.nonRecursive, nil}) {
			t.Errorf("%s: %s has %+v, want %+v", what, f.Function, got, *w)
		}
		if w.timed == 0 {
			continue
		}
		mean := int64(0)
		for _, d := range w.durations {
			mean += d
		}
		mean /= w.timed
		if f.Min != w.durations[0] || f.Max != w.durations[len(w.durations)-1] || f.Mean != mean {
			t.Errorf("%s: %s is between %d and %d, %d on average; want %v", what, f.Function, f.Min, f.Max, f.Mean, w.durations)
		}
		for q, got := range map[float64]int64{0.50: f.P50, 0.95: f.P95, 0.99: f.P99} {
			exact := w.durations[int(math.Ceil(q*float64(len(w.durations))))-1]
			if got < exact-exact/16 || got > exact+exact/16 {
				t.Errorf("%s: quantile %g of %s is %d, want %d", what, q, f.Function, got, exact)
			}
		}
		var bars int64
		for _, b := range f.Durations {
			bars += b.Calls
			n, _ := slices.BinarySearch(w.durations, b.To)
			m, _ := slices.BinarySearch(w.durations, b.From)
			if int64(n-m) != b.Calls {
				t.Errorf("%s: %s has %d calls of %d to %d, want %d", what, f.Function, b.Calls, b.From, b.To, n-m)
			}
		}
		if bars != w.timed {
			t.Errorf("%s: the histogram of %s has %d calls, want %d", what, f.Function, bars, w.timed)
		}
	}
}

// TestCallTree holds the call trees of the sample logs against chains of callers
// that are worked out from the rows.
func TestCallTree(t *testing.T) {
	ctx := context.Background()
	sampleLogs(t, 3*index.BlockLen, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		for _, text := range []string{"", "func:a", "-in:a", "dur:>1ms"} {
			where, err := filter.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, opt := range []TreeOptions{{}, {BottomUp: true}, {ByThread: true}} {
				tree, err := s.CallTree(ctx, Selection{Where: text}, opt, nil)
				if err != nil {
					t.Fatal(err)
				}
				type sums struct{ calls, timed, running, total, self int64 }
				got, want := map[string]sums{}, map[string]sums{}
				tree.Walk(func(n *TreeNode, path []*TreeNode) bool {
					var names []string
					for _, p := range append(slices.Clone(path), n) {
						names = append(names, fmt.Sprintf("%s %s %s", p.Label(), p.Module, p.Source))
					}
					if n.Calls > 0 && n.Function != "" {
						got[strings.Join(names, "\n")] = sums{n.Calls, n.Timed, n.Running, n.Total, n.Self}
					}
					return true
				})
				for i := range env.rows {
					r := &env.rows[i]
					if r.Event != rows.Enter || !where.Matches(&env.filled[r.Index], env) {
						continue
					}
					var names []string
					for _, c := range env.calls[i] {
						f := &env.rows[c]
						names = append(names, fmt.Sprintf("%s %s %s", f.Function, f.Module, f.Source))
					}
					add := func(names []string) {
						if opt.ByThread {
							names = append([]string{strings.TrimSuffix(fmt.Sprintf("thread %d %s", r.Thread, env.ThreadName(r)), " ") + "  "}, names...)
						}
						w := want[strings.Join(names, "\n")]
						w.calls++
						d, self := r.Duration, env.self[i]
						if long, ok := env.running[r.Index]; ok {
							w.running++
							d, self = long, env.runningSelf[r.Index]
						} else if d >= 0 {
							w.timed++
						}
						if d >= 0 {
							w.self += self
							// From the bottom up a function's time within itself is counted once.
							if !opt.BottomUp || !slices.ContainsFunc(env.calls[i], func(c int64) bool {
								return c != int64(i) && functionOf(&env.rows[c]) == functionOf(r)
							}) {
								w.total += d
							}
						}
						want[strings.Join(names, "\n")] = w
					}
					if opt.BottomUp {
						slices.Reverse(names)
						for n := range names {
							add(names[:n+1])
						}
					} else {
						add(names)
					}
				}
				for path, w := range want {
					if got[path] != w {
						t.Errorf("%+v of %q: %q has %+v, want %+v", opt, text, path, got[path], w)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%+v of %q: %d nodes, want %d", opt, text, len(got), len(want))
				}
			}
		}
	})
}

// TestReading reads call sequences: stacks, callers, next calls.
func TestReading(t *testing.T) {
	ctx := context.Background()
	sampleLogs(t, 300, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		for i := range env.rows {
			r := &env.rows[i]
			stack, err := s.Stack(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, f := range stack {
				got = append(got, f.Enter)
				enter := &env.rows[f.Enter]
				if f.Function != enter.Function || f.Module != enter.Module || f.Thread != r.Thread || f.Depth != enter.Depth ||
					f.Elapsed != enter.Elapsed || f.Duration != enter.Duration || f.Leave != env.partner[f.Enter] || f.Note != enter.Note {
					t.Fatalf("row %d: frame %+v of %+v", i, f, *enter)
				}
			}
			if !slices.Equal(got, env.calls[i]) {
				t.Fatalf("row %d has calls %v, want %v", i, got, env.calls[i])
			}
			if n := len(got); n > 1 {
				if caller, ok, err := s.Caller(int64(i)); err != nil || !ok || caller != got[n-2] {
					t.Fatalf("row %d: caller %d (%t), want %d: %v", i, caller, ok, got[n-2], err)
				}
			}
			if r.Event != rows.Enter || i%7 != 0 {
				continue
			}
			next, before := int64(-1), int64(-1)
			for k := range env.rows {
				if o := &env.rows[k]; o.Event == rows.Enter && functionOf(o) == functionOf(r) {
					if k < i {
						before = int64(k)
					} else if k > i && next < 0 {
						next = int64(k)
					}
				}
			}
			if row, ok, err := s.NextCall(ctx, int64(i), false); err != nil || ok != (next >= 0) || ok && row != next {
				t.Fatalf("row %d: next call %d (%t), want %d: %v", i, row, ok, next, err)
			}
			if row, ok, err := s.NextCall(ctx, int64(i), true); err != nil || ok != (before >= 0) || ok && row != before {
				t.Fatalf("row %d: call before %d (%t), want %d: %v", i, row, ok, before, err)
			}
		}
	})
}

// TestTimeline holds spans that are wide enough to be drawn each against the
// calls.
func TestTimeline(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	env := newRowEnv(t, s)
	tl := s.Timeline()
	if err := tl.Measure(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	from, to := tl.Range()
	lanes := tl.Lanes()
	if len(lanes) != len(s.Threads()) || from != 0 || to < env.rows[len(env.rows)-1].Elapsed {
		t.Errorf("lanes %+v from %d to %d", lanes, from, to)
	}
	for k, lane := range lanes {
		deepest := 0
		for i := range env.rows {
			if r := &env.rows[i]; r.Thread == lane.Thread {
				deepest = max(deepest, r.Depth+1)
			}
		}
		if lane.Depth != deepest {
			t.Errorf("lane %+v is %d deep", lane, deepest)
		}
		spans, _, err := tl.Spans(nil, k, from, to+1, 4000)
		if err != nil {
			t.Fatal(err)
		}
		single := 0
		for _, sp := range spans {
			if sp.Calls != 1 {
				continue
			}
			single++
			r := &env.rows[sp.Row]
			if sp.Function != r.Function || sp.From != r.Elapsed || sp.Depth != r.Depth || r.Duration >= 0 && sp.To-sp.From != r.Duration {
				t.Errorf("span %+v of row %+v", sp, *r)
			}
		}
		for i := range env.rows {
			r := &env.rows[i]
			wide := r.Duration > (to-from)/1000
			if r.Thread == lane.Thread && r.Event == rows.Enter && wide && !slices.ContainsFunc(spans, func(sp Span) bool { return sp.Row == int64(i) && sp.Calls == 1 }) {
				t.Errorf("lane %d: call %+v is not drawn", k, *r)
			}
		}
		if len(spans) > 0 && single == 0 {
			t.Errorf("lane %d has no call by itself", k)
		}
	}
	if row := s.RowAtTime(env.rows[50].Elapsed); env.rows[row].Elapsed != env.rows[50].Elapsed || row > 50 {
		t.Errorf("row at time %d: %d", env.rows[50].Elapsed, row)
	}
	if row := s.RowAtTime(1 << 60); row != int64(len(env.rows)-1) {
		t.Errorf("row at the end: %d", row)
	}
}

func TestWriteAnalysis(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	list, err := s.ThreadStatistics(context.Background(), Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteStatistics(&b, "csv", list, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != len(list)+1 || !strings.HasPrefix(b.String(), "function,module,source,line,thread,calls,") {
		t.Errorf("%d lines for %d functions: %.100s", lines, len(list), b.String())
	}
	tree, err := s.CallTree(context.Background(), Selection{}, TreeOptions{ByThread: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	nodes := 0
	tree.Walk(func(*TreeNode, []*TreeNode) bool { nodes++; return true })
	b.Reset()
	if err := WriteTree(&b, "csv", tree, SaveOptions{}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines != nodes+1 || !strings.Contains(b.String(), "\n0,thread ") {
		t.Errorf("%d lines for %d nodes: %.200s", lines, nodes, b.String())
	}
}

// TestStatisticTexts: what is not known of a function's calls is not shown as a time of 0, and a mean of several calls has more digits.
func TestStatisticTexts(t *testing.T) {
	second := &rows.Process{Number: 2, ID: 51, Name: "child", Label: "51 child"}
	for _, test := range []struct {
		stat        FunctionStat
		sum, single int64
		digits      int
		thread      string
	}{
		{FunctionStat{Timed: 2, Thread: 7, ThreadName: "main"}, 5, 5, 6, "7 main"},
		{FunctionStat{Timed: 1, Thread: 7}, 5, 5, 3, "7"},
		{FunctionStat{Running: 1, Thread: 7, ThreadName: "main", Process: second}, 5, rows.NoDuration, 3, "7 main, process 51 child"},
		{FunctionStat{Thread: 7, Process: second}, rows.NoDuration, rows.NoDuration, 3, "7, process 51 child"},
	} {
		f := &test.stat
		if f.Sum(5) != test.sum || f.Single(5) != test.single || f.MeanDigits(3) != test.digits || f.ThreadText() != test.thread {
			t.Errorf("%+v: sum %d, single %d, %d digits, thread %q", *f, f.Sum(5), f.Single(5), f.MeanDigits(3), f.ThreadText())
		}
	}
	if most := (&FunctionStat{Timed: 2}).MeanDigits(9); most != 9 {
		t.Errorf("a mean has %d digits of a second", most)
	}
}

// TestSumBounds says how far sums can be relied on where calls were running at an unknown end, and where leaves are late.
func TestSumBounds(t *testing.T) {
	for _, test := range []struct {
		timed, running int64
		endKnown, late bool
		sum, self      rows.Bound
	}{
		{1, 0, false, false, 0, 0},
		{1, 1, true, false, 0, 0},
		{1, 1, false, false, rows.AtLeast, rows.AtLeast},
		{1, 0, false, true, rows.AtMost, rows.About},
		{0, 1, true, true, 0, rows.About},
		{1, 1, true, true, rows.AtMost, rows.About},
		{1, 1, false, true, rows.About, rows.About},
	} {
		if sum, self := sumBounds(test.timed, test.running, test.endKnown, test.late); sum != test.sum || self != test.self {
			t.Errorf("%+v: sum %v, self %v", test, sum, self)
		}
	}
}

// TestReadingOutside asks for rows that are not there and with filters that cannot be read: that is told, and nothing else.
func TestReadingOutside(t *testing.T) {
	s := openText(t, threeRuns)
	ctx := t.Context()
	for _, row := range []int64{-1, s.Rows().Len(), 1 << 60} {
		if stack, err := s.Stack(row); err == nil || len(stack) != 0 {
			t.Errorf("row %d has the stack %v", row, stack)
		}
		if _, ok, err := s.Caller(row); err == nil || ok {
			t.Errorf("row %d has a caller", row)
		}
		if _, ok, err := s.NextCall(ctx, row, false); err == nil || ok {
			t.Errorf("row %d has a next call", row)
		}
	}
	for _, sel := range []Selection{{Where: "("}, {Where: "no:such"}} {
		list, err := s.Statistics(ctx, sel, nil)
		tree, err2 := s.CallTree(ctx, sel, TreeOptions{}, nil)
		if err == nil || err2 == nil || list != nil || tree != nil {
			t.Errorf("where %q: %v, %v", sel.Where, err, err2)
		}
	}
	// Where nothing is left of a selection there is a tree, and it is empty.
	if tree, err := s.CallTree(ctx, Selection{Where: "func:nowhere"}, TreeOptions{}, nil); err != nil || tree == nil || len(tree.Roots) != 0 || tree.Calls != 0 {
		t.Errorf("the tree of nothing is %+v, %v", tree, err)
	}
}

// TestWriteSeveral writes the statistics and the tree of several processes as objects and as a table: each has its process.
func TestWriteSeveral(t *testing.T) {
	logs := family(t, 51, 0)
	s := open(t, Inputs{Log: logs[0], Others: logs[1:]})
	list, err := s.ThreadStatistics(t.Context(), Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := s.CallTree(t.Context(), Selection{}, TreeOptions{ByThread: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int) // calls by process
	for i := range list {
		want[list[i].Process.Label] += int(list[i].Calls)
	}
	if len(want) != 2 {
		t.Fatalf("the calls are of %v", want)
	}
	for name, write := range map[string]func(w io.Writer, format string) error{
		"statistics": func(w io.Writer, format string) error { return WriteStatistics(w, format, list, SaveOptions{}) },
		"tree":       func(w io.Writer, format string) error { return WriteTree(w, format, tree, SaveOptions{}) },
	} {
		var table, objects bytes.Buffer
		if err := errors.Join(write(&table, "csv"), write(&objects, "jsonl")); err != nil {
			t.Fatal(err)
		}
		cells, err := csv.NewReader(&table).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		got := make(map[string]int)
		lines := strings.Split(strings.TrimSpace(objects.String()), "\n")
		if len(lines) != len(cells)-1 {
			t.Fatalf("%s: %d objects, and a table of %d rows", name, len(lines), len(cells)-1)
		}
		for i, line := range lines {
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				t.Fatalf("%s: %v in %s", name, err, line)
			}
			for k, column := range cells[0] {
				if cell := cells[i+1][k]; cell != "" && fmt.Sprint(object[column]) != cell {
					t.Errorf("%s: %s is %q in the table and %v in the object", name, column, cell, object[column])
				}
			}
			if calls, ok := object["calls"].(float64); ok && object["depth"] == nil {
				got[object["process"].(string)] += int(calls)
			}
		}
		if name == "statistics" && !maps.Equal(got, want) {
			t.Errorf("%s: calls are %v, want %v", name, got, want)
		}
	}
}
