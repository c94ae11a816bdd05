package demangle

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	itanium "github.com/ianlancetaylor/demangle"
)

// rustString demangles a Rust name of either scheme.
func rustString(name string, options ...itanium.Option) (string, error) {
	return itanium.ToString(plainLegacy(name), options...)
}

// plainLegacy brings a legacy name into the form that the package reads: it
// stops at the escape of a letter that is not ASCII's ($uf6$), and takes an
// identifier's own underscore for the one that rustc puts in front of an
// escape. Names of the other scheme, and what is not understood, stay as they
// are.
func plainLegacy(name string) string {
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok || !strings.Contains(rest, "$u") && !strings.Contains(rest, "_") {
		return name
	}
	var out strings.Builder
	out.WriteString("_ZN")
	for rest != "" && isDigit(rest[0]) {
		digits := 1
		for digits < len(rest) && isDigit(rest[digits]) {
			digits++
		}
		n, err := strconv.Atoi(rest[:digits])
		if rest = rest[digits:]; err != nil || n > len(rest) {
			return name
		}
		id := rest[:n]
		rest = rest[n:]
		if strings.HasPrefix(id, "_") && !strings.HasPrefix(id, "_$") {
			id = "_" + id
		}
		id = unescapeLetters(id)
		out.WriteString(strconv.Itoa(len(id)))
		out.WriteString(id)
	}
	out.WriteString(rest)
	return out.String()
}

// unescapeLetters replaces the escapes $u<hex>$ of characters beyond ASCII.
// Those of control characters stay.
func unescapeLetters(id string) string {
	var out strings.Builder
	for {
		at := strings.Index(id, "$u")
		if at < 0 {
			break
		}
		out.WriteString(id[:at])
		id = id[at:]
		hex, after, ok := strings.Cut(id[2:], "$")
		r, err := strconv.ParseUint(hex, 16, 32)
		if !ok || err != nil || hex != strings.ToLower(hex) || r < utf8.RuneSelf || r > unicode.MaxRune || !utf8.ValidRune(rune(r)) || unicode.IsControl(rune(r)) {
			out.WriteString(id[:2])
			id = id[2:]
			continue
		}
		out.WriteRune(rune(r))
		id = after
	}
	out.WriteString(id)
	return out.String()
}
