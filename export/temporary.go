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

// unfinished has the temporary files of all saves in progress. Its lock is held while the files of a save are renamed, so that
// RemoveUnfinished does not stop a save between two of them.
var unfinished struct {
	sync.Mutex
	files map[*os.File]bool
}

// RemoveUnfinished removes the temporary files of all saves in progress. It is for a process that is about to end without
// waiting for them: it waits only for a save that is renaming its files, and no save can continue afterwards.
func RemoveUnfinished() {
	unfinished.Lock() // never unlocked: no save may continue
	for f := range unfinished.files {
		f.Close()
		// On Windows an open file cannot be removed, and a write in progress keeps it open for a moment.
		for range 20 {
			if err := os.Remove(f.Name()); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// createTemporary makes a file that [RemoveUnfinished] knows. The caller must pass it to renameTemporary or removeTemporary.
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

// newTemporary makes a file with the default permissions. [os.CreateTemp] would make it readable for its owner alone.
func newTemporary(dir string) (*os.File, error) {
	for range 100 {
		f, err := os.OpenFile(filepath.Join(dir, ".logparser-"+rand.Text()[:12]+".tmp"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, message.New("no free name for a temporary file")
}

// renameTemporary renames a temporary file to its target.
func renameTemporary(f *os.File, target string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	err := os.Rename(f.Name(), target)
	if err == nil {
		delete(unfinished.files, f)
	}
	return err
}

// removeTemporary closes a temporary file, and removes it unless it was renamed.
func removeTemporary(f *os.File) {
	f.Close()
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.files[f] {
		os.Remove(f.Name())
		delete(unfinished.files, f)
	}
}
