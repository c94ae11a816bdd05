//go:build !unix

package wholefile

import (
	"os"
	"path/filepath"

	"logparser/message"
)

// ErrUnsafe: others can change what lies there.
var ErrUnsafe = message.New("it belongs to somebody else, or others may write there; what lies there cannot be trusted")

// OwnFolder makes a folder. On Windows that of the user's cache is the user's own.
func OwnFolder(path string) (string, error) { return path, os.MkdirAll(path, 0o700) }

// CacheFolder returns the folder for what LogParser keeps; it need not be there.
func CacheFolder() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, cacheName), err
}

// KeepRights gives the file the time of another, open file. What else there is of rights its folder gives.
func (f *File) KeepRights(from *os.File) (lost []string, err error) {
	info, err := from.Stat()
	if err == nil {
		err = os.Chtimes(f.Name(), info.ModTime(), info.ModTime())
	}
	return nil, err
}

// OpenMine opens a folder that files are to be made in.
func OpenMine(path string) (*Folder, error) { return OpenFolder(path) }
