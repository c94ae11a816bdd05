package signature

import (
	"strings"

	"logparser/symbols/types"
)

// Sizes say how large types are.
type sizes struct {
	// windows says that it is a program for Windows, microsoft that its C++ is Microsoft's.
	windows, microsoft bool
	// cygwin says that it is one of Cygwin or MSYS, where a long may have 8 bytes, as on Unix.
	cygwin bool
}

type builtin struct {
	kind types.Kind
	size int // bytes
}

// builtins are the types of the language whose size is the same everywhere on x86-64.
var builtins = map[string]builtin{
	"bool": {types.Bool, 1}, "char": {types.Char, 1}, "char8_t": {types.Char, 1}, "char16_t": {types.Char, 2}, "char32_t": {types.Char, 4},
	"signed char": {types.Int, 1}, "unsigned char": {types.Uint, 1}, "short": {types.Int, 2}, "unsigned short": {types.Uint, 2},
	"int": {types.Int, 4}, "unsigned int": {types.Uint, 4}, "unsigned": {types.Uint, 4},
	"long long": {types.Int, 8}, "unsigned long long": {types.Uint, 8}, "__int64": {types.Int, 8}, "unsigned __int64": {types.Uint, 8},
	"float": {types.Float, 4}, "double": {types.Float, 8},
}

// builtin returns a type of the language by its name.
func (s sizes) builtin(name string) (builtin, bool) {
	long, wide := 8, 4
	if s.windows {
		long, wide = 4, 2
	}
	if s.cygwin && (name == "long" || name == "unsigned long") {
		return builtin{}, false
	}
	switch name {
	case "long":
		return builtin{types.Int, long}, true
	case "unsigned long":
		return builtin{types.Uint, long}, true
	case "wchar_t":
		return builtin{types.Char, wide}, true
	case "long double":
		if s.microsoft {
			return builtin{types.Float, 8}, true
		}
		return builtin{types.Float, 16}, true
	}
	b, ok := builtins[name]
	return b, ok
}

const pointerSize = 8 // bytes

// libstdc++'s texts as demanglers write them. Those of other libraries are in other namespaces.
const (
	cxxString = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"
	cxxView   = "std::basic_string_view<char, std::char_traits<char>>"
)

// typeOf returns the type that a text is of. It is [types.Opaque] where its size or its class are not known.
func (s sizes) typeOf(text string) *types.Type {
	return s.parse(s.plain(text), 0)
}

// plain takes out of a text what others write differently.
func (s sizes) plain(text string) string {
	if s.microsoft {
		for _, word := range []string{"class ", "struct ", "union ", "enum "} {
			text = strings.ReplaceAll(text, word, "")
		}
		text = strings.NewReplacer(" *", "*", " &", "&").Replace(text)
	}
	for strings.Contains(text, " >") {
		text = strings.ReplaceAll(text, " >", ">")
	}
	return strings.TrimSpace(text)
}

// maxPointers bounds how many pointers a type has.
const maxPointers = 16

func (s sizes) parse(text string, depth int) *types.Type {
	shown := types.PlainName(strings.ReplaceAll(text, cxxString, types.StdString))
	unknown := &types.Type{Kind: types.Opaque, Name: shown}
	if !s.microsoft {
		shown = strings.ReplaceAll(shown, cxxView, types.StdStringView)
		unknown.Name = shown
	}
	base := withoutQualifiers(text)
	if depth > maxPointers {
		return unknown
	}
	if base == "decltype(nullptr)" || base == types.NullPointer {
		return &types.Type{Kind: types.Pointer, Size: pointerSize, Name: types.NullPointer}
	}
	if kind, is := compound(base); is {
		if kind == types.Opaque {
			return unknown
		}
		return &types.Type{Kind: kind, Size: pointerSize, Name: shown}
	}
	kind := types.Pointer
	to, is := strings.CutSuffix(base, "*")
	if !is {
		kind = types.Reference
		to, is = strings.CutSuffix(base, "&")
		to = strings.TrimSuffix(to, "&")
	}
	if is {
		if strings.HasSuffix(to, "::") {
			return unknown // a pointer to a member
		}
		t := &types.Type{Kind: kind, Size: pointerSize, Name: shown}
		if target := s.parse(strings.TrimSpace(to), depth+1); target.Kind != types.Opaque {
			t.Target = target
			if kind == types.Pointer && target.Kind == types.Char && target.Size == 1 && strings.HasSuffix(target.Name, " const") {
				t.Kind = types.Text
			}
		}
		return t
	}
	switch {
	case base == cxxString && !s.microsoft:
		return &types.Type{Kind: types.Text, Size: 32, Name: types.StdString, Indirect: true, Library: types.Libstdcxx}
	case base == cxxView && !s.microsoft:
		return &types.Type{Kind: types.Text, Size: 16, Name: types.StdStringView, Library: types.Libstdcxx}
	}
	if b, ok := s.builtin(base); ok {
		return &types.Type{Kind: b.kind, Size: b.size, Name: shown}
	}
	return unknown
}

// withoutQualifiers takes const and its like off both ends of a type.
func withoutQualifiers(text string) string {
	for again := true; again; {
		again = false
		for _, word := range []string{"const", "volatile", "restrict", "__restrict", "__ptr64"} {
			cut := strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(text, " "+word), word+" "))
			if rest, ok := strings.CutSuffix(cut, "*"+word); ok {
				cut = rest + "*"
			}
			if len(cut) < len(text) {
				text, again = cut, true
			}
		}
	}
	return text
}

// compound reports whether a type is a pointer or reference to a function or an array, which is written around a parenthesis,
// as in "int (*)(char)", and of which kind; it is Opaque for pointers to members, and what else is written like that.
func compound(text string) (kind types.Kind, is bool) {
	if !strings.HasSuffix(text, ")") && !strings.HasSuffix(text, "]") {
		return types.Opaque, false
	}
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '<', '{', '[':
			depth++
		case '>', '}', ']':
			depth--
		case '(':
			if depth++; depth > 1 {
				continue
			}
			end := strings.IndexByte(text[i:], ')')
			if end < 0 {
				return types.Opaque, true
			}
			inner := text[i+1 : i+end]
			for _, convention := range conventions {
				inner = strings.TrimPrefix(inner, convention)
			}
			switch strings.TrimSpace(inner) {
			case "*", "* const", "*const":
				return types.Pointer, true
			case "&", "&&":
				return types.Reference, true
			case "anonymous namespace":
				continue
			}
			return types.Opaque, true
		case ')':
			depth--
		}
	}
	return types.Opaque, true
}
