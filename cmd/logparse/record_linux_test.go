package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"logparser/app"
)

// recordCache is where tests have the recorder's library built, once for all.
var recordCache string

func removeRecordCache() {
	if arm64Folder != "" {
		os.RemoveAll(arm64Folder)
	}
	if recordCache != "" {
		os.RemoveAll(recordCache)
	}
}

// compile builds a C program with hooks and returns its path.
func compile(t *testing.T, source string, options ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.c"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	build := exec.Command(gcc, append(append([]string{"-g", "-O1"}, options...), "program.c", "-o", "program", "-pthread")...)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "program")
}

const withHooks = "-finstrument-functions"

// recorderCache returns the folder for the recorder's library.
func recorderCache(t *testing.T) string {
	t.Helper()
	if recordCache == "" {
		dir, err := os.MkdirTemp("", "logparse-record-*")
		if err != nil {
			t.Fatal(err)
		}
		recordCache = dir
	}
	return recordCache
}

// recordProcess is logparse record as a process of its own, in the program's folder.
func recordProcess(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := process(t, append([]string{"record"}, args...)...)
	cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+recorderCache(t))
	cmd.Dir = filepath.Dir(program)
	return cmd
}

// endings is a program that ends as it is told: by a status, or by a signal after a time.
const endings = `
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) void inner(int status, int number) {
  printf("inside\n");
  fflush(stdout);
  if (number) {
    usleep(50000);
    raise(number);
  }
  exit(status);
}
__attribute__((noinline)) void outer(int status, int number) { inner(status, number); }
int main(int argc, char **argv) {
  outer(atoi(argv[1]), atoi(argv[2]));
  return argc;
}
`

// TestRecordEnds runs programs that end in different ways: the command ends in the same way, the program's
// output is all there is on the standard output, and calls end when the program did.
func TestRecordEnds(t *testing.T) {
	program := compile(t, endings, withHooks)
	for _, test := range []struct {
		status, signal int
		note           string
	}{
		{0, 0, "the process ended with status 0"},
		{3, 0, "the process ended with status 3"},
		{0, 9, "signal 9 ended the process"},
		{0, 11, "the program ended by signal 11, SIGSEGV"},
		{0, 15, "signal 15 ended the process"},
	} {
		t.Run(fmt.Sprintf("%d-%d", test.status, test.signal), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			cmd := recordProcess(t, program, "-o", dir, "--", "./program", strconv.Itoa(test.status), strconv.Itoa(test.signal))
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			cmd.Run()
			state := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if state.Exited() != (test.signal == 0) || state.Exited() && state.ExitStatus() != test.status ||
				!state.Exited() && int(state.Signal()) != test.signal || state.CoreDump() {
				t.Errorf("the command ended with %#x: %s", uint32(state), errs.String())
			}
			if out.String() != "inside\n" {
				t.Errorf("output %q", out.String())
			}
			if !strings.Contains(errs.String(), "calls the hooks of -finstrument-functions: the recorder is preloaded") || !strings.Contains(errs.String(), "-> inner") {
				t.Errorf("said: %s", errs.String())
			}
			code, info, _ := logparse("info", dir)
			if code != exitOK || !strings.Contains(info, test.note) || strings.Contains(info, "still runs or was killed") {
				t.Errorf("info, status %d: %s", code, info)
			}
			_, shown, _ := logparse("show", dir, "--json", "--where", "func:inner event:enter")
			var row struct {
				Duration float64 `json:"duration_us"`
				Note     string
			}
			if err := json.Unmarshal([]byte(shown), &row); err != nil || row.Note != "open" || test.signal != 0 && row.Duration < 50_000 {
				t.Errorf("%s: %v", shown, err)
			}
		})
	}
}

// state prints what a program has of its caller.
const state = `ulimit -a; grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd; env | sort; echo "$0 $1 $2"; cat; ps -o pgid= -p $$`

// TestRecordUntouched compares what a program has of its caller with and without the command: limits, signals, descriptors,
// environment, arguments, input, process group.
func TestRecordUntouched(t *testing.T) {
	program := compile(t, endings, withHooks)
	extra, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	input := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, []byte("a line of input\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(ignored bool, cmd *exec.Cmd) []string {
		in, err := os.Open(input)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		script := `ulimit -n 100; exec "$@"`
		if ignored {
			script = `trap '' INT HUP PIPE TERM USR1 USR2 QUIT CHLD ALRM URG TSTP; ` + script
		}
		shell := exec.Command("sh", append([]string{"-c", script, "sh"}, cmd.Args...)...)
		shell.Env, shell.Dir = cmd.Env, cmd.Dir
		shell.Stdin, shell.ExtraFiles = in, []*os.File{extra, extra}
		shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		var errs bytes.Buffer
		shell.Stderr = &errs
		out, err := shell.Output()
		if err != nil || errs.Len() > 0 {
			t.Fatalf("%v: %s", err, errs.String())
		}
		group := fmt.Sprint(shell.Process.Pid)
		var kept []string
		for _, line := range strings.Split(string(out), "\n") {
			if strings.Contains(line, "LOGREC_FILE=") || strings.Contains(line, "LOGREC_PATCH=") || strings.HasPrefix(line, "LD_PRELOAD=") || strings.HasPrefix(line, "_=") {
				continue
			}
			kept = append(kept, strings.ReplaceAll(strings.TrimSpace(line), group, "GROUP"))
		}
		return kept
	}
	for _, ignored := range []bool{false, true} {
		command := []string{"sh", "-c", state, "name", "--quiet", ""}
		recorded := recordProcess(t, program, append([]string{"--quiet", "-o", filepath.Join(t.TempDir(), "out"), "--"}, command...)...)
		bare := exec.Command(command[0], command[1:]...)
		bare.Env, bare.Dir = recorded.Env, recorded.Dir
		want, got := run(ignored, bare), run(ignored, recorded)
		if len(got) != len(want) {
			t.Fatalf("ignored signals: %v; %d lines with the command, %d without", ignored, len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("ignored signals: %v; with the command: %s; without: %s", ignored, got[i], want[i])
			}
		}
	}
}

// TestRecordIgnored records programs whose caller ignores signals: a writer whose reader has gone gets an error, and the
// status of those that end at once is not lost, also where SIGCHLD is ignored.
func TestRecordIgnored(t *testing.T) {
	program := compile(t, endings, withHooks)
	for _, test := range []struct {
		command, out string
		status       int
	}{
		{`trap '' PIPE; exec "$@" sh -c '{ while echo more 2>/dev/null; do :; done; echo ended >&2; } | true' 2>&1`, "ended\n", 0},
		{`trap '' CHLD; for i in 1 2 3 4 5 6 7 8; do "$@" sh -c 'exit 3'; echo $?; done`, strings.Repeat("3\n", 8), 0},
		{`trap '' TERM; exec "$@" sh -c 'kill -TERM $$ $PPID; echo still here'`, "still here\n", 0},
	} {
		record := recordProcess(t, program, "--quiet", "-o", filepath.Join(t.TempDir(), "out"), "--")
		shell := exec.Command("sh", append([]string{"-c", test.command, "sh"}, record.Args...)...)
		shell.Env, shell.Dir = record.Env, record.Dir
		out, err := shell.Output()
		if status := shell.ProcessState.ExitCode(); status != test.status || string(out) != test.out {
			t.Errorf("%s: %q, status %d, %v", test.command, out, status, err)
		}
	}
}

// interrupted is a program that counts interrupts, and ends some time after the first. It
// says when it is continued.
const interrupted = `
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int count;
static void handler(int number) { (void)number; count++; }
static void again(int number) { (void)number; if (write(1, "continued\n", 10) < 0) _exit(1); }
__attribute__((noinline)) void served(void) { while (!count) usleep(1000); usleep(300000); }
int main(void) {
  signal(SIGINT, handler);
  signal(SIGTERM, handler);
  signal(SIGCONT, again);
  printf("ready %d\n", isatty(0) + isatty(1) + isatty(2));
  fflush(stdout);
  served();
  printf("count %d\n", count);
  return 7;
}
`

// onTerminal starts a command on a terminal of its own.
func onTerminal(t *testing.T, cmd *exec.Cmd) (user *os.File, said *bufio.Reader) {
	t.Helper()
	program, user := openTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	t.Cleanup(func() { cmd.Process.Kill() })
	if err := user.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return user, bufio.NewReader(user)
}

// await reads until a text comes, and returns all that came.
func await(t *testing.T, from *bufio.Reader, text string) string {
	t.Helper()
	var said strings.Builder
	for !strings.Contains(said.String(), text) {
		b, err := from.ReadByte()
		if err != nil {
			t.Fatalf("%q did not come: %v; what came: %s", text, err, said.String())
		}
		said.WriteByte(b)
	}
	return said.String()
}

// TestRecordInterrupted presses Ctrl+C at a terminal and sends signals to the command without one:
// the program gets each once, ends in order, and so does the command.
func TestRecordInterrupted(t *testing.T) {
	program := compile(t, interrupted, withHooks)
	t.Run("terminal", func(t *testing.T) {
		cmd := recordProcess(t, program, "./program")
		user, said := onTerminal(t, cmd)
		await(t, said, "ready 3")
		if _, err := user.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		await(t, said, "count 1")
		await(t, said, "ended with status 7")
		await(t, said, "to read all of it: ")
		await(t, said, " show program.rec")
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 7 {
			t.Errorf("status %d", code)
		}
	})
	for _, number := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(number.String(), func(t *testing.T) {
			cmd := recordProcess(t, program, "./program")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			pipe, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(pipe)
			await(t, said, "ready 0")
			if err := cmd.Process.Signal(number); err != nil {
				t.Fatal(err)
			}
			await(t, said, "count 1")
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != 7 {
				t.Errorf("status %d", code)
			}
		})
	}
}

// TestRecordStopped stops a recorded program from a shell's terminal and goes on with it.
func TestRecordStopped(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	program := compile(t, interrupted, withHooks)
	record := recordProcess(t, program, "-q", "./program")
	cmd := exec.Command(bash, "--norc", "--noprofile", "-i")
	cmd.Env, cmd.Dir = append(record.Env, "PS1=prompt> ", "TERM=dumb"), record.Dir
	user, said := onTerminal(t, cmd)
	write := func(text string) {
		t.Helper()
		if _, err := user.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	await(t, said, "prompt> ")
	write("'" + strings.Join(record.Args, "' '") + "'\n")
	await(t, said, "ready 3")
	write("\x1a")
	await(t, said, "Stopped")
	await(t, said, "prompt> ")
	write("fg\n")
	// The shell writes the command before it gives it the terminal.
	await(t, said, "continued")
	write("\x03")
	await(t, said, "count 1")
	await(t, said, "prompt> ")
	write("echo status $?\n")
	await(t, said, "status 7")
	write("exit\n")
	cmd.Wait()
}

// server is a program with eight workers that hand a token round, so that the order of their
// calls is known, and that starts itself anew once, in an environment of its own.
const server = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#define QUIET __attribute__((no_instrument_function))
enum { WORKERS = 8, ROUNDS = 20 };
static int ring[WORKERS + 1][2];
__attribute__((noinline)) void handle(int worker, int round) { __asm__ volatile("" : : "r"(worker), "r"(round)); }
__attribute__((noinline)) void helped(void) { __asm__ volatile(""); }
QUIET static void work(int worker) {
  for (int round = 0; round < ROUNDS; round++) {
    char c;
    if (read(ring[worker][0], &c, 1) != 1) _exit(1);
    handle(worker, round);
    if (write(ring[worker + 1][1], &c, 1) != 1) _exit(1);
  }
}
int main(int argc, char **argv) {
  if (argc > 1) {
    helped();
    return 0;
  }
  pid_t workers[WORKERS], helper;
  for (int i = 0; i <= WORKERS; i++)
    if (pipe(ring[i])) return 1;
  for (int i = 0; i < WORKERS; i++)
    if (!(workers[i] = fork())) {
      work(i);
      return 0;
    }
  for (int i = 0; i < WORKERS; i++) printf("%d\n", (int)workers[i]);
  for (int round = 0; round < ROUNDS; round++) {
    char c = 'x';
    if (write(ring[0][1], &c, 1) != 1 || read(ring[WORKERS][0], &c, 1) != 1) return 1;
  }
  char *const args[] = {argv[0], "help", NULL}, *const none[] = {NULL};
  int status = 0, bad = posix_spawn(&helper, argv[0], NULL, NULL, args, none);
  for (int i = 0; i <= WORKERS; i++) {
    waitpid(i < WORKERS ? workers[i] : helper, &status, 0);
    bad |= status;
  }
  return bad;
}
`

// TestRecordServer records a program of ten processes: one session, in which processes are told
// apart and their calls are in the order in which they happened.
func TestRecordServer(t *testing.T) {
	program := compile(t, server, withHooks)
	cmd := recordProcess(t, program, "./program")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	workers := strings.Fields(string(out))
	if err != nil || len(workers) != 8 {
		t.Fatalf("%v: %s%s", err, out, errs.String())
	}
	if !strings.Contains(errs.String(), "recorded: 10 processes") {
		t.Errorf("said: %s", errs.String())
	}
	dir := filepath.Join(filepath.Dir(program), "program.rec")
	code, shown, said := logparse("show", dir, "--json", "--where", "event:enter (func:handle or func:helped)")
	if code != exitOK || !strings.Contains(said, "monotonic clock of their machine") {
		t.Fatalf("status %d: %s", code, said)
	}
	var got, want []string
	for lines := bufio.NewScanner(strings.NewReader(shown)); lines.Scan(); {
		var row struct{ Process, Function string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		id, _, _ := strings.Cut(row.Process, " ")
		if row.Function == "helped" {
			if slices.Contains(workers, id) {
				t.Errorf("worker %s called helped", id)
			}
			id = "helper"
		}
		got = append(got, id)
	}
	for range 20 {
		want = append(want, workers...)
	}
	if want = append(want, "helper"); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d: %v", len(got), len(want), got)
	}
	for _, verb := range [][]string{{"stats", dir}, {"tree", dir}, {"info", dir}, {"save", dir, "-o", filepath.Join(t.TempDir(), "x.csv")}} {
		if code, _, errs := logparse(verb...); code != exitOK {
			t.Errorf("%v: status %d: %s", verb, code, errs)
		}
	}
	if code, _, errs := logparse("show", dir, "--newest", "-n", "1"); code != exitOK || strings.Contains(errs, "monotonic") {
		t.Errorf("--newest: status %d: %s", code, errs)
	}
}

// TestRecordShow prints calls while they happen.
func TestRecordShow(t *testing.T) {
	program := compile(t, interrupted, withHooks)
	cmd := recordProcess(t, program, "--show", "--head", "0", "./program")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(pipe)
	// The program is in it, and waits for a signal.
	await(t, said, "-> served")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, said, "<- served")
	await(t, said, "<- main")
	await(t, said, "ended with status 7")
	cmd.Wait()
}

// TestRecordChildren records a shell, which makes no calls, and two runs of a program that it starts.
func TestRecordChildren(t *testing.T) {
	program := compile(t, endings, withHooks)
	dir := filepath.Dir(program)
	cmd := recordProcess(t, program, "--show", "--head", "0", "sh", "-c", "./program 0 0; ./program 5 0; exit 6")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 6 || !strings.Contains(errs.String(), "--show: sh made no calls that are recorded, what it started did") {
		t.Fatalf("status %d: %s", code, errs.String())
	}
	both := filepath.Join(dir, "sh.rec")
	if code, _, errs := logparse("show", both, "--follow"); code != exitUsage || !strings.Contains(errs, "has those of 2 processes") {
		t.Errorf("--follow of two processes: status %d: %s", code, errs)
	}

	packed := filepath.Join(t.TempDir(), "one.lppack")
	if code, _, errs := logparse("pack", both, "-o", packed); code != exitOK {
		t.Fatalf("pack: status %d: %s", code, errs)
	}
	code, info, said := logparse("info", packed)
	if code != exitOK || strings.Count(info, "\nprocess ") != 2 {
		t.Errorf("info of two processes in one file: status %d: %s%s", code, info, said)
	}

	// A run of a program and a session with two of them have the same functions.
	if out, err := recordProcess(t, program, "-o", "one.rec", "-q", "./program", "0", "0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, order := range [][]string{{both, filepath.Join(dir, "one.rec")}, {filepath.Join(dir, "one.rec"), both}} {
		code, out, said := logparse(append([]string{"compare"}, order...)...)
		if code != exitDiffer || !strings.Contains(out, "1 of 2 threads did the same") || strings.Contains(out, "entered:") {
			t.Errorf("compare: status %d: %s%s", code, out, said)
		}
	}
}

// busy is a program that records much and prints at its end.
const busy = `
#include <stdio.h>
__attribute__((noinline)) void leaf(int i) { __asm__ volatile("" : : "r"(i)); }
int main(void) {
  for (int i = 0; i < 300000; i++) leaf(i);
  printf("done\n");
  return 4;
}
`

// TestRecordFull has no room for the log: the program does not notice, and what was recorded is read.
func TestRecordFull(t *testing.T) {
	program := compile(t, busy, withHooks)
	record := recordProcess(t, program, "--head", "0", "./program")
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 512; exec "$@"`, "sh"}, record.Args...)...)
	cmd.Env, cmd.Dir = record.Env, record.Dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, _ := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 4 || string(out) != "done\n" {
		t.Fatalf("status %d, output %q: %s", code, out, errs.String())
	}
	dir := filepath.Join(filepath.Dir(program), "program.rec")
	code, info, said := logparse("info", dir)
	if code != exitOK || !strings.Contains(info, "the process ended with status 4") {
		t.Errorf("status %d: %s%s", code, info, said)
	}
	s, err := app.Open(t.Context(), app.Inputs{Log: dir, NoIndexCache: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Rows().Len(); n == 0 || n >= 600_002 {
		t.Errorf("%d rows", n)
	}
}

// TestRecordNothing says why nothing was recorded, and leaves no folder.
func TestRecordNothing(t *testing.T) {
	for _, test := range []struct {
		name    string
		options []string
		args    []string
		said    []string
	}{
		{"no hooks", nil, nil, []string{"calls no hooks; only what it loads or starts can be recorded", "and nothing was recorded", "without compiling it: --probe '*' as root, or --libcalls", "g++ -g -finstrument-functions -finstrument-functions-exclude-file-list="}},
		{"static", []string{withHooks, "-static"}, nil, []string{"is linked statically, so its hooks are the empty ones of the C library", "link it dynamically"}},
		{"-pg", []string{"-pg"}, nil, []string{"-pg alone", "-mfentry"}},
		{"all left out", []string{withHooks}, []string{"--include", "nothing_of_that_name"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := compile(t, endings, test.options...)
			cmd := recordProcess(t, program, append(test.args, "./program", "0", "0")...)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil || string(out) != "inside\n" {
				t.Fatalf("%v, output %q: %s", err, out, errs.String())
			}
			for _, want := range test.said {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("%q is not said: %s", want, errs.String())
				}
			}
			_, err = os.Stat(filepath.Join(filepath.Dir(program), "program.rec"))
			if gone := os.IsNotExist(err); gone != (test.said != nil) {
				t.Errorf("the folder: %v", err)
			}
		})
	}
}

// TestRecordKilled kills the command: the program goes on, and its log is whole.
func TestRecordKilled(t *testing.T) {
	program := compile(t, interrupted, withHooks)
	cmd := recordProcess(t, program, "./program")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	said := bufio.NewReader(read)
	await(t, said, "ready 0")
	logs, err := app.RecordedLogs(filepath.Join(filepath.Dir(program), "program.rec"))
	if err != nil || len(logs) != 1 || !logs[0].Running {
		t.Fatalf("%v, %v", logs, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if err := syscall.Kill(int(logs[0].PID), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, said, "count 1")
	// Its end closes the pipe.
	for _, err := said.ReadByte(); err == nil; _, err = said.ReadByte() {
	}
	time.Sleep(10 * time.Millisecond)
	code, shown, errs := logparse("show", filepath.Dir(logs[0].Path), "--json", "--where", "func:served event:leave")
	if code != exitOK || strings.Count(shown, "\n") != 1 {
		t.Errorf("status %d: %s%s", code, shown, errs)
	}
}
