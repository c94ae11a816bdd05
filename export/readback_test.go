package export_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"logparser/app"
	"logparser/export"
	"logparser/rows"
)

// The tests of this file read formats of calls with independent readers, and compare the calls with intervals that are found in
// the rows in the simplest way.

// A list is a source of rows in memory.
type list []rows.Row

func (l list) Len() int64           { return int64(len(l)) }
func (l list) Row(i int64) rows.Row { return l[i] }
func (l list) TimeDigits() int      { return 9 }

func (l list) Read(dst []rows.Row, from int64) (int, error) {
	n := copy(dst, l[from:])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// An interval is a call in a file.
type interval struct {
	thread     uint32
	function   string
	start, end int64
	note       string
}

func (i interval) String() string {
	return fmt.Sprintf("%d %s %d-%d %s", i.thread, i.function, i.start, i.end, i.note)
}

func compareIntervals(a, b interval) int { return strings.Compare(a.String(), b.String()) }

// intervals returns the calls of rows whose times never go back. A call whose leave is missing ends with the next row of its
// thread that is not inside it, or with the log.
func intervals(l list) []interval {
	var all []interval
	var end int64
	for _, r := range l {
		end = max(end, r.Elapsed)
	}
	for i, r := range l {
		if r.Event != rows.Enter {
			continue
		}
		c := interval{r.Thread, r.Function, r.Elapsed, end, r.Note}
		if r.Duration >= 0 {
			c.end = r.Elapsed + r.Duration
		} else {
			for _, later := range l[i+1:] {
				if later.Thread == r.Thread && (later.Event == rows.Enter && later.Depth <= r.Depth || later.Event == rows.Leave && later.Duration >= 0 && later.Depth <= r.Depth) {
					c.end = later.Elapsed
					break
				}
			}
		}
		all = append(all, c)
	}
	slices.SortFunc(all, compareIntervals)
	return all
}

func write(t testing.TB, format string, src rows.Source, opt export.Options) []byte {
	t.Helper()
	for _, f := range export.Formats() {
		if f.Name == format {
			var buf bytes.Buffer
			if err := f.Write(context.Background(), &buf, src, opt); err != nil {
				t.Fatal(err)
			}
			return buf.Bytes()
		}
	}
	t.Fatalf("no format %s", format)
	return nil
}

// A track pairs the events of one thread of a file.
type track struct {
	thread uint32
	stack  []interval
	last   int64
}

func (k *track) begin(t testing.TB, function, note string, at int64) {
	t.Helper()
	if at < k.last {
		t.Fatalf("thread %d goes back from %d to %d", k.thread, k.last, at)
	}
	k.last = at
	k.stack = append(k.stack, interval{k.thread, function, at, 0, note})
}

func (k *track) end(t testing.TB, at int64) interval {
	t.Helper()
	if len(k.stack) == 0 {
		t.Fatalf("thread %d: an end without a beginning", k.thread)
	}
	if at < k.last {
		t.Fatalf("thread %d goes back from %d to %d", k.thread, k.last, at)
	}
	k.last = at
	c := k.stack[len(k.stack)-1]
	k.stack = k.stack[:len(k.stack)-1]
	c.end = at
	return c
}

// ns turns microseconds with a fraction into nanoseconds, exactly.
func ns(t testing.TB, us json.Number) int64 {
	whole, fraction, _ := strings.Cut(us.String(), ".")
	n, err := strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
	if err != nil || len(fraction) > 3 {
		t.Fatalf("time %s: %v", us, err)
	}
	return n
}

// readChrome reads a trace with encoding/json.
func readChrome(t testing.TB, text []byte) (calls []interval, annotations int) {
	t.Helper()
	var file struct {
		TraceEvents []struct {
			Ph, Name, Cat, S string
			Pid              int
			Tid              uint32
			Ts               json.Number
			Args             struct{ Note, Name, Part string }
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%v in %.3000s", err, text)
	}
	tracks := make(map[uint32]*track)
	for _, e := range file.TraceEvents {
		k := tracks[e.Tid]
		if k == nil {
			k = &track{thread: e.Tid}
			tracks[e.Tid] = k
		}
		switch e.Ph {
		case "B":
			k.begin(t, e.Name, e.Args.Note, ns(t, e.Ts))
		case "E":
			calls = append(calls, k.end(t, ns(t, e.Ts)))
		case "i":
			annotations++
		case "M":
		default:
			t.Fatalf("phase %q", e.Ph)
		}
	}
	for _, k := range tracks {
		if len(k.stack) > 0 {
			t.Fatalf("thread %d: %d calls have no end", k.thread, len(k.stack))
		}
	}
	slices.SortFunc(calls, compareIntervals)
	return calls, annotations
}

// readSpeedscope reads a profile with encoding/json, by the published schema.
func readSpeedscope(t testing.TB, text []byte) (calls []interval) {
	t.Helper()
	var file struct {
		Schema string `json:"$schema"`
		Shared struct{ Frames []struct{ Name, File string } }

		Profiles []struct {
			Type, Name, Unit     string
			StartValue, EndValue int64
			Events               []struct {
				Type  string
				Frame int
				At    int64
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("%v in %.3000s", err, text)
	}
	for _, p := range file.Profiles {
		var id uint32
		fmt.Sscanf(p.Name, "thread %d", &id)
		k := &track{thread: id, last: p.StartValue}
		for _, e := range p.Events {
			name := file.Shared.Frames[e.Frame].Name
			if e.Type == "O" {
				k.begin(t, name, "", e.At)
				continue
			}
			c := k.end(t, e.At)
			if e.Type != "C" || c.function != name {
				t.Fatalf("%s %s ends %s", e.Type, name, c.function)
			}
			calls = append(calls, c)
		}
		if len(k.stack) > 0 || p.EndValue != k.last || p.Unit != "nanoseconds" || p.Type != "evented" {
			t.Fatalf("%s: %d calls have no end; it ends at %d, last event at %d", p.Name, len(k.stack), p.EndValue, k.last)
		}
	}
	slices.SortFunc(calls, compareIntervals)
	return calls
}

// A message has the fields of a protocol buffer by their numbers. Each is a uint64 or a []byte.
type message map[int][]any

func parseMessage(t testing.TB, b []byte) message {
	t.Helper()
	m := make(message)
	varint := func() uint64 {
		var v uint64
		for shift := 0; ; shift += 7 {
			if len(b) == 0 || shift > 63 {
				t.Fatal("a broken varint")
			}
			c := b[0]
			b = b[1:]
			v |= uint64(c&0x7f) << shift
			if c < 0x80 {
				return v
			}
		}
	}
	for len(b) > 0 {
		tag := varint()
		switch tag & 7 {
		case 0:
			m[int(tag>>3)] = append(m[int(tag>>3)], varint())
		case 1:
			if len(b) < 8 {
				t.Fatal("a broken number")
			}
			m[int(tag>>3)] = append(m[int(tag>>3)], binary.LittleEndian.Uint64(b))
			b = b[8:]
		case 2:
			n := varint()
			if n > uint64(len(b)) {
				t.Fatalf("a field of %d bytes of %d", n, len(b))
			}
			m[int(tag>>3)] = append(m[int(tag>>3)], b[:n])
			b = b[n:]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	return m
}

func (m message) number(field int) uint64 {
	if len(m[field]) == 0 {
		return 0
	}
	return m[field][0].(uint64)
}

func (m message) each(t testing.TB, field int, use func(m message)) {
	for _, v := range m[field] {
		use(parseMessage(t, v.([]byte)))
	}
}

// readPerfetto reads packets by the numbers of Perfetto's published schema.
func readPerfetto(t testing.TB, text []byte) (calls []interval, annotations int) {
	t.Helper()
	names, arguments := make(map[uint64]string), make(map[uint64]string)
	tracks := make(map[uint64]*track)
	first := true
	parseMessage(t, text).each(t, 1, func(packet message) {
		if packet.number(10) == 0 {
			t.Fatal("a packet of no sequence")
		}
		if cleared := packet.number(13)&1 != 0; cleared != first {
			t.Fatal("the state is not cleared at the beginning, or again")
		}
		first = false
		packet.each(t, 12, func(interned message) {
			interned.each(t, 2, func(name message) { names[name.number(1)] = string(name[2][0].([]byte)) })
			interned.each(t, 3, func(name message) { arguments[name.number(1)] = string(name[2][0].([]byte)) })
		})
		packet.each(t, 60, func(d message) {
			d.each(t, 4, func(thread message) { tracks[d.number(1)] = &track{thread: uint32(thread.number(2))} })
		})
		packet.each(t, 11, func(e message) {
			k := tracks[e.number(11)]
			if k == nil {
				t.Fatalf("an event of the unknown track %d", e.number(11))
			}
			note := ""
			e.each(t, 4, func(a message) {
				if arguments[a.number(1)] == "note" {
					note = string(a[6][0].([]byte))
				}
			})
			at := int64(packet.number(8))
			switch e.number(9) {
			case 1:
				k.begin(t, names[e.number(10)], note, at)
			case 2:
				calls = append(calls, k.end(t, at))
			case 3:
				annotations++
			}
		})
	})
	for _, k := range tracks {
		if len(k.stack) > 0 {
			t.Fatalf("thread %d: %d calls have no end", k.thread, len(k.stack))
		}
	}
	slices.SortFunc(calls, compareIntervals)
	return calls, annotations
}

// readFolded adds up the weights of lines: by the innermost name, and in all.
func readFolded(t testing.TB, text []byte) (byName map[string]int64, sum int64) {
	t.Helper()
	byName = make(map[string]int64)
	for line := range strings.Lines(string(text)) {
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(strings.TrimSuffix(line[at+1:], "\n"), 10, 64)
		if err != nil || n < 0 {
			t.Fatalf("line %q: %v", line, err)
		}
		names := strings.Split(line[:at], ";")
		if names[0] != "log" || len(names) < 2 || strings.HasPrefix(names[1], "thread ") {
			t.Fatalf("line %q does not begin with the process alone", line)
		}
		byName[names[len(names)-1]] += n
		sum += n
	}
	return byName, sum
}

// A cost has the numbers of one function in callgrind's file.
type cost struct{ self, calls, called, inclusive int64 }

var compressed = regexp.MustCompile(`^\((\d+)\)(?: (.*))?$`)

// readCallgrind adds up the costs by function.
func readCallgrind(t testing.TB, text []byte) (byName map[string]*cost, total [2]int64) {
	t.Helper()
	byName = make(map[string]*cost)
	names := make(map[string]string)
	of := func(spec string) *cost {
		m := compressed.FindStringSubmatch(spec)
		if m == nil {
			t.Fatalf("name %q", spec)
		}
		if m[2] != "" {
			names[m[1]] = m[2]
		}
		name := names[m[1]]
		if name == "" {
			t.Fatalf("name %q is not known", spec)
		}
		if byName[name] == nil {
			byName[name] = new(cost)
		}
		return byName[name]
	}
	var in, to *cost
	calls := int64(-1)
	body := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		key, value, spec := strings.Cut(line, "=")
		switch {
		case line == "events: ns Calls":
			body = true
		case strings.HasPrefix(line, "totals: "):
			fmt.Sscanf(line, "totals: %d %d", &total[0], &total[1])
		case !body || line == "" || spec && slices.Contains([]string{"ob", "fl", "cob", "cfi"}, key):
		case spec && key == "fn":
			in = of(value)
		case spec && key == "cfn":
			to = of(value)
		case spec && key == "calls":
			fmt.Sscanf(value, "%d", &calls)
		default:
			var at int
			var time, n int64
			if k, err := fmt.Sscanf(line, "%d %d %d", &at, &time, &n); k != 3 {
				t.Fatalf("line %q: %v", line, err)
			}
			if calls < 0 {
				in.self += time
				in.calls += n
				break
			}
			to.called += calls
			to.inclusive += time
			calls = -1
		}
	}
	return byName, total
}

// without returns intervals without their notes, which not all formats have.
func without(all []interval) []interval {
	all = slices.Clone(all)
	for i := range all {
		all[i].note = ""
	}
	slices.SortFunc(all, compareIntervals)
	return all
}

func same(t *testing.T, format string, got, want []interval) {
	t.Helper()
	var total, wanted int64
	for _, c := range got {
		total += c.end - c.start
	}
	for _, c := range want {
		wanted += c.end - c.start
	}
	if len(got) != len(want) || total != wanted {
		t.Errorf("%s: %d calls of %d ns, want %d of %d", format, len(got), total, len(want), wanted)
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: %v, want %v", format, got[i], want[i])
			return
		}
	}
}

// checkCalls saves src in all formats of calls, and reads the files back.
func checkCalls(t *testing.T, l list) {
	t.Helper()
	want := intervals(l)
	bare := without(want)
	strays := 0
	inclusive, count, self := make(map[string]int64), make(map[string]int64), int64(0)
	for _, c := range want {
		inclusive[c.function] += c.end - c.start
		count[c.function]++
	}
	depth0 := make(map[uint32]int64)
	for _, c := range want {
		depth0[c.thread] = max(depth0[c.thread], c.end)
	}
	for _, r := range l {
		if r.Event != rows.Enter && r.Duration < 0 {
			strays++
		}
	}
	chrome, annotations := readChrome(t, write(t, "chrome", l, export.Options{}))
	same(t, "chrome", chrome, want)
	if annotations != strays {
		t.Errorf("chrome: %d annotations, want %d", annotations, strays)
	}
	perfetto, annotations := readPerfetto(t, write(t, "perfetto", l, export.Options{}))
	same(t, "perfetto", perfetto, want)
	if annotations != strays {
		t.Errorf("perfetto: %d annotations, want %d", annotations, strays)
	}
	same(t, "speedscope", readSpeedscope(t, write(t, "speedscope", l, export.Options{})), bare)

	graph, total := readCallgrind(t, write(t, "callgrind", l, export.Options{}))
	for name, n := range count {
		c := graph[name]
		if c == nil || c.calls != n || c.called != n || c.inclusive != inclusive[name] {
			t.Errorf("callgrind: %s: %+v, want %d calls of %d ns", name, c, n, inclusive[name])
		}
	}
	for _, c := range graph {
		self += c.self
	}
	if total[0] != self || total[1] != int64(len(want)) {
		t.Errorf("callgrind: totals %v, want %d ns in %d calls", total, self, len(want))
	}
	byName, _ := readFolded(t, write(t, "folded", l, export.Options{Weight: export.Calls}))
	if !maps.Equal(byName, count) {
		t.Errorf("folded calls: %v, want %v", byName, count)
	}
	byName, sum := readFolded(t, write(t, "folded", l, export.Options{}))
	for name := range count {
		if byName[name] != graph[name].self {
			t.Errorf("folded: %s took %d ns itself, %d in callgrind", name, byName[name], graph[name].self)
		}
	}
	if sum != self {
		t.Errorf("folded: %d ns, %d in callgrind", sum, self)
	}
}

// realLogs opens the logs of LogTest and the sample.
func realLogs(t *testing.T) map[string]list {
	t.Helper()
	logs := make(map[string]list)
	for _, dir := range []string{
		"../assets/sample", "../testdata/logtest/linux-gcc-O2", "../testdata/logtest/windows-x64-clang", "../testdata/logtest/windows-x64-clangcl",
		"../testdata/logtest/windows-x64-mingw", "../testdata/logtest/windows-x86-clang",
	} {
		s, err := app.Open(context.Background(), app.Inputs{Log: dir, NoRecordedPaths: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Load(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		l := make(list, s.Rows().Len())
		if n, err := s.Rows().Read(l, 0); n != len(l) {
			t.Fatal(n, err)
		}
		s.Close()
		logs[dir] = l
	}
	return logs
}

func TestReadBack(t *testing.T) {
	for dir, l := range realLogs(t) {
		t.Run(dir, func(t *testing.T) {
			if len(l) < 100 {
				t.Fatalf("only %d rows", len(l))
			}
			checkCalls(t, l)
		})
	}
}

// program returns the rows of a program whose threads make nested calls. Some calls never end.
func program(r *rand.Rand, n int) list {
	var l list
	stacks := make([][]int, 3)
	at := int64(0)
	wall := time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC)
	for len(l) < n {
		at += r.Int64N(3) * 1500
		k := r.IntN(len(stacks))
		row := rows.Row{Index: int64(len(l)), Thread: 10 + uint32(k), HasWall: true, Wall: wall.Add(time.Duration(at)), Elapsed: at, Duration: rows.NoDuration}
		stack := &stacks[k]
		switch depth := len(*stack); {
		case depth == 0 || depth < 9 && r.IntN(2) == 0:
			f := r.IntN(12)
			row.Depth, row.Function, row.Address = depth, fmt.Sprintf("app::f%d<int, %d>", f, f), 0x400000+16*uint64(f)
			row.Module, row.Source, row.Line, row.Symbols = "a.exe", "/src/größe \"a\".cpp", 10+f, "matched"
			*stack = append(*stack, len(l))
		case r.IntN(50) == 0:
			row.Event, row.Note, row.Function = rows.Leave, "stray", "stray"
		default:
			if r.IntN(20) == 0 && depth > 1 {
				// The innermost call gets no leave.
				l[(*stack)[depth-1]].Note = "no leave"
				depth--
			}
			e := &l[(*stack)[depth-1]]
			*stack = (*stack)[:depth-1]
			e.Duration = at - e.Elapsed
			row.Event, row.Depth, row.Function, row.Address, row.Duration = rows.Leave, e.Depth, e.Function, e.Address, e.Duration
			row.Module, row.Source, row.Line, row.Symbols = e.Module, e.Source, e.Line, e.Symbols
		}
		l = append(l, row)
	}
	for _, stack := range stacks {
		for _, i := range stack {
			l[i].Note = "open"
		}
	}
	return l
}

func TestReadBackPrograms(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		checkCalls(t, program(rand.New(rand.NewPCG(seed, 1)), 3000))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestReadBackEnters has rows without leaves. The calls must end at the same times as with them.
func TestReadBackEnters(t *testing.T) {
	all := program(rand.New(rand.NewPCG(7, 7)), 3000)
	var enters list
	for _, r := range all {
		if r.Event == rows.Enter {
			enters = append(enters, r)
		}
	}
	// Without its leave, nothing tells when an unclosed call ended.
	noted := func(c interval) bool { return c.note != "" }
	chrome, _ := readChrome(t, write(t, "chrome", enters, export.Options{}))
	same(t, "chrome", slices.DeleteFunc(chrome, noted), slices.DeleteFunc(intervals(enters), noted))
}

// TestReadBackAnything has rows that contradict each other. The files must be valid and have each enter once.
func TestReadBackAnything(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 2))
		l := make(list, r.IntN(400))
		enters := 0
		for i := range l {
			l[i] = rows.Row{
				Index: int64(i), Thread: r.Uint32N(3), Event: rows.Event(r.IntN(3)), Depth: r.IntN(6), Duration: r.Int64N(2000) - 1,
				Elapsed: r.Int64N(1e6), Function: strings.Repeat(";\n\x00\xff\"", r.IntN(2)) + fmt.Sprint(r.IntN(5)), Address: r.Uint64N(8), Note: []string{"", "open"}[r.IntN(2)],
			}
			switch r.IntN(20) {
			case 0:
				l[i].Elapsed = int64(r.Uint64())
			case 1:
				l[i].Duration = math.MaxInt64
			case 2:
				l[i].HasWall, l[i].Wall = true, time.Unix(r.Int64N(1e9), r.Int64N(1e9))
			}
			if l[i].Event == rows.Enter {
				enters++
			}
		}
		counts := map[string]int{}
		chrome, _ := readChrome(t, write(t, "chrome", l, export.Options{}))
		counts["chrome"] = len(chrome)
		perfetto, _ := readPerfetto(t, write(t, "perfetto", l, export.Options{}))
		counts["perfetto"] = len(perfetto)
		counts["speedscope"] = len(readSpeedscope(t, write(t, "speedscope", l, export.Options{})))
		_, sum := readFolded(t, write(t, "folded", l, export.Options{Weight: export.Calls}))
		counts["folded"] = int(sum)
		readFolded(t, write(t, "folded", l, export.Options{}))
		_, total := readCallgrind(t, write(t, "callgrind", l, export.Options{}))
		counts["callgrind"] = int(total[1])
		for format, n := range counts {
			if n != enters {
				t.Errorf("seed %d, %s: %d calls, want %d", seed, format, n, enters)
			}
		}
	}
}

// TestReadBackFunctions has no rows of some functions, as if a filter hid them.
func TestReadBackFunctions(t *testing.T) {
	for seed := range uint64(20) {
		var some list
		for _, r := range program(rand.New(rand.NewPCG(seed, 3)), 3000) {
			if r.Address&0x10 == 0 && r.Duration >= 0 {
				some = append(some, r)
			}
		}
		chrome, annotations := readChrome(t, write(t, "chrome", some, export.Options{}))
		same(t, "chrome", chrome, intervals(some))
		if annotations > 0 {
			t.Errorf("seed %d: %d annotations", seed, annotations)
		}
	}
}

// TestDeep checks that stacks of any depth need bounded memory: enters beyond the limit are anomalies.
func TestDeep(t *testing.T) {
	var l list
	for i := range 5000 {
		l = append(l, rows.Row{Index: int64(i), Depth: i, Elapsed: int64(i), Duration: rows.NoDuration, Function: fmt.Sprint("f", i%3), Address: uint64(i % 3), Note: "open"})
	}
	byName, sum := readFolded(t, write(t, "folded", l, export.Options{Weight: export.Calls}))
	if sum != 5000 || byName["[deeper]"] != 4001 {
		t.Errorf("%d calls, %v", sum, byName)
	}
	calls, _ := readChrome(t, write(t, "chrome", l, export.Options{}))
	if len(calls) != len(l) {
		t.Errorf("%d calls", len(calls))
	}
}
