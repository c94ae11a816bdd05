package image

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
)

// zstdText is a last block with the text abc.
const zstdText = "\x19\x00\x00abc"

// zstdFrame returns a frame that says how far its matches reach back, with the text abc.
func zstdFrame(windowLog byte) []byte {
	return append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - 10) << 3}, zstdText...)
}

// zstdSegment returns a frame without a window: matches reach back over all of the size that it says.
func zstdSegment(size uint64) []byte {
	return append(binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, size), zstdText...)
}

// TestZstdWindow reads frames that ask for little and for much memory, of sections that claim to hold three bytes and more.
func TestZstdWindow(t *testing.T) {
	for _, c := range []struct {
		frame []byte
		size  int64
		read  bool
	}{
		{zstdFrame(10), 3, true}, {zstdFrame(23), 3, true}, {zstdFrame(24), 3, false}, {zstdFrame(24), 1 << 24, true},
		{zstdFrame(27), 1 << 24, false}, {zstdFrame(28), 1 << 40, false}, {zstdFrame(31), 1 << 40, false},
		{zstdSegment(3), 3, true}, {zstdSegment(1 << 40), 3, false}, {zstdSegment(1 << 40), 1 << 40, false},
	} {
		r, err := newZstdReader(bytes.NewReader(c.frame), c.size)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if read := err == nil && string(text) == "abc"; read != c.read || err == nil && !read {
			t.Errorf("frame %x in a section of %d bytes: %q, %v", c.frame, c.size, text, err)
		}
	}
}
