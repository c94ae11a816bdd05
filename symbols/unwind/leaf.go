package unwind

import "encoding/binary"

// Callers of functions that have made no frame, where no rules say so: the return address is where the call left it.

// linkRegister takes the caller from arm64's link register, if the innermost function has made no frame yet, or never does: the frame pointer
// is then its caller's, and leads past that.
func (s *step) linkRegister() (c caller, ok bool) {
	if s.Machine != ARM64 || !s.frame.Exact {
		return c, false
	}
	lr, ok := s.frame.Registers.Get(arm64LR)
	sp, ok2 := s.frame.Registers.Get(arm64SP)
	lr = s.withoutPAC(lr)
	if !ok || !ok2 || lr == s.frame.PC || !s.returnsTo(lr) {
		return c, false
	}
	if fp, ok := s.frame.Registers.Get(arm64FP); ok {
		if saved, ok := s.word(fp + 8); ok && s.withoutPAC(saved) == lr {
			return c, false // the frame has it
		}
	}
	apart, known := s.apart(lr-4, s.frame.PC)
	if !apart {
		return c, false // left over from a call that the function has made
	}
	c.registers, c.cfa, c.found = s.inherit(), sp, ByScan
	if known {
		c.found = ByReturn
	}
	c.registers.Set(arm64SP, sp)
	c.registers.Set(arm64PC, lr)
	return c, true
}

// Instructions of arm64.
const (
	arm64Return   = 0xd65f03c0
	arm64PACIASP  = 0xd503233f
	arm64PACIBSP  = 0xd503237f
	arm64BTIC     = 0xd503245f
	arm64PushPair = 0xa9807bfd // stp x29, x30, [sp, #-n]!
	arm64PushMask = 0xffc07fff
)

const (
	// farApart is a distance in bytes that hardly any function has within itself, and sureApart one that none has.
	farApart  = 4 << 10
	sureApart = 64 << 10
)

// apart reports whether two addresses of code lie in different functions; known says that the code between them shows it.
func (s *step) apart(a, b uint64) (apart, known bool) {
	lo, hi := min(a, b), max(a, b)
	if hi-lo >= sureApart {
		return true, true
	}
	code := s.code(lo, int(hi-lo)+4)
	if uint64(len(code)) < hi-lo+4 {
		return hi-lo >= farApart, false
	}
	// The upper function begins between them.
	for i := 4; i+4 <= len(code); i += 4 {
		switch op := binary.LittleEndian.Uint32(code[i:]); {
		case op == arm64PACIASP, op == arm64PACIBSP, op == arm64BTIC, op&arm64PushMask == arm64PushPair:
			return true, true
		case op == arm64Return && i+8 <= len(code) && binary.LittleEndian.Uint32(code[i+4:]) == 0:
			return true, true // no instruction: room between functions
		}
	}
	return false, true
}

// stackTop takes the return address from the top of the stack in programs for Windows x64 without unwind data at hand: a function that
// calls nothing leaves it there, and the frame pointer is a register like others. It is no more certain than what a scan finds.
func (s *step) stackTop() (c caller, ok bool) {
	if !s.Windows || s.Machine != X8664 || !s.frame.Exact || s.module != nil && len(s.module.Rules) > 0 {
		return c, false
	}
	sp, ok := s.frame.Registers.Get(amd64RSP)
	if !ok {
		return c, false
	}
	pc, ok := s.word(sp)
	if !ok || !s.returnsTo(pc) {
		return c, false
	}
	c.registers, c.cfa, c.found = s.inherit(), sp+8, ByScan
	c.registers.Set(amd64RSP, sp+8)
	c.registers.Set(amd64PC, pc)
	return c, true
}
