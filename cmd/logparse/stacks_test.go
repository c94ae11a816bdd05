package main

import (
	"strings"
	"testing"
)

// coroutineTrace is a program in which main, on thread 7, starts a coroutine, which
// yields, and goes on in thread 8; work is left by a longjmp.
const coroutineTrace = `file begin=1000 rate=1000000000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x1000
switch @1200 1
enter @1200 entry 0x2000
enter @1300 entry 0x3000
switch @1400 0
enter @1400 entry 0x4000
leave @1500
left 1
enter @2500 entry 0x6000
leave @2600
chunk events stream=2 thread=8 base=1000
enter @1600 entry 0x5000
switch @1700 1
stack entry:0x2000 entry:0x3000
leave @2000
leave @2100
switch @2200 0
leave @2200
`

// TestStacks pairs calls by the stack they are on, whatever thread that is in.
func TestStacks(t *testing.T) {
	log := traceFile(t, coroutineTrace)
	out, errs, code := command(t, "show", "--format", "csv", log)
	if code != 0 {
		t.Fatal(errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if !strings.HasSuffix(lines[0], ",note,time_utc,stack") {
		t.Errorf("the head is %s", lines[0])
	}
	var got strings.Builder
	for _, line := range lines[1:] {
		c := strings.Split(line, ",")
		got.WriteString(strings.Join([]string{c[2], c[3], c[4], c[5], c[10], c[12], c[14]}, ",") + "\n")
	}
	const want = `7,enter,0,,0x1000,no leave,
7,enter,0,0.9,0x2000,,1
7,enter,1,0.7,0x3000,,1
7,enter,1,0.1,0x4000,,
7,leave,1,0.1,0x4000,,
8,enter,0,0.6,0x5000,,
8,leave,1,0.7,0x3000,,1
8,leave,0,0.9,0x2000,,1
8,leave,0,0.6,0x5000,,
7,enter,0,0.1,0x6000,,
7,leave,0,0.1,0x6000,,
`
	if got.String() != want {
		t.Errorf("csv\n%s, want\n%s", got.String(), want)
	}
	for where, n := range map[string]int{"thread:7": 7, "thread:8": 4, `in:0x2000`: 4, "in:0x1000": 3, "in:0x5000": 2} {
		out, errs, _ := command(t, "show", "--format", "jsonl", "--where", where, log)
		if strings.Count(out, "\n") != n {
			t.Errorf("%s: want %d rows\n%s%s", where, n, out, errs)
		}
	}
	if out, _, _ := command(t, "show", log); !strings.Contains(out, " 8/1 ") || !strings.Contains(out, " 7/1 ") {
		t.Errorf("txt:\n%s", out)
	}
	if out, _, _ := command(t, "tree", log); !strings.Contains(out, "0x2000\n") || !strings.Contains(out, "  0x3000\n") {
		t.Errorf("tree:\n%s", out)
	}
	if out, _, _ := command(t, "save", "-o", "-", "--format", "folded", "--by-thread", log); !strings.Contains(out, "stack 1;0x2000;0x3000 700\n") {
		t.Errorf("folded:\n%s", out)
	}
	if out, _, _ := command(t, "stats", "--by", "thread", "--format", "csv", log); !strings.Contains(out, "0x2000,,,,7,1,1,0,0.9,") || !strings.Contains(out, "0x5000,,,,8,1,1,0,0.6,") {
		t.Errorf("stats:\n%s", out)
	}
	if out, _, _ := command(t, "info", log); !strings.Contains(out, "7: 7 rows") || !strings.Contains(out, "8: 4 rows") {
		t.Errorf("info:\n%s", out)
	}
}
