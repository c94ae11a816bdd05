package values

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"logparser/rows"
	"logparser/symbols/types"
)

// Bounds of what is shown of a value.
const (
	maxNested = 8   // structs in structs
	maxParts  = 64  // members or elements of one
	maxShown  = 512 // values in one
)

// limits bound how many parts of a value are shown. The size of a value does not bound them, because parts may have no bytes.
type limits struct {
	nested int
	left   *int
	// symbol returns the name of an address. It may be nil.
	symbol func(address uint64) string
	// inObject says that the value is a base class of an object whose class is already shown.
	inObject bool
}

func newLimits(c *Callee) limits {
	left := maxShown
	return limits{left: &left, symbol: c.Symbol}
}

// inner returns the limits for the parts of a value. It is not ok if no parts may be shown.
func (l limits) inner() (limits, bool) {
	*l.left--
	return limits{l.nested + 1, l.left, l.symbol, false}, l.nested < maxNested && *l.left > 0
}

func decimal(n int) string { return strconv.Itoa(n) }

func hexadecimal(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

// quote puts a text between quotation marks. Bytes that are not UTF-8 become \x and two digits.
func quote(s string) string { return strconv.Quote(s) }

// printable replaces control characters by blanks, so that the text fits on one line.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// show decodes a value of type t. If there are bytes for several values of the type, it shows an array.
func (d *Decoder) show(name string, t *types.Type, b []byte, l limits) rows.Value {
	v := rows.Value{Name: name, Type: t.Name, Kind: rows.OtherValue}
	size := t.Size
	if t.Kind == types.Text { // b has the text's pointer, or the words of a string object, but no characters
		size = len(b)
	}
	if size > 0 && len(b) > size && len(b)%size == 0 && t.Kind != types.Float {
		d.elements(&v, t, b, len(b)/size, l)
		return v
	}
	if len(b) < size {
		v.Kind, v.Text = rows.UnknownValue, damaged
		return v
	}
	if t.Kind != types.Float && size > 0 {
		b = b[:size]
	}
	if name != "" && l.nested > 0 && (inside(t) && !isBare(t) || isString(t)) {
		// The members of such a class of the standard library are only pointers.
		v.Kind, v.Text = rows.UnknownValue, notTaken
		return v
	}
	switch t.Kind {
	case types.Int, types.Uint:
		showInteger(&v, b, t.Kind == types.Int)
	case types.Bool:
		showBool(&v, b)
	case types.Char:
		showCharacter(&v, b)
	case types.Float:
		if len(b) == 16 && d.plan != nil && d.plan.Machine == ARM64 {
			showQuadruple(&v, b)
			break
		}
		showFloat(&v, b)
	case types.Enum, types.Flags:
		showEnum(&v, t, b)
	case types.Pointer, types.Reference:
		l.showPointer(&v, t, b)
	case types.Struct:
		d.members(&v, t, b, l)
	case types.Array:
		if t.Target == nil || t.Count <= 0 || t.Target.Size <= 0 {
			v.Text = "0x" + hex.EncodeToString(b)
			break
		}
		d.elements(&v, t.Target, b, min(t.Count, len(b)/t.Target.Size), l)
	default:
		if (len(b) == 8 || len(b) == 4) && t.Kind == types.Text {
			l.showPointer(&v, t, b)
			break
		}
		v.Text = "0x" + hex.EncodeToString(b)
	}
	return v
}

// unsigned returns up to eight bytes as an unsigned number.
func unsigned(b []byte) uint64 {
	switch len(b) {
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// signed returns up to eight bytes as a signed number.
func signed(b []byte) int64 {
	n := min(len(b), 8)
	if n == 0 {
		return 0
	}
	shift := 64 - 8*n
	return int64(unsigned(b)<<shift) >> shift
}

func showInteger(v *rows.Value, b []byte, sign bool) {
	switch {
	case len(b) > 8:
		w := slices.Clone(b)
		slices.Reverse(w)
		n := new(big.Int).SetBytes(w)
		if sign && w[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(w))))
		}
		v.Text = n.String()
		if n.IsInt64() {
			v.Kind, v.Bits = rows.SignedValue, uint64(n.Int64())
		}
	case sign:
		v.Kind, v.Bits = rows.SignedValue, uint64(signed(b))
		v.Text = strconv.FormatInt(signed(b), 10)
	default:
		v.Kind, v.Bits = rows.UnsignedValue, unsigned(b)
		v.Text = strconv.FormatUint(v.Bits, 10)
	}
}

func showBool(v *rows.Value, b []byte) {
	v.Kind, v.Bits = rows.UnsignedValue, unsigned(b)
	switch v.Bits {
	case 0:
		v.Text = "false"
	case 1:
		v.Text = "true"
	default:
		v.Text = "true (" + strconv.FormatUint(v.Bits, 10) + ")"
	}
}

func showCharacter(v *rows.Value, b []byte) {
	v.Kind, v.Bits = rows.SignedValue, uint64(signed(b))
	n := unsigned(b)
	switch {
	case len(b) == 1 && n >= 0x80:
		v.Text = `'\x` + hex.EncodeToString(b) + "'"
	case n > math.MaxInt32:
		v.Text = hexadecimal(n)
	default:
		v.Text = strconv.QuoteRune(rune(n))
	}
}

func showFloat(v *rows.Value, b []byte) {
	switch len(b) {
	case 4:
		f := math.Float32frombits(uint32(unsigned(b)))
		v.Kind, v.Bits = rows.FloatValue, math.Float64bits(float64(f))
		v.Text = floatText(float64(f), 32)
	case 8:
		f := math.Float64frombits(unsigned(b))
		v.Kind, v.Bits = rows.FloatValue, math.Float64bits(f)
		v.Text = floatText(f, 64)
	case 10, 12, 16:
		f := extended(b)
		v.Kind, v.Bits = rows.FloatValue, math.Float64bits(f)
		v.Text = floatText(f, 64)
	default:
		v.Text = "0x" + hex.EncodeToString(b)
	}
}

// floatText returns the text of a floating-point number. It never looks like an integer: 2 becomes 2.0.
func floatText(f float64, bits int) string {
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if strings.Trim(s, "-0123456789") == "" {
		s += ".0"
	}
	return s
}

// extended converts a number in the x87's format of 80 bits to the nearest float64.
func extended(b []byte) float64 {
	mantissa, rest := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint16(b[8:])
	exponent := int(rest & 0x7fff)
	f := math.Ldexp(float64(mantissa), exponent-16383-63)
	switch {
	case exponent == 0x7fff && mantissa<<1 == 0:
		f = math.Inf(1)
	case exponent == 0x7fff:
		f = math.NaN()
	}
	if rest>>15 != 0 {
		f = math.Copysign(f, -1)
	}
	return f
}

// showQuadruple shows a number in the IEEE 754 format of 128 bits.
func showQuadruple(v *rows.Value, b []byte) {
	high := binary.LittleEndian.Uint64(b[8:])
	exponent := int(high >> 48 & 0x7fff)
	w := slices.Clone(b[:14])
	slices.Reverse(w)
	mantissa := new(big.Int).SetBytes(w)
	var f float64
	switch {
	case exponent == 0x7fff && mantissa.Sign() != 0:
		f = math.NaN()
	case exponent == 0x7fff:
		f = math.Inf(1)
	default:
		if exponent > 0 {
			mantissa.SetBit(mantissa, 112, 1)
		}
		n := new(big.Float).SetInt(mantissa)
		f, _ = n.SetMantExp(n, max(exponent, 1)-16383-112).Float64()
	}
	if high>>63 != 0 {
		f = math.Copysign(f, -1)
	}
	v.Kind, v.Bits = rows.FloatValue, math.Float64bits(f)
	v.Text = floatText(f, 64)
}

func showEnum(v *rows.Value, t *types.Type, b []byte) {
	n := signed(b)
	v.Kind, v.Bits = rows.SignedValue, uint64(n)
	// An enumerator of an unsigned type is compared with the unsigned number.
	positive := int64(unsigned(b))
	for _, e := range t.Enumerators {
		if e.Value == n || e.Value == positive {
			v.Text = e.Name
			return
		}
	}
	if t.Kind == types.Flags {
		rest := uint64(positive)
		var names []string
		for _, e := range t.Enumerators {
			if bit := uint64(e.Value); bit != 0 && rest&bit == bit {
				names = append(names, e.Name)
				rest &^= bit
			}
		}
		if rest != 0 {
			names = append(names, hexadecimal(rest))
		}
		if len(names) > 0 {
			v.Text = strings.Join(names, "|")
			return
		}
	}
	v.Text = strconv.FormatInt(n, 10)
}

func (l *limits) showPointer(v *rows.Value, t *types.Type, b []byte) {
	v.Kind, v.Bits = rows.PointerValue, unsigned(b)
	if isClass(t) {
		v.Text, v.Type = notTaken, ""
		if name := l.class(b); name != "" {
			v.Kind, v.Text, v.Characters = rows.TextValue, name, name
		} else if v.Bits != 0 {
			v.Text = hexadecimal(v.Bits)
		}
		return
	}
	if t.Name == Number.Name {
		v.Type = ""
	} else if v.Bits == 0 {
		v.Text = null
		return
	}
	v.Text = hexadecimal(v.Bits)
	if l.symbol != nil {
		if name := l.symbol(v.Bits); name != "" {
			v.Text += " <" + name + ">"
		}
	}
}

// isClass reports whether t is the type of the pointer in an object to the table of virtual methods, which identifies the
// object's class.
func isClass(t *types.Type) bool { return t.Kind == types.Pointer && t.Name == types.Class }

// isEmpty reports whether a class has no members.
func isEmpty(t *types.Type) bool { return t.Kind == types.Struct && t.Size <= 1 && len(t.Members) == 0 }

// isBare reports whether the bytes of a type carry no information: it is an empty class, or a class of which all members are
// such types.
func isBare(t *types.Type) bool {
	looks := 64
	return isBareWithin(t, &looks)
}

// isBareWithin is isBare for at most looks types, because a damaged plan may have a type that contains itself.
func isBareWithin(t *types.Type, looks *int) bool {
	*looks--
	if *looks < 0 || t == nil || t.Kind != types.Struct || t.Size != 1 && !isNothing(t) {
		return false
	}
	for i := range t.Members {
		if m := &t.Members[i]; m.Bits > 0 || !isBareWithin(m.Type, looks) {
			return false
		}
	}
	return true
}

// classIn returns the bytes of the pointer to the table of virtual methods, if the object begins with it. Otherwise it returns
// nil. It looks at looks members at most, because a damaged plan may have a type that contains itself.
func classIn(t *types.Type, b []byte, looks *int) []byte {
	if t.Kind != types.Struct {
		return nil
	}
	for i := range t.Members {
		if *looks--; *looks < 0 {
			return nil
		}
		m := &t.Members[i]
		switch {
		case m.Type == nil || m.Offset != 0:
		case isClass(m.Type) && len(b) >= m.Type.Size:
			return b[:m.Type.Size]
		case m.Name == types.Base:
			if found := classIn(m.Type, b, looks); found != nil {
				return found
			}
		}
	}
	return nil
}

// class returns the name of the class whose table of virtual methods the pointer in b leads to, or "" if that is not known.
func (l *limits) class(b []byte) string {
	if l.symbol == nil || len(b) < 4 || unsigned(b) == 0 {
		return ""
	}
	name, ok := strings.CutPrefix(l.symbol(unsigned(b)), "vtable for ")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(name, "+0x")
	return name
}

// members shows the members of a struct.
func (d *Decoder) members(v *rows.Value, t *types.Type, b []byte, l limits) {
	if len(t.Members) == 0 {
		v.Text = "{}"
		if t.Size > 1 { // the class is not empty: debug information does not give its members
			v.Text = "0x" + hex.EncodeToString(b)
		}
		return
	}
	inner, ok := l.inner()
	if !ok {
		v.Text = "{…}"
		return
	}
	if m := &t.Members[0]; len(t.Members) == 1 && strings.HasPrefix(t.Name, "std::") && (strings.HasPrefix(m.Name, "_M_") || m.Name == "__elems_") && m.Type != nil {
		// std::array and std::complex have one inner member, which is shown in their place.
		name, typ := v.Name, v.Type
		*v = d.member(m, b, inner)
		v.Name, v.Type = name, typ
		return
	}
	var text strings.Builder
	looks := maxParts
	if name := l.class(classIn(t, b, &looks)); name != "" {
		// The object may be of a class derived from t, so its own class is shown.
		if !l.inObject {
			text.WriteString(name + " ")
			v.Parts = append(v.Parts, rows.Value{Name: types.Class, Text: name, Kind: rows.TextValue, Characters: name})
		}
		inner.inObject = true
	}
	text.WriteByte('{')
	some := false
	for i := range t.Members {
		m := &t.Members[i]
		if *inner.left--; i >= maxParts || *inner.left < 0 {
			text.WriteString(", …")
			break
		}
		if m.Type != nil && (isClass(m.Type) || m.Name == types.Base && isEmpty(m.Type)) {
			continue
		}
		if some {
			text.WriteString(", ")
		}
		some = true
		part := unknown(m.Name, "", notTaken)
		if m.Type != nil {
			in := inner
			in.inObject = in.inObject && m.Name == types.Base
			part = d.member(m, b, in)
		}
		if m.Name == types.Base {
			part.Name = part.Type
		}
		if part.Name != "" {
			text.WriteString(part.Name)
			text.WriteString(" = ")
		}
		text.WriteString(part.Text)
		v.Parts = append(v.Parts, part)
	}
	text.WriteByte('}')
	v.Text = text.String()
}

// member shows a member.
func (d *Decoder) member(m *types.Member, b []byte, l limits) rows.Value {
	size := m.Type.Size
	if size <= 0 || m.Offset < 0 || m.Offset > len(b)-size {
		return unknown(m.Name, m.Type.Name, notTaken)
	}
	b = b[m.Offset : m.Offset+size]
	if m.Bits == 0 {
		return d.show(m.Name, m.Type, b, l)
	}
	if m.Bits > 64 || m.Bit < 0 || m.Bit+m.Bits > 64 || m.Bit+m.Bits > 8*size {
		return unknown(m.Name, m.Type.Name, notTaken)
	}
	n := unsigned(b) << (64 - m.Bit - m.Bits)
	if m.Type.Kind == types.Int || m.Type.Kind == types.Enum {
		n = uint64(int64(n) >> (64 - m.Bits))
	} else {
		n >>= 64 - m.Bits
	}
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], n)
	return d.show(m.Name, m.Type, w[:min(size, 8)], l)
}

// elements shows n elements of a type.
func (d *Decoder) elements(v *rows.Value, t *types.Type, b []byte, n int, l limits) {
	if t.Kind == types.Char && t.Size == 1 {
		s := string(b[:n])
		if i := strings.IndexByte(s, 0); i >= 0 {
			s = s[:i]
		}
		v.Kind, v.Characters, v.Text = rows.TextValue, s, quote(s)
		return
	}
	inner, ok := l.inner()
	if !ok {
		v.Text = "[…]"
		return
	}
	var text strings.Builder
	text.WriteByte('[')
	for i := range n {
		if *inner.left--; i == maxParts || *inner.left < 0 {
			text.WriteString(", …")
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		part := d.show("", t, b[i*t.Size:(i+1)*t.Size], inner)
		text.WriteString(part.Text)
		v.Parts = append(v.Parts, part)
	}
	text.WriteByte(']')
	v.Text = text.String()
}
