package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const sampleDir = "../../testdata/logtest/linux-gcc-O2"

// logparse runs the command and returns its exit code and what it printed.
func logparse(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	// Without any, cobra would take those of the test.
	code = run(context.Background(), append([]string{}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// table reads csv as a map for each line.
func table(t *testing.T, text string) []map[string]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	var list []map[string]string
	for _, cells := range lines[1:] {
		m := map[string]string{}
		for i, name := range lines[0] {
			m[name] = cells[i]
		}
		list = append(list, m)
	}
	return list
}

func TestWhere(t *testing.T) {
	_, all, _ := logparse("save", sampleDir, "-o", "-", "--format", "csv")
	var want int
	for _, r := range table(t, all) {
		if strings.Contains(r["function"], "factorial") && r["event"] == "leave" {
			want++
		}
	}
	code, out, errs := logparse("save", sampleDir, "-o", "-", "--format", "csv", "--where", "func:factorial event:leave")
	if code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	rows := table(t, out)
	for _, r := range rows {
		if !strings.Contains(r["function"], "factorial") || r["event"] != "leave" {
			t.Errorf("row %v", r)
		}
	}
	if said := strconv.Itoa(want) + " of " + strconv.Itoa(len(table(t, all))) + " rows"; len(rows) != want || want == 0 || !strings.Contains(errs, said) {
		t.Errorf("%d rows, want %d; said %q", len(rows), want, errs)
	}
	path := filepath.Join(t.TempDir(), "calls.txt")
	if code, _, errs := logparse("save", sampleDir, "-o", path, "--where", "func:factorial"); code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	saved, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(saved), "where func:factorial") {
		t.Errorf("the head does not say what was chosen: %.300s, %v", saved, err)
	}
	if _, out, _ := logparse("show", sampleDir, "--where", "func:factorial", "-n", "3", "--format", "csv"); len(table(t, out)) != 3 {
		t.Errorf("the last three rows: %s", out)
	}
	for _, verb := range [][]string{{"show"}, {"save", "-o", "-", "--format", "csv"}, {"stats"}, {"tree"}} {
		code, _, errs := logparse(append(verb, sampleDir, "--where", "dur:>5")...)
		if code != exitUsage || !strings.Contains(errs, "--where at byte 6: a unit is expected after 5") {
			t.Errorf("%s: exit status %d: %s", verb[0], code, errs)
		}
	}
}

func TestStats(t *testing.T) {
	_, all, _ := logparse("save", sampleDir, "-o", "-", "--format", "csv")
	calls := map[string]int{}
	total := map[string]float64{}
	for _, r := range table(t, all) {
		if r["event"] == "enter" {
			calls[r["function"]+r["module"]+r["source"]]++
			us, err := strconv.ParseFloat(r["duration_us"], 64)
			if err != nil {
				t.Fatal(err)
			}
			total[r["function"]+r["module"]+r["source"]] += us
		}
	}
	code, out, errs := logparse("stats", sampleDir, "--format", "csv", "--sort", "calls")
	if code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	before := math.MaxInt
	list := table(t, out)
	for _, f := range list {
		n, _ := strconv.Atoi(f["calls"])
		us, _ := strconv.ParseFloat(f["total_us"], 64)
		key := f["function"] + f["module"] + f["source"]
		if n != calls[key] || us != total[key] || n > before {
			t.Errorf("%v: want %d calls, %g us", f, calls[key], total[key])
		}
		before = n
	}
	if len(list) != len(calls) || len(list) == 0 {
		t.Errorf("%d functions, want %d", len(list), len(calls))
	}
	_, out, _ = logparse("stats", sampleDir, "--limit", "2", "--by", "thread")
	if lines := strings.Split(out, "\n"); len(lines) != 6 || !strings.Contains(lines[0], "thread") || !strings.HasPrefix(lines[3], "... and ") || lines[4] != "the greatest depth is 8" {
		t.Errorf("two lines:\n%s", out)
	}
	if _, info, _ := logparse("info", sampleDir); !strings.Contains(info, "\ndepth       8 at most") {
		t.Errorf("the depth:\n%s", info)
	}
	path := filepath.Join(t.TempDir(), "stats.csv")
	if code, _, errs := logparse("stats", sampleDir, "--by", "module", "-o", path); code != exitOK {
		t.Errorf("exit status %d: %s", code, errs)
	}
	if saved, err := os.ReadFile(path); err != nil || len(table(t, string(saved))) == 0 {
		t.Errorf("saved %q, %v", saved, err)
	}
	for _, args := range [][]string{{"--by", "line"}, {"--sort", "x"}, {"--format", "json"}, {"-o", "x.html"}} {
		if code, _, errs := logparse(append([]string{"stats", sampleDir}, args...)...); code != exitUsage {
			t.Errorf("%v: exit status %d: %s", args, code, errs)
		}
	}
}

func TestTree(t *testing.T) {
	code, out, errs := logparse("tree", sampleDir, "--format", "csv")
	if code != exitOK {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	_, all, _ := logparse("save", sampleDir, "-o", "-", "--format", "csv")
	enters, calls := 0, 0
	for _, r := range table(t, all) {
		if r["event"] == "enter" {
			enters++
		}
	}
	for _, n := range table(t, out) {
		c, _ := strconv.Atoi(n["calls"])
		calls += c
	}
	if calls != enters || enters == 0 {
		t.Errorf("the tree has %d calls, the log %d", calls, enters)
	}
	_, out, _ = logparse("tree", sampleDir, "--depth", "2", "--format", "csv")
	for _, n := range table(t, out) {
		if n["depth"] != "0" && n["depth"] != "1" {
			t.Errorf("node %v", n)
		}
	}
	_, out, _ = logparse("tree", sampleDir, "--bottom-up", "--where", "func:factorial", "--depth", "1")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "factorial") {
		t.Errorf("from the bottom up:\n%s", out)
	}
	_, out, _ = logparse("tree", sampleDir, "--by-thread", "--min-percent", "1")
	if !strings.Contains(out, "thread ") {
		t.Errorf("by thread:\n%s", out)
	}
	if code, _, _ := logparse("tree", sampleDir, "--min-percent", "101"); code != exitUsage {
		t.Errorf("exit status %d", code)
	}
}

// TestNothingLeft has filters that leave nothing: it is said, and csv has its
// head.
func TestNothingLeft(t *testing.T) {
	_, all, _ := logparse("save", sampleDir, "-o", "-", "--format", "csv")
	total := strconv.Itoa(len(table(t, all)))
	for _, test := range []struct{ verb, where, want string }{
		{"stats", "func:nosuch", "logparse: 0 of " + total + " rows: nothing passes the filter\n"},
		{"tree", "func:nosuch", "logparse: 0 of " + total + " rows: nothing passes the filter\n"},
		{"show", "func:nosuch", "logparse: 0 of " + total + " rows: nothing passes the filter\n"},
		{"stats", "func:factorial event:leave", " of " + total + " rows\nlogparse: none of them enters a call\n"},
		{"tree", "func:factorial event:leave", " of " + total + " rows\nlogparse: none of them enters a call\n"},
	} {
		code, out, errs := logparse(test.verb, sampleDir, "--where", test.where, "--format", "csv")
		if code != exitOK || !strings.HasSuffix(errs, test.want) || len(table(t, out)) != 0 || !strings.Contains(out, "function,module,source,line") {
			t.Errorf("%s --where %s: exit status %d: %s%s", test.verb, test.where, code, out, errs)
		}
	}
	for _, verb := range []string{"stats", "tree"} {
		if _, out, errs := logparse(verb, sampleDir, "--where", "func:factorial"); strings.Count(out, "\n") < 2 || strings.Contains(errs, "rows") {
			t.Errorf("%s with some rows: %s%s", verb, out, errs)
		}
	}
	if _, _, errs := logparse("tree", sampleDir, "--where", "func:factorial", "--min-percent", "99.5"); strings.Contains(errs, "rows") {
		t.Errorf("a filter that leaves rows: %s", errs)
	}
}

func TestCorrectedSums(t *testing.T) {
	dir := t.TempDir()
	text, log := filepath.Join(dir, "a.txt"), filepath.Join(dir, "a.lptrace")
	err := os.WriteFile(text, []byte(`file begin=1000 rate=1000000000
chunk process
overhead @1000 way=1 enterbefore=1000 enterafter=2000 leavebefore=500 leaveafter=500
chunk events stream=1 thread=7 base=1000
enter +10 entry 0x400100
enter +100 entry 0x400200
leave +50
leave +100
`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := logparse("trace", "load", text, log); code != exitOK {
		t.Fatal(errs)
	}
	for _, verb := range []string{"stats", "tree"} {
		code, out, errs := logparse(verb, log, "--corrected", "--format", "csv")
		if code != exitOK {
			t.Fatal(errs)
		}
		list := table(t, out)
		if len(list) != 2 || list[0]["total_corrected_us"] != "0.243" || list[0]["self_corrected_us"] != "0.196" || list[1]["total_corrected_us"] != "0.047" {
			t.Errorf("%s: %v", verb, list)
		}
		if _, out, _ := logparse(verb, log, "--corrected"); !strings.HasPrefix(out, "durations are corrected") {
			t.Errorf("%s does not say that durations are corrected:\n%s", verb, out)
		}
	}
	if code, _, errs := logparse("stats", sampleDir, "--corrected"); code == exitOK || !strings.Contains(errs, "does not say what recording cost") {
		t.Errorf("exit status %d: %s", code, errs)
	}
}
