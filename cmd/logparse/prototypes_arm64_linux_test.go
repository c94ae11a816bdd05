package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The programs for arm64 are compiled by clang and run by qemu, which knows the machine's instructions.

// arm64Root is where Debian has the libraries for arm64.
const arm64Root = "/usr/aarch64-linux-gnu"

// arm64 builds programs for arm64.
type arm64 struct {
	c, cxx  string
	library string // the recorder's, "" where it could not be built
	memory  string // has the system call that qemu has not (testdata/readv.c, which the recorder calls by testdata/readv.h)
}

// arm64Folder is where the recorder for arm64 is, "" before it is built.
var arm64Folder string

// linkARM64 are options for clang.
var linkARM64 = []string{"--target=aarch64-linux-gnu", "-fuse-ld=lld"}

// findARM64 builds the recorder for arm64, once for all tests.
var findARM64 = sync.OnceValues(func() (*arm64, string) {
	a := &arm64{c: findCompiler("clang"), cxx: findCompiler("clang++")}
	if a.c == "" || a.cxx == "" {
		return nil, "there is no clang"
	}
	if _, err := exec.LookPath("qemu-aarch64"); err != nil {
		return nil, "there is no qemu-aarch64 (qemu-user)"
	}
	check := exec.Command(a.cxx, append(slices.Clone(linkARM64), "-x", "c++", "-", "-o", os.DevNull)...)
	check.Stdin = strings.NewReader("#include <string>\nint main(int n, char **v) { return (int)std::string(v[0]).size() * 0; }\n")
	if out, err := check.CombinedOutput(); err != nil {
		return nil, "clang builds nothing for arm64 (libstdc++-12-dev-arm64-cross, lld): " + string(out)
	}
	dir, err := os.MkdirTemp("", "logparse-arm64-*")
	if err != nil {
		return nil, err.Error()
	}
	sources, err := filepath.Glob("../../recorder/src/*.[cS]")
	if err != nil {
		return nil, err.Error()
	}
	arm64Folder = dir
	library := filepath.Join(dir, "liblogrec.so")
	build := exec.Command(a.c, slices.Concat(linkARM64, []string{"-O2", "-shared", "-fPIC", "-pthread", "-fvisibility=hidden", "-DLOGREC_BUILD_SHARED", "-Wall", "-Wextra", "-Werror", "-I../../recorder/include", "-include", "testdata/readv.h"},
		sources, []string{"-o", library, "-ldl", "-Wl,-z,nodelete"})...)
	if out, err := build.CombinedOutput(); err != nil {
		return a, "the recorder cannot be built for arm64: " + string(out)
	}
	a.memory = filepath.Join(dir, "readv.so")
	build = exec.Command(a.c, slices.Concat(linkARM64, []string{"-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "testdata/readv.c", "-o", a.memory})...)
	if out, err := build.CombinedOutput(); err != nil {
		return a, "readv.c cannot be built for arm64: " + string(out)
	}
	a.library = library
	return a, ""
})

// needARM64 returns what builds and runs programs for arm64, or skips the test.
func needARM64(t *testing.T) *arm64 {
	t.Helper()
	if testing.Short() {
		t.Skip("programs and the recorder are built, and run by qemu")
	}
	a, why := findARM64()
	switch {
	case a == nil:
		t.Skip(why)
	case why != "":
		t.Fatal(why)
	}
	return a
}

// compile builds a program with hooks that are patched when it runs.
func (a *arm64) compile(t *testing.T, source string, options ...string) (program string) {
	t.Helper()
	source, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	compiler, standard := a.c, "-std=gnu11"
	if strings.HasSuffix(source, ".cpp") {
		compiler, standard = a.cxx, "-std=c++17"
	}
	dir := t.TempDir()
	for _, command := range [][]string{
		slices.Concat([]string{compiler, "--target=aarch64-linux-gnu", standard, "-g", "-w", "-c", source, "-o", "program.o"}, options),
		slices.Concat([]string{compiler}, linkARM64, []string{"program.o", a.library, "-o", "program", "-pthread", "-Wl,--as-needed,--build-id,-rpath," + filepath.Dir(a.library)}),
	} {
		build := exec.Command(command[0], command[1:]...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return filepath.Join(dir, "program")
}

// run runs a program, with the recorder preloaded and variables of its own if there are any, and returns what it writes.
func (a *arm64) run(t *testing.T, program string, variables ...string) string {
	t.Helper()
	args := []string{"-L", arm64Root}
	if variables != nil {
		args = append(args, "-E", "LD_PRELOAD="+strings.TrimPrefix(a.memory+":"+a.library, ":"))
	}
	// Of the log's room in the address space qemu keeps account by the page.
	const limited = `ulimit -v 16000000; exec qemu-aarch64 "$@"`
	cmd := exec.Command("sh", slices.Concat([]string{"-c", limited, "sh"}, args, []string{program})...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.Dir = filepath.Dir(program)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s%s", err, out, stderr.Bytes())
	}
	return string(out)
}

// record makes a plan of a program's values, runs it, and returns what it writes and the folder of its log.
func (a *arm64) record(t *testing.T, program string, specs []string, variables ...string) (out, log string) {
	t.Helper()
	dir := filepath.Dir(program)
	log = filepath.Join(dir, "log")
	if err := os.Mkdir(log, 0o777); err != nil {
		t.Fatal(err)
	}
	plan := filepath.Join(dir, "plan.lpvalues")
	if text, err := process(t, slices.Concat([]string{"values", program, "-o", plan, "--"}, specs)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return a.run(t, program, append(variables, "LOGREC_PATCH=1", "LOGREC_VALUES="+plan, "LOGREC_FILE="+log+"/")...), log
}

// TestToldARM64 records what a program for arm64 tells itself of its calls.
func TestToldARM64(t *testing.T) {
	a := needARM64(t)
	source := filepath.Join(t.TempDir(), "told.cpp")
	const text = `
#include "logrec_values.h"
enum class Kind : short { One = 1, Two };
__attribute__((noinline)) static long told(int a, double b, const char *c, bool d, Kind e, float f, unsigned char g, std::string h, const int *i) {
  LOGREC_ARGS(a, b, c, d, e, f, g, h, i);
  return LOGREC_RETURN(a * 1000000000l);
}
__attribute__((noinline)) static double half(double v) {
  LOGREC_ARGS(v);
  return LOGREC_RETURN(v / 2);
}
int main() { return told(-7, 2.5, "text", true, Kind::Two, -0.5f, 200, "a longer std::string", nullptr) + half(14e9) != 0; }
`
	if err := os.WriteFile(source, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	include, err := filepath.Abs("../../recorder/include")
	if err != nil {
		t.Fatal(err)
	}
	program := a.compile(t, source, "-O2", "-finstrument-functions-after-inlining", "-I"+include)
	log := filepath.Join(filepath.Dir(program), "log")
	if err := os.Mkdir(log, 0o777); err != nil {
		t.Fatal(err)
	}
	a.run(t, program, "LOGREC_FILE="+log+"/")
	out, err := process(t, "show", log, "--where", "event:enter").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`-> told(int a = -7, double b = 2.5, const char * c = "text", bool d = true, Kind e = 2, float f = -0.5, unsigned char g = 200, std::basic_string<char> h = "a longer std::string", const int * i = null) = -7000000000`,
		"-> half(double v = 1.4e+10) = 7e+09",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not in %s", want, out)
		}
	}
}

// anyNumber is what differs between runs.
var anyNumber = regexp.MustCompile(`0x[0-9a-f]+`)

// TestPrototypesARM64 is TestPrototypes for arm64: with XRay's hooks results are known, too.
func TestPrototypesARM64(t *testing.T) {
	var specs []string
	for _, s := range prototypeValues {
		if s != "--values" {
			specs = append(specs, s)
		}
	}
	xray := []string{"-fxray-instrument", "-fxray-instruction-threshold=1"}
	for _, build := range []struct {
		name, as string
		options  []string
	}{
		{"arm64 clang -O2", "", append([]string{"-O2"}, xray...)},
		{"arm64 clang -O0", "", append([]string{"-O0"}, xray...)},
		{"arm64 clang -O2 entries", "clang -O2", []string{"-O2", "-fpatchable-function-entry=8", "-mbranch-protection=standard"}},
	} {
		t.Run(build.name, func(t *testing.T) {
			a := needARM64(t)
			program := a.compile(t, "testdata/prototypes.cpp", build.options...)
			out, log := a.record(t, program, specs, "LOGREC_INCLUDE=app::*,p90")
			if want := a.run(t, program); anyNumber.ReplaceAllString(out, "") != anyNumber.ReplaceAllString(want, "") {
				t.Errorf("with the recorder the program writes %s\nwithout %s", out, want)
			}
			checkPrototypes(t, a.cxx, build.name, build.as, out, log, false)
		})
	}
}
