//go:build unix

package instance

import (
	"os"
	"syscall"
)

// owned reports whether a file is the user's own.
func owned(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
