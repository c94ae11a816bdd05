package store

import (
	"debug/elf"
	"encoding/binary"
	"slices"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/image"
)

// openPlaced is openTable for a module that has one base: what is relocatable
// must have one section of code, whose base that is. Where the others were
// loaded was not recorded.
func (s *search) openPlaced(path string) (symbols.Table, error) {
	if n := s.codeSections(path); n > 1 && !s.sections {
		err := message.Wrap(symbols.ErrNoSymbols, "a relocatable file with %d sections of code, of which a module's base places one", n)
		s.trouble = message.Textf("%s: %v", path, err)
		return nil, err
	}
	return s.openTable(path)
}

// codeSections returns how many sections of code a relocatable ELF file has, 0
// for other files.
func (s *search) codeSections(path string) int {
	file, err := s.open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	const typeAt, dataAt = 16, 5
	var head [typeAt + 2]byte
	if _, err := file.ReadAt(head[:], 0); err != nil || string(head[:4]) != elf.ELFMAG {
		return 0
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if head[dataAt] == byte(elf.ELFDATA2MSB) {
		order = binary.BigEndian
	}
	if elf.Type(order.Uint16(head[typeAt:])) != elf.ET_REL {
		return 0
	}
	img, err := image.Open(file)
	if err != nil {
		return 0
	}
	defer img.FreeScratch()
	return len(img.CodeSections())
}

// isCOFFObject reports whether a file that begins with these bytes is an
// object of Microsoft's compilers or MinGW's.
func isCOFFObject(head []byte, size int64) bool {
	le := binary.LittleEndian
	if len(head) < 56 {
		return false
	}
	// The objects of /bigobj have this class id.
	const bigObject = "\xc7\xa1\xba\xd1\xee\xba\xa9\x4b\xaf\x20\xfa\xf6\x6a\xa4\xdc\xb8"
	if le.Uint32(head) == 0xffff0000 {
		return string(head[12:28]) == bigObject
	}
	machines := []uint16{0x14c, 0x8664, 0x1c0, 0x1c2, 0x1c4, 0xaa64, 0xa641, 0xa64e}
	sections, symbolTable, optional := int64(le.Uint16(head[2:])), int64(le.Uint32(head[8:])), le.Uint16(head[16:])
	return slices.Contains(machines, le.Uint16(head)) && optional == 0 && sections > 0 &&
		20+sections*40 <= size && symbolTable >= 20+sections*40 && symbolTable <= size
}
