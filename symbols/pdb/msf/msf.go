// Package msf reads the container that program databases (PDB files) are kept
// in: a multi-stream file, MSF 7.00. It knows nothing of what the streams
// hold.
//
// A file is cut into pages of one size, a power of two from 512 to 65,536
// bytes. The first page is the superblock; it leads to the directory, which
// lists each stream's length and pages. Numbers are little-endian.
//
//	superblock  32 bytes magic, then six uint32: page size, page of the free
//	            map in use, pages in the file, bytes in the directory,
//	            unused, and then the pages that hold the list of the
//	            directory's pages (usually one)
//	directory   uint32 streams; a uint32 length a stream (all ones: the
//	            stream does not exist); the page numbers of each stream
//
// The format is described in the docs folder of Microsoft's pdb-rs project
// and in LLVM's "The PDB File Format".
package msf

import (
	"encoding/binary"
	"io"
	"math"

	"logparser/message"
)

// Magic begins every MSF 7.00 file.
const Magic = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\x00\x00\x00"

const (
	minPage = 512
	maxPage = 65536

	// absent is the length of a stream that does not exist.
	absent = 0xFFFFFFFF

	superblockSize = 52
)

var (
	// ErrMagic says that a file is not an MSF 7.00 file.
	ErrMagic = message.New("not an MSF 7.00 file")
	// ErrCut says that a file ends before its last page.
	ErrCut = message.New("file is cut short")
	// ErrDamaged says that a file contradicts itself.
	ErrDamaged = message.New("file is damaged")
	// ErrNoStream says that the file has no such stream.
	ErrNoStream = message.New("no such stream")
)

// A File is an opened multi-stream file. It is safe for concurrent use.
type File struct {
	r        io.ReaderAt
	pageSize int64
	pages    uint32
	streams  []extent
	// list holds the pages of all streams, one stream after the other.
	list []uint32
}

// extent is a stream's length and the index of its first page in File.list.
type extent struct {
	size  uint32
	first uint32
}

// Open reads the superblock and the directory of a file of the given size in
// bytes. Memory in use is bounded by the size of the directory.
func Open(r io.ReaderAt, size int64) (*File, error) {
	head := make([]byte, superblockSize)
	if n, err := readAt(r, head, 0); err != nil {
		if n = min(n, len(Magic)); n > 0 && string(head[:n]) == Magic[:n] {
			return nil, message.Errorf("%w: superblock needs %d bytes, the file has %d", ErrCut, superblockSize, size)
		}
		return nil, ErrMagic
	}
	if string(head[:len(Magic)]) != Magic {
		return nil, ErrMagic
	}
	f := &File{
		r:        r,
		pageSize: int64(binary.LittleEndian.Uint32(head[32:])),
		pages:    binary.LittleEndian.Uint32(head[40:]),
	}
	if f.pageSize < minPage || f.pageSize > maxPage || f.pageSize&(f.pageSize-1) != 0 {
		return nil, message.Errorf("%w: page size %d at offset 32", ErrDamaged, f.pageSize)
	}
	if need := int64(f.pages) * f.pageSize; need > size {
		return nil, message.Errorf("%w: %d pages of %d bytes need %d bytes, the file has %d",
			ErrCut, f.pages, f.pageSize, need, size)
	}
	dir, err := f.directory(int64(binary.LittleEndian.Uint32(head[44:])))
	if err != nil {
		return nil, err
	}
	if err := f.parse(dir); err != nil {
		return nil, err
	}
	return f, nil
}

// pagesOf returns the number of pages that n bytes need.
func (f *File) pagesOf(n int64) int64 { return (n + f.pageSize - 1) / f.pageSize }

// directory reads the stream directory, size bytes long.
func (f *File) directory(size int64) ([]byte, error) {
	if size < 4 || size > int64(f.pages)*f.pageSize {
		return nil, message.Errorf("%w: directory of %d bytes (offset 44) in a file of %d pages", ErrDamaged, size, f.pages)
	}
	count := f.pagesOf(size)
	roots := f.pagesOf(count * 4)
	if superblockSize+roots*4 > f.pageSize {
		return nil, message.Errorf("%w: directory of %d bytes needs %d root pages, more than the superblock can name", ErrDamaged, size, roots)
	}
	root := make([]byte, roots*4)
	if _, err := readAt(f.r, root, superblockSize); err != nil {
		return nil, message.Errorf("%w: list of root pages at offset %d: %w", ErrCut, superblockSize, err)
	}
	list := make([]byte, count*4)
	if err := f.gather(list, words(root), "root page"); err != nil {
		return nil, err
	}
	dir := make([]byte, size)
	if err := f.gather(dir, words(list), "directory page"); err != nil {
		return nil, err
	}
	return dir, nil
}

// gather fills buf from the given pages.
func (f *File) gather(buf []byte, pages []uint32, what string) error {
	for i, page := range pages {
		if page >= f.pages {
			return message.Errorf("%w: %s %d is number %d of %d", ErrDamaged, what, i, page, f.pages)
		}
		n := min(int64(len(buf)), f.pageSize)
		if _, err := readAt(f.r, buf[:n], int64(page)*f.pageSize); err != nil {
			return message.Errorf("msf: %s at offset %d: %w", what, int64(page)*f.pageSize, err)
		}
		buf = buf[n:]
	}
	return nil
}

// parse reads the directory's content.
func (f *File) parse(dir []byte) error {
	count := int64(binary.LittleEndian.Uint32(dir))
	if count > int64(len(dir)-4)/4 {
		return message.Errorf("%w: directory of %d bytes lists %d streams", ErrDamaged, len(dir), count)
	}
	sizes := words(dir[4 : 4+count*4])
	f.list = words(dir[4+count*4:])
	f.streams = make([]extent, count)
	var next, used int64
	for i, size := range sizes {
		if size == absent {
			size = 0
		}
		n := f.pagesOf(int64(size))
		if next+n > int64(len(f.list)) {
			return message.Errorf("%w: stream %d needs %d pages, the directory has %d left",
				ErrDamaged, i, n, int64(len(f.list))-next)
		}
		f.streams[i] = extent{size: size, first: uint32(next)}
		next += n
		// Stream 0 is the previous directory, whose pages may have been
		// given away since.
		if i > 0 {
			used += n
		}
	}
	// Pages are not shared, so no file can make a reader hold more than its
	// own size by listing the same pages again and again.
	if used > int64(f.pages) {
		return message.Errorf("%w: streams hold %d pages, the file has %d", ErrDamaged, used, f.pages)
	}
	f.list = f.list[:next]
	return nil
}

// PageSize returns the size of a page in bytes.
func (f *File) PageSize() int { return int(f.pageSize) }

// NumStreams returns the number of streams, those that do not exist included.
func (f *File) NumStreams() int { return len(f.streams) }

// Stream returns stream i. The error wraps [ErrNoStream] where the file has
// none of that number. A stream that was deleted is empty.
func (f *File) Stream(i int) (*Stream, error) {
	if i < 0 || i >= len(f.streams) {
		return nil, message.Errorf("%w: %d of %d", ErrNoStream, i, len(f.streams))
	}
	e := f.streams[i]
	n := f.pagesOf(int64(e.size))
	return &Stream{file: f, number: i, size: int64(e.size), pages: f.list[e.first : int64(e.first)+n]}, nil
}

// A Stream is one stream of a file. It is safe for concurrent use.
type Stream struct {
	file   *File
	number int
	size   int64
	pages  []uint32
}

// Size returns the length in bytes.
func (s *Stream) Size() int64 { return s.size }

// Number returns the stream's number in its file.
func (s *Stream) Number() int { return s.number }

// ReadAt implements [io.ReaderAt]. Pages that lie one behind the other in the
// file are read at once.
func (s *Stream) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, message.Errorf("msf: stream %d: negative offset", s.number)
	}
	done := 0
	for done < len(p) {
		if off >= s.size {
			return done, io.EOF
		}
		size := s.file.pageSize
		i, within := off/size, off%size
		last := i
		for want := within + int64(len(p)-done); last+1 < int64(len(s.pages)) &&
			(last+1-i)*size < want && s.pages[last+1] == s.pages[last]+1; {
			last++
		}
		if at := s.pages[last]; at >= s.file.pages {
			return done, message.Errorf("%w: stream %d: page %d is number %d of %d",
				ErrDamaged, s.number, last, at, s.file.pages)
		}
		n := min(int64(len(p)-done), (last-i+1)*size-within, s.size-off)
		at := int64(s.pages[i])*size + within
		got, err := readAt(s.file.r, p[done:done+int(n)], at)
		done += got
		off += int64(got)
		if err != nil {
			return done, message.Errorf("msf: stream %d: file offset %d: %w", s.number, at, err)
		}
	}
	return done, nil
}

// Read returns n bytes from off, in memory of its own.
func (s *Stream) Read(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > s.size || n > s.size-off || n > math.MaxInt32 {
		return nil, message.Errorf("%w: stream %d: %d bytes wanted at %d of %d", ErrDamaged, s.number, n, off, s.size)
	}
	buf := make([]byte, n)
	if _, err := s.ReadAt(buf, off); err != nil {
		return nil, err
	}
	return buf, nil
}

func words(b []byte) []uint32 {
	w := make([]uint32, len(b)/4)
	for i := range w {
		w[i] = binary.LittleEndian.Uint32(b[i*4:])
	}
	return w
}

// readAt is r.ReadAt, but a full read at the end of the file is no error.
func readAt(r io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return n, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
