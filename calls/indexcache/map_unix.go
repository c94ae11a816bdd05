//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package indexcache

import (
	"os"
	"syscall"
)

// mapPrivate maps the first n bytes of a file. They may be written to, which changes the
// process's own copy.
func mapPrivate(f *os.File, n int) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	control := raw.Control(func(fd uintptr) {
		b, err = syscall.Mmap(int(fd), 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE)
	})
	if control != nil {
		return nil, nil, control
	}
	return b, func() error { return syscall.Munmap(b) }, err
}
