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
	// odd says that something needs a closer look: a damaged record, a tick
	// step that is not an ordinary one, or many records of only one kind.
	odd         bool
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

// lookGroup is how many records of only one kind are odd. Misread records
// mostly show as such; long unwindings of deep recursion do too.
const lookGroup = 64

// look16 looks at 16-byte records, at least one. Each test sets the highest
// bit of odd.
func look16(b []byte) stretch {
	prev := binary.LittleEndian.Uint32(b[8:])
	s := stretch{first: prev}
	var odd uint32
	for len(b) >= Size32 {
		n := min(len(b)/Size32, lookGroup)
		var flags uint8
		enters := 0
		for i := 0; i < n; i++ {
			r := b[i*Size32 : i*Size32+Size32 : i*Size32+Size32]
			address := binary.LittleEndian.Uint32(r)
			word := binary.LittleEndian.Uint64(r[8:])
			tick, flag := uint32(word), uint8(word>>32)
			step := tick - prev
			odd |= tick ^ prev | (step + backward) | (forward - step) | (address-1)&^address
			flags |= flag
			enters += int(flag)
			prev = tick
		}
		if flags > 1 || n == lookGroup && (enters == 0 || enters == n) {
			s.odd = true
		}
		b = b[n*Size32:]
	}
	s.last = prev
	s.odd = s.odd || odd>>31 != 0
	return s
}

// look24 is look16 for 24-byte records.
func look24(b []byte) stretch {
	prev := binary.LittleEndian.Uint32(b[12:])
	s := stretch{first: prev}
	var odd uint32
	var zero uint64
	for len(b) >= Size64 {
		n := min(len(b)/Size64, lookGroup)
		var flags uint8
		enters := 0
		for i := 0; i < n; i++ {
			r := b[i*Size64 : i*Size64+Size64 : i*Size64+Size64]
			address := binary.LittleEndian.Uint64(r)
			tick := binary.LittleEndian.Uint32(r[12:])
			flag := r[16]
			step := tick - prev
			odd |= tick ^ prev | (step + backward) | (forward - step)
			zero |= (address - 1) &^ address
			flags |= flag
			enters += int(flag)
			prev = tick
		}
		if flags > 1 || n == lookGroup && (enters == 0 || enters == n) {
			s.odd = true
		}
		b = b[n*Size64:]
	}
	s.last = prev
	s.odd = s.odd || odd>>31 != 0 || zero>>63 != 0
	return s
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
