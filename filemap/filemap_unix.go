//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filemap

import (
	"os"
	"syscall"
)

// mapFile maps the first size bytes of a file for reading.
func mapFile(f *os.File, size int64) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	control := raw.Control(func(fd uintptr) {
		b, err = syscall.Mmap(int(fd), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	})
	if control != nil {
		return nil, nil, control
	}
	return b, func() error { return syscall.Munmap(b) }, err
}
