//go:build unix

package control

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is not opened, which might wait for ever: it is said to be no file.
func TestKindOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LogDetails.dat")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := kindOf(path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}
