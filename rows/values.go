package rows

import (
	"strconv"
	"strings"
)

// A ValueKind says what of a [Value] can be compared.
type ValueKind uint8

const (
	// UnknownValue: the call had such a value, but what it was is not known.
	UnknownValue ValueKind = iota
	// SignedValue is Value.Bits as int64, UnsignedValue as uint64, FloatValue as float64.
	SignedValue
	UnsignedValue
	FloatValue
	// PointerValue is Value.Bits as an address.
	PointerValue
	// TextValue is Value.Characters.
	TextValue
	// OtherValue has parts, or only its text.
	OtherValue
)

// A Value is an argument or the result of a call.
type Value struct {
	// Name is the parameter's, "" if it has none. Type is as the language writes it, "" where
	// it is not known.
	Name, Type string
	// Text is the value as it is shown; of one that is not known it says why.
	Text string
	Kind ValueKind
	Bits uint64
	// Characters are those of a text, of which there may have been more if Cut.
	Characters string
	Cut        bool
	// Parts are the members of a struct, and the elements of an array, whose names are empty.
	Parts []Value
}

// CallValues are the arguments and the result of a call, as far as they are known. They are
// shared: do not change them.
type CallValues struct {
	Arguments []Value
	// Results are what was taken where the call ended: mostly one.
	Results []Value
	// BySignature says that the types of values are those in the function's mangled name, without debug information.
	BySignature bool
}

// Result is the name of what a call returned.
const Result = "return"

// noValues are those of rows that have none.
var noValues CallValues

func (r *Row) values() *CallValues {
	if r.Filled&Values == 0 || r.Values == nil {
		return &noValues
	}
	return r.Values
}

// AppendArguments appends values as they stand between the parentheses of a call.
func AppendArguments(dst []byte, list []Value) []byte {
	for i := range list {
		v := &list[i]
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if v.Name != "this" && v.Type != "" && !strings.HasPrefix(v.Name, "*") {
			dst = append(dst, v.Type...)
			if v.Name != "" {
				dst = append(dst, ' ')
			}
		}
		dst = append(dst, v.Name...)
		if v.Type != "" || v.Name != "" {
			dst = append(dst, " = "...)
		}
		dst = append(dst, v.Text...)
	}
	return dst
}

// AppendResults appends what a call returned, without the type.
func AppendResults(dst []byte, list []Value) []byte {
	for i := range list {
		v := &list[i]
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if v.Name != "" && v.Name != Result {
			dst = append(append(dst, v.Name...), " = "...)
		}
		dst = append(dst, v.Text...)
	}
	return dst
}

// Find returns the value of a path: names of parameters, then of members, with dots between;
// nil if there is none.
func Find(list []Value, path string) *Value {
	for i := range list {
		v := &list[i]
		if v.Name == path {
			return v
		}
		if rest, ok := strings.CutPrefix(path, v.Name); ok && v.Name != "" && strings.HasPrefix(rest, ".") {
			if found := Find(v.Parts, rest[1:]); found != nil {
				return found
			}
		}
	}
	return nil
}

// AppendCall appends a call with its values: where it is entered the function with its
// arguments in the place of its parameters, and its result. Without values it is the
// function's name.
func AppendCall(dst []byte, r *Row) []byte {
	name, tail := r.callParts()
	return appendCallTail(append(dst, name...), r, tail)
}

// AppendCallTail appends what [AppendCall] has behind the name, which it returns.
func AppendCallTail(dst []byte, r *Row) (name string, tail []byte) {
	name, behind := r.callParts()
	return name, appendCallTail(dst, r, behind)
}

// callParts returns the function's name, where arguments stand in the place of its parameters what
// is before and behind those.
func (r *Row) callParts() (name, behind string) {
	if len(r.values().Arguments) == 0 || r.Event != Enter {
		return r.Function, ""
	}
	from, to := parameterList(r.Function)
	return r.Function[:from], r.Function[to:]
}

func appendCallTail(dst []byte, r *Row, behind string) []byte {
	v := r.values()
	if len(v.Arguments) > 0 && r.Event == Enter {
		dst = append(AppendArguments(append(dst, '('), v.Arguments), ')')
		dst = append(dst, behind...)
	}
	if len(v.Results) > 0 {
		dst = AppendResults(append(dst, " = "...), v.Results)
	}
	return dst
}

// CallValues returns the values of the row's call, nil for none.
func (r *Row) CallValues() *CallValues {
	if r.Filled&Values == 0 {
		return nil
	}
	return r.Values
}

// HasValues reports whether the row has arguments or results.
func (r *Row) HasValues() bool {
	v := r.values()
	return len(v.Arguments)+len(v.Results) > 0
}

// A ValueForm is what a value is in formats whose values have types, such as JSON.
type ValueForm uint8

const (
	// ShownForm has no type of its own: it is written as Value.Text.
	ShownForm ValueForm = iota
	// UnknownForm: what it was is not known. Value.Text says why.
	UnknownForm
	// TextForm is Value.Characters.
	TextForm
	// ArrayForm has Value.Parts without names, StructForm such with names.
	ArrayForm
	StructForm
	// BoolForm is true or false, as Value.Text says.
	BoolForm
	// NullForm is a pointer that leads nowhere.
	NullForm
	// NumberForm has the decimal number Value.Text.
	NumberForm
)

// Form returns what the value is in formats whose values have types.
func (v *Value) Form() ValueForm {
	switch {
	case v.Kind == UnknownValue:
		return UnknownForm
	case v.Kind == TextValue:
		return TextForm
	case len(v.Parts) > 0 && v.Parts[0].Name == "":
		return ArrayForm
	case len(v.Parts) > 0:
		return StructForm
	case v.Text == "true", v.Text == "false":
		return BoolForm
	case v.Text == "null" && v.Kind == PointerValue: // and not an enumerator of that name
		return NullForm
	case v.isDecimal():
		return NumberForm
	}
	return ShownForm
}

// MemberName returns the name of a value among others, such as the arguments of a call or the
// members of a struct. Those without one are numbered.
func MemberName(list []Value, i int) string {
	if list[i].Name == "" {
		return strconv.Itoa(i)
	}
	return list[i].Name
}

// NotKnown is the name of the only member that stands for a value that is not known, in formats whose values have types; the member says
// why. No parameter has a name with a blank.
const NotKnown = "not known"

// AppendJSONValues appends values as a JSON object, by their names. Numbers and truth values
// are such, null is a pointer that leads nowhere, what is not known is an object that says why ([NotKnown]), and all else is as it is shown.
func AppendJSONValues(dst []byte, list []Value) []byte {
	dst = append(dst, '{')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendJSONString(dst, MemberName(list, i)), ':')
		dst = appendJSONValue(dst, &list[i])
	}
	return append(dst, '}')
}

func appendJSONValue(dst []byte, v *Value) []byte {
	switch v.Form() {
	case UnknownForm:
		dst = AppendJSONString(append(dst, `{"`+NotKnown+`":`...), v.Text)
		return append(dst, '}')
	case TextForm:
		return AppendJSONString(dst, v.Characters)
	case ArrayForm:
		dst = append(dst, '[')
		for i := range v.Parts {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSONValue(dst, &v.Parts[i])
		}
		return append(dst, ']')
	case StructForm:
		return AppendJSONValues(dst, v.Parts)
	case BoolForm, NullForm, NumberForm:
		return append(dst, v.Text...)
	}
	return AppendJSONString(dst, v.Text)
}

// isDecimal reports whether the text is a number as JSON has it.
func (v *Value) isDecimal() bool {
	return (v.Kind == SignedValue || v.Kind == UnsignedValue || v.Kind == FloatValue) && strings.Trim(v.Text, "+-.0123456789e") == ""
}

// parameterList returns where the parameters stand in a function's name: from the parenthesis
// to behind the one that closes it. Without any both are the end of the name.
func parameterList(name string) (from, to int) {
	end := strings.LastIndexByte(name, ')')
	// Behind the parameters is nothing but const and its like.
	if end < 0 || end+1 < len(name) && name[end+1] != ' ' || strings.HasSuffix(name[:end], "(anonymous namespace") {
		return len(name), len(name)
	}
	depth := 0
	for i := end; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				if strings.HasSuffix(name[:i], "operator") { // operator() without parameters
					return len(name), len(name)
				}
				return i, end + 1
			}
		}
	}
	return len(name), len(name)
}
