package values

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"

	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/rows"
	"logparser/symbols/types"
)

// The texts of values that are not known, in the window and in saved files.
const (
	notTaken    = "?"            // the plan says that it cannot be had
	notRecorded = "not recorded" // it did not fit into the record
	notReadable = "not readable" // the program's memory was not
	unverified  = "unverified"   // what the bytes mean is not known for sure
	damaged     = "damaged"      // the record contradicts the plan
	null        = "null"
)

// A Callee is the function that a call called, as far as values need it. It is not copied, nor changed once values
// were made of a call.
type Callee struct {
	// Module is the base name of its module, Identity the module's.
	Module   string
	Identity modules.Identity
	// RVA is that of any byte of the function.
	RVA uint64
	// Symbol names addresses of the call's process, "" for those without a name; it may be nil.
	Symbol func(address uint64) string
	// known is what a decoder's plan says of it, nil until it was asked.
	known atomic.Pointer[known]
}

// known is what the plan of a decoder says of a function.
type known struct {
	by       *Decoder
	function *Function
}

// A Decoder makes values of what a log has of them. It may be used by any number of
// goroutines.
type Decoder struct {
	taken  *parser.ValuesTaken
	plan   *Plan
	places map[uint32]*place
}

// A place is where a program gives values, with their names.
type place struct {
	of    *parser.ValuePlace
	names []string
}

// NewDecoder returns a decoder of a log's values. With an error, which is about the plan, the
// decoder takes what was taken by that as unverified.
func NewDecoder(taken *parser.ValuesTaken) (*Decoder, error) {
	d := &Decoder{taken: taken, places: make(map[uint32]*place)}
	for number, p := range taken.Places {
		d.places[number] = &place{p, splitNames(p.Names)}
	}
	if taken.Plan == nil {
		if taken.PlanHash != 0 {
			return d, message.Errorf("the plan of the values is not in the log as a whole; they are shown as unverified")
		}
		return d, nil
	}
	plan, err := Read(bytes.NewReader(taken.Plan))
	if err != nil {
		return d, message.Errorf("the plan of the values cannot be read; they are shown as unverified: %w", err)
	}
	d.plan = plan
	return d, nil
}

// Function returns what the plan says of a function, nil if nothing, or if it was made from
// another build.
func (d *Decoder) Function(c *Callee) *Function {
	if d.plan == nil {
		return nil
	}
	if k := c.known.Load(); k != nil && k.by == d {
		return k.function
	}
	k := &known{d, d.find(c)}
	c.known.Store(k)
	return k.function
}

// find looks a function up in the plan.
func (d *Decoder) find(c *Callee) *Function {
	for i := range d.plan.Modules {
		m := &d.plan.Modules[i]
		if m.Name != c.Module || m.Identity.Compare(c.Identity) != modules.Same && !(m.Identity.IsZero() && c.Identity.IsZero()) {
			continue
		}
		return m.Function(c.RVA)
	}
	return nil
}

// Named returns the arguments of a function's calls of which the log has nothing: they are there, and not known. None
// of them can be taken, or the call was one that the compiler put into another function, whose code calls the hooks
// elsewhere. It returns nil for functions of which the log should have something.
func (d *Decoder) Named(c *Callee) []rows.Value {
	f := d.Function(c)
	switch {
	case f == nil:
		return nil
	case !slices.ContainsFunc(f.Enter, func(v Value) bool { return v.Op.Kind != Unknown }):
		return d.byPlan(c, nil, true)
	case !slices.ContainsFunc(f.Hooks, func(h Hook) bool { return !h.Leaves }):
		return nil
	}
	var list []rows.Value
	for i := range f.Enter {
		v := &f.Enter[i]
		if isTextOf(f.Enter, i) {
			continue
		}
		named := Value{Name: strings.TrimPrefix(v.Name, noName), Type: v.Type} // and not taken
		list = append(list, d.value(c, &input{}, &named))
	}
	return list
}

// Returned returns the results of a call that ended and of which the log has none: it did not
// end by returning, or what it returned cannot be taken. It is nil where there is no result.
func (d *Decoder) Returned(c *Callee) []rows.Value {
	f := d.Function(c)
	if f == nil || len(f.Leave) == 0 {
		return nil
	}
	list := make([]rows.Value, 0, len(f.Leave))
	for i := range f.Leave {
		if v := &f.Leave[i]; !isTextOf(f.Leave, i) {
			list = append(list, unknown(v.Name, v.Type.Name, notTaken))
		}
	}
	return list
}

// Arguments returns the arguments of a call, nil for none.
func (d *Decoder) Arguments(c *Callee, v *parser.CallValues) []rows.Value {
	return d.values(c, v, true)
}

// Results returns the results of a call, nil for none.
func (d *Decoder) Results(c *Callee, v *parser.CallValues) []rows.Value {
	return d.values(c, v, false)
}

func (d *Decoder) values(c *Callee, v *parser.CallValues, enter bool) []rows.Value {
	var list []rows.Value
	switch v.Form {
	case parser.ValuesByPlan:
		list = d.byPlan(c, v.Taken, enter)
	case parser.ValuesOfRegisters:
		list = registers(v.Taken, enter)
	case parser.ValuesAsText:
		list = d.asText(v.Taken, enter)
	}
	for i := range v.Given {
		list = append(list, d.given(c, &v.Given[i], enter)...)
	}
	return list
}

// Outs parts what was taken where a call ended into what it returned and what it wrote where its arguments
// lead to, which is shown with these.
func Outs(list []rows.Value) (results, outs []rows.Value) {
	i := slices.IndexFunc(list, func(v rows.Value) bool { return isOut(v.Name) })
	if i < 0 {
		return list, nil
	}
	for _, v := range list {
		if isOut(v.Name) {
			outs = append(outs, v)
		} else {
			results = append(results, v)
		}
	}
	return results, outs
}

func unknown(name, typ, why string) rows.Value { return rows.Value{Name: name, Type: typ, Text: why} }

// byPlan takes apart what was taken by the plan.
func (d *Decoder) byPlan(c *Callee, b []byte, enter bool) []rows.Value {
	f := d.Function(c)
	if f == nil {
		return []rows.Value{unknown("", "", unverified)}
	}
	plan := f.Enter
	if !enter {
		plan = f.Leave
	}
	list := make([]rows.Value, 0, len(plan))
	in := input{b: b}
	for i := range plan {
		p := &plan[i]
		if p.isPlain() {
			list = list[:len(list)+1] // in place: a value is large
			v := &list[len(list)-1]
			v.Name, v.Type = p.Name, p.Type.Name
			in.plain(v, p)
			continue
		}
		if p.Op.isText() && p.Name != noName && !isTextOf(plan, i) {
			if s, cut, ok := in.charactersAt(p.Op.Max); ok {
				list = list[:len(list)+1]
				v := &list[len(list)-1]
				v.Name, v.Type, v.Kind, v.Cut = p.Name, p.Type.Name, rows.TextValue, cut
				showText(v, s)
				continue
			}
		}
		v := d.value(c, &in, p)
		if v.Name == noName {
			v.Name = ""
		}
		if (enter || isOut(p.Name)) && isTextOf(plan, i) {
			put := false
			for k := range list {
				if rest, ok := strings.CutPrefix(v.Name, list[k].Name+"."); ok && list[k].Name != "" && putText(&list[k], rest, &v) {
					put = true
					break
				}
			}
			if put {
				continue
			}
		}
		list = append(list, v)
	}
	return list
}

// isText reports whether what is taken is a text.
func (o *Op) isText() bool { return o.Kind == Text || o.Kind == String || o.Kind == View }

// isPlain reports whether a value is a number that is taken as it is, which most are.
func (p *Value) isPlain() bool {
	return p.Op.Kind == Direct && p.Op.Size == p.Type.Size && p.Op.Size <= 8 && p.Type.Kind >= types.Int && p.Type.Kind <= types.Float && p.Name != noName
}

// plain takes such a value, of which the name and type are there.
func (in *input) plain(v *rows.Value, p *Value) {
	b := in.take(p.Op.Size)
	if b == nil {
		v.Text = notRecorded
		return
	}
	switch p.Type.Kind {
	case types.Bool:
		showBool(v, b)
	case types.Char:
		showCharacter(v, b)
	case types.Float:
		showFloat(v, b)
	default:
		showInteger(v, b, p.Type.Kind == types.Int)
	}
}

// An input is the bytes that values are decoded from. Once a value lacks bytes, all that follow it
// are unknown.
type input struct {
	b    []byte
	over bool
}

// take returns the next n bytes, nil if they are not there.
func (in *input) take(n int) []byte {
	if in.over || n > len(in.b) {
		in.over = true
		return nil
	}
	b := in.b[:n:n]
	in.b = in.b[n:]
	return b
}

// value takes one value.
func (d *Decoder) value(c *Callee, in *input, p *Value) rows.Value {
	typ, name := p.Type, p.Type.Name
	if isClass(typ) {
		name = "" // it says what is taken, not of which type
	}
	switch p.Op.Kind {
	case Direct:
		if b := in.take(p.Op.Size); b != nil {
			if n := typ.Size - len(b); n > 0 && n < MaxDirect && typ.Kind == types.Struct {
				b = append(b, make([]byte, n)...) // padding
			}
			return d.show(p.Name, typ, b, newLimits(c))
		}
	case Memory:
		state := in.take(1)
		switch {
		case state == nil:
		case state[0] == 1:
			return rows.Value{Name: p.Name, Type: name, Text: null, Kind: rows.PointerValue}
		case state[0] == 2:
			return unknown(p.Name, name, notReadable)
		case state[0] == 0:
			if b := in.take(p.Op.Size); b != nil {
				return d.show(p.Name, typ, b, newLimits(c))
			}
		default:
			in.over = true
			return unknown(p.Name, name, damaged)
		}
	case Text, String, View:
		return in.text(p.Name, typ.Name, p.Op.Max)
	default:
		if typ.Name == types.NullPointer {
			return rows.Value{Name: p.Name, Type: name, Text: null, Kind: rows.PointerValue}
		}
		if isBare(typ) {
			return d.show(p.Name, typ, []byte{0}, newLimits(c))
		}
		return unknown(p.Name, name, notTaken)
	}
	return unknown(p.Name, name, notRecorded)
}

// Values of the field of a text's length that are no lengths.
const (
	textLonger      = 0xfffd
	textNotReadable = 0xfffe
	textNull        = 0xffff
)

// text decodes a text of which at most the given number of bytes was recorded.
func (in *input) text(name, typ string, most int) rows.Value {
	s, cut, ok := in.charactersAt(most)
	if !ok {
		return in.characters(name, typ, most)
	}
	v := rows.Value{Name: name, Type: typ, Kind: rows.TextValue, Cut: cut}
	showText(&v, s)
	return v
}

// showText shows the characters of a text. Most stand for themselves.
func showText(v *rows.Value, s []byte) {
	plain := true
	for _, c := range s {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			plain = false
			break
		}
	}
	if !plain {
		v.Characters = string(s)
		v.Text = quote(v.Characters)
	} else {
		v.Text = `"` + string(s) + `"`
		v.Characters = v.Text[1 : 1+len(s)]
	}
	if v.Cut {
		v.Text += "…"
	}
}

// characters decodes a text as text does, but does not make the form that is shown.
func (in *input) characters(name, typ string, most int) rows.Value {
	b := in.take(2)
	if b == nil {
		return unknown(name, typ, notRecorded)
	}
	n := int(binary.LittleEndian.Uint16(b))
	switch n {
	case textNull:
		return rows.Value{Name: name, Type: typ, Text: null, Kind: rows.PointerValue}
	case textNotReadable:
		return unknown(name, typ, notReadable)
	}
	cut := n > most
	s := in.take(min(n, most))
	if s == nil && n > 0 {
		return unknown(name, typ, notRecorded)
	}
	return rows.Value{Name: name, Type: typ, Kind: rows.TextValue, Characters: string(s), Cut: cut}
}

// splitNames splits the expressions of a macro's arguments at the commas between them.
func splitNames(s string) []string {
	var list []string
	depth, from := 0, 0
	var in byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case in != 0:
			if c == '\\' {
				i++
			} else if c == in {
				in = 0
			}
		case c == '"' || c == '\'':
			in = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			list = append(list, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	if last := strings.TrimSpace(s[from:]); last != "" || len(list) > 0 {
		list = append(list, last)
	}
	return list
}

// maxGivenText is how many bytes of a text that the program gives are kept.
const maxGivenText = 256

// enumCode is added to the code of an integer type for an enumeration of that type.
const enumCode = 64

// givenTypes are the types of values that the program gives, by their codes.
var givenTypes = [...]types.Type{
	1: {Kind: types.Bool, Size: 1, Name: "bool"}, 2: {Kind: types.Char, Size: 1, Name: "char"},
	3: {Kind: types.Int, Size: 1, Name: "signed char"}, 4: {Kind: types.Uint, Size: 1, Name: "unsigned char"},
	5: {Kind: types.Int, Size: 2, Name: "short"}, 6: {Kind: types.Uint, Size: 2, Name: "unsigned short"},
	7: {Kind: types.Int, Size: 4, Name: "int"}, 8: {Kind: types.Uint, Size: 4, Name: "unsigned int"},
	9: {Kind: types.Int, Size: 8, Name: "int64_t"}, 10: {Kind: types.Uint, Size: 8, Name: "uint64_t"},
	11: {Kind: types.Float, Size: 4, Name: "float"}, 12: {Kind: types.Float, Size: 8, Name: "double"},
	13: {Kind: types.Pointer, Size: 8, Name: "void*"}, 14: {Kind: types.Text, Name: ""}, 15: {Kind: types.Text, Name: ""},
}

// given takes apart what the program gave.
func (d *Decoder) given(c *Callee, g *parser.PlaceValues, enter bool) []rows.Value {
	p := d.places[g.Place]
	if p == nil {
		return []rows.Value{unknown("", "", unverified)}
	}
	in := input{b: g.Bytes}
	list := make([]rows.Value, 0, len(p.of.Codes))
	for i, code := range p.of.Codes {
		name, typ := "", ""
		if i < len(p.names) {
			name = p.names[i]
		}
		if !enter && len(p.of.Codes) == 1 {
			name = Result
		}
		if i < len(p.of.Types) {
			typ = p.of.Types[i]
		}
		of := code
		if code > enumCode {
			of -= enumCode
		}
		if of == 0 || int(of) >= len(givenTypes) {
			in.over = true
			list = append(list, unknown(name, typ, unverified))
			continue
		}
		t := &givenTypes[of]
		if typ == "" {
			typ = t.Name
		}
		if t.Kind == types.Text {
			v := in.text(name, typ, maxGivenText)
			if of == 15 && v.Kind == rows.TextValue {
				// The program's own words for it are no string.
				v.Text = strings.ToValidUTF8(printable(v.Characters), "�")
				if v.Cut {
					v.Text += "…"
				}
			}
			list = append(list, v)
			continue
		}
		b := in.take(t.Size)
		if b == nil {
			list = append(list, unknown(name, typ, notRecorded))
			continue
		}
		v := d.show(name, t, b, newLimits(c))
		v.Type = typ
		list = append(list, v)
	}
	return list
}

// Registers as the calling conventions of x86-64 have them: System V, and of Windows those of arguments. What
// returns by them there has the first of each class.
var (
	enterRegisters = [2][]string{{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}, {"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"}}
	leaveRegisters = [2][]string{{"rax", "rdx"}, {"xmm0", "xmm1"}}
	win64Registers = [2][]string{win64Integers[:], win64Vectors[:]}
)

// registers shows registers as they were.
func registers(b []byte, enter bool) []rows.Value {
	in := input{b: b}
	head := in.take(4)
	if head == nil {
		return []rows.Value{unknown("", "", damaged)}
	}
	names := enterRegisters
	switch {
	case !enter:
		names = leaveRegisters
	case int(head[0]) == len(win64Integers) && int(head[1]) == len(win64Vectors):
		names = win64Registers
	}
	list := make([]rows.Value, 0, int(head[0])+int(head[1])+int(head[2]))
	for class, n := range head[:3] {
		for i := range int(n) {
			w := in.take(8)
			if w == nil {
				return list
			}
			name := "stack+" + decimal(8*i)
			if class < 2 {
				if i >= len(names[class]) {
					return append(list, unknown("", "", damaged))
				}
				name = names[class][i]
			}
			bits := binary.LittleEndian.Uint64(w)
			list = append(list, rows.Value{Name: name, Text: hexadecimal(bits), Kind: rows.UnsignedValue, Bits: bits})
		}
	}
	return list
}
