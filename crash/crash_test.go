package crash

import (
	"reflect"
	"testing"

	"logparser/symbols/unwind"
)

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		name   string
		starts []uint64 // of frames, innermost first
		calls  []uint64
		want   []Joined
	}{
		{"the same", []uint64{3, 2, 1}, []uint64{3, 2, 1}, []Joined{{0, 0, FromBoth}, {1, 1, FromBoth}, {2, 2, FromBoth}}},
		{"a function that is not instrumented", []uint64{9, 2, 8, 1, 7}, []uint64{2, 1},
			[]Joined{{0, -1, FromStack}, {1, 0, FromBoth}, {2, -1, FromStack}, {3, 1, FromBoth}, {4, -1, FromStack}}},
		{"a call that left its frame", []uint64{3, 1}, []uint64{3, 2, 1}, []Joined{{0, 0, FromBoth}, {-1, 1, FromLog}, {1, 2, FromBoth}}},
		{"a smashed stack", []uint64{3}, []uint64{3, 2, 1}, []Joined{{0, 0, FromBoth}, {-1, 1, FromLog}, {-1, 2, FromLog}}},
		{"nothing of the stack", nil, []uint64{2, 1}, []Joined{{-1, 0, FromLog}, {-1, 1, FromLog}}},
		{"no log", []uint64{2, 1}, nil, []Joined{{0, -1, FromStack}, {1, -1, FromStack}}},
		{"recursion", []uint64{2, 2, 2, 1}, []uint64{2, 2, 2, 1}, []Joined{{0, 0, FromBoth}, {1, 1, FromBoth}, {2, 2, FromBoth}, {3, 3, FromBoth}}},
		{"unknown starts match nothing", []uint64{0, 1}, []uint64{0, 1}, []Joined{{0, -1, FromStack}, {-1, 0, FromLog}, {1, 1, FromBoth}}},
	} {
		var calls []OpenCall
		for _, start := range c.calls {
			calls = append(calls, OpenCall{Start: start})
		}
		if got := Join(c.starts, calls); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestCause checks the texts of causes. code is the machine code at the program counter.
func TestCause(t *testing.T) {
	for _, c := range []struct {
		machine unwind.Machine
		cause   Cause
		code    []byte
		want    string
	}{
		{unwind.X8664, Cause{Signal: 11, Code: 1, HasCode: true, Address: 0x1008}, []byte{0x48, 0x8b, 0x78, 0x08}, "SIGSEGV: read of address 0x1008, null pointer + 4104"},
		{unwind.X8664, Cause{Signal: 11, Code: 1, HasCode: true, Address: 0x1008}, []byte{0x48, 0x89, 0x78, 0x08}, "SIGSEGV: write to address 0x1008, null pointer + 4104"},
		{unwind.X8664, Cause{Signal: 11, Code: 1, HasCode: true, Address: 0x123456789}, []byte{0x48, 0x89, 0x78, 0x08}, "SIGSEGV: access to address 0x123456789"},
		{unwind.X8664, Cause{Signal: 11, Code: 2, HasCode: true, Address: 0x401000}, []byte{0x90}, "SIGSEGV: execution of address 0x401000, which its rights forbid"},
		{unwind.X8664, Cause{Signal: 11, Code: 128, HasCode: true}, []byte{0x48, 0x8b, 0x03},
			"SIGSEGV: read of address 0xdead000000000000, which no memory has (from the instruction's operands)"},
		{unwind.X8664, Cause{Signal: 11, Code: 128, HasCode: true}, []byte{0xf4}, "SIGSEGV: access to an address that no memory has; the processor does not tell which"},
		{unwind.X8664, Cause{Signal: 11, Code: 0, HasCode: true, Sender: 99}, nil, "SIGSEGV, sent by process 99"},
		{unwind.X8664, Cause{Signal: 6, Code: -6, HasCode: true, Sender: 99}, nil, "SIGABRT: the program ended itself (abort)"},
		{unwind.X8664, Cause{Signal: 8, Code: 1, HasCode: true}, nil, "SIGFPE: division of a whole number by zero"},
		{unwind.X8664, Cause{Exception: 0xc00000fd, HasException: true}, nil, "EXCEPTION_STACK_OVERFLOW: the stack is full"},
		{unwind.X8664, Cause{Exception: 0xc0000005, HasException: true, Address: 1<<64 - 1}, nil,
			"EXCEPTION_ACCESS_VIOLATION: access to an address that no memory has; the processor does not tell which"},
		{unwind.X8664, Cause{Exception: 0x12345, HasException: true}, nil, "0x12345"},
		{unwind.X86, Cause{Signal: 11, Code: 1, HasCode: true, Address: 0x1000}, []byte{0x8b, 0x00}, "SIGSEGV: read of address 0x1000, null pointer + 4096"},
		{unwind.ARM64, Cause{Signal: 11, Code: 1, HasCode: true, Address: 0x1008}, []byte{0x00, 0x04, 0x40, 0xf9}, "SIGSEGV: read of address 0x1008, null pointer + 4104"},
		{unwind.ARM64, Cause{Signal: 11, Code: 1, HasCode: true, Address: 0x1010}, []byte{0x02, 0x0c, 0x01, 0xa9}, "SIGSEGV: write to address 0x1010, null pointer + 4112"},
		// Dumps that do not tell the code: the instruction says whether an address of 0 is one.
		{unwind.X8664, Cause{Signal: 11, Uncoded: true, Address: 0x123456789}, []byte{0x48, 0x89, 0x78, 0x08}, "SIGSEGV: access to address 0x123456789"},
		{unwind.X8664, Cause{Signal: 11, Uncoded: true, Address: 0x1008}, []byte{0x48, 0x89, 0x78, 0x08}, "SIGSEGV: write to address 0x1008, null pointer + 4104"},
		{unwind.X8664, Cause{Signal: 11, Uncoded: true}, []byte{0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0}, "SIGSEGV: read of address 0x0, a null pointer"},
		{unwind.X8664, Cause{Signal: 11, Uncoded: true}, []byte{0x48, 0x8b, 0x03},
			"SIGSEGV: read of address 0xdead000000000000, which no memory has (from the instruction's operands)"},
		{unwind.X8664, Cause{Signal: 11, Uncoded: true}, nil, "SIGSEGV"},
		{unwind.X8664, Cause{Signal: 19}, nil, "SIGSTOP"},
		{unwind.X8664, Cause{Exception: 0xc000000d, HasException: true}, nil, "STATUS_INVALID_PARAMETER"},
		{unwind.X8664, Cause{Exception: 0xc0000409, HasException: true, HasFastFail: true, FastFail: 7}, nil,
			"STATUS_STACK_BUFFER_OVERRUN: the program ended itself (fast fail 7, FATAL_APP_EXIT)"},
		{unwind.X8664, Cause{Exception: 0xc0000409, HasException: true, HasFastFail: true, FastFail: 7777}, nil,
			"STATUS_STACK_BUFFER_OVERRUN: the program ended itself (fast fail 7777)"},
		{unwind.X8664, Cause{}, nil, "not known: the dump says nothing of it"},
	} {
		memory, _ := NewMemory(nil, 0, nil)
		p := &Process{Machine: c.machine, Threads: []Thread{{Crashed: true}}, Cause: c.cause, Memory: memory}
		r := &p.Threads[0].Registers
		for n := range 34 {
			r.Set(n, 0xdead000000000000)
		}
		r.Set(0, 0x1000)
		r.Set(c.machine.SP(), 0x7000000)
		r.Set(c.machine.PC(), 0x401000)
		p.Cause.Refine(p)
		p.Cause.Decode(p, c.code)
		if got := p.Cause.Text().String(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.cause, got, c.want)
		}
	}
}
