package attached

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"logparser/message"
)

// Errors of [Attach] and [Detach] by which callers say what to do.
var (
	// ErrNone: nothing is attached to the file.
	ErrNone = message.New("no symbols are attached to the file")
	// ErrSigned: the file carries a signature, which any change would break.
	ErrSigned = message.New("the file is signed, and its signature would be broken")
	// ErrOverlay: something that is no part of the image lies behind it.
	ErrOverlay = message.New("something else lies behind the program")
	// ErrChanged: the file was changed after symbols were attached to it.
	ErrChanged = message.New("the file was changed after symbols were attached to it")
	// ErrNotCarrier: no symbols can be attached to the file.
	ErrNotCarrier = message.New("symbols cannot be attached to this file")
)

const (
	trailerMagic = "LPsym\r\n\x1a"
	trailerSize  = 64
	// alignment is that of the container and of what follows it, in bytes.
	alignment = 8
	// sectionName is the section of an ELF file that has the container.
	sectionName = ".lpsym"
)

// A trailer ends what was attached, and says how to take it off:
//
//	0  magic
//	8  u64 length of the original file
//	16 u64 length of the container
//	24 u32 0 for a PE file: then its CheckSum field as it was
//	       n for an ELF file: its header of n bytes as it was stands before the trailer
//	28 u32 CheckSum
//	32 SHA-256 of the original file
type trailer struct {
	original, container int64
	header, checkSum    uint32
	sum                 [sha256.Size]byte
}

func (t *trailer) bytes() []byte {
	le := binary.LittleEndian
	b := []byte(trailerMagic)
	b = le.AppendUint64(b, uint64(t.original))
	b = le.AppendUint64(b, uint64(t.container))
	b = le.AppendUint32(b, t.header)
	b = le.AppendUint32(b, t.checkSum)
	return append(b, t.sum[:]...)
}

// readTrailer reads a trailer that ends at end, with at most room bytes before it.
func readTrailer(r io.ReaderAt, end int64) (t trailer, ok bool) {
	var b [trailerSize]byte
	if end < trailerSize || readAt(r, b[:], end-trailerSize) != nil || string(b[:8]) != trailerMagic {
		return t, false
	}
	le := binary.LittleEndian
	original, container := le.Uint64(b[8:]), le.Uint64(b[16:])
	if original > 1<<62 || container > uint64(end) {
		return t, false
	}
	t = trailer{original: int64(original), container: int64(container), header: le.Uint32(b[24:]), checkSum: le.Uint32(b[28:])}
	copy(t.sum[:], b[32:])
	return t, true
}

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// A placement is where something attached lies in a file: the container at
// offset, the end of its trailer at end.
type placement struct {
	trailer
	offset, end int64
}

// A carrier is an executable file of a kind that symbols can be attached to.
type carrier interface {
	// find returns what is attached, not ok where nothing is.
	find() (placement, bool)
	// plan checks that a container of this length can be attached.
	plan(container int64) error
	// write writes the file with the container, whose trailer lacks only what
	// the carrier knows.
	write(w io.Writer, t trailer, container io.Reader) error
	// original returns the file as it was before p was attached.
	original(p placement) (*patched, error)
}

// openCarrier tells what kind of file it is.
func openCarrier(r io.ReaderAt, size int64) (carrier, error) {
	var head [4]byte
	if size < 64 || readAt(r, head[:], 0) != nil {
		return nil, message.Errorf("%w: it has %d bytes", ErrNotCarrier, size)
	}
	switch {
	case string(head[:]) == "\x7fELF":
		return openELF(r, size)
	case string(head[:2]) == "MZ":
		return openPE(r, size)
	}
	return nil, message.Errorf("%w: it is neither a PE nor an ELF file", ErrNotCarrier)
}

// Find opens the container that an executable carries. The error wraps [ErrNone]
// where there is none, and [ErrNotCarrier] of a file that cannot have one.
func Find(r io.ReaderAt, size int64) (*Container, error) {
	c, err := openCarrier(r, size)
	if err != nil {
		return nil, err
	}
	p, ok := c.find()
	if !ok {
		return nil, ErrNone
	}
	return OpenContainer(io.NewSectionReader(r, p.offset, p.container), p.container)
}

// Attach writes an executable, read from r, together with a container of these
// parts. What was attached before is left out. The errors wrap those above.
func Attach(w io.Writer, r io.ReaderAt, size int64, parts []Part) error {
	c, err := openCarrier(r, size)
	if err != nil {
		return err
	}
	if p, ok := c.find(); ok {
		original, err := detached(c, p, size)
		if err != nil {
			return err
		}
		r, size = original, p.original
		if c, err = openCarrier(r, size); err != nil {
			return err
		}
	}
	t := trailer{original: size, container: Length(parts)}
	if err := c.plan(t.container); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(r, 0, size)); err != nil {
		return err
	}
	sum.Sum(t.sum[:0])
	pipe, feed := io.Pipe()
	go func() { feed.CloseWithError(Write(feed, parts)) }()
	defer pipe.Close()
	return c.write(w, t, pipe)
}

// Detach writes an executable, read from r, as it was before anything was
// attached to it, byte for byte. The errors wrap those above; then what was written
// must not be used.
func Detach(w io.Writer, r io.ReaderAt, size int64) error {
	c, err := openCarrier(r, size)
	if err != nil {
		return err
	}
	p, ok := c.find()
	if !ok {
		return ErrNone
	}
	original, err := detached(c, p, size)
	if err != nil {
		return err
	}
	return copyRange(w, original, 0, p.trailer.original)
}

// detached returns the file without what is attached, and checks that it is what
// it was.
func detached(c carrier, p placement, size int64) (io.ReaderAt, error) {
	if p.trailer.original >= size {
		return nil, message.Errorf("%w: it has %d bytes and had %d", ErrChanged, size, p.trailer.original)
	}
	r, err := c.original(p)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	if err := copyRange(sum, r, 0, p.trailer.original); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum.Sum(nil), p.sum[:]) {
		return nil, message.Errorf("%w: without them it is not what it was (SHA-256)", ErrChanged)
	}
	return r, nil
}

// patched is a file in which the bytes from an offset on are others.
type patched struct {
	io.ReaderAt
	at    int64
	bytes []byte
}

func (p *patched) ReadAt(b []byte, offset int64) (int, error) {
	n, err := p.ReaderAt.ReadAt(b, offset)
	for i, v := range p.bytes {
		if k := p.at + int64(i) - offset; k >= 0 && k < int64(n) {
			b[k] = v
		}
	}
	return n, err
}

// writeZeros fills up to an alignment.
func writeZeros(w io.Writer, n int64) error {
	_, err := w.Write(make([]byte, n))
	return err
}

// copyRange copies [from, to) of r.
func copyRange(w io.Writer, r io.ReaderAt, from, to int64) error {
	n, err := io.Copy(w, io.NewSectionReader(r, from, to-from))
	if err == nil && n != to-from {
		err = io.ErrUnexpectedEOF
	}
	return err
}
