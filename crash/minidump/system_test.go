package minidump

import (
	"bytes"
	"encoding/binary"
	"testing"

	"logparser/modules"
)

// The numbers of systems and exceptions in dumps that Breakpad and Crashpad write on macOS and iOS.
const (
	macOS, iOS, fuchsia = 0x8101, 0x8102, 0x8206
	x64, arm64          = architectureX64, architectureARM64
)

// TestMach reads the causes of dumps of macOS and iOS, whose exceptions are those of Mach and no signals of Linux.
func TestMach(t *testing.T) {
	for _, test := range []struct {
		name             string
		system           uint32
		machine          uint16
		code, flags      uint32
		address          uint64
		parameters       []uint64
		want, numbers    string
		crashed, located bool
	}{
		{"Breakpad, null pointer", macOS, x64, 1, 1, 0x45, nil,
			"EXC_BAD_ACCESS: access to address 0x45, null pointer + 69", "exception 0x1, code 0x1", true, true},
		{"Crashpad, forbidden", macOS, x64, 1, 2, 0x70001000, []uint64{1, 2, 0x70001000},
			"EXC_BAD_ACCESS: access to address 0x70001000, which its rights forbid", "exception 0x1, code 0x2", true, true},
		{"an address that is not canonical", macOS, x64, 1, 13, 0, []uint64{1, 13, 0},
			"EXC_BAD_ACCESS: access to an address that no memory has; the processor does not tell which", "exception 0x1, code 0xd", true, false},
		{"ARM has no such code", iOS, arm64, 1, 13, 0x10, nil,
			"EXC_BAD_ACCESS: access to address 0x10, null pointer + 16", "exception 0x1, code 0xd", true, true},
		{"illegal instruction", macOS, x64, 2, 1, 0x401234, nil,
			"EXC_BAD_INSTRUCTION: an instruction that the processor does not know, or one put there to stop", "exception 0x2, code 0x1", true, false},
		{"division", macOS, x64, 3, 1, 0x401234, nil, "EXC_ARITHMETIC: division of a whole number by zero", "exception 0x3, code 0x1", true, false},
		{"breakpoint", iOS, arm64, 6, 1, 0x401234, nil, "EXC_BREAKPOINT: a breakpoint", "exception 0x6, code 0x1", true, false},
		{"abort, Breakpad", macOS, x64, 5, 0x10002, 0x401234, nil,
			"EXC_SOFTWARE (SIGABRT): the program ended itself (abort)", "exception 0x5, code 0x10002", true, false},
		{"a signal", macOS, x64, 5, 0x10003, 0x401234, []uint64{5, 0x10003, 10}, "EXC_SOFTWARE (SIGBUS)", "exception 0x5, code 0x10003", true, false},
		{"abort, Crashpad", macOS, x64, 10, 0x6000000, 0x401234, []uint64{10, 0x6000000, 0},
			"EXC_CRASH (SIGABRT): the program ended itself (abort)", "exception 0xa, code 0x6000000", true, false},
		{"a code of 64 bits", iOS, arm64, 11, 0x200, 0, []uint64{11, 0x1400000000000200, 0},
			"EXC_RESOURCE: a limit of resources was exceeded", "exception 0xb, code 0x1400000000000200", true, false},
		{"a new one", macOS, x64, 77, 0, 0, nil, "Mach exception 0x4d", "exception 0x4d, code 0x0", true, false},
		{"asked for", macOS, x64, 0x43507378, 0, 0, nil, "not known: the dump says nothing of it", "", false, false},
		{"Linux has signals", platformLinux, x64, 11, 1, 0x45, nil,
			"SIGSEGV: access to address 0x45, null pointer + 69", "signal 11, code 1", true, true},
		{"another system", fuchsia, x64, 1, 1, 0x45, nil, "exception 0x1 of a system that is not known", "", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			const system, exception = 200, 600
			le, b := binary.LittleEndian, testDump()
			le.PutUint16(b[system:], test.machine)
			le.PutUint32(b[system+20:], test.system)
			e := b[exception:]
			clear(e[8:160])
			le.PutUint32(e[8:], test.code)
			le.PutUint32(e[12:], test.flags)
			le.PutUint64(e[24:], test.address)
			le.PutUint32(e[32:], uint32(len(test.parameters)))
			for i, v := range test.parameters {
				le.PutUint64(e[40+8*i:], v)
			}
			p, err := Read(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			c := &p.Cause
			if got := c.Text().String(); got != test.want {
				t.Errorf("the cause is %q, want %q", got, test.want)
			}
			if got := c.CodeText(); got != test.numbers {
				t.Errorf("its numbers are %q, want %q", got, test.numbers)
			}
			if p.Threads[0].Crashed != test.crashed || c.HasAddress() != test.located {
				t.Errorf("crashed %v, has an address %v", p.Threads[0].Crashed, c.HasAddress())
			}
		})
	}
}

// TestBuildID reads the identity of a module that Breakpad and Crashpad write on Linux: a number of four bytes, then the build-id.
func TestBuildID(t *testing.T) {
	const system, list, record = 200, 400, 2400
	le, b := binary.LittleEndian, testDump()
	le.PutUint32(b[system+20:], platformLinux)
	le.PutUint32(b[list+4+76:], 24)
	le.PutUint32(b[record:], 0x4270454c)
	copy(b[record+4:], "0123456789abcdefghij")
	p, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (modules.Identity{BuildID: "0123456789abcdefghij"}); p.Modules[0].Identity != want {
		t.Errorf("the identity is %+v, want %+v", p.Modules[0].Identity, want)
	}
}
