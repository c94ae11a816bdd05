package app

import (
	"bytes"
	"context"
	"fmt"
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
