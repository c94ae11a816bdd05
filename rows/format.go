package rows

import (
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// AppendTime appends a row's time: the local time in ISO 8601 without a zone,
// 2013-05-12T14:03:07.123, or, where it is not known, the elapsed seconds,
// 7.123. Digits says how many decimals, 0 to 9; the rest is cut off.
func AppendTime(dst []byte, r *Row, digits int) []byte {
	var c Clock
	return c.Append(dst, r, digits)
}

// A Clock formats times as [AppendTime] does and is quick where many rows
// fall into one second. It is not safe for concurrent use.
type Clock struct {
	// Separator stands between date and time of day; 0 is 'T'.
	Separator byte
	second    int64
	n         uint8
	text      [40]byte // up to the second
}

// Append appends a row's time.
func (c *Clock) Append(dst []byte, r *Row, digits int) []byte {
	if !r.HasWall {
		return appendElapsed(dst, r.Elapsed, digits)
	}
	if s := r.Wall.Unix(); c.n == 0 || s != c.second {
		c.second = s
		c.n = uint8(len(c.appendSecond(c.text[:0], r.Wall)))
	}
	dst = append(dst, c.text[:c.n]...)
	return appendFraction(dst, r.Wall.Nanosecond(), digits)
}

func (c *Clock) appendSecond(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	dst = append(appendDigits(dst, year/100, 2), byte('0'+year/10%10), byte('0'+year%10), '-')
	dst = append(appendDigits(dst, int(month), 2), '-')
	dst = appendDigits(dst, day, 2)
	if c.Separator == 0 {
		dst = append(dst, 'T')
	} else {
		dst = append(dst, c.Separator)
	}
	hour, minute, second := t.Clock()
	dst = append(appendDigits(dst, hour, 2), ':')
	dst = append(appendDigits(dst, minute, 2), ':')
	return appendDigits(dst, second, 2)
}

// appendDigits appends n >= 0 with at least width digits.
func appendDigits(dst []byte, n, width int) []byte {
	var buf [20]byte
	i := len(buf)
	for n > 0 || width > 0 {
		i--
		buf[i] = byte('0' + n%10)
		n /= 10
		width--
	}
	return append(dst, buf[i:]...)
}

func appendElapsed(dst []byte, ns int64, digits int) []byte {
	u := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e9, 10)
	return appendFraction(dst, int(u%1e9), digits)
}

// appendFraction appends a point and the first digits of nine, or nothing.
func appendFraction(dst []byte, ns, digits int) []byte {
	if digits <= 0 {
		return dst
	}
	if digits > 9 {
		digits = 9
	}
	// The usual numbers of digits are spelt out: dividing by a constant is
	// many times quicker.
	n := uint32(ns)
	switch digits {
	case 3:
		n /= 1e6
	case 6:
		n /= 1e3
	case 9:
	default:
		for range 9 - digits {
			n /= 10
		}
	}
	var text [10]byte
	text[0] = '.'
	for i := digits; i > 0; i-- {
		text[i] = byte('0' + n%10)
		n /= 10
	}
	return append(dst, text[:1+digits]...)
}

// AppendMicroseconds appends a duration of ns nanoseconds as microseconds,
// exactly and without zeros at the end: 15000, 1.5, 0.001. [NoDuration] and
// other negative values append nothing.
func AppendMicroseconds(dst []byte, ns int64) []byte {
	if ns < 0 {
		return dst
	}
	dst = strconv.AppendInt(dst, ns/1000, 10)
	if rest := int(ns % 1000); rest != 0 {
		dst = append(dst, '.', byte('0'+rest/100))
		if rest%100 != 0 {
			dst = append(dst, byte('0'+rest/10%10))
			if rest%10 != 0 {
				dst = append(dst, byte('0'+rest%10))
			}
		}
	}
	return dst
}

// AppendDuration appends a duration of ns nanoseconds for people, with three
// decimals in the largest unit that fits, or fewer where the clock is not
// worth them: 15 ms, 1.234 s, 250 ns. Digits is the source's TimeDigits.
// [NoDuration] appends nothing.
func AppendDuration(dst []byte, ns int64, digits int) []byte {
	if ns < 0 {
		return dst
	}
	// A clock of milliseconds counts no microseconds: 0 is "0 ms".
	switch {
	case digits <= 3 && ns < 1e9:
		return append(strconv.AppendInt(dst, ns/1e6, 10), " ms"...)
	case digits <= 6 && ns < 1e6:
		return append(strconv.AppendInt(dst, ns/1e3, 10), " us"...)
	case ns < 1e3:
		return append(strconv.AppendInt(dst, ns, 10), " ns"...)
	}
	unit, name := int64(1e9), " s"
	switch {
	case ns < 1e6:
		unit, name = 1e3, " us"
	case ns < 1e9:
		unit, name = 1e6, " ms"
	}
	dst = strconv.AppendInt(dst, ns/unit, 10)
	rest := int(ns % unit / (unit / 1e3))
	dst = append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	return append(dst, name...)
}

// AppendThread appends a row's thread for people: its id, and behind a slash the stack if
// that is not the thread's own.
func AppendThread(dst []byte, r *Row) []byte {
	dst = strconv.AppendUint(dst, uint64(r.Thread), 10)
	if r.Stack != 0 {
		dst = strconv.AppendUint(append(dst, '/'), uint64(r.Stack), 10)
	}
	return dst
}

// AppendBound appends the sign of a bound, if it has one and there is a duration.
func AppendBound(dst []byte, b Bound, ns int64) []byte {
	switch {
	case ns < 0:
	case b == AtLeast:
		dst = append(dst, "≥ "...)
	case b == AtMost:
		dst = append(dst, "≤ "...)
	case b == About:
		dst = append(dst, "~ "...)
	}
	return dst
}

// AppendAddress appends an address as 0x and hexadecimal digits.
func AppendAddress(dst []byte, address uint64) []byte {
	return strconv.AppendUint(append(dst, "0x"...), address, 16)
}

// AppendLine appends a line number, nothing for 0.
func AppendLine(dst []byte, line int) []byte {
	if line == 0 {
		return dst
	}
	return strconv.AppendInt(dst, int64(line), 10)
}

// A Matcher finds a text in rows, without regard to case. It is immutable and
// safe for concurrent use.
type Matcher struct{ text string }

// NewMatcher makes a matcher for a text.
func NewMatcher(text string) Matcher { return Matcher{foldString(text)} }

// Matches reports whether the text is part of the row's function, module,
// source, note, thread or address. The empty text matches every row. It does
// not allocate.
func (m Matcher) Matches(r *Row) bool {
	if m.text == "" || containsFold(r.Function, m.text) || containsFold(r.Module, m.text) ||
		containsFold(r.Source, m.text) || containsFold(r.Note, m.text) {
		return true
	}
	var buf [20]byte
	return containsFold(strconv.AppendUint(buf[:0], uint64(r.Thread), 10), m.text) ||
		containsFold(AppendAddress(buf[:0], r.Address), m.text)
}

// MatchesText reports whether the text is part of s.
func (m Matcher) MatchesText(s string) bool { return m.text == "" || containsFold(s, m.text) }

func foldString(s string) string {
	var dst []byte
	for _, r := range s {
		dst = utf8.AppendRune(dst, fold(r))
	}
	return string(dst)
}

// fold returns the lower case of a letter, and one form for all of those
// which differ only in case.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// containsFold reports whether s contains text, which is folded and not empty.
func containsFold[S string | []byte](s S, text string) bool {
	first := text[0]
	if first >= utf8.RuneSelf {
		for i := 0; i < len(s); {
			if hasPrefixFold(s[i:], text) {
				return true
			}
			if s[i] < utf8.RuneSelf {
				i++
				continue
			}
			_, n := decodeRune(s[i:])
			i += n
		}
		return false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		// A letter outside ASCII may fold to one within: the Kelvin sign.
		if (c == first || c >= utf8.RuneSelf) && hasPrefixFold(s[i:], text) {
			return true
		}
	}
	return false
}

func hasPrefixFold[S string | []byte](s S, text string) bool {
	i := 0
	for _, want := range text {
		if i >= len(s) {
			return false
		}
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = decodeRune(s[i:])
		}
		if fold(r) != want {
			return false
		}
		i += n
	}
	return true
}

// decodeRune is utf8.DecodeRune for both kinds of text.
func decodeRune[S string | []byte](s S) (rune, int) {
	var buf [utf8.UTFMax]byte
	return utf8.DecodeRune(buf[:copy(buf[:], s)])
}
