package hooks

import (
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/x86"
)

// Registers by number: the integer registers in the order of their encoding, then the vector registers. Behind them
// come numbers for addresses that the code has rounded down (to align the stack), because these are at an unknown
// distance from the register that they were computed from.
const (
	rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi = 0, 1, 2, 3, 4, 5, 6, 7
	r10, r11, r12, r15                     = 10, 11, 12, 15
	vector                                 = 16
	registers                              = 32
)

// names are the names of the registers in plans, by number.
var names = []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15"}

// names32 are those of x86.
var names32 = []string{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"}

// upperHalf ends the name of a vector register of which the upper 8 bytes are meant.
const upperHalf = "h"

// numberOf returns the number of a register by its name.
func numberOf(name string) (int, bool) {
	if i := slices.Index(names, name); i >= 0 {
		return i, true
	}
	i := slices.Index(names32, name)
	return max(i, 0), i >= 0
}

// A content is what is known of the value in a register or in memory, in terms of the registers and memory at the
// function's first instruction ("the beginning").
type content struct {
	of contentKind
	// base is a register. The content is the value that it had at the beginning plus offset, or the memory that
	// lay at that address.
	base   int
	offset int64
	// n is how many of the low bytes are known.
	n int
}

type contentKind uint8

const (
	unknown contentKind = iota
	register
	memory
	constant // the content is offset itself
)

// low returns a content of which only the low n bytes are known.
func (v content) low(n int) content {
	if v.of == register && v.offset != 0 && n < v.n {
		return content{}
	}
	v.n = min(v.n, n)
	return v
}

// A slot is a piece of memory that was written, with its content.
type slot struct {
	base   int
	offset int64
	n      int
	v      content
}

// A state is the content of registers and memory before an instruction.
type state struct {
	registers [registers]content
	slots     []slot
	x87       []content // the last is st0
	bases     int       // addresses that were rounded down
	// next is the RVA of the next instruction. fixed reads n bytes of constant data, nil if there is none.
	next  uint64
	fixed func(rva uint64, n int) []byte
	// own reports whether memory belongs to the function's own frame.
	own   func(base int, offset int64) bool
	calls *convention
	// stored says that memory outside the frame was written. From then on nothing is known of such memory.
	stored bool
}

func (s *state) clone() *state {
	c := *s
	c.slots = append([]slot(nil), s.slots...)
	c.x87 = append([]content(nil), s.x87...)
	return &c
}

// meet keeps in s only what is the same in both states, for an instruction that is reached in two ways.
func (s *state) meet(o *state) {
	for i := range s.registers {
		s.registers[i] = both(s.registers[i], o.registers[i])
	}
	kept := s.slots[:0]
	for _, a := range s.slots {
		found := false
		for _, b := range o.slots {
			if a.base == b.base && a.offset == b.offset && a.n == b.n {
				a.v, found = both(a.v, b.v), true
			}
		}
		if !found {
			a.v = content{}
		}
		kept = append(kept, a)
	}
	// Memory that only the other state has written is written, with unknown content.
	same := len(kept)
	for _, b := range o.slots {
		if !slices.ContainsFunc(kept[:same], func(a slot) bool { return a.base == b.base && a.offset == b.offset && a.n == b.n }) {
			b.v = content{}
			kept = append(kept, b)
		}
	}
	s.slots = kept
	s.x87 = nil
	s.stored = s.stored || o.stored
	s.bases = max(s.bases, o.bases)
}

func both(a, b content) content {
	n := min(a.n, b.n)
	a.n, b.n = n, n
	if a != b {
		return content{}
	}
	return a
}

func overlaps(list []slot, base int, offset int64, n int) bool {
	for _, s := range list {
		if s.base == base && offset < s.offset+int64(s.n) && s.offset < offset+int64(n) {
			return true
		}
	}
	return false
}

// address returns the address of a memory operand.
func (s *state) address(m x86asm.Mem) (base int, offset int64, ok bool) {
	i, size := reg(m.Base)
	if m.Segment != 0 || m.Index != 0 || i < 0 || size != s.calls.word {
		return 0, 0, false
	}
	v := s.registers[i]
	return v.base, v.offset + x86.Distance(m.Disp), v.of == register && v.n == size
}

// maxSlots bounds the slots of a frame.
const maxSlots = 512

// store writes n bytes to memory, and reports whether it is known where.
func (s *state) store(m x86asm.Mem, n int, v content) bool {
	base, offset, ok := s.address(m)
	if !ok || !s.own(base, offset) {
		s.stored = true
		return true
	}
	return s.storeAt(base, offset, n, v)
}

func (s *state) storeAt(base int, offset int64, n int, v content) bool {
	if n <= 0 || len(s.slots) >= maxSlots {
		return false
	}
	for i := range s.slots {
		old := &s.slots[i]
		if old.base == base && offset < old.offset+int64(old.n) && old.offset < offset+int64(n) {
			old.v = content{} // a part of it was overwritten: the content is not known any more
		}
	}
	for i := range s.slots {
		if old := &s.slots[i]; old.base == base && old.offset == offset && old.n == n {
			old.v = v
			return true
		}
	}
	s.slots = append(s.slots, slot{base, offset, n, v})
	return true
}

// load returns the content of n bytes of memory.
func (s *state) load(m x86asm.Mem, n int) content {
	if m.Base == x86asm.RIP && m.Index == 0 && m.Segment == 0 {
		n = min(n, 8)
		if b := s.fixed(s.next+uint64(x86.Distance(m.Disp)), n); b != nil {
			var all [8]byte
			copy(all[:], b)
			return content{constant, 0, int64(binary.LittleEndian.Uint64(all[:])), n}
		}
		return content{}
	}
	base, offset, ok := s.address(m)
	if !ok {
		return content{}
	}
	return s.loadAt(base, offset, n)
}

func (s *state) loadAt(base int, offset int64, n int) content {
	if overlaps(s.slots, base, offset, n) {
		for _, w := range s.slots {
			if w.v.of != unknown && w.base == base && w.offset == offset && n <= w.n {
				return w.v.low(n)
			}
		}
		return content{}
	}
	if s.stored {
		return content{}
	}
	return content{memory, base, offset, n}
}

// reg returns the number of a register and how many of its low bytes the name stands for. It returns 0 bytes for
// names that do not stand for low bytes (ah), and for registers that are not followed.
func reg(r x86asm.Reg) (number, n int) {
	switch {
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), 8
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), 4
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), 2
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + 4, 1
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 0
	case r >= x86asm.X0 && r <= x86asm.X15:
		return int(r-x86asm.X0) + vector, 16
	}
	return -1, 0
}

// get returns the content of an operand of n bytes.
func (s *state) get(a x86asm.Arg, n int) content {
	switch a := a.(type) {
	case x86asm.Reg:
		if i, size := reg(a); i >= 0 && size > 0 {
			return s.registers[i].low(min(n, size))
		}
	case x86asm.Mem:
		return s.load(a, n)
	}
	return content{}
}

// set writes an operand of n bytes, and reports whether it is known where.
func (s *state) set(a x86asm.Arg, n int, v content) bool {
	switch a := a.(type) {
	case x86asm.Reg:
		i, _ := reg(a)
		if i < 0 {
			return false
		}
		if i == rsp && (v.of != register || v.n != s.calls.word) {
			v = content{} // of the frame nothing is known any more
		}
		s.registers[i] = v
		return true
	case x86asm.Mem:
		return s.store(a, n, v)
	}
	return false
}
