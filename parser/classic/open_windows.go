package classic

import (
	"os"
	"path/filepath"
)

// openShared opens a file for reading so that others may rename and delete it
// meanwhile, as the recorder does with the log of an earlier run. os.Open does
// not permit that, the files of an os.Root do.
func openShared(path string) (*os.File, error) {
	if f, err := os.OpenInRoot(filepath.Dir(path), filepath.Base(path)); err == nil {
		return f, nil
	}
	return os.Open(path)
}
