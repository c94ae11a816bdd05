package image

import (
	"io"

	"github.com/klauspost/compress/zstd"

	"logparser/message"
)

// A zstd frame says how far its matches reach back, which a decoder has to keep. No more than maxZstdWindow bytes
// are, as the command zstd does; nor more than the section claims to hold, but for zstdWindow, the window of the usual levels.
const (
	maxZstdWindow = 128 << 20
	zstdWindow    = 8 << 20
)

// newZstdReader returns a reader of the inflated bytes, of which there should be size, of the frames that r reads.
func newZstdReader(r io.Reader, size int64) (io.Reader, error) {
	window := max(zstdWindow, min(maxZstdWindow, size))
	// A frame of one segment has no window: its matches reach back over all that it holds, which is bound as memory.
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(window)), zstd.WithDecoderMaxMemory(uint64(window)))
	if err != nil {
		return nil, err
	}
	return &recoverReader{d}, nil
}

// recoverReader turns a panic of the zstd decoder into an error.
type recoverReader struct{ r io.Reader }

func (r *recoverReader) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, message.Errorf("damaged stream: %v", v)
		}
	}()
	return r.r.Read(p)
}
