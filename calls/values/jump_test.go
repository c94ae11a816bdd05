package values

import (
	"encoding/hex"
	"testing"

	"logparser/parser"
)

// TestOfJump makes the result of a call from what was taken of the function that it ended with a jump to.
func TestOfJump(t *testing.T) {
	const text, pair, hidden = "leave rax text 8 14 return", "leave rax+rdx value 12 10 return", "leave rax memory 0 12 10 return"
	for _, test := range []struct{ name, f, to, taken, want string }{
		{"the same", "leave rax value 4 1 return", "leave rax value 4 1 return", "fdffffff", "int return = -3"},
		{"the lower part", "leave rax value 2 2 return", "leave rax value 4 1 return", "fdff1234", "unsigned short return = 65533"},
		{"less", "leave rax value 4 1 return", "leave rax value 2 2 return", "fdff", ""},
		{"one of two registers", "leave rax value 4 1 return", pair, "010000000000000002000000", "int return = 1"},
		{"two of one", pair, "leave rax value 8 9 return", "0100000000000000", ""},
		{"floating", "leave xmm0 value 4 5 return", "leave xmm0 value 4 5 return", "0000c03f", "float return = 1.5"},
		{"an integer for a floating number", "leave xmm0 value 4 5 return", "leave rax value 8 9 return", "0000c03f00000000", ""},
		{"a floating number for an integer", "leave rax value 4 1 return", "leave xmm0 value 8 19 return", "0000c03f00000000", ""},
		{"a register of another name", "leave rax value 4 1 return", "leave raxx value 8 9 return", "0000c03f00000000", ""},
		{"st0", "leave st0 value 16 6 return", "leave st0 value 16 6 return", "00000000000000c0ff3f000000000000", "long double return = 1.5"},
		{"a text", text, text, "0400746578740000", `char const* return = "text"`},
		{"a text that is cut", text, text, "0a006120746578742074", `char const* return = "a text t"…`},
		{"null", text, text, "ffff", "char const* return = null"},
		{"not readable", text, text, "feff", "char const* return = not readable"},
		{"a text of another length", text, "leave rax text 9 14 return", "040074657874", ""},
		{"a text for an address", "leave rax value 8 9 return", text, "040074657874", ""},
		{"an address for a text", text, "leave rax value 8 9 return", "0001000000000000", ""},
		{"memory", hidden, hidden, "00010000000000000002000000", "app::Pt return = {app::Base = {id = 1}, bits = 0, mark = '\\x02'}"},
		{"of a pointer that was kept", "leave @rdi memory 0 4 1 return", "leave @rdi memory 0 4 1 return", "0001000000", ""},
		{"no result of f", "enter rdi value 4 1 a", "leave rax value 4 1 return", "fdffffff", ""},
		{"no result of the other", "leave rax value 4 1 return", "enter rdi value 4 1 a", "fdffffff", ""},
		{"bytes are missing", "leave rax value 4 1 return", "leave rax value 4 1 return", "fdff", ""},
		{"a text's bytes are missing", text, text, "04007465", ""},
		{"a text's length is missing", text, text, "04", ""},
		{"memory is missing", hidden, hidden, "0001", ""},
		{"nothing", hidden, hidden, "", ""},
		{"unknown", "leave - unknown 12 return", "leave - unknown 12 return", "", "int[3] return = ?"},
		{"outs", "leave rax value 4 1 return\nleave @rdi memory 0 4 1 out@leave", "leave rax value 4 1 return\nleave @rsi memory 0 4 1 n@leave", "010000000007000000", "int return = 1, int out@leave = ?"},
		{"outs alone", "leave @rdi memory 0 4 1 out@leave", "leave rax value 4 1 return", "01000000", ""},
		{"results behind outs", "leave rax value 4 1 return\nleave @rdi memory 0 4 1 out@leave\nleave rdx value 4 1 return.b", "leave rax value 4 1 return", "01000000", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := NewDecoder(takenBy(planWith(test.f, test.to)))
			if err != nil {
				t.Fatal(err)
			}
			taken, err := hex.DecodeString(test.taken)
			if err != nil {
				t.Fatal(err)
			}
			f, to := &Callee{Module: "app", Identity: build, RVA: 0x100}, &Callee{Module: "app", Identity: build, RVA: 0x200}
			b := d.OfJump(f, to, taken)
			got := argumentsText(d.Results(f, &parser.CallValues{Form: parser.ValuesOfJump, Taken: b}))
			if (b == nil) != (test.want == "") || got != test.want {
				t.Errorf("%x: %s, want %s", b, got, test.want)
			}
			if b := d.OfJump(f, &Callee{Module: "another", RVA: 0x200}, taken); b != nil {
				t.Errorf("of a function that is not in the plan: %x", b)
			}
			if list := d.Arguments(f, &parser.CallValues{Form: parser.ValuesOfJump, Taken: taken}); list != nil {
				t.Errorf("arguments: %s", argumentsText(list))
			}
		})
	}
}
