//go:build !unix

package indexcache

import (
	"io/fs"
	"os"
)

// openOwn opens a regular file for reading. Whose it is the folder's permissions
// say: on Windows that of the cache is the user's own.
func openOwn(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errForeign
	}
	f, err := os.Open(path)
	return f, info, err
}

// secret reports whether nobody else may read or write a file, which its mode
// does not tell here.
func secret(fs.FileInfo) bool { return true }
