package unwind

import (
	"bytes"
	"encoding/binary"
)

// Ways to a caller that need no rules of the image.

// The code that signal handlers return to, as libraries and the kernel have it: the
// kernel knows its frame by the stack pointer alone.
var (
	amd64SigReturn = [][]byte{{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}}
	// x86 has a frame for handlers with siginfo, and an older one.
	x86RTSigReturn = [][]byte{{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80}, {0xb8, 0xad, 0, 0, 0, 0x0f, 0x05}}
	x86SigReturn   = [][]byte{{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, {0x58, 0xb8, 0x77, 0, 0, 0, 0x0f, 0x05}}
	arm64SigReturn = [][]byte{{0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}}
)

// Where the kernel's frame has the registers, in bytes from the stack pointer that the
// handler returned with.
const (
	// struct ucontext: flags, link and stack come first.
	amd64Context = 40
	// siginfo of 128 bytes, struct ucontext with 168 before its mcontext, and the
	// address of the fault.
	arm64Context = 128 + 176 + 8
	x86Context   = 4 // struct sigcontext behind the signal's number
)

// signalReturn reads the frame that the kernel made for a signal handler.
func (s *step) signalReturn() (c caller, ok bool) {
	at := s.frame.PC
	sp, known := s.frame.Registers.Get(s.Machine.SP())
	if !known {
		return c, false
	}
	switch is := s.codeIs; s.Machine {
	case X8664:
		if !is(at, amd64SigReturn) {
			return c, false
		}
		order := []int{8, 9, 10, 11, 12, 13, 14, 15, amd64RDI, amd64RSI, amd64RBP, amd64RBX, amd64RDX, amd64RAX, amd64RCX, amd64RSP, amd64PC}
		return s.saved(sp+amd64Context, order)
	case ARM64:
		if !is(at, arm64SigReturn) {
			return c, false
		}
		order := make([]int, arm64PC+1)
		for i := range order {
			order[i] = i
		}
		return s.saved(sp+arm64Context, order)
	case X86:
		// edi esi ebp esp ebx edx ecx eax trapno err eip, behind gs fs es ds
		order := []int{-1, -1, -1, -1, 7, 6, 5, 4, 3, 2, 1, 0, -1, -1, 8}
		switch {
		case is(at, x86SigReturn):
			return s.saved(sp+x86Context, order)
		case is(at, x86RTSigReturn):
			// sig, pointers to siginfo and to the context
			context, ok := s.word(sp + 8)
			if !ok {
				return c, false
			}
			return s.saved(context+20, order)
		}
	}
	return c, false
}

// codeIs reports whether the code at an address is one of some.
func (s *step) codeIs(address uint64, list [][]byte) bool {
	b := s.code(address, 9)
	for _, want := range list {
		if bytes.HasPrefix(b, want) {
			return true
		}
	}
	return false
}

// saved reads registers that lie one behind the other.
func (s *step) saved(at uint64, order []int) (c caller, ok bool) {
	size := s.Machine.PointerSize()
	b := make([]byte, size*len(order))
	if s.Memory.ReadMemory(b, at) != nil {
		return c, false
	}
	for i, n := range order {
		v := b[i*size:]
		if size == 4 {
			c.registers.Set(n, uint64(binary.LittleEndian.Uint32(v)))
		} else {
			c.registers.Set(n, binary.LittleEndian.Uint64(v))
		}
	}
	c.cfa, _ = c.registers.Get(s.Machine.SP())
	c.signal, c.found = true, BySignalFrame
	return c, true
}

// returned takes the return address from where a call leaves it, for the innermost
// frame alone: where the program counter is not in code at all, the call has just been
// made.
func (s *step) returned() (c caller, ok bool) {
	if !s.frame.Exact || s.isCode(s.frame.PC) {
		return c, false
	}
	m := s.Machine
	c.registers, c.found = s.inherit(), ByReturn
	sp, ok := s.frame.Registers.Get(m.SP())
	if !ok {
		return c, false
	}
	var pc uint64
	if m == ARM64 {
		pc, ok = s.frame.Registers.Get(arm64LR)
		c.cfa = sp
	} else {
		pc, ok = s.word(sp)
		c.cfa = sp + uint64(m.PointerSize())
	}
	if !ok || !s.returnsTo(pc) {
		return c, false
	}
	c.registers.Set(m.SP(), c.cfa)
	c.registers.Set(m.PC(), pc)
	return c, true
}

// framePointer takes the caller from the pair of words that the frame pointer
// points to: the caller's frame pointer and the return address.
func (s *step) framePointer() (c caller, ok bool) {
	m := s.Machine
	size := uint64(m.PointerSize())
	fp, ok := s.frame.Registers.Get(m.FP())
	sp, ok2 := s.frame.Registers.Get(m.SP())
	if !ok || !ok2 || fp < sp || fp%size != 0 {
		return c, false
	}
	above, ok := s.word(fp)
	pc, ok2 := s.word(fp + size)
	if !ok || !ok2 {
		return c, false
	}
	if m == ARM64 {
		pc = s.withoutPAC(pc)
	}
	if above == 0 && pc == 0 {
		c.outermost = true
		return c, false
	}
	// A frame pointer that leads down, or nowhere, is another number.
	if above != 0 && above <= fp || !s.returnsTo(pc) {
		return c, false
	}
	c.registers, c.found = s.inherit(), ByFramePointer
	c.cfa = fp + 2*size
	c.registers.Set(m.FP(), above)
	c.registers.Set(m.SP(), c.cfa)
	c.registers.Set(m.PC(), pc)
	if m == ARM64 {
		c.registers.Set(arm64LR, pc)
	}
	return c, true
}

// Words of the stack that a scan looks at: more in the innermost frame, whose
// function may have large variables.
const (
	scanFirst = 256
	scanNext  = 64
)

// scan takes the first word on the stack that a call can have left there.
func (s *step) scan() (c caller, ok bool) {
	m := s.Machine
	size := uint64(m.PointerSize())
	sp, ok := s.frame.Registers.Get(m.SP())
	if !ok {
		return c, false
	}
	words := scanNext
	if s.frame.Exact {
		words = scanFirst
		if lr, ok := s.frame.Registers.Get(arm64LR); ok && m == ARM64 && s.frame.Found == ByContext {
			// A function that calls nothing may keep it in its register.
			if lr = s.withoutPAC(lr); lr != s.frame.PC && s.returnsTo(lr) {
				c.registers, c.cfa, c.found = s.inherit(), sp, ByScan
				c.registers.Set(m.SP(), sp)
				c.registers.Set(m.PC(), lr)
				return c, true
			}
		}
	}
	sp = (sp + size - 1) &^ (size - 1)
	for range words {
		pc, ok := s.word(sp)
		if !ok {
			return c, false
		}
		sp += size
		if m == ARM64 {
			pc = s.withoutPAC(pc)
		}
		if !s.returnsTo(pc) {
			continue
		}
		c.registers, c.cfa, c.found = s.inherit(), sp, ByScan
		// A pushed frame pointer lies below its return address.
		c.registers.Forget(m.FP())
		if above, ok := s.word(sp - 2*size); ok && above > sp {
			if _, hi, ok := s.Memory.Range(sp); ok && above < hi {
				c.registers.Set(m.FP(), above)
			}
		}
		c.registers.Set(m.SP(), sp)
		c.registers.Set(m.PC(), pc)
		return c, true
	}
	return c, false
}

// returnsTo reports whether an address can be one that a call returns to: it is
// code, and, where the code is there, a call lies before it.
func (s *step) returnsTo(pc uint64) bool {
	if pc < 4096 || !s.isCode(pc-1) {
		return false
	}
	switch s.Machine {
	case ARM64:
		if pc%4 != 0 {
			return false
		}
		b := s.code(pc-4, 4)
		if len(b) < 4 {
			return true
		}
		op := binary.LittleEndian.Uint32(b)
		// BL; BLR and its forms with authentication
		return op>>26 == 0x25 || op&0xfffffc1f == 0xd63f0000 || op&0xfefff800 == 0xd63f0800
	default:
		b := s.code(pc-7, 7)
		if len(b) < 7 {
			return true
		}
		return endsWithCall(b)
	}
}

// endsWithCall reports whether seven bytes of x86 code can end with a call.
func endsWithCall(b []byte) bool {
	if b[2] == 0xe8 {
		return true
	}
	// FF /2 with a ModRM byte, a SIB byte and a displacement, as its form has them.
	for i := range 6 {
		if b[i] != 0xff || b[i+1]>>3&7 != 2 {
			continue
		}
		mod, rm := b[i+1]>>6, b[i+1]&7
		n := 2
		if mod != 3 && rm == 4 {
			n++
			if i+2 < 7 && mod == 0 && b[i+2]&7 == 5 {
				n += 4
			}
		}
		switch {
		case mod == 1:
			n++
		case mod == 2, mod == 0 && rm == 5:
			n += 4
		}
		if i+n == 7 {
			return true
		}
	}
	return false
}
