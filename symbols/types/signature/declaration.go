package signature

import (
	"strings"

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
	// name is the readable one, with parameters and without the type of the result; scope is what the function is in, last the
	// name proper.
	name, scope, last string
	parameters        []types.Parameter
	variadic          bool
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

// same reports whether two names at one place say the same.
func (d *declaration) same(o *declaration) bool {
	results := d.result == nil && o.result == nil || d.result != nil && o.result != nil && d.result.Name == o.result.Name
	return d.name == o.name && d.structor == o.structor && d.object == o.object && d.hidden == o.hidden && results
}

// declare reads a mangled name, nil where it is no function's, or is not understood, or chosen does not accept its readable form.
// of says what sizes types have.
func declare(mangled string, of sizes, chosen func(name string) bool) *declaration {
	microsoft := strings.HasPrefix(mangled, "?")
	if !microsoft {
		mangled, _, _ = strings.Cut(mangled, "@") // the version
		if !strings.HasPrefix(mangled, "_Z") || strings.HasPrefix(mangled, "_ZT") || strings.HasPrefix(mangled, "_ZG") {
			return nil
		}
	}
	name, short, before := fullName(mangled)
	list, behind, ok := parameterList(name, short)
	if !ok || !chosen(name) || strings.Contains(list, " pass_object_size") || strings.Contains(list, " pass_dynamic_object_size") {
		return nil // the last two have a size that is passed besides
	}
	d := &declaration{name: name, microsoft: microsoft}
	d.scope, d.last = splitScope(short)
	of.microsoft = microsoft
	list, explicit := strings.CutPrefix(list, "this ")
	if explicit {
		d.object = no // it is the first parameter
	}
	if !d.readParameters(list, of) {
		return nil
	}
	if behind != "" {
		d.object = yes
	}
	if microsoft {
		if strings.HasPrefix(mangled, "??0") && d.variadic {
			return nil // of a class with virtual bases, a number comes behind the object
		}
		if !d.readMicrosoft(before, of) {
			return nil
		}
		return d
	}
	if !d.readItanium(mangled, before, of) {
		return nil
	}
	d.operator = d.operator && !explicit
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

// readItanium finds out what a name of Itanium's scheme says of a function's object and result. It reports whether it is
// understood.
func (d *declaration) readItanium(mangled, before string, sizes sizes) bool {
	if isOperator(d.last) {
		d.readOperator(before, sizes)
		return true
	}
	plain, _, _ := strings.Cut(d.last, "<")
	_, class := splitScope(d.scope)
	class, _, _ = strings.Cut(class, "<")
	if d.scope != "" && (plain == class || strings.HasPrefix(d.last, "~")) {
		// A function of a namespace may have the namespace's name.
		kind, sure := structorKind(mangled, d.scope, d.last)
		if !sure {
			return false
		}
		if kind != 0 {
			d.structor, d.object, d.hidden = true, yes, no
			d.complete = kind == '1' || kind == '0'
			return true
		}
	}
	if d.scope == "" {
		d.object.is(false)
	}
	d.readResult(before, sizes)
	return true
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

// binaryOperators are those that always have two operands.
var binaryOperators = []string{"==", "!=", "<", ">", "<=", ">=", "<=>", "%", "/", "^", "|", "&&", "||", "<<", ">>", "->*", ",", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="}

// readOperator finds out what the name of an operator says.
func (d *declaration) readOperator(before string, sizes sizes) {
	symbol := strings.TrimPrefix(d.last, "operator")
	switch word := strings.TrimSpace(symbol); {
	case word == "new", word == "new[]", word == "delete", word == "delete[]":
		d.object.is(false)
		d.hidden.is(false)
		return
	case strings.HasPrefix(word, `""`):
		d.object.is(false)
	case word == "co_await":
		// It has one operand, which may be the object or a parameter.
	case strings.HasPrefix(symbol, " "): // a conversion, whose name is its result
		d.object.is(true)
		d.readResult(strings.TrimSpace(symbol), sizes)
		return
	case word == "=", word == "->":
		d.object.is(true)
	case word == "()", word == "[]":
		// Static ones are new in C++23.
	default:
		for _, b := range binaryOperators {
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
	switch t := sizes.typeOf(rest); {
	case rest == "", rest == "void":
		d.hidden.is(false)
	case t.Kind != types.Opaque:
		d.hidden.is(false)
		d.result = t
	case strings.HasPrefix(rest, "enum "):
		d.hidden.is(false)
	case isClass(rest) && d.object == yes:
		// Microsoft's compilers return no class of a method in a register.
		d.hidden.is(true)
		d.result = &types.Type{Kind: types.Struct, Name: t.Name, Indirect: true}
	}
	return true
}

// isClass reports whether a type's text in a name of Microsoft's scheme is that of a class, and not of a vector, a complex number
// or another type of the compiler's own, which have names of classes.
func isClass(text string) bool {
	name := text
	for _, word := range []string{"class ", "struct ", "union "} {
		name = strings.TrimPrefix(name, word)
	}
	return name != text && !strings.HasPrefix(name, "__m") && !strings.HasPrefix(name, "__clang::")
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
