package hooks

import (
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// This file finds out which registers a function certainly does nothing with. Compilers that see both a function and its callers need not
// put there what the source passes.

// Taken is which registers a function may take values in when it is entered.
type Taken struct {
	// registers has a bit for each register, by number, returned one for each that may have the result as it was passed. whole says
	// that the code was followed to all of its ends.
	registers, returned uint32
	whole               bool
	stack               stackUse
}

// UnreadStack reports whether the code certainly does nothing with what lies at an offset behind the return address.
func (t Taken) UnreadStack(offset int64) bool {
	return t.whole && !t.stack.all && !t.stack.read[offset]
}

// Unread reports whether the code certainly does nothing with what a register has at the function's first instruction: its callers need
// not have put anything there. result says that the function returns something.
func (t Taken) Unread(register string, result bool) bool {
	i, ok := numberOf(register)
	all := t.registers
	if result {
		all |= t.returned
	}
	return ok && t.whole && all>>i&1 == 0
}

// mostCalled bounds the functions within each other that are looked at for what a function hands on.
const mostCalled = 4

// Taken follows the function in [low, low+size), and those that it calls with registers as it has got them. sizeOf returns the size of
// the function that begins at an RVA, 0 where none is known.
func (c *Code) Taken(low, size uint64, sizeOf func(rva uint64) uint64) Taken {
	return c.takenWithin(low, size, sizeOf, 0)
}

func (c *Code) takenWithin(low, size uint64, sizeOf func(rva uint64) uint64, depth int) Taken {
	if t, ok := c.taken[low]; ok {
		return t
	}
	w := &passedWalk{c: c, low: low, high: low + size, hidden: rsp, flows: make(map[uint64]flow), insts: make(map[uint64]x86asm.Inst)}
	if size == 0 || depth > mostCalled || !w.all() {
		return Taken{}
	}
	t := Taken{whole: true, stack: stackUse{read: make(map[int64]bool)}}
	for _, at := range slices.Sorted(maps.Keys(w.insts)) { // in order, because what is looked at first bounds the depth of others
		inst := w.insts[at]
		f, reached := w.flows[at]
		if !reached {
			continue
		}
		t.registers |= mayReadBy(&inst) & f.may
		to, jumps := jumpTarget(&inst, at)
		t.stack.see(&inst, &f.frame, inst.Op == x86asm.JMP && (!jumps || to < low || to >= w.high))
		switch k := c.target(&inst, at); {
		case inst.Op == x86asm.RET:
			t.returned |= f.may & results
		case inst.Op == x86asm.CALL && (k != other || w.isHook(&inst, at)), jumps && inst.Op != x86asm.CALL && to >= low && to < w.high:
		case inst.Op == x86asm.CALL, jumps:
			handed := f.may & arguments
			if jumps && handed&^t.registers != 0 {
				if called := c.takenWithin(to, sizeOf(to), sizeOf, depth+1); called.whole {
					if inst.Op == x86asm.JMP { // what that function returns this one does
						t.returned |= handed & called.returned
						handed &= called.registers
					}
					handed &= called.registers | called.returned
				}
			}
			t.registers |= handed
		}
	}
	if c.taken == nil {
		c.taken = make(map[uint64]Taken)
	}
	c.taken[low] = t
	return t
}

// arguments are the registers that any convention passes arguments in, results those that may return as they were passed.
const (
	arguments = 1<<rdi | 1<<rsi | 1<<rdx | 1<<rcx | 1<<8 | 1<<9 | 0xff<<vector
	results   = 1<<rax | 1<<rdx | 3<<vector
)

// mayReadBy returns all registers that an instruction reads, also those that make no difference.
func mayReadBy(inst *x86asm.Inst) (mask uint32) {
	add := func(a x86asm.Arg) {
		if r, ok := a.(x86asm.Reg); ok {
			if i, _ := reg(r); i >= 0 {
				mask |= 1 << i
			}
		}
	}
	for i, a := range inst.Args {
		switch a := a.(type) {
		case x86asm.Mem:
			if inst.Op != x86asm.NOP {
				add(a.Base)
				add(a.Index)
			}
		case x86asm.Reg:
			if !overwrites(inst) || i > 0 && inst.Args[i] != inst.Args[0] || i > 0 && (inst.Op == x86asm.MOV || inst.Op == x86asm.MOVZX || inst.Op == x86asm.MOVSX) {
				add(a)
			}
		}
	}
	return mask
}
