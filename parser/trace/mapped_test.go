package trace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

// openFile writes a trace of two threads to a file and opens it.
func openFile(t *testing.T) (path string, log *trace.Log, m *tracetest.Memory) {
	t.Helper()
	m = &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.ChunkSize = 1 << 16
	tracetest.WriteCalls(w, 2, 200_000)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "mapped.lptrace")
	if err := os.WriteFile(path, m.Bytes, 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return path, log, m
}

// TestMapped reads the same events from a file, which may be mapped, and from memory.
func TestMapped(t *testing.T) {
	_, log, m := openFile(t)
	want, err := readAll(open(t, m), 1000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(log, 777)
	if err != nil {
		t.Fatal(err)
	}
	if err := differ(got, want); err != nil {
		t.Error(err)
	}
}

// TestCutWhileMapped cuts a file that is open, also in the middle of reading. An error must say so, and all events before the cut
// must still be found.
func TestCutWhileMapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file is not cut here")
	}
	path, log, m := openFile(t)
	want, err := readAll(open(t, m), 1000)
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]parser.Event, 5000)
	if _, err := log.ReadEvents(dst, 1000); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(m.Bytes)/2)); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(log, 1000)
	if !errors.Is(err, parser.ErrShrunk) {
		t.Errorf("error %v", err)
	}
	if len(got) < len(want)/4 {
		t.Errorf("%d of %d events", len(got), len(want))
	}
	for i, e := range got {
		if e != want[i] {
			t.Fatalf("event %d: %+v, want %+v", i, e, want[i])
		}
	}
}

// TestCutWhileReadingCalls cuts a file while its calls, and the calls of its threads, are read: the loops in assembly find that the mapped file
// has no more bytes.
func TestCutWhileReadingCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file is not cut here")
	}
	for _, loops := range []bool{true, false} {
		restore := trace.SetLoops(loops)
		path, log, m := openFile(t)
		source, threads := log.Calls(log.Info().Records), log.ReadThreads(0)
		reader, calls := source.Reader(describeCall), make([]parser.Call, 500)
		if err := os.Truncate(path, int64(len(m.Bytes)/2)); err != nil {
			t.Fatal(err)
		}
		read, failed := 0, 0
		for i := range source.Parts() {
			if !reader.Begin(&source.Parts()[i]) {
				failed++
				continue
			}
			for {
				n, ended, ok := reader.Next(calls)
				if !ok {
					failed++
				}
				if read += n; !ok || n == 0 && ended == nil {
					break
				}
			}
		}
		if read < 10_000 || failed == 0 {
			t.Errorf("loops %v: %d calls were read, and %d parts not to their end", loops, read, failed)
		}
		events := int64(0)
		for ok := true; ok && events < log.Info().Records; events += 1000 {
			_, ok = threads.Next(1000)
		}
		if events >= log.Info().Records {
			t.Errorf("loops %v: %d events of threads were read", loops, events)
		}
		restore()
	}
}

// TestCloseWhileReading closes a log while other goroutines read it.
func TestCloseWhileReading(t *testing.T) {
	_, log, _ := openFile(t)
	var readers, started sync.WaitGroup
	for range 3 {
		started.Add(1)
		readers.Add(1)
		go func() {
			defer readers.Done()
			dst := make([]parser.Event, 1000)
			n, err := log.ReadEvents(dst, 0)
			started.Done()
			for from := int64(n); err == nil; from = (from + int64(n)) % 100_000 {
				n, err = log.ReadEvents(dst, from)
			}
			if !errors.Is(err, os.ErrClosed) {
				t.Errorf("error %v", err)
			}
		}()
	}
	started.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	readers.Wait()
}
