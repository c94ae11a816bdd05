// Package wire encodes and decodes the records of a trace, and has their numbers.
// The reader (parser/trace), the text form (parser/trace/tracetext) and the writer
// (parser/trace/tracefile) use it. The recorder has the same numbers in
// recorder/src/format.h.
//
// A file is a header and chunks. A chunk has either records of events of one
// thread, which are made of 16-bit words, or records of the process, which begin at
// multiples of 8 bytes. All numbers are little-endian. docs/formats.md describes the
// format, version 1.4, in full. Names and units here are the same as there.
//
// This package handles single records. It does not know how records belong
// together: which chunk follows another, which call a leave ends, or what base a
// window has.
package wire

import "encoding/binary"

// A Type is the type of an event record. Enters and leaves with an address have two types each. The first is for an entry address,
// and the next number is for a return address.
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
	// PlanArguments and PlanResult are Arguments and Result of the kind ByPlan, without the field for the kind.
	PlanArguments Type = 15
	PlanResult    Type = 16

	// MustKnow is the first type of records that a reader must not skip if it does not know them.
	MustKnow Type = 48

	Switch Type = 48
	Left   Type = 49
	// PlaceArguments and PlaceResult are Arguments and Result of the kind Given. The first word has the number of the place;
	// two bits of it are added to the type, and TypeOf removes them.
	PlaceArguments Type = 56
	PlaceResult    Type = 60
	// MostShortPlace is the largest number of a place that fits into the first word.
	MostShortPlace = 63
)

// Kinds of addresses.
const (
	Entry  = 0 // the first byte of a function
	Return = 1 // a return address
)

// Flags of a STACK.
const (
	StackTimes  = 1
	StackStated = 2
)

const (
	// TimeShift is how many bits the number in a TIME record is shifted to the left to give units.
	TimeShift = 15
	// OffsetBits is the width of an offset in a window. Windows is the number of
	// windows that a chunk has at a time.
	OffsetBits = 27
	Windows    = 8

	// ShortEnterSize and ShortLeaveSize are the lengths in bytes of short enters and
	// short leaves, which have no type.
	ShortEnterSize = 6
	ShortLeaveSize = 2
	// LongestFixed is the length in bytes of the longest record whose length is in its
	// first word.
	LongestFixed = 255 * 2
	// The largest deltas, in units: MaxShortDelta of a short leave, MaxWordDelta of
	// records with a delta of 16 bits, and MaxDelta of an enter or leave with an
	// address.
	MaxShortDelta = 1<<15 - 1
	MaxWordDelta  = 1<<16 - 1
	MaxDelta      = 1<<48 - 1
)

var le = binary.LittleEndian

// IsShort reports whether a record with this first word is a short enter or leave.
func IsShort(first uint16) bool { return first&3 != 0 }

// IsShortLeave reports whether a record with this first word is a short leave.
func IsShortLeave(first uint16) bool { return first&1 != 0 }

// TypeOf returns the type of a record from its first word. The record must be neither short nor padding.
func TypeOf(first uint16) Type {
	t := Type(first >> 2 & 63)
	if t >= PlaceArguments {
		t &^= 3
	}
	return t
}

// Words returns the length of a record in 16-bit words from its first word. It returns 0 if the 32 bits after that word have
// the length in bytes. The record must be neither short nor padding.
func Words(first uint16) int {
	if TypeOf(first) >= PlaceArguments {
		return int(first >> 8 & 15)
	}
	return int(first >> 8)
}

// IsValues reports whether records of a type are values of calls.
func IsValues(t Type) bool {
	return t == Arguments || t == Result || t == PlanArguments || t == PlanResult || t == PlaceArguments || t == PlaceResult
}

// IsEvent reports whether a record with this first word is an enter or a leave.
func IsEvent(first uint16) bool {
	t := TypeOf(first)
	return first&3 != 0 || t >= Enter && t <= LeaveWindowed
}

// LeaveDelta returns the delta, in units, of the short leave in v's first bytes.
func LeaveDelta(v uint64) uint64 { return v >> 1 & MaxShortDelta }

// EnterDelta returns the delta, in units, of the short enter in v's first bytes.
func EnterDelta(v uint64) uint64 { return v >> 32 & MaxWordDelta }

// EnterWindow returns the window of a short enter.
func EnterWindow(v uint64) int { return int(v >> 2 & (Windows - 1)) }

// EnterOffset returns the offset of a short enter in its window.
func EnterOffset(v uint64) uint64 { return v >> 5 & (1<<OffsetBits - 1) }

// Windowed returns the window and the offset of a windowed address.
func Windowed(v uint32) (window int, offset uint64) {
	return int(v & (Windows - 1)), uint64(v >> (32 - OffsetBits))
}

// U48 reads a number of six bytes. b must have at least eight.
func U48(b []byte) uint64 { return le.Uint64(b) & (1<<48 - 1) }

// Length returns the length in bytes of the record at the beginning of b, and the length of its head. It returns 0 if b does
// not have the whole record, or if the length is impossible. All padding up to the next record counts as one record.
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
	case Words(first) != 0:
		length = Words(first) * 2
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

// LeastLength returns the smallest length in bytes of a record of a type. head is the length of its head in bytes.
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

// TimeUnits returns the number in a TIME record of length bytes. The caller must shift it by [TimeShift]. ok is false if the
// length is impossible. body must have at least eight bytes.
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

// Delta returns the delta, in units, of a record of a type other than TIME. body must have at least eight bytes.
func Delta(t Type, body []byte) uint64 {
	switch t {
	case Enter, EnterReturn, Leave, LeaveReturn:
		return U48(body)
	case LeaveWindowed, Mark, Counter, Switch:
		return uint64(le.Uint16(body))
	}
	return 0
}

// StackHead is the length in bytes of the body of a STACK before its calls.
const StackHead = 10

// A StackInfo is the content of a STACK before its calls.
type StackInfo struct {
	Flags uint16
	Depth uint32 // of the stack
	Calls uint32 // number of calls that follow
}

// ParseStack reads the first [StackHead] bytes of a STACK's body.
func ParseStack(body []byte) StackInfo {
	return StackInfo{le.Uint16(body), le.Uint32(body[2:]), le.Uint32(body[6:])}
}

// Size returns the number of bytes that the calls of a STACK take.
func (s StackInfo) Size() int64 {
	if s.Flags&StackTimes != 0 {
		return int64(s.Calls) * 16
	}
	return int64(s.Calls) * 8
}
