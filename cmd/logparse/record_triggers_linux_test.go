package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// graph calls functions at random, in recursion, too; g_ ones jump out of themselves now and then. The argument is the seed.
const graph = `
#include <setjmp.h>
#include <stdlib.h>
#define OWN __attribute__((noinline))
static unsigned long state;
static jmp_buf *out;
__attribute__((no_instrument_function, always_inline)) static inline unsigned next(unsigned n) { state = state * 6364136223846793005ul + 1442695040888963407ul; return (unsigned)(state >> 33) % n; }
OWN void f_a(int); OWN void f_b(int); OWN void f_c(int); OWN void f_d(int); OWN void g_e(int); OWN void g_f(int);
static void (*const all[])(int) = {f_a, f_b, f_c, f_d, g_e, g_f};
#define CALLS(d, n) for (int i = next(n); d && i > 0; i--) all[next(6)](d - 1); __asm__ volatile("")
OWN void f_a(int d) { CALLS(d, 3); }
OWN void f_b(int d) { CALLS(d, 4); }
OWN void f_c(int d) { CALLS(d, 3); }
OWN void f_d(int d) { CALLS(d, 2); }
OWN void g_e(int d) { jmp_buf *const was = out, here; out = &here; if (!setjmp(here)) { CALLS(d, 4); } out = was; }
OWN void g_f(int d) { CALLS(d, 3); if (JUMPS && out && next(4) == 0) longjmp(*out, 1); }
int main(int argc, char **argv) {
  state = (unsigned long)atol(argv[argc - 1]);
  for (int i = 0; i < 40; i++) all[next(6)](6);
  return 0;
}
`

// A seenCall is a row of a log of one thread.
type seenCall struct {
	Event, Function string
	Depth           int
}

// recordCalls records a program and returns its rows.
func recordCalls(t *testing.T, program string, args ...string) []seenCall {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordProcess(t, program, append(append([]string{"-o", dir, "--head", "0"}, args...), program, "7")...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, errs.String())
	}
	code, out, said := logparse("show", dir, "--json")
	if code != exitOK {
		t.Fatalf("%v: status %d: %s%s", args, code, errs.String(), said)
	}
	var calls []seenCall
	for line := range strings.Lines(out) {
		var c seenCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		calls = append(calls, c)
	}
	return calls
}

// triggerModel says in the plainest way what options leave of all events of a thread whose calls all have their leaves.
type triggerModel struct {
	include, exclude, from, until, inside string
	depth                                 int
}

func (m triggerModel) args() []string {
	var args []string
	for _, a := range [][2]string{{"include", m.include}, {"exclude", m.exclude}, {"from", m.from}, {"until", m.until}, {"inside", m.inside}} {
		if a[1] != "" {
			args = append(args, "--"+a[0], a[1])
		}
	}
	if m.depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", m.depth))
	}
	return args
}

func (m triggerModel) fits(pattern, function string) bool {
	ok, _ := filepath.Match(pattern, function)
	return ok
}

func (m triggerModel) left(all []seenCall) []seenCall {
	type open struct {
		function string
		followed bool // by what is recorded
		shown    bool
	}
	var stack []open
	var seen []seenCall
	on := m.from == ""
	for _, c := range all {
		if c.Event == "enter" {
			if !on && m.fits(m.from, c.Function) {
				on = true
				// It begins with nothing.
				for i := range stack {
					stack[i] = open{function: stack[i].function}
				}
			}
			wanted := (m.include == "" || m.fits(m.include, c.Function)) && !m.fits(m.exclude, c.Function)
			root := m.fits(m.inside, c.Function)
			inside, shown := m.inside == "" || root, 0
			for _, o := range stack {
				inside = inside || o.followed && m.fits(m.inside, o.function)
				if o.shown {
					shown++
				}
			}
			o := open{function: c.Function, followed: on && inside && (wanted || root)}
			o.shown = o.followed && wanted && (m.depth == 0 || shown < m.depth)
			stack = append(stack, o)
			if o.shown {
				seen = append(seen, seenCall{"enter", c.Function, shown})
			}
			if on && m.until != "" && m.fits(m.until, c.Function) {
				on = false
				if m.from == "" {
					return seen
				}
			}
			continue
		}
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top.shown && on {
			seen = append(seen, seenCall{Event: "leave", Function: c.Function})
		}
	}
	return seen
}

// TestRecordTriggers holds what is recorded with options against what is left of a whole log of the same calls.
func TestRecordTriggers(t *testing.T) {
	models := []triggerModel{
		{depth: 1}, {depth: 3}, {inside: "f_a"}, {inside: "f_b", depth: 2}, {from: "f_d"}, {until: "f_c"}, {from: "f_a", until: "f_b"},
		{inside: "f_a", exclude: "f_a"}, {inside: "f_a", include: "f_b", depth: 2}, {from: "f_a", until: "g_*", include: "f_*"},
		{inside: "g_*", exclude: "f_?", depth: 1}, {inside: "nobody"}, {from: "nobody"}, {depth: 2, exclude: "g_*"},
	}
	r := rand.New(rand.NewPCG(16, 1))
	some := func() string {
		return []string{"", "", "f_a", "f_b", "f_?", "g_e", "g_*", "main"}[r.IntN(8)]
	}
	for range 4 {
		models = append(models, triggerModel{"", some(), some(), some(), some(), r.IntN(4)})
	}
	t.Run("functions", func(t *testing.T) {
		program := compile(t, graph, withHooks, "-DJUMPS=0")
		all := recordCalls(t, program)
		for _, m := range models {
			got, want := recordCalls(t, program, m.args()...), m.left(all)
			for i := range got {
				if got[i].Event == "leave" {
					got[i].Depth = 0
				}
			}
			if !slices.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Errorf("%+v: %d rows, want %d; row %d: %v, want %v", m, len(got), len(want), i, got[i:min(i+3, len(got))], want[i:min(i+3, len(want))])
			}
		}
	})
	// Calls that are left by longjmp are not seen to end, or only by the next enter: enters are what can be compared.
	for _, build := range [][]string{{withHooks, "-DJUMPS=1"}, {"-pg", "-mfentry", "-fno-pie", "-no-pie", "-DJUMPS=1"}} {
		t.Run(strings.Join(build, " "), func(t *testing.T) {
			program := compile(t, graph, build...)
			all := recordCalls(t, program)
			enters := func(calls []seenCall) []seenCall {
				return slices.DeleteFunc(slices.Clone(calls), func(c seenCall) bool { return c.Event != "enter" })
			}
			// By the depths of the whole log, with the leaves that they make.
			var whole []seenCall
			var stack []string
			for _, c := range enters(all) {
				for len(stack) > c.Depth {
					whole = append(whole, seenCall{Event: "leave", Function: stack[len(stack)-1]})
					stack = stack[:len(stack)-1]
				}
				stack = append(stack, c.Function)
				whole = append(whole, c)
			}
			for i, m := range models {
				if m.until != "" || i%2 == 1 {
					continue
				}
				got, want := enters(recordCalls(t, program, m.args()...)), enters(m.left(whole))
				if !slices.Equal(got, want) {
					t.Errorf("%+v: %d calls, want %d", m, len(got), len(want))
				}
			}
		})
	}
}
