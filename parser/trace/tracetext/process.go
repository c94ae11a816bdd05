package tracetext

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// A form is how a field of a process record lies in the file.
type form int

const (
	u32 form = iota
	i32
	u64
	i64
	address  // u64, hexadecimal in text
	text     // string
	blob     // u32 length, bytes
	zero     // u32, reserved
	argCount // u32, number of the strings that follow at the end
	args
)

type field struct {
	name string
	form form
}

type processRecord struct {
	name   string
	fields []field
}

// processRecords are the records of the process by type.
var processRecords = map[uint16]processRecord{
	1: {"process", []field{{"pid", u32}, {"parent", u32}, {"", argCount}, {"path", text}, {"system", text}, {"recorder", text}, {"", args}}},
	2: {"clock", []field{{"ns", u64}, {"wall", i64}, {"ahead", i32}, {"uncertainty", u32}}},
	3: {"load", []field{{"module", u32}, {"flags", u32}, {"base", address}, {"size", address}, {"bias", address}, {"timestamp", u32},
		{"image", u32}, {"filesize", u64}, {"changed", u64}, {"path", text}, {"identity", text}, {"pdb", text}}},
	4:  {"unload", []field{{"module", u32}, {"", zero}}},
	5:  {"thread", []field{{"stream", u32}, {"", zero}, {"id", u64}, {"name", text}}},
	6:  {"threadend", []field{{"stream", u32}, {"", zero}}},
	7:  {"fork", []field{{"child", u32}, {"", zero}}},
	8:  {"exec", []field{{"path", text}}},
	9:  {"switch", []field{{"on", u32}, {"", zero}, {"why", text}}},
	10: {"overhead", []field{{"way", u32}, {"enterbefore", u32}, {"enterafter", u32}, {"leavebefore", u32}, {"leaveafter", u32}}},
	11: {"lostevents", []field{{"stream", u32}, {"level", u32}, {"events", u64}, {"why", text}}},
	12: {"image", []field{{"module", u32}, {"", zero}, {"address", address}, {"bytes", blob}}},
	13: {"setting", []field{{"name", text}, {"value", text}}},
	15: {"end", nil},
}

// processTypes are their types by name.
var processTypes = func() map[string]uint16 {
	m := make(map[string]uint16)
	for typ, r := range processRecords {
		m[r.name] = typ
	}
	return m
}()

const processHead = 16

// dumpProcess writes a record, of which b is all bytes, as a line. It writes
// what it understands; whether that is all is for the caller to check.
func dumpProcess(b []byte) string {
	le := binary.LittleEndian
	typ, time := le.Uint16(b[4:]), le.Uint64(b[8:])
	var s strings.Builder
	r, ok := processRecords[typ]
	if !ok {
		fmt.Fprintf(&s, "record @%d type=%d %s", time, typ, hex.EncodeToString(b[processHead:]))
		return s.String()
	}
	fmt.Fprintf(&s, "%s @%d", r.name, time)
	b = b[processHead:]
	take := func(n uint64) []byte {
		if n > uint64(len(b)) {
			n = uint64(len(b))
		}
		t := b[:n]
		b = b[n:]
		return t
	}
	number := func(n int) uint64 {
		var v [8]byte
		copy(v[:], take(uint64(n)))
		return le.Uint64(v[:])
	}
	count := uint64(0)
	for _, f := range r.fields {
		switch f.form {
		case u32:
			fmt.Fprintf(&s, " %s=%d", f.name, number(4))
		case i32:
			fmt.Fprintf(&s, " %s=%d", f.name, int32(number(4)))
		case u64:
			fmt.Fprintf(&s, " %s=%d", f.name, number(8))
		case i64:
			fmt.Fprintf(&s, " %s=%d", f.name, int64(number(8)))
		case address:
			fmt.Fprintf(&s, " %s=%#x", f.name, number(8))
		case text:
			fmt.Fprintf(&s, " %s=%s", f.name, strconv.Quote(string(take(number(4)))))
		case blob:
			fmt.Fprintf(&s, " %s=%s", f.name, hex.EncodeToString(take(number(4))))
		case zero:
			number(4)
		case argCount:
			count = number(4)
		case args:
			for ; count > 0 && len(b) >= 4; count-- {
				fmt.Fprintf(&s, " %s", strconv.Quote(string(take(number(4)))))
			}
		}
	}
	return s.String()
}

// loadProcess appends the record that a line says.
func loadProcess(b []byte, name string, l *line, now uint64) ([]byte, uint64) {
	le := binary.LittleEndian
	start := len(b)
	time := now
	if len(l.plain) > 0 && strings.HasPrefix(l.plain[0], "@") {
		time = l.number(l.next("a time")[1:], "the time", 64)
	}
	typ, ok := processTypes[name]
	if !ok {
		typ = uint16(l.field("type", 16, 0))
	}
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, uint32(typ))
	b = le.AppendUint64(b, time)
	if !ok {
		if len(l.plain) > 0 {
			b = append(b, l.bytes(l.next("bytes"), "the body")...)
		}
	}
	word := func(f field) string {
		w, ok := l.fields[f.name]
		if !ok {
			switch f.form {
			case text:
				return `""`
			case blob:
				return ""
			}
			return "0"
		}
		delete(l.fields, f.name)
		return w
	}
	str := func(s string) { b = append(le.AppendUint32(b, uint32(len(s))), s...) }
	for _, f := range processRecords[typ].fields {
		switch f.form {
		case u32:
			b = le.AppendUint32(b, uint32(l.number(word(f), f.name, 32)))
		case i32:
			b = le.AppendUint32(b, uint32(l.signed(word(f), f.name, 32)))
		case u64, address:
			b = le.AppendUint64(b, l.number(word(f), f.name, 64))
		case i64:
			b = le.AppendUint64(b, uint64(l.signed(word(f), f.name, 64)))
		case text:
			str(l.text(word(f), f.name))
		case blob:
			str(string(l.bytes(word(f), f.name)))
		case zero:
			b = le.AppendUint32(b, 0)
		case argCount:
			b = le.AppendUint32(b, uint32(len(l.plain)))
		case args:
			for len(l.plain) > 0 {
				str(l.text(l.next("an argument"), "an argument"))
			}
		}
	}
	for len(b)%8 != start%8 {
		b = append(b, 0)
	}
	le.PutUint32(b[start:], uint32(len(b)-start))
	return b, time
}
