package filter

import (
	"math"
	"testing"

	"logparser/rows"
)

// TestValueTest holds the quick tests of numbers and of characters against that of whole values.
func TestValueTest(t *testing.T) {
	values := []rows.Value{
		{Name: "a", Kind: rows.SignedValue, Bits: uint64(math.MaxUint64 - 2), Text: "-3"},
		{Name: "a", Kind: rows.SignedValue, Bits: 5, Text: "5"},
		{Name: "a", Kind: rows.UnsignedValue, Bits: math.MaxUint64, Text: "18446744073709551615"},
		{Name: "a", Kind: rows.FloatValue, Bits: math.Float64bits(2.5), Text: "2.5"},
		{Name: "a", Kind: rows.FloatValue, Bits: math.Float64bits(math.NaN()), Text: "NaN"},
		{Name: "a", Kind: rows.TextValue, Text: `"5 apples"`, Characters: "5 apples"},
		{Name: "a", Kind: rows.TextValue, Text: `""`},
	}
	quick, texts := 0, 0
	for _, text := range []string{"arg.a:5", "arg.a:-3", "arg.a:>2", "arg.a:2..5", "arg.a:<0", "arg.a:~5", `arg.a:"5"`, "arg.a:app", "result:5", "result.x:>1"} {
		e, err := Parse(text)
		if err != nil || e.Term == nil {
			t.Fatalf("%s: %v", text, err)
		}
		fits, number, characters := e.Term.ValueTest()
		for i := range values {
			v := &values[i]
			want := fits(v)
			if v.Kind == rows.TextValue {
				if got := characters(v.Characters); got != want {
					t.Errorf("%s: %t by the characters of %s, want %t", text, got, v.Text, want)
				}
				texts++
			} else if number != nil {
				if got := number(v.Kind, v.Bits); got != want {
					t.Errorf("%s: %t by the number %s, want %t", text, got, v.Text, want)
				}
				quick++
			}
		}
	}
	if quick == 0 || texts == 0 {
		t.Errorf("%d numbers and %d texts were tested", quick, texts)
	}
}

// TestResultPath says which part of what a call returned a column is.
func TestResultPath(t *testing.T) {
	for column, want := range map[Column]string{Result: "", "result.a": "a", "result.a.b": "a.b"} {
		if path, ok := column.ResultPath(); !ok || path != want {
			t.Errorf("%s: %q, %t", column, path, ok)
		}
	}
	for _, column := range []Column{"arg.result", Duration, "this"} {
		if path, ok := column.ResultPath(); ok {
			t.Errorf("%s is the part %q of a result", column, path)
		}
	}
}
