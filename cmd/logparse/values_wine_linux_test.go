package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/app"
	"logparser/rows"
)

// compileMinGW compiles a program for Windows with hooks that tell of arguments and, with gcc, of results, or with those that
// the command asks for. It imports the recorder, which record supplies.
func compileMinGW(t *testing.T, source string, compiler ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("programs and the recorder are built, and run by wine")
	}
	const mingw = "x86_64-w64-mingw32-"
	for _, name := range []string{"wine", mingw + "g++", mingw + "dlltool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("there is no %s", name)
		}
	}
	source, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	needHeaders(t, compiler...)
	dir := t.TempDir()
	importLibrary(t, dir)
	link := []string{mingw + "g++", "-static", "program.o", "liblogrec.a", "-o", "program.exe", "-Wl,--build-id"}
	if slices.Contains(compiler, "-gcodeview") {
		link = linkPDB(compiler[0])
	}
	hooks := []string{"-pg", "-mfentry"}
	if hooksOfFunctions(compiler) {
		hooks = nil
	}
	build(t, dir, slices.Concat(compiler, hooks, []string{"-std=c++17", "-g", "-w", "-c", source, "-o", "program.o"}))
	build(t, dir, link)
	return filepath.Join(dir, "program.exe")
}

// importLibrary makes liblogrec.a, by which a program for Windows imports the recorder's hooks.
func importLibrary(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "logrec.def"), []byte("LIBRARY logrec.dll\nEXPORTS\n__fentry__\n__return__\n_monstartup\n__cyg_profile_func_enter\n__cyg_profile_func_exit\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	build(t, dir, []string{"x86_64-w64-mingw32-dlltool", "-d", "logrec.def", "-l", "liblogrec.a"})
}

// build runs a compiler or a linker.
func build(t *testing.T, dir string, command []string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// recordWine records a program for Windows, and returns what it printed and the folder of its log.
func recordWine(t *testing.T, program string, args ...string) (out, log string) {
	t.Helper()
	t.Setenv("WINEDEBUG", "-all")
	cmd := recordProcess(t, program, slices.Concat([]string{"-o", "log", "--head", "0"}, args)...)
	return printedByWine(t, cmd, filepath.Dir(program)), filepath.Join(filepath.Dir(program), "log")
}

// printedByWine runs what runs wine, and returns what it printed, with the line ends of Linux. A folder gets the file stderr.
func printedByWine(t *testing.T, cmd *exec.Cmd, folder string) string {
	t.Helper()
	stderr, err := os.Create(filepath.Join(folder, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr // no pipe: wine's services would keep it open
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %q %s", err, printed, readFile(t, stderr.Name()))
	}
	return strings.ReplaceAll(string(printed), "\r\n", "\n")
}

// gccMinGW and clangMinGW compile for Windows, the former with hooks that see results.
func gccMinGW(level string) []string {
	return []string{"x86_64-w64-mingw32-g++", level, "-minstrument-return=call"}
}
func clangMinGW(level string) []string {
	return []string{findCompiler("clang++"), level, "--target=x86_64-w64-mingw32"}
}

// functionHooks has a command of one of these compilers call the hooks of -finstrument-functions instead.
func functionHooks(compiler []string) []string {
	if i := slices.Index(compiler, "-minstrument-return=call"); i >= 0 {
		return append(slices.Delete(compiler, i, i+1), "-finstrument-functions")
	}
	return append(compiler, "-finstrument-functions-after-inlining")
}

// hooksOfFunctions reports whether a command asks for these hooks.
func hooksOfFunctions(command []string) bool {
	return slices.ContainsFunc(command, func(s string) bool { return strings.Contains(s, "-finstrument-functions") })
}

// TestPrototypesWine is TestPrototypes with compilers of MinGW, and wine to run the program.
func TestPrototypesWine(t *testing.T) {
	for _, build := range []struct {
		name, as string
		compiler []string
	}{
		{"MinGW -O0", "", gccMinGW("-O0")}, {"MinGW -O2", "", gccMinGW("-O2")},
		{"MinGW clang -O0", "clang -O0", clangMinGW("-O0")}, {"MinGW clang -O2", "clang -O2", clangMinGW("-O2")},
		{"MinGW -O0 -finstrument-functions", "gcc -O0 -finstrument-functions", functionHooks(gccMinGW("-O0"))},
		{"MinGW -O2 -finstrument-functions", "gcc -O2 -finstrument-functions", functionHooks(gccMinGW("-O2"))},
		{"MinGW clang -O0 -finstrument-functions", "clang -O0 -finstrument-functions", functionHooks(clangMinGW("-O0"))},
		{"MinGW clang -O2 -finstrument-functions", "clang -O2 -finstrument-functions", functionHooks(clangMinGW("-O2"))},
	} {
		t.Run(build.name, func(t *testing.T) {
			if build.compiler[0] == "" {
				t.Skip("there is no clang++")
			}
			program := compileMinGW(t, "testdata/prototypes.cpp", build.compiler...)
			out, log := recordWine(t, program, slices.Concat(prototypeValues, []string{"./program.exe"})...)
			checkPrototypes(t, build.compiler[0], build.name, build.as, out, log, slices.Contains(build.compiler, "-minstrument-return=call"))
		})
	}
}

// TestPointersWine records a program whose texts are anywhere: it notices nothing, and what is not there is not readable.
func TestPointersWine(t *testing.T) {
	program := compileMinGW(t, "testdata/pointers_windows.cpp", gccMinGW("-O2")...)
	out, log := recordWine(t, program, "--values", "app::*", "./program.exe", "3000")
	const want = "0 exceptions, guard kept, error 7, 3003000 returned, 1498500 thrown, 4561500.0\n"
	if out != want {
		t.Errorf("the program says %q, and without the recorder %q", out, want)
	}
	s, err := app.Open(t.Context(), app.Inputs{Log: log, Symbols: []string{filepath.Dir(log)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	src := rows.With(s.Rows(), rows.Values)
	calls, last := make(map[string]int), ""
	for i := range src.Len() {
		r := src.Row(i)
		v := r.CallValues()
		if r.Event != rows.Enter || !strings.HasPrefix(r.Function, "app::") || v == nil {
			continue
		}
		last = ""
		for _, value := range slices.Concat(v.Arguments, v.Results) {
			last += value.Name + " = " + value.Text + "; "
		}
		switch r.Function {
		case "app::text":
			calls[v.Arguments[1].Text]++
		case "app::sum":
			last, _, _ = strings.Cut(last, "g = ")
			calls[last]++
		default:
			calls[r.Function]++
		}
		if v.Arguments[0].Text == `"kept"` {
			calls[last]++
		}
	}
	for name, n := range map[string]int{
		"not readable": 3000, "app::thrower": 3000, "a = 1.0; b = 2.0; c = 3.0; d = 4.0; e = 5.0; f = 6.0; ": 3000, "null": 1,
		`s = "kept"; t = null; named = {name = "name", n = 8}; d = 0.5; return = 0; `: 1,
	} {
		if calls[name] != n {
			t.Errorf("%s: %d times, not %d", name, calls[name], n)
		}
	}
	if t.Failed() {
		t.Log(calls)
	}
}
