package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logparser/app"
	"logparser/internal/testlog/tracetest"
)

// A fullDisk takes so many bytes, and then no more.
type fullDisk struct{ left int }

func (d *fullDisk) Write(b []byte) (int, error) {
	n := min(len(b), d.left)
	if d.left -= n; n < len(b) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// crashedTrace writes a trace of a program that crashed.
func crashedTrace(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.lptrace")
	if err := os.WriteFile(path, tracetest.Crashed(tracetest.Smashed()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFullDisk prints what every verb has to say where there is no room for it: no verb ends as if all were well.
func TestFullDisk(t *testing.T) {
	marked, symbols := markedTrace(t), t.TempDir()
	a, b := builtTrace(t, symbols, 0, "main >a >b < <", "io >c <"), builtTrace(t, symbols, 1, "main >a >c < <")
	image := filepath.Join(sampleDir, "logtest")
	for _, args := range [][]string{
		{"show", marked}, {"show", marked, "--json"}, {"show", a, b}, {"show", sampleDir, marked}, {"stats", marked}, {"stats", marked, "--json"}, {"tree", marked}, {"tree", marked, "--json"},
		{"annotations", marked}, {"info", marked}, {"info", marked, "--json"}, {"symbols", sampleDir}, {"symbols", sampleDir, "--json"},
		{"advise", marked}, {"advise", marked, "--json"}, {"compare", a, b}, {"compare", a, b, "--json"}, {"compare", a, a}, {"crash", crashedTrace(t)}, {"crash", crashedTrace(t), "--format", "html"},
		{"resolve", "--image", image, "0x27a0"}, {"resolve", "--image", image, "0x27a0", "--json"}, {"symbolize", "--image", image}, {"symbolize", "--image", image, "--json"},
		{"save", marked, "-o", "-", "--format", "csv"}, {"probes", image, "--", "app::factorial"}, {"values", image, "--", "app::factorial"}, {"values", "--prototypes"}, {"trace", "dump", marked},
	} {
		in := func() *strings.Reader { return strings.NewReader(image + "(+0x27a8)[0x7f00000027a8]\n") }
		var all, errs bytes.Buffer
		want := exitOK
		if args[0] == "compare" && args[2] != args[1] {
			want = exitDiffer
		}
		if code := run(context.Background(), args, in(), &all, &errs); code != want || all.Len() == 0 {
			t.Errorf("%v: exit status %d: %s", args, code, &errs)
			continue
		}
		for _, room := range []int{0, all.Len() / 2} {
			errs.Reset()
			if code := run(context.Background(), args, in(), &fullDisk{room}, &errs); code != exitError || !strings.Contains(errs.String(), syscall.ENOSPC.Error()) {
				t.Errorf("%v: room for %d bytes of %d: exit status %d: %s", args, room, all.Len(), code, &errs)
			}
		}
	}
}

// TestProgress has work that takes long, on a terminal: its line says what is done and how much of it, and goes when that is done.
func TestProgress(t *testing.T) {
	var said bytes.Buffer
	p := &progress{w: &said, started: time.Now().Add(-time.Minute)}
	for _, test := range []struct {
		stage       app.Stage
		done, total int64
		want        string
	}{
		{app.StagePair, 1, 4, "\r\x1b[Kpairing 25%"},
		{app.StagePair, 1, 0, ""},
		{app.StageFetch, 2_500_000, 0, "\r\x1b[Kasking the symbol server, 2.5 MB"},
		{app.StageFetch, 1, 2, "\r\x1b[Kasking the symbol server 50%"},
	} {
		said.Reset()
		if p.report(test.stage, test.done, test.total); said.String() != test.want {
			t.Errorf("%s, %d of %d: %q, want %q", test.stage, test.done, test.total, &said, test.want)
		}
	}
	said.Reset()
	p.clear()
	p.clear()
	if said.String() != "\r\x1b[K" {
		t.Errorf("cleared by %q", &said)
	}
	soon := &progress{w: &said, started: time.Now().Add(time.Minute)}
	said.Reset()
	if soon.report(app.StagePair, 1, 2); said.Len() > 0 {
		t.Errorf("work that takes no time is told of: %q", &said)
	}
}
