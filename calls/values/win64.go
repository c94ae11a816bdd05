package values

import (
	"strconv"

	"logparser/symbols/types"
)

// This file finds the places of values by the calling convention of Windows for x86-64. The position of an argument decides its
// register. From the fifth one on, arguments take eight bytes each on the stack, after the room that the caller reserves for
// the first four. A value whose size is not 1, 2, 4 or 8 bytes is passed by its address.

var (
	win64Integers = [...]string{"rcx", "rdx", "r8", "r9"}
	win64Vectors  = [...]string{"xmm0", "xmm1", "xmm2", "xmm3"}
)

// win64Arguments are the registers of arguments in order, by their DWARF numbers.
var win64Arguments = [2][]int{dwarfIntegers[:], {17, 18, 19, 20}}

// dwarfIntegers and dwarfVectors are the DWARF numbers of these registers. Those of vector registers are consecutive, from
// dwarfVectors on.
var dwarfIntegers = [...]int{2, 1, 8, 9}

const dwarfVectors = 17

// inRegister reports whether values of a type are passed and returned directly, not by their address. That is not known for
// some classes, because C++ may require an address for a class of any size.
func inRegister(t *types.Type) (is, known bool) {
	if t != nil && t.Indirect {
		return false, true
	}
	if t == nil || t.Size <= 0 {
		return false, false
	}
	switch t.Size {
	case 1, 2, 4, 8:
	default:
		return false, true
	}
	return !t.Doubtful, !t.Doubtful
}

// A win64 assigns places to the arguments of one call, in order.
type win64 struct {
	position int
	// lost says that the positions of arguments are not known.
	lost bool
	// parameters are the parameters that have no place yet. free says that the compiler may have changed the convention of this
	// function, so that only places that debug information confirms are certain. behind says that the address of the result is
	// passed after the object, not before it.
	parameters   []types.Parameter
	free, behind bool
	entryPlaces
}

func (s *win64) begin(f *types.Function) {
	s.entryPlaces = entryPlacesOf(f, win64Arguments, win64Registers)
	s.lost, s.free, s.parameters = f.Altered || f.Leading < 0, f.Free, f.Parameters
	s.position = max(f.Leading, 0)
	if f.Result == nil {
		return
	}
	byAddress, known := hiddenWin64(f.Result)
	s.lost = s.lost || !known
	if !byAddress {
		return
	}
	s.behind = f.ObjectFirst && len(f.Parameters) > 0 && f.Parameters[0].Name == "this"
	if !s.behind {
		s.position++
	}
}

// hiddenWin64 reports whether the caller passes an address to which the function writes a result of a type.
func hiddenWin64(t *types.Type) (is, known bool) {
	switch {
	case t.Kind == types.Opaque && t.Size != 1 && t.Size != 2 && t.Size != 4 && t.Size != 8:
		return false, false // a vector may be returned in a register
	case t.Size == 16 && (t.Kind == types.Int || t.Kind == types.Uint):
		return false, true // the result is in xmm0
	}
	direct, known := inRegister(t)
	return known && !direct, known
}

func (s *win64) place(t *types.Type) (place string, pointed bool) {
	if place, pointed, altered := s.next(t); altered {
		return place, pointed
	}
	i := s.position
	s.position++
	if s.behind {
		s.behind = false
		s.position++
	}
	direct, known := inRegister(t)
	var entry types.Entry
	if len(s.parameters) > 0 {
		entry, s.parameters = s.parameters[0].Entry, s.parameters[1:]
	}
	if !s.lost && known && (entry.Kind == types.InRegister || s.free) {
		is := types.Entry{Kind: types.InRegister, Pointed: !direct}
		switch {
		case i >= len(win64Integers):
			is.Kind = types.OnStack
		case direct && t.Kind == types.Float:
			is.Number = dwarfVectors + i
		default:
			is.Number = dwarfIntegers[i]
		}
		if entry != is {
			return "", false
		}
	}
	switch {
	case s.lost || !known || t.Kind == types.Opaque:
		return "", false
	case i >= len(win64Integers):
		return "stack+" + strconv.Itoa(8*i), !direct
	case direct && t.Kind == types.Float:
		return win64Vectors[i], false
	}
	return win64Integers[i], !direct
}

func (s *win64) result(f *types.Function) (place string, pointed bool) {
	t := f.Result
	byAddress, known := hiddenWin64(t)
	switch {
	case !known || t.Kind == types.Opaque:
		return "", false
	case byAddress:
		return "rax", true
	case t.Size == 16:
		place = "xmm0+xmm0h"
	case t.Kind == types.Float:
		place = "xmm0"
	default:
		place = "rax"
	}
	if (f.Altered || f.Free) && !returned(f, place) {
		return "", false
	}
	return place, false
}
