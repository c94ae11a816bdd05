package hooks

import (
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Registers by number: the integer ones in the order of the machine, then the vector registers, then addresses
// that the code rounds down, which are known by nothing else.
const (
	rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi = 0, 1, 2, 3, 4, 5, 6, 7
	r12                                    = 12
	vector                                 = 16
	registers                              = 32
)

// names are those of the registers that a hook keeps.
var names = [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"}

// numberOf returns the number of a register by its name.
func numberOf(name string) (int, bool) {
	for i, n := range names {
		if n == name {
			return i, true
		}
	}
	return 0, false
}

// A content is what a register or a piece of memory has, in terms of what there was at the beginning.
type content struct {
	of contentKind
	// base is a register: what it had at the beginning plus offset is the content, or where the content lay.
	base   int
	offset int64
	// n are the low bytes that are known.
	n int
}

type contentKind uint8

const (
	unknown contentKind = iota
	register
	memory
	constant // offset is what it is
)

// low returns the low bytes of a content.
func (v content) low(n int) content {
	if v.of == register && v.offset != 0 && n < 8 {
		return content{}
	}
	v.n = min(v.n, n)
	return v
}

// A slot is memory that was written.
type slot struct {
	base   int
	offset int64
	n      int
	v      content
}

// A state is what registers and memory have.
type state struct {
	registers [registers]content
	slots     []slot
	x87       []content // the last is st0
	bases     int       // addresses that were rounded down
	// next is where the next instruction is, fixed reads n bytes of data that nobody writes, nil if there is none.
	next  uint64
	fixed func(rva uint64, n int) []byte
	// own says which register the function's memory, and no other, is reached by.
	own func(base int, offset int64) bool
	// stored says that memory was written that may be another's; then what else memory has is not known.
	stored bool
}

func (s *state) clone() *state {
	c := *s
	c.slots = append([]slot(nil), s.slots...)
	c.x87 = append([]content(nil), s.x87...)
	return &c
}

// meet leaves in s what both states have.
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
	// What only the other has written is written, also where a part of it is known to be.
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

// address returns what a memory operand leads to.
func (s *state) address(m x86asm.Mem) (base int, offset int64, ok bool) {
	if m.Segment != 0 || m.Index != 0 || m.Base < x86asm.RAX || m.Base > x86asm.R15 {
		return 0, 0, false
	}
	v := s.registers[m.Base-x86asm.RAX]
	return v.base, v.offset + distance(m.Disp), v.of == register && v.n == 8
}

// distance is that of an operand, which the decoder gives without its sign.
func distance(n int64) int64 { return int64(int32(n)) }

// maxSlots bounds what is kept of a frame.
const maxSlots = 512

// store writes n bytes, and reports whether they can be followed.
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
			old.v = content{} // written it stays
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

// load reads n bytes.
func (s *state) load(m x86asm.Mem, n int) content {
	if m.Base == x86asm.RIP && m.Index == 0 && m.Segment == 0 {
		n = min(n, 8)
		if b := s.fixed(s.next+uint64(distance(m.Disp)), n); b != nil {
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

// reg returns a register's number and how many of its bytes are meant; 0 for those of which more is meant
// than their low bytes, and of which nothing is known.
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

// get returns what an operand of n bytes has.
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

// set writes an operand of n bytes, and reports whether that can be followed.
func (s *state) set(a x86asm.Arg, n int, v content) bool {
	switch a := a.(type) {
	case x86asm.Reg:
		i, _ := reg(a)
		if i < 0 {
			return false
		}
		if i == rsp && (v.of != register || v.n != 8) {
			return false
		}
		s.registers[i] = v
		return true
	case x86asm.Mem:
		return s.store(a, n, v)
	}
	return false
}
