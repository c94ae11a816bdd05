package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

// small returns a trace of two threads with about 64 KiB, and its events.
func small(t testing.TB) (*tracetest.Memory, []parser.Event) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	p := tracetest.Program{Threads: 2, Events: 11500, Functions: 50, Enters: 50, Unwind: 1, Far: 1}
	want := p.Write(rand.New(rand.NewPCG(1, 1)), w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Bytes); n < 60<<10 || n > 72<<10 {
		t.Fatalf("%d bytes", n)
	}
	return m, want
}

// subsequence reports whether all events are among others, in the same order. The addresses of leaves are not compared, because
// the reader takes them from the calls before.
func subsequence(events, others []parser.Event) bool {
	for _, e := range events {
		i := slices.IndexFunc(others, func(o parser.Event) bool {
			return o.Time == e.Time && o.Thread == e.Thread && o.Kind == e.Kind
		})
		if i < 0 {
			return false
		}
		others = others[i+1:]
	}
	return true
}

// TestCut cuts a file at every byte, and reads what is left.
func TestCut(t *testing.T) {
	m, want := small(t)
	step := 1
	if testing.Short() {
		step = 211 // a prime, so that the cuts hit all parts of records
	}
	before := 0
	for n := 0; n <= len(m.Bytes); n += step {
		log, err := trace.New(context.Background(), bytes.NewReader(m.Bytes[:n]), int64(n), nil)
		if err != nil {
			if n >= wire.HeaderSize {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		info := log.Info()
		if len(info.Damage) == 0 && int(info.Records) < len(want) {
			t.Fatalf("cut at %d: no damage", n)
		}
		if int(info.Records) < before {
			t.Fatalf("cut at %d: %d events, and %d of a shorter file", n, info.Records, before)
		}
		before = int(info.Records)
		if n%64 != 0 && n < len(m.Bytes) {
			continue
		}
		got, err := readAll(log, 5000)
		if err != nil || len(got) != before {
			t.Fatalf("cut at %d: %d of %d events: %v", n, len(got), before, err)
		}
		// Without the second calibration the nominal rate is used, which is the
		// same.
		if !subsequence(got, want) {
			t.Fatalf("cut at %d: events that were not written", n)
		}
	}
	if before != len(want) {
		t.Fatalf("%d events, want %d", before, len(want))
	}
}

// check reads all of a file. Reading must not panic, times must be in order, and there must be as many events and annotations as
// announced.
func check(b []byte) (*trace.Log, error) {
	log, err := trace.New(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return nil, nil
	}
	events, err := readAll(log, 3000)
	if err != nil {
		return nil, err
	}
	if int64(len(events)) != log.Info().Records {
		return nil, fmt.Errorf("%d events, %d announced", len(events), log.Info().Records)
	}
	spaces := log.Spaces(0)
	for i := range events {
		if i > 0 && events[i].Time < events[i-1].Time {
			return nil, fmt.Errorf("time runs back at event %d", i)
		}
		if int(events[i].Space) >= len(spaces) {
			return nil, fmt.Errorf("event %d has space %d of %d", i, events[i].Space, len(spaces))
		}
	}
	for k := len(events) / 2; k < min(len(events), len(events)/2+3); k++ {
		var one [1]parser.Event
		if _, err := log.ReadEvents(one[:], int64(k)); err != nil || one[0] != events[k] {
			return nil, fmt.Errorf("event %d read alone is %+v, not %+v: %v", k, one[0], events[k], err)
		}
	}
	texts, counters := log.AnnotationCount(0)
	annotations, err := readAnnotations(log, math.MinInt64)
	if err != nil || int64(len(annotations)) != texts+counters {
		return nil, fmt.Errorf("%d annotations of %d, %w", len(annotations), texts+counters, err)
	}
	if by := log.ValuesTaken(); by != nil {
		values := make([]parser.CallValues, len(events))
		if _, err := log.Values(values, 0); err != nil && err != io.EOF {
			return nil, err
		}
		for i := range values {
			if v := &values[i]; v.By != nil && v.Form == parser.NoValues && len(v.Given) == 0 || v.By != nil && v.By != by {
				return nil, fmt.Errorf("event %d has the values %+v", i, v)
			}
		}
	}
	return log, nil
}

// checkHead opens the beginning of a file. Its events must be the first ones of the whole file. Calls that end behind them must
// end after they began.
func checkHead(b []byte, log *trace.Log) error {
	events, err := readAll(log, 3000)
	if err != nil {
		return err
	}
	head, err := trace.OpenHeadOf(bytes.NewReader(b), int64(len(b)), int64(len(events)/3))
	if err != nil || head.HasStacks() {
		return nil
	}
	first, err := readAll(head, 1000)
	if err != nil {
		return err
	}
	if len(first) > len(events) {
		return fmt.Errorf("%d events, the beginning has %d", len(events), len(first))
	}
	if err := differ(first, events[:len(first)]); err != nil {
		return fmt.Errorf("of the beginning: %w", err)
	}
	var enters []int64
	for i := range first {
		if first[i].Kind == parser.Enter {
			enters = append(enters, int64(i))
		}
	}
	ends, err := head.CallEnds(context.Background(), enters)
	if err != nil {
		return err
	}
	for record, at := range ends {
		if at < first[len(first)-1].Time || at < first[record].Time {
			return fmt.Errorf("the call of event %d ends at %d, among those of the beginning", record, at)
		}
	}
	return nil
}

// TestRandomBytes changes 16 bytes at random.
func TestRandomBytes(t *testing.T) {
	m, want := small(t)
	rounds := soak(300)
	kept, opened := 0, 0
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := bytes.Clone(m.Bytes)
		for range 16 {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		log, err := check(b)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if log != nil {
			if err := checkHead(b, log); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			opened++
			kept += int(log.Info().Records)
		}
	}
	if opened != rounds {
		t.Errorf("%d of %d damaged files open", opened, rounds)
	}
	// Most changes hit records and only make some events wrong. Few hit a header,
	// which costs a chunk.
	if kept < opened*len(want)/2 {
		t.Errorf("%d of %d events are left", kept/opened, len(want))
	}
}

// TestResume damages the header of a chunk in the middle. Only its events are
// gone, and the calls that are open behind it are known.
func TestResume(t *testing.T) {
	m, want := small(t)
	at := 8 * 4096
	lost := bytes.Clone(m.Bytes)
	lost[at+20]++
	log, err := check(lost)
	if err != nil {
		t.Fatal(err)
	}
	info := log.Info()
	var said []string
	for _, d := range info.Damage {
		said = append(said, fmt.Sprintf("%d+%d %s", d.Offset, d.Bytes, d.Reason))
	}
	if s := strings.Join(said, "; "); !strings.Contains(s, "32768+4096 no chunk here: the checksum is wrong") ||
		!strings.Contains(s, "1 chunks are missing before this one") || len(said) != 2 {
		t.Errorf("damage: %s", s)
	}
	got, _ := readAll(log, 1000)
	if !subsequence(got, want) {
		t.Error("events that were not written")
	}
	if n := len(want) - len(got); n < 500 || n > 2016 {
		t.Errorf("%d events are missing", n)
	}
	// Each leave that is found has the address that was written.
	byTime := make(map[[2]int64][]parser.Event)
	for _, e := range want {
		e.Gap = parser.NoGap
		k := [2]int64{e.Time, int64(e.Thread)}
		byTime[k] = append(byTime[k], e)
	}
	for _, e := range got {
		e.Gap = parser.NoGap
		if !slices.Contains(byTime[[2]int64{e.Time, int64(e.Thread)}], e) {
			t.Fatalf("%+v was not written", e)
		}
	}
}

// TestShrunk cuts a file while it is open.
func TestShrunk(t *testing.T) {
	m, _ := small(t)
	log := open(t, m)
	m.Bytes = m.Bytes[:len(m.Bytes)/2]
	if _, err := readAll(log, 1000); !errors.Is(err, parser.ErrShrunk) {
		t.Errorf("error %v", err)
	}
}

// failing is a file of which the bytes from an offset on cannot be read.
type failing struct {
	io.ReaderAt
	from int64
}

var errDisk = errors.New("input/output error")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(p, off)
}

func TestReadError(t *testing.T) {
	m, _ := small(t)
	for from := 0; from < len(m.Bytes)-4096; from += 3000 {
		if _, err := trace.New(context.Background(), failing{m, int64(from)}, int64(len(m.Bytes)), nil); !errors.Is(err, errDisk) {
			t.Errorf("unreadable from %d: %v", from, err)
		}
	}
}

func TestCancel(t *testing.T) {
	m, _ := small(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := trace.New(ctx, m, int64(len(m.Bytes)), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestVersion has files of other major versions, earlier and later ones.
func TestVersion(t *testing.T) {
	for _, major := range []uint16{0, 2, 65535} {
		h := wire.Header{Major: major, Minor: 9, Size: wire.HeaderSize, Granularity: wire.Granularity, Rate: 1e9}
		b := h.Append(nil)
		_, err := trace.New(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		want := fmt.Sprintf("version %d.9: this is no trace of version 1, which alone can be read", major)
		if !errors.Is(err, trace.ErrVersion) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestHostile has files whose numbers would make a careless reader use much memory or time.
func TestHostile(t *testing.T) {
	le := binary.LittleEndian
	chunk := func(body []byte) []byte {
		h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity, Rate: 1e9}
		c := wire.ChunkHeader{Kind: wire.EventsChunk, Stream: 1, Thread: 7, Used: uint32(len(body))}
		c.Size = uint32(wire.ChunkHeaderSize+len(body)+4095) &^ 4095
		b := append(c.Append(h.Append(nil)), body...)
		return append(b, make([]byte, int(c.Size)-wire.ChunkHeaderSize-len(body))...)
	}
	enter := func(b []byte, a uint64) []byte {
		return le.AppendUint64(append(le.AppendUint16(b, 3<<2|8<<8), 1, 0, 0, 0, 0, 0), a)
	}
	leave := func(b []byte, a uint64) []byte {
		return le.AppendUint64(append(le.AppendUint16(b, 5<<2|8<<8), 1, 0, 0, 0, 0, 0), a)
	}
	var deep, stack []byte
	for i := range uint64(50_000) {
		deep = enter(deep, i)
	}
	for i := range uint64(50_000) {
		deep = leave(deep, 1<<40+i)
	}
	stack = le.AppendUint32(le.AppendUint16(nil, 9<<2), 16)
	stack = append(stack, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255)
	tests := []struct {
		name   string
		body   []byte
		events int64
	}{
		{"50,000 stray leaves on 50,000 calls", deep, 100_000},
		{"a stack of 2^32 calls", stack, 0},
		{"leaves of unknown calls", bytes.Repeat([]byte{1, 0}, 100_000), 100_000},
		{"padding", make([]byte, 1<<20), 0},
		{"a window that is not set", []byte{2, 0, 0, 0, 0, 0}, 0},
		{"a time beyond all bounds", append(le.AppendUint16(nil, 1<<2|5<<8), bytes.Repeat([]byte{255}, 8)...), 0},
		{"a record of length 0", append(le.AppendUint16(nil, 20<<2), 0, 0, 0, 0), 0},
		{"a record beyond the end", append(le.AppendUint16(nil, 20<<2), 0, 0, 0, 16), 0},
		{"a type that must be known", le.AppendUint16(nil, 50<<2|1<<8), 0},
		{"a type that may be skipped", append(le.AppendUint16(nil, 40<<2|1<<8), 1, 0), 1},
		{"half an enter", append(append(le.AppendUint16(nil, 2<<2|6<<8), make([]byte, 10)...), 2, 0, 0, 0), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			log, err := check(chunk(test.body))
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			if n := log.Info().Records; n != test.events {
				t.Errorf("%d events, want %d; damage %v", n, test.events, log.Info().Damage)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

// assemble makes a file from the records of chunks. For each chunk, a byte of what gives its kind, stream and level.
func assemble(chunks [][]byte, what []byte, flags uint32) []byte {
	h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity, Rate: 1e9, PointerSize: 8, Flags: flags}
	b := h.Append(nil)
	sequence := make(map[byte]uint32)
	for i, body := range chunks {
		w := what[i]
		c := wire.ChunkHeader{Kind: wire.EventsChunk, Stream: uint32(w & 3), Level: w >> 2 & 1, Thread: uint64(w & 1),
			Sequence: sequence[w&7], Used: uint32(len(body)), Base: uint64(i) * 1000, Lost: uint32(w >> 7)}
		if w&8 != 0 {
			c.Kind, c.Stream = wire.ProcessChunk, 0
		}
		sequence[w&7] += 1 + uint32(w>>6&1)
		c.Size = uint32(wire.ChunkHeaderSize+len(body)+4095) &^ 4095
		b = append(c.Append(b), body...)
		b = append(b, make([]byte, int(c.Size)-wire.ChunkHeaderSize-len(body))...)
	}
	return b
}

// disassemble returns the records of the first chunks of a file, and what assemble needs to make such chunks of them.
func disassemble(t testing.TB, file []byte) (bodies [4][]byte, what []byte) {
	at := wire.HeaderSize
	for i := 0; i < len(bodies) && at < len(file); i++ {
		h, err := wire.ParseChunkHeader(file[at:], wire.Granularity)
		if err != nil {
			t.Fatal(err)
		}
		bodies[i] = file[at+wire.ChunkHeaderSize:][:h.Used]
		w := byte(h.Stream) | h.Level<<2
		if h.Kind == wire.ProcessChunk {
			w = 8
		}
		what = append(what, w)
		at += int(h.Size)
	}
	return bodies, append(what, make([]byte, len(bodies)-len(what))...)
}

func FuzzTrace(f *testing.F) {
	for seed := range uint64(4) {
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		p := tracetest.Program{Threads: 1, Events: 60, Functions: 5, Enters: 60, Unwind: 5, Handler: 10, Returns: 50, Epochs: int(seed), Full: seed == 3, Gaps: 1, Far: 2}
		p.Write(rand.New(rand.NewPCG(seed, 1)), w)
		if seed == 1 {
			w.Record(wire.CrashRecord, 9000, wire.AppendBody(nil, aCrash()))
		}
		if seed == 2 {
			w.Record(wire.PlanRecord, 900, tracetest.Plan("lpvalues 1\n", 0, 11))
			w.Record(wire.PlaceRecord, 900, placeRecord(1, 1, "a", 1))
			th := w.Thread(1, 0, 7)
			th.Enter(9500, 0x400000, tracetest.Entry)
			th.Raw(wire.AppendValues(nil, wire.Arguments, 1, []byte{1, 2}))
			th.Raw(wire.AppendValues(nil, wire.Result, 3, []byte{1, 0, 0, 0, 5, 0, 0, 0}))
			th.Raw(wire.AppendPlaceValues(nil, wire.PlaceResult, 1, []byte{6, 0, 0, 0}))
			th.Leave(9600)
			th.Raw(wire.AppendPlanValues(nil, wire.PlanResult, []byte{1, 2}))
			th.Enter(9700, 0x400000, tracetest.Entry)
			th.Leave(9800)
			th.Raw(wire.AppendValues(nil, wire.Result, uint16(wire.Jumped), nil))
			th.Enter(9900, 0x400040, tracetest.Entry)
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		bodies, what := disassemble(f, m.Bytes)
		f.Add(bodies[0], bodies[1], bodies[2], bodies[3], what, byte(0))
	}
	f.Fuzz(func(t *testing.T, a, b, c, d, what []byte, flags byte) {
		if len(a)+len(b)+len(c)+len(d) > 1<<20 || len(what) < 4 {
			return
		}
		file := assemble([][]byte{a, b, c, d}, what, uint32(flags))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		log, err := check(file)
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20+64*uint64(len(file)) {
			t.Fatalf("%d bytes allocated for %d", n, len(file))
		}
		if log != nil {
			if err := checkHead(file, log); err != nil {
				t.Fatal(err)
			}
		}
	})
}
