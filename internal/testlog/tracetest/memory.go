package tracetest

import "io"

// A Memory is a file in memory.
type Memory struct{ Bytes []byte }

// Size returns the number of bytes.
func (m *Memory) Size() int64 { return int64(len(m.Bytes)) }

// WriteAt implements [io.WriterAt].
func (m *Memory) WriteAt(p []byte, off int64) (int, error) {
	if n := off + int64(len(p)); n > int64(len(m.Bytes)) {
		m.Bytes = append(m.Bytes, make([]byte, n-int64(len(m.Bytes)))...)
	}
	return copy(m.Bytes[off:], p), nil
}

// ReadAt implements [io.ReaderAt].
func (m *Memory) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(m.Bytes)) {
		return 0, io.EOF
	}
	n := copy(p, m.Bytes[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
