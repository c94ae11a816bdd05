package trace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
	"logparser/parser/trace/wire"
)

// loaded opens the trace that a text stands for.
func loaded(t *testing.T, text string) *trace.Log {
	t.Helper()
	b, err := tracetext.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return openTrace(t, b)
}

// TestProcessRecords checks the notes that process records give, one line a record. Texts that do not fit on one line are made
// to.
func TestProcessRecords(t *testing.T) {
	long := strings.Repeat("x", 600)
	for name, test := range map[string]struct {
		head, records string
		want          []string
	}{
		"process": {"pid=50", `process @1000 pid=50 parent=1 path="/bin/a\x1b" system="Linux 6.1" recorder="1.0" "a" "-v" "" "b c"`,
			[]string{"program /bin/a?, pid 50", `command line a -v "" "b c"`, "system Linux 6.1", "recorder 1.0"}},
		"fork":         {"", "fork @1000 child=4712", []string{"the process forked; the child has pid 4712 and a log of its own"}},
		"exec":         {"", `exec @1000 path="/bin/b\n"`, []string{"the process became another program: /bin/b?"}},
		"on and off":   {"", "switch @1000 on=1 why=\"asked\"\nswitch @1100 on=0 why=\"a signal\"", []string{"recording was switched on: asked", "recording was switched off: a signal"}},
		"lost":         {"", `lostevents @1000 stream=1 events=5 why="levels"`, []string{"5 events of stream 1 were lost: levels", "5 events were lost"}},
		"overhead":     {"", "overhead @1000 way=1 enterbefore=1000 enterafter=2000 leavebefore=500 leaveafter=500", []string{"an enter costs 3.0 ns and a leave 1.0 ns to record"}},
		"settings":     {"", `setting @1000 name="LOGREC_MIN" value="` + long + `"`, []string{"setting LOGREC_MIN = " + long[:500] + "..."}},
		"ways":         {"", "setting name=\"way\" value=\"mfentry\"\nsetting name=\"way\" value=\"new\"\nsetting name=\"way\" value=\"new\"", []string{"recorded by -pg -mfentry, new"}},
		"unloaded":     {"", "unload @1000 module=9", []string{"module 9 was unloaded and never loaded"}},
		"loaded twice": {"", strings.Repeat("load @1000 module=1 base=0x400000 size=0x1000 path=\"/a\"\n", 2), []string{"module 1 was loaded twice"}},
		"identity":     {"", `load @1000 module=1 base=0x400000 size=0x1000 path="/a" identity="none"`, []string{`/a: "none" is not an identity`}},
		"status":       {"state=0", "exit @5000 how=1 value=3", []string{"the process ended with status 3"}},
		"signal":       {"state=0", "exit @5000 how=2 value=9", []string{"signal 9 ended the process"}},
		"core":         {"state=0", "exit @5000 how=2 value=11 flags=1", []string{"signal 11 ended the process, and the system wrote a core file"}},
		"otherwise":    {"state=0", "exit @5000 how=7", []string{"the process ended in a way that is not known"}},
		"runs":         {"state=0", "", []string{"the recording did not end in order: the program still runs or was killed"}},
		"disk full":    {fmt.Sprintf("state=%d", wire.StateDiskFull), "", []string{"the recording stopped because the disk was full"}},
		"quota":        {fmt.Sprintf("state=%d why=%d", wire.StateDiskFull, wire.WhyQuota), "", []string{"the recording stopped because the disk quota was used up"}},
		"size":         {fmt.Sprintf("state=%d why=%d", wire.StateFailed, wire.WhySize), "", []string{"the recording stopped at the limit on the size of files"}},
		"no memory":    {fmt.Sprintf("state=%d why=%d", wire.StateFailed, wire.WhyMemory), "", []string{"the recording stopped because there was no address space for more of the log"}},
		"truncated":    {fmt.Sprintf("state=%d why=%d", wire.StateFailed, wire.WhyTruncated), "", []string{"the recording stopped because somebody truncated the log"}},
		"closed":       {fmt.Sprintf("state=%d why=%d", wire.StateFailed, wire.WhyClosed), "", []string{"the recording stopped because the program closed the log's descriptor, and it could not be opened again"}},
		"failed":       {fmt.Sprintf("state=%d", wire.StateFailed), "", []string{"the recording stopped with an error"}},
	} {
		log := loaded(t, "file begin=1000 "+test.head+"\nchunk process\n"+test.records+"\nchunk events thread=7 base=1000\nenter +1 entry 0x400010\n")
		notes := message.Strings(log.Info().Notes)
		for _, want := range test.want {
			if !slices.Contains(notes, want) {
				t.Errorf("%s: the notes %q lack %q", name, notes, want)
			}
		}
		if ran := "the recording did not end in order: the program still runs or was killed"; name != "runs" && slices.Contains(notes, ran) {
			t.Errorf("%s: it is said to run: %q", name, notes)
		}
	}
}

// TestProcessAsked checks what a log tells about its process, its clock and its threads.
func TestProcessAsked(t *testing.T) {
	log := loaded(t, `file begin=1000 pid=50
chunk process
process @1000 pid=50 path="/bin/a" system="Linux 6.1"
clock @1000 ns=1000 wall=1700000000000001000
clock @5000 ns=5000 wall=1700000000000005000
load @1000 module=1 base=0x400000 size=0x1000 path="/bin/a"
overhead @1000 way=1 enterbefore=1000 enterafter=2000 leavebefore=500 leaveafter=700
setting name="way" value="late-leaves"
setting name="way" value="api"
thread @1000 stream=1 id=7 name="main"
thread @1000 stream=2 id=9 name="waits"
threadend @3000 stream=1
threadend @4000 stream=1
threadend @3500 stream=99
chunk events stream=1 thread=7 base=1000
enter @2000 entry 0x400010
`)
	if list := log.Processes(0); len(list) != 1 || list[0] != (parser.Process{ID: 50, Path: "/bin/a", Modules: 1}) {
		t.Errorf("processes %+v", list)
	}
	if began, system := log.Began(0); system != "Linux 6.1" || !reflect.DeepEqual(began, []time.Time{time.Unix(1_700_000_000, 0).UTC()}) {
		t.Errorf("the clock began at %v on %s", began, system)
	}
	if ways, late := log.Ways(); !late || !slices.Equal(ways, []string{"logrec.h"}) {
		t.Errorf("recorded by %q, late %t", ways, late)
	}
	if o, ok := log.Overhead(0); !ok || o != (parser.Overhead{EnterBefore: 1000, EnterAfter: 2000, LeaveBefore: 500, LeaveAfter: 700}) {
		t.Errorf("overhead %+v, %t", o, ok)
	}
	if _, ok := loaded(t, "chunk events\nleave +1\n").Overhead(0); ok {
		t.Error("a log that does not say has a cost")
	}
	if list := log.NamedThreads(0); !slices.Equal(list, []uint32{7, 9}) {
		t.Errorf("named threads %v", list)
	}
	for _, test := range []struct {
		thread   uint32
		from, to int64
		want     int64 // 0 for none
	}{{7, 0, 10000, 4000}, {7, 0, 3500, 3000}, {7, 0, 3000, 3000}, {7, 3100, 3900, 0}, {7, 0, 2999, 0}, {9, 0, 10000, 0}} {
		if at, ok := log.ThreadEnd(test.thread, test.from, test.to); at != test.want || ok != (test.want != 0) {
			t.Errorf("thread %d from %d to %d ended at %d, %t", test.thread, test.from, test.to, at, ok)
		}
	}
	if !log.ExactLeaves() || log.Truncated() {
		t.Error("leaves of a trace are not exact, or its addresses not whole")
	}
	can := log.Capabilities()
	for name, has := range map[string]bool{"Grower": can.Grower != nil, "CallSiter": can.CallSiter != nil, "Annotator": can.Annotator != nil, "CallEnder": can.CallEnder == nil} {
		if !has {
			t.Errorf("a whole log: %s", name)
		}
	}
}

// TestCheckedLog checks whether the file of an open log is still the same: it may grow, and lose the bytes after its last
// record, but must not become shorter or be replaced.
func TestCheckedLog(t *testing.T) {
	const text = "file begin=1000 pid=50 state=0\nchunk process\nchunk events thread=7 base=1000\nenter +1 entry 0x400010\nleave +1\n"
	b, err := tracetext.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	other, err := tracetext.Load(strings.NewReader(strings.Replace(text, "pid=50", "pid=51", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		now  []byte
		want error
	}{"the same": {b, nil}, "longer": {append(slices.Clone(b), make([]byte, 4096)...), nil}, "shorter": {b[:len(b)/2], parser.ErrShrunk}, "another": {other, parser.ErrShrunk}} {
		path := filepath.Join(t.TempDir(), "a.lptrace")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		log, err := trace.Open(t.Context(), path, parser.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = os.WriteFile(path, test.now, 0o666)
		if err != nil {
			t.Skip(err) // the system does not allow writing to an open file
		}
		if err := log.Check(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
		log.Close()
	}
	if err := openTrace(t, b).Check(); err != nil {
		t.Errorf("a log in memory: %v", err)
	}
	for name, path := range map[string]string{"a folder": t.TempDir(), "nothing": filepath.Join(t.TempDir(), "none")} {
		if log, err := trace.Open(t.Context(), path, parser.Options{}, nil); err == nil {
			log.Close()
			t.Errorf("%s is opened", name)
		}
	}
}
