// Package wholefile writes the small files that the window keeps for its user so that
// a file is there whole or as it was before: whatever ends the program, and whether or
// not the disk is full.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// prefix begins the names of files that are not whole yet.
const prefix = ".logparser-new-"

// stale is the age at which what a killed program left behind is removed.
const stale = time.Hour

// Write makes a file, with the folders that it needs. A file that is there keeps its
// permissions, and a symbolic link stays one: what it leads to is replaced. A new file is
// its owner's alone.
func Write(path string, content []byte) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Not after writing: on a full disk it would never come to that.
	removeStale(dir)
	f, err := os.CreateTemp(dir, prefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if old, e := os.Stat(path); err == nil && e == nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		// Else a machine that loses power may have the name and not what it stands for.
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// rename gives a file its name. On Windows that fails while another program reads the
// file that has it, which takes it little time.
func rename(from, to string) error {
	err := os.Rename(from, to)
	const sharingViolation = syscall.Errno(32) // of Windows
	for n := 0; n < 20 && runtime.GOOS == "windows" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, sharingViolation)); n++ {
		time.Sleep(10 * time.Millisecond)
		err = os.Rename(from, to)
	}
	return err
}

// removeStale removes what programs left behind that were killed while they wrote.
func removeStale(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), prefix); !ok || strings.Trim(number, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > stale {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
