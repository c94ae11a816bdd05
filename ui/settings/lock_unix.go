//go:build unix

package settings

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file unless another process has done so.
func tryLock(f *os.File) (got bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
