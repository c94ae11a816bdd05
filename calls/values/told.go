package values

import (
	"slices"
	"strconv"

	"logparser/symbols/types"
)

// This file finds the places of the arguments of functions for x86-64 that the compiler made of others, with parameters of their
// own. The calling convention alone does not tell them, since it is not known which arguments are left out. Debug information
// tells some of them.

// placeNames are the names of registers in plans, by their numbers in DWARF.
var placeNames = map[int]string{0: "rax", 1: "rdx", 2: "rcx", 4: "rsi", 5: "rdi", 8: "r8", 9: "r9",
	17: "xmm0", 18: "xmm1", 19: "xmm2", 20: "xmm3", 21: "xmm4", 22: "xmm5", 23: "xmm6", 24: "xmm7"}

// A told gives the arguments of such a function their places, one after the other.
type told struct {
	parameters []types.Parameter
	// altered says that it is such a function; known says that its places can be believed.
	altered, known bool
}

// toldOf returns what debug information tells of a function. registers are those of integers and those of vectors that a
// convention has, in their order. An argument that is left out lets those behind it move up, but not change their order.
// If they did, something else would be told than what the function gets.
func toldOf(f *types.Function, registers [2][]int) told {
	t := told{parameters: f.Parameters, altered: f.Altered, known: true}
	last := [2]int{-1, -1}
	stack := -1
	for i := range f.Parameters {
		switch at := f.Parameters[i].Entry; at.Kind {
		case types.InRegister:
			kind := 0
			if at.Number >= dwarfVectors {
				kind = 1
			}
			n := slices.Index(registers[kind], at.Number)
			t.known = t.known && n > last[kind]
			last[kind] = n
		case types.OnStack:
			t.known = t.known && at.Number > stack
			stack = at.Number
		}
	}
	return t
}

// next returns the place of the next argument, which has a type, "" if that is not known. is says whether the function is one of
// which only that is known.
func (s *told) next(t *types.Type) (place string, pointed, is bool) {
	if !s.altered {
		return "", false, false
	}
	if len(s.parameters) == 0 {
		return "", false, true
	}
	at := s.parameters[0].Entry
	s.parameters = s.parameters[1:]
	if !s.known || t == nil || t.Doubtful || t.Indirect != at.Pointed || t.Size <= 0 && t.Kind != types.Text {
		return "", false, true
	}
	switch at.Kind {
	case types.OnStack:
		if t.Kind != types.Opaque {
			return "stack+" + strconv.Itoa(at.Number), at.Pointed, true
		}
	case types.InRegister:
		const word = 8
		vector := at.Number >= dwarfVectors
		switch {
		case at.Pointed && !vector:
			return placeNames[at.Number], true, true
		case t.Size > word || isString(t) || isView(t) || t.Kind == types.Opaque || vector != (t.Kind == types.Float):
			return "", false, true // it takes more than the register, or a part of it is somewhere else
		}
		return placeNames[at.Number], false, true
	}
	return "", false, true
}
