package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"logparser/symbols"
)

// object makes a relocatable file of x86-64: two sections of code of 0x30 and
// 0x20 bytes, a symbol for each, and a debug section of so many sevens with
// relocations.
func object(size int, relocations []byte) []byte {
	le := binary.LittleEndian
	names := "\x00.shstrtab\x00.text\x00.text.b\x00.debug_info\x00.rela.debug_info\x00.symtab\x00"
	data := make([]byte, 64)
	copy(data, "\x7fELF\x02\x01\x01")
	le.PutUint16(data[16:], uint16(elf.ET_REL))
	le.PutUint16(data[18:], uint16(elf.EM_X86_64))
	le.PutUint32(data[20:], 1)
	le.PutUint16(data[58:], 64)
	le.PutUint16(data[60:], 7)
	le.PutUint16(data[62:], 1)
	var headers []byte
	section := func(name string, typ elf.SectionType, flags elf.SectionFlag, link, info uint32, body []byte) {
		b := make([]byte, 64)
		le.PutUint32(b, uint32(bytes.Index([]byte(names), []byte(name+"\x00"))))
		le.PutUint32(b[4:], uint32(typ))
		le.PutUint64(b[8:], uint64(flags))
		le.PutUint64(b[24:], uint64(len(data)))
		le.PutUint64(b[32:], uint64(len(body)))
		le.PutUint32(b[40:], link)
		le.PutUint32(b[44:], info)
		le.PutUint64(b[48:], 16)
		data, headers = append(data, body...), append(headers, b...)
	}
	symbol := func(section uint16, value uint64) []byte {
		b := make([]byte, 24)
		le.PutUint16(b[6:], section)
		le.PutUint64(b[8:], value)
		return b
	}
	headers = make([]byte, 64)
	section(".shstrtab", elf.SHT_STRTAB, 0, 0, 0, []byte(names))
	section(".text", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, 0, 0, make([]byte, 0x30))
	section(".text.b", elf.SHT_PROGBITS, elf.SHF_ALLOC|elf.SHF_EXECINSTR, 0, 0, make([]byte, 0x20))
	section(".debug_info", elf.SHT_PROGBITS, 0, 0, 0, bytes.Repeat([]byte{7}, size))
	section(".rela.debug_info", elf.SHT_RELA, 0, 6, 4, relocations)
	section(".symtab", elf.SHT_SYMTAB, 0, 0, 0, bytes.Join([][]byte{symbol(0, 0), symbol(2, 0), symbol(3, 8), symbol(uint16(elf.SHN_ABS), 0x77)}, nil))
	le.PutUint64(data[40:], uint64(len(data)))
	return append(data, headers...)
}

// rela is an entry of .rela.debug_info.
func rela(off uint64, symbol uint32, typ elf.R_X86_64, addend int64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, off)
	b = binary.LittleEndian.AppendUint64(b, uint64(symbol)<<32|uint64(typ))
	return binary.LittleEndian.AppendUint64(b, uint64(addend))
}

func openObject(t testing.TB, data []byte) *Image {
	t.Helper()
	im, err := Open(&symbols.File{Path: "object", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.FreeScratch() })
	return im
}

// TestPlaces gives sections of code places that do not overlap, nor touch.
func TestPlaces(t *testing.T) {
	im := openObject(t, object(64, nil))
	text, b := im.Section(".text"), im.Section(".text.b")
	if !im.Relocatable || text.Addr != im.Base || b.Addr <= text.Addr+text.MemSize || b.Addr%16 != 0 {
		t.Errorf("places %#x and %#x of base %#x", text.Addr, b.Addr, im.Base)
	}
	for _, c := range []struct {
		name   string
		offset uint64
		want   []*Section
	}{
		{"", 0, []*Section{text, b}}, {"", 0x20, []*Section{text}}, {"", 0x30, nil}, {".text.b", 0x1f, []*Section{b}},
		{".text.b", 0x20, nil}, {".debug_info", 0, nil},
	} {
		got := im.Place(c.name, c.offset)
		same := len(got) == len(c.want)
		for i := range got {
			same = same && got[i] == c.want[i]
		}
		if !same {
			t.Errorf("%s+%#x: %v", c.name, c.offset, got)
		}
	}
	if im.SectionAt(b.Addr+4) != b || im.SectionAt(text.Addr+0x30) != nil {
		t.Error("the section of an address")
	}
}

// TestRelocations applies relocations to sections that are kept in memory, and
// to those that are not.
func TestRelocations(t *testing.T) {
	for _, size := range []int{1 << 10, inMemory + 1<<20} {
		r := rand.New(rand.NewPCG(1, uint64(size)))
		want := bytes.Repeat([]byte{7}, size)
		var list []byte
		step := size / 100
		values := []uint64{0, objectBase, objectBase + 0x40 + 8, 0x77}
		for off := 0; off+8 <= size; off += step {
			symbol, addend := uint32(r.IntN(4)), int64(r.IntN(1<<20))-1<<10
			value := values[symbol] + uint64(addend)
			switch r.IntN(4) {
			case 0:
				list = append(list, rela(uint64(off), symbol, elf.R_X86_64_DTPOFF32, addend)...)
			case 1:
				list = append(list, rela(uint64(off), symbol, elf.R_X86_64_32, addend)...)
				binary.LittleEndian.PutUint32(want[off:], uint32(value))
			default:
				list = append(list, rela(uint64(off), symbol, elf.R_X86_64_64, addend)...)
				binary.LittleEndian.PutUint64(want[off:], value)
			}
		}
		// Over the edge of a window, and one behind that was not in order.
		for _, off := range []int{patchWindow - 3, 8} {
			if off+8 <= size {
				list = append(list, rela(uint64(off), 1, elf.R_X86_64_64, 5)...)
				binary.LittleEndian.PutUint64(want[off:], objectBase+5)
			}
		}
		im := openObject(t, object(size, list))
		c, err := im.Debug("info").Content()
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Bytes(0, c.Size())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes are not as they should be, %v", size, err)
		}
	}
}

// TestBadRelocations refuses sections whose relocations lead out of them, have
// no symbol or are not known, and those whose order would take for ever.
func TestBadRelocations(t *testing.T) {
	var disorder []byte
	const size = inMemory + 2<<20
	for range maxBack + 1 {
		disorder = append(append(disorder, rela(size-8, 1, elf.R_X86_64_64, 0)...), rela(0, 1, elf.R_X86_64_64, 0)...)
	}
	for name, list := range map[string][]byte{
		"behind the end": rela(size-7, 1, elf.R_X86_64_64, 0), "far out": rela(1<<63, 1, elf.R_X86_64_32, 0),
		"no symbol": rela(0, 4, elf.R_X86_64_64, 0), "of code": rela(0, 1, elf.R_X86_64_PLT32, 0), "disorder": disorder,
	} {
		im := openObject(t, object(size, list))
		if c, err := im.Debug("info").Content(); !errors.Is(err, ErrRelocation) {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
