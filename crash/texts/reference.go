package texts

import "logparser/modules"

// A Kind says what an address in a text stands for.
type Kind uint8

const (
	// Exact: the address of the instruction that is meant.
	Exact Kind = iota
	// Return: the address that a call returns to; the call ends a byte before.
	Return
	// Called: the tool has taken 1 off the return address already, so that it lies in the call
	// instruction.
	Called
)

// String returns the kind as files for programs have it.
func (r Kind) String() string { return [...]string{"exact", "return", "called"}[r] }

// Lookup returns the address to look up for an address of this kind: of a return address the byte before.
func (r Kind) Lookup(address uint64) uint64 {
	if r == Return && address > 0 {
		return address - 1
	}
	return address
}

// A Space says what an address counts from.
type Space uint8

const (
	// Process: an address of the process, for which no mapping is known.
	Process Space = iota
	// Linked: an address as the module was linked, or relative to its lowest
	// address. Of a module that is linked to 0 both are the same.
	Linked
	// File: an offset in the module's file.
	File
	// Code: an offset from the beginning of the mapping that has the module's code.
	Code
	// Section: an offset in the section whose number is the reference's.
	Section
	// Function: an offset from a function's first byte.
	Function
)

// A Reference is an address in a line.
type Reference struct {
	// Start and End are where it stands in the line, in bytes.
	Start, End int
	// Address is the number as it stands there.
	Address uint64
	Kind    Kind

	// Module is the path or the name of the module as the text has it, "" where it
	// says none. It comes from another machine.
	Module   string
	Identity modules.Identity
	// Offset is the address within Space.
	Offset uint64
	Space  Space
	// SectionNumber counts from 1; Name is the function that Offset counts from.
	SectionNumber int
	Name          string
}

// A Mapping is a part of a module in the memory of a process.
type Mapping struct {
	// Start and End (not included) are its addresses.
	Start, End uint64
	// Offset is what lies at Start, in Space: [File] or [Linked].
	Offset uint64
	Space  Space

	Module   string
	Identity modules.Identity
}
