package hooks

import (
	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/x86"
)

// harmless are instructions that write only flags.
var harmless = map[x86asm.Op]bool{
	x86asm.CMP: true, x86asm.TEST: true, x86asm.NOP: true, x86asm.BT: true, x86asm.PAUSE: true,
	x86asm.UCOMISS: true, x86asm.UCOMISD: true, x86asm.COMISS: true, x86asm.COMISD: true,
	x86asm.PREFETCHT0: true, x86asm.PREFETCHT1: true, x86asm.PREFETCHT2: true, x86asm.PREFETCHNTA: true, x86asm.PREFETCHW: true,
}

// computing are instructions that write only their first operand and flags.
var computing = map[x86asm.Op]bool{
	x86asm.ADD: true, x86asm.SUB: true, x86asm.ADC: true, x86asm.SBB: true, x86asm.AND: true, x86asm.OR: true, x86asm.XOR: true,
	x86asm.NOT: true, x86asm.NEG: true, x86asm.INC: true, x86asm.DEC: true, x86asm.BSWAP: true,
	x86asm.SHL: true, x86asm.SHR: true, x86asm.SAR: true, x86asm.ROL: true, x86asm.ROR: true, x86asm.SHLD: true, x86asm.SHRD: true,
	x86asm.SETA: true, x86asm.SETAE: true, x86asm.SETB: true, x86asm.SETBE: true, x86asm.SETE: true, x86asm.SETNE: true, x86asm.SETG: true,
	x86asm.SETGE: true, x86asm.SETL: true, x86asm.SETLE: true, x86asm.SETS: true, x86asm.SETNS: true, x86asm.SETP: true, x86asm.SETNP: true,
	x86asm.CMOVA: true, x86asm.CMOVAE: true, x86asm.CMOVB: true, x86asm.CMOVBE: true, x86asm.CMOVE: true, x86asm.CMOVNE: true,
	x86asm.CMOVG: true, x86asm.CMOVGE: true, x86asm.CMOVL: true, x86asm.CMOVLE: true, x86asm.CMOVS: true, x86asm.CMOVNS: true,
	x86asm.PXOR: true, x86asm.POR: true, x86asm.PAND: true, x86asm.PANDN: true, x86asm.XORPS: true, x86asm.XORPD: true, x86asm.ANDPS: true, x86asm.ANDPD: true,
	x86asm.ORPS: true, x86asm.ORPD: true, x86asm.ANDNPS: true, x86asm.ANDNPD: true,
	x86asm.ADDSS: true, x86asm.ADDSD: true, x86asm.SUBSS: true, x86asm.SUBSD: true, x86asm.MULSS: true, x86asm.MULSD: true, x86asm.DIVSS: true, x86asm.DIVSD: true,
	x86asm.ADDPS: true, x86asm.ADDPD: true, x86asm.SUBPS: true, x86asm.SUBPD: true, x86asm.MULPS: true, x86asm.MULPD: true,
	x86asm.PADDB: true, x86asm.PADDW: true, x86asm.PADDD: true, x86asm.PADDQ: true, x86asm.PSUBD: true, x86asm.PSUBQ: true,
	x86asm.UNPCKLPS: true, x86asm.UNPCKLPD: true, x86asm.UNPCKHPD: true, x86asm.SHUFPS: true, x86asm.SHUFPD: true,
	x86asm.PUNPCKLDQ: true, x86asm.PUNPCKLQDQ: true, x86asm.PUNPCKLBW: true, x86asm.PUNPCKLWD: true, x86asm.PUNPCKHQDQ: true,
	x86asm.PSHUFD: true, x86asm.PSHUFLW: true, x86asm.PSRLQ: true, x86asm.PSRLDQ: true, x86asm.PSLLDQ: true, x86asm.PSLLQ: true,
	x86asm.CVTSS2SD: true, x86asm.CVTSD2SS: true, x86asm.CVTSI2SD: true, x86asm.CVTSI2SS: true, x86asm.CVTTSD2SI: true, x86asm.CVTTSS2SI: true,
	x86asm.CVTSD2SI: true, x86asm.CVTSS2SI: true, x86asm.CVTPS2PD: true, x86asm.CVTPD2PS: true, x86asm.CVTDQ2PD: true, x86asm.CVTDQ2PS: true,
	x86asm.MOVLPS: true, x86asm.MOVHPS: true, x86asm.MOVLPD: true, x86asm.MOVHPD: true, x86asm.MOVHLPS: true, x86asm.MOVLHPS: true,
	x86asm.MINSD: true, x86asm.MAXSD: true, x86asm.MINSS: true, x86asm.MAXSS: true, x86asm.SQRTSD: true, x86asm.SQRTSS: true,
}

// whole are instructions that copy a vector register.
var whole = map[x86asm.Op]bool{
	x86asm.MOVAPS: true, x86asm.MOVAPD: true, x86asm.MOVUPS: true, x86asm.MOVUPD: true, x86asm.MOVDQA: true, x86asm.MOVDQU: true,
}

// sizeOf returns how many bytes an operand has.
func sizeOf(inst *x86asm.Inst, a x86asm.Arg) int {
	switch a := a.(type) {
	case x86asm.Reg:
		_, n := reg(a)
		return n
	case x86asm.Mem:
		return inst.MemBytes
	}
	return 0
}

// step follows an instruction that is no jump, call or return. It reports whether the instruction is understood.
func (s *state) step(inst *x86asm.Inst) bool {
	to, from := inst.Args[0], inst.Args[1]
	switch op := inst.Op; {
	case harmless[op]:
		return true
	case op == x86asm.PUSH:
		return s.push(inst, to)
	case op == x86asm.POP:
		return s.pop(to)
	case op == x86asm.LEAVE:
		sp, bp := x86asm.RSP, x86asm.RBP
		if s.calls.word == 4 {
			sp, bp = x86asm.ESP, x86asm.EBP
		}
		return s.set(sp, s.calls.word, s.registers[rbp]) && s.pop(bp)
	case op == x86asm.MOV:
		n := sizeOf(inst, to)
		v := s.get(from, n)
		if i, ok := from.(x86asm.Imm); ok {
			v = immediate(inst, int64(i), n)
		}
		return s.set(to, n, v)
	case (op == x86asm.XOR || op == x86asm.PXOR || op == x86asm.XORPS || op == x86asm.XORPD) && to == from && sizeOf(inst, to) >= 4:
		return s.set(to, sizeOf(inst, to), content{constant, 0, 0, 8})
	case op == x86asm.MOVZX, op == x86asm.MOVSX, op == x86asm.MOVSXD:
		return s.set(to, sizeOf(inst, to), s.get(from, sizeOf(inst, from)))
	case op == x86asm.LEA:
		v := content{}
		if m, ok := from.(x86asm.Mem); ok && sizeOf(inst, to) == s.calls.word {
			if base, offset, ok := s.address(m); ok {
				v = content{register, base, offset, s.calls.word}
			}
		}
		return s.set(to, s.calls.word, v)
	case op == x86asm.ADD, op == x86asm.SUB, op == x86asm.AND:
		return s.compute(inst)
	case op == x86asm.MOVD, op == x86asm.MOVQ:
		n := 4
		if op == x86asm.MOVQ || sizeOf(inst, to) == 8 || sizeOf(inst, from) == 8 {
			n = 8
		}
		return s.set(to, n, s.get(from, n))
	case op == x86asm.MOVSS, op == x86asm.MOVSD_XMM:
		n := 4
		if op == x86asm.MOVSD_XMM {
			n = 8
		}
		return s.set(to, n, s.get(from, n))
	case whole[op]:
		return s.set(to, 16, s.get(from, 16))
	case op == x86asm.CDQ, op == x86asm.CQO, op == x86asm.CWD:
		s.registers[rdx] = content{}
		return true
	case op == x86asm.CDQE, op == x86asm.CWDE, op == x86asm.CBW:
		s.registers[rax] = s.registers[rax].low(inst.DataSize / 16)
		return true
	case op == x86asm.IMUL && from != nil, computing[op]:
		return s.set(to, sizeOf(inst, to), content{})
	case op == x86asm.XCHG:
		return s.set(to, sizeOf(inst, to), content{}) && s.set(from, sizeOf(inst, from), content{})
	}
	return s.float(inst)
}

// immediate returns the content of an immediate operand.
func immediate(inst *x86asm.Inst, n int64, size int) content {
	switch {
	case size == 8 && inst.Opcode>>24 == 0xc7:
		n = x86.Distance(n) // the decoder leaves out the sign of 4 bytes
	case size == 4:
		n = int64(uint32(n))
		if _, ok := inst.Args[0].(x86asm.Reg); ok {
			size = 8 // the upper half of the register becomes 0
		}
	case size < 1:
		return content{}
	}
	return content{constant, 0, n, size}
}

// compute follows instructions that add to the stack pointer or to another address.
func (s *state) compute(inst *x86asm.Inst) bool {
	to := inst.Args[0]
	v := content{}
	r, isRegister := to.(x86asm.Reg)
	n, immediate := inst.Args[1].(x86asm.Imm)
	if by := s.get(inst.Args[1], 8); !immediate && by.of == constant && by.n == 8 && by.offset == int64(int32(by.offset)) {
		n, immediate = x86asm.Imm(by.offset), true // the size of a large frame
	}
	if i, size := reg(r); isRegister && immediate && size == s.calls.word && i < vector {
		old := s.registers[i]
		switch {
		case old.of != register || old.n != size:
		case inst.Op == x86asm.ADD:
			old.offset += x86.Distance(int64(n))
			v = old
		case inst.Op == x86asm.SUB:
			old.offset -= x86.Distance(int64(n))
			v = old
		case i == rsp:
			s.bases++
			v = content{register, registers + s.bases, 0, size}
		}
	}
	return s.set(to, sizeOf(inst, to), v)
}

// push follows what pushes an operand, or, where that is nil, a value that is not known.
func (s *state) push(inst *x86asm.Inst, a x86asm.Arg) bool {
	sp, word := s.registers[rsp], s.calls.word
	if sp.of != register || sp.n != word || inst.DataSize == 16 {
		return false
	}
	v := s.get(a, word)
	s.registers[rsp].offset -= int64(word)
	return s.storeAt(sp.base, sp.offset-int64(word), word, v)
}

func (s *state) pop(a x86asm.Arg) bool {
	sp, word := s.registers[rsp], s.calls.word
	if _, ok := a.(x86asm.Reg); !ok || sp.of != register || sp.n != word {
		return false
	}
	v := s.loadAt(sp.base, sp.offset, word)
	s.registers[rsp].offset += int64(word)
	if n, _ := reg(a.(x86asm.Reg)); n == rsp {
		return false
	}
	return s.set(a, word, v)
}

// float follows instructions of the x87 that move values.
func (s *state) float(inst *x86asm.Inst) bool {
	const extended = 10 // bytes of an x87 value in memory, a size that the decoder does not tell
	m, inMemory := inst.Args[0].(x86asm.Mem)
	whole := inMemory && inst.Opcode>>24 == 0xdb
	switch inst.Op {
	case x86asm.FLD:
		v := content{}
		switch {
		case whole:
			v = s.load(m, extended)
		case inMemory:
			v = s.load(m, inst.MemBytes)
		}
		s.x87 = append(s.x87, v)
		return true
	case x86asm.FSTP:
		v := content{}
		if n := len(s.x87); n > 0 {
			v = s.x87[n-1]
			s.x87 = s.x87[:n-1]
		}
		if !inMemory {
			s.x87 = nil
			return true
		}
		if !whole {
			return s.store(m, inst.MemBytes, content{})
		}
		return s.store(m, extended, v)
	case x86asm.FILD, x86asm.FLDZ, x86asm.FLD1:
		s.x87 = append(s.x87, content{})
		return true
	}
	return false
}
