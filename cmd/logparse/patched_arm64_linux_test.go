package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// writeSource writes a program's text into a folder of its own and returns its path.
func writeSource(t *testing.T, text string) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source.c")
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return source
}

// shown returns what is shown of a log's calls.
func shown(t *testing.T, log string) string {
	t.Helper()
	out, err := process(t, "show", log, "--where", "event:enter").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// isCalled reports whether calls of a function are among those that are shown.
func isCalled(calls, function string) bool {
	return regexp.MustCompile(`-> ` + function + `\b`).MatchString(calls)
}

// entries are the options of programs whose entries are patched.
var entries = []string{"-O2", "-fpatchable-function-entry=8"}

// TestCanceledARM64 ends a thread while values are taken of its calls: nothing there is where pthread_cancel takes effect, and
// where the system has no process_vm_readv nothing is read, and nothing opened.
func TestCanceledARM64(t *testing.T) {
	a := *needARM64(t)
	a.memory = ""
	program := a.compile(t, writeSource(t, `
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int go, sum, number = 42;
static const char *volatile text = "some text";
__attribute__((noinline)) int f(const char *text, int number) { return sum += text[0] + number; }
static void *run(void *p) {
  while (!go) {}
  for (int i = 0; i < 100; i++) f(text, number);
  pthread_testcancel();
  return p;
}
int main(void) {
  pthread_t t;
  void *result;
  alarm(60);
  f(text, number);
  pthread_create(&t, NULL, run, NULL);
  pthread_cancel(t);
  go = 1;
  pthread_join(t, &result);
  printf("%d %d\n", result == PTHREAD_CANCELED, sum);
}
`), entries...)
	out, log := a.record(t, program, []string{"f"})
	if out != "1 15857\n" {
		t.Errorf("the program writes %q", out)
	}
	calls := shown(t, log)
	if n := strings.Count(calls, "-> f(char const* text = not readable, int number = 42)"); n != 101 {
		t.Errorf("%d calls are shown with their values, want 101\n%s", n, calls)
	}
}

// TestVariantARM64 patches a program that has functions with vectors of SVE: they are left out, because the hooks do not keep all of these.
func TestVariantARM64(t *testing.T) {
	a := needARM64(t)
	program := a.compile(t, writeSource(t, `
#include <arm_sve.h>
#include <stdio.h>
__attribute__((noinline)) svint32_t twice(svint32_t v, svbool_t p) { return svadd_m(p, v, v); }
__attribute__((noinline)) static svint32_t thrice(svint32_t v, svbool_t p) { return svadd_m(p, twice(v, p), v); }
__attribute__((noinline, aarch64_vector_pcs)) int other(int n) { return n + 1; }
__attribute__((noinline)) int plain(int n) { return n + 1; }
int main(void) {
  const svbool_t p = svptrue_b32();
  printf("%ld\n", (long)svaddv(p, thrice(svindex_s32(1, 1), p)) + plain(1) + other(1));
}
`), slices.Concat(entries, []string{"-march=armv8.2-a+sve"})...)
	out, log := a.record(t, program, []string{"plain"})
	if want := a.run(t, program); out != want {
		t.Errorf("with the recorder the program writes %q, without %q", out, want)
	}
	calls := shown(t, log)
	for name, want := range map[string]bool{"plain": true, "main": true, "twice": false, "thrice": false, "other": false} {
		if isCalled(calls, name) != want {
			t.Errorf("%s is recorded: %v, want %v\n%s", name, !want, want, calls)
		}
	}
}

// TestLaterARM64 loads a library while another thread waits: entries of nops are left alone, because a thread may sleep between two.
func TestLaterARM64(t *testing.T) {
	a := needARM64(t)
	library := filepath.Join(t.TempDir(), "later.so")
	source := writeSource(t, "int later(int n) { return n + 1; }\n")
	build := exec.Command(a.c, slices.Concat(linkARM64, entries, []string{"-g", "-shared", "-fPIC", source, "-o", library})...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, threads := range []string{"0", "1"} {
		program := a.compile(t, writeSource(t, `
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *wait(void *p) {
  for (;;) pause();
  return p;
}
__attribute__((noinline)) int first(int n) {
  __asm__ volatile("" : "+r"(n));
  return n;
}
int main(void) {
  pthread_t t;
  if (`+threads+`) pthread_create(&t, NULL, wait, NULL);
  void *const l = dlopen("`+library+`", RTLD_NOW);
  int (*const later)(int) = l ? (int (*)(int))dlsym(l, "later") : NULL;
  printf("%d\n", later ? later(first(1)) : 0);
}
`), entries...)
		out, log := a.record(t, program, []string{"first"})
		if out != "2\n" {
			t.Errorf("the program writes %q", out)
		}
		calls := shown(t, log)
		if got, want := isCalled(calls, "later"), threads == "0"; got != want || !isCalled(calls, "first") {
			t.Errorf("with %s other threads later is recorded: %v, want %v\n%s", threads, got, want, calls)
		}
	}
}

// vectorRegister is a register of vectors or floating numbers.
var vectorRegister = regexp.MustCompile(`\b[bhsdqvz]([0-9]|[12][0-9]|3[01])\b`)

// TestHotPathARM64 looks for vector registers where the hooks do not keep them.
func TestHotPathARM64(t *testing.T) {
	a := needARM64(t)
	for _, level := range []string{"-O1", "-O2", "-O3"} {
		text, err := exec.Command(a.c, "--target=aarch64-linux-gnu", level, "-S", "-fPIC", "-fvisibility=hidden", "-DLOGREC_BUILD_SHARED", "-I../../recorder/include",
			"-fno-asynchronous-unwind-tables", "../../recorder/src/hooks_patched_aarch64.c", "-o", "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"lr_patched_fast", "lr_preturn_fast"} {
			_, code, ok := strings.Cut(string(text), "\n"+name+":")
			code, _, ends := strings.Cut(code, ".Lfunc_end")
			if !ok || !ends {
				t.Fatalf("there is no %s", name)
			}
			for line := range strings.Lines(code) {
				if line, _, _ = strings.Cut(line, "//"); vectorRegister.MatchString(line) {
					t.Errorf("%s, %s: %s", level, name, line)
				}
			}
		}
	}
}
