//go:build !windows

package classic

import (
	"os"

	"logparser/filemap"
)

// openShared opens a file for reading; others may rename and delete it.
func openShared(path string) (*os.File, error) { return os.Open(path) }

// mapLog maps a log, or returns nil where it is to be read.
func mapLog(f *os.File) *filemap.Mapping {
	st, err := f.Stat()
	if err != nil {
		return nil
	}
	return filemap.New(f, st.Size())
}
