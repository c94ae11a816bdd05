package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A jumpsRun is a run of testdata/jumps.c: what the program has printed of its calls, and what is shown of them.
type jumpsRun struct {
	log string
	// calls are those whose results can be known, by their names and arguments. unknowable are the others.
	calls, unknowable map[string]string
	// shown are the calls that the program has printed, of them those with a result, and wrong those with another one.
	shown        map[string]bool
	known, wrong []string
	// missing are those that are shown without a result that can be known.
	missing []string
}

// recordJumps records a build of the program.
func recordJumps(t *testing.T, program string, options ...string) *jumpsRun {
	t.Helper()
	dir := filepath.Dir(program)
	folder := t.TempDir()
	arguments := slices.Concat([]string{"--values", "*", "-o", folder, "--head", "0"}, options, []string{"./program"})
	out, err := recordProcess(t, program, arguments...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := &jumpsRun{log: folder, calls: make(map[string]string), unknowable: make(map[string]string), shown: make(map[string]bool)}
	names := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		to := r.calls
		line, unknowable := strings.CutPrefix(strings.TrimSpace(line), "? ")
		if unknowable {
			to = r.unknowable
		}
		call, result, _ := strings.Cut(line, ") = ")
		to[strings.TrimSuffix(call, ")")] = result
		name, _, _ := strings.Cut(line, "(")
		names[name] = true
	}
	shown := process(t, "show", folder, "--where", "event:enter")
	shown.Dir = dir
	table, err := shown.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		_, line, ok := strings.Cut(line, "-> ")
		if name, _, _ := strings.Cut(line, "("); !ok || !names[name] {
			continue
		}
		line, _, _ = strings.Cut(line, "  ")
		line = strings.TrimSpace(line)
		call, result, _ := strings.Cut(line, ") = ")
		call = strings.TrimSuffix(call, ")")
		r.shown[call] = true
		want, knowable := r.calls[call]
		switch {
		case knowable && result == want:
			r.known = append(r.known, line)
		case result != "?":
			r.wrong = append(r.wrong, line)
		case knowable:
			r.missing = append(r.missing, line)
		}
	}
	return r
}

// TestResultsOfJumps records functions that end by a jump to another one, in a thread and on the stack of a coroutine, too. Their
// results are shown as their callers got them, and none is wrong: neither of calls that share their place on the stack and their
// caller, nor where a signal handler comes between, or leaves the call, or nothing is recorded for a while.
func TestResultsOfJumps(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	for _, build := range []string{"-O2", "-O2 -fno-plt", "-O2 -fcf-protection -Wl,-z,ibtplt", "-O2 -Wl,-z,now", "-O2 -fno-pie -no-pie"} {
		// A comma in the folder's name would end the option -Wl,-rpath.
		t.Run(strings.ReplaceAll(build, ",", " "), func(t *testing.T) {
			program := compileHooked(t, "testdata/jumps.c", slices.Concat([]string{"gcc", "-minstrument-return=call", "-pthread"}, strings.Fields(build)))
			for _, options := range [][]string{{"--libcalls"}, {"--libcalls", "--sites"}, {"--libcalls", "--depth", "9"}, {"--libcalls", "--min", "1us"}, {"--exclude", "target"}, {}} {
				r := recordJumps(t, program, options...)
				if len(r.wrong) > 0 {
					t.Errorf("%v: wrong: %q", options, r.wrong)
				}
				switch {
				case slices.Contains(options, "--min"), slices.Contains(options, "--exclude"):
					continue
				case len(r.shown) < len(r.calls)+len(r.unknowable):
					t.Errorf("%v: %d calls are shown, not %d", options, len(r.shown), len(r.calls)+len(r.unknowable))
				}
				for _, call := range r.missing {
					// The C library's functions are recorded with --libcalls, but not on stacks that lie low.
					name, _, _ := strings.Cut(call, "(")
					if !slices.Contains([]string{"copied", "length", "number"}, name) || len(options) > 0 && !strings.Contains(build, "no-pie") {
						t.Errorf("%v: no result: %s", options, call)
					}
				}
				if len(r.known) < 1000 {
					t.Errorf("%v: only %d of %d results are known", options, len(r.known), len(r.calls))
				}
			}
		})
	}
}
