//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package indexcache

import (
	"errors"
	"os"
)

// mapPrivate fails: files are read.
func mapPrivate(*os.File, int) (b []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
