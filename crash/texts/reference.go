package texts

import "logparser/modules"

// A Kind is the meaning of an address in a text.
type Kind uint8

const (
	// Exact is the address of an instruction.
	Exact Kind = iota
	// Return is a return address. The call instruction ends one byte before it.
	Return
	// Called is a return address from which the tool has subtracted 1, so that it lies within the call instruction.
	Called
)

// String returns the name of the kind in files for programs.
func (r Kind) String() string { return [...]string{"exact", "return", "called"}[r] }

// Lookup returns the address to look up in symbols for an address of this kind. For a return address it is the byte before.
func (r Kind) Lookup(address uint64) uint64 {
	if r == Return && address > 0 {
		return address - 1
	}
	return address
}

// A Space tells what an address is relative to.
type Space uint8

const (
	// Process is an address of the process for which no mapping is known.
	Process Space = iota
	// Linked is an address as the module was linked, or one relative to the lowest address of the module. For a module that is
	// linked to 0, both are the same.
	Linked
	// File is an offset in the module's file.
	File
	// Code is an offset from the beginning of the mapping that contains the module's code.
	Code
	// Section is an offset in the section with the number SectionNumber.
	Section
	// Function is an offset from the first byte of the function Name.
	Function
)

// A Reference is an address in a line of text.
type Reference struct {
	// Start and End delimit the address in the line, in bytes.
	Start, End int
	// Address is the number in the text.
	Address uint64
	Kind    Kind

	// Module is the path or name of the module in the text, or "" if there is none. It comes from another machine.
	Module   string
	Identity modules.Identity
	// Offset is the address relative to Space.
	Offset uint64
	Space  Space
	// SectionNumber counts from 1. Name is the function that Offset is relative to.
	SectionNumber int
	Name          string
	// Deleted says that the module's file was removed or replaced while the program ran: one of that name now is another.
	Deleted bool
}

// A Mapping is a part of a module that is mapped into a process.
type Mapping struct {
	// Start and End delimit the addresses; End is not included.
	Start, End uint64
	// Offset is the position of Start in Space, which is [File] or [Linked].
	Offset uint64
	Space  Space

	Module   string
	Identity modules.Identity
	Deleted  bool // as in Reference
}
