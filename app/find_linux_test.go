package app

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestBesideRefused: a modules file that may not be opened is not the same as none.
func TestBesideRefused(t *testing.T) {
	dir := copyDir(t, logtest(t, "linux-gcc-O2"))
	log, file := filepath.Join(dir, "LogDetails.dat"), filepath.Join(dir, "LogDetails.bin")
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0); err != nil {
		t.Fatal(err)
	}
	found := make(chan *InputError, 1)
	go func() {
		defer close(found)
		// The administrator may open everything. The thread that cannot any more
		// ends with the goroutine.
		runtime.LockOSThread()
		if syscall.Setfsuid(65534) != nil {
			return
		}
		if f, err := os.Open(file); err == nil {
			f.Close()
			return
		}
		found <- besideTrouble(log)
	}()
	err, ok := <-found
	if !ok {
		t.Skip("a file of no permissions can be opened here")
	}
	if err == nil || err.Error() != file+": permission denied" {
		t.Errorf("got %v", err)
	}
}
