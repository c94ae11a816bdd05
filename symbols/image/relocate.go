package image

import (
	"debug/elf"
	"io"
	"math/bits"
	"os"
	"strings"
	"sync/atomic"

	"logparser/filemap"
	"logparser/message"
)

// A relocatable file (an object, a kernel module) has no addresses: each
// section begins at 0, and what refers to another place is filled in when it
// is linked or loaded. Here its sections get places one after the other, those
// of code first, so that an address means one section, and the relocations
// against debug sections are applied with them; debug sections themselves
// begin at 0. So are those against PowerPC's function descriptors. A place has no meaning outside of this program: what is asked
// and answered is the offset in a section (see [Image.Place]).

// ErrRelocation says that a section cannot be relocated.
var ErrRelocation = message.New("cannot be relocated")

const (
	// objectBase is the address of the first place. It is not 0, because that
	// is what is left of addresses of code that was dropped.
	objectBase = 1 << 20
	// maxPlaces bounds what the sections take together, in bytes, and maxAlign
	// the alignment that is kept.
	maxPlaces = 1 << 40
	maxAlign  = 1 << 16
)

// placeSections gives places to the sections of a relocatable file.
func (im *Image) placeSections(f *elf.File) error {
	im.Relocatable = true
	im.Base = objectBase
	next := uint64(objectBase)
	for _, code := range []bool{true, false} {
		for _, s := range im.Sections {
			if s.Flags&uint64(elf.SHF_ALLOC) == 0 || s.Exec != code {
				continue
			}
			align := f.Sections[s.Index].Addralign
			if bits.OnesCount64(align) != 1 || align > maxAlign {
				align = 1
			}
			// The byte behind a section is no other's: labels may be there.
			s.Addr = (next + align - 1) &^ (align - 1)
			if s.MemSize > maxPlaces || s.Addr+s.MemSize-objectBase > maxPlaces {
				return message.Errorf("section %s: %d bytes are too many", s.Name, s.MemSize)
			}
			next = s.Addr + s.MemSize + 1
		}
	}
	im.Size = next - objectBase
	for _, s := range im.Sections {
		typ := elf.SectionType(s.Type)
		if (typ == elf.SHT_RELA || typ == elf.SHT_REL) && !s.NoBits && int64(s.Info) < int64(len(im.Sections)) {
			to := im.Sections[s.Info]
			if strings.HasPrefix(to.Name, ".debug_") || strings.HasPrefix(to.Name, ".zdebug_") || to.Name == ".opd" && f.Machine == elf.EM_PPC64 {
				to.relocations = append(to.relocations, s)
			}
		}
	}
	return nil
}

// CodeSections returns the sections of code that are not empty.
func (im *Image) CodeSections() (list []*Section) {
	for _, s := range im.Sections {
		if s.Exec && s.MemSize > 0 {
			list = append(list, s)
		}
	}
	return list
}

// Place returns the sections of code that have an offset, by name or, where
// that is "", whatever their name.
func (im *Image) Place(name string, offset uint64) (list []*Section) {
	for _, s := range im.CodeSections() {
		if offset < s.MemSize && (name == "" || name == s.Name) {
			list = append(list, s)
		}
	}
	return list
}

// SectionAt returns the section of code that has a virtual address, or nil.
func (im *Image) SectionAt(addr uint64) *Section {
	for _, s := range im.Sections {
		if s.Exec && addr >= s.Addr && addr-s.Addr < s.MemSize {
			return s
		}
	}
	return nil
}

// A relocationKind says what a relocation type does to debug information.
type relocationKind uint8

const (
	relocateUnknown relocationKind = iota
	relocateNone                   // nothing, or something that is not read here
	relocate32
	relocate64
)

// relocationKinds are the types that compilers write for debug sections: the
// address of a symbol and an addend in 32 or 64 bits. Offsets of thread-local
// variables are not read.
var relocationKinds = map[elf.Machine]map[uint32]relocationKind{
	elf.EM_X86_64: {
		uint32(elf.R_X86_64_NONE): relocateNone, uint32(elf.R_X86_64_64): relocate64, uint32(elf.R_X86_64_32): relocate32,
		uint32(elf.R_X86_64_32S): relocate32, uint32(elf.R_X86_64_DTPOFF32): relocateNone, uint32(elf.R_X86_64_DTPOFF64): relocateNone,
	},
	elf.EM_386: {
		uint32(elf.R_386_NONE): relocateNone, uint32(elf.R_386_32): relocate32, uint32(elf.R_386_TLS_LDO_32): relocateNone,
	},
	elf.EM_AARCH64: {
		uint32(elf.R_AARCH64_NONE): relocateNone, uint32(elf.R_AARCH64_NULL): relocateNone,
		uint32(elf.R_AARCH64_ABS64): relocate64, uint32(elf.R_AARCH64_ABS32): relocate32,
	},
	elf.EM_ARM: {
		uint32(elf.R_ARM_NONE): relocateNone, uint32(elf.R_ARM_ABS32): relocate32, uint32(elf.R_ARM_TLS_LDO32): relocateNone,
	},
	elf.EM_PPC64: {
		uint32(elf.R_PPC64_NONE): relocateNone, uint32(elf.R_PPC64_ADDR64): relocate64, uint32(elf.R_PPC64_ADDR32): relocate32,
		uint32(elf.R_PPC64_DTPREL64): relocateNone, uint32(elf.R_PPC64_TOC): relocateNone,
	},
	elf.EM_PPC:  {uint32(elf.R_PPC_NONE): relocateNone, uint32(elf.R_PPC_ADDR32): relocate32, uint32(elf.R_PPC_DTPREL32): relocateNone},
	elf.EM_S390: {uint32(elf.R_390_NONE): relocateNone, uint32(elf.R_390_64): relocate64, uint32(elf.R_390_32): relocate32},
	elf.EM_MIPS: {uint32(elf.R_MIPS_NONE): relocateNone, uint32(elf.R_MIPS_32): relocate32, uint32(elf.R_MIPS_64): relocate64},
}

// A relocation is an entry of a relocation section.
type relocation struct {
	off    uint64
	symbol uint32
	typ    uint32
	addend int64
	// inPlace says that the addend is what the section has there.
	inPlace bool
}

const (
	// relocationChunk is how many entries are read at a time.
	relocationChunk = 4096
	// maxRelocationSections bounds those that are applied to one section.
	maxRelocationSections = 8
)

// eachRelocation reads a relocation section.
func (im *Image) eachRelocation(s *Section, visit func(relocation) error) error {
	c, err := s.Content()
	if err != nil {
		return err
	}
	rela := elf.SectionType(s.Type) == elf.SHT_RELA
	mips := im.elf.f.Machine == elf.EM_MIPS && im.PointerSize == 8
	size := int64(8)
	if rela {
		size = 12
	}
	if im.PointerSize == 8 {
		size *= 2
	}
	var buffer []byte
	for off := int64(0); off+size <= c.Size(); off += size * relocationChunk {
		b, err := c.ReadInto(&buffer, off, min(size*relocationChunk, c.Size()-off))
		if err != nil {
			return err
		}
		for ; int64(len(b)) >= size; b = b[size:] {
			r := relocation{inPlace: !rela}
			switch {
			case im.PointerSize == 4:
				info := im.Order.Uint32(b[4:])
				r.off, r.symbol, r.typ = uint64(im.Order.Uint32(b)), info>>8, info&0xff
				if rela {
					r.addend = int64(int32(im.Order.Uint32(b[8:])))
				}
			default:
				info := im.Order.Uint64(b[8:])
				r.off, r.symbol, r.typ = im.Order.Uint64(b), uint32(info>>32), uint32(info)
				if mips { // three types, a byte each; one is enough for data
					r.symbol, r.typ = im.Order.Uint32(b[8:]), uint32(b[15])
				}
				if rela {
					r.addend = int64(im.Order.Uint64(b[16:]))
				}
			}
			if err := visit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// SymbolSections returns the section numbers of the symbols of a table that
// has more sections than 16 bits can number, or nil.
func (im *Image) SymbolSections(table *Section) *Content {
	for _, s := range im.Sections {
		if elf.SectionType(s.Type) == elf.SHT_SYMTAB_SHNDX && int64(s.Link) == int64(table.Index) && !s.NoBits {
			if c, err := s.Content(); err == nil {
				return c
			}
		}
	}
	return nil
}

// symbolValues returns the addresses of the symbols of a table: 0 for those
// that are in no section.
func (im *Image) symbolValues(table *Section) ([]uint64, error) {
	c, err := table.Content()
	if err != nil {
		return nil, err
	}
	more := im.SymbolSections(table)
	size := int64(16)
	if im.PointerSize == 8 {
		size = 24
	}
	values := make([]uint64, c.Size()/size)
	for first := int64(0); first < int64(len(values)); first += relocationChunk {
		b, err := c.Upto(first*size, size*relocationChunk)
		if err != nil {
			return nil, err
		}
		for i := first; int64(len(b)) >= size; i, b = i+1, b[size:] {
			var value uint64
			var index uint32
			if size == 24 {
				index, value = uint32(im.Order.Uint16(b[6:])), im.Order.Uint64(b[8:])
			} else {
				index, value = uint32(im.Order.Uint16(b[14:])), uint64(im.Order.Uint32(b[4:]))
			}
			switch {
			case index == uint32(elf.SHN_XINDEX) && more != nil:
				x, err := more.Bytes(i*4, 4)
				if err != nil {
					return nil, err
				}
				index = im.Order.Uint32(x)
			case index == uint32(elf.SHN_ABS):
				values[i] = value
				continue
			case index >= uint32(elf.SHN_LORESERVE):
				continue
			}
			if index > 0 && int64(index) < int64(len(im.Sections)) {
				values[i] = value + im.Sections[index].Addr
			}
		}
	}
	return values, nil
}

// relocate returns a section's contents with its relocations applied.
func (s *Section) relocate(c *Content) (*Content, error) {
	p := &patcher{size: c.size}
	if c.mem != nil {
		p.mem = c.mem // as it was read, and nobody else's
	} else {
		var err error
		if p.file, err = s.im.scratch.create(); err != nil {
			return nil, err
		}
		if err := c.copyTo(p.file, &s.im.closing); err != nil {
			return nil, err
		}
	}
	kinds, known := relocationKinds[s.im.elf.f.Machine]
	if !known {
		return nil, message.Errorf("%w: relocations of %s are not known here", ErrRelocation, s.im.Machine)
	}
	// One relocation section is the rule; entries do not share bytes.
	if len(s.relocations) > maxRelocationSections {
		return nil, message.Errorf("%w: it has %d relocation sections", ErrRelocation, len(s.relocations))
	}
	for _, table := range s.relocations {
		if int64(table.Link) >= int64(len(s.im.Sections)) {
			return nil, message.Errorf("%w: no symbol table %d", ErrRelocation, table.Link)
		}
		values, err := s.im.symbolValues(s.im.Sections[table.Link])
		if err != nil {
			return nil, err
		}
		err = s.im.eachRelocation(table, func(r relocation) error {
			if s.im.closing.Load() {
				return os.ErrClosed
			}
			kind := kinds[r.typ]
			if kind == relocateNone {
				return nil
			}
			if kind == relocateUnknown || int64(r.symbol) >= int64(len(values)) {
				return message.Errorf("%w: relocation of type %d with symbol %d of %d", ErrRelocation, r.typ, r.symbol, len(values))
			}
			width := int64(4)
			if kind == relocate64 {
				width = 8
			}
			b, err := p.at(r.off, width)
			if err != nil {
				return err
			}
			value := values[r.symbol] + uint64(r.addend)
			switch {
			case width == 4:
				if r.inPlace {
					value += uint64(s.im.Order.Uint32(b))
				}
				s.im.Order.PutUint32(b, uint32(value))
			default:
				if r.inPlace {
					value += s.im.Order.Uint64(b)
				}
				s.im.Order.PutUint64(b, value)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if p.mem != nil {
		return c, nil
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	m := filemap.New(p.file, c.size)
	s.im.scratch.keep(m)
	out := &Content{size: c.size}
	out.backing.Store(&backing{r: p.file, m: m})
	return out, nil
}

// copyTo writes all of a content.
func (c *Content) copyTo(w io.Writer, closing *atomic.Bool) error {
	b := make([]byte, min(patchWindow, c.size))
	for off := int64(0); off < c.size; off += int64(len(b)) {
		if closing.Load() {
			return os.ErrClosed
		}
		b = b[:min(int64(len(b)), c.size-off)]
		if err := c.readAt(b, off, false); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// A patcher changes bytes of a section's contents, in memory or in a temporary
// file. Relocations come in the order of their places, so that one window over
// the file is enough.
type patcher struct {
	mem  []byte
	size int64

	file interface {
		io.ReaderAt
		io.WriterAt
		io.Writer
	}
	window []byte
	start  int64
	back   int // how often the window had to go back
}

// patchWindow is the window's size in bytes, maxBack how often it may go back.
const (
	patchWindow = 1 << 20
	maxBack     = 256
)

// at returns the n bytes at an offset, to be changed before the next call.
func (p *patcher) at(off uint64, n int64) ([]byte, error) {
	if off > uint64(p.size) || n > p.size-int64(off) {
		return nil, message.Errorf("%w: relocation at offset %#x of %d bytes", ErrRelocation, off, p.size)
	}
	at := int64(off)
	if p.mem != nil {
		return p.mem[at : at+n], nil
	}
	if at < p.start || at+n > p.start+int64(len(p.window)) {
		if at < p.start {
			if p.back++; p.back > maxBack {
				return nil, message.Errorf("%w: its relocations are in no order", ErrRelocation)
			}
		}
		if err := p.flush(); err != nil {
			return nil, err
		}
		if p.window == nil {
			p.window = make([]byte, patchWindow)
		}
		p.start, p.window = at, p.window[:min(patchWindow, p.size-at)]
		if _, err := p.file.ReadAt(p.window, at); err != nil {
			return nil, err
		}
	}
	return p.window[at-p.start : at-p.start+n], nil
}

// flush writes the window back.
func (p *patcher) flush() error {
	if len(p.window) == 0 {
		return nil
	}
	_, err := p.file.WriteAt(p.window, p.start)
	return err
}

// mainSection returns, of the sections of one name, the one that is in no
// group: groups have types that other files have, too.
func mainSection(name string, sections []*Section) (found *Section) {
	for _, s := range sections {
		if s.Name != name {
			continue
		}
		if found == nil || s.Flags&uint64(elf.SHF_GROUP) == 0 {
			found = s
		}
		if found.Flags&uint64(elf.SHF_GROUP) == 0 {
			break
		}
	}
	return found
}
