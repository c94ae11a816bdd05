package symtab

import (
	"debug/elf"
	"encoding/binary"
	"math/bits"
	"strings"

	"logparser/symbols/image"
)

// maxPLT bounds the stubs and the relocations that are read.
const maxPLT = 1 << 18

// readPLT names the stubs of the procedure linkage tables. Each stub jumps
// through a slot of the global offset table, and a relocation says which
// symbol's address the slot gets; that holds for lazy tables, tables for
// branch tracking (.plt.sec) and direct ones (.plt.got) alike. What cannot be
// read is left without names.
func (t *Table) readPLT(dynamic *image.Section) {
	var decode func(code []byte, addr uint64, emit func(stub, size, slot uint64))
	switch t.im.Machine {
	case "x86-64":
		decode = pltX86
	case "arm64":
		decode = pltARM64
	case "arm":
		decode = pltARM
	default:
		return
	}
	if t.im.PointerSize == 4 != (t.im.Machine == "arm") || t.im.Order != binary.ByteOrder(binary.LittleEndian) {
		return
	}
	var slots map[uint64]uint32 // GOT slot to dynamic symbol
	for _, s := range t.im.Sections {
		if !strings.HasPrefix(s.Name, ".plt") || !s.Exec || s.NoBits || s.Size > maxPLT*24 {
			continue
		}
		if slots == nil {
			slots = t.gotSlots(dynamic)
		}
		c, err := s.Content()
		if err != nil {
			continue
		}
		code, err := c.Bytes(0, c.Size())
		if err != nil {
			continue
		}
		decode(code, s.Addr, func(stub, size, slot uint64) {
			index, ok := slots[slot]
			if !ok {
				return
			}
			name := t.dynamicName(dynamic, index)
			if name == "" || stub < t.im.Base {
				return
			}
			t.texts = append(t.texts, name)
			addr := stub - t.im.Base
			t.add(sym{addr: addr, end: addr + size, sized: true, kind: kindPLT, src: inText, name: uint32(len(t.texts) - 1)})
		})
	}
}

// gotSlots maps the addresses that JUMP_SLOT and GLOB_DAT relocations fill to
// the symbols' numbers.
func (t *Table) gotSlots(dynamic *image.Section) map[uint64]uint32 {
	slots := map[uint64]uint32{}
	typ, size := elf.SHT_RELA, int64(24)
	if t.im.Machine == "arm" {
		typ, size = elf.SHT_REL, 8
	}
	for _, s := range t.im.Sections {
		if elf.SectionType(s.Type) != typ || int(s.Link) != dynamic.Index || s.NoBits {
			continue
		}
		c, err := s.Content()
		if err != nil {
			continue
		}
		for off := int64(0); off+size <= c.Size(); off += size * chunk {
			b, err := c.Upto(off, size*chunk)
			if err != nil {
				break
			}
			for ; int64(len(b)) >= size && len(slots) < maxPLT; b = b[size:] {
				if t.im.Machine == "arm" {
					info := binary.LittleEndian.Uint32(b[4:])
					if typ := elf.R_ARM(info & 0xff); typ == elf.R_ARM_JUMP_SLOT || typ == elf.R_ARM_GLOB_DAT {
						slots[uint64(binary.LittleEndian.Uint32(b))] = info >> 8
					}
					continue
				}
				info := binary.LittleEndian.Uint64(b[8:])
				jump := false
				switch typ := uint32(info); t.im.Machine {
				case "x86-64":
					jump = typ == uint32(elf.R_X86_64_JMP_SLOT) || typ == uint32(elf.R_X86_64_GLOB_DAT)
				case "arm64":
					jump = typ == uint32(elf.R_AARCH64_JUMP_SLOT) || typ == uint32(elf.R_AARCH64_GLOB_DAT)
				}
				if jump {
					slots[binary.LittleEndian.Uint64(b)] = uint32(info >> 32)
				}
			}
		}
	}
	return slots
}

// dynamicName returns the name of a dynamic symbol.
func (t *Table) dynamicName(dynamic *image.Section, index uint32) string {
	if int64(dynamic.Link) >= int64(len(t.im.Sections)) {
		return ""
	}
	c, err := dynamic.Content()
	if err != nil {
		return ""
	}
	size := int64(24)
	if t.im.PointerSize == 4 {
		size = 16
	}
	b, err := c.Bytes(int64(index)*size, 4)
	if err != nil {
		return ""
	}
	names, err := t.im.Sections[dynamic.Link].Content()
	if err != nil {
		return ""
	}
	name, err := names.String(int64(binary.LittleEndian.Uint32(b)))
	if err != nil {
		return ""
	}
	return name
}

// pltX86 finds jmp *slot(%rip), with endbr64 or bnd in front where branches
// are tracked. Stubs have 8 or 16 bytes; a lazy stub that ends in the jump to
// the resolver is taken whole.
func pltX86(code []byte, addr uint64, emit func(stub, size, slot uint64)) {
	const step = 8
	for i := 0; i+6 <= len(code); i += step {
		j := i
		if j+4 <= len(code) && string(code[j:j+4]) == "\xf3\x0f\x1e\xfa" {
			j += 4
		}
		if j < len(code) && code[j] == 0xf2 {
			j++
		}
		if j+6 > len(code) || code[j] != 0xff || code[j+1] != 0x25 {
			continue
		}
		slot := addr + uint64(j) + 6 + uint64(int64(int32(binary.LittleEndian.Uint32(code[j+2:]))))
		size := uint64(8)
		if addr%16 == 0 && i%16 == 0 && (j+6 >= len(code) || i+8 >= len(code) || code[i+8] != 0xff) {
			size = 16
		}
		emit(addr+uint64(i), min(size, uint64(len(code)-i)), slot)
	}
}

// pltARM64 finds adrp x16, page; ldr x17, [x16, #offset]. A stub begins with
// the adrp, or with a bti before it, and has 16 bytes, or 24 where it has the
// bti or authenticates.
func pltARM64(code []byte, addr uint64, emit func(stub, size, slot uint64)) {
	type stubSlot struct{ stub, slot uint64 }
	var all []stubSlot
	for i := 0; i+8 <= len(code); i += 4 {
		adrp, ldr := binary.LittleEndian.Uint32(code[i:]), binary.LittleEndian.Uint32(code[i+4:])
		if adrp&0x9f00001f != 0x90000010 || ldr&0xffc003ff != 0xf9400211 {
			continue
		}
		pages := int64(adrp>>5&0x7ffff)<<2 | int64(adrp>>29&3)
		pages = pages << 43 >> 43
		pc := addr + uint64(i)
		slot := pc&^0xfff + uint64(pages<<12) + uint64(ldr>>10&0xfff)*8
		if i >= 4 && binary.LittleEndian.Uint32(code[i-4:]) == 0xd503245f {
			pc -= 4
		}
		all = append(all, stubSlot{pc, slot})
	}
	end := addr + uint64(len(code))
	for i, f := range all {
		next := end
		if i+1 < len(all) {
			next = all[i+1].stub
		}
		emit(f.stub, min(next-f.stub, 24), f.slot)
	}
}

// pltARM finds add ip, pc, #a; add ip, ip, #b; ldr pc, [ip, #c]!, with one or
// three of the additions, and ldr ip, offset; add ip, ip, pc; ldr pc, [ip]. A
// stub that Thumb code jumps to has bx pc and two bytes more in front.
func pltARM(code []byte, addr uint64, emit func(stub, size, slot uint64)) {
	word := func(i int) uint32 {
		if i < 0 || i+4 > len(code) {
			return 0
		}
		return binary.LittleEndian.Uint32(code[i:])
	}
	// immediate is the operand of a data-processing instruction.
	immediate := func(w uint32) uint32 { return bits.RotateLeft32(w&0xff, -int(w>>8&0xf)*2) }
	const (
		addFromPC, addIP  = 0xe28fc000, 0xe28cc000 // add ip, pc, # and add ip, ip, #
		loadBack, load    = 0xe5bcf000, 0xe59cf000 // ldr pc, [ip, #]! and ldr pc, [ip, #]
		loadOffset, addPC = 0xe59fc000, 0xe08cc00f // ldr ip, [pc, #] and add ip, ip, pc
		fromThumb         = 0xe7fd4778             // bx pc; b .-2
		fromThumbOld      = 0x46c04778             // bx pc; nop
		ahead, maxAdds    = 8, 3                   // pc is that much ahead
	)
	for i := 0; i+12 <= len(code); {
		var slot uint32
		end := 0
		switch w := word(i); {
		case w&^0xfff == addFromPC:
			slot = uint32(addr) + uint32(i) + ahead + immediate(w)
			at := i + 4
			for n := 0; n < maxAdds && word(at)&^0xfff == addIP; n++ {
				slot += immediate(word(at))
				at += 4
			}
			if w := word(at); w&^0xfff == loadBack || w&^0xfff == load {
				slot += w & 0xfff
				end = at + 4
			}
		case w&^0xfff == loadOffset && word(i+4) == addPC && word(i+8) == load:
			at := i + ahead + int(w&0xfff)
			slot = uint32(addr) + uint32(i) + 4 + ahead + word(at)
			end = at + 4
		}
		if end <= i || end > len(code) {
			i += 4
			continue
		}
		begin := i
		if w := word(i - 4); w == fromThumb || w == fromThumbOld {
			begin -= 4
		}
		emit(addr+uint64(begin), uint64(end-begin), uint64(slot))
		i = end
	}
}
