package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// manyProgram starts as many threads as it is told, or coroutines on stacks of their own, each of which is left in its calls and comes
// back to them when all have begun.
const manyProgram = `
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#define QUIET __attribute__((no_instrument_function))
#define LOGGED __attribute__((noinline))
static ucontext_t back, *contexts;
static long current;
static int together;
LOGGED long leaf(long n) { return n * 3; }
LOGGED long middle(long n) {
  long sum = leaf(n);
  if (together) swapcontext(&contexts[current], &back);
  return sum + leaf(n + 1);
}
LOGGED long outer(long n) { return middle(n) + middle(n + 1); }
QUIET static void *thread(void *n) { return (void *)outer((long)n); }
QUIET static void coroutine(void) { outer(current); }
QUIET int main(int argc, char **argv) {
  long n = atol(argv[2]), at = 0;
  if (!strcmp(argv[1], "threads")) {
    pthread_t list[100];
    for (; at < n; at += 100) {
      for (int i = 0; i < 100; i++) pthread_create(&list[i], 0, thread, (void *)(at + i));
      for (int i = 0; i < 100; i++) pthread_join(list[i], 0);
    }
    return 0;
  }
  together = 1;
  contexts = calloc(n, sizeof *contexts);
  const size_t size = 64 << 10;
  char *stacks = mmap(0, n * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (at = 0; at < n; at++) {
    getcontext(&contexts[at]);
    contexts[at].uc_stack.ss_sp = stacks + at * size;
    contexts[at].uc_stack.ss_size = size;
    contexts[at].uc_link = &back;
    makecontext(&contexts[at], coroutine, 0);
  }
  for (int round = 0; round < 3; round++)
    for (current = 0; current < n; current++) swapcontext(&back, &contexts[current]);
  return argc - 3;
}
`

// TestManyThreadsAndCoroutines records thousands of threads and of coroutines, and reads the logs: each verb within 5 s of
// the processor's time, and 300 MB besides the log.
func TestManyThreadsAndCoroutines(t *testing.T) {
	const (
		many    = "10000"
		seconds = 5
		memory  = 300_000_000
	)
	program := compile(t, manyProgram, withHooks)
	for _, kind := range []string{"threads", "coroutines"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			record := recordProcess(t, program, "-q", "-o", filepath.Join(dir, "log"), "--", "./program", kind, many)
			if out, err := record.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			b := bomb{write: func(string, int) (string, error) { return filepath.Join(dir, "log"), nil }}
			for _, call := range []string{"show FILE --no-index-cache", "stats FILE --no-index-cache", "tree FILE --no-index-cache", "compare FILE FILE --no-index-cache"} {
				cmd, _ := budgeted(t, &b, call, 0, seconds)
				var s spent
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := s.run(cmd); err != nil || out.Len() == 0 {
					t.Errorf("%s: %v: %s", call, err, errs.String())
				}
				// The system can take back at any time what is mapped of a log.
				mapped := int64(strings.Count(call, "FILE")) * folderSize(t, filepath.Join(dir, "log"))
				t.Logf("%s: %v, %d MiB with %d MiB of the log, %d bytes printed", call, s.cpu, s.memory>>20, mapped>>20, out.Len())
				if s.memory-mapped > memory {
					t.Errorf("%s: %d MiB", call, s.memory>>20)
				}
				if call = strings.Fields(call)[0]; call == "stats" && !strings.Contains(out.String(), "leaf") {
					t.Errorf("stats has no leaf: %.500s", out.String())
				}
			}
			if code, info, errs := logparse("info", filepath.Join(dir, "log")); code != exitOK || !strings.Contains(info, "damage      none") {
				t.Errorf("info: %s%s", info, errs)
			}
		})
	}
}
