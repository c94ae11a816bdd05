package crash

import (
	"strings"

	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/unwind"
	"logparser/symbols/x86"
)

// An operand is memory that an instruction accesses.
type operand struct {
	address uint64
	access  Access
}

// MaxInstruction is the length of the longest instruction, in bytes.
const MaxInstruction = 15

// operands returns the memory that the first instruction of code accesses. It returns nil if the instruction is not known.
func operands(machine unwind.Machine, code []byte, r *unwind.Registers) (list []operand) {
	// The decoders index arrays with numbers from the code, and may panic.
	defer func() {
		if recover() != nil {
			list = nil
		}
	}()
	switch machine {
	case unwind.X8664:
		return x86Operands(code, 64, r)
	case unwind.X86:
		return x86Operands(code, 32, r)
	case unwind.ARM64:
		return arm64Operands(code, r)
	}
	return nil
}

// Numbers of the registers in package unwind, in the decoder's order AX CX DX BX SP BP SI DI.
var amd64Numbers = [16]int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}

// x86Value returns the value of a register in an address. next is the address of the next instruction.
func x86Value(reg x86asm.Reg, mode int, r *unwind.Registers, next uint64) (uint64, bool) {
	switch {
	case reg == 0:
		return 0, true
	case reg == x86asm.RIP:
		return next, true
	case mode == 64 && reg >= x86asm.RAX && reg <= x86asm.R15:
		return r.Get(amd64Numbers[reg-x86asm.RAX])
	case mode == 64 && reg >= x86asm.EAX && reg <= x86asm.R15L:
		v, ok := r.Get(amd64Numbers[reg-x86asm.EAX])
		return v & 0xffffffff, ok
	case mode == 32 && reg >= x86asm.EAX && reg <= x86asm.EDI:
		return r.Get(int(reg - x86asm.EAX))
	}
	return 0, false
}

// x86Displacement returns the displacement of an address. The decoder does not extend the sign of 32-bit displacements; only
// moves of the accumulator have 64-bit addresses.
func x86Displacement(inst *x86asm.Inst, m x86asm.Mem, mode int) uint64 {
	if first := inst.Opcode >> 24; first >= 0xa0 && first <= 0xa3 || mode == 32 {
		return uint64(m.Disp)
	}
	return uint64(x86.Distance(m.Disp))
}

func x86Operands(code []byte, mode int, r *unwind.Registers) (list []operand) {
	inst, err := x86.Decode(code, mode)
	if err != nil {
		return nil
	}
	machine := unwind.X8664
	if mode == 32 {
		machine = unwind.X86
	}
	pc, _ := r.Get(machine.PC())
	sp, hasSP := r.Get(machine.SP())
	for i, arg := range inst.Args {
		m, ok := arg.(x86asm.Mem)
		if !ok || m.Segment == x86asm.FS || m.Segment == x86asm.GS {
			continue
		}
		base, ok := x86Value(m.Base, mode, r, pc+uint64(inst.Len))
		index, ok2 := x86Value(m.Index, mode, r, 0)
		if !ok || !ok2 || inst.Op == x86asm.LEA || inst.Op == x86asm.NOP {
			continue
		}
		o := operand{address: base + index*uint64(m.Scale) + x86Displacement(&inst, m, mode), access: Read}
		if mode == 32 {
			o.address &= 0xffffffff
		}
		if i == 0 && !readsFirst(inst.Op) {
			o.access = Write
		}
		list = append(list, o)
	}
	switch inst.Op {
	case x86asm.PUSH, x86asm.CALL, x86asm.PUSHF, x86asm.PUSHFQ:
		if hasSP {
			list = append(list, operand{sp - uint64(machine.PointerSize()), Write})
		}
	case x86asm.POP, x86asm.RET, x86asm.LEAVE:
		if hasSP {
			list = append(list, operand{sp, Read})
		}
	}
	return list
}

// readsFirst reports whether an instruction only reads its first operand.
func readsFirst(op x86asm.Op) bool {
	switch op {
	case x86asm.CMP, x86asm.TEST, x86asm.PUSH, x86asm.CALL, x86asm.JMP, x86asm.BT, x86asm.MUL, x86asm.IMUL, x86asm.DIV, x86asm.IDIV,
		x86asm.UCOMISS, x86asm.UCOMISD, x86asm.COMISS, x86asm.COMISD, x86asm.FLD, x86asm.FILD, x86asm.FADD, x86asm.FMUL, x86asm.FSUB, x86asm.FDIV,
		x86asm.CMPSB, x86asm.CMPSW, x86asm.CMPSD, x86asm.CMPSQ, x86asm.LODSB, x86asm.SCASB, x86asm.LDMXCSR, x86asm.FLDCW:
		return true
	}
	return false
}

func arm64Operands(code []byte, r *unwind.Registers) []operand {
	if len(code) < 4 {
		return nil
	}
	inst, err := arm64asm.Decode(code[:4])
	if err != nil {
		return nil
	}
	access := Touch
	switch name := inst.Op.String(); {
	case strings.HasPrefix(name, "LD"):
		access = Read
	case strings.HasPrefix(name, "ST"):
		access = Write
	}
	for _, arg := range inst.Args {
		var base arm64asm.RegSP
		switch m := arg.(type) {
		case arm64asm.MemImmediate:
			base = m.Base
		case arm64asm.MemExtend:
			base = m.Base
		default:
			continue
		}
		n := int(arm64asm.Reg(base) - arm64asm.X0)
		v, ok := r.Get(n) // number 31 is the stack pointer in addresses
		if !ok {
			continue
		}
		return []operand{{v + arm64Offset(code, arg, r), access}}
	}
	return nil
}

// arm64Offset returns the offset that an instruction adds to its base register, because the decoder does not export immediate
// offsets.
func arm64Offset(code []byte, arg arm64asm.Arg, r *unwind.Registers) uint64 {
	w := uint32(code[0]) | uint32(code[1])<<8 | uint32(code[2])<<16 | uint32(code[3])<<24
	switch arg.(type) {
	case arm64asm.MemImmediate:
		scale := w >> 30
		switch {
		case w>>24&0x3f == 0x39: // unsigned offset
			return uint64(w>>10&0xfff) << scale
		case w>>27&7 == 5 && w>>26&1 == 0: // pair
			if w>>23&3 == 1 {
				return 0 // post-index
			}
			return uint64(int64(int32(w<<10)>>25) << (2 + w>>31))
		case w>>24&0x3f == 0x38 && w>>10&3 != 1: // unscaled or pre-index
			return uint64(int64(int32(w<<11) >> 23))
		}
	case arm64asm.MemExtend:
		v, _ := r.Get(int(w >> 16 & 31))
		if w>>13&7 == 2 {
			v &= 0xffffffff
		} else if w>>13&7 == 6 {
			v = uint64(int64(int32(v)))
		}
		if w>>12&1 == 1 {
			v <<= w >> 30
		}
		return v
	}
	return 0
}
