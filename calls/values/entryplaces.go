package values

import (
	"slices"
	"strconv"
	"strings"

	"logparser/symbols/types"
)

// A compiler may replace a function by a copy with other parameters, for example without one that is not used (GCC's .isra and
// .constprop copies). The calling convention alone does not give the places of the remaining arguments, because it is not known
// which ones were left out. Debug information gives some of them. This file uses it, on x86-64.

// entryPlaces assigns places to the arguments of one call of such a function, in order.
type entryPlaces struct {
	parameters []types.Parameter
	// places are the places of the parameters, "" if debug information does not give one.
	places []string
	// altered says that the function is such a copy. known says that its places are reliable.
	altered, known bool
}

// entryPlacesOf returns the places that debug information gives for a function. registers are the DWARF numbers of the registers for
// integers and of those for vectors, in the order of the calling convention, and names are their names in plans. If an argument
// is left out, later ones move up, but their order stays the same. Otherwise debug information describes something else than
// the function's arguments.
func entryPlacesOf(f *types.Function, registers [2][]int, names [2][]string) entryPlaces {
	t := entryPlaces{parameters: f.Parameters, places: make([]string, len(f.Parameters)), altered: f.Altered, known: true}
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

// next returns the place of the next argument, or "" if it is not known. is says whether the function is such a copy; if not,
// the calling convention gives the places.
func (s *entryPlaces) next(t *types.Type) (place string, pointed, is bool) {
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
			return "", false, true // it does not fit the register: a part of it may be elsewhere
		}
		return place, false, true
	}
	return "", false, true
}

// confirm takes away the places of parameters that debug information does not confirm, in a function of which the compiler may have left
// out parameters without saying so. number returns DWARF's number of a register.
//
// If one is left out, others move up. A parameter is where the convention has it only if debug information has it there, too, and all
// before it are where they should be. If one of them is elsewhere, variables have already taken other values at the first instruction: then
// nothing is certain.
func confirm(parameters []types.Parameter, places []string, number func(register string) int) {
	certain := true
	for i := range parameters {
		var want []int
		for part := range strings.SplitSeq(places[i], "+") {
			want = append(want, number(part))
		}
		switch has := parameters[i].Registers; {
		case has == nil:
			certain = false
		case !slices.Equal(has, want):
			clear(places)
			return
		}
		if !certain {
			places[i] = ""
		}
	}
}
