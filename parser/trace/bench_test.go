package trace_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

func callsTrace(b *testing.B, threads int, events int64) *tracetest.Memory {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.ChunkSize = 1 << 20
	tracetest.WriteCalls(w, threads, events)
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return m
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkOpen decodes every stream once and makes the index.
func BenchmarkOpen(b *testing.B) {
	m := callsTrace(b, 2, 8<<20)
	before := heap()
	log := open(b, m)
	bytes := heap() - before
	events := log.Info().Records
	for b.Loop() {
		if _, err := trace.New(context.Background(), m, int64(len(m.Bytes)), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(bytes)/float64(events), "B/event")
	b.ReportMetric(float64(len(m.Bytes))/float64(events), "file-B/event")
	runtime.KeepAlive(log)
}

// BenchmarkRead merges the streams from the first to the last record.
func BenchmarkRead(b *testing.B) {
	for _, t := range []struct {
		name    string
		threads int
	}{{"1", 1}, {"2", 2}, {"16", 16}, {"1000", 1000}} {
		b.Run(t.name, func(b *testing.B) {
			log := open(b, callsTrace(b, t.threads, 8<<20))
			events := log.Info().Records
			dst := make([]parser.Event, 8192)
			for b.Loop() {
				for from := int64(0); from < events; {
					n, _ := log.ReadEvents(dst, from)
					if n == 0 {
						b.Fatal("nothing read")
					}
					from += int64(n)
				}
			}
			b.ReportMetric(float64(b.N)*float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

// BenchmarkSeek reads a page of 100 events at random records.
func BenchmarkSeek(b *testing.B) {
	for _, t := range []struct {
		name    string
		threads int
	}{{"2", 2}, {"16", 16}, {"1000", 1000}} {
		b.Run(t.name, func(b *testing.B) {
			log := open(b, callsTrace(b, t.threads, 8<<20))
			r := rand.New(rand.NewPCG(1, 1))
			dst := make([]parser.Event, 100)
			for b.Loop() {
				if n, err := log.ReadEvents(dst, r.Int64N(log.Info().Records-100)); n != 100 {
					b.Fatal(err)
				}
			}
		})
	}
}
