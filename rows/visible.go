package rows

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// What comes out of logs and symbol files was written on other machines. This
// file is the one place that says which of its characters neither a terminal nor
// JSON gets as they are.

// hidden reports whether a terminal would act upon a character, or a line cannot
// hold it: control characters, line separators and characters that turn the
// direction of writing.
func hidden(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// plain reports whether all bytes of a text are printable ASCII.
func plain(s string) bool { return plainBytes(unsafe.Slice(unsafe.StringData(s), len(s))) }

// plainBytes is plain for bytes, of which eight are loaded at a time.
func plainBytes(s []byte) bool {
	const (
		each = 0x0101010101010101 // 1 in each byte
		high = 0x80 * each
	)
	// A byte below ' ' borrows and one of 0x7f carries into its highest bit; what
	// that does to bytes above it does not matter any more.
	for len(s) >= 32 {
		a, b := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		c, d := binary.LittleEndian.Uint64(s[16:]), binary.LittleEndian.Uint64(s[24:])
		if (a|(a-' '*each)|(a+each)|b|(b-' '*each)|(b+each)|c|(c-' '*each)|(c+each)|d|(d-' '*each)|(d+each))&high != 0 {
			return false
		}
		s = s[32:]
	}
	for len(s) >= 8 {
		w := binary.LittleEndian.Uint64(s)
		if (w|(w-' '*each)|(w+each))&high != 0 {
			return false
		}
		s = s[8:]
	}
	for _, b := range s {
		if b < ' ' || b >= 0x7f {
			return false
		}
	}
	return true
}

// Visible replaces what a terminal would act upon or a line cannot hold:
// control characters, line separators, characters that turn the direction of
// writing, and broken UTF-8. Names come from files of other machines.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// AppendJSONString appends a string by RFC 8259: quotes, backslashes and the
// characters that [Visible] replaces are escaped, broken UTF-8 is replaced.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if b := s[i]; b >= ' ' && b < 0x7f && b != '"' && b != '\\' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			// As in csv, one stands for all broken bytes in a row.
			for i < len(s) {
				if r, n = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n != 1 {
					break
				}
				i++
			}
			start = i
			continue
		case r == '"' || r == '\\' || hidden(r):
			dst = appendJSONEscape(append(dst, s[start:i]...), r)
			start = i + n
		}
		i += n
	}
	return append(append(dst, s[start:]...), '"')
}

// appendJSONEscape appends a character of the basic plane, in which all hidden
// ones are, as JSON escapes it.
func appendJSONEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// VisibleJSON escapes in the text of a JSON value, as [encoding/json] makes it,
// the characters of its strings that AppendJSONString would escape. Space between
// the value's parts stays as it is.
func VisibleJSON(text []byte) []byte {
	var dst []byte
	start := 0
	for i := 0; i < len(text); {
		if b := text[i]; b < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if hidden(r) {
			dst = appendJSONEscape(append(dst, text[start:i]...), r)
			start = i + n
		}
		i += n
	}
	if start == 0 {
		return text
	}
	return append(dst, text[start:]...)
}

// A VisibleWriter passes text on and replaces in it what [Visible] replaces, but
// for tabs and ends of lines.
type VisibleWriter struct {
	w io.Writer
	// rest is the beginning of a character, or of an end of a line, that the next
	// write goes on with.
	rest []byte
	out  []byte
}

// NewVisibleWriter returns a writer that writes to w. Its Flush writes what is
// left of a character that was cut off.
func NewVisibleWriter(w io.Writer) *VisibleWriter { return &VisibleWriter{w: w} }

func (v *VisibleWriter) Write(p []byte) (int, error) {
	text := p
	if len(v.rest) > 0 {
		text = append(v.rest, p...)
		v.rest = nil
	}
	out := v.out[:0]
	for i := 0; i < len(text); {
		if b := text[i]; b >= ' ' && b < 0x7f || b == '\n' || b == '\t' {
			out = append(out, b)
			i++
			continue
		}
		if text[i] == '\r' && i+1 == len(text) || !utf8.FullRune(text[i:]) {
			v.rest = bytes.Clone(text[i:])
			break
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == '\r' && text[i+1] == '\n' {
			out = append(out, '\r')
		} else if hidden(r) || r == utf8.RuneError {
			out = append(out, "\uFFFD"...)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	v.out = out
	if len(out) > 0 {
		if _, err := v.w.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush writes the replacement of a character that was begun and not finished.
func (v *VisibleWriter) Flush() error {
	if len(v.rest) == 0 {
		return nil
	}
	v.rest = nil
	_, err := io.WriteString(v.w, "\uFFFD")
	return err
}

// IsTerminal reports whether a writer is a terminal, or another device that
// shows what it gets; the null device is none.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
