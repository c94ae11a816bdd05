package values

import (
	"strconv"

	"logparser/symbols/types"
)

// Places by the System V ABI of the i386. There arguments lie on the stack, but functions may take some in registers:
// those that their source tells to (regparm, fastcall, thiscall), and all that nobody outside their file can call, at the compiler's
// will. Nothing but debug information says so. So each argument is where that has it when the function
// is entered, and not known where it does not say.

// cdeclRegisters are those that arguments come in, by their numbers in DWARF.
var cdeclRegisters = map[int]string{0: "eax", 1: "ecx", 2: "edx"}

// A cdecl gives the arguments of a call their places, one after the other.
type cdecl struct {
	parameters []types.Parameter
	// own says that the function may have a convention of its own.
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
		// Functions that nobody outside calls may return these in a vector register.
		if !s.own || t.Size > 8 {
			return "st0", false
		}
	case types.Text:
		if isString(t) || isView(t) {
			return "eax", true
		}
		return "eax", false
	case types.Struct:
		// Two other things have members, and may be returned in registers.
		if t.Name != types.MethodPointer && !t.Complex {
			return "eax", true
		}
	}
	return "", false
}
