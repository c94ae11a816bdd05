package calls

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"logparser/parser"
)

// heap returns the bytes of live heap that make leaves behind.
func heap(make func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	make()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// program makes the events of a program whose functions call always the same
// others: each up to four of the next forty, so that calls nest some ten deep
// and branches are as predictable as in a real log.
func program(r *rand.Rand, n int) []parser.Event {
	const functions = 3000
	callees := make([][]int, functions)
	for f := range callees {
		for range r.IntN(5) {
			if c := f + 1 + r.IntN(40); c < functions {
				callees[f] = append(callees[f], c)
			}
		}
	}
	list := make([]parser.Event, 0, n)
	type call struct{ function, next int }
	var stack []call
	enter := func(f int) {
		list = append(list, parser.Event{Address: 0x401005 + 256*uint64(f), Time: int64(len(list)) * 100, Thread: 4711})
		stack = append(stack, call{f, 0})
	}
	for len(list) < n {
		if len(stack) == 0 {
			enter(r.IntN(functions))
			continue
		}
		top := &stack[len(stack)-1]
		if c := callees[top.function]; top.next < len(c) && len(stack) < 12 {
			top.next++
			enter(c[top.next-1])
			continue
		}
		list = append(list, parser.Event{Address: 0x401005 + 256*uint64(top.function), Time: int64(len(list)) * 100, Thread: 4711, Kind: parser.Leave})
		stack = stack[:len(stack)-1]
	}
	return list
}

func BenchmarkBuild(b *testing.B) {
	const n = 4 << 20
	logs := []struct {
		name string
		make func(r *rand.Rand) []parser.Event
	}{
		{"program", func(r *rand.Rand) []parser.Event { return program(r, n) }},
		{"own", func(r *rand.Rand) []parser.Event {
			return (&generator{r: r, threads: 1, functions: 3000, enters: 50}).events(n)
		}},
		{"threads", func(r *rand.Rand) []parser.Event {
			return (&generator{r: r, threads: 8, functions: 3000, enters: 50}).events(n)
		}},
		{"foreign", func(r *rand.Rand) []parser.Event {
			return (&generator{r: r, threads: 2, functions: 3000, enters: 50, foreign: true, tail: 5}).events(n)
		}},
		{"deep", func(r *rand.Rand) []parser.Event {
			return (&generator{r: r, threads: 1, functions: 3000, enters: 60}).events(n)
		}},
		{"hostile", func(r *rand.Rand) []parser.Event {
			list := make([]parser.Event, n)
			for i := range list {
				list[i] = parser.Event{Address: r.Uint64(), Thread: r.Uint32(), Kind: parser.Kind(r.IntN(2))}
			}
			return list
		}},
	}
	for _, l := range logs {
		b.Run(l.name, func(b *testing.B) {
			log := newLog(l.make(rand.New(rand.NewPCG(1, 1))))
			namer := testNamer
			var t *Table
			bytes := heap(func() {
				var err error
				if t, err = Build(context.Background(), log, log.runs, namer, nil); err != nil {
					b.Fatal(err)
				}
			})
			for b.Loop() {
				if _, err := Build(context.Background(), log, log.runs, namer, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Mevents/s")
			b.ReportMetric(float64(bytes)/n, "B/event")
			runtime.KeepAlive(t)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	const n = 4 << 20
	log := newLog((&generator{r: rand.New(rand.NewPCG(1, 1)), threads: 2, functions: 3000, enters: 50}).events(n))
	t, err := Build(context.Background(), log, log.runs, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]Record, 2048)
	a := t.Addresses()
	for _, find := range []bool{false, true} {
		name := "records"
		if find {
			name = "records and addresses"
		}
		b.Run(name, func(b *testing.B) {
			var from, sum int64
			for b.Loop() {
				t.Read(dst, from)
				if find {
					for k := range dst {
						i, _ := a.Find(0, 0, log.events[from+int64(k)].Address)
						sum += int64(i)
					}
				}
				from = (from + 2048) % n
			}
			b.ReportMetric(float64(b.N)*2048/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
