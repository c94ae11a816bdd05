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
	// Pointer and Reference have a Target, nil where it is void or not told.
	Pointer
	Reference
	// Enum has one of its Enumerators, Flags some of them, joined by or.
	Enum
	Flags
	// Struct is a class, struct or union with Members.
	Struct
	// Array has Count elements of type Target.
	Array
	// Text is what reads as text and has a layout of its own: char const*, std::string,
	// std::string_view.
	Text
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
}

// A Member is a part of a struct.
type Member struct {
	// Name is [Base] for a base class and empty for an anonymous struct or union.
	Name string
	Type *Type
	// Offset is in bytes from the beginning of the struct.
	Offset int
	// Bit is the first bit of a bit field in the little-endian integer at Offset,
	// Bits how many it has; 0 if it is none.
	Bit, Bits int
}

// Base is the name of members that are base classes.
const Base = "<base>"

// An Enumerator is a name of an enumeration's value.
type Enumerator struct {
	Value int64
	Name  string
}
