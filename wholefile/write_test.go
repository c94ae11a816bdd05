package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWriteFollows has a link for a file of one's own, which stays one.
func TestWriteFollows(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	old := filepath.Join(dir, prefix+"OLD"+suffix)
	for _, name := range []string{path, old} {
		if err := os.WriteFile(name, []byte("x"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * stale)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if read(t, path) != "new" {
		t.Error("what the link leads to was not replaced")
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if _, err := os.Lstat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Error("what a killed process left is still there")
	}
}

// TestMakeNew takes the names that are free, whatever has the others, and leaves nothing where the content fails.
func TestMakeNew(t *testing.T) {
	dir := t.TempDir()
	name := func(n int) string { return "r" + strconv.Itoa(n) }
	if err := os.Mkdir(filepath.Join(dir, "r1"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("elsewhere", filepath.Join(dir, "r2")); err != nil {
		t.Skip(err)
	}
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.Copy(w, strings.NewReader(s)); return err }
	}
	for i, want := range []string{"r3", "r4"} {
		got, err := MakeNew(dir, 0, name, text(want))
		if err != nil || got != want || read(t, filepath.Join(dir, want)) != want {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
	boom := errors.New("boom")
	if _, err := MakeNew(dir, 0, name, func(io.Writer) error { return boom }); err != boom {
		t.Error(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 4 {
		t.Errorf("%d files", len(list))
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("written through a link")
	}
}

// TestReplace takes the place of a link, and leaves what it leads to.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "entry")
	if err := errors.Join(os.WriteFile(victim, []byte("old"), 0o666), os.Symlink(victim, path)); err != nil {
		t.Skip(err)
	}
	boom := errors.New("boom")
	if err := Replace(path, 0o600, func(io.Writer) error { return boom }); err != boom {
		t.Error(err)
	}
	if to, err := os.Readlink(path); err != nil || to != victim {
		t.Errorf("after an error the link is %q, %v", to, err)
	}
	if err := Replace(path, 0o600, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || read(t, path) != "new" || read(t, victim) != "old" {
		t.Errorf("%v, %v, %s, %s", info, err, read(t, path), read(t, victim))
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("%d files", len(list))
	}
}
