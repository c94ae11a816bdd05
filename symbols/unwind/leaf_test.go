package unwind

import (
	"encoding/binary"
	"testing"
)

// A partsMemory has a stack and some code.
type partsMemory struct{ stack, code bytesMemory }

func (m partsMemory) ReadMemory(p []byte, address uint64) error {
	if m.stack.ReadMemory(p, address) == nil {
		return nil
	}
	return m.code.ReadMemory(p, address)
}

func (m partsMemory) Range(address uint64) (lo, hi uint64, ok bool) {
	if lo, hi, ok = m.stack.Range(address); ok {
		return lo, hi, ok
	}
	return m.code.Range(address)
}

// The code of the tests: caller, which makes a frame, calls twice and returns, then leaf, which makes none.
const (
	textAt = 0x10000
	calls1 = textAt + 12 // where the first call returns to
	calls2 = textAt + 20
	leafAt = textAt + 48
)

func arm64Text() bytesMemory {
	code := []uint32{arm64PACIASP, 0xa9bf7bfd, 0x94000010, 0xd503201f, 0x94000008, 0xd503201f, 0xa8c17bfd, arm64Return, 0, 0, 0, 0,
		0xf9400000, 0x91000400, arm64Return, 0}
	b := make([]byte, 4*len(code))
	for i, op := range code {
		binary.LittleEndian.PutUint32(b[4*i:], op)
	}
	return bytesMemory{textAt, b}
}

// TestLinkRegister finds the caller of a leaf of arm64 in the link register, and does not take what a call has left there for one.
func TestLinkRegister(t *testing.T) {
	const stackAt, main = 0x7fff0000, textAt + 0x100000
	stack := make([]byte, 0x100)
	words := func(at int, v ...uint64) {
		for i, w := range v {
			binary.LittleEndian.PutUint64(stack[at+8*i:], w)
		}
	}
	words(0x40, stackAt+0x80, main) // caller's frame
	words(0x80, 0, 0)               // the end
	for _, tt := range []struct {
		name     string
		pc, lr   uint64
		withCode bool
		want     []uint64
	}{
		{"a leaf", leafAt + 4, calls2, true, []uint64{leafAt + 4, calls2, main}},
		{"left over", calls2, calls1, true, []uint64{calls2, main}},
		{"the frame has it", textAt + 8, main, true, []uint64{textAt + 8, main}},
		{"a leaf far away, without code", textAt + 0x20000, calls2, false, []uint64{textAt + 0x20000, calls2, main}},
		{"near, without code", leafAt + 4, calls2, false, []uint64{leafAt + 4, main}},
	} {
		memory := partsMemory{stack: bytesMemory{stackAt, stack}}
		if tt.withCode {
			memory.code = arm64Text()
		}
		u := &Unwinder{Machine: ARM64, Memory: memory, Executable: func(a uint64) bool { return a >= textAt && a < textAt+0x200000 }}
		var r Registers
		r.Set(arm64PC, tt.pc)
		r.Set(arm64SP, stackAt+0x10)
		r.Set(arm64FP, stackAt+0x40)
		r.Set(arm64LR, tt.lr)
		checkWalk(t, tt.name, u, r, tt.want)
	}
}

func checkWalk(t *testing.T, name string, u *Unwinder, r Registers, want []uint64) {
	t.Helper()
	var got []uint64
	u.Walk(r, func(f *Frame) bool {
		got = append(got, f.PC)
		return true
	})
	if len(got) != len(want) {
		t.Errorf("%s: %#x, want %#x", name, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: %#x, want %#x", name, got, want)
			return
		}
	}
}

// TestStackTop finds the caller of a leaf of Windows x64 without unwind data on top of the stack, before what the frame pointer says.
func TestStackTop(t *testing.T) {
	const stackAt, leaf, caller, above = 0x7fff0000, 0x10100, 0x10200, 0x10300
	stack := make([]byte, 0x100)
	binary.LittleEndian.PutUint64(stack[0x10:], caller)
	binary.LittleEndian.PutUint64(stack[0x40:], stackAt+0x80)
	binary.LittleEndian.PutUint64(stack[0x48:], above)
	for _, windows := range []bool{true, false} {
		u := &Unwinder{Machine: X8664, Windows: windows, Memory: bytesMemory{stackAt, stack}, Executable: func(a uint64) bool { return a >= 0x10000 && a < 0x20000 }}
		var r Registers
		r.Set(amd64PC, leaf)
		r.Set(amd64RSP, stackAt+0x10)
		r.Set(amd64RBP, stackAt+0x40)
		want := []uint64{leaf, caller, above}
		if !windows {
			want = []uint64{leaf, above} // elsewhere the frame pointer is more often one
		}
		checkWalk(t, "windows", u, r, want)
	}
}
