package trace_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
)

func open(t testing.TB, m *tracetest.Memory) *trace.Log {
	t.Helper()
	log, err := trace.New(context.Background(), m, int64(len(m.Bytes)), nil)
	if err != nil {
		t.Fatal(err)
	}
	if opened++; opened%2 == 0 {
		return reopened(t, m, log)
	}
	return log
}

// opened counts opened logs. Every second log is opened again with the result of the first reading.
var opened int

// readAll reads all events in blocks of n.
func readAll(log parser.Log, n int) ([]parser.Event, error) {
	var list []parser.Event
	dst := make([]parser.Event, n)
	for {
		k, err := log.ReadEvents(dst, int64(len(list)))
		list = append(list, dst[:k]...)
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
	}
}

// TestUntimed reads everything except the times.
func TestUntimed(t *testing.T) {
	for _, threads := range []int{1, 3} {
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		tracetest.WriteCalls(w, threads, 30000)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		want, err := readAll(log, 1000)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]parser.Event, len(want))
		for from := 0; from < len(got); from += 700 {
			if _, err := log.ReadUntimed(got[from:min(from+700, len(got))], int64(from)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range got {
			got[i].Time = want[i].Time
		}
		if err := differ(got, want); err != nil {
			t.Errorf("%d threads: %v", threads, err)
		}
		// Reading without times does not change the times that are read later.
		again, err := readAll(log, 1000)
		if err == nil {
			err = differ(again, want)
		}
		if err != nil {
			t.Errorf("%d threads, read again: %v", threads, err)
		}
	}
}

func differ(got, want []parser.Event) error {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("event %d of %d: got %+v, want %+v", i, len(want), got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d events, want %d", len(got), len(want))
	}
	return nil
}

func soak(rounds int) int {
	if n, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil {
		return n
	}
	if testing.Short() {
		return max(rounds/10, 1)
	}
	return rounds
}

// TestRandom writes runs of random programs and reads them back, in order and from random records on.
func TestRandom(t *testing.T) {
	for seed := range uint64(soak(120)) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := tracetest.Random(r)
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		w.ChunkSize = 4096 << r.IntN(5)
		want := p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		log := open(t, m)
		fail := func(err error) { t.Fatalf("seed %d, %+v: %v", seed, p, err) }
		if info := log.Info(); len(info.Damage) > 0 || info.Records != int64(len(want)) {
			fail(fmt.Errorf("%d records, want %d, damage %v", info.Records, len(want), info.Damage))
		}
		got, err := readAll(log, 1+r.IntN(5000))
		if err != nil {
			fail(err)
		}
		if err := differ(got, want); err != nil {
			fail(err)
		}
		for range 20 {
			from := r.IntN(len(want))
			dst := make([]parser.Event, min(1+r.IntN(200), len(want)-from))
			if n, err := log.ReadEvents(dst, int64(from)); n < len(dst) || err != nil {
				fail(fmt.Errorf("from %d: %d of %d events, %v", from, n, len(dst), err))
			}
			if err := differ(dst, want[from:from+len(dst)]); err != nil {
				fail(fmt.Errorf("from %d: %w", from, err))
			}
		}
	}
}
