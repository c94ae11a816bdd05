package store

import (
	"context"
	"hash/crc32"
	"io"
)

// checksum returns the CRC-32 of a file, as .gnu_debuglink has it.
func (f *Finder) checksum(ctx context.Context, path string) (uint32, error) {
	file, err := f.open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	block := make([]byte, 1<<20)
	for at := int64(0); at < file.Size; at += int64(len(block)) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := file.ReadAt(block[:min(int64(len(block)), file.Size-at)], at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		sum.Write(block[:n])
	}
	return sum.Sum32(), nil
}
