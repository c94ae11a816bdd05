package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"logparser/rows"
)

// TestIndentFromShallowest holds that deep rows are indented from the shallowest of them on, in text and html; tables that grow are indented from
// the outermost call.
func TestIndentFromShallowest(t *testing.T) {
	deep := &list{digits: 9}
	for _, d := range []int{30, 31, 32, 60} {
		deep.rows = append(deep.rows, rows.Row{Index: int64(len(deep.rows)), Thread: 7, Event: rows.Enter, Depth: d, Duration: 5, Function: fmt.Sprint("f", d), Address: uint64(d)})
	}
	line := func(opt Options, function string) string {
		for l := range bytes.Lines(save(t, "txt", deep, opt)) {
			if bytes.Contains(l, []byte(function)) {
				_, after, _ := strings.Cut(string(l), "ns")
				return strings.TrimRight(after, " \r\n")
			}
		}
		return ""
	}
	for function, want := range map[string]string{"f30": "  -> f30", "f31": "    -> f31", "f32": "      -> f32", "f60": "  " + strings.Repeat(" ", maxIndent*indentWidth) + "[60] -> f60"} {
		if got := line(Options{}, function); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := line(Options{MostRows: 100}, "f31"); !strings.Contains(got, "[31] ") {
		t.Errorf("a table that grows: %q", got)
	}
	page := string(save(t, "html", deep, Options{}))
	for _, want := range []string{`data-d="30"`, `--d:0"`, `--d:1"`, fmt.Sprintf(`--d:%d"`, maxPageIndent)} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
