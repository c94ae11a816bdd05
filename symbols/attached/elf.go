package attached

import (
	"bytes"
	"encoding/binary"
	"io"

	"logparser/message"
)

// elfFile is an ELF file as far as attaching needs it. What is attached is a section
// of its own, .lpsym. It is not loadable: nothing of the program's memory changes, no
// segment grows, and a program that never reads its symbols pays nothing. strip keeps
// it, because it is neither debug information nor a symbol table.
//
// The section, a longer table of section names and a longer section header table are
// written behind the file, whose own bytes stay where they are but for the ELF
// header, which is kept before the trailer.
type elfFile struct {
	r      io.ReaderAt
	size   int64
	header []byte
	order  binary.ByteOrder
	wide   bool // 64 bits
	// sections is the section header table, each header of entrySize bytes.
	sections  []byte
	entrySize int
	names     int // the index of the table of names
	tableAt   int64
	// end is where what the headers speak of ends.
	end int64
}

// An elfSection has the fields of a section header that are used here.
type elfSection struct {
	name, kind   uint32
	flags        uint64
	offset, size int64
}

// field reads a number of the size of an address at an offset of b, which differs
// between the two classes.
func (f *elfFile) field(b []byte, at32, at64 int) int64 {
	if f.wide {
		return int64(f.order.Uint64(b[at64:]))
	}
	return int64(f.order.Uint32(b[at32:]))
}

func (f *elfFile) setField(b []byte, at32, at64 int, v int64) {
	if f.wide {
		f.order.PutUint64(b[at64:], uint64(v))
	} else {
		f.order.PutUint32(b[at32:], uint32(v))
	}
}

// half returns the place of a 16-bit field of the ELF header that follows its addresses.
func (f *elfFile) half(at32, at64 int) int {
	if f.wide {
		return at64
	}
	return at32
}

func (f *elfFile) section(i int) elfSection {
	b := f.sections[i*f.entrySize:]
	return elfSection{f.order.Uint32(b), f.order.Uint32(b[4:]), uint64(f.field(b, 8, 8)), f.field(b, 16, 24), f.field(b, 20, 32)}
}

func (f *elfFile) count() int { return len(f.sections) / f.entrySize }

const (
	sectionNoBits   = 8
	sectionAlloc    = 2
	sectionProgBits = 1
	// sectionsReserved is from where on section numbers do not fit in the ELF header.
	sectionsReserved = 0xff00
	maxNames         = 64 << 20
)

func openELF(r io.ReaderAt, size int64) (*elfFile, error) {
	bad := func() (*elfFile, error) {
		return nil, message.Errorf("%w: its headers cannot be read", ErrNotCarrier)
	}
	var ident [64]byte
	if readAt(r, ident[:], 0) != nil {
		return bad()
	}
	f := &elfFile{r: r, size: size, order: binary.LittleEndian, wide: ident[4] == 2}
	if ident[5] == 2 {
		f.order = binary.BigEndian
	}
	f.header = bytes.Clone(ident[:f.half(52, 64)])
	f.entrySize = f.half(40, 64)
	shentsize, shnum := f.order.Uint16(f.header[f.half(46, 58):]), f.order.Uint16(f.header[f.half(48, 60):])
	f.names = int(f.order.Uint16(f.header[f.half(50, 62):]))
	f.tableAt = f.field(f.header, 32, 40)
	if f.tableAt == 0 || shnum == 0 {
		return nil, message.Errorf("%w: it has no table of sections", ErrNotCarrier)
	}
	if int(shentsize) != f.entrySize || int(shnum)+1 >= sectionsReserved || f.names >= int(shnum) || f.tableAt < 0 || f.tableAt > size {
		return bad()
	}
	f.sections = make([]byte, int(shnum)*f.entrySize)
	if readAt(r, f.sections, f.tableAt) != nil {
		return bad()
	}
	f.end = f.tableAt + int64(len(f.sections))
	for i := range f.count() {
		if s := f.section(i); s.kind != sectionNoBits && s.kind != 0 {
			if s.offset < 0 || s.size < 0 || s.offset > size || s.size > size-s.offset {
				return bad()
			}
			f.end = max(f.end, s.offset+s.size)
		}
	}
	programs := f.field(f.header, 28, 32)
	n := int64(f.order.Uint16(f.header[f.half(44, 56):]))
	step := int64(f.order.Uint16(f.header[f.half(42, 54):]))
	if n > 0 && step >= int64(f.half(32, 56)) && programs > 0 && programs < size {
		table := make([]byte, n*step)
		if readAt(r, table, programs) != nil {
			return bad()
		}
		for i := range n {
			b := table[i*step:]
			if offset, length := f.field(b, 4, 8), f.field(b, 16, 32); offset >= 0 && length >= 0 && offset <= size && length <= size-offset {
				f.end = max(f.end, offset+length)
			}
		}
	}
	return f, nil
}

// name returns the name of a section, of at most 32 bytes.
func (f *elfFile) name(s elfSection) string {
	table := f.section(f.names)
	if int64(s.name) >= table.size {
		return ""
	}
	b := make([]byte, min(32, table.size-int64(s.name)))
	if readAt(f.r, b, table.offset+int64(s.name)) != nil {
		return ""
	}
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name)
}

func (f *elfFile) find() (p placement, ok bool) {
	for i := f.count() - 1; i > 0; i-- {
		s := f.section(i)
		if s.kind != sectionProgBits || s.size < trailerSize || f.name(s) != sectionName {
			continue
		}
		p.end, p.offset = s.offset+s.size, s.offset
		p.trailer, ok = readTrailer(f.r, p.end)
		return p, ok && int(p.header) == len(f.header) && p.container+int64(p.header)+trailerSize <= s.size
	}
	return p, false
}

func (f *elfFile) plan(container int64) error {
	switch {
	case f.end < f.size:
		return overlay(f.r, f.end, f.size)
	case !f.wide && aligned(f.size)+container+maxNames >= 1<<32:
		return message.Errorf("%w: it would become larger than 4 GiB", ErrNotCarrier)
	case f.section(f.names).flags&sectionAlloc != 0:
		return message.Errorf("%w: its section names are loaded", ErrNotCarrier)
	case f.section(f.names).size > maxNames:
		return message.Errorf("%w: its section names take %d bytes", ErrNotCarrier, f.section(f.names).size)
	}
	return nil
}

func (f *elfFile) write(w io.Writer, t trailer, container io.Reader) error {
	old := f.section(f.names)
	names := make([]byte, old.size)
	if err := readAt(f.r, names, old.offset); err != nil {
		return err
	}
	nameAt := len(names)
	names = append(append(names, sectionName...), 0)
	t.header = uint32(len(f.header))

	sectionAt := aligned(f.size)
	padded := aligned(t.container)
	sectionSize := padded + int64(t.header) + trailerSize
	namesAt := sectionAt + sectionSize
	tableAt := aligned(namesAt + int64(len(names)))

	table := bytes.Clone(f.sections)
	entry := table[f.names*f.entrySize:]
	f.setField(entry, 16, 24, namesAt)
	f.setField(entry, 20, 32, int64(len(names)))
	added := make([]byte, f.entrySize)
	f.order.PutUint32(added, uint32(nameAt))
	f.order.PutUint32(added[4:], sectionProgBits)
	f.setField(added, 16, 24, sectionAt)
	f.setField(added, 20, 32, sectionSize)
	f.setField(added, 32, 48, alignment)
	table = append(table, added...)

	header := bytes.Clone(f.header)
	f.setField(header, 32, 40, tableAt)
	f.order.PutUint16(header[f.half(48, 60):], uint16(f.count()+1))

	if _, err := w.Write(header); err != nil {
		return err
	}
	if err := copyRange(w, f.r, int64(len(header)), f.size); err != nil {
		return err
	}
	if err := writeZeros(w, sectionAt-f.size); err != nil {
		return err
	}
	if _, err := io.Copy(w, container); err != nil {
		return err
	}
	if err := writeZeros(w, padded-t.container); err != nil {
		return err
	}
	tail := append(bytes.Clone(f.header), t.bytes()...)
	tail = append(tail, names...)
	tail = append(tail, make([]byte, tableAt-namesAt-int64(len(names)))...)
	_, err := w.Write(append(tail, table...))
	return err
}

func (f *elfFile) original(p placement) (*patched, error) {
	header := make([]byte, p.header)
	if err := readAt(f.r, header, p.end-trailerSize-int64(p.header)); err != nil {
		return nil, err
	}
	if p.trailer.original < int64(len(header)) || p.offset != aligned(p.trailer.original) {
		return nil, message.Errorf("%w: a program such as strip has moved them", ErrChanged)
	}
	return &patched{f.r, 0, header}, nil
}
