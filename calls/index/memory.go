package index

import (
	"os"
	"runtime"
	"unsafe"
)

// memoryLimit is how much an index takes of the process's own memory. What it
// needs beyond that lies in a temporary file that is mapped, so that the
// system can write it out; a variable for tests.
var memoryLimit = int64(64 << 20)

// mapStep is by how much the temporary file grows at a time.
const mapStep = 16 << 20

// A memory hands out the memory of an index's arrays.
type memory struct {
	folder string // for the temporary file, "" for the system's
	bytes  int64  // of the process's own
	// refused is why no more can be mapped.
	refused error
	file    *os.File
	size    int64
	rest    []byte    // of what is mapped
	maps    *mappings // see giveBack
}

// mappings are what is to be given back.
type mappings struct {
	file  *os.File
	unmap []func() error
}

func (m *mappings) free() {
	for _, f := range m.unmap {
		f()
	}
	if m.file != nil {
		m.file.Close()
	}
}

// alloc returns n zero elements, which hold no pointers.
func alloc[T any](m *memory, n int) []T {
	size := n * int(unsafe.Sizeof(*new(T)))
	if m.bytes+int64(size) > memoryLimit && size > 0 {
		if b := m.mapped(size); b != nil {
			return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
		}
	}
	m.bytes += int64(size)
	return make([]T, n)
}

// mapped returns size bytes of the temporary file, or nil where there can be
// none: the process's own memory has to do then.
func (m *memory) mapped(size int) []byte {
	if m.refused != nil {
		return nil
	}
	size = (size + 63) &^ 63
	if len(m.rest) < size {
		if m.refused = m.extend(max(size, mapStep)); m.refused != nil {
			m.shrink()
			return nil
		}
	}
	b := m.rest[:size:size]
	m.rest = m.rest[size:]
	return b
}

func (m *memory) extend(n int) error {
	n = (n + mapStep - 1) / mapStep * mapStep
	if m.file == nil {
		if m.folder != "" {
			if err := os.MkdirAll(m.folder, 0o700); err != nil {
				return err
			}
		}
		f, err := createTemporary(m.folder)
		if err != nil {
			return err
		}
		m.file, m.maps.file = f, f
	}
	// Room that is only promised would be missed when it is written to.
	zeros := make([]byte, 1<<20)
	for at := m.size; at < m.size+int64(n); at += int64(len(zeros)) {
		if _, err := m.file.WriteAt(zeros, at); err != nil {
			return err
		}
	}
	b, unmap, err := mapShared(m.file, m.size, n)
	if err != nil {
		return err
	}
	m.size += int64(n)
	m.maps.unmap = append(m.maps.unmap, unmap)
	m.rest = b
	return nil
}

// shrink gives back what could not be used of the temporary file.
func (m *memory) shrink() {
	if m.file == nil {
		return
	}
	if m.size > 0 {
		m.file.Truncate(m.size)
		return
	}
	m.file.Close()
	m.file, m.maps.file = nil, nil
}

// giveBack sees to it that what a core maps is given back when it is of no
// more use.
func (c *core) giveBack() {
	c.maps = &mappings{}
	runtime.AddCleanup(c, (*mappings).free, c.maps)
}
