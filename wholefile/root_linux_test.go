package wholefile

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// other is a user that the tests of root give files to.
const other = 65534

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func owner(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// foreign makes a folder of another user.
func foreign(t *testing.T) string {
	dir := filepath.Join(t.TempDir(), "theirs")
	must(t, os.Mkdir(dir, 0o755), os.Chown(dir, other, other))
	return dir
}

// TestRootFollowsNoForeignLink: a folder of another user has links for the name and for a folder on the way.
func TestRootFollowsNoForeignLink(t *testing.T) {
	asRoot(t)
	dir, mine := foreign(t), t.TempDir()
	must(t, os.Symlink(mine, filepath.Join(dir, "way")), os.Lchown(filepath.Join(dir, "way"), other, other),
		os.Symlink(mine, filepath.Join(mine, "own")))
	for path, want := range map[string]error{
		filepath.Join(dir, "way", "x"): ErrForeign, filepath.Join(dir, "way", "way", "x"): ErrForeign,
		filepath.Join(mine, "own", "own", "x"): nil, filepath.Join(dir, "x"): nil, filepath.Join(dir, "..", "theirs", "y"): nil,
	} {
		if err := Make(path, 0, func(*File) error { return nil }); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if list, _ := os.ReadDir(mine); len(list) != 2 {
		t.Errorf("%v", list)
	}
}

// TestFolderExchanged exchanges the folder for a link while a file is written in it.
func TestFolderExchanged(t *testing.T) {
	dir, mine := filepath.Join(t.TempDir(), "theirs"), t.TempDir()
	must(t, os.Mkdir(dir, 0o755))
	err := Make(filepath.Join(dir, "x"), 0, func(*File) error {
		return errors.Join(os.Rename(dir, dir+"-moved"), os.Symlink(mine, dir))
	})
	if list, _ := os.ReadDir(mine); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", err, list)
	}
	if _, err := os.Stat(filepath.Join(dir+"-moved", "x")); err != nil {
		t.Error(err)
	}
}

// TestOwnerKept replaces files of another user as root.
func TestOwnerKept(t *testing.T) {
	asRoot(t)
	path := filepath.Join(foreign(t), "f")
	must(t, os.WriteFile(path, nil, 0o640), os.Chown(path, other, other))
	must(t, Make(path, 0, func(*File) error { return nil }))
	if info, _ := os.Stat(path); owner(t, path) != other || info.Mode().Perm() != 0o640 {
		t.Errorf("owner %d, %v", owner(t, path), info.Mode())
	}
	sticky := t.TempDir()
	path = filepath.Join(sticky, "f")
	must(t, os.Chmod(sticky, 0o1777|fs.ModeSticky), os.WriteFile(path, nil, 0o666), os.Chown(path, other, other))
	if err := Make(path, 0, func(*File) error { return nil }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("root replaces another user's file in a folder like /tmp: %v", err)
	}
}

// TestKeepRights has a set-user-ID program of another user, with an attribute.
func TestKeepRights(t *testing.T) {
	asRoot(t)
	for _, root := range []bool{true, false} {
		path := filepath.Join(foreign(t), "prog")
		must(t, os.WriteFile(path, []byte("old"), 0o755), os.Chown(path, other, other), os.Chmod(path, 0o755|fs.ModeSetuid|fs.ModeSetgid))
		xattr := unix.Setxattr(path, "user.note", []byte("x"), 0) == nil
		from, err := os.Open(path)
		must(t, err)
		defer from.Close()
		var lost []string
		target, err := Find(path)
		must(t, err)
		made, err := target.Folder.Create(0o600)
		must(t, err)
		if !root {
			// Without the right to give files away.
			drop(t)
		}
		lost, err = made.KeepRights(from)
		must(t, err, target.Commit(made))
		info, err := os.Stat(path)
		must(t, err)
		setuid := info.Mode()&fs.ModeSetuid != 0
		if uid := owner(t, path); setuid && uid != other || setuid != root || (uid == other) != root {
			t.Errorf("root %v: owner %d, %v", root, uid, info.Mode())
		}
		if slices.Contains(lost, "set-user-ID") == root {
			t.Errorf("root %v: lost %s", root, strings.Join(lost, ", "))
		}
		var value [8]byte
		if n, _ := unix.Getxattr(path, "user.note", value[:]); xattr && n != 1 && root {
			t.Error("the attribute is gone and nobody says so", lost)
		}
	}
}

// drop takes the capability to give files away from this thread, which ends with the test.
func drop(t *testing.T) {
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	must(t, unix.Capget(&header, &data[0]))
	for _, c := range []uint{unix.CAP_CHOWN, unix.CAP_FSETID} {
		data[0].Effective &^= 1 << c
	}
	must(t, unix.Capset(&header, &data[0]))
}

// TestOwnFolder has each folder on the way open to others in turn.
func TestOwnFolder(t *testing.T) {
	asRoot(t)
	for _, c := range []struct {
		name string
		do   func(top string) error
		safe bool
	}{
		{"own", func(string) error { return nil }, true},
		{"a parent of another user", func(top string) error { return os.Chown(filepath.Join(top, "a"), other, other) }, false},
		{"a parent that all may write to", func(top string) error { return os.Chmod(filepath.Join(top, "a"), 0o777) }, false},
		{"a parent that a group may write to", func(top string) error {
			return errors.Join(os.Chmod(filepath.Join(top, "a"), 0o775), os.Chown(filepath.Join(top, "a"), 0, other))
		}, false},
		{"as /tmp", func(top string) error { return os.Chmod(filepath.Join(top, "a"), 0o777|fs.ModeSticky) }, true},
		{"the folder itself", func(top string) error { return os.Chmod(filepath.Join(top, "a", "b", "c"), 0o777|fs.ModeSticky) }, false},
		{"a foreign link", func(top string) error {
			return errors.Join(os.Rename(filepath.Join(top, "a", "b"), filepath.Join(top, "b")), os.Symlink(filepath.Join(top, "b"), filepath.Join(top, "a", "b")),
				os.Lchown(filepath.Join(top, "a", "b"), other, other))
		}, false},
		{"a file", func(top string) error {
			return errors.Join(os.Remove(filepath.Join(top, "a", "b", "c")), os.WriteFile(filepath.Join(top, "a", "b", "c"), nil, 0o600))
		}, false},
	} {
		top := t.TempDir()
		dir := filepath.Join(top, "a", "b", "c")
		must(t, os.MkdirAll(dir, 0o700), c.do(top))
		got, err := OwnFolder(dir)
		if (err == nil) != c.safe || c.safe && got != dir {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
	if dir, err := OwnFolder(filepath.Join(t.TempDir(), "new", "newer")); err != nil {
		t.Error(err)
	} else if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

// TestCacheFolderOfNobody: an empty environment does not say where the user is at home; the system does.
func TestCacheFolderOfNobody(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	daemon, err := user.LookupId("1")
	if err != nil || !filepath.IsAbs(daemon.HomeDir) {
		t.Skip("there is no user 1 who is at home anywhere")
	}
	defer func(was func() int) { euid = was }(euid)
	euid = func() int { return 1 }
	if dir, err := CacheFolder(); err != nil || dir != filepath.Join(daemon.HomeDir, ".cache", "logparser") {
		t.Errorf("%s, %v", dir, err)
	}
}

// TestCacheFolder: the environment names the home of another user, as sudo leaves it.
func TestCacheFolder(t *testing.T) {
	asRoot(t)
	home := foreign(t)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", home)
	if dir, err := CacheFolder(); err == nil && strings.HasPrefix(dir, home) {
		t.Errorf("root keeps things in %s", dir)
	}
	mine := t.TempDir()
	t.Setenv("HOME", mine)
	if dir, err := CacheFolder(); err != nil || dir != filepath.Join(mine, ".cache", "logparser") {
		t.Error(dir, err)
	}
}
