package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/rows"
)

// TestTruncatedAddresses has a 64-bit program whose log has only the low 32 bits of addresses: an address has all of them where one
// module fits, and no module where two do. What is noted of a row can be looked for.
func TestTruncatedAddresses(t *testing.T) {
	dir := t.TempDir()
	_, _, err := classictest.Write(dir, `
		record 16
		start 2026-11-21T11:22:33.456
		tick 1000
		module 0x100400000 0x1000 /lib/one.so
		module 0x200400000 0x1000 /lib/two.so
		module 0x100500000 0x1000 /lib/three.so
		enter t1 0x400010
		enter t1 0x500020 +1
		leave t1 0x500020 +1
		leave t1 0x400010 +1
		enter t1 0x400030 +1
	`)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	const several = "address in several modules"
	for i, want := range []rows.Row{
		{Address: 0x400010, Function: "0x400010", Note: several},
		{Address: 0x100500020, Function: "three.so+0x20", Module: "three.so"},
		{Address: 0x100500020, Function: "three.so+0x20", Module: "three.so"},
		{Address: 0x400010, Function: "0x400010", Note: several},
		{Address: 0x400030, Function: "0x400030", Note: "open; " + several},
	} {
		if r := s.Rows().Row(int64(i)); r.Address != want.Address || r.Function != want.Function || r.Module != want.Module || r.Note != want.Note {
			t.Errorf("row %d: %#x %s %s %q, want %#x %s %s %q", i, r.Address, r.Function, r.Module, r.Note, want.Address, want.Function, want.Module, want.Note)
		}
	}
	for where, want := range map[string][]int64{
		`mark:"several modules"`: {0, 3, 4}, `mark:open`: {4}, `mark:"open; address in several modules"`: {4}, `mark:stray`: nil,
		`-mark:"several modules"`: {1, 2}, "addr:0x100500020": {1, 2}, "func:0x400010": {0, 3}, "module:three": {1, 2},
	} {
		if got := indexes(t, viewOf(t, s, Selection{Where: where})); !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, want %v", where, got, want)
		}
	}
	for _, f := range s.Advise(0).Functions {
		if f.Module == "three.so" && f.Function != "three.so+0x20" || f.Module == "" && !strings.HasPrefix(f.Function, "0x4000") {
			t.Errorf("the cost of %+v", f)
		}
	}
}

// TestUnmatched says which terms of a filter nothing in the log can fit, such as a function of which the log has no call.
func TestUnmatched(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	for where, want := range map[string][]string{
		"func:factorial": nil, "func:nowhere": {"func:nowhere"}, "func:factorial or module:nowhere thread:99999": {"module:nowhere", "thread:99999"}, "depth:>90": nil,
	} {
		if got, err := s.Unmatched(t.Context(), where); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", where, got, err, want)
		}
	}
	if _, err := s.Unmatched(t.Context(), "func:("); err == nil {
		t.Error("what is no filter has terms")
	}
	if !s.HasNames() {
		t.Error("a log with symbols has no names")
	}
	dir := t.TempDir()
	copyFiles(t, logtest(t, "linux-gcc-O2"), dir, "LogDetails.dat", "LogDetails.bin")
	if s := open(t, Inputs{Log: dir, NoRecordedPaths: true}); s.HasNames() {
		t.Error("a log without symbols has names")
	}
	if s := open(t, Inputs{Log: traceOf(t, t.TempDir(), "file begin=1000\nchunk process\nclock @1000 ns=1000\n")}); !s.HasNames() {
		t.Error("a log without calls lacks names")
	}
}

// TestClassStatistics sums functions up by class: the sums of a class are those of its functions.
func TestClassStatistics(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	functions, err := s.Statistics(t.Context(), Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type sum struct{ calls, self int64 }
	want := make(map[string]sum)
	for _, f := range functions {
		w := want[ClassOf(f.Function)]
		want[ClassOf(f.Function)] = sum{w.calls + f.Calls, w.self + f.Self}
	}
	classes, err := s.ClassStatistics(t.Context(), Selection{}, nil)
	if err != nil || len(classes) != len(want) || len(classes) < 3 || len(classes) >= len(functions) {
		t.Errorf("%d classes of %d functions, want %d (%v)", len(classes), len(functions), len(want), err)
	}
	for _, c := range classes {
		if got := (sum{c.Calls, c.Self}); got != want[c.Function] {
			t.Errorf("%q: %+v, want %+v", c.Function, got, want[c.Function])
		}
	}
}

// TestAllThreads lists threads of which the log has only the name, too.
func TestAllThreads(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), `file begin=1000
chunk process
thread @1000 stream=1 id=7 name="main"
thread @1000 stream=2 id=5 name="waits"
chunk events stream=1 thread=7 base=1000
enter +1 entry 0x400000
leave +1
`)})
	if list := s.Threads(); len(list) != 1 || list[0].Name != "main" {
		t.Errorf("threads with rows: %+v", list)
	}
	if list := s.AllThreads(); len(list) != 2 || list[0].Name != "waits" || list[0].Rows != 0 || list[1].Name != "main" || list[1].Rows != 2 {
		t.Errorf("all threads: %+v", list)
	}
}

// TestRunsAsked says which run of a file is shown.
func TestRunsAsked(t *testing.T) {
	log, _, err := classictest.Write(t.TempDir(), "tick 900000\nenter t1 0x400100\nleave t1 0x400100 +5\nrun 1000\nenter t1 0x400200\nleave t1 0x400200 +5\n")
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range map[string]struct {
		chosen, shown int
		all           bool
	}{"": {1, 1, false}, "1": {0, 1, false}, "all": {0, 2, true}} {
		s := open(t, Inputs{Log: log, Run: run, RecordSize: 24})
		if chosen, all := s.Run(); chosen != want.chosen || all != want.all || s.ShownRuns() != want.shown {
			t.Errorf("run %q: %d, all %t, %d are shown", run, chosen, all, s.ShownRuns())
		}
	}
}

// TestFormatsAsked holds what is said of the formats to save in against what is saved.
func TestFormatsAsked(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	dir := t.TempDir()
	for _, format := range SaveFormats() {
		title, extension := SaveTitle(format)
		path := filepath.Join(dir, "a."+extension)
		if title == "" || SaveFormatOf(path) != format || HoldsOther(path, format) || len(SavedBefore(path, format)) != 0 {
			t.Errorf("%s: %q, %s", format, title, extension)
		}
		if err := s.Save(t.Context(), path, format, SaveOptions{}, nil); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if HoldsOther(path, format) || !slices.Contains(SavedBefore(path, format), path) {
			t.Errorf("%s: what was saved before is taken for another thing", format)
		}
		other := "csv"
		if format == other {
			other = "jsonl"
		}
		if !HoldsOther(path, other) {
			t.Errorf("a file of %s is taken for %s", format, other)
		}
	}
	if HoldsOther(filepath.Join(dir, "none.csv"), "csv") || HoldsOther(dir, "csv") {
		t.Error("what is no file holds something else")
	}
	if tables := TableFormats(); !slices.Contains(tables, "csv") || slices.Contains(tables, "chrome") {
		t.Errorf("tables: %v", tables)
	}
	if corrected := CorrectedFormats(); !slices.Contains(corrected, "csv") || slices.Contains(corrected, "chrome") {
		t.Errorf("with corrected durations: %v", corrected)
	}
	for format, live := range map[string]bool{"txt": true, "jsonl": true, "parquet": false, "none": false} {
		if LiveFormat(format) != live {
			t.Errorf("%s can be followed in: %t", format, !live)
		}
	}
	if _, whole := SaveLimitsOf("html"); whole {
		t.Error("html is not written in parts")
	}
	if err := s.Save(t.Context(), filepath.Join(dir, "a.x"), "none", SaveOptions{}, nil); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("an unknown format: %v", err)
	}
	if SaveFormatOf("a.none") != "" {
		t.Error("a file of no kind has a format")
	}
}

// TestInputsChecked says what is wrong with what is typed for inputs, before a log is opened with it, and asks where only the user
// can know.
func TestInputsChecked(t *testing.T) {
	for text, err := range map[string]error{
		"start":    CheckStartTime("2013-05-06T14:03:05.123"),
		"encoding": CheckEncoding("gbk"),
		"columns":  CheckModulesColumns("size,base,name"),
	} {
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, err := range map[string]error{
		"start": CheckStartTime("6.5.2013"), "encoding": CheckEncoding("klingon"), "columns": CheckModulesColumns("size,size"),
	} {
		if err == nil {
			t.Errorf("a wrong %s is taken", text)
		}
	}
	log, _, err := classictest.Write(t.TempDir(), "module 0x02000000 0x00400000 a.exe\nenter t1 0x2001000\nleave t1 0x2001000 +1\n")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Inputs{Log: log}, nil)
	choices, lines, ok := ModulesColumnsQuestion(err)
	var input *InputError
	if !ok || !slices.Contains(choices, "base:hex,size:hex,name") || len(lines) != 1 || !errors.As(err, &input) || input.Input != ModulesInput {
		t.Errorf("%q, %q of %v", choices, lines, err)
	}
	for _, choice := range choices {
		s := open(t, Inputs{Log: log, ModulesColumns: choice})
		base := uint64(0x400000)
		if strings.HasPrefix(choice, "base") {
			base = 0x2000000
		}
		if list := s.Modules(); len(list) != 1 || list[0].Base != base {
			t.Errorf("%s: %+v", choice, list)
		}
	}
	if _, err := Open(t.Context(), Inputs{Log: log, ModulesColumns: "x"}, nil); !errors.As(err, &input) || input.Input != ModulesInput {
		t.Errorf("unknown columns: %v", err)
	}
	if _, _, ok := ModulesColumnsQuestion(os.ErrNotExist); ok {
		t.Error("another error is a question")
	}
	a, b := Inputs{Symbols: []string{"x"}}, Inputs{Log: "another", Symbols: []string{"x"}}
	if !a.SameSymbols(&b) {
		t.Error("symbols of two logs from one place differ")
	}
	if b.LoadMismatched = true; a.SameSymbols(&b) {
		t.Error("symbols of other builds are the same")
	}
}

// TestSeveralLogsNamed names the logs of a folder that nobody chose from.
func TestSeveralLogsNamed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.lptrace", "b.lptrace", "c.lptrace", "d.lptrace"} {
		writeFile(t, filepath.Join(dir, name), []byte("x"))
	}
	_, err := Open(t.Context(), Inputs{Log: dir}, nil)
	var several *SeveralLogs
	if !errors.As(err, &several) || len(several.Logs) != 4 || !strings.HasPrefix(several.Error(), "4 logs in this folder (") || strings.Count(several.Error(), ".lptrace") != 3 {
		t.Errorf("%v", err)
	}
}
