package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdvise(t *testing.T) {
	const log = "../../testdata/logtest/linux-gcc-O2"
	out, _, code := command(t, "advise", log, "--no-recorded-paths", "--top", "3", "--event-cost", "11us")
	if code != exitOK {
		t.Fatalf("status %d", code)
	}
	for _, want := range []string{
		"11.000 us each (as given)",
		"app::factorial  (logtest)",
		"... and ",
		"'-finstrument-functions-exclude-function-list=app::factorial,app::inlinedInner,shapes::scale'",
		"LOGREC_EXCLUDE='app::factorial,app::inlinedInner,shapes::scale'",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	out, _, _ = command(t, "advise", log, "--no-recorded-paths", "--json")
	var events int64
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var f jsonCost
		if err := json.Unmarshal([]byte(line), &f); err != nil || f.Function == "" || f.Overhead != f.Events*500 {
			t.Fatalf("%v in %s", err, line)
		}
		events += f.Events
	}
	if events != 1198 {
		t.Errorf("%d events", events)
	}
	for _, args := range [][]string{{"advise", log, "--top", "0"}, {"advise", log, "--event-cost", "-1ns"}, {"advise"}} {
		if _, _, code := command(t, args...); code != exitUsage {
			t.Errorf("%v: status %d", args, code)
		}
	}
}

// namedTrace writes a trace of calls of functions with names and sources, and beside it their symbols.
func namedTrace(t *testing.T, functions, sources []string) string {
	t.Helper()
	const identity = "000000000000000000000000ABCDEF001"
	sym, procedures := "MODULE windows x86_64 "+identity+" x.pdb\n", ""
	text := "file begin=1000\nchunk process\nload @1000 module=1 base=0x400000 size=0x10000 path=\"C:\\\\x.exe\" identity=\"pdb:00000000-0000-0000-0000-0000ABCDEF00:1\" pdb=\"x.pdb\"\nchunk events stream=1 thread=7 base=1000\n"
	for i, name := range functions {
		source := "x.c"
		if sources != nil {
			source = sources[i]
		}
		sym += fmt.Sprintf("FILE %d %s\n", i, source)
		procedures += fmt.Sprintf("FUNC %x 20 0 %s\n%x 20 7 %d\n", 0x1000+0x100*i, name, 0x1000+0x100*i, i)
		text += strings.Repeat(fmt.Sprintf("enter +10 entry %#x\nleave +10\n", 0x401000+0x100*i), 1+100*i)
	}
	trace := loadTrace(t, text)
	if err := os.WriteFile(filepath.Join(filepath.Dir(trace), "x.sym"), []byte(sym+procedures), 0o666); err != nil {
		t.Fatal(err)
	}
	return trace
}

// TestAdviseNames has functions that the options of compilers name in different ways: those of the compiler's library, those whose
// name is in that of others, and those that no list can name.
func TestAdviseNames(t *testing.T) {
	for name, test := range map[string]struct {
		functions []string // the first is called once, the last most often
		sources   []string // of each: x.c if not said
		want, not []string
	}{
		"of the compiler's library": {[]string{"main", "std::vector<int>::size", "__gnu_cxx::max"}, []string{"x.c", "/usr/include/c++/12/vector", ""},
			[]string{"First leave out the compiler's library and the system's headers, 2 functions", "-finstrument-functions-exclude-file-list=/usr/include", "-finstrument-functions-after-inlining"},
			[]string{"of the program's own"}},
		"within others": {[]string{"main", "work_again", "work"}, nil,
			[]string{"function-list=work'", "This hits others too, because gcc looks for the names within longer ones:\n  work_again\n"}, []string{"First leave out"}},
		"without a name for gcc": {[]string{"main", "run()::{lambda(int)#1}::operator()(int)"}, nil,
			[]string{"Its option cannot name run::{lambda(int)#1}::operator(): use the attribute below."}, []string{"function-list="}},
		"a source of its own": {[]string{"main", "draw", "paint"}, []string{"x.c", "x.c", "gfx.c"},
			[]string{"gcc, source files of which nothing else was recorded:\n  ", "gfx.c"}, nil},
		"without a name for the recorder": {[]string{"main", "A::operator*"}, nil,
			[]string{"The trace recorder, without building again:\n  Its list cannot name A::operator*.\n"}, []string{"LOGREC_EXCLUDE"}},
	} {
		trace := namedTrace(t, test.functions, test.sources)
		code, out, errs := logparse("advise", trace, "--symbols", filepath.Dir(trace), "--event-cost", "50us")
		if code != exitOK {
			t.Errorf("%s: exit status %d: %s", name, code, errs)
		}
		for _, want := range test.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
		for _, not := range test.not {
			if strings.Contains(out, not) {
				t.Errorf("%s: there is %q in\n%s", name, not, out)
			}
		}
	}
}
