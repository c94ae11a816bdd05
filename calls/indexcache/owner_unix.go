//go:build unix

package indexcache

import (
	"io/fs"
	"os"
	"syscall"
)

// openOwn opens a regular file of this user for reading. What lies there in its
// stead, a pipe or a link, is neither waited for nor followed.
func openOwn(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); !info.Mode().IsRegular() || ok && int(st.Uid) != os.Geteuid() {
			err = errForeign
		}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// secret reports whether nobody else may read or write a file.
func secret(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
