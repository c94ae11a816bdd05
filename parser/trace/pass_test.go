package trace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
)

// stands returns an error if two decoders are not at the same place.
func stands(d, o *decoder) error {
	if d.time != o.time || d.ordinal != o.ordinal || d.bufAt+int64(d.p) != o.bufAt+int64(o.p) || d.chunk != o.chunk {
		return fmt.Errorf("it is at time %d, event %d, offset %d, chunk %d, the other at %d, %d, %d, %d",
			d.time, d.ordinal, d.bufAt+int64(d.p), d.chunk, o.time, o.ordinal, o.bufAt+int64(o.p), o.chunk)
	}
	if d.windows != o.windows || d.gap != o.gap || d.base != o.base || d.unwinds != o.unwinds || !slices.Equal(d.frames, o.frames) {
		return fmt.Errorf("windows %v, gap %d, base %d, unwinds %d, frames %v, the other has %v, %d, %d, %d, %v",
			d.windows, d.gap, d.base, d.unwinds, d.frames, o.windows, o.gap, o.base, o.unwinds, o.frames)
	}
	return nil
}

// differsPass passes over a stream, some events at a time, and returns an error if the result differs from that of reading it.
func differsPass(r *rand.Rand, l *Log, s *stream) error {
	v := l.view.Load()
	read, pass := newDecoder(l.r, 1<<12), newDecoder(l.r, 1<<12)
	read.reset(s, v.epochs.times)
	pass.reset(s, v.epochs.times)
	if k := r.IntN(len(s.samples)); k > 0 {
		read.restore(s, v.epochs.times, k)
		pass.restore(s, v.epochs.times, k)
	}
	events := make([]parser.Event, 2*sampleEvery)
	for {
		n := 1 + r.IntN(1<<(1+r.IntN(13)))
		k, err := read.read(events[:n])
		if err != nil {
			return err
		}
		t, err := pass.pass(n)
		if err != nil {
			return err
		}
		if t.n != k || k > 0 && (t.first != uint64(events[0].Time) || t.last != uint64(events[k-1].Time)) {
			return fmt.Errorf("it passed %+v, but %d were read", t, k)
		}
		if err := stands(pass, read); err != nil {
			return err
		}
		if k < n {
			return nil
		}
	}
}

// TestPass passes over the streams of random programs, and compares the counts and the decoder's place with those of reading
// them.
func TestPass(t *testing.T) {
	rounds := uint64(150)
	if testing.Short() {
		rounds = 30
	}
	for seed := range rounds {
		restore := SetLoops(seed/3%2 == 0)
		r := rand.New(rand.NewPCG(seed, 29))
		p := tracetest.Random(r)
		var m tracetest.Memory
		w := tracetest.NewWriter(&m)
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		// Damage ends some chunks in the middle.
		if seed%3 == 0 {
			for range 5 {
				m.Bytes[4096+r.IntN(len(m.Bytes)-4096)] ^= 1 << r.IntN(8)
			}
		}
		l, err := New(context.Background(), &m, m.Size(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range l.view.Load().index.streams {
			if s.count == 0 {
				continue
			}
			if err := differsPass(r, l, s); err != nil {
				t.Fatalf("seed %d, %+v, stream %d: %v", seed, p, s.number, err)
			}
		}
		restore()
	}
}
