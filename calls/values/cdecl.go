package values

import (
	"strconv"

	"logparser/symbols/types"
)

// This file finds the places of values on x86, by the System V ABI for i386 and by the conventions of Windows. These put
// arguments on the stack. But a function may take some in registers: if its source says so (regparm, fastcall, thiscall, which
// methods have on Windows), or if the compiler chooses to, which it may for functions that are called only within their own
// file. Only debug information tells this. So an argument has the place that debug information gives for the function's entry,
// and no known place otherwise.

// cdeclRegisters are the registers that can hold arguments, by their DWARF numbers.
var cdeclRegisters = map[int]string{0: "eax", 1: "ecx", 2: "edx"}

// inECX is the place of the object's address in methods on Windows.
var inECX = types.Entry{Kind: types.InRegister, Number: 1}

// A cdecl assigns places to the arguments of one call, in order.
type cdecl struct {
	parameters []types.Parameter
	// own says that the compiler may have chosen other places for this function than the ABI's.
	own bool
	// windows says that the conventions of Windows apply: small classes are returned in registers, and methods may get the
	// object's address in ecx.
	windows bool
}

func (s *cdecl) begin(f *types.Function) {
	s.parameters = f.Parameters
	s.own = f.Local
	for i := range f.Parameters {
		p := &f.Parameters[i]
		method := s.windows && i == 0 && p.Name == "this" && p.Entry == inECX
		s.own = s.own || p.Entry.Kind == types.InRegister && !method
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
		// A function that is called only within its own file may return a number of 4 or 8 bytes in a vector register instead.
		if !s.own || t.Size > 8 {
			return "st0", false
		}
	case types.Text:
		switch {
		case s.windows && isView(t) && t.Size == 8 && !t.Indirect && !t.Doubtful:
			return "eax+edx", false
		case s.windows && isView(t):
			return "", false
		case isString(t) || isView(t):
			return "eax", true
		}
		return "eax", false
	case types.Struct:
		// Pointers to methods and complex numbers have members too, but may be returned in registers.
		switch {
		case t.Name == types.MethodPointer || t.Complex:
		case s.windows:
			return smallWin32(t)
		default:
			return "eax", true
		}
	}
	return "", false
}

// smallWin32 returns the place of a class that a function for x86 on Windows returns.
func smallWin32(t *types.Type) (place string, pointed bool) {
	switch {
	case t.Indirect && !t.Doubtful:
		return "eax", true
	case t.Doubtful || !plainWin32(t, t.Size, 0):
		return "", false
	}
	switch t.Size {
	case 1, 2, 4:
		return "eax", false
	case 8:
		return "eax+edx", false
	}
	return "eax", true
}

// plainWin32 reports whether a class of size bytes is certainly returned in integer registers or in memory. It is not for a
// class whose only content is one floating-point number or vector: some compilers return that in a floating-point or vector
// register.
func plainWin32(t *types.Type, size, depth int) bool {
	switch {
	case t == nil || t.Size <= 0 || depth > maxTypeDepth:
		return false
	case t.Kind == types.Float || t.Kind == types.Opaque:
		return t.Size < size
	case t.Kind == types.Array:
		return plainWin32(t.Target, size, depth+1)
	}
	for i := range t.Members {
		if !plainWin32(t.Members[i].Type, size, depth+1) {
			return false
		}
	}
	return true
}
