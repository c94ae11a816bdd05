package indexcache

import (
	"os"
	"syscall"
	"unsafe"
)

// mapPrivate maps the first n bytes of a file. They may be written to, which changes the
// process's own copy.
func mapPrivate(f *os.File, n int) (b []byte, unmap func() error, err error) {
	return MapView(f, 0, n, syscall.PAGE_WRITECOPY, syscall.FILE_MAP_COPY)
}

// MapView maps n bytes of a file from at on. protection is that of the section, access that of the view.
func MapView(f *os.File, at int64, n int, protection, access uint32) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var view uintptr
	control := raw.Control(func(fd uintptr) {
		end := at + int64(n)
		var section syscall.Handle
		section, err = syscall.CreateFileMapping(syscall.Handle(fd), nil, protection, uint32(end>>32), uint32(end), nil)
		if err != nil {
			return
		}
		// The view keeps the section.
		defer syscall.CloseHandle(section)
		view, err = syscall.MapViewOfFile(section, access, uint32(at>>32), uint32(at), uintptr(n))
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
