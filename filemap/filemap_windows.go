package filemap

import (
	"os"
	"syscall"
	"unsafe"
)

// mapFile maps the first size bytes of a file for reading.
func mapFile(f *os.File, size int64) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var view uintptr
	control := raw.Control(func(fd uintptr) {
		var section syscall.Handle
		section, err = syscall.CreateFileMapping(syscall.Handle(fd), nil, syscall.PAGE_READONLY, uint32(size>>32), uint32(size), nil)
		if err != nil {
			return
		}
		// The view keeps the section.
		defer syscall.CloseHandle(section)
		view, err = syscall.MapViewOfFile(section, syscall.FILE_MAP_READ, 0, 0, uintptr(size))
	})
	if control != nil {
		return nil, nil, control
	}
	if err != nil {
		return nil, nil, err
	}
	// The view is no memory of Go's: that a number stands for it is no error.
	b = unsafe.Slice(*(**byte)(unsafe.Pointer(&view)), int(size))
	return b, func() error { return syscall.UnmapViewOfFile(view) }, nil
}
