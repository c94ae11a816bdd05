package table

import (
	"strings"
	"testing"

	"logparser/rows"
)

// What is copied for another place is shown there as it is, whatever a name holds.
func TestMarkup(t *testing.T) {
	r := rows.Row{Index: 7, Event: rows.Enter, Depth: 1, Function: "a|b<int *>::_x\n`y`", Duration: rows.NoDuration}
	for _, test := range []struct {
		name   string
		markup Markup
		want   string
		cells  string
	}{
		{"Markdown", Markdown, "\u00a0\u00a0\u2192 a\\|b&lt;int \\*&gt;::\\_x \\`y\\`", "| "},
		{"HTML", HTML, "\u00a0\u00a0\u2192 a|b&lt;int *&gt;::_x `y`", "<td>"},
	} {
		got := string(test.markup.Line(nil, &r, Format{}))
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %q does not have %q", test.name, got, test.want)
		}
		if strings.Contains(got, "\n") {
			t.Errorf("%s: %q is more than a line", test.name, got)
		}
		if n := strings.Count(got, test.cells); n != len(lineFields) {
			t.Errorf("%s: %d cells, want %d: %q", test.name, n, len(lineFields), got)
		}
	}
	if got := string(AppendLine(nil, &r, Format{})); strings.Count(got, "\t") != len(lineFields)-1 || !strings.HasPrefix(got, "7\t") {
		t.Errorf("text %q", got)
	}
}
