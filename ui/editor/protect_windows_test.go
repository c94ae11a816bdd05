package editor

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBatchEditor has a batch file for the editor, and files whose names are commands to cmd.exe.
func TestBatchEditor(t *testing.T) {
	dir := t.TempDir()
	said, injected := filepath.Join(dir, "said.txt"), filepath.Join(dir, "injected.txt")
	script := filepath.Join(dir, "my editor.cmd")
	if err := os.WriteFile(script, []byte("@echo off\r\necho [%1][%2]> \""+said+"\"\r\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`C:\src\plain.cpp`, `C:\my src\a.cpp`, `C:\src\a&echo x>injected.txt&.cpp`, `C:\s (1)\a^|b.cpp`, `C:\%PATH%\a.cpp`} {
		words, err := Command(`"`+script+`" -g {file}:{line}`, name, 7)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		err = protect(cmd)
		if strings.Contains(name, "%") {
			if !errors.Is(err, ErrBatch) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		got, err := os.ReadFile(said)
		if want := `["-g"]["` + name + `:7"]`; err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: the editor got %s, %v; want %s", name, got, err, want)
		}
		if _, err := os.Stat(injected); err == nil {
			t.Errorf("%s ran a command", name)
			os.Remove(injected)
		}
	}
}
