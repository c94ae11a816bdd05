package pdb

import (
	"bytes"
	"strconv"
	"strings"

	"logparser/symbols/pdb"
	"logparser/symbols/types"
)

// Type records.
const (
	lfModifier   = 0x1001
	lfPointer    = 0x1002
	lfProcedure  = 0x1008
	lfMFunction  = 0x1009
	lfArgList    = 0x1201
	lfFieldList  = 0x1203
	lfBitField   = 0x1205
	lfMethodList = 0x1206
	lfArray      = 0x1503
	lfClass      = 0x1504
	lfStructure  = 0x1505
	lfUnion      = 0x1506
	lfEnum       = 0x1507
	lfInterface  = 0x1519

	// firstType is the lowest index of a type that has a record.
	firstType = 0x1000
)

// Indexes of types without a record.
const (
	noType      = 0x0000
	voidType    = 0x0003
	wideFloat   = 0x0043 // of 16 bytes
	nullPointer = 0x0103
)

// opaque is a type of which only the size is known.
func opaque(name string, size int) *types.Type {
	return &types.Type{Kind: types.Opaque, Name: name, Size: size}
}

// typeAt returns the type of an index, nil for none. Types refer to each other in circles: one that is being read has
// its name and its size already.
func (r *reader) typeAt(index uint32, depth int) *types.Type {
	if t, ok := r.built[index]; ok {
		return t
	}
	if index < firstType {
		t := r.builtIn(index)
		r.built[index] = t
		return t
	}
	b := r.table.Type(index)
	if b == nil || depth > maxDepth {
		return nil
	}
	switch le.Uint16(b) {
	case lfModifier:
		return r.modifier(index, b, depth)
	case lfPointer:
		return r.pointer(index, b, depth)
	case lfArray:
		return r.array(index, b, depth)
	case lfClass, lfStructure, lfInterface, lfUnion, lfEnum:
		return r.defined(index, depth)
	case lfProcedure, lfMFunction:
		t := opaque("function", 0)
		r.built[index] = t
		return t
	}
	return nil
}

// kinds are those of types without a record, by the low byte of their index.
var kinds = map[uint32]types.Kind{
	0x08: types.Int, 0x10: types.Int, 0x68: types.Int, 0x11: types.Int, 0x72: types.Int, 0x12: types.Int, 0x74: types.Int,
	0x13: types.Int, 0x76: types.Int, 0x14: types.Int, 0x78: types.Int,
	0x20: types.Uint, 0x69: types.Uint, 0x21: types.Uint, 0x73: types.Uint, 0x22: types.Uint, 0x75: types.Uint,
	0x23: types.Uint, 0x77: types.Uint, 0x24: types.Uint, 0x79: types.Uint,
	0x70: types.Char, 0x71: types.Char, 0x7A: types.Char, 0x7B: types.Char, 0x7C: types.Char,
	0x30: types.Bool, 0x31: types.Bool, 0x32: types.Bool, 0x33: types.Bool,
	0x40: types.Float, 0x41: types.Float, 0x42: types.Float,
}

// sizes of pointers to types without a record, by the mode in their index.
var pointerModes = map[uint32]int{4: 4, 6: 8}

func (r *reader) builtIn(index uint32) *types.Type {
	switch index {
	case noType, voidType:
		return nil
	case wideFloat:
		// Of two types of clang for MinGW, which differ in what their bytes mean, and in where they are returned.
		return opaque("?", 0)
	case nullPointer:
		return &types.Type{Kind: types.Pointer, Size: 8, Name: types.NullPointer}
	}
	name, size, known := pdb.BuiltInType(index)
	if mode := index >> 8 & 0xF; mode != 0 {
		if name == "" {
			name = "void"
		}
		t := &types.Type{Kind: types.Pointer, Size: pointerModes[mode], Name: name + "*"}
		if low := index & 0xFF; low != voidType {
			t.Target = r.typeAt(low, 0)
		}
		return t
	}
	if !known {
		return nil
	}
	t := &types.Type{Kind: kinds[index&0xFF], Size: size, Name: name}
	if index >= 0x50 && index <= 0x52 { // complex numbers
		part := &types.Type{Kind: types.Float, Size: size / 2, Name: "part"}
		t.Kind, t.Complex = types.Struct, true
		t.Members = []types.Member{{Name: "re", Type: part}, {Name: "im", Type: part, Offset: size / 2}}
	}
	return t
}

// modifier makes a type that is constant or volatile.
func (r *reader) modifier(index uint32, b []byte, depth int) *types.Type {
	if len(b) < 8 {
		return nil
	}
	word := ""
	if attributes := le.Uint16(b[6:]); attributes&1 != 0 {
		word = " const"
	} else if attributes&2 != 0 {
		word = " volatile"
	}
	t := r.typeAt(le.Uint32(b[2:]), depth+1)
	if t == nil {
		return opaque("void"+word, 0)
	}
	qualified := *t
	qualified.Name = r.joined(t.Name, word)
	r.built[index] = &qualified
	if from, ok := r.unfinished[t]; ok {
		from.words = r.joined(from.words, word)
		r.unfinished[&qualified] = from
		r.copies[from.of] = append(r.copies[from.of], &qualified)
	}
	return &qualified
}

// joined is the name of a type with what stands behind it; one that would be too long is "?".
func (r *reader) joined(name, behind string) string {
	n := len(name) + len(behind)
	if n > maxName || n > r.leftOfNames {
		const maxBehind = 32
		if len(behind) > maxBehind {
			return "?"
		}
		return "?" + behind
	}
	r.leftOfNames -= n
	return name + behind
}

// Modes of pointers.
const (
	plainPointer     = 0
	lvalueReference  = 1
	pointerToMember  = 2
	pointerToMethod  = 3
	rvalueReference  = 4
	pointerModeShift = 5
	pointerSizeShift = 13
)

func pointerMode(b []byte) uint32 { return le.Uint32(b[6:]) >> pointerModeShift & 7 }

// pointer makes a pointer, a reference or a pointer to a member.
func (r *reader) pointer(index uint32, b []byte, depth int) *types.Type {
	if len(b) < 10 {
		return nil
	}
	attributes := le.Uint32(b[6:])
	size := int(attributes >> pointerSizeShift & 0x3F)
	if size == 0 { // of older compilers
		size = map[uint32]int{0x0A: 4, 0x0C: 8}[attributes&0x1F]
	}
	t := &types.Type{Kind: types.Pointer, Size: size}
	r.built[index] = t // what it points to may lead back here
	mark := "*"
	switch pointerMode(b) {
	case plainPointer:
	case lvalueReference:
		t.Kind, mark = types.Reference, "&"
	case rvalueReference:
		t.Kind, mark = types.Reference, "&&"
	case pointerToMember:
		t.Kind, t.Name = types.Int, "member pointer"
		if size == 0 || size > 8 {
			t.Kind = types.Opaque
		}
		return t
	case pointerToMethod:
		t.Name = types.MethodPointer
		if size != 8 { // with what is added to the object
			t.Kind = types.Opaque
		}
		return t
	default:
		t.Kind, t.Name = types.Opaque, "?"
		return t
	}
	t.Name = "void" + mark
	if t.Target = r.typeAt(le.Uint32(b[2:]), depth+1); t.Target != nil {
		t.Name = r.joined(t.Target.Name, mark)
	}
	if to := t.Target; t.Kind == types.Pointer && to != nil && to.Kind == types.Char && to.Size == 1 && strings.HasSuffix(to.Name, " const") {
		t.Kind, t.Target = types.Text, nil
	}
	return t
}

// array makes an array, of several dimensions one within another.
func (r *reader) array(index uint32, b []byte, depth int) *types.Type {
	if len(b) < 12 {
		return nil
	}
	size, _, ok := pdb.Number(b[10:])
	of := r.typeAt(le.Uint32(b[2:]), depth+1)
	if !ok || size < 0 || size > maxSize || of == nil || of.Size <= 0 {
		return opaque("array", 0)
	}
	n := int(size) / of.Size
	name, inner, _ := strings.Cut(of.Name, "[")
	if inner != "" {
		inner = "[" + inner
	}
	t := &types.Type{Kind: types.Array, Target: of, Count: n, Size: n * of.Size, Name: r.joined(name, "["+strconv.Itoa(n)+"]"+inner)}
	if _, ok := r.unfinished[of]; !ok {
		r.built[index] = t
	}
	return t
}

// A head is what records of classes, unions and enumerations have in common.
type head struct {
	leaf       uint16
	properties uint16
	fields     uint32 // index of the list
	underlying uint32 // of an enumeration
	size       int
	count      uint16 // of members
	// names is where the names stand.
	names []byte
}

// Properties.
const (
	hasConstructor = 1 << 1
	isDeclaration  = 1 << 7
	hasUniqueName  = 1 << 9
)

func (h *head) declared() bool { return h.properties&isDeclaration != 0 }

// name is as people read it.
func (h *head) name() string {
	name, _ := cut(h.names)
	return string(name)
}

// unique is the compiler's name, nil where it gives none.
func (h *head) unique() []byte {
	if h.properties&hasUniqueName == 0 {
		return nil
	}
	_, rest := cut(h.names)
	unique, _ := cut(rest)
	return unique
}

// isNamedAs reports whether both names are the same.
func (h *head) isNamedAs(other *head) bool {
	name, _ := cut(h.names)
	same, _ := cut(other.names)
	return bytes.Equal(name, same) && bytes.Equal(h.unique(), other.unique())
}

// readHead reads the record of a class, union or enumeration. Names may be long, and it is asked often: they are left where
// they stand.
func readHead(b []byte) (h head, ok bool) {
	if len(b) < 14 {
		return h, false
	}
	h.leaf, h.count, h.properties = le.Uint16(b), le.Uint16(b[2:]), le.Uint16(b[4:])
	rest := b[10:]
	switch h.leaf {
	case lfClass, lfStructure, lfInterface:
		if len(b) < 20 {
			return h, false
		}
		h.fields, rest = le.Uint32(b[6:]), b[18:]
	case lfUnion:
		h.fields = le.Uint32(b[6:])
	case lfEnum:
		h.underlying, h.fields, rest = le.Uint32(b[6:]), le.Uint32(b[10:]), b[14:]
	default:
		return h, false
	}
	if h.leaf != lfEnum {
		var size int64
		if size, rest, ok = pdb.Number(rest); !ok || size < 0 || size > maxSize {
			return h, false
		}
		h.size = int(size)
	}
	h.names = rest
	return h, true
}

// cut cuts a text that ends with 0 off.
func cut(b []byte) (text, rest []byte) {
	text, rest, _ = bytes.Cut(b, []byte{0})
	return text, rest
}

func cutString(b []byte) (s string, rest []byte) {
	text, rest := cut(b)
	return string(text), rest
}

// vectors are the classes of Microsoft's headers that the processor has registers for.
var vectors = map[string]bool{
	"__m64": true, "__m128": true, "__m128i": true, "__m128d": true, "__m128bh": true, "__m256": true, "__m256i": true, "__m256d": true,
	"__m512": true, "__m512i": true, "__m512d": true,
}

// shown is the name of a type as it is shown: blanks behind commas, as other debug information has them.
func shown(name string) string {
	if outer, ok := strings.CutSuffix(name, "<unnamed-tag>"); ok && (outer == "" || strings.HasSuffix(outer, "::")) {
		return "struct"
	}
	name = strings.ReplaceAll(strings.ReplaceAll(name, ", ", ","), ",", ", ")
	return types.PlainName(pdb.ReadableName(name))
}

// defined makes a class, a union or an enumeration, of a declaration what it declares.
func (r *reader) defined(index uint32, depth int) *types.Type {
	at := r.definition(index)
	if t, ok := r.built[at]; ok {
		r.built[index] = t
		return t
	}
	h, ok := readHead(r.table.Type(at))
	if !ok {
		return nil
	}
	name := h.name()
	t := &types.Type{Kind: types.Struct, Size: h.size, Name: shown(name)}
	r.built[index], r.built[at] = t, t
	switch {
	case h.leaf == lfEnum:
		t.Kind = types.Enum
		if of := r.typeAt(h.underlying, depth+1); of != nil {
			t.Size = of.Size
		}
		if h.declared() {
			return t
		}
		t.Enumerators = r.enumerators(h.fields)
		t.Kind = types.KindOfEnum(t.Enumerators)
	case h.declared():
		t.Kind, t.Size = types.Opaque, 0
	case vectors[name]:
		t.Kind = types.Opaque
	default:
		r.fill(t, at, &h, depth)
	}
	return t
}
