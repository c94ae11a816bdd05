package dwarf

import "encoding/binary"

// A buf is a cursor over bytes of a debug section. Reading past the end sets
// failed and yields zeros; callers look at failed where it matters and at
// latest when they are done.
type buf struct {
	b      []byte
	pos    int
	big    bool // big-endian
	failed bool
}

func (b *buf) u8() uint8 {
	if b.pos >= len(b.b) {
		b.failed = true
		return 0
	}
	v := b.b[b.pos]
	b.pos++
	return v
}

// take returns the next n bytes, or nil.
func (b *buf) take(n int) []byte {
	if n < 0 || n > len(b.b)-b.pos {
		b.failed = true
		b.pos = len(b.b)
		return nil
	}
	s := b.b[b.pos : b.pos+n]
	b.pos += n
	return s
}

func (b *buf) u16() uint16 {
	s := b.take(2)
	if s == nil {
		return 0
	}
	if b.big {
		return binary.BigEndian.Uint16(s)
	}
	return binary.LittleEndian.Uint16(s)
}

func (b *buf) u24() uint32 {
	s := b.take(3)
	if s == nil {
		return 0
	}
	if b.big {
		return uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])
	}
	return uint32(s[2])<<16 | uint32(s[1])<<8 | uint32(s[0])
}

func (b *buf) u32() uint32 {
	s := b.take(4)
	if s == nil {
		return 0
	}
	if b.big {
		return binary.BigEndian.Uint32(s)
	}
	return binary.LittleEndian.Uint32(s)
}

func (b *buf) u64() uint64 {
	s := b.take(8)
	if s == nil {
		return 0
	}
	if b.big {
		return binary.BigEndian.Uint64(s)
	}
	return binary.LittleEndian.Uint64(s)
}

// uint reads an unsigned integer of 1, 2, 4 or 8 bytes.
func (b *buf) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(b.u8())
	case 2:
		return uint64(b.u16())
	case 4:
		return uint64(b.u32())
	case 8:
		return b.u64()
	}
	b.failed = true
	return 0
}

// uleb reads an unsigned LEB128; bits beyond 64 are dropped.
func (b *buf) uleb() uint64 {
	if b.pos < len(b.b) && b.b[b.pos] < 0x80 {
		v := b.b[b.pos]
		b.pos++
		return uint64(v)
	}
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if b.pos >= len(b.b) {
			b.failed = true
			return 0
		}
		c := b.b[b.pos]
		b.pos++
		if shift < 64 {
			v |= uint64(c&0x7f) << shift
		}
		if c < 0x80 {
			return v
		}
	}
}

func (b *buf) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		if b.pos >= len(b.b) {
			b.failed = true
			return 0
		}
		c := b.b[b.pos]
		b.pos++
		if shift < 64 {
			v |= int64(c&0x7f) << shift
		}
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}

// skip passes over n bytes.
func (b *buf) skip(n uint64) {
	if n > uint64(len(b.b)-b.pos) {
		b.failed = true
		b.pos = len(b.b)
		return
	}
	b.pos += int(n)
}

// skipString passes over a NUL-terminated string.
func (b *buf) skipString() {
	for b.pos < len(b.b) {
		b.pos++
		if b.b[b.pos-1] == 0 {
			return
		}
	}
	b.failed = true
}

// length reads an initial length: the length and the size of offsets, 4 or 8
// bytes.
func (b *buf) length() (n uint64, offsetSize int) {
	n = uint64(b.u32())
	if n == 0xffffffff {
		return b.u64(), 8
	}
	if n >= 0xfffffff0 {
		b.failed = true
	}
	return n, 4
}
