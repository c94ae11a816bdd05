//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package index

import (
	"errors"
	"os"
)

func createTemporary(string) (*os.File, error) { return nil, errors.ErrUnsupported }

func mapShared(*os.File, int64, int) (b []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
