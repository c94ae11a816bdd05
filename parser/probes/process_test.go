package probes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/parser"
)

// A process that becomes another program has a space of its own.
func TestBecomesAnother(t *testing.T) {
	l := write(t, namesOfTwo+`lp E 100 7 7 0x5010 e
lp E 200 7 7 0x9010 e
lp L 300 7 7 - e__return
lp E 400 8 8 0x9010 e
`)
	events := make([]parser.Event, 4)
	l.ReadEvents(events, 0)
	if events[0].Space == events[1].Space || events[1].Space != events[2].Space || events[2].Address != 0x9010 || events[3].Space == events[2].Space ||
		events[0].Thread == events[1].Thread || events[1].Thread != events[2].Thread {
		t.Errorf("%+v", events)
	}
	if p := l.Processes(0); len(p) != 3 || p[0].ID != 7 || p[1].ID != 7 || p[2].ID != 8 || p[1].Modules != 1 {
		t.Errorf("%+v", p)
	}
}

// Each process id becomes other programs, at most so many, and a text with any number of them is
// read line by line.
func TestManyPrograms(t *testing.T) {
	var text strings.Builder
	text.WriteString(namesOfTwo)
	const n = 3 * maxPrograms
	for i := range n {
		fmt.Fprintf(&text, "lp E %d 7 7 %#x e\n", i, 0x5010+i<<16)
	}
	l := write(t, text.String())
	if p := len(l.Processes(0)); p != maxPrograms {
		t.Errorf("%d processes, want %d", p, maxPrograms)
	}
	events := make([]parser.Event, n)
	if _, err := l.ReadEvents(events, 0); err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if want := min(i, maxPrograms-1); int(e.Space) != want || e.Address != uint64(0x5010+i<<16) {
			t.Fatalf("record %d: %+v", i, e)
		}
	}
}

// What no line tells a process of is taken apart by bases, also of several images.
func TestManyUnknownProcesses(t *testing.T) {
	var text strings.Builder
	text.WriteString(namesOfTwo + "# lp I 1 65536 build-id:0304 \"/opt/b\"\n# lp N g E 1 0x1010 0x1010 \"g()\"\n")
	const n = 2000
	for i := range n {
		fmt.Fprintf(&text, "lp E %d - 7 %#x e\n", i, 0x5010+i<<16)
	}
	for i := range n {
		fmt.Fprintf(&text, "lp E %d - 7 %#x g\n", n+i, 0x5010+i<<16)
	}
	l := write(t, text.String())
	events := make([]parser.Event, 2*n)
	if _, err := l.ReadEvents(events, 0); err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if int(e.Space) != i%n {
			t.Fatalf("record %d: %+v", i, e)
		}
	}
}

// A process that is told to become another program has nothing of the old one, also where both lie
// at the same place.
func TestExecuted(t *testing.T) {
	const lines = `  sh 7/7 [000] 1.0: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 fe:00 1 2]: r-xp /bin/sh
  sh 7/7 [000] 1.1: lp:parse: (401010)
  sh 7/7 [000] 1.2: PERF_RECORD_COMM exec: app:7/7
  app 7/7 [000] 1.3: PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 fe:00 1 3]: r-xp /bin/app
  app 7/7 [000] 1.4: lp:work: (401010)
  app 7/7 [000] 1.5: PERF_RECORD_COMM exec: end:7/7
  app 7/7 [000] 1.6: PERF_RECORD_COMM exec: last:7/7
`
	path := filepath.Join(t.TempDir(), "calls.txt")
	if err := os.WriteFile(path, []byte(lines), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := Open(context.Background(), path, parser.Options{Place: func(string, uint64) (uint64, uint64, bool) { return 0x1000, 0x3000, true }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	events := make([]parser.Event, 2)
	if _, err := l.ReadEvents(events, 0); err != nil {
		t.Fatal(err)
	}
	if a, b := l.Name(0, events[0].Space, events[0].Address), l.Name(0, events[1].Space, events[1].Address); a != "parse" || b != "work" {
		t.Errorf("%q, %q", a, b)
	}
	p := l.Processes(0)
	if len(p) != 3 || p[0].Path != "/bin/sh" || p[1].Path != "/bin/app" || p[0].Modules != 1 || p[1].Modules != 1 || p[2].Modules != 0 {
		t.Errorf("%+v", p)
	}
	// Without being told so by a mapping, but by names.
	l = write(t, namesOfTwo+`  sh 7/7 [000] 1.1: lp:e: (5010)
  sh 7/7 [000] 1.2: PERF_RECORD_COMM exec: app:7/7
  sh 7/7 [000] 1.3: lp:e: (5010)
  sh 7/7 [000] 1.4: lp:e__return: (5010 <- 5100)
`)
	events = make([]parser.Event, 3)
	if _, err := l.ReadEvents(events, 0); err != nil || events[0].Space != 0 || events[1].Space != 1 || events[2].Space != 1 {
		t.Errorf("%+v %v", events, err)
	}
}
