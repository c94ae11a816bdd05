package export

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"logparser/message"
)

// unfinished are the temporary files of all saves that are under way. Its lock is
// held while files get their names, so that no save is ended between two of them.
var unfinished struct {
	sync.Mutex
	files map[*os.File]bool
}

// RemoveUnfinished removes the temporary files of all saves that are under way,
// for a process that is about to end without waiting for them. A save that is
// giving its files their names is waited for; none goes on afterwards.
func RemoveUnfinished() {
	unfinished.Lock() // for good
	for f := range unfinished.files {
		f.Close()
		// Where an open file cannot be removed, a write that is under way keeps it.
		for range 20 {
			if err := os.Remove(f.Name()); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// createTemporary makes a new file that [RemoveUnfinished] knows. It is to be
// given to renameTemporary or removeTemporary.
func createTemporary(dir string) (*os.File, error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	f, err := newTemporary(dir)
	if err == nil {
		if unfinished.files == nil {
			unfinished.files = make(map[*os.File]bool)
		}
		unfinished.files[f] = true
	}
	return f, err
}

// newTemporary makes a new file with the permissions that any new file
// gets. [os.CreateTemp] would make it readable for its owner alone.
func newTemporary(dir string) (*os.File, error) {
	for range 100 {
		f, err := os.OpenFile(filepath.Join(dir, ".logparser-"+rand.Text()[:12]+".tmp"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, message.New("no free name for a temporary file")
}

// renameTemporary gives a temporary file its name.
func renameTemporary(f *os.File, target string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	err := os.Rename(f.Name(), target)
	if err == nil {
		delete(unfinished.files, f)
	}
	return err
}

// removeTemporary closes and removes a temporary file. Of one that was given its
// name nothing is left to remove.
func removeTemporary(f *os.File) {
	f.Close()
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.files[f] {
		os.Remove(f.Name())
		delete(unfinished.files, f)
	}
}
