package values

import (
	"strconv"

	"logparser/symbols/types"
)

// This file finds the places of values by the System V ABI of the i386. That ABI puts arguments on the stack, but a function may
// take some in registers: if its source says so (regparm, fastcall, thiscall), or if the compiler chose to, which it may for
// functions that only their own file calls. Only debug information tells which. So an argument has the place that debug
// information gives for the function's entry, and no known place otherwise.

// cdeclRegisters are the registers that can hold arguments, by their numbers in DWARF.
var cdeclRegisters = map[int]string{0: "eax", 1: "ecx", 2: "edx"}

// A cdecl gives the arguments of a call their places, one after the other.
type cdecl struct {
	parameters []types.Parameter
	// own says that the compiler may have chosen other places for this function than the ABI's.
	own bool
}

func (s *cdecl) begin(f *types.Function) {
	s.parameters = f.Parameters
	s.own = f.Local
	for i := range f.Parameters {
		s.own = s.own || f.Parameters[i].Entry.Kind == types.InRegister
	}
}

func (s *cdecl) place(t *types.Type) (place string, pointed bool) {
	if len(s.parameters) == 0 {
		return "", false
	}
	p := &s.parameters[0]
	s.parameters = s.parameters[1:]
	at := &p.Entry
	if t == nil || t.Size <= 0 && t.Kind != types.Text || t.Indirect != at.Pointed && !t.Doubtful {
		return "", false
	}
	switch at.Kind {
	case types.OnStack:
		return "stack+" + strconv.Itoa(at.Number), at.Pointed
	case types.InRegister:
		if t.Indirect == at.Pointed && (t.Size <= 4 || at.Pointed) {
			return cdeclRegisters[at.Number], at.Pointed
		}
	}
	return "", false
}

func (s *cdecl) result(f *types.Function) (place string, pointed bool) {
	t := f.Result
	if f.Altered || t == nil {
		return "", false
	}
	switch t.Kind {
	case types.Int, types.Uint, types.Bool, types.Char, types.Enum, types.Flags, types.Pointer, types.Reference:
		switch {
		case t.Size > 8:
		case t.Size > 4:
			return "eax+edx", false
		case t.Size > 0:
			return "eax", false
		}
	case types.Float:
		// A function that only its own file calls may return a number of 4 or 8 bytes in a vector register instead.
		if !s.own || t.Size > 8 {
			return "st0", false
		}
	case types.Text:
		if isString(t) || isView(t) {
			return "eax", true
		}
		return "eax", false
	case types.Struct:
		// Pointers to methods and complex numbers have members too, but may be returned in registers.
		if t.Name != types.MethodPointer && !t.Complex {
			return "eax", true
		}
	}
	return "", false
}
