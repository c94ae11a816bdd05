//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package index

import (
	"os"
	"syscall"

	"logparser/calls/indexcache"
)

// createTemporary makes a file that is gone when it is closed.
func createTemporary(folder string) (*os.File, error) {
	f, err := os.CreateTemp(folder, "logparser-*"+indexcache.TemporarySuffix)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mapShared maps n bytes of a file for reading and writing.
func mapShared(f *os.File, at int64, n int) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	control := raw.Control(func(fd uintptr) {
		b, err = syscall.Mmap(int(fd), at, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	})
	if control != nil {
		return nil, nil, control
	}
	return b, func() error { return syscall.Munmap(b) }, err
}
