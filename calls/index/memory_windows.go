package index

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"

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
	return indexcache.MapView(f, at, n, syscall.PAGE_READWRITE, syscall.FILE_MAP_WRITE)
}
