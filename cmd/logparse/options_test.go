package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
)

// TestLimit gives the one option by all its names.
func TestLimit(t *testing.T) {
	for _, verb := range []string{"show", "stats", "advise"} {
		var first string
		for _, option := range []string{"-n3", "--limit=3", "--top=3", "--last=3"} {
			code, out, errs := logparse(verb, sampleDir, option)
			if code != exitOK {
				t.Fatalf("%s %s: exit status %d: %s", verb, option, code, errs)
			}
			if first == "" {
				first = out
			}
			if _, all, _ := logparse(verb, sampleDir); out != first || len(out) >= len(all) {
				t.Errorf("%s %s: %d bytes, %d with -n 3, %d of all", verb, option, len(out), len(first), len(all))
			}
		}
	}
}

// TestJSON reads the objects of sums and annotations, and holds them against csv.
func TestJSON(t *testing.T) {
	marked := markedTrace(t)
	for _, args := range [][]string{{"stats", sampleDir}, {"stats", marked, "--by", "thread"}, {"tree", sampleDir}, {"tree", marked, "--by-thread"}, {"marks", marked}} {
		_, text, _ := logparse(append(args, "--format", "csv")...)
		want := table(t, text)
		code, out, errs := logparse(append(args, "--json")...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if code != exitOK || len(lines) != len(want) || len(want) == 0 {
			t.Fatalf("%v: exit status %d, %d lines, want %d: %s", args, code, len(lines), len(want), errs)
		}
		if _, same, _ := logparse(append(args, "--format", "jsonl")...); same != out {
			t.Errorf("%v: --json is not --format jsonl", args)
		}
		for i, line := range lines {
			d := json.NewDecoder(strings.NewReader(line))
			d.UseNumber()
			var got map[string]any
			if err := d.Decode(&got); err != nil {
				t.Fatalf("%v: %s: %v", args, line, err)
			}
			for column, cell := range want[i] {
				value, ok := got[column]
				if ok != (cell != "") || ok && fmt.Sprint(value) != strings.TrimPrefix(cell, "'") {
					t.Errorf("%v, line %d, %s: %v, want %q", args, i, column, value, cell)
				}
				_, number := value.(json.Number)
				if words := strings.Contains(" function module source thread_name time kind text ", " "+column+" "); ok && number == words {
					t.Errorf("%v, line %d, %s: %v", args, i, column, value)
				}
			}
		}
	}
}

// TestThreadNames shows the names of threads where sums are by thread.
func TestThreadNames(t *testing.T) {
	marked := markedTrace(t)
	for _, args := range [][]string{{"stats", marked, "--by", "thread"}, {"stats", marked, "--by", "thread", "--format", "csv"}, {"tree", marked, "--by-thread"}} {
		code, out, errs := logparse(args...)
		if code != exitOK || !strings.Contains(out, "render") {
			t.Errorf("%v: exit status %d: %s%s", args, code, out, errs)
		}
	}
	_, out, _ := logparse("stats", marked, "--by", "thread")
	lines := strings.Split(out, "\n")
	if at := strings.Index(lines[0], "thread") + len("thread"); !strings.HasSuffix(lines[1][:at], "7") || !strings.HasSuffix(lines[2][:at], "8 render") {
		t.Errorf("the columns do not stand below each other:\n%s", out)
	}
}

// TestManyFiles needs a yes for more files than somebody expects.
func TestManyFiles(t *testing.T) {
	defer func(n int64) { manyFiles = n }(manyFiles)
	manyFiles = 1
	log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 150_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args  []string
		files int // 0: refused
	}{
		{nil, 0}, {[]string{"--force"}, 2}, {[]string{"--split-rows", "80000"}, 2}, {[]string{"--split-rows", "-1"}, 1}, {[]string{"--where", "row:<1000"}, 1},
	} {
		dir := t.TempDir()
		code, _, errs := logparse(append([]string{"save", log, "--no-index-cache", "-o", filepath.Join(dir, "a.html")}, test.args...)...)
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != test.files {
			t.Errorf("%v: %d files, %v: %s", test.args, len(files), err, errs)
		}
		if refused := code == exitError && strings.Contains(errs, "150000 rows make 2 files of html, of 100000 rows each; choose rows with --where"); refused != (test.files == 0) || !refused && code != exitOK {
			t.Errorf("%v: exit status %d: %s", test.args, code, errs)
		}
	}
}

// TestSavedProcess saves a trace whose process is known.
func TestSavedProcess(t *testing.T) {
	log := loadTrace(t, `file begin=1000 pid=4711
chunk process
process @1000 pid=4711 path="/opt/game/bin/game"
clock @1000 ns=1000 wall=1700000000000000000 ahead=28800
thread @1000 stream=1 id=7 name="main loop"
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
leave @3000
chunk events stream=2 thread=8 base=1000
enter @1200 entry 0x400010
leave @3000
`)
	for format, want := range map[string][]string{
		"chrome": {`{"ph":"M","pid":4711,"tid":0,"name":"process_name","args":{"name":"game"}}`, `{"ph":"M","pid":4711,"tid":7,"name":"thread_name","args":{"name":"main loop"}}`},
		"folded": {"game;0x400010 "}, "csv": {",2023-11-14T22:13:20.000000100Z\n", "2023-11-15T06:13:20.000000100,"}, "perfetto": {"game", "main loop"},
	} {
		code, out, errs := logparse("save", log, "-o", "-", "--format", format)
		for _, w := range want {
			if code != exitOK || !strings.Contains(out, w) {
				t.Errorf("%s: exit status %d, without %q: %s%s", format, code, w, out, errs)
			}
		}
	}
	if _, out, _ := logparse("save", log, "-o", "-", "--format", "folded"); strings.Count(out, "\n") != 1 {
		t.Errorf("folded: %s", out)
	}
	if _, out, _ := logparse("save", log, "-o", "-", "--format", "folded", "--by-thread"); strings.Count(out, "\n") != 2 || !strings.Contains(out, "game;thread 7 main loop;0x400010 ") {
		t.Errorf("folded by thread: %s", out)
	}
	code, _, errs := logparse("save", log, "-o", "-", "--format", "csv", "--by-thread")
	if code != exitUsage || !strings.Contains(errs, "--by-thread is not for csv, only for folded") {
		t.Errorf("exit status %d: %s", code, errs)
	}
}
