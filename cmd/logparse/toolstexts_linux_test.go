package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The texts of tools that are on this machine, about programs whose frames are known. Each program lies there stripped, so that the tools
// have addresses alone, with its full twin of another name beside it. Functions pass addresses of code to each other, which are arguments
// and no places: naming one is wrong.

// crashSource crashes three calls deep, or does what a sanitizer sees, or runs until it has used some processor time. With a second
// argument it prints its mappings first.
const crashSource = `#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HANDLER
#include <execinfo.h>
static __attribute__((noinline)) void handler(int sig) {
  void *b[16];
  int n = backtrace(b, 16); /* handler */
  if (HANDLER == 1) backtrace_symbols_fd(b, n, 2);
  else for (int i = 0; i < n; i++) dprintf(2, "called by %p\n", b[i]);
  _exit(sig);
}
#endif
typedef int (*callback)(int);
volatile int sink;
__attribute__((noinline)) int done(int x) { return x + sink; } /* done */
static __attribute__((noinline)) int inner(callback f, volatile int *p) {
  sink = *p; /* fault */
  return f(1); /* callback */
}
static __attribute__((noinline)) int outer(callback f, volatile int *p) {
  int r = inner(f, p); /* call 1 */
  return r + 1;
}
int main(int argc, char **argv) {
  volatile int *p = (volatile int *)8;
  char line[512];
  if (argc > 1) {
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) fputs(line, stderr);
  }
#ifdef HANDLER
  signal(SIGSEGV, handler);
#endif
#ifdef FREED
  p = malloc(4);
  free((void *)p);
#endif
#ifdef UNSET
  p = malloc(4);
#endif
  int r = outer(done, p); /* call 2 */
  return r;
}
`

// crashFrames are the frames of the crash, innermost first.
var crashFrames = []string{"inner fault", "outer call 1", "main call 2"}

// A toolText is how a text comes to be and what is known of it.
type toolText struct {
	name string
	// tool is what must be there, or "".
	tool string
	// build are the compiler, gcc unless it is the first, and its arguments.
	compiler string
	build    []string
	// command runs in the folder; its outputs are the text. keep, if not nil, chooses the lines of it.
	command string
	keep    *regexp.Regexp
	// args are for the verb symbolize.
	args []string
	// file and source are the program, if it is another than crashSource.
	file, source string
	// want are functions and the marks of their lines, in the order of the text.
	want []string
}

var toolTexts = []toolText{
	{name: "glibc, backtrace_symbols", build: []string{"-DHANDLER=1"}, command: "./crash", want: append([]string{"handler handler"}, crashFrames...)},
	{name: "glibc, not position-independent", build: []string{"-DHANDLER=1", "-no-pie"}, command: "./crash", want: append([]string{"handler handler"}, crashFrames...)},
	{name: "glibc, called by %p with maps", build: []string{"-DHANDLER=2"}, command: "./crash maps", want: append([]string{"handler handler"}, crashFrames...)},
	{name: "gdb", tool: "gdb", command: "gdb -nx -batch -ex run -ex 'info proc mappings' -ex bt ./crash", want: crashFrames},
	{name: "gdb, not position-independent", tool: "gdb", build: []string{"-no-pie"}, command: "gdb -nx -batch -ex run -ex 'info proc mappings' -ex bt ./crash", want: crashFrames},
	{name: "AddressSanitizer of gcc", build: []string{"-fsanitize=address", "-DFREED"}, command: "ASAN_OPTIONS=symbolize=0 ./crash", keep: sanitizerFrames, want: crashFrames},
	{name: "AddressSanitizer of clang", compiler: "clang-19", build: []string{"-fsanitize=address", "-DFREED"}, command: "ASAN_OPTIONS=symbolize=0 ./crash", keep: sanitizerFrames, want: crashFrames},
	{name: "AddressSanitizer of clang, a fault", compiler: "clang-19", build: []string{"-fsanitize=address"}, command: "ASAN_OPTIONS=symbolize=0 ./crash", keep: sanitizerFrames, want: crashFrames},
	{name: "AddressSanitizer of clang, colours", compiler: "clang-19", build: []string{"-fsanitize=address"}, command: "ASAN_OPTIONS=symbolize=0:color=always ./crash", keep: sanitizerFrames, want: crashFrames},
	{name: "markup", compiler: "clang-19", build: []string{"-fsanitize=address"}, command: "ASAN_OPTIONS=enable_symbolizer_markup=1 ./crash", want: append(slices.Clone(crashFrames), "inner fault")},
	{name: "MemorySanitizer", compiler: "clang-19", build: []string{"-fsanitize=memory", "-DUNSET"}, command: "MSAN_OPTIONS=symbolize=0 ./crash", want: []string{"done done", "inner callback", "outer call 1", "main call 2"}},
	{name: "UndefinedBehaviorSanitizer", compiler: "clang-19", build: []string{"-fsanitize=undefined"}, command: "UBSAN_OPTIONS=symbolize=0:print_stacktrace=1 ./crash", keep: sanitizerFrames, want: crashFrames},
	{name: "ThreadSanitizer", compiler: "clang-19", build: []string{"-fsanitize=thread"}, command: "TSAN_OPTIONS=symbolize=0 setarch -R ./crash", keep: sanitizerFrames, want: crashFrames},
	{name: "Valgrind", tool: "valgrind", command: "valgrind -q ./crash", want: append(slices.Clone(crashFrames), crashFrames...)},
	{name: "Valgrind, not position-independent", tool: "valgrind", build: []string{"-no-pie"}, command: "valgrind -q ./crash", want: append(slices.Clone(crashFrames), crashFrames...)},
	{name: "glog", tool: "/usr/include/glog/logging.h", compiler: "g++", build: []string{"-fpermissive", "-w", "-include", "glog/logging.h"},
		source: strings.Replace(crashSource, "  char line[512];", "  google::InstallFailureSignalHandler(); char line[512];", 1), command: "./crash maps", want: crashFrames},
	{name: "the kernel", tool: "dmesg", command: "./crash & wait $!; dmesg | grep \"crash\\[$!\\]\" | tail -1", want: []string{"inner fault"}},
	{name: "Rust", tool: "rustc", compiler: "rustc", build: []string{"-g", "-C", "opt-level=1", "-C", "strip=none"}, file: "crash.rs", source: rustSource,
		command: "RUST_BACKTRACE=full ./crash", want: []string{"crash::inner fault", "crash::outer call 1", "crash::main call 2"}},
	{name: "Go", compiler: "go", build: []string{"build"}, file: "crash.go", source: goSource, command: "GOTRACEBACK=crash ./crash 2>&1 | grep '^\\[signal'", args: []string{"--image", "crash"},
		want: []string{"main.inner fault"}},
	{name: "Java", tool: "javac", build: []string{"-shared", "-fPIC"}, source: javaSource,
		command: "javac Main.java && java -Xint -XX:ErrorFile=hs.log Main $PWD/crash >/dev/null 2>&1; sed -n '/^Native frames/,/^$/p' hs.log", want: []string{"inner fault", "outer call 1", "Java_Main_crash call 2"}},
	{name: "behind the prefix of a container", build: []string{"-DHANDLER=1"}, command: "./crash 2>&1 | sed 's/^/2024-05-01T10:00:00.123456789Z stderr F /'", want: append([]string{"handler handler"}, crashFrames...)},
}

// The programs of other languages. What they print first is where they lie.
const (
	rustSource = `#[inline(never)]
fn inner(f: fn(i32) -> i32, p: Option<i32>) -> i32 {
    f(p.unwrap()) /* fault */
}
#[inline(never)]
fn outer(f: fn(i32) -> i32, p: Option<i32>) -> i32 {
    let r = inner(f, p); /* call 1 */
    r + 1
}
fn done(x: i32) -> i32 { x }
fn main() {
    eprint!("{}", std::fs::read_to_string("/proc/self/maps").unwrap());
    let r = outer(done, None); /* call 2 */
    println!("{}", r);
}
`
	goSource = `package main

//go:noinline
func inner(f func(int) int, p *int) int {
	return f(*p) /* fault */
}

//go:noinline
func outer(f func(int) int, p *int) int {
	r := inner(f, p)
	return r + 1
}

func main() {
	println(outer(func(x int) int { return x }, nil))
}
`
	javaSource = `typedef int (*callback)(int);
volatile int sink;
__attribute__((noinline)) int done(int x) { return x + sink; }
static __attribute__((noinline)) int inner(callback f, volatile int *p) {
  sink = *p; /* fault */
  return f(1);
}
static __attribute__((noinline)) int outer(callback f, volatile int *p) {
  int r = inner(f, p); /* call 1 */
  return r + 1;
}
int Java_Main_crash(void *env, void *type) {
  int r = outer(done, (volatile int *)8); /* call 2 */
  return r;
}
`
	javaMain = `public class Main {
  static native int crash();
  public static void main(String[] a) { System.load(a[0]); crash(); }
}
`
)

// sanitizerFrames are the frames of the first stack of a sanitizer's report; the others tell where memory came from.
var sanitizerFrames = regexp.MustCompile(`^\s*(\x1b\[[0-9;]*m)*#[0-9]+ `)

// firstStack returns the lines of a text up to the end of its first stack.
func firstStack(text string, frames *regexp.Regexp) string {
	var b strings.Builder
	in := false
	for l := range strings.Lines(text) {
		if is := frames.MatchString(l); is {
			in = true
		} else if in {
			break
		}
		b.WriteString(l)
	}
	return b.String()
}

// TestTextsOfTools holds that every frame of a program of ours has its function and the line of its call in the texts of the tools that are here, that
// nothing else is named as a place in it, and that the text is otherwise as it was. It runs with make conformance.
func TestTextsOfTools(t *testing.T) {
	if os.Getenv("LOGPARSE_TOOLS") == "" {
		t.Skip("runs with make conformance")
	}
	for _, tt := range toolTexts {
		t.Run(tt.name, func(t *testing.T) {
			if tt.tool != "" {
				if _, err := exec.LookPath(tt.tool); err != nil && !fileThere(tt.tool) {
					t.Skip(err)
				}
			}
			dir := t.TempDir()
			buildTool(t, dir, &tt)
			text := runTool(t, dir, tt.command)
			if tt.keep != nil {
				text = firstStack(text, tt.keep)
			}
			t.Chdir(dir)
			got, errs, _ := symbolize(t, strings.NewReader(text), tt.args...)
			if withoutNames(got) != text {
				t.Errorf("the text was changed:\n%s", got)
			}
			checkFrames(t, got, errs, &tt)
		})
	}
}

func fileThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// buildTool compiles the program, strips it and leaves its full twin beside it.
func buildTool(t *testing.T, dir string, tt *toolText) {
	t.Helper()
	if tt.source == "" {
		tt.source = crashSource
	}
	if tt.file == "" {
		tt.file = "crash.c"
	}
	compiler := tt.compiler
	if compiler == "" {
		compiler = "gcc"
	}
	path, err := exec.LookPath(compiler)
	if err != nil {
		t.Skip(err)
	}
	for name, text := range map[string]string{tt.file: tt.source, "Main.java": javaMain, "go.mod": "module crash\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := append(slices.Clone(tt.build), "-o", "full twin", tt.file)
	if tt.file == "crash.c" {
		args = append([]string{"-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id"}, args...)
	}
	if tt.name == "glog" {
		args = append(args, "-lglog")
	}
	run := func(path string, args ...string) error {
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := run(path, args...); err != nil {
		t.Skip(err)
	}
	if err := run("strip", "-s", "-o", "crash", "full twin"); err != nil {
		t.Fatal(err)
	}
}

func runTool(t *testing.T, dir, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "ulimit -c 0; "+command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=", "PWD="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // it crashes
	return out.String()
}

// checkFrames holds that the names that a text got in the source are exactly these.
func checkFrames(t *testing.T, got, errs string, tt *toolText) {
	t.Helper()
	places := regexp.MustCompile(`(?:=> (?:\[unverified\] )?|inlined into )(\S+) at \S*` + regexp.QuoteMeta(tt.file) + `:(\d+)`)
	var list, wanted []string
	for _, m := range places.FindAllStringSubmatch(got, -1) {
		function, _, _ := strings.Cut(m[1], "(")
		list = append(list, function+" "+m[2])
	}
	for _, w := range tt.want {
		function, mark, _ := strings.Cut(w, " ")
		wanted = append(wanted, function+" "+strconv.Itoa(markedLine(tt.source, mark)))
	}
	if !slices.Equal(list, wanted) {
		t.Errorf("frames %q, want %q\n%s%s", list, wanted, got, errs)
	}
}

// TestPairs holds that a stripped program and its full twin, of any name beside it, have the twin's answers by the verbs that name
// functions; and that the separate debug file that a PE names does. It runs with make conformance.
func TestPairs(t *testing.T) {
	if os.Getenv("LOGPARSE_TOOLS") == "" {
		t.Skip("runs with make conformance")
	}
	for _, tt := range []struct {
		name, compiler string
		build, after   []string
	}{
		{"ELF, gcc", "gcc", []string{"-o", "full"}, []string{"strip -s -o stripped full"}},
		{"ELF, clang", "clang-19", []string{"-o", "full"}, []string{"strip -s -o stripped full"}},
		{"ELF, debuglink", "gcc", []string{"-Wl,--build-id=none", "-o", "full"}, []string{"objcopy --only-keep-debug full stripped.dbg", "strip -s -o stripped full",
			"objcopy --add-gnu-debuglink=stripped.dbg stripped"}},
		{"PE, debuglink", "x86_64-w64-mingw32-gcc", []string{"-DPE", "-o", "full.exe"}, []string{"mv full.exe full", "x86_64-w64-mingw32-objcopy --only-keep-debug full stripped.dbg",
			"x86_64-w64-mingw32-strip -s -o stripped full", "x86_64-w64-mingw32-objcopy --add-gnu-debuglink=stripped.dbg stripped"}},
		{"PE of x86, debuglink", "i686-w64-mingw32-gcc", []string{"-DPE", "-o", "full.exe"}, []string{"mv full.exe full", "i686-w64-mingw32-objcopy --only-keep-debug full stripped.dbg",
			"i686-w64-mingw32-strip -s -o stripped full", "i686-w64-mingw32-objcopy --add-gnu-debuglink=stripped.dbg stripped"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compiler, err := exec.LookPath(tt.compiler)
			if err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			source := strings.ReplaceAll(javaSource, "int Java_Main_crash(void *env, void *type)", "int main(void)")
			if err := os.WriteFile(filepath.Join(dir, "crash.c"), []byte(source), 0o666); err != nil {
				t.Fatal(err)
			}
			commands := append([]string{compiler + " -g -O1 " + strings.Join(tt.build, " ") + " crash.c"}, tt.after...)
			for _, c := range commands {
				if out := runTool(t, dir, c); out != "" {
					t.Fatalf("%s: %s", c, out)
				}
			}
			t.Chdir(dir)
			status := regexp.MustCompile(`,"(status|symbol_file)":"[^"]*"|\b(stripped|full)\b`)
			answer := func(image, stdin string, args ...string) string {
				t.Helper()
				var out, errs bytes.Buffer
				for i := range args {
					args[i] = strings.ReplaceAll(args[i], "$", image)
				}
				if code := run(context.Background(), args, strings.NewReader(strings.ReplaceAll(stdin, "$", image)), &out, &errs); code != exitOK {
					t.Errorf("%v: %d, %s", args, code, errs.String())
				}
				return status.ReplaceAllString(out.String(), "")
			}
			var addresses, frames strings.Builder
			for at := uint64(0x1000); at < 0x1600; at++ {
				fmt.Fprintf(&addresses, "%#x\n", at)
				fmt.Fprintf(&frames, "./$(+%#x)[%#x]\n", at, 0x7f0000000000+at)
			}
			for _, v := range []struct {
				stdin, holds string
				args         []string
			}{
				{addresses.String(), `"function":"outer"`, []string{"resolve", "--json", "--image", "$"}},
				{frames.String(), "=> outer at ", []string{"symbolize", "--image", "$"}},
				{frames.String(), "=> [unverified] outer at ", []string{"symbolize"}},
			} {
				want, got := answer("full", v.stdin, slices.Clone(v.args)...), answer("stripped", v.stdin, slices.Clone(v.args)...)
				if got != want || !strings.Contains(got, v.holds) {
					t.Errorf("%v: the answers differ:\n%.3000s\nwant\n%.3000s", v.args, got, want)
				}
			}
			// What is attached to the stripped one are the names of its twin.
			answer("stripped", "", "attach", "$")
			if err := os.MkdirAll("alone", 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename("stripped", "alone/stripped"); err != nil {
				t.Fatal(err)
			}
			if got := answer("alone/stripped", addresses.String(), "resolve", "--json", "--image", "$"); !strings.Contains(got, `"function":"outer"`) {
				t.Errorf("nothing was attached:\n%.2000s", got)
			}
		})
	}
}
