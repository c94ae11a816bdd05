package main

import (
	"bufio"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"logparser/internal/testlog/classictest"
)

// benchRecords is the size of the logs that the benchmarks read.
const benchRecords = 10_000_000

// BenchmarkSave measures the whole command, from its start to the saved file,
// and the most memory it took.
func BenchmarkSave(b *testing.B) {
	command := filepath.Join(b.TempDir(), "logparse")
	if out, err := exec.Command("go", "build", "-o", command, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	named := repeatLog(b, "../../testdata/logtest/windows-x64-clang", benchRecords)
	unnamed, _, err := classictest.WriteFiles(b.TempDir(), classictest.Spec{Records: benchRecords})
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct{ name, log, format string }{
		{"csv/named", named, "csv"},
		{"csv/unnamed", unnamed, "csv"},
		{"txt/named", named, "txt"},
		{"jsonl/named", named, "jsonl"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			out := filepath.Join(b.TempDir(), "out."+bench.format)
			var peak int64
			for b.Loop() {
				os.Remove(out)
				save := exec.Command(command, "save", bench.log, "-o", out)
				if text, err := save.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, text)
				}
				peak = max(peak, maxResident(save.ProcessState))
			}
			rows := float64(benchRecords) * float64(b.N)
			b.ReportMetric(rows/b.Elapsed().Seconds(), "rows/s")
			if peak > 0 {
				b.ReportMetric(float64(peak)/1e6, "peak-MB")
			}
		})
	}
}

// repeatLog writes a log of n records: those of a recorded run over and over,
// with ticks that go on, and its modules and symbols beside it.
func repeatLog(b *testing.B, from string, n int) string {
	b.Helper()
	dir := b.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), data, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	const size, tickAt = 24, 12
	path := filepath.Join(dir, classictest.LogName)
	records, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	tick := func(at int) uint32 { return binary.LittleEndian.Uint32(records[at+tickAt:]) }
	span := tick(len(records)-size) - tick(0)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	for written := 0; written < n; {
		for at := 0; at < len(records) && written < n; at += size {
			if written >= len(records)/size {
				binary.LittleEndian.PutUint32(records[at+tickAt:], tick(at)+span)
			}
			w.Write(records[at : at+size])
			written++
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	return path
}
