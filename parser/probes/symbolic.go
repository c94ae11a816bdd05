package probes

import "bytes"

// A place is what stands in parentheses in an event: an address, or the name of the kernel's function
// there. trace and trace_pipe print the latter of probes in the kernel:
//
//	p: (do_sys_open+0x0/0xd6) dfd=3
//	r: (sys_openat+0xc/0xe <- do_sys_open) ret=-2
//
// and behind names of modules' functions [MODULE], and with the option sym-addr <ADDRESS>.
type place struct {
	address uint64
	symbol  []byte // nil where it is an address
	// prefixed says that the address has 0x before it.
	prefixed bool
}

// trampoline is the place to which a function returns that has a second return probe; its caller is not known.
var trampoline = []byte("[unknown/kretprobe'd]")

// readPlace reads the first place of an event.
func readPlace(b []byte) (p place, rest []byte, ok bool) {
	if v, n := hexadecimal(b); n > 0 && n < len(b) && (b[n] == ')' || b[n] == ' ') {
		return place{address: v, prefixed: b[1] == 'x'}, b[n:], true
	}
	if rest, ok = bytes.CutPrefix(b, trampoline); ok {
		return place{symbol: trampoline}, rest, true
	}
	n := symbolLength(b)
	offset, ok := bytes.CutPrefix(b[n:], []byte("+0x"))
	if n == 0 || !ok {
		return p, nil, false
	}
	into, k := hexadecimal(offset)
	size, ok := bytes.CutPrefix(offset[k:], []byte("/0x"))
	if k == 0 || !ok {
		return p, nil, false
	}
	_, m := hexadecimal(size)
	if m == 0 {
		return p, nil, false
	}
	p.symbol = b[:n]
	if into > maxEntry {
		p.symbol = b[:n+len("+0x")+k]
	}
	rest, ok = placeEnd(size[m:])
	return p, rest, ok
}

// maxEntry is how far behind its function's first byte a probe of an enter may lie: behind the landing pad
// of an indirect branch, or what sets up the table of contents of PowerPC.
const maxEntry = 16

// caller reads what stands behind the arrow of a return. p is the place before the arrow: if that is a name it
// has an offset, and the caller's has none.
func (p *place) caller(b []byte) (second place, rest []byte, ok bool) {
	v, n := hexadecimal(b)
	prefixed := len(b) > 1 && b[1] == 'x'
	if n > 0 && n < len(b) && b[n] == ')' && (prefixed || p.symbol == nil && !p.prefixed) {
		return place{address: v, prefixed: prefixed}, b[n:], true
	}
	if n = symbolLength(b); n == 0 {
		return second, nil, false
	}
	rest, ok = placeEnd(b[n:])
	return place{symbol: b[:n]}, rest, ok
}

// placeEnd passes over the module and the address behind a name.
func placeEnd(b []byte) (rest []byte, ok bool) {
	if in, is := bytes.CutPrefix(b, []byte(" [")); is {
		end := bytes.IndexByte(in, ']')
		if end < 0 {
			return nil, false
		}
		b = in[end+1:]
	}
	if at, is := bytes.CutPrefix(b, []byte(" <")); is && !bytes.HasPrefix(at, []byte("- ")) {
		_, n := hexadecimal(at)
		if n == 0 || n == len(at) || at[n] != '>' {
			return nil, false
		}
		b = at[n+1:]
	}
	return b, true
}

// symbolLength returns how many bytes of a name of the kernel's symbols b begins with.
func symbolLength(b []byte) int {
	for i, c := range b {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '.' && c != '$') {
			return i
		}
	}
	return len(b)
}
