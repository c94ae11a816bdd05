//go:build unix

package wholefile

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"logparser/message"
)

// ErrUnsafe: others can change what lies there.
var ErrUnsafe = message.New("it belongs to somebody else, or others may write there; what lies there cannot be trusted")

// OwnFolder makes a folder, where it is not there, in which nobody but this user and root can put or exchange anything, and returns
// its path without links. Each folder on the way is looked at. The error wraps [ErrUnsafe] where somebody else can.
func OwnFolder(path string) (string, error) { return ownFolder(path, true) }

func ownFolder(path string, create bool) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	d, err := walk(path, trusted, create)
	if err != nil {
		return "", err
	}
	d.Close()
	return d.path, nil
}

// trusted says why a folder on the way is not to be trusted.
func trusted(at string, st *unix.Stat_t, last bool) error {
	owner := int(st.Uid)
	if owner != euid() && (last || owner != 0 && owner != rootOwner()) {
		return ErrUnsafe
	}
	const group, others = 0o020, 0o002
	mode := uint32(st.Mode)
	switch {
	case last && mode&(group|others) != 0,
		mode&unix.S_ISVTX == 0 && mode&others != 0,
		// A group of one's own, which many systems give each user, is nobody else.
		mode&unix.S_ISVTX == 0 && mode&group != 0 && st.Gid != 0 && int(st.Gid) != os.Getegid():
		return ErrUnsafe
	}
	return nil
}

// rootOwner is who has the root of all folders. In a container without root that is nobody, who has all else that is the system's.
func rootOwner() int {
	var st unix.Stat_t
	if unix.Stat("/", &st) != nil {
		return 0
	}
	return int(st.Uid)
}

// CacheFolder returns the folder for what LogParser keeps; it need not be there. Root takes one of its own, also where the
// environment names that of another user, as sudo leaves it.
func CacheFolder() (string, error) {
	dir, err := os.UserCacheDir()
	if id := euid(); id != 0 {
		// In an empty environment the system knows where the user is at home.
		if own, failed := user.LookupId(strconv.Itoa(id)); err != nil && failed == nil && filepath.IsAbs(own.HomeDir) {
			return filepath.Join(own.HomeDir, ".cache", cacheName), nil
		}
		return filepath.Join(dir, cacheName), err
	}
	if err == nil && ownedSoFar(dir) {
		return filepath.Join(dir, cacheName), nil
	}
	root, failed := user.LookupId("0")
	if failed != nil || !filepath.IsAbs(root.HomeDir) || !ownedSoFar(root.HomeDir) {
		return "", message.Errorf("root has no folder for it that is its own: %w", ErrUnsafe)
	}
	return filepath.Join(root.HomeDir, ".cache", cacheName), nil
}

// ownedSoFar reports whether nobody but root can change as much as there is of a path.
func ownedSoFar(path string) bool {
	for path = filepath.Clean(path); ; path = filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil {
			d, err := walk(path, func(at string, st *unix.Stat_t, _ bool) error { return trusted(at, st, false) }, false)
			if err == nil {
				d.Close()
			}
			return !errors.Is(err, ErrUnsafe) && !errors.Is(err, ErrForeign)
		}
		if path == filepath.Dir(path) {
			return true
		}
	}
}

// OpenMine opens a folder that files are to be made in which root makes up names for: root refuses one that belongs to another
// user, who could put anything in the place of what lies there.
func OpenMine(path string) (*Folder, error) {
	d, err := OpenFolder(path)
	if err != nil || euid() != 0 {
		return d, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(d.fd, &st); err == nil && st.Uid != 0 {
		err = ErrForeign
	}
	if err != nil {
		d.Close()
		return nil, d.failed("open", "", err)
	}
	return d, nil
}

// KeepRights gives the file what another, open file has: owner, permissions, set-user-ID bits, extended attributes and time. It is
// called when all is written, so that a file whose rights the system took away because it was written to meanwhile gives none. What
// could not be kept is returned; without its owner a file has no set-user-ID bits.
func (f *File) KeepRights(from *os.File) (lost []string, err error) {
	info, err := from.Stat()
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(from.Fd()), &st); err != nil {
		return nil, err
	}
	const special = fs.ModeSetuid | fs.ModeSetgid
	mode := info.Mode().Perm() | info.Mode()&(special|fs.ModeSticky)
	if st.Uid != uint32(euid()) {
		if unix.Fchown(int(f.Fd()), int(st.Uid), -1) != nil {
			mode &^= fs.ModeSetuid
			lost = append(lost, "owner")
		}
	}
	if unix.Fchown(int(f.Fd()), -1, int(st.Gid)) != nil {
		mode &^= fs.ModeSetgid
		lost = append(lost, "group")
	}
	for _, bit := range []struct {
		bit  fs.FileMode
		name string
	}{{fs.ModeSetuid, "set-user-ID"}, {fs.ModeSetgid, "set-group-ID"}} {
		if info.Mode()&bit.bit != 0 && mode&bit.bit == 0 {
			lost = append(lost, bit.name)
		}
	}
	if st.Nlink > 1 {
		lost = append(lost, "hard links")
	}
	names := attributes(from)
	for _, name := range names {
		if name != capabilities && !copyAttribute(f.File, from, name) {
			lost = append(lost, name)
		}
	}
	if err := f.Chmod(mode); err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for bit, name := range map[fs.FileMode]string{fs.ModeSetuid: "set-user-ID", fs.ModeSetgid: "set-group-ID"} {
		if mode&bit != 0 && now.Mode()&bit == 0 {
			lost = append(lost, name)
		}
	}
	// Last: the system takes them away when the owner or the content changes.
	for _, name := range names {
		if name == capabilities && !copyAttribute(f.File, from, name) {
			lost = append(lost, name)
		}
	}
	read, err := unix.TimeToTimespec(time.Now())
	written, err2 := unix.TimeToTimespec(info.ModTime())
	if err = cmp.Or(err, err2); err == nil {
		err = unix.UtimesNanoAt(f.Folder.fd, f.Base, []unix.Timespec{read, written}, unix.AT_SYMLINK_NOFOLLOW)
	}
	return lost, err
}

// capabilities is the attribute by which a file gives rights of root.
const capabilities = "security.capability"

// attributes returns the names of a file's extended attributes.
func attributes(f *os.File) []string {
	buf := make([]byte, 1<<16)
	n, err := unix.Flistxattr(int(f.Fd()), buf)
	if err != nil || n <= 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(buf[:n]), "\x00"), "\x00")
}

// copyAttribute reports whether a file has now the attribute of another.
func copyAttribute(to, from *os.File, name string) bool {
	buf := make([]byte, 1<<16)
	n, err := unix.Fgetxattr(int(from.Fd()), name, buf)
	if err != nil {
		return false
	}
	if name == "security.ima" || name == "security.evm" {
		// Signatures of the content.
		return false
	}
	return unix.Fsetxattr(int(to.Fd()), name, buf[:n], 0) == nil
}
