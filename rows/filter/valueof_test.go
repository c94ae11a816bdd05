package filter

import (
	"testing"

	"logparser/rows"
)

// TestIsValueOf makes terms of values, which fit the rows that they are of and no others.
func TestIsValueOf(t *testing.T) {
	row := func(v rows.Value) *rows.Row {
		v.Name = "a"
		return &rows.Row{Event: rows.Enter, Filled: rows.Values, Values: &rows.CallValues{Arguments: []rows.Value{v}}}
	}
	column := ValueColumn("a")
	for _, test := range []struct {
		of, other rows.Value
		term      string // "" for none
	}{
		{rows.Value{Text: "-3", Kind: rows.SignedValue, Bits: 1<<64 - 3}, rows.Value{Text: "3", Kind: rows.SignedValue, Bits: 3}, "arg.a:=-3"},
		{rows.Value{Text: "Blue", Kind: rows.SignedValue, Bits: 6}, rows.Value{Text: "Blueish", Kind: rows.SignedValue, Bits: 7}, "arg.a:=Blue"},
		{rows.Value{Text: "0x55 <f>", Kind: rows.PointerValue, Bits: 0x55}, rows.Value{Text: "0x56 <f>", Kind: rows.PointerValue, Bits: 0x56}, "arg.a:=0x55"},
		{rows.Value{Text: `"a b"`, Kind: rows.TextValue, Characters: "a b"}, rows.Value{Text: `"a b c"`, Kind: rows.TextValue, Characters: "a b c"}, `arg.a:="a b"`},
		{rows.Value{Text: `"a"…`, Kind: rows.TextValue, Characters: "a", Cut: true}, rows.Value{}, ""},
		{rows.Value{Text: "?"}, rows.Value{}, ""},
		{rows.Value{Text: "{x = 1}", Kind: rows.OtherValue}, rows.Value{}, ""},
	} {
		r := row(test.of)
		e, ok := IsValueOf(column, column.ValueOf(r))
		if !ok {
			if test.term != "" {
				t.Errorf("%s: no term", test.of.Text)
			}
			continue
		}
		if got := e.String(); got != test.term {
			t.Errorf("%s: %s, want %s", test.of.Text, got, test.term)
		}
		again, err := Parse(e.String())
		if err != nil {
			t.Fatal(err)
		}
		if !e.Term.matchValue(r) || e.Term.matchValue(row(test.other)) || !again.Term.matchValue(r) || again.Term.matchValue(row(test.other)) {
			t.Errorf("%s does not tell %s from %s", e, test.of.Text, test.other.Text)
		}
	}
}
