package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"logparser/export"
	"logparser/rows"
)

// runsOf returns the rows of several runs, and the time at which each run should begin. From run 2 on, local times are known.
// Run 2 begins when the run before it ends, run 3 a minute after run 2 began, and the last run while the one before it was
// still running.
func runsOf(seed uint64) (l list, runs []rows.Run, begins []int64) {
	wall := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	end, base := int64(0), int64(0)
	for i := range 5 {
		p := program(rand.New(rand.NewPCG(seed, uint64(i))), 400*(5-i))
		last := p[len(p)-1].Elapsed
		run := rows.Run{First: int64(len(l)), HasWall: i >= 2, End: last}
		begin := end
		switch i {
		case 2:
			base = begin
			run.Start = wall
		case 3:
			begin = base + 60e9
			run.Start = wall.Add(60e9)
		case 4:
			run.Start = wall.Add(time.Duration(end - base - last/2))
		}
		for k := range p {
			p[k].Index += run.First
			p[k].HasWall, p[k].Wall = run.HasWall, run.Start.Add(time.Duration(p[k].Elapsed))
		}
		l, runs, begins = append(l, p...), append(runs, run), append(begins, begin)
		end = begin + last
	}
	return l, runs, begins
}

// intervalsOf returns the calls of runs in the simplest way: each run by itself.
func intervalsOf(l list, runs []rows.Run, begins []int64) []interval {
	var all []interval
	for i, r := range runs {
		next := int64(len(l))
		if i+1 < len(runs) {
			next = runs[i+1].First
		}
		for _, c := range intervals(l[r.First:next]) {
			c.start, c.end = c.start+begins[i], c.end+begins[i]
			all = append(all, c)
		}
	}
	slices.SortFunc(all, compareIntervals)
	return all
}

// total returns the time of all calls, and that of each function.
func total(all []interval) (sum int64, by map[string]int64) {
	by = make(map[string]int64)
	for _, c := range all {
		by[c.function] += c.end - c.start
		sum += c.end - c.start
	}
	return sum, by
}

// TestRuns saves several runs that are shorter than a minute, whole and filtered. Each run must have its own time, and a call
// without a leave must last as long as its run.
func TestRuns(t *testing.T) {
	filters := map[string]func(r *rows.Row) bool{
		"all":          func(r *rows.Row) bool { return true },
		"enters":       func(r *rows.Row) bool { return r.Event == rows.Enter },
		"a thread":     func(r *rows.Row) bool { return r.Thread == 11 },
		"without run":  func(r *rows.Row) bool { return r.Index >= 2000 && r.Index < 3600 || r.Index >= 4800 },
		"only open":    func(r *rows.Row) bool { return r.Note == "open" },
		"early or not": func(r *rows.Row) bool { return r.Index%4000 < 1200 && r.Event == rows.Enter },
	}
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		l, runs, begins := runsOf(seed)
		all := intervalsOf(l, runs, begins)
		for name, keep := range filters {
			var some list
			var want []interval
			for i := range l {
				if !keep(&l[i]) {
					continue
				}
				some = append(some, l[i])
			}
			// A call without a leave may last longer if a filter hides the row that shows its end.
			loose := func(c interval) bool { return c.note == "no leave" && name != "all" }
			entered := make(map[interval]bool)
			run := 0
			for i := range some {
				r := &some[i]
				for run+1 < len(runs) && runs[run+1].First <= r.Index {
					run++
				}
				if r.Event == rows.Enter {
					entered[interval{thread: r.Thread, function: r.Function, start: begins[run] + r.Elapsed, note: r.Note}] = true
				}
			}
			shown := func(c interval) bool {
				return entered[interval{thread: c.thread, function: c.function, start: c.start, note: c.note}]
			}
			for _, c := range all {
				if name == "all" || shown(c) {
					want = append(want, c)
				}
			}
			want = slices.DeleteFunc(want, loose)
			opt := export.Options{Runs: func() []rows.Run { return runs }}
			t.Run(fmt.Sprint(seed, " ", name), func(t *testing.T) {
				chrome, _ := readChrome(t, write(t, "chrome", some, opt))
				perfetto, _ := readPerfetto(t, write(t, "perfetto", some, opt))
				speedscope := readSpeedscope(t, write(t, "speedscope", some, opt))
				same(t, "chrome", slices.DeleteFunc(slices.Clone(chrome), loose), want)
				same(t, "perfetto", perfetto, chrome)
				same(t, "speedscope", speedscope, without(chrome))
				_, by := total(chrome)
				graph, totals := readCallgrind(t, write(t, "callgrind", some, opt))
				for function, time := range by {
					if graph[function].inclusive != time {
						t.Errorf("callgrind: %s took %d ns, want %d", function, graph[function].inclusive, time)
					}
				}
				if _, sum := readFolded(t, write(t, "folded", some, opt)); sum != totals[0] {
					t.Errorf("folded: %d ns, %d in callgrind", sum, totals[0])
				}
			})
		}
	}
}

// TestRunsInParts saves several filtered runs in parts. The parts of a call must together be as long as the call.
func TestRunsInParts(t *testing.T) {
	l, runs, _ := runsOf(1)
	enters := slices.DeleteFunc(slices.Clone(l), func(r rows.Row) bool { return r.Event != rows.Enter })
	opt := export.Options{Runs: func() []rows.Run { return runs }}
	for name, some := range map[string]list{"all": l, "enters": enters} {
		for form, readCalls := range map[string]func(text []byte) []interval{
			"chrome":     func(text []byte) []interval { calls, _ := readChrome(t, text); return calls },
			"perfetto":   func(text []byte) []interval { calls, _ := readPerfetto(t, text); return calls },
			"speedscope": func(text []byte) []interval { return readSpeedscope(t, text) },
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				want, by := total(readCalls(write(t, form, some, opt)))
				opt := opt
				opt.Split.Rows = 150
				paths, err := export.Save(context.Background(), filepath.Join(t.TempDir(), "a.x"), format(t, form), some, opt)
				if err != nil || len(paths) < 10 {
					t.Fatalf("%d parts, %v", len(paths), err)
				}
				var calls []interval
				for _, p := range paths {
					calls = append(calls, readCalls(read(t, p))...)
				}
				sum, got := total(calls)
				for function := range by {
					if got[function] != by[function] {
						t.Errorf("%s: %d ns, want %d", function, got[function], by[function])
					}
				}
				if sum != want {
					t.Errorf("%d ns in %d parts, want %d", sum, len(paths), want)
				}
			})
		}
	}
}

// TestRunsStart checks that time 0 is the local time of the first run, even if a filter hides that run.
func TestRunsStart(t *testing.T) {
	l, runs, _ := runsOf(1)
	runs, some := runs[2:], l[len(l)-100:]
	text := write(t, "chrome", some, export.Options{Runs: func() []rows.Run { return runs }})
	var file struct{ OtherData struct{ Start string } }
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&file); err != nil {
		t.Fatal(err)
	}
	if want := "2024-03-01T12:00:00.000000000"; file.OtherData.Start != want {
		t.Errorf("start %q, want %s", file.OtherData.Start, want)
	}
}
