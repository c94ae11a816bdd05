package image

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"io"
	"slices"
)

// debug/elf refuses a file for one damaged header. A damaged section is no
// reason to do without the others: mended shows debug/elf the file with such
// headers changed. A section whose name is not to be had has none; one that
// cannot be in the file is empty and of no type; where the names' own section
// is damaged, no section has a name.
type mended struct {
	io.ReaderAt
	size  int64
	order binary.ByteOrder
	wide  bool // of 64 bits
	// changes are bytes of headers, sorted by offset.
	changes []change
}

type change struct {
	off  int64
	with []byte
}

// ReadAt implements [io.ReaderAt].
func (m *mended) ReadAt(p []byte, off int64) (int, error) {
	n, err := m.ReaderAt.ReadAt(p, off)
	i, _ := slices.BinarySearchFunc(m.changes, off, func(c change, off int64) int {
		if c.off+int64(len(c.with)) <= off {
			return -1
		}
		return 1
	})
	for ; i < len(m.changes) && m.changes[i].off < off+int64(n); i++ {
		c := m.changes[i]
		if from := max(0, off-c.off); from < int64(len(c.with)) {
			copy(p[c.off+from-off:n], c.with[from:])
		}
	}
	return n, err
}

// done returns the file as it is to be read.
func (m *mended) done() io.ReaderAt {
	slices.SortStableFunc(m.changes, func(a, b change) int { return cmp.Compare(a.off, b.off) })
	return m
}

// unnamed is done for a file whose sections have no names.
func (m *mended) unnamed(t sectionTable) (io.ReaderAt, error) {
	m.noNames()
	if err := m.sections(t, nil); err != nil {
		return nil, err
	}
	return m.done(), nil
}

func (m *mended) change(off int64, with ...byte) {
	m.changes = append(m.changes, change{off, with})
}

// field returns the one of two offsets or sizes that is the file's.
func (m *mended) field(narrow, wide int64) int64 {
	if m.wide {
		return wide
	}
	return narrow
}

// noNames says that no section has a name.
func (m *mended) noNames() { m.change(m.field(50, 62), 0, 0) }

// noSections says that there are no sections.
func (m *mended) noSections() {
	m.change(m.field(32, 40), make([]byte, m.field(4, 8))...)
	m.change(m.field(48, 60), 0, 0)
	m.noNames()
}

// flags32 returns where in a section header the lower half of its flags is.
func (m *mended) flags32() int {
	if m.wide && m.order == binary.ByteOrder(binary.BigEndian) {
		return 12
	}
	return 8
}

// programs mends the program headers, given the ELF header.
func (m *mended) programs(h []byte) {
	if !m.wide {
		return // its offsets cannot be negative
	}
	off, entry, count := int64(m.order.Uint64(h[32:])), int64(m.order.Uint16(h[54:])), int64(m.order.Uint16(h[56:]))
	const size, fileOffset, fileSize = 56, 8, 32
	if off <= 0 || entry < size {
		return
	}
	var b [size]byte
	for i := range count {
		at := off + i*entry
		if at < 0 || at > m.size {
			return
		}
		if _, err := m.ReaderAt.ReadAt(b[:], at); err != nil {
			return
		}
		// Where a segment is in memory still holds.
		for _, field := range []int64{fileOffset, fileSize} {
			if int64(m.order.Uint64(b[field:])) < 0 {
				m.change(at+field, make([]byte, 8)...)
			}
		}
	}
}

// A sectionTable is where the section headers are; they lie in the file.
type sectionTable struct {
	off, entry int64
	count      int
}

// sections mends the section headers. names is the table of their names, nil
// where there is none.
func (m *mended) sections(t sectionTable, names []byte) error {
	size := m.field(40, 64)
	end := bytes.LastIndexByte(names, 0) // names behind it have no end
	empty := make([]byte, 4)
	if end < 0 && len(names) > 0 {
		m.noNames()
		names = nil
	} else if len(names) > 0 {
		m.order.PutUint32(empty, uint32(end))
	}
	const atATime = 1024
	step := 1
	if t.entry == size {
		step = max(1, min(atATime, t.count))
	}
	buffer := make([]byte, size*int64(step))
	for i := 0; i < t.count; i += step {
		at := t.off + int64(i)*t.entry
		b := buffer[:size*int64(min(step, t.count-i))]
		if _, err := m.ReaderAt.ReadAt(b, at); err != nil {
			return err
		}
		for ; len(b) > 0; b, at = b[size:], at+size {
			if !m.inFile(b) {
				m.change(at, append(slices.Clone(empty), make([]byte, size-4)...)...)
			} else if names != nil && int64(m.order.Uint32(b)) > int64(end) {
				m.change(at, empty...)
			}
		}
	}
	return nil
}

// inFile reports whether debug/elf can read a section header: its offset and
// size are numbers of bytes, and its compression header is in the file.
func (m *mended) inFile(b []byte) bool {
	var flags elf.SectionFlag
	var off, size, head int64
	if m.wide {
		flags, off, size, head = elf.SectionFlag(m.order.Uint64(b[8:])), int64(m.order.Uint64(b[24:])), int64(m.order.Uint64(b[32:])), 24
	} else {
		flags, off, size, head = elf.SectionFlag(m.order.Uint32(b[8:])), int64(m.order.Uint32(b[16:])), int64(m.order.Uint32(b[20:])), 12
	}
	if off < 0 || size < 0 {
		return false
	}
	return flags&elf.SHF_COMPRESSED == 0 || size >= head && off <= m.size-head
}
