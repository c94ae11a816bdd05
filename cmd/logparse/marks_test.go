package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// markedTrace writes a trace with marks and returns its path.
func markedTrace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	text, path := filepath.Join(dir, "marks.txt"), filepath.Join(dir, "marks.lptrace")
	if err := os.WriteFile(text, []byte(`file begin=1000
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
`), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := logparse("trace", "load", text, path); code != exitOK {
		t.Fatal(errs)
	}
	return path
}

func TestMarks(t *testing.T) {
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
	}
	if code, _, errs := logparse("marks", path, "-o", saved); code != exitOK {
		t.Fatal(errs)
	}
	if text, _ := os.ReadFile(saved); strings.Count(string(text), "\n") != 3 || !strings.HasPrefix(string(text), `{"time":"0.000000005","thread":7,"kind":"mark","text":"frame 1"}`) {
		t.Errorf("saved\n%s", text)
	}
	if code, _, errs := logparse("marks", path, "--format", "xml"); code != exitUsage || !strings.Contains(errs, "txt, csv or jsonl") {
		t.Errorf("a wrong format: %d, %s", code, errs)
	}
	if code, out, errs := logparse("marks", sampleDir); code != exitOK || strings.Count(out, "\n") != 1 || !strings.Contains(errs, "has no marks") {
		t.Errorf("a classic log: %d, %s%s", code, out, errs)
	}
}

func TestInfoSaysMarks(t *testing.T) {
	path := markedTrace(t)
	if _, out, _ := logparse("info", path); !strings.Contains(out, "marks       2, and 1 values of counters: logparse marks prints them\n") {
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
