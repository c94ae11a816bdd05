//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package filemap

import (
	"errors"
	"os"
)

// mapFile fails: files are read.
func mapFile(*os.File, int64) (b []byte, unmap func() error, err error) {
	return nil, nil, errors.ErrUnsupported
}
