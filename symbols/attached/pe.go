package attached

import (
	"bytes"
	"encoding/binary"
	"io"

	"logparser/message"
)

// peFile is a PE file as far as attaching needs it. What is attached lies behind
// it, as an overlay, which the loader does not look at. A signature that is made
// later lies behind that, and covers it. GNU strip drops overlays: strip first.
type peFile struct {
	r    io.ReaderAt
	size int64
	// end is where what the headers speak of ends, without the signature.
	end int64
	// signature is the offset of the certificate table, 0 for none.
	signature, signatureSize int64
	// checkSum is the offset of the header's CheckSum.
	checkSum int64
	overlaps bool
}

func openPE(r io.ReaderAt, size int64) (*peFile, error) {
	le := binary.LittleEndian
	bad := func() (*peFile, error) {
		return nil, message.Errorf("%w: its headers cannot be read", ErrNotCarrier)
	}
	var dos [64]byte
	var nt [24]byte
	if readAt(r, dos[:], 0) != nil {
		return bad()
	}
	at := int64(le.Uint32(dos[0x3c:]))
	if readAt(r, nt[:], at) != nil || string(nt[:4]) != "PE\x00\x00" {
		return bad()
	}
	optional := make([]byte, le.Uint16(nt[20:]))
	if readAt(r, optional, at+24) != nil || len(optional) < 68 {
		return bad()
	}
	f := &peFile{r: r, size: size, checkSum: at + 24 + 64}
	count, dirs := 92, 96
	if le.Uint16(optional) == 0x20b {
		count, dirs = 108, 112
	}
	const security = 4
	if len(optional) >= dirs+8*(security+1) && le.Uint32(optional[count:]) > security {
		f.signature = int64(le.Uint32(optional[dirs+8*security:]))
		f.signatureSize = int64(le.Uint32(optional[dirs+8*security+4:]))
		if f.signature == 0 || f.signatureSize == 0 {
			f.signature, f.signatureSize = 0, 0
		}
	}
	f.end = int64(le.Uint32(optional[60:])) // SizeOfHeaders
	table := make([]byte, 40*int(le.Uint16(nt[6:])))
	if readAt(r, table, at+24+int64(len(optional))) != nil {
		return bad()
	}
	for i := 0; i < len(table); i += 40 {
		size, offset := int64(le.Uint32(table[i+16:])), int64(le.Uint32(table[i+20:]))
		if size == 0 || offset == 0 {
			continue
		}
		for k := 0; k < i; k += 40 {
			size2, offset2 := int64(le.Uint32(table[k+16:])), int64(le.Uint32(table[k+20:]))
			if size2 > 0 && offset < offset2+size2 && offset2 < offset+size {
				f.overlaps = true
			}
		}
		f.end = max(f.end, offset+size)
	}
	// The COFF symbols of MinGW's programs lie behind the sections, the names behind
	// the symbols.
	if symbols, n := int64(le.Uint32(nt[12:])), int64(le.Uint32(nt[16:])); symbols != 0 {
		end := symbols + n*18
		var length [4]byte
		if readAt(r, length[:], end) == nil {
			end += max(4, int64(le.Uint32(length[:])))
		}
		f.end = max(f.end, end)
	}
	return f, nil
}

func (f *peFile) find() (p placement, ok bool) {
	end := f.size
	if f.signature != 0 {
		end = min(f.signature, f.size)
	}
	// A signature begins at a multiple of 8.
	for pad := int64(0); pad < alignment && !ok; pad++ {
		if p.trailer, ok = readTrailer(f.r, end-pad); ok {
			p.end = end - pad
		}
	}
	p.offset = aligned(p.original)
	return p, ok && p.header == 0 && p.original <= p.end-trailerSize && p.offset+p.container+trailerSize <= p.end
}

// overlays are the kinds of overlays that are known by how they begin.
var overlays = []struct {
	head string
	what message.Text
}{
	{"PK\x03\x04", message.Textf("an archive")}, {"7z\xbc\xaf\x27\x1c", message.Textf("an archive")}, {"Rar!", message.Textf("an archive")},
	{"MSCF", message.Textf("an archive")}, {"\x28\xb5\x2f\xfd", message.Textf("an archive")},
	{"\xef\xbe\xad\xdeNullsoftInst", message.Textf("an installer's data")}, {"zlb\x1a", message.Textf("an installer's data")},
	{"idska32\x1a", message.Textf("an installer's data")}, {".wixburn", message.Textf("an installer's data")},
}

// overlay says what lies behind an image.
func overlay(r io.ReaderAt, from, size int64) error {
	head := make([]byte, min(64, size-from))
	if err := readAt(r, head, from); err != nil {
		return err
	}
	skipped := bytes.TrimLeft(head, "\x00")
	for _, o := range overlays {
		if bytes.HasPrefix(head, []byte(o.head)) || bytes.HasPrefix(skipped, []byte(o.head)) || len(head) > 4 && bytes.HasPrefix(head[4:], []byte(o.head)) {
			return message.Errorf("%w: %d bytes, which look like %s", ErrOverlay, size-from, o.what)
		}
	}
	return message.Errorf("%w: %d bytes at %#x", ErrOverlay, size-from, from)
}

func (f *peFile) plan(container int64) error {
	switch {
	case f.signature != 0:
		return ErrSigned
	case f.overlaps:
		return message.Errorf("%w: its sections lie over each other", ErrNotCarrier)
	case f.end > f.size:
		return message.Errorf("%w: it was cut: it has %d bytes and should have %d", ErrNotCarrier, f.size, f.end)
	case aligned(f.size)+container+trailerSize+alignment >= 1<<32:
		return message.Errorf("%w: it would become larger than 4 GiB", ErrNotCarrier)
	case f.end < f.size:
		rest := make([]byte, min(f.size-f.end, 1<<16))
		if err := readAt(f.r, rest, f.end); err != nil {
			return err
		}
		// Some linkers fill the file up.
		if int64(len(rest)) != f.size-f.end || len(bytes.Trim(rest, "\x00")) > 0 {
			return overlay(f.r, f.end, f.size)
		}
	}
	return nil
}

func (f *peFile) write(w io.Writer, t trailer, container io.Reader) error {
	var sum [4]byte
	if err := readAt(f.r, sum[:], f.checkSum); err != nil {
		return err
	}
	t.checkSum = binary.LittleEndian.Uint32(sum[:])
	if err := copyRange(w, f.r, 0, f.size); err != nil {
		return err
	}
	if err := writeZeros(w, aligned(f.size)-f.size); err != nil {
		return err
	}
	if _, err := io.Copy(w, container); err != nil {
		return err
	}
	// The trailer ends at a multiple of 8, so that a signature follows without a gap.
	if err := writeZeros(w, aligned(t.container)-t.container); err != nil {
		return err
	}
	_, err := w.Write(t.bytes())
	return err
}

func (f *peFile) original(p placement) (*patched, error) {
	if f.signature != 0 {
		return nil, message.Wrap(ErrSigned, "the file was signed after symbols were attached to it: the signature covers them, and has to be removed first")
	}
	if aligned(p.offset+p.container)+trailerSize != f.size {
		return nil, message.Errorf("%w: something was added behind them", ErrChanged)
	}
	if f.checkSum+4 > p.original {
		return nil, ErrChanged
	}
	// Whoever signs a file sets its CheckSum, and does not take it back.
	return &patched{f.r, f.checkSum, binary.LittleEndian.AppendUint32(nil, p.checkSum)}, nil
}
