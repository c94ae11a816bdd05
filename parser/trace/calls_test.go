package trace_test

import (
	"math/rand/v2"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
)

// An openCall is a call that has not ended, as the plain way of pairing knows it.
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

// describeCall gives addresses ids, some groups in which several share one, and marks.
func describeCall(address uint64, space uint16) parser.CallAddress {
	id := uint32(address)<<1 | uint32(space&1)
	a := parser.CallAddress{ID: id, Group: id / 64 % 7, Marks: 1 << (id / 64 % 8)}
	if id/64%3 == 0 {
		a.Group = parser.NoCallGroup
	}
	return a
}

// pairedCalls pairs the events of a thread in the plainest way.
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

// leave returns what ends with a leave, the innermost call first, and the calls that were entered before
// the part apart from the others.
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

// holdPart reads a part, in pieces of any length, and holds it against events of its thread.
func (p *pairedCalls) holdPart(r *rand.Rand, reader parser.CallReader, part *parser.CallPart, events []parser.Event) {
	p.t.Helper()
	for i := range p.stack {
		p.stack[i].before, p.stack[i].children = true, 0
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
		for i, c := range calls[:n] {
			if c.ID/64%3 == 0 {
				c.Recursive = false // it has no meaning without a group
			}
			if len(want) <= i || c != want[i] {
				p.t.Fatalf("call %+v, want %+v", c, want[min(i, len(want)-1)])
			}
		}
		want = want[n:]
	}
	if len(want) > 0 || len(before) > 0 {
		p.t.Fatalf("%d calls and %d from before are missing", len(want), len(before))
	}
	hold()
}

// TestCalls reads the calls of each thread by themselves, part by part, and holds them against its events.
func TestCalls(t *testing.T) {
	read := 0
	for seed := range uint64(soak(20)) {
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
			paired[part.Thread].holdPart(r, reader, part, threads[part.Thread][part.From:part.To])
			read += int(part.To - part.From)
		}
		if total != int64(read) && seed == 0 {
			t.Errorf("parts have %d of %d events", read, total)
		}
	}
}

// TestNoCalls has logs whose calls have to be paired: handlers interrupt, and a thread's id is used twice
// at a time.
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
