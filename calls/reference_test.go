package calls

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// A memoryLog is a log that lies in memory.
type memoryLog struct {
	events []parser.Event
	runs   []parser.Run
	// short makes the log end before what its runs promise.
	short int
	// exact makes it a log whose leaves name the call that they close.
	exact bool
}

func newLog(events []parser.Event, runs ...parser.Run) *memoryLog {
	if runs == nil {
		runs = []parser.Run{{Count: int64(len(events))}}
	}
	return &memoryLog{events: events, runs: runs}
}

func (l *memoryLog) Info() *parser.Info {
	return &parser.Info{Records: int64(len(l.events)), Runs: l.runs}
}

func (l *memoryLog) ReadEvents(dst []parser.Event, from int64) (int, error) {
	n := copy(dst, l.events[min(from, int64(len(l.events)-l.short)):len(l.events)-l.short])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

func (l *memoryLog) Modules(int) *modules.Map  { return modules.NewMap(nil) }
func (l *memoryLog) Clock(int) timeparse.Clock { return timeparse.Clock{} }
func (l *memoryLog) Spaces(int) []parser.Space { return make([]parser.Space, 1<<16) }
func (l *memoryLog) ExactLeaves() bool         { return l.exact }
func (l *memoryLog) Truncated() bool           { return false }
func (l *memoryLog) Close() error              { return nil }

// A place is an address as a table tells it from others.
type place struct {
	run     int
	space   uint16
	address uint64
}

// A result is what a table says, in plain form.
type result struct {
	records    []Record
	threads    map[uint32]int64
	addresses  map[place]int64
	needsNames bool
}

// reference pairs by the rules as the package comment states them, with no
// thought of speed.
func reference(log *memoryLog, runs []parser.Run, namer Namer) result {
	res := result{threads: map[uint32]int64{}, addresses: map[place]int64{}}
	for k, run := range runs {
		stacks := map[uint32][]int{} // rows of the open calls, outermost first
		last := int64(0)
		base := len(res.records) - int(run.First)
		event := func(row int) parser.Event { return log.events[row-base] }
		name := func(row int) Function {
			if namer == nil {
				return 0
			}
			return namer(k, event(row).Space, event(row).Address)
		}
		for i := run.First; i < run.First+run.Count; i++ {
			e, row := log.events[i], len(res.records)
			stack := stacks[e.Thread]
			r := Record{Depth: len(stack), Partner: NoPartner, Duration: NoDuration}
			if e.Kind == parser.Damaged {
				r.Mark = Damaged
				res.records = append(res.records, r)
				continue
			}
			res.threads[e.Thread]++
			last = e.Time
			res.addresses[place{k, e.Space, e.Address}]++
			if e.Kind == parser.Enter {
				stacks[e.Thread] = append(stack, row)
				res.records = append(res.records, r)
				continue
			}
			if len(stack) == 0 {
				r.Mark = Stray
				res.records = append(res.records, r)
				continue
			}
			res.records = append(res.records, r)
			top := len(stack) - 1
			nearest := func(same func(row int) bool) int {
				for k := top; k >= 0; k-- {
					if same(stack[k]) {
						return k
					}
				}
				return -1
			}
			closed := nearest(func(c int) bool { return event(c).Address == e.Address && event(c).Space == e.Space })
			mark := None
			if closed < 0 && log.exact {
				res.records[row] = Record{Partner: NoPartner, Duration: NoDuration, Mark: Stray}
				continue
			}
			if closed < 0 {
				res.needsNames = true
				closed = top
				f, t := name(row), name(stack[top])
				if f != 0 && t != 0 && f != t {
					named := nearest(func(c int) bool { return name(c) == f })
					if named < 0 || named == top-1 {
						mark = Tail
					} else {
						closed = named
					}
				}
			}
			for _, c := range stack[closed+1:] {
				res.records[c].Mark = NoLeave
			}
			c := stack[closed]
			d := max(0, e.Time-event(c).Time)
			res.records[c].Partner, res.records[c].Duration = int64(row), d
			res.records[row] = Record{Depth: closed, Partner: int64(c), Duration: d, Mark: mark}
			stacks[e.Thread] = stack[:closed]
		}
		for _, stack := range stacks {
			for _, c := range stack {
				res.records[c].Mark, res.records[c].Duration = Open, max(0, last-event(c).Time)
			}
		}
	}
	return res
}

func resultOf(t *Table) result {
	res := result{
		records:    make([]Record, t.Len()),
		threads:    map[uint32]int64{},
		addresses:  map[place]int64{},
		needsNames: t.NeedsNames(),
	}
	t.Read(res.records, 0)
	for _, th := range t.Threads() {
		res.threads[th.ID] = th.Records
	}
	for i := range t.Addresses().Len() {
		a := t.Addresses().At(i)
		res.addresses[place{int(a.Run), a.Space, a.Value}] = a.Records
	}
	return res
}

// differ says where two results differ, or "".
func differ(got, want result) string {
	if len(got.records) != len(want.records) {
		return fmt.Sprintf("%d records, want %d", len(got.records), len(want.records))
	}
	for i := range got.records {
		if got.records[i] != want.records[i] {
			return fmt.Sprintf("row %d: %+v, want %+v", i, got.records[i], want.records[i])
		}
	}
	if s := fmt.Sprint(got.threads); s != fmt.Sprint(want.threads) {
		return fmt.Sprintf("threads %s, want %v", s, want.threads)
	}
	if s := fmt.Sprint(got.addresses); s != fmt.Sprint(want.addresses) {
		return fmt.Sprintf("addresses %s, want %v", s, want.addresses)
	}
	if got.needsNames != want.needsNames {
		return fmt.Sprintf("NeedsNames %t, want %t", got.needsNames, want.needsNames)
	}
	return ""
}

// check builds a table of the log, without names and then again in place with
// the namer, and compares both with the reference.
func check(log *memoryLog, namer Namer) error {
	t := NewTable(log, log.runs)
	for _, n := range []Namer{nil, namer, nil} {
		if err := t.Build(context.Background(), n, nil); err != nil {
			return err
		}
		if d := differ(resultOf(t), reference(log, log.runs, n)); d != "" {
			return fmt.Errorf("with names %t: %s", n != nil, d)
		}
	}
	for i := range t.Addresses().Len() {
		a := t.Addresses().At(i)
		if k, ok := t.Addresses().Find(int(a.Run), a.Space, a.Value); !ok || k != i {
			return fmt.Errorf("Find(%d, %#x) = %d, %t, want %d", a.Run, a.Value, k, ok, i)
		}
	}
	return nil
}

// A generator makes event sequences: threads that call and return as programs
// do, with whatever goes wrong in percent.
type generator struct {
	r         *rand.Rand
	threads   int
	functions int
	// enters is how likely in percent a thread enters rather than leaves.
	enters int
	// foreign recorders leave with another address of the function.
	foreign                     bool
	tail, unwind, stray, damage int
	backward                    int
	// epoch is how likely in percent a new space begins.
	epoch int
}

func (g *generator) chance(percent int) bool { return g.r.IntN(100) < percent }

// Functions are 256 bytes long from 0x1000 on, enters at their byte 5,
// foreign leaves at byte 9.
func (g *generator) events(n int) []parser.Event {
	type open struct {
		function int
		space    uint16
	}
	stacks := make([][]open, g.threads)
	var list []parser.Event
	now := g.r.Int64N(1 << 40)
	space := uint16(0)
	add := func(thread int, kind parser.Kind, f open) {
		a := 0x1005 + 256*uint64(f.function)
		if kind == parser.Leave && g.foreign {
			a += 4
		}
		if now += g.r.Int64N(3) * 1e6; g.chance(g.backward) {
			now -= 5e6
		}
		list = append(list, parser.Event{Address: a, Time: now, Thread: 100 + uint32(thread), Space: f.space, Kind: kind})
	}
	for len(list) < n {
		th := g.r.IntN(g.threads)
		s := stacks[th]
		if g.chance(g.epoch) {
			space++
		}
		f := open{g.r.IntN(g.functions), space}
		switch {
		case g.chance(g.damage):
			add(g.r.IntN(2*g.threads), parser.Damaged, f)
		case g.chance(g.stray):
			add(th, parser.Leave, f)
		case len(s) == 0 || g.chance(g.enters):
			add(th, parser.Enter, f)
			stacks[th] = append(s, f)
		case g.chance(g.unwind):
			stacks[th] = s[:g.r.IntN(len(s))]
		case g.chance(g.tail) && len(s) > 1:
			add(th, parser.Leave, s[len(s)-2])
			stacks[th] = s[:len(s)-1]
		default:
			add(th, parser.Leave, s[len(s)-1])
			stacks[th] = s[:len(s)-1]
		}
	}
	return list
}

// cut splits a log into runs at random places.
func (g *generator) cut(events []parser.Event, runs int) *memoryLog {
	var list []parser.Run
	first := 0
	for k := range runs {
		n := len(events) - first
		if k < runs-1 {
			n = g.r.IntN(n + 1)
		}
		list = append(list, parser.Run{First: int64(first), Count: int64(n)})
		first += n
	}
	return newLog(events, list...)
}

// testNamer knows all functions of a generator but every fifth.
func testNamer(run int, space uint16, address uint64) Function {
	f := Function(address-0x1000)>>8 + Function(run) + Function(space)
	if f%5 == 4 || f > math.MaxUint32/2 {
		return 0
	}
	return f + 1
}
