package trace_test

import (
	"context"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

// A between is a file in memory that changes just after a certain part of it was read.
type between struct {
	*tracetest.Memory
	length int
	happen func()
}

func (b *between) ReadAt(p []byte, off int64) (int, error) {
	n, err := b.Memory.ReadAt(p, off)
	if f := b.happen; f != nil && len(p) == b.length {
		b.happen = nil
		f()
	}
	return n, err
}

// TestGrowBetween fills a chunk and begins the next one after the reader has read how much of the chunk is used, and before it
// looks for new chunks. No event may be lost.
func TestGrowBetween(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	th := w.Thread(1, 0, 7)
	now := uint64(1000)
	call := func(n int) {
		for range n {
			now += 1e8
			th.Enter(now, 0x400000, tracetest.Entry)
			th.Leave(now + 10)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	call(10)
	// The recorder makes the file longer in advance.
	if _, err := m.WriteAt(make([]byte, 1<<20), m.Size()); err != nil {
		t.Fatal(err)
	}
	file := &between{Memory: m, length: wire.ChunkHeaderSize}
	log, err := trace.New(context.Background(), file, m.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	call(10)
	// Chunks have 4,096 bytes, a call 20 at most here.
	file.happen = func() { call(400) }
	if _, err := log.Grow(context.Background()); err != nil {
		t.Fatal(err)
	}
	if file.happen != nil {
		t.Fatal("nothing has happened")
	}
	call(1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if growth, err := log.Grow(context.Background()); err != nil || !growth.Ended {
		t.Fatalf("%+v, %v", growth, err)
	}
	if n := log.Info().Records; n != 2*421 {
		t.Errorf("%d events, want %d", n, 2*421)
	}
}

// A sized is a file in memory that changes just after its size was read.
type sized struct {
	*tracetest.Memory
	happen func()
}

func (b *sized) Size() int64 {
	n := b.Memory.Size()
	if f := b.happen; f != nil {
		b.happen = nil
		f()
	}
	return n
}

// TestEndBetweenLooks has a program that writes more and ends after the reader has asked for the size, and before it reads the
// header.
func TestEndBetweenLooks(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	th := w.Thread(1, 0, 7)
	now := uint64(1000)
	call := func(n int) {
		for range n {
			now += 1e8
			th.Enter(now, 0x400000, tracetest.Entry)
			th.Leave(now + 10)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	call(10)
	file := &sized{Memory: m}
	log, err := trace.New(context.Background(), file, m.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	file.happen = func() {
		call(1000)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := log.Grow(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := log.Info().Records; n != 2*1010 {
		t.Errorf("%d events, want %d; damage %v", n, 2*1010, log.Info().Damage)
	}
}
