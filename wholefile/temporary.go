package wholefile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// lockName is the file by which a folder's process is known to run.
	lockName = ".lock"
	// settled is the age from which a folder that nobody holds has lost its process: a new one is not held at once.
	settled = time.Minute
)

// held has the lock of each temporary folder of this process.
var held sync.Map

// TemporaryFolder makes a folder of this user's own for as long as it is needed, and removes those that processes left behind which
// ended without removing theirs. name begins its name. [RemoveTemporary] removes it.
func TemporaryFolder(name string) (dir string, err error) {
	removeAbandoned(name)
	if dir, err = os.MkdirTemp("", name+"-*"); err != nil {
		return "", err
	}
	lock, err := hold(filepath.Join(dir, lockName))
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	held.Store(dir, lock)
	return dir, nil
}

// RemoveTemporary removes a folder that [TemporaryFolder] has made, with all that is in it.
func RemoveTemporary(dir string) {
	if lock, ok := held.LoadAndDelete(dir); ok {
		lock.(*os.File).Close()
	}
	os.RemoveAll(dir)
}

func removeAbandoned(name string) {
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), name+"-")
		if !ok || !e.IsDir() || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		info, err := e.Info()
		if err != nil || !mine(info) || time.Since(info.ModTime()) < settled {
			continue
		}
		dir := filepath.Join(os.TempDir(), e.Name())
		if abandoned(filepath.Join(dir, lockName)) {
			os.RemoveAll(dir)
		}
	}
}
