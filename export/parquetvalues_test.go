package export_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"logparser/export"
	"logparser/rows"
)

// someValue returns a value of any kind, with parts.
func someValue(r *rand.Rand, name string, depth int) rows.Value {
	v := rows.Value{Name: name, Type: []string{"", "int", "app::Pt"}[r.IntN(3)], Kind: rows.ValueKind(r.IntN(7)), Bits: r.Uint64() >> r.IntN(64), Text: fmt.Sprint("text ", r.IntN(4))}
	switch v.Kind {
	case rows.FloatValue:
		v.Bits = math.Float64bits(float64(r.IntN(1000)) / 8)
	case rows.TextValue:
		v.Characters = []string{"", "a\x00b", "\xff"}[r.IntN(3)]
	case rows.OtherValue:
		if depth == 3 {
			break
		}
		array := r.IntN(2) == 0
		if array {
			v.Text = "[…]"
		}
		for k := range r.IntN(4) {
			part := ""
			if !array {
				part = string(rune('a' + k))
			}
			v.Parts = append(v.Parts, someValue(r, part, depth+1))
		}
	}
	return v
}

// listed returns the values that a field of a list's entries should have, in the form of readParquet.
func listed(list []rows.Value, field func(path string, v *rows.Value) string) (text string) {
	var walk func(path string, v *rows.Value)
	walk = func(path string, v *rows.Value) {
		text += strings.ToValidUTF8(field(path, v), "\uFFFD") + listEnd
		for i := range v.Parts {
			at := strings.TrimPrefix(path+"."+v.Parts[i].Name, ".")
			if v.Parts[i].Name == "" {
				at = fmt.Sprintf("%s[%d]", path, i)
			}
			walk(at, &v.Parts[i])
		}
	}
	for i := range list {
		walk(list[i].Name, &list[i])
	}
	return text
}

func ifAny(ok bool, v any) string {
	if !ok {
		return listNull
	}
	return fmt.Sprint(v)
}

// parquetFields are the fields of an entry, in the words of docs/formats.md.
var parquetFields = map[string]func(path string, v *rows.Value) string{
	"name": func(path string, _ *rows.Value) string { return ifAny(path != "", path) },
	"type": func(_ string, v *rows.Value) string { return ifAny(v.Type != "", v.Type) },
	"kind": func(_ string, v *rows.Value) string {
		return map[rows.ValueKind]string{rows.SignedValue: "int", rows.UnsignedValue: "int", rows.FloatValue: "double", rows.PointerValue: "pointer",
			rows.TextValue: "string", rows.UnknownValue: "unknown", rows.OtherValue: "other"}[v.Kind]
	},
	"text": func(_ string, v *rows.Value) string { return v.Text },
	"int": func(_ string, v *rows.Value) string {
		number := v.Kind == rows.SignedValue || (v.Kind == rows.UnsignedValue || v.Kind == rows.PointerValue) && v.Bits < 1<<63
		return ifAny(number, int64(v.Bits))
	},
	"double": func(_ string, v *rows.Value) string {
		return ifAny(v.Kind == rows.FloatValue, math.Float64frombits(v.Bits))
	},
	"string": func(_ string, v *rows.Value) string { return ifAny(v.Kind == rows.TextValue, v.Characters) },
}

// TestParquetValues reads typed values back: those of rows with and without any, of all kinds, with parts, over the end of a
// row group.
func TestParquetValues(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		l := make(list, 1+r.IntN(400))
		for i := range l {
			l[i] = rows.Row{Index: int64(i), Function: "f", Duration: rows.NoDuration, Filled: rows.Values}
			if r.IntN(3) > 0 {
				v := &rows.CallValues{}
				for k := range r.IntN(4) {
					v.Arguments = append(v.Arguments, someValue(r, []string{"", "w", "p"}[k%3], 0))
				}
				for range r.IntN(3) {
					v.Results = append(v.Results, someValue(r, rows.Result, 0))
				}
				l[i].Values = v
			}
			if seed == 0 && i%50 == 0 {
				l[i].Function = strings.Repeat("long ", 1<<20) + fmt.Sprint(i) // ends a row group early
			}
		}
		names, columns := readParquet(t, write(t, "parquet", l, export.Options{Header: rows.Header{Values: true}}))
		if got := strings.Join(names[len(names)-16:], " "); !strings.HasPrefix(got, "arguments result argument_values.list.element.name argument_values.list.element.type ") ||
			!strings.HasSuffix(got, " result_values.list.element.string") {
			t.Fatalf("columns %s", got)
		}
		for i := range l {
			var of rows.CallValues
			if l[i].Values != nil {
				of = *l[i].Values
			}
			for name, list := range map[string][]rows.Value{"argument_values": of.Arguments, "result_values": of.Results} {
				for field, want := range parquetFields {
					if got, want := columns[name+".list.element."+field][i], listed(list, want); got != want {
						t.Fatalf("seed %d, row %d, %s of %s: %q, want %q", seed, i, field, name, got, want)
					}
				}
			}
		}
	}
}

// TestParquetValuesChosen has a list where the column that has the values as text is chosen, and no other.
func TestParquetValuesChosen(t *testing.T) {
	l := list{{Function: "f", Filled: rows.Values, Values: &rows.CallValues{Arguments: []rows.Value{{Name: "n", Type: "int", Kind: rows.SignedValue, Bits: 7, Text: "7"}}}}}
	columns, err := rows.ParseColumns("arguments,index")
	if err != nil {
		t.Fatal(err)
	}
	names, stored := readParquet(t, write(t, "parquet", l, export.Options{Columns: columns}))
	if len(names) != 9 || names[0] != "arguments" || names[1] != "index" || stored["argument_values.list.element.int"][0] != "7"+listEnd {
		t.Errorf("%q %q", names, stored)
	}
}
