package app

import (
	"os"
	"path/filepath"
	"testing"
)

// TestThreadOfDigits opens what perf script prints of a thread whose name is a number: its lines have numbers and a text, as
// those of modules files.
func TestThreadOfDigits(t *testing.T) {
	for _, name := range []string{"app", "123", "0x12"} {
		path := filepath.Join(t.TempDir(), "perf.txt")
		text := " " + name + "  4711 [001]   662.723444: probe_app:f: (55d4114e8380)\n " + name + "  4711 [001]   662.723544: probe_app:f: (55d4114e8380)\n"
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		s := open(t, Inputs{Log: path})
		if n := s.Rows().Len(); n != 2 {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}
