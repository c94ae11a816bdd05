package pdb

import (
	"slices"
	"strings"

	"logparser/symbols/pdb"
	"logparser/symbols/types"
)

// Symbol records of variables and their places.
const (
	sFrameProc           = 0x1012
	sRegRel32            = 0x1111
	sLocal               = 0x113E
	sDefRange            = 0x113F
	sDefRangeSubfield    = 0x1140
	sDefRangeRegister    = 0x1141
	sDefRangeFrame       = 0x1142
	sDefRangePart        = 0x1143
	sDefRangeFrameAlways = 0x1144
	sDefRangeRegisterRel = 0x1145

	localIsParameter  = 1 << 0
	optimizedForSpeed = 1 << 20 // of S_FRAMEPROC
	isNoInline        = 1 << 6  // of a procedure's record
	hasOptimizedInfo  = 1 << 7
)

// A procedure is a procedure of a module with the variables that may be its parameters.
type procedure struct {
	pdb.Procedure
	full string
	// begin is the offset in its section from which on places hold for its entry, too.
	begin uint32
	// variables are those that are parameters by their records, or by where they lie.
	variables []variable
	// frame is how many bytes the frame has, as far as it is told.
	frame uint32
	// open says that records of places are of the last variable.
	open bool
	// optimized is what the frame's record says; framed that there was one.
	optimized, framed bool
}

// A variable is a record of a variable.
type variable struct {
	name string
	typ  uint32
	// told says that its record calls it a parameter.
	told bool
	// entry is where it is at the procedure's first byte.
	entry types.Entry
	// framed says that it lies in the frame wherever it is told to be, placed that it is told to be anywhere.
	framed, placed bool
}

// registers are the numbers in DWARF of registers that arguments come in, by those of CodeView.
var registers = map[uint16]int{
	330: 2, 18: 2, 10: 2, 2: 2, // rcx, ecx, cx, cl
	331: 1, 19: 1, 11: 1, 3: 1, // rdx
	336: 8, 360: 8, 352: 8, 344: 8, // r8
	337: 9, 361: 9, 353: 9, 345: 9, // r9
	154: 17, 155: 18, 156: 19, 157: 20, // xmm0 to xmm3
}

// record reads a record that stands in the procedure itself.
func (p *procedure) record(kind uint16, b []byte) {
	var v *variable
	if n := len(p.variables); n > 0 && p.open {
		v = &p.variables[n-1]
	}
	switch kind {
	case sDefRange, sDefRangeSubfield, sDefRangeRegister, sDefRangeFrame, sDefRangePart, sDefRangeFrameAlways, sDefRangeRegisterRel:
		if v != nil {
			v.place(kind, b, p)
		}
		return
	}
	p.open = false
	switch kind {
	case sFrameProc:
		if len(b) >= 26 {
			p.optimized = le.Uint32(b[22:])&optimizedForSpeed != 0
			p.frame, p.framed = le.Uint32(b), true
		}
	case sLocal:
		if len(b) >= 6 && le.Uint16(b[4:])&localIsParameter != 0 {
			p.add(le.Uint32(b), b[6:], variable{told: true})
			p.open = true
		}
	case sRegRel32:
		// Callers leave room for the arguments behind the return address, and so behind the frame. Optimized functions put other
		// variables there, too.
		const word, stackPointer = 8, 335
		if len(b) >= 10 && p.framed && !p.optimized && p.Flags&hasOptimizedInfo == 0 && le.Uint16(b[8:]) == stackPointer && le.Uint32(b) >= p.frame+word && le.Uint32(b) <= maxSize {
			p.add(le.Uint32(b[4:]), b[10:], variable{framed: true, placed: true})
		}
	}
}

func (p *procedure) add(typ uint32, name []byte, v variable) {
	v.name, _ = cutString(name)
	v.typ = typ
	// What Microsoft's compiler adds itself: the address of the result, and whether virtual bases are to be made.
	if len(p.variables) < 4*maxParameters && !strings.HasPrefix(v.name, "__$") && !strings.HasPrefix(v.name, "$") {
		p.variables = append(p.variables, v)
	}
}

// place reads where a variable is told to be.
func (v *variable) place(kind uint16, b []byte, of *procedure) {
	framed := false
	var entry types.Entry
	var ranged []byte
	switch kind {
	case sDefRangeRegister:
		if len(b) >= 12 {
			if n, ok := registers[le.Uint16(b)]; ok {
				entry = types.Entry{Kind: types.InRegister, Number: n}
			}
			ranged = b[4:]
		}
	case sDefRangeRegisterRel:
		if len(b) >= 16 {
			if n, ok := registers[le.Uint16(b)]; ok && le.Uint32(b[4:]) == 0 && le.Uint16(b[2:]) == 0 {
				entry = types.Entry{Kind: types.InRegister, Number: n, Pointed: true}
			}
			ranged = b[8:]
		}
	case sDefRangeFrame, sDefRangeFrameAlways:
		framed = true
	}
	v.framed = framed && (v.framed || !v.placed)
	v.placed = true
	// The range: where it begins, in which section, how many bytes; then where it is not.
	if len(ranged) >= 8 && entry.Kind != types.NotTold && v.entry.Kind == types.NotTold &&
		le.Uint32(ranged) >= of.Offset && le.Uint32(ranged) <= of.begin && le.Uint16(ranged[4:]) == of.Section &&
		uint32(le.Uint16(ranged[6:])) > of.begin-le.Uint32(ranged) && (len(ranged) < 12 || le.Uint16(ranged[8:]) != 0) {
		v.entry = entry
	}
}

// A signature is the type of a function.
type signature struct {
	result     uint32
	arguments  []uint32
	variadic   bool
	convention uint8
	// options: the result is one of C++; it is a constructor.
	options uint8
	// class is that of a method, this the type of its pointer to the object, 0 where there is none.
	class, this uint32
	// adjust is what the object's address is adjusted by.
	adjust int32
}

const returnsOfCpp = 1 << 0

// signature reads a type of functions.
func (r *reader) signature(index uint32) (f signature, ok bool) {
	b := r.table.Type(index)
	var list uint32
	switch {
	case len(b) >= 14 && le.Uint16(b) == lfProcedure:
		f.convention, f.options, list = b[6], b[7], le.Uint32(b[10:])
	case len(b) >= 26 && le.Uint16(b) == lfMFunction:
		f.class, f.this = le.Uint32(b[6:]), le.Uint32(b[10:])
		f.convention, f.options, list, f.adjust = b[14], b[15], le.Uint32(b[18:]), int32(le.Uint32(b[22:]))
		if f.this == voidType {
			f.this = noType
		}
	default:
		return f, false
	}
	f.result = le.Uint32(b[2:])
	b = r.table.Type(list)
	if list == noType || len(b) < 6 || le.Uint16(b) != lfArgList {
		return f, list == noType
	}
	n := int(le.Uint32(b[2:]))
	if n < 0 || n > maxParameters || n > (len(b)-6)/4 {
		return f, false
	}
	for i := range n {
		f.arguments = append(f.arguments, le.Uint32(b[6+4*i:]))
	}
	if n > 0 && f.arguments[n-1] == noType {
		f.arguments, f.variadic = f.arguments[:n-1], true
	} else if n == 1 && f.arguments[0] == voidType {
		f.arguments = nil
	}
	return f, true
}

// all returns the types of all arguments, the object's first.
func (s *signature) all() []uint32 {
	if s.this == noType {
		return s.arguments
	}
	return append([]uint32{s.this}, s.arguments...)
}

// conventions that are that of the machine, by number: on x86-64 also those that differ on x86.
var conventions = map[uint8]bool{0x00: true /* C */, 0x04: true /* fast */, 0x07: true /* standard */, 0x0B: true /* this */}

// function returns what a procedure takes and returns.
func (r *reader) function(p *procedure, s *signature) (f types.Function) {
	f = types.Function{RVA: p.RVA, Size: p.Size, Name: p.full, Linkage: p.Name, Variadic: s.variadic, Local: p.Local, Altered: !conventions[s.convention]}
	llvm := isLLVM(&p.Procedure)
	itanium, known := r.itanium > 0, r.itanium == 0 || r.microsoft == 0
	var h head
	if s.class != noType {
		if d, is := readHead(r.table.Type(r.definition(s.class))); is {
			h = d
			itanium, known = r.foreign(&h)
		}
	}
	f.ObjectFirst = !itanium && s.this != noType // also in C a parameter may be called this
	if s.this != noType && itanium && r.hasVirtualBases(s.class) && (shortName(h.name()) == lastName(p.Name) || strings.HasPrefix(lastName(p.Name), "~")) {
		f.Altered = true // it takes a table of virtual bases, too
	}
	f.Result = r.result(s, itanium, known, llvm)
	kept := unoptimized(p)
	if !kept && llvm {
		f.Omits = types.OmitArguments
	}
	list := s.all()
	f.Free = !kept && (p.Local && llvm || p.Options&optionLTCG != 0)
	variables, whole := r.match(p, list, firstPosition(&f, s))
	if !whole {
		f.Altered = true
	}
	for i, index := range list {
		a := types.Parameter{Type: r.typeAt(index, 0)}
		if a.Type != nil && a.Type.Kind == types.Array { // what is a vector
			a.Type = opaque(a.Type.Name, a.Type.Size)
		}
		if v := variables[i]; v != nil {
			a.Name = v.name
			a.Entry = v.entry
			a.Unused = !kept && !v.placed
		} else {
			a.Unused = !kept // callers need not pass it
		}
		if i == 0 && s.this != noType {
			a.Name = "this"
			if s.adjust != 0 {
				a.Unused = true // it is not the object's address that is passed
			}
		}
		f.Parameters = append(f.Parameters, a)
	}
	return f
}

// lastName is a name without scopes and arguments of templates.
func lastName(name string) string { return shortName(name) }

// hasVirtualBases reports whether a class has any.
func (r *reader) hasVirtualBases(index uint32) bool {
	r.typeAt(index, 0)
	c := r.classes[r.definition(index)]
	return c == nil || c.partial || c.virtualBases
}

// result returns the type of a function's result, which says whether it is returned by its address.
func (r *reader) result(s *signature, itanium, known, llvm bool) *types.Type {
	t := r.typeAt(s.result, 0)
	if s.result == noType {
		return nil
	}
	if t == nil {
		if s.result == voidType {
			return nil
		}
		return opaque("?", 0)
	}
	if t.Kind == types.Array {
		return opaque(t.Name, t.Size)
	}
	index := r.elements(s.result)
	if !r.isClass(index) {
		return t
	}
	h, _ := readHead(r.table.Type(r.definition(index)))
	own, sure := r.foreign(&h)
	var a answer
	switch {
	case own && sure:
		return t
	case !sure || !known || h.declared():
		a.doubtful = true
	case s.this != noType && !itanium:
		a.is = true
	case !llvm:
		a.is = s.options&returnsOfCpp != 0
	default:
		a = r.resultByAddress(index, 0)
	}
	is := *t
	is.Indirect, is.Doubtful = a.is, a.doubtful
	return &is
}

// refersTo reports whether a type is that of references to another one, or of pointers to it.
func (r *reader) refersTo(reference, index uint32) bool {
	b := r.table.Type(reference)
	return len(b) >= 10 && le.Uint16(b) == lfPointer && (pointerMode(b) == lvalueReference || pointerMode(b) == plainPointer) && r.same(le.Uint32(b[2:]), index, 0)
}

// unoptimized reports whether a procedure was surely not optimized, so that its callers pass all of its arguments.
func unoptimized(p *procedure) bool {
	// LLVM says of each procedure that what is told holds for optimized ones, too; it is other compilers' word for that it is one.
	// That of its frame is missing where code was made small.
	switch llvm := isLLVM(&p.Procedure); {
	case p.optimized, llvm && p.Flags&isNoInline == 0, !llvm && p.Flags&hasOptimizedInfo != 0:
		return false
	}
	for i := range p.variables {
		if v := &p.variables[i]; v.placed && !v.framed || v.told && !v.placed {
			return false
		}
	}
	return true
}

// same reports whether two types differ in const and volatile only.
func (r *reader) same(a, b uint32, depth int) bool {
	strip := func(index uint32) uint32 {
		for range maxDepth {
			c := r.table.Type(index)
			if len(c) < 8 || le.Uint16(c) != lfModifier {
				break
			}
			index = le.Uint32(c[2:])
		}
		// A pointer to a type without a record may have none itself, unless it is constant.
		const simple = 0x600
		if c := r.table.Type(index); len(c) >= 10 && le.Uint16(c) == lfPointer && pointerMode(c) == plainPointer && le.Uint32(c[2:]) <= 0xFF {
			return simple | le.Uint32(c[2:])
		}
		return r.definition(index)
	}
	a, b = strip(a), strip(b)
	if r.alike(a, b) {
		return true
	}
	if depth > 8 {
		return false
	}
	p, q := r.table.Type(a), r.table.Type(b)
	return len(p) >= 10 && len(q) >= 10 && le.Uint16(p) == lfPointer && le.Uint16(q) == lfPointer && pointerMode(p) == pointerMode(q) &&
		r.same(le.Uint32(p[2:]), le.Uint32(q[2:]), depth+1)
}

// unknownPosition is the position of a procedure's first argument if it is not known.
const unknownPosition = -1

// firstPosition returns the position of a procedure's first argument: the address of the result may come before it.
func firstPosition(f *types.Function, s *signature) int {
	t := f.Result
	switch {
	case f.Altered || f.Free:
	case t == nil:
		return 0
	case t.Doubtful || s.this != noType:
	case t.Indirect:
		return 1
	case t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8:
		return 0
	case t.Kind == types.Struct || t.Kind == types.Text:
		return 1
	}
	return unknownPosition
}

// position is the position of the argument that comes in a register, by the register's number in DWARF.
var position = map[int]int{2: 0, 1: 1, 8: 2, 9: 3, 17: 0, 18: 1, 19: 2, 20: 3}

// match finds which variables are a procedure's parameters, of types in a list: nil for those without a name, or of which it
// is not known. It is not whole if there are others, of which the type says nothing. from is the position of the first.
func (r *reader) match(p *procedure, list []uint32, from int) (of []*variable, whole bool) {
	of = make([]*variable, len(list))
	variables := p.variables
	told := slices.ContainsFunc(variables, func(v variable) bool { return v.told })
	if told {
		// Microsoft's compiler tells of them twice.
		variables = slices.DeleteFunc(slices.Clone(variables), func(v variable) bool { return !v.told })
	}
	fits := func(v *variable, k int) bool {
		if from != unknownPosition && v.entry.Kind == types.InRegister && position[v.entry.Number] != from+k {
			return false
		}
		return r.same(v.typ, list[k], 0) || r.refersTo(v.typ, list[k])
	}
	if len(variables) > len(list) {
		return of, !told
	}
	// The variables stand in the order of the parameters: each is the same one from the first on as from the last on, or
	// it is not known which.
	first, k := make([]int, len(variables)), 0
	for i := range variables {
		for k < len(list) && !fits(&variables[i], k) {
			k++
		}
		if k == len(list) {
			return of, !told
		}
		first[i] = k
		k++
	}
	k = len(list) - 1
	for i := len(variables) - 1; i >= 0; i-- {
		for !fits(&variables[i], k) {
			k--
		}
		if first[i] == k {
			of[k] = &variables[i]
		}
		k--
	}
	return of, true
}
