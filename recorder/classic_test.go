package recorder

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the generated header")

// classicPart is a line of Logger.h.in in whose place a file of its folder goes.
var classicPart = regexp.MustCompile(`(?m)^#include "((?:record|linux|windows)\.h)"\n`)

// loggerHeader puts the classic recorder together, which users copy as one
// header.
func loggerHeader(t *testing.T) []byte {
	t.Helper()
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join("classic", name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	frame := read("Logger.h.in")
	parts := 0
	out := classicPart.ReplaceAllFunc(frame, func(line []byte) []byte {
		parts++
		return read(string(classicPart.FindSubmatch(line)[1]))
	})
	if parts != 3 {
		t.Fatalf("Logger.h.in includes %d parts, want 3", parts)
	}
	return append([]byte("// Made of the files in recorder/classic by\n// go test ./recorder -run TestLoggerHeader -update; edit those.\n//\n"), out...)
}

// TestLoggerHeader holds include/Logger.h to the files it is made of.
func TestLoggerHeader(t *testing.T) {
	const name = "include/Logger.h"
	want := loggerHeader(t)
	if *update {
		if err := os.WriteFile(name, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what recorder/classic makes: go test ./recorder -run TestLoggerHeader -update", name)
	}
}
