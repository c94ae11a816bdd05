package values

import (
	"encoding/hex"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/parser"
)

// TestClass checks that the real class of an object is shown, but no class if its table of virtual methods has no name.
func TestClass(t *testing.T) {
	text := strings.Join([]string{
		"lpvalues 1", "machine x86-64", "abi sysv",
		"type 1 pointer 8 0 class", "type 2 int 4 int", "type 3 struct 16 app::Shape", "member 3 0 1 class", "member 3 8 2 id",
		"type 4 struct 16 app::Rect", "member 4 0 3 <base>", "member 4 12 2 w", "type 5 pointer 8 0 app::Shape*",
		"module app", "identity build-id 01",
		"function 100 10 f", "enter rdi value 8 5 this", "enter rdi memory 0 8 1 this->class", "enter rsi memory 0 16 4 *r", "",
	}, "\n")
	d, err := NewDecoder(takenBy(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ bytes, want string }{
		{"4000000000000000" + "001000000000000000" + "00" + "1000000000000000" + "07000000" + "03000000",
			"this = 0x40, this->class = app::Circle, *r = app::Circle {app::Shape = {id = 7}, w = 3}"},
		{"4000000000000000" + "002000000000000000" + "00" + "2000000000000000" + "07000000" + "03000000",
			"this = 0x40, this->class = 0x20, *r = {app::Shape = {id = 7}, w = 3}"},
		{"4000000000000000" + "02" + "01", "this = 0x40, this->class = not readable, *r = null"},
	} {
		b, err := hex.DecodeString(test.bytes)
		if err != nil {
			t.Fatal(err)
		}
		c := &Callee{Module: "app", Identity: modules.Identity{BuildID: "\x01"}, RVA: 0x100, Symbol: func(address uint64) string {
			if address == 0x10 {
				return "vtable for app::Circle+0x10"
			}
			return ""
		}}
		if got := argumentsText(d.Arguments(c, &parser.CallValues{Form: parser.ValuesByPlan, Taken: b})); got != test.want {
			t.Errorf("%s\nwant\n%s", got, test.want)
		}
	}
}
