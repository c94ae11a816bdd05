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

// What is shown instead of a value that is not known, in the window and in saved files.
const (
	notTaken    = "?"            // the plan says that the recorder could not take the value
	notRecorded = "not recorded" // the value did not fit into the record
	notReadable = "not readable" // the recorder could not read the program's memory there
	unverified  = "unverified"   // it is not certain what the bytes mean
	damaged     = "damaged"      // the record contradicts the plan
	null        = "null"
)

// A Callee identifies a called function for decoding its values. Do not copy it, and do not change it after its first use.
type Callee struct {
	// Module is the base name of the function's module, and Identity is the identity of that module.
	Module   string
	Identity modules.Identity
	// RVA is the address of any byte of the function, relative to the module.
	RVA uint64
	// Symbol returns the name of an address in the call's process, or "" if it has none. Symbol may be nil.
	Symbol func(address uint64) string
	// known caches what the plan of one decoder has for the function. It is nil until Decoder.Function is called.
	known atomic.Pointer[known]
}

// known is what the plan of the decoder by has for a function: nil if it has nothing.
type known struct {
	by       *Decoder
	function *Function
}

// A Decoder decodes the values that a log has of calls. Several goroutines may use it at once.
type Decoder struct {
	taken  *parser.ValuesTaken
	plan   *Plan
	places map[uint32]*place
}

// A place is a statement in the program's source that gives values to the recorder, with the names of these values.
type place struct {
	of    *parser.ValuePlace
	names []string
}

// NewDecoder returns a decoder of a log's values. If the plan in the log is incomplete or damaged, it returns an error and also
// a decoder, which shows the values that were taken by the plan as unverified.
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

// Function returns what the plan has for a function. It returns nil if the plan does not have the function, or was made from
// another build of its module.
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

// BySignature reports whether types and places of a function's values are those that its mangled name tells.
func (d *Decoder) BySignature(c *Callee) bool {
	m := d.module(c)
	return m != nil && m.Signatures && d.Function(c) != nil
}

// find looks a function up in the plan.
func (d *Decoder) find(c *Callee) *Function {
	if m := d.module(c); m != nil {
		return m.Function(c.RVA)
	}
	return nil
}

// module returns the module of the plan that a function is in, or nil if the plan does not have its build.
func (d *Decoder) module(c *Callee) *Module {
	if d.plan == nil {
		return nil
	}
	var same *Module
	for i := range d.plan.Modules {
		m := &d.plan.Modules[i]
		switch is := m.Identity.Compare(c.Identity); {
		case m.Name == c.Module && (is == modules.Same || m.Identity.IsZero() && c.Identity.IsZero()):
			return m
		case is == modules.Same && same == nil:
			same = m // the loader knows it by another name, such as a link that a library has
		}
	}
	return same
}

// Named returns the arguments of a call with their names but without values. It is for a call of which the log has no values,
// and returns nil if that is unexpected. It is expected in two cases: none of the function's arguments can be taken, or the
// call may have been inlined into a function whose hooks are not in the plan.
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
		named := Value{Name: strings.TrimPrefix(v.Name, noName), Type: v.Type} // the zero Op means that the value was not taken
		list = append(list, d.value(c, &input{}, &named))
	}
	return list
}

// Returned returns the results of a call that has ended, all of them unknown. It is for a call of which the log has no result,
// because it did not end by returning or because the result cannot be taken. It returns nil if the function has no result.
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

// Arguments returns the arguments of a call, or nil if the log has none.
func (d *Decoder) Arguments(c *Callee, v *parser.CallValues) []rows.Value {
	return d.values(c, v, true)
}

// Results returns the values that were taken at the end of a call, or nil if the log has none; see [Outs].
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
	case parser.ValuesOfJump:
		if v.Taken != nil && !enter {
			list = d.ofJump(c, v.Taken)
		}
	}
	for i := range v.Given {
		list = append(list, d.given(c, &v.Given[i], enter)...)
	}
	return list
}

// Outs divides the values that were taken at the end of a call into its results and its outs. An out is what a pointer argument
// leads to when the call returns; it is shown with the arguments.
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

// byPlan decodes the bytes that the recorder took by the plan.
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
			list = list[:len(list)+1] // filled in place, because copying a value is slow
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

// isText reports whether the operation takes a text.
func (o *Op) isText() bool { return o.Kind == Text || o.Kind == String || o.Kind == View }

// isPlain reports whether a value is a number whose bytes are taken unchanged. Most values are.
func (p *Value) isPlain() bool {
	return p.Op.Kind == Direct && p.Op.Size == p.Type.Size && p.Op.Size <= 8 && p.Type.Kind >= types.Int && p.Type.Kind <= types.Float && p.Name != noName
}

// plain decodes a value for which isPlain holds. v must already have its name and type.
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

// An input has the bytes that values are decoded from. If bytes are missing for one value, over is set, and all later values
// are unknown.
type input struct {
	b    []byte
	over bool
}

// take returns the next n bytes, or nil if there are fewer.
func (in *input) take(n int) []byte {
	if in.over || n > len(in.b) {
		in.over = true
		return nil
	}
	b := in.b[:n:n]
	in.b = in.b[n:]
	return b
}

// value decodes one value.
func (d *Decoder) value(c *Callee, in *input, p *Value) rows.Value {
	typ, name := p.Type, p.Type.Name
	if isClass(typ) {
		name = "" // the name of this type marks a class pointer and means nothing to people
	}
	switch p.Op.Kind {
	case Direct:
		if b := in.take(p.Op.Size); b != nil {
			if n := typ.Size - len(b); n > 0 && n < MaxDirect && typ.Kind == types.Struct {
				b = append(b, make([]byte, n)...) // the registers did not hold the padding at the struct's end
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

// Special values of the length field of a text.
const (
	textLonger      = 0xfffd
	textNotReadable = 0xfffe
	textNull        = 0xffff
)

// text decodes a text of which the recorder kept no more than most bytes.
func (in *input) text(name, typ string, most int) rows.Value {
	s, cut, ok := in.charactersAt(most)
	if !ok {
		return in.characters(name, typ, most)
	}
	v := rows.Value{Name: name, Type: typ, Kind: rows.TextValue, Cut: cut}
	showText(&v, s)
	return v
}

// showText sets the shown form of a text, and its characters. If the text needs no escapes, which is the usual case, both share
// their memory.
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

// characters decodes a text as text does, but without its shown form.
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

// splitNames splits the source text of a macro's arguments at the commas between the arguments.
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

// maxGivenText is how many bytes the recorder keeps of a text that the program gives.
const maxGivenText = 256

// enumCode is the difference between the code of an enumeration and the code of its integer type.
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

// given decodes the values that the program itself gave to the recorder.
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
				// The program gave a description of the value, which is shown without quotation marks.
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

// The registers of calling conventions of x86-64, integer registers first. enterRegisters and leaveRegisters are those of
// System V, win64Registers those of arguments on Windows. Results on Windows are in the first register of each list of
// leaveRegisters.
var (
	enterRegisters = [2][]string{{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}, {"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"}}
	leaveRegisters = [2][]string{{"rax", "rdx"}, {"xmm0", "xmm1"}}
	win64Registers = [2][]string{win64Integers[:], win64Vectors[:]}
)

// registers shows the raw contents of registers.
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
