package store

import (
	"context"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"logparser/message"
	"logparser/modules"
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

// compareChecksum compares a file with the checksum that the image names for
// its debug file. The right one proves the file to belong to a verified image,
// a wrong one that it does not belong to the image at all.
func (s *search) compareChecksum(path string) (modules.Match, message.Text) {
	img := s.verified
	if img == nil {
		img = s.unknown
	}
	if img == nil || !strings.EqualFold(modules.BaseName(img.DebugLink), filepath.Base(path)) {
		return modules.Unknown, message.Text{}
	}
	sum, err := s.checksum(s.ctx, path)
	switch {
	case err != nil:
	case sum != img.DebugLinkCRC:
		return modules.Different, message.Textf("it is checksum %08x, recorded is an image that names %08x", sum, img.DebugLinkCRC)
	case s.verified != nil:
		return modules.Same, message.Textf("checksum %08x, which the image names", sum)
	}
	return modules.Unknown, message.Text{}
}
