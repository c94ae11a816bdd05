package control_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/language"
)

// english finds words that follow each other in English. What files name (paths,
// command lines) is never more than one of them in this test.
var english = regexp.MustCompile(`\b(the|of|is|are|was|were|has|and|or|not|for|it|its|from|here|there)\b`)

const traceText = `file begin=1000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
clock @9000 ns=9000 wall=1700000009000000000
thread @1000 stream=2 id=8 name="render"
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
enter @2000 entry 0x400020
leave @3000
leave @4000
chunk events stream=2 thread=8 base=1500
mark @1500 "frame 2"
enter @2500 entry 0x400030
leave @3500
`

// TestDamageIsTranslated damages logs and modules files in many ways, and opens
// them in Chinese: what is said of them, or why they cannot be opened, has no
// English in it.
func TestDamageIsTranslated(t *testing.T) {
	quiet(t)
	if err := language.Set(language.Chinese); err != nil {
		t.Fatal(err)
	}
	defer language.Set(language.English)

	dir := t.TempDir()
	text, trace := filepath.Join(dir, "trace.txt"), filepath.Join(dir, "test.lptrace")
	if err := os.WriteFile(text, []byte(traceText), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := app.LoadTrace(context.Background(), text, trace, true); err != nil {
		t.Fatal(err)
	}
	log, list := filepath.Join(dir, "LogDetails.dat"), filepath.Join(dir, "LogDetails.bin")
	for _, path := range []string{log, list} {
		data, err := os.ReadFile(filepath.Join("../../testdata/logtest/windows-x64-clang", filepath.Base(path)))
		if err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	said := map[string]bool{}
	check := func(name, text string) {
		said[text] = true
		if english.MatchString(text) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for _, tt := range []struct{ log, hurt string }{{log, log}, {log, list}, {trace, trace}} {
		whole, err := os.ReadFile(tt.hurt)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 60 {
			at := len(whole) * (2*(k/5) + 1) / 24
			data := slices.Clone(whole)
			switch k % 5 {
			case 0:
				data = data[:at]
			case 1:
				data = slices.Delete(data, at, min(at+5, len(data)))
			case 2:
				copy(data[at:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff")
			case 3:
				copy(data[at:], make([]byte, 100))
			case 4:
				data = slices.Concat(data[:at], []byte("1 2 3\r\nname with blanks\r\n"), data[at:])
			}
			if err := os.WriteFile(tt.hurt, data, 0o666); err != nil {
				t.Fatal(err)
			}
			s, err := app.Open(context.Background(), app.Inputs{Log: tt.log, NoIndexCache: true, NoRecordedPaths: true}, nil)
			if err != nil {
				check(tt.hurt, control.Cause(err))
				continue
			}
			for _, d := range control.FactsOf(s).Details {
				check(tt.hurt, d)
			}
			s.Close()
		}
		if err := os.WriteFile(tt.hurt, whole, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if len(said) < 40 {
		t.Errorf("only %d texts: %v", len(said), said)
	}
}
