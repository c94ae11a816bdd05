package msf

import (
	"logparser/message"
)

// windowSize is how much of a stream a [Window] reads at a time, in bytes. It
// is larger than the longest record (65,537 bytes), so that most records lie
// whole in what was read.
const windowSize = 128 << 10

// A Window is a moving view of a part of a stream, for reading it from front
// to back in bounded memory. It is not safe for concurrent use.
type Window struct {
	s          *Stream
	start, end int64
	base       int64
	buf        []byte
}

// Reset makes the window show the bytes of s from start to end. Its buffer is
// kept.
func (w *Window) Reset(s *Stream, start, end int64) error {
	if start < 0 || start > end || end > s.size {
		return message.Errorf("%w: stream %d: bytes %d to %d of %d", ErrDamaged, s.number, start, end, s.size)
	}
	w.s, w.start, w.end, w.base, w.buf = s, start, end, start, w.buf[:0]
	return nil
}

// Start and End return the bounds of the part that is shown.
func (w *Window) Start() int64 { return w.start }

// End returns the offset behind the part's last byte.
func (w *Window) End() int64 { return w.end }

// Stream returns the stream that is shown.
func (w *Window) Stream() *Stream { return w.s }

// Bytes returns n bytes of the stream from off. They are valid until the next
// call.
func (w *Window) Bytes(off int64, n int) ([]byte, error) {
	if i := off - w.base; i >= 0 && n >= 0 && i+int64(n) <= int64(len(w.buf)) {
		return w.buf[i : i+int64(n)], nil
	}
	if off < w.start || n < 0 || int64(n) > w.end-off {
		return nil, message.Errorf("%w: stream %d: %d bytes wanted at %d, the part ends at %d",
			ErrDamaged, w.s.number, n, off, w.end)
	}
	size := min(max(int64(n), windowSize), w.end-off)
	if int64(cap(w.buf)) < size {
		w.buf = make([]byte, size)
	}
	w.buf = w.buf[:size]
	w.base = off
	if _, err := w.s.ReadAt(w.buf, off); err != nil {
		w.buf = w.buf[:0]
		return nil, err
	}
	return w.buf[:n], nil
}

// Hint reads n bytes from off at once, or as many as there are and fit: what
// is wanted next, where that is less than what would be read otherwise.
func (w *Window) Hint(off, n int64) {
	n = min(n, windowSize, w.end-off)
	if off < w.start || n <= 0 {
		return
	}
	if int64(cap(w.buf)) < n {
		w.buf = make([]byte, max(n, 4096))
	}
	w.buf = w.buf[:n]
	w.base = off
	if _, err := w.s.ReadAt(w.buf, off); err != nil {
		w.buf = w.buf[:0]
	}
}
