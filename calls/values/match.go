package values

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"logparser/rows"
	"logparser/symbols/types"
)

// A Test says which values a [Matcher] looks for. Number and Text are faster forms of Fits; they may be nil.
type Test struct {
	// Fits reports whether a value fits. It must not look at a text's shown form, only at its characters.
	Fits func(v *rows.Value) bool
	// Number returns what Fits returns for a value that is not a text. It may be set only if Fits depends on nothing but the
	// kind and the bits of such a value.
	Number func(kind rows.ValueKind, bits uint64) bool
	// Text returns what Fits returns for a text with these characters. It must not keep the string, whose bytes may change later.
	Text func(characters string) bool
}

// A Matcher tests one argument of a call, or its result. It decodes only the recorded bytes that are needed for that. Several
// goroutines may use it at once if they may call the functions of its Test.
type Matcher struct {
	d      *Decoder
	c      *Callee
	plan   []Value
	result bool
	parts  []matchedPart
	test   Test
}

// A matchedPart is a value of the plan that may contain the part that a matcher looks for.
type matchedPart struct {
	value int // index in the plan
	// rest is the path from the value to the part, "" if the part is the value itself.
	rest string
	// plain is the type of the part if the part is a number at a fixed offset in the value. Otherwise it is nil.
	plain  *types.Type
	offset int // bytes
}

// AtEnter reports whether the argument with a path is taken at the beginning of calls, not at their end.
func AtEnter(path string) bool { return !isOut(path) }

// Matcher returns a matcher for the argument with a path, or for the part of the result with a path ("" is the whole result).
// The matcher reads the bytes that were taken at the beginning of calls if enter is set, else those taken at their end. It is nil
// if the function has no such value there. ok is false if these bytes are not enough: then the whole call has to be decoded.
func (d *Decoder) Matcher(c *Callee, enter bool, path string, test Test) (m *Matcher, ok bool) {
	f := d.Function(c)
	if f == nil {
		return nil, true
	}
	named := enter || isOut(path) // the path begins with the name of an argument, not with a member of the result
	m = &Matcher{d: d, c: c, plan: f.Leave, result: !named, test: test}
	if enter {
		m.plan = f.Enter
	}
	scattered := false
	for i := range m.plan {
		p := &m.plan[i]
		part := matchedPart{value: i, rest: path}
		if !named && isOut(p.Name) {
			continue
		}
		if named {
			name := p.Name
			if name == noName {
				name = ""
			}
			rest, found := strings.CutPrefix(path, name)
			if !found || rest != "" && (name == "" || rest[0] != '.') {
				continue
			}
			part.rest = strings.TrimPrefix(rest, ".")
		}
		if named && isTextOf(m.plan, i) {
			if p.Op.Kind == Unknown || part.rest != "" {
				continue
			}
			// The struct has a member with this path, too, but that is only the text's pointer.
			m.parts = []matchedPart{part}
			return m, true
		}
		if p.Op.Kind == Unknown {
			if p.Type.Name == types.NullPointer || isBare(p.Type) {
				return nil, false // the value is known although the record has no bytes of it
			}
			if part.rest != "" {
				continue
			}
		}
		if test.Number != nil && (p.Op.Kind == Direct && p.Op.Size == p.Type.Size || p.Op.Kind == Memory && p.Op.Size >= p.Type.Size) {
			part.plain, part.offset = plainPart(p.Type, part.rest, 0)
		}
		// The texts of a struct are recorded as values of their own, so how the struct is shown depends on several values.
		scattered = scattered || named && part.plain == nil && hasTexts(m.plan, i)
		m.parts = append(m.parts, part)
	}
	switch {
	case scattered:
		return nil, false
	case len(m.parts) == 0:
		return nil, true
	}
	return m, true
}

// plainPart returns the type and the offset of the part of a type that has a path, if that part is a number; else nil.
func plainPart(t *types.Type, path string, depth int) (plain *types.Type, offset int) {
	if path == "" {
		switch t.Kind {
		case types.Int, types.Uint, types.Bool, types.Char, types.Enum, types.Flags:
			if t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8 {
				return t, 0
			}
		case types.Float:
			if t.Size == 4 || t.Size == 8 {
				return t, 0
			}
		case types.Pointer, types.Reference:
			if (t.Size == 8 || t.Size == 4) && !isClass(t) {
				return t, 0
			}
		}
		return nil, 0
	}
	const few = 16 // with more members, some may not be shown, and a member that is not shown does not fit
	if t.Kind != types.Struct || depth > 2 || len(t.Members) > few || strings.HasPrefix(t.Name, "std::") {
		return nil, 0
	}
	for i := range t.Members {
		m := &t.Members[i]
		rest, found := strings.CutPrefix(path, m.Name)
		if m.Type == nil || m.Name == "" || m.Name == types.Base || !found || rest != "" && rest[0] != '.' {
			continue
		}
		if m.Bits != 0 || m.Offset < 0 || m.Offset > t.Size-m.Type.Size || path == types.Class {
			return nil, 0
		}
		plain, offset = plainPart(m.Type, strings.TrimPrefix(rest, "."), depth+1)
		return plain, m.Offset + offset
	}
	return nil, 0
}

// Match reports whether the value in the bytes that were taken at a call fits.
func (m *Matcher) Match(taken []byte) bool {
	in := input{b: taken}
	at := 0
	for i := range m.parts {
		part := &m.parts[i]
		for ; at < part.value; at++ {
			in.skip(&m.plan[at])
		}
		at++
		fits, there := m.matchPart(&in, part)
		if fits || there && !m.result {
			return fits
		}
	}
	return false
}

// matchPart reports whether a part fits, and whether the value contains that part at all.
func (m *Matcher) matchPart(in *input, part *matchedPart) (fits, there bool) {
	p := &m.plan[part.value]
	if part.plain != nil {
		if p.Op.Kind == Memory {
			switch state := in.take(1); {
			case state == nil:
				return false, part.rest == ""
			case state[0] == 1 && part.rest == "":
				return m.test.Number(rows.PointerValue, 0), true
			case state[0] != 0:
				in.over = in.over || state[0] > 2
				return false, part.rest == ""
			}
		}
		b := in.take(p.Op.Size)
		if b == nil {
			return false, part.rest == ""
		}
		kind, bits := number(part.plain, b[part.offset:part.offset+part.plain.Size])
		return m.test.Number(kind, bits), true
	}
	var v rows.Value
	if p.Op.isText() {
		if m.test.Text != nil && part.rest == "" {
			if s, _, ok := in.charactersAt(p.Op.Max); ok {
				return m.test.Text(unsafe.String(unsafe.SliceData(s), len(s))), true
			}
		}
		v = in.characters(p.Name, p.Type.Name, p.Op.Max)
	} else {
		v = m.d.value(m.c, in, p)
	}
	if part.rest == "" {
		return m.test.Fits(&v), true
	}
	if found := rows.Find(v.Parts, part.rest); found != nil {
		return m.test.Fits(found), true
	}
	return false, false
}

// charactersAt takes the characters of a text of which the recorder kept no more than most bytes. cut says that the text was
// longer. ok is false, and nothing is taken, if there are no characters: the pointer was null or not readable, or bytes are
// missing.
func (in *input) charactersAt(most int) (s []byte, cut, ok bool) {
	if in.over || len(in.b) < 2 {
		return nil, false, false
	}
	n := int(binary.LittleEndian.Uint16(in.b))
	kept := min(n, most)
	if n == textNull || n == textNotReadable || len(in.b)-2 < kept {
		return nil, false, false
	}
	s, in.b = in.b[2:2+kept], in.b[2+kept:]
	return s, n > most, true
}

// number returns the kind and the bits that decoding gives to a number.
func number(t *types.Type, b []byte) (rows.ValueKind, uint64) {
	switch t.Kind {
	case types.Int, types.Char, types.Enum, types.Flags:
		return rows.SignedValue, uint64(signed(b))
	case types.Float:
		v := rows.Value{}
		showFloat(&v, b)
		return v.Kind, v.Bits
	case types.Pointer, types.Reference:
		return rows.PointerValue, unsigned(b)
	}
	return rows.UnsignedValue, unsigned(b)
}

// skip takes the bytes of a value without decoding them.
func (in *input) skip(p *Value) {
	switch p.Op.Kind {
	case Direct:
		in.take(p.Op.Size)
	case Memory:
		if state := in.take(1); state == nil {
			break
		} else if state[0] == 0 {
			in.take(p.Op.Size)
		} else if state[0] > 2 {
			in.over = true
		}
	case Text, String, View:
		if b := in.take(2); b != nil {
			if n := int(binary.LittleEndian.Uint16(b)); n != textNull && n != textNotReadable {
				in.take(min(n, p.Op.Max))
			}
		}
	}
}

// Whole reports whether all values of the log were taken by the plan. Then a call of a function for which [Decoder.Matcher]
// returns nil has no value that could fit.
func (d *Decoder) Whole() bool {
	return d.plan != nil && len(d.places) == 0 && d.taken.Events == nil && !d.taken.Registers
}
