package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// probed builds the program of parser/probes/testdata.
func probed(t *testing.T, options ...string) string {
	t.Helper()
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no g++")
	}
	source, err := filepath.Abs(filepath.Join("..", "..", "parser", "probes", "testdata", "app.cpp"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(compiler, append([]string{"-O2", "-pthread", "-o", "app", source}, options...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	return filepath.Join(dir, "app")
}

// definitions are the lines for the kernel, without the path and the offsets.
func definitions(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := logparse(append([]string{"probes", "--for", "uprobe"}, args...)...)
	if code != exitOK {
		t.Fatal(errs)
	}
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		if line != "" && line[0] != '#' {
			lines = append(lines, regexp.MustCompile(` /[^ ]*:0x[0-9a-f]+`).ReplaceAllString(line, ""))
		}
	}
	return strings.Join(lines, "\n")
}

func TestProbes(t *testing.T) {
	app := probed(t, "-g")
	if got, want := definitions(t, app, "app::f", "sum", "--return"), `p:lp/lp_0001_f a=%di:s32 s=+0(%si):string
r:lp/lp_0001_f__return ret=$retval:s32
p:lp/lp_0002_f s=+0(+0(%di)):string c=%si:s32
r:lp/lp_0002_f__return ret=$retval:s32
p:lp/lp_0003_sum a=%di:s32 b=%si:s32 c=%dx:s32 d=%cx:s32 e=%r8:s32 f=%r9:s32 g=+8(%sp):s32 h=+16(%sp):s32
r:lp/lp_0003_sum__return ret=$retval:s32`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// Overloads are told apart by their parameters, members by their class, values by their names.
	for pattern, want := range map[string]string{
		"app::f(int*)":              "p:lp/lp_0001_f a=%di:s32 s=+0(%si):string",
		"*area*@h,this->k":          "p:lp/lp_0001_area this_k=+8(%di):s32 h=%dx:s32",
		"app::g@p":                  "p:lp/lp_0001_g p_x=%di:s32 p_y=%di:b32@32/64",
		"app::half(double)@nothing": "p:lp/lp_0001_half",
	} {
		if got := definitions(t, app, pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
	_, _, errs := logparse("probes", app, "app::half", "--for", "uprobe")
	if !strings.Contains(errs, "d is not taken: it is in a vector register") {
		t.Error(errs)
	}
	code, _, errs := logparse("probes", app, "nosuch")
	if code != exitError || !strings.Contains(errs, "no function fits") {
		t.Error(code, errs)
	}
}

// Of a program without symbols functions are found by its unwind rules, at the same offsets.
func TestProbesStripped(t *testing.T) {
	app := probed(t, "-g")
	offset := func(out string) string {
		return regexp.MustCompile(`app:0x[0-9a-f]+`).FindString(out)
	}
	_, with, _ := logparse("probes", app, "app::f(int*)", "--for", "uprobe")
	start := regexp.MustCompile(`E 0 0x([0-9a-f]+)`).FindStringSubmatch(with)
	if offset(with) == "" || start == nil {
		t.Fatal(with)
	}
	if out, err := exec.Command("strip", app).CombinedOutput(); err != nil {
		t.Skipf("strip: %v: %s", err, out)
	}
	_, without, errs := logparse("probes", app, "sub_"+start[1], "--for", "uprobe")
	if offset(without) != offset(with) || !strings.Contains(without, "arg1=%di:x64") || !strings.Contains(errs, "no debug information") {
		t.Errorf("%s\n%s\nwith symbols %s", without, errs, offset(with))
	}
}

// The script for perf, run with real probes, gives what the program did.
func TestProbesByPerf(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("probes of the kernel need root")
	}
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf")
	}
	if f, err := os.OpenFile("/sys/kernel/tracing/uprobe_events", os.O_WRONLY|os.O_APPEND, 0); err != nil {
		t.Skip(err)
	} else {
		f.Close()
	}
	app := probed(t, "-g")
	script := filepath.Join(filepath.Dir(app), "app.sh")
	if code, _, errs := logparse("probes", app, "app::*", "sum", "!*~*", "--return", "-o", script); code != exitOK {
		t.Fatal(errs)
	}
	cmd := exec.Command("sh", script, app)
	cmd.Dir = filepath.Dir(app)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "463\n") {
		t.Skipf("%v: %s", err, out) // another user of perf, or a kernel without uprobes
	}
	code, text, errs := logparse("show", filepath.Join(cmd.Dir, "calls.txt"), "--columns", "event,function,arguments,result", "--format", "csv", "--where", "event:enter")
	if code != exitOK {
		t.Fatal(errs)
	}
	for _, want := range []string{
		`enter,"app::f(int, char const*, double)","int a = 2, char const* s = ""hello""",108`,
		`enter,sum,"int a = 1, int b = 2, int c = 3, int d = 4, int e = 5, int f = 6, int g = 7, int h = 8",36`,
		`enter,"app::f(int, char const*, double)","int a = -2, char const* s = ""child""",97`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\nenter,"); n != 18 {
		t.Errorf("%d calls, want 18", n)
	}
}

// Recorded by probes of the kernel, a program gives the same output, and its log what it did.
func TestRecordProbed(t *testing.T) {
	app := probed(t, "-g")
	dir := filepath.Join(filepath.Dir(app), "rec")
	cmd := recordProcess(t, app, "--probe", "app::*", "--probe", "sum", "--values", "*", "-o", dir, app)
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(out), "probes cannot be set") || strings.Contains(string(out), "only Linux") {
		if _, err := os.Stat(dir); err == nil {
			t.Error("there is a folder, and nothing was recorded")
		}
		t.Skip(string(out))
	}
	if err != nil {
		t.Skipf("%v: %s", err, out) // a kernel without BPF
	}
	if !strings.Contains(string(out), "463\n") || !strings.Contains(string(out), "ended with status 0") {
		t.Errorf("%s", out)
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.lptrace"))
	if len(logs) != 2 {
		t.Fatalf("%d logs, want those of the program and of its child", len(logs))
	}
	text := ""
	for _, log := range logs {
		code, one, errs := logparse("show", log, "--columns", "event,function,arguments,result", "--format", "csv", "--where", "event:enter")
		if code != exitOK {
			t.Fatal(errs)
		}
		text += one
	}
	for _, want := range []string{
		`enter,"app::f(int, char const*, double)","int a = 2, char const* s = ""hello"", double d = ?",108`,
		`enter,app::g,"app::Point p = {x = 2, y = -2}, app::Big const& b = {a = 7, b = 8, c = 'x'}, std::string_view v = ""view"", short h = -5",6`,
		`enter,"app::f(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, app::Color)","std::string const& s = ""a longer text than sixteen"", app::Color c = Green",27`,
		`enter,sum,"int a = 1, int b = 2, int c = 3, int d = 4, int e = 5, int f = 6, int g = 7, int h = 8",36`,
		`enter,app::f,"int a = -2, `,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\nenter,"); n != 18 {
		t.Errorf("%d calls, want 18", n)
	}
}

// Without rights nothing is run, and an administrator has the lines.
func TestRecordProbedWithoutRights(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if os.Geteuid() != 0 || err != nil {
		t.Skip("rights are taken away by root, with setpriv")
	}
	app := probed(t)
	cmd := recordProcess(t, app, "--probe", "app::f", app)
	cmd.Args = append([]string{setpriv, "--bounding-set", "-all", "--inh-caps", "-all", "--reuid", "65534", "--clear-groups", cmd.Path}, cmd.Args[1:]...)
	cmd.Path = setpriv
	for dir := filepath.Dir(app); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		os.Chmod(dir, 0o777)
	}
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Contains(string(out), "463") {
		t.Fatalf("it was run: %s", out)
	}
	if !strings.Contains(string(out), "CAP_BPF, CAP_PERFMON") {
		t.Skipf("%s", out) // the command cannot be started by another user
	}
	script, err := os.ReadFile(filepath.Join(filepath.Dir(app), "app.probes.sh"))
	if err != nil || !strings.Contains(string(script), "lp_0001_f") {
		t.Errorf("%v: %s", err, script)
	}
}

// helloSource is a program in assembler whose function has its text and the length of that, which no 0 ends, in registers of its own.
const helloSource = `
	.globl _start, print_hello
	.type print_hello,@function
print_hello:
	mov $1,%eax
	mov $1,%edi
	mov %r8,%rsi
	mov %r9,%rdx
	syscall
	ret
	.size print_hello,.-print_hello
	.type _start,@function
_start:
	lea text(%rip),%r8
	mov $14,%r9
	call print_hello
	mov $60,%eax
	xor %edi,%edi
	syscall
	.size _start,.-_start
	.data
text:	.ascii "hello, world!\n"
	.ascii "which is no part of it\0"
`

// sumSource is a program in C whose function has eight numbers, two of them on the stack.
const sumSource = `#include <stdio.h>
__attribute__((noipa)) int sum(int a, int b, int c, int d, int e, int f, int g, int h) { return a + b + c + d + e + f + g + h; }
int main(void) { printf("%d\n", sum(1, 2, 3, 4, 5, 6, 7, 8)); return 0; }
`

// withoutDebugInformation builds the two programs, and writes the file that declares their functions.
func withoutDebugInformation(t *testing.T) (hello, sum, prototypes string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOARCH != "amd64" {
		t.Skip("no gcc for x86-64")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"hello.S": helloSource, "sum.c": sumSource,
		"c.txt": "void print_hello(const char text[length] asm(\"r8\"), size_t length asm(\"r9\"));\nint sum(int a, int b, int c, int d, int e, int f, int g, int h);\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"-nostdlib", "-static", "-o", "hello", "hello.S"}, {"-O1", "-o", "sum", "sum.c"}} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	return filepath.Join(dir, "hello"), filepath.Join(dir, "sum"), filepath.Join(dir, "c.txt")
}

// TestProbesDeclared writes probes for functions without debug information, by declarations and by how many arguments they have.
func TestProbesDeclared(t *testing.T) {
	hello, sum, prototypes := withoutDebugInformation(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{hello, "print_hello", "--prototypes", prototypes}, "p:lp/lp_0001_print_hello text_size=%r9:u64 text_data=+0(%r8):string length=%r9:u64"},
		{[]string{sum, "sum", "--return", "--prototypes", prototypes}, "p:lp/lp_0001_sum a=%di:s32 b=%si:s32 c=%dx:s32 d=%cx:s32 e=%r8:s32 f=%r9:s32 g=+8(%sp):s32 h=+16(%sp):s32\nr:lp/lp_0001_sum__return ret=$retval:s32"},
		{[]string{sum, "sum", "--args", "raw:8"}, "p:lp/lp_0001_sum arg1=%di:x64 arg2=%si:x64 arg3=%dx:x64 arg4=%cx:x64 arg5=%r8:x64 arg6=%r9:x64 arg7=+8(%sp):x64 arg8=+16(%sp):x64"},
		{[]string{sum, "sum", "--args", "raw:2"}, "p:lp/lp_0001_sum arg1=%di:x64 arg2=%si:x64"},
		{[]string{sum, "sum", "--args", "raw"}, "p:lp/lp_0001_sum arg1=%di:x64 arg2=%si:x64 arg3=%dx:x64 arg4=%cx:x64 arg5=%r8:x64 arg6=%r9:x64"},
	} {
		if got := definitions(t, c.args...); got != c.want {
			t.Errorf("%v: %s, want %s", c.args, got, c.want)
		}
	}
	for _, args := range []string{"raw:", "raw:0", "raw:25", "raw:x", "two"} {
		if code, _, errs := logparse("probes", sum, "sum", "--args", args); code != exitUsage {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}

// TestProbesOfC writes probes for functions of the C library, which are declared, by any of their names. Those that choose the code of
// others are not their functions.
func TestProbesOfC(t *testing.T) {
	const path = "/lib/x86_64-linux-gnu/libc.so.6"
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	if got, want := definitions(t, path, "getenv", "write@fd,return", "--return"), "p:lp/lp_0001_getenv name=+0(%di):string\nr:lp/lp_0001_getenv__return ret=+0($retval):string\n"+
		"p:lp/lp_0002_write fd=%di:s32\nr:lp/lp_0002_write__return ret=$retval:s64"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if code, out, errs := logparse("probes", path, "strlen", "--for", "uprobe"); code != exitError || !strings.Contains(errs, "strlen: the loader calls them once") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

// TestRecordProbedDeclared records these programs as they are: their text and all eight numbers are shown.
func TestRecordProbedDeclared(t *testing.T) {
	hello, sum, prototypes := withoutDebugInformation(t)
	for _, c := range []struct {
		function, program, output string
		options                   []string
		want                      string
	}{
		{"print_hello", hello, "hello, world!\n", []string{"--values", "*", "--prototypes", prototypes}, `print_hello,"char const* text = ""hello, world!\n"", size_t length = 14",`},
		{"sum", sum, "36\n", []string{"--values", "*", "--prototypes", prototypes}, `sum,"int a = 1, int b = 2, int c = 3, int d = 4, int e = 5, int f = 6, int g = 7, int h = 8",36`},
		{"sum", sum, "36\n", []string{"--values", "raw:8"}, `sum,"arg1 = 0x1, arg2 = 0x2, arg3 = 0x3, arg4 = 0x4, arg5 = 0x5, arg6 = 0x6, arg7 = 0x7, arg8 = 0x8",0x24`},
	} {
		dir := filepath.Join(t.TempDir(), "rec")
		cmd := recordProcess(t, c.program, append(append([]string{"-q", "--probe", c.function, "-o", dir}, c.options...), c.program)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Skipf("%v: %s", err, out) // no root, or a kernel without BPF
		}
		if string(out) != c.output {
			t.Errorf("%s printed %q", c.program, out)
		}
		code, text, errs := logparse("show", dir, "--columns", "function,arguments,result", "--format", "csv", "--where", "event:enter")
		if want := "function,arguments,result\n" + c.want + "\n"; code != exitOK || text != want {
			t.Errorf("%v: %q, want %q: %s", c.options, text, want, errs)
		}
	}
}

// TestRecordProbedRunning records a process that runs, with several threads, and values of several kinds: all probes begin and end to
// record at once, so that no call in between is missing.
func TestRecordProbedRunning(t *testing.T) {
	program := compile(t, `
#include <pthread.h>
#include <unistd.h>
#define PROBED __attribute__((noipa))
PROBED int first(const char *s) { return s[0]; }
PROBED int second(int n) { return n; }
PROBED int third(const int *p, int n) { return *p + n; }
static void *work(void *p) {
  for (int i = 0;; i++) first("text"), second(i), third(&i, 1);
  return p;
}
int main(void) {
  pthread_t t[2];
  alarm(60);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
`, "-g", "-O1", "-pthread")
	running := exec.Command(program)
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Wait()
	defer running.Process.Kill()
	dir := filepath.Join(filepath.Dir(program), "rec")
	cmd := recordProcess(t, program, "--probe", "first", "--probe", "second", "--probe", "third", "--values", "*", "--pid", strconv.Itoa(running.Process.Pid), "-o", dir)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, begun := bufio.NewScanner(said), false
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ctrl+C ends the recording") {
			begun = true
			time.Sleep(300 * time.Millisecond)
			cmd.Process.Signal(os.Interrupt)
		}
	}
	if err := cmd.Wait(); !begun {
		t.Skip(err) // no root, or a kernel without BPF
	}
	code, text, errs := logparse("show", dir, "--columns", "thread,event,function", "--format", "csv")
	if code != exitOK {
		t.Fatal(errs)
	}
	order := []string{"enter,first", "leave,first", "enter,second", "leave,second", "enter,third", "leave,third"}
	next := make(map[string]int)
	for line := range strings.Lines(text) {
		thread, step, _ := strings.Cut(strings.TrimSpace(line), ",")
		k := slices.Index(order, step)
		if k < 0 {
			continue // the first line
		}
		if at, seen := next[thread]; seen && at != k {
			t.Fatalf("thread %s: %s, and not %s", thread, step, order[at])
		}
		next[thread] = (k + 1) % len(order)
	}
	if len(next) != 2 {
		t.Errorf("%d threads: %s", len(next), text[:min(len(text), 500)])
	}
}

// TestRecordProbedEmpty records a function that is one return instruction, at which both of its probes would lie: each call begins before
// it ends, and has its values. The script for perf has the same.
func TestRecordProbedEmpty(t *testing.T) {
	program := compile(t, `
__attribute__((noipa)) void empty(long n) { asm volatile(""); }
__attribute__((noipa)) long work(long n) { return n + 1; }
int main(void) {
  long n = 0;
  for (int i = 0; i < 3; i++) { empty(n); n = work(n); }
  return n != 3;
}
`, "-O2", "-fcf-protection=none")
	want := "function,depth,arguments,result\nmain,0,,\n"
	for i := range 3 {
		want += fmt.Sprintf("empty,1,arg1 = %#[1]x,R\nwork,1,arg1 = %#[1]x,%#[2]x\n", i, i+1)
	}
	shown := func(log string) string {
		code, text, errs := logparse("show", log, "--columns", "function,depth,arguments,result", "--format", "csv", "--where", "event:enter")
		if code != exitOK {
			t.Error(errs)
		}
		text = regexp.MustCompile("(?m)^main,0,.*$").ReplaceAllString(text, "main,0,,")
		return regexp.MustCompile("(?m)^(empty.*),0x[0-9a-f].*$").ReplaceAllString(text, "$1,R")
	}
	dir := filepath.Join(filepath.Dir(program), "rec")
	code, _, errs := logparse("record", "--probe", "main", "--probe", "empty", "--probe", "work", "--values", "raw:1", "-o", dir, program)
	if code != exitOK {
		t.Skip(errs) // no root, or a kernel without BPF
	}
	if got := shown(dir); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf")
	}
	script := filepath.Join(filepath.Dir(program), "perf.sh")
	if code, _, errs := logparse("probes", program, "main", "empty", "work", "--args", "raw:1", "--at-returns", "-o", script); code != exitOK {
		t.Fatal(errs)
	}
	cmd := exec.Command("sh", script, program)
	cmd.Dir = filepath.Dir(program)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out) // another user of perf
	}
	if got := shown(filepath.Join(cmd.Dir, "calls.txt")); got != want {
		t.Errorf("by perf: %s\nwant\n%s", got, want)
	}
}

// TestRecordProbedJumps records functions that end by a jump to another one, or are left by longjmp: none of them is around a call that
// comes after its end.
func TestRecordProbedJumps(t *testing.T) {
	program := compile(t, `
#include <pthread.h>
#include <setjmp.h>
#define APART __attribute__((noipa))
static __thread jmp_buf back;
APART int api_end(int n) { return n + 1; }
APART int other(int n) { return n - 1; }
APART int api_jump(int n) { return api_end(n * 2); }
APART int api_away(int n) { return other(n * 2); }
APART void api_left(void) { longjmp(back, 1); }
static void *work(void *p) {
  for (int i = 0; i < 100; i++) {
    api_jump(i), api_away(i);
    if (!setjmp(back)) api_left();
  }
  return p;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, work, 0);
  work(0);
  return pthread_join(t, 0);
}
`, "-O2", "-pthread")
	dir := filepath.Join(filepath.Dir(program), "rec")
	code, _, errs := logparse("record", "--probe", "api_*", "-o", dir, program)
	if code != exitOK {
		t.Skip(errs) // no root, or a kernel without BPF
	}
	code, text, errs := logparse("show", dir, "--columns", "function,depth,note", "--format", "csv", "--where", "event:enter")
	if code != exitOK {
		t.Fatal(errs)
	}
	counts := make(map[string]int)
	for line := range strings.Lines(text) {
		counts[strings.TrimSpace(line)]++
	}
	for line, n := range map[string]int{"api_end,0,": 200, "api_jump,0,no leave": 200, "api_away,0,no leave": 200, "api_left,0,no leave": 198, "api_left,0,open": 1} {
		if counts[line] < n {
			t.Errorf("%d times %s, want %d", counts[line], line, n)
		}
	}
	if len(counts) > 7 {
		t.Errorf("%v", counts)
	}
}

// TestRecordProbedEnds records a process whose first thread has ended while another one runs on, until that is killed, too: it is listed
// as long as its parent, which is this test, does not ask for it.
func TestRecordProbedEnds(t *testing.T) {
	program := compile(t, `
#include <pthread.h>
#include <unistd.h>
__attribute__((noipa)) int step(int n) { return n + 1; }
static void *work(void *p) {
  for (int i = 0;; i = step(i)) usleep(1000);
  return p;
}
int main(void) {
  pthread_t t;
  alarm(60);
  pthread_create(&t, 0, work, 0);
  pthread_exit(0);
}
`, "-O1", "-pthread")
	running := exec.Command(program)
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Wait()
	defer running.Process.Kill()
	dir := filepath.Join(filepath.Dir(program), "rec")
	endless, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	said, errs := io.Pipe()
	status := make(chan int, 1)
	go func() {
		args := []string{"record", "--probe", "step", "--image", program, "--pid", strconv.Itoa(running.Process.Pid), "-o", dir}
		status <- run(endless, args, strings.NewReader(""), io.Discard, errs)
		errs.Close()
	}()
	lines, begun, text := bufio.NewScanner(said), false, ""
	for lines.Scan() {
		text += lines.Text() + "\n"
		if !begun && strings.Contains(lines.Text(), "Ctrl+C ends the recording") {
			begun = true
			time.Sleep(500 * time.Millisecond) // it looks after the process ten times a second
			if len(status) > 0 {
				t.Error("it ended with the first thread")
			}
			running.Process.Kill()
		}
	}
	code := <-status
	if !begun {
		t.Skip(text) // no root, or a kernel without BPF
	}
	if code != exitOK || endless.Err() != nil {
		t.Errorf("it did not end with the process: exit status %d: %s", code, text)
	}
	if code, text, errs := logparse("show", dir, "--columns", "function", "--format", "csv"); code != exitOK || strings.Count(text, "step") < 10 {
		t.Errorf("%s%s", text, errs)
	}
}

// TestRecordProbedIDs names processes that cannot be.
func TestRecordProbedIDs(t *testing.T) {
	for _, pid := range []string{"0", "4294967297"} {
		if code, _, errs := logparse("record", "--probe", "f", "--pid", pid); code != exitUsage || !strings.Contains(errs, "no process has such an id") {
			t.Errorf("%s: %d %s", pid, code, errs)
		}
	}
}

// TestRecordProbedWaiting records a program that passes a text on a page that never comes: other threads are recorded nevertheless, and the
// recording ends when it is asked to.
func TestRecordProbedWaiting(t *testing.T) {
	program := compile(t, `
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) int step(int n) { return n + 1; }
__attribute__((noipa)) int look(const char *s) { return s != 0; }
static void *work(void *p) {
  usleep(100000);
  for (int i = 0;; i = step(i)) usleep(1000);
  return p;
}
int main(void) {
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register area = {.mode = UFFDIO_REGISTER_MODE_MISSING};
  char byte;
  pthread_t t;
  alarm(100);
  int fd = syscall(SYS_userfaultfd, O_CLOEXEC);
  char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  area.range.start = (unsigned long)page, area.range.len = 4096;
  if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &area)) return 1;
  if (read(0, &byte, 1) != 1) return 1;
  pthread_create(&t, 0, work, 0);
  look(page);
  pthread_join(t, 0);
}
`, "-O1", "-g", "-pthread")
	running := exec.Command(program)
	input, err := running.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	defer running.Wait()
	defer running.Process.Kill()
	dir := filepath.Join(filepath.Dir(program), "rec")
	cmd := recordProcess(t, program, "--probe", "step", "--probe", "look", "--values", "*", "--pid", strconv.Itoa(running.Process.Pid), "-o", dir)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	endless := time.AfterFunc(40*time.Second, func() { running.Process.Kill() })
	lines, begun, ended := bufio.NewScanner(said), false, false
	for lines.Scan() {
		switch {
		case strings.Contains(lines.Text(), "Ctrl+C ends the recording"):
			begun = true
			if _, err := input.Write([]byte{1}); err != nil {
				t.Skip(err) // no userfaultfd
			}
			time.Sleep(500 * time.Millisecond)
			cmd.Process.Signal(os.Interrupt)
		case strings.Contains(lines.Text(), "recorded: "):
			if ended = endless.Stop(); !ended {
				t.Error("it ended only with the program")
			}
			running.Process.Kill() // the kernel lets the command go when nothing waits for the page
		}
	}
	if err := cmd.Wait(); !begun {
		t.Skip(err) // no root, or a kernel without BPF
	}
	if code, text, errs := logparse("show", dir, "--columns", "function", "--format", "csv"); !ended || code != exitOK || strings.Count(text, "step") < 10 {
		t.Errorf("%s%s", text, errs)
	}
}

// The script that records LogTest by probes says that it is skipped where it records nothing, and leaves nothing of earlier runs.
func TestProbeLanesSkipped(t *testing.T) {
	out := t.TempDir()
	old := filepath.Join(out, "linux-gcc-perf-O0")
	if err := os.Mkdir(old, 0o777); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command("bash", "../../scripts/probe-logtest.sh", "logparse", out, "none").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 77 {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("what an earlier run recorded is there")
	}
}
