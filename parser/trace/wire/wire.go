// Package wire is how a trace lies in a file: the numbers of its records, and
// their encoding and decoding. The reader (parser/trace), the text form
// (parser/trace/tracetext) and the writer of tests go through it; the recorder
// has the same numbers in recorder/src/format.h.
//
// A file is a header and chunks. A chunk has records of events of one thread,
// made of 16-bit words, or records of the process, each at a multiple of 8
// bytes. All numbers are little-endian. docs/formats.md describes the format,
// version 1.1, in full; names and units are those used there.
//
// Nothing here knows what records mean together: which chunk follows which,
// which call a leave ends, what a window was set to.
package wire

import "encoding/binary"

// A Type is the type of an event record. Those of enters and leaves with an
// address are followed by the same with a return address.
type Type uint16

// Types of event records.
const (
	Time          Type = 1
	Window        Type = 2
	Enter         Type = 3
	EnterReturn   Type = 4
	Leave         Type = 5
	LeaveReturn   Type = 6
	LeaveWindowed Type = 7
	Site          Type = 8
	Stack         Type = 9
	Mark          Type = 10
	Counter       Type = 11
	Arguments     Type = 12
	Result        Type = 13
	Lost          Type = 14

	// MustKnow is the first type that a reader must not skip when it does not
	// know it.
	MustKnow Type = 48

	Switch Type = 48
	Left   Type = 49
)

// Kinds of addresses.
const (
	Entry  = 0 // the first byte of a function
	Return = 1 // where a call returns to
)

// Flags of STACK.
const (
	StackTimes  = 1
	StackStated = 2
)

const (
	// TimeShift is by how many bits the number of a TIME record is shifted.
	TimeShift = 15
	// OffsetBits is the width of an offset in a window; Windows is how many
	// windows a chunk has at a time.
	OffsetBits = 27
	Windows    = 8

	// ShortEnterSize and ShortLeaveSize are the lengths in bytes of the two
	// records that have no type.
	ShortEnterSize = 6
	ShortLeaveSize = 2
	// LongestFixed is the length in bytes of the longest record that says its
	// length in its first word.
	LongestFixed = 255 * 2
	// MaxShortDelta is the most units that pass before a short leave,
	// MaxWordDelta before records with a delta of 16 bits, and MaxDelta before
	// an enter or leave with an address.
	MaxShortDelta = 1<<15 - 1
	MaxWordDelta  = 1<<16 - 1
	MaxDelta      = 1<<48 - 1
)

var le = binary.LittleEndian

// IsShort reports whether a record is a short enter or leave, by its first
// word.
func IsShort(first uint16) bool { return first&3 != 0 }

// IsShortLeave reports whether a record is a short leave, by its first word.
func IsShortLeave(first uint16) bool { return first&1 != 0 }

// TypeOf returns the type of a record that is neither short nor padding, by
// its first word.
func TypeOf(first uint16) Type { return Type(first >> 2 & 63) }

// IsEvent reports whether a record is an enter or a leave, by its first word.
func IsEvent(first uint16) bool {
	t := TypeOf(first)
	return first&3 != 0 || t >= Enter && t <= LeaveWindowed
}

// LeaveDelta returns the units that pass before a short leave, of which v has
// the first bytes.
func LeaveDelta(v uint64) uint64 { return v >> 1 & MaxShortDelta }

// EnterDelta returns the units that pass before a short enter, of which v has
// the first bytes.
func EnterDelta(v uint64) uint64 { return v >> 32 & MaxWordDelta }

// EnterWindow returns the window of a short enter, and EnterOffset its offset
// there.
func EnterWindow(v uint64) int { return int(v >> 2 & (Windows - 1)) }

// EnterOffset returns the offset of a short enter in its window.
func EnterOffset(v uint64) uint64 { return v >> 5 & (1<<OffsetBits - 1) }

// Windowed takes a windowed address apart.
func Windowed(v uint32) (window int, offset uint64) {
	return int(v & (Windows - 1)), uint64(v >> (32 - OffsetBits))
}

// U48 returns a number of six bytes; b has at least eight.
func U48(b []byte) uint64 { return le.Uint64(b) & (1<<48 - 1) }

// Length returns the length in bytes of the record at the beginning of b, and
// that of its head; 0 where it goes beyond b's end or is impossible. Padding
// is one record as far as it goes.
func Length(b []byte) (length, head int) {
	if len(b) < 2 {
		return 0, 0
	}
	first := le.Uint16(b)
	length, head = 2, 2
	switch {
	case IsShortLeave(first):
	case IsShort(first):
		length = ShortEnterSize
	case first == 0:
		for length+2 <= len(b) && le.Uint16(b[length:]) == 0 {
			length += 2
		}
	case first>>8 != 0:
		length = int(first>>8) * 2
	default:
		if len(b) < 6 {
			return 0, 0
		}
		n := le.Uint32(b[2:])
		if n < 6 || n%2 != 0 || uint64(n) > uint64(len(b)) {
			return 0, 0
		}
		length, head = int(n), 6
	}
	if length > len(b) {
		return 0, 0
	}
	return length, head
}

// LeastLength returns the least length in bytes of a record of a type, whose
// head has that many.
func LeastLength(t Type, head int) int {
	switch t {
	case Stack:
		return head + StackHead
	case Mark:
		return head + 4
	case Counter:
		return head + 12
	case Lost, Left:
		return head + 4
	case Arguments, Result:
		return head + 2
	}
	return head
}

// TimeUnits returns the number of a TIME record of a length in bytes, which is
// to be shifted by [TimeShift]; it is not ok if the length is impossible. body
// has at least eight bytes.
func TimeUnits(body []byte, length int64) (v uint64, ok bool) {
	switch length {
	case 4:
		return uint64(le.Uint16(body)), true
	case 8:
		return U48(body), true
	case 10:
		return le.Uint64(body), true
	}
	return 0, false
}

// Delta returns the units that pass before a record of a type other than TIME;
// body has at least eight bytes.
func Delta(t Type, body []byte) uint64 {
	switch t {
	case Enter, EnterReturn, Leave, LeaveReturn:
		return U48(body)
	case LeaveWindowed, Mark, Counter, Switch:
		return uint64(le.Uint16(body))
	}
	return 0
}

// StackHead is the length in bytes of what stands in the body of a STACK
// before its calls.
const StackHead = 10

// A StackInfo is what a STACK says before its calls.
type StackInfo struct {
	Flags uint16
	Depth uint32 // of the stack
	Calls uint32 // that follow
}

// ParseStack reads the first [StackHead] bytes of a STACK's body.
func ParseStack(body []byte) StackInfo {
	return StackInfo{le.Uint16(body), le.Uint32(body[2:]), le.Uint32(body[6:])}
}

// Size returns how many bytes the calls of a STACK take.
func (s StackInfo) Size() int64 {
	if s.Flags&StackTimes != 0 {
		return int64(s.Calls) * 16
	}
	return int64(s.Calls) * 8
}
