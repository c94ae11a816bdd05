package symtab

import (
	"encoding/binary"

	"logparser/symbols/image"
)

// In the first ABI of 64-bit PowerPC a function's symbol is that of its
// descriptor in .opd, whose first word is the address of its code.
type descriptors struct {
	section *image.Section
	content *image.Content
	order   binary.ByteOrder
}

// newDescriptors returns an image's function descriptors, or nil where it has
// none. A separate debug file has them without contents.
func newDescriptors(im *image.Image) *descriptors {
	s := im.Section(".opd")
	if im.Machine != "ppc64" || s == nil || s.NoBits {
		return nil
	}
	c, err := s.Content()
	if err != nil {
		return nil
	}
	return &descriptors{s, c, im.Order}
}

// code returns where the code of the function is whose descriptor lies at an
// address; ok is false where none can.
func (d *descriptors) code(addr uint64) (code uint64, ok bool) {
	if addr < d.section.Addr || addr-d.section.Addr >= d.section.MemSize {
		return 0, false
	}
	b, err := d.content.Bytes(int64(addr-d.section.Addr), 8)
	if err != nil {
		return 0, false
	}
	return d.order.Uint64(b), true
}

// hasDot reports whether a symbol's name begins with a dot.
func (t *Table) hasDot(s sym) bool {
	b, err := t.names[s.src].Upto(int64(s.name), 2)
	return err == nil && len(b) == 2 && b[0] == '.' && b[1] != 0
}
