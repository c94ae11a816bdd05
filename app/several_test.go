package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/calls/indexcache"
	"logparser/internal/testlog/classictest"
	"logparser/parser/merged"
	"logparser/rows"
)

// parentTrace and childTrace are of two processes with threads of the same ids, and modules
// at the same addresses. The parent was killed, the child ended in order at 1900.
const (
	parentTrace = `file begin=1000 rate=1000000000 pid=50 state=0
chunk process
process @1000 pid=50 parent=1 path="/bin/parent" system="Linux"
clock @1000 ns=1000 wall=1700000000000000000
clock @3000 ns=3000 wall=1700000000000002000
load @1000 module=1 flags=1 base=0x400000 size=0x1000 path="/bin/parent"
thread @1000 stream=1 id=7 name="main"
chunk events thread=7 base=1000
enter @1100 entry 0x400010
enter @1300 entry 0x400020
mark @1350 "asked"
leave @1500
enter @1700 entry 0x400030
`
	childTrace = `file begin=1000 rate=1000000000 pid=%[1]d state=1
chunk process
process @1000 pid=%[1]d parent=50 path="/bin/child" system="Linux"
clock @1000 ns=1000 wall=%[2]d
load @1000 module=1 flags=1 base=0x400000 size=0x800 path="/bin/child"
load @1000 module=2 base=0x400800 size=0x800 path="/lib/helper"
thread @1000 stream=1 id=7 name="reader"
end @1900
chunk events thread=7 base=1000
enter @1200 entry 0x400010
enter @1300 entry 0x400810
mark @1400 "read"
leave @1600
`
)

// family writes the traces of a parent and a child, whose machine's clock begins so many
// nanoseconds later.
func family(t *testing.T, pid int, later int64) []string {
	t.Helper()
	return []string{traceOf(t, t.TempDir(), parentTrace), traceOf(t, t.TempDir(), fmt.Sprintf(childTrace, pid, 1700000000000000000+later))}
}

// TestSeveral shows two traces as one.
func TestSeveral(t *testing.T) {
	logs := family(t, 51, 0)
	s := open(t, Inputs{Log: logs[0], Others: logs[1:], NoRecordedPaths: true})
	var got []string
	for i := range s.Rows().Len() {
		r := s.Rows().Row(i)
		got = append(got, fmt.Sprintf("%d %s %d %s %s %d %d%s", r.Elapsed, r.Process.Label, r.Thread, r.Event, r.Function, r.Depth, r.Duration, r.SavedNote()))
	}
	// What was open in the child lasted until the child ended, and in the parent at least until
	// its last CLOCK.
	want := []string{
		"0 50 parent 7 enter parent+0x10 0 1900open; at least",
		"100 51 child 7 enter child+0x10 0 700open",
		"200 50 parent 7 enter parent+0x20 1 200",
		"200 51 child 7 enter helper+0x10 1 300",
		"400 50 parent 7 leave parent+0x20 1 200",
		"500 51 child 7 leave helper+0x10 1 300",
		"600 50 parent 7 enter parent+0x30 1 1300open; at least",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	var threads []string
	for _, th := range s.Threads() {
		threads = append(threads, fmt.Sprintf("%s %d", th.Text(), th.Rows))
	}
	if g := strings.Join(threads, "; "); g != "7 main, process 50 parent 4; 7 reader, process 51 child 3" {
		t.Errorf("threads %s", g)
	}
	var modules []string
	for _, m := range s.Modules() {
		modules = append(modules, fmt.Sprintf("%s of %s: %d", m.Name, m.Process.Label, m.Records))
	}
	if g := strings.Join(modules, "; "); g != "parent of 50 parent: 4; child of 51 child: 1; helper of 51 child: 2" {
		t.Errorf("modules %s", g)
	}
	var texts []string
	if err := s.Annotations(context.Background(), AnnotationQuery{}, func(m *rows.Annotation) bool {
		row, _, err := s.RowOfAnnotation(context.Background(), m)
		texts = append(texts, fmt.Sprintf("%s of %s at %d, row %d (%v)", m.Text, m.Process.Label, m.Elapsed, row, err))
		return true
	}); err != nil {
		t.Error(err)
	}
	if g := strings.Join(texts, "; "); g != "asked of 50 parent at 250, row 4 (<nil>); read of 51 child at 300, row 5 (<nil>)" {
		t.Errorf("annotations %s", g)
	}
	for _, u := range s.Unfinished(1) {
		if w := map[string]int64{"50 parent": 1300, "51 child": 700}[u.Thread.Process.Label]; u.Lasted != w {
			t.Errorf("%s lasted %d, want %d", u.Thread.Text(), u.Lasted, w)
		}
	}
	if w := s.Warnings(); !strings.Contains(w[0].Text.String(), "monotonic clock of their machine") {
		t.Errorf("warnings %v", w)
	}
	stack, err := s.Stack(5)
	if err != nil || len(stack) != 2 || stack[0].Function != "child+0x10" || stack[0].Process.ID != 51 {
		t.Errorf("stack %+v, %v", stack, err)
	}
	for where, rows := range map[string]int64{"process:50": 4, "process:child": 3, "-process:child thread:7": 4, "process:5": 0, "process:51 func:helper": 2, "process:50 or process:51": 7} {
		v, err := s.View(context.Background(), Selection{Where: where}, nil)
		if err != nil || v.Wait(context.Background()) != nil || v.Len() != rows {
			t.Errorf("%s: %d rows, want %d (%v)", where, v.Len(), rows, err)
		}
	}
	if ns, measured := s.eventCost(&s.runs()[0], 0); ns != float64(traceEventCost) || measured {
		t.Errorf("an event costs %g ns, measured %t", ns, measured)
	}
	lanes := s.Timeline().Lanes()
	if len(lanes) != 2 || lanes[0].Process.ID != 50 || lanes[1].Process.ID != 51 || lanes[1].Name != "reader" {
		t.Errorf("lanes %+v", lanes)
	}
}

// TestSeveralOrder says how rows were put in order, and what cannot be known.
func TestSeveralOrder(t *testing.T) {
	for _, test := range []struct {
		later int64
		want  string
	}{
		{1e6, "monotonic clock"},
		{3600e9, "the time of day"},
		{-1700000000000000000, "nothing tells how their clock relates"},
	} {
		logs := family(t, 51, test.later)
		s := open(t, Inputs{Log: logs[0], Others: logs[1:]})
		if w := s.Warnings(); !strings.Contains(w[0].Text.String(), test.want) {
			t.Errorf("%d ns later: warnings %v", test.later, w)
		}
		if r := s.Rows().Row(s.Rows().Len() - 1); test.want == "the time of day" && (r.Elapsed != 500+test.later || r.Wall.Format("15:04:05") != "23:13:20") {
			t.Errorf("the last row is at %d, %v", r.Elapsed, r.Wall)
		}
	}
}

// TestSameProcess has two processes of one id and one name.
func TestSameProcess(t *testing.T) {
	first, second := traceOf(t, t.TempDir(), parentTrace), traceOf(t, t.TempDir(), parentTrace)
	s := open(t, Inputs{Log: first, Others: []string{second}})
	list := s.Processes()
	if len(list) != 2 || list[0].Label != "50 parent" || list[1].Label != "50 parent (2)" {
		t.Fatalf("processes %+v", list)
	}
	var out bytes.Buffer
	if err := s.Write(context.Background(), &out, "chrome", SaveOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"pid":50,"tid":0,"name":"process_name","args":{"name":"50 parent"}`, `"pid":1,"tid":0,"name":"process_name","args":{"name":"50 parent (2)"}`,
		`"pid":50,"tid":7,"ts":0`, `"pid":1,"tid":7,"ts":0`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, out.String())
		}
	}
}

// TestSeveralRefused opens what cannot be opened together, and asks for what several logs
// do not have.
func TestSeveralRefused(t *testing.T) {
	logs := family(t, 51, 0)
	classic, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		in   Inputs
		want error
	}{
		{Inputs{Log: logs[0], Others: []string{logs[0]}}, ErrTwice},
		{Inputs{Log: logs[0], Others: []string{classic}}, merged.ErrOther},
		{Inputs{Log: classic, Others: logs}, merged.ErrOther},
		{Inputs{Log: logs[0], Others: []string{filepath.Join(t.TempDir(), "none")}}, os.ErrNotExist},
		{Inputs{Log: logs[0], Others: logs[1:], Corrected: true}, ErrCorrectSeveral},
	} {
		var input *InputError
		if _, err := Open(context.Background(), test.in, nil); !errors.Is(err, test.want) || !errors.As(err, &input) {
			t.Errorf("%v: %v", test.in.Logs(), err)
		}
	}
	s := open(t, Inputs{Log: logs[0], Others: logs[1:]})
	if err := s.Follow(context.Background(), nil); !errors.Is(err, ErrFollowSeveral) {
		t.Error(err)
	}
	if err := s.Save(context.Background(), logs[1], "csv", SaveOptions{}, nil); !errors.Is(err, ErrIsInput) {
		t.Error(err)
	}
}

// TestKeptOfSeveral keeps the index of two logs, and takes it only for both as they were.
func TestKeptOfSeveral(t *testing.T) {
	old := leastKept
	leastKept = 1
	defer func() { leastKept = old }()
	logs := family(t, 51, 0)
	cache := t.TempDir()
	in := Inputs{Log: logs[0], Others: logs[1:], IndexCache: cache}
	count := func() int {
		files, err := filepath.Glob(filepath.Join(cache, "*"+indexcache.FileSuffix))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	opened := func(in Inputs, want int) {
		t.Helper()
		s, err := Open(context.Background(), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Load(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != want {
			t.Errorf("%d files are kept, want %d", n, want)
		}
	}
	opened(in, 1)
	opened(in, 1)
	if err := os.WriteFile(logs[1], nil, 0o666); err != nil {
		t.Fatal(err)
	}
	other := family(t, 52, 0)[1]
	if err := os.Rename(other, logs[1]); err != nil {
		t.Fatal(err)
	}
	opened(in, 2)
	opened(Inputs{Log: logs[1], Others: logs[:1], IndexCache: cache}, 3)
	opened(Inputs{Log: logs[0], IndexCache: cache}, 4)
}

// TestMergeable: logs that have modules and process in the same file can be opened together.
func TestMergeable(t *testing.T) {
	trace := family(t, 51, 0)[0]
	pack := filepath.Join(t.TempDir(), "one.lppack")
	if _, err := open(t, Inputs{Log: trace}).Pack(t.Context(), pack, PackOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		trace: true,
		pack:  false,
		filepath.Join(linuxFolder, "LogDetails.dat"): false,
		filepath.Join(t.TempDir(), "none.dat"):       false,
	} {
		if got := Mergeable(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
