package index_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/internal/testlog/classictest"
	"logparser/parser"
	"logparser/parser/classic"
)

// benchmarkRecords is how many records the logs of benchmarks have: what
// LOGPARSER_BENCH_RECORDS says, or 8 million.
func benchmarkRecords(b *testing.B) int64 {
	if v := os.Getenv("LOGPARSER_BENCH_RECORDS"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		return n
	}
	return 8_000_000
}

func openGenerated(b *testing.B, s classictest.Spec) parser.Log {
	path, modules, err := classictest.WriteFiles(b.TempDir(), s)
	if err != nil {
		b.Fatal(err)
	}
	log, err := classic.Open(context.Background(), path, parser.Options{ModulesFile: modules}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	return log
}

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

// BenchmarkBuild makes the index of the log that LOGPARSER_BENCH_LOG names, or
// else of generated ones.
func BenchmarkBuild(b *testing.B) {
	if log := logtest.EnvironmentLog(b); log != nil {
		b.Run("log", func(b *testing.B) { benchmarkBuild(b, log) })
		return
	}
	n := benchmarkRecords(b)
	for _, test := range []struct {
		name string
		spec classictest.Spec
	}{
		{"tiny", classictest.Spec{Tiny: true, RecordSize: 16}},
		{"graph", classictest.Spec{RecordSize: 16}},
		{"graph 24", classictest.Spec{RecordSize: 24, Threads: 1}},
	} {
		b.Run(test.name, func(b *testing.B) {
			test.spec.Records, test.spec.PerMillisecond = n, 6000
			benchmarkBuild(b, openGenerated(b, test.spec))
		})
	}
}

func benchmarkBuild(b *testing.B, log parser.Log) {
	n := log.Info().Records
	var x *index.Index
	bytes := heap(func() {
		var err error
		if x, err = index.Build(context.Background(), log, log.Info().Runs, nil, nil); err != nil {
			b.Fatal(err)
		}
	})
	for b.Loop() {
		if _, err := index.Build(context.Background(), log, log.Info().Runs, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(bytes)/float64(n), "B/event")
	runtime.KeepAlive(x)
}

func BenchmarkFill(b *testing.B) {
	log := openGenerated(b, classictest.Spec{Records: 1_000_000, RecordSize: 16})
	x, err := index.Build(context.Background(), log, log.Info().Runs, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		name string
		want index.Columns
	}{
		{"all", ^index.Columns(0)}, {"pairs", index.Depths | index.Pairs}, {"depths", index.Depths}, {"threads", index.Threads}, {"addresses", index.Addresses}, {"times", index.Times},
	} {
		b.Run(test.name, func(b *testing.B) {
			var block index.Block
			k := 0
			for b.Loop() {
				if err := x.Fill(&block, k, test.want); err != nil {
					b.Fatal(err)
				}
				k = (k + 1) % (1_000_000 / index.BlockLen)
			}
			b.ReportMetric(float64(b.N)*index.BlockLen/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// BenchmarkRead is the redraw of a window, and reading from end to end.
func BenchmarkRead(b *testing.B) {
	log := openGenerated(b, classictest.Spec{Records: 1_000_000, RecordSize: 16})
	x, err := index.Build(context.Background(), log, log.Info().Runs, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{60, 4096} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			rows := make([]calls.Record, n)
			from := int64(0)
			for b.Loop() {
				x.Read(rows, from)
				if from += int64(n); from > 900_000 {
					from = 0
				}
			}
			b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
