package filemap

import (
	"os"
	"syscall"
	"unsafe"
)

// release takes the pages of mapped bytes out of the process. They are read again where they are touched again, so that
// those on the edges, which have other bytes too, may go with them.
func release(b []byte) {
	if len(b) == 0 {
		return
	}
	lead := int(uintptr(unsafe.Pointer(&b[0])) % uintptr(os.Getpagesize()))
	pages := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&b[0]), -lead)), lead+len(b))
	// Where it fails they only stay.
	_ = syscall.Madvise(pages, syscall.MADV_DONTNEED)
}
