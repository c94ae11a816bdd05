package probes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/parser"
)

// truth is what testdata/app.cpp does: its calls as they end, without arguments that a tool has
// not.
func truth(child bool) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i := range 3 {
		add(`f(int, char const*, double) a=%d s="hello" ret=%d`, i, i+2+'h')
		add(`f(std::string const&, app::Color) s="a longer text than sixteen" c=1 ret=27`)
		add("area(int, int) w=3 h=%d ret=%d", i, 3*i)
		add(`g p_x=%d p_y=-2 b_a=7 b_b=8 b_c=120 v_size=4 v_data="view" h=-5 ret=%d`, i, i-2+7+4-5)
		add("half(double)")
	}
	add("sum a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 ret=36")
	add(`f(int, char const*, double) a=-1 s="a "thread" b=2" ret=96`)
	if child {
		add(`f(int, char const*, double) a=-2 s="child" ret=97`)
	}
	return list
}

// shortName is how truth calls a function.
func shortName(name string) string {
	name = strings.ReplaceAll(name, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")
	name = strings.ReplaceAll(strings.ReplaceAll(name, "app::Shape::", ""), "app::f", "f")
	if strings.HasPrefix(name, "app::g") {
		return "g"
	}
	if strings.HasPrefix(name, "sum") {
		return "sum"
	}
	return strings.Replace(name, "app::half", "half", 1)
}

// unlike are values that a tool prints in its own way, as truth has them.
var unlike = strings.NewReplacer("p_y=4294967294", "p_y=-2", "h=65531", "h=-5", "a=4294967295", "a=-1", "a=4294967294", "a=-2")

func open(t testing.TB, path string) *Log {
	t.Helper()
	l, err := Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// calls returns the calls of a log as truth has them, in the order in which they end.
func calls(t *testing.T, l *Log) (list []string) {
	t.Helper()
	n := l.Info().Records
	events, values := make([]parser.Event, n), make([]parser.CallValues, n)
	if got, err := l.ReadEvents(events, 0); int64(got) != n || err != nil {
		t.Fatal(got, err)
	}
	if got, err := l.Values(values, 0); int64(got) != n || err != nil {
		t.Fatal(got, err)
	}
	type call struct {
		at   parser.Event
		text string
	}
	open := make(map[uint32][]call)
	for i, e := range events {
		text := ""
		if len(values[i].Taken) > 4 {
			text = string(values[i].Taken[4:])
			if k := strings.Index(text, "    "); k >= 0 {
				text = text[:k] // perf's symbol
			}
			var kept []string
			for _, w := range strings.Split(text, " ") {
				if !strings.HasPrefix(w, "this=") && !strings.HasPrefix(w, "d=") || strings.Contains(text, "e=5") {
					kept = append(kept, w)
				}
			}
			text = unlike.Replace(strings.Join(kept, " "))
		}
		stack := open[e.Thread]
		if e.Kind == parser.Enter {
			open[e.Thread] = append(stack, call{e, text})
			continue
		}
		if len(stack) == 0 {
			t.Fatalf("record %d leaves nothing", i)
		}
		top := stack[len(stack)-1]
		open[e.Thread] = stack[:len(stack)-1]
		if top.at.Address != e.Address || top.at.Space != e.Space || top.at.Time > e.Time {
			t.Errorf("record %d: %+v leaves %+v", i, e, top.at)
		}
		name := shortName(l.Name(0, e.Space, e.Address))
		if strings.HasPrefix(text, "ret=") && name == "half(double)" {
			text = "" // only gdb has it
		}
		list = append(list, strings.TrimRight(strings.Join([]string{name, top.text, text}, " "), " "))
	}
	for i := range list {
		list[i] = strings.Join(strings.Fields(list[i]), " ")
	}
	return list
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		file                string
		threads, processes  int
		child, named, timed bool
	}{
		{"perf.txt", 3, 2, true, true, true},
		{"perf-symbols.txt", 3, 2, true, true, true},
		{"perf-plain.txt", 3, 1, true, true, true},
		{"perf-few.txt", 3, 1, true, false, true},
		{"ftrace.txt", 3, 1, true, true, true},
		{"ftrace-tgid.txt", 3, 2, true, true, true},
		{"trace_pipe.txt", 3, 1, true, true, true},
		{"bpftrace.txt", 3, 2, true, false, true},
		{"bpftrace.json", 3, 2, true, false, true},
		{"gdb.txt", 2, 1, false, false, true},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join("testdata", c.file)
			head, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if Detect(head, int64(len(head))) < 90 {
				t.Error("not detected")
			}
			l := open(t, path)
			want := truth(c.child)
			if strings.HasPrefix(c.file, "bpftrace") {
				// A page that a child has not touched yet cannot be read by BPF.
				want[len(want)-1] = strings.Replace(want[len(want)-1], "child", "", 1)
			}
			if got := calls(t, l); !slices.Equal(got, want) {
				t.Errorf("calls:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if n := len(l.Processes(0)); n != c.processes {
				t.Errorf("%d processes, want %d", n, c.processes)
			}
			threads := make(map[parser.Thread]bool)
			events := make([]parser.Event, l.Info().Records)
			l.ReadEvents(events, 0)
			for _, e := range events {
				th := l.Thread(e.Thread)
				threads[th] = true
				if c.named != (th.Name == "app") {
					t.Fatalf("the thread is called %q", th.Name)
				}
				if (e.Time > 1e9) != c.timed {
					t.Fatalf("time %d", e.Time)
				}
			}
			if len(threads) != c.threads {
				t.Errorf("threads %v", threads)
			}
			m := l.Modules(0)
			if m.Len() != c.processes || m.At(0).Base&0xfff != 0 || m.At(0).Path != "/opt/lp/app" || m.At(0).Identity.IsZero() {
				t.Errorf("%d modules, %+v", m.Len(), m.At(0))
			}
			var one [1]parser.Event
			for i := range events {
				if _, err := l.ReadEvents(one[:], int64(i)); err != nil || one[0] != events[i] {
					t.Fatalf("record %d: %+v, %v; in a row %+v", i, one[0], err, events[i])
				}
			}
			if _, err := l.ReadEvents(one[:], int64(len(events))); err != io.EOF {
				t.Error(err)
			}
		})
	}
}

// Without names functions are called what events are.
func TestNoNames(t *testing.T) {
	for _, file := range []string{"perf-plain.txt", "ftrace.txt", "bpftrace.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		l := open(t, path)
		events := make([]parser.Event, l.Info().Records)
		l.ReadEvents(events, 0)
		first, last := events[0], events[1]
		if first.Kind != parser.Enter || last.Kind != parser.Leave || l.Name(0, 0, first.Address) != "f" || l.Name(0, 0, last.Address) != "f" {
			t.Errorf("%s: %+v %q, %+v %q", file, first, l.Name(0, 0, first.Address), last, l.Name(0, 0, last.Address))
		}
	}
}

// write makes a text and opens it.
func write(t testing.TB, text string) *Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.txt")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

const namesOfTwo = `# lp 1 logparse probes
# lp I 0 65536 build-id:0102 "/opt/a b"
# lp N e E 0 0x1010 0x1010 "f(int)"
# lp N e__return L 0 0x1010 0x1010 "f(int)"
# lp N e_ret1 L 0 0x1010 0x1044 "f(int)"
`

// Lines of several processors come out of order, and are sorted by time.
func TestSorted(t *testing.T) {
	l := write(t, namesOfTwo+`lp E 300 7 7 0x5010 e a=3
lp L 400 7 7 - e__return ret=3
lp E 100 7 7 0x5010 e a=1
lp L 200 7 7 0x5044 e_ret1 ret=1
`)
	events := make([]parser.Event, 4)
	if n, err := l.ReadEvents(events, 0); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	for i, e := range events {
		if e.Time != int64(100*(i+1)) || e.Address != 0x5010 || e.Kind != parser.Kind(i%2) {
			t.Errorf("%d: %+v", i, e)
		}
	}
	values := make([]parser.CallValues, 1)
	if _, err := l.Values(values, 3); err != nil || string(values[0].Taken[4:]) != "ret=3" {
		t.Errorf("%q %v", values[0].Taken, err)
	}
}

func TestLost(t *testing.T) {
	l := write(t, "lp E 1 7 7 - e\nCPU:1 [LOST 12 EVENTS]\nLost 3 events\nits own output\n  app 1/1 [0] 1.0: PERF_RECORD_LOST lost 5\n{\"type\": \"lost_events\", \"data\": {\"events\": 2}}\n")
	if l.lost != 22 || l.other != 1 || l.Info().Records != 1 || len(l.Info().Notes) < 2 {
		t.Errorf("%d lost, %d other, %v", l.lost, l.other, l.Info().Notes)
	}
}

// TestHelloAndSum reads what real probes gave of a function in assembler that has a text and its length in r8 and r9, and of
// one of eight numbers, two of them on the stack (testdata/hello-and-sum.sh).
func TestHelloAndSum(t *testing.T) {
	l := open(t, filepath.Join("testdata", "hello-and-sum.txt"))
	events, values := make([]parser.Event, 3), make([]parser.CallValues, 3)
	n, err := l.ReadEvents(events, 0)
	if got, e := l.Values(values, 0); n != 3 || got != 3 || err != nil || e != nil {
		t.Fatal(n, got, err, e)
	}
	for i, want := range []struct {
		kind parser.Kind
		name string
		text string
	}{
		{parser.Enter, "print_hello", "p=0x402000 s=\"hello, world!\n\" n=14"},
		{parser.Enter, "sum", "a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8"},
		{parser.Leave, "sum", "r=36"},
	} {
		e := events[i]
		if name := l.Name(0, e.Space, e.Address); e.Kind != want.kind || name != want.name || string(values[i].Taken[4:]) != want.text {
			t.Errorf("%d: %v %s %q", i, e.Kind, name, values[i].Taken[4:])
		}
	}
}

// Texts with line feeds are read to their ends, whatever stands in them, and what never ends is a line.
func TestTextsOfLines(t *testing.T) {
	const next = "\nlp L 900 7 7 - e__return ret=1\n"
	for _, c := range []struct{ text, want string }{
		{`a="one` + "\n" + `two" b=3`, ""},
		{`a="one` + "\n\n\n" + `" b="two` + "\n" + `"`, ""},
		{`a="` + "\n" + `"`, ""},
		{`a="says "yes` + "\n" + `no"`, ""},
		{`a="one` + "\nand no end", `a="one`},
		{`a="` + strings.Repeat("long\n", maxText/5) + `"`, `a="long`},
		{`a="one`, ""},
		{`a='one` + "\r\n" + `two'`, ""},
		{`a="it's"`, ""},
		{`a="dGVzdA=="`, ""},
		{`a="dGVzdA==" b="x ="`, ""},
		{`a="dGVzdA=="` + "\noutput\" of the program\"", `a="dGVzdA=="`},
		{`a="one"/3` + "\noutput\"", `a="one"/3`},
		{`a="one` + "\n" + `two"/7 b="three"/5`, ""},
		{`a="x="` + "\r\n" + `output"`, `a="x="`},
		{`a="b="` + "\n" + `output"`, `a="b="`},
	} {
		want := cmp.Or(c.want, c.text)
		l := write(t, namesOfTwo+"lp E 100 7 7 0x5010 e "+c.text+next+"lp E 950 7 7 0x5010 e a=1\n")
		values := make([]parser.CallValues, 3)
		if n, err := l.Values(values, 0); n != 3 || err != nil {
			t.Errorf("%q: %d records, %v", c.text, n, err)
			continue
		}
		for i, want := range []string{want, "ret=1", "a=1"} {
			if got := string(values[i].Taken[4:]); got != want {
				t.Errorf("%q: record %d: %q, want %q", c.text, i, got, want)
			}
		}
	}
	// bpftrace escapes them.
	l := write(t, namesOfTwo+`{"type": "printf", "data": "lp E 100 7 7 0x5010 e a=\"one\ntwo\" b=3\n"}`+"\n")
	values := make([]parser.CallValues, 1)
	if _, err := l.Values(values, 0); err != nil || string(values[0].Taken[4:]) != "a=\"one\ntwo\" b=3" {
		t.Errorf("%v %q", err, values[0].Taken)
	}
}

// A text that is followed shows no record of which a text has not ended yet.
func TestTextOfLinesGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.txt")
	add := func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Close()
	}
	add(namesOfTwo)
	l, err := Open(t.Context(), path, parser.Options{Live: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, step := range []struct {
		more    string
		records int64
	}{{"lp E 100 7 7 0x5010 e a=\"one\n", 0}, {"two\n", 0}, {"three\" b=1\n", 1}, {"lp E 200 7 7 0x5010 e a=\"one\n", 1}, {"lp L 300 7 7 - e__return\n", 3}} {
		add(step.more)
		if _, err := l.Grow(t.Context()); err != nil || l.Info().Records != step.records {
			t.Errorf("%q: %d records, %v", step.more, l.Info().Records, err)
		}
	}
	values := make([]parser.CallValues, 2)
	if _, err := l.Values(values, 0); err != nil || string(values[0].Taken[4:]) != "a=\"one\ntwo\nthree\" b=1" || string(values[1].Taken[4:]) != `a="one` {
		t.Errorf("%q %q %v", values[0].Taken, values[1].Taken, err)
	}
	// One that was shown though its text had not ended cannot go on.
	add("lp E 400 7 7 0x5010 e a=\"one\n")
	old := time.Now().Add(-time.Minute)
	os.Chtimes(path, old, old)
	still, err := Open(t.Context(), path, parser.Options{}, nil)
	if err != nil || still.Info().Records != 4 {
		t.Fatal(err)
	}
	defer still.Close()
	add("two\"\n")
	if _, err := still.Grow(t.Context()); !errors.Is(err, parser.ErrShrunk) {
		t.Error(err)
	}
}

func TestHeads(t *testing.T) {
	for text, want := range map[string]line{
		"my app-2 13 [001] 1.5: lp:f: (401010)":                 {time: 1_500_000_000, pid: -1, tid: 13, command: []byte("my app-2")},
		"  a: (b 7/13 [001] 1.000000005: lp:f: (401010)":        {time: 1_000_000_005, pid: 7, tid: 13, command: []byte("a: (b")},
		"  my app-13   (     7) [001] d..1. 1.5: f: (0x401010)": {time: 1_500_000_000, pid: 7, tid: 13, command: []byte("my app")},
		"  <...>-13   (-------) [001] .... 15: f: (0x401010)":   {time: 15, pid: -1, tid: 13},
		"lp:f: (401010)":    {time: noTime, pid: -1, tid: -1},
		"13 lp:f: (401010)": {time: noTime, pid: -1, tid: 13},
	} {
		var l line
		l.parse([]byte(text))
		if l.kind != eventLine || string(l.event) != "f" || l.address != 0x401010 || l.time != want.time || l.pid != want.pid || l.tid != want.tid || string(l.command) != string(want.command) {
			t.Errorf("%q: kind %d, event %q, address %d, time %d, pid %d, tid %d, command %q", text, l.kind, l.event, l.address, l.time, l.pid, l.tid, l.command)
		}
	}
	for _, text := range []string{"", "lp E", "lp E 1 2 3", "x: (", "x: (zz)", "lp E x 1 1 - e", "PERF_RECORD_MMAP2 1/1: [", "{\"type\": \"printf\"}", ": (0", "a: (0x)", "main: (1 <- )", "HTTP: (404) not found", "step: (12) done"} {
		var l line
		if l.parse([]byte(text)); l.kind != otherLine {
			t.Errorf("%q is of kind %d", text, l.kind)
		}
	}
}

// What other texts may have is no text of probes, nor a line of one.
func TestOtherTexts(t *testing.T) {
	for _, text := range []string{"Invoice: (20240101) paid\n", "INFO mod:func: (20240101)\n", "2 Invoice: (20240101)\n", "Oct-12 Invoice: (20240101)\n", "12:30:01 app[123]: Invoice: (20240101)\n"} {
		if n := Detect([]byte(text), int64(len(text))); n != 0 {
			t.Errorf("%q: %d", text, n)
		}
	}
	for _, text := range []string{"lp E 1 7 7 - e\n", "f: (0x1010 <- 0x5010)\n", "lp:lp_0001_f: (401010)\n", "1.5: lp:f: (401010)\n", "13 lp:f: (401010)\n", "  <...>-13 [001] .... 15: f: (0x401010)\n"} {
		if n := Detect([]byte(text), int64(len(text))); n != 95 {
			t.Errorf("%q: %d", text, n)
		}
	}
	l := write(t, "  app-13 [001] 1.5: f: (0x401010)\nInvoice: (20240101) paid\n")
	if l.Info().Records != 1 || l.other != 1 {
		t.Errorf("%d records, %d other lines", l.Info().Records, l.other)
	}
}

func TestNamesWritten(t *testing.T) {
	n, err := ReadNames(strings.NewReader(namesOfTwo + "# lp A e a \"x y\" \"char const*\"\n"))
	if err != nil || len(n.Events) != 3 || len(n.Events[0].Arguments) != 1 || n.Events[0].Arguments[0].Name != "x y" || n.Images[0].Path != "/opt/a b" {
		t.Fatalf("%+v %v", n, err)
	}
	var text strings.Builder
	if err := n.Write(&text, "// "); err != nil {
		t.Fatal(err)
	}
	again, err := ReadNames(strings.NewReader(text.String()))
	if err != nil || fmt.Sprint(again) != fmt.Sprint(n) {
		t.Errorf("%+v, then %+v, %v", n, again, err)
	}
}

func FuzzText(f *testing.F) {
	files, _ := filepath.Glob("testdata/*")
	for _, file := range files {
		if b, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".cpp") {
			f.Add(b)
		}
	}
	f.Add([]byte(namesOfTwo + "lp E 300 7 7 0x5010 e a=3\nlp L 1 7 7 - e__return\nlp E 100 -  - e\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		Detect(text, int64(len(text)))
		path := filepath.Join(t.TempDir(), "x.txt")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		l := open(t, path)
		n := l.Info().Records
		events, values := make([]parser.Event, n), make([]parser.CallValues, n)
		if got, err := l.ReadEvents(events, 0); int64(got) != n || n > 0 && err != nil {
			t.Fatal(got, n, err)
		}
		if got, err := l.Values(values, 0); int64(got) != n || n > 0 && err != nil {
			t.Fatal(got, n, err)
		}
		spaces := len(l.Spaces(0))
		for i, e := range events {
			var one [1]parser.Event
			if _, err := l.ReadEvents(one[:], int64(i)); err != nil || one[0] != e {
				t.Fatalf("record %d is %+v, alone %+v: %v", i, e, one[0], err)
			}
			if int(e.Space) >= spaces {
				t.Fatalf("record %d has space %d of %d", i, e.Space, spaces)
			}
			l.Name(0, e.Space, e.Address)
			if p := l.Thread(e.Thread).Process; p >= len(l.Processes(0)) {
				t.Fatalf("process %d", p)
			}
			if i > 300 {
				break
			}
		}
	})
}
