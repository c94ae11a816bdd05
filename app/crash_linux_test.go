package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/message"
	"logparser/symbols/unwind"
)

// A crashCase is a program that crashes, and how it is built.
type crashCase struct {
	name, source string
	way          int
	compiler     string
	flags        string
	// gdbOnly are functions that gdb shows and the stack does not have, with why.
	gdbOnly map[string]string
	// lines are frames of gdb's whose line is another here, with why.
	lines map[string]sameFrame
	cause string
}

// A sameFrame is what a frame is here, and why gdb has it otherwise.
type sameFrame struct{ text, why string }

// A library's functions that gdb guesses in every program.
var guessed = map[string]string{"__pthread_kill_internal": tailCall}

var everywhere = map[string]sameFrame{"clone3 clone3.S:81": {"__clone3 clone3.S:81", "two names of one function"}}

const tailCall = "it left its frame by a jump to the one it calls; gdb guesses it from call site records"

var crashCases = []crashCase{
	{name: "chain O0", way: 1, compiler: "gcc", flags: "-O0", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "chain O2 without frame pointers", way: 1, compiler: "gcc", flags: "-O2 -fomit-frame-pointer", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "chain O2 clang", way: 1, compiler: "clang-19", flags: "-O2 -fno-omit-frame-pointer", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "inlined O2", way: 2, compiler: "gcc", flags: "-O2", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "inlined O2 clang", way: 2, compiler: "clang-19", flags: "-O2", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "callback through the PLT", way: 3, compiler: "gcc", flags: "-O1", gdbOnly: map[string]string{"__GI_qsort": tailCall},
		cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "signal handler", way: 4, compiler: "gcc", flags: "-O2", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "signal handler O0 clang", way: 4, compiler: "clang-19", flags: "-O0", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "no return", way: 5, compiler: "gcc", flags: "-O2", cause: "SIGABRT: the program ended itself (abort)"},
	{name: "no return clang", way: 5, compiler: "clang-19", flags: "-O2 -static-pie -fPIE", cause: "SIGABRT: the program ended itself (abort)"},
	{name: "null call", way: 6, compiler: "gcc", flags: "-O2", cause: "SIGSEGV: execution of address 0x0, a null pointer"},
	{name: "thread", way: 7, compiler: "gcc", flags: "-O2 -pthread", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "own size and alignment", way: 8, compiler: "gcc", flags: "-O2 -no-pie", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "own size and alignment clang lld", way: 8, compiler: "clang-19", flags: "-O2 -fuse-ld=lld", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "stack overflow", way: 9, compiler: "gcc", flags: "-O1", cause: "SIGABRT: the program ended itself (abort)"},
	{name: "only debug_frame", way: 1, compiler: "gcc", flags: "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables", cause: "SIGSEGV: read of address 0x8, null pointer + 8"},
	{name: "uncaught", source: "crash.cc", way: 1, compiler: "g++", flags: "-O2",
		lines: map[string]sameFrame{"thrower new_allocator.h:90": {"thrower crash.cc:14", "addr2line says so of the return address - 1, too; line 90 is of code behind the call"}}, cause: "SIGABRT: the program ended itself (abort)"},
	{name: "crash in catch", source: "crash.cc", way: 2, compiler: "g++", flags: "-O2", cause: "SIGSEGV: read of address 0x0, a null pointer"},
	{name: "crash in a destructor", source: "crash.cc", way: 3, compiler: "clang++-19", flags: "-O2", cause: "SIGSEGV: read of address 0x0, a null pointer"},
}

// tool returns a program's path; the test is skipped where it is not installed.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// crashCore builds a program and returns it with its core file, written by the kernel or, where
// that writes none here, by gdb.
func crashCore(t *testing.T, c *crashCase) (program, core string) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "crash")
	source := c.source
	if source == "" {
		source = "crash.c"
	}
	path, err := filepath.Abs(filepath.Join("testdata/crash", source))
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-g", "-w", fmt.Sprintf("-DWAY=%d", c.way), path, "-o", program}, strings.Fields(c.flags)...)
	if out, err := exec.Command(tool(t, c.compiler), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return program, runToCore(t, dir, program)
}

func runToCore(t *testing.T, dir string, program ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -c unlimited; "$@"`, "sh"}, program...)...)
	cmd.Dir = dir
	_ = cmd.Run() // it crashes
	if list, _ := filepath.Glob(filepath.Join(dir, "*core*")); len(list) > 0 {
		return list[0]
	}
	core := filepath.Join(dir, "by-gdb.core")
	args := append([]string{"-batch", "-ex", "handle SIGUSR1 nostop", "-ex", "run", "-ex", "generate-core-file " + core, "--args"}, program...)
	out, err := exec.CommandContext(ctx, tool(t, "gdb"), args...).CombinedOutput()
	if _, err2 := os.Stat(core); err != nil || err2 != nil {
		t.Skipf("no core file can be made here: %v, %v\n%s", err, err2, out)
	}
	return core
}

var gdbFrame = regexp.MustCompile(`^#\d+ +(?:0x[0-9a-f]+ in )?(<signal handler called>|[^ ]+(?: const)?) ?\(?.*?(?: at ([^ ]+:\d+))?$`)

// gdbStack returns what gdb prints of the crashed thread's stack, a frame a string.
func gdbStack(t *testing.T, program, core string, args ...string) (list []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args = append([]string{"-batch", "-nx", "-iex", "set debuginfod enabled off", "-ex", "set width 0", "-ex", "set print frame-arguments none"}, args...)
	out, err := exec.CommandContext(ctx, tool(t, "gdb"), append(args, "-ex", "bt 2000", program, core)...).Output()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		// The first frame is printed once before, too.
		if m := gdbFrame.FindStringSubmatch(strings.TrimSpace(string(line))); m != nil {
			if bytes.HasPrefix(line, []byte("#0 ")) {
				list = nil
			}
			list = append(list, frameText(m[1], m[2]))
		}
	}
	return list
}

// frameText is a frame as both sides are compared: function, base name and line.
func frameText(function, place string) string {
	if i := strings.LastIndexByte(place, '/'); i >= 0 {
		place = place[i+1:]
	}
	// What compilers cloned has the name of the original; what has no symbols here is called
	// by its address.
	function, _, _ = strings.Cut(strings.TrimSuffix(function, "()"), ".")
	if strings.HasPrefix(function, "sub_") {
		function = "??"
	}
	return strings.TrimSpace(function + " " + place)
}

// ourStack returns the same of a crash.
func ourStack(t *testing.T, c *Crash, thread int) (list []string) {
	t.Helper()
	frames, _, _, err := c.Stack(thread, 4000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		f := &frames[i]
		switch {
		case f.Signal:
			list = append(list, "<signal handler called>")
		case len(f.Functions) == 0:
			list = append(list, "??")
		}
		if f.Signal {
			continue
		}
		for _, fn := range f.Functions {
			place := ""
			if fn.Line > 0 {
				place = fmt.Sprintf("%s:%d", fn.File, fn.Line)
			}
			list = append(list, frameText(fn.Function, place))
			if fn.Function == "main" {
				return list
			}
		}
	}
	return list
}

// TestCrashAgainstGDB holds stacks and causes of programs that crash against gdb's.
func TestCrashAgainstGDB(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	tool(t, "gdb")
	for i := range crashCases {
		c := &crashCases[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			program, core := crashCore(t, c)
			crash, err := OpenCrash(t.Context(), core, Inputs{})
			if err != nil {
				t.Fatal(err)
			}
			defer crash.Close()
			if got := crash.Cause.Text().String(); got != c.cause {
				t.Errorf("the cause is %q, want %q", got, c.cause)
			}
			if crash.Crashed() != &crash.Threads[0] || len(crash.Notes) > 0 {
				t.Errorf("crashed thread %v, notes %v", crash.Crashed(), crash.Notes)
			}
			theirs := gdbStack(t, program, core)
			var want []string
			for _, f := range theirs {
				name, _, _ := strings.Cut(f, " ")
				same, ok := c.lines[f]
				if !ok {
					same, ok = everywhere[f]
				}
				if ok {
					f = same.text
				}
				if c.gdbOnly[name] == "" && guessed[name] == "" {
					want = append(want, f)
				}
			}
			got := ourStack(t, crash, 0)
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("the stack is\n%s\ngdb has\n%s", strings.Join(got[:min(len(got), 40)], "\n"), strings.Join(want[:min(len(want), 40)], "\n"))
			}
			if len(got) < 2 {
				t.Errorf("only %d frames", len(got))
			}
			for _, m := range crash.Modules {
				if m.Identity.BuildID == "" && m.Path != "[vdso]" {
					t.Errorf("%s has no build-id", m.Path)
				}
			}
		})
	}
}

// TestCrashWithoutRules finds the frames of a program without unwind rules by their frame
// pointers, and says so.
func TestCrashWithoutRules(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	c := crashCase{way: 1, compiler: "gcc", flags: "-O0 -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-dwarf2-cfi-asm"}
	program, core := crashCore(t, &c)
	if out, err := exec.Command(tool(t, "objcopy"), "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", "--remove-section=.debug_frame", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	crash, err := OpenCrash(t.Context(), core, Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	defer crash.Close()
	frames, _, _, err := crash.Stack(0, 100)
	if err != nil || len(frames) < 4 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	for i, want := range []string{"leaf", "second", "first", "main"} {
		f := &frames[i]
		found := unwind.ByFramePointer
		if i == 0 {
			found = unwind.ByContext
		}
		if len(f.Functions) != 1 || f.Functions[0].Function != want || f.Found != found {
			t.Errorf("frame %d is %+v by %s, want %s by %s", i, f.Functions, f.Found, want, found)
		}
	}
	asSession(t, crash, core)
}

// asSession opens a dump as those do who show logs, too: a session without rows, with the same report.
func asSession(t *testing.T, crash *Crash, core string) {
	t.Helper()
	if _, err := Open(t.Context(), Inputs{Log: core}, nil); !errors.Is(err, ErrDump) {
		t.Errorf("a dump is opened as a log: %v", err)
	}
	s, err := OpenLogOrDump(t.Context(), Inputs{Log: core, Run: "1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !s.IsDump() || s.Rows().Len() != 0 || len(s.Modules()) != len(crash.Modules) || s.CanCorrect() {
		t.Errorf("%d rows, %d modules", s.Rows().Len(), len(s.Modules()))
	}
	const cause = "the program crashed: SIGSEGV: "
	if !slices.ContainsFunc(s.Warnings(), func(w Warning) bool { return strings.HasPrefix(w.Text.String(), cause) }) {
		t.Errorf("no %q in %v", cause, s.Warnings())
	}
	opt := ReportOptions{AllThreads: true, AllModules: true}
	var want bytes.Buffer
	if err := crash.WriteReport(&want, CrashFormats()[0], opt); err != nil {
		t.Fatal(err)
	}
	plain, translated, err := s.CrashReport(t.Context(), opt, func(m message.Text) string { return "said: " + m.String() })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := WriteCrashText(plain); err != nil || got != want.String() {
		t.Errorf("%v: the report is\n%s\nwant\n%s", err, got, &want)
	}
	if got, err := WriteCrashText(translated); err != nil || !strings.Contains(got, "said: ") {
		t.Errorf("%v: the report in another language is\n%s", err, got)
	}
	if log, err := OpenLogOrDump(t.Context(), Inputs{Log: linuxFolder}, nil); err != nil || log.IsDump() {
		t.Errorf("a log is a dump: %v", err)
	} else {
		log.Close()
	}
	cut := filepath.Join(t.TempDir(), "cut.core")
	writeFile(t, cut, readFile(t, core)[:100])
	var input *InputError
	if _, err := OpenLogOrDump(t.Context(), Inputs{Log: cut}, nil); !errors.As(err, &input) || input.Input != LogInput {
		t.Errorf("a dump that was cut off: %v", err)
	}
}
