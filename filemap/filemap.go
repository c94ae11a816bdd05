// Package filemap maps files into memory for reading. Another program may
// shorten the file, or its medium may fail, and then touching the memory is a
// fault, which would end the process: here it is an error. So nobody keeps
// mapped memory: it is copied out, or looked at within [Mapping.Use].
package filemap

import (
	"bytes"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"

	"logparser/message"
)

// A Mapping is a file mapped into memory. Its methods may be called at the
// same time; of them only Use may be called while or after it is closed. A nil
// Mapping has no bytes.
type Mapping struct {
	closing sync.RWMutex // held for reading by Use
	b       []byte
	unmap   func() error
}

// maxMapped is the largest file that is mapped where addresses are short.
const maxMapped = 256 << 20

// New maps the first size bytes of a file, or returns nil: where that
// cannot be done the file is read.
func New(r io.ReaderAt, size int64) *Mapping {
	f, ok := r.(*os.File)
	if !ok || size <= 0 || unsafe.Sizeof(uintptr(0)) == 4 && size > maxMapped || !fits(size) {
		return nil
	}
	b, unmap, err := mapFile(f, size)
	if err != nil {
		return nil
	}
	return &Mapping{b: b, unmap: unmap}
}

// NewWritten maps all of a file that other programs may still write, or returns
// nil where it is to be read: on Windows nobody could cut it or begin it anew.
func NewWritten(f *os.File) *Mapping {
	st, err := f.Stat()
	if err != nil || runtime.GOOS == "windows" {
		return nil
	}
	return New(f, st.Size())
}

// Size returns the number of bytes that are mapped.
func (m *Mapping) Size() int64 {
	if m == nil {
		return 0
	}
	m.closing.RLock()
	defer m.closing.RUnlock()
	return int64(len(m.b))
}

// Close gives the memory back. It waits for those that use it; what they ask
// for later is not there.
func (m *Mapping) Close() error {
	if m == nil {
		return nil
	}
	m.closing.Lock()
	defer m.closing.Unlock()
	if m.unmap == nil {
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
		*err = message.Errorf("the mapped file cannot be read: %w", fault)
	}
}

// Has reports whether [off, end) is within the mapping.
func (m *Mapping) Has(off, end int64) bool {
	return m != nil && off >= 0 && off <= end && end <= int64(len(m.b))
}

// Copy fills dst with the bytes from off on.
func (m *Mapping) Copy(dst []byte, off int64) (err error) {
	if !m.Has(off, off+int64(len(dst))) {
		return io.ErrUnexpectedEOF
	}
	defer guard(debug.SetPanicOnFault(true), &err)
	copy(dst, m.b[off:])
	return nil
}

// String returns the NUL-terminated string at offset off, which has to end
// before offset end. ok is false where it does not.
func (m *Mapping) String(off, end int64) (s string, ok bool, err error) {
	if !m.Has(off, end) {
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

// UseOnce is Use for bytes that will not be needed again soon: their pages leave the process.
func (m *Mapping) UseOnce(off, end int64, look func(b []byte)) error {
	return m.Use(off, end, func(b []byte) {
		defer release(b)
		look(b)
	})
}

// Use calls look with the bytes [off, end). It must not keep them.
func (m *Mapping) Use(off, end int64, look func(b []byte)) (err error) {
	if m == nil {
		return io.ErrUnexpectedEOF
	}
	m.closing.RLock()
	defer m.closing.RUnlock()
	if !m.Has(off, end) {
		return io.ErrUnexpectedEOF
	}
	defer guard(debug.SetPanicOnFault(true), &err)
	look(m.b[off:end:end])
	return nil
}
