package hooks

import (
	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/image"
)

// This file finds out what the code of a function says of its arguments, where debug information says nothing: which
// registers it reads that it did not write before, and whether it can be one that returns its result in memory whose
// address its caller passes.

// Passed is what the code of a function says of what its callers pass.
type Passed struct {
	// reads has a bit for each register, by number, whose value at the first instruction the code reads.
	reads uint32
	// NotHidden says that it is no function that gets the address of its result: such a one returns the address, and this one
	// does not.
	NotHidden bool
}

// Reads reports whether the code reads what a register has at its first instruction. If not, that does not mean that nothing
// is passed in it.
func (p *Passed) Reads(register string) bool {
	i, ok := numberOf(register)
	return ok && p.reads>>i&1 != 0
}

// Functions returns the code of an image for x86-64, for [Code.Passed]; nil for others.
func Functions(im *image.Image) (*Code, error) {
	if im.Machine != "x86-64" || im.PointerSize != 8 || im.Relocatable {
		return nil, nil
	}
	c := &Code{im: im, left: maxDecoded}
	if err := c.names(); err != nil {
		return nil, err
	}
	return c, c.read()
}

// A flow is what is known before an instruction.
type flow struct {
	// passed are the registers that still have the value of the function's first instruction, may those that have it at
	// least on one way to here.
	passed, may uint32
	// computed says that rax has a number that no instruction has copied as a whole: it is none of the addresses that were passed.
	computed bool
	// frame is where the stack pointer and rbp are.
	frame frame
}

func (f *flow) meet(o flow) (changed bool) {
	old := *f
	f.passed &= o.passed
	f.may |= o.may
	f.computed = f.computed && o.computed
	f.frame.meet(o.frame)
	return *f != old
}

// write takes note that an instruction writes a register.
func (f *flow) write(a x86asm.Arg) {
	r, ok := a.(x86asm.Reg)
	if !ok {
		return
	}
	i, n := reg(r)
	if i < 0 {
		return
	}
	f.passed &^= 1 << i
	if n == 8 || n == 4 || n == 16 {
		f.may &^= 1 << i
	}
	if i == rax {
		f.computed = n == 4 || n < 4 && f.computed
	}
}

// clobbered are the registers that a called function may change and that arguments or results are in.
const clobbered = 1<<rax | 1<<rcx | 1<<rdx | 1<<rsi | 1<<rdi | 1<<8 | 1<<9 | 0xffff<<vector

func (f *flow) call() {
	f.passed &^= clobbered
	f.may &^= clobbered
	f.computed = false
}

// A passedWalk follows a function.
type passedWalk struct {
	c         *Code
	low, high uint64
	hidden    int // the register that the address of a result would come in
	flows     map[uint64]flow
	insts     map[uint64]x86asm.Inst
	todo      []uint64
	// returns says that an end was found; escapes that the address in hidden may be copied; proven that at one end rax has
	// something else.
	returns, escapes, proven bool
}

// Passed follows the function in [low, low+size). hidden is the register in which the calling convention has the address of a
// result in memory.
func (c *Code) Passed(low, size uint64, hidden string) Passed {
	h, ok := numberOf(hidden)
	if !ok || size == 0 {
		return Passed{}
	}
	w := &passedWalk{c: c, low: low, high: low + size, hidden: h, flows: make(map[uint64]flow), insts: make(map[uint64]x86asm.Inst)}
	p := Passed{reads: w.beginning()}
	if !w.all() {
		return p
	}
	for at, inst := range w.insts {
		f := w.flows[at]
		p.reads |= readBy(&inst) & f.passed
	}
	p.NotHidden = w.proven || w.returns && !w.escapes
	return p
}

// decode returns the instruction at an RVA, which is decoded once.
func (w *passedWalk) decode(at uint64) (x86asm.Inst, bool) {
	if inst, ok := w.insts[at]; ok {
		return inst, true
	}
	if at < w.low || at >= w.high || len(w.insts) >= maxSteps {
		return x86asm.Inst{}, false
	}
	inst, ok := w.c.decode(at)
	if ok = ok && at+uint64(inst.Len) <= w.high; ok {
		w.insts[at] = inst
	}
	return inst, ok
}

// isHook reports whether a call is one of a hook, which changes no register.
func (w *passedWalk) isHook(inst *x86asm.Inst, at uint64) bool {
	if w.c.target(inst, at) == bystands {
		return true
	}
	if w.c.im.Kind != image.PE {
		return false
	}
	// On Windows any other call needs room on the stack, which is made before and given back behind it.
	if at == w.low {
		return true
	}
	next, ok := w.decode(at + uint64(inst.Len))
	return ok && next.Op == x86asm.RET
}

// beginning returns which registers are read before the first jump or call: these instructions are always executed first.
func (w *passedWalk) beginning() (reads uint32) {
	f := flow{passed: ^uint32(0)}
	for at := w.low; ; {
		inst, ok := w.decode(at)
		if !ok {
			return reads
		}
		to, jumps := jumpTarget(&inst, at)
		switch {
		case inst.Op == x86asm.CALL && w.isHook(&inst, at):
		case inst.Op == x86asm.JMP && jumps && to > at && to-at <= maxSled:
			at = to // the room for a hook
			continue
		default:
			reads |= readBy(&inst) & f.passed
			if jumps || inst.Op == x86asm.CALL || inst.Op == x86asm.JMP || inst.Op == x86asm.RET || !f.step(&inst) {
				return reads
			}
		}
		at += uint64(inst.Len)
	}
}

// maxSled is how many bytes compilers leave for a hook at most, that a jump goes over.
const maxSled = 16

// arrive takes note of what is known where an instruction goes on.
func (w *passedWalk) arrive(at uint64, f flow) {
	old, there := w.flows[at]
	if there && !old.meet(f) {
		return
	}
	if !there {
		old = f
	}
	w.flows[at] = old
	w.todo = append(w.todo, at)
}

// all follows all ways through the function, and reports whether all of its instructions are understood.
func (w *passedWalk) all() bool {
	w.arrive(w.low, flow{passed: ^uint32(0), may: ^uint32(0), frame: frame{stackKnown: true}})
	for steps := 0; len(w.todo) > 0; steps++ {
		at := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		inst, ok := w.decode(at)
		// What is seen again draws on the instructions of all functions, too, which may lie one over the other.
		if w.c.left--; !ok || w.c.left < 0 || steps > 64*maxSteps {
			return false
		}
		if !w.follow(&inst, at) {
			return false
		}
	}
	for at, inst := range w.insts {
		f, reached := w.flows[at]
		if !reached {
			continue
		}
		if inst.Op == x86asm.RET {
			w.returns = true
			w.proven = w.proven || f.computed
		}
		if f.may>>w.hidden&1 != 0 && w.copies(&inst, at) {
			w.escapes = true
		}
	}
	return true
}

// follow goes on behind an instruction.
func (w *passedWalk) follow(inst *x86asm.Inst, at uint64) bool {
	f, next := w.flows[at], at+uint64(inst.Len)
	to, jumps := jumpTarget(inst, at)
	switch {
	case inst.Op == x86asm.RET, inst.Op == x86asm.UD2, inst.Op == x86asm.HLT:
		return true
	case inst.Op == x86asm.CALL:
		if !w.isHook(inst, at) {
			f.call()
		}
		if w.c.target(inst, at) == ends || next == w.high {
			return true
		}
	case jumps:
		if to >= w.low && to < w.high {
			w.arrive(to, f)
		} else {
			w.returns = true
		}
		if inst.Op == x86asm.JMP {
			return true
		}
	case inst.Op == x86asm.JMP:
		return false // where it leads to is not known
	case !f.step(inst):
		return false
	}
	if next >= w.high {
		return false
	}
	w.arrive(next, f)
	return true
}

// copies reports whether an instruction may copy the 64 bits of w.hidden, or hand them on.
func (w *passedWalk) copies(inst *x86asm.Inst, at uint64) bool {
	is := func(a x86asm.Arg) bool {
		r, ok := a.(x86asm.Reg)
		i, n := reg(r)
		return ok && i == w.hidden && n == 8
	}
	to, jumps := jumpTarget(inst, at)
	switch op := inst.Op; {
	case op == x86asm.CALL:
		return !w.isHook(inst, at)
	case jumps:
		return to < w.low || to >= w.high
	case op == x86asm.LEA:
		m, _ := inst.Args[1].(x86asm.Mem)
		return is(m.Base) || is(m.Index)
	case harmless[op]:
		return false
	}
	for i, a := range inst.Args {
		if a != nil && is(a) && !(i == 0 && overwrites(inst)) {
			return true
		}
	}
	return false
}

// overwrites reports whether an instruction writes its first operand without reading it.
func overwrites(inst *x86asm.Inst) bool {
	switch inst.Op {
	case x86asm.MOV, x86asm.MOVZX, x86asm.MOVSX, x86asm.MOVSXD, x86asm.LEA, x86asm.POP, x86asm.MOVD, x86asm.MOVQ, x86asm.CVTTSD2SI, x86asm.CVTTSS2SI,
		x86asm.CVTSD2SI, x86asm.CVTSS2SI, x86asm.MOVSS, x86asm.MOVSD_XMM:
		return true
	case x86asm.XOR, x86asm.PXOR, x86asm.XORPS, x86asm.XORPD, x86asm.SUB, x86asm.SBB:
		return inst.Args[0] == inst.Args[1]
	case x86asm.IMUL:
		return inst.Args[2] != nil
	}
	return whole[inst.Op]
}

// wide are instructions that may leave in rax, as a whole, what was in a register or in memory, or what is so far from it.
var wide = map[x86asm.Op]bool{
	x86asm.MOV: true, x86asm.LEA: true, x86asm.ADD: true, x86asm.SUB: true, x86asm.POP: true, x86asm.XCHG: true, x86asm.MOVQ: true,
	x86asm.ADC: true, x86asm.SBB: true, x86asm.INC: true, x86asm.DEC: true, x86asm.AND: true, x86asm.OR: true, x86asm.XOR: true,
	x86asm.CMOVA: true, x86asm.CMOVAE: true, x86asm.CMOVB: true, x86asm.CMOVBE: true, x86asm.CMOVE: true, x86asm.CMOVNE: true, x86asm.CMOVG: true,
	x86asm.CMOVGE: true, x86asm.CMOVL: true, x86asm.CMOVLE: true, x86asm.CMOVS: true, x86asm.CMOVNS: true,
}

// step follows an instruction that is no jump, call or return, and reports whether it is understood.
func (f *flow) step(inst *x86asm.Inst) bool {
	to, from := inst.Args[0], inst.Args[1]
	f.frame.step(inst)
	switch op := inst.Op; {
	case harmless[op], ofX87[op], op == x86asm.PUSH, op == x86asm.FLD, op == x86asm.FSTP, op == x86asm.FILD, op == x86asm.FLDZ, op == x86asm.FLD1:
	case op == x86asm.LEAVE:
		f.write(x86asm.RBP)
	case op == x86asm.CDQ, op == x86asm.CQO, op == x86asm.CWD:
		f.write(x86asm.RDX)
	case op == x86asm.CDQE, op == x86asm.CWDE, op == x86asm.CBW:
		f.write(x86asm.RAX)
		f.computed = true
	case op == x86asm.DIV, op == x86asm.IDIV, op == x86asm.MUL, op == x86asm.IMUL && from == nil:
		f.write(x86asm.RAX)
		f.write(x86asm.RDX)
		f.computed = true
	case op == x86asm.XCHG:
		f.write(to)
		f.write(from)
		f.computed = false
	case op == x86asm.MOV, op == x86asm.LEA, op == x86asm.POP, op == x86asm.MOVZX, op == x86asm.MOVSX, op == x86asm.MOVSXD, op == x86asm.IMUL,
		op == x86asm.MOVD, op == x86asm.MOVQ, op == x86asm.MOVSS, op == x86asm.MOVSD_XMM, computing[op], whole[op]:
		f.write(to)
		if r, ok := to.(x86asm.Reg); ok && r == x86asm.RAX {
			_, fixed := from.(x86asm.Imm)
			f.computed = !wide[op] || op == x86asm.MOV && fixed
		}
	default:
		return false
	}
	return true
}

// ofX87 are instructions that change nothing but the x87's registers, flags and memory.
var ofX87 = map[x86asm.Op]bool{
	x86asm.FST: true, x86asm.FIST: true, x86asm.FISTP: true, x86asm.FISTTP: true, x86asm.FNSTCW: true, x86asm.FLDCW: true, x86asm.FXCH: true, x86asm.FCHS: true,
	x86asm.FABS: true, x86asm.FADD: true, x86asm.FADDP: true, x86asm.FIADD: true, x86asm.FSUB: true, x86asm.FSUBP: true, x86asm.FSUBR: true, x86asm.FSUBRP: true,
	x86asm.FMUL: true, x86asm.FMULP: true, x86asm.FIMUL: true, x86asm.FDIV: true, x86asm.FDIVP: true, x86asm.FDIVR: true, x86asm.FDIVRP: true,
	x86asm.FUCOMI: true, x86asm.FUCOMIP: true, x86asm.FCOMI: true, x86asm.FCOMIP: true, x86asm.FSQRT: true, x86asm.FRNDINT: true,
}

// readBy returns the registers that an instruction reads so that it makes a difference what they have. Those that it reads
// only in form, such as pushes that keep room on the stack, are not among them.
func readBy(inst *x86asm.Inst) (mask uint32) {
	add := func(a x86asm.Arg) {
		if r, ok := a.(x86asm.Reg); ok {
			if i, _ := reg(r); i >= 0 {
				mask |= 1 << i
			}
		}
	}
	to, from := inst.Args[0], inst.Args[1]
	switch op := inst.Op; {
	case op == x86asm.NOP, op == x86asm.PUSH, op == x86asm.POP, op == x86asm.LEAVE, op == x86asm.XCHG, op == x86asm.PREFETCHT0, op == x86asm.PREFETCHT1,
		op == x86asm.PREFETCHT2, op == x86asm.PREFETCHNTA, op == x86asm.PREFETCHW, op == x86asm.PAUSE:
		return 0
	case op == x86asm.LEA:
		if m, ok := from.(x86asm.Mem); ok && to == x86asm.Arg(m.Base) && m.Index == 0 && m.Disp == 0 {
			return 0
		}
	}
	for _, a := range inst.Args {
		if m, ok := a.(x86asm.Mem); ok {
			add(m.Base)
			add(m.Index)
		}
	}
	switch op := inst.Op; {
	case op == x86asm.CALL, op == x86asm.JMP:
		add(to)
	case from == nil:
	case op == x86asm.CMP || op == x86asm.TEST || op == x86asm.UCOMISS || op == x86asm.UCOMISD || op == x86asm.COMISS || op == x86asm.COMISD:
		add(to)
		add(from)
	case from != to:
		add(from)
		if modifies[op] {
			add(to)
		}
	}
	return mask
}

// modifies are instructions of two operands whose outcome always depends on the first, too.
var modifies = map[x86asm.Op]bool{
	x86asm.ADD: true, x86asm.SUB: true, x86asm.SHL: true, x86asm.SHR: true, x86asm.SAR: true,
	x86asm.ADDSS: true, x86asm.ADDSD: true, x86asm.SUBSS: true, x86asm.SUBSD: true, x86asm.MULSS: true, x86asm.MULSD: true, x86asm.DIVSS: true, x86asm.DIVSD: true,
}
