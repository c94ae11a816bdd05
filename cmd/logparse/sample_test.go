package main

import (
	"strings"
	"testing"
)

// TestFirstWords asks for nothing: what is said are six lines, with commands that there are.
func TestFirstWords(t *testing.T) {
	code, out, errs := logparse()
	if code != exitOK || errs != "" || strings.Count(out, "\n") != 6 {
		t.Fatalf("status %d: %s%s", code, out, errs)
	}
	root := newRoot(nil, nil, nil)
	for _, verb := range []string{"sample", "record", "show", "stats", "tree", "save", "help"} {
		if !strings.Contains(out, verb) {
			t.Errorf("%s is not named", verb)
		}
		if cmd, _, err := root.Find([]string{verb}); err != nil || cmd.Name() != verb {
			t.Errorf("there is no %s: %v", verb, err)
		}
	}
}

// TestSample prints the sample log, with names.
func TestSample(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("LocalAppData", t.TempDir())
	code, out, errs := logparse("sample")
	if code != exitOK || !strings.Contains(out, "-> main") || !strings.Contains(errs, "the log is ") {
		t.Fatalf("status %d: %.2000s%s", code, out, errs)
	}
}
