package trace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

// A follower grows a log and checks that what was published stays.
type follower struct {
	m    *tracetest.Memory
	log  *trace.Log
	seen []parser.Event
	// spaces are the spaces at the last look.
	spaces []parser.Space
}

func (f *follower) look() (parser.Growth, error) {
	growth, err := f.log.Grow(context.Background())
	if err != nil {
		return growth, err
	}
	n := int64(len(f.seen))
	if got := f.log.Info().Records; got != n+growth.Records {
		return growth, fmt.Errorf("%d records, %d before and %d new", got, n, growth.Records)
	}
	all, err := readAll(f.log, 700)
	if err != nil {
		return growth, err
	}
	if int64(len(all)) != n+growth.Records {
		return growth, fmt.Errorf("%d events are read", len(all))
	}
	if err := differ(all[:n], f.seen); err != nil {
		return growth, fmt.Errorf("what was published changed: %w", err)
	}
	for i := range all[1:] {
		if all[i+1].Time < all[i].Time {
			return growth, fmt.Errorf("time runs back at event %d: %d after %d", i+1, all[i+1].Time, all[i].Time)
		}
	}
	f.seen = all
	spaces := f.log.Spaces(0)
	if !slices.Equal(spaces[:len(f.spaces)], f.spaces) {
		return growth, fmt.Errorf("spaces changed")
	}
	f.spaces = spaces
	return growth, nil
}

// TestGrow follows runs of random programs while they are written.
func TestGrow(t *testing.T) {
	for seed := range uint64(soak(40)) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := tracetest.Random(r)
		p.Events, p.Pause, p.Gaps = min(p.Events, 6000), 1+r.IntN(10), 0
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.ChunkSize = 4096 << r.IntN(3)
		f := &follower{m: m}
		looks := 0
		fail := func(err error) {
			t.Helper()
			t.Fatalf("seed %d, look %d, %d threads, %d events: %v", seed, looks, p.Threads, p.Events, err)
		}
		p.Now = func() {
			if r.IntN(400) != 0 {
				return
			}
			looks++
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			if f.log == nil {
				f.log = open(t, m)
				f.seen, _ = readAll(f.log, 100)
				return
			}
			if _, err := f.look(); err != nil {
				fail(err)
			}
		}
		want := p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if f.log == nil {
			continue
		}
		growth, err := f.look()
		if err != nil {
			fail(err)
		}
		if !growth.Ended || growth.Pending {
			fail(fmt.Errorf("at the end: %+v", growth))
		}
		if d := f.log.Info().Damage; len(d) > 0 {
			fail(fmt.Errorf("damage %v", d))
		}
		// An event with the time at which the log was opened is shown one unit later.
		if err := differ(byThread(f.seen, want)); err != nil {
			fail(err)
		}
		if growth, err := f.look(); err != nil || growth.Records != 0 || !growth.Ended {
			fail(fmt.Errorf("after the end: %+v, %v", growth, err))
		}
	}
}

// byThread sorts two lists by thread, and makes times equal that are one unit apart.
func byThread(got, want []parser.Event) (a, b []parser.Event) {
	a, b = slices.Clone(got), slices.Clone(want)
	for _, list := range [][]parser.Event{a, b} {
		slices.SortStableFunc(list, func(x, y parser.Event) int { return int(x.Thread) - int(y.Thread) })
	}
	for i := range min(len(a), len(b)) {
		if a[i].Time == b[i].Time+1 {
			a[i].Time--
		}
	}
	return a, b
}

// TestGrowWaits has events that are new, that come late, and that come too late.
func TestGrowWaits(t *testing.T) {
	const ms = 1_000_000
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	a, b := w.Thread(1, 0, 7), w.Thread(2, 0, 8)
	a.Enter(1000, 0x400000, tracetest.Entry)
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	f := &follower{m: m, log: open(t, m)}
	if f.seen, _ = readAll(f.log, 10); len(f.seen) != 1 {
		t.Fatalf("%d events of a program that pauses", len(f.seen))
	}
	look := func(records int, pending bool) {
		t.Helper()
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		growth, err := f.look()
		if err != nil {
			t.Fatal(err)
		}
		if int(growth.Records) != records || growth.Pending != pending {
			t.Fatalf("%+v, want %d records, pending %t", growth, records, pending)
		}
	}
	a.Enter(1000*ms, 0x400010, tracetest.Entry)
	look(0, true)
	// An event that is 50 ms older than the newest one is published at once.
	a.Leave(1200 * ms)
	look(1, true)
	// This event comes too late, so it is shown behind the published ones.
	b.Enter(300*ms, 0x400020, tracetest.Entry)
	b.Enter(1201*ms, 0x400030, tracetest.Entry)
	look(1, true)
	time.Sleep(60 * time.Millisecond)
	look(2, false)
	var got []int64
	for _, e := range f.seen {
		got = append(got, e.Time/ms)
	}
	if len(got) != 5 || got[1] != 1000 || got[2] < 1150 || got[2] > 1199 || got[3] != 1200 || got[4] != 1201 {
		t.Errorf("times %v", got)
	}
	look(0, false)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if growth, err := f.look(); err != nil || !growth.Ended || growth.Records != 0 {
		t.Errorf("at the end: %+v, %v", growth, err)
	}
}

// TestGrowModules loads another module at an old one's address while the log is
// followed.
func TestGrowModules(t *testing.T) {
	const s = 1_000_000_000
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(s, s, 0, 0)
	w.Load(s, 1, 0x400000, 0x1000, "a", "")
	th := w.Thread(1, 0, 7)
	th.Enter(s, 0x400000, tracetest.Entry)
	th.Leave(s + 5)
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	f := &follower{m: m, log: open(t, m)}
	f.seen, _ = readAll(f.log, 10)
	old := f.log.Modules(0)
	w.Unload(2*s, 1)
	w.Load(3*s, 2, 0x400000, 0x1000, "b", "")
	th.Enter(4*s, 0x400000, tracetest.Entry)
	th.Leave(5 * s)
	th.Enter(6*s, 0x400000, tracetest.Entry)
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	growth, err := f.look()
	if err != nil || !growth.Modules || growth.Records != 2 {
		t.Fatalf("%+v, %v", growth, err)
	}
	if n := f.log.Modules(0).Len(); n != 2 || old.Len() != 1 || f.log.Modules(0).At(0).Path != "a" {
		t.Errorf("%d modules, %d before", n, old.Len())
	}
	for i, want := range []string{"a", "a", "b", "b"} {
		e := f.seen[i]
		k, owners := f.log.Modules(0).Find(e.Address, f.log.Spaces(0)[e.Space].Time)
		if owners == 0 || f.log.Modules(0).At(k).Path != want {
			t.Errorf("event %d is not in %s", i, want)
		}
	}
}

// growing is a file in memory that can be written while it is read.
type growing struct {
	mu sync.Mutex
	m  *tracetest.Memory
}

func (g *growing) ReadAt(p []byte, off int64) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.m.ReadAt(p, off)
}

func (g *growing) Size() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.m.Size()
}

// TestGrowWhileRead reads while the log grows, for the race detector.
func TestGrowWhileRead(t *testing.T) {
	m := &tracetest.Memory{Bytes: make([]byte, 0, 64<<20)}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	list := []*tracetest.Thread{w.Thread(1, 0, 7), w.Thread(2, 0, 8)}
	now := uint64(1000)
	write := func() {
		for range 3000 {
			now += 100_000
			list[now/100_000%2].Enter(now, 0x400000+now%4096, tracetest.Entry)
			list[now/100_000%2].Leave(now + 5)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	write()
	grown := &growing{m: m}
	log, err := trace.New(context.Background(), grown, m.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		r := rand.New(rand.NewPCG(1, 1))
		var dst [300]parser.Event
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			n := log.Info().Records
			if _, err := log.ReadEvents(dst[:min(n, 300)], r.Int64N(max(n-300, 1))); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 20 {
		grown.mu.Lock()
		write()
		grown.mu.Unlock()
		if _, err := log.Grow(context.Background()); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// BenchmarkGrowIdle is the cost of a look at a file that has not grown, of two
// threads that may go on.
func BenchmarkGrowIdle(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.lptrace")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := tracetest.NewWriter(f)
	tracetest.WriteCalls(w, 2, 20_000)
	if err := w.Sync(); err != nil {
		b.Fatal(err)
	}
	log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	b.ReportAllocs()
	for b.Loop() {
		growth, err := log.Grow(context.Background())
		if err != nil || growth.Ended {
			b.Fatalf("%+v: %v", growth, err)
		}
	}
}
