package values

import (
	"slices"
	"strconv"

	"logparser/symbols/types"
)

// This file finds the places of the arguments of functions for x86-64 that the compiler made of others, with parameters of their
// own. The calling convention alone does not tell them, since it is not known which arguments are left out. Debug information
// tells some of them.

// A told gives the arguments of such a function their places, one after the other.
type told struct {
	parameters []types.Parameter
	// places are those of the parameters, "" where none is told.
	places []string
	// altered says that it is such a function; known says that its places can be believed.
	altered, known bool
}

// toldOf returns what debug information tells of a function. registers are those of integers and those of vectors that a
// convention has, in their order, by their numbers in DWARF, and names what they are called in plans. An argument that is left out lets those behind it move up, but not change their order.
// If they did, something else would be told than what the function gets.
func toldOf(f *types.Function, registers [2][]int, names [2][]string) told {
	t := told{parameters: f.Parameters, places: make([]string, len(f.Parameters)), altered: f.Altered, known: true}
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
			if n >= 0 {
				t.places[i] = names[kind][n]
			}
		case types.OnStack:
			t.known = t.known && at.Number > stack
			stack = at.Number
			t.places[i] = "stack+" + strconv.Itoa(at.Number)
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
	place = s.places[0]
	s.parameters, s.places = s.parameters[1:], s.places[1:]
	if !s.known || t == nil || t.Doubtful || t.Indirect != at.Pointed || t.Size <= 0 && t.Kind != types.Text {
		return "", false, true
	}
	switch at.Kind {
	case types.OnStack:
		if t.Kind != types.Opaque {
			return place, at.Pointed, true
		}
	case types.InRegister:
		const word = 8
		vector := at.Number >= dwarfVectors
		switch {
		case at.Pointed && !vector:
			return place, true, true
		case t.Size > word || isString(t) || isView(t) || t.Kind == types.Opaque || vector != (t.Kind == types.Float):
			return "", false, true // it takes more than the register, or a part of it is somewhere else
		}
		return place, false, true
	}
	return "", false, true
}
