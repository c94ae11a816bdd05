package symtab

import (
	"debug/elf"
	"encoding/binary"

	"logparser/message"
	"logparser/symbols/image"
)

// readELF reads .symtab, or the one in MiniDebugInfo, and .dynsym. Where both
// are there, the names of .dynsym that .symtab lacks are added: MiniDebugInfo
// has only what .dynsym lacks.
func (t *Table) readELF() error {
	if static := section(t.im, elf.SHT_SYMTAB); static != nil {
		if err := t.readELFTable(t.im, static, kindSymbol); err != nil {
			return err
		}
		if len(t.syms) > 0 {
			t.describe = append(t.describe, "ELF symbol table")
		}
	} else if mini, err := t.im.MiniDebugInfo(); err == nil && mini != nil {
		if static := section(mini, elf.SHT_SYMTAB); static != nil {
			if err := t.readELFTable(mini, static, kindSymbol); err != nil {
				return err
			}
		}
		if len(t.syms) > 0 {
			t.describe = append(t.describe, "MiniDebugInfo")
		}
	}
	found := len(t.syms) > 0
	if dynamic := section(t.im, elf.SHT_DYNSYM); dynamic != nil {
		k := kindExport
		if found {
			k = kindSymbol
		}
		before := len(t.syms)
		if err := t.readELFTable(t.im, dynamic, k); err != nil {
			return err
		}
		if len(t.syms) > before && !found {
			t.describe = append(t.describe, "ELF dynamic symbols")
		}
		t.readPLT(dynamic)
	}
	return nil
}

// section returns the first section of a type that has contents.
func section(im *image.Image, typ elf.SectionType) *image.Section {
	for _, s := range im.Sections {
		if elf.SectionType(s.Type) == typ && !s.NoBits && s.Size > 0 {
			return s
		}
	}
	return nil
}

// stringTable opens the string table that a symbol table is linked to.
func stringTable(im *image.Image, s *image.Section) (*image.Content, error) {
	if int64(s.Link) >= int64(len(im.Sections)) {
		return nil, message.Errorf("%s: section %s: no string table %d", im.File().Path, s.Name, s.Link)
	}
	return im.Sections[s.Link].Content()
}

// strings registers the string table that a symbol table is linked to.
func (t *Table) strings(im *image.Image, s *image.Section) (uint8, error) {
	c, err := stringTable(im, s)
	if err != nil {
		return 0, err
	}
	t.names = append(t.names, c)
	return uint8(len(t.names) - 1), nil
}

// An elfSymbol is an entry of a symbol table, as the file has it.
type elfSymbol struct {
	name          uint32 // where it is in the string table
	info          byte
	index         uint16 // of its section
	value, length uint64
}

// elfSymbolSize returns the size of an entry.
func elfSymbolSize(im *image.Image) int64 {
	if im.PointerSize == 8 {
		return elf.Sym64Size
	}
	return elf.Sym32Size
}

// decodeSymbol takes the entry that b begins with.
func decodeSymbol(order binary.ByteOrder, size int64, b []byte) elfSymbol {
	if size == elf.Sym64Size {
		return elfSymbol{order.Uint32(b), b[4], order.Uint16(b[6:]), order.Uint64(b[8:]), order.Uint64(b[16:])}
	}
	return elfSymbol{order.Uint32(b), b[12], order.Uint16(b[14:]), uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:]))}
}

// chunk is how many symbols are decoded at a time.
const chunk = 4096

// readELFTable adds the functions of a symbol table, which lies in im: the
// table's own image, or a file inside it.
func (t *Table) readELFTable(im *image.Image, s *image.Section, k kind) error {
	src, err := t.strings(im, s)
	if err != nil {
		return err
	}
	c, err := s.Content()
	if err != nil {
		return err
	}
	size := elfSymbolSize(im)
	t.reserve(c.Size() / size)
	var more *image.Content // section numbers that do not fit into 16 bits
	if im.Relocatable {
		more = im.SymbolSections(s)
	}
	arm := t.im.Machine == "arm"
	descriptors := newDescriptors(t.im)
	for off := size; off+size <= c.Size(); off += size * chunk { // symbol 0 is empty
		b, err := c.Upto(off, size*chunk)
		if err != nil {
			return message.Errorf("%s: section %s: %w", t.im.File().Path, s.Name, err)
		}
		for at := off / size; int64(len(b)) >= size; at, b = at+1, b[size:] {
			e := decodeSymbol(im.Order, size, b)
			name, info, value, function := e.name, e.info, e.value, false
			sy := sym{name: name, src: src, kind: k}
			switch elf.ST_TYPE(info) {
			case elf.STT_FUNC, elf.STT_GNU_IFUNC:
				switch elf.ST_BIND(info) {
				case elf.STB_LOCAL:
					sy.rank = rankLocal
				case elf.STB_WEAK:
					sy.rank = rankWeak
				}
				if arm {
					value &^= 1 // the bit that says Thumb
				}
				function = true
			case elf.STT_NOTYPE:
				if name == 0 {
					continue
				}
				sy.rank = rankLabel
				if elf.ST_BIND(info) == elf.STB_LOCAL {
					sy.rank = rankLocalLabel
				}
			default:
				continue
			}
			value, ok := symbolAddress(im, e.index, more, at, value)
			if !ok || value < t.im.Base {
				continue
			}
			if function && descriptors != nil {
				if code, ok := descriptors.code(value); ok {
					value = code
				} else if t.hasDot(sy) {
					sy.name++ // older compilers name the code, too
				}
			}
			_, hi, ok := t.im.Executable(value)
			if !ok {
				continue
			}
			sy.addr = value - t.im.Base
			if e.length > 0 && e.length <= hi-value {
				sy.end, sy.sized = sy.addr+e.length, true
			}
			if sy.rank >= rankLabel && t.skipLabel(sy) {
				continue
			}
			if err := t.add(sy); err != nil {
				return err
			}
		}
	}
	return nil
}

// symbolAddress returns the virtual address of symbol i, which has a section
// number and a value; ok is false where it is in no section. In a relocatable
// file the value is an offset in the section.
func symbolAddress(im *image.Image, index uint16, more *image.Content, i int64, value uint64) (addr uint64, ok bool) {
	if index == uint16(elf.SHN_UNDEF) || index == uint16(elf.SHN_ABS) || index == uint16(elf.SHN_COMMON) {
		return 0, false
	}
	if !im.Relocatable {
		return value, true
	}
	n := int64(index)
	if index == uint16(elf.SHN_XINDEX) {
		b, err := more.Bytes(i*4, 4)
		if err != nil {
			return 0, false
		}
		n = int64(im.Order.Uint32(b))
	} else if index >= uint16(elf.SHN_LORESERVE) {
		return 0, false
	}
	if n >= int64(len(im.Sections)) || value >= im.Sections[n].MemSize {
		return 0, false
	}
	return im.Sections[n].Addr + value, true
}

// skipLabel passes over mapping symbols and labels of the assembler.
func (t *Table) skipLabel(s sym) bool {
	b, err := t.names[s.src].Upto(int64(s.name), 4)
	if err != nil || len(b) < 2 {
		return true
	}
	switch {
	case b[0] == '.' && b[1] == 'L':
		return true
	case b[0] == '$' && (b[1] == 'a' || b[1] == 'd' || b[1] == 't' || b[1] == 'x'):
		return len(b) < 3 || b[2] == 0 || b[2] == '.'
	}
	return false
}
