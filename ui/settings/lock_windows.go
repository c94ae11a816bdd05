package settings

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks a file unless another process has done so.
func tryLock(f *os.File) (got bool, err error) {
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
