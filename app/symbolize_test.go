package app

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestNameText names addresses in a text of a program and its library: those of debug/elf are the truth. What belongs
// to another build has no name, and modules that are not there are said to have none.
func TestNameText(t *testing.T) {
	dir, err := filepath.Abs(linuxFolder)
	if err != nil {
		t.Fatal(err)
	}
	program, library := filepath.Join(dir, "logtest"), filepath.Join(dir, "liblogtest_shapes.so")
	id := hex.EncodeToString([]byte(identityOf(t, linuxFolder, "logtest").BuildID))
	other := strings.Repeat("ab", len(id)/2)
	type want struct{ line, name, file string }
	var lines []want
	add := func(path, name string) {
		t.Helper()
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		list, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.Name == name {
				// A frame of a backtrace has the address behind a call.
				at := s.Value + s.Size/2
				lines = append(lines, want{fmt.Sprintf("%s(+%#x)[%#x]", path, at, 0x7f0000000000+at), name, filepath.Base(path)})
				if path == program {
					lines = append(lines, want{fmt.Sprintf("    #1 %#x in f (%s+%#x) (BuildId: %s)", 0x550000000000+at, path, at, id), name, filepath.Base(path)},
						want{fmt.Sprintf("    #1 %#x in f (%s+%#x) (BuildId: %s)", 0x550000000000+at, path, at, other), "[mismatched]", ""})
				}
				return
			}
		}
		t.Fatalf("%s has no symbol %s", path, name)
	}
	add(program, "main")
	add(library, "logtest_sum")
	lines = append(lines, want{line: "/nowhere/gone(+0x1000)[0x7f5500001000]"}, want{line: "no address in here"})
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.line + "\r\n")
	}
	named, err := NameText(t.Context(), Inputs{NoRecordedPaths: true}, []NamedImage{{File: program}, {File: library}}, strings.NewReader(text.String()), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if named.Cut || len(named.Lines) != len(lines) {
		t.Fatalf("%d lines of %d, cut: %t", len(named.Lines), len(lines), named.Cut)
	}
	for i, l := range lines {
		got := named.Lines[i]
		if got.Text != l.line {
			t.Errorf("line %d is %q", i, got.Text)
		}
		names := string(got.AppendNames(nil))
		if l.name == "" {
			if names != "" {
				t.Errorf("%q has the names %q", l.line, names)
			}
			continue
		}
		if l.file == "" {
			if !strings.Contains(names, l.name) || strings.Contains(names, "main(") {
				t.Errorf("%q has the names %q", l.line, names)
			}
			continue
		}
		if !strings.Contains(names, l.name) || len(got.References) == 0 || got.References[0].Symbol == nil || filepath.Base(got.References[0].Symbol.File) != l.file {
			t.Errorf("%q has the names %q, want %s", l.line, names, l.name)
		}
	}
	gone := false
	for _, m := range named.Unresolved {
		gone = gone || m.Path == "/nowhere/gone"
	}
	if !gone {
		t.Errorf("unresolved are %+v", named.Unresolved)
	}
	// Only so much of the text is read.
	named, err = NameText(t.Context(), Inputs{NoRecordedPaths: true}, nil, strings.NewReader(text.String()), int64(len(lines[0].line)))
	if err != nil || !named.Cut || len(named.Lines) != 1 {
		t.Errorf("%+v, %v", named, err)
	}
	if _, err := NameText(t.Context(), Inputs{}, []NamedImage{{File: filepath.Join(dir, "none")}}, strings.NewReader(""), 1); err == nil {
		t.Error("an image that is not there was opened")
	}
}
