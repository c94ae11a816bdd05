package indexcache

import (
	"os"
	"syscall"
	"unsafe"
)

// mapPrivate maps the first n bytes of a file. They may be written to, which changes the
// process's own copy.
func mapPrivate(f *os.File, n int) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var view uintptr
	control := raw.Control(func(fd uintptr) {
		size := int64(n)
		var section syscall.Handle
		section, err = syscall.CreateFileMapping(syscall.Handle(fd), nil, syscall.PAGE_WRITECOPY, uint32(size>>32), uint32(size), nil)
		if err != nil {
			return
		}
		// The view keeps the section.
		defer syscall.CloseHandle(section)
		view, err = syscall.MapViewOfFile(section, syscall.FILE_MAP_COPY, 0, 0, uintptr(n))
	})
	if control != nil {
		return nil, nil, control
	}
	if err != nil {
		return nil, nil, err
	}
	// The view is no memory of Go's: that a number stands for it is no error.
	b = unsafe.Slice(*(**byte)(unsafe.Pointer(&view)), n)
	return b, func() error { return syscall.UnmapViewOfFile(view) }, nil
}
