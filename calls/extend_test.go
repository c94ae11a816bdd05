package calls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"logparser/parser"
)

// upTo returns the runs of a log of which only the first n records are there.
func upTo(runs []parser.Run, n int64) []parser.Run {
	var list []parser.Run
	for _, r := range runs {
		if r.First >= n && len(list) > 0 {
			break
		}
		r.Count = min(r.Count, max(0, n-r.First))
		list = append(list, r)
	}
	return list
}

// checkGrowth builds a table of the beginning of a log, extends it step by
// step to the end, and holds it against the reference each time.
func checkGrowth(log *memoryLog, r *rand.Rand, namer Namer) error {
	n := int64(len(log.events))
	at := r.Int64N(n + 1)
	t := NewTable(log, upTo(log.runs, at))
	if err := t.Build(context.Background(), namer, nil); err != nil {
		return err
	}
	live := r.IntN(2) == 0
	t.SetLive(live)
	for steps := 0; ; steps++ {
		runs := upTo(log.runs, at)
		want := reference(log, runs, namer)
		marked := map[Mark]int64{}
		for i := range want.records {
			rec := &want.records[i]
			if rec.Mark == Open && live && int64(i) >= t.layout.Load().Starts[len(runs)-1] {
				rec.Mark, rec.Duration = Running, NoDuration
			}
			marked[rec.Mark]++
		}
		if d := differ(resultOf(t), want); d != "" {
			return fmt.Errorf("at %d of %d records after %d steps: %s", at, n, steps, d)
		}
		for m := Open; m < marks; m++ {
			if got := t.Count(m); got != marked[m] {
				return fmt.Errorf("at %d of %d records: %d rows are %s, want %d", at, n, got, m, marked[m])
			}
		}
		a := t.Addresses()
		for i := range a.Len() {
			at := a.At(i)
			if k, ok := a.Find(int(at.Run), at.Space, at.Value); !ok || k != i {
				return fmt.Errorf("Find(%d, %#x) = %d, %t, want %d", at.Run, at.Value, k, ok, i)
			}
		}
		switch r.IntN(20) {
		case 0:
			if err := t.Build(context.Background(), namer, nil); err != nil {
				return err
			}
		case 1:
			live = !live
			t.SetLive(live)
		}
		if at == n {
			return nil
		}
		at += 1 + r.Int64N(min(n-at, 1+n/4))
		if r.IntN(8) == 0 {
			// Cancelled, it leaves a part for the next.
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := t.Extend(ctx, upTo(log.runs, at), namer, nil); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("cancelled: %v", err)
			}
		}
		if err := t.Extend(context.Background(), upTo(log.runs, at), namer, nil); err != nil {
			return err
		}
	}
}

// TestGrowth holds extended tables against the reference over random
// sequences and steps.
func TestGrowth(t *testing.T) {
	rounds := 120
	if testing.Short() {
		rounds = 40
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		g := &generator{
			r: r, threads: pick(1, 2, 40), functions: pick(1, 3, 20, 2000),
			enters: pick(45, 50, 55, 90), foreign: r.IntN(2) == 0,
			tail: pick(0, 10), unwind: pick(0, 1, 10), stray: pick(0, 20), damage: pick(0, 5), epoch: pick(0, 1),
		}
		log := g.cut(g.events(pick(10, 10, 100, 100, 1000, 1000, 1000, 2*blockLen)), pick(1, 1, 4))
		log.exact = r.IntN(3) == 0
		namer := testNamer
		if r.IntN(4) == 0 {
			namer = nil
		}
		if err := checkGrowth(log, r, namer); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, *g, err)
		}
	}
}

// TestGrowthInChunks has steps that end in the middle and at the ends of the
// table's chunks.
func TestGrowthInChunks(t *testing.T) {
	g := &generator{r: rand.New(rand.NewPCG(1, 4)), threads: 2, functions: 50, enters: 50}
	log := newLog(g.events(3*entryChunk + 5))
	table := NewTable(log, upTo(log.runs, 1))
	if err := table.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{2, 3, entryChunk - 1, entryChunk, entryChunk + 1, 2*entryChunk + 7, 3 * entryChunk, 3*entryChunk + 5} {
		if err := table.Extend(context.Background(), upTo(log.runs, n), nil, nil); err != nil {
			t.Fatal(err)
		}
		if d := differ(resultOf(table), reference(log, upTo(log.runs, n), nil)); d != "" {
			t.Fatalf("%d records: %s", n, d)
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	log := newLog(script("A>f A<f A>g A<g"))
	for _, runs := range [][]parser.Run{
		{},
		{{First: 0, Count: 1}},
		{{First: 1, Count: 3}},
	} {
		table, err := Build(context.Background(), log, upTo(log.runs, 2), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Extend(context.Background(), runs, nil, nil); err == nil {
			t.Errorf("%v were taken for a longer log", runs)
		}
	}
	unbuilt := NewTable(log, upTo(log.runs, 2))
	if err := unbuilt.Extend(context.Background(), log.runs, nil, nil); err != nil || unbuilt.Total() != 4 || unbuilt.Len() != 0 {
		t.Errorf("before Build: %v, %d of %d rows", err, unbuilt.Len(), unbuilt.Total())
	}
	if err := unbuilt.Build(context.Background(), nil, nil); err != nil || unbuilt.Len() != 4 {
		t.Errorf("%v, %d rows", err, unbuilt.Len())
	}
}

// TestReadWhileExtending is for the race detector.
func TestReadWhileExtending(t *testing.T) {
	g := &generator{r: rand.New(rand.NewPCG(1, 2)), threads: 3, functions: 20000, enters: 50, foreign: true}
	log := newLog(g.events(60_000))
	table, err := Build(context.Background(), log, upTo(log.runs, 100), testNamer, nil)
	if err != nil {
		t.Fatal(err)
	}
	addresses := table.Addresses()
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var r [50]Record
			for total := int64(0); total < int64(len(log.events)); {
				total = table.Total()
				table.Read(r[:], total-int64(len(r)))
				table.Count(Open)
				if w == 0 {
					continue
				}
				for i := range 50 {
					e := &log.events[max(0, table.Len()-1-int64(i))]
					k, ok := addresses.Find(0, 0, e.Address)
					if !ok || addresses.At(k).Value != e.Address {
						t.Errorf("the address of a paired row is not found")
						return
					}
				}
			}
		}()
	}
	for at := int64(100); at < int64(len(log.events)); {
		at = min(at+331, int64(len(log.events)))
		if err := table.Extend(context.Background(), upTo(log.runs, at), testNamer, nil); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// BenchmarkExtend is the cost of a step of a live log: 100 new records behind
// a million.
func BenchmarkExtend(b *testing.B) {
	const n = 1 << 20
	events := program(rand.New(rand.NewPCG(1, 1)), n)
	for len(events) < 3*n {
		events = append(events, events[:n]...)
	}
	log := newLog(events)
	var table *Table
	at := int64(len(events))
	for b.Loop() {
		if at += 100; at > int64(len(events)) {
			b.StopTimer()
			at = n
			var err error
			if table, err = Build(context.Background(), log, upTo(log.runs, at), nil, nil); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		if err := table.Extend(context.Background(), upTo(log.runs, at), nil, nil); err != nil {
			b.Fatal(err)
		}
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
		log := newLog(script(test.events))
		table := NewTable(log, upTo(log.runs, 3))
		table.CountInside()
		if err := table.Build(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if err := table.Extend(context.Background(), log.runs, nil, nil); err != nil {
			t.Fatal(err)
		}
		inside := make([]int64, len(log.events))
		table.ReadInside(inside, 0)
		if got := fmt.Sprint(inside); got != "["+test.want+"]" {
			t.Errorf("%s: %s, want %s", test.events, got, test.want)
		}
	}
}
