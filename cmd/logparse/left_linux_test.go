package main

import (
	"encoding/csv"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCallsThatAreLeft records calls that are left by exceptions, by longjmp, or by the end of a child of vfork, and siblings of theirs behind
// them from the same frame. None of them gets a leave, and the ends of all others are exact.
func TestCallsThatAreLeft(t *testing.T) {
	if testing.Short() {
		t.Skip("programs and the recorder are built")
	}
	const returns = "-minstrument-return=call "
	for _, build := range []struct{ compiler, options string }{
		{"g++", returns + "-O0"}, {"g++", returns + "-O2"}, {"g++", returns + "-O2 -fno-plt"}, {"g++", returns + "-O2 -fcf-protection -Wl,-z,ibtplt"},
		{"g++", returns + "-O2 -fno-pie -no-pie"}, {"g++", returns + "-m32 -O2 -fno-pie -no-pie"},
		{"g++", "-O2 -finstrument-functions"}, {"g++", "-m32 -O2 -finstrument-functions"}, {"clang++", "-O2 -finstrument-functions"},
	} {
		t.Run(build.compiler+" "+strings.ReplaceAll(build.options, ",", " "), func(t *testing.T) {
			compiler := findCompiler(build.compiler)
			if compiler == "" {
				t.Skip("there is no " + build.compiler)
			}
			if strings.Contains(build.options, "-m32") && !compiles32(compiler) {
				t.Skip(build.compiler + " does not compile for 32 bits here")
			}
			program := compileHooked(t, "testdata/left.cpp", append([]string{compiler}, strings.Fields(build.options)...))
			arguments := []string{"./program", "100"}
			// The hook of returns is called where an exception leaves a function.
			if strings.Contains(build.options, "-finstrument-functions") {
				arguments = append(arguments, "jumps")
			}
			ways := [][]string{{}}
			if strings.HasPrefix(build.options, returns) && !strings.Contains(build.options, "-m32") {
				ways = append(ways, []string{"--libcalls"})
			}
			for _, options := range ways {
				checkLeft(t, program, slices.Concat(options, []string{"-o", filepath.Join(t.TempDir(), "log.lptrace"), "--head", "0"}, arguments))
			}
		})
	}
}

// checkLeft records testdata/left.cpp and looks at the end of each call.
func checkLeft(t *testing.T, program string, arguments []string) {
	t.Helper()
	log := arguments[slices.Index(arguments, "-o")+1]
	if out, err := recordProcess(t, program, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	saved := filepath.Join(t.TempDir(), "log.csv")
	if code, _, errs := logparse("save", log, "-o", saved, "--no-index-cache"); code != 0 || strings.Contains(errs, "late") {
		t.Fatalf("%v: exit status %d: %s", arguments, code, errs)
	}
	table, err := csv.NewReader(strings.NewReader(readFile(t, saved))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := make(map[string]int)
	for i, name := range table[0] {
		column[name] = i
	}
	enters, leaves, marked := make(map[string]int), make(map[string]int), make(map[string]int)
	for _, row := range table[1:] {
		name, _, _ := strings.Cut(row[column["function"]], "(")
		switch {
		case row[column["event"]] == "leave":
			leaves[name]++
		case strings.Contains(row[column["note"]], "no leave"):
			marked[name]++
			fallthrough
		default:
			enters[name]++
		}
	}
	if enters["jumps_left"] < 200 || enters["recursive"] != 500 || enters["sibling"] < 200 {
		t.Errorf("%v: calls are missing: %v", arguments, enters)
	}
	for name, n := range enters {
		left := 0
		switch {
		case strings.HasSuffix(name, "_left"), name == "_exit", name == "longjmp", name == "siglongjmp":
			left = n
		case name == "recursive":
			left = n / 5 * 4
		case strings.HasPrefix(name, "_") && !strings.Contains(program, "-finstrument"): // what the C++ runtime throws by
			left = marked[name]
		}
		if leaves[name] != n-left || marked[name] != left {
			t.Errorf("%v: of %d calls of %s %d have a leave, and %d none", arguments, n, name, leaves[name], marked[name])
		}
	}
}
