package values

import (
	"slices"
	"strconv"
	"strings"

	"logparser/symbols/types"
)

// This file finds the places of values by the System V ABI of x86-64, version 1.0 (section 3.2.3).

// A class is the ABI's class of eight bytes of a value. It decides which kind of register they are passed in.
type class uint8

const (
	noClass class = iota
	integerClass
	sseClass
	memoryClass
	x87Class
	unknownClass // vectors, and types that debug information does not give
)

var (
	integerRegisters = [...]string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}
	resultRegisters  = [2][2]string{{"rax", "rdx"}, {"xmm0", "xmm1"}}
)

const vectorRegisters = 8

// sysvArguments are the registers of arguments in order, by their DWARF numbers: those for integers and those for vectors.
var sysvArguments = [2][]int{{5, 4, 1, 2, 8, 9}, {17, 18, 19, 20, 21, 22, 23, 24}}

// merge returns the class of eight bytes that contain parts of two classes.
func merge(a, b class) class {
	switch {
	case a == b || b == noClass:
		return a
	case a == noClass:
		return b
	case a == unknownClass || b == unknownClass:
		return unknownClass
	case a == memoryClass || b == memoryClass || a == x87Class || b == x87Class:
		return memoryClass
	case a == integerClass || b == integerClass:
		return integerClass
	}
	return sseClass
}

// classify returns the classes of the first and the second eight bytes of a type. The first one is memoryClass if the type is
// passed in memory, and unknownClass if the classes are not known.
func classify(t *types.Type) (list [2]class) {
	if t == nil || t.Size <= 0 || t.Doubtful {
		return [2]class{unknownClass}
	}
	if t.Kind == types.Float && t.Size > 8 {
		return [2]class{x87Class}
	}
	if t.Kind == types.Text && t.Name == types.StdStringView {
		return [2]class{integerClass, integerClass}
	}
	if t.Size > 16 {
		return [2]class{memoryClass}
	}
	left := 1000
	list = classesOf(t, 0, list, &left)
	switch {
	case list[0] == unknownClass || list[1] == unknownClass:
		return [2]class{unknownClass}
	case list[0] == memoryClass || list[1] == memoryClass:
		return [2]class{memoryClass}
	case list[0] == noClass && list[1] != noClass:
		list[0] = sseClass // the first eight bytes are padding, which compilers pass in a vector register
	}
	return list
}

// classesOf merges the classes of a part into list. The part has type t and lies at offset in the whole value. left bounds the
// number of parts.
func classesOf(t *types.Type, offset int, list [2]class, left *int) [2]class {
	if *left--; *left < 0 || t == nil || t.Size < 0 {
		return [2]class{unknownClass}
	}
	if offset+t.Size > 16 || offset < 0 {
		return [2]class{memoryClass}
	}
	set := func(c class) {
		for at := offset / 8; at <= (offset+max(t.Size, 1)-1)/8 && at < 2; at++ {
			list[at] = merge(list[at], c)
		}
	}
	aligned := func(size int) bool { return size == 0 || offset%min(size, 8) == 0 }
	switch t.Kind {
	case types.Int, types.Uint, types.Bool, types.Char, types.Enum, types.Flags, types.Pointer, types.Reference:
		set(integerClass)
		if !aligned(t.Size) {
			set(memoryClass)
		}
	case types.Text:
		set(integerClass) // a pointer
		if t.Name == types.StdString {
			set(memoryClass)
		}
	case types.Float:
		switch {
		case t.Size > 8 && offset == 0:
			set(x87Class) // becomes memoryClass if the struct has another part
		case t.Size > 8:
			set(memoryClass)
		case !aligned(t.Size):
			set(memoryClass)
		default:
			set(sseClass)
		}
	case types.Array:
		if t.Target == nil || t.Target.Size <= 0 {
			return [2]class{unknownClass}
		}
		for i := range t.Count {
			list = classesOf(t.Target, offset+i*t.Target.Size, list, left)
		}
	case types.Struct:
		if len(t.Members) == 0 && t.Size > 1 {
			return [2]class{unknownClass}
		}
		for i := range t.Members {
			m := &t.Members[i]
			if m.Type == nil {
				return [2]class{unknownClass}
			}
			at := offset + m.Offset
			if m.Bits > 0 {
				// The position of the bits decides. The declared type may begin in the eight bytes before.
				k := (8*at + m.Bit) / 64
				if k > 1 {
					return [2]class{memoryClass}
				}
				list[k] = merge(list[k], integerClass)
				continue
			}
			list = classesOf(m.Type, at, list, left)
		}
	default:
		return [2]class{unknownClass}
	}
	return list
}

// A sysv assigns places to the arguments of one call, in order.
type sysv struct {
	integers, vectors int
	stackPlaces
	// lost says that the class of an argument was not known. Then the places of all later arguments are not known either.
	lost bool
	// shifted says that the number of integer registers before the first parameter is not known.
	shifted bool
	// splits says that the place of an __int128 which is not in registers is not known.
	splits bool
	entryPlaces
}

func (s *sysv) begin(f *types.Function) {
	s.entryPlaces = entryPlacesOf(f, sysvArguments, enterRegisters)
	s.lost = f.Altered || f.Result != nil && f.Result.Doubtful && !hidden(f.Result)
	s.shifted, s.splits = f.Leading < 0, f.SplitsInt128
	if hidden(f.Result) {
		s.integer()
	}
	for range f.Leading {
		s.integer()
	}
}

// number returns DWARF's number of a register.
func (s *sysv) number(register string) int {
	for kind, names := range enterRegisters {
		if n := slices.Index(names, register); n >= 0 {
			return sysvArguments[kind][n]
		}
	}
	return notARegister
}

// notARegister is a number that no register has.
const notARegister = -2

func (s *sysv) result(f *types.Function) (place string, pointed bool) {
	place, pointed = resultPlace(f.Result)
	if f.Altered && !pointed && !returned(f, place) {
		return "", false
	}
	return place, pointed
}

// integer returns the next integer register, or the next place on the stack.
func (s *sysv) integer() string {
	if s.lost || s.shifted {
		return ""
	}
	if s.integers < len(integerRegisters) {
		s.integers++
		return integerRegisters[s.integers-1]
	}
	return s.onStack(8, 8)
}

// stackPlaces counts the bytes of the arguments on the stack. Each argument takes a multiple of eight bytes.
type stackPlaces struct{ stack int }

// onStack returns the next place on the stack for an argument of size bytes.
func (s *stackPlaces) onStack(size, align int) string {
	s.stack = (s.stack + align - 1) / align * align
	place := "stack+" + strconv.Itoa(s.stack)
	s.stack += (size + 7) &^ 7
	return place
}

func (s *sysv) place(t *types.Type) (place string, pointed bool) {
	if place, pointed, altered := s.next(t); altered {
		return place, pointed
	}
	if s.lost {
		return "", false
	}
	if t != nil && t.Indirect {
		return s.integer(), true
	}
	if isNothing(t) {
		return "", false
	}
	list := classify(t)
	switch list[0] {
	case unknownClass:
		s.lost = true
		return "", false
	case noClass:
		return "", false // an empty class takes no place
	case memoryClass, x87Class:
		if s.shifted {
			return "", false
		}
		if list[0] == x87Class {
			return s.onStack(16, 16), false
		}
		return s.onStack(t.Size, alignment(t)), false
	}
	var integers, vectors int
	for _, c := range list {
		switch c {
		case integerClass:
			integers++
		case sseClass:
			vectors++
		}
	}
	if s.shifted && (integers > 0 || s.vectors+vectors > vectorRegisters) {
		return "", false
	}
	if s.splits && s.integers+integers > len(integerRegisters) && (t.Kind == types.Int || t.Kind == types.Uint) && t.Size == 16 {
		s.lost = true
		return "", false
	}
	if s.integers+integers > len(integerRegisters) || s.vectors+vectors > vectorRegisters {
		return s.onStack(t.Size, alignment(t)), false
	}
	var parts []string
	for _, c := range list {
		switch c {
		case integerClass:
			parts = append(parts, integerRegisters[s.integers])
			s.integers++
		case sseClass:
			parts = append(parts, "xmm"+strconv.Itoa(s.vectors))
			s.vectors++
		}
	}
	return strings.Join(parts, "+"), false
}

// isNothing reports whether a type is a C struct without members, which has no bytes and takes no place.
func isNothing(t *types.Type) bool {
	return t != nil && t.Kind == types.Struct && t.Size == 0 && len(t.Members) == 0
}

// alignment returns the alignment of an argument on the stack in bytes: 8, or more if one of its parts needs more.
func alignment(t *types.Type) int {
	left := 1000
	return max(8, alignmentOf(t, &left))
}

func alignmentOf(t *types.Type, left *int) int {
	if *left--; *left < 0 || t == nil {
		return 0
	}
	align := t.Align
	switch t.Kind {
	case types.Int, types.Uint, types.Float:
		if t.Size == 16 {
			align = max(align, 16)
		}
	case types.Array:
		align = max(align, alignmentOf(t.Target, left))
	case types.Struct:
		for i := range t.Members {
			align = max(align, alignmentOf(t.Members[i].Type, left))
		}
	}
	return align
}

// hidden reports whether the caller passes an address to which the function writes a result of a type.
func hidden(t *types.Type) bool {
	if t != nil && t.Doubtful {
		return t.Size > 16 // a large class always is; for a small one it is not known
	}
	return t != nil && (t.Indirect || classify(t)[0] == memoryClass)
}

// resultPlace is convention.result for a type.
func resultPlace(t *types.Type) (place string, pointed bool) {
	if hidden(t) {
		return "rax", true
	}
	list := classify(t)
	switch list[0] {
	case unknownClass, noClass, memoryClass:
		return "", false
	case x87Class:
		return "st0", false
	}
	var parts []string
	var used [2]int
	for _, c := range list {
		kind := 0
		switch c {
		case noClass:
			continue
		case sseClass:
			kind = 1
		}
		parts = append(parts, resultRegisters[kind][used[kind]])
		used[kind]++
	}
	return strings.Join(parts, "+"), false
}
