package pdb

import (
	"slices"
	"strings"

	"logparser/symbols/pdb"
	"logparser/symbols/types"
)

// Records in lists of fields.
const (
	lfFriendClass     = 0x140A
	lfBaseClass       = 0x1400
	lfVirtualBase     = 0x1401
	lfIndirectBase    = 0x1402
	lfIndex           = 0x1404
	lfVirtualTable    = 0x1409
	lfVirtualOffset   = 0x140C
	lfEnumerator      = 0x1502
	lfFriendFunction  = 0x150C
	lfMember          = 0x150D
	lfStaticMember    = 0x150E
	lfMethod          = 0x150F
	lfNestedType      = 0x1510
	lfOneMethod       = 0x1511
	lfNestedTypeEx    = 0x1512
	lfMemberModify    = 0x1513
	lfBaseInterface   = 0x151A
	lfPadding         = 0xF0
	maxFieldLists     = 256 // that one continues another
	introducesVirtual = 4
	introducesPure    = 6
	isPublic          = 3
)

// A field is a record of a list of fields.
type field struct {
	leaf       uint16
	attributes uint16
	typ        uint32 // also the list of methods of one name
	value      int64  // an offset, or that of an enumerator
	name       string
}

// access is who may use it; virtual says that a method is.
func (f *field) access() uint16 { return f.attributes & 3 }
func (f *field) virtual() bool {
	kind := f.attributes >> 2 & 7
	return kind == 1 || kind >= introducesVirtual && kind <= introducesPure
}

// fields calls yield with the records of a list until it returns false. It ends at what is not understood; whole says that
// it came to the list's end.
func (r *reader) fields(list uint32, yield func(f *field) bool) (whole bool) {
	var seen []uint32
	for len(seen) < maxFieldLists && !slices.Contains(seen, list) {
		seen = append(seen, list)
		b := r.table.Type(list)
		if b == nil || le.Uint16(b) != lfFieldList {
			return false
		}
		// Several classes may have one list, and what stands in it need not be members.
		if r.leftOfLists -= len(b) + costOfList; r.leftOfLists < 0 {
			return false
		}
		list = noType
		for b = b[2:]; len(b) > 0; {
			if b[0] >= lfPadding {
				b = b[1:]
				continue
			}
			f, rest, ok := readField(b)
			if !ok {
				return false
			}
			b = rest
			switch {
			case f.leaf == lfIndex:
				list = f.typ
			case !yield(&f):
				return false
			}
		}
		if list == noType {
			return true
		}
	}
	return false
}

// readField reads the first record of a list of fields.
func readField(b []byte) (f field, rest []byte, ok bool) {
	if len(b) < 4 {
		return f, nil, false
	}
	f.leaf, f.attributes = le.Uint16(b), le.Uint16(b[2:])
	b = b[4:]
	typed := func() bool {
		if len(b) < 4 {
			return false
		}
		f.typ, b = le.Uint32(b), b[4:]
		return true
	}
	numbered := func() bool {
		f.value, b, ok = pdb.Number(b)
		return ok
	}
	named := func() bool {
		f.name, b = cutString(b)
		return true
	}
	skipped := func(n int) bool {
		if len(b) < n {
			return false
		}
		b = b[n:]
		return true
	}
	switch f.leaf {
	case lfBaseClass, lfBaseInterface:
		ok = typed() && numbered()
	case lfVirtualBase, lfIndirectBase:
		ok = typed() && skipped(4) && numbered() && numbered()
	case lfIndex, lfVirtualTable, lfFriendClass:
		ok = typed()
	case lfVirtualOffset:
		ok = typed() && skipped(4)
	case lfEnumerator:
		ok = numbered() && named()
	case lfFriendFunction, lfStaticMember, lfMethod, lfNestedType, lfNestedTypeEx, lfMemberModify:
		ok = typed() && named()
	case lfMember:
		ok = typed() && numbered() && named()
	case lfOneMethod:
		ok = typed()
		if kind := f.attributes >> 2 & 7; kind == introducesVirtual || kind == introducesPure {
			ok = ok && skipped(4)
		}
		ok = ok && named()
	}
	return f, b, ok
}

// enumerators reads those of an enumeration.
func (r *reader) enumerators(list uint32) (all []types.Enumerator) {
	r.fields(list, func(f *field) bool {
		if r.left--; r.left < 0 || len(all) >= maxMembers {
			return false
		}
		if f.leaf == lfEnumerator {
			all = append(all, types.Enumerator{Value: f.value, Name: f.name})
		}
		return true
	})
	return all
}

// A class is what conventions ask of a class, struct or union.
type class struct {
	// short is its name without scopes and arguments of templates.
	short string
	// partial says that more may be in it than is read; trivial that it has no constructor, destructor or the like.
	partial, trivial bool
	// itanium says that it has that C++ ABI, known that this is known.
	itanium, known bool
	// bases, private, polymorphic and virtualBases say that it has such.
	bases, private, polymorphic, virtualBases bool
	// fixed says that it has a reference or a constant as a member, so that it cannot be assigned.
	fixed bool
	// members are the indexes of the classes of its members.
	members []uint32
	// Methods that the source declares. ours says that a constructor surely does something of its own; copies, moves and
	// others (a constructor, a destructor or an assignment) may be what the compiler would make.
	ours, copies, moves, others bool
}

// fill reads the members of a class.
func (r *reader) fill(t *types.Type, index uint32, h *head, depth int) {
	c := &class{short: shortName(h.name()), trivial: h.properties&hasConstructor == 0}
	c.itanium, c.known = r.foreign(h)
	r.classes[index] = c
	r.unfinished[t] = origin{of: t}
	defer r.finish(t)
	text := types.StandardText(t.Name)
	var bases []types.Member
	var long map[string]int
	// A class without members may have no list.
	whole := h.fields == noType && h.count == 0 || r.fields(h.fields, func(f *field) bool {
		if r.left--; r.left < 0 || len(t.Members) >= maxMembers {
			return false
		}
		switch f.leaf {
		case lfBaseClass, lfBaseInterface:
			c.bases = true
			c.members = append(c.members, f.typ)
			if of := r.typeAt(f.typ, depth+1); of != nil && f.value >= 0 && f.value <= maxSize {
				bases = append(bases, types.Member{Name: types.Base, Type: of, Offset: int(f.value)})
			}
		case lfVirtualBase, lfIndirectBase:
			c.bases, c.virtualBases = true, true
		case lfVirtualTable:
			c.polymorphic = true
			bases = append(bases, types.Member{Name: types.Class, Type: &types.Type{Kind: types.Pointer, Size: 8, Name: types.Class}})
		case lfMember:
			if m, ok := r.member(c, f, depth); ok {
				t.Members = append(t.Members, m)
			}
		case lfNestedType, lfNestedTypeEx:
			if text != "" && f.name == "__long" {
				long = r.offsets(f.typ)
			}
		case lfOneMethod:
			r.method(c, index, f)
		case lfMethod:
			r.methods(c, index, f)
		}
		return true
	})
	t.Members = append(bases, t.Members...)
	if !whole {
		c.partial = true
		t.Kind, t.Members = types.Opaque, nil
	} else if text != "" {
		l := types.TextLayout{Members: make(map[string]int), Long: long, Size: t.Size, Word: 8}
		textMembers(l.Members, t, 0, 0)
		t.Kind, t.Name, t.Members, t.Library, t.Begin = types.Text, text, nil, l.Library(), l.Begin()
		t.Indirect = text == types.StdString
		return
	}
	switch r.passed[index] {
	case passedItself:
	case passedByAddress:
		t.Indirect = true
	default:
		t.Indirect, t.Doubtful = r.byAddress(c, depth)
	}
}

// finish completes what was made of a class while its members were being read.
func (r *reader) finish(t *types.Type) {
	for _, qualified := range r.copies[t] {
		*qualified = *t
		qualified.Name = r.joined(t.Name, r.unfinished[qualified].words)
		delete(r.unfinished, qualified)
	}
	delete(r.copies, t)
	delete(r.unfinished, t)
}

// member reads a member, and what its type says of the class.
func (r *reader) member(c *class, f *field, depth int) (m types.Member, ok bool) {
	c.private = c.private || f.access() != isPublic && f.access() != 0
	m.Name = f.name
	of := f.typ
	if b := r.table.Type(of); len(b) >= 8 && le.Uint16(b) == lfBitField {
		of, m.Bits, m.Bit = le.Uint32(b[2:]), int(b[6]), int(b[7])
	}
	if element := r.elements(of); r.isClass(element) {
		c.members = append(c.members, element)
	}
	c.fixed = c.fixed || r.isFixed(of)
	m.Type = r.typeAt(of, depth+1)
	if f.value < 0 || f.value > maxSize {
		return m, false
	}
	m.Offset = int(f.value)
	if m.Bits > 0 && (m.Type == nil || m.Type.Size <= 0 || m.Type.Size > 8 || m.Bit+m.Bits > 8*m.Type.Size) {
		return m, false
	}
	return m, true
}

// elements returns the index of what an array consists of, or of the type itself, without const.
func (r *reader) elements(index uint32) uint32 {
	for range maxDepth {
		b := r.table.Type(index)
		if len(b) < 8 || le.Uint16(b) != lfModifier && le.Uint16(b) != lfArray {
			break
		}
		index = le.Uint32(b[2:])
	}
	return index
}

func (r *reader) isClass(index uint32) bool {
	h, ok := readHead(r.table.Type(index))
	return ok && h.leaf != lfEnum
}

// isFixed reports whether a member of a type cannot be assigned: a reference, or a constant.
func (r *reader) isFixed(index uint32) bool {
	for range maxDepth {
		b := r.table.Type(index)
		if len(b) < 8 {
			return false
		}
		switch le.Uint16(b) {
		case lfModifier:
			if le.Uint16(b[6:])&1 != 0 {
				return true
			}
		case lfArray:
		case lfPointer:
			const constant = 1 << 10
			return len(b) >= 10 && (pointerMode(b) == lvalueReference || pointerMode(b) == rvalueReference || le.Uint32(b[6:])&constant != 0)
		default:
			return false
		}
		index = le.Uint32(b[2:])
	}
	return false
}

// offsets returns where the members of a class lie, by their names.
func (r *reader) offsets(index uint32) map[string]int {
	at := make(map[string]int)
	h, _ := readHead(r.table.Type(r.definition(index)))
	if !r.fields(h.fields, func(f *field) bool {
		if r.left--; f.leaf == lfMember && f.value >= 0 && f.value <= maxSize {
			at[f.name] = int(f.value)
		}
		return r.left > 0
	}) {
		return nil
	}
	return at
}

// textMembers finds where members of a text lie, also those of its parts.
func textMembers(at map[string]int, t *types.Type, offset, depth int) {
	for i := range t.Members {
		m := &t.Members[i]
		if _, has := at[m.Name]; !has {
			at[m.Name] = offset + m.Offset
		}
		if m.Type != nil && m.Type.Kind == types.Struct && depth < 4 && len(m.Type.Members) <= 8 {
			textMembers(at, m.Type, offset+m.Offset, depth+1)
		}
	}
}

// methods reads all methods of a name.
func (r *reader) methods(c *class, index uint32, f *field) {
	b := r.table.Type(f.typ)
	if b == nil || le.Uint16(b) != lfMethodList {
		c.partial = true
		return
	}
	for b = b[2:]; len(b) >= 8; {
		one := field{leaf: lfOneMethod, attributes: le.Uint16(b), typ: le.Uint32(b[4:]), name: f.name}
		b = b[8:]
		if kind := one.attributes >> 2 & 7; (kind == introducesVirtual || kind == introducesPure) && len(b) >= 4 {
			b = b[4:]
		}
		if r.left--; r.left < 0 {
			c.partial = true
			return
		}
		r.method(c, index, &one)
	}
}

// method reads what a method says of its class.
func (r *reader) method(c *class, index uint32, f *field) {
	c.polymorphic = c.polymorphic || f.virtual()
	name, destroys := strings.CutPrefix(f.name, "~")
	rest, ok := strings.CutPrefix(name, c.short)
	own := ok && (rest == "" || rest[0] == '<')
	switch {
	case destroys && own || f.name == "{dtor}" || f.name == "operator=":
		c.others = true
		if f.name == "operator=" && r.takes(f.typ, index) == rvalueReference {
			c.moves = true
		}
	case own || f.name == "{ctor}":
		switch r.takes(f.typ, index) {
		case lvalueReference:
			c.copies = true
		case rvalueReference:
			c.moves = true
		case nothing:
			c.others = true
		default:
			c.ours = true
		}
	}
}

// What a special member takes, besides the modes of references to its class.
const (
	nothing       = 100
	somethingElse = 101
)

// takes returns how a method takes its own class: the mode of the reference, or nothing, or somethingElse.
func (r *reader) takes(method, index uint32) uint32 {
	f, ok := r.signature(method)
	switch {
	case !ok || f.variadic || len(f.arguments) > 1:
		return somethingElse
	case len(f.arguments) == 0:
		return nothing
	}
	b := r.table.Type(f.arguments[0])
	if len(b) < 10 || le.Uint16(b) != lfPointer || !r.alike(r.definition(r.elements(le.Uint32(b[2:]))), index) {
		return somethingElse
	}
	return pointerMode(b)
}

// shortName is a class's name without its scopes and its template's arguments.
func shortName(name string) string {
	depth, from := 0, 0
	end := len(name)
	for i := 0; i < len(name); i++ {
		switch name[i] {
		case '<':
			if depth == 0 {
				end = i
			}
			depth++
		case '>':
			depth--
		case ':':
			if depth == 0 && i+1 < len(name) && name[i+1] == ':' {
				from, end = i+2, len(name)
				i++
			}
		}
	}
	if end < from {
		end = len(name)
	}
	return name[from:end]
}

// byAddress reports whether values of a class are passed by their address whatever their size, and whether that is not known:
// debug information does not tell methods that do something from those that are declared as they would be without
// a word.
func (r *reader) byAddress(c *class, depth int) (is, doubtful bool) {
	if c.polymorphic || c.virtualBases {
		return true, false
	}
	// What lies too deep by the way that led here is to be known all the same.
	if r.anew < maxAnew {
		r.anew++
		defer func() { r.anew-- }()
		depth = 0
	}
	doubtful = c.partial
	for _, m := range c.members {
		t := r.typeAt(m, depth+1)
		is = is || t != nil && t.Indirect
		doubtful = doubtful || t == nil || t.Doubtful || t.Kind == types.Opaque
	}
	switch {
	case is:
	case !c.known && (c.copies || c.moves || c.others):
		doubtful = true
	case !c.copies && c.moves && !c.itanium:
		is = !c.partial // it cannot be copied
	case c.trivial && !c.moves:
	case c.copies || c.itanium && (c.moves || c.others):
		doubtful = true
	}
	return is, doubtful && !is
}

// An answer is whether something is so, and whether that is not known.
type answer struct{ is, doubtful bool }

// resultByAddress reports the same of results of functions that are no methods, by Microsoft's rule.
func (r *reader) resultByAddress(index uint32, depth int) answer {
	index = r.definition(r.elements(index))
	if known, ok := r.results[index]; ok {
		return known
	}
	c, t := r.classes[index], r.built[index]
	if c == nil || t == nil || depth > maxDepth {
		return answer{false, true}
	}
	r.results[index] = answer{false, true} // of one that is a member of itself
	var a answer
	if t.Kind == types.Text || c.bases || c.private || c.polymorphic || c.ours || t.Indirect {
		a.is = true
	} else {
		a.doubtful = t.Doubtful || c.partial || c.fixed || (c.copies || c.moves || c.others) && !c.trivial
		for _, m := range c.members {
			within := r.resultByAddress(m, depth+1)
			a.doubtful = a.doubtful || within.is || within.doubtful
		}
	}
	r.results[index] = a
	return a
}
