package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that calls functions of libraries with values of all kinds, also with pointers that lead nowhere.
const libraryValues = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
double scale(double x, float f, int n, const char *why);
long many(long a, long b, long c, long d, long e, long f, long g, const char *h);
const char *title(int n);
int main(int argc, char **argv) {
  char *volatile nowhere = (char *)(size_t)(argc + 7);
  volatile int sink = strncmp(nowhere, "never looked at", (size_t)argc - 1);
  char buffer[40];
  strcpy(buffer, argv[0]);
  printf("%zu %.2f %ld %s\n", strlen(buffer), scale(2.5, 0.5f, -3, "because"), many(1, 2, 3, 4, 5, 6, 7, "eighth"), title(2));
  return atoi("33") + sink;
}`

const libraryOfValues = `
double scale(double x, float f, int n, const char *why) { return x * f * n * (why[0] == 'b'); }
long many(long a, long b, long c, long d, long e, long f, long g, const char *h) { return a + b + c + d + e + f + g + h[0]; }
const char *title(int n) { return n == 2 ? "Lord" : 0; }`

// TestRecordLibraryValues takes arguments and results of calls into libraries of a program as it is: by the prototypes of
// the C library, those of a file, and the debug information that a library carries.
func TestRecordLibraryValues(t *testing.T) {
	const prototypes = "library libvalues.so\ndouble scale(double x, float f, int n, const char *why);\n" +
		"long many(long a, long b, long c, long d, long e, long f, long g, const char *h);\nconst char *title(int n);\n"
	own := []string{
		`scale(double x = 2.5, float f = 0.5, int n = -3, char const* why = "because") = -3.75`,
		`many(long a = 1, long b = 2, long c = 3, long d = 4, long e = 5, long f = 6, long g = 7, char const* h = "eighth") = 129`,
		`title(int n = 2) = "Lord"`,
	}
	libc := []string{
		`(char const* a = not readable, char const* b = "never looked at", size_t n = 0) = 0`,
		`(char const* s = "./program") = 9`,
		`(char const* format = "%zu %.2f %ld %s\n") = 17`,
		`(char const* s = "33") = 33`,
	}
	for _, test := range []struct {
		name, debug, prototypes string
		want                    []string
	}{
		{"prototypes", "-g0", prototypes, append(own, libc...)},
		{"debug information", "-g", "", append(own, libc...)},
		{"neither", "-g0", "", libc},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "library.c")
			if err := os.WriteFile(source, []byte(libraryOfValues), 0o666); err != nil {
				t.Fatal(err)
			}
			library := filepath.Join(filepath.Dir(source), "libvalues.so")
			if out, err := exec.Command("gcc", "-O1", test.debug, "-shared", "-fPIC", "-Wl,--build-id", source, "-o", library).CombinedOutput(); err != nil {
				t.Skipf("no library: %v: %s", err, out)
			}
			program := compile(t, libraryValues, "-O0", "-fno-builtin", "-s", "-Wl,--no-as-needed", library, "-Wl,-rpath,"+filepath.Dir(library))
			args := []string{"-q", "-o", "log", "--libcalls", "--values", "*"}
			if test.prototypes != "" {
				if err := os.WriteFile(filepath.Join(filepath.Dir(program), "values.h"), []byte(test.prototypes), 0o666); err != nil {
					t.Fatal(err)
				}
				args = append(args, "--prototypes", "values.h")
			}
			var out bytes.Buffer
			cmd := recordProcess(t, program, append(args, "./program")...)
			cmd.Stdout, cmd.Stderr = &out, &out
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != 33 || out.String() != "9 -3.75 129 Lord\n" {
				t.Fatalf("status %d: %s", code, out.String())
			}
			code, shown, errs := logparse("show", filepath.Join(filepath.Dir(program), "log"), "--where", "event:enter")
			if code != exitOK {
				t.Fatalf("status %d: %s", code, errs)
			}
			for _, want := range test.want {
				if !strings.Contains(shown, want) {
					t.Errorf("no call %q in\n%s", want, shown)
				}
			}
		})
	}
}

// TestRecordHookedLibraries takes values of the libraries of a program that call hooks themselves, also by a plan of a file to which the
// loader comes by a link. Of a library that has no debug information it is said that there are none.
func TestRecordHookedLibraries(t *testing.T) {
	dir := t.TempDir()
	hooked := func(name, soname, source string, options ...string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "library.c"), []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("gcc", append(options, "-O1", withHooks, "-shared", "-fPIC", "-Wl,--build-id,-soname,"+soname, "library.c", "-o", name)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("no library: %v: %s", err, out)
		}
	}
	hooked("libx.so.2.0", "libx.so.2", "int scaled(int x, int by) { return x * by; }", "-g")
	hooked("liby.so", "liby.so", "int added(int x) { return x + 1; }", "-g0")
	if err := os.Symlink("libx.so.2.0", filepath.Join(dir, "libx.so.2")); err != nil {
		t.Fatal(err)
	}
	program := compile(t, "int scaled(int x, int by); int added(int x); int main(int n, char **v) { return scaled(n + 4, 3) + added(n); }", withHooks,
		"-Wl,--no-as-needed", filepath.Join(dir, "libx.so.2.0"), filepath.Join(dir, "liby.so"), "-Wl,-rpath,"+dir)
	plan := filepath.Join(dir, "libx.lpvalues")
	if code, _, errs := logparse("values", filepath.Join(dir, "libx.so.2.0"), "-o", plan); code != exitOK {
		t.Fatalf("status %d: %s", code, errs)
	}
	for _, test := range []struct{ values, said string }{
		{"*", "liby.so: it has no DWARF debug information"}, {plan, ""},
	} {
		var said bytes.Buffer
		cmd := recordProcess(t, program, "-o", "log", "--values", test.values, "./program")
		cmd.Stderr = &said
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 17 || !strings.Contains(said.String(), test.said) {
			t.Fatalf("%s: status %d: %s", test.values, code, said.String())
		}
		code, shown, errs := logparse("show", filepath.Join(filepath.Dir(program), "log"), "--where", "event:enter", "--symbols", dir)
		if call := "scaled(int x = 5, int by = 3)"; code != exitOK || !strings.Contains(shown, call) {
			t.Errorf("%s: status %d: %s\nno %s in %s", test.values, code, errs, call, shown)
		}
		if err := os.RemoveAll(filepath.Join(filepath.Dir(program), "log")); err != nil {
			t.Fatal(err)
		}
	}
}
