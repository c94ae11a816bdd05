package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

// endings returns the states of a file whose program ends: one after each store
// and each system call of the recorder, in order (lr_end of its end.c,
// lr_file_extend and lr_begin_chunk of its file.c). A thread fills two chunks
// before the end and another one after it. If full is set, the last records of
// the process have no room in the process chunk and get a new one.
func endings(t *testing.T, full bool) (states [][]byte) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	th := w.Thread(1, 0, 7)
	for i := range uint64(200) {
		th.Enter(2000+10*i, 0x400000, tracetest.Entry)
		th.Leave(2005 + 10*i)
	}
	if full {
		for i := range uint64((4096-wire.ChunkHeaderSize)/40 - 1) {
			w.Clock(1001+i, 1001+i, 0, 0)
		}
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	end := len(m.Bytes)
	last, next := make(map[uint8]int), make(map[uint8]uint32) // by kind: the last chunk, the next one's number
	for at := wire.HeaderSize; at < end; {
		h, err := wire.ParseChunkHeader(m.Bytes[at:], wire.Granularity)
		if err != nil {
			t.Fatal(err)
		}
		last[h.Kind], next[h.Kind] = at, h.Sequence+1
		at += int(h.Size)
	}
	b := append(bytes.Clone(m.Bytes), make([]byte, 4*8192)...)
	states = append(states, bytes.Clone(b))
	put := func(at int, p []byte) {
		copy(b[at:], p)
		states = append(states, bytes.Clone(b))
	}
	cut := func(size int) {
		b = b[:size]
		states = append(states, bytes.Clone(b))
	}
	const chunkSize = 8192
	begin := func(kind uint8, stream uint32) {
		put(last[kind]+56, le.AppendUint32(nil, 1))
		at := end
		end += chunkSize
		// Some file systems make a file longer in several steps.
		for len(b) < end {
			b = append(b, make([]byte, 4096)...)
			cut(len(b))
		}
		put(88, le.AppendUint64(nil, uint64(end)))
		h := wire.ChunkHeader{Size: chunkSize, Kind: kind, Stream: stream, Sequence: next[kind], Thread: uint64(7 * stream), Base: 90_000}
		made := h.Append(nil)
		for _, field := range [][2]int{{4, 8}, {8, 12}, {12, 16}, {16, 20}, {20, 24}, {24, 32}, {32, 40}, {40, 44}, {0, 4}} {
			put(at+field[0], made[field[0]:field[1]])
		}
		last[kind], next[kind] = at, h.Sequence+1
	}
	add := func(kind uint8, p []byte) {
		at := last[kind]
		used := le.Uint32(b[at+44:])
		put(at+wire.ChunkHeaderSize+int(used), p)
		put(at+44, le.AppendUint32(nil, used+uint32(len(p))))
	}
	record := func(typ uint32, body ...byte) {
		p := le.AppendUint64(le.AppendUint32(le.AppendUint32(nil, uint32(16+len(body))), typ), 90_000)
		p = append(p, body...)
		at := last[wire.ProcessChunk]
		if wire.ChunkHeaderSize+int(le.Uint32(b[at+44:]))+len(p) > 4096 {
			begin(wire.ProcessChunk, 0)
		}
		add(wire.ProcessChunk, p)
	}
	thread := func(calls int) {
		begin(wire.EventsChunk, 1)
		// A WINDOW record, then enters and leaves.
		p := le.AppendUint64(le.AppendUint16(le.AppendUint16(nil, 2<<2|6<<8), 0), 0)
		for range calls {
			p = le.AppendUint16(le.AppendUint16(le.AppendUint32(p, 2|0x400000<<5), 1), 1<<1|1)
		}
		add(wire.EventsChunk, p)
	}
	thread(1)
	thread(1)
	record(2, le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, 90_000), 0), 0)...)
	record(15)
	cut(end)
	put(84, le.AppendUint32(nil, wire.StateEnded))
	thread(1000)
	return states
}

// A moving file goes to another state before the n-th access of its reader.
type moving struct {
	states [][]byte
	at, to int
	n      int
}

func (m *moving) now() []byte {
	if m.n--; m.n == 0 {
		m.at = m.to
	}
	return m.states[m.at]
}

func (m *moving) Size() int64 { return int64(len(m.now())) }

func (m *moving) ReadAt(p []byte, off int64) (int, error) {
	b := m.now()
	n := copy(p, b[min(off, int64(len(b))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestEnding opens a file while its program ends, and then follows it. It does that
// in each state of the file, and with the file changing from one state to another
// while it is read. Nothing may be taken for damage, and at the end nothing may be
// missing.
func TestEnding(t *testing.T) {
	for _, full := range []bool{false, true} {
		states := endings(t, full)
		step := 6
		if testing.Short() {
			step = 60
		}
		for from := range states {
			for to := len(states) - 1; to >= from; to -= step {
				// The file changes its state while it is opened, or during the first look after that.
				for n, more := 1, true; more; n++ {
					m := &moving{states: states, at: from, to: to, n: n}
					if err := ending(m); err != nil {
						t.Fatalf("full %t, from state %d to %d of %d before question %d: %v", full, from, to, len(states), n, err)
					}
					more = m.n <= 0 && to > from
				}
			}
		}
	}
}

// ending opens a file and looks at it twice, and once more when it has its last state.
func ending(m *moving) error {
	ctx := context.Background()
	log, err := trace.New(ctx, m, m.Size(), nil)
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := log.Grow(ctx); err != nil {
			return fmt.Errorf("look: %w", err)
		}
	}
	last := m.n <= 0
	if last {
		m.at = len(m.states) - 1
		for range 2 {
			if _, err := log.Grow(ctx); err != nil {
				return fmt.Errorf("last look: %w", err)
			}
		}
	}
	info := log.Info()
	if len(info.Damage) > 0 {
		return fmt.Errorf("damage %v", info.Damage)
	}
	// Events that a thread recorded behind the end may be found or not.
	if info.Records < 400 || info.Records > 2404 || last && info.Records < 404 {
		return fmt.Errorf("%d events", info.Records)
	}
	events, err := readAll(log, 1000)
	if err == nil && int64(len(events)) != info.Records {
		err = fmt.Errorf("%d of %d events are read", len(events), info.Records)
	}
	return err
}
