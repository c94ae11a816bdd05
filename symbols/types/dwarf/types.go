package dwarf

import (
	"debug/dwarf"
	"strconv"
	"strings"

	"logparser/symbols/types"
)

// opaque is a type of which only the size is known.
func opaque(name string, size int) *types.Type {
	return &types.Type{Kind: types.Opaque, Name: name, Size: size}
}

// typeAt returns the type at an offset of the unit, nil for none. Types refer to each other
// in circles: one that is being read has its name and its size already.
func (r *reader) typeAt(at dwarf.Offset, depth int) *types.Type {
	if t, ok := r.built[at]; ok {
		return t
	}
	if depth > maxDepth {
		return nil
	}
	e, err := r.entry(at)
	if err != nil || e == nil {
		return nil
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	size := 0
	if n, ok := e.Val(dwarf.AttrByteSize).(int64); ok && n >= 0 && n <= 1<<30 {
		size = int(n)
	}
	of, hasType := e.Val(dwarf.AttrType).(dwarf.Offset)
	target := func() *types.Type {
		if !hasType {
			return nil
		}
		return r.typeAt(of, depth+1)
	}
	switch e.Tag {
	case dwarf.TagBaseType:
		t := base(e, name, size)
		r.built[at] = t
		return t
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		return r.pointer(e, at, of, hasType, depth)
	case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.Tag(0x47): // atomic
		word := map[dwarf.Tag]string{dwarf.TagConstType: " const", dwarf.TagVolatileType: " volatile"}[e.Tag]
		t := target()
		if t == nil {
			return opaque("void"+word, 0)
		}
		if word == "" {
			return t
		}
		return r.copyOf(t, at, t.Name+word, t.Const || e.Tag == dwarf.TagConstType)
	case dwarf.TagTypedef, tagTemplateAlias:
		t := target()
		if t == nil || types.NamedByClass(t) {
			return t
		}
		return r.copyOf(t, at, types.PlainName(join(r.scopes[at], name)), t.Const)
	case dwarf.TagEnumerationType:
		return r.enum(e, at, name, size, target)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return r.class(e, at, name, size, depth)
	case dwarf.TagArrayType:
		return r.array(e, at, target, depth)
	case dwarf.TagSubroutineType:
		t := opaque(types.Routine, 0)
		r.built[at] = t
		return t
	case dwarf.TagPtrToMemberType:
		t := &types.Type{Kind: types.Int, Size: r.im.PointerSize, Name: "member pointer"}
		if to := target(); to != nil && to.Name == types.Routine {
			t = methodPointer(r.im.PointerSize)
		}
		r.built[at] = t
		return t
	case dwarf.TagUnspecifiedType:
		t := opaque(name, 0)
		if strings.Contains(name, "nullptr") {
			t = &types.Type{Kind: types.Pointer, Size: r.im.PointerSize, Name: types.NullPointer}
		}
		r.built[at] = t
		return t
	}
	return opaque(name, size)
}

// copyOf returns a copy of a type with another name, for the entry at an offset. A copy of a class that is still being read gets
// the rest when that is done.
func (r *reader) copyOf(t *types.Type, at dwarf.Offset, name string, constant bool) *types.Type {
	c := *t
	c.Name, c.Const = name, constant
	r.built[at] = &c
	if copies, unfinished := r.unfinished[t]; unfinished {
		r.unfinished[t] = append(copies, &c)
		r.unfinished[&c] = nil
	}
	return &c
}

// finish says that a class has been read.
func (r *reader) finish(t *types.Type) {
	copies := r.unfinished[t]
	delete(r.unfinished, t)
	for _, c := range copies {
		name, constant := c.Name, c.Const
		*c = *t
		c.Name, c.Const = name, constant
		r.finish(c)
	}
}

// methodPointer is the type of pointers to methods by the C++ ABI of Itanium.
func methodPointer(word int) *types.Type {
	return &types.Type{Kind: types.Struct, Size: 2 * word, Name: types.MethodPointer, Members: []types.Member{
		{Name: "function", Type: &types.Type{Kind: types.Pointer, Size: word, Name: "void*"}},
		{Name: "adjustment", Type: &types.Type{Kind: types.Int, Size: word, Name: "long"}, Offset: word},
	}}
}

// shortNames are those that people write.
var shortNames = map[string]string{
	"short int": "short", "short unsigned int": "unsigned short", "long int": "long", "long unsigned int": "unsigned long",
	"long long int": "long long", "long long unsigned int": "unsigned long long", "__int128 unsigned": "unsigned __int128",
	"char unsigned": "unsigned char", "char signed": "signed char",
}

// base makes a base type.
func base(e *dwarf.Entry, name string, size int) *types.Type {
	encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
	if short := shortNames[name]; short != "" {
		name = short
	}
	t := &types.Type{Name: name, Size: size}
	switch encoding {
	case 0x02:
		t.Kind = types.Bool
	case encodingSigned, 0x0d:
		t.Kind = types.Int
	case 0x07, 0x01:
		t.Kind = types.Uint
	case 0x06, 0x08: // characters with a sign and without
		t.Kind = types.Char
		if name == "unsigned char" || name == "signed char" {
			t.Kind = types.Uint
			if name == "signed char" {
				t.Kind = types.Int
			}
		}
	case encodingUTF:
		t.Kind = types.Char
	case encodingFloat:
		t.Kind = types.Float
		if size == 2 || strings.Contains(name, "128") {
			t.Kind = types.Opaque
		}
	case 0x03: // a complex number
		part := &types.Type{Kind: types.Float, Size: size / 2, Name: "part"}
		t.Kind, t.Complex = types.Struct, true
		t.Members = []types.Member{{Name: "re", Type: part}, {Name: "im", Type: part, Offset: size / 2}}
	}
	if strings.HasPrefix(name, "wchar_t") {
		t.Kind = types.Char
	}
	return t
}

// pointer makes a pointer or a reference.
func (r *reader) pointer(e *dwarf.Entry, at, of dwarf.Offset, hasType bool, depth int) *types.Type {
	t := &types.Type{Kind: types.Pointer, Size: r.im.PointerSize}
	mark := "*"
	switch e.Tag {
	case dwarf.TagReferenceType:
		t.Kind, mark = types.Reference, "&"
	case dwarf.TagRvalueReferenceType:
		t.Kind, mark = types.Reference, "&&"
	}
	t.Name = "void" + mark
	r.built[at] = t // what it points to may lead back here
	if hasType {
		if t.Target = r.typeAt(of, depth+1); t.Target != nil {
			t.Name = t.Target.Name + mark
		}
	}
	if to := t.Target; t.Kind == types.Pointer && to != nil && to.Kind == types.Char && to.Size == 1 && to.Const {
		t.Kind, t.Target = types.Text, nil
	}
	return t
}

func (r *reader) enum(e *dwarf.Entry, at dwarf.Offset, name string, size int, target func() *types.Type) *types.Type {
	list, err := r.children(e, maxMembers)
	t := &types.Type{Kind: types.Enum, Size: size, Name: join(r.scopes[at], name)}
	if name == "" {
		t.Name = "enum"
	}
	if err != nil {
		return t
	}
	for _, c := range list {
		if c.Tag != dwarf.TagEnumerator {
			continue
		}
		n, _ := c.Val(dwarf.AttrName).(string)
		v, _ := c.Val(dwarf.AttrConstValue).(int64)
		t.Enumerators = append(t.Enumerators, types.Enumerator{Value: v, Name: n})
	}
	t.Kind = types.KindOfEnum(t.Enumerators)
	if size == 0 {
		if of := target(); of != nil {
			t.Size = of.Size
		}
	}
	r.built[at] = t
	return t
}

// class makes a class, a struct or a union.
func (r *reader) class(e *dwarf.Entry, at dwarf.Offset, name string, size, depth int) *types.Type {
	full := types.PlainName(join(r.scopes[at], name))
	t := &types.Type{Kind: types.Struct, Size: size, Name: full}
	if name == "" {
		t.Name = map[dwarf.Tag]string{dwarf.TagStructType: "struct", dwarf.TagClassType: "class", dwarf.TagUnionType: "union"}[e.Tag]
	}
	cc, told := e.Val(dwarf.AttrCalling).(int64)
	t.Indirect = told && cc == ccByReference
	if n, ok := e.Val(attrAlignment).(int64); ok && n > 0 && n <= 1<<12 {
		t.Align = int(n)
	}
	r.built[at] = t
	if text := types.StandardText(full); text != "" {
		t.Kind, t.Name = types.Text, text
		t.Indirect = t.Indirect || text == types.StdString
		t.Library = r.library(e, r.scopes[at], size)
		return t
	}
	if declared, _ := e.Val(dwarf.AttrDeclaration).(bool); declared {
		t.Kind, t.Size = types.Opaque, 0
		return t
	}
	list, err := r.children(e, maxMembers)
	if err != nil {
		t.Kind = types.Opaque
		return t
	}
	r.unfinished[t] = nil
	defer r.finish(t)
	var bases, members []types.Member
	var methods []*dwarf.Entry
	for _, c := range list {
		switch c.Tag {
		case dwarf.TagMember, dwarf.TagInheritance:
			m, ok := r.member(c, depth)
			if !ok {
				continue
			}
			if of := valueOf(m.Type); !told && of != nil {
				t.Indirect = t.Indirect || of.Indirect
				t.Doubtful = t.Doubtful || of.Doubtful
			}
			if c.Tag == dwarf.TagInheritance {
				if virtual, _ := c.Val(dwarf.AttrVirtuality).(int64); virtual != 0 {
					// A virtual base: where it lies is known only when the program runs.
					t.Indirect = t.Indirect || !told
					continue
				}
				m.Name = types.Base
				bases = append(bases, m)
				continue
			}
			members = append(members, m)
		case dwarf.TagSubprogram:
			methods = append(methods, c)
		}
	}
	t.Members = append(bases, members...)
	if strings.HasPrefix(full, "std::complex<") {
		for i := range t.Members {
			// Of libc++. What libstdc++ has is a complex number of C.
			switch m := &t.Members[i]; m.Name {
			case "__re_":
				m.Name = "re"
			case "__im_":
				m.Name = "im"
			}
		}
	}
	if !told {
		r.special(t, at, name, methods)
	}
	return t
}

// valueOf is a type, or that of an array's elements.
func valueOf(t *types.Type) *types.Type {
	for t != nil && t.Kind == types.Array {
		t = t.Target
	}
	return t
}

// attrDefaulted says that a special member is the one that the compiler makes (= default).
const (
	attrDefaulted    = dwarf.Attr(0x8b)
	attrDeleted      = dwarf.Attr(0x8a)
	defaultedInClass = 1
)

// special finds out whether values of a class are passed by their address, for compilers that do not say so.
// They are if the destructor, the copy constructor or the move constructor does anything, if neither of these
// constructors can be called, or if the class has virtual methods. Before DWARF 5 debug information does not
// tell a member that somebody wrote from one that is only declared (= default).
func (r *reader) special(t *types.Type, at dwarf.Offset, class string, methods []*dwarf.Entry) {
	class, _, _ = strings.Cut(class, "<")
	copies, deleted := 0, 0
	written := false
	for _, m := range methods {
		if virtual, _ := m.Val(dwarf.AttrVirtuality).(int64); virtual != 0 {
			t.Indirect = true
			return
		}
		name, _ := m.Val(dwarf.AttrName).(string)
		name, _, _ = strings.Cut(name, "<")
		destructor := name == "~"+class
		if !destructor && (name != class || !r.copies(m, at)) {
			continue
		}
		artificial, _ := m.Val(dwarf.AttrArtificial).(bool)
		defaulted, _ := m.Val(attrDefaulted).(int64)
		gone, _ := m.Val(attrDeleted).(bool)
		if !destructor {
			copies++
			if gone {
				deleted++
			}
		}
		if !artificial && !gone && defaulted != defaultedInClass {
			written = true
		}
	}
	switch {
	case t.Indirect:
	case copies > 0 && copies == deleted:
		t.Indirect = true
	case written && r.version != 0 && r.version < 5:
		t.Doubtful = true
	case written:
		t.Indirect = true
	}
}

// copies reports whether a constructor takes a reference to its own class, and nothing else.
func (r *reader) copies(method *dwarf.Entry, class dwarf.Offset) bool {
	e, err := r.entry(method.Offset)
	if err != nil || e == nil {
		return false
	}
	list, err := r.children(e, 8)
	if err != nil {
		return false
	}
	var taken []dwarf.Offset
	for _, c := range list {
		artificial, _ := c.Val(dwarf.AttrArtificial).(bool)
		if of, ok := c.Val(dwarf.AttrType).(dwarf.Offset); ok && c.Tag == dwarf.TagFormalParameter && !artificial {
			taken = append(taken, of)
		}
	}
	if len(taken) != 1 {
		return false
	}
	of, reference := taken[0], false
	for range 8 {
		e, err := r.entry(of)
		if err != nil || e == nil {
			return false
		}
		switch e.Tag {
		case dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
			reference = true
		case dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagTypedef:
		default:
			return reference && e.Offset == class
		}
		next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return false
		}
		of = next
	}
	return false
}

// member reads a member or a base class. It is not ok if that lies outside the object, as a static member does.
func (r *reader) member(e *dwarf.Entry, depth int) (m types.Member, ok bool) {
	if external, _ := e.Val(dwarf.AttrExternal).(bool); external {
		return m, false // static
	}
	m.Name, _ = e.Val(dwarf.AttrName).(string)
	alignment, _ := e.Val(attrAlignment).(int64)
	if strings.HasPrefix(m.Name, "_vptr") {
		m.Name, m.Type = types.Class, &types.Type{Kind: types.Pointer, Size: r.im.PointerSize, Name: types.Class}
		return m, true
	}
	switch at := e.Val(dwarf.AttrDataMemberLoc).(type) {
	case int64:
		if at < 0 || at > 1<<30 {
			return m, false
		}
		m.Offset = int(at)
	case []byte: // an expression
		if e.Tag != dwarf.TagInheritance {
			return m, false
		}
	}
	if of, has := e.Val(dwarf.AttrType).(dwarf.Offset); has {
		m.Type = r.typeAt(of, depth+1)
	}
	if m.Type != nil && alignment > int64(m.Type.Align) && alignment <= 1<<12 {
		aligned := *m.Type
		aligned.Align = int(alignment)
		m.Type = &aligned
	}
	if n, has := e.Val(dwarf.AttrBitSize).(int64); has && n > 0 && n <= 64 && m.Type != nil && m.Type.Size > 0 && m.Type.Size <= 8 {
		unit := 8 * m.Type.Size
		at, has := e.Val(dwarf.AttrDataBitOffset).(int64)
		if !has {
			// Of DWARF before version 4: counted from the highest bit.
			from, _ := e.Val(dwarf.AttrBitOffset).(int64)
			at = int64(8*m.Offset) + int64(unit) - from - n
		}
		if at < 0 || at > 1<<33 {
			return m, false
		}
		m.Offset = int(at) / unit * m.Type.Size
		m.Bit, m.Bits = int(at)-8*m.Offset, int(n)
		if m.Bit+m.Bits > unit {
			return m, false
		}
	}
	return m, true
}

// array makes an array, of several dimensions one within another.
func (r *reader) array(e *dwarf.Entry, at dwarf.Offset, target func() *types.Type, depth int) *types.Type {
	list, err := r.children(e, 16)
	if err != nil {
		return opaque("array", 0)
	}
	vector, _ := e.Val(attrVector).(bool)
	of := target()
	if of == nil {
		return opaque("array", 0)
	}
	t, suffix := of, ""
	for i := len(list) - 1; i >= 0; i-- {
		n := -1
		if v, ok := list[i].Val(dwarf.AttrCount).(int64); ok {
			n = int(v)
		} else if v, ok := list[i].Val(dwarf.AttrUpperBound).(int64); ok {
			n = int(v) + 1
		}
		if n < 0 || n > 1<<24 || t.Size > 0 && n > 1<<30/t.Size {
			n = 0
		}
		suffix = "[" + strconv.Itoa(n) + "]" + suffix
		t = &types.Type{Kind: types.Array, Target: t, Count: n, Size: n * t.Size, Name: of.Name + suffix}
	}
	if vector {
		t = opaque(of.Name+" vector", t.Size)
	}
	r.built[at] = t
	return t
}
