package values

import (
	"bytes"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/parser"
	"logparser/rows"
)

// decodedPlan is a plan with a function at each multiple of 0x100, each of which takes another kind of value.
const decodedPlan = `lpvalues 1
machine x86-64
abi sysv
type 1 int 4 int
type 2 uint 2 unsigned short
type 3 bool 1 bool
type 4 char 1 char
type 5 float 4 float
type 6 float 16 long double
type 7 enum 4 app::Color
enumerator 7 0 Red
enumerator 7 5 Green
enumerator 7 -1 None
type 8 flags 4 app::Mode
enumerator 8 0 Nothing
enumerator 8 1 Read
enumerator 8 2 Write
enumerator 8 4 Exec
type 9 pointer 8 0 app::Shape*
type 10 struct 12 app::Pt
member 10 0 11 <base>
member 10 4:1:3 1 bits
member 10 8 4 mark
type 11 struct 4 app::Base
member 11 0 1 id
type 12 array 12 3 1 int[3]
type 13 array 4 4 4 char[4]
type 14 text 0 char const*
type 15 int 16 __int128
type 16 char 4 char32_t
type 17 opaque 3 app::Opaque
type 18 struct 8 union
member 18 0 1 i
member 18 0 5 f
type 19 float 8 double
module app
identity build-id 01020304
`

// planWith is decodedPlan with functions that have a line each.
func planWith(lines ...string) string {
	var s strings.Builder
	s.WriteString(decodedPlan)
	for i, line := range lines {
		s.WriteString("function " + hexadecimal(uint64(0x100 * (i + 1)))[2:] + " 10 f\n" + line + "\n")
	}
	return s.String()
}

func takenBy(plan string) *parser.ValuesTaken {
	h := fnv.New64a()
	h.Write([]byte(plan))
	return &parser.ValuesTaken{Plan: []byte(plan), PlanHash: h.Sum64()}
}

var build = modules.Identity{BuildID: "\x01\x02\x03\x04"}

// said returns the values of a call as they are shown.
func argumentsText(list []rows.Value) string { return string(rows.AppendArguments(nil, list)) }

// TestDecode decodes values of each kind.
func TestDecode(t *testing.T) {
	tests := []struct{ op, bytes, want string }{
		{"enter rdi value 4 1 a", "fdffffff", "int a = -3"},
		{"enter rdi value 2 2 a", "fdff", "unsigned short a = 65533"},
		{"enter rdi value 1 3 a", "00", "bool a = false"},
		{"enter rdi value 1 3 a", "01", "bool a = true"},
		{"enter rdi value 1 3 a", "07", "bool a = true (7)"},
		{"enter rdi value 1 4 a", "71", "char a = 'q'"},
		{"enter rdi value 1 4 a", "0a", `char a = '\n'`},
		{"enter rdi value 1 4 a", "c3", `char a = '\xc3'`},
		{"enter rdi value 4 16 a", "acf80100", "char32_t a = '🢬'"},
		{"enter xmm0 value 4 5 a", "0000c03f", "float a = 1.5"},
		{"enter xmm0 value 4 5 a", "00004040", "float a = 3.0"},
		{"enter xmm0 value 8 19 a", "000000000000f07f", "double a = +Inf"},
		{"leave st0 value 16 6 return", "0000000000000090014000000000000000"[:32], "long double return = 4.5"},
		{"enter rdi value 4 7 a", "05000000", "app::Color a = Green"},
		{"enter rdi value 4 7 a", "ffffffff", "app::Color a = None"},
		{"enter rdi value 4 7 a", "09000000", "app::Color a = 9"},
		{"enter rdi value 4 8 a", "05000000", "app::Mode a = Read|Exec"},
		{"enter rdi value 4 8 a", "00000000", "app::Mode a = Nothing"},
		{"enter rdi value 4 8 a", "12000000", "app::Mode a = Write|0x10"},
		{"enter rdi value 4 8 a", "30000000", "app::Mode a = 0x30"},
		{"enter rdi value 8 9 this", "4030201000000000", "this = 0x10203040 <vtable>"},
		{"enter rdi value 8 9 p", "0000000000000000", "app::Shape* p = null"},
		{"enter rdi+rsi value 12 10 p", "07000000fa00000041000000", "app::Pt p = {app::Base = {id = 7}, bits = -3, mark = 'A'}"},
		{"enter rdi value 12 12 p", "010000000200000003000000", "int[3] p = [1, 2, 3]"},
		{"enter rdi value 4 13 p", "61620000", `char[4] p = "ab"`},
		{"enter rdi memory 0 8 1 p", "000100000002000000", "int p = [1, 2]"},
		{"enter rdi memory 0 4 1 p", "01", "int p = null"},
		{"enter rdi memory 0 4 1 p", "02", "int p = not readable"},
		{"enter rdi memory 0 4 1 p", "03", "int p = damaged"},
		{"enter rdi text 4 14 s", "0300616263", `char const* s = "abc"`},
		{"enter rdi text 4 14 s", "050061626364", `char const* s = "abcd"…`},
		{"enter rdi text 4 14 s", "fdff61626364", `char const* s = "abcd"…`},
		{"enter rdi text 4 14 s", "fdff6162", `char const* s = not recorded`},
		{"enter rdi text 4 14 s", "feff", `char const* s = not readable`},
		{"enter rdi text 4 14 s", "ffff", `char const* s = null`},
		{"enter rdi text 4 14 s", "0200ff22", `char const* s = "\xff\""`},
		{"enter rdi text 4 14 s", "0000", `char const* s = ""`},
		{"enter rdi+rsi value 16 15 n", "fdffffffffffffffffffffffffffffff", "__int128 n = -3"},
		{"enter rdi+rsi value 16 15 n", "00000000000000000100000000000000", "__int128 n = 18446744073709551616"},
		{"enter rdi value 3 17 o", "010203", "app::Opaque o = 0x010203"},
		{"enter rdi value 8 18 u", "0000c03f00000000", "union u = {i = 1069547520, f = 1.5}"},
		{"enter - unknown 1 lost", "", "int lost = ?"},
		{"enter rdi value 4 1 a\nenter rsi value 4 1 b", "0100000002000000", "int a = 1, int b = 2"},
		{"enter rdi value 4 1 a\nenter rsi value 4 1 b", "010000000200", "int a = 1, int b = not recorded"},
		{"enter rdi value 4 1 a\nenter rsi value 4 1 b", "", "int a = not recorded, int b = not recorded"},
	}
	var lines []string
	for _, test := range tests {
		lines = append(lines, test.op)
	}
	symbol := func(address uint64) string {
		if address == 0x10203040 {
			return "vtable"
		}
		return ""
	}
	d, err := NewDecoder(takenBy(planWith(lines...)))
	if err != nil {
		t.Fatal(err)
	}
	for i, test := range tests {
		b, err := hex.DecodeString(test.bytes)
		if err != nil {
			t.Fatal(err)
		}
		c, v := &Callee{Module: "app", Identity: build, RVA: uint64(0x100*(i+1) + 4), Symbol: symbol}, &parser.CallValues{Form: parser.ValuesByPlan, Taken: b}
		list := d.Arguments(c, v)
		if strings.HasPrefix(test.op, "leave") {
			list = d.Results(c, v)
		}
		if got := argumentsText(list); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.op, test.bytes, got, test.want)
		}
	}
}

// TestUnverified checks values whose meaning the plan does not give with certainty.
func TestUnverified(t *testing.T) {
	plan := planWith("enter rdi value 4 1 a")
	v := &parser.CallValues{Form: parser.ValuesByPlan, Taken: []byte{1, 0, 0, 0}}
	for name, c := range map[string]*Callee{
		"another build":    {Module: "app", Identity: modules.Identity{BuildID: "\x01\x02\x03\x05"}, RVA: 0x100},
		"no identity":      {Module: "app", Identity: modules.Identity{}, RVA: 0x100},
		"another module":   {Module: "lib", Identity: modules.Identity{}, RVA: 0x100},
		"another function": {Module: "app", Identity: build, RVA: 0x110},
	} {
		d, err := NewDecoder(takenBy(plan))
		if err != nil {
			t.Fatal(err)
		}
		if got := argumentsText(d.Arguments(c, v)); got != "unverified" {
			t.Errorf("%s: %s", name, got)
		}
	}
	c := &Callee{Module: "app", Identity: build, RVA: 0x100}
	for name, by := range map[string]*parser.ValuesTaken{"no plan": {PlanHash: 1}, "wrong plan": takenBy("lpvalues 2\n")} {
		d, err := NewDecoder(by)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if got := argumentsText(d.Arguments(c, v)); got != "unverified" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestOtherName decodes values of a library that the loader knows by the name of a link to its file.
func TestOtherName(t *testing.T) {
	d, err := NewDecoder(takenBy(planWith("enter rdi value 4 1 a")))
	if err != nil {
		t.Fatal(err)
	}
	c := &Callee{Module: "app.so.2", Identity: build, RVA: 0x100}
	v := &parser.CallValues{Form: parser.ValuesByPlan, Taken: []byte{1, 0, 0, 0}}
	if got := argumentsText(d.Arguments(c, v)); got != "int a = 1" {
		t.Errorf("shown is %s", got)
	}
}

// TestGiven decodes values that programs give to the recorder.
func TestGiven(t *testing.T) {
	by := &parser.ValuesTaken{Places: map[uint32]*parser.ValuePlace{
		1: {Names: `a, f(x, "y, )"), *p`, Codes: []uint8{7, 12, 14}, Types: []string{"int", "double", ""}},
		2: {Names: "r", Codes: []uint8{64 + 7}, Types: []string{"Color"}},
		3: {Names: "own, many", Codes: []uint8{15, 99}, Types: []string{"Point", ""}},
	}}
	d, err := NewDecoder(by)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		place uint32
		bytes string
		enter bool
		want  string
	}{
		{1, "050000000000000000000840" + "02006869", true, `int a = 5, double f(x, "y, )") = 3.0, *p = "hi"`},
		{1, "05000000", true, `int a = 5, double f(x, "y, )") = not recorded, *p = not recorded`},
		{2, "03000000", false, "Color return = 3"},
		{2, "03000000", true, "Color r = 3"},
		{3, "0400" + "2831290a", true, "Point own = (1) , many = unverified"},
		{9, "00", true, "unverified"},
	}
	for _, test := range tests {
		b, _ := hex.DecodeString(test.bytes)
		v := &parser.CallValues{Given: []parser.PlaceValues{{Place: test.place, Bytes: b}}}
		list := d.Arguments(&Callee{}, v)
		if !test.enter {
			list = d.Results(&Callee{}, v)
		}
		if got := argumentsText(list); got != test.want {
			t.Errorf("place %d, %s: %s, want %s", test.place, test.bytes, got, test.want)
		}
	}
}

// TestRegisters shows the raw contents of registers.
func TestRegisters(t *testing.T) {
	d, _ := NewDecoder(&parser.ValuesTaken{Registers: true})
	b := append([]byte{2, 1, 1, 0}, bytes.Repeat([]byte{1, 0, 0, 0, 0, 0, 0, 0}, 4)...)
	v := &parser.CallValues{Form: parser.ValuesOfRegisters, Taken: b}
	if got, want := argumentsText(d.Arguments(&Callee{}, v)), "rdi = 0x1, rsi = 0x1, xmm0 = 0x1, stack+0 = 0x1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := argumentsText(d.Results(&Callee{}, v)), "rax = 0x1, rdx = 0x1, xmm0 = 0x1, stack+0 = 0x1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzDecode decodes any bytes by any plan, and checks that the amount of text is bounded.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(planWith("enter rdi value 4 1 a\nenter rsi text 4 14 s\nleave rax memory 0 12 10 return")), []byte{1, 0, 0, 0, 2, 0, 97, 98})
	f.Add([]byte("lpvalues 1\ntype 1 struct 8 S\nmember 1 0 1 s\nmember 1 0 1 t\nmodule m\nidentity none\nfunction 0 ff f\nenter rdi value 8 1 a\n"), []byte("12345678"))
	f.Add([]byte("lpvalues 1\ntype 1 array 8 8 2 a\ntype 2 array 1 1 1 b\nmodule m\nidentity none\nfunction 0 ff f\nenter rdi value 8 1 a\n"), []byte("12345678"))
	f.Add([]byte("lpvalues 1\nmachine x86-64\nabi sysv\ntype 1 struct 1 S\nmember 1 0 1 s\nmember 1 0 1 t\nmodule m\nidentity none\nfunction 0 ff f\nenter - unknown 1 a\nenter rdi value 1 1 b\n"), []byte("1"))
	f.Fuzz(func(t *testing.T, plan, b []byte) {
		if len(plan) > 1<<16 || len(b) > 1<<12 {
			return
		}
		d, err := NewDecoder(takenBy(string(plan)))
		if err != nil {
			return
		}
		for _, m := range d.plan.Modules {
			for i := range m.Functions {
				c := &Callee{Module: m.Name, Identity: m.Identity, RVA: m.Functions[i].RVA}
				v := &parser.CallValues{Form: parser.ValuesByPlan, Taken: b, Given: []parser.PlaceValues{{Place: 1, Bytes: b}}}
				for _, list := range [][]rows.Value{d.Arguments(c, v), d.Results(c, v)} {
					if n := len(argumentsText(list)); n > 1<<20+64*len(plan)*(len(list)+1) {
						t.Fatalf("%d bytes of text", n)
					}
				}
			}
		}
	})
}
