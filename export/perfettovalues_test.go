package export_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"logparser/export"
	"logparser/rows"
)

// perfettoName returns the name of an annotation by the numbers of Perfetto's published schema.
func perfettoName(t *testing.T, a message, names map[uint64]string) string {
	t.Helper()
	if a[10] != nil {
		return string(a[10][0].([]byte))
	}
	name, ok := names[a.number(1)]
	if !ok {
		t.Fatalf("the annotation's name %d is not known", a.number(1))
	}
	return name
}

// perfettoTyped reads a value and its type.
func perfettoTyped(t *testing.T, a message, names map[uint64]string) string {
	t.Helper()
	var found []string
	for _, field := range slices.Sorted(maps.Keys(a)) {
		switch n := a.number; field {
		case 1, 10:
		case 2:
			found = append(found, fmt.Sprint("bool ", n(2) == 1))
		case 3:
			found = append(found, fmt.Sprint("uint ", n(3)))
		case 4:
			found = append(found, fmt.Sprint("int ", int64(n(4))))
		case 5:
			found = append(found, fmt.Sprint("double ", math.Float64frombits(n(5))))
		case 6:
			found = append(found, "string "+string(a[6][0].([]byte)))
		case 7:
			found = append(found, fmt.Sprintf("pointer %#x", n(7)))
		case 11:
			found = append(found, "{"+perfettoMembers(t, a, field, names)+"}")
		case 12:
			var list []string
			a.each(t, field, func(part message) { list = append(list, perfettoTyped(t, part, names)) })
			found = append(found, "["+strings.Join(list, ", ")+"]")
		default:
			t.Fatalf("the schema has no field %d", field)
		}
	}
	if len(found) != 1 {
		t.Fatalf("an annotation with the values %q", found)
	}
	return found[0]
}

func perfettoMembers(t *testing.T, of message, field int, names map[uint64]string) string {
	t.Helper()
	var list []string
	of.each(t, field, func(part message) {
		list = append(list, perfettoName(t, part, names)+" = "+perfettoTyped(t, part, names))
	})
	return strings.Join(list, ", ")
}

// perfettoValues returns the values of the calls of a file in their order, a line each.
func perfettoValues(t *testing.T, text []byte) (calls []string) {
	t.Helper()
	names := make(map[uint64]string)
	parseMessage(t, text).each(t, 1, func(packet message) {
		packet.each(t, 12, func(interned message) {
			interned.each(t, 3, func(name message) { names[name.number(1)] = string(name[2][0].([]byte)) })
		})
		packet.each(t, 11, func(e message) {
			if e.number(9) != 1 {
				return
			}
			line := ""
			e.each(t, 4, func(a message) {
				if name := perfettoName(t, a, names); name == "arguments" || name == "result" {
					line += name + " " + perfettoTyped(t, a, names) + "\n"
				}
			})
			calls = append(calls, line)
		})
	})
	return calls
}

// callsWith makes rows of calls, an enter and a leave each, that have the values.
func callsWith(values ...*rows.CallValues) (l list) {
	for i, v := range values {
		at := int64(2 * i)
		enter := rows.Row{Index: at, Elapsed: at, Duration: 1, Function: "f", Filled: rows.Values, Values: v}
		leave := enter
		leave.Event, leave.Index, leave.Elapsed = rows.Leave, at+1, at+1
		l = append(l, enter, leave)
	}
	return l
}

func number(kind rows.ValueKind, bits uint64, text string) rows.Value {
	return rows.Value{Kind: kind, Bits: bits, Text: text}
}

// TestPerfettoValues reads values of all kinds back.
func TestPerfettoValues(t *testing.T) {
	minus := func(n uint64) uint64 { return -n }
	one := rows.Value{Name: "x", Kind: rows.SignedValue, Bits: 1, Text: "1"}
	long := strings.Repeat("long ", 100)
	for _, test := range []struct {
		value rows.Value
		want  string
	}{
		{number(rows.SignedValue, minus(7), "-7"), "int -7"},
		{number(rows.SignedValue, 1<<63, "-9223372036854775808"), "int -9223372036854775808"},
		{number(rows.UnsignedValue, math.MaxUint64, "18446744073709551615"), "uint 18446744073709551615"},
		{number(rows.UnsignedValue, 1, "true"), "bool true"},
		{number(rows.UnsignedValue, 0, "false"), "bool false"},
		{number(rows.UnsignedValue, 2, "true (2)"), "string true (2)"},
		{number(rows.UnsignedValue, 42, "0x2a"), "pointer 0x2a"},
		{number(rows.FloatValue, math.Float64bits(2.5), "2.5"), "double 2.5"},
		{number(rows.FloatValue, math.Float64bits(math.Inf(-1)), "-Inf"), "double -Inf"},
		{number(rows.FloatValue, math.Float64bits(math.NaN()), "NaN"), "double NaN"},
		{number(rows.PointerValue, 0x55e1c630d140, "0x55e1c630d140"), "pointer 0x55e1c630d140"},
		{number(rows.PointerValue, 0, "null"), "pointer 0x0"},
		{number(rows.PointerValue, 0x40, "0x40 <app::called>"), "string 0x40 <app::called>"},
		{number(rows.SignedValue, 3, "Green"), "string Green"},
		{number(rows.SignedValue, 0, "null"), "string null"},
		{number(rows.SignedValue, 'a', "'a'"), "string 'a'"},
		{rows.Value{Kind: rows.TextValue, Text: `"?"`, Characters: "?"}, "string ?"},
		{rows.Value{Kind: rows.TextValue, Text: `""`}, "string "},
		{rows.Value{Kind: rows.TextValue, Text: "…", Characters: "a\n\x00\xff" + long}, "string a\n\x00\uFFFD" + long},
		{rows.Value{Text: "?"}, "{not known = string ?}"},
		{rows.Value{Text: "not recorded"}, "{not known = string not recorded}"},
		{rows.Value{Kind: rows.OtherValue, Text: "{}"}, "string {}"},
		{rows.Value{Kind: rows.OtherValue, Parts: []rows.Value{one, {Name: "y", Text: "?"}}}, "{x = int 1, y = {not known = string ?}}"},
		{rows.Value{Kind: rows.OtherValue, Parts: []rows.Value{{Name: "at", Kind: rows.OtherValue, Parts: []rows.Value{one}}, {Kind: rows.FloatValue, Text: "0.0"}}},
			"{at = {x = int 1}, 1 = double 0}"},
		{rows.Value{Kind: rows.OtherValue, Text: "[…]", Parts: []rows.Value{{Kind: rows.TextValue, Characters: "a"}, {Text: "?"}}}, "[string a, {not known = string ?}]"},
	} {
		named := test.value
		named.Name = "n"
		result := test.value
		result.Name = rows.Result
		for at, of := range map[string]*rows.CallValues{
			"arguments {n = %s}\n":                             {Arguments: []rows.Value{named}},
			"arguments {0 = %[1]s, n = %[1]s}\n":               {Arguments: []rows.Value{test.value, named}},
			"result {return = %s}\n":                           {Results: []rows.Value{result}},
			"arguments {n = %[1]s}\nresult {return = %[1]s}\n": {Arguments: []rows.Value{named}, Results: []rows.Value{result}},
		} {
			want := fmt.Sprintf(at, test.want)
			// The second call has the names that are known by then.
			if got := perfettoValues(t, write(t, "perfetto", callsWith(of, nil, of), export.Options{})); !slices.Equal(got, []string{want, "", want}) {
				t.Errorf("%+v: %q, want %q", test.value, got, want)
			}
		}
	}
}

// typedText is what perfettoTyped should read of a value that [someValue] made.
func typedText(v *rows.Value) string {
	var parts []string
	for i := range v.Parts {
		parts = append(parts, typedText(&v.Parts[i]))
	}
	switch {
	case v.Kind == rows.UnknownValue:
		return "{not known = string " + v.Text + "}"
	case v.Kind == rows.TextValue:
		return "string " + strings.ToValidUTF8(v.Characters, "\uFFFD")
	case v.Kind == rows.FloatValue:
		return fmt.Sprint("double ", math.Float64frombits(v.Bits))
	case len(parts) > 0 && v.Parts[0].Name == "":
		return "[" + strings.Join(parts, ", ") + "]"
	case len(parts) > 0:
		for i := range parts {
			parts[i] = v.Parts[i].Name + " = " + parts[i]
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "string " + v.Text // none of these is a number
}

// TestPerfettoSomeValues reads values back that are of any kind, with parts of any size.
func TestPerfettoSomeValues(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 5))
		var of []*rows.CallValues
		var want []string
		for range 1 + r.IntN(100) {
			v, line := &rows.CallValues{}, ""
			for k := range r.IntN(30) {
				v.Arguments = append(v.Arguments, someValue(r, fmt.Sprint("p", k), 0))
				line += fmt.Sprintf(", p%d = %s", k, typedText(&v.Arguments[k]))
			}
			if line != "" {
				line = "arguments {" + line[2:] + "}\n"
			}
			of, want = append(of, v), append(want, line)
		}
		if got := perfettoValues(t, write(t, "perfetto", callsWith(of...), export.Options{})); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q, want %q", seed, got, want)
		}
	}
}

// TestPerfettoNamesOfValues has more names of values than are numbered.
func TestPerfettoNamesOfValues(t *testing.T) {
	v := &rows.CallValues{}
	var want strings.Builder
	for i := range 1<<16 + 10 {
		n := strconv.Itoa(i)
		v.Arguments = append(v.Arguments, rows.Value{Name: "p" + n, Kind: rows.SignedValue, Bits: uint64(i), Text: n})
		want.WriteString(", p" + n + " = int " + n)
	}
	got := perfettoValues(t, write(t, "perfetto", callsWith(v), export.Options{}))
	if len(got) != 1 || got[0] != "arguments {"+want.String()[2:]+"}\n" {
		t.Errorf("%d calls, %d bytes of values", len(got), len(strings.Join(got, "")))
	}
}

// TestPerfettoWithoutValues writes the same bytes for a log with values that has none as for one without.
func TestPerfettoWithoutValues(t *testing.T) {
	without := callsWith(nil, nil)
	for i := range without {
		without[i].Filled = 0
	}
	want := string(write(t, "perfetto", without, export.Options{}))
	for _, of := range []*rows.CallValues{nil, {}} {
		if got := string(write(t, "perfetto", callsWith(of, of), export.Options{Header: rows.Header{Values: true}})); got != want {
			t.Errorf("%+v: %q, want %q", of, got, want)
		}
	}
}

// TestPerfettoValuesInParts has in each part the names of its values, and the values again of a call that goes on.
func TestPerfettoValuesInParts(t *testing.T) {
	v := &rows.CallValues{Arguments: []rows.Value{{Name: "n", Kind: rows.SignedValue, Bits: 7, Text: "7"}}}
	of := make([]*rows.CallValues, 100)
	for i := range of {
		of[i] = v
	}
	l := callsWith(of...)
	for i := range l {
		l[i].Index, l[i].Depth = l[i].Index+1, 1
	}
	whole := rows.Row{Duration: int64(len(l)), Function: "whole", Filled: rows.Values, Values: v}
	l = append(list{whole}, l...)
	files, err := export.Save(context.Background(), filepath.Join(t.TempDir(), "a.pftrace"), format(t, "perfetto"), l, export.Options{Split: export.Limits{Rows: 70}})
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	calls := 0
	for _, path := range files {
		text := read(t, path)
		got := perfettoValues(t, text)
		calls += len(got) - bytes.Count(text, []byte("goes on from the part before"))
		for _, line := range got {
			if line != "arguments {n = int 7}\n" {
				t.Errorf("%q", line)
			}
		}
	}
	if calls != 101 {
		t.Errorf("%d calls", calls)
	}
}
