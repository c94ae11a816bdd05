package values

import (
	"strconv"
	"strings"

	"logparser/symbols/types"
)

// This file finds the places of values by the procedure call standard for the Arm 64-bit architecture (AAPCS64, section 6.8.2,
// in the variant of Linux). The first letter of a vector register's name tells how many of its bytes hold the value: s0 stands
// for the lowest 4 bytes of register 0, d0 for the lowest 8, q0 for all 16.

// argumentRegisters64 is how many registers of each kind take arguments. resultVectors64 is how many vector registers take
// results.
const (
	argumentRegisters64 = 8
	resultVectors64     = 4
)

// isShortVector reports whether a type is a vector that fits into one register.
func isShortVector(t *types.Type) bool {
	return t.Kind == types.Opaque && (t.Size == 8 || t.Size == 16) && strings.HasSuffix(t.Name, " vector")
}

// inVector reports whether values of a type are passed in a vector register.
func inVector(t *types.Type) bool {
	return t.Kind == types.Float && (t.Size == 4 || t.Size == 8 || t.Size == 16) || isShortVector(t)
}

// vectorNames has the first letter of a vector register's name by the number of its bytes that are used.
var vectorNames = map[int]string{4: "s", 8: "d", 16: "q"}

// homogeneous returns the type and the number of a struct's elements, if the struct has one to four numbers or vectors of one
// kind and nothing else. The standard passes each element of such a struct in a vector register of its own.
func homogeneous(t *types.Type) (of *types.Type, count int) {
	if t.Kind != types.Struct || t.Size <= 0 || t.Size > resultVectors64*16 {
		return nil, 0
	}
	at := make(map[int]bool)
	left := 1000
	if of, ok := sameParts(t, 0, nil, at, &left); ok && of != nil && len(at) <= resultVectors64 && len(at)*of.Size == t.Size {
		return of, len(at)
	}
	return nil, 0
}

// sameParts adds the offsets of a type's numbers and vectors to at, and returns their common type. of is the type of those
// before, or nil. ok is false if one of them has another type, or if t contains anything else.
func sameParts(t *types.Type, offset int, of *types.Type, at map[int]bool, left *int) (_ *types.Type, ok bool) {
	if *left--; *left < 0 || t == nil {
		return nil, false
	}
	switch {
	case inVector(t):
		if of != nil && (of.Size != t.Size || of.Kind != t.Kind) || offset%t.Size != 0 {
			return nil, false
		}
		at[offset] = true
		return t, true
	case t.Kind == types.Array && t.Target != nil && t.Target.Size > 0 && t.Count > 0 && t.Count <= resultVectors64:
		for i := range t.Count {
			if of, ok = sameParts(t.Target, offset+i*t.Target.Size, of, at, left); !ok {
				return nil, false
			}
		}
		return of, true
	case t.Kind == types.Struct && (len(t.Members) > 0 || isEmpty(t)):
		for i := range t.Members {
			m := &t.Members[i]
			if m.Bits > 0 {
				return nil, false
			}
			if of, ok = sameParts(m.Type, offset+m.Offset, of, at, left); !ok {
				return nil, false
			}
		}
		return of, true
	}
	return nil, false
}

// naturalAlignment returns the alignment in bytes that the parts of a type need. Like the standard, it ignores an alignas of
// the type itself.
func naturalAlignment(t *types.Type) int {
	bare := *t
	bare.Align = 0
	left := 1000
	align := alignmentOf(&bare, &left)
	if t.Kind == types.Float {
		align = t.Size
	}
	for i := range t.Members {
		// In a packed struct, a part or the size is not a multiple of the alignment.
		if m := &t.Members[i]; align > 8 && (m.Offset%align != 0 && m.Type != nil && alignmentOf(m.Type, &left) == align || t.Size%align != 0) {
			return 8
		}
	}
	return max(min(align, 16), 8)
}

// hasKnownParts reports whether the type of each part of a struct is known. Where only the size of a part is known, the part may be a
// number that needs a vector register.
func hasKnownParts(t *types.Type) bool {
	left := 1000
	return hasKnownPartsWithin(t, &left)
}

func hasKnownPartsWithin(t *types.Type, left *int) bool {
	if *left--; *left < 0 || t == nil {
		return false
	}
	switch t.Kind {
	case types.Opaque:
		return isShortVector(t)
	case types.Float:
		return inVector(t)
	case types.Array:
		return t.Count == 0 || hasKnownPartsWithin(t.Target, left)
	case types.Struct:
		for i := range t.Members {
			if !hasKnownPartsWithin(t.Members[i].Type, left) {
				return false
			}
		}
		return len(t.Members) > 0 || t.Size == 1
	}
	return true
}

// A passing is a way in which values are passed.
type passing uint8

const (
	unknownPassing passing = iota
	asInteger
	asVector
	asVectors // each element of a homogeneous struct in a register of its own
	byAddress
)

// passing64 returns how values of a type are passed, as arguments and as results.
func passing64(t *types.Type) passing {
	if t == nil {
		return unknownPassing
	}
	if t.Indirect {
		return byAddress
	}
	switch t.Kind {
	case types.Int, types.Uint, types.Bool, types.Char, types.Enum, types.Flags, types.Pointer, types.Reference:
		if t.Size <= 0 || t.Size > 16 {
			return unknownPassing
		}
		return asInteger
	case types.Text:
		switch {
		case !isString(t):
			return asInteger
		case t.Size > 16 && !t.Doubtful:
			return byAddress
		}
		return unknownPassing
	case types.Struct:
		if of, _ := homogeneous(t); of != nil {
			if t.Doubtful {
				return unknownPassing
			}
			return asVectors
		}
		switch {
		case t.Size <= 0 || t.Size <= 16*resultVectors64 && !hasKnownParts(t):
			return unknownPassing
		case t.Size > 16:
			return byAddress
		case t.Doubtful:
			return unknownPassing
		}
		return asInteger
	}
	if inVector(t) {
		return asVector
	}
	return unknownPassing
}

// An aapcs64 assigns places to the arguments of one call, in order.
type aapcs64 struct {
	integers, vectors int
	stackPlaces
	// lost says that the place of an argument was not known. Then the places of all later arguments are not known either.
	lost bool
}

// begin need not look at the result, because its address has a register of its own.
func (s *aapcs64) begin(f *types.Function) { s.lost = f.Altered }

func (s *aapcs64) place(t *types.Type) (place string, pointed bool) {
	if !s.lost && isNothing(t) {
		return "", false
	}
	how := passing64(t)
	if s.lost || how == unknownPassing {
		s.lost = true
		return "", false
	}
	switch how {
	case byAddress:
		return s.integer(8, 8), true
	case asVector:
		return s.vector(t, 1, t.Size), false
	case asVectors:
		of, count := homogeneous(t)
		return s.vector(of, count, t.Size), false
	}
	return s.integer(bytes64(t), naturalAlignment(t)), false
}

// integer places size bytes in the next integer registers. If too few registers are left, it places them on the stack.
func (s *aapcs64) integer(size, align int) string {
	words := (size + 7) / 8
	if align > 8 {
		s.integers += s.integers % 2
	}
	if s.integers+words > argumentRegisters64 {
		s.integers = argumentRegisters64
		return s.onStack(size, align)
	}
	var parts []string
	for range words {
		parts = append(parts, "x"+strconv.Itoa(s.integers))
		s.integers++
	}
	return strings.Join(parts, "+")
}

// vector places count numbers or vectors in the next vector registers. If too few registers are left, it places them on the
// stack.
func (s *aapcs64) vector(of *types.Type, count, size int) string {
	if s.vectors+count > argumentRegisters64 {
		s.vectors = argumentRegisters64
		return s.onStack(size, max(8, of.Size))
	}
	place := vectors64(of, s.vectors, count)
	s.vectors += count
	return place
}

// vectors64 returns the names of count vector registers, the first of which has the number first.
func vectors64(of *types.Type, first, count int) string {
	parts := make([]string, count)
	for i := range parts {
		parts[i] = vectorNames[of.Size] + strconv.Itoa(first+i)
	}
	return strings.Join(parts, "+")
}

// number returns DWARF's number of a register.
func (s *aapcs64) number(register string) int {
	const vectors = 64
	n, err := strconv.Atoi(register[min(len(register), 1):])
	switch {
	case err != nil:
		return notARegister
	case register[0] == 'x':
		return n
	}
	return vectors + n
}

// result returns "@x8" where the caller passes the address of the result in x8. The function may have changed x8 when it
// returns, so the recorder keeps the address when the function is entered.
func (s *aapcs64) result(f *types.Function) (place string, pointed bool) {
	t := f.Result
	if f.Altered || t == nil || isEmpty(t) {
		return "", false
	}
	switch passing64(t) {
	case asInteger:
		if size := bytes64(t); size > 8 {
			return "x0+x1", false
		}
		return "x0", false
	case asVector:
		return vectors64(t, 0, 1), false
	case asVectors:
		of, count := homogeneous(t)
		return vectors64(of, 0, count), false
	case byAddress:
		return "@x8", true
	}
	return "", false
}

// bytes64 returns how many bytes a value takes in integer registers. Texts have no size of their own: a text is passed as a
// pointer, and a view as a pointer and a length.
func bytes64(t *types.Type) int {
	switch {
	case t.Kind != types.Text:
		return t.Size
	case isView(t):
		return 16
	}
	return 8
}
