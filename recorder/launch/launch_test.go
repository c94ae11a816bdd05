package launch

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

const program = "void f(void) {}\nint main(void) { f(); return 0; }\n"

// ownHooks has hooks of its own.
const ownHooks = `
#define OFF __attribute__((no_instrument_function))
OFF void __cyg_profile_func_enter(void *f, void *s) { (void)f; (void)s; }
OFF void __cyg_profile_func_exit(void *f, void *s) { (void)f; (void)s; }
` + program

// shell runs lines in a new folder, with the sources there, and returns the folder.
func shell(t *testing.T, lines string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"p.c": program, "own.c": ownHooks, "lib.c": "void g(void) {}\n", "uses.c": "void g(void);\nint main(void) { g(); return 0; }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", lines, "sh", here)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", lines, err, out)
	}
	return dir
}

// TestWays builds programs in all ways and looks at them: which way in is chosen, and why.
func TestWays(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("programs are built for Linux")
	}
	for _, test := range []struct {
		name, build string
		kind        WayKind
		reason      string
		advice      string
	}{
		{"hooks", "gcc -g -finstrument-functions p.c -o p", Preload, "calls the hooks of -finstrument-functions: the recorder is preloaded", ""},
		{"hooks, stripped, no PIE", "gcc -s -no-pie -finstrument-functions p.c -o p", Preload, "calls the hooks of -finstrument-functions", ""},
		{"clang", "clang-19 -g -finstrument-functions p.c -o p", Preload, "calls the hooks of -finstrument-functions", ""},
		{"fentry", "gcc -pg -mfentry p.c -o p", Preload, "tells of enters only", ""},
		{"pg", "gcc -pg p.c -o p", Nothing, "-pg alone", "-minstrument-return=call"},
		{"no hooks", "gcc -g p.c -o p", Nothing, "calls no hooks", "g++ -g -finstrument-functions -finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc app.cpp"},
		{"no hooks, clang", "clang-19 p.c -o p", Nothing, "calls no hooks", "clang++ -g -finstrument-functions app.cpp"},
		{"all left out", "gcc -g -finstrument-functions -finstrument-functions-exclude-file-list=p.c p.c -o p", Nothing, "was compiled with -finstrument-functions, but calls no hooks", "no_instrument_function"},
		{"static", "gcc -static -finstrument-functions p.c -o p", Nothing, "linked statically, so its hooks are the empty ones", "link it dynamically"},
		{"static without hooks", "gcc -static p.c -o p", Nothing, "linked statically, and nothing can be preloaded", "-finstrument-functions"},
		{"library", "gcc -shared -fPIC -finstrument-functions lib.c -o libg.so; gcc uses.c -L. -lg -Wl,-rpath,'$ORIGIN' -o p", Preload, "its library libg.so does", ""},
		{"library, runpath of a library", "mkdir d; gcc -shared -fPIC -finstrument-functions lib.c -o d/libg.so; gcc uses.c -Ld -lg -Wl,--enable-new-dtags,-rpath,'$ORIGIN/d' -o p", Preload, "its library libg.so does", ""},
		{"own hooks", "gcc -finstrument-functions own.c -o p", Nothing, "has hooks of its own", "__cyg_profile_func_enter"},
		{"recorder linked in", `gcc -O1 -w -pthread -I"$1/include" "$1"/src/*.c "$1"/src/*.S -finstrument-functions-exclude-file-list=/ p.c -ldl -o p`, Linked, "the recorder is linked into p", ""},
		{"XRay", "clang-19 -fxray-instrument -fxray-instruction-threshold=1 -c p.c -o p.o; clang-19 p.o -o p", Patch, "has room for hooks at enters and leaves (-fxray-instrument)", ""},
		{"patchable", "gcc -fpatchable-function-entry=5 p.c -o p", Patch, "has room for hooks at enters only (-fpatchable-function-entry)", ""},
		{"patchable library", "gcc -shared -fPIC -fpatchable-function-entry=5 lib.c -o libg.so; gcc uses.c -L. -lg -Wl,-rpath,'$ORIGIN' -o p", Patch, "its library libg.so has room for them", ""},
		{"mcount", "gcc -fno-pie -no-pie -pg -mfentry -mnop-mcount -mrecord-mcount -minstrument-return=nop5 -mrecord-return p.c -o p", Patch, "at enters and leaves (-mnop-mcount, -minstrument-return=nop5)", ""},
		{"patchable, 32 bits", "gcc -m32 -fpatchable-function-entry=5 -nostdlib -shared -fPIC lib.c -o p", Nothing, "", ""},
		{"script", "gcc -finstrument-functions p.c -o interpreter; printf '#!%s/interpreter -x\\n' \"$PWD\" > p", Preload, "p is a script, which interpreter runs: interpreter calls the hooks", ""},
		{"script of env", "printf '#!/usr/bin/env -S A=b sh\\n' > p", Nothing, "p is a script, which sh runs", "no program that the script started calls hooks"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, tool := range []string{"gcc", "clang-19"} {
				if _, err := exec.LookPath(tool); err != nil && strings.Contains(test.build, tool) {
					t.Skip("there is no ", tool)
				}
			}
			dir := shell(t, test.build)
			p, err := Inspect(filepath.Join(dir, "p"))
			if err != nil {
				t.Fatal(err)
			}
			w := p.Way()
			advice := fmt.Sprint(w.Advice)
			if w.Kind != test.kind || !strings.Contains(w.Reason.String(), test.reason) || !strings.Contains(advice, test.advice) {
				t.Errorf("%v, %s; %s", w.Kind, w.Reason, advice)
			}
		})
	}
}

// TestWithoutValues asks of programs whether values are taken of them, and why not.
func TestWithoutValues(t *testing.T) {
	for _, test := range []struct {
		program Program
		raw     bool
		want    string // a part of it; "" where they are
	}{
		{Program{Format: ELF, Machine: elf.EM_X86_64, Bits: 64, Calls: HookFunctions}, false, ""},
		{Program{Format: ELF, Machine: elf.EM_X86_64, Bits: 64, Calls: HookFunctions}, true, "no registers are taken of app"},
		{Program{Format: ELF, Machine: elf.EM_X86_64, Bits: 64, Calls: HookEntry}, true, ""},
		{Program{Format: ELF, Machine: elf.EM_X86_64, Bits: 64, Sleds: SledEntry}, true, ""},
		{Program{Format: ELF, Machine: elf.EM_X86_64, Bits: 64, Calls: HookMcount}, false, "calls no hooks at which there are any"},
		{Program{Format: ELF, Machine: elf.EM_X86_64, Bits: 64, Linked: true}, false, ""},
		{Program{Format: ELF, Machine: elf.EM_AARCH64, Bits: 64, Calls: HookFunctions}, false, "none on arm64"},
		{Program{Format: ELF, Machine: elf.EM_AARCH64, Bits: 64, Calls: HookFunctions, Sleds: SledXRay}, false, ""},
		{Program{Format: ELF, Machine: elf.EM_AARCH64, Bits: 64, Sleds: SledXRay}, true, "no registers are taken of app"},
		{Program{Format: ELF, Machine: elf.EM_386, Bits: 32, Calls: HookFunctions}, false, ""},
		{Program{Format: ELF, Machine: elf.EM_386, Bits: 32, Calls: HookEntry}, false, ""},
		{Program{Format: PE, Machine: elf.EM_X86_64, Bits: 64, Calls: HookFunctions, dll: "logrec.dll"}, false, ""},
		{Program{Format: PE, Machine: elf.EM_X86_64, Bits: 64, Calls: HookPenter, dll: "logrec.dll"}, false, "/Gh and /GH"},
		{Program{Format: PE, Machine: elf.EM_X86_64, Bits: 64}, false, "calls no hooks"},
		{Program{Format: PE, Machine: elf.EM_386, Bits: 32, Calls: HookPenter, dll: "logrec.dll"}, false, ""},
		{Program{Format: PE, Machine: elf.EM_386, Bits: 32, Calls: HookEntry, dll: "logrec.dll"}, false, ""},
		{Program{Format: PE, Machine: elf.EM_386, Bits: 32, Calls: HookFunctions, dll: "logrec.dll"}, false, "of Windows for x86"},
		{Program{Format: PE, Machine: elf.EM_386, Bits: 32, Linked: true}, false, ""},
	} {
		test.program.Path = "/a/app"
		got := test.program.WithoutValues(test.raw)
		if got.IsZero() != (test.want == "") || !strings.Contains(got.String(), test.want) {
			t.Errorf("%+v: %q, and not %q", test.program, got, test.want)
		}
	}
}

// TestPrivileged looks at a program with another user's rights.
func TestPrivileged(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 || testing.Short() {
		t.Skip("only root can make such a program")
	}
	dir := shell(t, "gcc -finstrument-functions p.c -o p; chown 65534 p; chmod u+s p")
	p, err := Inspect(filepath.Join(dir, "p"))
	if err != nil {
		t.Fatal(err)
	}
	if w := p.Way(); w.Kind != Nothing || !strings.Contains(w.Reason.String(), "rights of another user") {
		t.Errorf("%v, %s", w.Kind, w.Reason)
	}
}

// TestNoProgram gives files that are no programs.
func TestNoProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "text": "int x;\n", "elf": "\x7fELF\x02\x01\x01", "pe": "MZ\x90", "script": "#!\nx", "itself": "#!" + filepath.Join(dir, "itself") + "\n",
		"gone": "#!/no/such/interpreter\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
		if p, err := Inspect(path); err == nil {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestEnvironment has what a program is given.
func TestEnvironment(t *testing.T) {
	elfProgram := &Program{Format: ELF}
	for _, test := range []struct {
		name string
		plan Plan
		env  []string
		opt  Options
		want []string
	}{
		{"plain", Plan{Program: elfProgram, Library: "/l/liblogrec.so", Dir: "/d"}, []string{"A=1", "bad"}, Options{},
			[]string{"A=1", "bad", "LOGREC_FILE=/d/", "LOGREC_PATCH=1", "LD_PRELOAD=/l/liblogrec.so"}},
		{"others are kept", Plan{Program: elfProgram, Library: "/l/liblogrec.so", Dir: "/d%"}, []string{"LD_PRELOAD=libother.so", "LOGREC_FILE=x", "B="}, Options{},
			[]string{"LD_PRELOAD=/l/liblogrec.so:libother.so", "LOGREC_FILE=/d%%/", "B=", "LOGREC_PATCH=1"}},
		{"sanitizer", Plan{Program: &Program{Format: ELF, first: []string{"libasan.so.8"}}, Library: "/l/liblogrec.so", Dir: "/d"}, nil, Options{},
			[]string{"LOGREC_FILE=/d/", "LOGREC_PATCH=1", "LD_PRELOAD=libasan.so.8:/l/liblogrec.so"}},
		{"linked", Plan{Program: elfProgram, Dir: "/d"}, []string{"LOGREC_SITES=0"}, Options{Sites: true, Include: []string{"a", "b"}, Exclude: []string{"c"}, Minimum: "1us", Ring: "ring:2", NoChildren: true, NoCommandLine: true, SnapshotSignal: "USR1", Crash: "off"},
			[]string{"LOGREC_SITES=1", "LOGREC_FILE=/d/", "LOGREC_INCLUDE=a,b", "LOGREC_EXCLUDE=c", "LOGREC_MIN=1us", "LOGREC=ring:2", "LOGREC_CHILDREN=0", "LOGREC_COMMAND_LINE=0", "LOGREC_SNAPSHOT_SIGNAL=USR1", "LOGREC_CRASH=off"}},
		{"linked, room for hooks", Plan{Program: &Program{Format: ELF, Linked: true, Sleds: SledXRay}, Dir: "/d"}, nil, Options{},
			[]string{"LOGREC_FILE=/d/", "LOGREC_PATCH=1"}},
		{"wine", Plan{Program: &Program{Format: PE}, Library: "/l/logrec.dll", Dir: "/d"}, []string{"WINEPATH=Z:\\x"}, Options{},
			[]string{`WINEPATH=Z:\l;Z:\x`, `LOGREC_FILE=Z:\d\`}},
		{"paused", Plan{Program: elfProgram, Dir: "/d"}, []string{"LOGREC=on,ring:64"}, Options{Paused: true},
			[]string{"LOGREC=off,ring:64", "LOGREC_FILE=/d/"}},
		{"blank", Plan{Program: elfProgram, Library: "/a b/liblogrec.so", Dir: "/d"}, nil, Options{}, nil},
	} {
		if runtime.GOOS == "windows" {
			t.Skip("paths are those of other systems")
		}
		got, err := test.plan.environment(test.env, test.opt)
		if (err != nil) != (test.want == nil) || test.want != nil && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}

// TestLongFolder makes the folder of the logs where its whole path is longer than the system takes: the program finds it all the
// same.
func TestLongFolder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the folder is found by its descriptor in /proc")
	}
	t.Chdir(t.TempDir())
	// Go's own Chdir follows, but the path is not to be used whole.
	for range 20 {
		name := strings.Repeat("x", 230)
		if err := errors.Join(os.Mkdir(name, 0o700), os.Chdir(name)); err != nil {
			t.Fatal(err)
		}
	}
	p := Plan{Program: &Program{Format: ELF, Path: "/app"}}
	if err := p.makeDir(""); err != nil {
		t.Fatal(err)
	}
	env, err := p.environment(nil, Options{})
	if err != nil || len(env) != 1 {
		t.Fatalf("%q, %v", env, err)
	}
	folder := strings.TrimPrefix(env[0], "LOGREC_FILE=")
	if !filepath.IsAbs(folder) {
		t.Errorf("%s is not absolute", folder)
	}
	if err := os.WriteFile(folder+"log", nil, 0o600); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join("app.rec", "log")); err != nil {
		t.Error(err)
	}
	p.held.Close()
}

// TestBuildTwice has several ask for a library at once that is not there: all get the same whole
// one, and nothing else is left.
func TestBuildTwice(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("the recorder is built for Linux")
	}
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler")
	}
	p, err := Inspect("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{ELF, p.Machine, p.Bits, "liblogrec.so"}
	dir := filepath.Join(t.TempDir(), "cache")
	var wait sync.WaitGroup
	files := make([]string, 2)
	for i := range files {
		wait.Add(1)
		go func() {
			defer wait.Done()
			file, err := target.build(dir, nil)
			if err != nil {
				t.Error(err)
			}
			files[i] = file
		}()
	}
	wait.Wait()
	if files[0] != files[1] {
		t.Errorf("%q", files)
	}
	if err := checkLibrary(files[0], p.Machine, p.Bits); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if file, err := target.build(dir, func(string) { t.Error("it is built again") }); err != nil || file != files[0] {
		t.Errorf("%q, %v", file, err)
	}
	// Others must not be able to put a library there.
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if file, err := target.build(dir, nil); err == nil {
		t.Errorf("%q is taken from a folder that anybody may write to", file)
	}
}

// TestBuildOther builds the library for another processor, and for Windows, where there is a compiler for it.
func TestBuildOther(t *testing.T) {
	if testing.Short() {
		t.Skip("the recorder is built")
	}
	for _, target := range []Target{
		{Format: ELF, Machine: elf.EM_AARCH64, Bits: 64, Name: "liblogrec.so"},
		{Format: ELF, Machine: elf.EM_386, Bits: 32, Name: "liblogrec.so"},
		{Format: PE, Machine: elf.EM_X86_64, Bits: 64, Name: "logrec.dll"},
		{Format: PE, Machine: elf.EM_386, Bits: 32, Name: "liblogrec.dll"},
	} {
		t.Run(fmt.Sprint(target.Format, target.Machine), func(t *testing.T) {
			if target.Format == ELF && target.Machine == elf.EM_386 {
				if exec.Command("sh", "-c", "echo '#include <stdio.h>' | gcc -m32 -E - >/dev/null 2>&1").Run() != nil {
					// That is what somebody is told who has no headers for it.
					if file, err := target.build(t.TempDir(), nil); err == nil || !errors.Is(err, ErrBuild) && !errors.Is(err, ErrNoCompiler) {
						t.Errorf("%q, %v", file, err)
					}
					return
				}
			}
			if len(target.compilers()) == 0 {
				t.Skip("there is no compiler for it")
			}
			file, err := target.build(filepath.Join(t.TempDir(), "cache"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(file) != target.Name {
				t.Errorf("it is called %s", file)
			}
		})
	}
}

// TestBuildFails has a compiler that fails.
func TestBuildFails(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the compiler is a script")
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "cc"), []byte("#!/bin/sh\necho 'x.c:1:2: error: no' >&2\nexit 1\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("CC", "")
	p, err := Inspect("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	target := Target{ELF, p.Machine, p.Bits, "liblogrec.so"}
	dir := filepath.Join(t.TempDir(), "cache")
	if file, err := target.build(dir, nil); err == nil || !strings.Contains(err.Error(), "x.c:1:2: error: no") {
		t.Errorf("%q, %v", file, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// traceFile writes a log with an open call; full leaves no room in the chunk of the process.
func traceFile(t testing.TB, full bool) string {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	w.Clock(2_000_000, 2_000_000, 0, 0)
	th := w.Thread(1, 0, 7)
	th.Enter(2000, 0x400000, tracetest.Entry)
	if full {
		for i := range uint64((4096-wire.ChunkHeaderSize)/40 - 2) {
			w.Clock(2_000_001+i, 2_000_001+i, 0, 0)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.lptrace")
	copy(m.Bytes[84:], make([]byte, 4)) // it has not ended in order
	// What a killed program leaves: room that it took in advance.
	if err := os.WriteFile(path, append(bytes.Clone(m.Bytes), make([]byte, 1<<16)...), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAppendExit writes how a program ended into logs that it left: the call that was open ends then, and
// all that was there is as it was.
func TestAppendExit(t *testing.T) {
	for _, full := range []bool{false, true} {
		for _, test := range []struct {
			ending Ending
			note   string
		}{
			{Ending{Status: 3}, "the process ended with status 3"},
			{Ending{Signal: 9}, "signal 9 ended the process"},
			{Ending{Signal: 11, Core: true}, "signal 11 ended the process, and the system wrote a core file"},
		} {
			path := traceFile(t, full)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			head, err := wire.ParseHeader(before)
			if err != nil {
				t.Fatal(err)
			}
			// What was allocated in advance is given back.
			if err := os.Truncate(path, int64(head.End)+1<<20); err != nil {
				t.Fatal(err)
			}
			const at = 5_000_000
			e := test.ending
			e.when = instant{counter: at, monotonic: at, performance: at}
			if head.Counter != counterMonotonic && head.Counter != cpuCounter {
				t.Skip("the clock of the log is not this machine's")
			}
			if err := AppendExit(path, e); err != nil {
				t.Fatal(err)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if head, err := wire.ParseHeader(after); err != nil || uint64(len(after)) != head.End {
				t.Errorf("%d bytes, the last chunk ends at %d (%v)", len(after), head.End, err)
			}
			changed := 0
			for i := range head.End {
				if before[i] != after[i] && before[i] != 0 {
					changed++
				}
			}
			// The end of the file, or of the chunk's records, is not what it was.
			if changed > 2 {
				t.Errorf("%d bytes that were there changed", changed)
			}
			log, err := trace.Format.Open(context.Background(), path, parser.Options{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if notes := fmt.Sprint(log.Info().Notes); !strings.Contains(notes, test.note) || strings.Contains(notes, "was killed") {
				t.Errorf("notes: %s", notes)
			}
			if n := len(log.Info().Damage); n > 0 {
				t.Errorf("damage: %v", log.Info().Damage)
			}
			if end, exact := log.(*trace.Log).End(); !exact || end != at {
				t.Errorf("the end is %d, %v, want %d", end, exact, at)
			}
			log.Close()
		}
	}
}

// FuzzAppendExit gives any file: whatever it is, it is refused or read as before.
func FuzzAppendExit(f *testing.F) {
	for _, full := range []bool{false, true} {
		data, err := os.ReadFile(traceFile(f, full))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:4096])
		f.Add(data[:8200])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.lptrace")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		err := AppendExit(path, Ending{Signal: 9, when: instant{counter: 9_000_000, monotonic: 9_000_000}})
		info, e := os.Stat(path)
		if e != nil {
			t.Fatal(e)
		}
		if grown := info.Size() - int64(len(data)); err != nil && grown != 0 {
			t.Errorf("%d bytes were added, and %v", grown, err)
		}
	})
}

// TestFolder tells folders of recordings from others.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if IsRecording(dir) {
		t.Error("an empty folder")
	}
	for text, want := range map[string]bool{markerHead + "\n": true, markerHead + "\r\nx": true, markerHead: false, markerHead + "0\n": false, "": false, strings.Repeat("x", 1000): false} {
		if err := os.WriteFile(filepath.Join(dir, marker), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := IsRecording(dir); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
