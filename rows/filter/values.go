package filter

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"logparser/rows"
)

// Terms about values of calls: arg.NAME is an argument, or with further names behind dots a
// member of one, this the object of a method, result what the call returned, and
// result.NAME a member of that. A value that is not known fits no term.

const (
	argPrefix    = "arg."
	resultPrefix = "result."
	thisWord     = "this"
	// Result is what the call returned.
	Result Column = "result"
	// This is the object that a method was called on.
	This Column = thisWord
)

// ValueColumn returns the column of an argument's path.
func ValueColumn(path string) Column {
	if path == thisWord {
		return This
	}
	return Column(argPrefix + path)
}

// IsValue reports whether the column is a value of a call.
func (c Column) IsValue() bool {
	return c == Result || c == This || strings.HasPrefix(string(c), argPrefix) || strings.HasPrefix(string(c), resultPrefix)
}

// Path returns the path of an argument that the column is, "" if it is none.
func (c Column) Path() string {
	if c == This {
		return thisWord
	}
	path, _ := strings.CutPrefix(string(c), argPrefix)
	if path == string(c) {
		return ""
	}
	return path
}

// valueColumn returns the column of a value's name; the case of what is behind the first
// dot is kept.
func valueColumn(name string) (Column, bool) {
	prefix, path, dotted := strings.Cut(name, ".")
	prefix = lower(prefix)
	switch {
	case !dotted && prefix == thisWord:
		return This, true
	case dotted && path != "" && (prefix == "arg" || prefix == "result"):
		if prefix == "arg" {
			return ValueColumn(path), true
		}
		return Column(resultPrefix + path), true
	}
	return "", false
}

// valueName returns how many bytes of a text are the name of a value with its path.
func valueName(text string) int {
	i := strings.IndexByte(text, '.')
	if i < 0 || lower(text[:i]) != "arg" && lower(text[:i]) != "result" {
		return 0
	}
	for i++; i < len(text); i++ {
		c := text[i]
		if !(c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_.$[]@", c) >= 0 || c >= 0x80) {
			break
		}
	}
	return i
}

// A number is a bound of values. Integers are compared as such.
type number struct {
	float    float64
	negative bool
	bits     uint64 // the amount
	integer  bool
}

func parseNumber(s string) (n number, ok bool) {
	digits := strings.TrimPrefix(s, "-")
	if v, err := strconv.ParseUint(digits, 0, 64); err == nil && digits != "" && !strings.Contains(digits, "_") {
		n = number{float: float64(v), negative: digits != s && v > 0, bits: v, integer: true}
		if n.negative {
			n.float = -n.float
		}
		return n, true
	}
	f, err := strconv.ParseFloat(s, 64)
	return number{float: f}, err == nil && !math.IsNaN(f)
}

// numberOf returns the number that a value is.
func numberOf(v *rows.Value) (n number, ok bool) {
	switch v.Kind {
	case rows.SignedValue:
		i := int64(v.Bits)
		n = number{float: float64(i), negative: i < 0, bits: uint64(i), integer: true}
		if i < 0 {
			n.bits = -uint64(i)
		}
	case rows.UnsignedValue, rows.PointerValue:
		n = number{float: float64(v.Bits), bits: v.Bits, integer: true}
	case rows.FloatValue:
		n.float = math.Float64frombits(v.Bits)
		return n, !math.IsNaN(n.float)
	default:
		return n, false
	}
	return n, true
}

func (n number) compare(o number) int {
	switch {
	case !n.integer || !o.integer:
		return cmp.Compare(n.float, o.float)
	case n.negative != o.negative:
		if n.negative {
			return -1
		}
		return 1
	case n.negative:
		return cmp.Compare(o.bits, n.bits)
	}
	return cmp.Compare(n.bits, o.bits)
}

// A numberRange is what [Between] compares values with. A bound may be missing, or may
// itself be left out.
type numberRange struct {
	low, high         number
	hasLow, hasHigh   bool
	openLow, openHigh bool
}

func (r *numberRange) has(n number) bool {
	if r.hasLow {
		if c := n.compare(r.low); c < 0 || c == 0 && r.openLow {
			return false
		}
	}
	if r.hasHigh {
		if c := n.compare(r.high); c > 0 || c == 0 && r.openHigh {
			return false
		}
	}
	return true
}

// valueRange reads bounds with their operator; it is not ok if the value is not meant as a
// number.
func valueRange(op, value string) (r *numberRange, err *Error) {
	r = &numberRange{}
	if low, high, isRange := strings.Cut(value, ".."); isRange && op == "" && (low != "" || high != "") {
		var ok bool
		if r.low, ok = parseNumber(low); ok || low == "" {
			r.hasLow = low != ""
			if r.high, ok = parseNumber(high); ok || high == "" {
				r.hasHigh = high != ""
				if r.hasLow && r.hasHigh && r.low.compare(r.high) > 0 {
					return nil, errorAt(0, "the range is the wrong way round: its smaller bound comes first")
				}
				return r, nil
			}
		}
		return nil, nil
	}
	if op == "" || op == "=" || op == "~" {
		return nil, nil
	}
	n, ok := parseNumber(value)
	if !ok {
		return nil, errorAt(0, "a number is expected, such as 10, -1.5 or 0x5581")
	}
	if op[0] == '>' {
		r.low, r.hasLow, r.openLow = n, true, op == ">"
	} else {
		r.high, r.hasHigh, r.openHigh = n, true, op == "<"
	}
	return r, nil
}

// ValueOf returns the value of a row that the column is, the first where there are several, or nil if it
// has none.
func (c Column) ValueOf(r *rows.Row) *rows.Value {
	var found *rows.Value
	c.eachValue(r, func(v *rows.Value) bool {
		found = v
		return false
	})
	return found
}

// eachValue hands out the values of a row that the column is, as long as it is told to.
func (c Column) eachValue(r *rows.Row, more func(v *rows.Value) bool) {
	call := r.CallValues()
	if call == nil {
		return
	}
	if path := c.Path(); path != "" {
		if v := rows.Find(call.Arguments, path); v != nil {
			more(v)
		}
		return
	}
	for i := range call.Results {
		v := &call.Results[i]
		if path, ok := strings.CutPrefix(string(c), resultPrefix); ok {
			if v = rows.Find(v.Parts, path); v == nil {
				continue
			}
		}
		if !more(v) {
			return
		}
	}
}

// matchValue reports whether a row has a value that fits a term about values.
func (t *Term) matchValue(r *rows.Row) bool {
	found := false
	t.Column.eachValue(r, func(v *rows.Value) bool {
		found = t.fits(v)
		return !found
	})
	return found
}

// ValueTest returns a test of whether values fit a term about some; number is nil, or the same for
// what they are as numbers, where that is all that is asked of values that are no texts; characters is the same for
// those of texts.
func (t *Term) ValueTest() (fits func(v *rows.Value) bool, number func(kind rows.ValueKind, bits uint64) bool, characters func(s string) bool) {
	characters = t.MatchText
	if t.Op == Between {
		characters = func(string) bool { return false }
		return t.fits, func(kind rows.ValueKind, bits uint64) bool {
			n, ok := numberOf(&rows.Value{Kind: kind, Bits: bits})
			return ok && t.numbers.has(n)
		}, characters
	}
	if want, ok := parseNumber(t.Value); ok && t.Op != Matches && !t.quoted {
		return t.fits, func(kind rows.ValueKind, bits uint64) bool {
			n, ok := numberOf(&rows.Value{Kind: kind, Bits: bits})
			return ok && n.compare(want) == 0
		}, characters
	}
	return t.fits, nil, characters
}

// ResultPath returns the path in what a call returned that the column is, "" for all of it; it is not
// ok for other columns.
func (c Column) ResultPath() (path string, ok bool) {
	path, ok = strings.CutPrefix(string(c), resultPrefix)
	if c == Result {
		return "", true
	}
	return path, ok
}

// fits reports whether a value fits the term.
func (t *Term) fits(v *rows.Value) bool {
	if v.Kind == rows.UnknownValue {
		return false
	}
	text := v.Text
	if v.Kind == rows.TextValue {
		text = v.Characters
	}
	if t.Op == Between {
		n, ok := numberOf(v)
		return ok && t.numbers.has(n)
	}
	if t.Op != Matches && !t.quoted && v.Kind != rows.TextValue {
		if want, ok := parseNumber(t.Value); ok {
			n, ok := numberOf(v)
			return ok && n.compare(want) == 0
		}
	}
	return t.MatchText(text)
}

// IsValueOf returns a term that rows fit whose value of the column is that one. It is not ok where that
// cannot be said: of values that are not known, and of whole structs.
func IsValueOf(c Column, v *rows.Value) (*Expr, bool) {
	switch v.Kind {
	case rows.SignedValue, rows.UnsignedValue, rows.FloatValue:
		return Is(c, v.Text), true
	case rows.PointerValue:
		return Is(c, string(rows.AppendAddress(nil, v.Bits))), true
	case rows.TextValue:
		return Is(c, v.Characters), !v.Cut
	}
	return nil, false
}
