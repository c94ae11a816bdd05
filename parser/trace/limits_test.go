package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
	"logparser/message"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

// TestGranularity has file headers with any granularity, in front of 8 MiB without chunks.
func TestGranularity(t *testing.T) {
	for _, test := range []struct {
		granularity uint32
		possible    bool
	}{{0, false}, {2048, false}, {4096, true}, {3 * 4096, false}, {64 << 10, true}, {1 << 20, true}, {2 << 20, false}, {1 << 31, false}} {
		h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: test.granularity, PointerSize: 8, Rate: 1e9, State: wire.StateEnded}
		b := append(h.Append(nil), bytes.Repeat([]byte{1}, 8<<20)...)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		log, err := trace.New(ctx, bytes.NewReader(b), int64(len(b)), nil)
		cancel()
		if err != nil {
			t.Errorf("granularity %d: %v", test.granularity, err)
			continue
		}
		said := strings.Contains(log.Info().Damage[0].Reason.String(), "its sizes are impossible")
		if said == test.possible {
			t.Errorf("granularity %d: damage %v", test.granularity, log.Info().Damage)
		}
	}
}

// TestManyLeftOut has many chunks that are left out. There must be only one note of them.
func TestManyLeftOut(t *testing.T) {
	const n = 2000
	for _, test := range []struct {
		name string
		kind uint8
		want string
	}{
		{"unknown", 9, "chunks that are of a kind that is not known are left out: 2000, the first at offset 4096, 8192000 bytes in all"},
		{"unmade", 0, "chunks that were being made are left out: 2000, the first at offset 4096, 8192000 bytes in all"},
	} {
		h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity, PointerSize: 8, Rate: 1e9, State: wire.StateEnded, Flags: wire.FlagRing}
		b := h.Append(nil)
		for i := range uint32(n) {
			size := len(b) + wire.Granularity
			if test.kind > 0 {
				c := wire.ChunkHeader{Size: wire.Granularity, Kind: test.kind, Sequence: i}
				b = c.Append(b)
			}
			b = append(b, make([]byte, size-len(b))...)
			if test.kind == 0 {
				c := wire.ChunkHeader{Size: wire.Granularity, Kind: wire.ProcessChunk, Sequence: i}
				b = c.Append(b)
				b = append(b, make([]byte, wire.Granularity-wire.ChunkHeaderSize)...)
			}
		}
		log, err := trace.New(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			t.Fatal(err)
		}
		notes := message.Strings(log.Info().Notes)
		if len(notes) > 5 || !slices.Contains(notes, test.want) {
			t.Errorf("%s: %d notes: %s", test.name, len(notes), notes[:min(len(notes), 5)])
		}
	}
}

// TestManyLoads has 100,000 modules at falling addresses, then some over all of
// them. The work for each must not grow with their number.
func TestManyLoads(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.ChunkSize = 16 << 20
	const n = 66_000
	for i := range uint32(n) {
		w.Load(uint64(i), i, uint64(n-i)<<13, 4096, fmt.Sprint(i), "")
	}
	for i := range uint32(100_000 - n) {
		w.Load(uint64(n+i), n+i, n<<14, 4096, fmt.Sprint("r", i%2), "")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	log := open(t, m)
	took := time.Since(start)
	if modules, epochs := log.Modules(0).Len(), len(log.Spaces(0))/2; modules < n || epochs != 1<<15 {
		t.Errorf("%d modules, %d epochs", modules, epochs)
	}
	if notes := message.Strings(log.Info().Notes); len(notes) > 5 {
		t.Errorf("%d notes: %s", len(notes), notes[:5])
	}
	// It takes about 0.3 s. When the time was quadratic, it took 40 s. The race detector runs the short tests; with it, a loaded
	// machine takes 20 s for linear work.
	if took > 10*time.Second && !testing.Short() {
		t.Errorf("opening took %v", took)
	}
	t.Log("opening took", took)
}

// TestSnapshot has files whose first chunks are missing. That is a loss, except in a ring.
func TestSnapshot(t *testing.T) {
	for _, test := range []struct {
		flags  uint32
		damage bool
		note   string
	}{
		{0, true, ""},
		{wire.FlagSnapshot, true, "a copy that was made while the program ran"},
		{wire.FlagRing, false, ""},
		{wire.FlagRing | wire.FlagSnapshot, false, "a snapshot of a ring"},
	} {
		h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity, PointerSize: 8, Rate: 1e9, State: wire.StateEnded, Flags: test.flags}
		c := wire.ChunkHeader{Size: wire.Granularity, Kind: wire.EventsChunk, Stream: 1, Thread: 7, Sequence: 3, Used: 2}
		b := append(c.Append(h.Append(nil)), 1, 0)
		b = append(b, make([]byte, wire.HeaderSize+wire.Granularity-len(b))...)
		log, err := trace.New(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			t.Fatal(err)
		}
		damage := fmt.Sprint(log.Info().Damage)
		if strings.Contains(damage, "3 chunks are missing before this one") != test.damage || len(log.Info().Damage) > 0 != test.damage {
			t.Errorf("flags %d: damage %s", test.flags, damage)
		}
		notes := strings.Join(message.Strings(log.Info().Notes), "; ")
		if !strings.Contains(notes, test.note) || strings.Contains(notes, "a snapshot") != (test.flags == wire.FlagRing|wire.FlagSnapshot) {
			t.Errorf("flags %d: notes %s", test.flags, notes)
		}
	}
}

// TestSteps has calibrations whose local times differ from the monotonic clock.
func TestSteps(t *testing.T) {
	const wall = 1_700_000_000 // 2023-11-14 22:13:20 UTC
	type point struct {
		ns    int64 // of the monotonic clock
		wall  int64 // ns after the wall time of the first
		ahead int32
	}
	const s, hour = int64(1e9), int64(3600e9)
	early := func(at, by string) string {
		return "since 2023-11-15 " + at + " at the latest the times of day shown are " + by + ": the machine slept or its clock was set"
	}
	for _, test := range []struct {
		name   string
		points []point
		want   []string
	}{
		{"steady", []point{{s, 0, 7200}, {2 * s, s + 1000, 7200}, {100 * s, 99*s + 900_000_000, 7200}}, nil},
		{"slept", []point{{s, 0, 7200}, {2 * s, s, 7200}, {3 * s, 2*s + 8*hour, 7200}, {4 * s, 3*s + 8*hour, 7200}},
			[]string{early("00:13:22", "8h0m0s early")}},
		{"set back", []point{{s, 0, 7200}, {3 * s, 2*s - 90*s, 7200}}, []string{early("00:13:22", "1m30s late")}},
		{"end of summer", []point{{s, 0, 7200}, {3 * s, 2 * s, 3600}}, []string{early("00:13:22", "1h0m0s late")}},
		{"there and back", []point{{s, 0, 7200}, {2 * s, 11 * s, 7200}, {3 * s, 2*s + 1000, 7200}},
			[]string{early("00:13:21", "10s early"), early("00:13:22", "right again")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &tracetest.Memory{}
			w := tracetest.NewWriter(m)
			for _, p := range test.points {
				w.Clock(uint64(p.ns), uint64(p.ns), wall*s+p.wall, p.ahead)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if notes := message.Strings(open(t, m).Info().Notes); !slices.Equal(notes, test.want) {
				t.Errorf("notes %q, want %q", notes, test.want)
			}
		})
	}
	// Many steps of the clock do not make many notes.
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	for i := range int64(1000) {
		w.Clock(uint64(i*s), uint64(i*s), wall*s+i%2*hour, 0)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if notes := message.Strings(open(t, m).Info().Notes); len(notes) != 21 || notes[20] != "the clock was set or the machine slept 979 times more" {
		t.Errorf("%d notes: %q", len(notes), notes[max(len(notes), 1)-1])
	}
}

// FuzzHeaders opens files with any headers, of the file and of three chunks with some records. Their checksums are right.
func FuzzHeaders(f *testing.F) {
	const used, summed, chunkUsed, chunkSummed = 96, 80, 64, 40
	le := binary.LittleEndian
	sum := func(b []byte) uint32 {
		h := fnv.New32a()
		h.Write(b)
		return h.Sum32()
	}
	h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity, PointerSize: 8, Rate: 1e9, State: wire.StateEnded, End: 4 * wire.Granularity}
	head := h.Append(nil)[:used]
	var chunks []byte
	for i := range uint32(3) {
		c := wire.ChunkHeader{Size: wire.Granularity, Kind: wire.EventsChunk, Stream: 1, Sequence: i, Thread: 7, Used: 200, Base: uint64(i) * 1000}
		chunks = c.Append(chunks)
	}
	f.Add(head, chunks)
	ring := bytes.Clone(head)
	le.PutUint32(ring[20:], wire.FlagRing|wire.FlagSnapshot)
	f.Add(ring, chunks[chunkUsed:])
	wide := bytes.Clone(head)
	le.PutUint32(wide[16:], 2<<20)
	f.Add(wide, []byte{})
	f.Fuzz(func(t *testing.T, head, chunks []byte) {
		b := make([]byte, 4*wire.Granularity)
		copy(b, head[:min(len(head), used)])
		le.PutUint32(b[summed:], sum(b[:summed]))
		for at := wire.HeaderSize; at < len(b); at += wire.Granularity {
			c := b[at:][:wire.Granularity]
			n := copy(c[:chunkUsed], chunks)
			chunks = chunks[n:]
			le.PutUint32(c[chunkSummed:], sum(c[:chunkSummed]))
			// An annotation, an enter with its whole address, leaves.
			copy(c[chunkUsed:], "\x28\x03\x05\x00\x00\x00\x0c\x08\x01\x00\x00\x00\x00\x00\x00\x10\x40\x00\x00\x00\x00\x00\x03\x00\x03\x00")
		}
		start := time.Now()
		if _, err := check(b); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Fatalf("it took %v", took)
		}
	})
}
