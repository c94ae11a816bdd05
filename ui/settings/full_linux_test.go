package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFullDisk writes to a file system without room: the old settings stay, it is told
// once, and they are written when there is room again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("no small file system can be mounted: ", err)
	}
	defer syscall.Unmount(dir, 0)
	path, filler := filepath.Join(dir, "settings.json"), filepath.Join(dir, "filler")
	var tr troubles
	s := tr.hear(Open(path, ""))
	s.SetString("theme", "dark")
	s.Flush()
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal("the file system is not full: ", err)
	}
	for _, text := range []string{strings.Repeat("x", 50_000), strings.Repeat("y", 50_000)} {
		s.SetString("long", text)
		s.Flush()
	}
	if len(tr.list) != 1 || !errors.Is(tr.list[0], syscall.ENOSPC) {
		t.Errorf("told %v", tr.list)
	}
	if again := Open(path, ""); again.String("theme") != "dark" || again.String("long") != "" {
		t.Errorf("on a full disk the file became %s", again.values)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".logparser-new-*")); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
	os.Remove(filler)
	s.SetString("language", "en")
	s.Flush()
	if again := Open(path, ""); again.String("language") != "en" || !strings.HasPrefix(again.String("long"), "yyy") {
		t.Errorf("with room again the file is %s", again.values)
	}
}
