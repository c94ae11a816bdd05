package trace

import (
	"context"
	"runtime"
	"testing"

	"logparser/internal/testlog/tracetest"
)

// written returns the trace that a function writes.
func written(t *testing.T, write func(w *tracetest.Writer)) *Log {
	t.Helper()
	var m tracetest.Memory
	w := tracetest.NewWriter(&m)
	w.Clock(1000, 1000, 0, 0)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := New(context.Background(), &m, m.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestReadThreadsAddresses has more addresses than a reader can number: the open calls of one thread use all numbers, and
// another thread, which has none yet, enters one more.
func TestReadThreadsAddresses(t *testing.T) {
	const open, from = 4, 6
	for _, full := range []bool{false, true} {
		l := written(t, func(w *tracetest.Writer) {
			w.Full = full
			a, b := w.Thread(1, 0, 7), w.Thread(2, 0, 8)
			for i := range uint64(open) {
				a.Enter(2000+i, 0x400000+64*i, tracetest.Entry)
			}
			b.Enter(2100, 0x400000, tracetest.Entry)
			b.Leave(2110)
			// The last bytes of a chunk are read by other code.
			for i := range uint64(40) {
				b.Enter(2200+20*i, 0x500000, tracetest.Entry)
				b.Leave(2210 + 20*i)
			}
			for i := range uint64(open) {
				a.Leave(4000 + i)
			}
		})
		for numbers := range open + 2 {
			restore := SetMaxNumbers(numbers)
			r := l.ReadThreads(from)
			if (r == nil) != (numbers < open) {
				t.Fatalf("full %v, %d numbers: there is a reader: %v", full, numbers, r != nil)
			}
			for i := 0; r != nil && i < 3; i++ {
				threads, ok := r.Next(10)
				if ok != (numbers > open) {
					t.Fatalf("full %v, %d numbers: events %d are read: %v", full, numbers, i, ok)
				}
				if ok {
					if err := differsThreads(l, r, threads, from+10*int64(i), 10); err != nil {
						t.Errorf("full %v, %d numbers: %v", full, numbers, err)
					}
				}
			}
			restore()
		}
	}
}

// TestReadThreadsDeep has deep stacks that change again and again in other ways than by enters and leaves. The reader must not
// visit the whole stack each time.
func TestReadThreadsDeep(t *testing.T) {
	const deep, ordinary = 20_000, 5000
	enters := func(th *tracetest.Thread, time uint64, n int) uint64 {
		for range n {
			time += 10
			th.Enter(time, 0x400000+time%7*64, tracetest.Entry)
		}
		return time
	}
	for _, test := range []struct {
		name  string
		write func(th *tracetest.Thread, time uint64) uint64
		// readable says that the records after it can be read thread by thread.
		readable bool
	}{
		{"a call is left at the end of each chunk", func(th *tracetest.Thread, time uint64) uint64 {
			for range 300 {
				time = enters(th, time, 1)
				th.Left(1)
				th.Flush()
			}
			return time
		}, true},
		{"more calls are left than an event can say", func(th *tracetest.Thread, time uint64) uint64 {
			for range 300 {
				th.Left(300)
				time = enters(th, time, 300)
			}
			return time
		}, false},
	} {
		l := written(t, func(w *tracetest.Writer) {
			th := w.Thread(1, 0, 7)
			th.NoStack = true
			time := enters(th, 2000, deep)
			time = test.write(th, time)
			for range ordinary {
				time = enters(th, time, 1)
				time += 10
				th.Leave(time)
			}
		})
		total := l.Info().Records
		r := l.ReadThreads(0)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range (total - ordinary) / 100 {
			r.Next(100)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes allocated", test.name, n)
		}
		// From here on the calls are ordinary.
		from := (total - ordinary) / 100 * 100
		threads, ok := r.Next(1000)
		if ok != test.readable {
			t.Fatalf("%s: what is behind it is read: %v", test.name, ok)
		}
		if ok {
			if err := differsThreads(l, r, threads, from, 1000); err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
		}
	}
}
