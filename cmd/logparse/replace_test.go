package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/app"
)

// outputs are all ways to save something, by the name of the file.
func outputs(t *testing.T) map[string][]string {
	marked := markedTrace(t)
	measured := loadTrace(t, `file begin=1000
chunk process
overhead @1000 way=1 enterbefore=1000 enterafter=2000 leavebefore=500 leaveafter=500
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
leave @4000
`)
	all := map[string][]string{
		"stats.csv": {"stats", sampleDir}, "stats.txt": {"stats", sampleDir}, "threads.txt": {"stats", sampleDir, "--by", "thread"},
		"modules.txt": {"stats", sampleDir, "--by", "module"}, "bom.csv": {"stats", sampleDir, "--bom", "--crlf"},
		"tree.csv": {"tree", sampleDir}, "tree.txt": {"tree", sampleDir}, "corrected.txt": {"stats", measured, "--corrected"},
		"corrected.jsonl": {"save", measured, "--corrected"}, "tree-corrected.txt": {"tree", measured, "--corrected"},
		"corrected.csv": {"save", measured, "--corrected"}, "rows.csv": {"save", sampleDir, "--bom", "--crlf"},
		"calls.folded": {"save", sampleDir, "--weight", "calls"}, "some.txt": {"save", sampleDir, "--where", "func:factorial"},
		"marks.csv": {"marks", marked}, "marks.txt": {"marks", marked}, "marks.jsonl": {"marks", marked}, "rows.txt": {"marks", marked, "--rows"},
	}
	for _, f := range app.SaveFormats() {
		_, extension := app.SaveTitle(f)
		all["log."+extension] = []string{"save", sampleDir}
		all["marked."+extension] = []string{"save", marked}
	}
	return all
}

// TestReplace saves twice under one name: what was saved in a format may be
// replaced by another save in it, and whatever else is there is left alone without
// --force.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	source := "// precious\nint main() { return 0; }\n"
	others := map[string]string{
		"source": source, "table": "name,amount\nrent,12\n", "object": `{"name":"x","version":1}` + "\n", "list": "apples 12\npears 3\n",
		"trace": `{"traceEvents":[]}`, "picture": "\x89PNG\r\n\x1a\n\x00\x00", "page": "<!DOCTYPE html>\n<html><body>x</body></html>\n",
		"profile": "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\n", "columns": "PAR1 something PAR1",
		"notes": "Log:\nRows of seats: 12\n", "stack": "main;work 12\nnot a stack\n",
	}
	for name, args := range outputs(t) {
		path := filepath.Join(dir, name)
		args = append(args, "--no-recorded-paths", "-o", path)
		for range 2 {
			if code, _, errs := logparse(args...); code != exitOK {
				t.Fatalf("%v: exit status %d: %s", args, code, errs)
			}
		}
		saved := read(path)
		for what, content := range others {
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
			code, _, errs := logparse(args...)
			if code != exitError || read(path) != content || !strings.Contains(errs, "file that logparse has saved") || !strings.Contains(errs, "--force") {
				t.Errorf("%s over a %s: exit status %d, %d bytes: %s", name, what, code, len(read(path)), errs)
			}
		}
		if code, _, errs := logparse(append(args, "--force")...); code != exitOK || read(path) != saved {
			t.Errorf("%s with --force: exit status %d: %s", name, code, errs)
		}
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if code, _, errs := logparse(args...); code != exitOK || read(path) != saved {
			t.Errorf("%s over an empty file: exit status %d: %s", name, code, errs)
		}
	}
	// A format that the file's name does not say goes by the content, too.
	path := filepath.Join(dir, "precious.cpp")
	if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"save", sampleDir, "--no-recorded-paths", "-o", path, "--format", "csv"}
	if code, _, _ := logparse(args...); code != exitError || read(path) != source {
		t.Error("the source file is gone")
	}
	if code, _, _ := logparse(append(args, "--force")...); code != exitOK {
		t.Error("--force does not help")
	}
	if code, _, errs := logparse(args...); code != exitOK {
		t.Errorf("csv over csv: %s", errs)
	}
	if code, _, _ := logparse("save", sampleDir, "--no-recorded-paths", "-o", path, "--format", "txt"); code != exitError {
		t.Error("txt over csv")
	}
}

// TestReplaceParts has a file among the parts of an older save that is none.
func TestReplaceParts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	args := []string{"save", sampleDir, "--no-recorded-paths", "-o", path, "--split-rows", "100", "--replace"}
	if code, _, errs := logparse(args...); code != exitOK {
		t.Fatal(errs)
	}
	own := filepath.Join(dir, "a.002.csv")
	if err := os.WriteFile(own, []byte("mine,not yours\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, errs := logparse(args...)
	b, err := os.ReadFile(own)
	if code != exitError || string(b) != "mine,not yours\n" || !strings.Contains(errs, own) {
		t.Errorf("exit status %d, %q, %v: %s", code, b, err, errs)
	}
	if code, _, errs := logparse(append(args, "--force")...); code != exitOK {
		t.Errorf("with --force: %s", errs)
	}
	if b, err := os.ReadFile(own); err != nil || bytes.HasPrefix(b, []byte("mine")) {
		t.Errorf("%.20q, %v", b, err)
	}
}
