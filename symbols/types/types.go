// Package types has the types of a program's values, and the parameters and results of its
// functions with the places where they are at a call.
package types

// A Kind is what the bytes of a value mean.
type Kind uint8

const (
	// Opaque is a type of which only the size is known.
	Opaque Kind = iota
	// Int and Uint are integers, Bool is a truth value, Char a character of 1, 2 or 4 bytes.
	Int
	Uint
	Bool
	Char
	// Float has 4, 8, or, in the format of the x87, 10 to 16 bytes.
	Float
	// Pointer and Reference have a Target. It is nil for void, and where it is not known.
	Pointer
	Reference
	// A value of an Enum is one of its Enumerators, one of Flags is several of them, joined by or.
	Enum
	Flags
	// Struct is a class, struct or union with Members.
	Struct
	// Array has Count elements of type Target.
	Array
	// Text is a type whose values are shown as text: char const*, std::string, std::string_view.
	Text
)

// Names of the types of the C++ standard library that are shown as text.
const (
	StdString     = "std::string"
	StdStringView = "std::string_view"
	// NullPointer is the type of nullptr.
	NullPointer = "std::nullptr_t"
	// MethodPointer is the type of pointers to methods, of a function and an adjustment.
	MethodPointer = "method pointer"
	// Routine is the type of functions.
	Routine = "function"
)

// A Library is an implementation of the C++ standard library. Each lays its strings out in memory in its own
// way.
type Library string

// Libraries whose layout of strings is known.
const (
	Libstdcxx Library = "libstdc++"
	// LibstdcxxCOW has strings that share their characters, as libstdc++ had them before C++11 (_GLIBCXX_USE_CXX11_ABI=0).
	LibstdcxxCOW Library = "libstdc++-cow"
	Libcxx       Library = "libc++"
	// LibcxxAlternate has the pointer first (_LIBCPP_ABI_ALTERNATE_STRING_LAYOUT).
	LibcxxAlternate Library = "libc++-alternate"
	MSVC            Library = "msvc"
)

// A Type is a type of values. Types refer to each other, also in circles. They are not
// changed once they are made, and may be used by any number of goroutines.
type Type struct {
	Kind Kind
	// Size is in bytes; 0 where it is not known, and of texts.
	Size int
	// Name is as the language writes it: "unsigned int", "app::Shape const*".
	Name string
	// Target is what a pointer or reference points to and what an array consists of.
	Target *Type
	// Count is the number of an array's elements.
	Count int
	// Members are those of a struct, in the order of their declaration; base classes come first.
	Members []Member
	// Enumerators are in the order of their declaration.
	Enumerators []Enumerator
	// Indirect says that values of the class are passed and returned by their address, since
	// copying one takes more than copying its bytes.
	Indirect bool
	// Doubtful says that it is not known whether Indirect holds.
	Doubtful bool
	// Const says that it is constant, also where its Name does not say so, because it is that of a typedef.
	Const bool
	// Complex says that it is a complex number of C, of two members.
	Complex bool
	// Library is, of a string, the implementation of the C++ standard library that it belongs to; "" where that
	// is not known.
	Library Library
	// Begin is where in the object the layout of such a text begins, in bytes.
	Begin int
	// Align is the alignment in bytes that the program asks for beyond what its parts need, 0 for
	// none.
	Align int
}

// A Function is code with its parameters and its result.
type Function struct {
	// RVA and Size are in bytes.
	RVA, Size uint64
	// Name is as people read it, Linkage the compiler's, or Name.
	Name, Linkage string
	Parameters    []Parameter
	// Result is nil where there is none.
	Result *Type
	// Variadic says that there may be more arguments.
	Variadic bool
	// Local says that nothing outside its unit can call it by name, so that the compiler may pass arguments and
	// results as it likes where the convention lets it.
	Local bool
	// Altered says that the compiler passes some arguments in other ways than the calling convention says.
	Altered bool
	// Free says that the compiler may have left out arguments, and the result, without a word: an argument is where the
	// convention has it only if debug information says so: by its Entry on Windows, elsewhere by its Registers.
	Free bool
	// SplitsInt128 says that the compiler does not pass __int128 as the System V ABI says where it comes to the stack: clang before
	// version 18 splits it, or does not align it.
	SplitsInt128 bool
	// Omits is what its callers need not pass, if it does nothing with that.
	Omits Omission
	// Compiler is the text by which debug information names it, if it is not one of those whose ways are known, gcc and clang.
	Compiler string
	// Reads reports whether the function's code certainly reads what a register has when it is entered, which is passed then. It is nil
	// where that is not known.
	Reads func(register string) bool
	// Returned reports whether the function certainly returns something in a register, where it is Altered or Free and may return
	// nothing. It is nil where that is not known.
	Returned func(register string) bool
	// Foreign says that it is Altered because it has the convention of another system or compiler.
	Foreign bool
	// Leading is how many arguments for registers of integers come before its parameters that are not among them, such as
	// an object; [NotKnown] where it is not known how many. On Windows they count as positions.
	Leading int
	// ObjectFirst says that the address of the result is passed behind the object, as Microsoft's compilers do.
	ObjectFirst bool
}

// An Omission is what callers leave out that the function they call does not use.
type Omission uint8

const (
	// OmitNothing is that of code that is not optimized.
	OmitNothing Omission = iota
	// OmitMemory is gcc's: what is in memory that an argument leads to.
	OmitMemory
	// OmitArguments is LLVM's, and that of compilers that are not known: also arguments, and parts of them.
	OmitArguments
)

// NotKnown is a number of arguments that is not known.
const NotKnown = -1

// A Parameter is a parameter of a function.
type Parameter struct {
	// Name is "this" of the object of a method, and "" where it has none.
	Name string
	// Type is nil where it is not known.
	Type *Type
	// Unused says that the function may not use it, so that its callers need not pass it.
	Unused bool
	// Untold says that Unused is all that debug information says of where it is, so that it is passed if the code reads it.
	Untold bool
	// Entry is where debug information has it when the function is entered. It is read for the machine "x86", out of PDBs, and
	// of functions for x86-64 that gcc made of others.
	Entry Entry
	// Registers are DWARF's numbers of those that debug information has its parts in when the function is entered, in order; a
	// number below 0 says that it is somewhere else. They are read of functions that are Free, for x86-64 and arm64.
	Registers []int
	// Register is the one that a declaration itself says it is passed in, "" for where the calling convention has it.
	Register string
	// Length is the name of the parameter that counts the characters it points to, "" where a 0 ends them.
	Length string
}

// An Entry is a place of an argument when a function is entered.
type Entry struct {
	Kind EntryKind
	// Number is DWARF's number of the register, or how many bytes behind the return address the argument lies; InFrame, where there
	// it is put to, which is negative.
	Number int
	// Pointed says that the address of the argument is there, not the argument itself.
	Pointed bool
}

// An EntryKind is a kind of place.
type EntryKind uint8

const (
	NotTold EntryKind = iota
	InRegister
	OnStack
	// InFrame is a place in the function's frame, into which the function's first instructions put the
	// argument.
	InFrame
)

// A Member is a part of a struct.
type Member struct {
	// Name is [Base] for a base class, [Class] for the pointer to the virtual methods, and
	// empty for an anonymous struct or union.
	Name string
	Type *Type
	// Offset is in bytes from the beginning of the struct.
	Offset int
	// Bit is the first bit of a bit field in the little-endian integer at Offset,
	// Bits how many it has; 0 if it is none.
	Bit, Bits int
}

// Base is the name of members that are base classes. Class is the name of the pointer to the table of virtual
// methods, which tells the class that an object really has.
const (
	Base  = "<base>"
	Class = "class"
)

// An Enumerator is a name of an enumeration's value.
type Enumerator struct {
	Value int64
	Name  string
}
