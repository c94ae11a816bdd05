package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/internal/testlog/tracetest"
)

// valuedTrace writes a trace of calls of a function with an argument each, by its plan.
func valuedTrace(t *testing.T, arguments ...int) string {
	t.Helper()
	const plan = `lpvalues 1
machine x86-64
abi sysv
type 1 int 4 int
module app
identity build-id 0102030405060708090a0b0c0d0e0f1011121314
function 100 10 work(int)
enter rdi value 4 1 n
leave rax value 4 1 return
`
	text := fmt.Sprintf(`file begin=1000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
setting name="values" value="plan 0 /app.lpvalues"
load @1000 module=1 base=0x400000 size=0x10000 path="/nowhere/app" identity="build-id:0102030405060708090a0b0c0d0e0f1011121314"
record type=17 %x
chunk events stream=1 thread=7 base=1000
window w0 entry 0x400000
`, tracetest.Plan(plan, 0, len(plan)))
	for _, n := range arguments {
		text += fmt.Sprintf("enter +10 w0 0x100\narguments 1 %02x000000\nleave +%d\nresult 1 %02x000000\n", n, 100*n, n+1)
	}
	return loadTrace(t, text)
}

// TestStatsByValue sums up the calls of each value of an argument or of the result.
func TestStatsByValue(t *testing.T) {
	log := valuedTrace(t, 3, 1, 3, 3)
	for _, test := range []struct {
		by, where string
		want      map[string]string // calls, by what stands for the function
	}{
		{"arg.n", "", map[string]string{"app+0x100(n = 3)": "3", "app+0x100(n = 1)": "1"}},
		{"arg.n", "arg.n:>2", map[string]string{"app+0x100(n = 3)": "3"}},
		{"result", "", map[string]string{"app+0x100() = 4": "3", "app+0x100() = 2": "1"}},
		{"arg.none", "", map[string]string{}},
	} {
		code, out, errs := logparse("stats", log, "--by", test.by, "--where", test.where, "--format", "csv")
		got := make(map[string]string)
		for _, r := range table(t, out) {
			got[r["function"]] = r["calls"]
		}
		if code != exitOK || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("by %s, %s: exit status %d: %v, want %v: %s", test.by, test.where, code, got, test.want, errs)
		}
	}
	if code, _, errs := logparse("stats", markedTrace(t), "--by", "arg.n"); code != exitError || !strings.Contains(errs, "the log has no values of calls") {
		t.Errorf("a log without values: exit status %d: %s", code, errs)
	}
}

// TestStatsUnfinished says first in which calls the program was when the log ended, of some threads and of the outermost calls.
func TestStatsUnfinished(t *testing.T) {
	text := "file begin=1000\nchunk process\nthread @1000 stream=1 id=7 name=\"deep\"\nchunk events stream=1 thread=7 base=1000\n"
	for i := range 30 {
		text += fmt.Sprintf("enter +10 entry %#x\n", 0x400000+i)
	}
	for thread := 8; thread < 40; thread++ {
		text += fmt.Sprintf("chunk events stream=%d thread=%d base=1000\nenter +10 entry 0x400000\n", thread-6, thread)
	}
	code, out, errs := logparse("stats", loadTrace(t, text))
	if code != exitOK || !strings.HasPrefix(out, "thread 7 (deep) was in 0x40001d, 0x40001c, ") || !strings.Contains(out, " more threads were in calls\n") {
		t.Errorf("exit status %d: %s%s", code, out, errs)
	}
	if first, _, _ := strings.Cut(out, "\n"); !strings.Contains(first, " more when the log ended, in the first for ") {
		t.Errorf("the deepest thread: %s", first)
	}
}

// TestInfoTells describes a log with runs, more threads than are listed, and damage.
func TestInfoTells(t *testing.T) {
	text := "ours\nmodule 0x400000 0x10000 8 - - /lib/a.so\ntick 4000000\nenter t1 0x400100\nleave t1 0x400100 +5\nrun 1000\nmodule 0x400000 0x10000 8 - - /lib/a.so\n"
	for thread := range 25 {
		text += fmt.Sprintf("enter t%[1]d 0x400100 +1\nleave t%[1]d 0x400100 +1\n", thread+1)
	}
	text += "bytes ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\nenter t1 0x400100 +1\nleave t1 0x400100 +1\ndrop 3\n"
	log, modules, err := classictest.Write(t.TempDir(), text)
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := logparse("info", log, "--record", "24")
	for _, want := range []string{
		"modules     " + modules + " (1 modules)\n", "run         1: 2 records from record 0 on, no modules known", "run         2: ", ", selected",
		"threads     25\n", "            1: ", "            ... and 5 more\n", "damage      ", " bytes at offset ",
	} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %q in\n%s%s", code, want, out, errs)
		}
	}
	_, out, _ = logparse("info", log, "--record", "24", "--json")
	var j jsonInfo
	if err := json.Unmarshal([]byte(out), &j); err != nil || len(j.Runs) != 2 || !j.Runs[1].Selected || len(j.Threads) != 25 || len(j.Damage) == 0 || j.DamageBytes == 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestValues plans what is taken of a program, prints it or saves it, and says where there is nothing.
func TestValues(t *testing.T) {
	image, file := filepath.Join(sampleDir, "logtest"), filepath.Join(t.TempDir(), "a.lpvalues")
	code, printed, errs := logparse("values", image, "--", "app::factorial")
	if code != exitOK || !strings.HasPrefix(printed, "lpvalues 1\n") || !strings.Contains(printed, " factorial(int)\n") && !strings.Contains(printed, " app::factorial(int)\n") {
		t.Errorf("exit status %d: %s%s", code, printed, errs)
	}
	code, out, errs := logparse("values", image, "-o", file, "--", "app::factorial")
	if saved, err := os.ReadFile(file); err != nil || code != exitOK || string(saved) != printed || out != "" || !strings.Contains(errs, "a.lpvalues: 1 functions, ") {
		t.Errorf("saved: exit status %d: %s%s, %v", code, out, errs, err)
	}
	code, out, errs = logparse("values", image, "--", "none")
	if code != exitError || out != "" || !strings.Contains(errs, "logparse: note: ") || !strings.Contains(errs, "the plan is empty; give other patterns, or see the names with: logparse symbols "+image) {
		t.Errorf("nothing fits: exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs := logparse("values", "--prototypes"); code != exitOK || !strings.Contains(out, "strlen(") {
		t.Errorf("the declarations that come along: exit status %d: %.200s%s", code, out, errs)
	}
}
