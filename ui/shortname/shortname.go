// Package shortname shortens names of functions so that they fit where they are shown,
// and what tells them apart stays: parameters go first, then template arguments, then
// what is in the middle.
package shortname

import (
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// Parameters say what is shown of functions' parameters where there is room.
type Parameters int32

const (
	Whole     Parameters = iota // all, as in f(int, char)
	Collapsed                   // that there are some, as in f(…)
	Hidden                      // nothing, as in f
)

var parameters atomic.Int32

// SetParameters says what the whole program shows of parameters from now on.
func SetParameters(p Parameters) { parameters.Store(int32(p)) }

// AsTheyAre reports whether [Show] returns names unchanged.
func AsTheyAre() bool { return Parameters(parameters.Load()) == Whole }

// Show returns a name with what is to be shown of its parameters.
func Show(name string) string {
	p := Parameters(parameters.Load())
	if p == Whole || len(name) > maxLooked {
		return name
	}
	short := WithoutParameters(name)
	if p == Hidden || short == name {
		return short
	}
	end := strings.LastIndexByte(name, ')')
	if end == len(short)+1 {
		return name // f()
	}
	return short + "(" + ellipsis + name[end:]
}

// maxLooked bounds how many bytes of a name are looked at; of a longer one the ends are.
const maxLooked = 8192

// ellipsis stands for what is left out.
const ellipsis = "\u2026"

// Fit returns a name as [Show] has it, or the first that fits of what is shorter: the name without its
// parameters, then with its template arguments collapsed, and then with its middle left
// out, of which more stays at the end, where the function's own name is. fits reports
// whether a text is short enough; it must hold for texts shorter than one for which it
// holds. Where nothing fits the result is "".
func Fit(name string, fits func(string) bool) string {
	if len(name) > maxLooked {
		name = strings.ToValidUTF8(name[:maxLooked/2]+ellipsis+name[len(name)-maxLooked/2:], "\ufffd")
	}
	if shown := Show(name); fits(shown) {
		return shown
	}
	if rest, tagged := cutTag(name); tagged {
		// What says that a name may be wrong stays, as a sign.
		if short := Fit(rest, func(s string) bool { return fits(tagSign + s) }); short != "" || fits(tagSign) {
			return tagSign + short
		}
		return ""
	}
	short := WithoutParameters(name)
	if short != name && fits(short) {
		return short
	}
	short = Collapse(short)
	if fits(short) {
		return short
	}
	return middle(short, fits)
}

// tagSign stands for the tag of a name that is shortened.
const tagSign = "[!] "

// cutTag takes the tag off a name that may be wrong, such as "[mismatched] f".
func cutTag(name string) (rest string, tagged bool) {
	if !strings.HasPrefix(name, "[") {
		return name, false
	}
	tag, rest, found := strings.Cut(name[1:], "] ")
	return rest, found && tag != "!" && !strings.ContainsAny(tag, "[]<>() ")
}

// middle leaves the middle of a text out, so that as much as fits stays.
func middle(s string, fits func(string) bool) string {
	r := []rune(s)
	cut := func(n int) string {
		head := n / 3
		return string(r[:head]) + ellipsis + string(r[len(r)-(n-head):])
	}
	low, high := -1, len(r)-1 // the most letters that fit, and fewer
	for low < high {
		mid := (low + high + 1) / 2
		if fits(cut(mid)) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	if low < 0 {
		return ""
	}
	return strings.ReplaceAll(cut(low), ellipsis+ellipsis, ellipsis)
}

// WithoutParameters returns a name without its last list of parameters and what follows
// that. A name that ends in none is returned as it is.
func WithoutParameters(name string) string {
	depth, end := 0, -1
	for i := len(name) - 1; i >= 0; i-- {
		switch name[i] {
		case ')':
			if depth == 0 {
				end = i
			}
			depth++
		case '(':
			depth--
			if depth > 0 {
				continue
			}
			if depth < 0 {
				return name
			}
			before := name[:i]
			if i == 0 || strings.HasSuffix(before, "operator") || !qualifiers(name[end+1:]) {
				return name // operator(), (anonymous namespace)::f, a pointer to a function
			}
			return before
		}
	}
	return name
}

// qualifiers reports whether a text is what may follow parameters.
func qualifiers(s string) bool {
	for _, word := range strings.Fields(s) {
		switch word {
		case "const", "volatile", "&", "&&", "noexcept":
		default:
			// [clone .cold], [abi:cxx11], [mismatched]
			if !strings.HasPrefix(word, "[") && !strings.HasSuffix(word, "]") {
				return false
			}
		}
	}
	return true
}

// Collapse replaces each list of template arguments by <…>, as in
// std::vector<…>::push_back. What is no such list, as the name of operator<, stays, and a
// name whose brackets do not match is returned as it is.
func Collapse(name string) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(name); {
		if n := operatorSign(name, i); n > 0 {
			if depth == 0 {
				b.WriteString(name[i : i+n])
			}
			i += n
			continue
		}
		switch c := name[i]; {
		case c == '<':
			if depth == 0 {
				b.WriteString("<" + ellipsis + ">")
			}
			depth++
		case c == '>' && i > 0 && name[i-1] == '-': // a return type, or an arrow
			if depth == 0 {
				b.WriteByte(c)
			}
		case c == '>':
			if depth--; depth < 0 {
				return name
			}
		case depth == 0:
			b.WriteByte(c)
		}
		i++
	}
	if depth != 0 || !utf8.ValidString(b.String()) {
		return name
	}
	return b.String()
}

// operatorSign returns how many bytes at i are the name of an operator that has a bracket
// in it, 0 for none.
func operatorSign(name string, i int) int {
	const word = "operator"
	if !strings.HasPrefix(name[i:], word) || i > 0 && isLetter(name[i-1]) {
		return 0
	}
	for _, sign := range []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(name[i+len(word):], sign) {
			return len(word) + len(sign)
		}
	}
	return 0
}

func isLetter(c byte) bool {
	return c == '_' || c >= utf8.RuneSelf || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
