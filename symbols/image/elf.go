package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"strings"

	"logparser/message"
	"logparser/modules"
)

// elfHeaders keeps what debug/elf read.
type elfHeaders struct{ f *elf.File }

const (
	// maxSections and maxSectionNames (in bytes, all names together) bound
	// what debug/elf allocates for section headers. Linked files have fewer
	// than a hundred sections; relocatable ones can have tens of thousands.
	maxSections     = 1 << 17
	maxSectionNames = 32 << 20
	// maxNotes bounds the bytes of a note section or segment that are read.
	maxNotes = 64 << 10
)

// checkELF looks at the counts that debug/elf trusts: it makes a section
// record of every header and a copy of every name, and names may overlap. It
// returns the file as debug/elf can read it, which gives up at the first
// header that is damaged (see mend.go).
func checkELF(r io.ReaderAt, size int64) (io.ReaderAt, error) {
	var h [64]byte
	if _, err := r.ReadAt(h[:], 0); err != nil {
		return nil, err
	}
	m := &mended{ReaderAt: r, size: size}
	var order binary.ByteOrder = binary.LittleEndian
	if h[5] == byte(elf.ELFDATA2MSB) {
		order = binary.BigEndian
	}
	var shoff, shsize, shoffset int64
	var shnum, shentsize, shstrndx, want int
	header := make([]byte, 64)
	switch elf.Class(h[4]) {
	case elf.ELFCLASS32:
		shoff = int64(order.Uint32(h[32:]))
		shentsize, shnum, shstrndx, want = int(order.Uint16(h[46:])), int(order.Uint16(h[48:])), int(order.Uint16(h[50:])), 40
	case elf.ELFCLASS64:
		shoff = int64(order.Uint64(h[40:]))
		shentsize, shnum, shstrndx, want = int(order.Uint16(h[58:])), int(order.Uint16(h[60:])), int(order.Uint16(h[62:])), 64
	default:
		return nil, message.Errorf("unknown ELF class %d", h[4])
	}
	m.order, m.wide = order, want == 64
	m.programs(h[:])
	if shoff == 0 {
		m.noSections()
		return m.done(), nil
	}
	section := func(i int) error {
		if shentsize < want || shoff < 0 || shoff > size || int64(i+1)*int64(shentsize) > size-shoff {
			return message.Errorf("section headers at offset %#x are outside the file (%d bytes)", shoff, size)
		}
		if _, err := r.ReadAt(header[:want], shoff+int64(i)*int64(shentsize)); err != nil {
			return err
		}
		if want == 40 {
			shoffset, shsize = int64(order.Uint32(header[16:])), int64(order.Uint32(header[20:]))
		} else {
			shoffset, shsize = int64(order.Uint64(header[24:])), int64(order.Uint64(header[32:]))
		}
		return nil
	}
	if shnum == 0 || shstrndx == int(elf.SHN_XINDEX) {
		if err := section(0); err != nil {
			return nil, err
		}
		few := shnum > 0
		if !few {
			if shsize < 0 || shsize > maxSections {
				return nil, message.Errorf("%d sections, the limit is %d", uint64(shsize), maxSections)
			}
			shnum = int(shsize)
		}
		if shstrndx == int(elf.SHN_XINDEX) {
			link := order.Uint32(header[24:])
			if want == 64 {
				link = order.Uint32(header[40:])
			}
			if shstrndx = int(min(link, maxSections)); few || shstrndx < int(elf.SHN_LORESERVE) {
				shstrndx = 0
			}
		}
		if !few && shnum < int(elf.SHN_LORESERVE) {
			m.noSections() // the header can say a number as small as this itself
			return m.done(), nil
		}
	}
	if shnum > maxSections {
		return nil, message.Errorf("%d sections, the limit is %d", shnum, maxSections)
	}
	if err := section(shnum - 1); err != nil {
		return nil, err
	}
	table := sectionTable{off: shoff, entry: int64(shentsize), count: shnum}
	if shstrndx == 0 || shstrndx >= shnum {
		return m.unnamed(table)
	}
	if err := section(shstrndx); err != nil {
		return nil, err
	}
	if shoffset < 0 || shsize < 0 || shoffset > size || shsize > size-shoffset ||
		elf.SectionType(order.Uint32(header[4:])) != elf.SHT_STRTAB || elf.SectionFlag(order.Uint32(header[m.flags32():]))&elf.SHF_COMPRESSED != 0 {
		return m.unnamed(table)
	}
	if shsize > maxSectionNames {
		return nil, message.Errorf("section names of %d bytes, the limit is %d", shsize, maxSectionNames)
	}
	names := make([]byte, shsize)
	if _, err := io.ReadFull(io.NewSectionReader(r, shoffset, shsize), names); err != nil {
		return nil, err
	}
	if longest := longestName(names); longest*shnum > maxSectionNames {
		return nil, message.Errorf("section names of up to %d bytes for %d sections", longest, shnum)
	}
	if err := m.sections(table, names); err != nil {
		return nil, err
	}
	return m.done(), nil
}

// longestName returns the length of the longest string of a string table.
func longestName(names []byte) (longest int) {
	for len(names) > 0 {
		n := bytes.IndexByte(names, 0)
		if n < 0 {
			n = len(names) - 1
		}
		longest = max(longest, n)
		names = names[n+1:]
	}
	return longest
}

// newELF calls elf.NewFile, whose panics on damaged files become errors.
func newELF(r io.ReaderAt) (f *elf.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			f, err = nil, message.Errorf("damaged ELF headers: %v", p)
		}
	}()
	return elf.NewFile(r)
}

func (im *Image) openELF() error {
	r, err := checkELF(im.file, im.file.Size)
	if err != nil {
		return err
	}
	f, err := newELF(r)
	if err != nil {
		return err
	}
	im.elf = &elfHeaders{f}
	im.Order = f.ByteOrder
	im.PointerSize = 4
	if f.Class == elf.ELFCLASS64 {
		im.PointerSize = 8
	}
	im.Machine = elfMachine(f.Machine)
	im.setSegments(f)
	for i, s := range f.Sections {
		im.Sections = append(im.Sections, im.newELFSection(i, s))
	}
	if f.Type == elf.ET_REL {
		if err := im.placeSections(f); err != nil {
			return err
		}
	}
	im.Identity.BuildID = im.buildID(f)
	im.readLinks()
	return nil
}

func elfMachine(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86-64"
	case elf.EM_386:
		return "x86"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_ARM:
		return "arm"
	}
	return strings.ToLower(strings.TrimPrefix(m.String(), "EM_"))
}

func (im *Image) setSegments(f *elf.File) {
	var lo, hi uint64 = 1<<64 - 1, 0
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Vaddr+p.Memsz < p.Vaddr {
			continue
		}
		lo, hi = min(lo, p.Vaddr), max(hi, p.Vaddr+p.Memsz)
	}
	if hi == 0 {
		return
	}
	im.Base = lo &^ (pageSize - 1)
	im.Size = hi - im.Base
}

func (h *elfHeaders) execSegments() []span {
	var out []span
	for _, p := range h.f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Memsz > 0 && p.Vaddr+p.Memsz > p.Vaddr {
			out = append(out, span{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return out
}

func (im *Image) newELFSection(i int, h *elf.Section) *Section {
	s := &Section{
		Name: h.Name, Index: i, Addr: h.Addr, MemSize: h.FileSize, Size: int64(h.FileSize),
		Exec:   h.Flags&elf.SHF_EXECINSTR != 0 && h.Flags&elf.SHF_ALLOC != 0,
		NoBits: h.Type == elf.SHT_NOBITS, Writable: h.Flags&elf.SHF_WRITE != 0,
		Type: uint32(h.Type), Link: h.Link, Info: h.Info, Flags: uint64(h.Flags), EntSize: h.Entsize,
		im: im, offset: int64(h.Offset), fileSize: int64(h.FileSize),
	}
	switch {
	case s.NoBits:
	case h.Flags&elf.SHF_COMPRESSED != 0:
		s.Size = int64(h.Size)
		s.compression = unknownCompression
		if c, err := im.bytesAt(s.offset, 4); err == nil {
			switch elf.CompressionType(im.Order.Uint32(c)) {
			case elf.COMPRESS_ZLIB:
				s.compression = zlibELF
			case elf.COMPRESS_ZSTD:
				s.compression = zstdELF
			}
		}
	case strings.HasPrefix(s.Name, ".zdebug_"):
		if n, ok := zdebugSize(im.file, s.offset); ok {
			s.Size, s.compression = n, zlibName
		}
	}
	return s
}

// bytesAt reads n bytes of the file.
func (im *Image) bytesAt(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > im.file.Size || n > im.file.Size-off {
		return nil, message.Errorf("%d bytes at offset %#x: %w", n, off, io.ErrUnexpectedEOF)
	}
	b := make([]byte, n)
	if m, err := im.file.ReadAt(b, off); int64(m) < n {
		return nil, message.Errorf("%d bytes at offset %#x: %w", n, off, err)
	}
	return b, nil
}

// buildID looks in the note sections first: in separate debug files they are
// right, where the segments' offsets are often those of the stripped file.
func (im *Image) buildID(f *elf.File) string {
	for _, s := range im.Sections {
		if elf.SectionType(s.Type) == elf.SHT_NOTE && s.compression == stored {
			if id := im.noteBuildID(s.offset, s.fileSize, f.Sections[s.Index].Addralign); id != "" {
				return id
			}
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE {
			if id := im.noteBuildID(int64(p.Off), int64(p.Filesz), p.Align); id != "" {
				return id
			}
		}
	}
	return ""
}

// noteBuildID returns the descriptor of an NT_GNU_BUILD_ID note.
func (im *Image) noteBuildID(off, n int64, align uint64) string {
	b, err := im.bytesAt(off, min(n, maxNotes))
	if err != nil {
		return ""
	}
	pad := uint64(3)
	if align == 8 {
		pad = 7
	}
	for len(b) >= 12 {
		namesz, descsz := uint64(im.Order.Uint32(b)), uint64(im.Order.Uint32(b[4:]))
		typ := im.Order.Uint32(b[8:])
		desc := (12 + namesz + pad) &^ pad
		next := (desc + descsz + pad) &^ pad
		if desc+descsz > uint64(len(b)) {
			return ""
		}
		if typ == 3 && string(b[12:12+namesz]) == "GNU\x00" && descsz > 0 && descsz <= modules.MaxBuildID {
			return string(b[desc : desc+descsz])
		}
		if next >= uint64(len(b)) {
			return ""
		}
		b = b[next:]
	}
	return ""
}

// readLinks reads the names of the separate and the alternate debug file.
func (im *Image) readLinks() {
	const maxLink = 8 << 10
	if b := im.small(".gnu_debuglink", maxLink); b != nil {
		if i := bytes.IndexByte(b, 0); i > 0 {
			if crc := (i + 4) &^ 3; crc+4 <= len(b) {
				im.DebugLink, im.DebugLinkCRC = string(b[:i]), im.Order.Uint32(b[crc:])
			}
		}
	}
	if b := im.small(".gnu_debugaltlink", maxLink); b != nil {
		if i := bytes.IndexByte(b, 0); i > 0 && len(b)-i-1 <= modules.MaxBuildID {
			im.AltLink, im.AltBuildID = string(b[:i]), string(b[i+1:])
		}
	}
	// DWARF 5's own form of the same: version, whether this is itself the
	// supplementary file, name, and a checksum with its length in front.
	if b := im.small(".debug_sup", maxLink); im.AltLink == "" && len(b) > 3 && b[2] == 0 {
		name, sum, ok := bytes.Cut(b[3:], []byte{0})
		if ok && len(sum) > 1 && int(sum[0]) <= len(sum)-1 && sum[0] <= modules.MaxBuildID {
			im.AltLink, im.AltBuildID = string(name), string(sum[1:1+int(sum[0])])
		}
	}
}

// small returns the contents of a section that should be short, or nil.
func (im *Image) small(name string, limit int64) []byte {
	s := im.Section(name)
	if s == nil || s.NoBits || s.Size > limit {
		return nil
	}
	c, err := s.Content()
	if err != nil {
		return nil
	}
	b, err := c.Bytes(0, c.Size())
	if err != nil {
		return nil
	}
	return b
}
