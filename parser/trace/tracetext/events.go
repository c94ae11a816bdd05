package tracetext

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Types of event records.
const (
	recTime      = 1
	recWindow    = 2
	recEnter     = 3
	recLeave     = 5
	recLeave7    = 7
	recSite      = 8
	recStack     = 9
	recMark      = 10
	recCounter   = 11
	recArguments = 12
	recResult    = 13
	recLost      = 14
	recSwitch    = 48
	recLeft      = 49

	offsetMask = 1<<27 - 1
)

var (
	kinds    = [...]string{"entry", "return"}
	counters = [...]string{"i64", "u64", "f64"}
)

// eventLength returns the length in bytes of the record at the beginning of b,
// and that of its head; 0 where it goes beyond b's end.
func eventLength(b []byte) (length, head int) {
	if len(b) < 2 {
		return 0, 0
	}
	le := binary.LittleEndian
	w := le.Uint16(b)
	length, head = 2, 2
	switch {
	case w&1 != 0:
	case w&2 != 0:
		length = 6
	case w == 0:
		for length+2 <= len(b) && le.Uint16(b[length:]) == 0 {
			length += 2
		}
	case w>>8 != 0:
		length = int(w>>8) * 2
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

// dumpEvent writes a record as a line, as far as it understands it; fields
// that are not there read as zero.
func dumpEvent(record []byte, head int) string {
	le := binary.LittleEndian
	w := le.Uint16(record)
	switch {
	case w&1 != 0:
		return fmt.Sprintf("leave +%d", w>>1)
	case w&2 != 0:
		v := uint64(le.Uint32(record)) | uint64(le.Uint16(record[4:]))<<32
		return fmt.Sprintf("enter +%d w%d %#x", v>>32, v>>2&7, v>>5&offsetMask)
	case w == 0:
		return fmt.Sprintf("padding %d", len(record)/2)
	}
	body := record[head:]
	// at reads a number of so many bytes.
	at := func(offset, n int) uint64 {
		var v [8]byte
		if offset < len(body) {
			copy(v[:n], body[offset:])
		}
		return le.Uint64(v[:])
	}
	rest := func(from, to int) []byte { return body[min(from, len(body)):min(max(from, to), len(body))] }
	switch typ := w >> 2 & 63; typ {
	case recTime:
		return fmt.Sprintf("time %d", at(0, min(len(body), 8)))
	case recWindow:
		return fmt.Sprintf("window w%d %s %#x", at(0, 2)&7, kinds[at(0, 2)>>3&1], at(2, 8))
	case recEnter, recEnter + 1:
		return fmt.Sprintf("enter +%d %s %#x", at(0, 6), kinds[typ-recEnter], at(6, 8))
	case recLeave, recLeave + 1:
		return fmt.Sprintf("leave +%d %s %#x", at(0, 6), kinds[typ-recLeave], at(6, 8))
	case recLeave7:
		return fmt.Sprintf("leave +%d w%d %#x", at(0, 2), at(2, 4)&7, at(2, 4)>>5)
	case recSite:
		if len(body) == 4 {
			return fmt.Sprintf("site w%d %#x", at(0, 4)&7, at(0, 4)>>5)
		}
		return fmt.Sprintf("site %#x", at(0, 8))
	case recStack:
		var s strings.Builder
		times, k := at(0, 2)&1, int(at(6, 4))
		fmt.Fprintf(&s, "stack depth=%d times=%d", at(2, 4), times)
		if at(0, 2)&2 != 0 {
			s.WriteString(" stated=1")
		}
		for i := range min(k, len(body)/8) {
			v := at(10+8*i, 8)
			if v == 0 {
				s.WriteString(" unknown")
			} else {
				fmt.Fprintf(&s, " %s:%#x", kinds[v&1], v>>1)
			}
			if times != 0 {
				fmt.Fprintf(&s, "@%d", at(10+8*(k+i), 8))
			}
		}
		return s.String()
	case recMark:
		return fmt.Sprintf("mark +%d %s", at(0, 2), strconv.Quote(string(rest(4, 4+int(at(2, 2))))))
	case recCounter:
		v := at(4, 8)
		var value string
		form := at(2, 1)
		switch form {
		case 0:
			value = strconv.FormatInt(int64(v), 10)
		case 1:
			value = strconv.FormatUint(v, 10)
		default:
			form = 2
			value = strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
		}
		return fmt.Sprintf("counter +%d %s %s %s", at(0, 2), counters[form], value, strconv.Quote(string(rest(12, 12+int(at(3, 1))))))
	case recArguments:
		return fmt.Sprintf("arguments %d %s", at(0, 2), hex.EncodeToString(rest(2, len(body))))
	case recResult:
		return fmt.Sprintf("result %d %s", at(0, 2), hex.EncodeToString(rest(2, len(body))))
	case recLost:
		return fmt.Sprintf("lost %d", at(0, 4))
	case recSwitch:
		return fmt.Sprintf("switch +%d %d", at(0, 2), at(2, 4))
	case recLeft:
		return fmt.Sprintf("left %d", at(0, 4))
	}
	return ""
}

// isWindow reports whether a word is "w0" to "w7".
func isWindow(w string) bool { return len(w) == 2 && w[0] == 'w' && w[1] >= '0' && w[1] <= '7' }

// loadEvent appends the record that a line says. now is the time before it;
// the time after it is returned.
func loadEvent(b []byte, name string, l *line, now uint64) ([]byte, uint64) {
	le := binary.LittleEndian
	first := func(typ, words int) { b = le.AppendUint16(b, uint16(typ<<2|words<<8)) }
	// delta takes a time and writes TIME for what is beyond most.
	delta := func(most uint64) uint64 {
		w := l.next("a time, + or @")
		if l.err != nil {
			return 0
		}
		var d uint64
		switch w[0] {
		case '+':
			d = l.number(w[1:], "the time", 64)
			if d > most {
				l.fail("+%d does not fit this record; a time record must come before it", d)
			}
		case '@':
			t := l.number(w[1:], "the time", 64)
			if t < now {
				l.fail("@%d is before %d", t, now)
			}
			if d = t - now; d > most {
				b = appendTime(b, d>>15)
				d &= 1<<15 - 1
			}
			now = t
			return d
		default:
			l.fail("%q is not a time", w)
		}
		now += d
		return d
	}
	kind := func() int {
		switch w := l.next("entry or return"); w {
		case "entry":
			return 0
		case "return":
			return 1
		default:
			l.fail("%q is neither entry nor return", w)
		}
		return 0
	}
	windowed := func() uint32 {
		w := l.next("a window")
		if !isWindow(w) {
			l.fail("%q is not a window", w)
			return 0
		}
		offset := l.number(l.next("an offset"), "the offset", 27)
		return uint32(w[1]-'0') | uint32(offset)<<5
	}
	whole := func() uint64 { return l.number(l.next("an address"), "the address", 64) }
	u48 := func(v uint64) { b = le.AppendUint32(le.AppendUint16(b, uint16(v)), uint32(v>>16)) }
	// long begins a record of any length, and done ends it.
	var start int
	long := func(typ, body int) {
		start = len(b)
		if n := 2 + body + body%2; n/2 <= 255 && typ != recStack {
			first(typ, n/2)
			return
		}
		first(typ, 0)
		b = le.AppendUint32(b, uint32(6+body+body%2))
	}
	done := func() {
		if (len(b)-start)%2 != 0 {
			b = append(b, 0)
		}
	}
	switch name {
	case "enter", "leave":
		hasWindow := len(l.plain) > 1 && isWindow(l.plain[1])
		switch {
		case name == "leave" && len(l.plain) == 1:
			d := delta(1<<15 - 1)
			b = le.AppendUint16(b, uint16(1|d<<1))
		case name == "leave" && hasWindow:
			d := delta(math.MaxUint16)
			first(recLeave7, 4)
			b = le.AppendUint32(le.AppendUint16(b, uint16(d)), windowed())
		case hasWindow:
			d := delta(math.MaxUint16)
			v := windowed()
			b = le.AppendUint32(b, 2|v&7<<2|v>>5<<5)
			b = le.AppendUint16(b, uint16(d))
		default:
			typ := recEnter
			if name == "leave" {
				typ = recLeave
			}
			d := delta(1<<48 - 1)
			first(typ+kind(), 8)
			u48(d)
			b = le.AppendUint64(b, whole())
		}
	case "time":
		v := l.number(l.next("a number"), "the time", 64)
		b = appendTime(b, v)
		now += v << 15
	case "window":
		w := l.next("a window")
		if !isWindow(w) {
			l.fail("%q is not a window", w)
			break
		}
		first(recWindow, 6)
		b = le.AppendUint16(b, uint16(w[1]-'0')|uint16(kind())<<3)
		b = le.AppendUint64(b, whole())
	case "site":
		if len(l.plain) > 0 && isWindow(l.plain[0]) {
			first(recSite, 3)
			b = le.AppendUint32(b, windowed())
		} else {
			first(recSite, 5)
			b = le.AppendUint64(b, whole())
		}
	case "stack":
		k := len(l.plain)
		depth := l.field("depth", 32, uint64(k))
		times := l.field("times", 1, 0)
		stated := l.field("stated", 1, 0)
		long(recStack, 10+8*k*int(1+times))
		b = le.AppendUint16(b, uint16(times|stated<<1))
		b = le.AppendUint32(le.AppendUint32(b, uint32(depth)), uint32(k))
		var entered []byte
		for len(l.plain) > 0 {
			call, time, _ := strings.Cut(l.next("a call"), "@")
			if times != 0 {
				entered = le.AppendUint64(entered, l.number(time, "the time of a call", 64))
			}
			if call == "unknown" {
				b = le.AppendUint64(b, 0)
				continue
			}
			word, address, _ := strings.Cut(call, ":")
			l.plain = append([]string{word}, l.plain...)
			n := kind()
			b = le.AppendUint64(b, l.number(address, "the address", 63)<<1|uint64(n))
		}
		b = append(b, entered...)
	case "mark":
		d := delta(math.MaxUint16)
		s := l.text(l.next("a text"), "the text")
		if len(s) > math.MaxUint16 {
			l.fail("the text is too long")
		}
		long(recMark, 4+len(s))
		b = append(le.AppendUint16(le.AppendUint16(b, uint16(d)), uint16(len(s))), s...)
		done()
	case "counter":
		d := delta(math.MaxUint16)
		form, value := l.next("i64, u64 or f64"), l.next("a value")
		s := l.text(l.next("a name"), "the name")
		if len(s) > math.MaxUint8 {
			l.fail("the name is too long")
		}
		var v uint64
		n := 0
		switch form {
		case "i64":
			v = uint64(l.signed(value, "the value", 64))
		case "u64":
			n, v = 1, l.number(value, "the value", 64)
		case "f64":
			f, err := strconv.ParseFloat(value, 64)
			if err != nil {
				l.fail("%q is not a number", value)
			}
			n, v = 2, math.Float64bits(f)
		default:
			l.fail("%q is not i64, u64 or f64", form)
		}
		long(recCounter, 12+len(s))
		b = append(le.AppendUint16(b, uint16(d)), byte(n), byte(len(s)))
		b = append(le.AppendUint64(b, v), s...)
		done()
	case "arguments", "result":
		typ := recArguments
		if name == "result" {
			typ = recResult
		}
		code := l.number(l.next("a code"), "the code", 16)
		var bytes []byte
		if len(l.plain) > 0 {
			bytes = l.bytes(l.next("bytes"), "the bytes")
		}
		long(typ, 2+len(bytes))
		b = append(le.AppendUint16(b, uint16(code)), bytes...)
		done()
	case "lost":
		first(recLost, 3)
		b = le.AppendUint32(b, uint32(l.number(l.next("a number"), "the events", 32)))
	case "switch":
		d := delta(math.MaxUint16)
		first(recSwitch, 4)
		b = le.AppendUint32(le.AppendUint16(b, uint16(d)), uint32(l.number(l.next("a number"), "the stack", 32)))
	case "left":
		first(recLeft, 3)
		b = le.AppendUint32(b, uint32(l.number(l.next("a number"), "the calls", 32)))
	case "padding":
		n := l.number(l.next("a number"), "the words", 24)
		b = append(b, make([]byte, 2*n)...)
	default:
		l.fail("there is no event record %q", name)
	}
	return b, now
}

func appendTime(b []byte, v uint64) []byte {
	le := binary.LittleEndian
	switch {
	case v <= math.MaxUint16:
		return le.AppendUint16(le.AppendUint16(b, recTime<<2|2<<8), uint16(v))
	case v < 1<<48:
		b = le.AppendUint16(le.AppendUint16(b, recTime<<2|4<<8), uint16(v))
		return le.AppendUint32(b, uint32(v>>16))
	}
	return le.AppendUint64(le.AppendUint16(b, recTime<<2|5<<8), v)
}
