package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
)

// aCrash is the record of a read of address 8 in a function at 0x401130.
func aCrash() wire.Crash {
	registers := make([]byte, 18*8)
	binary.LittleEndian.PutUint64(registers[7*8:], 0x7ffe0100)
	binary.LittleEndian.PutUint64(registers[16*8:], 0x401130)
	return wire.Crash{Stream: 1, Kind: wire.CrashSignal, Thread: 7, Code: 11, Detail: 1, Address: 8, Flags: wire.CrashAddressKnown,
		Access: wire.CrashRead, Registers: registers, Name: "main", CodeAt: 0x401120, CodeBytes: make([]byte, 64),
		StackAt: 0x7ffe0080, Stack: make([]byte, 256),
		Memory: []byte{0, 16, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0x55, 0xaa}}
}

// crashed returns a trace with an open call and a crash. Its state is still that of a running recording.
func crashed(t *testing.T, body []byte) []byte {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	w.Load(1000, 1, 0x400000, 0x10000, "/bin/a", "")
	th := w.Thread(1, 0, 7)
	th.Enter(2000, 0x401100, tracetest.Entry)
	w.Record(wire.CrashRecord, 3000, body)
	w.Header.State = wire.StateRecording
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return m.Bytes
}

func openTrace(t *testing.T, b []byte) *trace.Log {
	t.Helper()
	log, err := trace.New(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestCrash(t *testing.T) {
	log := openTrace(t, crashed(t, wire.AppendBody(nil, aCrash())))
	list := log.Crashes(0)
	if len(list) != 1 {
		t.Fatalf("%d crashes", len(list))
	}
	c := list[0]
	if c.Thread != 7 || c.IP != 0x401130 || c.SP != 0x7ffe0100 || len(c.Registers) != 18 || c.Time != 3000 || c.Machine != parser.X86_64 {
		t.Errorf("%+v", c)
	}
	if len(c.Memory) != 1 || c.Memory[0].Address != 0x1000 || !bytes.Equal(c.Memory[0].Bytes, []byte{0x55, 0xaa}) {
		t.Errorf("memory: %+v", c.Memory)
	}
	if m := log.Modules(0); m.Len() != 1 {
		t.Errorf("%d modules", m.Len())
	}
	if !c.AddressKnown || c.Address != 8 || c.Access != parser.ReadAccess {
		t.Errorf("%+v", c)
	}
	if at, exact := log.End(); at != 3000 || !exact {
		t.Errorf("the end is %d, %v", at, exact)
	}
	notes := message.Strings(log.Info().Notes)
	if !slices.Contains(notes, "the program ended by signal 11, SIGSEGV") {
		t.Errorf("notes: %q", notes)
	}
}

// TestCrashCauses checks the names of crashes.
func TestCrashCauses(t *testing.T) {
	for _, tt := range []struct {
		crash parser.Crash
		want  string
	}{
		{parser.Crash{Kind: parser.SignalCrash, Code: 11, Detail: 128}, "signal 11, SIGSEGV"},
		{parser.Crash{Kind: parser.SignalCrash, Code: 40}, "signal 40"},
		{parser.Crash{Kind: parser.ExceptionCrash, Code: 0xc0000005}, "exception C0000005, ACCESS_VIOLATION"},
		{parser.Crash{Kind: parser.ExceptionCrash, Code: 0xe0000001}, "exception E0000001"},
		{parser.Crash{Kind: parser.AbortCrash}, "a call of abort"},
		{parser.Crash{Kind: parser.TerminateCrash}, "a C++ exception that nobody caught"},
		{parser.Crash{Kind: parser.TerminateCrash, Detail: 1}, "a call of terminate"},
		{parser.Crash{Kind: 77}, "a crash of kind 77, which this version does not know"},
	} {
		if got := tt.crash.Cause().String(); got != tt.want {
			t.Errorf("%q; want %q", got, tt.want)
		}
	}
}

// TestCrashHandled has a crash for which a handler of the program was called. The program may have continued; an END record
// says that it did.
func TestCrashHandled(t *testing.T) {
	r := aCrash()
	r.Flags |= wire.CrashHandled
	log := openTrace(t, crashed(t, wire.AppendBody(nil, r)))
	if _, exact := log.End(); exact || len(log.Crashes(0)) != 1 {
		t.Errorf("the end is exact: %v; %d crashes", exact, len(log.Crashes(0)))
	}
}

// TestDamagedCrash cuts the record at many lengths, and gives it lengths that are too large. The fields before the cut must be
// read, and no others.
func TestDamagedCrash(t *testing.T) {
	whole := wire.AppendBody(nil, aCrash())
	// If only some of the last 8 bytes are missing, these may be padding.
	for n := 0; n+8 < len(whole); n += 7 {
		log := openTrace(t, crashed(t, whole[:n]))
		if len(log.Info().Damage) == 0 {
			t.Fatalf("%d of %d bytes are no damage", n, len(whole))
		}
		for _, c := range log.Crashes(0) {
			if len(c.Registers) != 18 {
				t.Fatalf("%d bytes: %+v", n, c)
			}
		}
	}
	long := aCrash()
	long.Stack = make([]byte, 2<<20)
	log := openTrace(t, crashed(t, wire.AppendBody(nil, long)))
	if len(log.Crashes(0)) != 0 || len(log.Info().Damage) != 1 {
		t.Errorf("%d crashes, damage %v", len(log.Crashes(0)), log.Info().Damage)
	}
	short := aCrash()
	short.Registers = short.Registers[:8]
	log = openTrace(t, crashed(t, wire.AppendBody(nil, short)))
	if list := log.Crashes(0); len(list) != 1 || list[0].Registers != nil || list[0].IP != 0 {
		t.Errorf("%+v", list)
	}
}

// TestManyCrashes has a file with more crashes than a recorder writes. Only some of them are kept.
func TestManyCrashes(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	for i := range 100 {
		w.Record(wire.CrashRecord, uint64(3000+i), wire.AppendBody(nil, aCrash()))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(openTrace(t, m.Bytes).Crashes(0)); n != 4 {
		t.Errorf("%d crashes", n)
	}
}

// TestCrashWhileFollowed writes a crash into the chunk that is reserved for it, while other chunks follow.
func TestCrashWhileFollowed(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Clock(1000, 1000, 0, 0)
	th := w.Thread(1, 0, 7)
	th.Enter(2000, 0x401100, tracetest.Entry)
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	kept := len(m.Bytes)
	chunk := func(sequence, used uint32) []byte {
		h := wire.ChunkHeader{Size: 16384, Kind: wire.ProcessChunk, Sequence: sequence, Used: used, Base: 1000}
		return append(h.Append(nil), make([]byte, 16384-wire.ChunkHeaderSize)...)
	}
	clock := wire.AppendProcess(nil, wire.ClockRecord, 2500, wire.AppendBody(nil, wire.Clock{NS: 2500}))
	last := chunk(2, uint32(len(clock)))
	copy(last[wire.ChunkHeaderSize:], clock)
	b := append(append(bytes.Clone(m.Bytes), chunk(1, 0)...), last...)
	h := w.Header
	h.State, h.End = wire.StateRecording, uint64(len(b))
	copy(b, h.Append(nil))
	log := openTrace(t, b)
	if len(log.Crashes(0)) != 0 || len(log.Info().Damage) != 0 {
		t.Fatalf("%+v, damage %v", log.Crashes(0), log.Info().Damage)
	}
	record := wire.AppendProcess(nil, wire.CrashRecord, 3000, wire.AppendBody(nil, aCrash()))
	copy(b[kept+wire.ChunkHeaderSize:], record)
	binary.LittleEndian.PutUint32(b[kept+44:], uint32(len(record)))
	if _, err := log.Grow(context.Background()); err != nil {
		t.Fatal(err)
	}
	if list := log.Crashes(0); len(list) != 1 || list[0].IP != 0x401130 {
		t.Errorf("%+v", list)
	}
}
