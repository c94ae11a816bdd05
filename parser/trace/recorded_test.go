package trace_test

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"logparser/parser"
	"logparser/parser/trace"
)

// TestRecorded reads a trace that scripts/bench/large-trace.sh has recorded.
// LOGPARSER_RECORDED_THREADS threads have called one function
// LOGPARSER_RECORDED_CALLS times each, and the first thread once more.
func TestRecorded(t *testing.T) {
	path := os.Getenv("LOGPARSER_RECORDED")
	if path == "" {
		t.Skip("LOGPARSER_RECORDED names no trace")
	}
	number := func(name string) int64 {
		n, err := strconv.ParseInt(os.Getenv(name), 10, 64)
		if err != nil || n <= 0 {
			t.Fatalf("%s: %q is no number", name, os.Getenv(name))
		}
		return n
	}
	calls, threads := number("LOGPARSER_RECORDED_CALLS"), number("LOGPARSER_RECORDED_THREADS")
	want := 2 * (calls*threads + 1)

	before := heap()
	start := time.Now()
	log, err := trace.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	opened := time.Since(start)
	memory := heap() - before
	if d := log.Info().Damage; len(d) > 0 {
		t.Errorf("damage: %v", d)
	}
	if n := log.Info().Records; n != want {
		t.Fatalf("%d events, want %d", n, want)
	}

	start = time.Now()
	dst := make([]parser.Event, 8192)
	counts := make(map[uint32]int64)
	var last int64
	var function uint64
	var most uint32
	for from := int64(0); from < want; {
		n, err := log.ReadEvents(dst, from)
		if n == 0 {
			t.Fatalf("event %d of %d: %v", from, want, err)
		}
		for i := range dst[:n] {
			e := &dst[i]
			if from == 0 && i == 0 {
				function, most = e.Address, e.Thread
			}
			k := counts[e.Thread]
			if e.Time < last || e.Address != function || e.Kind != parser.Kind(k&1) || (e.Gap != parser.NoGap) != (k == 0) {
				t.Fatalf("event %d, the %dth of its thread: %+v after %d", from+int64(i), k, *e, last)
			}
			last = e.Time
			counts[e.Thread] = k + 1
		}
		from += int64(n)
	}
	read := time.Since(start)
	if int64(len(counts)) != threads {
		t.Errorf("%d threads, want %d", len(counts), threads)
	}
	for thread, n := range counts {
		w := 2 * calls
		if thread == most {
			w += 2
		}
		if n != w {
			t.Errorf("thread %d: %d events, want %d", thread, n, w)
		}
	}
	t.Logf("%d events read in order of time, all counted and checked; opened in %.1f s with %d bytes of memory, %.1f million events/s; read in %.1f s, %.1f million events/s",
		want, opened.Seconds(), memory, float64(want)/opened.Seconds()/1e6, read.Seconds(), float64(want)/read.Seconds()/1e6)
}
