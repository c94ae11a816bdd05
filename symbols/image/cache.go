package image

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"logparser/filemap"
	"logparser/message"
	"logparser/wholefile"
)

// What is inflated can be kept, so that the next opening of the same build
// does not inflate it again: one file a section below symbols.File.Cache,
// named by the image's build-id and the section. An entry is
//
//	the section's bytes
//	the CRC-32C of each block of 64 KiB of them, little-endian
//	a footer of 40 bytes: "LPINFL" and a version, the number of bytes, how
//	many bytes they were inflated from and the last four of these (a zlib
//	stream's own checksum), and the CRC-32C of all that is not the section's
//	bytes, of the build-id and of the section's name
//
// Blocks are checked when they are first read, because reading all would take
// as long as the answer may. A damaged entry is removed, and the section
// inflated after all.

const (
	cacheFolder = "inflated"
	cacheMagic  = "LPINFL\x00\x01"
	footerSize  = 40
	// blockSize is how many bytes have a checksum of their own.
	blockSize = 64 << 10
	// staleAfter is when a file that was not finished counts as abandoned.
	staleAfter = time.Hour
	partSuffix = ".part-"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamagedEntry = message.New("a kept section is damaged")

// entryPath returns where the section is kept, "" where it is not.
func (s *Section) entryPath() string {
	id := s.im.Identity.BuildID
	name := strings.TrimPrefix(strings.TrimPrefix(s.Name, "."), "z")
	if s.im.file.Cache == "" || id == "" || !strings.HasPrefix(name, "debug_") || len(name) > 32 || strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '.' && (r < 'a' || r > 'z')
	}) {
		return ""
	}
	return filepath.Join(s.im.file.Cache, cacheFolder, hex.EncodeToString([]byte(id)), name)
}

// cached returns the section's kept bytes. Where there are none the section is
// inflated and kept. It returns nil where that cannot be done: then nothing is
// kept.
func (s *Section) cached() *backing {
	path := s.entryPath()
	if path == "" {
		return nil
	}
	if back := s.openEntry(path); back != nil {
		return back
	}
	if s.writeEntry(path) != nil {
		return nil
	}
	return s.openEntry(path)
}

// footer returns an entry's footer; table is its checksums.
func (s *Section) footer(table []byte) ([]byte, error) {
	tail, err := s.im.bytesAt(s.offset+max(0, s.fileSize-4), min(4, s.fileSize))
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, footerSize)
	b = append(b, cacheMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Size))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.fileSize))
	b = append(b, tail...)
	b = append(b, make([]byte, footerSize-4-len(b))...)
	sum := crc32.Checksum(table, castagnoli)
	for _, part := range [][]byte{b, []byte(s.im.Identity.BuildID), []byte(s.Name)} {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return binary.LittleEndian.AppendUint32(b, sum), nil
}

// openEntry opens a kept section, or returns nil where there is none that
// fits.
func (s *Section) openEntry(path string) *backing {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	back, err := s.readEntry(f)
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil
	}
	back.sums.path = path
	s.im.scratch.own(f)
	s.im.scratch.keep(back.m)
	return back
}

func (s *Section) readEntry(f *os.File) (*backing, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	blocks := (s.Size + blockSize - 1) / blockSize
	if !info.Mode().IsRegular() || info.Size() != s.Size+4*blocks+footerSize {
		return nil, errDamagedEntry
	}
	rest := make([]byte, 4*blocks+footerSize)
	if _, err := f.ReadAt(rest, s.Size); err != nil {
		return nil, err
	}
	want, err := s.footer(rest[:4*blocks])
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(rest[4*blocks:], want) {
		return nil, errDamagedEntry
	}
	return &backing{r: f, m: filemap.New(f, s.Size), sums: &sums{
		r: f, size: s.Size, table: rest[:4*blocks], checked: make([]atomic.Uint64, (blocks+63)/64),
	}}, nil
}

// writeEntry inflates the section and keeps it. The entry gets its name when
// it is whole.
func (s *Section) writeEntry(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	removeStale(dir)
	return wholefile.Replace(path, 0o600, func(f io.Writer) error {
		w := &sumWriter{w: f}
		if err := s.inflateTo(w); err != nil {
			return err
		}
		table := w.finish()
		footer, err := s.footer(table)
		if err != nil {
			return err
		}
		_, err = f.Write(append(table, footer...))
		return err
	})
}

// removeStale removes what killed processes left; whole files are never removed by age or size.
func removeStale(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.Contains(e.Name(), partSuffix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// A sumWriter computes the checksum of each block that it writes.
type sumWriter struct {
	w     io.Writer
	table []byte
	sum   uint32
	n     int // of the current block
}

func (w *sumWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		k := min(len(rest), blockSize-w.n)
		w.sum = crc32.Update(w.sum, castagnoli, rest[:k])
		if w.n += k; w.n == blockSize {
			w.table = binary.LittleEndian.AppendUint32(w.table, w.sum)
			w.sum, w.n = 0, 0
		}
		rest = rest[k:]
	}
	return w.w.Write(p)
}

// finish returns the checksums.
func (w *sumWriter) finish() []byte {
	if w.n > 0 {
		w.table = binary.LittleEndian.AppendUint32(w.table, w.sum)
	}
	return w.table
}

// sums tells whether blocks of a kept section are those that were written. It
// is safe for concurrent use.
type sums struct {
	r     io.ReaderAt
	path  string
	size  int64
	table []byte
	// checked has a bit for each block that was found right.
	checked []atomic.Uint64
}

var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

// check checks the blocks that n bytes from off on lie in. A damaged entry is
// removed, so that it does not take the next opening's time too.
func (s *sums) check(off, n int64) error {
	if n == 0 {
		return nil
	}
	for i := off / blockSize; i <= (off+n-1)/blockSize; i++ {
		word, bit := &s.checked[i/64], uint64(1)<<(i%64)
		if word.Load()&bit != 0 {
			continue
		}
		b := blocks.Get().(*[blockSize]byte)
		block := b[:min(blockSize, s.size-i*blockSize)]
		k, err := s.r.ReadAt(block, i*blockSize)
		sum := crc32.Checksum(block[:max(k, 0)], castagnoli)
		blocks.Put(b)
		if k < len(block) || sum != binary.LittleEndian.Uint32(s.table[4*i:]) {
			if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return message.Errorf("%w, and cannot be removed: %w", errDamagedEntry, err)
			}
			if err != nil && err != io.EOF {
				return message.Errorf("%w: %w", errDamagedEntry, err)
			}
			return errDamagedEntry
		}
		word.Or(bit)
	}
	return nil
}
