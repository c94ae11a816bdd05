package image

import (
	"bytes"
	"io"
	"testing"
)

// zstdFrame returns a frame that says how far its matches reach back, with the text abc.
func zstdFrame(windowLog byte) []byte {
	return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3, 3<<3 | 1, 0, 0}, "abc"...)
}

// TestZstdWindow reads frames that ask for little and for much memory, of sections that claim to hold a thousand bytes and more.
func TestZstdWindow(t *testing.T) {
	for _, c := range []struct {
		windowLog byte
		size      int64
		read      bool
	}{{10, 3, true}, {23, 3, true}, {24, 3, false}, {24, 1 << 24, true}, {27, 1 << 24, false}, {28, 1 << 40, false}, {31, 1 << 40, false}} {
		r, err := newZstdReader(bytes.NewReader(zstdFrame(c.windowLog)), c.size)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if read := err == nil && string(text) == "abc"; read != c.read || err == nil && !read {
			t.Errorf("window of 2^%d bytes in a section of %d: %q, %v", c.windowLog, c.size, text, err)
		}
	}
}
