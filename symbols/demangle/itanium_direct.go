package demangle

import (
	"strings"
	"sync"
)

// Most Itanium names are scopes and class templates over plain types. They
// are written here in one pass and without a tree, some ten times as fast as
// by the package, which reads the rest: what begins to be read and turns out
// to be something else (functions and arrays among the arguments, template
// parameters, lambdas, local names, expressions) is given up.
//
// The text of a substitution is the text that was written for it, because
// types without function and array declarators are written from left to right.

// A direct writer's limits; beyond them the package reads the name.
const (
	maxDirectText  = 4096
	maxDirectDepth = 32
	maxDirectSubs  = 64
)

// A directSub is a substitution: the written text out[start:end] and within it
// the last name, which constructors and destructors are called by.
type directSub struct {
	start, end         int
	lastStart, lastEnd int
}

type directWriter struct {
	s     string // what is still to be read
	out   []byte
	subs  []directSub
	depth int
}

var directWriters = sync.Pool{New: func() any {
	return &directWriter{out: make([]byte, 0, 2*maxDirectText), subs: make([]directSub, 0, maxDirectSubs)}
}}

// itaniumDirect returns the short name of a function or variable, ok is false
// where the package must read it.
func itaniumDirect(name string) (short string, ok bool) {
	if len(name) < 3 || len(name) > maxDirectText || name[0] != '_' || name[1] != 'Z' {
		return "", false
	}
	w := directWriters.Get().(*directWriter)
	w.s, w.out, w.subs, w.depth = name[2:], w.out[:0], w.subs[:0], 0
	defer directWriters.Put(w)
	switch c := w.s[0]; {
	case c == 'N':
		w.s = w.s[1:]
		for w.s != "" && (w.s[0] == 'r' || w.s[0] == 'V' || w.s[0] == 'K') {
			w.s = w.s[1:]
		}
		if w.s != "" && (w.s[0] == 'R' || w.s[0] == 'O') {
			w.s = w.s[1:]
		}
		ok = w.nested(0, true)
	case c == 'S' && strings.HasPrefix(w.s, "St"):
		ok = w.unscoped()
	case c == 'L' || isDigit(c):
		ok = w.unscoped()
	}
	if !ok || len(w.out) == 0 {
		return "", false
	}
	return string(w.out), true
}

func (w *directWriter) next() byte {
	if w.s == "" {
		return 0
	}
	return w.s[0]
}

func (w *directWriter) add(text string) { w.out = append(w.out, text...) }

// remember enters the text from start on as a substitution.
func (w *directWriter) remember(start, lastStart, lastEnd int) bool {
	if len(w.subs) == maxDirectSubs {
		return false
	}
	w.subs = append(w.subs, directSub{start, len(w.out), lastStart, lastEnd})
	return true
}

// sourceName reads a length and a name of that many bytes and writes the name.
func (w *directWriter) sourceName() bool {
	s := w.s
	n, i := 0, 0
	for i < len(s) && isDigit(s[i]) && n <= maxDirectText {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if n == 0 || n > len(s)-i {
		return false
	}
	id := s[i : i+n]
	w.s = s[i+n:]
	const anonymous = "_GLOBAL_"
	if strings.HasPrefix(id, anonymous) && len(id) > len(anonymous)+2 &&
		strings.IndexByte("._$", id[len(anonymous)]) >= 0 && id[len(anonymous)+1] == 'N' {
		id = "(anonymous namespace)"
	}
	if n == 17 && id[0] == 'h' {
		return false // perhaps the hash of a Rust name
	}
	w.add(id)
	for w.next() == 'B' {
		// ABI tags are left out.
		length := len(w.out)
		w.s = w.s[1:]
		if !isDigit(w.next()) || w.depth >= maxDirectDepth {
			return false
		}
		w.depth++
		ok := w.sourceName()
		w.depth--
		w.out = w.out[:length]
		if !ok {
			return false
		}
	}
	return true
}

// unscoped reads a name outside of scopes or in std, at the top of the mangled
// name, with its template arguments. What follows are parameters.
func (w *directWriter) unscoped() bool {
	if strings.HasPrefix(w.s, "St") {
		w.s = w.s[2:]
		w.add("std::")
	}
	if w.next() == 'L' {
		w.s = w.s[1:]
	}
	start := len(w.out)
	if !isDigit(w.next()) || !w.sourceName() {
		return false
	}
	if w.next() != 'I' {
		return w.next() != '_'
	}
	if !w.remember(0, start, len(w.out)) {
		return false
	}
	return w.arguments()
}

// directOperators are the operators by their codes.
var directOperators = map[string]string{
	"aN": "&=", "aS": "=", "aa": "&&", "ad": "&", "an": "&", "cl": "()", "cm": ",", "co": "~", "dV": "/=",
	"de": "*", "dv": "/", "eO": "^=", "eo": "^", "eq": "==", "ge": ">=", "gt": ">", "ix": "[]", "lS": "<<=",
	"le": "<=", "ls": "<<", "lt": "<", "mI": "-=", "mL": "*=", "mi": "-", "ml": "*", "mm": "--", "ne": "!=",
	"ng": "-", "nt": "!", "oR": "|=", "oo": "||", "or": "|", "pL": "+=", "pl": "+", "pm": "->*", "pp": "++",
	"ps": "+", "pt": "->", "rM": "%=", "rS": ">>=", "rm": "%", "rs": ">>", "ss": "<=>",
}

// nested reads a nested name behind its 'N' and past its 'E'. top says that it
// is the name of the symbol itself.
func (w *directWriter) nested(start int, top bool) bool {
	lastStart, lastEnd := 0, 0
	named := false // something stands before that can have template arguments
	for first := true; ; first = false {
		c := w.next()
		switch {
		case c == 'E':
			w.s = w.s[1:]
			return !first
		case isDigit(c), c == 'L' && len(w.s) > 1 && isDigit(w.s[1]):
			if c == 'L' {
				w.s = w.s[1:]
			}
			if !first {
				w.add("::")
			}
			lastStart = len(w.out)
			if !w.sourceName() {
				return false
			}
			lastEnd = len(w.out)
			named = true
		case c == 'I' && named:
			if !w.arguments() {
				return false
			}
		case c == 'S' && first:
			if strings.HasPrefix(w.s, "St") {
				w.s = w.s[2:]
				w.add("std")
				continue
			}
			sub, ok := w.substitution()
			if !ok {
				return false
			}
			lastStart, lastEnd = sub.lastStart, sub.lastEnd
			named = true
			continue
		case (c == 'C' || c == 'D') && top && lastEnd > 0:
			if len(w.s) < 3 || w.s[1] < '0' || w.s[1] > '5' || w.s[2] != 'E' {
				return false
			}
			w.add("::")
			if c == 'D' {
				w.add("~")
			}
			w.out = append(w.out, w.out[lastStart:lastEnd]...)
			return true
		case 'a' <= c && c <= 'z' && top && !first && len(w.s) > 2 && w.s[2] == 'E':
			symbol := directOperators[w.s[:2]]
			if symbol == "" {
				return false
			}
			w.add("::operator")
			w.add(symbol)
			return true
		default:
			return false
		}
		if w.next() != 'E' && !w.remember(start, lastStart, lastEnd) || len(w.out) > maxDirectText {
			return false
		}
	}
}

// substitution reads a reference to what was written before, or one of the
// abbreviations for std's, and writes it. The last name of an abbreviation is
// not known.
func (w *directWriter) substitution() (directSub, bool) {
	if len(w.s) < 2 || w.s[0] != 'S' {
		return directSub{}, false
	}
	start := len(w.out)
	switch w.s[1] {
	case 'a':
		w.add("std::allocator")
	case 'b':
		w.add("std::basic_string")
	case 's', 'i', 'o', 'd':
		// Some uses of these have longer names.
		return directSub{}, false
	default:
		n, i := 0, 1
		for ; i < len(w.s) && w.s[i] != '_'; i++ {
			switch c := w.s[i]; {
			case isDigit(c):
				n = n*36 + int(c-'0')
			case 'A' <= c && c <= 'Z':
				n = n*36 + int(c-'A') + 10
			default:
				return directSub{}, false
			}
			if n >= maxDirectSubs {
				return directSub{}, false
			}
		}
		if i > 1 {
			n++
		}
		if i == len(w.s) || n >= len(w.subs) {
			return directSub{}, false
		}
		w.s = w.s[i+1:]
		sub := w.subs[n]
		if len(w.out)+sub.end-sub.start > maxDirectText {
			return directSub{}, false
		}
		w.out = append(w.out, w.out[sub.start:sub.end]...)
		moved := directSub{start: start, end: len(w.out)}
		if sub.lastEnd > 0 {
			moved.lastStart, moved.lastEnd = sub.lastStart-sub.start+start, sub.lastEnd-sub.start+start
		}
		return moved, true
	}
	w.s = w.s[2:]
	return directSub{start: start, end: len(w.out)}, true
}

// arguments reads template arguments from their 'I' on.
func (w *directWriter) arguments() bool {
	if w.depth++; w.depth > maxDirectDepth {
		return false
	}
	w.s = w.s[1:]
	if c := w.out[len(w.out)-1]; c == '<' {
		w.add(" ")
	}
	w.add("<")
	n := 0
	if !w.argumentList(&n, false) {
		return false
	}
	if w.out[len(w.out)-1] == '>' {
		w.add(" ")
	}
	w.add(">")
	w.depth--
	return true
}

// argumentList reads arguments and the 'E' behind them; n counts those
// written, of a pack among them too. A pack within a pack, which no compiler
// writes, is left to the package.
func (w *directWriter) argumentList(n *int, inPack bool) bool {
	for {
		switch w.next() {
		case 'E':
			w.s = w.s[1:]
			return true
		case 'J':
			w.s = w.s[1:]
			if w.depth++; inPack || w.depth > maxDirectDepth || !w.argumentList(n, true) {
				return false
			}
			w.depth--
			continue
		}
		if *n > 0 {
			w.add(", ")
		}
		*n++
		ok := false
		if w.next() == 'L' {
			ok = w.literal()
		} else {
			ok = w.typ()
		}
		if !ok || len(w.out) > maxDirectText {
			return false
		}
	}
}

// literal reads a number of a built-in type or of an enumeration.
func (w *directWriter) literal() bool {
	w.s = w.s[1:]
	suffix := ""
	boolean := false
	switch w.next() {
	case 'b':
		boolean = true
	case 'i':
	case 'j':
		suffix = "u"
	case 'l':
		suffix = "l"
	case 'm':
		suffix = "ul"
	case 'x':
		suffix = "ll"
	case 'y':
		suffix = "ull"
	case 'N', 'S', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		w.add("(")
		if !w.typ() {
			return false
		}
		w.add(")")
		return w.number(true)
	default:
		return false
	}
	w.s = w.s[1:]
	if boolean {
		switch {
		case strings.HasPrefix(w.s, "0E"):
			w.add("false")
		case strings.HasPrefix(w.s, "1E"):
			w.add("true")
		default:
			return false
		}
		w.s = w.s[2:]
		return true
	}
	if !w.number(false) {
		return false
	}
	w.add(suffix)
	return true
}

// number reads the digits of a literal and the 'E' behind them.
func (w *directWriter) number(positive bool) bool {
	if w.next() == 'n' && !positive {
		w.s = w.s[1:]
		w.add("-")
	}
	i := 0
	for i < len(w.s) && isDigit(w.s[i]) {
		i++
	}
	if i == 0 || i == len(w.s) || w.s[i] != 'E' {
		return false
	}
	w.add(w.s[:i])
	w.s = w.s[i+1:]
	return true
}

var directTypes = [256]string{
	'v': "void", 'w': "wchar_t", 'b': "bool", 'c': "char", 'a': "signed char", 'h': "unsigned char",
	's': "short", 't': "unsigned short", 'i': "int", 'j': "unsigned int", 'l': "long", 'm': "unsigned long",
	'x': "long long", 'y': "unsigned long long", 'n': "__int128", 'o': "unsigned __int128",
	'f': "float", 'd': "double", 'e': "long double", 'g': "__float128",
}

// directExtendedTypes are the types whose code begins with 'D'.
var directExtendedTypes = [256]string{'n': "decltype(nullptr)", 'i': "char32_t", 's': "char16_t", 'u': "char8_t"}

// directStreams are the abbreviations for std's that are types.
var directStreams = [256]string{'s': "std::string", 'i': "std::istream", 'o': "std::ostream", 'd': "std::iostream"}

// typ reads a type that is written from left to right.
func (w *directWriter) typ() bool {
	if w.depth++; w.depth > maxDirectDepth {
		return false
	}
	defer func() { w.depth-- }()
	start := len(w.out)
	c := w.next()
	if name := directTypes[c]; name != "" {
		w.s = w.s[1:]
		w.add(name)
		return true
	}
	switch {
	case c == 'D' && len(w.s) > 1 && strings.IndexByte("nius", w.s[1]) >= 0:
		w.add(directExtendedTypes[w.s[1]])
		w.s = w.s[2:]
		return true
	case c == 'P' || c == 'R' || c == 'O' || c == 'K':
		w.s = w.s[1:]
		if inner := w.next(); c == 'K' && (inner == 'V' || inner == 'r' || inner == 'K') {
			return false
		}
		if !w.typ() {
			return false
		}
		switch {
		case c == 'K':
			if strings.HasSuffix(string(w.out[start:]), " const") {
				return false // const of const collapses
			}
			w.add(" const")
		case w.out[len(w.out)-1] == '&':
			return false // references to references collapse
		case c == 'P':
			w.add("*")
		case c == 'R':
			w.add("&")
		case c == 'O':
			w.add("&&")
		}
		return w.remember(start, 0, 0)
	case c == 'N':
		w.s = w.s[1:]
		return w.nested(start, false) && w.remember(start, 0, 0)
	case isDigit(c), strings.HasPrefix(w.s, "St"):
		if c == 'S' {
			w.s = w.s[2:]
			w.add("std::")
		}
		lastStart := len(w.out)
		if !isDigit(w.next()) || !w.sourceName() || !w.remember(start, lastStart, len(w.out)) {
			return false
		}
		if w.next() != 'I' {
			return true
		}
		lastEnd := len(w.out)
		return w.arguments() && w.remember(start, lastStart, lastEnd)
	case c == 'S':
		if len(w.s) > 1 {
			if name := directStreams[w.s[1]]; name != "" {
				w.s = w.s[2:]
				w.add(name)
				return w.next() != 'I' && w.next() != 'B'
			}
		}
		sub, ok := w.substitution()
		if !ok {
			return false
		}
		if w.next() != 'I' {
			return true
		}
		return w.arguments() && w.remember(start, sub.lastStart, sub.lastEnd)
	}
	return false
}
