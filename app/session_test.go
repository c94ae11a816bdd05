package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/rows"
	"logparser/symbols"
)

// cancelledContext returns a context that is cancelled.
func cancelledContext(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// copyFiles copies some files of a folder into another.
func copyFiles(t *testing.T, from, to string, names ...string) {
	t.Helper()
	for _, name := range names {
		source, target, renamed := strings.Cut(name, "=")
		if !renamed {
			target = source
		}
		data, err := os.ReadFile(filepath.Join(from, source))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, target), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, in Inputs) *Session {
	t.Helper()
	s, err := Open(context.Background(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if err := s.Load(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

// module returns the state of a module by name.
func module(t *testing.T, s *Session, name string) ModuleState {
	t.Helper()
	for _, m := range s.Modules() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no module %s", name)
	return ModuleState{}
}

// functions returns the distinct functions of a module's rows.
func functionsOf(t *testing.T, s *Session, module string) map[string]bool {
	t.Helper()
	list := make([]rows.Row, s.Rows().Len())
	if n, err := s.Rows().Read(list, 0); err != nil || n != len(list) {
		t.Fatalf("read %d rows of %d: %v", n, len(list), err)
	}
	found := make(map[string]bool)
	for _, r := range list {
		if r.Module == module {
			found[r.Function] = true
		}
	}
	return found
}

func TestStatus(t *testing.T) {
	x64, x86 := logtest(t, "windows-x64-clang"), logtest(t, "windows-x86-clang")
	linux, mingw := logtest(t, "linux-gcc-O2"), logtest(t, "windows-x64-mingw")
	tests := []struct {
		name   string
		from   string
		files  []string // beside the log, besides the log itself
		module string
		want   symbols.Status
		named  bool
	}{
		{"the PDB beside the log", x64, []string{"logtest.pdb"}, "logtest.exe", symbols.Matched, true},
		{"the PDB under another case", x64, []string{"logtest.pdb=LOGTEST.PDB"}, "logtest.exe", symbols.Matched, true},
		{"the PDB of another build", x64, []string{x86 + "/logtest.pdb"}, "logtest.exe", symbols.Mismatched, false},
		{"the image alone", x64, []string{"logtest.exe"}, "logtest.exe", symbols.StartsOnly, true},
		{"the image of another build", x64, []string{x86 + "/logtest.exe"}, "logtest.exe", symbols.Mismatched, false},
		{"nothing", x64, nil, "logtest.exe", symbols.NotFound, false},
		{"DWARF in the image", mingw, []string{"logtest.exe"}, "logtest.exe", symbols.Embedded, true},
		{"DWARF in an image of another build", mingw, []string{x64 + "/logtest.exe"}, "logtest.exe", symbols.Mismatched, false},
		{"ELF", linux, []string{"logtest"}, "logtest", symbols.Embedded, true},
		{"ELF of another build", linux, []string{"liblogtest_shapes.so=logtest"}, "logtest", symbols.Mismatched, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			copyFiles(t, tt.from, dir, "LogDetails.dat", "LogDetails.bin")
			for _, f := range tt.files {
				if filepath.Dir(f) == "." {
					copyFiles(t, tt.from, dir, f)
				} else {
					copyFiles(t, filepath.Dir(f), dir, filepath.Base(f))
				}
			}
			s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
			m := module(t, s, tt.module)
			if m.Status != tt.want {
				t.Errorf("status %q (%s), want %q", m.Status, m.Reason, tt.want)
			}
			if m.Reason.IsZero() || len(m.Attempts) == 0 {
				t.Errorf("no reason (%q) or no attempts (%v)", m.Reason, m.Attempts)
			}
			if tt.want == symbols.Mismatched && (m.SymbolFile == "" || !strings.Contains(m.Reason.String(), "recorded is")) {
				t.Errorf("a mismatch must name the file and both identities: file %q, %q", m.SymbolFile, m.Reason)
			}
			for f := range functionsOf(t, s, tt.module) {
				if strings.HasPrefix(f, tt.module+"+0x") == tt.named {
					t.Errorf("function %q, want named %v", f, tt.named)
				}
			}
		})
	}
}

// TestUnverified opens a log whose modules file records no identities, as the
// article's does.
func TestUnverified(t *testing.T) {
	from, dir := logtest(t, "windows-x64-clang"), t.TempDir()
	copyFiles(t, from, dir, "LogDetails.dat", "logtest.pdb")
	data, err := os.ReadFile(filepath.Join(from, "LogDetails.bin"))
	if err != nil {
		t.Fatal(err)
	}
	var plain bytes.Buffer
	for _, line := range strings.Split(string(data), "\n") {
		cells := strings.SplitN(line, " ", 6)
		switch {
		case strings.HasPrefix(line, "#"):
		case len(cells) == 6:
			plain.WriteString(cells[0] + " " + cells[1] + " " + cells[5] + "\n")
		default:
			plain.WriteString(line + "\n")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "LogDetails.bin"), plain.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	if m := module(t, s, "logtest.exe"); m.Status != symbols.Unverified {
		t.Errorf("status %q (%s), want unverified", m.Status, m.Reason)
	}
	if !functionsOf(t, s, "logtest.exe")["app::factorial"] {
		t.Error("app::factorial has no name")
	}
}

// TestSetSymbols gives the symbol path after the log was opened.
func TestSetSymbols(t *testing.T) {
	from, dir := logtest(t, "windows-x64-clang"), t.TempDir()
	copyFiles(t, from, dir, "LogDetails.dat", "LogDetails.bin")
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	source := s.Rows()
	if f := source.Row(4).Function; !strings.HasPrefix(f, "logtest.exe+0x") {
		t.Errorf("without symbols: %q", f)
	}
	for _, path := range [][]string{{from}, nil, {filepath.Join(from, "logtest.pdb")}} {
		if err := s.SetSymbols(context.Background(), Inputs{Symbols: path, NoRecordedPaths: true}, nil); err != nil {
			t.Fatal(err)
		}
		f, named := source.Row(4).Function, len(path) > 0
		if strings.HasPrefix(f, "logtest.exe+0x") == named {
			t.Errorf("symbol path %v: %q", path, f)
		}
	}
}

// TestHostileModulePaths records module paths that must not be opened. That
// no system call is made for them is what the tests of the rule show; here
// the attempts must say that they were refused.
func TestHostileModulePaths(t *testing.T) {
	dir := t.TempDir()
	_, _, err := classictest.Write(dir, `
		start 2026-11-21T11:22:33.456
		tick 1000
		module 0x400000 0x1000 \\server\share\app.exe
		module 0x500000 0x1000 //server/share/app
		module 0x600000 0x1000 \\?\UNC\server\share\app.exe
		module 0x700000 0x1000 /dev/zero
		module 0x800000 0x1000 /tmp/../etc/passwd
		module 0x900000 0x1000 relative/app
		enter t1 0x400100
		leave t1 0x400100
	`)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Inputs{Log: dir})
	list := s.Modules()
	if len(list) != 6 {
		t.Fatalf("%d modules, want 6", len(list))
	}
	for _, m := range list {
		refused := false
		for _, a := range m.Attempts {
			if a.Path == m.Path && strings.Contains(a.Outcome.String(), "refused") {
				refused = true
			}
		}
		if m.Status != symbols.NotFound || !refused {
			t.Errorf("%s: status %q, attempts %v", m.Path, m.Status, m.Attempts)
		}
	}
}

func TestRuns(t *testing.T) {
	dir := t.TempDir()
	_, _, err := classictest.Write(dir, `
		tick 900000
		enter t1 0x400100
		leave t1 0x400100 +5
		run 1000
		ours
		start 2026-11-21T11:22:33.456
		module 0x400000 0x1000 8 - - /nowhere/app
		enter t1 0x400200
		enter t1 0x400300 +1
		leave t1 0x400300 +2
		leave t1 0x400200 +3
	`)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		run   string
		rows  int64
		first string
	}{
		{"", 4, "app+0x200"},
		{"2", 4, "app+0x200"},
		{"1", 2, "0x400100"},
		{"all", 6, "0x400100"},
	}
	for _, tt := range tests {
		s := open(t, Inputs{Log: dir, Run: tt.run})
		if n := s.Rows().Len(); n != tt.rows {
			t.Errorf("run %q: %d rows, want %d", tt.run, n, tt.rows)
			continue
		}
		if f := s.Rows().Row(0).Function; f != tt.first {
			t.Errorf("run %q: first row %q, want %q", tt.run, f, tt.first)
		}
		warned := strings.Contains(warnings(s), "left out")
		if warned != (tt.run != "all") {
			t.Errorf("run %q: warnings %q", tt.run, s.Warnings())
		}
	}
	for _, run := range []string{"0", "3", "x", "1x"} {
		if s, err := Open(context.Background(), Inputs{Log: dir, Run: run}, nil); err == nil {
			s.Close()
			t.Errorf("run %q was found", run)
		}
	}
}

func TestSearch(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "windows-x64-clang"), NoRecordedPaths: true})
	ctx, all := context.Background(), s.Rows()
	var found []int64
	for at := int64(0); ; {
		i, err := Search(ctx, all, at, Query{Text: "FACTORIAL"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i < 0 {
			break
		}
		found = append(found, i)
		at = i + 1
	}
	var back []int64
	for at := all.Len() - 1; ; {
		i, err := Search(ctx, all, at, Query{Text: "factorial", Backward: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if i < 0 {
			break
		}
		back = append([]int64{i}, back...)
		at = i - 1
	}
	var want []int64
	for i := range all.Len() {
		if strings.Contains(all.Row(i).Function, "factorial") {
			want = append(want, i)
		}
	}
	if len(want) == 0 || !slices.Equal(found, want) || !slices.Equal(back, want) {
		t.Errorf("forward %v\nbackward %v\nwant %v", found, back, want)
	}
}

func TestPartner(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "windows-x64-clang"), NoRecordedPaths: true})
	for i := range s.Rows().Len() {
		j, ok := s.Partner(i)
		if !ok {
			t.Fatalf("row %d has no partner", i)
		}
		if back, ok := s.Partner(j); !ok || back != i {
			t.Fatalf("the partner of row %d is %d, whose partner is %d", i, j, back)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := Open(context.Background(), Inputs{Log: logtest(t, "windows-x64-clang"), NoRecordedPaths: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(ctx, nil); err != context.Canceled {
		t.Errorf("cancelled load: %v", err)
	}
	path := filepath.Join(t.TempDir(), "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(ctx, path, "csv", SaveOptions{}, nil); err == nil {
		t.Error("a cancelled save succeeded")
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("a cancelled save changed the file: %q", data)
	}
	if err := s.Save(context.Background(), path, "csv", SaveOptions{}, nil); err != nil {
		t.Error(err)
	}
	if data, _ := os.ReadFile(path); bytes.Count(data, []byte("\n")) != int(s.Rows().Len())+1 {
		t.Errorf("the saved file has %d lines", bytes.Count(data, []byte("\n")))
	}
}

func TestSourceFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o777); err != nil {
		t.Fatal(err)
	}
	copyFiles(t, ".", filepath.Join(dir, "src"), "session.go=main.cpp")
	tests := []struct {
		recorded, from, to string
		ok                 bool
	}{
		{"/build/src/main.cpp", "/build", dir, true},
		{`C:\Build\src\main.cpp`, `c:\build`, dir, true},
		{`C:\build\src\main.cpp`, "C:/build/", dir, true},
		{"/builder/src/main.cpp", "/build", dir, false},
		{"/build/../../etc/passwd", "/build", dir, false},
		{"/build/src/other.cpp", "/build", dir, false},
		{`\\server\share\main.cpp`, "/build", dir, false},
		{filepath.Join(dir, "src", "main.cpp"), "/build", dir, true},
	}
	for _, tt := range tests {
		got, err := SourceFile(tt.recorded, []SourceMapping{{tt.from, tt.to}}, true)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %q, %v; want found %v", tt.recorded, got, err, tt.ok)
		}
	}
}

// TestSaveOverInput gives files that the session reads as the target.
func TestSaveOverInput(t *testing.T) {
	dir := copyDir(t, logtest(t, "windows-x64-clang"))
	if err := os.Symlink("LogDetails.dat", filepath.Join(dir, "link.csv")); err != nil {
		t.Logf("no symbolic links here: %v", err)
	}
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	for _, name := range []string{"LogDetails.dat", "LogDetails.bin", "logtest.pdb", "link.csv"} {
		path := filepath.Join(dir, name)
		before, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if err := s.Save(context.Background(), path, "csv", SaveOptions{}, nil); !errors.Is(err, ErrIsInput) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", name)
		}
	}
	if err := s.Save(context.Background(), filepath.Join(dir, "out.csv"), "csv", SaveOptions{}, nil); err != nil {
		t.Error(err)
	}
}

// warnings returns a session's warnings, a line each.
func warnings(s *Session) string {
	var lines []string
	for _, w := range s.Warnings() {
		lines = append(lines, w.Text.String())
	}
	return strings.Join(lines, "\n")
}

// TestSymbolWarnings looks for words on names that are missing or doubtful.
func TestSymbolWarnings(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, logtest(t, "windows-x64-clang"), dir, "LogDetails.dat", "LogDetails.bin")
	copyFiles(t, logtest(t, "windows-x86-clang"), dir, "logtest.pdb")
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	got := warnings(s)
	for _, want := range []string{"logtest.exe: only symbols of another build", "logtest_shapes.dll: no symbols were found"} {
		if !strings.Contains(got, want) {
			t.Errorf("the warnings do not say %q:\n%s", want, got)
		}
	}
}

// TestExportsOnlyIsSaid: names that are exported alone are not those of the
// functions that rows lie in.
func TestExportsOnlyIsSaid(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, logtest(t, "windows-x64-clang"), dir, "LogDetails.dat", "LogDetails.bin", "logtest.pdb", "logtest_shapes.dll")
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	if m := module(t, s, "logtest_shapes.dll"); m.Status != symbols.ExportsOnly {
		t.Fatalf("the symbols are %s", m.Status)
	}
	if got, want := warnings(s), "logtest_shapes.dll: no symbols of its own functions were found"; !strings.Contains(got, want) {
		t.Errorf("the warnings do not say %q:\n%s", want, got)
	}
}

// TestImageRVA looks up addresses as the linker gave them.
func TestImageRVA(t *testing.T) {
	m, err := OpenImage(context.Background(), filepath.Join(logtest(t, "windows-x64-mingw"), "logtest.exe"), Inputs{NoRecordedPaths: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, tt := range []struct{ address, want uint64 }{
		{0x1000, 0x1000}, {0x140001000, 0x1000}, {0x340001000, 0x340001000},
	} {
		if got := m.RVA(tt.address); got != tt.want {
			t.Errorf("%#x: RVA %#x, want %#x", tt.address, got, tt.want)
		}
	}
}

// TestNoHeader opens traces of programs that ended before their recorder had
// written a header: nothing is said of record sizes, which traces do not have.
func TestNoHeader(t *testing.T) {
	for _, size := range []int{24, 100, 4096, 1 << 20} {
		path := filepath.Join(t.TempDir(), "a.1.lptrace")
		if err := os.WriteFile(path, make([]byte, size), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), Inputs{Log: path}, nil); !errors.Is(err, errNoHeader) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestPlaceInImage opens what perf prints of probes, whose mappings count in the file: the images say where that is in memory, as far as
// the rule for recorded paths lets them be opened.
func TestPlaceInImage(t *testing.T) {
	program, err := filepath.Abs(filepath.Join(linuxFolder, "logtest"))
	if err != nil {
		t.Fatal(err)
	}
	main := elfSymbol(t, program, "main").Value
	const code, base uint64 = 0x2000, 0x7f0000000000 // where the segment of code begins, in the file and in memory
	text := fmt.Sprintf(`  logtest 7/7 [000] 1.0: PERF_RECORD_MMAP2 7/7: [%#x(0x5000) @ %#x fe:00 1 2]: r-xp %s
  logtest 7/7 [000] 1.1: lp:called: (%x)
  logtest 7/7 [000] 1.2: lp:called__return: (%x <- %x)
`, base+code, code, program, base+main, base+main, base+main)
	path := filepath.Join(t.TempDir(), "perf.txt")
	writeFile(t, path, []byte(text))
	s := open(t, Inputs{Log: path})
	if r := s.Rows().Row(0); r.Function != "main" || r.Module != "logtest" || r.Symbols != "unverified" && r.Symbols != "embedded" {
		t.Errorf("%+v, %+v", r, s.Modules())
	}
	for path, want := range map[string]bool{program: true, "../testdata/logtest/linux-gcc-O2/logtest": false, program + ".none": false, filepath.Join(filepath.Dir(program), "LogDetails.dat"): false} {
		if rva, size, ok := placeInImage(path, code); ok != want || want && (rva != code || size < 0xa000) {
			t.Errorf("%s: %#x of %#x, %t", path, rva, size, ok)
		}
	}
	if _, _, ok := placeInImage(program, 0x7fffffff); ok {
		t.Error("what is behind the file is in the image")
	}
}
