package crash

import (
	"testing"

	"logparser/symbols/unwind"
)

func TestOperandsOfX86(t *testing.T) {
	const (
		bp = 0x7fff_0000_1000
		pc = 0x5555_0000_0000
	)
	tests := []struct {
		name    string
		machine unwind.Machine
		code    []byte
		want    operand
	}{
		{"mov rax, [rbp-8]", unwind.X8664, []byte{0x48, 0x8b, 0x45, 0xf8}, operand{bp - 8, Read}},
		{"mov rax, [rbp-0xd8]", unwind.X8664, []byte{0x48, 0x8b, 0x85, 0x28, 0xff, 0xff, 0xff}, operand{bp - 0xd8, Read}},
		{"mov [rbp-0xd8], rax", unwind.X8664, []byte{0x48, 0x89, 0x85, 0x28, 0xff, 0xff, 0xff}, operand{bp - 0xd8, Write}},
		{"mov rax, [rbp+0x100]", unwind.X8664, []byte{0x48, 0x8b, 0x85, 0x00, 0x01, 0x00, 0x00}, operand{bp + 0x100, Read}},
		{"mov rax, [rip-0x100]", unwind.X8664, []byte{0x48, 0x8b, 0x05, 0x00, 0xff, 0xff, 0xff}, operand{pc + 7 - 0x100, Read}},
		{"mov eax, [0xffffffff80000000]", unwind.X8664, []byte{0x8b, 0x04, 0x25, 0x00, 0x00, 0x00, 0x80}, operand{0xffffffff80000000, Read}},
		{"movabs eax, [0x80000010]", unwind.X8664, []byte{0xa1, 0x10, 0x00, 0x00, 0x80, 0, 0, 0, 0}, operand{0x80000010, Read}},
		{"mov eax, [ebp-0xd8]", unwind.X86, []byte{0x8b, 0x85, 0x28, 0xff, 0xff, 0xff}, operand{0x1000 - 0xd8, Read}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := new(unwind.Registers)
			frame := uint64(bp)
			if test.machine == unwind.X86 {
				frame = 0x1000
			}
			r.Set(test.machine.PC(), pc)
			r.Set(6, frame)
			if test.machine == unwind.X86 {
				r.Set(5, frame)
			}
			got := operands(test.machine, test.code, r)
			if len(got) != 1 || got[0] != test.want {
				t.Errorf("got %x, want %x", got, test.want)
			}
		})
	}
}
