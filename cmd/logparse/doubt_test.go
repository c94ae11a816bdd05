package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoubt has checks that pass by accident: what they name is not in the log. That
// is warned of, and with --strict an error.
func TestDoubt(t *testing.T) {
	nameless := filepath.Join(t.TempDir(), "a.dat")
	var records []byte
	for i := range 100 {
		records = append(records, liveRecord(i)...)
	}
	if err := os.WriteFile(nameless, records, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		args  []string
		doubt string // "" for none
	}{
		{"fine", []string{"show", sampleDir, "--where", "func:factorial dur:>5h"}, ""},
		{"fine module", []string{"show", sampleDir, "--where", "-module:logtest or thread:>0"}, ""},
		{"fine note", []string{"show", sampleDir, "--where", "mark:stray"}, ""},
		{"function", []string{"show", sampleDir, "--where", "func:factorail"}, "--where func:factorail: nothing in the log has that"},
		{"excluded", []string{"save", sampleDir, "-o", "-", "--format", "csv", "--where", "-func:=factorail"}, "--where func:=factorail: nothing in"},
		{"inside", []string{"stats", sampleDir, "--where", "dur:>1ms (in:factorail or in:factorial)"}, "--where in:factorail: nothing in"},
		{"pattern", []string{"tree", sampleDir, "--where", "func:~^factorail$"}, "--where func:~^factorail$: nothing in"},
		{"module", []string{"stats", sampleDir, "--where", "module:ntdll"}, "--where module:ntdll: nothing in"},
		{"source", []string{"stats", sampleDir, "--where", "source:none.cpp"}, "--where source:none.cpp: nothing in"},
		{"thread", []string{"show", sampleDir, "--where", "thread:1..2"}, "--where thread:1..2: nothing in"},
		{"text", []string{"show", sampleDir, "--where", "qqqq"}, "--where qqqq: nothing in"},
		{"empty", []string{"show", sampleDir, "--where", ""}, `--where "" is empty`},
		{"blank", []string{"stats", sampleDir, "--where", "  ", "--where", "func:factorial"}, `--where "  " is empty`},
		{"no names", []string{"show", nameless}, "no function of the log has a name"},
		{"no names in sums", []string{"stats", nameless}, "no function of the log has a name"},
		{"no names for advice", []string{"advise", nameless}, "no function of the log has a name"},
		{"no annotation", []string{"annotations", markedTrace(t), "--match", "qqqq"}, "nothing passes the filter"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, errs := logparse(test.args...)
			if code != exitOK || out == "" || !strings.Contains(errs, test.doubt) || test.doubt == "" && strings.Contains(errs, "warning: --where") {
				t.Errorf("exit status %d, %d bytes: %s", code, len(out), errs)
			}
			want := exitOK
			if test.doubt != "" {
				want = exitStrict
			}
			code, _, errs = logparse(append(test.args, "--strict")...)
			if code != want || want == exitStrict && !strings.Contains(errs, ", and --strict was given") {
				t.Errorf("with --strict: exit status %d, want %d: %s", code, want, errs)
			}
		})
	}
}

// TestWhereTwice joins the expressions of several --where.
func TestWhereTwice(t *testing.T) {
	for _, test := range []struct{ one, two, both string }{
		{"func:factorial", "event:leave", "func:factorial event:leave"},
		{"func:factorial or func:main", "event:leave or depth:0", "(func:factorial or func:main) (event:leave or depth:0)"},
		{"-func:factorial", `func:"factorial" or depth:<2`, "-func:factorial (func:factorial or depth:<2)"},
		{"func:factorial", "", "func:factorial"},
	} {
		_, want, said := logparse("save", sampleDir, "-o", "-", "--format", "csv", "--where", test.both)
		code, got, errs := logparse("save", sampleDir, "-o", "-", "--format", "csv", "--where", test.one, "--where", test.two)
		if code != exitOK || got != want || !strings.HasSuffix(errs, said[strings.LastIndex(said, "logparse: "):]) {
			t.Errorf("%s and %s: exit status %d, %d bytes, want %d: %s", test.one, test.two, code, len(got), len(want), errs)
		}
	}
	code, _, errs := logparse("show", sampleDir, "--where", "func:factorial", "--where", "func:x )")
	if code != exitUsage || !strings.Contains(errs, "--where at byte 7: there is no ( for this )") {
		t.Errorf("exit status %d: %s", code, errs)
	}
}
