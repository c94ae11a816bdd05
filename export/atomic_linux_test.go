package export

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestFullDisk saves to a file system of half a megabyte.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=512k"); err != nil {
		t.Skip("no small file system can be mounted: ", err)
	}
	defer syscall.Unmount(dir, 0)
	path := filepath.Join(dir, "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	src := many(20 * blockRows)
	for _, f := range Formats() {
		if !f.Live {
			continue
		}
		err := WriteFile(context.Background(), path, 0, func(w io.Writer) error { return f.Write(context.Background(), w, src, Options{}) })
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v", f.Name, err)
		}
		expect(t, path, "old")
	}
}
