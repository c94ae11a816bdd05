package unwind

import (
	"encoding/binary"

	"logparser/message"
	"logparser/symbols/image"
)

// A Memory is what was saved of a process's memory.
type Memory interface {
	// ReadMemory reads the whole of p from an address, or returns an error.
	ReadMemory(p []byte, address uint64) error
	// Range returns the saved bytes [lo, hi) without a gap that an address lies in.
	Range(address uint64) (lo, hi uint64, ok bool)
}

// A Module is an image as it lay in the process.
type Module struct {
	// Base is the address of its first byte, Size its length in bytes.
	Base, Size uint64
	// Code is what is known of its code, nil where nothing is known.
	Code Code
	// Rules are the sources of unwind rules for its code, the best first.
	Rules []Rules
}

// Code is what is known of the code of an image: all of it, or what was kept.
type Code interface {
	// LinkBase is the address of the image's first byte as it was linked.
	LinkBase() uint64
	// Executable reports whether an RVA is code.
	Executable(rva uint64) bool
	// Read reads n bytes at an RVA.
	Read(rva uint64, n int64) ([]byte, error)
}

// CodeOf returns the code of an image, nil where there is none.
func CodeOf(im *image.Image) Code {
	if im == nil {
		return nil
	}
	return imageCode{im}
}

type imageCode struct{ im *image.Image }

// LinkBase implements [Code].
func (c imageCode) LinkBase() uint64 { return c.im.Base }

// Executable implements [Code].
func (c imageCode) Executable(rva uint64) bool {
	_, _, ok := c.im.Executable(c.im.Base + rva)
	return ok
}

// Read implements [Code].
func (c imageCode) Read(rva uint64, n int64) ([]byte, error) { return c.im.ReadRVA(rva, n) }

// Rules are the unwind rules of one image. They are safe for concurrent use.
type Rules interface {
	// caller makes the caller of a frame. The error wraps errNoRule where nothing is
	// known of the frame's address.
	caller(s *step) (caller, error)
}

var errNoRule = message.New("no unwind rule for this address")

// A Method is how a frame was found.
type Method string

const (
	// ByContext: the frame's registers were saved with the thread.
	ByContext Method = "context"
	// ByCFI: by call frame information.
	ByCFI Method = "cfi"
	// ByUnwindInfo: by a PE's exception directory.
	ByUnwindInfo Method = "unwind info"
	// ByFrameData: by what a PDB says of a frame of x86, as Breakpad's files have it.
	ByFrameData Method = "frame data"
	// BySignalFrame: by what the kernel saved for a signal handler's return.
	BySignalFrame Method = "signal frame"
	// ByReturn: by the return address where a call leaves it: code that ran is not
	// there (a call of a null pointer), or is the body of a function that
	// saved nothing.
	ByReturn Method = "return address"
	// ByFramePointer: by the chain of frame pointers.
	ByFramePointer Method = "frame pointer"
	// ByScan: a word on the stack looks like a return address. It may be left
	// over from an earlier call.
	ByScan Method = "scan"
)

// A Frame is one function that was running.
type Frame struct {
	// PC is where the frame goes on.
	PC uint64
	// CFA is the stack pointer before the frame was called, 0 where it is not known.
	CFA uint64
	// Exact says that PC is an instruction that was not yet done or that faulted,
	// and no return address.
	Exact bool
	// Signal says that the frame is the code that a signal handler returns to;
	// the next was interrupted by the signal.
	Signal bool
	// Outermost says that there is no caller, by what the frame's rules say or by a null return address.
	Outermost bool
	Found     Method
	// Doubtful says that a frame that this one called was found by scan: if that word was left over from an earlier call, this is
	// no frame either, however it was found.
	Doubtful bool
	// Registers are those of the frame, as far as they are known.
	Registers Registers
	// parameters is how many bytes of arguments what it called has on its stack.
	parameters uint64
}

// Lookup returns the address to look a frame's function and line up by: the byte before PC, unless PC is no return address.
func (f *Frame) Lookup() uint64 {
	if f.Exact || f.Signal {
		return f.PC
	}
	return f.PC - 1
}

// An Unwinder walks over stacks. It may be used by one goroutine at a time.
type Unwinder struct {
	Machine Machine
	Memory  Memory
	// Windows says that functions preserve what Windows' conventions say.
	Windows bool
	// Find returns the module of an address, nil for none.
	Find func(address uint64) *Module
	// Executable reports whether memory outside of all images that are there can
	// be code. nil stands for none.
	Executable func(address uint64) bool
}

// maxFrames bounds a walk. A stack of 8 MiB has room for half a million of the
// smallest frames.
const maxFrames = 1 << 20

// maxStacks bounds the signal frames of a walk, each of which may lead to another
// stack.
const maxStacks = 64

// maxOverflow is how far the stack pointer can be below a stack that is full, in bytes:
// the largest frame that is followed.
const maxOverflow = 16 << 20

// A step is the way from one frame to its caller.
type step struct {
	*Unwinder
	frame  *Frame
	module *Module
	// vaddr is the address to look up, as the image is linked.
	vaddr uint64
}

// A caller is what a rule says of the frame above: the result of a step.
type caller struct {
	registers Registers
	cfa       uint64
	// signal: the frame was the return from a signal handler, so that its
	// caller was interrupted.
	signal bool
	// machine: the frame was entered by an interrupt.
	machine bool
	// outermost: the rule says that there is no caller.
	outermost bool
	found     Method
	// parameters becomes the caller's.
	parameters uint64
}

// Walk calls yield with each frame, the innermost first, until it returns false.
func (u *Unwinder) Walk(registers Registers, yield func(*Frame) bool) {
	pc, ok := registers.Get(u.Machine.PC())
	if !ok {
		return
	}
	frame := &Frame{PC: pc & u.Machine.mask(), Exact: true, Found: ByContext, Registers: registers}
	stacks := 0
	for n := 0; n < maxFrames; n++ {
		next, ok := u.caller(frame)
		if next.signal {
			frame.Signal = true
		}
		frame.CFA, frame.Outermost = next.cfa, next.outermost
		if !yield(frame) || !ok {
			return
		}
		pc, _ := next.registers.Get(u.Machine.PC())
		if next.signal || next.machine {
			if stacks++; stacks > maxStacks {
				return
			}
		}
		doubtful := frame.Doubtful || frame.Found == ByScan
		frame = &Frame{PC: pc, Exact: next.signal || next.machine, Found: next.found, Doubtful: doubtful, Registers: next.registers, parameters: next.parameters}
	}
}

// caller finds the caller of a frame, by the best way that gives one.
func (u *Unwinder) caller(f *Frame) (next caller, ok bool) {
	s := &step{Unwinder: u, frame: f}
	look := f.Lookup()
	if u.Find != nil {
		s.module = u.Find(look)
	}
	ruled := false
	if m := s.module; m != nil {
		s.vaddr = look - m.Base
		if m.Code != nil {
			s.vaddr += m.Code.LinkBase()
		}
		for _, r := range m.Rules {
			next, err := r.caller(s)
			if err != nil {
				continue
			}
			if next.outermost {
				return next, false
			}
			if s.accept(&next) {
				return next, true
			}
			// The end of a thread's first function can be told by a null
			// return address.
			if pc, ok := next.registers.Get(u.Machine.PC()); ok && pc == 0 {
				return caller{cfa: next.cfa, outermost: true}, false
			}
			ruled = true
		}
	}
	for _, try := range []func() (caller, bool){s.signalReturn, s.returned, s.linkRegister, s.stackTop, s.framePointer, s.scan} {
		if next, ok := try(); ok && s.accept(&next) {
			return next, true
		} else if next.outermost {
			return next, false
		}
		if ruled && !f.Exact {
			break // a rule that leads nowhere is a damaged stack: nothing below it is sure
		}
	}
	return caller{}, false
}

// accept checks a caller, and puts its program counter right.
func (s *step) accept(c *caller) bool {
	m := s.Machine
	pc, ok := c.registers.Get(m.PC())
	sp, ok2 := c.registers.Get(m.SP())
	if !ok || !ok2 {
		return false
	}
	pc &= m.mask()
	if m == ARM64 {
		pc = s.withoutPAC(pc)
	}
	if pc == 0 {
		return false
	}
	c.registers.Set(m.PC(), pc)
	old, ok := s.frame.Registers.Get(m.SP())
	if !ok {
		return false
	}
	if c.signal || c.machine {
		// It may lead to another stack; where that is full, to below it.
		return true
	}
	if lo, hi, ok := s.Memory.Range(old); !ok {
		// The stack is full: the stack pointer lies below what there is of it.
		if _, _, ok := s.Memory.Range(sp); !ok || sp < old || sp-old > maxOverflow {
			return false
		}
	} else if sp < lo || sp > hi {
		return false
	}
	if sp > old {
		return true
	}
	// A function that has saved nothing yet has its caller's stack pointer where
	// the return address is in a register.
	return sp == old && s.frame.Exact && m == ARM64 && pc != s.frame.PC
}

// withoutPAC takes the pointer authentication code off a return address.
func (s *step) withoutPAC(pc uint64) uint64 {
	const bits = 48
	if s.Find == nil || pc>>bits == 0 || s.Find(pc) != nil {
		return pc
	}
	return pc & (1<<bits - 1)
}

// word reads a pointer from saved memory.
func (s *step) word(address uint64) (uint64, bool) {
	var b [8]byte
	n := s.Machine.PointerSize()
	if s.Memory.ReadMemory(b[:n], address&s.Machine.mask()) != nil {
		return 0, false
	}
	if n == 4 {
		return uint64(binary.LittleEndian.Uint32(b[:])), true
	}
	return binary.LittleEndian.Uint64(b[:]), true
}

// code reads up to n bytes of code, from what was saved or from the image.
func (u *Unwinder) code(address uint64, n int) []byte {
	b := make([]byte, n)
	if u.Memory.ReadMemory(b, address) == nil {
		return b
	}
	if u.Find != nil {
		if m := u.Find(address); m != nil && m.Code != nil {
			for k := n; k > 0; k-- {
				if b, err := m.Code.Read(address-m.Base, int64(k)); err == nil {
					return b
				}
			}
		}
	}
	for k := n - 1; k > 0; k-- {
		if u.Memory.ReadMemory(b[:k], address) == nil {
			return b[:k]
		}
	}
	return nil
}

// isCode reports whether an address can be one that a call returns to.
func (u *Unwinder) isCode(address uint64) bool {
	if u.Find != nil {
		if m := u.Find(address); m != nil && m.Code != nil {
			return m.Code.Executable(address - m.Base)
		}
	}
	return u.Executable != nil && u.Executable(address)
}

// inherit returns the registers that a frame's caller has in common with it.
func (s *step) inherit() (r Registers) {
	for n := range maxRegisters {
		if v, ok := s.frame.Registers.Get(n); ok && s.Machine.preserved(n, s.Windows) {
			r.Set(n, v)
		}
	}
	return r
}
