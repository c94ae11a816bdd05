// Package values is about the arguments and results of calls: the plan, which says what
// the recorder takes of which function and what it means, and the values that a log has by it.
//
// A plan is a text; docs/formats.md describes it. [Read] and [Write] are its two ends.
package values

import (
	"slices"
	"sort"
	"strings"

	"logparser/modules"
	"logparser/rows"
	"logparser/symbols/types"
)

// A Plan says what is taken at the calls of functions.
type Plan struct {
	Machine Machine
	ABI     ABI
	Modules []Module
}

// A Machine is the kind of processor whose registers places name.
type Machine string

// An ABI is the calling convention by which stack places count.
type ABI string

// Machines and calling conventions that plans are made for.
const (
	X8664 Machine = "x86-64"
	X86   Machine = "x86"
	ARM64 Machine = "arm64"

	SysV    ABI = "sysv"
	Win64   ABI = "win64"
	Cdecl   ABI = "x86"
	AAPCS64 ABI = "aapcs64"
)

// A Module is the part of a plan for one executable or library.
type Module struct {
	// Name is the module's base name.
	Name string
	// Identity is that of the build that the plan was made from. Values of another one are not
	// taken, and not decoded.
	Identity modules.Identity
	// Functions are in ascending order of RVA and do not overlap.
	Functions []Function
}

// A Function is what is taken at its calls.
type Function struct {
	// RVA and Size are in bytes.
	RVA, Size uint64
	Name      string
	// Enter and Leave are the values taken when it is entered and when it returns, in the order
	// that records have them.
	Enter, Leave []Value
	// Hooks are the calls of -finstrument-functions' hooks where they are taken; without any it is
	// where the calling convention holds.
	Hooks []Hook
}

// A Hook is a call of a hook by a function's code.
type Hook struct {
	// RVA is where the call returns to.
	RVA uint64
	// Leaves says that Leave is taken there, else Enter.
	Leaves bool
	// Places are those of the values there, instead of Value.Place.
	Places []string
}

// values returns what a hook takes.
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

// Function returns the function that has an RVA, nil if the plan has none there.
func (m *Module) Function(rva uint64) *Function {
	i := sort.Search(len(m.Functions), func(i int) bool { return m.Functions[i].RVA > rva }) - 1
	if i < 0 || rva-m.Functions[i].RVA >= m.Functions[i].Size {
		return nil
	}
	return &m.Functions[i]
}

// A Value is one argument or result.
type Value struct {
	// Name is the parameter's. That of the result is [Result]; with a suffix ".member" it is a part.
	Name string
	// Place is where it is: registers and stack places joined by "+", the part of the lowest
	// address first; "-" if Op is Unknown. With "@" before it a place of the enter has the pointer to
	// what is read at the leave.
	Place string
	Op    Op
	// Type is the type of the bytes that are taken.
	Type *types.Type
}

// Number is the type of what is taken without knowing what it is.
var Number = &types.Type{Kind: types.Pointer, Size: 8, Name: "number"}

// Result is the name of a function's result.
const Result = rows.Result

// atLeave ends the names of values that lie where an argument points to, as they are when the call returns.
const atLeave = "@leave"

// isOut reports whether a name, or a path that begins with one, is of such a value.
func isOut(name string) bool { return strings.Contains(name, atLeave) }

// maxKept is how many pointers of a call the recorder keeps for its leave.
const maxKept = 7

// noName is the name of parameters that have none.
const noName = "?"

// An OpKind is a way of taking a value.
type OpKind uint8

const (
	// Unknown takes nothing: that the value exists is all that is known.
	Unknown OpKind = iota
	// Direct takes the bytes of the place.
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
	// Offset is what Memory adds to the pointer, in bytes; of texts, where At.
	Offset int
	// At says that the place has no text, but leads to memory that has it at Offset: a pointer to
	// characters, or a string or view.
	At bool
	// Max is the most bytes of Text, String and View.
	Max int
	// Library is whose layout String and View have.
	Library types.Library
}

// Bounds of plans, and of what a value takes.
const (
	MaxPlan   = 64 << 20 // bytes
	MaxValues = 255      // of a function, entering and leaving each
	MaxDirect = 64       // bytes
	MaxMemory = 256      // bytes
	MaxText   = 1024     // bytes

	maxFunctions = 1_000_000
	maxTypes     = 1_000_000
	maxMembers   = 1_000_000 // members and enumerators of all types
	maxSize      = 1 << 30   // bytes of a type
)
