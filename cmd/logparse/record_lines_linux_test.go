package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/app"
)

// printing is a program that prints in all ways: by streams and by system calls, whole lines and parts of some, on its
// own and in a child, and into descriptor 2 when that has become another file.
const printing = `
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int terminal(void) { return isatty(1) + isatty(2); }
__attribute__((noinline)) void child(void) { puts("of the child"); fflush(stdout); _Exit(0); }
__attribute__((noinline)) void other(void) {
  int file = open("other.txt", O_CREAT | O_WRONLY, 0600), was = dup(2);
  dup2(file, 2);
  fputs("elsewhere\n", stderr);
  dup2(was, 2);
}
int main(void) {
  char longer[1500];
  struct iovec parts[] = {{"three ", 6}, {"parts\nfo", 8}, {"ur\r\n", 4}};
  memset(longer, 'x', sizeof longer);
  printf("%d\n", terminal());
  fflush(stdout);
  fprintf(stderr, "a ");
  fprintf(stderr, "warning\n");
  if (write(1, "plain\n\nnot", 10) != 10 || writev(1, parts, 3) != 18) return 1;
  if (write(2, longer, sizeof longer) != sizeof longer || write(2, "\n", 1) != 1) return 1;
  if (fork() == 0) child();
  wait(NULL);
  other();
  printf("no end");
  return 3;
}`

// TestRecordLines takes what a program prints into the log: what it prints, where to, and how it ends is as without.
func TestRecordLines(t *testing.T) {
	program := compile(t, printing, withHooks)
	run := func(cmd *exec.Cmd) (code int, out, errs string) {
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(program), &stdout, &stderr
		cmd.Run()
		return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	}
	code, out, errs := run(exec.Command("./program"))
	if got, gotOut, gotErrs := run(recordProcess(t, program, "-q", "-o", "lines", "--lines", "./program")); got != code || gotOut != out || gotErrs != errs {
		t.Fatalf("status %d, %q, %q; it was %d, %q, %q", got, gotOut, gotErrs, code, out, errs)
	}
	x := strings.Repeat("x", 1000)
	want := []string{"stdout: 0", "stderr: a warning", "stdout: plain", "stdout: notthree parts", "stdout: four", "stderr: " + x, "stderr: " + x[:500]}
	both := slices.Concat(want, []string{"stdout: of the child", "stdout: no end"})
	if got := annotationTexts(t, filepath.Join(filepath.Dir(program), "lines")); !slices.Equal(got, both) {
		t.Errorf("%q, want %q", got, both)
	}

	// While it runs they stand among its calls; what the C library kept back comes behind the last one.
	got, gotOut, printed := run(recordProcess(t, program, "--show", "--head", "0", "./program"))
	if got != code || gotOut != out {
		t.Errorf("--show: status %d, %q", got, gotOut)
	}
	rest := printed
	for _, text := range append([]string{"-> main"}, append(want, "<- main", "-- stdout: no end")...) {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			t.Fatalf("%q is not behind what is before it: %s", text, printed)
		}
		rest = after
	}
	// Who does not want them has none.
	cmd := recordProcess(t, program, "--show", "--lines=false", "--head", "0", "-o", "none", "./program")
	if _, _, printed := run(cmd); strings.Contains(printed, "-- ") || len(annotationTexts(t, filepath.Join(filepath.Dir(program), "none"))) > 0 {
		t.Errorf("lines that nobody wanted: %s", printed)
	}
}

// early is a program that prints before its first call that is recorded, and forks before that, too.
const early = `
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) void of_child(void) { __asm__ volatile(""); }
__attribute__((constructor, no_instrument_function)) static void before(void) {
  printf("a constructor\n");
  fflush(stdout);
  if (fork() == 0) {
    printf("a child\n");
    fflush(stdout);
    of_child();
    _exit(0);
  }
  wait(NULL);
  usleep(50000);
  fprintf(stderr, "its end\n");
  if (getenv("MUCH"))
    for (int i = 0; i < 1000; i++) fprintf(stderr, "line %d\n", i);
}
int main(void) {
  puts("main");
  return 0;
}`

// TestRecordEarlyLines has lines that are printed before any call is recorded: they are in the log, at their time.
func TestRecordEarlyLines(t *testing.T) {
	program := compile(t, early, withHooks)
	dir := filepath.Join(filepath.Dir(program), "lines")
	if out, err := recordProcess(t, program, "-q", "-o", dir, "--lines", "./program").CombinedOutput(); err != nil || string(out) != "a constructor\na child\nits end\nmain\n" {
		t.Fatalf("%v: %q", err, out)
	}
	if got, want := annotationTexts(t, dir), []string{"stdout: a constructor", "stdout: a child", "stderr: its end", "stdout: main"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	logs, err := app.RecordedLogs(dir)
	if err != nil || len(logs) != 2 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	for _, l := range logs {
		_, out, _ := logparse("annotations", l.Path, "--json")
		if child := strings.Contains(out, "a child"); child != (strings.Count(out, "\n") == 1) {
			t.Errorf("%s", out)
		}
		if strings.Contains(out, "a child") {
			continue
		}
		var times []time.Time
		for line := range strings.Lines(out) {
			var m struct{ Time string }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			at, err := time.Parse("2006-01-02T15:04:05.999999999", m.Time)
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, at)
		}
		if took := times[len(times)-1].Sub(times[0]); took < 50*time.Millisecond || took > time.Minute {
			t.Errorf("the first line is not 50 ms before the last: %s", out)
		}
	}

	cmd := recordProcess(t, program, "-q", "-o", dir+"2", "--lines", "./program")
	cmd.Env = append(cmd.Env, "MUCH=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := annotationTexts(t, dir+"2")
	if n := len(got); n < 300 || n > 900 || got[n-1] != "stdout: main" || got[n-2] != "logrec: more lines were printed before the first call than are kept" {
		t.Errorf("%d lines: %q", n, got)
	}
}

// earlyThreads prints before its first recorded call in a child that has its memory, and in a thread that makes no such
// call; and then more than is kept, behind the beginning of a line.
const earlyThreads = `
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define UNSEEN __attribute__((no_instrument_function))
UNSEEN static void print(int fd, const char *text) {
  if (write(fd, text, strlen(text)) < 0) abort();
}
UNSEEN static int child(void *unused) {
  (void)unused;
  print(1, "a child\n");
  _exit(0);
}
UNSEEN static void *thread(void *id) {
  *(long *)id = syscall(SYS_gettid);
  print(1, "a thread\n");
  print(1, "twice\n");
  return NULL;
}
UNSEEN __attribute__((constructor)) static void before(void) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  pthread_t t;
  long id;
  char number[20];
  if (clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) < 0) abort();
  wait(NULL);
  print(1, "first\n");
  pthread_create(&t, NULL, thread, &id);
  pthread_join(t, NULL);
  int n = sizeof number;
  for (number[--n] = 0; id; id /= 10) number[--n] = (char)('0' + id % 10);
  print(1, number + n);
  print(1, "\n");
  if (!getenv("MUCH")) return;
  print(2, "a beginning");
  for (int i = 0; i < 1000; i++) print(1, "much\n");
  print(2, " and an end\n");
}
int main(void) {
  print(2, "main\n");
  return 0;
}`

// TestRecordEarlyThreads has in the log what other threads printed before it began, not what is of another process or
// without its beginning.
func TestRecordEarlyThreads(t *testing.T) {
	program := compile(t, earlyThreads, withHooks)
	dir := filepath.Join(filepath.Dir(program), "lines")
	out, err := recordProcess(t, program, "-q", "-o", dir, "--lines", "./program").Output()
	printed := strings.Split(string(out), "\n")
	if err != nil || len(printed) != 6 {
		t.Fatalf("%v: %q", err, out)
	}
	want := []string{"stdout: first", "logrec: lines printed by thread " + printed[4] + " follow: 2", "stdout: a thread", "stdout: twice", "stdout: " + printed[4], "stderr: main"}
	if got := annotationTexts(t, dir); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}

	cmd := recordProcess(t, program, "-q", "-o", dir+"2", "--lines", "./program")
	cmd.Env = append(cmd.Env, "MUCH=1")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if got := annotationTexts(t, dir+"2"); len(got) < 300 || got[len(got)-1] != "stderr: main" {
		t.Errorf("%d lines: %q", len(got), got)
	}
}

// onlyPrinting are many processes that record nothing, of which two threads print more than is kept.
const onlyPrinting = `
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define UNSEEN __attribute__((no_instrument_function))
static char big[60000];
static volatile int done;
UNSEEN static void *small(void *unused) {
  while (!done)
    if (write(1, "b\n", 2) < 0) break;
  return unused;
}
void hooked(void) {}
UNSEEN int main(void) {
  for (int i = 0; i < (int)sizeof big; i++) big[i] = "abc\n"[i % 4];
  for (int i = 0; i < 600; i++) {
    int status;
    if (fork() == 0) {
      pthread_t t;
      pthread_create(&t, NULL, small, NULL);
      usleep(100);
      if (write(1, big, sizeof big) < 0) _exit(1);
      done = 1;
      pthread_join(t, NULL);
      _exit(0);
    }
    wait(&status);
    if (status) return 1;
  }
  return 0;
}`

// TestRecordEarlyLinesLeftOut has programs unharmed that print much in several threads before any call is recorded.
func TestRecordEarlyLinesLeftOut(t *testing.T) {
	program := compile(t, onlyPrinting, withHooks)
	cmd := recordProcess(t, program, "-q", "--lines", "./program")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 0 {
		t.Error(err)
	}
}

// annotationTexts returns the texts of a log's annotations.
func annotationTexts(t *testing.T, log string) (texts []string) {
	t.Helper()
	code, out, errs := logparse("annotations", log, "--json")
	if code != exitOK {
		t.Fatalf("status %d: %s", code, errs)
	}
	for line := range strings.Lines(out) {
		var m struct{ Text string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		texts = append(texts, m.Text)
	}
	return texts
}
