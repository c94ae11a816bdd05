package probes

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"logparser/parser"
)

// used returns the processor time of this process so far.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkRead(b *testing.B) {
	for _, file := range []string{"perf-plain.txt", "ftrace.txt", "bpftrace.txt"} {
		b.Run(file, func(b *testing.B) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				b.Fatal(err)
			}
			names, _ := os.ReadFile("testdata/names.lpnames")
			l := write(b, string(names)+strings.Repeat(string(text), 300_000/strings.Count(string(text), "\n")))
			l.order = nil
			events := make([]parser.Event, l.Info().Records)
			before := used(b)
			b.ResetTimer()
			for range b.N {
				if n, err := l.ReadEvents(events, 0); n != len(events) {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(events))/b.Elapsed().Seconds()/1e6, "Mlines/s")
			b.ReportMetric(float64(b.N)*float64(len(events))/(used(b)-before).Seconds()/1e6, "Mlines/CPU-s")
		})
	}
}
