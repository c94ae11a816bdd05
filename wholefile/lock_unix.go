//go:build unix

package wholefile

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hold makes a file that is locked until it is closed, or its process ends in any way.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	// Where a file system has no locks nobody can tell, and nothing is removed.
	unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return f, nil
}

// abandoned reports whether there is such a file, and nobody holds it.
func abandoned(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
