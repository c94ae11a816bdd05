package demangle

import (
	"strings"
)

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
	case 'a', 'c', 'h', 's', 't', 'w':
		w.add("(")
		w.add(directTypes[w.s[0]])
		w.add(")")
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
var directExtendedTypes = [256]string{
	'n': "decltype(nullptr)", 'i': "char32_t", 's': "char16_t", 'u': "char8_t", 'a': "auto", 'c': "decltype(auto)",
}

// directStreams are the abbreviations for std's that are types.
var directStreams = [256]string{'s': "std::string", 'i': "std::istream", 'o': "std::ostream", 'd': "std::iostream"}

// typ reads a type and writes it from left to right. It gives up where that is not possible.
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
	case c == 'D' && len(w.s) > 1 && directExtendedTypes[w.s[1]] != "":
		w.add(directExtendedTypes[w.s[1]])
		w.s = w.s[2:]
		return true
	case c == 'F', (c == 'P' || c == 'R' || c == 'O') && len(w.s) > 1 && w.s[1] == 'F':
		return w.functionType(start)
	case (c == 'P' || c == 'R' || c == 'O') && len(w.s) > 2 && w.s[1] == 'A' && isDigit(w.s[2]):
		return w.arrayType(start)
	case c == 'P' || c == 'R' || c == 'O' || c == 'K':
		w.s = w.s[1:]
		if inner := w.next(); c == 'K' && (inner == 'V' || inner == 'r' || inner == 'K') {
			return false
		}
		return w.typ() && w.decorate(c) && w.remember(start, 0, 0)
	case c == 'T':
		arg, ok := w.parameter()
		if !ok || arg.pack {
			return false
		}
		w.out = append(w.out, w.out[arg.start:arg.end]...)
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

// declarator returns what a pointer or a reference is in the middle of the type of a function or an array, "" for other
// codes.
func declarator(code byte) string {
	switch code {
	case 'P':
		return "(*)"
	case 'R':
		return "(&)"
	case 'O':
		return "(&&)"
	}
	return ""
}

// functionType reads the type of a function, or of a pointer or reference to
// one.
func (w *directWriter) functionType(start int) bool {
	middle := declarator(w.s[0])
	if middle != "" {
		w.s = w.s[1:]
	}
	w.s = w.s[1:]
	if !w.typ() || w.around() {
		return false
	}
	w.add(" ")
	w.add(middle)
	if strings.HasPrefix(w.s, "vE") {
		w.s = w.s[1:]
	}
	if !w.parameterList(false) {
		return false
	}
	w.s = w.s[1:]
	if middle != "" {
		// The function's own type.
		if len(w.subs) == maxDirectSubs {
			return false
		}
		w.subs = append(w.subs, directSub{start: unusable})
	}
	return w.remember(start, 0, 0)
}

// arrayType reads a pointer or reference to an array of a known length.
func (w *directWriter) arrayType(start int) bool {
	middle, i := declarator(w.s[0]), 2
	for i < len(w.s) && isDigit(w.s[i]) {
		i++
	}
	length := w.s[2:i]
	if i == len(w.s) || w.s[i] != '_' {
		return false
	}
	w.s = w.s[i+1:]
	if !w.typ() || w.around() || w.out[len(w.out)-1] == '&' {
		return false
	}
	w.add(" ")
	w.add(middle)
	w.add(" [")
	w.add(length)
	w.add("]")
	// The array's own type.
	if len(w.subs) == maxDirectSubs {
		return false
	}
	w.subs = append(w.subs, directSub{start: unusable})
	return w.remember(start, 0, 0)
}
