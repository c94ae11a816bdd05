package unwind

import "strconv"

// A Machine is a processor whose stacks can be unwound.
type Machine uint8

const (
	// Unknown is a machine that this package has no rules for.
	Unknown Machine = iota
	X86
	X8664
	ARM64
)

// MachineOf returns the machine of an image, by the word that package image has for
// it.
func MachineOf(name string) Machine {
	for m := X86; m <= ARM64; m++ {
		if m.String() == name {
			return m
		}
	}
	return Unknown
}

// String returns the word that package image has for the machine.
func (m Machine) String() string {
	switch m {
	case X86:
		return "x86"
	case X8664:
		return "x86-64"
	case ARM64:
		return "arm64"
	}
	return "unknown machine"
}

// PointerSize returns the size of an address in bytes.
func (m Machine) PointerSize() int {
	if m == X86 {
		return 4
	}
	return 8
}

// mask returns the bits that an address has.
func (m Machine) mask() uint64 {
	if m == X86 {
		return 1<<32 - 1
	}
	return 1<<64 - 1
}

// maxRegisters is more than the highest number of a register that is followed.
const maxRegisters = 34

// Numbers of registers are those of DWARF. The program counter has the number of
// the return address on x86, and the one that DWARF gives it on arm64.
const (
	amd64RAX, amd64RDX, amd64RCX, amd64RBX = 0, 1, 2, 3
	amd64RSI, amd64RDI, amd64RBP, amd64RSP = 4, 5, 6, 7
	amd64PC                                = 16

	x86EBX, x86ESP, x86EBP, x86ESI, x86EDI = 3, 4, 5, 6, 7
	x86PC                                  = 8

	arm64FP, arm64LR, arm64SP, arm64PC = 29, 30, 31, 32
	arm64RASignState                   = 34 // a pseudo register
)

// PC, SP and FP return the numbers of the program counter, of the stack pointer and
// of the register that is the frame pointer where there is one.
func (m Machine) PC() int { return [...]int{0, x86PC, amd64PC, arm64PC}[m] }
func (m Machine) SP() int { return [...]int{0, x86ESP, amd64RSP, arm64SP}[m] }
func (m Machine) FP() int { return [...]int{0, x86EBP, amd64RBP, arm64FP}[m] }

var (
	x86Names   = []string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"}
	amd64Names = []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip"}
)

// RegisterName returns what a register is called, "" where the machine has none of this
// number.
func (m Machine) RegisterName(n int) string {
	switch {
	case n < 0:
	case m == X86 && n < len(x86Names):
		return x86Names[n]
	case m == X8664 && n < len(amd64Names):
		return amd64Names[n]
	case m == ARM64 && n < arm64SP:
		return "x" + strconv.Itoa(n)
	case m == ARM64 && n == arm64SP:
		return "sp"
	case m == ARM64 && n == arm64PC:
		return "pc"
	}
	return ""
}

// Shown returns the numbers of the machine's registers in the order in which people
// are used to read them.
func (m Machine) Shown() []int {
	switch m {
	case X86:
		return []int{0, 3, 1, 2, 6, 7, 5, 4, 8}
	case X8664:
		return []int{0, 3, 2, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	case ARM64:
		list := make([]int, 33)
		for i := range list {
			list[i] = i
		}
		return list
	}
	return nil
}

// preserved reports whether functions leave a register as they found it.
func (m Machine) preserved(n int, windows bool) bool {
	switch m {
	case X86:
		return n == x86EBX || n == x86EBP || n == x86ESI || n == x86EDI
	case X8664:
		return n == amd64RBX || n == amd64RBP || n >= 12 && n <= 15 || windows && (n == amd64RSI || n == amd64RDI)
	case ARM64:
		return n >= 19 && n <= arm64FP
	}
	return false
}

// Registers are the registers of a thread or of a frame, of which some may not be
// known. It is a value: copies are independent.
type Registers struct {
	values [maxRegisters]uint64
	known  uint64
}

// Get returns a register; ok is false where it is not known.
func (r *Registers) Get(n int) (value uint64, ok bool) {
	if n < 0 || n >= maxRegisters || r.known>>n&1 == 0 {
		return 0, false
	}
	return r.values[n], true
}

// Set sets a register. Numbers that are not followed are passed over.
func (r *Registers) Set(n int, value uint64) {
	if n >= 0 && n < maxRegisters {
		r.values[n] = value
		r.known |= 1 << n
	}
}

// Forget makes a register unknown.
func (r *Registers) Forget(n int) {
	if n >= 0 && n < maxRegisters {
		r.values[n] = 0
		r.known &^= 1 << n
	}
}

// Known returns how many registers are known.
func (r *Registers) Known() (n int) {
	for k := r.known; k != 0; k &= k - 1 {
		n++
	}
	return n
}
