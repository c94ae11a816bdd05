package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// someLogs makes a folder with a classic pair and two traces, b.lptrace the latest.
func someLogs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"LogDetails.dat", "LogDetails.bin"} {
		b, err := os.ReadFile(filepath.Join(sampleDir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{"LogDetails.dat", "a.lptrace", "b.lptrace"} {
		path := filepath.Join(dir, name)
		if i > 0 {
			if err := os.Rename(markedTrace(t), path); err != nil {
				t.Fatal(err)
			}
		}
		when := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSeveralLogs prints logs one after another where one is no trace, and takes the latest
// of them.
func TestSeveralLogs(t *testing.T) {
	dir := someLogs(t)
	a, b := filepath.Join(dir, "LogDetails.dat"), filepath.Join(dir, "b.lptrace")
	_, one, _ := logparse("show", a)
	_, other, _ := logparse("show", b)
	code, out, errs := logparse("show", a, b)
	if want := "==> " + a + " <==\n" + one + "\n==> " + b + " <==\n" + other; code != exitOK || out != want {
		t.Errorf("exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs := logparse("show", a, b, "--newest"); code != exitOK || out != other || out == one {
		t.Errorf("the newest: exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs := logparse("show", b, a, "--newest", "--json"); code != exitOK || !strings.HasPrefix(out, `{"index":0,`) {
		t.Errorf("the newest as JSON: exit status %d: %s%s", code, out, errs)
	}
	_, stats, _ := logparse("stats", b)
	if code, out, errs := logparse("stats", a, b, "--newest"); code != exitOK || out != stats {
		t.Errorf("statistics of the newest: exit status %d: %s%s", code, out, errs)
	}
	// One that cannot be read does not keep the others from being shown.
	code, out, errs = logparse("show", a, filepath.Join(dir, "none"), b)
	if code != exitError || !strings.Contains(out, one) || !strings.HasSuffix(out, other) || !strings.Contains(errs, "none: no such file") || !strings.HasSuffix(errs, "logparse: 1 of 3 logs could not be read\n") {
		t.Errorf("exit status %d: %s", code, errs)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"stats", a, b}, "stats takes one LOG or several traces, not 2 logs; of several --newest takes the one that was written last, and show prints all"},
		{[]string{"show", a, b, "--json"}, "several logs that are no traces are printed as txt only, not as jsonl"},
		{[]string{"show", a, b, "--follow"}, "--follow takes one LOG, not 2"},
		{[]string{"show", a, "-"}, "-, the standard input, is the only log"},
		{[]string{"show", "-", "--follow"}, "--follow - is for what perf script, trace_pipe and bpftrace print of probes, and this is something else"},
	} {
		if code, _, errs := logparse(test.args...); code != exitUsage || !strings.Contains(errs, test.want) {
			t.Errorf("%v: exit status %d: %s", test.args, code, errs)
		}
	}
}

// TestFolderOfBothKinds has a classic log and traces, of which none is taken
// silently.
func TestFolderOfBothKinds(t *testing.T) {
	dir := someLogs(t)
	code, out, errs := logparse("show", dir)
	if code != exitError || out != "" || !strings.Contains(errs, "3 logs in this folder (b.lptrace, a.lptrace, LogDetails.dat, ...); give one of them, or take the one that was written last with --newest") {
		t.Errorf("exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs := logparse("show", dir, "--newest"); code != exitOK || !strings.HasPrefix(out, "Log:      b.lptrace") {
		t.Errorf("the newest: exit status %d: %s%s", code, out, errs)
	}
	for _, name := range []string{"a.lptrace", "b.lptrace"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, errs := logparse("show", dir); code != exitOK || !strings.HasPrefix(out, "Log:      LogDetails.dat") {
		t.Errorf("of one kind: exit status %d: %s%s", code, out, errs)
	}
}

// TestStandardInput reads logs from the standard input, and leaves nothing of them.
func TestStandardInput(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	marked := markedTrace(t)
	read := func(in io.Reader, args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(context.Background(), args, in, &out, &errs)
		if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
			t.Errorf("%v: left: %v, %v", args, left, err)
		}
		return code, out.String(), errs.String()
	}
	content, err := os.ReadFile(marked)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"stats"}, {"tree", "--json"}, {"marks"}, {"show", "--json"}, {"save", "--format", "csv", "-o", "-"}} {
		_, want, _ := logparse(append(args, marked)...)
		if code, got, errs := read(bytes.NewReader(content), append(args, "-")...); code != exitOK || got != want || got == "" {
			t.Errorf("%v: exit status %d, %d bytes, want %d: %s", args, code, len(got), len(want), errs)
		}
	}
	classic, err := os.ReadFile(filepath.Join(sampleDir, "LogDetails.dat"))
	if err != nil {
		t.Fatal(err)
	}
	modules := filepath.Join(sampleDir, "LogDetails.bin")
	_, want, _ := logparse("show", sampleDir, "--json", "--symbols", sampleDir)
	if code, got, errs := read(bytes.NewReader(classic), "show", "-", "--json", "--modules", modules, "--symbols", sampleDir); code != exitOK || got != want {
		t.Errorf("classic: exit status %d, %d bytes, want %d: %s", code, len(got), len(want), errs)
	}
	// The last line needs no line feed: no more of it comes.
	if code, got, errs := read(strings.NewReader("lp E 100 7 7 0x5010 e\nlp L 200 7 7 - e__return"), "show", "-"); code != exitOK || !strings.Contains(got, "Rows:     2") {
		t.Errorf("without a line feed: exit status %d: %s%s", code, got, errs)
	}
	// Messages name it, and not the file that it is kept in.
	for _, text := range []string{"this is no log at all, is it?\n", "Invoice: (20240101) paid\n", strings.Repeat("\x00", 3000), "short"} {
		if code, _, errs := read(strings.NewReader(text), "show", "-"); code != exitError || !strings.HasPrefix(errs, "logparse: "+spooledName+": ") || strings.Contains(errs, temporary) {
			t.Errorf("%.20q: exit status %d: %s", text, code, errs)
		}
	}
	if code, _, errs := read(strings.NewReader(""), "show", "-"); code != exitError || !strings.Contains(errs, "the log is empty") {
		t.Errorf("exit status %d: %s", code, errs)
	}
}
