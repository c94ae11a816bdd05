package hooks

import (
	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/x86"
)

// A frame is where the stack pointer and rbp are in a function, in bytes from where the stack pointer was at its first instruction, as far
// as that is known.
type frame struct {
	stack, base           int64
	stackKnown, baseKnown bool
}

func (f *frame) meet(o frame) {
	f.stackKnown = f.stackKnown && o.stackKnown && f.stack == o.stack
	f.baseKnown = f.baseKnown && o.baseKnown && f.base == o.base
	if !f.stackKnown {
		f.stack = 0
	}
	if !f.baseKnown {
		f.base = 0
	}
}

// step follows an instruction.
func (f *frame) step(inst *x86asm.Inst) {
	const word = 8
	to, from := inst.Args[0], inst.Args[1]
	switch n, immediate := from.(x86asm.Imm); {
	case inst.Op == x86asm.PUSH:
		f.stack -= word
	case inst.Op == x86asm.POP:
		f.stack += word
		if to == x86asm.Arg(x86asm.RBP) {
			f.base, f.baseKnown = 0, false
		}
	case inst.Op == x86asm.LEAVE:
		f.stack, f.stackKnown = f.base+word, f.baseKnown
		f.base, f.baseKnown = 0, false
	case inst.Op == x86asm.SUB && to == x86asm.Arg(x86asm.RSP) && immediate:
		f.stack -= x86.Distance(int64(n))
	case inst.Op == x86asm.ADD && to == x86asm.Arg(x86asm.RSP) && immediate:
		f.stack += x86.Distance(int64(n))
	case inst.Op == x86asm.MOV && to == x86asm.Arg(x86asm.RBP) && from == x86asm.Arg(x86asm.RSP):
		f.base, f.baseKnown = f.stack, f.stackKnown
	case inst.Op == x86asm.LEA && (to == x86asm.Arg(x86asm.RSP) || to == x86asm.Arg(x86asm.RBP)):
		at, known := f.address(from)
		if to == x86asm.Arg(x86asm.RSP) {
			f.stack, f.stackKnown = at, known
		} else {
			f.base, f.baseKnown = at, known
		}
	case harmless[inst.Op]:
	case to == x86asm.Arg(x86asm.RSP):
		f.stackKnown = false
	case to == x86asm.Arg(x86asm.RBP):
		f.baseKnown = false
	}
	if !f.stackKnown {
		f.stack = 0
	}
	if !f.baseKnown {
		f.base = 0
	}
}

// address returns where memory of the frame is that an operand names by the stack pointer or rbp.
func (f *frame) address(a x86asm.Arg) (at int64, known bool) {
	m, ok := a.(x86asm.Mem)
	switch {
	case !ok || m.Index != 0 || m.Segment != 0:
	case m.Base == x86asm.RSP && f.stackKnown:
		return f.stack + x86.Distance(m.Disp), true
	case m.Base == x86asm.RBP && f.baseKnown:
		return f.base + x86.Distance(m.Disp), true
	}
	return 0, false
}

// A stackUse is what a function does with what its callers pass on the stack.
type stackUse struct {
	// read has the places that it reads, in bytes behind the return address. all says that it may read any.
	read map[int64]bool
	all  bool
}

const behindReturn = 8 // bytes of the return address

// see takes note of what an instruction does, before which the frame is f.
func (u *stackUse) see(inst *x86asm.Inst, f *frame, leaves bool) {
	if u.all = u.all || leaves; u.all {
		return
	}
	for i, a := range inst.Args {
		switch a := a.(type) {
		case x86asm.Mem:
			at, known := f.address(a)
			switch framed := a.Base == x86asm.RSP || a.Base == x86asm.RBP && f.baseKnown || a.Index == x86asm.RSP; {
			case !framed:
			case !known:
				u.all = true
			case inst.Op == x86asm.LEA:
				u.all = u.all || at >= behindReturn && inst.Args[0] != x86asm.Arg(x86asm.RSP)
			case at >= behindReturn:
				for n := int64(0); n < int64(max(inst.MemBytes, 1)); n += 8 {
					u.read[at-behindReturn+n] = true
				}
			}
		case x86asm.Reg:
			// The stack pointer goes elsewhere than into rbp.
			u.all = u.all || i > 0 && a == x86asm.RSP && inst.Op == x86asm.MOV && inst.Args[0] != x86asm.Arg(x86asm.RBP)
		}
	}
}
