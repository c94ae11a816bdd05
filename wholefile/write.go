// Package wholefile writes files so that one is there whole or as it was before, whatever ends the program and whether or not
// the disk is full. All of LogParser's files are written by it: what is saved, what is kept in caches, the window's settings.
//
// # What is written to
//
//  1. A file is made under another name in its folder and renamed. That folder is opened once, and all that follows is done by
//     its descriptor: who renames it meanwhile leads nothing elsewhere.
//  2. Nothing is written through a symbolic link: a name that is one is refused ([ErrLink]).
//  3. A file that is replaced keeps its permissions. Root leaves it its owner, too; the set-user-ID bits and the attributes of an
//     executable are kept by [File.KeepRights] only, which says what is lost.
//  4. Root follows no link in a path that others than root have made ([ErrForeign]). Elsewhere that is the system's business.
//  5. What is trusted later, code above all, lies in a folder that nobody else can change, parents included ([OwnFolder]).
//
// A process that is killed leaves .logparser-….tmp behind; [RemoveStale] removes it from folders of LogParser's own.
package wholefile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"logparser/message"
)

var (
	// ErrLink: the name is that of a symbolic link.
	ErrLink = message.New("it is a symbolic link; name the file that it leads to")
	// ErrForeign: another user could have anything else in the place of what is meant.
	ErrForeign = message.New("a folder or link on the way to it belongs to another user")
	// ErrNotFile: there is something else than a file.
	ErrNotFile = message.New("it is there, and no file")
)

// A Target is a name that a file is to get. [Target.Close] closes its folder.
type Target struct {
	// Folder is that of the file, Name its name there.
	Folder *Folder
	Name   string
	// Old describes the file that has the name; nil where there is none. Device says that it is a pipe or a device, which can only
	// be written to.
	Old    fs.FileInfo
	Device bool
}

// Find finds out what there is at a path. It fails where nothing may be written there.
func Find(path string) (*Target, error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	if name == "" || name == "." || name == ".." {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	folder, err := OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	t := &Target{Folder: folder, Name: name}
	if t.Old, err = folder.Writable(name); errors.Is(err, errDevice) {
		t.Device, err = true, nil
	}
	if err != nil {
		folder.Close()
		return nil, err
	}
	return t, nil
}

// Close closes the target's folder.
func (t *Target) Close() { t.Folder.Close() }

// Create begins the file. A new one gets the permissions of mode, less what the umask takes; an old one keeps its own.
func (t *Target) Create(mode fs.FileMode) (*File, error) {
	f, err := t.Folder.Create(mode)
	if err == nil && t.Old != nil {
		f.like(t.Old)
	}
	return f, err
}

// Commit gives a file that was made in the target's folder its name. What had the name is lost only when the new content is on
// the disk.
func (t *Target) Commit(f *File) error {
	if t.Old != nil {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return t.Take(f)
}

// Take is the end of [Target.Commit], for a file that is on the disk and closed.
func (t *Target) Take(f *File) error {
	if err := f.rename(t.Name); err != nil {
		return err
	}
	if t.Old != nil {
		// Not every system can do that, and either file is whole.
		t.Folder.sync()
	}
	return nil
}

// Write makes a file of one's own, with the folders that it needs. A file that is there keeps its permissions, and a symbolic link
// stays one: what it leads to is replaced. A new file is its owner's alone. What killed processes left in the folder is removed.
func Write(path string, content []byte) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Not after writing: on a full disk it would never come to that.
	RemoveStale(filepath.Dir(path))
	return Make(path, 0o600, func(w *File) error {
		_, err := w.Write(content)
		if err == nil {
			// Else a machine that loses power may have the name and not what it stands for.
			err = w.Sync()
		}
		return err
	})
}

// Make makes a file of what write writes, which replaces the one of that name.
func Make(path string, mode fs.FileMode, write func(f *File) error) error {
	t, err := Find(path)
	if err != nil {
		return err
	}
	defer t.Close()
	if t.Device {
		return &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	f, err := t.Create(mode)
	if err != nil {
		return err
	}
	defer f.Remove()
	if err := write(f); err != nil {
		return err
	}
	return t.Commit(f)
}

// mostNames bounds the names that MakeNew tries.
const mostNames = 10_000

// Replace makes a file of a cache: it takes the place of whatever has the name, also of a link, and is not waited for to be on the
// disk. What processes left that were killed is removed from the folder.
func Replace(path string, mode fs.FileMode, write func(w io.Writer) error) error {
	RemoveStale(filepath.Dir(path))
	folder, err := OpenFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	f, err := folder.Create(mode)
	if err != nil {
		return err
	}
	defer f.Remove()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return f.rename(filepath.Base(path))
}

// New makes a file of a name that nothing has.
func (d *Folder) New(name string, mode fs.FileMode, content []byte) error {
	f, err := d.Create(mode)
	if err != nil {
		return err
	}
	defer f.Remove()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return f.link(name)
}

// MakeNew makes a file in a folder and replaces nothing: its name is name(1), or name(2) where that is taken, and so on. It returns
// the name. The folder is known to take files before content is called.
func MakeNew(dir string, mode fs.FileMode, name func(n int) string, content func(w io.Writer) error) (string, error) {
	folder, err := OpenFolder(dir)
	if err != nil {
		return "", err
	}
	defer folder.Close()
	f, err := folder.Create(mode)
	if err != nil {
		return "", err
	}
	defer f.Remove()
	if err := content(f); err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		if err := f.link(name(n)); !errors.Is(err, fs.ErrExist) || n == mostNames {
			return name(n), err
		}
	}
}

// again has a call repeated that Windows refuses while another program reads the file, which takes it little time.
func again(call func() error) error {
	err := call()
	const sharingViolation = syscall.Errno(32)
	for n := 0; n < 20 && runtime.GOOS == "windows" && (errors.Is(err, fs.ErrPermission) || errors.Is(err, sharingViolation)); n++ {
		time.Sleep(10 * time.Millisecond)
		err = call()
	}
	return err
}

// cacheName is the name of the folder for what LogParser keeps, in that of the user.
const cacheName = "logparser"
