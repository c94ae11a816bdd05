package demangle

import (
	"bytes"
	"strings"
	"sync"
)

// Most Itanium names are scopes and class templates over plain types. They
// are written here in one pass and without a tree, some ten times as fast as
// by the package, which reads the rest: what begins to be read and turns out
// to be something else (types that are written around others, lambdas, local
// names, expressions) is given up. Without them, naming the 33,900
// exports of a libLLVM 14 (logparse resolve) takes three times as long.
//
// The text of a substitution is the text that was written for it, because all
// is written from left to right: functions, and pointers and references to
// them and to arrays, too. What would have to be written into the middle of
// such a type, as a pointer to it, is given up, and so is a substitution for
// what has no text of its own, as the array that a pointer points to.

// A direct writer's limits; beyond them the package reads the name.
const (
	maxDirectText  = 16 << 10
	maxDirectDepth = 128
	maxDirectSubs  = 1024
	maxOffset      = 9 // digits
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
	// args are the arguments of the name's last template, template says that
	// the name ends in them: then parameters may refer to the arguments.
	args     []directArg
	template bool
	// result says that parameters begin with the type of what is returned.
	result bool
	// qualifiers are those of a method, plain says that the name has something
	// that only the short form is without.
	qualifiers string
	plain      bool
	// thunk is what the full form has in front where the name is of a thunk.
	thunk string
	text  []byte // for the full form
}

// A directArg is the text of a template argument, out[start:end], or of a pack
// the texts args[start:end].
type directArg struct {
	start, end int
	pack       bool
}

var directWriters = sync.Pool{New: func() any {
	return &directWriter{out: make([]byte, 0, 8<<10), subs: make([]directSub, 0, 128)}
}}

// itaniumDirect returns the short name of a function or variable, ok is false
// where the package must read it.
func itaniumDirect(name string) (short string, ok bool) {
	w := directWriters.Get().(*directWriter)
	defer directWriters.Put(w)
	if !w.name(name) {
		return "", false
	}
	return string(w.out), true
}

// itaniumDirectForms returns the short name and the whole signature, which
// share their memory. full is "" where the package must read it, and short is
// where both must be.
func itaniumDirectForms(name string) (short, full string) {
	w := directWriters.Get().(*directWriter)
	defer directWriters.Put(w)
	if !w.name(name) {
		return "", ""
	}
	end := len(w.out)
	if w.plain {
		return string(w.out), ""
	}
	if w.s == "" {
		w.add(w.qualifiers)
		full = w.thunk + string(w.out)
		return full[len(w.thunk):][:end], full
	}
	if w.result && (!w.typ() || w.around()) {
		return string(w.out[:end]), ""
	}
	result := len(w.out)
	if !w.parameters() || w.plain {
		return string(w.out[:end]), ""
	}
	w.text = append(append(w.text[:0], w.thunk...), w.out[end:result]...)
	if w.result {
		w.text = append(w.text, ' ')
	}
	from := len(w.text)
	w.text = append(w.text, w.out[:end]...)
	w.text = append(w.text, w.out[result:]...)
	full = string(w.text)
	return full[from : from+end], full
}

// name reads the name of a function or variable and writes it.
func (w *directWriter) name(name string) bool {
	if len(name) < 3 || len(name) > maxDirectText || name[0] != '_' || name[1] != 'Z' {
		return false
	}
	w.s, w.out, w.subs, w.depth, w.thunk = name[2:], w.out[:0], w.subs[:0], 0, ""
	if w.s[0] == 'T' && !w.thunkPrefix() {
		return false
	}
	w.args, w.template, w.result, w.qualifiers, w.plain = w.args[:0], false, false, "", false
	ok := false
	switch c := w.s[0]; {
	case c == 'N':
		w.s = w.s[1:]
		ok = w.methodQualifiers() && w.nested(0, true)
	case c == 'S' && strings.HasPrefix(w.s, "St"):
		ok = w.unscoped()
	case c == 'L' || isDigit(c):
		ok = w.unscoped()
	}
	return ok && len(w.out) > 0
}

// thunkPrefix reads what stands in front of the name that a thunk leads to.
func (w *directWriter) thunkPrefix() bool {
	offsets := ""
	switch {
	case strings.HasPrefix(w.s, "Th"):
		w.thunk, offsets = "non-virtual thunk to ", "h"
	case strings.HasPrefix(w.s, "Tv"):
		w.thunk, offsets = "virtual thunk to ", "vv"
	default:
		return false
	}
	w.s = w.s[2:]
	for range offsets {
		if w.next() == 'n' {
			w.s = w.s[1:]
		}
		i := 0
		for i < len(w.s) && i < maxOffset && isDigit(w.s[i]) {
			i++
		}
		if i == 0 || i == len(w.s) || w.s[i] != '_' {
			return false
		}
		w.s = w.s[i+1:]
	}
	return w.s != ""
}

// methodQualifiers reads the qualifiers of a method.
func (w *directWriter) methodQualifiers() bool {
	for _, q := range methodQualifiers {
		if strings.HasPrefix(w.s, q.code) {
			w.s, w.qualifiers = w.s[len(q.code):], q.text
			break
		}
	}
	switch w.next() {
	case 'r', 'V', 'K':
		return false
	case 'R':
		w.qualifiers += " &"
	case 'O':
		w.qualifiers += " &&"
	default:
		return true
	}
	w.s = w.s[1:]
	return true
}

var methodQualifiers = [...]struct{ code, text string }{
	{"VK", " const volatile"}, {"K", " const"}, {"V", " volatile"}, {"r", " restrict"},
}

// parameters reads a function's parameters up to the end of the mangled name.
func (w *directWriter) parameters() bool {
	if w.s == "v" {
		w.s = ""
	}
	if !w.parameterList(true) {
		return false
	}
	w.add(w.qualifiers)
	return true
}

// parameterList reads the parameters of a function, up to the end of the
// mangled name, or of a function type, up to its 'E'.
func (w *directWriter) parameterList(top bool) bool {
	w.add("(")
	for n := 0; ; {
		if len(w.out) > 2*maxDirectText {
			return false
		}
		c := w.next()
		if c == 0 && top || c == 'E' && !top {
			break
		}
		if top && strings.HasPrefix(w.s, "Dp") {
			if !w.expansion(&n) {
				return false
			}
			continue
		}
		if n > 0 {
			w.add(", ")
		}
		n++
		switch c {
		case 'v':
			return false
		case 'z':
			w.s = w.s[1:]
			w.add("...")
			continue
		}
		if !w.typ() {
			return false
		}
	}
	w.add(")")
	return true
}

// around reports whether the type that was written last would be written around the name or the parameters of a function
// that returns it.
func (w *directWriter) around() bool {
	last := w.out[len(w.out)-1]
	return last == ')' || last == ']'
}

// refToArray is what stands between the type of the elements and the length of an array that a reference refers to.
const refToArray = " (&) ["

// unusable is the start of a substitution that has no text.
const unusable = -1

// expansion reads a parameter pack, whose pattern is a pack of template
// arguments with qualifiers; n counts the parameters.
func (w *directWriter) expansion(n *int) bool {
	pattern := w.s[2:]
	i := 0
	for i < len(pattern) && strings.IndexByte("PROK", pattern[i]) >= 0 {
		i++
	}
	w.s = pattern[i:]
	arg, ok := w.parameter()
	if !ok || !arg.pack {
		return false
	}
	for _, a := range w.args[arg.start:arg.end] {
		if *n > 0 {
			w.add(", ")
		}
		*n++
		w.out = append(w.out, w.out[a.start:a.end]...)
		for j := i - 1; j >= 0; j-- {
			if !w.decorate(pattern[j]) {
				return false
			}
		}
		if len(w.out) > 2*maxDirectText {
			return false
		}
	}
	// The parameter, each qualifier, and the expansion.
	for range i + 2 {
		if len(w.subs) == maxDirectSubs {
			return false
		}
		w.subs = append(w.subs, directSub{start: unusable})
	}
	return true
}

// parameter reads a reference to a template argument.
func (w *directWriter) parameter() (directArg, bool) {
	if !w.template || w.next() != 'T' {
		return directArg{}, false
	}
	n, i := 0, 1
	for i < len(w.s) && isDigit(w.s[i]) && n < maxDirectSubs {
		n = n*10 + int(w.s[i]-'0')
		i++
	}
	if i == len(w.s) || w.s[i] != '_' {
		return directArg{}, false
	}
	if i > 1 {
		n++
	}
	w.s = w.s[i+1:]
	for j := 0; j < len(w.args); j++ {
		if n--; n < 0 {
			return w.args[j], w.next() != 'I'
		}
		if w.args[j].pack {
			j = w.args[j].end - 1
		}
	}
	return directArg{}, false
}

// decorate writes a pointer, a reference or const behind the type that was
// written last.
func (w *directWriter) decorate(c byte) bool {
	switch w.out[len(w.out)-1] {
	case ')':
		return false // a pointer to a function is written around its name
	case ']':
		// As is one to an array; but references to references collapse.
		i := bytes.LastIndexByte(w.out, '[') + 1
		return (c == 'O' || c == 'R') && bytes.HasSuffix(w.out[:i], []byte(refToArray))
	}
	if w.out[len(w.out)-1] == '&' {
		// References to references collapse. What would have to be cut is the
		// text of a substitution.
		return c == 'O' || c == 'R' && w.out[len(w.out)-2] != '&'
	}
	switch c {
	case 'K':
		if !bytes.HasSuffix(w.out, []byte(" const")) {
			w.add(" const") // const of const collapses
		}
	case 'P':
		w.add("*")
	case 'R':
		w.add("&")
	case 'O':
		w.add("&&")
	}
	return true
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
	switch id[len(id)-1] {
	case '&', ']', ' ':
		return false // it would look like a reference, or one to an array
	case 't':
		if strings.HasSuffix(id, " const") {
			return false
		}
	}
	w.add(id)
	for w.next() == 'B' {
		// ABI tags are left out of the short form.
		w.plain = true
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
	w.template, w.result = true, true
	return w.arguments()
}

// directOperators are the operators by their codes.
var directOperators = map[string]string{
	"aN": "&=", "aS": "=", "aa": "&&", "ad": "&", "an": "&", "cl": "()", "cm": ",", "co": "~", "dV": "/=",
	"de": "*", "dv": "/", "eO": "^=", "eo": "^", "eq": "==", "ge": ">=", "gt": ">", "ix": "[]", "lS": "<<=",
	"da": " delete[]", "dl": " delete", "na": " new[]", "nw": " new",
	"le": "<=", "ls": "<<", "lt": "<", "mI": "-=", "mL": "*=", "mi": "-", "ml": "*", "mm": "--", "ne": "!=",
	"ng": "-", "nt": "!", "oR": "|=", "oo": "||", "or": "|", "pL": "+=", "pl": "+", "pm": "->*", "pp": "++",
	"ps": "+", "pt": "->", "rM": "%=", "rS": ">>=", "rm": "%", "rs": ">>", "ss": "<=>",
}

// nested reads a nested name behind its 'N' and past its 'E'. top says that it
// is the name of the symbol itself.
func (w *directWriter) nested(start int, top bool) bool {
	lastStart, lastEnd := 0, 0
	named := false   // something stands before that can have template arguments
	special := false // a constructor or destructor
	final := false   // nothing but template arguments may follow
	for first := true; ; first = false {
		c := w.next()
		switch {
		case c == 'E':
			w.s = w.s[1:]
			return !first
		case final && (c != 'I' || w.template):
			return false
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
			if top {
				w.template, w.result = false, false
			}
		case c == 'I' && named:
			if !w.arguments() {
				return false
			}
			if top {
				w.template, w.result = true, !special
			}
		case c == 'T' && first && !top:
			arg, ok := w.parameter()
			if !ok || arg.pack {
				return false
			}
			w.out = append(w.out, w.out[arg.start:arg.end]...)
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
			if len(w.s) < 3 || w.s[1] < '0' || w.s[1] > '5' || w.s[2] != 'E' && w.s[2] != 'I' {
				return false
			}
			w.s = w.s[2:]
			w.template, w.result, special, final = false, false, true, true
			w.add("::")
			if c == 'D' {
				w.add("~")
			}
			w.out = append(w.out, w.out[lastStart:lastEnd]...)
		case c == 'c' && top && !first && len(w.s) > 3 && w.s[1] == 'v' && w.s[3] == 'E' && directTypes[w.s[2]] != "":
			w.add("::operator ")
			w.add(directTypes[w.s[2]])
			w.s = w.s[4:]
			w.template, w.result = false, false
			return true
		case 'a' <= c && c <= 'z' && top && !first && len(w.s) > 2 && (w.s[2] == 'E' || w.s[2] == 'I'):
			symbol := directOperators[w.s[:2]]
			if symbol == "" {
				return false
			}
			w.s = w.s[2:]
			w.template, w.result, final = false, false, true
			w.add("::operator")
			w.add(symbol)
		default:
			return false
		}
		if w.next() != 'E' && !w.remember(start, lastStart, lastEnd) || len(w.out) > maxDirectText {
			return false
		}
	}
}

// substitution reads a reference to what was written before, or one of the
// abbreviations for std's, and writes it.
func (w *directWriter) substitution() (directSub, bool) {
	if len(w.s) < 2 || w.s[0] != 'S' {
		return directSub{}, false
	}
	start := len(w.out)
	switch w.s[1] {
	case 'a', 'b':
		w.add("std::")
		last := len(w.out)
		if w.s[1] == 'a' {
			w.add("allocator")
		} else {
			w.add("basic_string")
		}
		w.s = w.s[2:]
		return directSub{start, len(w.out), last, len(w.out)}, true
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
		if sub.start == unusable || len(w.out)+sub.end-sub.start > 2*maxDirectText {
			return directSub{}, false
		}
		w.out = append(w.out, w.out[sub.start:sub.end]...)
		moved := directSub{start: start, end: len(w.out)}
		if sub.lastEnd > 0 {
			moved.lastStart, moved.lastEnd = sub.lastStart-sub.start+start, sub.lastEnd-sub.start+start
		}
		return moved, true
	}
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
	if w.depth == 1 {
		w.args = w.args[:0]
	}
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
			record := w.depth == 1
			pack := len(w.args)
			if record {
				w.args = append(w.args, directArg{start: pack + 1, pack: true})
			}
			if w.depth++; inPack || w.depth > maxDirectDepth || !w.argumentList(n, true) {
				return false
			}
			w.depth--
			if record {
				w.args[pack].end = len(w.args)
			}
			continue
		}
		if *n > 0 {
			w.add(", ")
		}
		*n++
		start := len(w.out)
		ok := false
		if w.next() == 'L' {
			ok = w.literal()
		} else {
			ok = w.typ()
		}
		if !ok || len(w.out) > 2*maxDirectText {
			return false
		}
		// Arguments of a pack lie one deeper.
		if w.depth == 1 || w.depth == 2 && inPack {
			w.args = append(w.args, directArg{start: start, end: len(w.out)})
		}
	}
}
