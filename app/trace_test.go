package app

import (
	"context"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logparser/symbols"
)

// elfFacts returns the build-id of a library in hexadecimal and the value of a
// symbol of its dynamic symbol table.
func elfFacts(t *testing.T, path, symbol string) (buildID string, value uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	note, err := f.Section(".note.gnu.build-id").Data()
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.Name == symbol {
			value = s.Value
		}
	}
	if value == 0 {
		t.Fatalf("%s has no symbol %s", path, symbol)
	}
	return hex.EncodeToString(note[16:]), value
}

// traceOf makes a trace of text in a folder and returns its path.
func traceOf(t *testing.T, dir, text string) string {
	t.Helper()
	from, to := filepath.Join(dir, "trace.txt"), filepath.Join(dir, "test.lptrace")
	if err := os.WriteFile(from, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := LoadTrace(context.Background(), from, to, true); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestTraceModules has a library that is replaced by another at its address,
// and one of another build: each row has the name of what was there then.
func TestTraceModules(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, dwarfFolder, dir, "gcc4.so=first.so", "clang4.so=second.so")
	firstID, first := elfFacts(t, filepath.Join(dir, "first.so"), "_Z3runi")
	secondID, second := elfFacts(t, filepath.Join(dir, "second.so"), "_Z3runi")
	const base = uint64(0x7f0000000000)
	text := fmt.Sprintf(`file begin=1000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
load @1000 module=1 base=%#[1]x size=0x10000 path="/lib/first.so" identity="build-id:%[2]s"
load @1000 module=3 base=0x600000 size=0x10000 path="/lib/first.so" identity="build-id:00%[2]s"
unload @2000 module=1
load @3000 module=2 base=%#[1]x size=0x10000 path="/lib/second.so" identity="build-id:%[3]s"
thread @1000 stream=1 id=7 name="worker"
chunk events thread=7 base=1000
enter @1100 entry %#[4]x
enter @1200 return %#[5]x
leave @1300
leave @1400
enter @1500 entry %#[6]x
enter @3100 entry %#[7]x
leave @3200
leave @3300
`, base, firstID, secondID, base+first, base+first+1, 0x600000+first, base+second)
	s := open(t, Inputs{Log: traceOf(t, dir, text), Modules: filepath.Join(dir, "first.so"), Symbols: []string{dir}})
	if in := s.Inputs(); in.Modules != "" {
		t.Errorf("the modules file is %s", in.Modules)
	}
	var got []string
	for i := range s.Rows().Len() {
		r := s.Rows().Row(i)
		got = append(got, fmt.Sprintf("%s %s %s %d %s", r.Event, r.Function, r.Module, r.Depth, r.Symbols))
	}
	other := fmt.Sprintf("first.so+%#x", first)
	want := []string{
		"enter run first.so 0 embedded", "enter run first.so 1 embedded",
		"leave run first.so 1 embedded", "leave run first.so 0 embedded",
		"enter " + other + " first.so 0 mismatched", "enter run second.so 1 embedded",
		"leave run second.so 1 embedded", "leave " + other + " first.so 0 mismatched",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	r := s.Rows().Row(0)
	if s := r.Wall.Format("2006-01-02T15:04:05.999999999"); s != "2023-11-14T22:13:20.0000001" || r.Duration != 300 {
		t.Errorf("time %s, duration %d", s, r.Duration)
	}
	if r := s.Rows().Row(5); r.Source == "" || r.Line == 0 {
		t.Errorf("row 5 is at %s:%d", r.Source, r.Line)
	}
	if th := s.Threads(); len(th) != 1 || th[0] != (Thread{ID: 7, Rows: 8, Name: "worker"}) {
		t.Errorf("threads %+v", th)
	}
	statuses := make(map[symbols.Status]int64)
	for _, m := range s.Modules() {
		statuses[m.Status] += m.Records
	}
	if statuses[symbols.Embedded] != 6 || statuses[symbols.Mismatched] != 2 {
		t.Errorf("statuses %v", statuses)
	}
}

// TestTraceAnnotations has a ring and calls that do not end in order.
func TestTraceAnnotations(t *testing.T) {
	text := `file begin=1000 flags=1 state=0
chunk events thread=7 base=1000 sequence=5
stack depth=3 entry:0x400000 entry:0x400010
leave +10
enter +10 entry 0x400020
enter +10 entry 0x400030
leave +10 entry 0x400020
leave +10 entry 0x400999
leave +10
leave +10
enter +10 entry 0x400040
chunk events stream=2 thread=7 base=5000
enter +10 entry 0x400050
`
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), text)})
	var got []string
	for i := range s.Rows().Len() {
		r := s.Rows().Row(i)
		got = append(got, fmt.Sprintf("%d %s %#x %s", r.Depth, r.Event, r.Address, r.Note))
	}
	want := []string{
		"2 leave 0x400010 no enter", "2 enter 0x400020 ", "3 enter 0x400030 no leave", "2 leave 0x400020 ",
		"0 leave 0x400999 stray", "1 leave 0x400000 no enter", "0 leave 0x0 no enter", "0 enter 0x400040 no leave", "0 enter 0x400050 open",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestTraceFiles(t *testing.T) {
	dir := t.TempDir()
	log := traceOf(t, dir, "chunk events\nleave +1")
	if NeedsModulesFile(log) {
		t.Error("a trace needs a modules file")
	}
	// A modules file that lies beside by chance is not the trace's.
	if err := os.WriteFile(filepath.Join(dir, "test.bin"), []byte("2026-11-21T11:22:33.456\n1234\n0x400000 0x1000 4 - - a\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, give := range []string{log, dir} {
		if l, m, err := FindPair(give); err != nil || l != log || m != "" {
			t.Errorf("FindPair(%s) = %s, %s, %v", give, l, m, err)
		}
	}
	var text strings.Builder
	if err := DumpTrace(context.Background(), log, &text); err != nil || !strings.Contains(text.String(), "\nleave +1\n") {
		t.Errorf("%v: %s", err, text.String())
	}
	if err := DumpTrace(context.Background(), filepath.Join(dir, "trace.txt"), &text); !errors.Is(err, ErrNotTrace) {
		t.Errorf("text is dumped: %v", err)
	}
	if err := LoadTrace(context.Background(), filepath.Join(dir, "trace.txt"), filepath.Join(dir, "trace.txt"), true); err == nil {
		t.Error("the text is written over")
	}
}

// TestSpanOfNothing: a trace without rows and annotations is from when it was begun.
func TestSpanOfNothing(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), "file begin=5000\nchunk process\nclock @5000 ns=5000 wall=1700000000000000000\n")})
	span := s.TimeRange()
	want := time.Unix(1_700_000_000, 0).UTC()
	if !span.HasWall || !span.WallFirst.Equal(want) || !span.WallLast.Equal(want) || span.First != span.Last {
		t.Errorf("%+v, want %v", span, want)
	}
}
