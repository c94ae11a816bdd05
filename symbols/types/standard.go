package types

import (
	"math/bits"
	"strings"
)

// inlineNamespaces are those of the standard library.
var inlineNamespaces = strings.NewReplacer("std::__cxx11::", "std::", "std::__1::", "std::", "std::__2::", "std::", "std::__Cr::", "std::", "std::__ndk1::", "std::")

// PlainName takes out of a type's name what nobody writes: inline namespaces of the standard library,
// and its allocator.
func PlainName(name string) string {
	name = inlineNamespaces.Replace(name)
	const allocator = ", std::allocator<"
	for {
		i := strings.Index(name, allocator)
		if i < 0 {
			return strings.ReplaceAll(name, " >", ">")
		}
		depth, end := 1, i+len(allocator)
		for end < len(name) && depth > 0 {
			switch name[end] {
			case '<':
				depth++
			case '>':
				depth--
			}
			end++
		}
		name = name[:i] + strings.TrimPrefix(name[end:], " ")
	}
}

// NamedByClass reports whether the name of a type says what its values are, so that it must be kept where a typedef gives it
// another one: of the classes of the standard library, nullptr, functions, and pointers to methods.
func NamedByClass(t *Type) bool {
	if t.Name == NullPointer || t.Name == MethodPointer || t.Name == Routine {
		return true
	}
	return strings.HasPrefix(t.Name, "std::") && (t.Kind == Struct || t.Kind == Text && strings.HasPrefix(t.Name, StdString))
}

// StandardText returns StdString or StdStringView for the plain name of a class that is one of these, else "".
func StandardText(plain string) string {
	switch {
	case strings.HasPrefix(plain, "std::basic_string<char,") || plain == StdString || plain == "std::basic_string<char>":
		return StdString
	case strings.HasPrefix(plain, "std::basic_string_view<char,") || plain == StdStringView || plain == "std::basic_string_view<char>":
		return StdStringView
	}
	return ""
}

// A TextLayout is what tells the libraries' texts apart: where members of a std::string or std::string_view lie, by their
// names, those of libc++'s __long within it, and their sizes in bytes.
type TextLayout struct {
	Members, Long map[string]int
	Size, Word    int
}

// Begin returns where the layout begins: of Microsoft's std::string behind a pointer, where iterators are checked.
func (l *TextLayout) Begin() int {
	if at, has := l.Members["_Bx"]; has && at == l.Word && l.Size == 3*l.Word+16 && l.Members["_Mysize"] == at+16 && l.Members["_Myres"] == at+16+l.Word {
		return at
	}
	return 0
}

// Library returns whose layout it is, "" for that of none that is known.
func (l *TextLayout) Library() Library {
	is := func(at map[string]int, name string, offset int) bool {
		found, ok := at[name]
		return ok && found == offset
	}
	own := func(name string, offset int) bool { return is(l.Members, name, offset) }
	word := l.Word
	switch {
	case l.Begin() > 0:
		return MSVC
	case l.Size == 2*word+16 && own("_M_dataplus", 0) && own("_M_string_length", word), l.Size == 2*word && own("_M_len", 0) && own("_M_str", word):
		return Libstdcxx
	case l.Size == word && own("_M_dataplus", 0):
		return LibstdcxxCOW
	case l.Size == 2*word && (own("__data_", 0) && own("__size_", word) || own("__data", 0) && own("__size", word)):
		return Libcxx
	case l.Size == 2*word+16 && own("_Bx", 0) && own("_Mysize", 16) && own("_Myres", 16+word), l.Size == 2*word && own("_Mydata", 0) && own("_Mysize", word):
		return MSVC
	case l.Size == 3*word && is(l.Long, "__size_", word) && is(l.Long, "__data_", 2*word):
		return Libcxx
	case l.Size == 3*word && is(l.Long, "__data_", 0) && is(l.Long, "__size_", word):
		return LibcxxAlternate
	}
	return ""
}

// KindOfEnum returns Flags for enumerators that are joined by or, else Enum: 0, 1, 2 are an enumeration, 1, 2, 4 are flags.
func KindOfEnum(list []Enumerator) Kind {
	single, seen := 0, uint64(0)
	for _, e := range list {
		switch u := uint64(e.Value); {
		case u == 0:
		case bits.OnesCount64(u) == 1 && seen&u == 0:
			single++
			seen |= u
		case u&^seen != 0:
			return Enum
		}
	}
	if single >= 3 {
		return Flags
	}
	return Enum
}
