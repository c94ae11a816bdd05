//go:build unix

package wholefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"logparser/message"
)

// A Folder is one that files are written in, by its descriptor.
type Folder struct {
	path string
	fd   int
}

// errDevice: it is a pipe or a device.
var errDevice = message.Wrap(ErrNotFile, "it is a device or a pipe")

// euid is the user of this process; tests take another.
var euid = os.Geteuid

// OpenFolder opens a folder. Root does so part by part, and follows only links of root's.
func OpenFolder(path string) (*Folder, error) {
	if euid() == 0 {
		return walk(path, nil, false)
	}
	fd, err := retry(func() (int, error) { return unix.Open(path, openFolder, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &Folder{path, fd}, nil
}

const openFolder = searchOnly | unix.O_DIRECTORY | unix.O_CLOEXEC

// maxLinks bounds the links that are followed on a way.
const maxLinks = 40

// walk opens a folder part by part without leaving a link to the kernel: only those of root and this user are followed. check, if not
// nil, is asked about each folder; the last one is said to be it. With create those that are not there are made.
func walk(path string, check func(at string, st *unix.Stat_t, last bool) error, create bool) (d *Folder, err error) {
	fail := func(at string, err error) (*Folder, error) {
		return nil, &fs.PathError{Op: "open", Path: at, Err: err}
	}
	start := "."
	if filepath.IsAbs(path) {
		start = "/"
	}
	fd, err := retry(func() (int, error) { return unix.Open(start, openFolder, 0) })
	if err != nil {
		return fail(start, err)
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	at, todo := start, parts(path)
	for links := 0; ; {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return fail(at, err)
		}
		if check != nil {
			if err := check(at, &st, len(todo) == 0); err != nil {
				return fail(at, err)
			}
		}
		if len(todo) == 0 {
			return &Folder{at, fd}, nil
		}
		name := todo[0]
		here := filepath.Join(at, name)
		next, err := retry(func() (int, error) { return unix.Openat(fd, name, openFolder|unix.O_NOFOLLOW, 0) })
		if create && err == unix.ENOENT {
			if err := unix.Mkdirat(fd, name, 0o700); err != nil && err != unix.EEXIST {
				return fail(here, err)
			}
			next, err = retry(func() (int, error) { return unix.Openat(fd, name, openFolder|unix.O_NOFOLLOW, 0) })
		}
		if err == nil {
			unix.Close(fd)
			fd, at, todo = next, here, todo[1:]
			continue
		}
		if err != unix.ENOTDIR && err != unix.ELOOP && err != unix.EMLINK {
			return fail(here, err)
		}
		if e := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); e != nil || st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return fail(here, err)
		}
		if int(st.Uid) != 0 && int(st.Uid) != euid() {
			return fail(here, ErrForeign)
		}
		if links++; links > maxLinks {
			return fail(here, unix.ELOOP)
		}
		to, err := readLink(fd, name)
		if err != nil {
			return fail(here, err)
		}
		todo = append(parts(to), todo[1:]...)
		if filepath.IsAbs(to) {
			next, err := retry(func() (int, error) { return unix.Open("/", openFolder, 0) })
			if err != nil {
				return fail("/", err)
			}
			unix.Close(fd)
			fd, at = next, "/"
		}
	}
}

// parts are those of a path. ".." stays one: what it means depends on links before it.
func parts(path string) (list []string) {
	for _, part := range strings.Split(path, "/") {
		if part != "" && part != "." {
			list = append(list, part)
		}
	}
	return list
}

func readLink(fd int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, buf)
	return string(buf[:max(n, 0)]), err
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// Close closes the folder.
func (d *Folder) Close() { unix.Close(d.fd) }

// Path is where a name lies, for messages.
func (d *Folder) Path(name string) string { return filepath.Join(d.path, name) }

func (d *Folder) failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: d.Path(name), Err: err}
}

func (d *Folder) open(name string, flags int, mode fs.FileMode) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NOCTTY, uint32(mode.Perm()))
	})
	if err != nil {
		return nil, d.failed("open", name, err)
	}
	return os.NewFile(uintptr(fd), d.Path(name)), nil
}

func (d *Folder) create(name string, mode fs.FileMode) (*os.File, error) {
	return d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, mode)
}

// Open opens what has a name, with flags of [os.OpenFile]. A symbolic link is an error.
func (d *Folder) Open(name string, flags int, mode fs.FileMode) (*os.File, error) {
	return d.open(name, flags, mode)
}

// Writable describes the file of a name, nil where there is none. It fails unless that is a file which may be written to.
func (d *Folder) Writable(name string) (fs.FileInfo, error) {
	var st, folder unix.Stat_t
	err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil, nil
	}
	if err == nil {
		err = unix.Fstat(d.fd, &folder)
	}
	if err != nil {
		return nil, d.failed("stat", name, err)
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFLNK:
		if to, err := readLink(d.fd, name); err == nil {
			return nil, message.Wrap(ErrLink, "it is a symbolic link to %s; name the file that it leads to", to)
		}
		return nil, ErrLink
	case unix.S_IFDIR:
		return nil, d.failed("open", name, unix.EISDIR)
	case unix.S_IFSOCK:
		return nil, ErrNotFile
	default:
		return nil, errDevice
	}
	if folder.Mode&unix.S_ISVTX != 0 && int(st.Uid) != euid() && (int(folder.Uid) != euid() || euid() == 0) {
		// The system forbids it to all but root, which has the same reason.
		return nil, d.failed("open", name, unix.EPERM)
	}
	f, err := d.open(name, unix.O_WRONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotFile
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

// OpenDevice opens a target that is a pipe or a device. Somebody who reads a pipe is waited for.
func (t *Target) OpenDevice(ctx context.Context) (*os.File, error) {
	for {
		f, err := t.Folder.open(t.Name, unix.O_WRONLY|unix.O_NONBLOCK, 0)
		if err == nil {
			if info, err := f.Stat(); err != nil || info.Mode().IsRegular() {
				f.Close()
				return nil, ErrNotFile
			}
			return f, nil
		}
		if !errors.Is(err, syscall.ENXIO) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Rename gives a file another name, which is that of no other afterwards.
func (d *Folder) Rename(from, to string) error {
	return d.failed("rename", to, unix.Renameat(d.fd, from, d.fd, to))
}

// renameNew is Rename for a name that nothing has.
func (d *Folder) renameNew(from, to string) error {
	err := unix.Linkat(d.fd, from, d.fd, to, 0)
	switch err {
	case nil:
		return d.Remove(from)
	case unix.EEXIST:
		return d.failed("link", to, err)
	}
	// A file system without links. Between the question and the answer somebody may take the name.
	var st unix.Stat_t
	if unix.Fstatat(d.fd, to, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return d.failed("link", to, unix.EEXIST)
	}
	return d.Rename(from, to)
}

// Remove removes a file.
func (d *Folder) Remove(name string) error {
	return d.failed("remove", name, unix.Unlinkat(d.fd, name, 0))
}

func (d *Folder) sync() {
	if fd, err := unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		unix.Fsync(fd)
		unix.Close(fd)
	}
}

// like gives the file the permissions of one that it replaces, and by root its owner.
func (f *File) like(old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		if euid() != 0 {
			st = &syscall.Stat_t{Uid: uint32(os.Geteuid()), Gid: st.Gid}
		}
		f.Chown(int(st.Uid), int(st.Gid))
	}
	// Some file systems have no permissions. That is no reason not to write.
	f.Chmod(old.Mode().Perm())
}
