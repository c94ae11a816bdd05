package image

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"logparser/filemap"
	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/image/inflate"
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
	// have its contents (as in separate debug files); Writable that the
	// program may change them while it runs.
	Exec, NoBits, Writable bool
	// Type, Flags, Link, Info and EntSize are the ELF section header's; they
	// are 0 in a PE.
	Type, Link, Info uint32
	Flags, EntSize   uint64

	im          *Image
	offset      int64 // in the file, of the bytes as they lie there
	fileSize    int64
	compression compression
	// relocations are the sections that are applied to this one.
	relocations []*Section

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
		if s.err == nil && len(s.relocations) > 0 {
			s.content, s.err = s.relocate(s.content)
		}
		if s.err != nil {
			s.err = message.Errorf("%s: section %s: %w", s.im.file.Path, s.Name, s.err)
		}
	})
	return s.content, s.err
}

var errNoBits = message.New("the file does not have the contents")

func (s *Section) open() (*Content, error) {
	if s.NoBits {
		return nil, errNoBits
	}
	if s.offset < 0 || s.fileSize < 0 || s.offset > s.im.file.Size || s.fileSize > s.im.file.Size-s.offset {
		return nil, message.Errorf("%d bytes at offset %#x are outside the file (%d bytes)", s.fileSize, s.offset, s.im.file.Size)
	}
	if s.compression == stored {
		if s.fileSize <= inMemory {
			mem := make([]byte, s.fileSize)
			if _, err := io.ReadFull(io.NewSectionReader(s.im.file, s.offset, s.fileSize), mem); err != nil {
				return nil, err
			}
			return &Content{mem: mem, size: s.fileSize}, nil
		}
		return s.im.stored(s.offset, s.fileSize), nil
	}
	if s.Size < 0 || s.Size > InflateLimit {
		return nil, message.Errorf("claims to hold %d bytes, the limit is %d", uint64(s.Size), InflateLimit)
	}
	if s.Size/maxRatio > s.fileSize {
		return nil, message.Errorf("claims to hold %d bytes in %d", s.Size, s.fileSize)
	}
	if s.Size <= inMemory {
		inflated, err := s.inflater()
		if err != nil {
			return nil, err
		}
		mem := make([]byte, s.Size)
		if _, err := io.ReadFull(inflated, mem); err != nil {
			return nil, message.Errorf("inflating: %w", err)
		}
		return &Content{mem: mem, size: s.Size}, nil
	}
	c := &Content{size: s.Size}
	if back := s.cached(); back != nil {
		c.repair = s.inflate
		c.backing.Store(back)
		return c, nil
	}
	back, err := s.inflate()
	if err != nil {
		return nil, err
	}
	c.backing.Store(back)
	return c, nil
}

// stored returns the n bytes of the file from off on.
func (im *Image) stored(off, n int64) *Content {
	c := &Content{size: n}
	c.backing.Store(&backing{r: io.NewSectionReader(im.file, off, n), m: im.mapped(), off: off})
	return c
}

// inflate inflates the section to a temporary file.
func (s *Section) inflate() (*backing, error) {
	file, err := s.im.scratch.create()
	if err != nil {
		return nil, err
	}
	if err := s.inflateTo(file); err != nil {
		return nil, err
	}
	m := filemap.New(file, s.Size)
	s.im.scratch.keep(m)
	return &backing{r: file, m: m}, nil
}

// inflateTo writes the section's inflated bytes. One goroutine inflates while
// another writes.
func (s *Section) inflateTo(w io.Writer) error {
	inflated, err := s.inflater()
	if err != nil {
		return err
	}
	limited := io.LimitReader(&stoppable{inflated, &s.im.closing}, s.Size)
	const count, size = 3, 256 << 10
	full, free := make(chan []byte, count), make(chan []byte, count)
	for range count {
		free <- make([]byte, size)
	}
	written := make(chan error, 1)
	var failed atomic.Bool
	go func() {
		var first error
		for b := range full {
			if first == nil {
				_, first = w.Write(b)
				failed.Store(first != nil)
			}
			free <- b[:size]
		}
		written <- first
	}()
	n := int64(0)
	for err == nil && !failed.Load() {
		b := <-free
		var k int
		k, err = io.ReadFull(limited, b)
		n += int64(k)
		full <- b[:k]
	}
	close(full)
	writing := <-written
	switch {
	case writing != nil:
		return message.Errorf("keeping what is inflated: %w", writing)
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return message.Errorf("inflating: %w", err)
	case n < s.Size:
		return message.Errorf("inflating: %w", io.ErrUnexpectedEOF)
	}
	return nil
}

// A stoppable reader ends when its image is being closed.
type stoppable struct {
	r       io.Reader
	closing *atomic.Bool
}

func (s *stoppable) Read(p []byte) (int, error) {
	if s.closing.Load() {
		return 0, os.ErrClosed
	}
	return s.r.Read(p)
}

// Inflate begins to inflate debug sections, given their names without
// ".debug_", on all processors, so that they are ready when they are asked for
// or soon after. Sections that are small, stored or not there are passed over.
// Errors are told by [Section.Content].
func (im *Image) Inflate(names ...string) {
	var list []*Section
	for _, name := range names {
		if s := im.Debug(name); s != nil && s.Compressed() && s.Size > inMemory {
			list = append(list, s)
		}
	}
	// One stream is inflated by one processor, so the longest comes first.
	slices.SortFunc(list, func(a, b *Section) int { return cmp.Compare(b.fileSize, a.fileSize) })
	next := new(atomic.Int64)
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		im.background.Add(1)
		go func() {
			defer im.background.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(list) || im.closing.Load() {
					return
				}
				list[i].Content()
			}
		}()
	}
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
	r, err := s.inflater()
	if err != nil {
		return nil, message.Errorf("%s: section %s: %w", s.im.file.Path, s.Name, err)
	}
	b := make([]byte, n)
	m, err := io.ReadFull(r, b)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, message.Errorf("%s: section %s: inflating: %w", s.im.file.Path, s.Name, err)
	}
	return b[:m], nil
}

// inflater reads the section's inflated bytes.
func (s *Section) inflater() (io.Reader, error) {
	header := int64(12)
	switch s.compression {
	case zlibELF, zstdELF:
		if s.im.PointerSize == 8 {
			header = 24
		}
	case zlibName:
	default:
		return nil, message.New("unknown compression")
	}
	if s.fileSize < header {
		return nil, io.ErrUnexpectedEOF
	}
	r := io.NewSectionReader(s.im.file, s.offset+header, s.fileSize-header)
	if s.compression == zstdELF {
		return newZstdReader(r, s.Size)
	}
	return inflate.NewReader(r), nil
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
	mem     []byte // all of it, or nil: then it is read from backing
	size    int64
	backing atomic.Pointer[backing]
	// repair, where it is not nil, makes another backing for one that turned
	// out to be damaged.
	repair   func() (*backing, error)
	repaired sync.Once
}

// A backing is the file that has a content.
type backing struct {
	r io.ReaderAt
	// m is the file that r reads, mapped, or nil; the content begins at off.
	m   *filemap.Mapping
	off int64
	// sums, where it is not nil, tells whether the bytes are those that were
	// written.
	sums *sums
}

// maxCopy is the longest run of bytes that is copied from a mapping, which saves
// a system call for each of many small reads. Long runs are read from the file:
// that is as fast, and it keeps pages of the file out of the process.
const maxCopy = 16 << 10

// readAt fills p with the content's bytes from off on, from the mapping if
// that may be. It is within bounds.
func (c *Content) readAt(p []byte, off int64, mapped bool) error {
	back := c.backing.Load()
	if back.sums != nil {
		if err := back.sums.check(off, int64(len(p))); err != nil {
			if back, err = c.other(back, err); err != nil {
				return err
			}
		}
	}
	if mapped && back.m != nil && len(p) <= maxCopy && back.m.Copy(p, back.off+off) == nil {
		return nil
	}
	n, err := back.r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return message.Errorf("%d bytes at offset %#x: %w", len(p), off, err)
}

// other returns the backing that takes the place of a damaged one.
func (c *Content) other(damaged *backing, err error) (*backing, error) {
	if c.repair == nil {
		return nil, err
	}
	c.repaired.Do(func() {
		if back, err := c.repair(); err == nil {
			c.backing.Store(back)
		}
	})
	if back := c.backing.Load(); back != damaged {
		return back, nil
	}
	return nil, err
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
		return nil, message.Errorf("%d bytes at offset %#x: %w", n, off, io.ErrUnexpectedEOF)
	}
	if n == 0 {
		return nil, nil
	}
	if c.mem != nil {
		return c.mem[off : off+n : off+n], nil
	}
	b := make([]byte, n)
	return b, c.readAt(b, off, true)
}

// ReadInto is Bytes with the memory of *buf, which it makes larger if need be.
// The bytes are good until buf is used again. It reads the file and no mapping
// of it: what many small reads of a big section touch would stay in memory.
func (c *Content) ReadInto(buf *[]byte, off, n int64) ([]byte, error) {
	if c == nil || c.mem != nil || off < 0 || n < 0 || off > c.size || n > c.size-off {
		return c.Bytes(off, n)
	}
	if int64(cap(*buf)) < n {
		*buf = make([]byte, n)
	}
	b := (*buf)[:n]
	return b, c.readAt(b, off, false)
}

// UseOnce calls look with n bytes from offset off where they are in memory or in a mapping of the file, so that nothing is
// copied. look must not keep them. It may be ended anywhere by a fault, where the file was shortened. UseOnce reports
// whether look came to its end.
func (c *Content) UseOnce(off, n int64, look func(b []byte)) bool {
	if off < 0 || n < 0 || off > c.Size() || n > c.Size()-off {
		return false
	}
	if c.mem != nil {
		look(c.mem[off : off+n : off+n])
		return true
	}
	back := c.backing.Load()
	if back.m == nil || back.sums != nil && back.sums.check(off, n) != nil {
		return false
	}
	return back.m.UseOnce(back.off+off, back.off+off+n, look) == nil
}

// Upto returns the bytes from offset off: n, or fewer where the section ends.
func (c *Content) Upto(off, n int64) ([]byte, error) {
	if off < 0 || off > c.Size() {
		return nil, message.Errorf("offset %#x: %w", off, io.ErrUnexpectedEOF)
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
	if off < 0 || off > c.Size() {
		return "", message.Errorf("offset %#x: %w", off, io.ErrUnexpectedEOF)
	}
	if c != nil {
		if back := c.backing.Load(); back.m != nil {
			s, ok, err := back.m.String(back.off+off, back.off+min(off+maxString, c.size))
			if ok && err == nil && (back.sums == nil || back.sums.check(off, int64(len(s))+1) == nil) {
				return s, nil
			}
		}
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
	return "", message.Errorf("string at offset %#x has no end within %d bytes", off, len(b))
}

// scratch holds the temporary files of what was inflated, and mappings.
type scratch struct {
	mu    sync.Mutex
	files []*os.File
	names []string
	maps  []*filemap.Mapping
}

func (t *scratch) create() (*os.File, error) {
	f, err := os.CreateTemp("", "logparse-section-*")
	if err != nil {
		return nil, symbols.NoTemporary(err)
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

// keep closes a mapping, which may be nil, with the rest.
func (t *scratch) keep(m *filemap.Mapping) {
	if m != nil {
		t.mu.Lock()
		t.maps = append(t.maps, m)
		t.mu.Unlock()
	}
}

// own closes a file with the rest.
func (t *scratch) own(f *os.File) {
	t.mu.Lock()
	t.files = append(t.files, f)
	t.mu.Unlock()
}

func (t *scratch) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first error
	for _, m := range t.maps {
		if err := m.Close(); first == nil {
			first = err
		}
	}
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
	t.files, t.names, t.maps = nil, nil, nil
	return first
}
