package wholefile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"logparser/message"
)

// A File is being written and has no name of its own yet. [File.Remove] must be called at the end, whatever became of it.
type File struct {
	*os.File
	// Base is its name for now, in Folder.
	Base   string
	Folder *Folder
}

const (
	prefix = ".logparser-"
	suffix = ".tmp"
	// stale is the age at which what a killed program left behind is removed.
	stale = time.Hour
)

// unfinished has the files that are being written. Its lock is held while files are renamed, so that RemoveUnfinished does not
// stop a save between two of them.
var unfinished struct {
	sync.Mutex
	files map[*File]bool
}

// RemoveUnfinished removes all files that are being written. It is for a process that is about to end without waiting for them:
// it waits only for files that are being renamed, and no other is written afterwards.
func RemoveUnfinished() {
	unfinished.Lock() // never unlocked: nothing may continue
	for f := range unfinished.files {
		f.File.Close()
		// On Windows an open file cannot be removed, and a write in progress keeps it open for a moment.
		for range 20 {
			if err := f.Folder.Remove(f.Base); err == nil || errors.Is(err, fs.ErrNotExist) {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// Together calls rename, which gives several files their names by their folders: [RemoveUnfinished] waits for the end of all of it.
func Together(rename func() error) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	return rename()
}

// Create begins a file in a folder. A mode of 0 stands for 0666, of which the umask takes some. The folder must stay open until the
// file is removed or has its name.
func (d *Folder) Create(mode fs.FileMode) (*File, error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	f, err := d.Unnamed(mode)
	if err == nil {
		if unfinished.files == nil {
			unfinished.files = make(map[*File]bool)
		}
		unfinished.files[f] = true
	}
	return f, err
}

// Unnamed makes a file that [RemoveUnfinished] does not know of, for callers of [Together].
func (d *Folder) Unnamed(mode fs.FileMode) (*File, error) {
	if mode == 0 {
		mode = 0o666
	}
	for range 100 {
		base := prefix + rand.Text()[:12] + suffix
		f, err := d.create(base, mode)
		if err == nil {
			return &File{f, base, d}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return nil, message.New("no free name for a temporary file")
}

// rename gives the file its name.
func (f *File) rename(name string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	err := again(func() error { return f.Folder.Rename(f.Base, name) })
	if err == nil {
		delete(unfinished.files, f)
	}
	return err
}

// link gives the file a name that nothing has.
func (f *File) link(name string) error {
	unfinished.Lock()
	defer unfinished.Unlock()
	err := f.Folder.renameNew(f.Base, name)
	if err == nil {
		delete(unfinished.files, f)
	}
	return err
}

// Remove closes the file, and removes it unless it has got its name.
func (f *File) Remove() {
	f.File.Close()
	unfinished.Lock()
	defer unfinished.Unlock()
	if unfinished.files[f] {
		f.Folder.Remove(f.Base)
		delete(unfinished.files, f)
	}
}

// RemoveStale removes what killed processes left in a folder of LogParser's own.
func RemoveStale(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > stale {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
