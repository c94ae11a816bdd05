package store

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"logparser/symbols"
)

// TestRefused: that an image may not be opened is the reason for having no names.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, "logtest.exe="+clang+"logtest.exe")
	image := filepath.Join(dir, "logtest.exe")
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(image, 0); err != nil {
		t.Fatal(err)
	}
	mod := recorded(t, clang, "logtest.exe")
	found := make(chan symbols.Binding, 1)
	go func() {
		defer close(found)
		// The administrator may open everything. The thread that cannot any more
		// ends with the goroutine.
		runtime.LockOSThread()
		if syscall.Setfsuid(65534) != nil {
			return
		}
		if f, err := os.Open(image); err == nil {
			f.Close()
			return
		}
		found <- NewFinder(formats, []string{dir}, "", false).Find(context.Background(), mod)
	}()
	b, ok := <-found
	if !ok {
		t.Skip("a file of no permissions can be opened here")
	}
	if want := image + ": permission denied"; !strings.HasSuffix(b.Reason.String(), want) {
		t.Errorf("the reason %q does not say %q", b.Reason, want)
	}
}
