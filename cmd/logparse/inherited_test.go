package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInheritedCalls sums up the calls of a process and of its child, which was forked while two were open: these are the parent's.
func TestInheritedCalls(t *testing.T) {
	symbols := t.TempDir()
	sym := "MODULE windows x86_64 000000000000000000000000000000011 app.pdb\nFUNC 1000 10 0 main\nFUNC 1010 10 0 outer\nFUNC 1020 10 0 inner\n"
	if err := os.WriteFile(filepath.Join(symbols, "app.sym"), []byte(sym), 0o666); err != nil {
		t.Fatal(err)
	}
	const base, outermost, outer, inner = 0x400000, 0x401000, 0x401010, 0x401020
	process := func(pid int, events string) string {
		return loadTrace(t, fmt.Sprintf("file begin=1000 pid=%d\nchunk process\nclock @1000 ns=1000 wall=1000\nload @1000 module=1 base=%#x size=0x10000 path=\"C:\\\\app.exe\" identity=\"-\"\nchunk events stream=1 thread=%d base=2000\n", pid, base, pid)+events)
	}
	parent := process(50, fmt.Sprintf("enter @2000 entry %#x\nenter @3000 entry %#x\nenter @4000 entry %#x\nleave @9000\nleave @10000\nleave @20000\n", outermost, outer, inner))
	child := process(51, fmt.Sprintf("stack depth=2 entry:%#x entry:%#x\nenter @5000 entry %#x\nleave @6000\nleave @7000\nenter @7000 entry %#x\nleave @7500\nleave @8000\n", outermost, outer, inner, outer))
	// Calls and total time, of the functions of both and of the child alone.
	want := map[string]string{"main": "1 18.000", "outer": "2 7.500", "inner": "2 6.000"}
	alone := map[string]string{"main": "1 6.000", "outer": "2 5.500", "inner": "1 1.000"}
	for _, test := range []struct {
		name string
		args []string
		want map[string]string
	}{
		{"statistics", []string{"stats", parent, child}, want},
		{"statistics by thread", []string{"stats", parent, child, "--by", "thread"}, want},
		{"tree", []string{"tree", parent, child}, want},
		{"bottom-up", []string{"tree", parent, child, "--bottom-up", "--depth", "1"}, want},
		{"filtered", []string{"stats", parent, child, "--where", "depth:0.."}, want},
		{"the child alone", []string{"stats", child}, alone},
	} {
		code, out, errs := logparse(append(test.args, "--symbols", symbols, "--format", "csv")...)
		if code != exitOK {
			t.Errorf("%s: %s", test.name, errs)
			continue
		}
		got := make(map[string][2]float64)
		for _, row := range table(t, out) {
			var n, us float64
			fmt.Sscan(row["calls"], &n)
			fmt.Sscan(row["total_us"], &us)
			got[row["function"]] = [2]float64{got[row["function"]][0] + n, got[row["function"]][1] + us}
		}
		for name, numbers := range test.want {
			if g := fmt.Sprintf("%.0f %.3f", got[name][0], got[name][1]); g != numbers {
				t.Errorf("%s: %s has %s, want %s\n%s", test.name, name, g, numbers, out)
			}
		}
	}
	_, out, errs := logparse("save", parent, child, "-o", "-", "--format", "folded", "--weight", "calls", "--symbols", symbols)
	calls := 0
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		n := 0
		fmt.Sscan(words[len(words)-1], &n)
		calls += n
	}
	if calls != 5 || strings.Count(out, "main;outer;inner 1\n") != 2 {
		t.Errorf("%d calls in\n%s%s", calls, out, errs)
	}
	_, out, errs = logparse("save", parent, child, "-o", "-", "--format", "callgrind", "--symbols", symbols)
	if !slices.Contains(strings.Split(strings.TrimSpace(out), "\n"), "totals: 19500 5") {
		t.Errorf("%s%s", out[max(0, len(out)-200):], errs)
	}
}
