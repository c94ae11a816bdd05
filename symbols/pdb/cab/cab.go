// Package cab takes the file out of a cabinet of one file, the form in which
// symbol stores keep compressed PDBs ("name.pd_").
//
// A cabinet begins with a header, then lists folders and files; a folder is
// one compressed stream in blocks of up to 32 KB of content each, which may
// hold several files. Numbers are little-endian. Read are folders that are
// stored, and those compressed with MSZIP (deflate, a stream a block) or LZX.
// Cabinets that go on in another file are not.
//
// The format is described in Microsoft's "Cabinet File Format" ([MS-CAB]) and
// "LZX DELTA" ([MS-PATCH]), the MSZIP blocks in [MS-MCI].
package cab

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"

	"logparser/message"
)

// Magic begins every cabinet.
const Magic = "MSCF"

var (
	// ErrDamaged says that a cabinet contradicts itself or ends too soon.
	ErrDamaged = message.New("cabinet is damaged")
	// ErrUnsupported says that a cabinet is in a form that is not read here.
	ErrUnsupported = message.New("form of cabinet not supported")
	// ErrTooLarge says that the content is larger than the caller allows.
	ErrTooLarge = message.New("content of the cabinet is too large")
)

// Flags of the header.
const (
	hasPrevious = 1 << 0
	hasNext     = 1 << 1
	hasReserve  = 1 << 2
)

// Kinds of compression, in the lowest four bits of a folder's type.
const (
	kindStored = 0
	kindMSZIP  = 1
	kindLZX    = 3
)

const (
	headerSize = 36
	folderSize = 8
	fileSize   = 16
	blockSize  = 8

	// frame is the content of every block but the last of a folder, in bytes.
	frame = 32 << 10
	// maxBlock is the largest compressed block: what does not get smaller
	// may get larger by so much.
	maxBlock = frame + 6144
)

// A File is the first file of a cabinet.
type File struct {
	// Name is the file's name as the cabinet has it. It comes from another
	// machine and may be any path.
	Name string
	// Size is the length of its content in bytes, as the cabinet says. It is
	// at least known to be possible: no more than the blocks can hold.
	Size int64

	r      io.ReaderAt
	offset int64 // of the content in the folder
	pos    int64 // of the folder's first block
	end    int64
	blocks int
	kind   uint16
	skip   int64 // reserved bytes of a block
}

// Open reads the lists of a cabinet of the given size in bytes.
func Open(r io.ReaderAt, size int64) (*File, error) {
	h, err := read(r, 0, headerSize)
	if err != nil {
		return nil, err
	}
	if string(h[:4]) != Magic {
		return nil, message.Errorf("cab: %w: no signature", ErrDamaged)
	}
	le := binary.LittleEndian
	if n := int64(le.Uint32(h[8:])); n > size {
		return nil, message.Errorf("cab: %w: it is cut short: it should have %d bytes and has %d", ErrDamaged, n, size)
	}
	flags := le.Uint16(h[30:])
	if flags&(hasPrevious|hasNext) != 0 {
		return nil, message.Errorf("cab: part of a set of cabinets: %w", ErrUnsupported)
	}
	folders, files := le.Uint16(h[26:]), le.Uint16(h[28:])
	if folders == 0 || files == 0 {
		return nil, message.Errorf("cab: %w: no file in it", ErrDamaged)
	}
	pos := int64(headerSize)
	f := &File{r: r, end: size}
	var folderReserve int64
	if flags&hasReserve != 0 {
		b, err := read(r, pos, 4)
		if err != nil {
			return nil, err
		}
		pos += 4 + int64(le.Uint16(b))
		folderReserve, f.skip = int64(b[2]), int64(b[3])
	}
	entry, err := read(r, int64(le.Uint32(h[16:])), fileSize)
	if err != nil {
		return nil, err
	}
	f.Size, f.offset = int64(le.Uint32(entry)), int64(le.Uint32(entry[4:]))
	number := le.Uint16(entry[8:])
	if number >= folders {
		return nil, message.Errorf("cab: %w: file in folder %d of %d", ErrDamaged, number, folders)
	}
	if f.Name, err = readName(r, int64(le.Uint32(h[16:]))+fileSize, size); err != nil {
		return nil, err
	}
	b, err := read(r, pos+int64(number)*(folderSize+folderReserve), folderSize)
	if err != nil {
		return nil, err
	}
	f.pos, f.blocks, f.kind = int64(le.Uint32(b)), int(le.Uint16(b[4:])), le.Uint16(b[6:])
	if f.offset+f.Size > int64(f.blocks)*frame {
		return nil, message.Errorf("cab: %w: file of %d bytes at %d in %d blocks", ErrDamaged, f.Size, f.offset, f.blocks)
	}
	if int64(f.blocks)*blockSize > size {
		return nil, message.Errorf("cab: %w: %d blocks in %d bytes", ErrDamaged, f.blocks, size)
	}
	return f, nil
}

// maxName is the longest name of a file in a cabinet, in bytes.
const maxName = 256

func readName(r io.ReaderAt, pos, size int64) (string, error) {
	b, err := read(r, pos, max(min(maxName, size-pos), 0))
	if err != nil {
		return "", err
	}
	n := bytes.IndexByte(b, 0)
	if n < 0 {
		return "", message.Errorf("cab: %w: name at %d has no end", ErrDamaged, pos)
	}
	return string(b[:n]), nil
}

// Extract writes the file's content, at most limit bytes.
func (f *File) Extract(w io.Writer, limit int64) error {
	if f.Size > limit {
		return message.Errorf("cab: %w: %d bytes, %d are allowed", ErrTooLarge, f.Size, limit)
	}
	var decode func(block []byte, size int) ([]byte, error)
	switch f.kind & 0xF {
	case kindStored:
		decode = func(block []byte, size int) ([]byte, error) { return block, nil }
	case kindMSZIP:
		decode = newMSZIP().block
	case kindLZX:
		d, err := newLZX(int(f.kind >> 8 & 0x1F))
		if err != nil {
			return err
		}
		decode = d.block
	default:
		return message.Errorf("cab: compression %d: %w", f.kind&0xF, ErrUnsupported)
	}
	skip, left := f.offset, f.Size
	pos := f.pos
	buf := make([]byte, maxBlock)
	for i := 0; i < f.blocks && left > 0; i++ {
		h, err := readInto(buf[:blockSize], f.r, pos)
		if err != nil {
			return err
		}
		packed, size := int64(binary.LittleEndian.Uint16(h[4:])), int(binary.LittleEndian.Uint16(h[6:]))
		pos += blockSize + f.skip
		if packed > maxBlock || size > frame || size == 0 {
			return message.Errorf("cab: %w: block %d at %d of %d bytes for %d", ErrDamaged, i, pos, packed, size)
		}
		block, err := readInto(buf[:packed], f.r, pos)
		if err != nil {
			return err
		}
		out, err := decode(block, size)
		if err == nil && len(out) != size {
			err = message.Errorf("%w: %d bytes instead of %d", ErrDamaged, len(out), size)
		}
		if err != nil {
			return message.Errorf("cab: block %d at %d: %w", i, pos, err)
		}
		pos += packed
		n := min(skip, int64(len(out)))
		skip -= n
		out = out[n:]
		out = out[:min(left, int64(len(out)))]
		if _, err := w.Write(out); err != nil {
			return message.Errorf("cab: %w", err)
		}
		left -= int64(len(out))
	}
	if left > 0 {
		return message.Errorf("cab: %w: %d bytes of the file are missing", ErrDamaged, left)
	}
	return nil
}

// read reads n bytes, which are few.
func read(r io.ReaderAt, pos, n int64) ([]byte, error) { return readInto(make([]byte, n), r, pos) }

// readInto fills b and returns it.
func readInto(b []byte, r io.ReaderAt, pos int64) ([]byte, error) {
	if got, err := r.ReadAt(b, pos); got < len(b) {
		if err == io.EOF {
			return nil, message.Errorf("cab: %w: %d bytes wanted at %d", ErrDamaged, len(b), pos)
		}
		return nil, message.Errorf("cab: offset %d: %w", pos, err)
	}
	return b, nil
}

// mszip decodes blocks that are deflate streams behind a signature. Each may
// refer back to the content of the one before.
type mszip struct {
	inflate io.ReadCloser
	// out is the content of the block before; the next goes to spare.
	out, spare []byte
}

func newMSZIP() *mszip { return &mszip{inflate: flate.NewReader(bytes.NewReader(nil))} }

func (d *mszip) block(b []byte, size int) ([]byte, error) {
	if len(b) < 2 || b[0] != 'C' || b[1] != 'K' {
		return nil, message.Errorf("%w: no MSZIP signature", ErrDamaged)
	}
	if err := d.inflate.(flate.Resetter).Reset(bytes.NewReader(b[2:]), d.out); err != nil {
		return nil, err
	}
	if cap(d.spare) < size {
		d.spare = make([]byte, frame)
	}
	out := d.spare[:size]
	if _, err := io.ReadFull(d.inflate, out); err != nil {
		return nil, message.Errorf("%w: %w", ErrDamaged, err)
	}
	d.out, d.spare = out, d.out
	return out, nil
}
