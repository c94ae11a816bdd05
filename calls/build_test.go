package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"logparser/parser"
)

// script makes events of a text: a word an event, the thread's letter, the
// kind (">" enters, "<" leaves, "?" is damaged), the function's letter. A
// leave with an asterisk has another address of the function than the enter; a
// word with a quote is of another space.
// An event is one millisecond after the one before.
func script(text string) []parser.Event {
	var list []parser.Event
	for i, w := range strings.Fields(text) {
		e := parser.Event{Thread: uint32(w[0]), Time: int64(i) * 1e6, Address: uint64(w[2])<<8 + 5}
		e.Kind = map[byte]parser.Kind{'>': parser.Enter, '<': parser.Leave, '?': parser.Damaged}[w[1]]
		switch w[3:] {
		case "*":
			e.Address += 4
		case "'":
			e.Space = 1
		}
		list = append(list, e)
	}
	return list
}

// scriptNamer knows the functions with small letters.
func scriptNamer(_ int, _ uint16, address uint64) Function {
	if f := Function(address >> 8); f >= 'a' {
		return f
	}
	return 0
}

// show writes records as: depth, partner if any, duration in milliseconds if
// any, mark if any.
func show(records []Record) string {
	var list []string
	for _, r := range records {
		s := fmt.Sprint(r.Depth)
		if r.Partner != NoPartner {
			s += fmt.Sprintf("-%d", r.Partner)
		}
		if r.Partner != NoPartner {
			s += fmt.Sprintf("(%d)", r.Duration/1e6)
		}
		if r.Mark != None {
			s += "!" + strings.ReplaceAll(r.Mark.String(), " ", "-")
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func TestPairs(t *testing.T) {
	tests := []struct {
		name, events, want string
		byPosition         bool
	}{
		{"one call", "A>f A<f", "0-1(1) 0-0(1)", false},
		{"nested", "A>f A>g A<g A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", false},
		{"threads interleaved", "A>f B>g A<f B<g", "0-2(2) 0-3(2) 0-0(2) 0-1(2)", false},
		{"recursion", "A>f A>f A<f A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", false},
		{"the log ends in a call", "A>f A>g A<g", "0!open 1-2(1) 1-1(1)", false},
		{"stray", "A<f A>f A<f A<f", "0!stray 0-2(1) 0-1(1) 0!stray", false},
		{"left by an exception", "A>f A>g A>h A<f", "0-3(3) 1!no-leave 2!no-leave 0-0(3)", false},
		{"nearest of several", "A>f A>f A>g A<f A<f", "0-4(4) 1-3(2) 2!no-leave 1-1(2) 0-0(4)", false},
		{"an unknown thread's damage", "A>f B?g A<f", "0-2(2) 0!damaged 0-0(2)", false},
		{"damage within a call", "A>f A?g A<f", "0-2(2) 1!damaged 0-0(2)", false},
		{"foreign: top call", "A>f A>g A<g* A<f*", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", true},
		{"foreign: names the caller", "A>f A>g A<f* A<f*", "0-3(3) 1-2(1) 1-1(1)!tail 0-0(3)", true},
		{"foreign: names none on the stack", "A>f A>g A<k* A<f*", "0-3(3) 1-2(1) 1-1(1)!tail 0-0(3)", true},
		{"foreign: names a deeper call", "A>f A>g A>h A<f*", "0-3(3) 1!no-leave 2!no-leave 0-0(3)", true},
		{"foreign: names the nearest deeper call", "A>f A>f A>g A>h A<f*", "0!open 1-4(3) 2!no-leave 3!no-leave 1-1(3)", true},
		{"foreign: unknown leave", "A>f A>g A>h A<X*", "0!open 1!open 2-3(1) 2-2(1)", true},
		{"foreign: unknown top", "A>f A>g A>X A<f*", "0!open 1!open 2-3(1) 2-2(1)", true},
		{"foreign: caller unknown", "A>f A>X A>h A<f*", "0-3(3) 1!no-leave 2!no-leave 0-0(3)", true},
		{"another space is another address", "A>f A>f' A<f", "0-2(2) 1!no-leave 0-0(2)", false},
		{"foreign: another space", "A>f A>f' A>g A>h A<f*", "0!open 1-4(3) 2!no-leave 3!no-leave 1-1(3)", true},
		{"an address beats a name", "A>f A>g* A>g A<g*", "0!open 1-3(2) 2!no-leave 1-1(2)", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := newLog(script(test.events))
			table, err := Build(context.Background(), log, log.runs, scriptNamer, nil)
			if err != nil {
				t.Fatal(err)
			}
			res := resultOf(table)
			if got := show(res.records); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if got := show(reference(log, log.runs, scriptNamer).records); got != test.want {
				t.Errorf("reference %s\nwant      %s", got, test.want)
			}
			if res.needsNames != test.byPosition {
				t.Errorf("NeedsNames is %t", res.needsNames)
			}
		})
	}
}

func TestPairsWithoutNames(t *testing.T) {
	log := newLog(script("A>f A>g A<f* A<k*"))
	table, err := Build(context.Background(), log, log.runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(resultOf(table).records), "0-3(3) 1-2(1) 1-1(1) 0-0(3)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestExactLeaves has a log whose leaves close the call that they name or none.
func TestExactLeaves(t *testing.T) {
	tests := []struct{ name, events, want string }{
		{"nested", "A>f A>g A<g A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)"},
		{"names none", "A>f A>g A<k A<g A<f", "0-4(4) 1-3(2) 0!stray 1-1(2) 0-0(4)"},
		{"names another address", "A>f A>g A<f* A<f", "0-3(3) 1!no-leave 0!stray 0-0(3)"},
		{"names another space", "A>f A>f' A<f A<f'", "0-2(2) 1!no-leave 0-0(2) 0!stray"},
		{"names a deeper call", "A>f A>g A>h A<f", "0-3(3) 1!no-leave 2!no-leave 0-0(3)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := newLog(script(test.events))
			log.exact = true
			table, err := Build(context.Background(), log, log.runs, scriptNamer, nil)
			if err != nil {
				t.Fatal(err)
			}
			res := resultOf(table)
			if got := show(res.records); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if res.needsNames {
				t.Error("names cannot change exact pairs, yet NeedsNames is true")
			}
		})
	}
}

// A gappyLog is a log in which events are missing.
type gappyLog struct {
	*memoryLog
	open  map[int64][]parser.OpenCall
	outer int
}

func (l *gappyLog) OpenCalls(record int64) ([]parser.OpenCall, int, error) {
	return l.open[record], l.outer, nil
}

// TestGaps has logs in which events are missing before those that a hyphen
// (a thread begins) or an equals sign (others) precedes.
func TestGaps(t *testing.T) {
	call := func(names string) (list []parser.OpenCall) {
		for _, c := range names {
			list = append(list, parser.OpenCall{Address: uint64(c)<<8 + 5})
		}
		return list
	}
	tests := []struct {
		name, events, want string
		open               string
		outer              int
		marks              [marks]int64
	}{
		{"an id is used again", "A>f A>g -A>f A<f", "0!no-leave 1!no-leave 0-3(1) 0-2(1)", "", 0, [marks]int64{NoLeave: 2}},
		{"a ring", "=A<g A>h A<h A<f", "1!no-enter 1-2(1) 1-1(1) 0!no-enter", "fg", 0, [marks]int64{NoEnter: 2}},
		{"a ring, outer calls unknown", "=A<g A>h A<h A<f", "3!no-enter 3-2(1) 3-1(1) 2!no-enter", "fg", 2, [marks]int64{NoEnter: 2}},
		{"a hole, the same calls", "A>f A>g =A<g A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", "fg", 0, [marks]int64{}},
		{"a hole, all left", "A>f A>g =A>h A<h", "0!no-leave 1!no-leave 0-3(1) 0-2(1)", "", 0, [marks]int64{NoLeave: 2}},
		{"a hole, one entered", "A>f =A<g A<f", "0-2(2) 1!no-enter 0-0(2)", "fg", 0, [marks]int64{NoEnter: 1}},
		{"a hole, one left and one entered", "A>f A>g =A<h A<f", "0-3(3) 1!no-leave 1!no-enter 0-0(3)", "fh", 0, [marks]int64{NoLeave: 1, NoEnter: 1}},
		{"a hole, the outer call not told", "A>f A>g =A<g A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", "g", 1, [marks]int64{}},
		{"the end", "=A>f A<f", "2-1(1) 2-0(1)", "gh", 0, [marks]int64{}},
		{"left by an exception", "=A>h A<f", "2!no-leave 0!no-enter", "fg", 0, [marks]int64{NoLeave: 1, NoEnter: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			words := strings.Fields(test.events)
			events := script(strings.NewReplacer("-", "", "=", "").Replace(test.events))
			log := &gappyLog{newLog(events), map[int64][]parser.OpenCall{}, test.outer}
			log.exact = true
			for i, w := range words {
				switch w[0] {
				case '-':
					events[i].Gap = parser.ThreadBegins
				case '=':
					events[i].Gap = parser.EventsMissing
					log.open[int64(i)] = call(test.open)
				}
			}
			table := NewTable(log, log.runs)
			for range 2 {
				if err := table.Build(context.Background(), nil, nil); err != nil {
					t.Fatal(err)
				}
				res := resultOf(table)
				if got := show(res.records); got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				for m := Open; m < marks; m++ {
					if n := table.Count(m); n != test.marks[m] {
						t.Errorf("%d records are %v, want %d", n, m, test.marks[m])
					}
				}
			}
		})
	}
}

func TestRuns(t *testing.T) {
	events := script("A>f A>g B>f A<g A<f B<f A>f A<f")
	// The first run ends within three calls; record 5 is in no run.
	log := newLog(events, parser.Run{First: 0, Count: 3}, parser.Run{First: 3, Count: 2}, parser.Run{First: 6, Count: 2})
	table, err := Build(context.Background(), log, log.runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := show(resultOf(table).records), "0!open 1!open 0!open 0!stray 0!stray 0-6(1) 0-5(1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprint(table.Threads()); got != "[{65 6} {66 1}]" {
		t.Errorf("threads %s", got)
	}
	if n := table.Addresses().Len(); n != 5 {
		t.Errorf("%d addresses of a run, want 5", n)
	}
	for _, c := range []struct {
		row, record int64
		run         int
	}{{0, 0, 0}, {2, 2, 0}, {3, 3, 1}, {4, 4, 1}, {5, 6, 2}, {6, 7, 2}} {
		if run, record := table.Position(c.row); run != c.run || record != c.record {
			t.Errorf("Position(%d) = %d, %d", c.row, run, record)
		}
	}
	if open, stray := table.Count(Open), table.Count(Stray); open != 3 || stray != 2 {
		t.Errorf("%d open, %d stray", open, stray)
	}
}

// TestRandom holds Build against the reference over random sequences, sound
// and broken.
func TestRandom(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 100
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		g := &generator{
			r: r, threads: pick(1, 2, 5, 40), functions: pick(1, 3, 20, 2000),
			enters: pick(45, 50, 55, 90), foreign: r.IntN(2) == 0,
			tail: pick(0, 10, 50), unwind: pick(0, 1, 10), stray: pick(0, 1, 20), damage: pick(0, 5), backward: pick(0, 10), epoch: pick(0, 0, 1, 20),
		}
		log := g.cut(g.events(pick(10, 300, 3000)), pick(1, 1, 4))
		log.exact = r.IntN(3) == 0
		if err := check(log, testNamer); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, *g, err)
		}
	}
}

// TestFar forces partners and durations out of their entries.
func TestFar(t *testing.T) {
	defer func(old int64) { farFrom = old }(farFrom)
	farFrom = 7
	r := rand.New(rand.NewPCG(7, 7))
	g := &generator{r: r, threads: 2, functions: 5, enters: 50, unwind: 2, backward: 5}
	events := g.events(5000)
	for i := range events {
		events[i].Time *= r.Int64N(1e6)
	}
	log := newLog(events)
	if err := check(log, testNamer); err != nil {
		t.Fatal(err)
	}
	table, err := Build(context.Background(), log, log.runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for row := range table.Total() {
		if r := table.At(row); r.Partner != NoPartner {
			_, far := table.far[row]
			if d := r.Partner - row; far != (d >= farFrom || -d >= farFrom) {
				t.Errorf("row %d with partner %d is far: %t", row, r.Partner, far)
			}
		}
	}
	if len(table.far) == 0 || len(table.long) == 0 {
		t.Errorf("%d far partners and %d long calls", len(table.far), len(table.long))
	}
}

// TestManyRuns has one address in each of thousands of runs.
func TestManyRuns(t *testing.T) {
	events := make([]parser.Event, 5000)
	var runs []parser.Run
	for i := range events {
		events[i].Address = 0x401005
		runs = append(runs, parser.Run{First: int64(i), Count: 1})
	}
	log := newLog(events, runs...)
	if err := check(log, testNamer); err != nil {
		t.Fatal(err)
	}
}

func TestDurations(t *testing.T) {
	for _, d := range []int64{0, 1, 999, 1e3, mantissaMask, mantissaMask + 1, 134217728, 134218000, 3600e9,
		mantissaMask * 1e3, mantissaMask*1e3 + 1, (mantissaMask + 1) * 1e3, mantissaMask * 1e6, (mantissaMask + 1) * 1e6, math.MaxInt64} {
		log := newLog([]parser.Event{{Address: 1}, {Address: 1, Kind: parser.Leave, Time: d}})
		table, err := Build(context.Background(), log, log.runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if enter, leave := table.At(0).Duration, table.At(1).Duration; enter != d || leave != d {
			t.Errorf("duration %d: enter has %d, leave %d", d, enter, leave)
		}
	}
	for _, c := range []struct{ start, end, want int64 }{
		{5, 3, 0}, {math.MinInt64, math.MaxInt64, math.MaxInt64}, {math.MaxInt64, math.MinInt64, 0},
	} {
		if got := Elapsed(c.start, c.end); got != c.want {
			t.Errorf("Elapsed(%d, %d) = %d", c.start, c.end, got)
		}
	}
}

// TestDeepMisses has a million calls open and then leaves that match nothing,
// leaves that match the outermost call of another thread, and one that
// matches the outermost of their own: searched call by call each time, it
// would take hours.
func TestDeepMisses(t *testing.T) {
	const n = 1 << 20
	events := []parser.Event{{Address: 0xbad0, Thread: 2}, {Address: 0xcafe, Thread: 1}}
	for i := range n {
		events = append(events, parser.Event{Address: 0x10000 + uint64(i)*256, Thread: 1})
	}
	for range n / 2 {
		events = append(events, parser.Event{Address: 0xbad0, Thread: 1, Kind: parser.Leave})
	}
	events = append(events, parser.Event{Address: 0xcafe, Thread: 1, Kind: parser.Leave})
	log := newLog(events)
	namer := func(_ int, _ uint16, address uint64) Function { return Function(address >> 8) }
	start := time.Now()
	table, err := Build(context.Background(), log, log.runs, namer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("took %v", d)
	}
	if got, want := table.At(int64(len(events)-1)), (Record{Depth: 0, Partner: 1, Duration: 0}); got != want {
		t.Errorf("last leave %+v, want %+v", got, want)
	}
	if tail, noLeave := table.Count(Tail), table.Count(NoLeave); tail != n/2 || noLeave != n/2 {
		t.Errorf("%d tails and %d without leave, want %d of each", tail, noLeave, n/2)
	}
}

func TestManyThreads(t *testing.T) {
	const n = 1 << 18
	events := make([]parser.Event, n)
	for i := range events {
		events[i] = parser.Event{Address: uint64(i), Thread: uint32(i)}
	}
	log := newLog(events)
	table, err := Build(context.Background(), log, log.runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Threads()) != n || table.Addresses().Len() != n || table.Count(Open) != n {
		t.Errorf("%d threads, %d addresses, %d open, want %d of each", len(table.Threads()), table.Addresses().Len(), table.Count(Open), n)
	}
}

// TestReadWhileBuilding is for the race detector, and checks what readers may
// rely on: rows below Len are there, and pairs agree.
func TestReadWhileBuilding(t *testing.T) {
	g := &generator{r: rand.New(rand.NewPCG(1, 2)), threads: 3, functions: 50, enters: 50, foreign: true, tail: 20, unwind: 2}
	log := newLog(g.events(300_000))
	table := NewTable(log, log.runs)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			dst := make([]Record, 100)
			for i := int64(0); ; i += 37 {
				select {
				case <-stop:
					return
				default:
				}
				n := table.Len()
				if n < int64(len(dst)) {
					continue
				}
				from := i % (n - int64(len(dst)) + 1)
				table.Read(dst, from)
				for k, r := range dst {
					if r.Partner >= from && r.Partner < from+int64(len(dst)) {
						if p := dst[r.Partner-from]; p.Partner != from+int64(k) || p.Duration != r.Duration || p.Depth != r.Depth {
							t.Errorf("row %d: %+v, its partner %+v", from+int64(k), r, p)
							return
						}
					}
				}
			}
		}()
	}
	for _, namer := range []Namer{nil, testNamer} {
		if err := table.Build(context.Background(), namer, nil); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	if !table.Done() || table.Len() != table.Total() {
		t.Errorf("done %t with %d of %d rows", table.Done(), table.Len(), table.Total())
	}
}

func TestUnbuilt(t *testing.T) {
	log := newLog(script("A>f A<f"))
	table := NewTable(log, log.runs)
	want := Record{Partner: NoPartner, Duration: NoDuration}
	if got := table.At(1); got != want || table.Len() != 0 || table.Total() != 2 || table.Done() || table.Addresses() != nil {
		t.Errorf("an unbuilt table has %+v, %d rows", got, table.Len())
	}
}

func TestCancel(t *testing.T) {
	g := &generator{r: rand.New(rand.NewPCG(1, 2)), threads: 1, functions: 3, enters: 50}
	log := newLog(g.events(20 * blockLen))
	ctx, cancel := context.WithCancel(context.Background())
	table := NewTable(log, log.runs)
	err := table.Build(ctx, nil, func(done, total int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := table.Len(); n == 0 || n == table.Total() || table.Done() {
		t.Errorf("cancelled at %d of %d rows, done %t", n, table.Total(), table.Done())
	}
	if err := table.Build(context.Background(), nil, nil); err != nil || !table.Done() {
		t.Errorf("built after a cancel: %v", err)
	}
	if d := differ(resultOf(table), reference(log, log.runs, nil)); d != "" {
		t.Error(d)
	}
}

func TestShortLog(t *testing.T) {
	g := &generator{r: rand.New(rand.NewPCG(1, 2)), threads: 1, functions: 3, enters: 50}
	log := newLog(g.events(3 * blockLen))
	log.short = 10
	table := NewTable(log, log.runs)
	err := table.Build(context.Background(), nil, nil)
	if want := fmt.Sprintf("record %d: unexpected EOF", 3*blockLen-10); !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if table.Len() != 3*blockLen-10 || table.Done() {
		t.Errorf("%d rows, done %t", table.Len(), table.Done())
	}
}

// FuzzPairs holds Build against the reference: three bytes make an event.
func FuzzPairs(f *testing.F) {
	f.Add([]byte("\x00\x01\x01\x02\x01\x01"))
	f.Add([]byte("\x00\x01\x01\x00\x02\x01\x02\x0a\xff\x02\x09\x10\x80\x00\x00\x03\x01\x01"))
	deep := make([]byte, 0, 900)
	for i := range byte(150) {
		deep = append(deep, 0, i, 1)
	}
	for i := range byte(150) {
		deep = append(deep, 2, i*7, 1)
	}
	f.Add(deep)
	f.Fuzz(func(t *testing.T, data []byte) {
		var events []parser.Event
		var now int64
		var runs []parser.Run
		first := 0
		for ; len(data) >= 3 && len(events) < 2000; data = data[3:] {
			if data[0]&0xfc == 0xfc {
				runs = append(runs, parser.Run{First: int64(first), Count: int64(len(events) - first)})
				first = len(events)
				continue
			}
			now += int64(int8(data[2])) * 1e6
			e := parser.Event{Time: now, Address: 0x1000 + uint64(data[1])<<7, Thread: uint32(data[0] >> 2 & 7), Space: uint16(data[0] >> 5 & 1)}
			switch data[0] & 3 {
			case 2:
				e.Kind = parser.Leave
			case 3:
				e.Kind = parser.Damaged
			}
			events = append(events, e)
		}
		runs = append(runs, parser.Run{First: int64(first), Count: int64(len(events) - first)})
		log := newLog(events, runs...)
		for _, log.exact = range []bool{false, true} {
			if err := check(log, testNamer); err != nil {
				t.Fatalf("exact %t: %v", log.exact, err)
			}
		}
	})
}
