package wire

import "math"

// The functions of this file append a record of an event chunk to b. They cut off
// bits that do not fit a field, so callers must keep to the bounds of deltas.

// first appends a record's first word.
func first(b []byte, t Type, words int) []byte {
	return le.AppendUint16(b, uint16(t)<<2|uint16(words)<<8)
}

// head appends the head of a record of any length. body is the length of its body in bytes.
func head(b []byte, t Type, body int) []byte {
	body += body % 2
	if words := (2 + body) / 2; words <= math.MaxUint8 && t != Stack {
		return first(b, t, words)
	}
	return le.AppendUint32(first(b, t, 0), uint32(6+body))
}

func appendU48(b []byte, v uint64) []byte {
	return le.AppendUint32(le.AppendUint16(b, uint16(v)), uint32(v>>16))
}

// even pads a record to whole words. body is the length of its body in bytes.
func even(b []byte, body int) []byte {
	if body%2 != 0 {
		return append(b, 0)
	}
	return b
}

// Offset returns a windowed address: the number of a window, and an offset in it.
func Offset(window int, address uint64) uint32 {
	return uint32(window) | uint32(address)<<(32-OffsetBits)
}

// AppendShortLeave appends a leave of the innermost call.
func AppendShortLeave(b []byte, delta uint64) []byte {
	return le.AppendUint16(b, uint16(1|delta<<1))
}

// AppendShortEnter appends an enter of a windowed address.
func AppendShortEnter(b []byte, delta uint64, windowed uint32) []byte {
	return le.AppendUint16(le.AppendUint32(b, 2|windowed&(Windows-1)<<2|windowed>>5<<5), uint16(delta))
}

// AppendTime appends a TIME: v × 2^[TimeShift] units pass.
func AppendTime(b []byte, v uint64) []byte {
	switch {
	case v <= math.MaxUint16:
		return le.AppendUint16(first(b, Time, 2), uint16(v))
	case v < 1<<48:
		return appendU48(first(b, Time, 4), v)
	}
	return le.AppendUint64(first(b, Time, 5), v)
}

// AppendWindow appends a WINDOW, which sets a window.
func AppendWindow(b []byte, window, kind int, base uint64) []byte {
	return le.AppendUint64(le.AppendUint16(first(b, Window, 6), uint16(window|kind<<3)), base)
}

// AppendEnter appends an enter with a whole address.
func AppendEnter(b []byte, delta uint64, kind int, address uint64) []byte {
	return le.AppendUint64(appendU48(first(b, Enter+Type(kind), 8), delta), address)
}

// AppendLeave appends a leave with a whole address.
func AppendLeave(b []byte, delta uint64, kind int, address uint64) []byte {
	return le.AppendUint64(appendU48(first(b, Leave+Type(kind), 8), delta), address)
}

// AppendLeaveWindowed appends a leave of a windowed address.
func AppendLeaveWindowed(b []byte, delta uint64, windowed uint32) []byte {
	return le.AppendUint32(le.AppendUint16(first(b, LeaveWindowed, 4), uint16(delta)), windowed)
}

// AppendSite appends the call site of the next enter.
func AppendSite(b []byte, address uint64) []byte { return le.AppendUint64(first(b, Site, 5), address) }

// AppendSiteWindowed appends the call site of the next enter.
func AppendSiteWindowed(b []byte, windowed uint32) []byte {
	return le.AppendUint32(first(b, Site, 3), windowed)
}

// AppendStack appends a STACK of calls, innermost last. Each call is the result of [Call], or 0 if it is not known. If flags
// has [StackTimes], times has the times of their enters.
func AppendStack(b []byte, flags uint16, depth uint32, calls, times []uint64) []byte {
	info := StackInfo{flags, depth, uint32(len(calls))}
	b = head(b, Stack, StackHead+int(info.Size()))
	b = le.AppendUint32(le.AppendUint32(le.AppendUint16(b, flags), depth), info.Calls)
	for _, v := range calls {
		b = le.AppendUint64(b, v)
	}
	if flags&StackTimes != 0 {
		for _, v := range times {
			b = le.AppendUint64(b, v)
		}
	}
	return b
}

// Call returns the number that stands for a call in a STACK.
func Call(address uint64, kind int) uint64 { return address<<1 | uint64(kind) }

// AppendAnnotation appends an annotation of at most 65,535 bytes.
func AppendAnnotation(b []byte, delta uint64, text string) []byte {
	n := 4 + len(text)
	b = le.AppendUint16(le.AppendUint16(head(b, Mark, n), uint16(delta)), uint16(len(text)))
	return even(append(b, text...), n)
}

// AppendCounter appends the value of a counter. Its name has at most 255 bytes. form is 0 for an int64, 1 for a uint64, and 2 for
// the bits of a float64.
func AppendCounter(b []byte, delta uint64, form uint8, bits uint64, name string) []byte {
	n := 12 + len(name)
	b = append(le.AppendUint16(head(b, Counter, n), uint16(delta)), form, uint8(len(name)))
	return even(append(le.AppendUint64(b, bits), name...), n)
}

// AppendValues appends an [Arguments] or [Result].
func AppendValues(b []byte, t Type, code uint16, values []byte) []byte {
	n := 2 + len(values)
	return even(append(le.AppendUint16(head(b, t, n), code), values...), n)
}

// AppendPlanValues appends a [PlanArguments] or [PlanResult].
func AppendPlanValues(b []byte, t Type, values []byte) []byte {
	return even(append(head(b, t, len(values)), values...), len(values))
}

// AppendPlaceValues appends a [PlaceArguments] or [PlaceResult]. The place is at most [MostShortPlace], and values has at most
// 28 bytes.
func AppendPlaceValues(b []byte, t Type, place uint32, values []byte) []byte {
	n := len(values) + len(values)%2
	word := uint16(t)<<2 | uint16(place&3)<<2 | uint16(2+n)/2<<8 | uint16(place>>2)<<12
	return even(append(le.AppendUint16(b, word), values...), len(values))
}

// AppendLost appends the number of events that were lost here.
func AppendLost(b []byte, events uint32) []byte { return le.AppendUint32(first(b, Lost, 3), events) }

// AppendSwitch appends a SWITCH: the events after it belong to a stack.
func AppendSwitch(b []byte, delta uint64, stack uint32) []byte {
	return le.AppendUint32(le.AppendUint16(first(b, Switch, 4), uint16(delta)), stack)
}

// AppendLeft appends a LEFT: the n innermost calls have ended without a leave.
func AppendLeft(b []byte, n uint32) []byte { return le.AppendUint32(first(b, Left, 3), n) }
