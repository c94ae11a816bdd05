package filter

import (
	"math"
	"testing"

	"logparser/rows"
)

// TestValues has terms about values of calls.
func TestValues(t *testing.T) {
	number := func(name string, n int64) rows.Value {
		return rows.Value{Name: name, Text: "n", Kind: rows.SignedValue, Bits: uint64(n)}
	}
	row := rows.Row{Filled: rows.Values, Values: &rows.CallValues{
		Arguments: []rows.Value{
			{Name: "this", Text: "0x5581", Kind: rows.PointerValue, Bits: 0x5581},
			number("w", -3),
			{Name: "big", Kind: rows.UnsignedValue, Bits: math.MaxUint64},
			{Name: "d", Kind: rows.FloatValue, Bits: math.Float64bits(2.5)},
			{Name: "nan", Kind: rows.FloatValue, Bits: math.Float64bits(math.NaN()), Text: "NaN"},
			{Name: "name", Kind: rows.TextValue, Text: `"Foo 7"`, Characters: "Foo 7"},
			{Name: "digits", Kind: rows.TextValue, Text: `"42"`, Characters: "42"},
			{Name: "color", Kind: rows.SignedValue, Bits: 5, Text: "Green"},
			{Name: "p", Kind: rows.OtherValue, Text: "{x = 1, y = {z = 2}}", Parts: []rows.Value{number("x", 1), {Name: "y", Kind: rows.OtherValue, Parts: []rows.Value{number("z", 2)}}}},
			{Name: "lost", Text: "?"},
		},
		Results: []rows.Value{{Name: "return", Kind: rows.OtherValue, Text: "{a = 9}", Parts: []rows.Value{number("a", 9)}}, number("again", -1)},
	}}
	tests := []struct {
		term string
		want bool
	}{
		{"arg.w:-3", true}, {"arg.w:=-3", true}, {"arg.w:3", false}, {"arg.w:<0", true}, {"arg.w:>-4", true}, {"arg.w:>=-3", true}, {"arg.w:<-3", false},
		{"arg.w:-5..-2", true}, {"arg.w:..-4", false}, {"arg.w:-3..", true}, {"arg.W:-3", false}, {"ARG.w:-3", true},
		{"arg.big:18446744073709551615", true}, {"arg.big:>9223372036854775807", true}, {"arg.big:<0", false}, {"arg.big:0xffffffffffffffff", true},
		{"arg.d:2.5", true}, {"arg.d:>2", true}, {"arg.d:2..2.4", false}, {"arg.nan:>0", false}, {"arg.nan:NaN", true},
		{"arg.name:foo", true}, {"arg.name:=foo", false}, {`arg.name:="Foo 7"`, true}, {"arg.name:~^F.*7$", true}, {"arg.name:>3", false},
		{"arg.digits:4", true}, {"arg.digits:>4", false},
		{"arg.color:5", true}, {"arg.color:green", true}, {"arg.color:>4", true},
		{"arg.p.x:1", true}, {"arg.p.y.z:>1", true}, {"arg.p.q:1", false}, {"arg.p:x", true},
		{"this:0x5581", true}, {"this:0x5582", false}, {"arg.this:0x5581", true},
		{"result:<0", true}, {"result:9", false}, {"result.a:9", true}, {"result.a:<9", false},
		{"arg.lost:?", false}, {"arg.lost:~.", false}, {"-arg.lost:1", true}, {"arg.none:1", false},
	}
	for _, test := range tests {
		e, err := Parse(test.term)
		if err != nil {
			t.Errorf("%s: %v", test.term, err)
			continue
		}
		if got := e.Matches(&row, nil); got != test.want {
			t.Errorf("%s: %t", test.term, got)
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() || again.Matches(&row, nil) != test.want {
			t.Errorf("%s is written %s: %v", test.term, e, err)
		}
		if e.Matches(&rows.Row{}, nil) != (test.term[0] == '-') {
			t.Errorf("%s of a row without values", test.term)
		}
	}
	for term, offset := range map[string]int{"arg.w:>x": 7, "arg.w:5..3": 6, "arg.:3": 0, "arg.w:": 6} {
		_, err := Parse(term)
		wrong, ok := err.(*Error)
		if !ok || wrong.Offset != offset {
			t.Errorf("%s: %v", term, err)
		}
	}
}
