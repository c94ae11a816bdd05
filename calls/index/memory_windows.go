package index

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"logparser/calls/indexcache"
)

const fileFlagDeleteOnClose = 0x04000000

// createTemporary makes a file that is gone when it is closed.
func createTemporary(folder string) (*os.File, error) {
	if folder == "" {
		folder = os.TempDir()
	}
	for n := 0; ; n++ {
		name := filepath.Join(folder, "logparser-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n)+indexcache.TemporarySuffix)
		path, err := syscall.UTF16PtrFromString(name)
		if err != nil {
			return nil, err
		}
		h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.CREATE_NEW,
			syscall.FILE_ATTRIBUTE_NORMAL|fileFlagDeleteOnClose, 0)
		if err == nil {
			return os.NewFile(uintptr(h), name), nil
		}
		if err != syscall.ERROR_FILE_EXISTS && err != syscall.ERROR_ACCESS_DENIED || n == 1000 {
			return nil, &os.PathError{Op: "create", Path: name, Err: err}
		}
	}
}

// mapShared maps n bytes of a file for reading and writing.
func mapShared(f *os.File, at int64, n int) (b []byte, unmap func() error, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	var view uintptr
	control := raw.Control(func(fd uintptr) {
		end := at + int64(n)
		var section syscall.Handle
		section, err = syscall.CreateFileMapping(syscall.Handle(fd), nil, syscall.PAGE_READWRITE, uint32(end>>32), uint32(end), nil)
		if err != nil {
			return
		}
		// The view keeps the section.
		defer syscall.CloseHandle(section)
		view, err = syscall.MapViewOfFile(section, syscall.FILE_MAP_WRITE, uint32(at>>32), uint32(at), uintptr(n))
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
