package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
)

// TestCrash shows a crash that a trace tells of, in every way in which the file can be given.
func TestCrash(t *testing.T) {
	path := crashedTrace(t)
	code, report, errs := logparse("crash", path)
	if code != exitOK || !strings.Contains(report, "SIGSEGV: write to address 0x8") || !strings.Contains(report, "app+0x1000") {
		t.Fatalf("exit status %d: %s%s", code, report, errs)
	}
	// The recorder starts the command before there is anything to tell of.
	told := func(in string, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(context.Background(), append([]string{"crash", "--when-told"}, args...), strings.NewReader(in), &out, &errs)
		return code, out.String(), errs.String()
	}
	if code, out, errs := told(path + "\n"); code != exitOK || out != report {
		t.Errorf("told: exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs := told(""); code != exitOK || out+errs != "" {
		t.Errorf("a program that did not crash: exit status %d: %s%s", code, out, errs)
	}
	if code, _, errs := told(path, path); code != exitUsage {
		t.Errorf("told and given: exit status %d: %s", code, errs)
	}
	// The short report is named by program and time, and lies beside the log.
	code, out, errs := logparse("crash", path, "--report", "")
	if dir, name := filepath.Split(strings.TrimSuffix(out, "\n")); code != exitOK || filepath.Clean(dir) != filepath.Dir(path) || !strings.HasPrefix(name, "applog2023111") {
		t.Errorf("the short report: exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs := logparse("crash", path, "--log", path); code != exitOK || !strings.Contains(out, "app+0x1000") {
		t.Errorf("with the log: exit status %d: %s%s", code, out, errs)
	}
	ended := loadTrace(t, "file begin=1000\nchunk process\nchunk events thread=7 base=1000\nenter +1 entry 0x400010\nleave +1\n")
	if code, _, errs := logparse("crash", path, "--log", ended); code != exitOK || !strings.Contains(errs, "a.lptrace has no call that was open at its end") {
		t.Errorf("with a log without open calls: exit status %d: %s", code, errs)
	}
	quiet := filepath.Join(t.TempDir(), "quiet.lptrace")
	if err := os.WriteFile(quiet, tracetest.Crashed(nil), 0o666); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(text, []byte("nothing of all this\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"crash", quiet}, exitError, "the log tells of no crash"},
		{[]string{"crash", text}, exitError, "neither an ELF core file nor a minidump"},
		{[]string{"crash", path, "--log", text}, exitError, "text.txt"},
		{[]string{"crash", path + ".none"}, exitError, "app.lptrace.none: no such file"},
		{[]string{"crash", path, "--format", "pdf"}, exitUsage, `--format is one of txt`},
		{[]string{"crash", path, "--json", "--format", "txt"}, exitUsage, "--json and --format txt contradict each other"},
	} {
		if code, out, errs := logparse(test.args...); code != test.code || !strings.Contains(errs, test.want) {
			t.Errorf("%v: exit status %d, want %d: %s%s", test.args, code, test.code, out, errs)
		}
	}
}
