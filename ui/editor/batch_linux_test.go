package editor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// starter runs the command line that stands in line.txt, as Windows runs one.
const starter = `#include <stdio.h>
#include <windows.h>
int main(void) {
  char line[4096] = {0};
  FILE *f = fopen("line.txt", "rb");
  if (!f) return 2;
  fread(line, 1, sizeof line - 1, f);
  fclose(f);
  STARTUPINFOA s = {sizeof s};
  PROCESS_INFORMATION p;
  if (!CreateProcessA(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &s, &p)) return 3;
  return WaitForSingleObject(p.hProcess, 30000) != 0;
}`

// TestBatchUnderWine has the command line of a batch file run by wine's cmd.exe, of names that are commands to it.
func TestBatchUnderWine(t *testing.T) {
	compiler, err := exec.LookPath("x86_64-w64-mingw32-gcc")
	if err != nil {
		t.Skip("no compiler for Windows")
	}
	wine, err := exec.LookPath("wine")
	if err != nil {
		t.Skip("no wine")
	}
	dir := t.TempDir()
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "WINEDEBUG=-all")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("starter.c", starter)
	write("my editor.cmd", "@echo off\r\necho [%1][%2]> said.txt\r\n")
	run(compiler, "-O1", "starter.c", "-o", "starter.exe")
	for _, name := range []string{`C:\my src\a.cpp`, `a&echo x>injected.txt&.cpp`, `C:\s (1)\a^|b.cpp`} {
		line, err := batchLine(`my editor.cmd`, []string{"-g", name + ":7"})
		if err != nil {
			t.Fatal(err)
		}
		write("line.txt", line)
		run(wine, "starter.exe")
		said, err := os.ReadFile(filepath.Join(dir, "said.txt"))
		if want := `["-g"]["` + name + `:7"]`; err != nil || strings.TrimSpace(string(said)) != want {
			t.Errorf("%s: the editor got %s, %v; want %s", name, said, err, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "injected.txt")); err == nil {
			t.Errorf("%s ran a command", name)
		}
		os.Remove(filepath.Join(dir, "said.txt"))
	}
}
