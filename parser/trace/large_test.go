package trace_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

// TestLarge writes and reads a trace of LOGPARSER_LARGE million events. With 300, and whole addresses, the file has more than
// 4 GiB.
func TestLarge(t *testing.T) {
	millions, err := strconv.Atoi(os.Getenv("LOGPARSER_LARGE"))
	if err != nil {
		t.Skip("LOGPARSER_LARGE is not a number of million events")
	}
	path := filepath.Join(t.TempDir(), "large.lptrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tracetest.NewWriter(f)
	w.ChunkSize = 1 << 20
	w.Full = os.Getenv("LOGPARSER_LARGE_FULL") != ""
	want := tracetest.WriteCalls(w, 2, int64(millions)*1e6)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	before := heap()
	start := time.Now()
	log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	opened := time.Since(start)
	memory := heap() - before
	start = time.Now()
	dst := make([]parser.Event, 8192)
	last := int64(0)
	for from := int64(0); from < want; {
		n, err := log.ReadEvents(dst, from)
		if n == 0 {
			t.Fatalf("event %d of %d: %v", from, want, err)
		}
		for i := range dst[:n] {
			if dst[i].Time < last || dst[i].Address == 0 {
				t.Fatalf("event %d: %+v after %d", from+int64(i), dst[i], last)
			}
			last = dst[i].Time
		}
		from += int64(n)
	}
	read := time.Since(start)
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if n := log.Info().Records; n != want {
		t.Errorf("%d events, want %d", n, want)
	}
	t.Logf("%d events, %d bytes; opened in %v with %d bytes of memory, %.1f M events/s; read in %v, %.1f M events/s",
		want, st.Size(), opened, memory, float64(want)/opened.Seconds()/1e6, read, float64(want)/read.Seconds()/1e6)
	runtime.KeepAlive(log)
}

// TestManyThreads has 10,000 threads, one after another and at the same time.
func TestManyThreads(t *testing.T) {
	for _, together := range []bool{false, true} {
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		const threads, each = 10_000, 40
		now := uint64(5000)
		list := make([]*tracetest.Thread, threads)
		for i := range list {
			list[i] = w.Thread(uint32(i+1), 0, uint64(1+i))
		}
		event := func(i, k int) {
			now += 3
			if k%2 == 0 {
				list[i].Enter(now, 0x400000+uint64(k)*16, tracetest.Entry)
			} else {
				list[i].Leave(now)
			}
		}
		for a := range threads * each {
			if together {
				event(a%threads, a/threads)
			} else {
				event(a/each, a%each)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		before := heap()
		log := open(t, m)
		memory := heap() - before
		events, err := readAll(log, 8192)
		if err != nil || len(events) != threads*each {
			t.Fatalf("%d events: %v", len(events), err)
		}
		for i := range events {
			if i > 0 && events[i].Time < events[i-1].Time {
				t.Fatalf("time runs back at event %d", i)
			}
		}
		if n := memory / threads; n > 2000 {
			t.Errorf("%d bytes of memory a thread", n)
		}
	}
}
