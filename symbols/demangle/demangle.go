// Package demangle turns the names that compilers give to functions in object
// files into the names that people wrote.
//
// The scheme is picked by the name's own form, never by the kind of file it
// came from: a PE made by MinGW holds Itanium names, a static library of C
// code may hold any.
//
//	_Z…, __Z…, ___Z…   Itanium C++ (one or two underscores more where the
//	                   object format adds them)
//	_ZN…17h<hash>E     Rust, legacy
//	_R…, __R…          Rust, v0
//	?…                 Microsoft C++
//	_name@12           C, __stdcall (32-bit Windows)
//	@name@12           C, __fastcall
//	name@@12           C, __vectorcall
//
// Itanium and Rust names are read by github.com/ianlancetaylor/demangle; the
// short form of the commoner Itanium names is written here without its tree.
// Microsoft's are read here. That scheme is not published; the reader follows
// what LLVM documents in its tests and what clang emits, and writes in the
// style of llvm-undname.
//
// Names come from files that nobody vouches for. Every function here is
// bounded in time and memory, never panics and is safe for concurrent use.
package demangle

import (
	"strings"

	"logparser/message"
)

// maxInput is the longest name that is read, in bytes. Microsoft's compiler
// replaces names from 4,096 bytes on by a hash; Itanium names have no limit,
// but longer ones than this are not met outside tests. A longer name is
// returned as it is.
const maxInput = 1 << 14

// maxOutput bounds the demangled text, in bytes: back references let a few
// bytes of input stand for an exponential amount of text.
const maxOutput = 1 << 16

var (
	errTooLong  = message.New("demangled name too long")
	errTooDeep  = message.New("mangled name nests too deeply")
	errNotKnown = message.New("not a mangled name")
)

// Short returns the name with its scopes and template arguments and without
// parameters, return type, calling convention and access: "app::Shape::area",
// "app::twice<int>", "app::Box::operator bool". It is what a table shows and
// what names are compared by. A name that is not mangled, or not understood,
// is returned as it is.
//
// What is appended to a name is treated by its meaning:
//
//   - Suffixes of compiler-made copies and parts (.cold, .isra.0,
//     .constprop.1, .part.0, .llvm.123, .lto_priv.0, …) are cut, of C names
//     too: the code is the function's own. [Full] keeps them.
//   - ELF symbol versions (@GLIBC_2.2, @@GLIBC_2.14) are cut.
//   - "@plt" is kept: it is the linker's stub and not the function.
//   - "__imp_" in front is kept: it is the import's pointer.
//   - ABI tags ([abi:cxx11]) are left out.
//   - A thunk has the name of the function it leads to; [Full] says that it is
//     one.
func Short(name string) string {
	if len(name) > maxInput {
		return name
	}
	base, tail := cutVersion(name)
	if tail != "@plt" {
		tail = ""
	}
	prefix := ""
	if rest, ok := strings.CutPrefix(base, importPrefix); ok && rest != "" {
		prefix, base = importPrefix, rest
	}
	s, err := shortBase(base)
	if err != nil {
		s, _ = cutClone(base)
		s = cutDecoration(s)
	}
	if prefix == "" && tail == "" {
		return s
	}
	return prefix + s + tail
}

// importPrefix starts the names of the pointers in a PE's import table.
const importPrefix = "__imp_"

func shortBase(name string) (string, error) {
	switch schemeOf(name) {
	case schemeItanium, schemeRust:
		return itaniumShort(name)
	case schemeMSVC:
		return msvcShort(name)
	}
	return "", errNotKnown
}

// Full returns the whole signature as the scheme's usual tool prints it:
// Itanium and Rust as c++filt does, Microsoft's as llvm-undname. What [Short]
// cuts off is kept: "f(int) [clone .cold]", "f(int)@plt",
// "f(int)@@VERS_1". A name that is not mangled, or not understood, is
// returned as it is; so are decorated C names, which have no signature.
func Full(name string) string {
	if len(name) > maxInput {
		return name
	}
	base, tail := cutVersion(name)
	prefix := ""
	if rest, ok := strings.CutPrefix(base, importPrefix); ok {
		prefix, base = importPrefix, rest
	}
	s, err := fullBase(base)
	if err != nil {
		// Data and Microsoft's names have no place for these in their schemes.
		var clones string
		if base, clones = cutClone(base); clones == "" {
			return name
		}
		if s, err = fullBase(base); err != nil {
			return name
		}
		s += " [clone " + clones + "]"
	}
	return prefix + s + tail
}

// Forms returns what [Short] and [Full] return. Of Itanium names it takes half
// the time of both.
func Forms(name string) (short, full string) {
	if scheme := schemeOf(name); len(name) <= maxInput && strings.IndexByte(name, '@') < 0 && (scheme == schemeItanium || scheme == schemeRust) {
		if short, full = itaniumForms(name); short != "" && full != "" {
			return short, full
		}
	}
	return Short(name), Full(name)
}

func fullBase(name string) (string, error) {
	switch schemeOf(name) {
	case schemeItanium, schemeRust:
		return itaniumFull(name)
	case schemeMSVC:
		return msvcFull(name)
	}
	return "", errNotKnown
}

// CName returns the C function that a decorated name of a Windows object file
// stands for. is386 says that the file is for 32-bit x86, where every __cdecl
// name has an underscore in front; nothing in a name tells whether its
// underscore is the compiler's or the programmer's.
func CName(name string, is386 bool) string {
	if s := cutDecoration(name); s != name {
		return s
	}
	if is386 && len(name) > 1 && name[0] == '_' {
		return name[1:]
	}
	return name
}

type scheme int

const (
	schemeNone scheme = iota
	schemeItanium
	schemeRust
	schemeMSVC
)

func schemeOf(name string) scheme {
	switch {
	case name == "":
	case name[0] == '?', strings.HasPrefix(name, ".?A"):
		return schemeMSVC
	case name[0] != '_':
	case strings.HasPrefix(name, "_Z"), strings.HasPrefix(name, "__Z"), strings.HasPrefix(name, "___Z"),
		strings.HasPrefix(name, "____Z"):
		return schemeItanium
	case strings.HasPrefix(name, "_R"), strings.HasPrefix(name, "__R"):
		return schemeRust
	}
	return schemeNone
}

// cutVersion splits an ELF symbol version or "@plt" off a name. Microsoft's
// names use '@' themselves and have neither; labels of assemblers, which begin
// with a dot, have no version (..@4.loop is one of nasm's macros).
func cutVersion(name string) (base, tail string) {
	if schemeOf(strings.TrimPrefix(name, importPrefix)) == schemeMSVC {
		return name, ""
	}
	i := strings.IndexByte(name, '@')
	if i <= 0 {
		return name, ""
	}
	v := strings.TrimPrefix(name[i+1:], "@")
	if name[0] == '.' && v != "plt" {
		return name, ""
	}
	// Digits alone are the size of a decorated C name's parameters.
	if v == "" || isDigits(v) || strings.IndexByte(v, '@') >= 0 {
		return name, ""
	}
	return name[:i], name[i:]
}

// cutDecoration takes the decoration of the three Windows calling conventions
// that show in a C name off it.
func cutDecoration(name string) string {
	i := strings.LastIndexByte(name, '@')
	if i <= 0 || !isDigits(name[i+1:]) {
		return name
	}
	base := name[:i]
	switch {
	case len(base) > 1 && base[0] == '_' && strings.IndexByte(base, '@') < 0:
		return base[1:]
	case len(base) > 1 && base[0] == '@' && strings.IndexByte(base[1:], '@') < 0:
		return base[1:]
	case len(base) > 1 && strings.IndexByte(base, '@') == len(base)-1:
		return base[:len(base)-1]
	}
	return name
}

// cutClone takes the suffixes of compiler-made copies and parts of a function
// off its name. Only known words count, most of them only with their number:
// a dot may belong to the name in other languages.
func cutClone(name string) (base, clones string) {
	base = name
	for {
		i := strings.LastIndexByte(base, '.')
		if i <= 0 {
			return base, name[len(base):]
		}
		word := base[i+1:]
		if isDigits(word) {
			j := strings.LastIndexByte(base[:i], '.')
			if j <= 0 || !isCloneWord(base[j+1:i]) {
				return base, name[len(base):]
			}
			i = j
		} else if word != "cold" && word != "localalias" {
			return base, name[len(base):]
		}
		base = base[:i]
	}
}

func isCloneWord(s string) bool {
	switch s {
	case "cold", "isra", "constprop", "part", "llvm", "lto_priv", "localalias",
		"clone", "ipa_cp", "simdclone", "specialized", "warm", "unlikely", "__uniq":
		return true
	}
	return false
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
