package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logparser/symbols/unwind"
)

// dumps are the minidumps of the conformance data.
const dumps = "../../shared/data/dumps"

// TestPrintedStack holds the stacks of a minidump against those that Breakpad's walker
// printed: the crashed thread has a rule for each of its frames.
func TestPrintedStack(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(dumps, "minidump2.stackwalk.machine_readable.out"))
	if err != nil {
		t.Skip("no conformance data here")
	}
	c, err := OpenCrash(t.Context(), filepath.Join(dumps, "minidump2.dmp"), Inputs{Symbols: []string{filepath.Join(dumps, "symbols")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Cause.Text().String(); got != "EXCEPTION_ACCESS_VIOLATION: write to address 0x45, null pointer + 69" {
		t.Errorf("the cause is %q", got)
	}
	samePrinted(t, c, string(want), unwind.ByFrameData, 0)
}

// TestPrintedMicrodump does the same with the microdump of an arm64 program. Breakpad's walker ends where the
// rules do.
func TestPrintedMicrodump(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(dumps, "microdump.stackwalk.machine_readable-arm64.out"))
	if err != nil {
		t.Skip("no conformance data here")
	}
	c, err := OpenCrash(t.Context(), filepath.Join(dumps, "microdump-arm64.dmp"), Inputs{Symbols: []string{filepath.Join(dumps, "symbols", "microdump")}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	samePrinted(t, c, string(want), unwind.ByCFI, 9)
}

// samePrinted compares the crashed thread's frames, the first n of them if n is not 0, with those that Breakpad's
// walker printed. All but the first were found in one way.
func samePrinted(t *testing.T, c *Crash, want string, found unwind.Method, n int) {
	t.Helper()
	frames, _, _, err := c.Stack(0, 100)
	if err != nil {
		t.Fatal(err)
	}
	if n > 0 && len(frames) > n {
		frames = frames[:n]
	}
	var theirs []string // 0|frame|module|function|file|line|offset
	for _, line := range strings.Split(want, "\n") {
		if f := strings.Split(strings.TrimRight(line, "\r"), "|"); len(f) == 7 && f[0] == "0" {
			theirs = append(theirs, strings.Join(f[2:6], "|"))
		}
	}
	var ours []string
	for i := range frames {
		f := &frames[i]
		text := "||"
		if len(f.Functions) > 0 {
			fn := f.Functions[len(f.Functions)-1]
			text = fmt.Sprintf("%s|%s|", fn.Function, fn.File)
			if fn.Line > 0 {
				text += fmt.Sprint(fn.Line)
			}
		}
		ours = append(ours, c.Modules[f.Module].Name()+"|"+text)
		if i > 0 && f.Found != found {
			t.Errorf("frame %d was found by %s", i, f.Found)
		}
	}
	if len(theirs) == 0 || strings.Join(ours, "\n") != strings.Join(theirs, "\n") {
		t.Errorf("the stack is\n%s\nBreakpad has\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

// TestDumpStacks walks the stacks of minidumps with the rules of their symbol files: from the
// function that crashed to main.
func TestDumpStacks(t *testing.T) {
	if _, err := os.Stat(dumps); err != nil {
		t.Skip("no conformance data here")
	}
	for _, d := range []struct {
		file, cause string
		functions   []string
	}{
		{"linux_overflow.dmp", "SIGABRT: the program ended itself (abort)",
			[]string{"gsignal", "abort", "__fsetlocking", "__fortify_fail", "__chk_fail", "overflow", "main", "__libc_start_main"}},
		{"linux_null_read_av.dmp", "SIGSEGV: read of address 0x0, a null pointer", []string{"crash", "main", "__libc_start_main"}},
	} {
		c, err := OpenCrash(t.Context(), filepath.Join(dumps, d.file), Inputs{Symbols: []string{filepath.Join(dumps, "symbols")}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := c.Cause.Text().String(); got != d.cause {
			t.Errorf("%s: the cause is %q", d.file, got)
		}
		frames, _, _, err := c.Stack(0, 100)
		if err != nil || len(frames) < len(d.functions) {
			t.Fatalf("%s: %d frames, %v", d.file, len(frames), err)
		}
		for i, want := range d.functions {
			f := &frames[i]
			if len(f.Functions) == 0 || f.Functions[0].Function != want || i > 0 && f.Found != unwind.ByCFI {
				t.Errorf("%s: frame %d is %+v by %s, want %s", d.file, i, f.Functions, f.Found, want)
			}
		}
	}
}

// TestAllDumps opens every minidump of the conformance data, with what can be said of each.
func TestAllDumps(t *testing.T) {
	list, err := filepath.Glob(filepath.Join(dumps, "*.dmp"))
	if err != nil || len(list) == 0 {
		t.Skip("no conformance data here")
	}
	opened := 0
	for _, path := range list {
		if strings.HasPrefix(filepath.Base(path), "microdump") {
			continue // text
		}
		c, err := OpenCrash(t.Context(), path, Inputs{NoRecordedPaths: true})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		opened++
		if len(c.Modules) == 0 || len(c.Threads) == 0 || len(c.Notes) > 0 || c.System == "" {
			t.Errorf("%s: %d modules, %d threads, system %q, notes %v", path, len(c.Modules), len(c.Threads), c.System, c.Notes)
		}
		for _, format := range CrashFormats() {
			var out bytes.Buffer
			if err := c.WriteReport(&out, format, ReportOptions{AllThreads: true}); err != nil || out.Len() < 100 {
				t.Errorf("%s, %s: %d bytes, %v", path, format, out.Len(), err)
			}
		}
		c.Close()
	}
	if opened < 30 {
		t.Errorf("only %d dumps", opened)
	}
}

// TestCrashUnderWine holds the stack of a Windows program against the one that the system's own
// RtlVirtualUnwind gives, frame by frame.
func TestCrashUnderWine(t *testing.T) {
	if testing.Short() {
		t.Skip("runs wine")
	}
	wine := tool(t, "wine")
	dir := t.TempDir()
	source, err := filepath.Abs("testdata/crash/windows.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-O2", "-O0", "-O1 -fno-omit-frame-pointer"} {
		args := append([]string{"-g", source, "-o", filepath.Join(dir, "crash.exe"), "-ldbghelp"}, strings.Fields(flags)...)
		if out, err := exec.Command(tool(t, "x86_64-w64-mingw32-gcc"), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, wine, "crash.exe")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "WINEDEBUG=-all")
		out, _ := cmd.Output() // it ends with 3
		want := strings.Fields(string(out))
		if len(want) < 8 {
			t.Fatalf("it printed %q", out)
		}
		places, _ := filepath.Glob("/usr/lib/*/wine/x86_64-windows")
		c, err := OpenCrash(t.Context(), filepath.Join(dir, "crash.dmp"), Inputs{Symbols: append(places, dir)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := c.Cause.Text().String(); got != "EXCEPTION_ACCESS_VIOLATION: read of address 0x0, a null pointer" {
			t.Errorf("the cause is %q", got)
		}
		frames, _, _, err := c.Stack(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"leaf", "saves", "roomy", "large", "compare"} {
			if len(frames) <= i || len(frames[i].Functions) != 1 || frames[i].Functions[0].Function != name {
				t.Fatalf("%s: frame %d of %d is not %s", flags, i, len(frames), name)
			}
		}
		for i, address := range want {
			if i >= len(frames) || fmt.Sprintf("%016X", frames[i].PC) != strings.ToUpper(address) {
				t.Errorf("%s: frame %d is not %s", flags, i, address)
			} else if i > 0 && frames[i].Found != unwind.ByUnwindInfo {
				t.Errorf("%s: frame %d was found by %s", flags, i, frames[i].Found)
			}
		}
		path, err := c.SaveReport(t.Context(), dir, ReportOptions{})
		if err != nil || !strings.HasPrefix(filepath.Base(path), "crash.exelog20") {
			t.Fatalf("%s: the report is %s, %v", flags, path, err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{" 0001:", "\n[Exception Code: 0xC0000005]\n[Exception Flags: 0x00000000]\nCall stack of thread ", " leaf, windows.c, line ", "\n[2] crash.exe "} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: the report lacks %q:\n%s", flags, want, text)
			}
		}
	}
}

// TestCrashOfARM64 walks stacks of programs for arm64 that crash under qemu, whose core files have
// no list of mapped files.
func TestCrashOfARM64(t *testing.T) {
	if testing.Short() {
		t.Skip("runs qemu")
	}
	qemu := tool(t, "qemu-aarch64")
	for _, c := range []struct {
		way   int
		flags string
		want  []string
	}{
		{1, "-O2", []string{"leaf", "second", "first", "main"}},
		{1, "-O0", []string{"leaf", "second", "first", "main"}},
		{1, "-O2 -mbranch-protection=standard -march=armv8.3-a", []string{"leaf", "second", "first", "main"}},
		{4, "-O2", []string{"leaf", "handler", "<signal handler called>", "interrupted", "main"}},
		{8, "-O2 -fomit-frame-pointer", []string{"leaf", "aligned", "roomy", "main"}},
	} {
		dir := t.TempDir()
		program := filepath.Join(dir, "crash")
		args := append([]string{"-g", "-w", "-static", fmt.Sprintf("-DWAY=%d", c.way), "testdata/crash/crash.c", "-o", program}, strings.Fields(c.flags)...)
		if out, err := exec.Command(tool(t, "aarch64-linux-gnu-gcc"), args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		runToCore(t, dir, qemu, program)
		list, _ := filepath.Glob(filepath.Join(dir, "qemu_*.core"))
		if len(list) == 0 {
			t.Skip("qemu writes no core file here")
		}
		crash, err := OpenCrash(t.Context(), list[0], Inputs{})
		if err != nil {
			t.Fatal(err)
		}
		defer crash.Close()
		got := ourStack(t, crash, 0)
		rest := c.want
		for _, f := range got {
			if len(rest) > 0 && (f == rest[0] || strings.HasPrefix(f, rest[0]+" crash.c:")) {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			t.Errorf("%d %s: the stack is\n%s\nwant %v", c.way, c.flags, strings.Join(got, "\n"), c.want)
		}
	}
}
