package pdb

import (
	"slices"
	"sort"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

const (
	sectionHeaderSize = 40
	// maxSections is the PE format's limit.
	maxSections = 0xFEFF

	sectionCode    = 0x00000020
	sectionExecute = 0x20000000
)

// section is a section of the image.
type section struct {
	rva, size uint32
	code      bool
}

// sections are an image's section headers: section n of the format is at
// index n-1.
type sections struct {
	list []section
	// order holds the numbers of the sections by address.
	order []uint16
}

func readSections(f *msf.File, stream uint16) (sections, error) {
	var ss sections
	s, err := f.Stream(int(stream))
	if err != nil {
		return ss, message.Errorf("pdb: section headers: %w", err)
	}
	n := s.Size() / sectionHeaderSize
	if n > maxSections {
		return ss, message.Errorf("pdb: %w: %d section headers", ErrDamaged, n)
	}
	b, err := s.Read(0, n*sectionHeaderSize)
	if err != nil {
		return ss, message.Errorf("pdb: section headers: %w", err)
	}
	ss.list = make([]section, n)
	ss.order = make([]uint16, n)
	for i := range ss.list {
		h := b[i*sectionHeaderSize:]
		ss.list[i] = section{
			rva:  le.Uint32(h[12:]),
			size: max(le.Uint32(h[8:]), le.Uint32(h[16:])),
			code: le.Uint32(h[36:])&(sectionCode|sectionExecute) != 0,
		}
		ss.order[i] = uint16(i + 1)
	}
	slices.SortStableFunc(ss.order, func(a, b uint16) int {
		x, y := ss.list[a-1].rva, ss.list[b-1].rva
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return ss, nil
}

// find returns the section that holds an RVA and the offset within it.
func (ss *sections) find(rva uint32) (sec uint16, off uint32, ok bool) {
	i := sort.Search(len(ss.order), func(i int) bool { return ss.list[ss.order[i]-1].rva > rva })
	if i == 0 {
		return 0, 0, false
	}
	sec = ss.order[i-1]
	s := &ss.list[sec-1]
	off = rva - s.rva
	return sec, off, off < s.size
}

// rva returns the RVA of an offset in a section.
func (ss *sections) rva(sec uint16, off uint32) (uint32, bool) {
	if sec == 0 || int(sec) > len(ss.list) {
		return 0, false
	}
	rva := ss.list[sec-1].rva + off
	return rva, rva >= off
}

// isCode reports whether a section may hold code.
func (ss *sections) isCode(sec uint16) bool {
	return sec > 0 && int(sec) <= len(ss.list) && ss.list[sec-1].code
}

// address is a section and an offset in it, ordered as such.
type address uint64

func at(sec uint16, off uint32) address { return address(sec)<<32 | address(off) }

func (a address) section() uint16 { return uint16(a >> 32) }
func (a address) offset() uint32  { return uint32(a) }
