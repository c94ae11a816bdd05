package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A wayIn says what a way into the trace recorder cannot see of LogTest. The
// README of the recorder has it as a table.
type wayIn struct {
	// hooks: the compiler calls the recorder, for every function of a file and
	// not only for those that the truth is about.
	hooks bool
	// noLeave: a function that an exception leaves has no leave; with late it
	// has one if the next event is no leave of a caller.
	noLeave, late bool
	// jumps: a call that ends by a jump to another function has no leave.
	jumps bool
	// jumpingThunks: so do adjustor thunks, which are calls of their own.
	jumpingThunks bool
	// enters: there is a hook for enters only. Leaves are told from the enters
	// behind them, so the last calls may be open, and others closed late: calls
	// took at most as long as they seem. An
	// adjustor thunk, which has no line, is a call of its own.
	enters bool
	// thunks: an adjustor thunk is a call of its own here, too.
	thunks bool
	// unseen are functions that are inlined in every build, where the compiler
	// calls the recorder only for what is really called.
	unseen []string
	// some: the optimizer inlined others too; the rows are those of the truth
	// with calls left out.
	some bool
}

// wayOf reads the name of a lane: compiler, way, optimization.
func wayOf(t *testing.T, lane string) wayIn {
	t.Helper()
	clang := strings.Contains(lane, "clang")
	switch {
	case strings.Contains(lane, "-object"):
		return wayIn{}
	case strings.Contains(lane, "-hooks"), strings.Contains(lane, "-preload"):
		return wayIn{hooks: true, noLeave: clang}
	case strings.Contains(lane, "-fentry"):
		return wayIn{hooks: true, noLeave: true, late: true, enters: clang, unseen: alwaysInlined, some: strings.HasSuffix(lane, "-O2")}
	case strings.Contains(lane, "-nops"):
		return wayIn{hooks: true, noLeave: true, late: true, enters: true, unseen: alwaysInlined, some: strings.HasSuffix(lane, "-O2")}
	case strings.Contains(lane, "-mcount"), strings.Contains(lane, "-xray"):
		return wayIn{hooks: true, noLeave: true, late: true, thunks: clang, unseen: alwaysInlined, some: strings.HasSuffix(lane, "-O2")}
	case strings.Contains(lane, "-probe"), strings.Contains(lane, "-perf"):
		optimized := strings.HasSuffix(lane, "-O2")
		return wayIn{hooks: true, noLeave: true, late: true, thunks: true, unseen: alwaysInlined, some: optimized, jumps: optimized, jumpingThunks: true}
	case strings.Contains(lane, "-bpftrace"): // without those that exceptions leave
		return wayIn{hooks: true, thunks: true, unseen: slices.Concat(alwaysInlined, thrownThrough), some: strings.HasSuffix(lane, "-O2")}
	case strings.Contains(lane, "-penter"):
		return wayIn{hooks: true, noLeave: true, unseen: alwaysInlined,
			some: strings.HasSuffix(lane, "-O2")}
	}
	t.Fatalf("%s: by which way was it recorded?", lane)
	return wayIn{}
}

// alwaysInlined are LogTest's functions that are inlined at -O0 too.
var alwaysInlined = []string{"app::inlinedInner", "app::inlinedOuter", "app::throwsInlined"}

// thrownThrough are the functions that LogTest's exceptions leave.
var thrownThrough = []string{"app::thrower", "app::throwsInlined", "app::passesOn", "app::throwsAgain"}

// TestTraceLogTest compares traces of LogTest, recorded by each way in, with
// the truth for that way: function names, order per thread, depth. The folder
// LOGPARSER_TRACETEST_DIR has a folder a lane.
func TestTraceLogTest(t *testing.T) {
	dir := os.Getenv("LOGPARSER_TRACETEST_DIR")
	if dir == "" {
		t.Skip("LOGPARSER_TRACETEST_DIR is not set")
	}
	logs, err := filepath.Glob(filepath.Join(dir, "*", "LogDetails.lptrace"))
	texts, _ := filepath.Glob(filepath.Join(dir, "*", "LogDetails.txt"))
	if logs = append(logs, texts...); err != nil || len(logs) == 0 {
		t.Fatalf("no traces in %s (%v)", dir, err)
	}
	for _, log := range logs {
		lane := filepath.Base(filepath.Dir(log))
		t.Run(lane, func(t *testing.T) {
			way := wayOf(t, lane)
			names := make(map[string]bool)
			want := make(map[string][]step)
			for thread, steps := range readTruth(t, filepath.Join(filepath.Dir(log), "LogDetails.truth")) {
				for _, s := range steps {
					names[s.function] = true
					if !slices.Contains(way.unseen, s.function) && !way.misses(s) {
						want[thread] = append(want[thread], s)
					}
				}
			}
			got := make(map[string][]step)
			stacks := make(map[string][]string)
			for i, r := range saveCSV(t, log) {
				thread, event, function := r["thread"], r["event"], plainName(r["function"])
				stack := stacks[thread]
				if event == "enter" {
					stack = append(stack, function)
				} else {
					// Calls without a leave are closed by one of a caller.
					for way.noLeave && len(stack) > 0 && way.noLeaveOf(stack[len(stack)-1]) && stack[len(stack)-1] != function {
						stack = stack[:len(stack)-1]
					}
					if len(stack) == 0 || stack[len(stack)-1] != function {
						t.Fatalf("row %d: leave of %s does not match the open calls %v", i, function, stack)
					}
					stack = stack[:len(stack)-1]
				}
				stacks[thread] = stack
				if note := r["note"]; note != "" && !(way.noLeave && note == "no leave" && way.noLeaveOf(function)) &&
					!(way.enters && (note == "open" || note == "no leave" || note == "at most")) {
					t.Errorf("row %d: %s has the note %q", i, function, note)
				}
				if symbols := r["symbols"]; symbols != "matched" && symbols != "embedded" {
					t.Errorf("row %d: the symbols of %s are %q", i, r["module"], symbols)
				}
				s := step{event, function}
				if names[function] && !(way.late && way.misses(s)) && !(way.enters && r["line"] == "") {
					got[thread] = append(got[thread], s)
				}
				if !names[function] && !way.hooks {
					t.Errorf("row %d: %s is no function of LogTest", i, function)
				}
			}
			for thread, stack := range stacks {
				if len(stack) > 0 && !way.enters {
					t.Errorf("thread %s: %v are not left", thread, stack)
				}
			}
			if way.thunks {
				for thread := range got {
					got[thread] = withoutThunks(got[thread])
				}
			}
			if way.some {
				compareSome(t, got, want)
			} else {
				compareTruth(t, got, want)
			}
		})
	}
}

// withoutThunks leaves out the calls of LogTest's adjustor thunk, which ends by a jump to the function
// that has its name.
func withoutThunks(steps []step) (rest []step) {
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		if s.function == "shapes::Square::label" && s.event == "enter" && i+1 < len(steps) && steps[i+1] == s {
			continue // it has no leave, or one behind that of the function that it jumps to
		}
		if s.function == "shapes::Square::label" && s.event == "leave" && i+1 < len(steps) && steps[i+1] == s {
			continue
		}
		if s.function == "shapes::Square::label" && s.event == "enter" && i+2 < len(steps) && steps[i+1] == (step{"leave", s.function}) && steps[i+2] == s {
			i++
			continue
		}
		rest = append(rest, s)
	}
	return rest
}

// noLeaveOf reports whether a call of a function may have no leave.
func (w wayIn) noLeaveOf(function string) bool {
	return w.jumps || slices.Contains(thrownThrough, function) || w.jumpingThunks && function == "shapes::Square::label"
}

// misses reports whether the way need not see a step of the truth.
func (w wayIn) misses(s step) bool {
	return s.event == "leave" && (w.enters || w.noLeave && slices.Contains(thrownThrough, s.function))
}

// compareSome checks that got is what remains of want when steps are left out,
// and that it is not little.
func compareSome(t *testing.T, got, want map[string][]step) {
	t.Helper()
	rows, all := 0, 0
	for thread, steps := range want {
		all += len(steps)
		at := 0
		for i, g := range got[thread] {
			for at < len(steps) && steps[at] != g {
				at++
			}
			if at == len(steps) {
				t.Errorf("thread %s, step %d: %v is not in the truth behind the steps before", thread, i, g)
				break
			}
			at++
			rows++
		}
	}
	if len(got) != len(want) || rows < all/3 {
		t.Errorf("%d rows of %d threads, the truth has %d of %d", rows, len(got), all, len(want))
	}
	t.Logf("%d rows of %d", rows, all)
}
