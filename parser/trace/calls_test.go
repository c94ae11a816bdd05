package trace_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
)

// An openCall is an open call of the simple pairing in this test.
type openCall struct {
	address   uint64
	space     uint16
	id, group uint32
	marks     uint8
	enter     int64
	children  int64
	recursive bool
	before    bool // entered before the part
}

// describeCall returns ids, groups and marks of addresses. Some addresses share a group.
func describeCall(address uint64, space uint16) parser.CallAddress {
	id := uint32(address)<<1 | uint32(space&1)
	a := parser.CallAddress{ID: id, Group: id / 64 % 7, Marks: 1 << (id / 64 % 8), Counts: parser.FoldCounts(id / 64 % 4)}
	if !grouped(id) {
		a.Group = parser.NoCallGroup
	}
	return a
}

// grouped reports whether the address with an id has a group. Without one, parser.Call.Recursive has no meaning.
func grouped(id uint32) bool { return id/64%3 != 0 }

// pairedCalls pairs the events of a thread in the simplest way.
type pairedCalls struct {
	t     *testing.T
	stack []openCall
}

func (p *pairedCalls) enter(e *parser.Event) {
	d := describeCall(e.Address, e.Space)
	c := openCall{address: e.Address, space: e.Space, id: d.ID, group: d.Group, marks: d.Marks, enter: e.Time}
	for i := range p.stack {
		c.marks |= p.stack[i].marks
		c.recursive = c.recursive || p.stack[i].group == c.group && c.group != parser.NoCallGroup
	}
	p.stack = append(p.stack, c)
}

// leave returns the calls that end with a leave, the innermost first. It returns calls that were entered before the part
// separately.
func (p *pairedCalls) leave(e *parser.Event) (ended []parser.Call, before []parser.EndedFrame) {
	i := len(p.stack) - 1
	for i >= 0 && (p.stack[i].address != e.Address || p.stack[i].space != e.Space) {
		i--
	}
	if i < 0 {
		p.t.Fatalf("a leave of %#x at %d ends no call", e.Address, e.Time)
	}
	for k := len(p.stack) - 1; k >= i; k-- {
		c := &p.stack[k]
		switch {
		case c.before:
			before = append(before, parser.EndedFrame{Children: c.children, Leave: e.Time, Left: k > i})
		case k > i:
			ended = append(ended, parser.Call{Enter: c.enter, Duration: -1, Self: -1, ID: c.id, Depth: int32(k), Marks: c.marks, Recursive: c.recursive})
		default:
			d := max(0, e.Time-c.enter)
			ended = append(ended, parser.Call{Enter: c.enter, Duration: d, Self: max(0, d-c.children), ID: c.id, Depth: int32(k), Marks: c.marks, Recursive: c.recursive})
			if k > 0 {
				p.stack[k-1].children += d
			}
		}
	}
	p.stack = p.stack[:i]
	return ended, before
}

// randomLimits returns limits that some calls of random programs satisfy. Their times are those of some of the events.
func randomLimits(r *rand.Rand, events []parser.Event) parser.CallLimits {
	l := parser.NoCallLimits()
	if r.IntN(2) == 0 {
		l.First = events[r.IntN(len(events))].Time
	}
	if r.IntN(2) == 0 {
		l.Last = events[r.IntN(len(events))].Time
	}
	if r.IntN(2) == 0 {
		l.Deepest = int32(r.IntN(6)) - 1
	}
	return l
}

// A leftOut says which calls may be left out.
type leftOut struct {
	parser.CallLimits
	// limited says that the reader is told of the limits.
	limited bool
	calls   int
}

// skip returns the calls of want from the next one on that must be returned or was returned.
func (l *leftOut) skip(want []parser.Call, given *parser.Call) []parser.Call {
	for ; len(want) > 0 && (given == nil || want[0] != *given); want = want[1:] {
		c := &want[0]
		if c.Duration < 0 || c.Depth <= l.Deepest && l.First <= c.Enter && c.Enter <= l.Last {
			return want
		}
		l.calls++
	}
	return want
}

// holdPart reads a part in pieces of random length, and compares it with the events of its thread.
func (p *pairedCalls) holdPart(r *rand.Rand, reader parser.CallReader, part *parser.CallPart, events []parser.Event, out *leftOut) {
	p.t.Helper()
	for i := range p.stack {
		p.stack[i].before, p.stack[i].children = true, 0
	}
	if out.limited {
		reader.Limit(out.CallLimits) // otherwise all calls are returned
	}
	if !reader.Begin(part) {
		p.t.Fatal("a part cannot be read")
	}
	hold := func() {
		open, _ := reader.Open()
		if len(open) != len(p.stack) {
			p.t.Fatalf("%d calls are open, want %d", len(open), len(p.stack))
		}
		for i := range open {
			if c := &p.stack[i]; open[i].ID != c.id || open[i].Marks != c.marks || !c.before && open[i].Enter != c.enter || open[i].Children != c.children {
				p.t.Fatalf("open call %d is %+v, want %+v", i, open[i], *c)
			}
		}
	}
	hold()
	var want []parser.Call
	var before []parser.EndedFrame
	for i := range events {
		if events[i].Kind == parser.Enter {
			p.enter(&events[i])
			continue
		}
		ended, from := p.leave(&events[i])
		want, before = append(want, ended...), append(before, from...)
	}
	for {
		calls := make([]parser.Call, 1+r.IntN(3000))
		n, ended, ok := reader.Next(calls)
		if !ok {
			p.t.Fatal("a part cannot be read to its end")
		}
		if ended != nil {
			if len(before) == 0 || *ended != before[0] || n != 0 {
				p.t.Fatalf("%+v ended, and %d calls, want %+v", *ended, n, before)
			}
			before = before[1:]
			continue
		}
		if n == 0 {
			break
		}
		for _, c := range calls[:n] {
			c.Recursive = c.Recursive && grouped(c.ID)
			if want = out.skip(want, &c); len(want) == 0 || c != want[0] {
				p.t.Fatalf("%+v: call %+v, want %+v", out.CallLimits, c, want[:min(len(want), 2)])
			}
			want = want[1:]
		}
	}
	want = out.skip(want, nil)
	if len(want) > 0 || len(before) > 0 {
		p.t.Fatalf("%d calls and %d from before are missing", len(want), len(before))
	}
	hold()
}

// TestCalls reads the calls of each thread, part by part, and compares them with its events.
func TestCalls(t *testing.T) {
	read, limited := 0, 0
	defer trace.SetSkimSample(100)()
	defer trace.SetStepOutside(20000)()
	defer trace.SetOutsideSkim(40)()
	for seed := range uint64(soak(60)) {
		restore := trace.SetLoops(seed/2%2 == 0)
		r := rand.New(rand.NewPCG(seed, 11))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		p := tracetest.Random(r)
		p.Threads, p.Handler, p.Stray = min(p.Threads, 7), 0, 0
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		events, err := readAll(log, 1000)
		if err != nil {
			t.Fatal(err)
		}
		total := int64(len(events))
		if log.Calls(total+1) != nil {
			t.Errorf("seed %d: calls of another number of records", seed)
		}
		source := log.Calls(total)
		if source == nil {
			t.Fatalf("seed %d: no calls, %+v", seed, p)
		}
		threads := map[uint32][]parser.Event{}
		for _, e := range events {
			threads[e.Thread] = append(threads[e.Thread], e)
		}
		paired := map[uint32]*pairedCalls{}
		reader := source.Reader(describeCall)
		for i := range source.Parts() {
			part := &source.Parts()[i]
			if paired[part.Thread] == nil {
				paired[part.Thread] = &pairedCalls{t: t}
			}
			out := &leftOut{CallLimits: parser.NoCallLimits()}
			if seed%2 == 1 {
				out.CallLimits, out.limited = randomLimits(r, events), true
			}
			paired[part.Thread].holdPart(r, reader, part, threads[part.Thread][part.From:part.To], out)
			limited += out.calls
			read += int(part.To - part.From)
		}
		restore()
		if total != int64(read) && seed == 0 {
			t.Errorf("parts have %d of %d events", read, total)
		}
	}
	if limited < read/200 {
		t.Errorf("%d calls were left out of %d events", limited, read)
	}
}

// TestCallsPadding has padding at the place of an enter.
func TestCallsPadding(t *testing.T) {
	file, err := tracetext.Load(strings.NewReader(`
file
chunk process
clock @1000 ns=1000
chunk events stream=1 thread=7 base=1000
window w0 entry 0x400000
enter +100 w0 0x10
padding 9
enter +5 w0 0x20
padding 3
leave +10
padding 12
leave +1
`))
	if err != nil {
		t.Fatal(err)
	}
	threads, ok := open(t, &tracetest.Memory{Bytes: file}).ReadThreads(1).Next(3)
	if !ok || len(threads) != 1 || len(threads[0].Ended) != 2 || !slices.Equal(threads[0].Times, []int64{1105, 1115, 1116}) {
		t.Errorf("%v, %+v", ok, threads)
	}
	for _, limits := range []parser.CallLimits{parser.NoCallLimits(), {Last: math.MaxInt64, Deepest: 9}} {
		reader := open(t, &tracetest.Memory{Bytes: file}).Calls(4).Reader(describeCall)
		reader.Limit(limits)
		calls := make([]parser.Call, 10)
		if !reader.Begin(&parser.CallPart{To: 4}) {
			t.Fatal("a part cannot be read")
		}
		n, _, ok := reader.Next(calls)
		if !ok || n != 2 || calls[0].Duration != 10 || calls[1].Duration != 16 || calls[1].Self != 6 {
			t.Errorf("%+v: %v, %+v", limits, ok, calls[:n])
		}
	}
}

// TestNoCalls has logs whose calls cannot be read without events: handlers interrupt threads, or two threads have the same id
// at the same time.
func TestNoCalls(t *testing.T) {
	for name, p := range map[string]tracetest.Program{
		"handlers":     {Threads: 2, Events: 5000, Functions: 20, Enters: 50, Far: 1, Handler: 10},
		"one id twice": {Threads: 8, Events: 5000, Functions: 20, Enters: 50, Far: 1},
	} {
		r := rand.New(rand.NewPCG(1, 12))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		events, err := readAll(log, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if log.Calls(int64(len(events))) != nil {
			t.Errorf("%s: there are calls", name)
		}
	}
}
