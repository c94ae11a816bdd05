package values

import (
	"strconv"
	"strings"

	"logparser/rows"
	"logparser/symbols/types"
)

// A text in a struct is taken as a value of its own, named PARAMETER.MEMBER. These values come after all parameters, because a
// record has limited room and parameters matter more. The decoder shows each text within its struct again.

// maxTexts is how many texts of a parameter are taken.
const maxTexts = 4

// followCharacters makes values of type char* take their text, as values of type char const* do.
func followCharacters(list []Value, word int) {
	for i := range list {
		v := &list[i]
		if v.Op.Kind != Direct || v.Type.Kind != types.Pointer || v.Op.Size != word {
			continue
		}
		if to := v.Type.Target; to != nil && isCharacter(to) {
			v.Op = Op{Kind: Text, Max: textBytes}
		}
	}
}

// isCharacter reports whether a type is char, whose arrays are texts.
func isCharacter(t *types.Type) bool { return t.Kind == types.Char && t.Size == 1 && t.Name == "char" }

// textAt returns the operation that takes a text of type t at an offset in memory.
func textAt(t *types.Type, offset int) (Op, bool) {
	switch {
	case t.Kind != types.Text || offset < 0 || offset > maxSize:
		return Op{}, false
	case (isView(t) || isString(t)) && t.Library == "":
		return Op{}, false
	case isView(t):
		return Op{Kind: View, At: true, Offset: offset, Max: textBytes, Library: t.Library}, true
	case isString(t):
		return Op{Kind: String, At: true, Offset: offset + t.Begin, Max: textBytes, Library: t.Library}, true
	}
	return Op{Kind: Text, At: true, Offset: offset, Max: textBytes}, true
}

// A textPlace is a text in a struct.
type textPlace struct {
	name   string
	t      *types.Type
	offset int
}

// textsIn appends the texts among the members of a struct.
func textsIn(list []textPlace, t *types.Type, name string, offset, depth int) []textPlace {
	if t.Kind != types.Struct || depth > 2 || inside(t) {
		return list
	}
	for i := range t.Members {
		m := &t.Members[i]
		if m.Type == nil || m.Bits > 0 || len(list) == maxTexts || i == maxParts {
			continue
		}
		member := m.Name
		if member == types.Base {
			member = m.Type.Name
		}
		if member == "" {
			continue
		}
		if m.Type.Kind == types.Text {
			list = append(list, textPlace{name + "." + member, m.Type, offset + m.Offset})
		} else {
			list = textsIn(list, m.Type, name+"."+member, offset+m.Offset, depth+1)
		}
	}
	return list
}

// appendTexts appends values for the texts in the structs of list.
func appendTexts(list []Value, parameters []types.Parameter, word int) []Value {
	for i := range parameters {
		p := &parameters[i]
		for k, n := 0, len(list); k < n; k++ {
			if v := list[k]; v.Name == p.Name && p.Name != "" && p.Type != nil {
				for _, text := range textsIn(nil, v.Type, p.Name, 0, 0) {
					if op, place := textOf(&v, &text, word); op.Kind != Unknown && len(list) < MaxValues {
						list = append(list, Value{Name: text.name, Place: place, Op: op, Type: text.t})
					}
				}
			}
		}
	}
	return list
}

// appendTextsOut appends values for the texts in structs that are read when a call returns.
func appendTextsOut(list []Value, word int) []Value {
	for k, n := 0, len(list); k < n; k++ {
		v := list[k]
		if !strings.HasSuffix(v.Name, atLeave) || v.Op.Kind != Memory {
			continue
		}
		for _, text := range textsIn(nil, v.Type, v.Name, 0, 0) {
			if op, place := textOf(&v, &text, word); op.Kind != Unknown && len(list) < MaxValues {
				list = append(list, Value{Name: text.name, Place: place, Op: op, Type: text.t})
			}
		}
	}
	return list
}

// textOf returns the operation and the place for a text in a struct. word is the size of a pointer in bytes.
func textOf(v *Value, text *textPlace, word int) (Op, string) {
	switch {
	case v.Op.Kind == Memory && text.offset+word <= v.Op.Size:
		op, _ := textAt(text.t, v.Op.Offset+text.offset)
		return op, v.Place
	case v.Op.Kind != Direct || isString(text.t) || isView(text.t) && text.t.Library == "" || text.offset%word != 0:
		return Op{}, ""
	}
	op := Op{Kind: Text, Max: textBytes}
	words := 1
	if isView(text.t) {
		op = Op{Kind: View, Max: textBytes, Library: text.t.Library}
		words = 2
	}
	if at, ok := strings.CutPrefix(v.Place, "stack+"); ok {
		n, err := strconv.Atoi(at)
		if err != nil {
			return Op{}, ""
		}
		return op, "stack+" + strconv.Itoa(n+text.offset)
	}
	parts := strings.Split(v.Place, "+")
	first := text.offset / word
	if strings.Contains(v.Place, "stack") || first+words > len(parts) {
		return Op{}, ""
	}
	return op, strings.Join(parts[first:first+words], "+")
}

// isTextOf reports whether value i is a text of a struct before it in the list.
func isTextOf(list []Value, i int) bool {
	if strings.IndexByte(list[i].Name, '.') < 0 {
		return false
	}
	for k := range i {
		if rest, ok := strings.CutPrefix(list[i].Name, list[k].Name); ok && list[k].Name != "" && rest != "" && rest[0] == '.' {
			return true
		}
	}
	return false
}

// hasTexts reports whether the list has texts of value i.
func hasTexts(list []Value, i int) bool {
	for k := i + 1; k < len(list); k++ {
		if strings.HasPrefix(list[k].Name, list[i].Name+".") {
			return true
		}
	}
	return false
}

// putText replaces the part with a path of a value by a text, and updates the value's shown form.
func putText(v *rows.Value, path string, text *rows.Value) bool {
	for i := range v.Parts {
		p := &v.Parts[i]
		rest, ok := strings.CutPrefix(path, p.Name)
		switch {
		case !ok || p.Name == "":
			continue
		case rest == "":
			text.Name = p.Name
			*p = *text
		case rest[0] != '.' || !putText(p, rest[1:], text):
			continue
		}
		showAnew(v)
		return true
	}
	return false
}

// showAnew makes the shown form of a struct from its parts.
func showAnew(v *rows.Value) {
	var text strings.Builder
	parts := v.Parts
	if len(parts) > 0 && parts[0].Name == types.Class && strings.HasPrefix(v.Text, parts[0].Text+" {") {
		text.WriteString(parts[0].Text + " ")
		parts = parts[1:]
	}
	text.WriteByte('{')
	for i := range parts {
		if i > 0 {
			text.WriteString(", ")
		}
		if parts[i].Name != "" {
			text.WriteString(parts[i].Name + " = ")
		}
		text.WriteString(parts[i].Text)
	}
	if strings.HasSuffix(v.Text, ", …}") {
		text.WriteString(", …")
	}
	text.WriteByte('}')
	v.Text = text.String()
}
