package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordProbedOfGo records calls of a program of which nothing tells what its functions take, because it is none of C or C++: the calls
// are there, and it is said that their values are not.
func TestRecordProbedOfGo(t *testing.T) {
	if testing.Short() {
		t.Skip("a program is built")
	}
	dir := t.TempDir()
	const source = "package main\n\n//go:noinline\nfunc double(n int) int { return 2 * n }\n\nfunc main() { println(double(21)) }\n"
	if err := os.WriteFile(filepath.Join(dir, "p.go"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "p", "p.go")
	build.Dir, build.Env = dir, append(os.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no program: %v: %s", err, out)
	}
	program := filepath.Join(dir, "p")
	recorded := filepath.Join(dir, "rec")
	out, err := recordProcess(t, program, "--probe", "main.double", "--values", "*", "-o", recorded, program).CombinedOutput()
	switch told := strings.Contains(string(out), "nothing is known of the arguments and results"); {
	case err != nil && told:
		t.Fatalf("%v: %s", err, out)
	case err != nil:
		t.Skipf("%v: %s", err, out) // no root, or a kernel without BPF
	case !told:
		t.Errorf("it is not said that there are no values: %s", out)
	}
	code, text, errs := logparse("show", recorded, "--columns", "function", "--format", "csv", "--where", "event:enter")
	if want := "function\nmain.double\n"; code != exitOK || text != want {
		t.Errorf("%q, want %q: %s", text, want, errs)
	}
}
