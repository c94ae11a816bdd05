package hooks

import (
	"golang.org/x/arch/x86/x86asm"
)

// This file finds out which functions certainly return something: compilers leave out the result of a function that they make of another, or
// that only its file calls, if no caller uses it.

// mostBehind bounds the instructions that are followed behind a call.
const mostBehind = 64

// Results returns, by the RVA of each function, in which registers it certainly returns something. sizes has the functions that are asked for,
// with their sizes. A function returns something in a register if it writes it, and a caller reads it behind the call. (A
// register that the function does not write may have something of the caller's.)
func (c *Code) Results(sizes map[uint64]uint64) map[uint64]Returned {
	found := make(map[uint64]Returned)
	if len(sizes) == 0 {
		return found
	}
	for _, t := range c.text {
		for i := 0; i+5 <= len(t.code); i++ {
			if t.code[i] != 0xe8 {
				continue
			}
			behind := t.rva + uint64(i) + 5
			to := behind + relative(t.code[i+1:])
			if size := sizes[to]; size > 0 {
				found[to] |= c.readBehind(behind)
			}
		}
	}
	for rva, read := range found {
		found[rva] = read & c.written(rva, sizes[rva])
	}
	return found
}

// Returned has a bit for each register, by number, in which a function returns something.
type Returned uint32

// In reports whether a register is among them.
func (r Returned) In(register string) bool {
	i, ok := numberOf(register)
	return ok && r>>i&1 != 0
}

// readBehind returns which registers of results are read behind a call before anything writes them.
func (c *Code) readBehind(rva uint64) Returned {
	f := flow{passed: results, may: results}
	read := uint32(0)
	for range mostBehind {
		inst, ok := c.decode(rva)
		if !ok {
			break
		}
		_, jumps := jumpTarget(&inst, rva)
		if inst.Op == x86asm.CALL && c.target(&inst, rva) == bystands {
			rva += uint64(inst.Len)
			continue
		}
		if inst.Op == x86asm.CALL || inst.Op == x86asm.JMP || inst.Op == x86asm.RET {
			break
		}
		read |= readBy(&inst) & f.passed
		if !jumps && !f.step(&inst) || f.passed&results == 0 {
			break
		}
		rva += uint64(inst.Len)
	}
	return Returned(read)
}

// written returns which registers a function writes itself, none if its code is not understood.
func (c *Code) written(low, size uint64) (mask Returned) {
	w := &passedWalk{c: c, low: low, high: low + size, hidden: rsp, flows: make(map[uint64]flow), insts: make(map[uint64]x86asm.Inst)}
	if !w.all() {
		return 0
	}
	for at, inst := range w.insts {
		if _, reached := w.flows[at]; !reached || inst.Op == x86asm.CALL || harmless[inst.Op] || inst.Op == x86asm.PUSH {
			continue
		}
		if r, ok := inst.Args[0].(x86asm.Reg); ok {
			if i, _ := reg(r); i >= 0 {
				mask |= 1 << i
			}
		}
	}
	return mask
}
