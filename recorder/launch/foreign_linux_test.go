package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"logparser/wholefile"
)

// TestForeignFolder: root puts no recording into a folder of another user, nor into one that a link of another user leads to.
func TestForeignFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const other = 65534
	top, mine := t.TempDir(), t.TempDir()
	theirs, way := filepath.Join(top, "theirs"), filepath.Join(top, "way")
	err := errors.Join(os.Mkdir(theirs, 0o777), os.Chown(theirs, other, other), os.Symlink(mine, way), os.Lchown(way, other, other))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{theirs, way} {
		if _, err := Folder("app", dir); !errors.Is(err, wholefile.ErrForeign) {
			t.Errorf("%s: %v", filepath.Base(dir), err)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%s has %v, %v", filepath.Base(dir), list, err)
		}
	}
	p, err := Folder("app", filepath.Join(top, "new"))
	if err != nil || !IsRecording(p.Dir) {
		t.Fatal(err)
	}
	// The folder is exchanged for a link while the program runs.
	if err := errors.Join(os.Rename(p.Dir, p.Dir+"-moved"), os.Symlink(mine, p.Dir), os.Lchown(p.Dir, other, other), os.WriteFile(filepath.Join(mine, marker), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := p.put(planName, 0o600, nil); !errors.Is(err, wholefile.ErrForeign) {
		t.Error(err)
	}
	p.Discard()
	if list, err := os.ReadDir(mine); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
