package texts

import (
	"strconv"
	"strings"
)

// A scanner reads the parts of a line. Its methods advance only if they succeed.
type scanner struct {
	s   string
	pos int
}

func (c *scanner) rest() string { return c.s[c.pos:] }

// blanks skips blanks and tabs, and reports whether there were any.
func (c *scanner) blanks() bool {
	from := c.pos
	for c.pos < len(c.s) && (c.s[c.pos] == ' ' || c.s[c.pos] == '\t') {
		c.pos++
	}
	return c.pos > from
}

// text skips t if it comes next.
func (c *scanner) text(t string) bool {
	if !strings.HasPrefix(c.s[c.pos:], t) {
		return false
	}
	c.pos += len(t)
	return true
}

// to skips everything up to the end of the next t, and returns what is before t.
func (c *scanner) to(t string) (before string, ok bool) {
	i := strings.Index(c.s[c.pos:], t)
	if i < 0 {
		return "", false
	}
	before = c.s[c.pos : c.pos+i]
	c.pos += i + len(t)
	return before, true
}

// digits returns the number of decimal digits at the beginning of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// decimal reads a decimal number.
func (c *scanner) decimal() (n uint64, ok bool) {
	k := digits(c.rest())
	n, err := strconv.ParseUint(c.s[c.pos:c.pos+k], 10, 64)
	if err != nil {
		return 0, false
	}
	c.pos += k
	return n, true
}

// hex reads a hexadecimal number of 1 to 16 digits. WinDbg writes a backtick in the middle of long numbers.
func (c *scanner) hex() (n uint64, ok bool) {
	i, count := c.pos, 0
	for ; i < len(c.s); i++ {
		switch b := c.s[i]; {
		case isHex(b):
			if count++; count > 16 {
				return 0, false
			}
			d := b & 0xf
			if b > '9' {
				d += 9
			}
			n = n<<4 | uint64(d)
			continue
		case b == '`' && count > 0 && i+1 < len(c.s) && isHex(c.s[i+1]):
			continue
		}
		break
	}
	if count == 0 {
		return 0, false
	}
	c.pos = i
	return n, true
}

// prefix skips 0x. Some printed texts have a multiplication sign instead of the x.
func (c *scanner) prefix() bool { return c.text("0x") || c.text("0X") || c.text("0×") }

// prefixed reads a hexadecimal number with 0x.
func (c *scanner) prefixed() (n uint64, ok bool) {
	from := c.pos
	if c.prefix() {
		if n, ok = c.hex(); ok {
			return n, true
		}
	}
	c.pos = from
	return 0, false
}

// reference returns the reference for the number that began at from and ends at the current position.
func (c *scanner) reference(from int, address uint64, kind Kind) Reference {
	return Reference{Start: from, End: c.pos, Address: address, Kind: kind}
}
