package unwind

import "encoding/binary"

// Limits of an expression: a loop in one ends here.
const (
	maxSteps = 10_000
	maxStack = 64
)

// An evaluation is a DWARF expression at work. It stops with bad where an operation is
// unknown, lacks operands or reads what was not saved.
type evaluation struct {
	s     *step
	in    buffer
	stack []uint64
	bad   bool
}

// evaluate returns the value of an expression of call frame information. If hasCFA
// is set the stack begins with the CFA.
func evaluate(expression []byte, s *step, cfa uint64, hasCFA bool) (uint64, bool) {
	e := evaluation{s: s, in: buffer{b: expression, order: binary.LittleEndian}}
	if hasCFA {
		e.push(cfa)
	}
	for steps := 0; e.in.left() > 0; steps++ {
		if steps >= maxSteps {
			return 0, false
		}
		e.do(e.in.u8())
		if e.bad || e.in.bad {
			return 0, false
		}
	}
	v := e.pop()
	return v & s.Machine.mask(), !e.bad
}

func (e *evaluation) push(v uint64) {
	if len(e.stack) >= maxStack {
		e.bad = true
		return
	}
	e.stack = append(e.stack, v)
}

func (e *evaluation) pop() uint64 {
	n := len(e.stack)
	if n == 0 {
		e.bad = true
		return 0
	}
	v := e.stack[n-1]
	e.stack = e.stack[:n-1]
	return v
}

// pick pushes the value that lies depth below the top.
func (e *evaluation) pick(depth int) {
	if depth >= len(e.stack) {
		e.bad = true
		return
	}
	e.push(e.stack[len(e.stack)-1-depth])
}

// register pushes a register and an offset.
func (e *evaluation) register(n uint64, offset int64) {
	v, ok := e.s.frame.Registers.Get(int(min(n, maxRegisters)))
	if !ok {
		e.bad = true
		return
	}
	e.push(v + uint64(offset))
}

// Operations (DW_OP_*).
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30
	opLit31      = 0x4f
	opBreg0      = 0x70
	opBreg31     = 0x8f
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

// do does one operation.
func (e *evaluation) do(op uint8) {
	in := &e.in
	switch {
	case op >= opLit0 && op <= opLit31:
		e.push(uint64(op - opLit0))
		return
	case op >= opBreg0 && op <= opBreg31:
		e.register(uint64(op-opBreg0), in.sleb())
		return
	case op >= opConst1u && op <= opConsts || op == opAddr:
		e.push(e.constant(op))
		return
	}
	switch op {
	case opDeref:
		e.read(e.s.Machine.PointerSize())
	case opDerefSize:
		e.read(int(in.u8()))
	case opDup:
		e.pick(0)
	case opOver:
		e.pick(1)
	case opPick:
		e.pick(int(in.u8()))
	case opDrop:
		e.pop()
	case opSwap:
		a, b := e.pop(), e.pop()
		e.push(a)
		e.push(b)
	case opRot:
		a, b, c := e.pop(), e.pop(), e.pop()
		e.push(a)
		e.push(c)
		e.push(b)
	case opAbs:
		if v := int64(e.pop()); v < 0 {
			e.push(uint64(-v))
		} else {
			e.push(uint64(v))
		}
	case opNeg:
		e.push(-e.pop())
	case opNot:
		e.push(^e.pop())
	case opPlusUconst:
		e.push(e.pop() + in.uleb())
	case opBregx:
		n := in.uleb()
		e.register(n, in.sleb())
	case opSkip, opBra:
		to := int(int16(in.u16()))
		if op == opBra && e.pop() == 0 {
			return
		}
		if to += in.off; to < 0 || to > len(in.b) {
			e.bad = true
			return
		}
		in.off = to
	case opNop:
	default:
		b := e.pop()
		e.binary(op, e.pop(), b)
	}
}

// constant reads an operation's own number.
func (e *evaluation) constant(op uint8) uint64 {
	in := &e.in
	switch op {
	case opConst1u:
		return uint64(in.u8())
	case opConst1s:
		return uint64(int64(int8(in.u8())))
	case opConst2u:
		return uint64(in.u16())
	case opConst2s:
		return uint64(int64(int16(in.u16())))
	case opConst4u:
		return uint64(in.u32())
	case opConst4s:
		return uint64(int64(int32(in.u32())))
	case opConstu:
		return in.uleb()
	case opConsts:
		return uint64(in.sleb())
	case opAddr:
		v := in.pointer(e.s.Machine.PointerSize())
		if m := e.s.module; m != nil && m.Code != nil {
			v += m.Base - m.Code.LinkBase()
		}
		return v
	}
	return in.u64()
}

// read replaces an address by what is saved there.
func (e *evaluation) read(size int) {
	address := e.pop()
	var b [8]byte
	if size < 1 || size > len(b) || e.bad || e.s.Memory.ReadMemory(b[:size], address&e.s.Machine.mask()) != nil {
		e.bad = true
		return
	}
	e.push(binary.LittleEndian.Uint64(b[:]))
}

// binary does an operation of two operands, of which b was on top.
func (e *evaluation) binary(op uint8, a, b uint64) {
	if e.bad {
		return
	}
	if e.s.Machine.PointerSize() == 4 {
		a, b = uint64(int64(int32(a))), uint64(int64(int32(b)))
	}
	truth := func(v bool) uint64 {
		if v {
			return 1
		}
		return 0
	}
	var v uint64
	switch op {
	case opAnd:
		v = a & b
	case opOr:
		v = a | b
	case opXor:
		v = a ^ b
	case opPlus:
		v = a + b
	case opMinus:
		v = a - b
	case opMul:
		v = a * b
	case opDiv, opMod:
		if b == 0 {
			e.bad = true
			return
		}
		if v = uint64(int64(a) / int64(b)); op == opMod {
			v = (a & e.s.Machine.mask()) % (b & e.s.Machine.mask())
		}
	case opShl:
		v = a << min(b, 64)
	case opShr:
		v = a & e.s.Machine.mask() >> min(b, 64)
	case opShra:
		v = uint64(int64(a) >> min(b, 64))
	case opEq:
		v = truth(a == b)
	case opNe:
		v = truth(a != b)
	case opGe:
		v = truth(int64(a) >= int64(b))
	case opGt:
		v = truth(int64(a) > int64(b))
	case opLe:
		v = truth(int64(a) <= int64(b))
	case opLt:
		v = truth(int64(a) < int64(b))
	default:
		e.bad = true
	}
	e.push(v)
}
