package app

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"logparser/rows"
)

// repeated makes a log of about n records by repeating a recorded run, with
// ticks that go on, beside its modules and symbols.
func repeated(b *testing.B, from string, n int) string {
	b.Helper()
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "LogDetails.dat")
	records, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	const size, tickAt = 24, 12
	tick := func(at int) uint32 { return binary.LittleEndian.Uint32(records[at+tickAt:]) }
	span := tick(len(records)-size) - tick(0)
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	for n > 0 {
		var part bytes.Buffer
		for part.Len() < 1<<20 {
			part.Write(records)
			for at := 0; at < len(records); at += size {
				binary.LittleEndian.PutUint32(records[at+tickAt:], tick(at)+span)
			}
		}
		if _, err := f.Write(part.Bytes()); err != nil {
			b.Fatal(err)
		}
		n -= part.Len() / size
	}
	return path
}

// BenchmarkSave writes a log that is open and loaded to a device that takes
// all, in every format; rows is the reading alone. The log is what
// LOGPARSER_BENCH_LOG names, or else a recorded one, repeated.
func BenchmarkSave(b *testing.B) {
	log := os.Getenv("LOGPARSER_BENCH_LOG")
	if log == "" {
		log = repeated(b, "../testdata/logtest/windows-x64-clang", 4<<20)
	}
	s, err := Open(context.Background(), Inputs{Log: log, NoIndexCache: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(context.Background(), nil); err != nil {
		b.Fatal(err)
	}
	n := s.Rows().Len()
	b.Run("rows", func(b *testing.B) {
		list := make([]rows.Row, 2048)
		for b.Loop() {
			for from := int64(0); from < n; {
				k, _ := s.Rows().Read(list, from)
				from += int64(k)
			}
		}
		b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	})
	for _, format := range SaveFormats() {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Write(context.Background(), io.Discard, format, SaveOptions{}, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
