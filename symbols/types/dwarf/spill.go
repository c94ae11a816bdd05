package dwarf

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/types"
	"logparser/symbols/x86"
)

// This file finds where parameters of functions for x86 are when the function is entered, if debug information tells only where
// in its frame the function puts them, as that of gcc without optimization does. The function's first instructions are followed,
// up to the first call or jump, but for what code that may lie anywhere calls to know where it is: what they store first in the place of a parameter is the parameter.

// findSpilled gives parameters that are InFrame the places that they were in before. A function that is optimized may put another
// value into the place of a parameter first, such as what is assigned to it. So all parameters must be known then, and be what
// some convention has: each in the next register, or on the stack behind the one before.
func (r *reader) findSpilled(f *types.Function, low uint64) {
	if !slices.ContainsFunc(f.Parameters, func(p types.Parameter) bool { return p.Entry.Kind == types.InFrame }) {
		return
	}
	s := newSpills()
	s.follow(r.code(low), func(distance int) []byte { return r.code(low + uint64(int64(distance))) })
	entries := make([]types.Entry, len(f.Parameters))
	for i := range f.Parameters {
		p := &f.Parameters[i]
		if entries[i] = p.Entry; p.Entry.Kind != types.InFrame || p.Type == nil {
			continue
		}
		size := p.Type.Size
		switch {
		case p.Entry.Pointed:
			size = 4
		case p.Type.Kind == types.Float && size > x87Bytes:
			size = x87Bytes
		}
		if at, ok := s.from(p.Entry.Number, size); ok {
			at.Pointed = p.Entry.Pointed
			entries[i] = at
		}
	}
	if !ofConvention(f, entries) {
		return
	}
	for i := range entries {
		f.Parameters[i].Entry = entries[i]
	}
}

// registerOrders are the orders in which conventions of x86 fill registers: those of fastcall and thiscall, and of regparm.
var registerOrders = [...][]int{{numberECX, numberEDX}, {0, numberEDX, numberECX}}

// ofConvention reports whether places of all parameters of a function are those of a convention.
func ofConvention(f *types.Function, entries []types.Entry) bool {
	const word = 4
	next := -1 // on the stack
	var registers []int
	for i, at := range entries {
		t := f.Parameters[i].Type
		if t == nil || t.Size <= 0 && t.Kind != types.Text {
			return false
		}
		switch at.Kind {
		case types.InRegister:
			registers = append(registers, at.Number)
		case types.OnStack:
			// The address of a result that is a class may come first.
			class := f.Result != nil && (f.Result.Kind == types.Struct || f.Result.Kind == types.Text && f.Result.Size != word)
			if next < 0 && (at.Number == 0 || at.Number == word && class) {
				next = at.Number
			}
			if at.Number != next {
				return false
			}
			size := max(t.Size, word)
			if at.Pointed || t.Kind == types.Text && t.Size == 0 {
				size = word
			}
			next += (size + word - 1) &^ (word - 1)
		default:
			return false
		}
	}
	return slices.ContainsFunc(registerOrders[:], func(order []int) bool {
		return len(registers) <= len(order) && slices.Equal(registers, order[:len(registers)])
	})
}

// x87Bytes is how many bytes of a long double are not padding.
const x87Bytes = 10

// mostFollowed is how many bytes of a function's code are followed.
const mostFollowed = 1024

// code returns the code from an address on.
func (r *reader) code(low uint64) []byte {
	s := r.im.SectionAt(low)
	if s == nil {
		return nil
	}
	c, err := s.Content()
	if err != nil || low < s.Addr || int64(low-s.Addr) >= c.Size() {
		return nil
	}
	code, err := c.Bytes(int64(low-s.Addr), min(mostFollowed, c.Size()-int64(low-s.Addr)))
	if err != nil {
		return nil
	}
	return code
}

// A source is where a byte was when the function was entered: byte number of a register, or of the stack behind the return
// address. Its kind is NotTold where it is not known.
type source struct {
	kind             types.EntryKind
	register, number int
}

// A frameBase is what a register that leads to the frame is known to be: so many bytes from where the arguments on the stack
// begin.
type frameBase struct {
	known  bool
	offset int
}

// spills follows the first instructions of a function.
type spills struct {
	registers [8][4]source // by number
	vectors   [8][16]source
	x87       [][]source // loaded and not yet stored
	stackTop  frameBase  // esp
	frame     frameBase  // ebp
	// stored has what was stored first in each byte of the frame.
	stored map[int]source
}

// Numbers of registers.
const (
	numberECX = 1
	numberEDX = 2
	numberESP = 4
	numberEBP = 5
)

func newSpills() *spills {
	s := &spills{stackTop: frameBase{true, -4}, stored: make(map[int]source)}
	for _, n := range [...]int{0, numberECX, numberEDX} {
		for i := range s.registers[n] {
			s.registers[n][i] = source{types.InRegister, n, i}
		}
	}
	return s
}

// from returns where the bytes of a place in the frame were when the function was entered.
func (s *spills) from(offset, size int) (types.Entry, bool) {
	first := s.stored[offset]
	if size <= 0 || first.kind == types.NotTold || first.kind == types.InRegister && (first.number != 0 || size > 4) || first.number%4 != 0 {
		return types.Entry{}, false
	}
	for i := range min(size, mostFollowed) {
		if next := s.stored[offset+i]; next.kind != first.kind || next.register != first.register || next.number != first.number+i {
			return types.Entry{}, false
		}
	}
	if first.kind == types.InRegister {
		return types.Entry{Kind: types.InRegister, Number: first.register}, true
	}
	return types.Entry{Kind: types.OnStack, Number: first.number}, size <= mostFollowed
}

// follow follows code from a function's first instruction on. A call that comes first is that of a hook, which changes nothing. at
// returns the code at a distance from the first instruction.
func (s *spills) follow(code []byte, at func(distance int) []byte) {
	for first, next := true, 0; next < len(code); {
		inst, err := x86.Decode(code[next:], 32)
		if err != nil {
			return
		}
		next += inst.Len
		distance, relative := inst.Args[0].(x86asm.Rel)
		switch {
		case inst.Op == x86asm.CALL && relative && !first:
			r, ok := x86.LoadsPC(at(next + int(distance)))
			if !ok {
				return
			}
			s.registers[r] = [4]source{}
		case inst.Op == x86asm.NOP:
			continue
		case first && inst.Op == x86asm.CALL:
		case !s.step(&inst):
			return
		}
		first = false
	}
}

// step follows an instruction. It returns false where the way ends.
func (s *spills) step(inst *x86asm.Inst) bool {
	to, from := inst.Args[0], inst.Args[1]
	switch inst.Op {
	case x86asm.PUSH:
		if !s.stackTop.known {
			return false
		}
		s.stackTop.offset -= 4
		// It may be the parameter that is pushed, or just room for it.
		s.store(s.stackTop.offset, make([]source, 4))
	case x86asm.MOV:
		if to == x86asm.EBP && from == x86asm.ESP {
			s.frame = s.stackTop
			return true
		}
		return s.move(to, s.value(from, sizeOf(inst, to, from)))
	case x86asm.MOVZX, x86asm.MOVSX:
		return s.move(to, s.value(from, sizeOf(inst, from, nil)))
	case x86asm.MOVSS, x86asm.MOVSD_XMM, x86asm.MOVQ, x86asm.MOVD, x86asm.MOVAPS, x86asm.MOVUPS, x86asm.MOVAPD, x86asm.MOVUPD, x86asm.MOVDQA, x86asm.MOVDQU:
		return s.moveVector(inst)
	case x86asm.FLD:
		m, ok := to.(x86asm.Mem)
		if !ok {
			return false
		}
		s.x87 = append(s.x87, s.value(m, inst.MemBytes))
	case x86asm.FSTP:
		if len(s.x87) == 0 {
			return false
		}
		last := s.x87[len(s.x87)-1]
		s.x87 = s.x87[:len(s.x87)-1]
		if len(last) != inst.MemBytes {
			last = make([]source, inst.MemBytes) // it was converted
		}
		return s.move(to, last)
	case x86asm.SUB, x86asm.ADD, x86asm.AND:
		if to == x86asm.ESP {
			return s.adjust(inst.Op, from)
		}
		return s.kill(to)
	case x86asm.LEA, x86asm.XOR, x86asm.OR, x86asm.SHL, x86asm.SHR, x86asm.SAR, x86asm.NEG, x86asm.NOT, x86asm.INC, x86asm.DEC:
		return s.kill(to)
	case x86asm.CMP, x86asm.TEST:
	default:
		return false
	}
	return true
}

// adjust follows what changes esp by a number. What it is aligned to is not known.
func (s *spills) adjust(op x86asm.Op, by x86asm.Arg) bool {
	n, ok := by.(x86asm.Imm)
	switch {
	case op == x86asm.AND:
		s.stackTop = frameBase{}
		return ok
	case !ok || !s.stackTop.known:
		return ok
	case op == x86asm.SUB:
		s.stackTop.offset -= int(int32(n))
	default:
		s.stackTop.offset += int(int32(n))
	}
	return true
}

// sizeOf returns how many bytes an argument has, or, in memory, the other one.
func sizeOf(inst *x86asm.Inst, a, other x86asm.Arg) int {
	for _, arg := range [...]x86asm.Arg{a, other} {
		if r, ok := arg.(x86asm.Reg); ok {
			_, size, _ := registerOf(r)
			return size
		}
	}
	return inst.MemBytes
}

// registerOf returns the number of a register of integers, how many bytes it has, and at which byte it begins.
func registerOf(r x86asm.Reg) (number, size, from int) {
	switch {
	case r >= x86asm.EAX && r <= x86asm.EDI:
		return int(r - x86asm.EAX), 4, 0
	case r >= x86asm.AX && r <= x86asm.DI:
		return int(r - x86asm.AX), 2, 0
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), 1, 0
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), 1, 1
	}
	return -1, 0, 0
}

// place returns where memory lies in the frame.
func (s *spills) place(m x86asm.Mem) (offset int, ok bool) {
	base := s.frame
	if m.Base == x86asm.ESP {
		base = s.stackTop
	}
	if m.Segment != 0 && m.Segment != x86asm.SS && m.Segment != x86asm.DS || m.Index != 0 || m.Base != x86asm.EBP && m.Base != x86asm.ESP || !base.known {
		return 0, false
	}
	return base.offset + int(x86.Distance(m.Disp)), true
}

// value returns what is in a register or in memory.
func (s *spills) value(a x86asm.Arg, size int) []source {
	list := make([]source, max(size, 0))
	switch a := a.(type) {
	case x86asm.Reg:
		if n, _, from := registerOf(a); n >= 0 {
			copy(list, s.registers[n][from:])
		}
	case x86asm.Mem:
		at, ok := s.place(a)
		for i := range list {
			if stored, has := s.stored[at+i]; ok && has {
				list[i] = stored
			} else if ok && at+i >= 0 {
				list[i] = source{types.OnStack, 0, at + i}
			}
		}
	}
	return list
}

// store takes note of what is stored first. Where something else is stored later, that is no parameter's place any more, but
// what was there first still is.
func (s *spills) store(at int, list []source) {
	for i, b := range list {
		if _, has := s.stored[at+i]; !has {
			s.stored[at+i] = b
		}
	}
}

// move puts a value into a register or memory. It returns false where it is not known what else that changes.
func (s *spills) move(to x86asm.Arg, list []source) bool {
	switch to := to.(type) {
	case x86asm.Reg:
		n, size, from := registerOf(to)
		switch {
		case n == numberESP, n == numberEBP && s.frame.known, n < 0:
			return false
		}
		for i := range size {
			s.registers[n][from+i] = source{}
			if i < len(list) {
				s.registers[n][from+i] = list[i]
			}
		}
		return true
	case x86asm.Mem:
		at, ok := s.place(to)
		if ok {
			s.store(at, list)
		}
		return ok
	}
	return false
}

// moveVector follows what moves a vector register.
func (s *spills) moveVector(inst *x86asm.Inst) bool {
	size := inst.MemBytes
	number := func(a x86asm.Arg) int {
		if r, ok := a.(x86asm.Reg); ok && r >= x86asm.X0 && r <= x86asm.X7 {
			return int(r - x86asm.X0)
		}
		return -1
	}
	to, from := number(inst.Args[0]), number(inst.Args[1])
	var list []source
	switch {
	case size == 0 && to >= 0 && from >= 0:
		s.vectors[to] = [16]source{} // between registers
		return true
	case size <= 0 || size > 16:
		return false
	case from >= 0:
		list = s.vectors[from][:size]
	default:
		list = s.value(inst.Args[1], size)
	}
	if to < 0 {
		return s.move(inst.Args[0], list)
	}
	s.vectors[to] = [16]source{}
	copy(s.vectors[to][:], list)
	return true
}

// kill takes note that an argument gets a value that is none of those followed.
func (s *spills) kill(to x86asm.Arg) bool {
	if m, ok := to.(x86asm.Mem); ok {
		return s.move(m, nil)
	}
	return s.move(to, make([]source, 4))
}
