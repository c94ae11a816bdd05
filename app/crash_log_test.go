package app

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/crash"
	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace/wire"
	"logparser/symbols/unwind"
)

// crashedTrace writes a trace with three open calls and, unless nil, a crash.
func crashedTrace(t *testing.T, c *wire.Crash) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "app.lptrace")
	if err := os.WriteFile(name, tracetest.Crashed(c), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// textsOf returns what is told of crashes.
func textsOf(list []RecordedCrash) (texts []string) {
	for i := range list {
		texts = append(texts, list[i].Text().String())
	}
	return texts
}

// TestCrashOfLog: a stack that is smashed still has the complete list of calls, by the log.
func TestCrashOfLog(t *testing.T) {
	s := open(t, Inputs{Log: crashedTrace(t, tracetest.Smashed())})
	list := s.Crashes()
	if len(list) != 1 {
		t.Fatalf("%d crashes", len(list))
	}
	const want = "the program crashed: SIGSEGV: write to address 0x8, null pointer + 8, in app+0x1210 (app), thread 7"
	if got := list[0].Text().String(); got != want {
		t.Errorf("%s", got)
	}
	found := false
	for _, w := range s.Warnings() {
		found = found || w.Kind == Crashed && w.Text.String() == want
	}
	if !found {
		t.Errorf("warnings: %v", s.Warnings())
	}
	c, err := s.OpenCrash(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Program != "app" || c.Time.UnixNano() != 1_700_000_000_000_004_000 || len(c.Modules) != 1 || len(c.Threads) != 2 || c.Threads[0].ID != 7 || c.Threads[1].ID != 8 {
		t.Errorf("%+v", c.Process)
	}
	var b [16]byte
	if err := c.Memory.ReadMemory(b[:], 0x7ffe0100); err != nil || b[0] != 0x41 {
		t.Errorf("stack: %x, %v", b, err)
	}
	if err := c.Memory.ReadMemory(b[:], 0x7ffe0300); !errors.Is(err, crash.ErrMemory) {
		t.Errorf("behind the stack: %v", err)
	}
	if !c.Memory.Executable(0x405000) || c.Memory.Executable(0x7ffe0100) || !c.Memory.Executable(0x401210) {
		t.Error("rights of the mappings")
	}
	var out bytes.Buffer
	opt := ReportOptions{AllThreads: true, Log: "app.lptrace", OpenCalls: s.OpenCalls(100)}
	if err := c.WriteReport(&out, "txt", opt); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"thread 7 main, crashed", "app+0x1200", "app+0x1100", "app+0x1000", "thread 8", "app+0x1300", "log"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
	// The crash is the end of calls that were open.
	calls := opt.OpenCalls
	if len(calls) != 4 || calls[0].Lasted != 2800 || calls[0].Bound != 0 {
		t.Errorf("open calls: %+v", calls)
	}
}

func TestNoCrashOfLog(t *testing.T) {
	s := open(t, Inputs{Log: crashedTrace(t, nil)})
	if _, err := s.OpenCrash(context.Background()); !errors.Is(err, ErrNoCrash) || len(s.Crashes()) != 0 {
		t.Errorf("%v, %d crashes", err, len(s.Crashes()))
	}
}

// TestCrashCaller: where nothing lies at the instruction pointer the caller is named.
func TestCrashCaller(t *testing.T) {
	r := tracetest.Smashed()
	binary.LittleEndian.PutUint64(r.Registers[16*8:], 0)
	binary.LittleEndian.PutUint64(r.Stack[0x80:], 0x401234)
	r.Address, r.Access, r.CodeBytes = 0, wire.CrashExecute, nil
	list := open(t, Inputs{Log: crashedTrace(t, r)}).Crashes()
	const want = "the program crashed: SIGSEGV: execution of address 0x0, a null pointer, in a call from app+0x1234 (app), thread 7"
	if len(list) != 1 || list[0].Text().String() != want {
		t.Errorf("%q, want %q", textsOf(list), want)
	}
}

// TestHostileCrash: addresses and lengths at the ends of what is possible give no memory and no panic.
func TestHostileCrash(t *testing.T) {
	r := tracetest.Smashed()
	r.StackAt, r.TopAt, r.Top = ^wire.VA(0)-100, ^wire.VA(0), []byte{1, 2, 3}
	r.Maps = "ffffffffffffffff-0 r-xp 0 0 0\n0-ffffffffffffffff rwxp 00000000 00:00 0\n" + strings.Repeat("-", 1000)
	s := open(t, Inputs{Log: crashedTrace(t, r)})
	c, err := s.OpenCrash(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WriteReport(&bytes.Buffer{}, "txt", ReportOptions{}); err != nil {
		t.Error(err)
	}
	var crashes []parser.Crash
	for _, c := range s.Crashes() {
		crashes = append(crashes, c.Crash)
	}
	if len(crashes) != 1 {
		t.Errorf("%d crashes", len(crashes))
	}
}

// TestCrashOfFolder: a folder is no dump, but the log in it may tell of a crash.
func TestCrashOfFolder(t *testing.T) {
	dir := filepath.Dir(crashedTrace(t, tracetest.Smashed()))
	if _, err := OpenCrash(context.Background(), dir, Inputs{}); !errors.Is(err, ErrNoDump) {
		t.Errorf("the folder as a dump: %v", err)
	}
	c, err := open(t, Inputs{Log: dir}).OpenCrash(context.Background())
	if err != nil || c.Crashed() == nil || c.Crashed().ID != 7 {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestSaveReport writes the report that is named by program and time. What is there already is left, whatever it is, and a
// folder that is not there is told.
func TestSaveReport(t *testing.T) {
	s := open(t, Inputs{Log: crashedTrace(t, tracetest.Smashed())})
	c, err := s.OpenCrash(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	dir := t.TempDir()
	name := "applog" + time.Unix(1_700_000_000, 0).Local().Format("20060102150405")
	if err := os.WriteFile(filepath.Join(dir, name+"-2"), []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{name, name + "-3"} {
		path, err := c.SaveReport(context.Background(), dir, ReportOptions{})
		if err != nil || path != filepath.Join(dir, want) {
			t.Fatalf("%s, %v; want %s", path, err, want)
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "Caused an exception in thread 7 at 0000000000401210 /nowhere/app\n") ||
			!strings.Contains(string(text), "\n[1] app 0000000000401210 00001210\n") {
			t.Errorf("%v\n%s", err, text)
		}
	}
	if string(readFile(t, filepath.Join(dir, name+"-2"))) != "mine" {
		t.Error("a report has replaced another file")
	}
	if path, err := c.SaveReport(context.Background(), filepath.Join(dir, "none"), ReportOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s, %v", path, err)
	}
	for program, want := range map[string]string{`C:\x\abc.exe`: "abc.exe", "/usr/bin/x": "x", "..": "program", "a:b\n": "a_b_", "": "program"} {
		if got := reportStem(program); got != want {
			t.Errorf("%q is kept as %q, want %q", program, got, want)
		}
	}
}

// TestStackCut: where memory of the stack was not saved there may be more frames, unless the last one says that it is the last.
func TestStackCut(t *testing.T) {
	const low, saved, high = 0x7ffe0000, 0x7ffe0100, 0x7ffe1000
	memory, _ := crash.NewMemory(bytes.NewReader(make([]byte, saved-low)), saved-low, []crash.Range{
		{Start: low, End: high, Saved: saved - low, Readable: true, Writable: true, Rights: true},
	})
	c := &Crash{Process: &crash.Process{Machine: unwind.X8664, Memory: memory}}
	for _, tt := range []struct {
		sp        uint64
		outermost bool
		want      bool
	}{{low, false, true}, {saved, false, true}, {high - 8, false, true}, {high, false, false}, {low - 8, false, false}, {low, true, false}, {saved, true, false}} {
		f := unwind.Frame{Outermost: tt.outermost}
		f.Registers.Set(unwind.X8664.SP(), tt.sp)
		if got := c.stackCut(&f); got != tt.want {
			t.Errorf("stack pointer %#x, outermost %v: %v", tt.sp, tt.outermost, got)
		}
	}
	if c.stackCut(&unwind.Frame{}) {
		t.Error("without a stack pointer")
	}
}

// TestCausesOfLog tells of crashes of every kind what the record has: exceptions of Windows, what the program said last, who was running.
func TestCausesOfLog(t *testing.T) {
	for _, test := range []struct {
		change func(c *wire.Crash)
		text   string
		notes  []string // of the process
	}{
		{func(c *wire.Crash) {
			c.Kind, c.Code, c.Detail, c.Address, c.Flags, c.Access = wire.CrashException, 0xc0000005, 0, 0, wire.CrashAddressKnown, wire.CrashRead
		}, "the program crashed: EXCEPTION_ACCESS_VIOLATION: read of address 0x0, a null pointer, in app+0x1210 (app), thread 7", nil},
		{func(c *wire.Crash) { c.Kind, c.Code, c.Flags, c.Access = wire.CrashException, 0xc0000094, 0, 0 },
			"the program crashed: EXCEPTION_INT_DIVIDE_BY_ZERO: division of a whole number by zero, in app+0x1210 (app), thread 7", nil},
		{func(c *wire.Crash) {
			c.Kind, c.Message, c.Flags, c.Access = wire.CrashAbort, "assertion \x1b failed\n", wire.CrashInRecorder|wire.CrashHandled, 0
		}, "a call of abort, in app+0x1210 (app), thread 7: assertion \ufffd failed",
			[]string{"the program said: assertion \x1b failed", "the recorder's own code was running", "a handler of the program's own came next: it may have gone on"}},
		{func(c *wire.Crash) { binary.LittleEndian.PutUint64(c.Registers[16*8:], 0x1000); c.Stack = nil }, ", in 0x1000, thread 7", nil},
		{func(c *wire.Crash) { c.Flags |= wire.CrashReturnIP }, ", in app+0x1210 (app), thread 7", nil},
	} {
		r := tracetest.Smashed()
		test.change(r)
		s := open(t, Inputs{Log: crashedTrace(t, r)})
		list := s.Crashes()
		if len(list) != 1 || !strings.HasSuffix(list[0].Text().String(), test.text) {
			t.Errorf("%q, want %q", textsOf(list), test.text)
			continue
		}
		c, err := s.OpenCrash(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, n := range c.Notes {
			notes = append(notes, n.String())
		}
		for _, want := range test.notes {
			if !slices.Contains(notes, want) {
				t.Errorf("%s: the notes %q lack %q", test.text, notes, want)
			}
		}
		var out bytes.Buffer
		if err := c.WriteReport(&out, "txt", ReportOptions{}); err != nil || !strings.Contains(out.String(), c.Cause.Text().String()) {
			t.Errorf("%s: %v\n%s", test.text, err, &out)
		}
		c.Close()
	}
	s := open(t, Inputs{Log: crashedTrace(t, tracetest.Smashed()), Others: []string{traceOf(t, t.TempDir(), parentTrace)}, NoRecordedPaths: true})
	if _, err := s.OpenCrash(t.Context()); !errors.Is(err, ErrSeveralProcesses) {
		t.Errorf("of several processes: %v", err)
	}
	if list := s.Crashes(); len(list) != 1 || !strings.HasPrefix(list[0].Text().String(), "process 4711 app: the program crashed: SIGSEGV") {
		t.Errorf("%+v", list)
	}
}
