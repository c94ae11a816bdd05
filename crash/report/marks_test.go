package report

import (
	"strings"
	"testing"
)

// TestMarks looks for what is not sure of a frame in each line about it, in all formats.
func TestMarks(t *testing.T) {
	r := &Report{Local: "2003-02-13 09:23:12", Pointers: 8, Cause: "SIGSEGV", Threads: []Thread{{ID: 1, Crashed: true, Rows: []Row{
		{Number: 0, Address: 0x1000, Module: "/opt/app", Symbols: "unverified", Found: "scan",
			Functions: []Function{{Name: "inlined"}, {Name: "old", Signature: "old(int)", File: "a.c", Line: 3}}},
		{Number: 1, Address: 0x2000, Module: "/opt/app", Found: "cfi", Doubtful: true, Functions: []Function{{Name: "main"}}},
	}}}}
	for format, want := range map[string][]string{
		"txt":      {"[unverified] inlined", "[unverified] old(int)", "cfi?"},
		"html":     {"[unverified] inlined", "[unverified] old(int)", "cfi?"},
		"gdb-like": {"[unverified] inlined", "[unverified] old"},
		"exelog":   {"[unverified] inlined", "[unverified] old"},
		"json":     {`"symbols":"unverified"`, `"doubtful":true`},
	} {
		var out strings.Builder
		if err := Write(&out, r, format); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(out.String(), `": "`, `":"`)
		for _, w := range want {
			if !strings.Contains(strings.ReplaceAll(text, `": true`, `":true`), w) {
				t.Errorf("%s has no %q:\n%s", format, w, out.String())
			}
		}
		if strings.Contains(text, "[unverified] main") || strings.Contains(text, "scan?") {
			t.Errorf("%s marks too much:\n%s", format, text)
		}
	}
}
