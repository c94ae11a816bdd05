package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// reported is a program that crashes, beside a thread that waits for any child and a handler for the ends of children: it must
// hear of none. Before that it says whether its descriptors go on to what is started.
const reported = `
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void said(const char *s) { if (write(1, s, strlen(s)) < 0) _exit(9); }
static void on_child(int number) { (void)number; said("SIGCHLD\n"); }
static void *reap(void *p) {
  for (;; usleep(200)) if (waitpid(-1, NULL, 0) > 0) said("a child\n");
  return p;
}
static int gives_up;
__attribute__((noinline)) int inner(volatile int *p) {
  if (gives_up) abort();
  return *p; /* crash */
}
__attribute__((noinline)) int middle(volatile int *p) {
  return inner(p) + 1; /* call 1 */
}
// go_on has the last word, unless the program is dead before.
static void *go_on(void *p) {
  usleep(100000);
  said("after\n");
  _exit(4);
  return p;
}
int main(int argc, char **argv) {
  pthread_t t;
  signal(SIGCHLD, on_child);
  pthread_create(&t, NULL, reap, NULL);
  usleep(5000);
  said("before\n");
  if (argc > 1 && !strcmp(argv[1], "end")) return 3;
  if (argc > 1 && !strcmp(argv[1], "others")) pthread_create(&t, NULL, go_on, NULL);
  gives_up = argc > 1 && !strcmp(argv[1], "abort");
  return middle(NULL) + 1; /* call 2 */
}
`

// reportedProgram builds it, with the recorder's library beside it.
func reportedProgram(t *testing.T) (program string, run func(args []string, settings ...string) *exec.Cmd) {
	t.Helper()
	program = compile(t, reported, withHooks)
	library := recordProcess(t, program)
	library.Args = []string{library.Args[0], "recorder", "library"}
	if out, err := library.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program, func(args []string, settings ...string) *exec.Cmd {
		cmd := exec.Command(program, args...)
		cmd.Dir = filepath.Dir(program)
		cmd.Env = append(os.Environ(), append([]string{"LD_PRELOAD=" + filepath.Join(cmd.Dir, "liblogrec.so"), "LOGREC_FILE=log.lptrace"}, settings...)...)
		return cmd
	}
}

// ended runs a program, and says what it wrote and how it ended.
func ended(t *testing.T, cmd *exec.Cmd) (out string, status syscall.WaitStatus) {
	t.Helper()
	b, _ := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%v did not run", cmd.Args)
	}
	return string(b), cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// script writes a command that a report is asked of. It says its process's id in the file pid, and what it was started with.
func script(t *testing.T, dir, text string) (command, pid string) {
	t.Helper()
	command, pid = filepath.Join(dir, "command.sh"), filepath.Join(dir, "pid")
	if err := os.WriteFile(command, []byte("#!/bin/sh\necho $$ >'"+pid+"'\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return command, pid
}

// gone waits until the process whose id a file has is there no more.
func gone(t *testing.T, file string) {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(readFile(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat")
		// What is dead and was not waited for by process 1 yet is gone, too.
		if err != nil || bytes.Contains(b, []byte(") Z ")) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is left", id)
}

// TestReport: a program that crashes has its report written before it is dead, and nothing else of it is another than
// without: its output, how it dies, what it hears of children.
func TestReport(t *testing.T) {
	program, run := reportedProgram(t)
	dir := filepath.Dir(program)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wantOut, wantStatus := ended(t, run(nil, "LD_PRELOAD="))
	if wantOut != "before\n" || wantStatus.Signal() != syscall.SIGSEGV {
		t.Fatalf("without the recorder: %q, %v", wantOut, wantStatus)
	}
	os.Mkdir(filepath.Join(dir, "reports"), 0o777)
	out, status := ended(t, run(nil, "LOGREC_REPORT="+exe, "LOGREC_REPORT_FOLDER=reports", asCommand+"=1"))
	if out != wantOut || status != wantStatus {
		t.Errorf("%q, %#x; without the recorder %q, %#x", out, status, wantOut, wantStatus)
	}
	list, _ := filepath.Glob(filepath.Join(dir, "reports", "*"))
	if len(list) != 1 || !regexp.MustCompile(`^programlog\d{14}$`).MatchString(filepath.Base(list[0])) {
		t.Fatalf("the reports are %q", list)
	}
	want := regexp.MustCompile(`(?s)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Caused an exception in thread \d+ at [0-9A-F]{16} [0-9A-F]{4}:[0-9A-F]{8} \S+/program\n` +
		`\[SIGSEGV: read of address 0x0, a null pointer\]\n\[[^\n]+\]\nCall stack of thread \d+:\n` +
		`\[1\] program [0-9A-F]{16} [0-9A-F]{8} inner, program\.c, line ` + strconv.Itoa(markedLine(reported, "crash")) + `\n` +
		`\[2\] program [0-9A-F]{16} [0-9A-F]{8} middle, program\.c, line ` + strconv.Itoa(markedLine(reported, "call 1")) + `\n` +
		`\[3\] program [0-9A-F]{16} [0-9A-F]{8} main, program\.c, line ` + strconv.Itoa(markedLine(reported, "call 2")) + `\n`)
	if text := readFile(t, list[0]); !want.MatchString(text) {
		t.Errorf("the report is\n%s\nand does not match\n%s", text, want)
	}
	// Nobody crashes, nothing is started.
	command, pid := script(t, dir, "")
	if out, status = ended(t, run([]string{"end"}, "LOGREC_REPORT="+command)); out != "before\n" || status.ExitStatus() != 3 {
		t.Errorf("%q, %#x", out, status)
	}
	if _, err := os.Stat(pid); err == nil {
		t.Error("the command was started for a program that ended well")
	}
}

// TestReportCommand: whatever the command does, the program dies as without it, and nothing of the command is left.
func TestReportCommand(t *testing.T) {
	program, run := reportedProgram(t)
	dir := filepath.Dir(program)
	dies := func(settings ...string) {
		t.Helper()
		if out, status := ended(t, run(nil, settings...)); out != "before\n" || status.Signal() != syscall.SIGSEGV {
			t.Errorf("%q: %q, %#x", settings, out, status)
		}
	}
	dies("LOGREC_REPORT=" + filepath.Join(dir, "nothing"))
	dies("LOGREC_REPORT=" + dir)

	// It writes, and has nothing of the program: no descriptors but 0 to 2, no recorder, no blocked signals.
	command, pid := script(t, dir, "echo out; echo err >&2; (ls /proc/$$/fd; env | grep -E '^(LOGREC|LD_PRELOAD)'; grep SigBlk /proc/$$/status; echo \"$@\") >'"+dir+"/with'\n")
	dies("LOGREC_REPORT=" + command)
	gone(t, pid)
	// A shell has its script open, too.
	if got := strings.Join(strings.Fields(readFile(t, filepath.Join(dir, "with"))), " "); !regexp.MustCompile(
		`^0 1( \d+)? 2( \d+)? SigBlk: 0000000000000000 crash --report -- ` + regexp.QuoteMeta(dir) + `/log\S*\.lptrace$`).MatchString(got) {
		t.Errorf("it was started with %s", got)
	}

	// Threads that would have been dead say nothing and end nothing while it takes its time.
	os.Remove(pid)
	command, pid = script(t, dir, "sleep 0.4\n")
	if out, status := ended(t, run([]string{"others"}, "LOGREC_REPORT="+command)); out != "before\n" || status.Signal() != syscall.SIGSEGV {
		t.Errorf("with other threads: %q, %#x", out, status)
	}
	gone(t, pid)

	// It takes too long.
	os.Remove(pid)
	command, pid = script(t, dir, "exec sleep 1000\n")
	begin := time.Now()
	dies("LOGREC_REPORT="+command, "LOGREC_REPORT_SECONDS=1")
	if took := time.Since(begin); took < time.Second {
		t.Errorf("it was waited for %v", took)
	}
	gone(t, pid)

	// The program is killed while it waits.
	os.Remove(pid)
	cmd := run(nil, "LOGREC_REPORT="+command, "LOGREC_REPORT_SECONDS=100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if b, err := os.ReadFile(pid); err == nil && bytes.HasSuffix(b, []byte("\n")) {
			break
		}
		if i == 3000 {
			cmd.Process.Kill()
			t.Fatal("the command was not started")
		}
		time.Sleep(10 * time.Millisecond)
	}
	cmd.Process.Kill()
	cmd.Wait()
	gone(t, pid)
}

// TestRecordReport: record itself writes the reports of what crashed, when it has ended.
func TestRecordReport(t *testing.T) {
	program := compile(t, reported, withHooks)
	dir := filepath.Dir(program)
	os.Mkdir(filepath.Join(dir, "reports"), 0o777)
	for _, tt := range []struct {
		args []string
		want int
	}{{[]string{"end"}, 0}, {nil, 1}} {
		out, _ := recordProcess(t, program, append([]string{"--report", "reports", "--head", "0", "./program"}, tt.args...)...).CombinedOutput()
		list, _ := filepath.Glob(filepath.Join(dir, "reports", "programlog*"))
		if len(list) != tt.want {
			t.Fatalf("%q: reports %q\n%s", tt.args, list, out)
		}
		if said := bytes.Contains(out, []byte("report of a crash: reports/programlog")); said != (tt.want == 1) {
			t.Errorf("it says %s", out)
		}
		for _, path := range list {
			if text := readFile(t, path); !strings.Contains(text, "inner, program.c, line ") {
				t.Errorf("the report is\n%s", text)
			}
		}
	}
}

// frameAddress is a frame of a report up to its address, which it ends with.
var frameAddress = regexp.MustCompile(`^(\[\d+\] \S+) [0-9A-F]{16} `)

// framesOf returns the frames of the thread that crashed as the short report has them: module, place in it and, where it is known,
// function, file and line.
func framesOf(t *testing.T, report string) []string {
	t.Helper()
	_, stack, ok := strings.Cut(report, "Call stack of thread ")
	if !ok {
		t.Fatalf("no stack in\n%s", report)
	}
	lines := strings.Split(strings.TrimSpace(stack), "\n")[1:]
	if i := slices.IndexFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "[") }); i >= 0 {
		lines = lines[:i]
	}
	// Modules lie elsewhere in each run.
	for i, l := range lines {
		lines[i] = frameAddress.ReplaceAllString(l, "$1 ")
	}
	return lines
}

// coreOf runs a program that crashes, in its folder, and returns its core file, as a file of a name, "" where none was left.
func coreOf(t *testing.T, cmd *exec.Cmd, name string) (core string, status syscall.WaitStatus) {
	t.Helper()
	var err error
	cmd.Args = append([]string{"sh", "-c", `ulimit -c unlimited; exec "$@"`, "sh"}, cmd.Args...)
	if cmd.Path, err = exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	out, status := ended(t, cmd)
	if out != "before\n" || !status.Signaled() {
		t.Fatalf("%s: %q, %#x", name, out, status)
	}
	list, _ := filepath.Glob(filepath.Join(cmd.Dir, "core*"))
	if len(list) != 1 || !status.CoreDump() {
		return "", status
	}
	core = filepath.Join(cmd.Dir, name)
	if err := os.Rename(list[0], core); err != nil {
		t.Fatal(err)
	}
	return core, status
}

// TestCoreBesideReport: a program leaves its core file as without the recorder, also where the report was written before, and report,
// record and both core files have the same frames.
func TestCoreBesideReport(t *testing.T) {
	program, run := reportedProgram(t)
	dir := filepath.Dir(program)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	reports := filepath.Join(dir, "reports")
	os.Mkdir(reports, 0o777)
	for _, args := range [][]string{nil, {"abort"}} {
		plain, want := coreOf(t, run(args, "LD_PRELOAD="), "plain")
		if plain == "" {
			t.Skip("the system leaves no core files here")
		}
		core, status := coreOf(t, run(args, "LOGREC_REPORT="+exe, "LOGREC_REPORT_FOLDER=reports", asCommand+"=1"), "recorded")
		if core == "" || status != want {
			t.Fatalf("%q: with the recorder core %q, status %#x, without %#x", args, core, status, want)
		}
		list, _ := filepath.Glob(filepath.Join(reports, "*"))
		logs, _ := filepath.Glob(filepath.Join(dir, "*.lptrace"))
		if len(list) != 1 || len(logs) != 1 {
			t.Fatalf("%q: reports %q, logs %q", args, list, logs)
		}
		frames := framesOf(t, readFile(t, list[0]))
		text := strings.Join(frames, "\n")
		if len(frames) < 4 || !regexp.MustCompile(`(?m)^\[\d\] program [0-9A-F]{8} inner, program\.c, line \d+\n.* middle, .*\n.* main, program.c, line `).MatchString(text) {
			t.Fatalf("%q: the report has\n%s", args, text)
		}
		for _, file := range []string{plain, core, logs[0]} {
			out, _ := must(t, "crash", file, "--format", "exelog")
			if got := framesOf(t, out); !slices.Equal(got, frames) {
				t.Errorf("%q: %s has\n%s\nthe report\n%s", args, filepath.Base(file), strings.Join(got, "\n"), text)
			}
		}
		for _, path := range append(list, logs...) {
			os.Remove(path)
		}
	}
}

// overwriting is a program that writes another command over the one that reports are asked of, wherever it finds it in memory that it
// may write to, and crashes.
const overwriting = `
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) int inner(volatile int *p) { return *p; }
int main(int argc, char **argv) {
  static char lines[1 << 18];
  char from[4096], to[4096];
  /* Taken apart, so that they are found nowhere else. */
  snprintf(from, sizeof from, "%s/good.sh", argv[1]);
  snprintf(to, sizeof to, "%s/evil.sh", argv[1]);
  FILE *f = fopen("/proc/self/maps", "r");
  size_t n = fread(lines, 1, sizeof lines - 1, f);
  lines[n] = 0;
  fclose(f);
  for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned long low, high;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &low, &high, rights) != 3 || rights[0] != 'r' || rights[1] != 'w') continue;
    for (char *p = (char *)low; (p = memmem(p, high - (unsigned long)p, from, strlen(from))); p += strlen(from))
      if (p != from) memcpy(p, to, strlen(to));
  }
  return inner(NULL) + argc;
}
`

// TestReportIsSealed: a program whose memory is overwritten before it crashes has no other command run than it was started with.
func TestReportIsSealed(t *testing.T) {
	program := compile(t, overwriting, withHooks)
	library := recordProcess(t, program)
	library.Args = []string{library.Args[0], "recorder", "library"}
	if out, err := library.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dir := filepath.Dir(program)
	for _, name := range []string{"good", "evil"} {
		if err := os.WriteFile(filepath.Join(dir, name+".sh"), []byte("#!/bin/sh\n: >'"+filepath.Join(dir, name)+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(program, dir)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+filepath.Join(dir, "liblogrec.so"), "LOGREC_FILE=log.lptrace", "LOGREC_REPORT="+filepath.Join(dir, "good.sh"))
	if out, status := ended(t, cmd); status.Signal() != syscall.SIGSEGV {
		t.Fatalf("%q, %#x", out, status)
	}
	if _, err := os.Stat(filepath.Join(dir, "evil")); err == nil {
		t.Error("the command that was written over the other has run")
	}
	if _, err := os.Stat(filepath.Join(dir, "good")); err != nil {
		t.Error("the command has not run")
	}
}
