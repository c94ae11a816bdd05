package demangle

import "strings"

// A stringLiteral is what the name of a string constant says of it: its first
// bytes in the order of memory, and its length in bytes with the zero that
// ends it. Some compilers leave that zero out of a whole string's bytes.
type stringLiteral struct {
	bytes     []byte
	length    uint64
	width     int // bytes a character
	prefix    string
	truncated bool
}

// A name holds the first 32 characters of a string, wide or not.
const maxLiteralChars = 32

// stringLiteral reads what follows "??_C": "@_", a digit for the width, the
// length in bytes, a checksum and the first bytes, in which '?' escapes.
func (p *parser) stringLiteral() *symbol {
	if !p.consume("@_") {
		p.fail("not a string literal")
	}
	wide := false
	switch p.next() {
	case '0':
	case '1':
		wide = true
	default:
		p.failAt(p.pos-1, "unknown width of character")
	}
	start := p.pos
	length, negative := p.number()
	if negative || length < 1 || wide && length < 2 {
		p.failAt(start, "impossible length of a string")
	}
	end := strings.IndexByte(p.src[p.pos:], '@')
	if end < 0 {
		p.fail("string literal without its checksum")
	}
	p.pos += end + 1
	sym := p.newSymbol(symString)
	lit := &sym.str
	for !p.consume("@") {
		if len(lit.bytes) >= 4*maxLiteralChars {
			p.fail("string literal too long")
		}
		lit.bytes = append(lit.bytes, p.literalByte())
	}
	lit.length = length
	switch {
	case wide:
		lit.truncated = length > 2*maxLiteralChars
		// Wide characters are written with their high byte first.
		lit.width, lit.prefix = 2, "L"
		if len(lit.bytes)%2 != 0 {
			p.fail("half a character in a wide string")
		}
		for i := 0; i+1 < len(lit.bytes); i += 2 {
			lit.bytes[i], lit.bytes[i+1] = lit.bytes[i+1], lit.bytes[i]
		}
	default:
		lit.truncated = length > maxLiteralChars
		lit.width = guessWidth(lit.bytes, length)
		switch lit.width {
		case 2:
			lit.prefix = "u"
		case 4:
			lit.prefix = "U"
		}
	}
	return sym
}

// literalByte reads one byte of a string.
func (p *parser) literalByte() byte {
	c := p.next()
	if c != '?' {
		return c
	}
	switch c = p.next(); {
	case '0' <= c && c <= '9':
		return ",/\\:. \n\t'-"[c-'0']
	case 'a' <= c && c <= 'z':
		return c - 'a' + 0xE1
	case 'A' <= c && c <= 'Z':
		return c - 'A' + 0xC1
	case c == '$':
		hi, lo := p.next(), p.next()
		if hi < 'A' || hi > 'P' || lo < 'A' || lo > 'P' {
			p.failAt(p.pos-2, "not a digit")
		}
		return (hi-'A')<<4 | (lo - 'A')
	}
	p.failAt(p.pos-1, "unknown escape in a string")
	return 0
}

// guessWidth tells char, char16_t and char32_t apart, for which the name has
// one code: by the zeros that end the string, or by those within it where its
// end is not there.
func guessWidth(b []byte, length uint64) int {
	if length%2 != 0 {
		return 1
	}
	if length < maxLiteralChars {
		zeros := len(b) - len(strings.TrimRight(string(b), "\x00"))
		switch {
		case zeros >= 4 && length%4 == 0:
			return 4
		case zeros >= 2:
			return 2
		}
		return 1
	}
	zeros := strings.Count(string(b), "\x00")
	switch {
	case zeros >= 2*len(b)/3 && length%4 == 0:
		return 4
	case zeros >= len(b)/3:
		return 2
	}
	return 1
}

// print writes the string as a literal of C++.
func (l *stringLiteral) print(w *printer) {
	b := l.bytes
	w.str(l.prefix)
	w.byte('"')
	if end := l.length - uint64(l.width); !l.truncated && end < uint64(len(b)) {
		b = b[:end]
	}
	for ; len(b) >= l.width; b = b[l.width:] {
		var c uint32
		for i := l.width - 1; i >= 0; i-- {
			c = c<<8 | uint32(b[i])
		}
		w.escaped(c)
	}
	w.byte('"')
	if l.truncated {
		w.str("...")
	}
}

func (w *printer) escaped(c uint32) {
	switch {
	case c == 0:
		w.str(`\0`)
	case c == '\'' || c == '"' || c == '\\':
		w.byte('\\')
		w.byte(byte(c))
	case c >= '\a' && c <= '\r':
		w.byte('\\')
		w.byte("abtnvfr"[c-'\a'])
	case c >= ' ' && c < 0x7F:
		w.byte(byte(c))
	default:
		const digits = "0123456789ABCDEF"
		w.str(`\x`)
		shift := 4
		for shift < 28 && c>>(shift+4) != 0 {
			shift += 8
		}
		for ; shift >= 0; shift -= 4 {
			w.byte(digits[c>>shift&15])
		}
	}
}
