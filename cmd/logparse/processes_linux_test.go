package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pingPong is a program whose child answers what it asks, so that it is known in which order
// the two call their functions.
const pingPong = `
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void ask(int fd) { if (write(fd, "x", 1) != 1) _exit(1); }
__attribute__((noinline)) void answer(int fd) { if (write(fd, "x", 1) != 1) _exit(1); }
static void await(int fd) __attribute__((no_instrument_function));
static void await(int fd) { char c; if (read(fd, &c, 1) != 1) _exit(1); }
__attribute__((noinline)) static int child(int in, int out) {
  for (int i = 0; i < 100; i++) { await(in); answer(out); }
  return 0;
}
int main(void) {
  int to[2], from[2], status;
  if (pipe(to) || pipe(from)) return 1;
  pid_t pid = fork();
  if (!pid) return child(to[0], from[1]);
  printf("%d %d\n", (int)getpid(), (int)pid);
  for (int i = 0; i < 100; i++) { ask(to[1]); await(from[0]); }
  return waitpid(pid, &status, 0) != pid || status;
}
`

// recordPingPong records the program, and returns the traces, the parent's first, and the ids of the processes.
func recordPingPong(t *testing.T) (traces []string, parent, child int) {
	t.Helper()
	program := compile(t, pingPong, withHooks)
	dir := filepath.Join(t.TempDir(), "log")
	out, err := recordProcess(t, program, "--quiet", "-o", dir, "./program").Output()
	if _, e := fmt.Sscan(string(out), &parent, &child); err != nil || e != nil {
		t.Fatalf("%q: %v, %v", out, err, e)
	}
	for _, id := range []int{parent, child} {
		list, err := filepath.Glob(filepath.Join(dir, fmt.Sprintf("*.%d.*.lptrace", id)))
		if err != nil || len(list) != 1 {
			t.Fatalf("the traces of %d: %v, %v", id, list, err)
		}
		traces = append(traces, list[0])
	}
	return traces, parent, child
}

// TestForked shows the traces of a program and its child as one: the rows of both are in the
// order in which things happened, whichever trace is named first.
func TestForked(t *testing.T) {
	traces, parent, child := recordPingPong(t)
	var want []string
	for range 100 {
		want = append(want, fmt.Sprintf("%d program ask", parent), fmt.Sprintf("%d program answer", child))
	}
	for range 2 {
		code, out, errs := logparse("show", traces[0], traces[1], "--json", "--where", "event:enter (func:ask or func:answer)")
		if code != exitOK || !strings.Contains(errs, "monotonic clock of their machine") {
			t.Fatalf("exit status %d: %s", code, errs)
		}
		var got []string
		for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
			var row struct{ Process, Function string }
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, row.Process+" "+row.Function)
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("row %d is %q, want %q", i, got[i], want[i])
			}
		}
		slices.Reverse(traces)
	}
	code, out, errs := logparse("show", traces[0], traces[1], "--json", "--where", fmt.Sprintf("process:%d event:enter", child))
	if n := strings.Count(out, "\n"); code != exitOK || n != 102 || strings.Contains(out, "\"ask\"") {
		t.Errorf("exit status %d, %d rows of the child: %s", code, n, errs)
	}
}
