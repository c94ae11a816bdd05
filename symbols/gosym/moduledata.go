package gosym

import (
	"bytes"
	"debug/elf"
	"slices"

	"logparser/symbols/image"
)

// runtime.moduledata joins the tables. Its words, counted from its start, that
// are of use here; they have their places since Go 1.16.
const (
	wordHeader    = 0
	wordNames     = 1
	wordUnits     = 4
	wordFiles     = 7
	wordValues    = 10
	wordRecords   = 13
	wordFunctab   = 16
	wordFunctions = 17
	wordMinPC     = 20
	wordText      = 22
	// wordGoFunc is where go:func.* begins: 38 in Go 1.18, 40 from 1.20 on.
	wordGoFunc118 = 38
	wordGoFunc120 = 40
	moduleWords   = wordGoFunc120 + 1
)

// maxModules bounds the places that are tried as moduledata.
const maxModules = 64

// A module is what moduledata says of a table.
type module struct {
	// text is where the code of the table begins, goFunc where the functions'
	// data does.
	text, goFunc uint64
}

// findModule finds the moduledata of a table at an address: a pointer to the
// header with pointers to the table's parts behind it. In position-independent
// programs pointers may lie in relocations only.
func findModule(im *image.Image, t *pclntab, addr uint64) (m module, ok bool) {
	tried := 0
	try := func(at uint64) bool {
		tried++
		m, ok = t.readModule(im, addr, at)
		return !ok && tried < maxModules
	}
	eachRelative(im, func(at, value uint64) bool { return value != addr || try(at) })
	if ok {
		return m, true
	}
	pattern := make([]byte, 8)
	t.order.PutUint64(pattern, addr)
	if t.pointer == 4 {
		pattern = make([]byte, 4)
		t.order.PutUint32(pattern, uint32(addr))
	}
	var buf []byte
	for _, s := range slices.Backward(im.Sections) { // it lies among the last
		if s.NoBits || s.Exec || s.Compressed() || s.Addr == 0 || ok {
			continue
		}
		c, err := s.Content()
		if err != nil {
			continue
		}
		for off := int64(0); off < c.Size() && !ok && tried < maxModules; off += window {
			b, err := c.ReadInto(&buf, off, min(window+int64(t.pointer)-1, c.Size()-off))
			if err != nil {
				break
			}
			for at := 0; at < len(b); at++ {
				i := bytes.Index(b[at:], pattern)
				if i < 0 {
					break
				}
				at += i
				if va := s.Addr + uint64(off) + uint64(at); va%uint64(t.pointer) == 0 && !try(va) {
					break
				}
			}
		}
	}
	return m, ok
}

// readModule reads moduledata at an address, if it is that of the table.
func (t *pclntab) readModule(im *image.Image, table, at uint64) (m module, ok bool) {
	p := uint64(t.pointer)
	if at < im.Base {
		return m, false
	}
	b, err := im.ReadRVA(at-im.Base, moduleWords*int64(p))
	if err != nil {
		return m, false
	}
	b = relocated(im, at, b)
	word := func(i int) uint64 {
		if p == 4 {
			return uint64(t.order.Uint32(b[4*i:]))
		}
		return t.order.Uint64(b[8*i:])
	}
	for _, part := range []struct {
		word int
		off  uint64
	}{
		{wordHeader, 0}, {wordNames, t.header.names}, {wordUnits, t.header.units}, {wordFiles, t.header.files},
		{wordValues, t.header.values}, {wordRecords, t.header.records}, {wordFunctab, t.header.records},
	} {
		if word(part.word) != table+part.off {
			return m, false
		}
	}
	m.text = word(wordText)
	if word(wordFunctions) != t.functions+1 || word(wordMinPC) != m.text+t.start(0) {
		return m, false
	}
	m.goFunc = word(wordGoFunc120)
	if t.version == go118 {
		m.goFunc = word(wordGoFunc118)
	}
	return m, true
}

// eachRelative calls visit with the address and the value of every relocation
// of an ELF file that adds the load address to a value of its own, until visit
// returns false.
func eachRelative(im *image.Image, visit func(at, value uint64) bool) {
	var relative uint32
	switch im.Machine {
	case "x86-64":
		relative = uint32(elf.R_X86_64_RELATIVE)
	case "arm64":
		relative = uint32(elf.R_AARCH64_RELATIVE)
	case "riscv":
		relative = uint32(elf.R_RISCV_RELATIVE)
	case "s390":
		relative = uint32(elf.R_390_RELATIVE)
	case "ppc64":
		relative = uint32(elf.R_PPC64_RELATIVE)
	default:
		return
	}
	if im.Kind != image.ELF || im.PointerSize != 8 {
		return
	}
	const size = 24
	var buf []byte
	for _, s := range im.Sections {
		if elf.SectionType(s.Type) != elf.SHT_RELA || elf.SectionFlag(s.Flags)&elf.SHF_ALLOC == 0 || s.NoBits || s.Compressed() {
			continue
		}
		c, err := s.Content()
		if err != nil {
			continue
		}
		for off := int64(0); off+size <= c.Size(); off += window / size * size {
			b, err := c.ReadInto(&buf, off, min(window/size*size, c.Size()-off))
			if err != nil {
				break
			}
			for ; len(b) >= size; b = b[size:] {
				if uint32(im.Order.Uint64(b[8:])) == relative && !visit(im.Order.Uint64(b), im.Order.Uint64(b[16:])) {
					return
				}
			}
		}
	}
}

// relocated returns the bytes at an address with the pointers that only
// relocations hold.
func relocated(im *image.Image, addr uint64, b []byte) []byte {
	copied := false
	eachRelative(im, func(at, value uint64) bool {
		if i := at - addr; i < uint64(len(b)) && uint64(len(b))-i >= 8 {
			if !copied {
				b, copied = bytes.Clone(b), true
			}
			im.Order.PutUint64(b[i:], value)
		}
		return true
	})
	return b
}
