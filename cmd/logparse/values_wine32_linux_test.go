package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests record programs for x86 of Windows, with a 32-bit wine: WINE32_ROOT is a root folder that has one
// (testdata/logtest/wine32.sh).

const mingw32 = "i686-w64-mingw32-"

// wine32 runs a program for x86 with its folder's files, in the folder of WINE32_ROOT, by a plan. It returns what it wrote, and
// the log.
func wine32(t *testing.T, program, plan string) (out, log string) {
	t.Helper()
	root := os.Getenv("WINE32_ROOT")
	there, err := os.MkdirTemp(filepath.Join(root, "wineprefix", "drive_c"), "values")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(there) })
	for _, file := range []string{program, plan, filepath.Join(filepath.Dir(program), "logrec.dll")} {
		copyFile(t, file, filepath.Join(there, filepath.Base(file)))
	}
	script := fmt.Sprintf(`mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" env WINEPREFIX=/wineprefix WINEDEBUG=-all LOGREC_FILE=log.lptrace LOGREC_VALUES=%s sh -c 'cd "$0" && timeout 100 wine "$1"' "$1" "$2"`, filepath.Base(plan))
	cmd := exec.Command("unshare", "-m", "sh", "-c", script, root, strings.TrimPrefix(there, root), filepath.Base(program))
	printed := printedByWine(t, cmd, there)
	log = filepath.Join(filepath.Dir(program), "log.lptrace")
	copyFile(t, filepath.Join(there, "log.lptrace"), log)
	return printed, log
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// needMinGW32 skips a test where there is no MinGW for x86.
func needMinGW32(t *testing.T) {
	t.Helper()
	if os.Getenv("WINE32_ROOT") == "" {
		t.Skip("WINE32_ROOT is not set")
	}
	for _, name := range []string{mingw32 + "g++", mingw32 + "dlltool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
	}
}

// recorder32 builds the recorder for x86, logrec.dll, and its import library in a folder.
func recorder32(t *testing.T, dir string) {
	t.Helper()
	const src = "../../recorder/src/"
	files, err := filepath.Glob(src + "*.[cS]")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for i := range files {
		if files[i], err = filepath.Abs(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	include, err := filepath.Abs("../../recorder/include")
	if err != nil {
		t.Fatal(err)
	}
	build(t, dir, slices.Concat([]string{mingw32 + "gcc", "-O2", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-static", "-DLOGREC_BUILD_SHARED", "-I" + include},
		files, []string{"-o", "logrec.dll", "-Wl,--out-implib,liblogrec.a"}))
}

// likeMSVC has a program in assembly call its hooks as Microsoft's compiler does with /Gh and /GH: _penter by a function's first
// instruction, where gcc calls __fentry__, and _pexit right before each return.
func likeMSVC(assembly string) string {
	assembly = regexp.MustCompile(`(?m)^\s*call\s+__return__\n`).ReplaceAllString(assembly, "")
	assembly = strings.ReplaceAll(assembly, "__fentry__", "__penter")
	return regexp.MustCompile(`(?m)^\s*ret[l]?(\s.*)?$`).ReplaceAllString(assembly, "\tcall\t__pexit\n$0")
}

// compile32 compiles a program for x86 with MinGW or clang, with the hooks of gcc, or, if msvc is set, with those of Microsoft's
// compiler, and links it.
func compile32(t *testing.T, source string, msvc bool, compiler ...string) (program string) {
	t.Helper()
	needMinGW32(t)
	source, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	recorder32(t, dir)
	build(t, dir, slices.Concat(compiler, []string{"-pg", "-mfentry", "-std=c++17", "-g", "-w", "-S", source, "-o", "program.s"}))
	if path := filepath.Join(dir, "program.s"); msvc {
		text := likeMSVC(readFile(t, path))
		if strings.Count(text, "__pexit") < 100 || strings.Count(text, "__penter") < 100 {
			t.Fatal("the program calls no hooks")
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	build(t, dir, []string{compiler[0], "-c", "program.s", "-o", "program.o"})
	build(t, dir, []string{mingw32 + "g++", "-static", "program.o", "liblogrec.a", "-o", "program.exe", "-Wl,--build-id"})
	return filepath.Join(dir, "program.exe")
}

// plan32 makes the plan of a program.
func plan32(t *testing.T, program string, specs ...string) (plan string) {
	t.Helper()
	plan = filepath.Join(filepath.Dir(program), "program.lpvalues")
	if out, err := process(t, slices.Concat([]string{"values", program, "-o", plan, "--"}, specs)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return plan
}

// prototypeSpecs are what prototypeValues takes.
var prototypeSpecs = slices.DeleteFunc(slices.Clone(prototypeValues), func(s string) bool { return s == "--values" })

// TestPrototypesWine32 is TestPrototypes for x86 of Windows.
func TestPrototypesWine32(t *testing.T) {
	for _, test := range []struct {
		name     string
		msvc     bool
		compiler []string
	}{
		{"MinGW x86 -O0", false, []string{mingw32 + "g++", "-O0", "-minstrument-return=call"}},
		{"MinGW x86 -O2", false, []string{mingw32 + "g++", "-O2", "-minstrument-return=call"}},
		{"MinGW x86 -O0 /Gh", true, []string{mingw32 + "g++", "-O0"}},
		{"MinGW x86 -O2 /Gh", true, []string{mingw32 + "g++", "-O2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := compile32(t, "testdata/prototypes.cpp", test.msvc, test.compiler...)
			plan := plan32(t, program, prototypeSpecs...)
			out, log := wine32(t, program, plan)
			checkPrototypes(t, test.compiler[0], test.name, "", out, log, false)
		})
	}
}
