package image

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// InflateLimit is the most bytes that one compressed section may claim to
// hold. Sections that claim more are refused. Set it before opening images.
var InflateLimit int64 = 4 << 30

const (
	// maxRatio bounds what a compressed section may claim to hold, as a
	// multiple of its bytes in the file; deflate cannot exceed 1032.
	maxRatio = 1100
	// inMemory is the largest section that is kept in memory as a whole. Of
	// larger ones only the parts asked for are read; what has to be inflated
	// goes to a temporary file.
	inMemory = 2 << 20
	// maxString bounds a string in a string section, in bytes.
	maxString = 1 << 16
)

// A compression says how a section's bytes lie in the file.
type compression uint8

const (
	stored   compression = iota
	zlibELF              // SHF_COMPRESSED, zlib
	zstdELF              // SHF_COMPRESSED, zstd
	zlibName             // .zdebug_*: "ZLIB", a big-endian size, zlib
	unknownCompression
)

// A Section is a section of an image.
type Section struct {
	Name string
	// Index is the number by which symbol tables refer to the section.
	Index int
	// Addr is the virtual address, MemSize the bytes it takes there.
	Addr, MemSize uint64
	// Size is the number of bytes of the contents, inflated; what a
	// compressed section claims is not checked before it is read.
	Size int64
	// Exec says that the section holds code; NoBits that the file does not
	// have its contents (as in separate debug files).
	Exec, NoBits bool
	// Type, Flags, Link, Info and EntSize are the ELF section header's; they
	// are 0 in a PE.
	Type, Link, Info uint32
	Flags, EntSize   uint64

	im          *Image
	offset      int64 // in the file, of the bytes as they lie there
	fileSize    int64
	compression compression

	once    sync.Once
	content *Content
	err     error
}

// Compressed reports whether the file has the contents compressed.
func (s *Section) Compressed() bool { return s.compression != stored }

// Content returns the section's bytes for reading. It inflates them at the
// first call, if need be.
func (s *Section) Content() (*Content, error) {
	s.once.Do(func() {
		s.content, s.err = s.open()
		if s.err != nil {
			s.err = fmt.Errorf("%s: section %s: %w", s.im.file.Path, s.Name, s.err)
		}
	})
	return s.content, s.err
}

var errNoBits = errors.New("the file does not have the contents")

func (s *Section) open() (*Content, error) {
	if s.NoBits {
		return nil, errNoBits
	}
	if s.offset < 0 || s.fileSize < 0 || s.offset > s.im.file.Size || s.fileSize > s.im.file.Size-s.offset {
		return nil, fmt.Errorf("%d bytes at offset %#x are outside the file (%d bytes)", s.fileSize, s.offset, s.im.file.Size)
	}
	raw := io.NewSectionReader(s.im.file, s.offset, s.fileSize)
	if s.compression == stored {
		c := &Content{r: raw, size: s.fileSize}
		if c.size <= inMemory {
			mem := make([]byte, c.size)
			if _, err := io.ReadFull(raw, mem); err != nil {
				return nil, err
			}
			c.mem = mem
		}
		return c, nil
	}
	if s.Size < 0 || s.Size > InflateLimit {
		return nil, fmt.Errorf("claims to hold %d bytes, the limit is %d", uint64(s.Size), InflateLimit)
	}
	if s.Size/maxRatio > s.fileSize {
		return nil, fmt.Errorf("claims to hold %d bytes in %d", s.Size, s.fileSize)
	}
	inflated, err := s.inflater(raw)
	if err != nil {
		return nil, err
	}
	if s.Size <= inMemory {
		mem := make([]byte, s.Size)
		if _, err := io.ReadFull(inflated, mem); err != nil {
			return nil, fmt.Errorf("inflating: %w", err)
		}
		return &Content{mem: mem, size: s.Size}, nil
	}
	file, err := s.im.scratch.create()
	if err != nil {
		return nil, err
	}
	n, err := io.CopyBuffer(file, io.LimitReader(inflated, s.Size), make([]byte, 256<<10))
	if err == nil && n < s.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("inflating: %w", err)
	}
	return &Content{r: file, size: s.Size}, nil
}

// Head returns the first n bytes, or fewer where there are no more, without
// inflating the rest.
func (s *Section) Head(n int64) ([]byte, error) {
	if !s.Compressed() {
		c, err := s.Content()
		if err != nil {
			return nil, err
		}
		return c.Upto(0, n)
	}
	raw := io.NewSectionReader(s.im.file, s.offset, s.fileSize)
	r, err := s.inflater(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", s.im.file.Path, s.Name, err)
	}
	b := make([]byte, n)
	m, err := io.ReadFull(r, b)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, fmt.Errorf("%s: section %s: inflating: %w", s.im.file.Path, s.Name, err)
	}
	return b[:m], nil
}

func (s *Section) inflater(raw *io.SectionReader) (io.Reader, error) {
	header := int64(0)
	switch s.compression {
	case zlibELF:
		header = 12
		if s.im.PointerSize == 8 {
			header = 24
		}
	case zlibName:
		header = 12
	case zstdELF:
		return s.im.elf.openSection(s.Index)
	default:
		return nil, errors.New("unknown compression")
	}
	if raw.Size() < header {
		return nil, io.ErrUnexpectedEOF
	}
	return zlib.NewReader(bufio.NewReaderSize(io.NewSectionReader(raw, header, raw.Size()-header), 64<<10))
}

// zdebugSize reads the header of a .zdebug_ section.
func zdebugSize(r io.ReaderAt, offset int64) (size int64, ok bool) {
	var head [12]byte
	if _, err := r.ReadAt(head[:], offset); err != nil || string(head[:4]) != "ZLIB" {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(head[4:])), true
}

// A Content is the bytes of a section. It is safe for concurrent use.
type Content struct {
	r    io.ReaderAt
	mem  []byte // all of it, or nil
	size int64
}

// Size returns the number of bytes.
func (c *Content) Size() int64 {
	if c == nil {
		return 0
	}
	return c.size
}

// Bytes returns n bytes from offset off. They must not be changed.
func (c *Content) Bytes(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > c.Size() || n > c.Size()-off {
		return nil, fmt.Errorf("%d bytes at offset %#x: %w", n, off, io.ErrUnexpectedEOF)
	}
	if c.mem != nil {
		return c.mem[off : off+n : off+n], nil
	}
	if n == 0 {
		return nil, nil
	}
	b := make([]byte, n)
	if m, err := c.r.ReadAt(b, off); int64(m) < n {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%d bytes at offset %#x: %w", n, off, err)
	}
	return b, nil
}

// ReadInto is Bytes with the memory of *buf, which it makes larger if need be.
// The bytes are good until buf is used again.
func (c *Content) ReadInto(buf *[]byte, off, n int64) ([]byte, error) {
	if c == nil || c.mem != nil || off < 0 || n < 0 || off > c.size || n > c.size-off {
		return c.Bytes(off, n)
	}
	if int64(cap(*buf)) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	if m, err := c.r.ReadAt(b, off); int64(m) < n {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%d bytes at offset %#x: %w", n, off, err)
	}
	return b, nil
}

// Upto returns the bytes from offset off: n, or fewer where the section ends.
func (c *Content) Upto(off, n int64) ([]byte, error) {
	if off < 0 || off > c.Size() {
		return nil, fmt.Errorf("offset %#x: %w", off, io.ErrUnexpectedEOF)
	}
	return c.Bytes(off, min(n, c.Size()-off))
}

// String returns the NUL-terminated string at offset off.
func (c *Content) String(off int64) (string, error) {
	if c != nil && c.mem != nil {
		b, err := c.Upto(off, maxString)
		if err != nil {
			return "", err
		}
		return cString(b, off)
	}
	for n := int64(160); ; n *= 8 {
		b, err := c.Upto(off, min(n, maxString))
		if err != nil {
			return "", err
		}
		if s, err := cString(b, off); err == nil || n >= maxString || int64(len(b)) < n {
			return s, err
		}
	}
}

func cString(b []byte, off int64) (string, error) {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return string(b[:i]), nil
	}
	return "", fmt.Errorf("string at offset %#x has no end within %d bytes", off, len(b))
}

// scratch holds the temporary files of what was inflated.
type scratch struct {
	mu    sync.Mutex
	files []*os.File
	names []string
}

func (t *scratch) create() (*os.File, error) {
	f, err := os.CreateTemp("", "logparse-section-*")
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files = append(t.files, f)
	// Where an open file cannot be removed, closing does it.
	if os.Remove(f.Name()) != nil {
		t.names = append(t.names, f.Name())
	}
	return f, nil
}

func (t *scratch) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first error
	for _, f := range t.files {
		if err := f.Close(); first == nil {
			first = err
		}
	}
	for _, name := range t.names {
		if err := os.Remove(name); first == nil {
			first = err
		}
	}
	t.files, t.names = nil, nil
	return first
}
