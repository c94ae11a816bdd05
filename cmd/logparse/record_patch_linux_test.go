package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/app"
)

// switching runs functions in threads while the main thread switches their patches off and on. With patches
// off it compares its text with what its file has. Its output does not depend on the recorder.
const switching = `
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define OWN __attribute__((noinline))
extern int logrec_patch(int on) __attribute__((weak));
static volatile int stop;
OWN long leaf(long x) { __asm__ volatile("" : "+r"(x)); return x * 3 + 1; }
OWN long tail(long x) { __asm__ volatile("" : "+r"(x)); return leaf(x + 1); }
OWN double mixed(int a, double b, long c, double d) { __asm__ volatile("" : "+r"(a)); return a * b + (double)leaf(c) * d; }
OWN long work(long n) { long s = 0; for (long i = 0; i < n; i++) s += tail(i) + (long)mixed((int)i, 2.0, i, 0.5); return s; }
OWN long unwanted(long x) { __asm__ volatile("" : "+r"(x)); return x; }
static void *run(void *p) { long s; do s = work(50); while (!stop); *(long *)p = s + unwanted(0); return NULL; }
static int differs;
static int compare(struct dl_phdr_info *info, size_t size, void *p) {
  const char *file = p;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *h = &info->dlpi_phdr[i];
    if (h->p_type == PT_LOAD && (h->p_flags & PF_X)) differs = memcmp((void *)(info->dlpi_addr + h->p_vaddr), file + h->p_offset, h->p_filesz) != 0;
  }
  return 1;
}
int main(int argc, char **argv) {
  enum { THREADS = 3 };
  static char file[1 << 20];
  FILE *f = fopen("/proc/self/exe", "rb");
  if (!f || !fread(file, 1, sizeof file, f)) return 3;
  fclose(f);
  const int rounds = argc > 1 ? atoi(argv[1]) : 0;
  pthread_t t[THREADS];
  long sum[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, run, &sum[i]);
  for (int i = 0; i < rounds; i++) {
    usleep(500);
    if (!logrec_patch) continue;
    if (!logrec_patch(0)) printf("not all off\n");
    dl_iterate_phdr(compare, file);
    if (differs) printf("round %d: the text is not the file's\n", i);
    usleep(500);
    if (!logrec_patch(1)) printf("not all on\n");
    dl_iterate_phdr(compare, file);
    if (!differs) printf("round %d: nothing is patched\n", i);
  }
  usleep(2000);
  stop = 1;
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  printf("%ld %ld %ld\n", sum[0], sum[1], sum[2]);
  (void)argv;
  return 7;
}
`

// TestRecordPatched records a program that calls no hooks, by each kind of room for them, while it switches
// them off and on.
func TestRecordPatched(t *testing.T) {
	if testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("programs and the recorder are built, for x86-64")
	}
	for _, test := range []struct {
		name, build, way string
		returns          bool
	}{
		{"xray", "clang-19 -g -O2 -fxray-instrument -fxray-instruction-threshold=1 -c p.c && clang-19 -pthread p.o -o p", "(-fxray-instrument)", true},
		{"xray, with its own runtime", "clang-19 -g -O2 -fxray-instrument -fxray-instruction-threshold=1 p.c -pthread -o p", "(-fxray-instrument)", true},
		{"nops, gcc", "gcc -g -O2 -fpatchable-function-entry=5 p.c -pthread -o p", "(-fpatchable-function-entry)", false},
		{"nops, gcc, some before the function", "gcc -g -O2 -fcf-protection -fpatchable-function-entry=9,4 p.c -pthread -o p", "(-fpatchable-function-entry)", false},
		{"nops, clang", "clang-19 -g -O2 -fpatchable-function-entry=5 p.c -pthread -o p", "(-fpatchable-function-entry)", false},
		{"mcount", "gcc -g -O2 -fno-pie -no-pie -pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return p.c -pthread -o p", "(-mnop-mcount, -minstrument-return=nop5)", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := exec.LookPath(strings.Fields(test.build)[0]); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(switching), 0o666); err != nil {
				t.Fatal(err)
			}
			build := exec.Command("sh", "-c", test.build)
			build.Dir = dir
			if out, err := build.CombinedOutput(); err != nil {
				if strings.Contains(test.name, "runtime") {
					t.Skipf("clang's runtime of XRay is not there: %s", out)
				}
				t.Fatalf("%v: %s", err, out)
			}
			program := filepath.Join(dir, "p")
			plain := exec.Command(program)
			plain.Dir = t.TempDir() // of gmon.out
			want, _ := plain.Output()
			for _, rounds := range []string{"0", "20"} {
				cmd := recordProcess(t, program, "--exclude", "unwanted", "-o", "log"+rounds, program, rounds)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				out, _ := cmd.Output()
				if string(out) != string(want) || cmd.ProcessState.ExitCode() != 7 {
					t.Fatalf("status %d, output %q, without the recorder %q: %s", cmd.ProcessState.ExitCode(), out, want, errs.String())
				}
				if !strings.Contains(errs.String(), test.way) {
					t.Errorf("%q is not said: %s", test.way, errs.String())
				}
			}
			checkPatched(t, filepath.Join(dir, "log0"), test.returns)
		})
	}
}

// loading loads libraries while it runs, and calls a function of each.
const loading = `
#include <dlfcn.h>
__attribute__((noinline)) int leaf(int x) { __asm__ volatile("" : "+r"(x)); return x; }
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    void *library = dlopen(argv[i], RTLD_NOW);
    int (*of_plugin)(int) = library ? (int (*)(int))dlsym(library, "of_plugin") : 0;
    if (!of_plugin) return 1;
    of_plugin(i);
    leaf(of_plugin(i));
    if (i == 2) dlclose(library);
  }
  return 7;
}
`

// TestRecordPatchedPlugins patches libraries that are loaded later: there is a place near each for what its functions call, wherever
// the system puts it.
func TestRecordPatchedPlugins(t *testing.T) {
	if testing.Short() || runtime.GOARCH != "amd64" {
		t.Skip("programs and the recorder are built, for x86-64")
	}
	for _, options := range [][]string{{"-fpatchable-function-entry=5"}, {"-fpatchable-function-entry=5", "-fsanitize=address"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			program := compile(t, loading, append(options, "-ldl")...)
			dir := filepath.Dir(program)
			var libraries []string
			for _, name := range []string{"a", "b", "c"} {
				if err := os.WriteFile(filepath.Join(dir, name+".c"), []byte("__attribute__((noinline)) int of_plugin(int x) { return x * 2; }\n"), 0o666); err != nil {
					t.Fatal(err)
				}
				build := exec.Command("gcc", append(slices.Clone(options), "-O1", "-g", "-shared", "-fPIC", name+".c", "-o", name+".so")...)
				build.Dir = dir
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				libraries = append(libraries, "./"+name+".so")
			}
			// Addresses are not the same from run to run.
			for i := range 8 {
				log := filepath.Join(dir, fmt.Sprint("log", i))
				cmd := recordProcess(t, program, slices.Concat([]string{"--head", "0", "-o", log, "./program"}, libraries)...)
				out, _ := cmd.CombinedOutput()
				if cmd.ProcessState.ExitCode() != 7 {
					t.Fatalf("%v: %s", cmd.ProcessState, out)
				}
				code, shown, errs := logparse("show", log, "--json", "--where", "fn:of_plugin event:enter")
				if n := strings.Count(shown, "\n"); code != exitOK || n != 6 {
					t.Errorf("%d calls of plugins, want 6: %s%s", n, shown, errs)
				}
			}
		})
	}
}

// checkPatched looks at the log of switching: each function is there with its name but the one that was left
// out, calls lie in those that call them.
func checkPatched(t *testing.T, log string, returns bool) {
	t.Helper()
	ctx := context.Background()
	s, err := app.Open(ctx, app.Inputs{Log: log, NoIndexCache: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(ctx, nil); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	rows := s.Rows()
	for i := range min(rows.Len(), 20_000) {
		r := rows.Row(i)
		seen[r.Function]++
		if r.Function == "work" && r.Depth != 1 || r.Function == "mixed" && r.Depth != 2 {
			t.Fatalf("row %d: %s at depth %d", i, r.Function, r.Depth)
		}
	}
	for _, name := range []string{"main", "run", "work", "tail", "leaf", "mixed"} {
		if seen[name] == 0 {
			t.Errorf("no row of %s: %v", name, seen)
		}
		delete(seen, name)
	}
	if len(seen) > 0 {
		t.Errorf("other functions: %v", seen)
	}
	if returns && rows.Row(0).Function == "main" && rows.Row(0).Duration <= 0 {
		t.Error("main has no end")
	}
}
