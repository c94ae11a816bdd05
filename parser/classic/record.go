package classic

import (
	"encoding/binary"

	"logparser/parser"
)

// Sizes of a record in bytes.
const (
	// Size32 is the record of 32-bit programs, and of 64-bit programs that
	// keep the low half of their addresses.
	Size32 = 16
	// Size64 is the record of 64-bit programs.
	Size64 = 24
)

// flagOffset returns where the flag lies in a record; padding follows it.
func flagOffset(size int) int {
	if size == Size32 {
		return 12
	}
	return 16
}

// A record is one record, taken apart. Its flag is the byte as it is.
type record struct {
	address uint64
	thread  uint32
	tick    uint32
	flag    uint8
}

// parseRecord takes a record of len(b) bytes apart.
func parseRecord(b []byte) record {
	if len(b) == Size32 {
		return record{
			address: uint64(binary.LittleEndian.Uint32(b)),
			thread:  binary.LittleEndian.Uint32(b[4:]),
			tick:    binary.LittleEndian.Uint32(b[8:]),
			flag:    b[12],
		}
	}
	_ = b[Size64-1]
	return record{
		address: binary.LittleEndian.Uint64(b),
		thread:  binary.LittleEndian.Uint32(b[8:]),
		tick:    binary.LittleEndian.Uint32(b[12:]),
		flag:    b[16],
	}
}

// damaged says that the record cannot be right: no call returns to address 0,
// and a bool is 0 or 1.
func (r record) damaged() bool { return r.flag > 1 || r.address == 0 }

// decode16 fills dst from 16-byte records, all of each event: callers read
// logs of several formats into one buffer. base holds the nanoseconds to add
// to ticks whose highest bit is clear, and set.
func decode16(dst []parser.Event, b []byte, base [2]int64) {
	b = b[:len(dst)*Size32]
	for i := range dst {
		r := b[i*Size32 : i*Size32+Size32 : i*Size32+Size32]
		address := uint64(binary.LittleEndian.Uint32(r))
		word := binary.LittleEndian.Uint64(r[8:])
		tick := uint32(word)
		dst[i] = parser.Event{Address: address, Time: int64(tick)*1e6 + base[tick>>31], Thread: binary.LittleEndian.Uint32(r[4:]), Kind: kind(uint8(word>>32), address)}
	}
}

// decode24 is decode16 for 24-byte records.
func decode24(dst []parser.Event, b []byte, base [2]int64) {
	b = b[:len(dst)*Size64]
	for i := range dst {
		r := b[i*Size64 : i*Size64+Size64 : i*Size64+Size64]
		address := binary.LittleEndian.Uint64(r)
		word := binary.LittleEndian.Uint64(r[8:])
		tick := uint32(word >> 32)
		dst[i] = parser.Event{Address: address, Time: int64(tick)*1e6 + base[tick>>31], Thread: uint32(word), Kind: kind(r[16], address)}
	}
}

func kind(flag uint8, address uint64) parser.Kind {
	if flag > 1 || address == 0 {
		return parser.Damaged
	}
	return parser.Kind(flag ^ 1)
}

// A stretch is what a fast look at successive records tells.
type stretch struct {
	// irregular says that something needs a closer look: a damaged record, a tick
	// step that is not an ordinary one, or many records of only one kind.
	irregular   bool
	first, last uint32 // ticks
}

// Tick steps in milliseconds.
const (
	// backward is the step back that threads cause which are interrupted
	// between reading the tick and writing the record.
	backward = 5_000
	// forward is the step beyond which a record is looked at closely.
	forward = 600_000
	// longPause is the longest step that records are taken to go on after.
	longPause = 24 * 3600_000
	// nearWrap is how close to 2^32 (or to 0) a tick is taken to be near the
	// counter's wrap.
	nearWrap = 3_600_000
)

// lookGroup is how many records of only one kind are irregular. Misread records
// mostly show as such; long unwindings of deep recursion do too.
const lookGroup = 64

// closeTicks is a number of low bits: ticks that differ in no others are less
// than backward apart.
const closeTicks = 12

// look looks at records of size bytes, at least one. Opening a large log waits
// for it, and it for memory: so it goes along two places at once, and takes of a
// group no more than the bits that any and that all records have. Only where
// these do not show that all ticks are close it looks at each.
func look(b []byte, size int) stretch {
	n := len(b) / size
	s := stretch{first: tickAt(b, 0, size), last: tickAt(b, n-1, size)}
	groups, groupBytes := n/(2*lookGroup), lookGroup*size
	for i := range groups {
		k := groups + i
		x, y := b[i*groupBytes:(i+1)*groupBytes], b[k*groupBytes:(k+1)*groupBytes]
		var inX, inY bits
		if size == Size32 {
			inX, inY = gather16(x, y)
		} else {
			inX, inY = gather24(x, y)
		}
		s.take(inX, b, i*lookGroup, size)
		s.take(inY, b, k*lookGroup, size)
	}
	enters := 0
	for i := 2 * groups * lookGroup; i < n; i++ {
		r := parseRecord(b[i*size : (i+1)*size])
		s.irregular = s.irregular || r.damaged() || !ordinary(tickAt(b, max(i-1, 0), size), r.tick)
		enters += int(r.flag)
		if i%lookGroup == lookGroup-1 {
			s.irregular = s.irregular || enters == 0 || enters == lookGroup
			enters = 0
		}
	}
	return s
}

// tickAt returns the tick of record i of those in b.
func tickAt(b []byte, i, size int) uint32 {
	return binary.LittleEndian.Uint32(b[i*size+flagOffset(size)-4:])
}

// bits are those that some and that every record of a group has, of its tick and,
// from bit 32 on, its flag. An address 0 sets the highest bit of zero.
type bits struct{ some, every, zero uint64 }

// take takes in the group whose first record is number first of those in b.
func (s *stretch) take(in bits, b []byte, first, size int) {
	if in.zero>>63 != 0 || uint8(in.some>>32) > 1 || (in.some^in.every)>>32&1 == 0 {
		s.irregular = true
	}
	prev := tickAt(b, max(first-1, 0), size)
	if ((uint32(in.some)|prev)^(uint32(in.every)&prev))>>closeTicks == 0 {
		return
	}
	for i := first; i < first+lookGroup; i++ {
		tick := tickAt(b, i, size)
		s.irregular = s.irregular || !ordinary(prev, tick)
		prev = tick
	}
}

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
func half(b []byte) uint64 { return uint64(binary.LittleEndian.Uint32(b)) }

// gather16 gathers the bits of two groups of as many 16-byte records, a multiple
// of four.
func gather16(x, y []byte) (inX, inY bits) {
	inX.every, inY.every = ^uint64(0), ^uint64(0)
	for i := 0; i+4*Size32 <= len(x) && i+4*Size32 <= len(y); i += 4 * Size32 {
		r := x[i : i+4*Size32 : i+4*Size32]
		a, b, c, d := word(r[8:]), word(r[24:]), word(r[40:]), word(r[56:])
		inX.some |= a | b | c | d
		inX.every &= a & b & c & d
		inX.zero |= (half(r) - 1) | (half(r[16:]) - 1) | (half(r[32:]) - 1) | (half(r[48:]) - 1)
		r = y[i : i+4*Size32 : i+4*Size32]
		a, b, c, d = word(r[8:]), word(r[24:]), word(r[40:]), word(r[56:])
		inY.some |= a | b | c | d
		inY.every &= a & b & c & d
		inY.zero |= (half(r) - 1) | (half(r[16:]) - 1) | (half(r[32:]) - 1) | (half(r[48:]) - 1)
	}
	return inX, inY
}

// gather24 is gather16 for 24-byte records.
func gather24(x, y []byte) (inX, inY bits) {
	inX.every, inY.every = ^uint64(0), ^uint64(0)
	for i := 0; i+Size64 <= len(x) && i+Size64 <= len(y); i += Size64 {
		r := x[i : i+Size64 : i+Size64]
		a, address := word(r[8:])>>32|word(r[16:])<<32, word(r)
		inX.some |= a
		inX.every &= a
		inX.zero |= (address - 1) &^ address
		r = y[i : i+Size64 : i+Size64]
		a, address = word(r[8:])>>32|word(r[16:])<<32, word(r)
		inY.some |= a
		inY.every &= a
		inY.zero |= (address - 1) &^ address
	}
	return inX, inY
}

// ordinary says that a step from one tick to the next needs no closer look.
func ordinary(prev, tick uint32) bool {
	step := tick - prev
	return (tick^prev|(step+backward)|(forward-step))>>31 == 0
}

func beforeWrap(tick uint32) bool { return tick >= 1<<32-nearWrap }
func afterWrap(tick uint32) bool  { return tick < nearWrap }

// tickStep returns the step from a tick to another in milliseconds. Only near
// the end of the counter's range is a backward step taken for a wrap.
func tickStep(from, to uint32) int64 {
	d := int64(to) - int64(from)
	switch {
	case beforeWrap(from) && afterWrap(to):
		return d + 1<<32
	case afterWrap(from) && beforeWrap(to):
		return d - 1<<32
	}
	return d
}

// steady says that a step is one that threads or a short pause explain.
func steady(step int64) bool { return step >= -backward && step <= forward }
