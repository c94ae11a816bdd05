package unwind

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// TestDoubt finds frames behind one that was found by scan: they may be as little as that, however they were found themselves.
func TestDoubt(t *testing.T) {
	const stackAt = 0x7fff0000
	stack := make([]byte, 0x100)
	for at, word := range map[int]uint64{
		0x18: 0x10200,                                                            // what looks like a return address
		0x40: stackAt + 0x60, 0x48: 0x10300, 0x60: stackAt + 0x80, 0x68: 0x10400, // frames
	} {
		binary.LittleEndian.PutUint64(stack[at:], word)
	}
	binary.LittleEndian.PutUint64(stack[0x10:], stackAt+0x40) // pushed before the call
	for _, test := range []struct {
		name string
		fp   uint64
		want []string
	}{
		{"by scan first", 0, []string{"10100 context false", "10200 scan false", "10300 frame pointer true", "10400 frame pointer true"}},
		{"by frame pointers alone", stackAt + 0x40, []string{"10100 context false", "10300 frame pointer false", "10400 frame pointer false"}},
	} {
		u := &Unwinder{Machine: X8664, Memory: bytesMemory{stackAt, stack}, Executable: func(a uint64) bool { return a >= 0x10000 && a < 0x20000 }}
		var r Registers
		r.Set(amd64PC, 0x10100)
		r.Set(amd64RSP, stackAt+0x10)
		if test.fp != 0 {
			r.Set(u.Machine.FP(), test.fp)
		}
		var got []string
		u.Walk(r, func(f *Frame) bool {
			got = append(got, fmt.Sprintf("%x %s %t", f.PC, f.Found, f.Doubtful))
			return true
		})
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
