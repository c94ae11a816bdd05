package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// recordLibcalls runs a program bare and with its calls into libraries recorded: output and status must be the same. It returns
// how often each function was called and returned, by address, how often each was called, by name, and what was said.
func recordLibcalls(t *testing.T, pattern, program string, args ...string) (returned map[string]int, called map[string]int, said string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("it is for x86-64")
	}
	dir := filepath.Join(t.TempDir(), "out")
	recorded := recordProcess(t, program, append([]string{"--libcalls" + pattern, "--head", "0", "-o", dir, "--", program}, args...)...)
	bare := exec.Command(program, args...)
	bare.Env, bare.Dir = recorded.Env, recorded.Dir
	var want, got, wantErr, gotErr bytes.Buffer
	bare.Stdout, bare.Stderr = &want, &wantErr
	recorded.Stdout, recorded.Stderr = &got, &gotErr
	bare.Run()
	recorded.Run()
	if bare.ProcessState.ExitCode() != recorded.ProcessState.ExitCode() || !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Fatalf("recorded: status %v, output %q; bare: status %v, output %q; said: %s", recorded.ProcessState, got.String(), bare.ProcessState, want.String(), gotErr.String())
	}
	returned, called = map[string]int{}, map[string]int{}
	code, out, errs := logparse("show", dir, "--json", "--where", "event:enter")
	if code != exitOK {
		return returned, called, gotErr.String() + errs
	}
	for line := range strings.Lines(out) {
		var r struct{ Address, Function, Note string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		called[r.Function]++
		if r.Note == "" {
			returned[r.Address]++
		}
	}
	return returned, called, gotErr.String()
}

func libcallsProgram(t *testing.T, options ...string) string {
	t.Helper()
	gxx, err := exec.LookPath("g++")
	if err != nil || testing.Short() {
		t.Skip("programs are built with g++")
	}
	source, err := filepath.Abs("../../recorder/tests/libcalls_subject.cpp")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "subject")
	if out, err := exec.Command(gxx, append(options, source, "-pthread", "-ldl", "-o", program)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// callsOf adds up the calls of functions whose names hold a text: debug information of the C library has names of its own.
func callsOf(calls map[string]int, text string) int {
	n := 0
	for name, k := range calls {
		if strings.Contains(name, text) {
			n += k
		}
	}
	return n
}

// TestRecordLibcalls records a program that does what is hard to stand in for.
func TestRecordLibcalls(t *testing.T) {
	for _, options := range [][]string{{"-O2"}, {"-O0", "-Wl,-z,now"}, {"-O2", "-fno-plt"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			_, called, said := recordLibcalls(t, "", libcallsProgram(t, options...))
			if !strings.Contains(said, "calls of subject into libraries are recorded") {
				t.Errorf("said: %s", said)
			}
			// 4 threads print 1,000 times, 2,001 calls do, each measures its text's length but the innermost; 5 sort, 3 throw.
			for text, want := range map[string]int{"snprintf": 6003, "qsort": 5, "cxa_throw": 3, "div": 3} {
				if got := callsOf(called, text) - callsOf(called, "v"+text); got != want {
					t.Errorf("%s: %d calls, want %d: %v", text, got, want, called)
				}
			}
		})
	}
	t.Run("pattern", func(t *testing.T) {
		_, called, said := recordLibcalls(t, "=libm.so*!*", libcallsProgram(t, "-O2"))
		if len(called) < 3 || callsOf(called, "pow") == 0 || callsOf(called, "printf") != 0 {
			t.Errorf("%v: %s", called, said)
		}
	})
}

var ltraceLine = regexp.MustCompile(`(?m)^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(\S+)$`)

// TestRecordLibcallsCounts records programs of the system as they are: each function returned as often as ltrace says.
func TestRecordLibcallsCounts(t *testing.T) {
	ltrace, err := exec.LookPath("ltrace")
	if err != nil || testing.Short() {
		t.Skip("there is no ltrace")
	}
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, bytes.Repeat([]byte("some text to compress\n"), 5000), 0o666); err != nil {
		t.Fatal(err)
	}
	// It tells nobody of its calls of these.
	apart := []string{"setjmp", "_setjmp", "__sigsetjmp", "vfork", "dlopen", "dlsym", "dl_iterate_phdr", "__tls_get_addr", "__libc_start_main", "total"}
	for _, command := range [][]string{
		{"git", "--version"},
		{"redis-cli", "--version"},
		{"xz", "-k", "-c", data},
		{"sqlite3", ":memory:", "create table t(a); insert into t values(1),(2); select sum(a) from t;"},
	} {
		t.Run(command[0], func(t *testing.T) {
			program, err := exec.LookPath(command[0])
			if err != nil {
				t.Skip(err)
			}
			returned, _, said := recordLibcalls(t, "", program, command[1:]...)
			file := filepath.Join(t.TempDir(), "counts")
			if out, err := exec.Command(ltrace, append([]string{"-c", "-o", file, "--", program}, command[1:]...)...).CombinedOutput(); err != nil {
				t.Skipf("ltrace: %v: %s", err, out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []int
			for _, m := range ltraceLine.FindAllStringSubmatch(string(text), -1) {
				if n, err := strconv.Atoi(m[1]); err == nil && !slices.Contains(apart, m[2]) && !strings.HasPrefix(m[2], "_Unwind_") {
					want = append(want, n)
				}
			}
			got := slices.Sorted(maps.Values(returned))
			slices.Sort(want)
			if len(want) < 9 || !slices.Equal(got, want) {
				t.Errorf("returned %v; ltrace counted %v; said: %s\n%s", got, want, said, text)
			}
		})
	}
}

// libcallsKilled is a program that is killed in the middle of a call into a library.
const libcallsKilled = `
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  volatile long sum = 0;
  for (int i = 0; i < 5000; i++) sum += labs(i);
  kill(getpid(), SIGKILL);
  return 0;
}
`

// TestRecordLibcallsKilled ends a program by force: the command ends by the same signal, and the log has all calls.
func TestRecordLibcallsKilled(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("it is for x86-64")
	}
	program := compile(t, libcallsKilled, "-fno-builtin")
	dir := filepath.Join(t.TempDir(), "out")
	cmd := recordProcess(t, program, "--libcalls", "--head", "0", "-o", dir, "--", "./program")
	cmd.Run()
	if state := cmd.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || state.Signal() != syscall.SIGKILL {
		t.Errorf("the command ended with %v", cmd.ProcessState)
	}
	code, out, errs := logparse("show", dir, "--json", "--where", "event:enter")
	open := strings.Count(out, `"note":"open`)
	if calls := strings.Count(out, "\n"); code != exitOK || calls != 5002 || open != 1 {
		t.Errorf("%d calls, want 5,002; %d open, want kill's: %s", calls, open, errs)
	}
}

// libcallsCrash is a program that dies in a library that it called, which calls it again.
const libcallsCrash = `
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
char *nowhere;
static const char *how;
__attribute__((noinline)) void innermost(void) {
  if (*how == 'm') memset(nowhere, 1, 100);
  else if (*how == 'a') abort();
  else kill(getpid(), SIGSEGV);
  __asm__ volatile("");
}
int compare(const void *a, const void *b) {
  innermost();
  return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void sorts(void) {
  int numbers[] = {3, 1, 2};
  qsort(numbers, 3, sizeof *numbers, compare);
  __asm__ volatile("");
}
int main(int argc, char **argv) {
  how = argv[argc - 1];
  sorts();
  return 0;
}
`

// TestRecordLibcallsCrash lets a program die in a library: the report has its frames to the first, as without --libcalls.
func TestRecordLibcallsCrash(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("it is for x86-64")
	}
	program := compile(t, libcallsCrash, "-fno-builtin")
	for _, how := range []string{"memset", "abort", "kill"} {
		t.Run(how, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			cmd := recordProcess(t, program, "--libcalls", "--head", "0", "-o", dir, "--", program, how)
			said, err := cmd.CombinedOutput()
			logs, _ := filepath.Glob(filepath.Join(dir, "*.lptrace"))
			if err == nil || len(logs) != 1 {
				t.Fatalf("%v: %d logs: %s", err, len(logs), said)
			}
			code, out, errs := logparse("crash", logs[0], "--json")
			var report struct {
				Threads []struct {
					Rows []struct{ Functions []struct{ Name string } }
				}
			}
			if err := json.Unmarshal([]byte(out), &report); code != exitOK || err != nil || len(report.Threads) == 0 {
				t.Fatalf("%v: %s\n%s", err, errs, out)
			}
			var found []string
			for _, row := range report.Threads[0].Rows {
				for _, f := range row.Functions {
					if slices.Contains([]string{"innermost", "compare", "sorts", "main", "_start"}, f.Name) {
						found = append(found, f.Name)
					}
				}
			}
			if want := []string{"innermost", "compare", "sorts", "main", "_start"}; !slices.Equal(found, want) || strings.Contains(out, "lr_libcall") {
				t.Errorf("frames of the program: %v, want %v, in %s", found, want, out)
			}
		})
	}
}

// libcallsBacktrace asks for backtraces of all sizes on an alternate stack of 8 KiB, below which nothing may be touched.
const libcallsBacktrace = `
#define _GNU_SOURCE
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
extern char __executable_start, etext;
enum { STACK = 8192, BELOW = 65536 };
static char text[4096];
static void handler(int number) {
  size_t n = 0;
  void *frames[20];
  for (int size = 1; size <= 20; size++) {
    int k = backtrace(frames, size);
    for (int i = 0; i < k; i++) text[n++] = (char *)frames[i] >= &__executable_start && (char *)frames[i] < &etext ? 'p' : 'l';
    text[n++] = '\n';
  }
  if (write(1, text, n) < 0) _exit(1);
  (void)number;
}
int compare(const void *a, const void *b) {
  raise(SIGUSR1);
  return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) void deeper(int n) {
  int numbers[] = {2, 1};
  if (n) deeper(n - 1);
  else qsort(numbers, 2, sizeof *numbers, compare);
  __asm__ volatile("");
}
int main(void) {
  void *first[2];
  backtrace(first, 2);
  unsigned char *p = mmap(NULL, BELOW + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, 0x5a, BELOW);
  stack_t s = {.ss_sp = p + BELOW, .ss_size = STACK};
  struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&s, NULL) != 0 || sigaction(SIGUSR1, &a, NULL) != 0) return 2;
  deeper(3);
  for (int i = 0; i < BELOW; i++)
    if (p[i] != 0x5a) return puts("overwritten"), 3;
  return 0;
}
`

// TestRecordLibcallsBacktrace has backtraces made where there is little stack: as many frames as without, of the same kinds.
func TestRecordLibcallsBacktrace(t *testing.T) {
	program := compile(t, libcallsBacktrace, "-fno-builtin")
	_, called, said := recordLibcalls(t, "", program)
	if callsOf(called, "qsort") == 0 {
		t.Errorf("%v: %s", called, said)
	}
}

// TestRecordLibcallsSanitized records programs with sanitizers: those that stand between a program and its libraries
// themselves go on as they are, which is said.
func TestRecordLibcallsSanitized(t *testing.T) {
	for sanitizer, recorded := range map[string]bool{"undefined": true, "address": false, "thread": false} {
		t.Run(sanitizer, func(t *testing.T) {
			program := libcallsProgram(t, "-O1", "-fsanitize="+sanitizer)
			_, called, said := recordLibcalls(t, "", program)
			// What it starts is not sanitized.
			if got := callsOf(called, "qsort") > 0; got != recorded {
				t.Errorf("calls into libraries recorded: %v, want %v: %s", got, recorded, said)
			}
			if refused := strings.Contains(said, "LOGREC_LIBCALLS is not for programs with a sanitizer"); refused == recorded {
				t.Errorf("said: %s", said)
			}
		})
	}
}
