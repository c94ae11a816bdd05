// Package values handles the arguments and results of calls. A plan says which values the recorder takes of which function, and
// what their bytes mean. A [Maker] makes plans from debug information or prototypes; a [Decoder] decodes the values of a log by
// the plan that the log contains.
//
// A plan is stored as text, which docs/formats.md describes. [Write] writes it and [Read] reads it.
package values

import (
	"slices"
	"sort"
	"strings"

	"logparser/modules"
	"logparser/rows"
	"logparser/symbols/types"
)

// A Plan says which values are taken at the calls of which functions.
type Plan struct {
	Machine Machine
	ABI     ABI
	Modules []Module
}

// A Machine is the kind of processor whose registers places name.
type Machine string

// An ABI is a calling convention. It defines the meaning of "stack+N" in a place.
type ABI string

// Machines and calling conventions that plans are made for.
const (
	X8664 Machine = "x86-64"
	X86   Machine = "x86"
	ARM64 Machine = "arm64"

	SysV    ABI = "sysv"
	Win64   ABI = "win64"
	Win32   ABI = "win32"
	Cdecl   ABI = "x86"
	AAPCS64 ABI = "aapcs64"
)

// A Module is the part of a plan for one executable or library.
type Module struct {
	// Name is the module's base name.
	Name string
	// Identity identifies the build that the plan was made from. Values of another build are neither taken nor decoded.
	Identity modules.Identity
	// Signatures says that the types are those in the functions' mangled names, since there is no debug information. So are the
	// places: what the calling convention says of these types.
	Signatures bool
	// Functions are in ascending order of RVA and do not overlap.
	Functions []Function
}

// A Function says which values are taken at the calls of one function.
type Function struct {
	// RVA is relative to the module. Size is in bytes.
	RVA, Size uint64
	Name      string
	// Enter and Leave are the values taken when the function is entered and when it returns, in the order of their bytes in
	// records.
	Enter, Leave []Value
	// Hooks are the instructions in the function's code at which values are taken, if it calls the hooks of
	// -finstrument-functions. Without hooks, values are taken at the function's first instruction and at its return.
	Hooks []Hook
}

// A Hook is an instruction in a function's code that calls a hook.
type Hook struct {
	// RVA is the address that the call of the hook returns to.
	RVA uint64
	// Leaves says that the hook takes the values of Function.Leave. Otherwise it takes those of Function.Enter.
	Leaves bool
	// Places are the places of the values at this hook, in the order of the values. They replace Value.Place.
	Places []string
	// Keeps are the places of pointers that a hook at the function's entry keeps for the hooks at its returns. In these, a
	// place "@N" stands for what pointer N of Keeps, counted from 0, leads to when the function returns.
	Keeps []string
}

// values returns the values that a hook takes, with their places there.
func (f *Function) values(h *Hook) []Value {
	list := f.Enter
	if h.Leaves {
		list = f.Leave
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].Place = h.Places[i]
	}
	return list
}

// Function returns the function that contains an RVA, or nil if the plan has none.
func (m *Module) Function(rva uint64) *Function {
	i := sort.Search(len(m.Functions), func(i int) bool { return m.Functions[i].RVA > rva }) - 1
	if i < 0 || rva-m.Functions[i].RVA >= m.Functions[i].Size {
		return nil
	}
	return &m.Functions[i]
}

// A Value is one argument or result.
type Value struct {
	// Name is the parameter's name, or [Result] for the result. A suffix ".member" names a part.
	Name string
	// Place is where the value is: registers and stack places joined by "+", the lowest bytes of the value first. It is "-" if
	// Op is Unknown. After "@", it is a place at the function's entry: the recorder keeps the pointer that is there, and
	// follows it when the function returns.
	Place string
	Op    Op
	// Type is the type of the bytes that are taken.
	Type *types.Type
}

// Number is the type of words that are taken although their real type is not known.
var Number = &types.Type{Kind: types.Pointer, Size: 8, Name: "number"}

// Result is the name of a function's result.
const Result = rows.Result

// atLeave is the end of the names of outs. An out is what an argument points to, read when the call returns.
const atLeave = "@leave"

// isOut reports whether a name, or the first name of a path, is that of an out.
func isOut(name string) bool { return strings.Contains(name, atLeave) }

// maxKept is how many pointers the recorder keeps for the leave of a call.
const maxKept = 7

// noName is the name in plans of a parameter that has no name.
const noName = "?"

// An OpKind is a way of taking a value.
type OpKind uint8

const (
	// Unknown takes nothing. The plan only says that the value exists.
	Unknown OpKind = iota
	// Direct takes the bytes that are in the place.
	Direct
	// Text takes the characters that a pointer points to, up to the first 0.
	Text
	// Memory takes bytes that a pointer points to.
	Memory
	// String takes the characters of the std::string that a pointer points to.
	String
	// View takes the characters of a std::string_view.
	View
)

// An Op is how a value is taken.
type Op struct {
	Kind OpKind
	// Size is the number of bytes of Direct and Memory.
	Size int
	// Offset is added to the pointer in the place, in bytes. Only Memory uses it, and the operations of texts if At is set.
	Offset int
	// At says that the place has the address of memory in which, at Offset, the pointer to the characters, the string or the
	// view lies. Otherwise the place itself has that.
	At bool
	// Max is how many bytes are taken at most by Text, String and View.
	Max int
	// Library is the C++ library whose layout String and View use.
	Library types.Library
}

// Bounds of plans, and of the bytes that a value takes.
const (
	MaxPlan   = 64 << 20 // bytes
	MaxValues = 255      // of a function at its entry, and again at its return
	MaxDirect = 64       // bytes
	MaxMemory = 256      // bytes
	MaxText   = 1024     // bytes

	maxFunctions = 1_000_000
	maxTypes     = 1_000_000
	maxMembers   = 1_000_000 // members and enumerators of all types
	maxSize      = 1 << 30   // bytes of a type
)
