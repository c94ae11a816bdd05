package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// compileValues builds testdata/values.cpp with hooks that values are taken at, and returns its path.
func compileValues(t *testing.T, options ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
	return compileHooked(t, "testdata/values.cpp", append([]string{"g++", "-minstrument-return=call"}, options...))
}

// compileHooked builds a program of C++ with hooks that values are taken at, which are __fentry__ where the command
// asks for no others, and returns its path.
func compileHooked(t *testing.T, source string, command []string) string {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("values are taken on x86-64")
	}
	source, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command = append(slices.Clip(command), "-g")
	var machine []string
	if slices.Contains(command, "-m32") {
		machine = []string{"-m32"}
	}
	if strings.HasSuffix(source, ".cpp") {
		command = append(command, "-std=c++17")
	}
	if !hooksOfFunctions(command) {
		command = append(command, "-pg", "-mfentry")
	}
	// The C library has no hook of returns, which the recorder brings when it is preloaded.
	if err := os.WriteFile(filepath.Join(dir, "hook.c"), []byte("void __return__(void) {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		slices.Concat([]string{"gcc", "-O1", "-shared", "-fPIC", "hook.c", "-o", "libhook.so"}, machine),
		append(slices.Clip(command), source, "-o", "program", "-L.", "-lhook", "-Wl,-rpath,"+dir, "-Wl,--build-id"),
	} {
		build := exec.Command(command[0], command[1:]...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return filepath.Join(dir, "program")
}

// expectedCalls are the lines that stand in the source of the program.
func expectedCalls(t *testing.T, dwarf4 bool) []string {
	t.Helper()
	source, err := os.ReadFile("testdata/values.cpp")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(source)) {
		if _, call, ok := strings.Cut(line, "//= "); ok {
			call, old, has := strings.Cut(call, "//4= ")
			if dwarf4 && has {
				call = old
			}
			list = append(list, strings.TrimSpace(call))
		}
	}
	return list
}

var anyAddress = regexp.MustCompile(`this = 0x[0-9a-f]+`)

// TestValuesOfProgram records a program with the values of its calls, in one command: each is shown with what it
// was called with, at -O0 and -O2, and with DWARF of version 4.
func TestValuesOfProgram(t *testing.T) {
	for _, options := range [][]string{{"-O0"}, {"-O2"}, {"-O2", "-gdwarf-4"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			program := compileValues(t, options...)
			out, err := recordProcess(t, program, "--values", "app::*", "-o", "log", "--head", "0", "./program").Output()
			if err != nil || string(out) != "done\n" {
				t.Fatalf("%v: %q", err, out)
			}
			shown := process(t, "show", filepath.Join(filepath.Dir(program), "log"), "--where", "func:app:: event:enter depth:1")
			rows, err := shown.Output()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for line := range strings.Lines(string(rows)) {
				if _, call, ok := strings.Cut(line, "-> "); ok && !strings.Contains(call, "::Counted(") && !strings.Contains(call, "~") {
					call, _, _ = strings.Cut(call, "  ")
					got = append(got, anyAddress.ReplaceAllString(strings.TrimSpace(call), "this = 0x"))
				}
			}
			want := expectedCalls(t, slices.Contains(options, "-gdwarf-4"))
			for i := range max(len(got), len(want)) {
				switch {
				case i >= len(got):
					t.Errorf("call %d is missing: %s", i, want[i])
				case i >= len(want):
					t.Errorf("call %d is too much: %s", i, got[i])
				case got[i] != want[i]:
					t.Errorf("call %d:\n%s\nwant\n%s", i, got[i], want[i])
				}
			}
		})
	}
}

// TestValuesOfSample records the sample with classes: each call is shown as its source says.
func TestValuesOfSample(t *testing.T) {
	const sample = "../../recorder/samples/values/classes.cpp"
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("there is no g++")
	}
	source, err := os.ReadFile(sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range [][]string{{"-O0", "-minstrument-return=call"}, {"-O2", "-minstrument-return=call"}, {"-O0", "-finstrument-functions"}, {"-O2", "-finstrument-functions"}} {
		t.Run(strings.Join(options, " "), func(t *testing.T) {
			program := compileHooked(t, sample, append([]string{"g++", "-fno-optimize-sibling-calls"}, options...))
			out, err := recordProcess(t, program, "--sites", "--values", "*", "--values", "!std::*", "-o", "log", "--head", "0", "./program").Output()
			if err != nil || string(out) != "1 1050 10.5 62\n" {
				t.Fatalf("%v: %q", err, out)
			}
			shown, err := process(t, "show", filepath.Join(filepath.Dir(program), "log"), "--where", "event:enter").Output()
			if err != nil {
				t.Fatal(err)
			}
			text := anyAddress.ReplaceAllString(string(shown), "this = 0x")
			// Optimized, the code may compute a result behind the call of the hook.
			computedLater := options[0] == "-O2" && options[1] == "-finstrument-functions"
			number := 0
			for line := range strings.Lines(string(source)) {
				number++
				for _, call := range strings.Split(line, "//= ")[1:] {
					call = "-> " + strings.TrimSpace(call) + "  "
					n, from := 0, fmt.Sprintf("  from classes.cpp:%d", number)
					before, _, has := strings.Cut(call, ") = ")
					for row := range strings.Lines(text) {
						if strings.HasSuffix(row, from+"\n") && (strings.Contains(row, call) || has && computedLater && strings.Contains(row, before+") = ?  ")) {
							n++
						}
					}
					if n != 1 {
						t.Errorf("%s … %s stands %d times in\n%s", call, from, n, text)
					}
				}
			}
		})
	}
}

// TestValuesOfInlined records functions that are inlined, with hooks that stand in the middle of others: there nothing is
// taken of them, and no value is taken for one of another call.
func TestValuesOfInlined(t *testing.T) {
	source := filepath.Join(t.TempDir(), "inlined.c")
	const text = `
static inline __attribute__((always_inline)) int twice(int n) { return n * 2; }
__attribute__((noinline)) int both(int n, int m) { return twice(m) + twice(n); }
__attribute__((noinline)) int deep(int n) { return n ? deep(n - 1) + 1 : twice(4); }
int main(void) { return both(3, 4) + deep(1) - 23; }
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	program := compileHooked(t, source, []string{"gcc", "-O2", "-finstrument-functions"})
	if out, err := recordProcess(t, program, "--values", "*", "-o", "log", "--head", "0", "./program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	shown, err := process(t, "show", filepath.Join(filepath.Dir(program), "log"), "--where", "event:enter").Output()
	if err != nil {
		t.Fatal(err)
	}
	for call, n := range map[string]int{"twice(int n = ?) = ?": 3, "both(int n = 3, int m = 4) = ": 1, "deep(int n = 1) = ": 1, "deep(int n = 0) = ": 1} {
		if got := strings.Count(string(shown), "-> "+call); got != n {
			t.Errorf("%s stands %d times, not %d, in\n%s", call, got, n, shown)
		}
	}
}
