package values

import (
	"strings"
	"testing"

	"logparser/parser"
)

// printed decodes a line of values that a tool printed, and returns the values as they are shown.
func printed(line string) string {
	d := &Decoder{taken: &parser.ValuesTaken{Events: [][]parser.ValueName{{{Printed: "v_size", Name: "v.size"}, {Printed: "v_data", Name: "v.data"}}}}}
	var list []string
	for _, v := range d.asText(append(make([]byte, 4), line...), true) {
		text := v.Name + "=" + v.Text
		if v.Cut {
			text += " (cut)"
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// TestPrintedTexts checks that a text keeps all its characters, including quotation marks, and is shown as cut only if the tool
// may have left out some.
func TestPrintedTexts(t *testing.T) {
	marks := strings.Repeat(`" `, 300)
	for line, want := range map[string]string{
		`a="one" b=2`:                     `a="one" b=2`,
		`a="one`:                          `a="one"… (cut)`,
		`a="one"/3 b="two"/4`:             `a="one"… (cut) b="two"`,
		`a="one"/2`:                       `a="one"… (cut)`,
		`a="/3"/4`:                        `a="/3"`,
		`a='one'/3 b=1`:                   `a="one"… (cut) b=1`,
		`s_size=3 s_data="one"/3`:         `s_size=3 s_data="one"… (cut)`,
		`a="says "yes" and"`:              `a="says \"yes\" and"`,
		`v_size=3 v_data="one"/3`:         `v.size=3 v.data="one"`,
		`v_size=4 v_data="one"/3`:         `v.size=4 v.data="one"… (cut)`,
		`a="dGVzdA=="`:                    `a="dGVzdA=="`,
		`a="` + marks + `"`:               `a="` + strings.ReplaceAll(marks, `"`, `\"`) + `"`,
		`a="x" b=` + "1 " + marks + "c=2": `a="x" b=1 c=2`,
	} {
		if got := printed(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
