package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// endsTrace is a program of three threads: 7 is in main and a when the log ends, 8
// ends in a call that nothing leaves, and its id is used again by a thread that ends
// in a call as well. %s is what the log says of its end.
const endsTrace = `file begin=1000 rate=1000000000 state=STATE
chunk process
clock @1000 ns=1000 wall=1700000000000000000
threadend @3001000 stream=2
threadend @5001000 stream=3
END
chunk events stream=1 thread=7 base=1000
enter @1000 entry 0x1000
enter @1000 entry 0x2000
chunk events stream=2 thread=8 base=1000
enter @1001000 entry 0x3000
chunk events stream=3 thread=8 base=1000
enter @4001000 entry 0x4000
`

func traceFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "trace.txt"), filepath.Join(dir, "test.lptrace")
	if err := os.WriteFile(from, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := command(t, "trace", "load", from, to); code != 0 {
		t.Fatal(errs)
	}
	return to
}

// TestEnds has calls that no leave has closed: those of the thread that was running
// last until the log ended, in order or at least; those of a thread that ended until
// then.
func TestEnds(t *testing.T) {
	ended := strings.NewReplacer("STATE", "1", "END", "clock @2000001000 ns=2000001000 wall=1700000002000000000\nend @2000001000")
	killed := strings.NewReplacer("STATE", "0", "END\n", "")
	tests := []struct {
		name, log       string
		csv, stats, txt string
	}{
		{"ended", ended.Replace(endsTrace), `0,enter,0,2000000,0x1000,open
0,enter,1,2000000,0x2000,open
0,enter,0,2000,0x3000,no leave
0,enter,0,1000,0x4000,no leave
`, "thread 7 was in 0x2000, 0x1000 when the log ended, in the first for 2.000 s\n", "     2.000 s "},
		{"killed", killed.Replace(endsTrace), `0,enter,0,4000,0x1000,"open; at least"
0,enter,1,4000,0x2000,"open; at least"
0,enter,0,2000,0x3000,no leave
0,enter,0,1000,0x4000,no leave
`, "thread 7 was in 0x2000, 0x1000 when the log ended, in the first for ≥ 4.000 ms\n", "  ≥ 4.000 ms "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := traceFile(t, test.log)
			out, errs, code := command(t, "show", "--format", "csv", log)
			if code != 0 {
				t.Fatal(errs)
			}
			var got strings.Builder
			for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
				c := strings.Split(line, ",")
				got.WriteString(strings.Join([]string{"0", c[3], c[4], c[5], c[10], c[12]}, ",") + "\n")
			}
			if got.String() != test.csv {
				t.Errorf("csv\n%s, want\n%s", got.String(), test.csv)
			}
			if out, _, _ := command(t, "show", log); strings.Count(out, test.txt) != 2 {
				t.Errorf("txt without %q twice:\n%s", test.txt, out)
			}
			if out, _, _ := command(t, "stats", log); !strings.HasPrefix(out, test.stats) {
				t.Errorf("stats begin with\n%s", out)
			}
			if out, _, _ := command(t, "tree", log); !strings.Contains(out, strings.TrimSpace(test.txt)) {
				t.Errorf("tree:\n%s", out)
			}
			for where, want := range map[string]int{"dur:>=4ms": 2, "dur:1.5ms..2.5ms": 1, "dur:>3s": 0, `mark:"no leave"`: 2, "mark:open": 2, "self:>=4ms": 1, "dur:<1500us": 1} {
				out, errs, _ := command(t, "show", "--format", "jsonl", "--where", where, log)
				if n := strings.Count(out, "\n"); n != want {
					t.Errorf("%s: %d rows, want %d\n%s%s", where, n, want, out, errs)
				}
			}
		})
	}
}

// TestLateLeaves says by which ways a log was recorded, and marks durations where leaves
// are late.
func TestLateLeaves(t *testing.T) {
	const calls = "chunk events stream=1 thread=7 base=1000\nenter @1000 entry 0x1000\nenter @2000 entry 0x2000\nleave @71000\nleave @72000\n"
	const head = "file begin=1000 rate=1000000000\nchunk process\nclock @1000 ns=1000 wall=1700000000000000000\n"
	late := traceFile(t, head+"setting @1000 name=\"way\" value=\"mfentry\"\nsetting @1001 name=\"way\" value=\"late-leaves\"\nsetting @1002 name=\"way\" value=\"preloaded\"\n"+calls)
	good := traceFile(t, head+"setting @1000 name=\"way\" value=\"finstrument-functions\"\n"+calls)
	if out, _, _ := command(t, "info", late); !strings.Contains(out, "recorded by -pg -mfentry, LD_PRELOAD\n") {
		t.Errorf("info:\n%s", out)
	}
	if _, errs, _ := command(t, "info", late); !strings.Contains(errs, "leaves are late") {
		t.Errorf("info warns:\n%s", errs)
	}
	if out, _, _ := command(t, "stats", late); !strings.HasPrefix(out, "recorded by -pg -mfentry, LD_PRELOAD\nleaves are late") || !strings.Contains(out, "≤ 69.000 us") {
		t.Errorf("stats:\n%s", out)
	}
	if out, _, _ := command(t, "show", late); strings.Count(out, "≤ 69.000 us") != 2 {
		t.Errorf("show:\n%s", out)
	}
	if out, _, _ := command(t, "show", "--format", "csv", late); strings.Count(out, ",69,0x2000,") != 2 || strings.Count(out, ",at most,") != 4 {
		t.Errorf("csv:\n%s", out)
	}
	if out, _, _ := command(t, "tree", late); !strings.Contains(out, "≤ 69.000 us") || !strings.Contains(out, "~ 2.000 us") {
		t.Errorf("tree:\n%s", out)
	}
	out, errs, _ := command(t, "stats", good)
	if !strings.HasPrefix(out, "recorded by -finstrument-functions\n\n") || strings.Contains(out, "≤") || strings.Contains(errs, "late") {
		t.Errorf("stats of the other:\n%s%s", out, errs)
	}
}
