package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// markedTrace writes a trace with annotations and returns its path.
func markedTrace(t *testing.T) string {
	t.Helper()
	return loadTrace(t, `file begin=1000
chunk process
thread @1000 stream=2 id=8 name="render"
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
mark +5 "frame 1"
counter +5 i64 -5 "queue"
leave @4000
chunk events stream=2 thread=8 base=1000
enter @2000 entry 0x400020
mark +5 "frame 2"
leave @3000
`)
}

// loadTrace makes a trace of a text and returns its path.
func loadTrace(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	text, path := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.lptrace")
	if err := os.WriteFile(text, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := logparse("trace", "load", text, path); code != exitOK {
		t.Fatal(errs)
	}
	return path
}

func TestAnnotations(t *testing.T) {
	path := markedTrace(t)
	saved := filepath.Join(t.TempDir(), "marks.jsonl")
	for _, test := range []struct {
		args []string
		want string // texts and rows, from csv
	}{
		{nil, "frame 1, queue -5, frame 2"},
		{[]string{"--match", "FRAME", "--rows"}, "frame 1@3, frame 2@2"},
		{[]string{"--thread", "rend"}, "frame 2"},
		{[]string{"--thread", "7", "--match", "q"}, "queue -5"},
		{[]string{"--match", "none"}, ""},
		{[]string{"--thread", "zzz"}, ""},
	} {
		code, out, errs := logparse(append([]string{"marks", path, "--format", "csv"}, test.args...)...)
		if code != exitOK {
			t.Fatalf("%v: exit status %d: %s", test.args, code, errs)
		}
		var got []string
		for _, r := range table(t, out) {
			s := r["text"]
			if r["value"] != "" {
				s += " " + r["value"]
			}
			if r["row"] != "" {
				s += "@" + r["row"]
			}
			got = append(got, s)
		}
		if g := strings.Join(got, ", "); g != test.want {
			t.Errorf("%v: %s, want %s", test.args, g, test.want)
		}
		chosen := strings.Contains(strings.Join(test.args, " "), "--")
		says := fmt.Sprintf("logparse: %d of 3 annotations\n", len(got))
		if len(got) == 0 {
			says = "logparse: 0 of 3 annotations: nothing passes the filter\n"
		}
		if said := strings.Contains(errs, says); said != chosen {
			t.Errorf("%v says %s", test.args, errs)
		}
	}
	if code, _, errs := logparse("annotations", path, "-o", saved); code != exitOK {
		t.Fatal(errs)
	}
	if text, _ := os.ReadFile(saved); strings.Count(string(text), "\n") != 3 || !strings.HasPrefix(string(text), `{"time":"0.000000005","thread":7,"kind":"mark","text":"frame 1"}`) {
		t.Errorf("saved\n%s", text)
	}
	if code, _, errs := logparse("annotations", path, "--format", "xml"); code != exitUsage || !strings.Contains(errs, "txt, csv or jsonl") {
		t.Errorf("a wrong format: %d, %s", code, errs)
	}
	if code, out, errs := logparse("marks", sampleDir); code != exitOK || strings.Count(out, "\n") != 1 || !strings.Contains(errs, "has no annotations") {
		t.Errorf("a classic log: %d, %s%s", code, out, errs)
	}
}

func TestInfoSaysAnnotations(t *testing.T) {
	path := markedTrace(t)
	if _, out, _ := logparse("info", path); !strings.Contains(out, "annotations 2, and 1 values of counters: logparse annotations prints them\n") {
		t.Error(out)
	}
	_, out, _ := logparse("info", path, "--json")
	var j struct {
		Marks         int64
		CounterValues int64 `json:"counter_values"`
	}
	if err := json.Unmarshal([]byte(out), &j); err != nil || j.Marks != 2 || j.CounterValues != 1 {
		t.Errorf("%v %s", err, out)
	}
}

// TestInfoSaysSettings asks for what the recorder was told.
func TestInfoSaysSettings(t *testing.T) {
	const text = `file begin=1000 flags=%d minimum=2000
chunk process
setting @1000 name="LOGREC_INCLUDE" value="draw*"
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
`
	for flags, want := range map[int]string{
		0: "it was not recorded where calls came from: LOGREC_SITES=1 does that", 2: "it was recorded where calls came from: setting LOGREC_SITES = 1",
	} {
		path := loadTrace(t, fmt.Sprintf(text, flags))
		_, out, _ := logparse("info", path)
		for _, want := range []string{want, "setting LOGREC_INCLUDE = draw*", "calls shorter than 2\u00b5s were dropped"} {
			if !strings.Contains(out, "note        "+want+"\n") {
				t.Errorf("flags %d: info lacks %q:\n%s", flags, want, out)
			}
		}
		if _, out, _ := logparse("info", path, "--json"); !strings.Contains(out, fmt.Sprintf(`"call_sites":%t`, flags == 2)) {
			t.Errorf("flags %d: %s", flags, out)
		}
	}
	if _, out, _ := logparse("info", sampleDir, "--json"); strings.Contains(out, "call_sites") {
		t.Errorf("a classic log: %s", out)
	}
}

// TestLoadReplaces has a trace in the way of another.
func TestLoadReplaces(t *testing.T) {
	path := markedTrace(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same := filepath.Join(filepath.Dir(path), "a.txt")
	other := filepath.Join(t.TempDir(), "b.txt")
	if err := os.WriteFile(other, []byte("file begin=1000\nchunk process\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := logparse("trace", "load", same, path); code != exitOK {
		t.Errorf("the same content: exit status %d: %s", code, errs)
	}
	code, _, errs := logparse("trace", "load", other, path)
	if now, _ := os.ReadFile(path); code != exitError || string(now) != string(before) || !strings.Contains(errs, "there is another file of this name; save under another name, or with --replace") {
		t.Errorf("another content: exit status %d: %s", code, errs)
	}
	code, _, errs = logparse("trace", "load", other, path, "--replace")
	if now, _ := os.ReadFile(path); code != exitOK || string(now) == string(before) {
		t.Errorf("with --replace: exit status %d: %s", code, errs)
	}
}

// TestSaveOverParts saves in parts where parts are already.
func TestSaveOverParts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	save := func(args ...string) (int, string) {
		t.Helper()
		code, _, errs := logparse(append([]string{"save", sampleDir}, args...)...)
		return code, errs
	}
	files := func() string {
		list, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			list[i] = filepath.Base(list[i])
		}
		return strings.Join(list, " ")
	}
	if code, errs := save("-o", path, "--split-rows", "400"); code != exitOK || files() != "a.001.json a.002.json a.003.json" {
		t.Fatalf("exit status %d: %s, %s", code, errs, files())
	}
	old, err := os.ReadFile(filepath.Join(dir, "a.001.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range []string{"700", "100000"} {
		code, errs := save("-o", path, "--split-rows", rows)
		now, _ := os.ReadFile(filepath.Join(dir, "a.001.json"))
		if code != exitError || !strings.Contains(errs, "parts of an earlier save are there, 3 of them from a.001.json on; save under another name, or with --replace") ||
			files() != "a.001.json a.002.json a.003.json" || string(now) != string(old) {
			t.Errorf("%s rows a part: exit status %d: %s, %s", rows, code, errs, files())
		}
	}
	if code, errs := save("-o", path, "--split-rows", "700", "--replace"); code != exitOK || files() != "a.001.json a.002.json" {
		t.Errorf("with --replace: exit status %d: %s, %s", code, errs, files())
	}
	// What is not divided stays beside them, and that is said.
	if code, errs := save("-o", path, "--split-rows", "-1", "--split-bytes", "-1"); code != exitOK || files() != "a.001.json a.002.json a.json" ||
		!strings.Contains(errs, "parts of an earlier save are still there, 2 of them from "+filepath.Join(dir, "a.001.json")+" on; --replace removes them") {
		t.Errorf("undivided: exit status %d: %s, %s", code, errs, files())
	}
	if code, errs := save("-o", path, "--split-rows", "-1", "--split-bytes", "-1", "--replace"); code != exitOK || files() != "a.json" || strings.Contains(errs, "earlier") {
		t.Errorf("undivided with --replace: exit status %d: %s, %s", code, errs, files())
	}
}

// TestAnnotationsAlone takes the trace of a program that has no hooks and only wrote
// annotations.
func TestAnnotationsAlone(t *testing.T) {
	path := loadTrace(t, `file begin=1000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
load @1000 module=1 flags=1 base=0x400000 size=0x1000 path="/bin/a"
thread @1000 stream=2 id=8 name="render"
chunk events stream=1 thread=7 base=1000
mark @1050 "frame 1"
counter +50 i64 -5 "queue"
chunk events stream=2 thread=8 base=1000
mark @1200 "frame 2"
`)
	if _, out, errs := logparse("marks", path, "--format", "csv", "--rows"); strings.Count(out, "\n") != 4 || !strings.Contains(out, "render") {
		t.Errorf("annotations: %s%s", out, errs)
	}
	if _, out, errs := logparse("marks", path, "--thread", "rend"); !strings.Contains(out, "frame 2") || !strings.Contains(errs, "1 of 3 annotations") {
		t.Errorf("annotations of a thread: %s%s", out, errs)
	}
	code, out, errs := logparse("info", path)
	for _, want := range []string{
		"modules     1, recorded in the log\n", "run         1: 0 records", "threads     1\n            8: 0 rows, render\n",
		"time        from 2023-11-14T22:13:20.000 on; there are no rows\n", "annotations 2, and 1 values of counters",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("info lacks %q:\n%s%s", want, out, errs)
		}
	}
	if code != exitOK {
		t.Errorf("info: exit status %d: %s", code, errs)
	}
	_, out, errs = logparse("save", path, "-o", "-", "--format", "chrome")
	for _, want := range []string{
		`"ph":"i","pid":1,"tid":7,"ts":0,"name":"frame 1"`, `"ph":"C","pid":1,"tid":7,"ts":0.05,"name":"queue"`,
		`"ts":0.15,"name":"frame 2"`, `"args":{"name":"render"}`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("chrome lacks %s:\n%s%s", want, out, errs)
		}
	}
	if _, out, _ := logparse("save", path, "-o", "-", "--format", "perfetto"); !strings.Contains(out, "frame 2") || !strings.Contains(out, "queue") {
		t.Errorf("perfetto: %q", out)
	}
	for _, args := range [][]string{{"show"}, {"stats"}, {"tree"}, {"symbols"}, {"advise"}, {"show", "--where", "func:a"}, {"show", "-n", "2", "--run", "1"}} {
		if code, _, errs := logparse(append(args, path)...); code != exitOK {
			t.Errorf("%v: exit status %d: %s", args, code, errs)
		}
	}
}

// TestSaveCorrected saves corrected durations in every format.
func TestSaveCorrected(t *testing.T) {
	path := loadTrace(t, `file begin=1000 rate=1000000000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
overhead @1000 way=1 enterbefore=1000 enterafter=1000 leavebefore=1000 leaveafter=1000
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
leave @3000
`)
	for format, want := range map[string]string{
		"txt": "corrected", "csv": "duration_corrected_us", "jsonl": "duration_corrected_us", "html": "corrected", "parquet": "duration_corrected_us",
		"chrome": "", "perfetto": "", "speedscope": "", "folded": "", "callgrind": "",
	} {
		code, out, errs := logparse("save", path, "-o", "-", "--format", format, "--corrected")
		switch {
		case want != "" && (code != exitOK || !strings.Contains(out, want)):
			t.Errorf("%s: exit status %d: %s%s", format, code, out, errs)
		case want == "" && (code != exitUsage || out != "" || !strings.Contains(errs, "leave out --corrected, or take one of txt, csv, jsonl, html, parquet")):
			t.Errorf("%s: exit status %d: %q%s", format, code, out, errs)
		}
		if want == "" {
			if code, out, errs := logparse("show", path, "--format", format, "--corrected"); code != exitError || out != "" || !strings.Contains(errs, "leave out --corrected") {
				t.Errorf("show %s: exit status %d: %q%s", format, code, out, errs)
			}
		}
	}
	if code, _, errs := logparse("stats", sampleDir, "--corrected"); code != exitError || !strings.Contains(errs, "leave out --corrected") {
		t.Errorf("a classic log: exit status %d: %s", code, errs)
	}
}
