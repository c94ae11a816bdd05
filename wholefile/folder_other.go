//go:build !unix

package wholefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"logparser/message"
)

// A Folder is one that files are written in.
type Folder struct{ path string }

// errDevice: it is a pipe or a device.
var errDevice = message.Wrap(ErrNotFile, "it is a device or a pipe")

// OpenFolder opens a folder.
func OpenFolder(path string) (*Folder, error) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: path, Err: message.New("it is no folder")}
	}
	return &Folder{path}, err
}

// Close closes the folder.
func (d *Folder) Close() {}

// Path is where a name lies.
func (d *Folder) Path(name string) string { return filepath.Join(d.path, name) }

func (d *Folder) create(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(d.Path(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// Open opens what has a name, with flags of [os.OpenFile].
func (d *Folder) Open(name string, flags int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(d.Path(name), flags, mode)
}

// Writable describes the file of a name, nil where there is none. It fails unless that is a file which may be written to.
func (d *Folder) Writable(name string) (fs.FileInfo, error) {
	info, err := os.Lstat(d.Path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, ErrLink
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil, errDevice
	}
	f, err := os.OpenFile(d.Path(name), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	f.Close()
	return info, nil
}

// OpenDevice opens a target that is a pipe or a device.
func (t *Target) OpenDevice(context.Context) (*os.File, error) {
	return os.OpenFile(t.Folder.Path(t.Name), os.O_WRONLY, 0)
}

// Rename gives a file another name, which is that of no other afterwards.
func (d *Folder) Rename(from, to string) error { return os.Rename(d.Path(from), d.Path(to)) }

// renameNew is Rename for a name that nothing has.
func (d *Folder) renameNew(from, to string) error {
	err := os.Link(d.Path(from), d.Path(to))
	if err == nil {
		return d.Remove(from)
	}
	if _, there := os.Lstat(d.Path(to)); there == nil {
		return &fs.PathError{Op: "link", Path: d.Path(to), Err: fs.ErrExist}
	}
	// A file system without links.
	return d.Rename(from, to)
}

// Remove removes a file.
func (d *Folder) Remove(name string) error { return os.Remove(d.Path(name)) }

func (d *Folder) sync() {}

// like gives the file the permissions of one that it replaces.
func (f *File) like(old fs.FileInfo) { f.Chmod(old.Mode().Perm()) }
