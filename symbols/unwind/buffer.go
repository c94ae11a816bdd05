package unwind

import "encoding/binary"

// A buffer reads numbers from bytes. After the first read beyond the end, bad is set and
// all further numbers are 0.
type buffer struct {
	b   []byte
	off int
	// addr is the address, as the image is linked, of b[0].
	addr  uint64
	order binary.ByteOrder
	bad   bool
}

func (r *buffer) left() int { return len(r.b) - r.off }

func (r *buffer) take(n uint64) []byte {
	if r.bad || n > uint64(r.left()) {
		r.bad = true
		return nil
	}
	b := r.b[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return b
}

func (r *buffer) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *buffer) u16() uint16 {
	if b := r.take(2); b != nil {
		return r.order.Uint16(b)
	}
	return 0
}

func (r *buffer) u32() uint32 {
	if b := r.take(4); b != nil {
		return r.order.Uint32(b)
	}
	return 0
}

func (r *buffer) u64() uint64 {
	if b := r.take(8); b != nil {
		return r.order.Uint64(b)
	}
	return 0
}

// pointer reads an address of size bytes.
func (r *buffer) pointer(size int) uint64 {
	if size == 4 {
		return uint64(r.u32())
	}
	return r.u64()
}

func (r *buffer) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		c := r.u8()
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 || r.bad {
			return v
		}
	}
}

func (r *buffer) sleb() (v int64) {
	for shift := uint(0); ; {
		c := r.u8()
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 || r.bad {
			if shift < 64 && c&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// cString reads a string up to its NUL.
func (r *buffer) cString() string {
	for i := r.off; !r.bad && i < len(r.b); i++ {
		if r.b[i] == 0 {
			s := string(r.b[r.off:i])
			r.off = i + 1
			return s
		}
	}
	r.bad = true
	return ""
}

// Encodings of pointers in .eh_frame (DW_EH_PE_*).
const (
	peOmit     = 0xff
	peFormat   = 0x0f
	peULEB     = 0x01
	peUdata2   = 0x02
	peUdata4   = 0x03
	peUdata8   = 0x04
	peSigned   = 0x08
	peSLEB     = 0x09
	peSdata2   = 0x0a
	peSdata4   = 0x0b
	peSdata8   = 0x0c
	peRelation = 0x70
	pePCRel    = 0x10
	peDataRel  = 0x30
	peIndirect = 0x80
)

// encoded reads a pointer in one of .eh_frame's encodings. data is what data-relative
// pointers count from. Of an indirect pointer the place of the pointer is returned.
func (r *buffer) encoded(encoding uint8, size int, data uint64) uint64 {
	if encoding == peOmit {
		return 0
	}
	at := r.addr + uint64(r.off)
	v := r.value(encoding, size)
	switch encoding & peRelation {
	case 0:
	case pePCRel:
		v += at
	case peDataRel:
		v += data
	default:
		r.bad = true // relative to text or to a function: no linker writes them
	}
	if size == 4 {
		v &= 1<<32 - 1
	}
	return v
}

// value reads the number of an encoded pointer.
func (r *buffer) value(encoding uint8, size int) uint64 {
	switch encoding & peFormat {
	case 0:
		return r.pointer(size)
	case peSigned:
		if size == 4 {
			return uint64(int64(int32(r.u32())))
		}
		return r.u64()
	case peULEB:
		return r.uleb()
	case peSLEB:
		return uint64(r.sleb())
	case peUdata2:
		return uint64(r.u16())
	case peSdata2:
		return uint64(int64(int16(r.u16())))
	case peUdata4:
		return uint64(r.u32())
	case peSdata4:
		return uint64(int64(int32(r.u32())))
	case peUdata8, peSdata8:
		return r.u64()
	}
	r.bad = true
	return 0
}
