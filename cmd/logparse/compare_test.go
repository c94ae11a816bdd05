package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// builtTrace writes a trace of a build of a program, of which functions a to d lie at other addresses in
// each, and its symbols into a folder. Threads are words as "main >a >b < <", with the thread's name.
func builtTrace(t *testing.T, symbols string, build int, threads ...string) string {
	t.Helper()
	identity := fmt.Sprintf("%032X1", 0xabcdef00+int64(build))
	base, step := 0x400000+build*0x100000, 0x100+0x20*build
	sym := "MODULE windows x86_64 " + identity + " x.pdb\nFILE 0 x.c\n"
	for i := range 4 {
		sym += fmt.Sprintf("FUNC %x %x 0 %c\n%x %x %d 0\n", 0x1000+i*step, 0x20, 'a'+i, 0x1000+i*step, 0x20, 10*(i+1))
	}
	folder := filepath.Join(symbols, fmt.Sprint(build))
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "x.sym"), []byte(sym), 0o666); err != nil {
		t.Fatal(err)
	}
	pdb := fmt.Sprintf("%s-%s-%s-%s-%s:1", identity[:8], identity[8:12], identity[12:16], identity[16:20], identity[20:32])
	text := fmt.Sprintf("file begin=1000\nchunk process\nload @1000 module=1 base=%#x size=0x10000 path=\"C:\\\\x.exe\" identity=\"%s\" pdb=\"x.pdb\"\n", base, pdb)
	events := ""
	for i, thread := range threads {
		words := strings.Fields(thread)
		id := 7 + 10*build + i
		if words[0] != "-" {
			text += fmt.Sprintf("thread @1000 stream=%d id=%d name=%q\n", i+1, id, words[0])
		}
		events += fmt.Sprintf("chunk events stream=%d thread=%d base=1000\n", i+1, id)
		for k, w := range words[1:] {
			at := 1100 + 100*k + 10*i*(build+1)
			if w[0] == '>' {
				events += fmt.Sprintf("enter @%d entry %#x\n", at, base+0x1000+int(w[1]-'a')*step)
			} else {
				events += fmt.Sprintf("leave @%d\n", at)
			}
		}
	}
	return loadTrace(t, text+events)
}

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		a, b   []string
		status int
		want   []string // lines that are printed
	}{
		"the same": {[]string{"main >a >b < <", "io >c <"}, []string{"io >c <", "main >a >b < <"}, exitOK,
			[]string{"A, thread 7 main; B, thread 18 main (the same name):", "  the same: 4 events", "2 of 2 threads did the same"}},
		"another call": {[]string{"main >a >b < >c < <"}, []string{"main >a >b < >d < <"}, exitDiffer,
			[]string{"  the same: 3 events of 6 and 6; then", "  A  row 3: enter c  x.c:30", "       in a, row 0  x.c:10", "  B  row 3: enter d  x.c:40",
				"functions that only A entered: c", "functions that only B entered: d", "0 of 1 threads did the same"}},
		"a call less": {[]string{"main >a >b >c < < <"}, []string{"main >a >b < <"}, exitDiffer,
			[]string{"  A  row 2: enter c  x.c:30", "       in b, row 1  x.c:20", "       in a, row 0  x.c:10", "  B  row 2: leave b  x.c:20", "       in a, row 0  x.c:10"}},
		"an end": {[]string{"main >a >b"}, []string{"main >a >b < <"}, exitDiffer,
			[]string{"  A  row 1 was the thread's last", "       in b, row 1  x.c:20", "       in a, row 0  x.c:10", "  B  row 2: leave b  x.c:20"}},
		"a thread more": {[]string{"main >a <"}, []string{"main >a <", "late >b <", "later >b <"}, exitDiffer,
			[]string{"B, thread 18 late: 2 events, and no thread of A to compare it with", "B, thread 19 later: 2 events, and no thread of A to compare it with", "1 of 3 threads did the same"}},
		"without names": {[]string{"- >b <", "- >a >c < <"}, []string{"- >a >d < <", "- >b <"}, exitDiffer,
			[]string{"A, thread 7; B, thread 18 (the same first function, in the order in which they begin):", "A, thread 8; B, thread 17 (the same first function, in the order in which they begin):",
				"  A  row 3: enter c  x.c:30", "1 of 2 threads did the same"}},
	} {
		symbols := t.TempDir()
		a, b := builtTrace(t, symbols, 0, test.a...), builtTrace(t, symbols, 1, test.b...)
		code, out, errs := logparse("compare", a, b, "--symbols", filepath.Join(symbols, "0"), "--symbols", filepath.Join(symbols, "1"))
		if code != test.status {
			t.Errorf("%s: status %d, want %d: %s", name, code, test.status, errs)
		}
		for _, line := range test.want {
			if !strings.Contains("\n"+out, "\n"+line+"\n") {
				t.Errorf("%s: no line %q in\n%s", name, line, out)
			}
		}
		same := 0
		code, out, errs = logparse("compare", a, b, "--symbols", filepath.Join(symbols, "0"), "--symbols", filepath.Join(symbols, "1"), "--json")
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			var j struct {
				Same bool `json:"same"`
				A, B *struct {
					Differs *struct{ Event string }
				}
			}
			if err := json.Unmarshal([]byte(line), &j); err != nil {
				t.Fatalf("%s: %v: %s", name, err, line)
			}
			if j.Same {
				same++
			} else if j.A != nil && j.B != nil && (j.A.Differs == nil || j.B.Differs == nil) {
				t.Errorf("%s: it is not said where threads part: %s", name, line)
			}
		}
		if last := test.want[len(test.want)-1]; code != test.status || strings.HasSuffix(last, "did the same") && !strings.HasPrefix(last, fmt.Sprint(same)) {
			t.Errorf("%s: status %d, %d threads are the same: %s%s", name, code, same, out, errs)
		}
	}
}

// TestCompareWide compares logs of which there is more to say than is printed: deep callers, many functions, several processes,
// coroutines.
func TestCompareWide(t *testing.T) {
	deep := func(last string) string {
		text := "file begin=1000\nchunk process\nchunk events stream=1 thread=7 base=1000\n"
		for i := range 40 {
			text += fmt.Sprintf("enter +10 entry %#x\n", 0x400000+0x10*i)
		}
		return loadTrace(t, text+last)
	}
	many := ""
	for i := range 30 {
		many += fmt.Sprintf("enter +10 entry %#x\nleave +1\n", 0x500000+0x10*i)
	}
	a, b := deep(many), deep("leave +10\n")
	code, out, errs := logparse("compare", a, b)
	for _, want := range []string{"  A  row 40: enter 0x500000\n", "  B  row 40: leave 0x400270\n", "       in 0x400270, row 39\n", "       ... and ", "functions that only A entered: 0x500000, ", " more\n0 of 1 threads did the same\n"} {
		if code != exitDiffer || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %q in\n%s%s", code, want, out, errs)
		}
	}
	folder := func(child string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "recording.txt"), []byte("LogParser recording 1\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		for pid, text := range map[int]string{50: "enter @1100 entry 0x400010\nleave @1400\n", 51: child} {
			path := loadTrace(t, fmt.Sprintf("file begin=1000 pid=%[1]d\nchunk process\nprocess @1000 pid=%[1]d path=\"/bin/p%[1]d\"\nclock @1000 ns=1000 wall=1700000000000000000\nthread @1000 stream=1 id=%[1]d name=\"main\"\nchunk events thread=%[1]d base=1000\n%[2]s", pid, text))
			if err := os.Rename(path, filepath.Join(dir, fmt.Sprintf("%d.lptrace", pid))); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	one, other := folder("enter @1200 entry 0x400020\nleave @1300\n"), folder("enter @1200 entry 0x400030\nleave @1300\n")
	code, out, errs = logparse("compare", one, other, "--json")
	if code != exitDiffer || strings.Count(out, `"process":50`) != 2 || strings.Count(out, `"process":51`) != 2 || strings.Count(out, `"same":true`) != 1 {
		t.Errorf("of processes: exit status %d: %s%s", code, out, errs)
	}
	if code, out, errs = logparse("compare", one, other); code != exitDiffer || !strings.Contains(out, "A, thread 51 main, process 51 p51; B, thread 51 main, process 51 p51 (the same name):") {
		t.Errorf("of processes: exit status %d: %s%s", code, out, errs)
	}
	coroutines, fewer := loadTrace(t, coroutineTrace), loadTrace(t, strings.Replace(coroutineTrace, "left 1\n", "", 1))
	if code, out, errs := logparse("compare", coroutines, fewer); code == exitError || !strings.Contains(out, ", stack 1") {
		t.Errorf("of coroutines: exit status %d: %s%s", code, out, errs)
	}
}

func TestCompareMistakes(t *testing.T) {
	symbols := t.TempDir()
	a := builtTrace(t, symbols, 0, "main >a <")
	for _, test := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"compare", a}, exitUsage, "takes two logs, not 1"},
		{[]string{"compare", "-", "-"}, exitUsage, "is one of two logs at most"},
		{[]string{"compare", a, a + ".no"}, exitError, "a.lptrace.no"},
		{[]string{"compare", a, a, "--strict", "--no-recorded-paths"}, exitStrict, "no function of the log has a name"},
	} {
		code, _, errs := logparse(test.args...)
		if code != test.status || !strings.Contains(errs, test.want) {
			t.Errorf("%q: status %d, want %d: %s", test.args, code, test.status, errs)
		}
	}
	if code, out, errs := logparse("compare", a, a, "--symbols", filepath.Join(symbols, "0")); code != exitOK || !strings.Contains(out, "1 of 1 threads did the same") {
		t.Errorf("a log and itself: status %d: %s%s", code, out, errs)
	}
}
