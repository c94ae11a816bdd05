package trace_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

// A strandEvent is an event with the thread and the stack that its Thread stands for.
type strandEvent struct {
	parser.Event
	stack uint32
}

// writeCoroutines writes a random program whose threads take turns with coroutines, and
// returns its events: thread ids are those of the threads. grown is called now and then.
func writeCoroutines(r *rand.Rand, w *tracetest.Writer, n int, grown func()) []strandEvent {
	type call struct {
		address uint64
		space   uint16
	}
	const coroutines = 12
	chance := func(percent int) bool { return r.IntN(100) < percent }
	threads := make([]*tracetest.Thread, 1+r.IntN(4))
	on := make([]uint32, len(threads))
	own, others := make([][]call, len(threads)), make([][]call, coroutines+1)
	begun := make([]bool, len(threads))
	left := map[[2]int]int{} // by thread, or -1, and by stack
	for i := range threads {
		threads[i] = w.Thread(uint32(i+1), 0, uint64(100+i))
		threads[i].Full = chance(20)
	}
	busy := func(k uint32) bool {
		for _, o := range on {
			if o == k {
				return true
			}
		}
		return false
	}
	now := uint64(5000)
	w.Clock(now, now, 1_700_000_000_000_000_000, 0)
	w.Load(now, 1, 0x400000, 1<<30, "/bin/a", "build-id:00")
	space, module := uint16(0), uint32(1)
	var list []strandEvent
	calm := r.IntN(2) == 0 // no call ends without a leave
	for len(list) < n {
		i := r.IntN(len(threads))
		t := threads[i]
		now += 1 + uint64(r.IntN(30))
		if chance(1) {
			now += r.Uint64N(1 << r.IntN(40))
		}
		if grown != nil && r.IntN(200) == 0 {
			grown()
		}
		if r.IntN(n) < 3 {
			w.Unload(now, module)
			module++
			now++
			w.Load(now, module, 0x400000, 1<<30, fmt.Sprint("/lib/", module), "build-id:00")
			space += 2
			now++
		}
		if chance(10) {
			k := uint32(r.IntN(coroutines + 1))
			if k == 0 || !busy(k) {
				t.Switch(now, k)
				on[i] = k
				now++
			}
		}
		if chance(1) {
			t.Flush()
		}
		stack, key := &own[i], [2]int{i, 0}
		if on[i] != 0 {
			stack, key = &others[on[i]], [2]int{-1, int(on[i])}
		}
		s := *stack
		if len(s) > 0 && !calm && chance(5) {
			k := 1 + r.IntN(len(s))
			t.Left(k)
			s = s[:len(s)-k]
			left[key] += k
		}
		e := strandEvent{parser.Event{Time: int64(now), Thread: uint32(100 + i)}, on[i]}
		if on[i] == 0 && !begun[i] {
			begun[i], e.Gap = true, parser.ThreadBegins
		} else if k := left[key]; k > 0 {
			e.Gap = parser.CallsLeft + parser.Gap(k-1)
		}
		delete(left, key)
		if len(s) == 0 || len(s) < 40 && chance(52) {
			c := call{0x400000 + 64*uint64(r.IntN(300)), space}
			t.Enter(now, c.address, tracetest.Entry)
			e.Kind, e.Address, e.Space = parser.Enter, c.address, c.space
			s = append(s, c)
		} else {
			c := s[len(s)-1]
			s = s[:len(s)-1]
			t.Leave(now)
			e.Kind, e.Address, e.Space = parser.Leave, c.address, c.space
		}
		*stack = s
		list = append(list, e)
	}
	w.Clock(now+1, now+1, 1_700_000_000_000_000_000, 0)
	return list
}

// differentStrands returns an error if events are not those of a program.
func differentStrands(log *trace.Log, got []parser.Event, want []strandEvent) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d events, want %d", len(got), len(want))
	}
	for i, e := range got {
		w := want[i]
		thread, stack := log.Strand(e.Thread)
		if e.Thread = thread; e != w.Event || stack != w.stack {
			return fmt.Errorf("event %d is %+v on stack %d, want %+v on %d", i, e, stack, w.Event, w.stack)
		}
	}
	return nil
}

// TestCoroutines reads random programs with coroutines, from the beginning and from random records on.
func TestCoroutines(t *testing.T) {
	for seed := range uint64(soak(30)) {
		r := rand.New(rand.NewPCG(seed, 7))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.ChunkSize = []uint32{4096, 65536}[r.IntN(2)]
		want := writeCoroutines(r, w, 100+r.IntN(20000), nil)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		if d := log.Info().Damage; len(d) > 0 {
			t.Fatalf("seed %d: damage %v", seed, d)
		}
		got, err := readAll(log, 1000)
		if err == nil {
			err = differentStrands(log, got, want)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for range 50 {
			from := r.IntN(len(want))
			part := make([]parser.Event, min(1+r.IntN(3000), len(want)-from))
			if _, err := log.ReadEvents(part, int64(from)); err != nil {
				t.Fatal(err)
			}
			if err := differentStrands(log, part, want[from:from+len(part)]); err != nil {
				t.Fatalf("seed %d, from %d: %v", seed, from, err)
			}
		}
	}
}

// TestCoroutinesGrow reads such programs while they are written.
func TestCoroutinesGrow(t *testing.T) {
	trace.StopClock(t)
	for seed := range uint64(soak(10)) {
		r := rand.New(rand.NewPCG(seed, 8))
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		var log *trace.Log
		look := func() {
			if err := w.Sync(); err != nil {
				t.Fatal(err)
			}
			if log == nil {
				log = open(t, m)
			} else if _, err := log.Grow(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		want := writeCoroutines(r, w, 6000, look)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if log == nil {
			continue
		}
		for {
			g, err := log.Grow(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if g.Ended {
				break
			}
		}
		got, err := readAll(log, 1000)
		if err != nil {
			t.Fatal(err)
		}
		// An event that is found late is shown late, and so are the events behind it.
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d events, want %d", seed, len(got), len(want))
		}
		fresh := open(t, m)
		again, err := readAll(fresh, 1000)
		if err == nil {
			err = differentStrands(fresh, again, want)
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range got {
			thread, stack := log.Strand(got[i].Thread)
			if got[i].Thread = thread; got[i] != want[i].Event || stack != want[i].stack {
				if got[i].Address != want[i].Address || got[i].Gap != want[i].Gap || stack != want[i].stack {
					t.Fatalf("seed %d: event %d is %+v on stack %d, want %+v", seed, i, got[i], stack, want[i])
				}
			}
		}
	}
}
