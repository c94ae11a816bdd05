package app

import (
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elfSymbol returns a symbol of the symbol table of an ELF file.
func elfSymbol(t *testing.T, path, name string) elf.Symbol {
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
			return s
		}
	}
	t.Fatalf("%s has no symbol %s", path, name)
	return elf.Symbol{}
}

// procedureAt returns where a function of an image begins.
func procedureAt(t *testing.T, path, name string) (rva uint64) {
	t.Helper()
	img, err := OpenImage(t.Context(), path, Inputs{})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	err = img.binding.Table.Procedures(func(at uint64, procedure string) bool {
		if procedure == name {
			rva = at
		}
		return rva == 0
	})
	if err != nil || rva == 0 {
		t.Fatalf("%s has no function %s: %v", path, name, err)
	}
	return rva
}

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
		s := elfSymbol(t, path, name)
		// A frame of a backtrace has the address behind a call.
		at := s.Value + s.Size/2
		lines = append(lines, want{fmt.Sprintf("%s(+%#x)[%#x]", path, at, 0x7f0000000000+at), name, filepath.Base(path)})
		if path == program {
			lines = append(lines, want{fmt.Sprintf("    #1 %#x in f (%s+%#x) (BuildId: %s)", 0x550000000000+at, path, at, id), name, filepath.Base(path)},
				want{fmt.Sprintf("    #1 %#x in f (%s+%#x) (BuildId: %s)", 0x550000000000+at, path, at, other), "[mismatched]", ""})
		}
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
	// Names of another build are marked where they are asked for.
	named, err = NameText(t.Context(), Inputs{NoRecordedPaths: true, LoadMismatched: true}, []NamedImage{{File: program}}, strings.NewReader(lines[2].line), 1<<20)
	if err != nil || !strings.HasPrefix(string(named.Lines[0].AppendNames(nil)), "  => [mismatched] main at ") {
		t.Errorf("%s, %v", named.Lines[0].AppendNames(nil), err)
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

// TestDeletedModule takes no names of a file that has the name of one which the text says was removed, unless its identity is the same,
// or the user names it.
func TestDeletedModule(t *testing.T) {
	dir, err := filepath.Abs(linuxFolder)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "logtest")
	s := elfSymbol(t, program, "main")
	const base uint64 = 0x7f0000000000
	maps := fmt.Sprintf("%x-%x r-xp 00000000 08:01 123 %s", base, base+0x100000, program)
	line := fmt.Sprintf("called by %#x", base+s.Value+s.Size/2)
	for _, test := range []struct {
		name   string
		text   string
		images []NamedImage
		load   bool
		want   string
	}{
		{"there", maps, nil, false, "  => main at "},
		{"deleted", maps + " (deleted)", nil, false, "of another build"},
		{"deleted, names asked for", maps + " (deleted)", nil, true, "  => [mismatched] main at "},
		{"deleted, named by the user", maps + " (deleted)", []NamedImage{{File: program}}, false, "  => main at "},
	} {
		named, err := NameText(t.Context(), Inputs{LoadMismatched: test.load}, test.images, strings.NewReader(test.text+"\n"+line+"\n"), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(named.Lines[1].AppendNames(nil)); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q in it", test.name, got, test.want)
		}
	}
}

// TestAppleReport names the frames of a report of macOS, of which all must be there before its first line can be named.
func TestAppleReport(t *testing.T) {
	program := filepath.Join(linuxFolder, "logtest")
	main := elfSymbol(t, program, "main")
	text := `{"app_name":"logtest","timestamp":"2026-11-27 09:57:54.00 +0100","app_version":"1","bug_type":"309"}` + "\n" + `{
  "threads" : [{"frames" : [
    {"imageOffset":` + fmt.Sprint(main.Value) + `,"imageIndex":0}
  ]}],
  "usedImages" : [{"base":4294967296,"size":65536,"path":"\/opt\/logtest","name":"logtest"}]
}`
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"whole":   {text, "  => main"},
		"damaged": {strings.Replace(text, "usedImages", "images", 1), ""},
	} {
		named, err := NameText(t.Context(), Inputs{NoRecordedPaths: true}, []NamedImage{{File: program}}, strings.NewReader(test.text), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var names string
		for i := range named.Lines {
			names += string(named.Lines[i].AppendNames(nil))
		}
		if !strings.HasPrefix(names, test.want) || (names == "") != (test.want == "") {
			t.Errorf("%s: the names are %q, want %q", name, names, test.want)
		}
	}
}

// TestPlacesOfTexts writes one place in all the ways that texts have: as an offset in the module, its file, the mapping of its code,
// a section or a function, or as an address of a process that has it mapped. Each has the name of the function.
func TestPlacesOfTexts(t *testing.T) {
	dir, err := filepath.Abs(linuxFolder)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "logtest")
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	main := elfSymbol(t, program, "main")
	at := main.Value + main.Size/2
	var code *elf.Prog
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			code = p
		}
	}
	const base uint64 = 0x7f0000000000
	inFile, inCode := code.Off+at-code.Vaddr, at-code.Vaddr
	exe, err := pe.Open(filepath.Join(clangFolder, "logtest.exe"))
	if err != nil {
		t.Fatal(err)
	}
	defer exe.Close()
	image := NamedImage{File: filepath.Join(clangFolder, "logtest.exe")}
	factorial := procedureAt(t, image.File, "app::factorial") + 1
	text := exe.Section(".text")
	for _, test := range []struct {
		text   string
		images []NamedImage
		want   string
	}{
		{fmt.Sprintf("logtest(+%#x)[%#x]", at, base+at), []NamedImage{{File: program}}, "main"},
		{fmt.Sprintf("logtest(main+%#x)[%#x]", main.Size/2, base+at), []NamedImage{{File: program}}, "main"},
		{fmt.Sprintf("segfault at 8 ip %016x sp 00007ffd error 4 in logtest[%x,%x+5000]", base+at, inFile, base+code.Vaddr), []NamedImage{{File: program}}, "main"},
		{fmt.Sprintf("segfault at 0 ip %016x sp 00007ffd error 4 in logtest[%x+5000]", base+at, base+at-inCode), []NamedImage{{File: program}}, "main"},
		{fmt.Sprintf("%x-%x r-xp %08x 08:01 77 %s\ncalled by %#x", base+at-inCode, base+0x7000, code.Off, program, base+at), nil, "main"},
		{fmt.Sprintf("rip: %#x", base+at), []NamedImage{{File: program, Base: base, HasBase: true}}, "main"},
		{fmt.Sprintf("#0  %#x in ?? ()", at), []NamedImage{{File: program}}, "main"},
		{fmt.Sprintf("00 006ffb2c 778624c0 logtest+%#x", factorial), []NamedImage{image}, "app::factorial"},
		{"00 006ffb2c 778624c0 logtest!app::factorial+0x1", []NamedImage{image}, "app::factorial"},
		{fmt.Sprintf(`at 00601099 0001:%08x C:\build\logtest.exe`, factorial-uint64(text.VirtualAddress)), []NamedImage{image}, "app::factorial"},
		// Nothing is said of what is not in the module.
		{"logtest(+0x7fffffff)[0x7f007fffffff]", []NamedImage{{File: program}}, ""},
		{"logtest(nowhere+0x10)[0x7f0000000010]", []NamedImage{{File: program}}, ""},
		{`at 00601099 0099:00000001 C:\build\logtest.exe`, []NamedImage{image}, ""},
		{`at 00601099 0001:7fffffff C:\build\logtest.exe`, []NamedImage{image}, ""},
		{"segfault at 0 ip 00007f3201002345 sp 00007ffd error 4 in logtest.exe[7f3201000000+5000]", []NamedImage{image}, ""},
		{fmt.Sprintf("#0  %#x in ?? ()", at), []NamedImage{{File: program}, image}, ""}, // of which of them?
	} {
		named, err := NameText(t.Context(), Inputs{}, test.images, strings.NewReader(test.text), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		last := named.Lines[len(named.Lines)-1]
		got := string(last.AppendNames(nil))
		if test.want == "" && got != "" || test.want != "" && !strings.HasPrefix(got, "  => "+test.want) {
			t.Errorf("%q is named %q, want %q", test.text, got, test.want)
		}
	}
}

// microdump returns the lines of a microdump of the program logtest at an address, whose stack has so many bytes.
func microdump(base, stack uint64, registers, saved, id []byte) []string {
	return []string{"-----BEGIN BREAKPAD MICRODUMP-----", "V logtest:1", "O L x86_64 02 x86_64 4.4", "R 0000000B SIGSEGV 0000000000000008",
		fmt.Sprintf("S 0 %016X %016X 00001000", stack, stack), fmt.Sprintf("S %016X %X", stack, saved), fmt.Sprintf("C %X", registers),
		fmt.Sprintf("M %016X 0000000000000000 0000000000010000 %X0 logtest", base, id[:16]), "-----END BREAKPAD MICRODUMP-----"}
}

// TestMicrodumpInText names the stack of a microdump that stands among the lines of a log, at its last line.
func TestMicrodumpInText(t *testing.T) {
	program := filepath.Join(linuxFolder, "logtest")
	main := elfSymbol(t, program, "main")
	id := []byte(identityOf(t, linuxFolder, "logtest").BuildID)
	slices.Reverse(id[:4])
	slices.Reverse(id[4:6])
	slices.Reverse(id[6:8])
	const base, stack uint64 = 0x7f0000000000, 0x7ffe0000
	registers := make([]byte, 1232) // CONTEXT of x64
	binary.LittleEndian.PutUint64(registers[120+4*8:], stack)
	binary.LittleEndian.PutUint64(registers[120+16*8:], base+main.Value)
	saved := make([]byte, 16)
	binary.LittleEndian.PutUint64(saved, base+main.Value+main.Size/2) // where main is called from
	lines := microdump(base, stack, registers, saved, id)
	text := "a line before\n"
	for _, l := range lines {
		text += "01-25 09:57:54.139 F/google-breakpad(  467): " + l + "\n"
	}
	named, err := NameText(t.Context(), Inputs{Symbols: []string{linuxFolder}}, nil, strings.NewReader(text+"a line behind\n"), 1<<20)
	if err != nil || len(named.Lines) != len(lines)+2 {
		t.Fatalf("%+v, %v", named, err)
	}
	for i, l := range named.Lines {
		var frames []string
		for _, r := range l.References {
			frames = append(frames, fmt.Sprintf("%s %s+%#x", r.Kind, filepath.Base(r.Module), r.Offset))
			if r.Symbol == nil || !strings.HasPrefix(r.Symbol.Symbol.Outermost().Function, "main") {
				t.Errorf("%#x is named %+v", r.Address, r.Symbol)
			}
		}
		want := ""
		if i == len(lines) {
			want = fmt.Sprintf("exact logtest+%#x, return logtest+%#x", main.Value, main.Value+main.Size/2)
		}
		if got := strings.Join(frames, ", "); got != want {
			t.Errorf("line %d, %q: %s, want %s", i, l.Text, got, want)
		}
	}
	// What was cut off is a text like any other.
	broken := strings.Replace(text, ": C ", ": c ", 1)
	named, err = NameText(t.Context(), Inputs{Symbols: []string{linuxFolder}}, nil, strings.NewReader(broken), 1<<20)
	if err != nil || len(named.Lines[len(lines)].References) != 0 {
		t.Errorf("of a damaged microdump: %+v, %v", named.Lines[len(lines)], err)
	}
}
