package index

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"logparser/calls"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// scriptNamer knows the functions with small letters.
func scriptNamer(_ int, _ uint16, address uint64) calls.Function {
	if f := calls.Function(address >> 8); f >= 'a' {
		return f
	}
	return 0
}

// show writes records as: depth, partner and duration in milliseconds if any, anomaly if
// any.
func show(records []calls.Record) string {
	var list []string
	for _, r := range records {
		s := fmt.Sprint(r.Depth)
		if r.Partner != calls.NoPartner {
			s += fmt.Sprintf("-%d(%d)", r.Partner, r.Duration/1e6)
		}
		if r.Anomaly != calls.None {
			s += "!" + strings.ReplaceAll(r.Anomaly.String(), " ", "-")
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

// showBoth builds the index of a log and returns what it says of the rows. What the
// oracle says must be the same.
func showBoth(t *testing.T, log parser.Log, runs []parser.Run, namer calls.Namer) (*Index, string) {
	t.Helper()
	x, err := Build(context.Background(), log, runs, namer, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := oracle.New(log, runs, oracle.Options{Namer: namer})
	if err != nil {
		t.Fatal(err)
	}
	records, plain := make([]calls.Record, x.Len()), []calls.Record{}
	x.Read(records, 0)
	for i := range o.Rows {
		plain = append(plain, o.Rows[i].Record)
	}
	if show(plain) != show(records) {
		t.Errorf("the oracle says %s", show(plain))
	}
	return x, show(records)
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
			log := testlog.Script(test.events)
			x, got := showBoth(t, log, log.Runs, scriptNamer)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if x.NeedsNames() != test.byPosition {
				t.Errorf("NeedsNames is %t", x.NeedsNames())
			}
		})
	}
}

func TestPairsWithoutNames(t *testing.T) {
	log := testlog.Script("A>f A>g A<f* A<k*")
	if _, got := showBoth(t, log, log.Runs, nil); got != "0-3(3) 1-2(1) 1-1(1) 0-0(3)" {
		t.Errorf("got %s", got)
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
			log := testlog.Script(test.events)
			log.Exact = true
			x, got := showBoth(t, log, log.Runs, scriptNamer)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if x.NeedsNames() {
				t.Error("names cannot change exact pairs, yet NeedsNames is true")
			}
		})
	}
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
		anomalies          [calls.NoEnter + 1]int64
	}{
		{"an id is used again", "A>f A>g -A>f A<f", "0!no-leave 1!no-leave 0-3(1) 0-2(1)", "", 0, [calls.NoEnter + 1]int64{calls.NoLeave: 2}},
		{"a ring", "=A<g A>h A<h A<f", "1!no-enter 1-2(1) 1-1(1) 0!no-enter", "fg", 0, [calls.NoEnter + 1]int64{calls.NoEnter: 2}},
		{"a ring, outer calls unknown", "=A<g A>h A<h A<f", "3!no-enter 3-2(1) 3-1(1) 2!no-enter", "fg", 2, [calls.NoEnter + 1]int64{calls.NoEnter: 2}},
		{"a hole, the same calls", "A>f A>g =A<g A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", "fg", 0, [calls.NoEnter + 1]int64{}},
		{"a hole, all left", "A>f A>g =A>h A<h", "0!no-leave 1!no-leave 0-3(1) 0-2(1)", "", 0, [calls.NoEnter + 1]int64{calls.NoLeave: 2}},
		{"a hole, one entered", "A>f =A<g A<f", "0-2(2) 1!no-enter 0-0(2)", "fg", 0, [calls.NoEnter + 1]int64{calls.NoEnter: 1}},
		{"a hole, one left and one entered", "A>f A>g =A<h A<f", "0-3(3) 1!no-leave 1!no-enter 0-0(3)", "fh", 0, [calls.NoEnter + 1]int64{calls.NoLeave: 1, calls.NoEnter: 1}},
		{"a hole, the outer call not told", "A>f A>g =A<g A<f", "0-3(3) 1-2(1) 1-1(1) 0-0(3)", "g", 1, [calls.NoEnter + 1]int64{}},
		{"the end", "=A>f A<f", "2-1(1) 2-0(1)", "gh", 0, [calls.NoEnter + 1]int64{}},
		{"left by an exception", "=A>h A<f", "2!no-leave 0!no-enter", "fg", 0, [calls.NoEnter + 1]int64{calls.NoLeave: 1, calls.NoEnter: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			words := strings.Fields(test.events)
			log := &testlog.Broken{
				Memory: *testlog.Script(strings.NewReplacer("-", "", "=", "").Replace(test.events)),
				Open:   map[int64][]parser.OpenCall{}, Outer: map[int64]int{},
			}
			log.Exact = true
			events := log.Events
			for i, w := range words {
				switch w[0] {
				case '-':
					events[i].Gap = parser.ThreadBegins
				case '=':
					events[i].Gap = parser.EventsMissing
					log.Open[int64(i)], log.Outer[int64(i)] = call(test.open), test.outer
				}
			}
			x, got := showBoth(t, log, log.Runs, nil)
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			for m := calls.Open; m <= calls.NoEnter; m++ {
				if n := x.Count(m); n != test.anomalies[m] {
					t.Errorf("%d records are %v, want %d", n, m, test.anomalies[m])
				}
			}
		})
	}
}

func TestRuns(t *testing.T) {
	log := testlog.Script("A>f A>g B>f A<g A<f B<f A>f A<f")
	// The first run ends within three calls; record 5 is in no run.
	x, got := showBoth(t, log, []parser.Run{{First: 0, Count: 3}, {First: 3, Count: 2}, {First: 6, Count: 2}}, nil)
	if want := "0!open 1!open 0!open 0!stray 0!stray 0-6(1) 0-5(1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := fmt.Sprint(x.Threads()); got != "[{65 6} {66 1}]" {
		t.Errorf("threads %s", got)
	}
	if n := x.Addresses().Len(); n != 5 {
		t.Errorf("%d addresses of a run, want 5", n)
	}
	for _, c := range []struct {
		row, record int64
		run         int
	}{{0, 0, 0}, {2, 2, 0}, {3, 3, 1}, {4, 4, 1}, {5, 6, 2}, {6, 7, 2}} {
		if run, record := x.Position(c.row); run != c.run || record != c.record {
			t.Errorf("Position(%d) = %d, %d", c.row, run, record)
		}
	}
	if open, stray := x.Count(calls.Open), x.Count(calls.Stray); open != 3 || stray != 2 {
		t.Errorf("%d open, %d stray", open, stray)
	}
}

// TestDeepMisses has a million calls open and then leaves that match nothing,
// leaves that match the outermost call of another thread, and one that
// matches the outermost of their own: searched call by call each time, it
// would take hours, and the tests have ten minutes.
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
	log := &testlog.Memory{Events: events, Runs: []parser.Run{{Count: int64(len(events))}}}
	namer := func(_ int, _ uint16, address uint64) calls.Function { return calls.Function(address >> 8) }
	x, err := Build(context.Background(), log, log.Runs, namer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := x.At(int64(len(events)-1)), (calls.Record{Depth: 0, Partner: 1, Duration: 0}); got != want {
		t.Errorf("last leave %+v, want %+v", got, want)
	}
	if tail, noLeave := x.Count(calls.Tail), x.Count(calls.NoLeave); tail != n/2 || noLeave != n/2 {
		t.Errorf("%d tails and %d without leave, want %d of each", tail, noLeave, n/2)
	}
}

// TestInside counts the events inside calls of two threads.
func TestInside(t *testing.T) {
	tests := []struct{ events, want string }{
		{"A>f A>g A<g A<f", "2 0 0 2"},
		{"A>f B>g A>h B<g A<h A<f A>k", "2 0 0 0 0 2 0"},
		{"A>f A>g A>h A?h A<f A<f", "2 -1 -1 -1 2 -1"},
	}
	for _, test := range tests {
		log := testlog.Script(test.events)
		x, err := Build(context.Background(), log, testlog.UpTo(log.Runs, 3), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Extend(context.Background(), log.Runs, nil, nil); err != nil {
			t.Fatal(err)
		}
		inside := make([]int64, len(log.Events))
		x.ReadInside(inside, 0)
		if got := fmt.Sprint(inside); got != "["+test.want+"]" {
			t.Errorf("%s: %s, want %s", test.events, got, test.want)
		}
	}
}
