package index

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// TestOpenAtEnd holds the calls that are open at the end of the last run against the oracle,
// for as many of each thread as are asked for.
func TestOpenAtEnd(t *testing.T) {
	found := 0
	for seed := range rounds(50) {
		r := rand.New(rand.NewPCG(seed, 21))
		smallBlocks(t, []int64{1, 3, 16, 64}[r.IntN(4)])
		log := testlog.RandomChaos(r).Log(r, 1+r.IntN(600), 1+r.IntN(3))
		p := expect(t, log, log.Runs, oracle.Options{})
		x := New(log, log.Runs)
		if threads, depths := x.OpenAtEnd(10); threads != nil || depths != nil {
			t.Fatalf("before it is built: %v, %v", threads, depths)
		}
		if err := x.Build(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		want := map[uint32][]*oracle.Call{} // the innermost first
		for _, c := range p.Calls {
			if c.AtEnd && c.Enter >= 0 && c.Anomaly == calls.Open && c.Until >= p.Len()-1 {
				want[c.Stack] = slices.Insert(want[c.Stack], 0, c)
			}
		}
		for _, most := range []int{0, 1, 3, 1000} {
			threads, depths := x.OpenAtEnd(most)
			if len(threads) != len(want) || len(depths) != len(want) {
				t.Fatalf("seed %d: %d threads with open calls, want %d", seed, len(threads), len(want))
			}
			total := 0
			for i, list := range threads {
				total += depths[i]
				if len(list) != min(most, depths[i]) {
					t.Fatalf("seed %d: %d calls of %d, at most %d", seed, len(list), depths[i], most)
				}
				for k, got := range list {
					stack := want[slotStack(x, got.Thread)]
					if len(stack) != depths[i] {
						t.Fatalf("seed %d: thread %d has %d open calls, want %d", seed, got.Thread, depths[i], len(stack))
					}
					if c := stack[k]; got.Enter != c.Enter || got.End != p.Len() || got.Address != c.Number || got.Depth != int32(c.Depth) || got.Time != c.Time {
						t.Fatalf("seed %d: open call %+v, want %+v", seed, got, c)
					}
				}
			}
			sum := 0
			for _, stack := range want {
				sum += len(stack)
			}
			if found += total; total != sum {
				t.Fatalf("seed %d: %d open calls, want %d", seed, total, sum)
			}
		}
	}
	if found == 0 {
		t.Error("no log has an open call")
	}
}

// TestCorrectedOpenCalls corrects durations, and has no self time then.
func TestCorrectedOpenCalls(t *testing.T) {
	log := testlog.Script("a>1 a>2 a>3 a<3")
	x, err := Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain := x.OpenCalls(nil)
	inside := map[int64]int64{}
	half := x.OpenCalls(func(row int64, durations, events []int64) {
		inside[row] = events[0]
		durations[0] /= 2
	})
	if len(half.List) != 2 || len(plain.List) != 2 || !maps.Equal(inside, map[int64]int64{0: 3, 1: 2}) {
		t.Fatalf("%d open calls, with so many events inside: %v", len(half.List), inside)
	}
	for i, o := range half.List {
		if o.Duration != plain.List[i].Duration/2 || o.Self != 0 || plain.List[i].Self == 0 {
			t.Errorf("call %d lasted %d, its own %d; without correction %d, its own %d", i, o.Duration, o.Self, plain.List[i].Duration, plain.List[i].Self)
		}
	}
	// A row without an anomaly enters no open call, whatever its number.
	if o := plain.At(&Block{First: 0, Anomaly: []calls.Anomaly{calls.None}}, 0); o != nil {
		t.Errorf("%+v", o)
	}
}

// TestNextActive looks for each stack's next block from every block on.
func TestNextActive(t *testing.T) {
	for seed := range rounds(60) {
		r := rand.New(rand.NewPCG(seed, 22))
		smallBlocks(t, []int64{1, 3, 16}[r.IntN(3)])
		smallSegments(t, 1+r.IntN(5))
		log := testlog.RandomChaos(r).Log(r, 400, 1)
		x, err := Build(t.Context(), log, log.Runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		blocks := sizes.Blocks(x.Len())
		active := map[uint32]map[int]bool{}
		for i := range log.Events {
			if e := &log.Events[i]; e.Kind != parser.Damaged {
				s := testlog.StackOf(log, e)
				if active[s] == nil {
					active[s] = map[int]bool{}
				}
				active[s][i/int(sizes.Block)] = true
			}
		}
		for slot := range uint32(x.Slots()) {
			want := -1
			for k := blocks; k >= -1; k-- {
				if active[slotStack(x, slot)][k] {
					want = k
				}
				if got := x.NextActive(k, slot); got != want {
					t.Fatalf("seed %d: from block %d on slot %d is active in %d, want %d", seed, k, slot, got, want)
				}
			}
		}
		if got := x.NextActive(0, uint32(x.Slots())); got != -1 {
			t.Errorf("seed %d: a stack that there is not is active in %d", seed, got)
		}
	}
}

// TestOneStack pairs the rows of blocks of one stack by a stack of its own, and holds the pairs against the oracle.
func TestOneStack(t *testing.T) {
	alone, others := 0, 0
	for seed := range rounds(60) {
		r := rand.New(rand.NewPCG(seed, 24))
		smallBlocks(t, []int64{1, 3, 16, 64}[r.IntN(4)])
		c := testlog.RandomChaos(r)
		if c.Threads = 1 + r.IntN(2); r.IntN(2) == 0 {
			c = testlog.Chaos{Threads: 1, Functions: 20, Enters: 40 + r.IntN(20), Stray: r.IntN(3)}
		}
		log := c.Log(r, 600, 1+r.IntN(2))
		p := expect(t, log, log.Runs, oracle.Options{})
		x, err := Build(t.Context(), log, log.Runs, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		blocks := sizes.Blocks(x.Len())
		for k := -1; k <= blocks; k++ {
			top, from, to, ok := x.OneStack(k)
			if !ok {
				others++
				continue
			}
			if k >= blocks-1 {
				t.Fatalf("seed %d: the last block is never said to be of one stack", seed)
			}
			alone++
			first := int64(k) * sizes.Block
			partner := make([]int64, sizes.Block)
			var open []int64
			for i := range partner {
				row := first + int64(i)
				partner[i] = calls.NoPartner
				if p.Rows[row].Kind == parser.Enter {
					open = append(open, row)
					continue
				}
				if n := len(open); n > 0 {
					partner[i], partner[open[n-1]-first] = open[n-1], row
					open = open[:n-1]
					continue
				}
				n := x.Node(top)
				partner[i], top = n.Enter, n.Parent
			}
			for i := from; i < to; i++ {
				if n := x.Node(i); n.Enter >= 0 && n.Leave >= 0 {
					partner[n.Enter-first] = n.Leave
				}
			}
			for i, got := range partner {
				if want := p.Rows[first+int64(i)].Partner; got != want {
					t.Fatalf("seed %d, row %d: partner %d, want %d", seed, first+int64(i), got, want)
				}
			}
		}
	}
	if alone < 20 || others < 20 {
		t.Errorf("%d blocks of one stack, %d others", alone, others)
	}
}

// TestUse reads ranges that begin and end in blocks and at their edges, in both ways of
// reading events with their records.
func TestUse(t *testing.T) {
	smallBlocks(t, 16)
	r := rand.New(rand.NewPCG(1, 23))
	log := testlog.Chaos{Threads: 3, Functions: 20, Enters: 50, Stray: 2}.Log(r, 100, 1)
	p := expect(t, log, log.Runs, oracle.Options{})
	x, err := Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal := func(row int64, e parser.Event, got calls.Record) {
		t.Helper()
		if want := &p.Rows[row]; e != want.Event || got != want.Record {
			t.Errorf("row %d is %+v %+v, want %+v %+v", row, e, got, want.Event, want.Record)
		}
	}
	never := func(*Block, []parser.Event, int, int) { t.Error("rows that there are not") }
	for from := int64(-2); from < p.Len()+3; from++ {
		for _, n := range []int{0, 1, 15, 16, 17, 200} {
			rest := max(0, p.Len()-from)
			want := int(min(int64(n), 16-from&15, rest))
			if from < 0 || want <= 0 {
				if got := x.Use(from, n, never); got != 0 {
					t.Errorf("%d rows from %d on: %d", n, from, got)
				}
			} else if got := x.Use(from, n, func(b *Block, events []parser.Event, i, n int) {
				for k := i; k < i+n; k++ {
					equal(from+int64(k-i), events[k], calls.Record{Depth: int(b.Depth[k]), Partner: b.Partner[k], Duration: b.Duration[k], Anomaly: b.Anomaly[k]})
				}
			}); got != want {
				t.Errorf("%d rows from %d on: %d, want %d", n, from, got, want)
			}
			if from < 0 {
				continue
			}
			events, records := make([]parser.Event, n), make([]calls.Record, n)
			got := x.ReadEvents(events, records, from)
			if got != int(min(int64(n), rest)) {
				t.Errorf("%d rows from %d on are read as %d", n, from, got)
			}
			for k := range got {
				equal(from+int64(k), events[k], records[k])
			}
		}
	}
	none := []int64{0}
	if x.ReadSelf(none, p.Len()); none[0] != -1 {
		t.Errorf("behind the end the self time is %d", none[0])
	}
}

// TestUnreadableRows has a log of which a part cannot be read after the index was built.
func TestUnreadableRows(t *testing.T) {
	smallBlocks(t, 16)
	log := &shortLog{testlog.Chaos{Threads: 2, Functions: 9, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 100, 1), 100}
	x, err := Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	log.end = 40
	rows, events := make([]calls.Record, 100), make([]parser.Event, 100)
	x.Read(rows, 0)
	unknown := calls.Record{Partner: calls.NoPartner, Duration: calls.NoDuration}
	for i, r := range rows {
		if i >= 32 && r != unknown {
			t.Errorf("row %d is %+v", i, r)
		}
	}
	if got := x.ReadEvents(events, rows, 0); got != 32 {
		t.Errorf("%d events are read of two whole blocks", got)
	}
	if got := x.Use(40, 1, func(*Block, []parser.Event, int, int) {}); got != 0 {
		t.Errorf("%d rows of a block that cannot be read", got)
	}
	if _, err := Build(t.Context(), log, log.Runs, nil, nil); err == nil {
		t.Error("an index of a log that cannot be read")
	}
}

// TestSave keeps an index under another key after it has grown.
func TestSave(t *testing.T) {
	smallBlocks(t, 16)
	log := &countingLog{Broken: testlog.Chaos{Threads: 3, Functions: 20, Enters: 50}.Log(rand.New(rand.NewPCG(1, 24)), 400, 1)}
	log.Exact = true
	store := indexcache.Store{Folder: t.TempDir()}
	before, after := indexcache.Key{1}, indexcache.Key{2}
	is := func(k indexcache.Key, there bool) {
		t.Helper()
		if _, err := os.Stat(store.Path(k)); (err == nil) != there {
			t.Errorf("the file of %d: %v", k[0], err)
		}
	}
	x := New(log, testlog.UpTo(log.Runs, 250))
	x.Keep(store, before)
	if err := x.Save(store, after); !errors.Is(err, errUnfinished) {
		t.Errorf("one that was not built: %v", err)
	}
	if err := x.Build(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	is(before, true)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.Extend(stopped, log.Runs, nil, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := x.Save(store, after); !errors.Is(err, errUnfinished) {
		t.Errorf("one of which rows are missing: %v", err)
	}
	if err := x.Extend(t.Context(), log.Runs, nil, nil); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := x.Save(indexcache.Store{Folder: filepath.Join(file, "folder")}, after); err == nil {
		t.Error("it was kept below a file")
	}
	is(before, true)
	if err := x.Save(store, after); err != nil {
		t.Fatal(err)
	}
	is(before, false)
	is(after, true)
	again := New(log, log.Runs)
	again.Keep(store, after)
	read := log.read.Load()
	var told []int64
	if err := again.Build(t.Context(), nil, func(done, total int64) { told = append(told, done, total) }); err != nil {
		t.Fatal(err)
	}
	if log.read.Load() != read || !slices.Equal(told, []int64{400, 400}) {
		t.Errorf("%d events were read, the progress was %v", log.read.Load()-read, told)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	if err := p.differs(again); err != nil {
		t.Error(err)
	}
	// Of pairs that names may change only the index without names is kept.
	log.Exact = false
	positions, err := Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := positions.Save(store, before); positions.NeedsNames() != errors.Is(err, errUnfinished) {
		t.Errorf("names are needed: %t, but %v", positions.NeedsNames(), err)
	}
}

// A calledLog is a log that can give its calls thread by thread.
type calledLog struct {
	*testlog.Memory
	asked []int64
}

func (l *calledLog) Capabilities() parser.Capabilities {
	c := l.Memory.Capabilities()
	c.CalledLog = l
	return c
}

// Calls implements [parser.CalledLog].
func (l *calledLog) Calls(records int64) parser.CallSource {
	l.asked = append(l.asked, records)
	return calledSource{}
}

type calledSource struct{ parser.CallSource }

// TestCallSource asks for the calls of logs thread by thread: only where the log alone says all of
// them are they not paired.
func TestCallSource(t *testing.T) {
	for _, c := range []struct {
		name, script string
		exact, given bool
		runs         []parser.Run
	}{
		{"whole", "a>1 a>2 a<2 a<1 a>3", true, true, nil},
		{"by position", "a>1 a>2 a<2 a<1 a>3", false, false, nil},
		{"stray", "a>1 a<1 a<2", true, false, nil},
		{"the second run", "a>1 a<1 a>2 a<2", true, false, []parser.Run{{First: 2, Count: 2}}},
		{"two runs", "a>1 a<1 a>2 a<2", true, false, []parser.Run{{Count: 2}, {First: 2, Count: 2}}},
	} {
		log := &calledLog{Memory: testlog.Script(c.script)}
		log.Exact = c.exact
		if c.runs != nil {
			log.Runs = c.runs
		}
		x := New(log, log.Runs)
		if x.Calls() != nil {
			t.Errorf("%s: before it is built", c.name)
		}
		if err := x.Build(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := x.Calls() != nil; got != c.given || got && !slices.Equal(log.asked, []int64{x.Len()}) {
			t.Errorf("%s: given %t, the log was asked for %v", c.name, got, log.asked)
		}
	}
	plain := testlog.Script("a>1 a<1")
	plain.Exact = true
	if x, err := Build(t.Context(), plain, plain.Runs, nil, nil); err != nil || x.Calls() != nil {
		t.Errorf("of a log that cannot give them: %v", err)
	}
}

// TestOwnStacks has threads that run coroutines: each thread has one stack of its own.
func TestOwnStacks(t *testing.T) {
	log := testlog.Chaos{Threads: 5, Functions: 20, Enters: 50, Coroutines: 7}.Log(rand.New(rand.NewPCG(1, 25)), 2000, 1)
	x, err := Build(t.Context(), log, log.Runs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := x.OwnStacks()
	if len(own) != len(x.Threads()) || x.Slots() <= len(own) {
		t.Errorf("%d of %d stacks are threads' own, of %d threads", len(own), x.Slots(), len(x.Threads()))
	}
	for id, slot := range own {
		if _, number := x.Stack(slot); number != 0 || x.ThreadID(slot) != id {
			t.Errorf("slot %d is stack %d of thread %d, not thread %d's own", slot, number, x.ThreadID(slot), id)
		}
	}
}
