package classic

import (
	"context"
	"fmt"
	"os"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/parser"
)

// benchmarkRecords is the size of the logs below: 160 and 240 MB.
const benchmarkRecords = 10_000_000

func benchmarkLog(b *testing.B, size int) (path, modulesFile string) {
	b.Helper()
	path, modulesFile, err := classictest.WriteFiles(b.TempDir(), classictest.Spec{Records: benchmarkRecords, RecordSize: size})
	if err != nil {
		b.Fatal(err)
	}
	return path, modulesFile
}

func perSecond(b *testing.B, records int64) {
	b.ReportMetric(float64(records)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

func BenchmarkOpen(b *testing.B) {
	for _, size := range []int{Size32, Size64} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			path, mods := benchmarkLog(b, size)
			b.ReportAllocs()
			for b.Loop() {
				l, err := Open(context.Background(), path, parser.Options{ModulesFile: mods}, nil)
				if err != nil || l.Info().Records != benchmarkRecords || len(l.Info().Damage) > 0 {
					b.Fatal(err)
				}
				l.Close()
			}
			perSecond(b, benchmarkRecords)
		})
	}
}

func BenchmarkReadEvents(b *testing.B) {
	for _, size := range []int{Size32, Size64} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			path, mods := benchmarkLog(b, size)
			l, err := Open(context.Background(), path, parser.Options{ModulesFile: mods}, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			events := make([]parser.Event, 4096)
			b.ReportAllocs()
			for b.Loop() {
				for from := int64(0); from < benchmarkRecords; from += int64(len(events)) {
					if n, err := l.ReadEvents(events, from); n == 0 {
						b.Fatal(err)
					}
				}
			}
			perSecond(b, benchmarkRecords)
		})
	}
}

// BenchmarkDecode is ReadEvents without the reading.
func BenchmarkDecode(b *testing.B) {
	const n = 4096
	events := make([]parser.Event, n)
	for _, size := range []int{Size32, Size64} {
		log, _ := generate(b, classictest.Spec{Records: n, RecordSize: size})
		l := &view{size: size, epochs: []epoch{{}}}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				l.decode(events, log, 0)
			}
			perSecond(b, n)
		})
	}
}

// BenchmarkOpenDamaged opens a log with a damaged record in every chunk, which
// takes the slow way everywhere.
func BenchmarkOpenDamaged(b *testing.B) {
	path, _ := benchmarkLog(b, Size64)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for i := int64(500); i < benchmarkRecords; i += chunkRecords {
		if _, err := f.WriteAt([]byte{0x55}, i*Size64+16); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		l, err := Open(context.Background(), path, parser.Options{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
	perSecond(b, benchmarkRecords)
}
