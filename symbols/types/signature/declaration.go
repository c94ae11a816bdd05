package signature

import (
	"strings"

	"logparser/symbols/demangle"
	"logparser/symbols/types"
)

// An answer is what is known of something.
type answer uint8

const (
	maybe answer = iota
	yes
	no
)

// is takes note of what is known, unless something is.
func (a *answer) is(b bool) {
	switch {
	case *a != maybe:
	case b:
		*a = yes
	default:
		*a = no
	}
}

// A declaration is what the name of a function says.
type declaration struct {
	// name is the readable one, with parameters and without the type of the result; scope is what the function is in.
	name, scope string
	parameters  []types.Parameter
	variadic    bool
	// result is nil where there is none, or nothing is known of it.
	result *types.Type
	// object says whether the function gets an object, hidden whether it gets the address of its result.
	object, hidden answer
	// operator says that it is one that only a method can be, if it is in a class.
	operator bool
	// microsoft says that the name is of Microsoft's scheme.
	microsoft bool
	// structor says that it is a constructor or destructor, complete that it is one for whole objects, which gets no table of
	// virtual bases.
	structor, complete bool
	// moved says that its object may come by the address of a part of it: Microsoft's compilers pass that to methods which override
	// those of another base class than the first.
	moved bool
}

// resultAddressed reports whether the type of the result says that its address is passed.
func (d *declaration) resultAddressed() bool { return d.result != nil && d.result.Indirect }

// declare reads a mangled name, nil where it is no function's, or is not understood. windows says whose sizes types have.
func declare(mangled string, windows bool) *declaration {
	microsoft := strings.HasPrefix(mangled, "?")
	if !microsoft {
		mangled, _, _ = strings.Cut(mangled, "@") // the version
		if !strings.HasPrefix(mangled, "_Z") || strings.HasPrefix(mangled, "_ZT") || strings.HasPrefix(mangled, "_ZG") {
			return nil
		}
	}
	name, short, before := fullName(mangled)
	list, behind, ok := parameterList(name, short)
	if !ok {
		return nil
	}
	d := &declaration{name: name, microsoft: microsoft}
	var last string
	d.scope, last = splitScope(short)
	sizes := sizes{windows, microsoft}
	if !d.readParameters(list, sizes) {
		return nil
	}
	if behind != "" {
		d.object = yes
	}
	if microsoft {
		if !d.readMicrosoft(before, sizes) {
			return nil
		}
		return d
	}
	d.readItanium(mangled, last, before, sizes)
	return d
}

// parameterList returns what is between the parentheses behind a function's short name, and what follows them.
func parameterList(name, short string) (list, behind string, ok bool) {
	rest, ok := strings.CutPrefix(name, short+"(")
	if !ok {
		return "", "", false
	}
	depth := 1
	for i := range len(rest) {
		switch rest[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				list, behind = rest[:i], rest[i+1:]
				switch strings.TrimSpace(behind) {
				case "", "const", "volatile", "const volatile", "&", "&&", "const &", "const &&", "const&", "const&&":
					return list, behind, true
				}
				return "", "", false
			}
		}
	}
	return "", "", false
}

// readParameters reads a list of parameters.
func (d *declaration) readParameters(list string, sizes sizes) bool {
	if list == "" || list == "void" {
		return true
	}
	parts, ok := splitList(list)
	if !ok || len(parts) > maxParameters {
		return false
	}
	for i, text := range parts {
		if text == "..." && i == len(parts)-1 {
			d.variadic = true
			break
		}
		d.parameters = append(d.parameters, types.Parameter{Type: sizes.typeOf(text)})
	}
	return true
}

// splitList splits a text at commas that are within no brackets.
func splitList(list string) (parts []string, ok bool) {
	depth, from := 0, 0
	for i := range len(list) {
		switch list[i] {
		case '(', '<', '[', '{':
			depth++
		case ')', '>', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(list[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(list[from:])), depth == 0
}

// splitScope splits a name into what it is in and the name proper.
func splitScope(short string) (scope, last string) {
	depth, from := 0, 0
	for i := 0; i < len(short); i++ {
		switch short[i] {
		case '(', '<', '[', '{', '`':
			depth++
		case ')', '>', ']', '}', '\'':
			depth--
		case ':':
			if depth == 0 && strings.HasPrefix(short[i:], "::") {
				i++
				from = i + 1
			}
		case 'o':
			if depth == 0 && i == from && isOperator(short[i:]) {
				i = len(short) // its name may have brackets
			}
		}
	}
	return strings.TrimSuffix(short[:from], "::"), short[from:]
}

// isOperator reports whether a name is that of an operator.
func isOperator(name string) bool {
	rest, ok := strings.CutPrefix(name, "operator")
	if !ok || rest == "" {
		return false
	}
	c := rest[0]
	return c != '_' && c != '$' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c < 0x80
}

// readItanium finds out what a name of Itanium's scheme says of a function's object and result.
func (d *declaration) readItanium(mangled, last, before string, sizes sizes) {
	plain, _, _ := strings.Cut(last, "<")
	_, class := splitScope(d.scope)
	class, _, _ = strings.Cut(class, "<")
	switch {
	case isOperator(last):
		d.readOperator(last, before, sizes)
		return
	case d.scope != "" && (plain == class || strings.HasPrefix(last, "~")):
		d.structor, d.object, d.hidden = true, yes, no
		d.complete = isComplete(mangled)
		return
	case d.scope == "":
		d.object.is(false)
	}
	d.readResult(before, sizes)
}

// readResult takes the type of a result, which names of Itanium's scheme have only of templates.
func (d *declaration) readResult(text string, sizes sizes) {
	if text == "" {
		return
	}
	if text == "void" {
		d.hidden.is(false)
		return
	}
	t := sizes.typeOf(text)
	switch {
	case t.Kind == types.Opaque:
	case t.Indirect:
		d.hidden.is(true)
		d.result = t
	case t.Kind == types.Text && t.Name == types.StdStringView && sizes.windows:
	default:
		d.hidden.is(false)
		d.result = t
	}
}

// binary are operators that always have two operands.
var binary = []string{"==", "!=", "<", ">", "<=", ">=", "<=>", "%", "/", "^", "|", "&&", "||", "<<", ">>", "->*", ",", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="}

// readOperator finds out what the name of an operator says.
func (d *declaration) readOperator(last, before string, sizes sizes) {
	symbol := strings.TrimPrefix(last, "operator")
	switch word := strings.TrimSpace(symbol); {
	case word == "new", word == "new[]", word == "delete", word == "delete[]":
		d.object.is(false)
		d.hidden.is(false)
		return
	case strings.HasPrefix(word, `""`):
		d.object.is(false)
	case strings.HasPrefix(symbol, " "): // a conversion, whose name is its result
		d.object.is(true)
		d.readResult(strings.TrimSpace(symbol), sizes)
		return
	case word == "=", word == "->":
		d.object.is(true)
	case word == "()", word == "[]":
		// Static ones are new in C++23.
	default:
		for _, b := range binary {
			if b == word {
				d.object.is(len(d.parameters) == 1)
			}
		}
		d.operator = true
	}
	if d.scope == "" {
		d.object.is(false)
	}
	d.readResult(before, sizes)
}

// isComplete reports whether a constructor or destructor is for whole objects: its name has a number that says so, C1, D0 or D1.
// There may be such letters in other parts of the name: with another number these would make another text.
func isComplete(mangled string) bool {
	full := demangle.Full(mangled)
	for i := 2; i+1 < len(mangled); i++ {
		other := byte('2')
		switch kind := mangled[i : i+2]; kind {
		case "C1", "D1", "D0":
		default:
			continue
		}
		if demangle.Full(mangled[:i+1]+string(other)+mangled[i+2:]) == full {
			return true
		}
	}
	return false
}

// conventions of Microsoft's names that are the usual one on x86-64.
var conventions = []string{"__cdecl", "__stdcall", "__thiscall", "__fastcall", "__pascal"}

// readMicrosoft reads what stands before a name of Microsoft's scheme: access, kind, result and calling convention.
func (d *declaration) readMicrosoft(before string, sizes sizes) bool {
	access, rest, has := strings.Cut(before, ": ")
	switch {
	case !has:
		rest = before
		d.object.is(false)
	case access == "public", access == "protected", access == "private":
		if after, static := strings.CutPrefix(rest, "static "); static {
			rest = after
			d.object.is(false)
		} else {
			rest, d.moved = strings.CutPrefix(rest, "virtual ")
			d.object.is(true)
		}
	default:
		return false // a thunk
	}
	usual := false
	for _, convention := range conventions {
		if result, ok := strings.CutSuffix(rest, convention); ok {
			rest, usual = strings.TrimSpace(result), true
			break
		}
	}
	if !usual {
		return false
	}
	class := strings.HasPrefix(rest, "class ") || strings.HasPrefix(rest, "struct ") || strings.HasPrefix(rest, "union ")
	switch t := sizes.typeOf(rest); {
	case rest == "", rest == "void":
		d.hidden.is(false)
	case t.Kind != types.Opaque:
		d.hidden.is(false)
		d.result = t
	case strings.HasPrefix(rest, "enum "):
		d.hidden.is(false)
	case class && d.object == yes:
		// Microsoft's compilers return no class of a method in a register.
		d.hidden.is(true)
		d.result = &types.Type{Kind: types.Struct, Name: t.Name, Indirect: true}
	}
	return true
}

// Bounds say how many places are taken before a function's parameters.
type bounds struct {
	object, hidden answer
	// least is how many there are at least, which the code shows.
	least int
}

func newBounds(d *declaration, namespace bool) bounds {
	b := bounds{object: d.object, hidden: d.hidden}
	if namespace {
		b.object.is(false)
	}
	return b
}

// number returns how many places are taken.
func (b *bounds) number() (n int, known bool) {
	least, most := 0, 2
	for _, a := range []answer{b.object, b.hidden} {
		switch a {
		case yes:
			least++
		case no:
			most--
		}
	}
	least = max(least, b.least)
	return least, least == most
}

// isObject reports whether one of n places is the object's.
func (b *bounds) isObject(n int) bool {
	return b.object == yes || b.object == maybe && (n == 2 || n == 1 && b.hidden == no)
}
