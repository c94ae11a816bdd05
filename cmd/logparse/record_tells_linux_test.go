package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRecordMistakes gives what cannot be run: nothing is made, and the exit status tells.
func TestRecordMistakes(t *testing.T) {
	program := compile(t, endings, withHooks)
	dir := filepath.Dir(program)
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", recorderCache(t))
	for _, test := range []struct {
		line   string
		status int
		said   string
	}{
		{"", exitUsage, "record needs a PROGRAM"},
		{"nonesuch-program", exitNoProgram, "there is no such program"},
		{"program", exitNoProgram, "for the one in this folder write ./program"},
		{"./program.c", exitNotRunnable, "permission denied"},
		{"--ring 5000 ./program", exitUsage, "from 1 to 4096"},
		{"--min fast ./program", exitUsage, "--min is a time"},
		{"-o . ./program 0 0", exitRecord, "give another folder with --output"},
		{"-o no/such/folder ./program", exitRecord, "the folder for the logs cannot be made: mkdir no/such/folder"},
		{"--values inner@ ./program", exitRecord, "inner@"},
		{"--values none.lpvalues ./program", exitRecord, "none.lpvalues: no such file"},
		{"--values none ./program", exitRecord, "--values: no function fits; '*' takes all"},
		{"--values none ./program.c", exitNotRunnable, "permission denied"},
		{"--libcalls --values none ./program", exitRecord, "--values: no function fits that is declared; declare those of other libraries"},
		{"--libcalls --values * --prototypes none.h ./program", exitRecord, "none.h: no such file"},
		{"--probe none ./program", exitRecord, "no function fits; give --probe another pattern"},
		{"--probe inner@ ./program", exitUsage, "inner@"},
		{"--probe inner --values inner@ ./program", exitUsage, "inner@"},
		{"--probe inner --values raw:x ./program", exitUsage, "raw:"},
		{"--probe inner --values inner --prototypes none.h ./program", exitRecord, "none.h: no such file"},
		{"--probe inner --pid 0", exitUsage, "--pid: no process has such an id"},
		{"--probe inner --pid 2147483647", exitRecord, "2147483647"},
	} {
		code, out, errs := logparse(append([]string{"record"}, strings.Fields(test.line)...)...)
		if code != test.status || !strings.Contains(errs, test.said) || out != "" {
			t.Errorf("%s: status %d, want %d: %s%s", test.line, code, test.status, out, errs)
		}
	}
	for _, test := range []struct{ cache, path, said string }{
		{filepath.Join(dir, "program.c"), os.Getenv("PATH"), "set XDG_CACHE_HOME to a folder that can be written"},
		{t.TempDir(), dir, "install one (gcc or clang), or name a library that was built elsewhere with --library"},
	} {
		t.Setenv("CC", "")
		t.Setenv("PATH", test.path)
		t.Setenv("XDG_CACHE_HOME", test.cache)
		if code, out, errs := logparse("record", "./program"); code != exitRecord || !strings.Contains(errs, test.said) {
			t.Errorf("cache %s, path %s: status %d: %s%s", test.cache, test.path, code, out, errs)
		}
	}
	if list, err := filepath.Glob(filepath.Join(dir, "*.rec")); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

// TestRecordTells records a program that ends in different ways, and says what came of it; if asked to, it has the window show it.
func TestRecordTells(t *testing.T) {
	program := compile(t, strings.Replace(endings, `printf("inside\n");`, "", 1), withHooks)
	dir := filepath.Dir(program)
	t.Chdir(dir)
	t.Setenv("XDG_CACHE_HOME", recorderCache(t))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	window := "#!/bin/sh\necho \"$1\" >opened.new && mv opened.new opened\n"
	if err := os.WriteFile(filepath.Join(dir, "logparser"), []byte(window), 0o777); err != nil {
		t.Fatal(err)
	}
	calledAs = "./build dir/logparse"
	defer func() { calledAs = "logparse" }()
	for _, test := range []struct {
		line   string
		status int
		said   []string
		not    string
	}{
		{"--head 0 ./program 0 0", 0, []string{"to read all of it: './build dir/logparse' show program.rec\n"}, "earlier"},
		{"--head 0 ./program 0 0", 0, []string{"program.rec is of an earlier run\n", "to read all of it: './build dir/logparse' show program-2.rec\n"}, ""},
		{"--head 0 -o x-2.rec ./program 0 0", 0, nil, "earlier"},
		{"-o three ./program 3 0", 3, []string{"program ended with status 3 after ", "; recorded: 1 process, ", "-> outer", "to read all of it: './build dir/logparse' show three"}, "--open"},
		{"-o killed --head 0 ./program 0 9", exitSignal + 9, []string{"program was ended by signal 9 after "}, "how it crashed"},
		{"-o one --head 1 ./program 0 0", 0, []string{"... and "}, "-> inner"},
		{"-o off --paused --switch-signal USR2 ./program 0 0", 0, []string{"recording was switched off, and USR2 did not come"}, "to read all of it"},
		{"-o raw --values raw ./program 0 0", 0, []string{"warning: no registers are taken of program: they are on x86-64, where it calls __fentry__"}, ""},
		{"-o shown --open ./program 0 0", 0, nil, "--open"},
		{"--quiet -o quiet ./program 0 0", 0, nil, "logparse"},
		{"-o it's --ring 1 ./program 0 0", 0, []string{`to read all of it: './build dir/logparse' show 'it'\''s'`}, ""},
		{"-o crashed --crash last --report . ./program 0 11", exitSignal + 11, []string{"report of a crash: " + filepath.Join(".", "programlog")}, ""},
		{"-o told --head 0 ./program 0 11", exitSignal + 11, []string{"how it crashed: './build dir/logparse' crash " + filepath.Join("told", "program.")}, ""},
		{"-o none true", 0, []string{"true ended with status 0 after ", ", and nothing was recorded"}, "to read all of it"},
	} {
		code, out, errs := logparse(append([]string{"record"}, strings.Fields(test.line)...)...)
		for _, said := range test.said {
			if !strings.Contains(errs, said) {
				t.Errorf("%s: it is not said %q: %s", test.line, said, errs)
			}
		}
		if code != test.status || test.not != "" && strings.Contains(errs, test.not) {
			t.Errorf("%s: status %d, want %d: %s%s", test.line, code, test.status, out, errs)
		}
	}
	for tries := 0; ; tries++ {
		if opened, err := os.ReadFile("opened"); err == nil {
			if path := strings.TrimSpace(string(opened)); path != filepath.Join(dir, "shown") {
				t.Errorf("the window shows %s", path)
			}
			break
		}
		if tries == 20_000 {
			t.Fatal("no window was opened")
		}
		time.Sleep(time.Millisecond)
	}
}
