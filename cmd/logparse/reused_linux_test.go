package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReusedLoadAddress has a library that is loaded where another one was: what each recorded has its own
// names, by the classic recorder, in programs for Linux and for Windows.
func TestReusedLoadAddress(t *testing.T) {
	if testing.Short() {
		t.Skip("programs are built and run")
	}
	const mingw = "x86_64-w64-mingw32-g++"
	for _, test := range []struct {
		name, compiler, extension string
		library, program, before  []string
	}{
		{"Linux", "g++", ".so", []string{"-fPIC", "-shared"}, []string{"-ldl"}, nil},
		{"Windows", mingw, ".dll", []string{"-static", "-shared", "-Wl,--image-base=0x65000000,--disable-dynamicbase"}, []string{"-static"}, []string{"wine"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, name := range append(test.before, test.compiler) {
				if _, err := exec.LookPath(name); err != nil {
					t.Skipf("there is no %s", name)
				}
			}
			dir := t.TempDir()
			source, err := filepath.Abs("testdata/reused.cpp")
			if err != nil {
				t.Fatal(err)
			}
			compiler := []string{test.compiler, "-std=c++11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-I" + filepath.Join(source, "../../../../recorder/include"), source}
			first, second := "./one"+test.extension, "./two"+test.extension
			build(t, dir, append(append(compiler[:len(compiler):len(compiler)], "-DLIBRARY=1", "-o", first), test.library...))
			build(t, dir, append(append(compiler[:len(compiler):len(compiler)], "-DLIBRARY=2", "-o", second), test.library...))
			build(t, dir, append(append(compiler[:len(compiler):len(compiler)], "-o", "program"), test.program...))
			program := filepath.Join(dir, "program")
			if test.before != nil {
				program += ".exe"
			}
			t.Setenv("WINEDEBUG", "-all")
			cmd := exec.Command(append(test.before, program)[0], append(test.before, program, first, second)[1:]...)
			cmd.Dir = dir
			if out := strings.TrimSpace(printedByWine(t, cmd, dir)); out != "13" {
				t.Fatalf("the program printed %q", out)
			}
			text := readFile(t, filepath.Join(dir, "LogDetails.bin"))
			if strings.Count(text, "# came ") != 3 || strings.Count(text, "# gone ") != 2 {
				t.Errorf("the modules file does not say what came and went:\n%s", text)
			}
			calls := func() string {
				code, out, errs := logparse("save", filepath.Join(dir, "LogDetails.dat"), "--columns", "function,module", "--where", "event:enter", "-o", "-", "--format", "csv")
				if code != 0 {
					t.Fatal(errs)
				}
				return out
			}
			one, two := strings.TrimPrefix(first, "./"), strings.TrimPrefix(second, "./")
			main := filepath.Base(program)
			want := strings.NewReplacer("MAIN", main, "ONE", one, "TWO", two).Replace(
				"function,module\nmain,MAIN\nonce,MAIN\nwork,ONE\nonce,MAIN\nwork,TWO\npad,TWO\nonce,MAIN\nwork,ONE\n")
			if out := calls(); out != want {
				t.Errorf("got\n%swant\n%s", out, want)
			}

			// Without these lines, as other recorders write the file, neither module is known to be meant.
			var kept []string
			for _, line := range strings.SplitAfter(text, "\n") {
				if !strings.HasPrefix(line, "# came") && !strings.HasPrefix(line, "# gone") {
					kept = append(kept, line)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "LogDetails.bin"), []byte(strings.Join(kept, "")), 0o666); err != nil {
				t.Fatal(err)
			}
			if out := calls(); strings.Contains(out, "pad") || strings.Contains(out, "work") {
				t.Errorf("names are guessed:\n%s", out)
			}
		})
	}
}
