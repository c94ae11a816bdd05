package tracetest

import (
	"bytes"
	"encoding/binary"

	"logparser/parser/trace/wire"
)

// Crashed returns a trace of the program app, whose thread 7 has three calls open and thread 8 one when it
// ends, and, unless nil, a crash.
func Crashed(c *wire.Crash) []byte {
	m := &Memory{}
	w := NewWriter(m)
	w.Clock(1000, 1000, 1_700_000_000_000_000_000, 0)
	w.Record(wire.ProcessRecord, 1000, wire.AppendBody(nil, wire.Process{PID: 4711, Path: "/nowhere/app"}))
	w.Load(1000, 1, 0x400000, 0x10000, "/nowhere/app", "")
	th := w.Thread(1, 0, 7)
	th.Enter(2000, 0x401000, Entry)
	th.Enter(2100, 0x401100, Entry)
	th.Enter(2200, 0x401200, Entry)
	other := w.Thread(2, 0, 8)
	other.Enter(2300, 0x401300, Entry)
	if c != nil {
		w.Record(wire.CrashRecord, 5000, wire.AppendBody(nil, c))
	}
	w.Header.State = wire.StateRecording
	if err := w.Close(); err != nil {
		panic(err) // memory takes all
	}
	return m.Bytes
}

// Smashed returns a crash of thread 7, in the innermost call of [Crashed], whose stack leads nowhere.
func Smashed() *wire.Crash {
	registers := make([]byte, 18*8)
	binary.LittleEndian.PutUint64(registers[7*8:], 0x7ffe0100)
	binary.LittleEndian.PutUint64(registers[16*8:], 0x401210)
	return &wire.Crash{Stream: 1, Kind: wire.CrashSignal, Thread: 7, Code: 11, Detail: 1, Address: 8, Flags: wire.CrashAddressKnown,
		Access: wire.CrashWrite, Registers: registers, Name: "main",
		CodeAt: 0x401200, CodeBytes: bytes.Repeat([]byte{0x90}, 64),
		StackAt: 0x7ffe0080, Stack: bytes.Repeat([]byte{0x41}, 512),
		Maps: "00400000-00410000 r-xp 00000000 08:01 4711 /nowhere/app\n7ffd0000-7fff0000 rw-p 00000000 00:00 0 [stack]\nnonsense\n"}
}
