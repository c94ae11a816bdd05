package trace_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace"
)

// FuzzThreads compares the results of a reader of threads with those of ReadEvents. The file has the records of four chunks.
// The reader begins at any record and may number few addresses.
func FuzzThreads(f *testing.F) {
	seeds(f, func(bodies [4][]byte, what []byte) {
		f.Add(bodies[0], bodies[1], bodies[2], bodies[3], what, uint16(7), uint16(20), byte(9))
	})
	f.Fuzz(func(t *testing.T, a, b, c, d, what []byte, from, count uint16, numbers byte) {
		if len(a)+len(b)+len(c)+len(d) > 1<<16 || len(what) < 4 {
			return
		}
		defer trace.SetMaxNumbers(int(numbers))()
		file := assemble([][]byte{a, b, c, d}, what, 0)
		log, err := trace.New(context.Background(), bytes.NewReader(file), int64(len(file)), nil)
		if err != nil || log.Info().Records == 0 {
			return
		}
		total := log.Info().Records
		for _, loops := range []bool{true, false} {
			restore := trace.SetLoops(loops)
			at, n := int64(from)%total, 1+int64(count)
			r := log.ReadThreads(at)
			for refused := 0; r != nil && at < total && refused < 100; at += n {
				n = min(n, total-at)
				threads, ok := r.Next(int(n))
				if !ok {
					refused++
					continue
				}
				if err := trace.DiffersThreads(log, r, threads, at, int(n)); err != nil {
					t.Fatalf("loops %v: %v", loops, err)
				}
			}
			restore()
		}
	})
}

// seeds calls add with the records of four chunks of some programs' traces.
func seeds(f *testing.F, add func(bodies [4][]byte, what []byte)) {
	of := func(write func(w *tracetest.Writer)) {
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		write(w)
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		add(disassemble(f, m.Bytes))
	}
	for seed := range uint64(3) {
		p := tracetest.Program{Threads: 1 + int(seed), Events: 300, Functions: 5, Enters: 52, Unwind: int(seed), Returns: 50, Epochs: int(seed), Full: seed == 1, Gaps: 1, Far: 2}
		of(func(w *tracetest.Writer) { p.Write(rand.New(rand.NewPCG(seed, 2)), w) })
	}
	// Calls stay open at the ends of chunks.
	for _, left := range []int{1, 300} {
		of(func(w *tracetest.Writer) {
			th := w.Thread(1, 0, 7)
			for i := range uint64(400) {
				th.Enter(2000+i, 0x400000+i%5*64, tracetest.Entry)
			}
			for i := range uint64(3) {
				th.Left(left)
				th.Flush()
				th.Enter(3000+100*i, 0x400040, tracetest.Entry)
				th.Leave(3010 + 100*i)
				th.Leave(3020 + 100*i)
			}
		})
	}
}
