package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The program of the patent: an executable and three libraries, of which the last crashes. Its bases
// are those that the patent has; two libraries want the same one, so that the loader moves one.
var patentProgram = map[string]string{
	"abc.c": `#include <logrec.h>
__declspec(dllimport) int outer(int *p);
int main(void) {
  int *volatile none = 0;
  return outer(none) + 1; /* call 4 */
}
`,
	"mapexe1.c": `__declspec(dllimport) int middle(int *p);
__declspec(dllexport) int outer(int *p) {
  return middle(p) + 1; /* call 3 */
}
`,
	"mapexe2.c": `__declspec(dllimport) int MAPDLLHappyFunc(int *p);
__declspec(dllexport) int middle(int *p) {
  int r = MAPDLLHappyFunc(p); /* call 2 */
  return r + 1;
}
`,
	"mapdll.c": `__declspec(dllexport) int MAPDLLHappyFunc(int *p) {
  return *p; /* crash */
}
`,
}

// TestPatent is the patent's case: a program with three libraries crashes under wine; its executable carries the maps
// of all four, and there is nothing else that has a name. The report has the patent's name and layout. With PDBs in the
// place of the maps it has lines, too.
func TestPatent(t *testing.T) {
	if testing.Short() {
		t.Skip("runs wine")
	}
	wine, err := exec.LookPath("wine")
	if err != nil {
		t.Skip("needs wine")
	}
	gcc, err := exec.LookPath("x86_64-w64-mingw32-gcc")
	if err != nil {
		t.Skip("needs MinGW")
	}
	recorder := patentRecorder(t, gcc)
	for _, way := range []struct {
		name, compiler string
		flags          []string
		lines          bool
	}{
		{"maps", gcc, []string{"-O1"}, false},
		{"maps, moved", gcc, []string{"-O1", "-Wl,--dynamicbase", "-Wl,--high-entropy-va"}, false},
		{"PDBs", "clang-19", []string{"--target=x86_64-w64-mingw32", "-fuse-ld=lld", "-O1", "-g", "-gcodeview"}, true},
	} {
		t.Run(way.name, func(t *testing.T) {
			if _, err := exec.LookPath(way.compiler); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			if way.lines {
				buildPatent(t, dir, way.compiler, way.flags, recorder, "pdb")
				must(t, "attach", filepath.Join(dir, "abc.exe"), filepath.Join(dir, "mapexe1.dll"), filepath.Join(dir, "mapexe2.dll"), filepath.Join(dir, "mapdll.dll"), "--from", "pdb")
			} else {
				buildPatent(t, dir, way.compiler, append(way.flags, "-s"), recorder, "MAP")
				args := []string{"appendmap", filepath.Join(dir, "abc.exe")}
				for _, name := range []string{"abc", "mapexe1", "mapexe2", "mapdll"} {
					args = append(args, filepath.Join(dir, name+".MAP"))
				}
				must(t, args...)
			}
			for _, pattern := range []string{"*.MAP", "*.pdb", "*.c", "*.a"} {
				list, _ := filepath.Glob(filepath.Join(dir, pattern))
				for _, path := range list {
					os.Remove(path)
				}
			}
			runPatent(t, wine, dir)
			out2, _ := must(t, "crash", filepath.Join(dir, "abc.lptrace"), "--report", dir, "--no-recorded-paths")
			list, _ := filepath.Glob(filepath.Join(dir, "abc.exelog*"))
			if len(list) != 1 || !regexp.MustCompile(`^abc\.exelog\d{14}$`).MatchString(filepath.Base(list[0])) {
				t.Fatalf("the reports are %v: %s", list, out2)
			}
			checkPatent(t, readFile(t, list[0]), way.lines)
			checkPackedPatent(t, dir)
		})
	}
}

// runPatent runs the program until it has crashed and left its log: wine ends now and then before a program begins.
func runPatent(t *testing.T, wine, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var out []byte
	for range 3 {
		cmd := exec.CommandContext(ctx, wine, "abc.exe")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "WINEDEBUG=-all", "LOGREC_CRASH=last", "LOGREC_FILE=abc.lptrace")
		out, _ = cmd.CombinedOutput()
		if _, err := os.Stat(filepath.Join(dir, "abc.lptrace")); err == nil {
			return
		}
	}
	t.Fatalf("it left no log: %s", out)
}

// patentRecorder compiles the recorder, for programs that record no calls.
func patentRecorder(t *testing.T, gcc string) []string {
	t.Helper()
	sources, _ := filepath.Glob("../../recorder/src/*.c")
	dir := t.TempDir()
	args := []string{"-O0", "-std=c99", "-I", "../../recorder/include", "-c"}
	for i, path := range sources {
		sources[i], _ = filepath.Abs(path)
	}
	include, err := filepath.Abs("../../recorder/include")
	if err != nil {
		t.Fatal(err)
	}
	args[3] = include
	cmd := exec.Command(gcc, append(args, sources...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	objects, _ := filepath.Glob(filepath.Join(dir, "*.o"))
	return objects
}

// buildPatent builds the program with its maps or PDBs.
func buildPatent(t *testing.T, dir, compiler string, flags, recorder []string, symbols string) {
	t.Helper()
	for name, text := range patentProgram {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	include, err := filepath.Abs("../../recorder/include")
	if err != nil {
		t.Fatal(err)
	}
	compile := func(name string, more ...string) {
		t.Helper()
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		args := append([]string{"-I", include, stem + ".c", "-o", name}, flags...)
		if symbols == "pdb" {
			args = append(args, "-Wl,--pdb="+stem+".pdb")
		} else {
			args = append(args, "-Wl,-Map="+stem+".MAP")
		}
		cmd := exec.Command(compiler, append(args, more...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	const base = "-Wl,--image-base=0x600000"
	compile("mapdll.dll", "-shared", base)
	compile("mapexe2.dll", "-shared", "mapdll.dll", base)
	compile("mapexe1.dll", "-shared", "mapexe2.dll")
	// The libraries are as they come; of the executable calls are recorded, too.
	compile("abc.exe", append([]string{"-finstrument-functions", "mapexe1.dll"}, recorder...)...)
}

// checkPatent compares a report with the layout of the patent's figure: head, code, flags, and the stack, of which
// the frames of the system have no names.
func checkPatent(t *testing.T, report string, lines bool) {
	t.Helper()
	place := func(file, mark string) string {
		if !lines {
			return `\r?\n`
		}
		return ", " + file + ", line " + strconv.Itoa(markedLine(patentProgram[file], mark)) + `\r?\n`
	}
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Caused an exception in thread [0-9A-F]{8} at [0-9A-F]{16} 0001:[0-9A-F]{8} \S*mapdll\.dll\r?\n` +
		`\[Exception Code: 0xC0000005\]\r?\n\[Exception Flags: 0x00000000\]\r?\nCall stack of thread [0-9A-F]{8}:\r?\n` +
		`\[1\] mapdll\.dll [0-9A-F]{16} [0-9A-F]{8} MAPDLLHappyFunc(?:\(int \*\))?` + place("mapdll.c", "crash") +
		`\[2\] mapexe2\.dll [0-9A-F]{16} [0-9A-F]{8} middle(?:\(int \*\))?` + place("mapexe2.c", "call 2") +
		`\[3\] mapexe1\.dll [0-9A-F]{16} [0-9A-F]{8} outer(?:\(int \*\))?` + place("mapexe1.c", "call 3") +
		`\[4\] abc\.exe [0-9A-F]{16} [0-9A-F]{8} main(?:\(\))?` + place("abc.c", "call 4"))
	if !want.MatchString(report) {
		t.Errorf("the report is\n%s\nand does not match\n%s", report, want)
	}
}

// checkPackedPatent packs the log, and opens it where nothing else is: the table of frames and calls is the same.
func checkPackedPatent(t *testing.T, dir string) {
	t.Helper()
	log, pack := filepath.Join(dir, "abc.lptrace"), filepath.Join(t.TempDir(), "one.lppack")
	must(t, "pack", log, "--crash", "-o", pack)
	want := crashTable(t, log)
	if got := crashTable(t, pack); got != want {
		t.Errorf("packed, the crash is\n%s\nand with the binaries\n%s", got, want)
	}
	for _, text := range []string{`"MAPDLLHappyFunc`, `"source": "both"`, `"found": "unwind info"`, `"entered": "`} {
		if !strings.Contains(want, text) {
			t.Errorf("the crash lacks %s:\n%s", text, want)
		}
	}
}

// crashTable returns what is told of a crash but for where the symbols of modules come from.
func crashTable(t *testing.T, file string) string {
	t.Helper()
	out, _ := must(t, "crash", file, "--no-recorded-paths", "--json")
	var report map[string]any
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"file", "log", "modules"} {
		delete(report, name)
	}
	b, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
