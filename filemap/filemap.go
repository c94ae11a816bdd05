package image

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"unsafe"
)

// A mapping is a file mapped into memory for reading. Another program may
// shorten the file, or its medium may fail, and then touching the memory is a
// fault, which would end the process. So nothing outside of this file gets the
// mapped memory: it is copied out, and a fault on the way is an error.
//
// What a mapping saves is a system call for each of many small reads. Long
// runs of bytes are read from the file: that is as fast, and it keeps pages of
// the file out of the process.
type mapping struct {
	b     []byte
	unmap func() error
}

const (
	// maxMapped is the largest file that is mapped where addresses are short.
	maxMapped = 256 << 20
	// maxCopy is the longest run of bytes that is copied from a mapping.
	maxCopy = 16 << 10
)

// newMapping maps the first size bytes of a file, or returns nil: where that
// cannot be done the file is read.
func newMapping(r io.ReaderAt, size int64) *mapping {
	f, ok := r.(*os.File)
	if !ok || size <= 0 || unsafe.Sizeof(uintptr(0)) == 4 && size > maxMapped {
		return nil
	}
	b, unmap, err := mapFile(f, size)
	if err != nil {
		return nil
	}
	return &mapping{b, unmap}
}

func (m *mapping) close() error {
	if m == nil || m.unmap == nil {
		return nil
	}
	unmap := m.unmap
	m.b, m.unmap = nil, nil
	return unmap()
}

// guard turns a fault into an error. It is deferred, and restores what
// debug.SetPanicOnFault said before.
func guard(before bool, err *error) {
	debug.SetPanicOnFault(before)
	if r := recover(); r != nil {
		fault, ok := r.(interface {
			error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		*err = fmt.Errorf("the mapped file cannot be read: %w", fault)
	}
}

// has reports whether [off, end) is within the mapping.
func (m *mapping) has(off, end int64) bool {
	return off >= 0 && off <= end && end <= int64(len(m.b))
}

// copy fills dst with the bytes from off on.
func (m *mapping) copy(dst []byte, off int64) (err error) {
	if !m.has(off, off+int64(len(dst))) {
		return io.ErrUnexpectedEOF
	}
	defer guard(debug.SetPanicOnFault(true), &err)
	copy(dst, m.b[off:])
	return nil
}

// cString returns the NUL-terminated string at offset off, which has to end
// before offset end. ok is false where it does not.
func (m *mapping) cString(off, end int64) (s string, ok bool, err error) {
	if !m.has(off, end) {
		return "", false, io.ErrUnexpectedEOF
	}
	defer guard(debug.SetPanicOnFault(true), &err)
	b := m.b[off:end]
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return "", false, nil
	}
	return string(b[:n]), true, nil
}
